//! `sweep`: what devt does at the start of a workflow, without deleting.

use anyhow::{Context as _, Result, bail};
use chrono::{DateTime, Utc};

use super::archiving::{self, Choice, Fate, Job};
use super::cleanup::is_leftover;
use super::{Answer, CliContext};
use crate::base::disk::bounded_read::read_text;
use crate::contract::table::{Bucket, Sweep};
use crate::project::entries::Entry;
use crate::project::sites::Site;
use crate::store::archive::SnapshotKind;
use crate::systems::devt;
use crate::systems::devt::sweep::Gates;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --apply this is a dry run. spec.md, plan.md, decisions.md and \
    scratchpad.md stay. With --json the object tells of \
    all sites together, and of several each under `sites` too. Exit 1: an entry could not be moved."
)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let job = Job {
        kind: SnapshotKind::Sweep,
        effect: args.choice.effect(),
        extent: args.choice.extent(),
        applies_to: &|system| system == devt::ID,
        fates: &|site, entries| fates(site, entries, context.now),
    };
    Ok(archiving::run(&job, context)?.answer())
}

fn fates(site: &Site<'_>, entries: &[Entry<'_>], now: DateTime<Utc>) -> Result<Vec<Fate>> {
    let file = format!("{}/workflow.yaml", site.dir());
    let text = read_text(&file).with_context(|| format!("could not read `{file}`"))?;
    if let Some(why) = text.as_deref().and_then(|text| Gates::unusable(text, now)) {
        bail!("`{file}`: {why}; nothing was moved. Repair it, or reset the workflow");
    }
    let gates = Gates::new(text.as_deref(), now);
    let fates = entries.iter().map(|entry| {
        let reason = gates.takes(class(site, entry), entry.bucket, entry.modified, || {
            is_leftover(entry, now)
        });
        Fate::archived_if(reason)
    });
    Ok(fates.collect())
}

/// A name that only the other edition knows is swept as that edition's.
fn class(site: &Site<'_>, entry: &Entry<'_>) -> Sweep {
    let mut all = site.governed.contract.rows.iter();
    let row = match entry.row {
        None if entry.bucket == Bucket::AdHoc && !entry.is_dir => {
            all.find(|row| row.matches(&entry.name))
        }
        row => row,
    };
    row.map_or(Sweep::None, |row| row.sweep)
}
