//! The index: what the last look found, and the changes that are not decided yet.
//!
//! A file of lines. What changed is appended, later lines win, and the whole is written
//! anew when most lines are superseded: to append costs no flush, which a rename over the
//! old file does on some file systems.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;

use foldhash::fast::RandomState;
use memchr::{memchr_iter, memmem};
use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read;
use crate::formats::json;
use crate::recorder::entry::{BlobId, Change, State};
use crate::store::lock::Locked;
use crate::store::{append, replace};

/// The file's name in the recorder's folder.
const INDEX: &str = "index";

/// Larger indexes are ignored.
const MAX_BYTES: u64 = 64 << 20;

/// From this size on a file of which most is superseded is written anew.
const WORTH_REWRITING: usize = 8 * 1024;

/// A state directory that is looked at: its system, and its absolute path.
pub type Site = (String, String);

/// One line of the file; the first says which format it is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Index(u8),
    /// The project's root: a copied project brings the index of the original along.
    Root(String),
    Site(Site),
    ForgottenSite(Site),
    /// A name that no actor may use and that was left, or one that is left no more.
    Tolerated(Path, bool),
    /// An entry as it is; none for one that is gone.
    Entry(Path, Option<State>),
    /// All changes that are not decided.
    Pending(Vec<Change>),
}

#[derive(Serialize, Deserialize)]
struct Path(#[serde(with = "crate::recorder::entry::os_path")] OsString);

const VERSION: u8 = 1;

/// What a line of an entry begins with.
const ENTRY: &str = "{\"entry\":[";

/// What is known of the state directories.
#[derive(Debug, Default)]
pub struct Index {
    root: String,
    sites: HashSet<Site, RandomState>,
    tolerated: BTreeSet<OsString>,
    /// Changes whose calls still run.
    pending: Vec<Change>,
    /// The file, as far as it was whole, and the lines that it lacks.
    text: String,
    /// The length of the file.
    len: usize,
    is_torn: bool,
    entries: OnceCell<Entries>,
    look: u32,
}

/// By path.
type Entries = HashMap<OsString, IndexedEntry, RandomState>;

/// An entry, and the last look that met it.
#[derive(Clone, Copy, Debug)]
struct IndexedEntry {
    state: State,
    met_by: u32,
}

impl Index {
    /// Reads the index of a recorder's folder; `None` where nothing was looked at yet.
    ///
    /// # Errors
    /// `InvalidData` for what is no index; else it cannot be read.
    pub fn read(dir: &std::path::Path) -> io::Result<Option<Self>> {
        let index = Self::open(dir)?;
        if let Some(index) = &index {
            let entries = read_entries(&index.text).ok_or_else(unreadable)?;
            index.entries.get_or_init(|| entries);
        }
        Ok(index)
    }

    /// The same for few paths: each entry is read when it is asked for, and what cannot be read
    /// of them counts as none.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn open(dir: &std::path::Path) -> io::Result<Option<Self>> {
        let bytes = bounded_read::if_there(bounded_read::read(&dir.join(INDEX), MAX_BYTES))?;
        let parsed = bytes.map(|bytes| Self::parse(bytes).ok_or_else(unreadable));
        parsed.transpose()
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let mut text = String::from_utf8(bytes).ok()?;
        // A line that was being written when the power failed has no end.
        let end = text.rfind('\n').map_or(0, |end| end + 1);
        let mut index = Self {
            len: end,
            is_torn: end < text.len(),
            ..Self::default()
        };
        text.truncate(end);
        let mut lines = lines(&text);
        let Ok(Line::Index(VERSION)) = serde_json::from_str(lines.next()?) else {
            return None;
        };
        for line in lines.filter(|line| !line.starts_with(ENTRY)) {
            index.apply(serde_json::from_str(line).ok()?);
        }
        index.text = text;
        Some(index)
    }

    fn apply(&mut self, line: Line) {
        match line {
            Line::Index(_) => {}
            Line::Root(root) => self.root = root,
            Line::Site(site) => drop(self.sites.insert(site)),
            Line::ForgottenSite(site) => drop(self.sites.remove(&site)),
            Line::Tolerated(Path(path), true) => drop(self.tolerated.insert(path)),
            Line::Tolerated(Path(path), false) => drop(self.tolerated.remove(&path)),
            Line::Entry(Path(path), state) => {
                // Else the text says it.
                if let Some(entries) = self.entries.get_mut() {
                    put(entries, path, state, self.look);
                }
            }
            Line::Pending(changes) => self.pending = changes,
        }
    }

    fn all(&self) -> &Entries {
        self.entries
            .get_or_init(|| read_entries(&self.text).unwrap_or_default())
    }

    /// Whether nothing was looked at before.
    pub fn is_new(&self) -> bool {
        self.len == 0
    }

    /// Whether the paths are another root's.
    pub fn is_of_other_root(&self, root: &str) -> bool {
        !self.root.is_empty() && self.root != root
    }

    /// Notes whose paths these are.
    pub fn set_root(&mut self, root: &str) {
        if self.root != root {
            self.note(Line::Root(root.to_owned()));
        }
    }

    /// The state directories, in no order.
    pub fn sites(&self) -> impl ExactSizeIterator<Item = &Site> {
        self.sites.iter()
    }

    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&OsString, &State)> {
        let entries = self.all().iter();
        entries.map(|(path, entry)| (path, &entry.state))
    }

    pub fn get(&self, path: &OsStr) -> Option<State> {
        match self.entries.get() {
            Some(entries) => entries.get(path).map(|entry| entry.state),
            None => last_of(&self.text, path),
        }
    }

    /// Begins a look: none of the entries was met by it.
    pub fn begin_look(&mut self) {
        self.look += 1;
    }

    /// What is known of an entry that a look meets.
    pub fn meet(&mut self, path: &OsStr) -> Option<State> {
        self.all();
        let entry = self.entries.get_mut()?.get_mut(path)?;
        entry.met_by = self.look;
        Some(entry.state)
    }

    /// The entries that the look did not meet.
    pub fn unmet(&self) -> impl Iterator<Item = (&OsString, &State)> {
        let entries = self.all().iter();
        let unmet = entries.filter(|(_, entry)| entry.met_by != self.look);
        unmet.map(|(path, entry)| (path, &entry.state))
    }

    /// The contents that entries and undecided changes have.
    pub fn blobs(&self) -> Vec<BlobId> {
        let pending = self
            .pending
            .iter()
            .flat_map(|change| [change.before, change.after])
            .flatten();
        let states = self.entries().map(|(_, state)| *state).chain(pending);
        states.filter_map(|state| state.blob).collect()
    }

    pub fn pending(&self) -> &[Change] {
        &self.pending
    }

    /// Notes a site; `true` when it is new.
    pub fn add_site(&mut self, site: &Site) -> bool {
        let is_new = !self.sites.contains(site);
        if is_new {
            self.note(Line::Site(site.clone()));
        }
        is_new
    }

    pub fn forget_site(&mut self, site: &Site) {
        if self.sites.contains(site) {
            self.note(Line::ForgottenSite(site.clone()));
        }
    }

    pub fn set(&mut self, path: &OsStr, state: Option<State>) {
        if state.is_some() || self.get(path).is_some() {
            self.note(Line::Entry(Path(path.to_owned()), state));
        }
    }

    /// Forgets entries and what was below them.
    pub fn forget_below(&mut self, tops: &HashSet<&OsStr>) {
        let known = self.entries().map(|(path, _)| path);
        let gone: Vec<OsString> = known
            .filter(|path| {
                let mut at_or_above = std::path::Path::new(path).ancestors();
                at_or_above.any(|above| tops.contains(above.as_os_str()))
            })
            .cloned()
            .collect();
        gone.iter().for_each(|path| self.set(path, None));
    }

    pub fn is_tolerated(&self, path: &OsStr) -> bool {
        self.tolerated.contains(path)
    }

    /// Notes whether a name that no actor may use is left where it is.
    pub fn set_tolerated(&mut self, path: &OsStr, is_tolerated: bool) {
        if self.is_tolerated(path) != is_tolerated {
            self.note(Line::Tolerated(Path(path.to_owned()), is_tolerated));
        }
    }

    /// What is still not there at a further look is not tolerated when it comes again: an editor
    /// that removes a file makes it anew at once.
    pub fn forget_gone_tolerated(&mut self, is_gone: impl Fn(&std::path::Path) -> bool) {
        for path in self.tolerated.clone() {
            if !self.all().contains_key(&path) && is_gone(std::path::Path::new(&path)) {
                self.set_tolerated(&path, false);
            }
        }
    }

    /// Replaces the changes that are not decided.
    pub fn set_pending(&mut self, pending: Vec<Change>) {
        if pending != self.pending {
            self.note(Line::Pending(pending));
        }
    }

    fn note(&mut self, line: Line) {
        self.text += &json::line(&line);
        self.apply(line);
    }

    /// Brings the file up to date with one `write`; nothing is written where
    /// nothing changed.
    ///
    /// After a kill at any point the file says what it said before or all of the
    /// news. After a power loss the newest lines may be missing or one of them torn;
    /// what they said is found again by the next look.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn commit(&mut self, locked: &Locked<'_>) -> io::Result<()> {
        let path = locked.dir().join(INDEX);
        if self.len == 0 || self.is_torn || self.is_superseded() {
            self.text = self.to_text();
            replace::replace_private(&path, self.text.as_bytes())?;
            self.is_torn = false;
        } else if self.len < self.text.len() {
            append::append(&path, &self.text.as_bytes()[self.len..])?;
        }
        self.len = self.text.len();
        Ok(())
    }

    /// Whether most of the file is; where all entries were read.
    fn is_superseded(&self) -> bool {
        const STATE: usize = 200;
        if self.len <= WORTH_REWRITING {
            return false;
        }
        self.entries.get().is_some_and(|entries| {
            let paths = entries.keys().map(|path| path.len() + STATE);
            let live_bytes = paths.sum::<usize>() + self.pending.len() * 4 * STATE;
            self.len > 2 * live_bytes
        })
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let mut add = |line: Line| text.push_str(&json::line(&line));
        add(Line::Index(VERSION));
        add(Line::Root(self.root.clone()));
        for site in &self.sites {
            add(Line::Site(site.clone()));
        }
        for path in &self.tolerated {
            add(Line::Tolerated(Path(path.clone()), true));
        }
        for (path, state) in self.entries() {
            add(Line::Entry(Path(path.clone()), Some(*state)));
        }
        add(Line::Pending(self.pending.clone()));
        text
    }
}

fn unreadable() -> io::Error {
    let why = "the index of the recorder cannot be read";
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut begin = 0;
    memchr_iter(b'\n', text.as_bytes()).map(move |end| {
        let line = &text[begin..end];
        begin = end + 1;
        line
    })
}

/// The entries that a text leaves; `None` where a line cannot be read.
fn read_entries(text: &str) -> Option<Entries> {
    let n_lines = memchr_iter(b'\n', text.as_bytes()).count();
    let mut entries = Entries::with_capacity_and_hasher(n_lines, RandomState::default());
    for line in lines(text).filter(|line| line.starts_with(ENTRY)) {
        if let Line::Entry(Path(path), state) = serde_json::from_str(line).ok()? {
            put(&mut entries, path, state, 0);
        }
    }
    Some(entries)
}

fn put(entries: &mut Entries, path: OsString, state: Option<State>, met_by: u32) {
    match state {
        Some(state) => drop(entries.insert(path, IndexedEntry { state, met_by })),
        None => drop(entries.remove(&path)),
    }
}

/// What the last line about a path says of it; no text in a line holds the beginning of one.
fn last_of(text: &str, path: &OsStr) -> Option<State> {
    let gone = json::line(&Line::Entry(Path(path.to_owned()), None));
    let beginning = gone.strip_suffix("null]}\n")?;
    let at = memmem::find_iter(text.as_bytes(), beginning).last()?;
    match serde_json::from_str(lines(&text[at..]).next()?) {
        Ok(Line::Entry(_, state)) => state,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::unwrap_used)]

    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::recorder::entry::{BlobId, Kind};
    use crate::store::lock::with_lock;

    #[test]
    fn an_index_reads_back_through_appends_and_torn_ends() {
        let dir = std::env::temp_dir().join(format!("statewarden-index-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let state = State {
            kind: Kind::File,
            mode: 0o100_644,
            dev: 1,
            ino: 2,
            size: 3,
            mtime: 4,
            ctime: 5,
            born: 6,
            blob: Some(BlobId::of(b"abc")),
        };
        let change = Change {
            path: "/p/a\nb".into(),
            before: Some(state),
            after: None,
            lo: 6,
            hi: 7,
            seen: 8,
            was_refused: false,
        };
        let commit = |index: &mut Index| {
            with_lock(&dir, Duration::ZERO, |locked| index.commit(locked)).unwrap();
        };
        assert!(Index::read(&dir).unwrap().is_none());
        let mut index = Index::default();
        index.add_site(&("devt".to_owned(), "/p".to_owned()));
        index.set("/p/a".as_ref(), Some(state));
        commit(&mut index);
        // What is appended wins.
        let mut index = Index::read(&dir).unwrap().unwrap();
        assert!(!index.is_new() && index.get("/p/a".as_ref()) == Some(state));
        index.set("/p/a".as_ref(), None);
        index.set(
            "/p/b".as_ref(),
            Some(State {
                blob: None,
                ..state
            }),
        );
        index.set_pending(vec![change.clone()]);
        commit(&mut index);
        let whole = fs::read(dir.join(INDEX)).unwrap();
        for torn in [0, 1, 20] {
            let end = whole.len() - 1;
            let torn = [&whole[..], &whole[end - torn..end]].concat();
            fs::write(dir.join(INDEX), torn).unwrap();
            let mut index = Index::read(&dir).unwrap().unwrap();
            assert_eq!(index.entries().len(), 1);
            assert_eq!(index.pending(), std::slice::from_ref(&change));
            index.set_pending(Vec::new());
            commit(&mut index);
            let index = Index::read(&dir).unwrap().unwrap();
            assert_eq!((index.pending().len(), index.sites().len()), (0, 1));
            assert!(!index.is_torn);
        }
        fs::write(dir.join(INDEX), "something else").unwrap();
        let error = Index::read(&dir).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        fs::remove_dir_all(&dir).unwrap();
    }
}
