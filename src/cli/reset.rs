//! `reset`: the end of a workflow. Everything but the exempt goes into the archive.

use std::io::Write;

use anyhow::{Result, bail};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::archiving::{self, Effect, Job, Moved, Outcome};
use super::cleanup::is_leftover;
use super::{Answer, CliContext};
use crate::contract::table::{AtReset, Bucket, Writer};
use crate::project::entries::Entry;
use crate::store::archive::Kind;
use crate::systems::devt;
use crate::systems::system::{self, Retention};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Applies at once; look first with --dry-run. Resets devt's state directories, or with --system agent-flow or --system \
    session those. With --json the object tells of all sites together, and of several each under \
    `sites` too. Exit 1: an entry could not be moved."
)]
pub struct Args {
    /// Only list what would be moved
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Document<'o> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'o str>,
    /// Names.
    cleaned: Vec<&'o str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<&'o Moved>,
    archived_to: Option<&'o str>,
    archived: &'o [Moved],
    archive_path: Option<&'o str>,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>, out: &mut dyn Write) -> Result<Answer> {
    let system = context.system.unwrap_or(devt::ID);
    if system::by_id(system).is_some_and(|system| system.info().upkeep != Retention::Run) {
        bail!("`reset` does not apply to {system}: its files are not the state of one run");
    }
    let effect = if args.dry_run {
        Effect::DryRun
    } else {
        Effect::Apply
    };
    let reason = |entry: &Entry<'_>| reason(entry, context.now);
    let job = Job {
        kind: Kind::Reset,
        effect,
        applies_to: &|id| id == system,
        reasons: &|_, entries| Ok(entries.iter().map(reason).collect()),
    };
    let outcomes = archiving::run(&job, context)?;
    archiving::print(&outcomes, effect, document, context, out)
}

fn document(outcome: &Outcome) -> Document<'_> {
    Document {
        ok: outcome.ok(),
        reason: outcome.reason(),
        cleaned: outcome.moved().map(|item| item.name.as_str()).collect(),
        failed: outcome.failed().collect(),
        archived_to: outcome.archive_path.as_deref(),
        archived: &outcome.items,
        archive_path: outcome.archive_path.as_deref(),
    }
}

/// The user's own files are no state of a run, and a temporary file in use is
/// not yet.
fn reason(entry: &Entry<'_>, now: DateTime<Utc>) -> Option<String> {
    let users = entry.row.is_some_and(|row| row.writer == Writer::User);
    let in_use = entry.bucket == Bucket::Ephemeral && !is_leftover(entry, now);
    let goes = entry.at_reset == AtReset::Archived && !users && !in_use;
    goes.then(|| "reset".to_owned())
}
