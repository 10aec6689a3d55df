//! Moving one entry to a name that is free: one `rename`, so that after a kill at any
//! point the entry is whole on one side.

use std::fs;
use std::io;
use std::path::Path;

/// Moves a file, a directory with all in it, or a link itself.
///
/// # Errors
/// `NotFound` when it is gone, `AlreadyExists` when `to` is taken, `CrossesDevices` when
/// `to` is on another file system; else what the disk gave.
pub fn move_to_free(from: &Path, to: &Path) -> io::Result<()> {
    rename_to_free(from, to).map_err(|error| match error.kind() {
        io::ErrorKind::CrossesDevices => {
            let above = to.parent().unwrap_or(to).display();
            let why = format!("`{above}` is on another file system; move it there by hand");
            io::Error::new(error.kind(), why)
        }
        _ => error,
    })
}

/// Exchanges the names of two entries: both are whole under one of them at any time.
///
/// # Errors
/// `Unsupported` where the file system knows no exchange; else what the disk gave.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            result => return Ok(result?),
        }
    }
    let _ = (one, other);
    Err(io::ErrorKind::Unsupported.into())
}

/// Moves a file over another one, which goes.
///
/// # Errors
/// What the disk gave.
pub fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            result => return Ok(result?),
        }
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}
