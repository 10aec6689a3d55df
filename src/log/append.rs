//! Append-only JSONL logs: bounded, private, whole lines.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::iter;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem::Finder;
use serde::de::DeserializeOwned;

use crate::base::disk::bounded_read;
use crate::base::{clock, warn};
use crate::log::chain;
use crate::store::append;
use crate::store::lock::{Locked, with_lock};

pub(super) const GATES: &str = "gates.jsonl";

/// The logs in the program's own folder.
pub(super) const OWN: [&str; 3] = ["denies.jsonl", "events.jsonl", GATES];

/// One log and where its full generations go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    pub dir: PathBuf,
    pub name: &'static str,
    /// Directory of the rotated generations, relative to `dir`; `""` is `dir`.
    pub rotated: &'static str,
    /// Where a copy of each line goes first, for a log that this program alone writes.
    pub kept: Option<PathBuf>,
}

impl LogFile {
    pub fn path(&self) -> PathBuf {
        self.dir.join(self.name)
    }

    /// Appends one line, which ends in a line break, with one `write` under the
    /// directory's lock, after a line break of its own where a crash left half a line.
    ///
    /// There is no `fsync`: after a power failure the newest lines may be
    /// missing or the last one torn, never an earlier one changed. Where the
    /// lock stays busy the line is appended without it, which `O_APPEND` makes
    /// safe; only rotation waits for the next writer. What looks torn may then be
    /// another writer's line half way, and an empty line too many does no harm.
    ///
    /// # Errors
    /// The file cannot be opened or written; what is no regular file, such as a
    /// link, counts as that.
    pub fn append(
        &self,
        line: &str,
        max_bytes: u64,
        stamp: &str,
        wait: Duration,
    ) -> io::Result<()> {
        let locked = with_lock(&self.dir, wait, |locked| {
            self.append_locked(locked, line, max_bytes, stamp)
        });
        match locked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let unlinked = self.is_chain().then(|| chain::link(line, None));
                let line = unlinked.as_deref().unwrap_or(line);
                OpenLog::new(self.open()?, None)?.write(self, line)
            }
            result => result,
        }
    }

    /// Like [`Self::append`], under a lock of the directory that the caller holds.
    ///
    /// # Errors
    /// As there.
    pub fn append_locked(
        &self,
        locked: &Locked<'_>,
        line: &str,
        max_bytes: u64,
        stamp: &str,
    ) -> io::Result<()> {
        self.append_all_locked(locked, &[line], max_bytes, stamp)
    }

    /// The same of several lines.
    ///
    /// # Errors
    /// As there; the lines before the one that failed are written.
    pub fn append_all_locked(
        &self,
        _: &Locked<'_>,
        lines: &[impl AsRef<str>],
        max_bytes: u64,
        stamp: &str,
    ) -> io::Result<()> {
        let (mut log, mut copy) = (self.open()?, self.open_copy()?);
        self.catch_up(&mut log, &mut copy)?;
        let mut head = None;
        if self.is_chain() {
            let trusted = copy.as_ref().unwrap_or(&log);
            head = Some(chain::head_behind(self, Some(trusted))?);
        }
        let mut open = OpenLog::new(log, copy)?;
        let mut before: Option<String> = None;
        for line in lines.iter().map(AsRef::as_ref) {
            if let Some(before) = before {
                head = Some(chain::hash(before.trim_end_matches('\n')));
            }
            let linked = head.as_deref().map(|head| chain::link(line, Some(head)));
            let line = linked.as_deref().unwrap_or(line);
            if open.log.1 > 0 && open.log.1 + line.len() as u64 > max_bytes {
                self.exchange(&mut open, stamp);
            }
            open.write(self, line)?;
            before = linked;
        }
        Ok(())
    }

    /// Moves a full log away and begins another one.
    fn exchange(&self, open: &mut OpenLog, stamp: &str) {
        let rotated = self.rotate(stamp);
        match rotated.and_then(|()| OpenLog::new(self.open()?, self.open_copy()?)) {
            Ok(fresh) => *open = fresh,
            // A log past its bound is better than a lost line.
            Err(error) => warn::warn(&format!(
                "could not move the full log `{}` into `{}`: {error}; it grows on",
                self.path().display(),
                self.dir.join(self.rotated).display()
            )),
        }
    }

    /// Whether every line holds the hash of the one before it.
    fn is_chain(&self) -> bool {
        self.name == GATES
    }

    fn open(&self) -> io::Result<(File, u64)> {
        append::open(&self.path())
    }

    fn rotate(&self, stamp: &str) -> io::Result<()> {
        let dir = self.dir.join(self.rotated);
        crate::store::replace::make_dir(&dir)?;
        let stem = self.name.trim_end_matches(".jsonl");
        let stamp = clock::in_name(stamp);
        let full = (0..).map(|n| match n {
            0 => dir.join(format!("{stem}-{stamp}.jsonl")),
            n => dir.join(format!("{stem}-{stamp}-{n}.jsonl")),
        });
        // Nothing is overwritten; the lock keeps the name free until it is taken.
        let free = full
            .into_iter()
            .find(|path| fs::symlink_metadata(path).is_err());
        free.map_or(Ok(()), |free| fs::rename(self.path(), free))?;
        self.begin_anew()
    }

    /// Hands on the records in the last `max` bytes, those that were rotated away first. A
    /// log that is not there, or a line that cannot be read, shows nothing.
    pub fn each<T: DeserializeOwned>(&self, max: u64, take: &mut dyn FnMut(T)) {
        let rotated = iter::once_with(|| self.generations().into_iter().rev()).flatten();
        let (mut left, mut files) = (max, Vec::new());
        for file in iter::once(self.path()).chain(rotated) {
            let len = fs::metadata(&file).map_or(0, |meta| meta.len());
            files.push((file, left));
            left = left.saturating_sub(len);
            if left == 0 {
                break;
            }
        }
        for (file, max) in files.iter().rev() {
            let _ = bounded_read::tail(file, *max, &mut |line| {
                if let Ok(record) = serde_json::from_str(line) {
                    take(record);
                }
            });
        }
    }

    /// Hands on the lines in the last `max` bytes, the newest first and those that were rotated
    /// away last, until `take` has seen enough.
    pub fn lines_from_end(&self, max: u64, take: &mut dyn FnMut(&str) -> ControlFlow<()>) {
        let rotated = iter::once_with(|| self.generations().into_iter().rev()).flatten();
        let mut left = max;
        for file in iter::once(self.path()).chain(rotated) {
            match bounded_read::from_end(&file, left, take) {
                Ok((_, ControlFlow::Break(()))) => return,
                Ok((len, ControlFlow::Continue(()))) => left = left.saturating_sub(len),
                Err(_) => {}
            }
            if left == 0 {
                return;
            }
        }
    }

    /// The same of the records with this in their lines, as JSON has it: the others are not parsed.
    pub fn newest<T: DeserializeOwned>(
        &self,
        max: u64,
        text: &str,
        take: &mut dyn FnMut(T) -> ControlFlow<()>,
    ) {
        let finder = Finder::new(text);
        self.lines_from_end(max, &mut |line| {
            if finder.find(line.as_bytes()).is_none() {
                return ControlFlow::Continue(());
            }
            let record = serde_json::from_str(line).ok();
            record.map_or(ControlFlow::Continue(()), &mut *take)
        });
    }

    /// The rotated generations, oldest first.
    pub fn generations(&self) -> Vec<PathBuf> {
        let prefix = format!("{}-", self.name.trim_end_matches(".jsonl"));
        let entries = fs::read_dir(self.dir.join(self.rotated))
            .into_iter()
            .flatten()
            .flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                // Behind the name of another log comes no digit.
                name.strip_prefix(&prefix).is_some_and(|rest| {
                    rest.starts_with(|c: char| c.is_ascii_digit()) && rest.ends_with(".jsonl")
                })
            })
            .collect();
        // Of one moment, the one without a number is the first.
        paths.sort_unstable_by_key(|path| path.with_extension(""));
        paths
    }
}

/// A log that is open for lines, with its length, and its copy.
struct OpenLog {
    log: (File, u64),
    copy: Option<(File, u64)>,
    /// Whether a crash left half a line.
    is_torn: bool,
}

impl OpenLog {
    fn new(log: (File, u64), copy: Option<(File, u64)>) -> io::Result<Self> {
        let (mut file, len) = (&log.0, log.1);
        let mut last = *b"\n";
        if len > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Self {
            log,
            copy,
            is_torn: last != *b"\n",
        })
    }

    /// Writes a line into the copy, and then into the log, after a line break where that is torn.
    fn write(&mut self, file: &LogFile, line: &str) -> io::Result<()> {
        match &mut self.copy {
            Some((copy, len)) => {
                append::write(copy, *len, line.as_bytes())?;
                *len += line.len() as u64;
            }
            None => file.keep(line)?,
        }
        let closed = self.is_torn.then(|| format!("\n{line}"));
        let bytes = closed.as_deref().unwrap_or(line).as_bytes();
        let (log, len) = &mut self.log;
        append::write(log, *len, bytes)?;
        *len += bytes.len() as u64;
        self.is_torn = false;
        Ok(())
    }
}

/// The logs of a project.
pub struct Logs {
    own: PathBuf,
    pub(super) copies: Option<PathBuf>,
}

impl Logs {
    /// `main` is the main checkout; `memory` is where what they hold is kept as well.
    pub fn of(main: &Path, memory: Option<&Path>) -> Self {
        Self {
            own: own_folder(main),
            copies: memory.map(|memory| memory.join("logs")),
        }
    }

    /// The folder of the program's own logs and state.
    pub fn own_folder(&self) -> &Path {
        &self.own
    }

    fn named(&self, name: &'static str) -> LogFile {
        LogFile {
            dir: self.own.clone(),
            name,
            rotated: "",
            kept: self.copies.as_ref().map(|copies| copies.join(name)),
        }
    }

    /// Denials of every system that has no log of its own.
    pub fn denies(&self) -> LogFile {
        self.named(OWN[0])
    }

    /// Everything that is no denial.
    pub fn events(&self) -> LogFile {
        self.named(OWN[1])
    }

    /// What agents' completions did to gates: a chain.
    pub fn gates(&self) -> LogFile {
        self.named(GATES)
    }

    /// All that are in the own folder.
    pub fn all(&self) -> [LogFile; 3] {
        OWN.map(|name| self.named(name))
    }

    /// Denials in one devt site; devt's own programs write there too.
    pub fn devt(site: &Path) -> LogFile {
        LogFile {
            dir: site.to_owned(),
            name: "preflight-denies.jsonl",
            rotated: ".archive",
            kept: None,
        }
    }
}

/// The folder of the program's own logs and state in a project.
pub fn own_folder(main: &Path) -> PathBuf {
    main.join(".claude").join("statewarden")
}
