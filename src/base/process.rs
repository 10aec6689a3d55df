//! Where this process comes from: the programs above it, and the terminal session that it is in.

use std::fs;
use std::path::Path;

use crate::base::disk::bounded_read;
use crate::base::env;

/// No tree of processes is deeper in earnest.
const MOST_PARENTS: usize = 64;

/// More than Linux lets a process be started with.
const MAX_ENVIRONMENT: u64 = 8 << 20;

/// Linux shows times in this unit on each platform that has a build.
const TICK_MILLIS: i64 = 10;

/// What `/proc/PID/stat` says of a process.
struct Process {
    name: String,
    parent: u32,
    session: u32,
    /// In ticks since the machine was started.
    started: i64,
}

impl Process {
    fn this() -> Option<Self> {
        // By its number it could be another where `/proc` is of another namespace.
        Self::read("self")
    }

    fn read(pid: &str) -> Option<Self> {
        let text = bounded_read::read(Path::new(&format!("/proc/{pid}/stat")), 1 << 16).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// All that can be read.
    fn all() -> impl Iterator<Item = Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::read(entry.file_name().to_str()?))
    }

    /// `7 (a name) S 1 7 7 …`: a name may hold blanks and brackets.
    fn parse(text: &str) -> Option<Self> {
        let (front, behind) = text.rsplit_once(')')?;
        let (_, name) = front.split_once('(')?;
        let fields: Vec<&str> = behind.split_whitespace().collect();
        Some(Self {
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

/// Whether a client is among the processes above this one. Where they cannot be read, none is.
pub fn has_client_above() -> bool {
    let mut process = Process::this();
    for _ in 0..MOST_PARENTS {
        let Some(Process { parent, .. }) = process else {
            return false;
        };
        let file = format!("/proc/{parent}/environ");
        let environment = bounded_read::read(Path::new(&file), MAX_ENVIRONMENT).unwrap_or_default();
        if env::is_beyond_a_test(&environment) {
            return false;
        }
        process = Process::read(&parent.to_string());
        let is_client = process.as_ref().is_some_and(|it| it.name == "claude");
        if is_client || env::is_of_client(&environment) {
            return true;
        }
    }
    false
}

/// For how many milliseconds the terminal session of this process has been there, at least: since
/// the oldest process that is in it still, which is the shell in a terminal. `None` where processes
/// cannot be asked.
pub fn session_age() -> Option<i64> {
    let this = Process::this()?;
    let members = Process::all().filter(|process| process.session == this.session);
    let oldest = members.map(|process| process.started).min()?;
    Some((this.started - oldest) * TICK_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let numbers: String = (5..30).map(|n| format!(" {n}")).collect();
        let read = Process::parse(&format!("12 (a) (b c) S 3 4{numbers}\n")).unwrap();
        let found = (&*read.name, read.parent, read.session, read.started);
        assert_eq!(found, ("a) (b c", 3, 5, 21));
        for text in ["", "12", "12 (a)", "12 (a) S 3", "12 (a) S x 4 5"] {
            assert!(Process::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_not_older_than_its_session() {
        let age = session_age().unwrap();
        assert!(age >= 0, "{age}");
    }
}
