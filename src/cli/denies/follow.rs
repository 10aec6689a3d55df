//! `denies follow`: new records as they are appended, through rotations.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::filter::Query;
use super::list::write_entry;
use crate::cli::{CliContext, Format};
use crate::log::append::LogFile;
use crate::log::read::{self, Seen, TopN, open};

/// How often the logs are looked at.
const POLL: Duration = Duration::from_millis(250);

/// After how many looks the project is walked for sites that came since: 5 s.
const LOOKS_BETWEEN_WALKS: u32 = 20;

/// A tail without a line break that is longer is no record.
const MAX_TAIL: usize = 1 << 20;

/// Prints until the reader of stdout is gone or a signal ends the process.
/// What is in the logs at the start is printed when `--since` asks for it.
pub(super) fn run(query: &Query, context: &CliContext<'_>, out: &mut dyn Write) -> Result<()> {
    let mut tails: Vec<Tail> = wanted(query, context).map(Tail::new).collect();
    if !query.asks_since() {
        for tail in &mut tails {
            tail.skip_to_end()?;
        }
    }
    let mut seen = Seen::default();
    for look in 1.. {
        if look % LOOKS_BETWEEN_WALKS == 0 {
            add_new(&mut tails, query, context);
        }
        let mut records = TopN::new(None);
        for tail in &mut tails {
            tail.new_lines(&mut |line| {
                let text = read::text(line).unwrap_or_default();
                if let Ok(Some(entry)) = read::parse(text)
                    && let Some(decision) = query.decision_of(&entry)
                    && query.decision.includes(decision)
                    && seen.is_new(&entry)
                {
                    records.offer(&entry, || Box::<str>::from(text));
                }
            })?;
        }
        for record in records.into_items() {
            write_record(&record, query, context, out)?;
        }
        out.flush()?;
        if pause::reader_is_gone(POLL) {
            break;
        }
    }
    Ok(())
}

fn wanted<'c>(query: &Query, context: &CliContext<'c>) -> impl Iterator<Item = LogFile> + use<'c> {
    let logs = super::logs(query, context).into_iter();
    logs.filter(|(_, is_wanted)| *is_wanted).map(|(log, _)| log)
}

/// The logs of sites that were not there at the last walk. All in them is new.
fn add_new(tails: &mut Vec<Tail>, query: &Query, context: &CliContext<'_>) {
    for log in wanted(query, context) {
        if tails.iter().all(|tail| tail.log.path() != log.path()) {
            tails.push(Tail::new(log));
        }
    }
}

fn write_record(
    line: &str,
    query: &Query,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match (context.format, read::parse(line)) {
        (Format::Text, Ok(Some(entry))) => write_entry(&entry, query, context, out),
        _ => writeln!(out, "{line}"),
    }
}

/// The end of one log. The open file outlives a rotation, so that what was
/// appended just before it is still read.
struct Tail {
    log: LogFile,
    open: Option<File>,
    /// A line whose break has not been written yet.
    begun: Vec<u8>,
}

impl Tail {
    fn new(log: LogFile) -> Self {
        Self {
            log,
            open: None,
            begun: Vec::new(),
        }
    }

    fn skip_to_end(&mut self) -> Result<()> {
        self.open()?;
        if let Some(file) = &mut self.open {
            file.seek(SeekFrom::End(0))?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        if self.open.is_none() {
            self.open = open(&self.log.path())?;
        }
        Ok(())
    }

    /// Hands every line that is whole by now to `take`, file by file: the log may have
    /// been rotated more than once since the last look.
    fn new_lines(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.open()?;
        loop {
            // Asked before the rest is read: what is appended to the old file
            // afterwards is read the next time.
            let replaced = self.is_replaced();
            self.drain(take)?;
            if !replaced {
                return Ok(());
            }
            self.open = self.next()?;
            self.begun.clear();
        }
    }

    /// The file that took the place of the open one.
    fn next(&self) -> Result<Option<File>> {
        let newest = open(&self.log.path())?;
        // Asked afterwards: what is opened by the log's name may be rotated by now.
        match self.next_generation() {
            Some(path) => open(&path),
            None => Ok(newest),
        }
    }

    /// The generation that was rotated away after the open one.
    fn next_generation(&self) -> Option<PathBuf> {
        let open = self.open.as_ref()?.metadata().ok()?;
        let is_open = |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| is_same(&open, &meta));
        let mut generations = self.log.generations().into_iter();
        generations.find(is_open)?;
        generations.next()
    }

    fn drain(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        let Some(file) = &mut self.open else {
            return Ok(());
        };
        if file.metadata()?.len() < file.stream_position()? {
            file.rewind()?;
            self.begun.clear();
        }
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(());
            }
            self.begun.extend_from_slice(&piece[..read]);
            let whole = self
                .begun
                .iter()
                .rposition(|&b| b == b'\n')
                .map_or(0, |at| at + 1);
            self.begun[..whole]
                .split_inclusive(|&b| b == b'\n')
                .for_each(&mut *take);
            self.begun.drain(..whole);
            if self.begun.len() > MAX_TAIL {
                self.begun.clear();
            }
        }
    }

    /// Whether another file has the log's name by now.
    fn is_replaced(&self) -> bool {
        let Some(Ok(open)) = self.open.as_ref().map(File::metadata) else {
            return false;
        };
        fs::metadata(self.log.path()).is_ok_and(|named| !is_same(&open, &named))
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    a.created().ok() == b.created().ok()
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
