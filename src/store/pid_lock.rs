//! devt's own mutex: a file that exists while a process writes, with that
//! process's id as its content.
//!
//! It is honoured beside the directory lock, which devt does not know. devt
//! takes an empty file away from its owner after a while, so ours appears with
//! its content: written under another name, then linked.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::lock::Locked;
use super::replace::temp_beside;
use crate::base::disk::bounded_read;

/// How long another program may take between making its file and writing its id.
const EMPTY_FOR: Duration = Duration::from_secs(2);

const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// An id is a few digits; what is larger is no pid file.
const MAX_BYTES: u64 = 1 << 20;

/// Runs `f` while the pid file `name` in the locked directory is ours.
///
/// The directory lock keeps other processes of this program from taking a dead
/// owner's file at the same time.
///
/// # Errors
/// `WouldBlock` with a sentence that names the owner when a living process, or
/// one that may be alive, holds the file for longer than `wait`; else what the
/// disk or `f` gave.
pub fn with_pid_lock<T>(
    locked: &Locked<'_>,
    name: &str,
    wait: Duration,
    f: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let path = locked.dir().join(name);
    let begun = Instant::now();
    let mut unclear_since: Option<Instant> = None;
    let ours = loop {
        if let Some(ours) = PidFile::create(&path)? {
            break ours;
        }
        let content = content_of(&path)?;
        let owner = owner(&content, &path);
        let may_go = match owner {
            Owner::Dead(_) => true,
            Owner::Unclear => {
                unclear_since.get_or_insert_with(Instant::now).elapsed() >= EMPTY_FOR
                    || age(&path).is_some_and(|age| age >= EMPTY_FOR)
            }
            Owner::Alive(_) => false,
        };
        if may_go {
            take_away(&path, &content)?;
        } else if begun.elapsed() >= wait {
            return Err(held(&path, owner, wait));
        } else {
            thread::sleep(BETWEEN_TRIES);
        }
    };
    let result = f();
    ours.release();
    result
}

/// The holder of a pid file; none where there is no file.
///
/// # Errors
/// The file cannot be read; the message names it.
pub fn owner_of(path: &Path) -> io::Result<Owner> {
    Ok(owner(&content_of(path)?, path))
}

/// The text of the file; empty where there is none, or it is no text.
fn content_of(path: &Path) -> io::Result<String> {
    let content = bounded_read::if_there(bounded_read::read(path, MAX_BYTES)).map_err(|error| {
        let why = format!("`{}` cannot be read: {error}", path.display());
        io::Error::new(error.kind(), why)
    })?;
    Ok(String::from_utf8(content.unwrap_or_default()).unwrap_or_default())
}

fn held(path: &Path, owner: Owner, wait: Duration) -> io::Error {
    let whose = match owner {
        Owner::Alive(pid) => format!("process {pid}"),
        Owner::Dead(_) | Owner::Unclear => "a process that did not write its id".to_owned(),
    };
    let why = format!(
        "`{}` is held by {whose} for more than {} ms; try again when it has ended",
        path.display(),
        wait.as_millis()
    );
    io::Error::new(io::ErrorKind::WouldBlock, why)
}

/// A pid file that this process made.
struct PidFile<'p> {
    path: &'p Path,
}

impl<'p> PidFile<'p> {
    /// `None` where another file is in the way.
    fn create(path: &'p Path) -> io::Result<Option<Self>> {
        let temp = temp_beside(path);
        let linked = match fs::write(&temp, own_id()).and_then(|()| fs::hard_link(&temp, path)) {
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists
                        | io::ErrorKind::NotFound
                        | io::ErrorKind::StorageFull
                ) =>
            {
                // Some file systems have no hard links.
                create_in_place(path)
            }
            linked => linked,
        };
        // A leftover is ephemeral by contract and does no harm.
        let _ = fs::remove_file(&temp);
        match linked {
            Ok(()) => Ok(Some(Self { path })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the file if it is still ours. What cannot be removed is a dead
    /// owner's file from the end of this process on.
    fn release(self) {
        if content_of(self.path).is_ok_and(|content| content == own_id()) {
            let _ = fs::remove_file(self.path);
        }
    }
}

fn own_id() -> String {
    std::process::id().to_string()
}

fn create_in_place(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(own_id().as_bytes());
    // The first error is the one to report.
    written.inspect_err(|_| drop(fs::remove_file(path)))
}

/// What is known about whoever made a pid file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A process that lives, or may live: the platform does not say.
    Alive(u32),
    /// A process that has ended, though another may have its id by now.
    Dead(u32),
    /// No id in the file, or not yet.
    Unclear,
}

fn owner(content: &str, path: &Path) -> Owner {
    let Some(pid) = pid(content) else {
        return Owner::Unclear;
    };
    // Nobody in this process holds the file, so an earlier one had its id.
    if pid == std::process::id() || !is_alive(pid) || began_after(pid, path) {
        Owner::Dead(pid)
    } else {
        Owner::Alive(pid)
    }
}

/// The id is bare digits; devt's document says that the file is JSON, so an
/// object with a `pid` is understood as well.
fn pid(content: &str) -> Option<u32> {
    let pid = content.trim().parse().ok().or_else(|| {
        let object: serde_json::Value = serde_json::from_str(content).ok()?;
        u32::try_from(object.get("pid")?.as_u64()?).ok()
    });
    pid.filter(|pid| *pid > 0)
}

/// A process that may not be signaled lives all the same.
#[cfg(unix)]
pub(super) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
pub(super) fn is_alive(_: u32) -> bool {
    true
}

/// Whether a process is younger than the file that names it, so that it only
/// has the owner's old number. Only Linux says; elsewhere the answer is no.
fn began_after(pid: u32, path: &Path) -> bool {
    match (running_for(pid), age(path)) {
        // Both clocks are cut to seconds.
        (Some(running), Some(age)) => age.as_secs() > running + 2,
        _ => false,
    }
}

/// How many seconds ago a process began.
fn running_for(pid: u32) -> Option<u64> {
    // The kernel counts in hundredths of a second since the boot, whatever the machine.
    const TICKS_PER_SECOND: u64 = 100;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let since_boot = fs::read_to_string("/proc/uptime").ok()?;
    let seconds: u64 = since_boot.split(['.', ' ']).next()?.parse().ok()?;
    seconds.checked_sub(ticks / TICKS_PER_SECOND)
}

/// How long ago a file was changed; `None` where that is in the future.
fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()?
        .elapsed()
        .ok()
}

/// Removes a pid file that still holds what was judged. It is renamed first: a
/// file that another process has made meanwhile goes back to its place.
fn take_away(path: &Path, judged: &str) -> io::Result<()> {
    let aside: PathBuf = path.with_extension(format!("{}.tmp", std::process::id()));
    if bounded_read::if_there(fs::rename(path, &aside))?.is_none() {
        return Ok(());
    }
    if content_of(&aside)? != judged {
        // If a third one has its place now, the second has lost it to devt's own rules.
        let _ = fs::hard_link(&aside, path);
    }
    fs::remove_file(&aside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::lock::{IN_COMMAND, with_lock};

    fn in_dir(test: &str, f: impl FnOnce(&Path)) {
        let dir = std::env::temp_dir().join(format!("statewarden-{test}-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        f(&dir);
        fs::remove_dir_all(&dir).unwrap();
    }

    fn lock(dir: &Path, wait: Duration) -> io::Result<String> {
        with_lock(dir, IN_COMMAND, |locked| {
            with_pid_lock(locked, ".lock", wait, || {
                fs::read_to_string(dir.join(".lock"))
            })
        })
    }

    fn set_age(path: &Path, seconds: i64) {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        let now = std::time::SystemTime::now();
        let span = Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 { now + span } else { now - span };
        file.set_modified(time).unwrap();
    }

    #[test]
    fn only_the_file_that_was_judged_is_taken_away() {
        in_dir("pid-judged", |dir| {
            let file = dir.join(".lock");
            take_away(&file, "77").unwrap();
            fs::write(&file, "78").unwrap();
            take_away(&file, "77").unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "78");
            assert_eq!(fs::read_dir(dir).unwrap().count(), 1);
            take_away(&file, "78").unwrap();
            assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
        });
    }

    #[test]
    fn a_file_without_a_living_owner_is_taken() {
        in_dir("pid-dead", |dir| {
            let (file, ours) = (dir.join(".lock"), own_id());
            let check = |content: &str, wait_ms| {
                let held = lock(dir, Duration::from_millis(wait_ms)).unwrap();
                assert_eq!(held, ours, "after {content:?}");
                assert_eq!(fs::read_dir(dir).unwrap().count(), 0, "after {content:?}");
            };
            check("nothing", 0);
            for content in ["4194399", "{\"pid\":4194399}", ours.as_str()] {
                fs::write(&file, content).unwrap();
                check(content, 0);
            }
            for content in ["", "garbage", "-1", "[1]"] {
                fs::write(&file, content).unwrap();
                set_age(&file, 3_600);
                check(content, 0);
            }
            // From the future, so that it never gets old.
            fs::write(&file, "").unwrap();
            set_age(&file, -3_600);
            check("a new empty file", 4_000);
        });
    }

    #[cfg(unix)]
    #[test]
    fn a_living_owner_keeps_its_file() {
        in_dir("pid-alive", |dir| {
            // Process 1 belongs to another user unless this is root.
            for content in ["1", "1\n", "{\"pid\": 1}"] {
                fs::write(dir.join(".lock"), content).unwrap();
                let error = lock(dir, Duration::from_millis(20)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                assert!(error.to_string().contains("process 1"), "{error}");
                assert_eq!(fs::read_to_string(dir.join(".lock")).unwrap(), content);
            }
            for content in ["", "0"] {
                fs::write(dir.join(".lock"), content).unwrap();
                assert!(
                    lock(dir, Duration::ZERO).is_err(),
                    "it may still get its id"
                );
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        in_dir("pid-pipe", |dir| {
            let pipe = std::process::Command::new("mkfifo")
                .arg(dir.join(".lock"))
                .status();
            assert!(pipe.unwrap().success());
            let error = lock(dir, Duration::ZERO).unwrap_err().to_string();
            assert!(
                error.ends_with(".lock` cannot be read: it is no regular file"),
                "{error}"
            );
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_number_that_went_to_another_process_is_no_owner() {
        in_dir("pid-reuse", |dir| {
            let mut child = std::process::Command::new("cat")
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            fs::write(dir.join(".lock"), child.id().to_string()).unwrap();
            assert!(lock(dir, Duration::ZERO).is_err());
            set_age(&dir.join(".lock"), 3_600);
            assert!(lock(dir, Duration::ZERO).is_ok());
            child.kill().unwrap();
            child.wait().unwrap();
        });
    }

    #[test]
    fn what_is_no_longer_ours_is_not_released() {
        in_dir("pid-stolen", |dir| {
            with_lock(dir, IN_COMMAND, |locked| {
                with_pid_lock(locked, ".lock", Duration::ZERO, || {
                    fs::write(dir.join(".lock"), "77")
                })
            })
            .unwrap();
            assert_eq!(fs::read_to_string(dir.join(".lock")).unwrap(), "77");
        });
    }
}
