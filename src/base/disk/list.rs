//! What a directory holds: names, and the kind of each entry.

use std::ffi::OsString;
use std::fs::{DirEntry, FileType, read_dir};
use std::io;
use std::path::Path;

/// One name in a directory.
#[derive(Debug)]
pub struct Entry {
    pub name: OsString,
    /// Its kind, links not followed.
    pub kind: FileType,
}

impl Entry {
    /// The name as text; bytes that are no UTF-8 are U+FFFD, which no contract holds.
    pub fn into_name(self) -> String {
        let name = self.name.into_string();
        name.unwrap_or_else(|name| name.to_string_lossy().into_owned())
    }

    /// Whether it is a directory, or a link to one. `dir` is what holds it.
    pub fn leads_to_dir(&self, dir: &Path) -> bool {
        self.kind.is_dir() || self.kind.is_symlink() && dir.join(&self.name).is_dir()
    }
}

/// The entries of a directory, without `.` and `..`, in the order of the disk.
///
/// # Errors
/// The directory cannot be opened. What cannot be read later is an error in its place.
pub fn entries(dir: &Path) -> io::Result<impl Iterator<Item = io::Result<Entry>>> {
    Ok(read_dir(dir)?.map(|entry| to_entry(&entry?)))
}

fn to_entry(found: &DirEntry) -> io::Result<Entry> {
    Ok(Entry {
        name: found.file_name(),
        kind: found.file_type()?,
    })
}

/// The same, nothing where the directory or an entry cannot be read.
pub fn readable(dir: &Path) -> impl Iterator<Item = Entry> {
    entries(dir).into_iter().flatten().flatten()
}

/// The bytes of all files below a directory, links not followed; what cannot be read counts none.
pub fn bytes_below(dir: &Path) -> u64 {
    let (mut dirs, mut bytes) = (vec![dir.to_owned()], 0);
    while let Some(dir) = dirs.pop() {
        for entry in readable(&dir) {
            let path = dir.join(&entry.name);
            if entry.kind.is_dir() {
                dirs.push(path);
            } else {
                bytes += path.symlink_metadata().map_or(0, |meta| meta.len());
            }
        }
    }
    bytes
}
