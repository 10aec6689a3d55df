//! `denies follow`: new records as they are appended, through rotations.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;

use super::filter::Query;
use super::list::say_entry;
use crate::cli::output::Page;
use crate::cli::{CliContext, Format, print};
use crate::log::append::LogFile;
use crate::log::read::{self, Seen, TopN};

/// How often the logs are looked at.
const POLL: Duration = Duration::from_millis(250);

/// After how many looks the project is walked for sites that came since: 5 s.
const LOOKS_BETWEEN_WALKS: u32 = 20;

/// Prints until the reader of stdout is gone or a signal ends the process.
/// What is in the logs at the start is printed when `--since` asks for it.
pub(super) fn run(query: &Query, context: &CliContext<'_>) -> Result<()> {
    let mut logs = wanted(query, context);
    let mut known = Known::default();
    if query.since.is_none() {
        // What stands there already is no news.
        let _ = known.look(&logs, query)?;
    }
    for look in 1.. {
        if look % LOOKS_BETWEEN_WALKS == 0 {
            logs = wanted(query, context);
        }
        let mut text = String::new();
        for line in known.look(&logs, query)? {
            match (context.format, read::parse(&line)) {
                (Format::Text, Ok(Some(entry))) => {
                    let mut page = Page::new(context);
                    say_entry(&entry, query, &mut page);
                    text += &page.text;
                }
                _ => text += &format!("{line}\n"),
            }
        }
        print(text.as_bytes())?;
        if pause::reader_is_gone(POLL) {
            break;
        }
    }
    Ok(())
}

fn wanted(query: &Query, context: &CliContext<'_>) -> Vec<LogFile> {
    let logs = super::logs(query, context).into_iter();
    let wanted = logs.filter(|(_, is_wanted)| *is_wanted);
    wanted.map(|(log, _)| log).collect()
}

/// What the looks before have found. A log that is rotated has another name, and is read
/// again: the lines in it are known.
#[derive(Default)]
struct Known {
    files: HashMap<PathBuf, (u64, SystemTime)>,
    /// Hashes, since a log can hold a million records.
    lines: HashSet<u64>,
    hasher: RandomState,
    events: Seen,
}

impl Known {
    /// The wanted records that came since the last look, in the order of time.
    fn look(&mut self, logs: &[LogFile], query: &Query) -> Result<impl Iterator<Item = String>> {
        let mut records = TopN::new(None);
        for log in logs {
            // Asked for first: what is rotated meanwhile is read twice, not never.
            let newest = log.path();
            for file in log.generations().into_iter().chain([newest]) {
                if !self.has_changed(&file) {
                    continue;
                }
                read::file(&file, &mut |entry, line| {
                    let is_wanted = (query.decision_of(entry))
                        .is_some_and(|decision| query.decision.includes(decision));
                    if is_wanted
                        && self.lines.insert(self.hasher.hash_one(line))
                        && self.events.is_new(entry)
                    {
                        records.offer(entry, || line.to_owned());
                    }
                })?;
            }
        }
        Ok(records.into_items())
    }

    fn has_changed(&mut self, file: &Path) -> bool {
        let Ok(meta) = fs::metadata(file) else {
            return false;
        };
        let now = (
            meta.len(),
            meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        );
        self.files.insert(file.to_owned(), now) != Some(now)
    }
}

#[cfg(unix)]
mod pause {
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Waits, but not on after the pipe on stdout has lost its reader.
    pub(super) fn reader_is_gone(wait: Duration) -> bool {
        let stdout = rustix::stdio::stdout();
        // Without an event to wait for only a broken pipe ends the wait early.
        let mut ready = [PollFd::new(&stdout, PollFlags::empty())];
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: wait.subsec_nanos().into(),
        };
        let woken = poll(&mut ready, Some(&timeout)).is_ok_and(|woken| woken > 0);
        woken
            && ready[0]
                .revents()
                .intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
    }
}

#[cfg(not(unix))]
mod pause {
    use std::time::Duration;

    /// Waits; a reader that is gone shows at the next record.
    pub(super) fn reader_is_gone(wait: Duration) -> bool {
        std::thread::sleep(wait);
        false
    }
}
