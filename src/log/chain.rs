//! The chain of a log: every line holds the hash of the line before it, so that a line
//! that was changed, removed or moved shows. It has no key: whoever writes the whole
//! file anew can make a chain that holds.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::base::disk::bounded_read;
use crate::log::append::LogFile;
use crate::log::read;

/// What [`link`] adds to a line.
pub const LINK_BYTES: usize = 74;

/// A larger log is none of ours.
const MAX_FILE: u64 = 1 << 40;

/// The hash of a line without its break.
pub(super) fn hash(line: &str) -> String {
    let hash = Sha256::digest(line);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A record with the hash of the line before it; `None` where it is not known which that is.
pub fn link(record: &str, prev: Option<&str>) -> String {
    let link = prev.map_or("null".to_owned(), |hash| format!("\"{hash}\""));
    format!("{{\"prev\":{link},{}", record.get(1..).unwrap_or_default())
}

/// The hash that the next line will hold.
///
/// # Errors
/// A file of the log cannot be read.
pub fn head(log: &LogFile) -> io::Result<String> {
    let trusted = bounded_read::if_there(bounded_read::open(&log.trusted()))?;
    head_behind(log, trusted.as_ref())
}

/// The same where the file that this program wrote last is open, with its length.
///
/// # Errors
/// As there.
pub(super) fn head_behind(log: &LogFile, trusted: Option<&(File, u64)>) -> io::Result<String> {
    if let Some(head) = trusted.map_or(Ok(None), last_record)? {
        return Ok(head);
    }
    for file in log.generations().iter().rev() {
        let rotated = bounded_read::if_there(bounded_read::open(file))?;
        if let Some(head) = rotated.as_ref().map_or(Ok(None), last_record)? {
            return Ok(head);
        }
    }
    Ok(hash(""))
}

fn last_record((file, len): &(File, u64)) -> io::Result<Option<String>> {
    let mut last = None;
    let _ = bounded_read::from_end_of(file, *len, u64::MAX, &mut |line| {
        if !read::is_record(line) {
            return ControlFlow::Continue(());
        }
        last = Some(hash(line));
        ControlFlow::Break(())
    })?;
    Ok(last)
}

/// What a chain's lines show.
#[derive(Debug, Default)]
pub struct Chain {
    /// The records in it.
    pub lines: usize,
    /// Where it is broken, and how.
    pub faults: Vec<String>,
    /// What happens to a log, and proves nothing.
    pub notes: Vec<String>,
}

/// Checks every line of a log, those that were rotated away first, and whether the lines are
/// those that this program wrote.
///
/// # Errors
/// A file of the log cannot be read.
pub fn verify(log: &LogFile) -> io::Result<Chain> {
    let mut walk = Walk {
        chain: Chain::default(),
        may_follow: vec![hash("")],
        is_linked: false,
    };
    let mut files = log.generations();
    files.push(log.path());
    for file in &files {
        let text = bounded_read::if_there(bounded_read::read(file, MAX_FILE))?.unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let is_closed = text.ends_with(b"\n");
        let body = text.strip_suffix(b"\n").unwrap_or(&text);
        let mut lines = body.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let is_last = lines.peek().is_none();
            let place = format!("`{name}` line {}", at + 1);
            walk.line(&place, line, is_last && is_closed);
        }
    }
    let difference = log.difference(u64::MAX)?;
    walk.chain.faults.extend(difference.to_sentence(log.name));
    Ok(walk.chain)
}

struct Walk {
    chain: Chain,
    /// The lines that the next one can follow: the last that had the lock, and those since.
    may_follow: Vec<String>,
    /// Whether a line with a link was seen; those before it are the chain's beginning.
    is_linked: bool,
}

#[derive(Deserialize)]
struct Linked {
    prev: Option<Value>,
}

impl Walk {
    fn line(&mut self, place: &str, line: &[u8], is_closed_last: bool) {
        if line.is_empty() {
            return;
        }
        let record = std::str::from_utf8(line)
            .unwrap_or_default()
            .trim_start_matches('\u{feff}');
        if !read::is_record(record) {
            return self.no_record(place, is_closed_last);
        }
        self.chain.lines += 1;
        let hash = hash(record);
        let prev: Result<Linked, _> = serde_json::from_str(record);
        match prev.ok().and_then(|linked| linked.prev) {
            None if record.starts_with("{\"prev\":null,") => {
                self.is_linked = true;
                self.may_follow.push(hash);
                self.chain.notes.push(format!(
                    "{place} has no link: the log was locked when it was written"
                ));
                return;
            }
            None if !self.is_linked => {}
            None => self.chain.faults.push(format!(
                "{place} has no link, although lines before it have one"
            )),
            Some(prev) => {
                let follows = self.may_follow.iter().any(|line| prev == **line);
                if !follows {
                    self.chain.faults.push(format!(
                        "{place} does not follow the line before it: a line was changed, removed or moved"
                    ));
                }
                self.is_linked = true;
            }
        }
        self.may_follow = vec![hash];
    }

    fn no_record(&mut self, place: &str, is_closed_last: bool) {
        // A write that was cut off has no line break.
        if is_closed_last {
            self.chain.faults.push(format!("{place} is no record"));
        } else {
            self.chain.notes.push(format!(
                "{place} is torn: the write was cut off, and the next one closed it"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks linked lines after something was done to them.
    #[track_caller]
    fn check(change: impl Fn(&mut Vec<String>), faults: &[&str], n_notes: usize) {
        let mut lines = vec![r#"{"id":"from before the chain"}"#.to_owned()];
        for n in 0..4 {
            let prev = hash(&lines[n]);
            lines.push(link(&format!("{{\"id\":{n}}}"), Some(&prev)));
        }
        change(&mut lines);
        let mut walk = Walk {
            chain: Chain::default(),
            may_follow: vec![hash("")],
            is_linked: false,
        };
        for (n, line) in lines.iter().enumerate() {
            walk.line(&n.to_string(), line.as_bytes(), n + 1 == lines.len());
        }
        let found: Vec<&str> = walk.chain.faults.iter().map(|fault| &fault[..1]).collect();
        assert_eq!(found, faults, "{lines:#?}");
        assert_eq!(walk.chain.notes.len(), n_notes, "{lines:#?}");
    }

    #[test]
    fn what_was_done_to_a_chain_shows() {
        check(|_| (), &[], 0);
        check(
            |lines| lines[0] = lines[0].replace("from", "From"),
            &["1"],
            0,
        );
        check(
            |lines| lines[2] = lines[2].replace("\"id\":1", "\"id\":9"),
            &["3"],
            0,
        );
        check(|lines| lines[2].insert(0, 'x'), &["3"], 1);
        check(|lines| lines[4].insert(0, 'x'), &["4"], 0);
        check(|lines| drop(lines.remove(2)), &["2"], 0);
        check(|lines| drop(lines.remove(0)), &["0"], 0);
        check(|lines| lines.swap(2, 3), &["2", "3", "4"], 0);
        let unlinked = |lines: &mut Vec<String>| lines.insert(3, "{\"id\":7}".to_owned());
        check(unlinked, &["3", "4"], 0);
        check(|lines| lines.insert(3, "{\"id\":7,\"ga".to_owned()), &[], 1);
        // Two writers at once: the line that had the lock need not know of the other.
        for known in [false, true] {
            let both = |lines: &mut Vec<String>| {
                lines.insert(3, link("{\"id\":7}", None));
                if known {
                    let prev = hash(&lines[3]);
                    lines.truncate(4);
                    lines.push(link("{\"id\":8}", Some(&prev)));
                }
            };
            check(both, &[], 1);
        }
    }

    #[test]
    fn a_link_is_as_long_as_the_lines_allow_for() {
        let linked = link("{\"id\":1}", Some(&hash("")));
        assert_eq!(linked.len(), "{\"id\":1}".len() + LINK_BYTES);
    }
}
