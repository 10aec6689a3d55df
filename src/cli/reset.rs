//! `reset`: the end of a workflow. Everything but the exempt goes into the archive.

use std::path::Path;

use anyhow::{Result, bail};
use chrono::{DateTime, Utc};

use super::archiving::{self, Extent, Fate, Job, Ran};
use super::change;
use super::cleanup::is_leftover;
use super::permit::Approval;
use super::{Answer, CliContext, RunMode};
use crate::contract::table::{AtReset, Bucket, Writer};
use crate::project::entries::Entry;
use crate::project::files::InDir;
use crate::store::archive::SnapshotKind;
use crate::systems::declared::gates::Gates;
use crate::systems::system::{self, Retention};
use crate::systems::{declared, devt};

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
    /// In the whole repository, not only in the nearest state directories at or above this one
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let system = context.system.unwrap_or(devt::ID);
    if system::by_id(system).is_some_and(|system| system.info().upkeep != Retention::Run) {
        bail!("`reset` does not apply to {system}: its files are not the state of one run");
    }
    let effect = RunMode::of_dry_run(args.dry_run);
    let fate = |entry: &Entry<'_>| fate(entry, context.now);
    let job = Job {
        kind: SnapshotKind::Reset,
        effect,
        extent: Extent::from_all(args.all),
        applies_to: &|id| id == system,
        fates: &|_, entries| Ok(entries.iter().map(fate).collect()),
    };
    let ran = archiving::run(&job, context)?;
    if effect == RunMode::Apply && matches!(ran, Ran::InSites(_)) {
        reset_gates(system, context)?;
    }
    Ok(ran.answer())
}

/// A declared system has its gates elsewhere than its files.
fn reset_gates(id: &str, context: &CliContext<'_>) -> Result<()> {
    let main = Path::new(&context.project.main.dir);
    let Some(declared) = &context.rules.settings.system(id).declared else {
        return Ok(());
    };
    let file = main.join(declared::gates::file_of(id));
    if !file.exists() {
        return Ok(());
    }
    change::apply(
        (id, "reset"),
        &main.join(declared::gates::DIR),
        context,
        Approval::NotAsked,
        |_| {
            let files = InDir { dir: main };
            let outcome = Gates::of(id, declared).reset(&files, context.now);
            Ok((file, outcome))
        },
    )?;
    Ok(())
}

/// The user's own files are no state of a run, and a temporary file in use is
/// not yet.
fn fate(entry: &Entry<'_>, now: DateTime<Utc>) -> Fate {
    let users = entry.row.is_some_and(|row| row.writer == Writer::User);
    let in_use = entry.bucket == Bucket::Ephemeral && !is_leftover(entry, now);
    let goes = entry.at_reset == AtReset::Archived && !users && !in_use;
    Fate::archived_if(goes.then_some("reset"))
}
