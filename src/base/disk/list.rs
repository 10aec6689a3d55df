//! What a directory holds: names, and the kind of each entry.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use crate::base::disk::stat::{Kind, Stat};

/// One name in a directory.
#[derive(Debug)]
pub struct Entry {
    pub name: OsString,
    /// Its kind, links not followed.
    pub kind: Kind,
}

impl Entry {
    /// The name as text; bytes that are no UTF-8 are U+FFFD, which no contract holds.
    pub fn into_name(self) -> String {
        let name = self.name.into_string();
        name.unwrap_or_else(|name| name.to_string_lossy().into_owned())
    }

    /// Whether it is a directory, or a link to one. `dir` is what holds it.
    pub fn leads_to_dir(&self, dir: &Path) -> bool {
        self.kind == Kind::Dir || self.kind == Kind::Link && dir.join(&self.name).is_dir()
    }
}

/// An open directory: gives its entries, without `.` and `..`, in the order of the disk. What
/// cannot be read is an error in its place.
pub struct OpenDir<'p> {
    path: &'p Path,
    #[cfg(target_os = "linux")]
    dir: rustix::fs::Dir,
    #[cfg(not(target_os = "linux"))]
    dir: std::fs::ReadDir,
}

#[cfg(target_os = "linux")]
impl<'p> OpenDir<'p> {
    fn open(path: &'p Path) -> io::Result<Self> {
        use rustix::fs::{Dir, Mode, OFlags, open};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = Dir::new(open(path, flags, Mode::empty())?)?;
        Ok(Self { path, dir })
    }

    /// What the disk says of an entry.
    ///
    /// # Errors
    /// It is gone, or the disk does not say.
    pub fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        use super::stat::linux;
        match self.dir.fd().and_then(|dir| linux::stat(dir, name)) {
            Err(rustix::io::Errno::NOSYS) => Stat::of(&self.path.join(name)),
            stat => Ok(stat?),
        }
    }
}

#[cfg(target_os = "linux")]
impl Iterator for OpenDir<'_> {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        use rustix::fs::FileType;
        use std::os::unix::ffi::OsStrExt;
        loop {
            let found = match self.dir.read()? {
                Ok(found) => found,
                Err(error) => return Some(Err(error.into())),
            };
            let name = OsStr::from_bytes(found.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match found.file_type() {
                FileType::RegularFile => Ok(Kind::File),
                FileType::Directory => Ok(Kind::Dir),
                FileType::Symlink => Ok(Kind::Link),
                // Some file systems do not say it here.
                FileType::Unknown => self.stat(name).map(|stat| stat.kind),
                _ => Ok(Kind::Other),
            };
            return Some(kind.map(|kind| Entry {
                name: name.to_owned(),
                kind,
            }));
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl<'p> OpenDir<'p> {
    fn open(path: &'p Path) -> io::Result<Self> {
        let dir = std::fs::read_dir(path)?;
        Ok(Self { path, dir })
    }

    /// What the disk says of an entry.
    ///
    /// # Errors
    /// It is gone, or the disk does not say.
    pub fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Stat::of(&self.path.join(name))
    }
}

#[cfg(not(target_os = "linux"))]
impl Iterator for OpenDir<'_> {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.dir.next()?;
        Some(found.and_then(|found| {
            Ok(Entry {
                name: found.file_name(),
                kind: found.file_type()?.into(),
            })
        }))
    }
}

/// Opens a directory to list it.
///
/// # Errors
/// It cannot be opened.
pub fn entries(dir: &Path) -> io::Result<OpenDir<'_>> {
    OpenDir::open(dir)
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
            if entry.kind == Kind::Dir {
                dirs.push(path);
            } else {
                bytes += path.symlink_metadata().map_or(0, |meta| meta.len());
            }
        }
    }
    bytes
}
