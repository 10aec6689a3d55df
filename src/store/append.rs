//! Private files that only grow.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use super::replace::give_to_owner_above;
use crate::base::disk::bounded_read;

/// Opens a file for appending, mode 0600 where it is made, and gives its length.
///
/// # Errors
/// The file cannot be opened; what is no regular file, such as a link, counts as that.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = open_or_make(path)?;
    let len = bounded_read::len(&file)?;
    if len == 0 {
        give_to_owner_above(&file, path);
    }
    Ok((file, len))
}

/// musl sets a flag with a second call that the first one has set.
#[cfg(unix)]
fn open_or_make(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

#[cfg(not(unix))]
fn open_or_make(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true).read(true).open(path)
}

/// Appends bytes with one `write`, without waiting for the device, and gives where
/// they begin. A kill leaves none of them or all; a power loss, or a full device,
/// may leave some.
///
/// # Errors
/// The file cannot be opened or written.
pub fn append(path: &Path, bytes: &[u8]) -> io::Result<u64> {
    let (mut file, len) = open(path)?;
    write(&mut file, len, bytes)?;
    Ok(len)
}

/// The same of a file of that length that is open.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &mut File, len: u64, bytes: &[u8]) -> io::Result<()> {
    may_grow_to(len + bytes.len() as u64)?;
    file.write_all(bytes)
}

/// A file that grows past the limit that a process has for them ends it by a signal.
///
/// # Errors
/// The file would grow past the limit.
#[cfg(unix)]
pub fn may_grow_to(len: u64) -> io::Result<()> {
    use rustix::process::{Resource, getrlimit};
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    let limit = LIMIT.get_or_init(|| getrlimit(Resource::Fsize).current);
    if limit.is_some_and(|limit| len > limit) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    Ok(())
}

#[cfg(not(unix))]
pub fn may_grow_to(_: u64) -> io::Result<()> {
    Ok(())
}
