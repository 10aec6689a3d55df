//! `explain`: where a path stands, as a short story.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

use super::{Answer, CliContext, check, output};
use crate::base::actor::Actor;
use crate::base::disk::resolve::exists;
use crate::base::target::{Act, Target};
use crate::contract::edition::Edition;
use crate::contract::suggest::nearest;
use crate::contract::table::{Classification, DirKind, Others, Row, Writer};
use crate::guard::claims::{self, Claim, Resolution};
use crate::guard::decision::{self, Call, Channel, Decision, Ruling};
use crate::guard::message;
use crate::project::roots::OnDisk;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --system, a path that belongs to another system is explained all the same, \
    and the first line says so."
)]
pub struct Args {
    /// The agent that would write [default: the main thread]
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// The path to explain; it need not exist
    #[arg(value_name = "PATH", value_parser = check::filled)]
    path: String,
}

/// The JSON document. Keys that do not apply are null.
#[derive(Debug, Default, Serialize)]
struct Explanation {
    path: String,
    root: Option<String>,
    system: Option<String>,
    site: Option<String>,
    name: Option<String>,
    contract: Option<String>,
    /// `closed` where names that the contract does not know are refused, else `open`.
    site_kind: Option<&'static str>,
    /// Of a contract with more than one, the edition in force.
    edition: Option<Edition>,
    /// The settings file that switches the system off; then nothing is judged.
    switched_off_by: Option<String>,
    bucket: Option<&'static str>,
    /// The row that names the entry: a name or a pattern.
    row: Option<String>,
    purpose: Option<String>,
    owner: Option<String>,
    readers: Option<String>,
    /// What a Write by the agent, or by the main thread, would get.
    decision: Ruling,
    code: Option<&'static str>,
    /// The same, as logs call it.
    rule: Option<&'static str>,
    reason: Option<String>,
    nearest: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>, out: &mut dyn Write) -> Result<Answer> {
    let targets = [Target::literal(context.in_project(&args.path), Act::Write)];
    let actor = (args.agent.as_deref()).map_or(Actor::Main, Actor::parse);
    let mut story = context.with_all_systems(|registry| {
        let claims = claims::of(&targets, &context.project, registry)?;
        let call = Call {
            actor: &actor,
            channel: Channel::FileTool,
            cwd: &context.cwd,
            targets: &targets,
            exists,
        };
        let decision = decision::decide(&claims, &call, &|_| Ok(None))?;
        Ok::<_, anyhow::Error>(tell(&targets[0].path, claims.first(), &decision))
    })?;
    if story.system.is_none() {
        context.with_complete_catalog(|registry| {
            let claims = claims::of(&targets, &context.project, registry).unwrap_or_default();
            if let (Some(claim), Some(off)) = (claims.first(), context.switched_off_among(&claims))
            {
                locate(&mut story, claim);
                (story.system, story.switched_off_by) = (Some(off.system), Some(off.by));
            }
        });
    }
    context.print(out, &story, |out| write_text(&story, &actor, context, out))?;
    Ok(Answer::Yes)
}

fn tell(path: &str, claim: Option<&Claim<'_>>, decision: &Decision) -> Explanation {
    let denial = decision.denials().first();
    let mut story = Explanation {
        path: path.to_owned(),
        decision: decision.ruling(),
        code: denial.map(|denial| denial.code.as_str()),
        rule: denial.map(|denial| denial.code.as_str()),
        reason: denial.map(|denial| message::reason(std::slice::from_ref(denial), &[])),
        nearest: denial
            .and_then(|denial| denial.suggestion.clone())
            .into_iter()
            .collect(),
        ..Explanation::default()
    };
    if let Some(claim) = claim {
        place(&mut story, claim);
    }
    story
}

fn locate(story: &mut Explanation, claim: &Claim<'_>) {
    story.root = Some(claim.root.dir.clone());
    story.site = Some(claim.site.clone());
    story.name = Some(claim.entry.clone());
}

fn place(story: &mut Explanation, claim: &Claim<'_>) {
    let governed = claim.governed;
    locate(story, claim);
    story.system = Some(governed.id().to_owned());
    story.contract = Some(governed.contract.source.to_owned());
    let view = OnDisk {
        root: &claim.root,
        named: &[],
    };
    story.site_kind = Some(match governed.site_kind(&view) {
        DirKind::Closed => "closed",
        DirKind::Open | DirKind::Program => "open",
    });
    story.edition = governed.edition_in_force().map(|in_force| in_force.edition);
    if claim.lands == Resolution::WholeSite {
        return;
    }
    let standing = governed.contract.standing(&claim.entry, governed.edition);
    story.bucket = standing.bucket().map(|bucket| bucket.as_str());
    match standing {
        Classification::Row(row) => row_story(story, claim, row),
        Classification::ProgramDirectory => story.owner = Some(owner(&Writer::Program)),
        Classification::AdHoc | Classification::UndeclaredDirectory if story.nearest.is_empty() => {
            story.nearest = nearest(&governed.contract, &claim.entry, governed.edition, &|_| {
                true
            })
            .into_iter()
            .collect();
        }
        Classification::AdHoc
        | Classification::UndeclaredDirectory
        | Classification::Directory(_)
        | Classification::Free => {}
    }
}

fn row_story(story: &mut Explanation, claim: &Claim<'_>, row: &Row<'_>) {
    story.row = Some(row.title().to_owned());
    story.purpose = Some(row.purpose.to_owned());
    story.owner = Some(owner(&claim.governed.system.writer(row, &claim.entry)));
    story.readers = (!row.readers.is_empty()).then(|| row.readers.to_owned());
}

pub(super) fn owner(writer: &Writer<'_>) -> String {
    match writer {
        Writer::Anyone => "anyone".to_owned(),
        Writer::Main => "the main thread only".to_owned(),
        Writer::Program => "the system's programs; no tool call".to_owned(),
        Writer::User => "the user; no tool call".to_owned(),
        Writer::Owner(owner) => format!("{owner}; no other agent of the contract"),
        Writer::Roles(roles, others) => match others {
            Others::Nobody => roles.join(", "),
            Others::Main => format!("{}, the main thread", roles.join(", ")),
            Others::MainAndUnknown => {
                format!(
                    "{}, the main thread, agents without a role here",
                    roles.join(", ")
                )
            }
        },
    }
}

fn write_text(
    story: &Explanation,
    actor: &Actor,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", context.paint.bold(&story.path))?;
    let Some(system) = &story.system else {
        let root = output::printable(&context.project.main.dir);
        writeln!(
            out,
            "  lies in no state directory below `{root}`; statewarden has no opinion"
        )?;
        return Ok(());
    };
    if let Some(wanted) = context.system.as_deref().filter(|wanted| wanted != system) {
        writeln!(out, "  belongs to {system}, not to {wanted}")?;
    }
    let site = story
        .site
        .as_deref()
        .filter(|site| !site.is_empty())
        .unwrap_or("the project's root");
    if let Some(by) = &story.switched_off_by {
        return writeln!(
            out,
            "  lies in {}, a site of {system}, which is switched off by `{}`; statewarden has no \
             opinion",
            output::printable(site),
            output::printable(by)
        );
    }
    write_rows(story, system, site, out)?;
    let word = match story.decision {
        Ruling::Allow => context.paint.green("allowed"),
        Ruling::Warn => context.paint.red("warned about, and not refused,"),
        Ruling::Deny => context.paint.red("refused"),
    };
    let actor = output::printable(&actor.to_string());
    writeln!(out, "  {:<11} {word} for {actor}", "a Write is")?;
    match &story.reason {
        Some(reason) => {
            // Where there is more to read is here.
            let said = reason
                .rsplit_once(" More: ")
                .map_or(&**reason, |(said, _)| said);
            writeln!(out, "  {}", output::printable(said))
        }
        None => Ok(()),
    }
}

fn write_rows(
    story: &Explanation,
    system: &str,
    site: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let contract = story.contract.as_ref().map(|source| match story.edition {
        Some(edition) => format!("{source}; edition {} is in force", edition.as_str()),
        None => source.clone(),
    });
    let kind = story.site_kind.map(|kind| format!(", {kind}"));
    let kind = kind.unwrap_or_default();
    let nearest = (!story.nearest.is_empty()).then(|| story.nearest.join(", "));
    let rows = [
        ("root", story.root.clone()),
        ("site", Some(format!("{site}, governed by {system}{kind}"))),
        ("contract", contract),
        ("bucket", story.bucket.map(str::to_owned)),
        ("row", story.row.clone()),
        ("purpose", story.purpose.clone()),
        ("written by", story.owner.clone()),
        ("read by", story.readers.clone()),
        ("nearest", nearest),
    ];
    for (title, text) in rows
        .into_iter()
        .filter_map(|(title, text)| Some((title, text?)))
    {
        writeln!(out, "  {title:<11} {}", output::printable(&text))?;
    }
    Ok(())
}
