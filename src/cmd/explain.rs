//! `explain`: where a path stands, as a short story.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

use super::{Answer, Context, output};
use crate::actor::Actor;
use crate::claim::{self, Claim, Lands};
use crate::contract::{Others, Row, Standing, Writer};
use crate::decision::{self, Call, Channel, Decision};
use crate::nearest::nearest;
use crate::path;
use crate::reply;
use crate::target::{Act, Spelling, Target};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The path to explain; it need not exist
    #[arg(value_name = "PATH")]
    path: String,
}

/// The JSON document. Keys that do not apply are null.
#[derive(Debug, Serialize)]
struct Story {
    path: String,
    root: Option<String>,
    system: Option<String>,
    site: Option<String>,
    name: Option<String>,
    contract: Option<String>,
    bucket: Option<&'static str>,
    /// The row that names the entry: a name or a pattern.
    rule: Option<String>,
    purpose: Option<String>,
    owner: Option<String>,
    readers: Option<String>,
    /// What a Write by the main thread would get.
    decision: &'static str,
    code: Option<&'static str>,
    reason: Option<String>,
    nearest: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &Context<'_>, out: &mut dyn Write) -> Result<Answer> {
    let target = Target {
        path: path::absolute(&context.cwd, &args.path, context.env.home.as_deref()),
        act: Act::Write,
        spelling: Spelling::Literal,
        text: None,
        link_to: None,
    };
    let story = context.with_catalog(|catalog| {
        let targets = [target];
        let claims = claim::of(&targets, &context.project, catalog)?;
        let call = Call {
            actor: &Actor::Main,
            channel: Channel::FileTool,
            cwd: &context.cwd,
            targets: &targets,
        };
        let decision = decision::decide(&claims, &call, &|_| Ok(None))?;
        Ok(tell(&targets[0].path, claims.first(), &decision))
    })?;
    context.print(out, &story, |out| write_text(&story, context, out))?;
    Ok(Answer::Yes)
}

fn tell(path: &str, claim: Option<&Claim<'_>>, decision: &Decision) -> Story {
    let (word, denial) = match decision {
        Decision::Allow { .. } => ("allow", None),
        Decision::Warn(denials) => ("warn", denials.first()),
        Decision::Deny(denials) => ("deny", denials.first()),
    };
    let mut story = Story {
        path: path.to_owned(),
        root: None,
        system: None,
        site: None,
        name: None,
        contract: None,
        bucket: None,
        rule: None,
        purpose: None,
        owner: None,
        readers: None,
        decision: word,
        code: denial.map(|denial| denial.code.as_str()),
        reason: denial.map(|denial| reply::reason(std::slice::from_ref(denial), &[])),
        nearest: denial
            .and_then(|denial| denial.suggestion.clone())
            .into_iter()
            .collect(),
    };
    if let Some(claim) = claim {
        place(&mut story, claim);
    }
    story
}

fn place(story: &mut Story, claim: &Claim<'_>) {
    let governed = claim.governed;
    story.root = Some(claim.root.dir.clone());
    story.system = Some(governed.system.id().to_owned());
    story.site = Some(claim.site.clone());
    story.name = Some(claim.entry.clone());
    story.contract = Some(governed.contract.source.to_owned());
    if claim.lands == Lands::WholeSite {
        return;
    }
    let standing = governed.contract.standing(&claim.entry, governed.edition);
    story.bucket = standing.bucket().map(|bucket| bucket.as_str());
    match standing {
        Standing::Row(row) => row_story(story, claim, row),
        Standing::ProgramDirectory => {
            story.owner = Some("the system's programs; no tool call".to_owned())
        }
        Standing::AdHoc | Standing::UndeclaredDirectory if story.nearest.is_empty() => {
            story.nearest = nearest(&governed.contract, &claim.entry, governed.edition, &|_| {
                true
            })
            .into_iter()
            .collect();
        }
        Standing::AdHoc
        | Standing::UndeclaredDirectory
        | Standing::Directory(_)
        | Standing::Free => {}
    }
}

fn row_story(story: &mut Story, claim: &Claim<'_>, row: &Row<'_>) {
    story.rule = Some(row.title().to_owned());
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

fn write_text(story: &Story, context: &Context<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}",
        context.paint.bold(&output::printable(&story.path))
    )?;
    let Some(system) = &story.system else {
        let root = &context.project.main.dir;
        writeln!(
            out,
            "  lies in no state directory below `{root}`; statewarden has no opinion"
        )?;
        return Ok(());
    };
    let site = story
        .site
        .as_deref()
        .filter(|site| !site.is_empty())
        .unwrap_or("the project's root");
    let nearest = (!story.nearest.is_empty()).then(|| story.nearest.join(", "));
    let rows = [
        ("root", story.root.clone()),
        ("site", Some(format!("{site}, governed by {system}"))),
        ("contract", story.contract.clone()),
        ("bucket", story.bucket.map(str::to_owned)),
        ("rule", story.rule.clone()),
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
    match &story.reason {
        None => writeln!(
            out,
            "  {:<11} {}",
            "a Write is",
            context.paint.green("allowed")
        ),
        Some(reason) => {
            writeln!(
                out,
                "  {:<11} {}",
                "a Write is",
                context.paint.red("refused")
            )?;
            writeln!(out, "  {}", output::printable(reason))
        }
    }
}
