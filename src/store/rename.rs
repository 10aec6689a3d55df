//! Moving one entry to a name that is free.
//!
//! Within a file system a move is one `rename`: after a kill at any point the
//! entry is whole on one side. Across file systems it is a copy that gets its
//! name when it is on the device, and the source goes afterwards: a kill can
//! leave the entry whole on both sides, never on none.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::replace::temp_beside;

/// Moves a file, a directory with all in it, or a link itself.
///
/// # Errors
/// `NotFound` when it is gone, `AlreadyExists` when `to` is taken; else what
/// the disk gave. Across file systems also: it is neither file, directory nor
/// link, or it was changed while it was copied.
pub fn move_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match rename_to_free(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => across(from, to),
        result => result,
    }
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

fn across(from: &Path, to: &Path) -> io::Result<()> {
    let temp = temp_beside(to);
    let mut copied_from = Vec::new();
    let copied = copy(from, &temp, &mut copied_from)
        .and_then(|()| copied_from.iter().try_for_each(unchanged))
        .and_then(|()| rename_to_free(&temp, to));
    // The first error is the one to report.
    copied.inspect_err(|_| drop(remove(&temp)))?;
    sync_dir(to)?;
    remove(from)
}

/// What was copied, as it was before.
type Source = (PathBuf, Metadata);

fn copy(from: &Path, to: &Path, sources: &mut Vec<Source>) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    sources.push((from.to_owned(), meta.clone()));
    if meta.is_symlink() {
        return copy_link(&fs::read_link(from)?, to);
    }
    if meta.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name), sources)?;
        }
        // Elsewhere a directory is not opened like a file.
        return match cfg!(unix) {
            true => keep_attributes(&File::open(to)?, &meta),
            false => Ok(()),
        };
    }
    if !meta.is_file() {
        // Opening a pipe would wait for its other end.
        let why = "it is neither a file, a directory nor a link";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let mut copy = File::create_new(to)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    keep_attributes(&copy, &meta)?;
    copy.sync_all()
}

#[cfg(unix)]
fn copy_link(target: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, to)
}

#[cfg(not(unix))]
fn copy_link(_: &Path, _: &Path) -> io::Result<()> {
    let why = "a link is not moved to another drive";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// Gives a copy the times, the mode and, where this process may, the owner.
fn keep_attributes(copy: &File, meta: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(copy, Some(meta.uid()), Some(meta.gid()));
    }
    copy.set_modified(meta.modified()?)?;
    copy.set_permissions(meta.permissions())
}

/// What was written to meanwhile must not go with its old copy kept.
fn unchanged((from, before): &Source) -> io::Result<()> {
    let now = fs::symlink_metadata(from)?;
    if now.len() == before.len() && now.modified()? == before.modified()? {
        return Ok(());
    }
    Err(io::Error::other("it was changed while it was copied"))
}

fn sync_dir(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) if cfg!(unix) => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_written_to_while_it_is_copied_is_found() {
        let dir = std::env::temp_dir().join(format!("statewarden-copy-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let file = dir.join("a");
        fs::write(&file, "one").unwrap();
        let mut sources = Vec::new();
        copy(&file, &dir.join("b"), &mut sources).unwrap();
        let time = sources[0].1.modified().unwrap();
        let hour = std::time::Duration::from_secs(3_600);
        for (text, time, is_same) in [
            ("one", time, true),
            ("one", time + hour, false),
            ("longer", time, false),
        ] {
            fs::write(&file, text).unwrap();
            let opened = fs::OpenOptions::new().write(true).open(&file);
            opened.unwrap().set_modified(time).unwrap();
            assert_eq!(unchanged(&sources[0]).is_ok(), is_same, "{text}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
