//! One look: the state directories listed and compared with the index. Contents
//! are read only of what is not as it was.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::base::disk::resolve::is_missing;
use crate::base::warn;
use crate::contract::table::{Classification, Writer};
use crate::log::append::LogFile;
use crate::project::entries::{self, Found};
use crate::project::registry::Registry;
use crate::project::sites::Site;
use crate::recorder::contents::{Contents, MAX_CONTENT};
use crate::recorder::entry::{BlobId, Change, Kind, Nanos, State};
use crate::recorder::index::Index;
use crate::settings::model::Recording;

/// File times lag behind the clock, and two writes within a tick show one time. What
/// was changed this short a time before a look is read again at the next.
const RACY: Nanos = 20_000_000;

/// A longer log of this program is known by its size alone: each line makes it another content.
const MAX_LOG: u64 = 256 << 10;

/// A site with more entries is not looked at.
const MAX_ENTRIES: usize = 20_000;

/// Where and when to look.
pub struct Look<'a> {
    /// Those of the index as well.
    pub sites: &'a [Site<'a>],
    /// Single files beside the sites.
    pub files: &'a [PathBuf],
    /// This program's logs: they grow and are rotated by every process of it.
    pub logs: &'a [LogFile],
    pub registry: &'a Registry<'a>,
    pub now: Nanos,
    /// When the look before this one was; 0 for the first.
    pub last: Nanos,
    /// In a site that was not known, what is younger is a change, and the rest is taken
    /// as given; `None` takes all as given.
    pub begun: Option<Nanos>,
    /// Whether contents are kept, or their ids only.
    pub contents: Recording,
}

impl Look<'_> {
    /// Brings the index up to date and gives what changed, in no order and without
    /// candidates.
    pub fn take(&self, index: &mut Index, contents: &mut Contents) -> Vec<Change> {
        let is_first = index.is_new();
        let mut work = Work {
            look: self,
            index,
            contents,
            changes: Vec::new(),
            seen: HashSet::new(),
        };
        for site in self.sites {
            let key = (site.governed.id().to_owned(), site.dir());
            let given = match (work.index.add_site(&key), self.begun) {
                (false, _) => NOTHING,
                (true, begun) => begun.unwrap_or(ALL),
            };
            match work.site(site, given) {
                Err(_) if is_gone(key.1.as_ref()) => work.index.forget_site(&key),
                Err(error) => warn::warn(&format!("changes are not recorded: {error:#}")),
                Ok(()) => {}
            }
        }
        for file in self.files {
            if let Ok(meta) = fs::symlink_metadata(file) {
                let given = match is_first {
                    true => ALL,
                    false => NOTHING,
                };
                work.entry(file.as_os_str(), &meta, given);
            }
        }
        work.removals();
        work.changes
    }

    fn keep(&self, bytes: Vec<u8>, contents: &mut Contents) -> BlobId {
        match self.contents {
            Recording::On => contents.add(bytes),
            Recording::Off => BlobId::of(&bytes),
        }
    }
}

/// What is older than `given` is taken as it is found, for want of an earlier look.
const NOTHING: Nanos = Nanos::MIN;
const ALL: Nanos = Nanos::MAX;

struct Work<'l, 'i> {
    look: &'l Look<'l>,
    index: &'i mut Index,
    contents: &'i mut Contents,
    changes: Vec<Change>,
    /// The entries of the index that were met; those of a site in another one twice.
    seen: HashSet<OsString>,
}

impl Work<'_, '_> {
    fn site(&mut self, site: &Site<'_>, given: Nanos) -> anyhow::Result<()> {
        let lock = site.governed.system.info().pid_lock;
        let mut count = 0;
        let (look, work) = (self.look, RefCell::new(self));
        let mut is_known = |path: &Path, meta: &Metadata| {
            let mut work = work.borrow_mut();
            let is_known = !meta.is_dir() && work.index.get(path.as_os_str()).is_some();
            if is_known {
                work.entry(path.as_os_str(), meta, given);
            }
            is_known
        };
        entries::walk(site, look.registry, &mut is_known, &mut |found: Found<
            '_,
        >| {
            let system = site.governed.system;
            let is_free = matches!(found.standing, Classification::Free)
                && system.near_miss(&found.name).is_none()
                && system.free_writer(&found.name) == Writer::Anyone;
            if !is_free && lock != Some(&found.name) {
                let path = found.path.as_os_str();
                // That a program has made its directory is no news.
                let given = match found.standing {
                    Classification::ProgramDirectory => ALL,
                    _ => given,
                };
                let mut work = work.borrow_mut();
                work.entry(path, &found.meta, given);
                count += 1;
                // One that is declared; what the contract does not go on with.
                if matches!(found.standing, Classification::Directory(_)) && found.meta.is_dir() {
                    count += work.below(&found.path, given);
                }
            }
            if count > MAX_ENTRIES {
                let dir = site.dir();
                bail!("`{dir}` has more than {MAX_ENTRIES} entries");
            }
            Ok(())
        })
    }

    /// All that lies below a directory; gives how much.
    fn below(&mut self, dir: &Path, given: Nanos) -> usize {
        let (mut count, mut dirs) = (0, vec![dir.to_owned()]);
        while count <= MAX_ENTRIES
            && let Some(dir) = dirs.pop()
        {
            for entry in list::readable(&dir) {
                let path = dir.join(entry.name);
                if let Ok(meta) = fs::symlink_metadata(&path) {
                    self.entry(path.as_os_str(), &meta, given);
                    count += 1;
                    dirs.extend(meta.is_dir().then_some(path));
                }
            }
        }
        count
    }

    fn entry(&mut self, path: &OsStr, meta: &Metadata, given: Nanos) {
        let (mut state, ctime) = (State::of(meta), changed(meta));
        let before = self.index.get(path).copied();
        if before.is_some() {
            self.seen.insert(path.to_owned());
        }
        if before.is_some_and(|before| self.is_unchanged(&state, &before)) {
            return;
        }
        let log = self.look.logs.iter().find(|log| log.path() == *path);
        let bytes = match log {
            Some(_) if state.size > MAX_LOG => None,
            _ => content(Path::new(path), &state),
        };
        state.blob = bytes.as_deref().map(BlobId::of);
        let is_same = match (log, before) {
            (Some(log), Some(before)) => has_only_grown(log, &state, &before, bytes.as_deref()),
            (log, before) => {
                log.is_some() || before.is_some_and(|before| state.holds_same(&before))
            }
        };
        if (!is_same || log.is_some())
            && let Some(bytes) = bytes
        {
            self.look.keep(bytes, self.contents);
        }
        if before != Some(state) {
            self.index.set(path, Some(state));
        }
        let is_given = before.is_none() && ctime < given;
        if !is_same && !is_given {
            let happened = (ctime > self.look.last).then_some(ctime);
            self.changed(path, before, Some(state), happened);
        }
    }

    fn is_unchanged(&self, state: &State, before: &State) -> bool {
        let is_settled = before.ctime <= self.look.last.saturating_sub(RACY);
        state.has_stat_of(before) && (is_settled || before.blob.is_none())
    }

    /// What the index has and the look did not meet is gone, unless the disk says otherwise:
    /// rules and settings may have changed.
    fn removals(&mut self) {
        if self.seen.len() >= self.index.entries().len() {
            return;
        }
        let known = self.index.entries().iter();
        let gone: Vec<_> = known
            .filter(|(path, _)| !self.seen.contains(*path) && is_gone(path.as_ref()))
            .map(|(path, state)| (path.clone(), *state))
            .collect();
        for (path, before) in gone {
            self.index.set(&path, None);
            self.changed(&path, Some(before), None, None);
        }
    }

    fn changed(
        &mut self,
        path: &OsStr,
        before: Option<State>,
        after: Option<State>,
        happened: Option<Nanos>,
    ) {
        // The clock may have been put back since the last look.
        let (last, now) = (self.look.last, self.look.now);
        self.changes.push(Change {
            path: path.to_owned(),
            before,
            after,
            lo: happened.unwrap_or(last.min(now)),
            hi: happened.unwrap_or(last.max(now)),
            candidates: Vec::new(),
        });
    }
}

/// The state of one entry; its content is read, and kept where there is a place for it.
pub fn state_of(path: &Path, contents: Option<&mut Contents>) -> Option<State> {
    let meta = fs::symlink_metadata(path).ok()?;
    let mut state = State::of(&meta);
    state.blob = content(path, &state).map(|bytes| match contents {
        Some(contents) => contents.add(bytes),
        None => BlobId::of(&bytes),
    });
    Some(state)
}

/// A log that grew, or that went on in a new file after the full one was moved away.
fn has_only_grown(log: &LogFile, state: &State, before: &State, bytes: Option<&[u8]>) -> bool {
    if state.ino == before.ino {
        let former = bytes.zip(before.blob);
        let is_kept = |(bytes, blob): (&[u8], BlobId)| {
            let start = usize::try_from(before.size).ok();
            let start = start.and_then(|size| bytes.get(..size));
            start.is_some_and(|start| BlobId::of(start) == blob)
        };
        return state.size >= before.size && former.is_none_or(is_kept);
    }
    let ino = |path: PathBuf| fs::symlink_metadata(path).map(|meta| State::of(&meta).ino);
    let mut generations = log.generations().into_iter();
    generations.any(|path| ino(path).is_ok_and(|ino| ino == before.ino))
}

/// The bytes of a file that is not too large, or a link's target.
fn content(path: &Path, state: &State) -> Option<Vec<u8>> {
    match state.kind {
        Kind::File if state.size <= MAX_CONTENT => {
            let mut bytes = bounded_read::read(path, MAX_CONTENT).ok()?;
            // Of what grows meanwhile, as much as was there.
            bytes.truncate(usize::try_from(state.size).ok()?);
            Some(bytes)
        }
        Kind::Link => {
            let target = fs::read_link(path).ok()?;
            Some(target.into_os_string().into_encoded_bytes())
        }
        Kind::File | Kind::Dir | Kind::Other => None,
    }
}

pub(super) fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_missing(&error))
}

fn changed(meta: &Metadata) -> Nanos {
    let time = crate::store::changed(meta);
    time.timestamp_nanos_opt().unwrap_or(Nanos::MAX)
}
