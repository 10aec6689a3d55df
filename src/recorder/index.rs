//! The index: what the last look found, and the changes that are not decided yet.
//!
//! A file of lines. What changed is appended, later lines win, and the whole is written
//! anew when most lines are superseded: to append costs no flush, which a rename over the
//! old file does on some file systems.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;

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

/// What is known of the state directories.
#[derive(Clone, Debug, Default)]
pub struct Index {
    root: String,
    sites: BTreeSet<Site>,
    tolerated: BTreeSet<OsString>,
    entries: HashMap<OsString, State>,
    /// Changes whose calls still run.
    pending: Vec<Change>,
    /// Lines that the file lacks.
    news: String,
    /// The length of the file, as far as it was whole.
    len: usize,
    is_torn: bool,
}

impl Index {
    /// Reads the index of a recorder's folder; `None` where nothing was looked at yet.
    ///
    /// # Errors
    /// `InvalidData` for what is no index; else it cannot be read.
    pub fn read(dir: &std::path::Path) -> io::Result<Option<Self>> {
        let bytes = bounded_read::if_there(bounded_read::read(&dir.join(INDEX), MAX_BYTES))?;
        let parse = |bytes: Vec<u8>| {
            Self::parse(&bytes).ok_or_else(|| {
                let why = "the index of the recorder cannot be read";
                io::Error::new(io::ErrorKind::InvalidData, why)
            })
        };
        bytes.map(parse).transpose()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        // A line that was being written when the power failed has no end.
        let (whole, torn) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
        let mut lines = whole.lines().map(serde_json::from_str);
        let mut index = Self {
            len: whole.len(),
            is_torn: !torn.is_empty(),
            ..Self::default()
        };
        let Some(Ok(Line::Index(VERSION))) = lines.next() else {
            return None;
        };
        lines
            .try_for_each(|line| line.map(|line| index.apply(line)))
            .ok()?;
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
            Line::Entry(Path(path), Some(state)) => drop(self.entries.insert(path, state)),
            Line::Entry(Path(path), None) => drop(self.entries.remove(&path)),
            Line::Pending(changes) => self.pending = changes,
        }
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

    pub fn sites(&self) -> &BTreeSet<Site> {
        &self.sites
    }

    pub fn entries(&self) -> &HashMap<OsString, State> {
        &self.entries
    }

    pub fn get(&self, path: &OsStr) -> Option<&State> {
        self.entries.get(path)
    }

    /// The contents that entries and undecided changes have.
    pub fn blobs(&self) -> Vec<BlobId> {
        let pending = self
            .pending
            .iter()
            .flat_map(|change| [change.before, change.after])
            .flatten();
        let states = self.entries.values().copied().chain(pending);
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
        if state.is_some() || self.entries.contains_key(path) {
            self.note(Line::Entry(Path(path.to_owned()), state));
        }
    }

    /// Forgets entries and what was below them.
    pub fn forget_below(&mut self, tops: &HashSet<&OsStr>) {
        let known = self.entries.keys();
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
            if !self.entries.contains_key(&path) && is_gone(std::path::Path::new(&path)) {
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
        self.news += &json::line(&line);
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
        let is_superseded = self.len > WORTH_REWRITING && self.len > 2 * self.live_bytes();
        if self.len == 0 || self.is_torn || is_superseded {
            let whole = self.to_text();
            replace::replace_private(&path, whole.as_bytes())?;
            (self.len, self.is_torn) = (whole.len(), false);
        } else if !self.news.is_empty() {
            append::append(&path, self.news.as_bytes())?;
            self.len += self.news.len();
        }
        self.news.clear();
        Ok(())
    }

    /// About what the file would have without superseded lines.
    fn live_bytes(&self) -> usize {
        const STATE: usize = 200;
        let paths = self.entries.keys().map(|path| path.len() + STATE);
        paths.sum::<usize>() + self.pending.len() * 4 * STATE
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
        for (path, state) in &self.entries {
            add(Line::Entry(Path(path.clone()), Some(*state)));
        }
        add(Line::Pending(self.pending.clone()));
        text
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
        assert!(!index.is_new() && index.get("/p/a".as_ref()) == Some(&state));
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
