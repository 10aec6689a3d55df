//! `cleanup`: moves what does not belong into the archive, any time.

use std::cell::RefCell;

use anyhow::{Result, bail};
use chrono::{DateTime, TimeDelta, Utc};

use super::archiving::{self, Choice, Fate, Job};
use super::{Answer, CliContext, RunMode, number};
use crate::base::git::TrackedFiles;
use crate::base::git_index::Tracked;
use crate::contract::table::Bucket;
use crate::project::entries::Entry;
use crate::store::archive::SnapshotKind;
use crate::systems::system::{self, Retention};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --apply this is a dry run. Ad hoc and ephemeral entries go, files of a \
    pattern when they are stale, canonical ones never. With --json the object tells of \
    all sites together, and of several each under `sites` too. Exit 1: an entry could not be moved."
)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    /// Files of a pattern count as stale after N times 24 hours
    #[arg(long, value_name = "N", default_value_t = 21, allow_negative_numbers = true, value_parser = number::<u32>(0..=36_500))]
    stale_days: u32,
}

fn may_clean(system: &str) -> bool {
    system::by_id(system).is_none_or(|system| system.info().upkeep != Retention::Program)
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    if let Some(system) = context.system
        && !may_clean(system)
    {
        bail!("`cleanup` does not apply to {system}: its files are a program's own");
    }
    let effect = args.choice.effect();
    if effect == RunMode::Apply && !context.rules.problems.is_empty() {
        bail!(
            "nothing was archived: names that the broken settings file adds would count as strays; \
             mend it first"
        );
    }
    let git = RefCell::new(TrackedFiles::default());
    let job = Job {
        kind: SnapshotKind::Cleanup,
        effect,
        extent: args.choice.extent(),
        applies_to: &may_clean,
        fates: &|site, entries| {
            let never_stale = site.governed.system.info().never_stale;
            let fate =
                |entry: &Entry<'_>| match fate(entry, args.stale_days, never_stale, context.now) {
                    Fate::Archived(_) if git.borrow_mut().find(&entry.path) != Tracked::No => {
                        Fate::Left("tracked")
                    }
                    fate => fate,
                };
            Ok(entries.iter().map(fate).collect())
        },
    };
    Ok(archiving::run(&job, context)?.answer())
}

fn fate(entry: &Entry<'_>, stale_days: u32, never_stale: bool, now: DateTime<Utc>) -> Fate {
    let reason = match entry.bucket {
        Bucket::Ignored => return Fate::Left(Bucket::Ignored.as_str()),
        Bucket::AdHoc => Some("ad_hoc".to_owned()),
        Bucket::Ephemeral => is_leftover(entry, now).then(|| "ephemeral".to_owned()),
        Bucket::PatternAllowed if never_stale => None,
        Bucket::PatternAllowed => {
            let is_stale = entry.modified < now - TimeDelta::days(stale_days.into());
            is_stale.then(|| format!("stale_pattern_allowed (>{stale_days}d)"))
        }
        Bucket::Canonical => None,
    };
    Fate::archived_if(reason)
}

/// Whether no one needs a temporary file any more. A writer at work makes one and
/// renames it a moment later. A time from the future says nothing, except that
/// this run may have waited for a lock since it looked at the clock.
pub(super) fn is_leftover(entry: &Entry<'_>, now: DateTime<Utc>) -> bool {
    let in_use = now - TimeDelta::seconds(5)..now + TimeDelta::minutes(1);
    !in_use.contains(&entry.modified)
}
