//! Taking a change back. Nothing is deleted: what gives way goes into the archive of
//! its site, and what comes back is what the recorder kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};

use crate::base::disk::resolve::is_missing;
use crate::project::sites::Site;
use crate::recorder::contents::Contents;
use crate::recorder::entry::{Kind, State};
use crate::store::archive::{Archive, How, Item, WhenChanged, stays_inside};
use crate::store::lock::{Locked, with_state_lock};
use crate::store::{modified, rename, replace};

/// What is taken back, where.
pub struct Undo<'a> {
    pub site: &'a Site<'a>,
    pub archive: Archive,
    /// The entry's name in the site.
    pub name: &'a str,
    pub path: &'a Path,
    pub session: &'a str,
    pub reason: &'a str,
    pub now: DateTime<Utc>,
    pub wait: Duration,
}

/// Why a change could not be taken back.
#[derive(Debug)]
pub enum Refused {
    /// The entry is no longer as it was found.
    Touched,
    /// What it held before is not kept.
    NotKept,
    /// It was changed again after this change.
    Superseded,
    Failed(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Undo<'_> {
    /// Moves an entry into the archive; gives where it lies then.
    ///
    /// # Errors
    /// As [`Refused`] says; the entry is where it was.
    pub fn move_away(&self, found: &State) -> Result<PathBuf, Refused> {
        self.locked(Some(found), |locked| {
            Ok(self.set_aside(locked, found, How::Move)?)
        })
    }

    /// Gives an entry its former name, which must be free.
    ///
    /// # Errors
    /// As [`Refused`] says; the entry has the name it had.
    pub fn rename_to(&self, former: &Path, found: &State) -> Result<(), Refused> {
        self.locked(Some(found), |_| {
            Ok(rename::move_to_free(self.path, former)?)
        })
    }

    /// Makes an entry what it was, with its former mode and modification time, which
    /// readers tell what is stale by. Gives where the newer content lies, if there was one.
    ///
    /// The newer content is in the archive before the former one is in its place, and
    /// that comes by one rename: a kill leaves either, whole.
    ///
    /// # Errors
    /// As [`Refused`] says; the entry is as it was found.
    pub fn put_back(
        &self,
        former: &State,
        found: Option<&State>,
        contents: &Contents,
    ) -> Result<Option<PathBuf>, Refused> {
        let bytes = former.blob.and_then(|blob| contents.get(blob));
        let bytes = bytes.ok_or(Refused::NotKept)?;
        self.locked(found, |locked| {
            let aside = found.map(|found| {
                let how = match found.kind {
                    Kind::File => How::Copy,
                    Kind::Dir | Kind::Link | Kind::Other => How::Move,
                };
                self.set_aside(locked, found, how)
            });
            let aside = aside.transpose()?;
            write_former(self.path, former, &bytes)?;
            Ok(aside)
        })
    }

    /// Runs under the site's locks, if the entry is still as it was found.
    fn locked<T>(
        &self,
        found: Option<&State>,
        act: impl FnOnce(&Locked<'_>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let dir = self.site.dir();
        if found.is_none() {
            // All of the site may be gone.
            replace::make_dir(dir.as_ref())?;
        }
        let pid_lock = self.site.governed.system.info().pid_lock;
        let mut outcome = Err(Refused::Touched);
        with_state_lock(dir.as_ref(), pid_lock, self.wait, |locked| {
            stays_inside(self.path, dir.as_ref())?;
            if is_as_found(self.path, found) {
                outcome = act(locked);
            }
            Ok(())
        })?;
        outcome
    }

    fn set_aside(&self, locked: &Locked<'_>, found: &State, how: How) -> io::Result<PathBuf> {
        let item = Item {
            name: self.name,
            path: self.path,
            size: found.size,
            modified: modified(&fs::symlink_metadata(self.path)?),
            is_dir: found.kind == Kind::Dir,
            reason: self.reason,
            when_changed: WhenChanged::Move,
        };
        self.archive
            .set_aside(locked, self.now, self.session, &item, how)
    }
}

/// Writes what an entry held; `restore` takes the same way.
///
/// # Errors
/// It cannot be written; what was there stands then.
pub fn write_former(path: &Path, former: &State, bytes: &[u8]) -> io::Result<()> {
    if let Some(above) = path.parent() {
        replace::make_dir(above)?;
    }
    if former.kind == Kind::Link {
        return replace::replace_by_link(path, bytes);
    }
    let mtime = Duration::from_nanos(u64::try_from(former.mtime).unwrap_or_default());
    replace::replace_as_it_was(path, bytes, former.mode, SystemTime::UNIX_EPOCH + mtime)
}

fn is_as_found(path: &Path, found: Option<&State>) -> bool {
    match (fs::symlink_metadata(path), found) {
        (Ok(meta), Some(found)) => State::of(&meta).has_stat_of(found),
        (Err(error), None) => is_missing(&error),
        _ => false,
    }
}
