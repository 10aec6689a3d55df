//! The archive of a site: a ring of snapshots, each a directory that holds what
//! one run moved away, and a manifest that says why.
//!
//! The manifest is written before the first move, so that a run that was killed
//! half-way is reported as well; what it names and the directory lacks was not moved.

mod manifest;
mod restore;
mod snapshot;
mod undone;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use chrono::{DateTime, Utc};
use snapshot::{is_real_dir, list};

use super::lock::Locked;
use super::{could_not, make_own_folder, modified, replace};
use crate::base::clock;
use crate::base::string_enum::string_enum;
use crate::store::rename::move_to_free;

pub use manifest::{FILE as MANIFEST, Manifest, Named};
pub use restore::{Newer, Return, stays_inside};
pub use snapshot::{Held, Snapshot, rings_below};
pub use undone::Undone;

string_enum! {
    /// What made a snapshot.
    pub enum SnapshotKind {
        Reset = "reset",
        Cleanup = "cleanup",
        Sweep = "sweep",
        Quarantine = "quarantine",
        /// What a `restore` would have overwritten.
        Restore = "restore",
        /// What a new run takes the place of.
        Init = "init",
        /// What a session's calls left and the hook took back.
        Undo = "undo",
    }
}

impl SnapshotKind {
    /// What the names of such snapshots begin with.
    fn prefix(self) -> String {
        match self {
            Self::Reset => String::new(),
            kind => format!("{}-", kind.as_str()),
        }
    }

    /// Who makes such a snapshot, for its manifest.
    fn by(self) -> String {
        let verb = match self {
            Self::Quarantine | Self::Undo => "hook",
            Self::Init => "flow init",
            kind => kind.as_str(),
        };
        format!("statewarden {verb}")
    }
}

/// Where the snapshots of one site are.
#[derive(Clone, Debug)]
pub struct Archive {
    pub dir: PathBuf,
    pub system: String,
    /// The site, relative to the project.
    pub site: String,
    /// This program's own folder, where the archive is in it.
    pub own_folder: Option<PathBuf>,
    /// How many snapshots stay, at least 1.
    pub runs: usize,
}

/// What moves things away, and when.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub kind: SnapshotKind,
    pub now: DateTime<Utc>,
}

/// One entry to be moved away.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Relative to the site.
    pub name: &'a str,
    pub path: &'a Path,
    pub size: u64,
    pub modified: DateTime<Utc>,
    pub is_dir: bool,
    pub reason: &'a str,
    pub when_changed: WhenChanged,
}

/// What to do about an entry that was written since it was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenChanged {
    Move,
    /// It is in use: the temporary file of a writer at work.
    Leave,
}

/// The note in a snapshot of undone entries that they were reported to the user.
pub(crate) const REPORTED: &str = ".reported";

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Nothing: it was a dry run.
    WouldArchive,
    #[serde(rename = "archived")]
    Moved,
    /// Another process took it first.
    Vanished,
    /// Left because it is in use.
    InUse,
    #[serde(rename = "error")]
    Failed { error: String },
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Taken {
    /// The new snapshot; none when nothing was moved.
    pub path: Option<PathBuf>,
    /// In the order of the items.
    pub statuses: Vec<Status>,
    /// Names of the snapshots that went.
    pub pruned: Vec<String>,
    /// Why older snapshots are still there.
    pub trouble: Option<String>,
}

impl Archive {
    /// Moves the items into a new snapshot and drops the oldest ones beyond
    /// `runs`, never the new one. One that holds nothing is none of them. The run
    /// goes on past an entry that has vanished or cannot be moved.
    ///
    /// # Errors
    /// The snapshot cannot be made; nothing was moved then.
    pub fn take(&self, locked: &Locked<'_>, run: Run, items: &[Item<'_>]) -> io::Result<Taken> {
        let mut taken = self.move_in(locked, run, items)?;
        if let Some(path) = &taken.path {
            match self.prune(locked, path, run.now) {
                Ok(pruned) => taken.pruned = pruned,
                Err(error) => {
                    let archive = self.dir.display();
                    taken.trouble = Some(format!("older snapshots in `{archive}` stay: {error}"));
                }
            }
        }
        Ok(taken)
    }

    fn move_in(&self, _: &Locked<'_>, run: Run, items: &[Item<'_>]) -> io::Result<Taken> {
        if items.is_empty() {
            return Ok(Taken::default());
        }
        let path = self.new_snapshot(run)?;
        let places = places(items);
        let each = items.iter().zip(&places);
        let named = each.map(|(item, place)| Named::of(item, place)).collect();
        if let Err(error) = Manifest::new(self, run, named).write(&path) {
            // The first error is the one to report.
            let _ = snapshot::remove_empty(&path);
            return Err(error);
        }
        let placed = items.iter().zip(&places);
        let statuses: Vec<Status> = placed
            .map(|(item, place)| move_one(item, &path, place))
            .collect();
        let moved = statuses.contains(&Status::Moved);
        if !moved {
            snapshot::remove_empty(&path)?;
        }
        Ok(Taken {
            path: moved.then_some(path),
            statuses,
            ..Taken::default()
        })
    }

    fn new_snapshot(&self, run: Run) -> io::Result<PathBuf> {
        if let Some(own) = &self.own_folder {
            make_own_folder(own)?;
        }
        if let Ok(elsewhere) = fs::read_link(&self.dir) {
            let why = format!(
                "it is a link to `{}`, where what is archived would be out of reach; put a directory in its place",
                elsewhere.display()
            );
            return Err(could_not("archive into", &self.dir)(io::Error::other(why)));
        }
        let made = replace::make_dir(&self.dir).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let why = "it is there and no directory; move it away";
                io::Error::new(error.kind(), why)
            }
            _ => error,
        });
        made.map_err(could_not("make", &self.dir))?;
        let stamp = clock::millis(run.now);
        let name = format!("{}{}", run.kind.prefix(), clock::in_name(&stamp));
        let (mut path, mut n) = (self.dir.join(&name), 0);
        loop {
            match replace::make_new_dir(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    n += 1;
                    path = self.dir.join(format!("{name}-{n}"));
                }
                Err(error) => return Err(could_not("make", &path)(error)),
            }
        }
    }

    /// The snapshots, oldest first. Other things in the directory are none.
    ///
    /// # Errors
    /// The directory is there and cannot be listed.
    pub fn snapshots(&self, now: DateTime<Utc>) -> io::Result<Vec<Snapshot>> {
        let mut found: Vec<Snapshot> = list(&self.dir)?
            .into_iter()
            .filter_map(|name| Snapshot::named(&self.dir, &name))
            .collect();
        found.sort_unstable_by(|a, b| (a.order(now), &a.name).cmp(&(b.order(now), &b.name)));
        Ok(found)
    }

    fn prune(&self, _: &Locked<'_>, new: &Path, now: DateTime<Utc>) -> io::Result<Vec<String>> {
        self.drop_leftovers()?;
        let mut old = self.snapshots(now)?;
        old.retain(|snapshot| snapshot.path != new && snapshot.kind != SnapshotKind::Undo);
        let (empty, old): (Vec<_>, Vec<_>) = old.into_iter().partition(Snapshot::is_empty);
        for snapshot in empty.iter().filter(|empty| empty.is_abandoned(now)) {
            snapshot::remove_empty(&snapshot.path)?;
        }
        let surplus = (old.len() + 1).saturating_sub(self.runs);
        let mut pruned = Vec::new();
        for snapshot in old.into_iter().take(surplus) {
            pruned.push(snapshot.name.clone());
            drop_snapshot(snapshot)?;
        }
        Ok(pruned)
    }

    /// Finishes what a killed run had begun to drop.
    fn drop_leftovers(&self) -> io::Result<()> {
        for name in list(&self.dir)? {
            let path = self.dir.join(&name);
            let text = name.to_string_lossy();
            let mut parts = text.split('.');
            // `.SNAPSHOT.PID.tmp`
            let doomed = parts
                .nth(1)
                .is_some_and(|name| snapshot::parse(name).is_some());
            if doomed && replace::is_temp_name(&text) && is_real_dir(&path) {
                replace::remove_own_tree(&path)?;
            }
        }
        Ok(())
    }
}

/// Renamed first, so that a kill leaves no half snapshot that looks whole.
fn drop_snapshot(snapshot: Snapshot) -> io::Result<()> {
    let doomed = replace::temp_beside(&snapshot.path);
    move_to_free(&snapshot.path, &doomed)?;
    replace::remove_own_tree(&doomed)
}

/// The place of each item in the snapshot. One that the manifest or an earlier
/// item has, on a file system that folds case too, gets a number behind it.
fn places(items: &[Item<'_>]) -> Vec<PathBuf> {
    let folded = |path: &Path| path.to_string_lossy().to_lowercase();
    let mut used = HashSet::from([MANIFEST.to_owned()]);
    let mut places = Vec::with_capacity(items.len());
    for item in items {
        let place = free_place(plain_place(item), &|place| used.contains(&folded(place)));
        used.insert(folded(&place));
        places.push(place);
    }
    places
}

/// A place, with a number behind its name where that is taken.
fn free_place(plain: PathBuf, is_taken: &dyn Fn(&Path) -> bool) -> PathBuf {
    let (mut place, mut n) = (plain.clone(), 0);
    while is_taken(&place) {
        n += 1;
        let mut name = plain.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{n}"));
        place = plain.with_file_name(name);
    }
    place
}

/// The item's name as the disk has it, which need not be UTF-8.
fn plain_place(item: &Item<'_>) -> PathBuf {
    let last = item.path.file_name().unwrap_or_default();
    match item.name.rsplit_once('/') {
        Some((above, _)) => Path::new(above).join(last),
        None => PathBuf::from(last),
    }
}

fn has_changed(item: &Item<'_>) -> bool {
    let meta = fs::symlink_metadata(item.path);
    meta.is_ok_and(|meta| modified(&meta) != item.modified)
}

fn move_one(item: &Item<'_>, snapshot: &Path, place: &Path) -> Status {
    if item.when_changed == WhenChanged::Leave && has_changed(item) {
        return Status::InUse;
    }
    let to = snapshot.join(place);
    let above = match to.parent() {
        Some(dir) if dir != snapshot => replace::make_dir(dir),
        _ => Ok(()),
    };
    match above.and_then(|()| move_to_free(item.path, &to)) {
        Ok(()) => Status::Moved,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Status::Vanished,
        Err(error) => Status::Failed {
            error: error.to_string(),
        },
    }
}
