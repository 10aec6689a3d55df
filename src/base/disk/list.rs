//! What a directory holds: names, and what stands behind each.

use std::ffi::OsString;
use std::fs::{DirEntry, FileType, read_dir};
use std::io;
use std::path::Path;

/// One name in a directory.
#[derive(Debug)]
pub struct Entry {
    pub name: OsString,
    /// What stands behind it, links not followed.
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
    let entry = |entry: io::Result<DirEntry>| {
        let entry = entry?;
        Ok(Entry {
            name: entry.file_name(),
            kind: entry.file_type()?,
        })
    };
    Ok(read_dir(dir)?.map(entry))
}

/// The same, nothing where the directory or an entry cannot be read.
pub fn readable(dir: &Path) -> impl Iterator<Item = Entry> {
    entries(dir).into_iter().flatten().flatten()
}
