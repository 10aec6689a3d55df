//! What a directory holds: names, and the kind of each entry.

use std::ffi::OsString;
use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::fs::FileType;
#[cfg(not(target_os = "linux"))]
use std::fs::FileType;

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
#[cfg(target_os = "linux")]
pub fn entries(dir: &Path) -> io::Result<impl Iterator<Item = io::Result<Entry>>> {
    use rustix::fs::{Dir, Mode, OFlags, open};
    // The standard library lists with three calls of the system more.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let found = Dir::new(open(dir, flags, Mode::empty())?)?;
    let owned = dir.to_owned();
    Ok(found.filter_map(move |entry| to_entry(&owned, entry).transpose()))
}

#[cfg(target_os = "linux")]
fn to_entry(
    dir: &Path,
    read: rustix::io::Result<rustix::fs::DirEntry>,
) -> io::Result<Option<Entry>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    let found = read?;
    let name = OsStr::from_bytes(found.file_name().to_bytes());
    if name == "." || name == ".." {
        return Ok(None);
    }
    let kind = match found.file_type() {
        // Some file systems do not say it.
        FileType::Unknown => FileType::from_raw_mode(dir.join(name).symlink_metadata()?.mode()),
        known => known,
    };
    Ok(Some(Entry {
        name: name.to_owned(),
        kind,
    }))
}

/// # Errors
/// The same.
#[cfg(not(target_os = "linux"))]
pub fn entries(dir: &Path) -> io::Result<impl Iterator<Item = io::Result<Entry>>> {
    Ok(std::fs::read_dir(dir)?.map(|read| {
        let found = read?;
        Ok(Entry {
            name: found.file_name(),
            kind: found.file_type()?,
        })
    }))
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
