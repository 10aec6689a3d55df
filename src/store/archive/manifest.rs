//! `manifest.json` of a snapshot, format version 1. A later version may add
//! keys and changes none; readers ignore keys they do not know.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{Archive, Item, Run, SnapshotKind};
use crate::base::clock;
use crate::store::replace;

pub const FILE: &str = "manifest.json";

/// The manifest of devt's own cleanup, which is no entry either.
pub(super) const FOREIGN: &str = "MANIFEST.txt";

/// What a snapshot was made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub v: u8,
    /// Tells this file from one of the same name that was moved away.
    program: String,
    pub kind: SnapshotKind,
    pub system: String,
    /// Relative to the project.
    pub site: String,
    pub by: String,
    /// UTC, RFC 3339, milliseconds.
    pub at: String,
    /// The session whose calls were undone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    pub entries: Vec<Named>,
}

impl Manifest {
    pub(super) fn new(ring: &Archive, run: Run, entries: Vec<Named>) -> Self {
        Self {
            v: 1,
            program: env!("CARGO_PKG_NAME").to_owned(),
            kind: run.kind,
            system: ring.system.clone(),
            site: ring.site.clone(),
            by: run.kind.by(),
            at: clock::millis(run.now),
            session: None,
            entries,
        }
    }

    /// Names one entry more. One of the same place is of a run that was killed before
    /// it had moved anything there.
    pub(super) fn add(&mut self, named: Named) {
        self.entries.retain(|other| other.place() != named.place());
        self.entries.push(named);
    }

    pub(super) fn write(&self, snapshot: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        replace::replace(&snapshot.join(FILE), text.as_bytes())
    }
}

/// One entry as it was before it was moved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Named {
    /// Relative to the site.
    pub name: String,
    /// Where it is in the snapshot, if not under its name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stored: Option<String>,
    /// Bytes; of a directory those of all files in it.
    pub size: u64,
    pub mtime: String,
    pub is_dir: bool,
    pub reason: String,
}

impl Named {
    pub(super) fn of(item: &Item<'_>, place: &Path) -> Self {
        let place = as_text(place);
        Self {
            name: item.name.to_owned(),
            stored: (place != item.name).then_some(place),
            size: item.size,
            mtime: clock::millis(item.modified),
            is_dir: item.is_dir,
            reason: item.reason.to_owned(),
        }
    }

    pub(super) fn place(&self) -> &str {
        self.stored.as_deref().unwrap_or(&self.name)
    }
}

/// A place below a directory: `/` between components. A backslash in a name is
/// part of it wherever the platform says so.
pub(super) fn as_text(place: &Path) -> String {
    let parts: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

pub(super) fn read(snapshot: &Path) -> Option<Manifest> {
    let path = snapshot.join(FILE);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    let bytes = is_file.then(|| fs::read(&path).ok()).flatten()?;
    let manifest: Manifest = serde_json::from_slice(&bytes).ok()?;
    (manifest.program == env!("CARGO_PKG_NAME")).then_some(manifest)
}
