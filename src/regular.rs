//! Regular files, read within bounds. Other kinds of files can keep a reader
//! for ever, or never end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file for reading, and gives its length.
///
/// # Errors
/// The file cannot be opened, or is no regular one.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = open_at_once(path)?;
    let len = len(&file)?;
    Ok((file, len))
}

/// The length of an open file.
///
/// # Errors
/// It is no regular file.
pub fn len(file: &File) -> io::Result<u64> {
    let meta = file.metadata()?;
    match meta.is_file() {
        true => Ok(meta.len()),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// Opens a FIFO too without waiting for its writer. What the file is can only be
/// asked safely once it is open: another may have its name a moment later.
#[cfg(unix)]
fn open_at_once(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The bytes of a file of at most `max` of them.
///
/// # Errors
/// The file cannot be read, or is larger.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let (file, len) = open(path)?;
    let mut bytes = Vec::new();
    if len <= max {
        // What `/proc` holds says that it is empty, and any file can grow.
        bytes.reserve_exact(usize::try_from(len).unwrap_or_default());
        file.take(max + 1).read_to_end(&mut bytes)?;
    }
    if len.max(bytes.len() as u64) > max {
        let why = format!("it is larger than {} MiB", max >> 20);
        return Err(io::Error::other(why));
    }
    Ok(bytes)
}
