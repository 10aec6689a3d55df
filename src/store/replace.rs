//! Whole files: replaced, copied and removed. Logs and archives are elsewhere.

#![expect(clippy::disallowed_methods, reason = "this is the store")]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::could_not;
use super::pid_lock::is_alive;
use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::base::disk::stat::Kind;
use crate::store::rename::move_to_free;

/// Puts `bytes` in the place of a file, or makes the file.
///
/// Whoever opens `path` finds the old bytes or the new ones, whole, also after a
/// kill at any point and, because the bytes are on the device before the name
/// is, after a power loss. The directory is not flushed: a power loss right
/// after the return may bring the old bytes back. A kill can leave a temporary
/// file behind, see [`is_temp_name`]. Mode and owner of the old file stay. A link at
/// `path` is replaced, not followed.
///
/// # Errors
/// The bytes or the name cannot be written; the old file is unchanged then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, &Attributes::OfOld, File::sync_data)
}

/// Like [`replace`], without waiting for the device: a kill leaves the file
/// whole, a power loss may leave it empty. For what a reader can do without.
///
/// # Errors
/// Those of [`replace`].
pub fn replace_unflushed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, &Attributes::OfOld, |_| Ok(()))
}

/// The same for a file that no other user may read.
///
/// # Errors
/// Those of [`replace`].
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, &Attributes::Private, |_| Ok(()))
}

/// Makes a file under a name that is free, with the mode and the modification time that it had
/// when it held these bytes. It has its name once it is whole and on the device.
///
/// # Errors
/// `AlreadyExists` when the name is taken; else the file cannot be made.
pub fn make_as_it_was(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    modified: SystemTime,
) -> io::Result<()> {
    let (temp, mut file) = create_beside(path, Access::Private)?;
    let made = file
        .write_all(bytes)
        .and_then(|()| {
            give_to_owner_above(&file, &temp);
            file.set_modified(modified)
        })
        .and_then(|()| set_mode(&file, mode))
        .and_then(|()| file.sync_data())
        .and_then(|()| move_to_free(&temp, path));
    // The first error is the one to report.
    made.inspect_err(|_| drop(fs::remove_file(&temp)))
}

/// Makes a link under a name that is free.
///
/// # Errors
/// `AlreadyExists` when the name is taken; else the link cannot be made.
#[cfg(unix)]
pub fn make_link(path: &Path, target: &[u8]) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), path)
}

/// # Errors
/// Always: links are not made here.
#[cfg(not(unix))]
pub fn make_link(_: &Path, _: &[u8]) -> io::Result<()> {
    let why = "links are not made on this platform";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// What a file has beside its bytes.
enum Attributes {
    OfOld,
    Private,
}

impl Attributes {
    /// Gives them to the new file at `temp`.
    fn give(&self, file: &File, temp: &Path, old: Option<&Metadata>) -> io::Result<()> {
        if let (Self::OfOld, Some(old)) = (self, old) {
            return take_over(temp, old);
        }
        give_to_owner_above(file, temp);
        Ok(())
    }
}

fn put(
    path: &Path,
    bytes: &[u8],
    attributes: &Attributes,
    flush: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let old = fs::symlink_metadata(path).ok().filter(Metadata::is_file);
    let access = match (attributes, &old) {
        (Attributes::OfOld, None) => Access::Usual,
        // Closed to others until it has the mode of the file it replaces.
        _ => Access::Private,
    };
    let (temp, file) = create_beside(path, access)?;
    let written = (&file)
        .write_all(bytes)
        .and_then(|()| attributes.give(&file, &temp, old.as_ref()))
        .and_then(|()| flush(&file))
        .and_then(|()| fs::rename(&temp, path));
    // The first error is the one to report.
    written.inspect_err(|_| drop(fs::remove_file(&temp)))
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(mode & 0o7777))
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Makes a file that no other user may read, and that must not be there yet.
///
/// # Errors
/// `AlreadyExists` when it is there; else it cannot be made or written.
pub fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = creating(Access::Private).open(path)?;
    give_to_owner_above(&file, path);
    file.write_all(bytes)
}

/// The same with what `bytes` makes of the time that the file system gave to the file, in
/// nanoseconds since 1970.
///
/// # Errors
/// As [`create_private`].
pub fn create_timed(path: &Path, bytes: &dyn Fn(Option<i64>) -> Vec<u8>) -> io::Result<()> {
    let mut file = creating(Access::Private).open(path)?;
    give_to_owner_above(&file, path);
    let changed = file.metadata().map(|meta| super::changed(&meta));
    let made = changed.ok().and_then(|time| time.timestamp_nanos_opt());
    file.write_all(&bytes(made))
}

/// Writes over the first bytes of a private file, or makes it, without a flush, a
/// truncation or a rename. For a few bytes that are written in one.
///
/// # Errors
/// The file cannot be opened or written.
pub fn overwrite_start(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let opened = OpenOptions::new().write(true).open(path);
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_private(path, bytes),
        opened => opened?.write_all(bytes),
    }
}

/// Who may read a file while it is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Usual,
    Private,
}

fn creating(access: Access) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if access == Access::Private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = access;
    options
}

/// The temporary file or directory of this process that belongs to a path.
pub(super) fn temp_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Whether a file name has the form of our temporary files, `.NAME.PID.tmp`.
pub fn is_temp_name(name: &str) -> bool {
    temp_pid(name).is_some()
}

/// The digits that name the process of a temporary file.
fn temp_pid(name: &str) -> Option<&str> {
    let middle = name.strip_prefix('.')?.strip_suffix(".tmp")?;
    let (_, pid) = middle.rsplit_once('.')?;
    (!pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit())).then_some(pid)
}

/// Removes the temporary files of killed processes in a directory, those for files
/// whose names begin like this. What cannot be removed stays, and `doctor` reports it.
pub fn drop_leftovers(dir: &Path, names: &str) {
    let begins = format!(".{names}");
    for entry in list::readable(dir).filter(|entry| entry.kind == Kind::File) {
        let name = entry.name.to_str().unwrap_or_default();
        if name.starts_with(&begins) && is_leftover(name) {
            let _ = fs::remove_file(dir.join(&entry.name));
        }
    }
}

/// Whether the process of a temporary file has ended, or had this one's id.
fn is_leftover(name: &str) -> bool {
    let owner = temp_pid(name).and_then(|pid| pid.parse().ok());
    owner.is_some_and(|pid| pid == std::process::id() || !is_alive(pid))
}

/// Opens a temporary file that no other process has. A leftover of a killed process
/// with the same id is not in use and goes.
fn create_beside(path: &Path, access: Access) -> io::Result<(PathBuf, File)> {
    let temp = temp_beside(path);
    let options = creating(access);
    let file = options.open(&temp).or_else(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => fs::remove_file(&temp).and_then(|()| options.open(&temp)),
        _ => Err(e),
    })?;
    Ok((temp, file))
}

fn take_over(temp: &Path, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        // Only root can give a file away, and only then is there a need to.
        let _ = chown(temp, Some(old.uid()), Some(old.gid()));
    }
    fs::set_permissions(temp, old.permissions())
}

/// Copies a file with its mode to a name that is free. The copy has its name once
/// it is whole and on the device.
///
/// # Errors
/// `AlreadyExists` when `to` is taken; `from` is no regular file, or cannot be
/// read; the copy cannot be written.
pub fn copy_to_free(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, _) = bounded_read::open(from)?;
    let old = from.metadata()?;
    let (temp, mut copy) = create_beside(to, Access::Private)?;
    let copied = io::copy(&mut from, &mut copy)
        .and_then(|_| take_over(&temp, &old))
        .and_then(|()| copy.sync_data())
        .and_then(|()| move_to_free(&temp, to));
    // The first error is the one to report.
    copied.inspect_err(|_| drop(fs::remove_file(&temp)))
}

/// Makes a directory and those above it.
///
/// # Errors
/// One of them cannot be made, or its name is a file's.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    fs::create_dir_all(dir)?;
    missing.into_iter().rev().for_each(give_dir_to_owner_above);
    Ok(())
}

/// Gives a file that root has just made to the owner of the directory above, who could
/// not change it otherwise.
pub(crate) fn give_to_owner_above(made: &File, path: &Path) {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::{MetadataExt, fchown};
        // A file with another name as well is not new.
        let is_new = made
            .metadata()
            .is_ok_and(|meta| meta.is_dir() || meta.nlink() == 1);
        if let (true, Some(Ok(above))) = (is_new, path.parent().map(fs::metadata)) {
            // Where it fails there are no owners to be wrong.
            let _ = fchown(made, Some(above.uid()), Some(above.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (made, path);
}

/// The same for a directory.
fn give_dir_to_owner_above(dir: &Path) {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
        let made = OpenOptions::new().read(true).custom_flags(flags).open(dir);
        made.iter().for_each(|made| give_to_owner_above(made, dir));
    }
    #[cfg(not(unix))]
    let _ = dir;
}

/// Makes a directory that no other user may look into; those above it must be there.
///
/// # Errors
/// It cannot be made; that it is there is none.
pub fn make_private_dir(dir: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(dir) {
        Ok(()) => give_dir_to_owner_above(dir),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Makes a directory that must not be there yet.
///
/// # Errors
/// `AlreadyExists` when it is there; else it cannot be made.
pub fn make_new_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir(dir)?;
    give_dir_to_owner_above(dir);
    Ok(())
}

/// Removes a file; one that is not there is no error.
///
/// # Errors
/// The file is there and cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = bounded_read::if_there(fs::remove_file(path)).map(drop);
    removed.map_err(could_not("remove", path))
}

/// Removes a directory that is empty, and says whether it did.
pub fn remove_if_empty(dir: &Path) -> bool {
    fs::remove_dir(dir).is_ok()
}

/// Removes a directory this process made for itself, with all in it.
///
/// # Errors
/// Something in it cannot be removed; what went before that is gone.
pub fn remove_own_tree(dir: &Path) -> io::Result<()> {
    fs::remove_dir_all(dir)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use super::*;

    #[test]
    fn a_temporary_name_is_known_again() {
        for (name, expected) in [
            (".settings.json.4711.tmp", true),
            (".a.1.tmp", true),
            (".1.tmp", false),
            (".settings.json.tmp", false),
            ("settings.json.4711.tmp", false),
            (".x.47a.tmp", false),
            (".x..tmp", false),
        ] {
            assert_eq!(is_temp_name(name), expected, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn replacing_keeps_the_mode_and_leaves_nothing_behind() {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("statewarden-replace-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let file = dir.join("a.json");
        // A leftover of a killed process with the same id is no obstacle.
        fs::write(
            dir.join(format!(".a.json.{}.tmp", std::process::id())),
            "torn",
        )
        .unwrap();
        replace(&file, b"one").unwrap();
        fs::write(dir.join("plain"), "").unwrap();
        let mode = |name| fs::metadata(dir.join(name)).unwrap().permissions();
        assert_eq!(mode("a.json"), mode("plain"));
        fs::remove_file(dir.join("plain")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert!(
            replace(&dir, b"x").is_err(),
            "a directory cannot be replaced"
        );
        assert!(copy_to_free(&file, &file).is_err());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        let error = remove(&dir).unwrap_err().to_string();
        assert!(error.contains(dir.to_str().unwrap()), "{error}");
        let leftovers = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let ours = format!(".statewarden-replace-{}.", std::process::id());
        assert!(
            leftovers
                .into_iter()
                .all(|e| !e.file_name().to_string_lossy().starts_with(&ours))
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}
