//! What this program wrote into a log of its own, kept out of the project's reach: each line is
//! written there first. A log that is not as it was written holds the lines of others, or lacks
//! some of ours, and proves nothing.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::base::disk::bounded_read::{self, read_text};
use crate::base::{text, warn};
use crate::log::append::{GATES, LogFile, Logs, OWN};
use crate::log::chain::hash;
use crate::log::read;
use crate::log::record::MAX_LINE;
use crate::store::append;
use crate::store::lock::Locked;
use crate::store::{changed, rename, replace};

/// How much of a log's end the hook reads or compares, in bytes.
pub const RECENT: u64 = 512 * 1024;

/// No log of ours is larger.
const MAX_FILE: u64 = 1 << 32;

/// How a log differs from what was written into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The lines that are not ours, by their numbers from 1.
    pub foreign: Vec<usize>,
    /// How many of ours are gone.
    pub missing: usize,
}

impl Difference {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What is wrong with the log of that name; `None` where nothing is.
    pub fn to_sentence(&self, name: &str) -> Option<String> {
        let foreign = self.foreign.first().map(|first| {
            let lines = text::count(self.foreign.len(), "line", "lines");
            format!(
                "{lines} of `{name}` (the first is line {first}) were not written by statewarden"
            )
        });
        let missing = (self.missing > 0).then(|| {
            let lines = text::count(self.missing, "line", "lines");
            format!("{lines} that statewarden wrote into `{name}` are gone or changed")
        });
        let both: Vec<String> = foreign.into_iter().chain(missing).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }
}

impl LogFile {
    /// The copy, which need not be there; `None` where nothing is kept.
    fn copy(&self) -> Option<&Path> {
        let copy = self.kept.as_deref()?;
        copy.parent()?.is_dir().then_some(copy)
    }

    /// Whether each line of it is kept elsewhere.
    pub fn is_kept(&self) -> bool {
        self.copy().is_some()
    }

    /// Where the last line that this program wrote is to be read.
    pub(super) fn trusted(&self) -> PathBuf {
        self.copy().map_or_else(|| self.path(), Path::to_owned)
    }

    /// Opens the copy for lines, with its length; `None` where none was begun.
    ///
    /// # Errors
    /// The copy cannot be opened.
    pub(super) fn open_copy(&self) -> io::Result<Option<(File, u64)>> {
        let copy = self.kept.as_deref();
        copy.map_or(Ok(None), |copy| bounded_read::if_there(append::open(copy)))
    }

    /// Keeps a line that is about to be written.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub(super) fn keep(&self, line: &str) -> io::Result<()> {
        let Some(copy) = self.kept.as_deref() else {
            return Ok(());
        };
        let kept = append::append(copy, line.as_bytes());
        match (kept, copy.parent()) {
            (Err(error), Some(copies)) if error.kind() == io::ErrorKind::NotFound => {
                begin(copies, &self.dir, Past::Ours)?;
                let begun = self.copy();
                begun.map_or(Ok(()), |copy| {
                    append::append(copy, line.as_bytes()).map(drop)
                })
            }
            (kept, _) => kept.map(drop),
        }
    }

    /// Takes the log as it is for ours.
    ///
    /// # Errors
    /// The copy cannot be written.
    fn accept(&self) -> io::Result<()> {
        let (Some(copy), path) = (self.copy(), self.path()) else {
            return Ok(());
        };
        replace::replace_private(copy, &whole_lines(&path)?)
    }

    /// Begins the copy anew, since the log was moved away whole.
    pub(super) fn begin_anew(&self) -> io::Result<()> {
        let copy = self.copy();
        copy.map_or(Ok(()), |copy| replace::replace_private(copy, b""))
    }

    /// Does what a kill kept from following a change of the copy: the line that was to be
    /// written, or a copy begun anew. Both are open, with their lengths.
    pub(super) fn catch_up(
        &self,
        (log, len): &mut (File, u64),
        copy: &mut Option<(File, u64)>,
    ) -> io::Result<()> {
        let (Some((file, written)), Some(path)) = (copy.as_mut(), self.kept.as_deref()) else {
            return Ok(());
        };
        if *written <= *len || changed(&log.metadata()?) > changed(&file.metadata()?) {
            return Ok(());
        }
        if *len == 0 && self.is_moved_away(path)? {
            self.begin_anew()?;
            *copy = self.open_copy()?;
            return Ok(());
        }
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(*len))?;
        let most = MAX_LINE as u64 + 1;
        file.take(most).read_to_end(&mut rest)?;
        // One line, of which the log may have the beginning.
        if rest.iter().position(|byte| *byte == b'\n') != Some(rest.len().saturating_sub(1)) {
            return Ok(());
        }
        append::write(log, *len, &rest)?;
        *len = *written;
        Ok(())
    }

    /// Whether the newest generation is what was written.
    fn is_moved_away(&self, copy: &Path) -> io::Result<bool> {
        match self.generations().last() {
            None => Ok(false),
            Some(newest) => end_alike(newest, copy, RECENT),
        }
    }

    /// What the log should hold, where that is known.
    pub fn written(&self) -> Option<Vec<u8>> {
        bounded_read::read(self.copy()?, MAX_FILE).ok()
    }

    /// The records in the log that are not ours.
    pub(super) fn foreign_lines(&self) -> HashSet<String> {
        let found = self.difference(u64::MAX).unwrap_or_default();
        if found.foreign.is_empty() {
            return HashSet::new();
        }
        let text = bounded_read::read(&self.path(), MAX_FILE).unwrap_or_default();
        let lines = records(&text).filter(|(number, _)| found.foreign.contains(number));
        lines.map(|(_, line)| line.to_owned()).collect()
    }

    /// Whether the log is not as it was written, in a way that was not seen before. It counts
    /// as seen then. `None` where nothing is kept.
    pub fn differs_anew(&self) -> Option<bool> {
        let copy = self.copy()?;
        let seen = copy.with_extension("seen");
        let found = self.difference_from(copy, RECENT).ok()?;
        let known = read_text(&seen).ok().flatten();
        if found.is_none() {
            // What comes back later is another one.
            let _ = known.map(|_| replace::remove(&seen));
            return Some(false);
        }
        let print = hash(&format!("{found:?}"));
        let is_new = known.is_none_or(|known| known != print);
        if is_new && let Err(error) = replace::replace_private(&seen, print.as_bytes()) {
            warn::warn_error(&format!("could not write `{}`", seen.display()), &error);
        }
        Some(is_new)
    }

    /// Compares the log with what was written into it; of two of one length the last `max` bytes.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn difference(&self, max: u64) -> io::Result<Difference> {
        let copy = self.copy();
        copy.map_or(Ok(Difference::default()), |copy| {
            self.difference_from(copy, max)
        })
    }

    fn difference_from(&self, copy: &Path, max: u64) -> io::Result<Difference> {
        let mut found = self.difference_now(copy, max)?;
        for _ in 0..TRIES {
            if found.is_none() {
                break;
            }
            // Another process may be between the two.
            thread::sleep(BETWEEN_TRIES);
            found = self.difference_now(copy, max)?;
        }
        Ok(found)
    }

    fn difference_now(&self, copy: &Path, max: u64) -> io::Result<Difference> {
        let log = self.path();
        if end_alike(&log, copy, max)?
            || len(&log)?.unwrap_or(0) == 0 && self.is_moved_away(copy)?
        {
            return Ok(Difference::default());
        }
        // The log first: a line of ours is in the copy by the time that it is in the log.
        let theirs = bounded_read::if_there(bounded_read::read(&log, MAX_FILE))?;
        let ours = bounded_read::if_there(bounded_read::read(copy, MAX_FILE))?;
        let mut found = compare(&ours.unwrap_or_default(), &theirs.unwrap_or_default());
        // A kill came between the copy and the log.
        if found.foreign.is_empty() && found.missing == 1 && time(&log) <= time(copy) {
            found.missing = 0;
        }
        Ok(found)
    }
}

/// What the logs hold when copies of them begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// An earlier version wrote it.
    Ours,
    /// Nobody can say who did: what was remembered is gone.
    Unknown,
}

impl Logs {
    /// Begins the copies, where there is a memory and none was begun.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn begin(&self, past: Past) -> io::Result<()> {
        match &self.copies {
            Some(copies) if !copies.is_dir() => begin(copies, self.own_folder(), past)?,
            _ => return Ok(()),
        }
        // Whoever begins them says so.
        self.gates().differs_anew();
        Ok(())
    }

    /// Takes the logs as they are for ours: a person says so. Gives those that were not.
    ///
    /// # Errors
    /// A copy cannot be written.
    pub fn accept(&self, _: &Locked<'_>) -> io::Result<Vec<PathBuf>> {
        let mut accepted = Vec::new();
        for log in self.all() {
            if !log.difference(u64::MAX)?.is_none() {
                log.accept()?;
                accepted.push(log.path());
            }
        }
        Ok(accepted)
    }
}

/// Makes the copies of all logs of a folder at once, so that a kill leaves none or all.
fn begin(copies: &Path, folder: &Path, past: Past) -> io::Result<()> {
    if !copies.parent().is_some_and(Path::is_dir) {
        return Ok(());
    }
    let draft = copies.with_extension(std::process::id().to_string());
    let begun = fill(&draft, folder, past).and_then(|()| rename::move_to_free(&draft, copies));
    let Err(error) = begun else {
        return Ok(());
    };
    // On a full disk each event would leave one.
    bounded_read::if_there(replace::remove_own_tree(&draft))?;
    match error.kind() {
        // Another process was first.
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(error),
    }
}

fn fill(draft: &Path, folder: &Path, past: Past) -> io::Result<()> {
    replace::make_private_dir(draft)?;
    for name in OWN {
        // Only what proves something has to be known to be ours.
        let lines = match past {
            Past::Unknown if name == GATES => Vec::new(),
            _ => whole_lines(&folder.join(name))?,
        };
        replace::replace_private(&draft.join(name), &lines)?;
    }
    Ok(())
}

/// What a log holds, its last line closed.
fn whole_lines(log: &Path) -> io::Result<Vec<u8>> {
    let read = bounded_read::if_there(bounded_read::read(log, MAX_FILE))?;
    let mut text = read.unwrap_or_default();
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    Ok(text)
}

/// How often two files that differ are compared again, and after how long.
const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

fn len(path: &Path) -> io::Result<Option<u64>> {
    let meta = bounded_read::if_there(fs::metadata(path))?;
    Ok(meta.map(|meta| meta.len()))
}

fn time(path: &Path) -> Option<DateTime<Utc>> {
    fs::metadata(path).map(|meta| changed(&meta)).ok()
}

/// Whether two files have the same length and the same last `max` bytes; one that is not there is
/// empty.
fn end_alike(one: &Path, other: &Path, max: u64) -> io::Result<bool> {
    let ours = bounded_read::if_there(bounded_read::open(one))?;
    let theirs = bounded_read::if_there(bounded_read::open(other))?;
    let [len, other_len] = [&ours, &theirs].map(|file| file.as_ref().map_or(0, |(_, len)| *len));
    let (Some((ours, _)), Some((theirs, _))) = (ours, theirs) else {
        return Ok(len == other_len);
    };
    if len != other_len {
        return Ok(false);
    }
    let begin = SeekFrom::Start(len.saturating_sub(max));
    let (mut ours, mut theirs) = (from(ours, begin)?, from(theirs, begin)?);
    loop {
        let (bytes, others) = (ours.fill_buf()?, theirs.fill_buf()?);
        let n = bytes.len().min(others.len());
        if n == 0 {
            return Ok(bytes.len() == others.len());
        }
        if !is_same(&bytes[..n], &others[..n]) {
            return Ok(false);
        }
        ours.consume(n);
        theirs.consume(n);
    }
}

/// Compared in pieces that fit a register: musl compares byte by byte.
fn is_same(bytes: &[u8], others: &[u8]) -> bool {
    let (pieces, rest) = bytes.as_chunks();
    let (other_pieces, other_rest) = others.as_chunks();
    let mut pairs = pieces.iter().zip(other_pieces);
    pairs.all(|(piece, other)| u128::from_ne_bytes(*piece) == u128::from_ne_bytes(*other))
        && rest == other_rest
}

fn from(mut file: File, begin: SeekFrom) -> io::Result<BufReader<File>> {
    file.seek(begin)?;
    Ok(BufReader::with_capacity(32 * 1024, file))
}

/// Compares by records, in any order: two writers that found the lock busy can have written
/// theirs either way round. What is no record is torn, and means nothing.
fn compare(ours: &[u8], theirs: &[u8]) -> Difference {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (_, line) in records(ours) {
        *known.entry(line).or_default() += 1;
    }
    let mut foreign = Vec::new();
    for (number, line) in records(theirs) {
        match known.get_mut(line) {
            Some(left) if *left > 0 => *left -= 1,
            _ => foreign.push(number),
        }
    }
    Difference {
        foreign,
        missing: known.values().sum(),
    }
}

/// The records of a log, by their numbers from 1.
fn records(text: &[u8]) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    lines.filter_map(|(at, line)| {
        let line = read::text(line)?;
        read::is_record(line).then_some((at + 1, line))
    })
}
