//! One look: the state directories listed and compared with the index. Contents
//! are read only of what is not as it was.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::base::disk::resolve::is_missing;
use crate::base::disk::stat::Stat;
use crate::base::warn;
use crate::contract::ignored::is_ignored;
use crate::contract::table::{Bucket, Classification, Writer};
use crate::log::append::LogFile;
use crate::project::entries::{self, Found};
use crate::project::registry::Registry;
use crate::project::sites::Site;
use crate::recorder::contents::{Contents, Former, MAX_CONTENT};
use crate::recorder::entry::{BlobId, Change, Kind, Nanos, State, nanos};
use crate::recorder::index::Index;
use crate::settings::model::Recording;

/// File times lag behind the clock, and two writes within a tick show one time. What
/// was changed this short a time before a look is read again at the next.
const RACY: Nanos = 20_000_000;

/// The time of a file is that of the clock's last tick.
const TICK: Nanos = RACY / 2;

/// Some file systems know whole seconds only.
const SECOND: Nanos = 1_000_000_000;

/// By how much a time of a file may be too early.
pub(super) fn grain(time: Nanos) -> Nanos {
    if time % SECOND == 0 { SECOND } else { TICK }
}

/// A longer log in a site is known by its size alone: each line makes it another content. Of our
/// own the lines are kept as they are written.
const MAX_LOG: u64 = 256 << 10;

/// A site with more entries is not looked at.
pub(super) const MAX_ENTRIES: usize = 20_000;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The sites, and the files beside them.
    All,
    /// The one path of a file tool.
    Path(&'a str),
}

/// Where and when to look.
pub struct Look<'a> {
    pub scope: Scope<'a>,
    /// Those of the index as well.
    pub sites: &'a [Site<'a>],
    /// Single files beside the sites.
    pub files: &'a [PathBuf],
    /// This program's logs: they grow and are rotated by every process of it.
    pub logs: &'a [LogFile],
    pub registry: &'a Registry<'a>,
    pub now: Nanos,
    /// When the look before this one began, in the file system's time; 0 for the first.
    pub last: Nanos,
    /// The same at the latest: what this look finds happened since, and is no call's that had
    /// ended before.
    pub last_by: Nanos,
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
        index.begin_look();
        let mut work = Work {
            look: self,
            index,
            contents,
            changes: Vec::new(),
        };
        if let Scope::Path(path) = self.scope {
            work.one(Path::new(path));
            return work.changes;
        }
        for site in self.sites {
            let dir = site.dir();
            let key = (site.governed.id().to_owned(), dir.to_owned());
            let given = match (work.index.add_site(&key), self.begun) {
                (false, _) => NOTHING,
                (true, begun) => begun.unwrap_or(ALL),
            };
            match work.site(site, given) {
                // What it held is gone, also where a file has its name now.
                Err(_) if is_no_dir(dir.as_ref()) => work.index.forget_site(&key),
                Err(error) => {
                    warn::warn(&format!("changes are not recorded: {error:#}"));
                    work.forget_half(dir.as_ref());
                    // When it is looked at again, what is there then is taken as given.
                    work.index.forget_site(&key);
                }
                Ok(()) => {}
            }
        }
        for file in self.files {
            if let Ok(stat) = Stat::of(file) {
                // That their directory was made is no news.
                let given = if is_first || stat.is_dir() {
                    ALL
                } else {
                    NOTHING
                };
                work.entry(file.as_os_str(), &stat, given);
            }
        }
        work.removals();
        work.changes
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
}

impl Work<'_, '_> {
    fn site(&mut self, site: &Site<'_>, given: Nanos) -> anyhow::Result<()> {
        let lock = site.governed.system.info().pid_lock;
        let count = Cell::new(0);
        let (look, work) = (self.look, RefCell::new(self));
        let mut is_known = |path: &Path, stat: &Stat| {
            let (mut work, path) = (work.borrow_mut(), path.as_os_str());
            let before = if stat.is_dir() {
                None
            } else {
                work.index.meet(path)
            };
            if before.is_some() {
                work.compare(path, stat, given, before);
                count.set(count.get() + 1);
            }
            before.is_some()
        };
        entries::walk(site, look.registry, &mut is_known, &mut |found: Found<
            '_,
        >| {
            let system = site.governed.system;
            let is_free = matches!(found.standing, Classification::Free)
                && system.near_miss(&found.name).is_none()
                && system.free_writer(&found.name) == Writer::Anyone;
            // What editors, desktops and merges make is not an agent's.
            let is_ignored = found.standing.bucket() == Some(Bucket::AdHoc)
                && is_ignored(&found.name, &site.governed.contract, site.governed.edition);
            if !is_free && !is_ignored && lock != Some(&found.name) {
                let path = found.path.as_os_str();
                // That a program has made its directory is no news.
                let given = match found.standing {
                    Classification::ProgramDirectory => ALL,
                    _ => given,
                };
                let mut work = work.borrow_mut();
                work.entry(path, &found.stat, given);
                let mut n_here = 1;
                // One that is declared; what the contract does not go on with.
                if matches!(found.standing, Classification::Directory(_)) && found.stat.is_dir() {
                    n_here += work.below(&found.path, given);
                }
                count.set(count.get() + n_here);
            }
            if count.get() > MAX_ENTRIES {
                let dir = site.dir();
                bail!("`{dir}` has more than {MAX_ENTRIES} entries");
            }
            Ok(())
        })
    }

    /// The one path of a file tool.
    fn one(&mut self, path: &Path) {
        let given = match self.look.begun {
            Some(begun) => begun,
            None if self.index.is_new() => ALL,
            None => NOTHING,
        };
        let before = self.index.get(path.as_os_str());
        match Stat::of(path) {
            Ok(stat) => self.compare(path.as_os_str(), &stat, given, before),
            Err(error) if is_missing(&error) => {
                if before.is_some() {
                    self.index.set(path.as_os_str(), None);
                    self.changed(path.as_os_str(), before, None, None);
                }
            }
            Err(_) => {}
        }
    }

    /// Of a site that is too large, or cannot be listed, nothing is kept half.
    fn forget_half(&mut self, dir: &Path) {
        self.index.forget_below(&HashSet::from([dir.as_os_str()]));
        self.changes
            .retain(|change| !change.path().starts_with(dir));
    }

    /// All that is below a directory; gives how much.
    fn below(&mut self, dir: &Path, given: Nanos) -> usize {
        let (mut count, mut dirs) = (0, vec![dir.to_owned()]);
        while count <= MAX_ENTRIES
            && let Some(dir) = dirs.pop()
        {
            for entry in list::readable(&dir) {
                let path = dir.join(entry.name);
                if let Ok(stat) = Stat::of(&path) {
                    self.entry(path.as_os_str(), &stat, given);
                    count += 1;
                    dirs.extend(stat.is_dir().then_some(path));
                }
            }
        }
        count
    }

    fn entry(&mut self, path: &OsStr, stat: &Stat, given: Nanos) {
        let before = self.index.meet(path);
        self.compare(path, stat, given, before);
    }

    fn compare(&mut self, path: &OsStr, stat: &Stat, given: Nanos, before: Option<State>) {
        let (mut state, ctime) = (State::of(stat), nanos(stat.changed));
        if let Some(before) = before
            && state.has_stat_of(&before)
            && (self.is_settled(&before) || before.blob.is_none() && self.log_at(path).is_none())
        {
            return;
        }
        let log = self.log_at(path);
        let bytes = match log {
            Some(log) if log.is_kept() || state.size > MAX_LOG => None,
            _ => content(Path::new(path), &state),
        };
        state.blob = bytes.as_deref().map(BlobId::of);
        let is_same = match (log, before) {
            (Some(log), _) if let Some(differs) = log.differs_anew() => !differs,
            (Some(log), Some(before)) => has_only_grown(log, &state, &before, bytes.as_deref()),
            (log, before) => {
                log.is_some() || before.is_some_and(|before| state.holds_same(&before))
            }
        };
        if (!is_same || log.is_some())
            && self.look.contents == Recording::On
            && let Some((bytes, id)) = bytes.zip(state.blob)
        {
            let former = before.and_then(|before| {
                let blob = before.blob?;
                // Of the same log that was seen already.
                if is_same && before.ino == state.ino {
                    Some(Former::Grown(blob))
                } else {
                    Some(Former::Other(blob))
                }
            });
            self.contents.add(id, bytes, former);
        }
        if before != Some(state) {
            self.index.set(path, Some(state));
        }
        let is_given = before.is_none() && ctime < given;
        if !is_same && !is_given {
            // What came along with a directory, and a rename on some file systems, has the time
            // that it had elsewhere.
            let earliest = match before {
                None => self.look.last,
                Some(_) => self.look.last - SECOND,
            };
            let happened = (ctime > earliest).then_some(ctime);
            self.changed(path, before, Some(state), happened);
        }
    }

    fn log_at(&self, path: &OsStr) -> Option<&LogFile> {
        self.look.logs.iter().find(|log| log.path() == *path)
    }

    /// Whether an entry was as it is known for so long that its times tell every change since.
    fn is_settled(&self, before: &State) -> bool {
        let racy = if before.ctime % SECOND == 0 {
            SECOND + RACY
        } else {
            RACY
        };
        before.ctime <= self.look.last.saturating_sub(racy)
    }

    /// What the index has and the look did not meet is gone, unless the disk says otherwise:
    /// rules and settings may have changed.
    fn removals(&mut self) {
        let unmet = self.index.unmet();
        let gone: Vec<_> = unmet
            .filter(|(path, _)| is_gone(path.as_ref()))
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
        let latest = self.look.last.max(self.look.now);
        let (lo, hi) = match (happened, after) {
            // The time is that second's begin where the file system knows no finer one.
            (Some(at), _) if at % SECOND == 0 => (at, at + SECOND),
            (Some(at), _) => (at, at),
            (None, Some(_)) => (self.look.last_by.min(latest), latest),
            (None, None) => {
                let removed = removed_by(path.as_ref(), self.look.last);
                let latest = removed.unwrap_or(latest);
                (self.look.last_by.min(latest), latest)
            }
        };
        self.changes.push(Change {
            path: path.to_owned(),
            before,
            after,
            lo,
            hi,
            seen: self.look.now,
            was_refused: false,
        });
    }
}

/// When the directory that held an entry, or one above it, was last written: the entry was
/// removed by then.
fn removed_by(path: &Path, last: Nanos) -> Option<Nanos> {
    let mut above = path.ancestors().skip(1);
    let meta = above.find_map(|dir| fs::symlink_metadata(dir).ok())?;
    let written = crate::store::modified(&meta).timestamp_nanos_opt()?;
    let written = if written % SECOND == 0 {
        written + SECOND
    } else {
        written
    };
    (written > last).then_some(written)
}

/// The state of one entry; its content is read, and kept where there is a place for it.
pub fn state_of(path: &Path, contents: Option<&mut Contents>) -> Option<State> {
    let mut state = State::of(&Stat::of(path).ok()?);
    if let Some(bytes) = content(path, &state) {
        let id = BlobId::of(&bytes);
        state.blob = Some(id);
        if let Some(contents) = contents {
            contents.add(id, bytes, None);
        }
    }
    Some(state)
}

/// A log that grew, or that went on in a new file after the full one was moved away.
fn has_only_grown(log: &LogFile, state: &State, before: &State, bytes: Option<&[u8]>) -> bool {
    if state.ino == before.ino {
        return state.size >= before.size
            && match (bytes, before.blob) {
                (Some(bytes), Some(blob)) => usize::try_from(before.size)
                    .ok()
                    .and_then(|size| bytes.get(..size))
                    .is_some_and(|start| BlobId::of(start) == blob),
                _ => true,
            };
    }
    let mut generations = log.generations().into_iter();
    generations.any(|path| Stat::of(&path).is_ok_and(|stat| stat.ino == before.ino))
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

/// Whether a directory is gone, also where a file has its name; not where it cannot be read.
pub(super) fn is_no_dir(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(meta) => !meta.is_dir(),
        Err(error) => is_missing(&error),
    }
}

pub(super) fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_missing(&error))
}
