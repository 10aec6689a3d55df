//! Reading logs: line by line, a bounded piece at a time, borrowing from the
//! line, tolerating torn lines and the records of other programs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::base::actor::AgentName;
use crate::base::disk::bounded_read;
use crate::base::{text, warn};
use crate::log::append::LogFile;

/// A line that is longer is no record of ours; it is skipped without being held.
const MAX_LINE: u64 = 1 << 20;

/// A transcript's line may hold a whole file or a picture.
const MAX_LONG_LINE: u64 = 256 << 20;

/// The fields of a record that readers look at; an absent one is `""`.
/// Decisions and rules are text here, so that a later version's count as well.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Entry<'l> {
    #[serde(borrow)]
    pub id: Cow<'l, str>,
    #[serde(borrow)]
    pub ts: Cow<'l, str>,
    #[serde(borrow)]
    pub source: Cow<'l, str>,
    #[serde(borrow)]
    pub decision: Cow<'l, str>,
    #[serde(borrow)]
    pub rule: Cow<'l, str>,
    #[serde(borrow)]
    pub system: Cow<'l, str>,
    #[serde(borrow)]
    pub tool: Cow<'l, str>,
    #[serde(borrow)]
    pub action: Cow<'l, str>,
    #[serde(borrow)]
    pub file_path: Cow<'l, str>,
    #[serde(borrow)]
    pub name: Cow<'l, str>,
    #[serde(borrow)]
    pub reason: Cow<'l, str>,
    #[serde(borrow)]
    pub command_excerpt: Cow<'l, str>,
    #[serde(borrow)]
    pub suggestion: Cow<'l, str>,
    #[serde(borrow)]
    pub session_id: Cow<'l, str>,
    #[serde(borrow)]
    pub workflow_id: Cow<'l, str>,
    #[serde(borrow)]
    pub agent_id: Cow<'l, str>,
    #[serde(borrow)]
    pub agent_type: Cow<'l, str>,
    #[serde(borrow)]
    pub tool_use_id: Cow<'l, str>,
    /// The id of the denial that a recovery closes.
    #[serde(borrow)]
    pub resolves: Cow<'l, str>,
    /// Of what was found after a call: the ids of the contents before and after.
    #[serde(borrow)]
    pub before: Cow<'l, str>,
    #[serde(borrow)]
    pub after: Cow<'l, str>,
    /// The further denials of the same call.
    #[serde(borrow)]
    pub also: Vec<Also<'l>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Also<'l> {
    #[serde(borrow)]
    pub system: Cow<'l, str>,
}

/// Of a warning that an agent ended without its artifact.
pub const OWED: &str = "owed";

/// Of a warning that an agent was started before its gate.
pub const DISPATCH: &str = "dispatch";

impl Entry<'_> {
    pub fn is_denial(&self) -> bool {
        self.source == "statewarden" && self.decision == "deny"
    }

    /// The id of the denial that this record of a recovery closes.
    pub fn closes(&self) -> Option<&str> {
        let is_recovery = self.source == "statewarden" && self.decision == "recovered";
        (is_recovery && !self.resolves.is_empty()).then_some(self.resolves.as_ref())
    }

    /// The deny code; of a record that has none, one word for what it is about.
    pub fn code(&self) -> &str {
        match (self.rule.as_ref(), self.decision.as_ref()) {
            ("", "warn") if self.action == "dispatch" => DISPATCH,
            ("", "warn") => OWED,
            ("", decision) => decision,
            (rule, _) => rule,
        }
    }

    /// What was denied, by its name in the site; the site itself has none there.
    pub fn what(&self) -> &str {
        match self.name.as_ref() {
            "" => &self.file_path,
            name => name,
        }
    }

    /// The agent as contracts name it; `main` is the main thread.
    pub fn agent(&self) -> String {
        match self.agent_type.as_ref() {
            "" => "main".to_owned(),
            agent => AgentName::parse(agent).as_str().to_owned(),
        }
    }
}

/// How far back a log is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Its present file.
    #[default]
    Newest,
    /// Those that were rotated away as well.
    All,
}

/// Tells records of one event apart from its first one: a hook that is registered
/// twice, such as by the project and by the user, records each event twice.
#[derive(Default)]
pub(crate) struct Seen {
    /// Hashes, since a log can hold a million records.
    records: HashSet<u64>,
    hasher: RandomState,
}

impl Seen {
    pub(crate) fn is_new(&mut self, entry: &Entry<'_>) -> bool {
        let event = (&entry.session_id, &entry.tool_use_id, &entry.file_path);
        let said = (&entry.decision, &entry.rule, &entry.resolves);
        entry.tool_use_id.is_empty() || self.records.insert(self.hasher.hash_one((event, said)))
    }
}

/// Hands every record in a log to `take`, oldest file first, with its line, each event's once;
/// says on stderr how many lines cannot be read.
///
/// # Errors
/// A file is there and cannot be read.
pub(crate) fn entries(
    log: &LogFile,
    reach: Reach,
    take: &mut dyn FnMut(&Entry<'_>, &str),
) -> Result<()> {
    let rotated = match reach {
        Reach::Newest => Vec::new(),
        Reach::All => log.generations(),
    };
    let mut seen = Seen::default();
    let mut files = rotated.into_iter().chain([log.path()]);
    files.try_for_each(|path| {
        entries_of(&path, &mut |entry, line| {
            if seen.is_new(entry) {
                take(entry, line);
            }
        })
    })
}

/// The records of one file, which need not be there.
///
/// # Errors
/// It is there and cannot be read.
pub(crate) fn file(path: &Path, take: &mut dyn FnMut(&Entry<'_>, &str)) -> Result<Counts> {
    let opened = bounded_read::if_there(bounded_read::open(path))
        .with_context(|| format!("could not open `{}`", path.display()))?;
    let Some((file, _)) = opened else {
        return Ok(Counts::default());
    };
    let reader = BufReader::with_capacity(256 * 1024, file);
    each(reader, take).with_context(|| format!("could not read `{}`", path.display()))
}

fn entries_of(path: &Path, take: &mut dyn FnMut(&Entry<'_>, &str)) -> Result<()> {
    let counts = file(path, take)?;
    if counts.unreadable > 0 {
        warn::warn(&format!(
            "left out {} of `{}`",
            text::count(counts.unreadable, "unreadable line", "unreadable lines"),
            path.display()
        ));
    }
    Ok(())
}

/// What the lines of a log are; together they are all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub records: usize,
    /// Empty lines, and JSON of other programs.
    pub foreign: usize,
    pub unreadable: usize,
}

/// When the denials with a recorded recovery were recovered, by their ids, as far as this program
/// says so: a line of others closes none.
///
/// # Errors
/// A file of the log cannot be read.
pub(crate) fn recoveries(events: &LogFile) -> Result<HashMap<String, String>> {
    let foreign = events.foreign_lines();
    let mut found = HashMap::new();
    entries(events, Reach::All, &mut |entry, line| {
        if let Some(id) = entry.closes()
            && !foreign.contains(line)
        {
            found.insert(id.to_owned(), entry.ts.to_string());
        }
    })?;
    Ok(found)
}

/// Hands every record to `take`, with its line.
///
/// # Errors
/// Those of the reader; no line is one.
pub fn each(reader: impl BufRead, take: &mut dyn FnMut(&Entry<'_>, &str)) -> io::Result<Counts> {
    let mut counts = Counts::default();
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        let line = text(line);
        match line.map(|line| (parse(line), line)) {
            Some((Ok(Some(entry)), line)) => {
                counts.records += 1;
                take(&entry, line);
            }
            Some((Ok(None), _)) => counts.foreign += 1,
            Some((Err(Unreadable), _)) | None => counts.unreadable += 1,
        }
    }
    Ok(counts)
}

/// Whether a line is a whole record, of whatever log.
pub(crate) fn is_record(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<IgnoredAny>(line).is_ok()
}

/// A line that is no JSON: torn by a crash, or no log's.
pub(crate) struct Unreadable;

/// The record on a line, if there is one: other programs write records of
/// their own into devt's log, in which a field may be no text.
pub(crate) fn parse(line: &str) -> Result<Option<Entry<'_>>, Unreadable> {
    match serde_json::from_str(line) {
        Ok(entry) if line.starts_with('{') => Ok(Some(entry)),
        _ if line.is_empty() || serde_json::from_str::<IgnoredAny>(line).is_ok() => Ok(None),
        _ => Err(Unreadable),
    }
}

/// A line of a log as text, without its break, or the mark that an editor put
/// before the first; `None` where it is no UTF-8.
pub(crate) fn text(line: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(line.trim_ascii()).ok()?;
    Some(text::split_bom(text).1)
}

/// Lines; one past the longest comes out cut.
pub(crate) struct Lines<R> {
    reader: R,
    longest: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            longest: MAX_LINE,
            line: Vec::new(),
        }
    }

    /// For transcripts.
    pub(crate) fn long(reader: R) -> Self {
        Self {
            longest: MAX_LONG_LINE,
            ..Self::new(reader)
        }
    }

    /// The next line with its break; `None` at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let read = (&mut self.reader)
            .take(self.longest)
            .read_until(b'\n', &mut self.line)?;
        if read as u64 == self.longest && self.line.last() != Some(&b'\n') {
            self.reader.skip_until(b'\n')?;
        }
        Ok((read > 0).then_some(self.line.as_slice()))
    }
}

/// The newest records, at most `limit` of them, in the order of time.
pub(crate) struct TopN<T> {
    limit: usize,
    items: BTreeMap<(String, String, u64), T>,
    /// Tells records apart that have the same time and id.
    seen: u64,
}

impl<T> TopN<T> {
    pub(crate) fn new(limit: Option<u32>) -> Self {
        Self {
            limit: limit.map_or(usize::MAX, |limit| limit as usize),
            items: BTreeMap::new(),
            seen: 0,
        }
    }

    /// Keeps what `make` gives, until `limit` newer records are there.
    pub(crate) fn offer(&mut self, entry: &Entry<'_>, make: impl FnOnce() -> T) {
        self.seen += 1;
        let key = (entry.ts.to_string(), entry.id.to_string(), self.seen);
        self.items.insert(key, make());
        if self.items.len() > self.limit {
            self.items.pop_first();
        }
    }

    pub(crate) fn into_items(self) -> impl DoubleEndedIterator<Item = T> {
        self.items.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_record_or_not() {
        for (line, expected) in [
            (r#"{"source":"statewarden","decision":"deny"}"#, "record"),
            (
                r#"{"source":"preflight","ts":"x","action":"write"}"#,
                "record",
            ),
            (r#"{"source":7}"#, "foreign"),
            (r#"{"source":"a","also":[{}]}"#, "record"),
            ("[1]", "foreign"),
            (r#"["", "", "statewarden", "deny"]"#, "foreign"),
            (" \r\n", "foreign"),
            ("\u{feff}{\"source\":\"statewarden\"}\n", "record"),
            (r#"{"source":"state"#, "unreadable"),
            ("\u{0}", "unreadable"),
        ] {
            let found = match text(line.as_bytes()).map(parse) {
                Some(Ok(Some(_))) => "record",
                Some(Ok(None)) => "foreign",
                Some(Err(Unreadable)) | None => "unreadable",
            };
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn strings_without_escapes_are_not_copied() {
        let Ok(Some(entry)) = parse(r#"{"id":"a","reason":"b\nc"}"#) else {
            panic!("a record");
        };
        assert!(matches!(entry.id, Cow::Borrowed("a")));
        assert_eq!(entry.reason, "b\nc");
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_whole() {
        let mut text = vec![b'x'; 3 * MAX_LINE as usize];
        text.extend(b"\nnext\nlast");
        let mut lines = Lines::new(text.as_slice());
        let mut lengths = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [MAX_LINE as usize, 5, 4]);
    }

    #[test]
    fn the_newest_are_kept_in_order() {
        let mut newest = TopN::new(Some(2));
        for ts in ["3", "1", "5", "4", "2", "5"] {
            let entry = Entry {
                ts: ts.into(),
                ..Entry::default()
            };
            newest.offer(&entry, || ts);
        }
        assert_eq!(newest.into_items().collect::<Vec<_>>(), ["5", "5"]);
    }
}
