//! What `cleanup`, `reset` and `sweep` share: choose entries of each site, move
//! them into its archive under its locks, and tell what became of them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{Answer, Context, output};
use crate::catalog::Catalog;
use crate::contract::{Bucket, DirKind};
use crate::inventory::{self, Entry};
use crate::project::read_text;
use crate::sites::{self, Site};
use crate::store::archive::{Item, Kind, Ring, Run, Status, Taken, WhenChanged};
use crate::store::lock::{IN_COMMAND, Locked, with_lock};
use crate::store::log::Logs;
use crate::store::pid_lock::with_pid_lock;
use crate::systems::devt::workflow_yaml;

/// One of the three verbs.
pub(crate) struct Job<'a> {
    pub(crate) kind: Kind,
    pub(crate) by: &'static str,
    pub(crate) effect: Effect,
    /// Whether a site of this system is meant.
    pub(crate) applies_to: &'a dyn Fn(&str) -> bool,
    /// Made for each site, under its lock.
    pub(crate) rule: &'a MakeRule<'a>,
}

type MakeRule<'a> = dyn for<'s> Fn(&'s Site<'_>) -> Result<Box<Rule<'s>>> + 'a;

/// Why an entry is to be moved, if it is.
pub(crate) type Rule<'s> = dyn Fn(&Entry<'_>) -> Option<String> + 's;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    DryRun,
    Apply,
}

/// What was, or would be, done in one site.
#[derive(Debug)]
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
    is_missing: bool,
}

/// One entry and what became of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Moved {
    pub(crate) name: String,
    /// Bytes; 0 for a directory.
    pub(crate) size: u64,
    reason: String,
    pub(crate) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    modified: DateTime<Utc>,
    #[serde(skip)]
    is_dir: bool,
}

impl Outcome {
    fn empty(system: &str, state_dir: String) -> Self {
        Self {
            system: system.to_owned(),
            state_dir,
            items: Vec::new(),
            archive_path: None,
            live: Vec::new(),
            pruned: Vec::new(),
            trouble: None,
            error: None,
            is_missing: false,
        }
    }

    pub(crate) fn ok(&self) -> bool {
        self.error.is_none() && self.items.iter().all(|item| item.error.is_none())
    }

    /// Why there is nothing in the document.
    pub(crate) fn reason(&self) -> Option<&str> {
        let missing = self.is_missing.then_some("state_dir_missing");
        self.error.as_deref().or(missing)
    }

    /// The items that were, or would be, moved.
    pub(crate) fn moved(&self) -> impl Iterator<Item = &Moved> {
        let moved = |item: &&Moved| matches!(item.status, "archived" | "would_archive");
        self.items.iter().filter(moved)
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.moved().map(|item| item.size).sum()
    }
}

/// The JSON document of `cleanup` and `sweep`.
#[derive(Serialize)]
pub(crate) struct Document<'o> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'o str>,
    dry_run: bool,
    archived: &'o [Moved],
    total_bytes_archived: u64,
    archive_path: Option<&'o str>,
}

impl<'o> Document<'o> {
    pub(crate) fn of(outcome: &'o Outcome, effect: Effect) -> Self {
        Self {
            ok: outcome.ok(),
            reason: outcome.reason(),
            dry_run: effect == Effect::DryRun,
            archived: &outcome.items,
            total_bytes_archived: outcome.total_bytes(),
            archive_path: outcome.archive_path.as_deref(),
        }
    }
}

/// Does the job in every site that it applies to.
pub(crate) fn run(job: &Job<'_>, context: &Context<'_>) -> Result<Vec<Outcome>> {
    context.with_catalog(|catalog| {
        let sites = sites::find(&context.project, catalog);
        let meant = |site: &&Site<'_>| (job.applies_to)(site.governed.system.id());
        let meant = sites.iter().filter(meant);
        let mut outcomes: Vec<_> = meant
            .map(|site| in_site(job, site, catalog, context))
            .collect();
        if outcomes.is_empty() && (job.applies_to)("devt") && context.wants("devt") {
            let dir = format!("{}/.devt/state", context.project.main.dir);
            outcomes.push(Outcome {
                is_missing: true,
                ..Outcome::empty("devt", dir)
            });
        }
        Ok(outcomes)
    })
}

fn in_site(
    job: &Job<'_>,
    site: &Site<'_>,
    catalog: &Catalog<'_>,
    context: &Context<'_>,
) -> Outcome {
    let mut outcome = Outcome::empty(site.governed.system.id(), site.dir());
    let done = match job.effect {
        Effect::DryRun => plan(job, site, catalog, &mut outcome).map(|chosen| {
            let item = |(entry, reason)| Moved::new(entry, reason, "would_archive", None);
            outcome.items = chosen.into_iter().map(item).collect();
        }),
        Effect::Apply => {
            let (id, dir) = (site.governed.system.id(), site.dir());
            with_site_lock(id, Path::new(&dir), |locked| {
                let chosen = plan(job, site, catalog, &mut outcome).map_err(io::Error::other)?;
                carry_out(job, locked, site, chosen, &mut outcome, context)
            })
            .map_err(anyhow::Error::from)
        }
    };
    outcome.error = done.err().map(|error| format!("{error:#}"));
    outcome.items.sort_by(|a, b| a.name.cmp(&b.name));
    outcome
}

fn plan<'c>(
    job: &Job<'_>,
    site: &Site<'c>,
    catalog: &Catalog<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<(Entry<'c>, String)>> {
    let mut entries = inventory::entries(site, catalog)?;
    if site.governed.system.id() == "devt" {
        outcome.live = spare_live_workflows(&mut entries);
    }
    let rule = (job.rule)(site)?;
    let chosen = entries.into_iter().filter_map(|entry| {
        let reason = rule(&entry)?;
        Some((entry, reason))
    });
    Ok(chosen.collect())
}

/// devt runs parallel workflows in sub-directories that its contract does not
/// name. While one is active, it and devt's list of them stay.
fn spare_live_workflows(entries: &mut Vec<Entry<'_>>) -> Vec<String> {
    let is_live = |entry: &Entry<'_>| {
        let file = entry.path.join("workflow.yaml");
        let text = read_text(&file.to_string_lossy()).ok().flatten();
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
    context: &Context<'_>,
) -> io::Result<()> {
    let items: Vec<Item<'_>> = chosen
        .iter()
        .map(|(entry, reason)| Item {
            name: &entry.name,
            path: &entry.path,
            size: entry.size,
            modified: entry.modified,
            is_dir: entry.is_dir,
            reason,
            when_changed: match entry.bucket {
                Bucket::Ephemeral => WhenChanged::Leave,
                _ => WhenChanged::Move,
            },
        })
        .collect();
    let run = Run {
        kind: job.kind,
        by: job.by,
        now: context.now,
    };
    let mut progress = output::Progress::new("archived", items.len());
    let ring = ring(site, context);
    let taken = ring.take(locked, run, &items, &mut |n| progress.show(n));
    progress.clear();
    let Taken {
        path,
        statuses,
        pruned,
        trouble,
    } = taken?;
    outcome.archive_path = path.map(|path| crate::path::from_os(&path));
    outcome.pruned = pruned;
    outcome.trouble = trouble;
    outcome.items = chosen
        .into_iter()
        .zip(statuses)
        .map(|((entry, reason), status)| match status {
            Status::Moved => Moved::new(entry, reason, "archived", None),
            Status::Vanished => Moved::new(entry, reason, "vanished", None),
            Status::InUse => Moved::new(entry, reason, "in_use", None),
            Status::Failed(error) => Moved::new(entry, reason, "error", Some(error)),
        })
        .collect();
    Ok(())
}

impl Moved {
    fn new(entry: Entry<'_>, reason: String, status: &'static str, error: Option<String>) -> Self {
        Self {
            name: entry.name,
            size: entry.size,
            reason,
            status,
            error,
            modified: entry.modified,
            is_dir: entry.is_dir,
        }
    }
}

/// Holds a site for a command: its directory, and devt's mutex where devt writes.
pub(crate) fn with_site_lock<T>(
    system: &str,
    dir: &Path,
    f: impl FnOnce(&Locked<'_>) -> io::Result<T>,
) -> io::Result<T> {
    with_lock(dir, IN_COMMAND, |locked| {
        if system == "devt" {
            with_pid_lock(locked, ".lock", IN_COMMAND, || f(locked))
        } else {
            f(locked)
        }
    })
}

/// The ring of a site: the directory that its contract gives to programs, else
/// one in this program's own folder, named after the system and the site.
pub(crate) fn ring(site: &Site<'_>, context: &Context<'_>) -> Ring {
    let governed = site.governed;
    let edition = governed.edition;
    let mut dirs = governed.contract.dirs.iter();
    let in_site = dirs.find(|dir| dir.kind == DirKind::Program && dir.editions.hold(edition));
    let logs = Logs::of(Path::new(&context.project.main.dir));
    let id = governed.system.id();
    let (dir, own_folder) = match in_site {
        Some(dir) => (Path::new(&site.dir()).join(dir.path), None),
        None => {
            let own = logs.own_folder().to_owned();
            let dir = own.join(OWN_ARCHIVE).join(id).join(label(site));
            (dir, Some(own))
        }
    };
    Ring {
        dir,
        system: id.to_owned(),
        site: site.site.clone(),
        own_folder,
        runs: context.rules.settings.archive_runs,
    }
}

/// In this program's own folder.
pub(crate) const OWN_ARCHIVE: &str = "archive";

/// A site's path without the part that all sites of its system share:
/// `.claude/.docs/260110-task` is `260110-task`.
fn label(site: &Site<'_>) -> PathBuf {
    let landmarks = site.governed.system.landmarks().iter();
    let mut shared = landmarks.filter_map(|landmark| Some(landmark.rsplit_once('/')?.0));
    let parts: Vec<&str> = site.site.split('/').collect();
    let without = shared.find_map(|shared| {
        let shared: Vec<&str> = shared.split('/').collect();
        let at = parts
            .windows(shared.len())
            .position(|window| window == shared)?;
        Some([&parts[..at], &parts[at + shared.len()..]].concat())
    });
    without.unwrap_or(parts).iter().collect()
}

#[derive(Serialize)]
struct InSite<'o, D> {
    system: &'o str,
    state_dir: &'o str,
    #[serde(flatten)]
    document: D,
}

#[derive(Serialize)]
struct Several<'o, D> {
    sites: Vec<InSite<'o, D>>,
}

/// Prints the outcomes: one site as the flat document that devt's own command
/// prints, several under `sites`.
pub(crate) fn print<'o, D: Serialize>(
    outcomes: &'o [Outcome],
    effect: Effect,
    document: impl Fn(&'o Outcome) -> D,
    context: &Context<'_>,
    out: &mut dyn Write,
) -> Result<Answer> {
    let text = |out: &mut dyn Write| write_text(outcomes, effect, context, out);
    match outcomes {
        [one] => context.print(out, &document(one), text)?,
        several => {
            let sites = several.iter().map(|outcome| InSite {
                system: &outcome.system,
                state_dir: &outcome.state_dir,
                document: document(outcome),
            });
            let sites = sites.collect();
            context.print(out, &Several { sites }, text)?;
        }
    }
    let errors = outcomes
        .iter()
        .filter_map(|outcome| outcome.error.as_deref());
    let errors: Vec<&str> = errors.collect();
    if !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    Ok(if outcomes.iter().all(Outcome::ok) {
        Answer::Yes
    } else {
        Answer::No
    })
}

fn write_text(
    outcomes: &[Outcome],
    effect: Effect,
    context: &Context<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if outcomes.iter().all(|outcome| outcome.is_missing) {
        let dir = &context.project.main.dir;
        return writeln!(out, "no state directory below `{dir}`");
    }
    for outcome in outcomes {
        let title = format!("{} ({})", outcome.state_dir, outcome.system);
        writeln!(out, "{}", context.paint.bold(&output::printable(&title)))?;
        write_outcome(outcome, effect, context, out)?;
    }
    if effect == Effect::DryRun && outcomes.iter().any(|outcome| !outcome.items.is_empty()) {
        writeln!(out, "nothing was changed")?;
    }
    Ok(())
}

fn write_outcome(
    outcome: &Outcome,
    effect: Effect,
    context: &Context<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for item in &outcome.items {
        let slash = if item.is_dir { "/" } else { "" };
        let about = format!(
            "{}, {}, {}",
            output::size(item.size),
            output::age(item.modified, context.now),
            item.reason
        );
        let name = output::printable(&item.name);
        write!(out, "  {name}{slash}  {}", context.paint.dim(&about))?;
        match (&item.error, item.status) {
            (Some(error), _) => writeln!(out, "  {}", context.paint.red(error))?,
            (None, "archived" | "would_archive") => writeln!(out)?,
            (None, status) => writeln!(out, "  {status}")?,
        }
    }
    for name in &outcome.live {
        let name = output::printable(name);
        writeln!(out, "  {name}/  left: its workflow is active")?;
    }
    let n_moved = outcome.moved().count();
    let bytes = output::size(outcome.total_bytes());
    let entries = if n_moved == 1 { "entry" } else { "entries" };
    match (effect, &outcome.archive_path) {
        _ if outcome.error.is_some() => {}
        (Effect::DryRun, _) => writeln!(out, "  would archive {n_moved} {entries}, {bytes}")?,
        (Effect::Apply, None) => writeln!(out, "  nothing archived")?,
        (Effect::Apply, Some(path)) => {
            writeln!(
                out,
                "  archived {n_moved} {entries}, {bytes}, into `{path}`"
            )?;
        }
    }
    for name in &outcome.pruned {
        writeln!(out, "  dropped the oldest snapshot, `{name}`")?;
    }
    let troubles = [&outcome.trouble, &outcome.error];
    for trouble in troubles.into_iter().flatten() {
        writeln!(out, "  {}", context.paint.red(&output::printable(trouble)))?;
    }
    Ok(())
}
