//! `explain`: which rule applies to a path.

use anyhow::Result;
use clap::ValueHint;
use serde::Serialize;

use super::output::{Page, Show, writeln};
use super::{Answer, CliContext, check};
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
    #[arg(value_name = "PATH", value_parser = check::filled, value_hint = ValueHint::AnyPath)]
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
    /// `closed` where names that the contract does not know are denied, else `open`.
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
    /// The reason without the commands that tell more: this is where they lead.
    #[serde(skip)]
    reason_alone: Option<String>,
    nearest: Vec<String>,
    /// Who would write.
    #[serde(skip)]
    actor: String,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let targets = [Target::literal(context.in_project(&args.path), Act::Write)];
    let actor = (args.agent.as_deref()).map_or(Actor::Main, Actor::parse);
    let claims = claims::of(&targets, &context.project, &context.registry)?;
    let call = Call::new(&actor, Channel::FileTool, &context.cwd, &targets, exists);
    let decided = decision::decide(&claims, &call, &|_| Ok(None))?;
    let mut story = explain_claim(&targets[0].path, claims.first(), &decided);
    story.actor = actor.to_string();
    if story.system.is_none() {
        let all = context.complete_registry();
        let claims = claims::of(&targets, &context.project, &all).unwrap_or_default();
        if let (Some(claim), Some(off)) = (claims.first(), context.switched_off_among(&claims)) {
            locate(&mut story, claim);
            (story.system, story.switched_off_by) = (Some(off.system), Some(off.by));
        }
    }
    context.show(&story)
}

fn explain_claim(path: &str, claim: Option<&Claim<'_>>, decision: &Decision) -> Explanation {
    let denial = decision.denials().first();
    let mut story = Explanation {
        path: path.to_owned(),
        decision: decision.ruling(),
        code: denial.map(|denial| denial.code.as_str()),
        rule: denial.map(|denial| denial.code.as_str()),
        reason: denial.map(|denial| message::reason(std::slice::from_ref(denial), &[])),
        reason_alone: denial.map(message::reason_alone),
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
        DirKind::Near => "near",
        DirKind::Open | DirKind::Program => "open",
    });
    story.edition = governed.edition_in_force().map(|in_force| in_force.edition);
    if claim.resolution == Resolution::WholeSite {
        return;
    }
    let standing = governed.contract.classify(&claim.entry, governed.edition);
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

impl Show for Explanation {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let shown = page.context.below_root(&self.path);
        writeln!(page, "{}", paint.bold(shown));
        let Some(system) = &self.system else {
            let root = &page.context.project.main.dir;
            return writeln!(
                page,
                "  not in a state directory below `{root}`: statewarden ignores it"
            );
        };
        if let Some(wanted) = page.context.system.filter(|wanted| wanted != system) {
            writeln!(page, "  belongs to {system}, not to {wanted}");
        }
        let site = match self.site.as_deref() {
            None | Some("") => "the project's root",
            Some(site) => site,
        };
        if let Some(by) = &self.switched_off_by {
            return writeln!(
                page,
                "  in {site}, a state directory of {system}, which is switched off by `{by}`: \
                 nothing is judged"
            );
        }
        for (title, text) in self.rows(system, site) {
            if let Some(text) = text {
                page.hanging(format_args!("  {title:<11} "), 14, &text);
            }
        }
        let word = match self.decision {
            Ruling::Allow => paint.green("allowed"),
            Ruling::Warn => paint.red("warned about, and not denied,"),
            Ruling::Deny => paint.red("denied"),
        };
        writeln!(page, "  {:<11} {word} for {}", "a Write is", self.actor);
        if let Some(reason) = &self.reason_alone {
            writeln!(page, "  {reason}");
        }
    }
}

impl Explanation {
    fn rows(&self, system: &str, site: &str) -> [(&'static str, Option<String>); 9] {
        let contract = self.contract.as_ref().map(|source| match self.edition {
            Some(edition) => format!("{source}; edition {} is in force", edition.as_str()),
            None => source.clone(),
        });
        let site = match self.site_kind {
            Some(kind) => format!("{site}, governed by {system}, {kind}"),
            None => format!("{site}, governed by {system}"),
        };
        let nearest = (!self.nearest.is_empty()).then(|| self.nearest.join(", "));
        [
            ("root", self.root.clone()),
            ("site", Some(site)),
            ("contract", contract),
            ("bucket", self.bucket.map(str::to_owned)),
            ("row", self.row.clone()),
            ("purpose", self.purpose.clone()),
            ("written by", self.owner.clone()),
            ("read by", self.readers.clone()),
            ("nearest", nearest),
        ]
    }
}
