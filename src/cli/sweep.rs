//! `sweep`: what devt does at the start of a workflow, without deleting.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};

use super::archiving::{self, Choice, Job};
use super::cleanup::is_leftover;
use super::{Answer, CliContext};
use crate::base::disk::bounded_read::read_text;
use crate::contract::table::{Bucket, Sweep};
use crate::project::entries::Entry;
use crate::project::sites::Site;
use crate::store::archive::Kind;
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
        kind: Kind::Sweep,
        effect: args.choice.effect(),
        applies_to: &|system| system == devt::ID,
        reasons: &|site, entries| reasons(site, entries, context.now),
    };
    archiving::run(&job, context)
}

fn reasons(
    site: &Site<'_>,
    entries: &[Entry<'_>],
    now: DateTime<Utc>,
) -> Result<Vec<Option<String>>> {
    let file = format!("{}/workflow.yaml", site.dir());
    let text = read_text(&file).with_context(|| format!("could not read `{file}`"))?;
    let gates = Gates::new(text.as_deref(), now);
    let reason = |entry: &Entry<'_>| {
        let leftover = || is_leftover(entry, now);
        gates
            .takes(class(site, entry), entry.bucket, entry.modified, leftover)
            .map(str::to_owned)
    };
    Ok(entries.iter().map(reason).collect())
}

/// A name that only the other edition knows is swept as that edition's.
fn class(site: &Site<'_>, entry: &Entry<'_>) -> Sweep {
    let of_other_edition = || {
        let is_file = entry.bucket == Bucket::AdHoc && !entry.is_dir;
        let mut rows = site.governed.contract.rows.iter().filter(|_| is_file);
        rows.find(|row| row.matches(&entry.name))
    };
    entry
        .row
        .or_else(of_other_edition)
        .map_or(Sweep::None, |row| row.sweep)
}
