//! One snapshot of an archive and what it holds. Reads, except that an empty one goes.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::manifest::{self, FILE as MANIFEST, Manifest};
use super::{REPORTED, SnapshotKind, modified, replace};
use crate::base::disk::bounded_read::if_there;
use crate::base::disk::list::bytes_below;

/// How the name of a manifest that is being written begins.
const HALF_MANIFEST: &str = ".manifest.json.";

/// What is allowed for clocks that differ, and for a run that waited for the lock.
const A_RUN: TimeDelta = TimeDelta::minutes(1);

/// One directory of an archive.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub name: String,
    pub path: PathBuf,
    pub kind: SnapshotKind,
    /// From the name, to the millisecond.
    pub at: DateTime<Utc>,
}

/// An entry that a snapshot holds.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Held {
    /// As it was called in the site.
    pub name: String,
    /// Relative to the snapshot.
    #[serde(skip)]
    pub(super) place: PathBuf,
    /// Relative to the site.
    #[serde(skip)]
    pub(super) home: PathBuf,
    pub size: u64,
    #[serde(rename = "mtime", serialize_with = "crate::base::clock::as_millis")]
    pub modified: DateTime<Utc>,
    pub is_dir: bool,
    /// Why it was moved away, where the manifest says so.
    pub reason: Option<String>,
}

impl Snapshot {
    pub(super) fn named(archive: &Path, name: &OsStr) -> Option<Self> {
        let text = name.to_str()?;
        let (kind, at) = parse(text)?;
        let path = archive.join(text);
        is_real_dir(&path).then(|| Self {
            name: text.to_owned(),
            path,
            kind,
            at,
        })
    }

    /// A snapshot from the future was made before the clock was set back, so it
    /// is older than those of the present.
    pub(super) fn order(&self, now: DateTime<Utc>) -> (bool, DateTime<Utc>) {
        let believable = self.at <= now + A_RUN;
        (believable, self.at)
    }

    /// Whether a run was killed, or failed, before it had moved anything. One
    /// that cannot be listed may hold something.
    pub(super) fn is_empty(&self) -> bool {
        self.holds().is_ok_and(|held| held.is_empty())
    }

    /// Whether no run can be about to fill it any more: devt takes no lock for its own.
    pub(super) fn is_abandoned(&self, now: DateTime<Utc>) -> bool {
        (now - self.at).abs() > A_RUN
    }

    /// The manifest; none in a snapshot of another program.
    pub fn manifest(&self) -> Option<Manifest> {
        manifest::read(&self.path)
    }

    /// What is there, by name.
    ///
    /// # Errors
    /// `NotFound` when it is gone; else it cannot be listed.
    pub fn holds(&self) -> io::Result<Vec<Held>> {
        fs::symlink_metadata(&self.path)?;
        let manifest = self.manifest();
        let mut held: Vec<Held> = Vec::new();
        let mut known: HashSet<OsString> = HashSet::new();
        for named in manifest.iter().flat_map(|manifest| &manifest.entries) {
            let (place, home) = (PathBuf::from(named.place()), PathBuf::from(&named.name));
            // A manifest is a file like any other: it must not lead out of the site.
            if !is_plain(&place) || !is_plain(&home) {
                continue;
            }
            let (place, home) = match self.on_disk(&place) {
                Some(found) if place == home => (found.clone(), found),
                Some(found) => (found, home),
                None => (place, home),
            };
            // The directory for an entry is made before the entry is moved.
            known.extend(place.iter().next().map(OsString::from));
            if let Some(entry) = self.held(place, home, Some(named.reason.clone())) {
                held.push(entry);
            }
        }
        if manifest.is_some() {
            known.insert(MANIFEST.into());
        }
        known.insert(manifest::FOREIGN.into());
        known.insert(REPORTED.into());
        for name in list(&self.path)? {
            let text = name.to_string_lossy();
            let is_of_run = manifest.is_some() || text.starts_with(HALF_MANIFEST);
            if known.contains(&name) || (is_of_run && replace::is_temp_name(&text)) {
                continue;
            }
            if let Some(entry) = self.held(name.clone().into(), name.into(), None) {
                held.push(entry);
            }
        }
        held.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(held)
    }

    /// What a manifest, which is text, calls by a name that is not quite its own.
    fn on_disk(&self, place: &Path) -> Option<PathBuf> {
        place.to_str().filter(|name| name.contains('\u{fffd}'))?;
        let names = list(&self.path.join(place.parent()?)).ok()?;
        let mut places = names.iter().map(|name| place.with_file_name(name));
        places.find(|own| manifest::as_text(own) == manifest::as_text(place))
    }
}

/// The kind and the time in a snapshot's name, such as
/// `cleanup-2026-01-10T14-30-22-123Z`, with a number behind it where two runs
/// shared a millisecond.
pub(super) fn parse(name: &str) -> Option<(SnapshotKind, DateTime<Utc>)> {
    const STAMP: usize = "2026-01-10T14-30-22-123Z".len();
    let (kind, rest) = SnapshotKind::ALL.into_iter().rev().find_map(|kind| {
        let rest = name.strip_prefix(&kind.prefix())?;
        Some((kind, rest))
    })?;
    let (stamp, suffix) = rest.split_at_checked(STAMP)?;
    let at = NaiveDateTime::parse_from_str(stamp, "%Y-%m-%dT%H-%M-%S-%3fZ").ok()?;
    let numbered = suffix
        .strip_prefix('-')
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()));
    (suffix.is_empty() || numbered).then(|| (kind, at.and_utc()))
}

impl Snapshot {
    /// What is at a place in the snapshot, if anything.
    fn held(&self, place: PathBuf, home: PathBuf, reason: Option<String>) -> Option<Held> {
        let path = self.path.join(&place);
        let meta = fs::symlink_metadata(&path).ok()?;
        Some(Held {
            name: manifest::as_text(&home),
            place,
            home,
            size: if meta.is_dir() {
                bytes_below(&path)
            } else {
                meta.len()
            },
            modified: modified(&meta),
            is_dir: meta.is_dir(),
            reason,
        })
    }
}

fn is_plain(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Every directory at or below one that holds snapshots.
pub fn rings_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut queue = vec![dir.to_owned()];
    while let Some(dir) = queue.pop() {
        let mut has_snapshot = false;
        for name in list(&dir).unwrap_or_default() {
            let path = dir.join(&name);
            if Snapshot::named(&dir, &name).is_some() {
                has_snapshot = true;
            } else if is_real_dir(&path) {
                queue.push(path);
            }
        }
        if has_snapshot {
            found.push(dir);
        }
    }
    found.sort_unstable();
    found
}

pub(super) fn list(dir: &Path) -> io::Result<Vec<OsString>> {
    let entries = if_there(fs::read_dir(dir))?.into_iter().flatten();
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

pub(super) fn is_real_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Removes a snapshot that holds nothing but manifests, what was half made and
/// empty directories. One with anything else in it keeps its manifest.
pub(super) fn remove_empty(snapshot: &Path) -> io::Result<()> {
    remove_empty_dirs(snapshot);
    let names = list(snapshot)?;
    let holds_an_entry = names.iter().any(|name| {
        name != MANIFEST
            && name != manifest::FOREIGN
            && name != REPORTED
            && !replace::is_temp_name(&name.to_string_lossy())
    });
    if holds_an_entry {
        return Ok(());
    }
    for path in names.iter().map(|name| snapshot.join(name)) {
        if is_real_dir(&path) {
            replace::remove_own_tree(&path)?;
        } else {
            replace::remove(&path)?;
        }
    }
    replace::remove_if_empty(snapshot);
    Ok(())
}

/// Removes the empty directories below one, and the one that is left empty.
fn remove_empty_dirs(dir: &Path) {
    let names = list(dir).unwrap_or_default();
    let below = names.iter().map(|name| dir.join(name));
    below
        .filter(|path| is_real_dir(path))
        .for_each(|path| remove_empty_dirs(&path));
    replace::remove_if_empty(dir);
}
