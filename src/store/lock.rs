//! One writer at a time in a directory.
//!
//! The directory itself is locked: a lock on a file that is replaced by rename
//! protects nothing, and a lock file of our own would be one more name in a
//! directory whose names are the contract. The kernel drops the lock with the
//! process, however that ends.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use fd_lock::RwLock;

use super::could_not;
use super::pid_lock::with_pid_lock;
use crate::base::disk::list;
use crate::base::disk::stat::Kind;

/// How long a hook waits for a lock at one try; a gate and the end of an agent have several.
pub const IN_HOOK: Duration = Duration::from_millis(250);

/// How long a command waits for a lock.
pub const IN_COMMAND: Duration = Duration::from_secs(5);

const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// Proof that the directory is locked; what must not race takes one.
pub struct Locked<'d> {
    dir: &'d Path,
}

impl Locked<'_> {
    pub fn dir(&self) -> &Path {
        self.dir
    }
}

/// Runs `f` while this process alone holds the directory.
///
/// # Errors
/// `WouldBlock` with a sentence that names the directory when another process
/// holds it for longer than `wait`; else what opening the directory or `f` gave.
pub fn with_lock<T>(
    dir: &Path,
    wait: Duration,
    f: impl FnOnce(&Locked<'_>) -> io::Result<T>,
) -> io::Result<T> {
    with_locks(&[dir.to_owned()], dir, wait, f)
}

fn with_locks<T>(
    dirs: &[PathBuf],
    dir: &Path,
    wait: Duration,
    f: impl FnOnce(&Locked<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let mut f = Some(f);
    let mut result = Err(io::ErrorKind::WouldBlock.into());
    lock_each(dirs, wait, &mut || {
        if let Some(f) = f.take() {
            result = f(&Locked { dir });
        }
    })?;
    result
}

/// Calls `f` once, under the locks of all directories. Without a type parameter, so that
/// it is compiled once.
fn lock_each(dirs: &[PathBuf], wait: Duration, f: &mut dyn FnMut()) -> io::Result<()> {
    let Some((dir, others)) = dirs.split_first() else {
        f();
        return Ok(());
    };
    let failed = could_not("lock", dir);
    let mut lock = RwLock::new(open(dir).map_err(&failed)?);
    let begun = Instant::now();
    loop {
        match lock.try_write() {
            Ok(_guard) => return lock_each(others, wait, f),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(failed(error)),
        }
        if begun.elapsed() >= wait {
            let message = format!(
                "`{}` is locked by another process for more than {} ms; try again",
                dir.display(),
                wait.as_millis()
            );
            return Err(io::Error::new(io::ErrorKind::WouldBlock, message));
        }
        thread::sleep(BETWEEN_TRIES);
    }
}

/// Whether a process holds the directory at this moment.
pub fn is_held(dir: &Path) -> bool {
    open(dir).is_ok_and(|file| RwLock::new(file).try_write().is_err())
}

/// Opens a directory for locking, without waiting for what has the name of one,
/// such as a pipe.
#[cfg(unix)]
fn open(dir: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(dir, flags, Mode::empty())?.into())
}

/// A directory cannot be opened for locking here, so a file in the temporary
/// directory that is named after it is locked instead.
#[cfg(not(unix))]
fn open(dir: &Path) -> io::Result<File> {
    // Every version of this program has to come to the same name: FNV-1a.
    let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let hash = real
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let file = std::env::temp_dir().join(format!("statewarden-{hash:016x}.lock"));
    #[expect(clippy::disallowed_methods, reason = "this is the store")]
    std::fs::OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(file)
}

/// Like [`with_lock`], and where another program guards the same state by a
/// file with its process id in it, that guard is held as well. So are the
/// directories of the files that links lead to: these files are replaced there.
///
/// # Errors
/// As [`with_lock`]; `WouldBlock` also when the other program holds its guard.
pub fn with_state_lock<T>(
    dir: &Path,
    pid_lock: Option<&str>,
    wait: Duration,
    f: impl FnOnce(&Locked<'_>) -> io::Result<T>,
) -> io::Result<T> {
    with_locks(&with_linked(dir), dir, wait, |locked| match pid_lock {
        Some(name) => with_pid_lock(locked, name, wait, || f(locked)),
        None => f(locked),
    })
}

/// A directory and those outside it in which the files lie that its links lead
/// to, each once and in an order that every process takes them in.
fn with_linked(dir: &Path) -> Vec<PathBuf> {
    let entries = list::readable(dir);
    let links: Vec<_> = entries.filter(|entry| entry.kind == Kind::Link).collect();
    // Of one directory the lock is the same whatever path leads there.
    if links.is_empty() {
        return vec![dir.to_owned()];
    }
    let Ok(real) = dir.canonicalize() else {
        return vec![dir.to_owned()];
    };
    let files = links
        .into_iter()
        .filter_map(|link| real.join(link.name).canonicalize().ok());
    let outside = files.filter(|file| file.is_file() && !file.starts_with(&real));
    let parents = outside.filter_map(|file| Some(file.parent()?.to_owned()));
    // One that cannot be opened cannot be locked.
    let mut dirs: Vec<PathBuf> = parents.filter(|dir| open(dir).is_ok()).collect();
    dirs.push(real);
    dirs.sort_unstable();
    dirs.dedup();
    dirs
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory that were taken twice would wait for itself.
    #[test]
    fn directories_that_links_lead_to_are_locked_once_and_in_order() {
        let base = std::env::temp_dir().join(format!("statewarden-links-{}", std::process::id()));
        for dir in ["m/sub", "a/dir", "z"] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        let base = base.canonicalize().unwrap();
        for (link, to) in [
            ("1", "z/x"),
            ("2", "z/y"),
            ("3", "a/x"),
            ("4", "a/dir"),
            ("5", "m/sub/x"),
        ] {
            if to != "a/dir" {
                fs::write(base.join(to), "").unwrap();
            }
            symlink(base.join(to), base.join("m").join(link)).unwrap();
        }
        symlink("nowhere", base.join("m/6")).unwrap();
        let dirs = ["a", "m", "z"].map(|dir| base.join(dir));
        assert_eq!(with_linked(&base.join("m")), dirs);
        let locked = with_state_lock(&base.join("m"), None, Duration::ZERO, |_| Ok(()));
        assert!(locked.is_ok());
        fs::remove_dir_all(&base).unwrap();
    }
}
