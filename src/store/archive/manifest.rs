//! `manifest.json` of a snapshot, format version 1. A later version may add
//! keys and changes none; readers ignore keys they do not know.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{Archive, Item, Kind, Run};
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
    pub kind: Kind,
    pub system: String,
    /// Relative to the project.
    pub site: String,
    pub by: String,
    /// UTC, RFC 3339, milliseconds.
    pub at: String,
    pub entries: Vec<Named>,
}

/// One entry as it was before it was moved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Named {
    /// Relative to the site.
    pub name: String,
    /// Where it lies in the snapshot, if not under its name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stored: Option<String>,
    /// Bytes; 0 for a directory.
    pub size: u64,
    pub mtime: String,
    pub is_dir: bool,
    pub reason: String,
}

impl Named {
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

pub(super) fn write(
    snapshot: &Path,
    ring: &Archive,
    run: Run,
    items: &[Item<'_>],
    places: &[PathBuf],
) -> io::Result<()> {
    let entries = items.iter().zip(places).map(|(item, place)| {
        let place = as_text(place);
        Named {
            name: item.name.to_owned(),
            stored: (place != item.name).then_some(place),
            size: item.size,
            mtime: clock::millis(item.modified),
            is_dir: item.is_dir,
            reason: item.reason.to_owned(),
        }
    });
    let manifest = Manifest {
        v: 1,
        program: env!("CARGO_PKG_NAME").to_owned(),
        kind: run.kind,
        system: ring.system.clone(),
        site: ring.site.clone(),
        by: run.kind.by().to_owned(),
        at: clock::millis(run.now),
        entries: entries.collect(),
    };
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    replace::replace(&snapshot.join(FILE), text.as_bytes())
}

pub(super) fn read(snapshot: &Path) -> Option<Manifest> {
    let path = snapshot.join(FILE);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    let bytes = is_file.then(|| fs::read(&path).ok()).flatten()?;
    let manifest: Manifest = serde_json::from_slice(&bytes).ok()?;
    (manifest.program == env!("CARGO_PKG_NAME")).then_some(manifest)
}
