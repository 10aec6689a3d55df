//! What `cleanup`, `reset` and `sweep` share: choose entries of each site, move
//! them into its archive under its locks, and report what became of them.

mod reach;
mod report;

use std::io;
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::audit::MISSING;
use super::{CliContext, RunMode};
use crate::base::disk::bounded_read::read_text;
use crate::base::path;
use crate::contract::table::Bucket;
use crate::project::entries::{self, Entry};
use crate::project::roots::Root;
use crate::project::sites::Site;
use crate::store::archive::{Item, Run, SnapshotKind, Status, WhenChanged};
use crate::store::lock::{IN_COMMAND, Locked, with_lock, with_state_lock};
use crate::systems::devt::{self, workflow_yaml};
use crate::systems::system;
use reach::Reach;

pub(crate) use reach::{Elsewhere, Extent};
pub(crate) use report::{Ran, run};

/// One of the three verbs.
pub(crate) struct Job<'a> {
    pub(crate) kind: SnapshotKind,
    pub(crate) effect: RunMode,
    /// Whether the verb is about sites of this system.
    pub(crate) applies_to: &'a dyn Fn(&str) -> bool,
    pub(crate) fates: &'a Fates<'a>,
    pub(crate) extent: Extent,
}

/// What is to become of each entry of a site. Asked under the site's lock.
type Fates<'a> = dyn Fn(&Site<'_>, &[Entry<'_>]) -> Result<Vec<Fate>> + 'a;

/// What is to become of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is moved, for this reason.
    Archived(String),
    /// It would be moved, but for this reason.
    Left(&'static str),
    /// It belongs where it is.
    Kept,
}

impl Fate {
    pub(crate) fn archived_if(reason: Option<impl Into<String>>) -> Self {
        reason.map_or(Self::Kept, |reason| Self::Archived(reason.into()))
    }
}

/// The arguments of `cleanup` and `sweep`.
#[derive(Debug, clap::Args)]
pub(super) struct Choice {
    /// Move the entries; without it they are only listed
    #[arg(long, conflicts_with = "dry_run")]
    apply: bool,
    /// Only list the entries, as without `--apply`
    #[arg(long)]
    dry_run: bool,
    /// In the whole repository, not only in the nearest state directories at or above this one
    #[arg(long)]
    all: bool,
}

impl Choice {
    pub(crate) fn extent(&self) -> Extent {
        Extent::from_all(self.all)
    }

    pub(crate) fn effect(&self) -> RunMode {
        RunMode::of_dry_run(!self.apply)
    }
}

/// What was, or would be, done in one site.
#[derive(Debug, Default)]
pub(crate) struct SiteOutcome {
    pub(crate) system: String,
    pub(crate) state_dir: String,
    pub(crate) items: Vec<Moved>,
    pub(crate) archive_path: Option<String>,
    pub(crate) left: Vec<Left>,
    /// Sub-directories of parallel workflows that are active.
    live: Vec<String>,
    pruned: Vec<String>,
    trouble: Option<String>,
    /// Why nothing could be done here.
    error: Option<String>,
    /// What was looked for and is not there.
    missing: Option<&'static str>,
}

/// One entry and what became of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Moved {
    pub(crate) name: String,
    /// Bytes; of a directory those of all files in it.
    pub(crate) size: u64,
    reason: String,
    #[serde(flatten)]
    status: Status,
    #[serde(skip)]
    modified: DateTime<Utc>,
    #[serde(skip)]
    is_dir: bool,
}

/// An entry that is not the verb's to move, though it does not belong.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Left {
    pub(crate) name: String,
    /// Bytes; of a directory those of all files in it.
    pub(crate) size: u64,
    pub(crate) reason: &'static str,
    #[serde(skip)]
    is_dir: bool,
}

impl SiteOutcome {
    fn of(system: &str, state_dir: &str) -> Self {
        Self {
            system: system.to_owned(),
            state_dir: state_dir.to_owned(),
            ..Self::default()
        }
    }

    /// Of several archives it names the first.
    fn total(sites: &[Self]) -> Self {
        let items = sites.iter().flat_map(|site| site.items.iter().cloned());
        Self {
            items: items.collect(),
            left: sites
                .iter()
                .flat_map(|site| site.left.iter().cloned())
                .collect(),
            archive_path: sites.iter().find_map(|site| site.archive_path.clone()),
            error: sites.iter().find_map(|site| site.error.clone()),
            ..Self::default()
        }
    }

    pub(crate) fn ok(&self) -> bool {
        self.error.is_none() && self.failed().next().is_none()
    }

    /// Why there is nothing in the document.
    pub(crate) fn reason(&self) -> Option<&str> {
        let missing = self.missing.map(|_| MISSING);
        self.error.as_deref().or(missing)
    }

    /// The items that were, or would be, moved.
    pub(crate) fn moved(&self) -> impl Iterator<Item = &Moved> {
        let items = self.items.iter();
        items.filter(|item| matches!(item.status, Status::Moved | Status::WouldArchive))
    }

    /// The items that could not be moved.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Moved> {
        let items = self.items.iter();
        items.filter(|item| matches!(item.status, Status::Failed { .. }))
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.moved().map(|item| item.size).sum()
    }
}

/// Does the job in every site in reach; gives what became of them, and what was left alone.
fn outcomes(job: &Job<'_>, context: &CliContext<'_>) -> Result<(Vec<SiteOutcome>, Vec<Elsewhere>)> {
    context.require_wanted()?;
    let Reach { taken, elsewhere } = Reach::find(job, context);
    let mut outcomes: Vec<_> = taken
        .iter()
        .map(|site| in_site(job, site, context))
        .collect();
    if outcomes.is_empty() && (job.applies_to)(devt::ID) && context.wants(devt::ID) {
        context.require(devt::ID)?;
        let dir = root(context).path(".devt/state");
        outcomes.push(SiteOutcome {
            missing: Some(match job.kind {
                SnapshotKind::Reset | SnapshotKind::Sweep => "state directory of devt",
                _ => "state directory",
            }),
            ..SiteOutcome::of(devt::ID, &dir)
        });
    }
    Ok((outcomes, elsewhere))
}

/// The main checkout or the work tree that `--project` names, or the current one.
fn root(context: &CliContext<'_>) -> Root {
    let dirs = context.given_project.into_iter().chain([&*context.cwd]);
    let mut all = dirs.chain(context.env.project_dir.as_deref());
    let root = all.find_map(|dir| context.project.root_of(&context.absolute(dir)));
    root.unwrap_or_else(|| context.project.main.clone())
}

fn in_site(job: &Job<'_>, site: &Site<'_>, context: &CliContext<'_>) -> SiteOutcome {
    let mut outcome = SiteOutcome::of(site.governed.id(), site.dir());
    let done = match job.effect {
        RunMode::DryRun => plan(job, site, context, &mut outcome).map(|chosen| {
            let items = chosen.into_iter();
            outcome.items = items
                .map(|(entry, reason)| Moved::new(entry, reason, Status::WouldArchive))
                .collect();
        }),
        RunMode::Apply => {
            let (id, dir) = (site.governed.id(), site.dir());
            with_site_lock(id, Path::new(&dir), |locked| {
                let chosen = plan(job, site, context, &mut outcome)?;
                carry_out(job, locked, site, chosen, &mut outcome, context)
            })
            .map_err(|error| with_place(error, "archive in", dir))
        }
    };
    outcome.error = done.err().map(|error| format!("{error:#}"));
    outcome.items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    outcome
}

/// Names the place in an error of the operating system, which does not.
pub(crate) fn with_place(error: Error, what: &str, dir: &str) -> Error {
    let of_system = error.downcast_ref().and_then(io::Error::raw_os_error);
    if of_system.is_none() || error.chain().len() > 1 {
        return error;
    }
    anyhow!("could not {what} `{dir}`: {error}; see that you may write there")
}

fn plan<'c>(
    job: &Job<'_>,
    site: &Site<'c>,
    context: &CliContext<'_>,
    outcome: &mut SiteOutcome,
) -> Result<Vec<(Entry<'c>, String)>> {
    let mut entries = entries::entries(site, &context.registry)?;
    if site.governed.id() == devt::ID {
        outcome.live = spare_live_workflows(&mut entries);
    }
    let fates = (job.fates)(site, &entries)?;
    let mut chosen = Vec::new();
    for (entry, fate) in entries.into_iter().zip(fates) {
        match fate {
            Fate::Archived(reason) => chosen.push((entry, reason)),
            Fate::Left(reason) => outcome.left.push(Left {
                name: entry.name,
                size: entry.size,
                reason,
                is_dir: entry.is_dir,
            }),
            Fate::Kept => {}
        }
    }
    outcome.left.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(chosen)
}

/// devt runs parallel workflows in sub-directories that its contract does not
/// name. While one is active, it and devt's list of them stay.
fn spare_live_workflows(entries: &mut Vec<Entry<'_>>) -> Vec<String> {
    let live: Vec<String> = entries
        .iter()
        .filter(|entry| entry.is_dir && entry.bucket == Bucket::AdHoc && is_live(entry))
        .map(|entry| entry.name.clone())
        .collect();
    if !live.is_empty() {
        entries.retain(|entry| entry.name != ".instances" && !live.contains(&entry.name));
    }
    live
}

fn is_live(entry: &Entry<'_>) -> bool {
    let text = read_text(&entry.path.join("workflow.yaml")).ok().flatten();
    text.is_some_and(|text| workflow_yaml::read(&text).is_true("active"))
}

fn carry_out(
    job: &Job<'_>,
    locked: &Locked<'_>,
    site: &Site<'_>,
    chosen: Vec<(Entry<'_>, String)>,
    outcome: &mut SiteOutcome,
    context: &CliContext<'_>,
) -> Result<()> {
    let items: Vec<Item<'_>> = chosen
        .iter()
        .map(|(entry, reason)| {
            let when_changed = match entry.bucket {
                Bucket::Ephemeral => WhenChanged::Leave,
                _ => WhenChanged::Move,
            };
            entry.item(reason, when_changed)
        })
        .collect();
    let run = Run {
        kind: job.kind,
        now: context.now,
    };
    let archive = site.archive(&context.project, context.rules.settings.archive_runs);
    let taken = archive.take(locked, run, &items)?;
    outcome.archive_path = taken.path.as_deref().map(path::from_os);
    outcome.pruned = taken.pruned;
    outcome.trouble = taken.trouble;
    outcome.items = chosen
        .into_iter()
        .zip(taken.statuses)
        .map(|((entry, reason), status)| Moved::new(entry, reason, status))
        .collect();
    Ok(())
}

impl Moved {
    fn new(entry: Entry<'_>, reason: String, status: Status) -> Self {
        Self {
            name: entry.name,
            size: entry.size,
            reason,
            status,
            modified: entry.modified,
            is_dir: entry.is_dir,
        }
    }
}

/// Holds a site for a command: its directory, its system's own mutex, and the
/// directory above where the hook locks that one, as it does for sessions.
pub(crate) fn with_site_lock<T>(
    system: &str,
    dir: &Path,
    f: impl FnOnce(&Locked<'_>) -> Result<T>,
) -> Result<T> {
    let info = system::by_id(system).map(|system| system.info());
    let pid_lock = info.and_then(|info| info.pid_lock);
    let in_site = || with_state_lock(dir, pid_lock, IN_COMMAND, |locked| Ok(f(locked)));
    let gate_dir = info.and_then(|info| info.gate_dir);
    match dir
        .parent()
        .filter(|above| gate_dir.is_some_and(|gate_dir| above.ends_with(gate_dir)))
    {
        Some(above) => with_lock(above, IN_COMMAND, |_| in_site())?,
        None => in_site()?,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_place() {
        let denied = io::Error::from_raw_os_error(13);
        let bare = with_place(denied.into(), "archive in", "/p/.devt/state").to_string();
        assert!(
            bare.starts_with("could not archive in `/p/.devt/state`: "),
            "{bare}"
        );
        assert!(bare.ends_with("; see that you may write there"), "{bare}");
        let own = io::Error::other("`/p` is locked");
        assert_eq!(
            with_place(own.into(), "", "/p").to_string(),
            "`/p` is locked"
        );
    }
}
