//! What `cleanup`, `reset` and `sweep` share: choose entries of each site, move
//! them into its archive under its locks, and tell what became of them.

mod report;

use std::io;
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::CliContext;
use super::audit::MISSING;
use crate::base::disk::bounded_read::read_text;
use crate::base::path;
use crate::contract::table::Bucket;
use crate::project::entries::{self, Entry};
use crate::project::roots::Root;
use crate::project::sites::{self, Site};
use crate::store::archive::{Item, Kind, Run, Status, WhenChanged};
use crate::store::lock::{IN_COMMAND, Locked, with_lock, with_state_lock};
use crate::systems::devt::{self, workflow_yaml};
use crate::systems::system;

pub(crate) use report::run;

/// One of the three verbs.
pub(crate) struct Job<'a> {
    pub(crate) kind: Kind,
    pub(crate) effect: Effect,
    /// Whether a site of this system is meant.
    pub(crate) applies_to: &'a dyn Fn(&str) -> bool,
    pub(crate) reasons: &'a Reasons<'a>,
}

/// Why each entry of a site is to be moved, if it is. Asked under the site's lock.
type Reasons<'a> = dyn Fn(&Site<'_>, &[Entry<'_>]) -> Result<Vec<Option<String>>> + 'a;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    DryRun,
    Apply,
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
}

impl Choice {
    pub(crate) fn effect(&self) -> Effect {
        match self.apply {
            true => Effect::Apply,
            false => Effect::DryRun,
        }
    }
}

/// What was, or would be, done in one site.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) system: String,
    pub(crate) state_dir: String,
    pub(crate) items: Vec<Moved>,
    pub(crate) archive_path: Option<String>,
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
    /// Bytes; 0 for a directory.
    pub(crate) size: u64,
    reason: String,
    #[serde(flatten)]
    status: Status,
    #[serde(skip)]
    modified: DateTime<Utc>,
    #[serde(skip)]
    is_dir: bool,
}

impl Outcome {
    fn of(system: &str, state_dir: String) -> Self {
        Self {
            system: system.to_owned(),
            state_dir,
            ..Self::default()
        }
    }

    /// Of several archives the first is told.
    fn total(sites: &[Self]) -> Self {
        let items = sites.iter().flat_map(|site| site.items.iter().cloned());
        Self {
            items: items.collect(),
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
        let moved = |item: &&Moved| matches!(item.status, Status::Moved | Status::WouldArchive);
        self.items.iter().filter(moved)
    }

    /// The items that could not be moved.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Moved> {
        let failed = |item: &&Moved| matches!(item.status, Status::Failed { .. });
        self.items.iter().filter(failed)
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.moved().map(|item| item.size).sum()
    }
}

/// Does the job in every site that it applies to, of the one root that is meant.
fn outcomes(job: &Job<'_>, context: &CliContext<'_>) -> Result<Vec<Outcome>> {
    context.require_wanted()?;
    let (project, root) = (&context.project, root(context));
    let sites = sites::find(project, &context.registry);
    let is_of_root = |dir: String| project.root_of(&dir).is_some_and(|of| of.dir == root.dir);
    let meant = |site: &&Site<'_>| {
        let id = site.governed.id();
        context.wants(id) && (job.applies_to)(id) && is_of_root(site.dir())
    };
    let meant = sites.iter().filter(meant);
    let mut outcomes: Vec<_> = meant.map(|site| in_site(job, site, context)).collect();
    if outcomes.is_empty() && (job.applies_to)(devt::ID) && context.wants(devt::ID) {
        context.require(devt::ID)?;
        let dir = root.path(".devt/state");
        outcomes.push(Outcome {
            missing: Some(match job.kind {
                Kind::Reset | Kind::Sweep => "state directory of devt",
                _ => "state directory",
            }),
            ..Outcome::of(devt::ID, dir)
        });
    }
    Ok(outcomes)
}

/// The main checkout or the work tree that `--project` names, or one stands in.
fn root(context: &CliContext<'_>) -> Root {
    let dirs = context.given_project.into_iter().chain([&*context.cwd]);
    let root_of = |dir| context.project.root_of(&context.absolute(dir));
    let mut roots = (dirs.chain(context.env.project_dir.as_deref())).filter_map(root_of);
    roots.next().unwrap_or_else(|| context.project.main.clone())
}

fn in_site(job: &Job<'_>, site: &Site<'_>, context: &CliContext<'_>) -> Outcome {
    let mut outcome = Outcome::of(site.governed.id(), site.dir());
    let done = match job.effect {
        Effect::DryRun => plan(job, site, context, &mut outcome).map(|chosen| {
            let item = |(entry, reason)| Moved::new(entry, reason, Status::WouldArchive);
            outcome.items = chosen.into_iter().map(item).collect();
        }),
        Effect::Apply => {
            let (id, dir) = (site.governed.id(), site.dir());
            with_site_lock(id, Path::new(&dir), |locked| {
                let chosen = plan(job, site, context, &mut outcome)?;
                carry_out(job, locked, site, chosen, &mut outcome, context)
            })
            .map_err(|error| placed(error, "archive in", &dir))
        }
    };
    outcome.error = done.err().map(|error| format!("{error:#}"));
    outcome.items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    outcome
}

/// An error of the operating system names no place.
pub(crate) fn placed(error: Error, what: &str, dir: &str) -> Error {
    let of_system = error.downcast_ref().and_then(io::Error::raw_os_error);
    match of_system.filter(|_| error.chain().len() == 1) {
        Some(_) => anyhow!("could not {what} `{dir}`: {error}; see that you may write there"),
        None => error,
    }
}

fn plan<'c>(
    job: &Job<'_>,
    site: &Site<'c>,
    context: &CliContext<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<(Entry<'c>, String)>> {
    let mut entries = entries::entries(site, &context.registry)?;
    if site.governed.id() == devt::ID {
        outcome.live = spare_live_workflows(&mut entries);
    }
    let reasons = (job.reasons)(site, &entries)?;
    let judged = entries.into_iter().zip(reasons);
    Ok(judged
        .filter_map(|(entry, reason)| Some((entry, reason?)))
        .collect())
}

/// devt runs parallel workflows in sub-directories that its contract does not
/// name. While one is active, it and devt's list of them stay.
fn spare_live_workflows(entries: &mut Vec<Entry<'_>>) -> Vec<String> {
    let is_live = |entry: &Entry<'_>| {
        let file = entry.path.join("workflow.yaml");
        let text = read_text(&file).ok().flatten();
        text.is_some_and(|text| workflow_yaml::read(&text).is_true("active"))
    };
    let is_ad_hoc_dir = |entry: &&Entry<'_>| entry.is_dir && entry.bucket == Bucket::AdHoc;
    let live = entries
        .iter()
        .filter(is_ad_hoc_dir)
        .filter(|entry| is_live(entry));
    let live: Vec<String> = live.map(|entry| entry.name.clone()).collect();
    if !live.is_empty() {
        entries.retain(|entry| entry.name != ".instances" && !live.contains(&entry.name));
    }
    live
}

fn carry_out(
    job: &Job<'_>,
    locked: &Locked<'_>,
    site: &Site<'_>,
    chosen: Vec<(Entry<'_>, String)>,
    outcome: &mut Outcome,
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
    let ring = site.ring(&context.project, context.rules.settings.archive_runs);
    let taken = ring.take(locked, run, &items)?;
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
    let system = system::by_id(system);
    let pid_lock = system.and_then(|system| system.info().pid_lock);
    let in_site = || with_state_lock(dir, pid_lock, IN_COMMAND, |locked| Ok(f(locked)));
    let gate_dir = system.and_then(|system| system.info().gate_dir);
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
        let bare = placed(denied.into(), "archive in", "/p/.devt/state").to_string();
        assert!(
            bare.starts_with("could not archive in `/p/.devt/state`: "),
            "{bare}"
        );
        assert!(bare.ends_with("; see that you may write there"), "{bare}");
        let told = io::Error::other("`/p` is locked");
        assert_eq!(placed(told.into(), "", "/p").to_string(), "`/p` is locked");
    }
}
