//! `history`: what the archives hold. Reads only.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::{Map, Value};

use super::output::{self, Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::clock;
use crate::base::disk::bounded_read::{if_there, read_text};
use crate::base::path::{self, from_os};
use crate::project::sites::{self, OWN_ARCHIVE};
use crate::store::archive::{Archive, Held, Snapshot, SnapshotKind, rings_below};
use crate::systems::devt::workflow_yaml;

/// A snapshot with the site that it came from.
pub(super) struct Archived {
    pub(super) snapshot: Snapshot,
    pub(super) archive: Archive,
    /// The site's absolute path.
    pub(super) state_dir: PathBuf,
}

/// Every snapshot of the project, newest first.
pub(super) fn archived(context: &CliContext<'_>) -> Result<Vec<Archived>> {
    let mut found = Vec::new();
    for (archive, state_dir) in archives(context)? {
        let snapshots = archive
            .snapshots(context.now)
            .with_context(|| format!("could not list `{}`", archive.dir.display()))?;
        found.extend(snapshots.into_iter().map(|snapshot| Archived {
            snapshot,
            archive: archive.clone(),
            state_dir: state_dir.clone(),
        }));
    }
    found.sort_unstable_by(|a, b| {
        (b.snapshot.at, &a.snapshot.path).cmp(&(a.snapshot.at, &b.snapshot.path))
    });
    Ok(found)
}

/// The archive of every site, and those in our own folder whose site is no longer
/// one: a reset takes away what a site is known by.
fn archives(context: &CliContext<'_>) -> Result<Vec<(Archive, PathBuf)>> {
    let runs = context.rules.settings.archive_runs;
    let registry = context.wanted_systems()?;
    let mut archives: Vec<(Archive, PathBuf)> = sites::find(&context.project, &registry)
        .into_iter()
        .map(|site| (site.archive(&context.project, runs), site.dir().into()))
        .collect();
    let own = context.project.own_folder().to_owned();
    for dir in rings_below(&own.join(OWN_ARCHIVE)) {
        if archives.iter().any(|(archive, _)| archive.dir == dir) {
            continue;
        }
        let mut archive = Archive {
            dir,
            system: String::new(),
            site: String::new(),
            own_folder: Some(own.clone()),
            runs,
        };
        let snapshots = archive.snapshots(context.now)?;
        let Some(manifest) = snapshots.iter().find_map(Snapshot::manifest) else {
            continue;
        };
        let state_dir = path::absolute(&context.project.main.dir, &manifest.site, None);
        if context.wants(&manifest.system) && context.project.locate(&state_dir).is_some() {
            (archive.system, archive.site) = (manifest.system, manifest.site);
            archives.push((archive, PathBuf::from(state_dir)));
        }
    }
    Ok(archives)
}

#[derive(Serialize)]
struct History {
    archives: Vec<ArchiveRow>,
}

#[derive(Serialize)]
struct ArchiveRow {
    archive: String,
    path: String,
    system: String,
    state_dir: String,
    kind: SnapshotKind,
    /// UTC, RFC 3339, milliseconds.
    at: String,
    /// The command; none for a snapshot that another program made.
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<Map<String, Value>>,
    total_bytes: u64,
    entries: Vec<Held>,
}

/// What is shown of an archived `workflow.yaml`.
const WORKFLOW_KEYS: [&str; 5] = ["workflow_type", "workflow_id", "task", "phase", "status"];

pub(crate) fn run(context: &CliContext<'_>) -> Result<Answer> {
    let archived = archived(context)?.into_iter();
    let rows = archived.filter_map(|archived| row(archived).transpose());
    let document = History {
        archives: rows.collect::<Result<_>>()?,
    };
    context.show(&document)
}

/// `None` for a snapshot that another run has dropped meanwhile.
fn row(archived: Archived) -> Result<Option<ArchiveRow>> {
    let Archived {
        snapshot,
        archive,
        state_dir,
    } = archived;
    let entries = if_there(snapshot.holds())
        .with_context(|| format!("could not list `{}`", snapshot.path.display()))?;
    let Some(entries) = entries else {
        return Ok(None);
    };
    Ok(Some(ArchiveRow {
        workflow: workflow(&snapshot.path),
        by: snapshot.manifest().map(|manifest| manifest.by),
        path: from_os(&snapshot.path),
        archive: snapshot.name,
        system: archive.system,
        state_dir: from_os(&state_dir),
        kind: snapshot.kind,
        at: clock::millis(snapshot.at),
        total_bytes: entries.iter().map(|entry| entry.size).sum(),
        entries,
    }))
}

fn workflow(snapshot: &Path) -> Option<Map<String, Value>> {
    let file = snapshot.join("workflow.yaml");
    let text = read_text(&file).ok().flatten()?;
    let fields = workflow_yaml::read(&text);
    let pairs = WORKFLOW_KEYS.map(|key| (key.to_owned(), fields.text(key).into()));
    Some(pairs.into_iter().collect())
}

impl Show for History {
    fn text(&self, page: &mut Page<'_>) {
        if self.archives.is_empty() {
            writeln!(page, "{}", page.context.empty("nothing is archived"));
        }
        for row in &self.archives {
            let by = row.by.as_deref().unwrap_or("another program");
            let name = page.paint.bold(&row.archive);
            let dir = page.context.below_root(&row.state_dir);
            writeln!(page, "{name}  {} of `{dir}`, by {by}", row.system);
            let task = row.workflow.as_ref().and_then(|it| it["task"].as_str());
            if let Some(task) = task {
                writeln!(page, "  task: {task}");
            }
            for entry in &row.entries {
                let reason = entry.reason.as_deref().unwrap_or("no reason known");
                let about = format!(
                    "{}, {}, {reason}",
                    output::size(entry.size),
                    page.local_time.minute(&clock::millis(entry.modified))
                );
                let (slash, about) = (output::slash(entry.is_dir), page.paint.dim(&about));
                writeln!(page, "  {}{slash}  {about}", entry.name);
            }
        }
    }
}
