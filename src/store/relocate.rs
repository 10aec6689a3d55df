//! Moving one of the program's own folders to another place, on another file system too.

use std::fs;
use std::io;
use std::path::Path;

use super::rename::move_to_free;
use super::replace::{make_dir, make_private_dir, remove_own_tree, temp_beside};
use crate::base::disk::list;
use crate::base::disk::stat::Kind;

/// Moves a folder with all in it to a name that is free. A kill leaves it whole in one
/// place, or whole in both.
///
/// # Errors
/// `AlreadyExists` when `to` is taken; else it cannot be moved, and is where it was.
pub fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(above) = to.parent() {
        make_dir(above)?;
    }
    match move_to_free(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let half = temp_beside(to);
            copy_tree(from, &half)?;
            move_to_free(&half, to)?;
            remove_own_tree(from)
        }
        moved => moved,
    }
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    make_private_dir(to)?;
    for entry in list::entries(from)? {
        let list::Entry { name, kind, .. } = entry?;
        let (from, to) = (from.join(&name), to.join(&name));
        match kind {
            Kind::Dir => copy_tree(&from, &to)?,
            Kind::File => drop(fs::copy(&from, &to)?),
            Kind::Link | Kind::Other => {}
        }
    }
    Ok(())
}

/// Whether this process may make entries in a directory.
pub fn is_writable(dir: &Path) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        access(dir, Access::WRITE_OK).is_ok()
    }
    #[cfg(not(unix))]
    fs::metadata(dir).is_ok_and(|meta| !meta.permissions().readonly())
}
