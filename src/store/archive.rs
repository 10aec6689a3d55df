//! The archive of a site: a ring of snapshots, each a directory that holds what
//! one run moved away, and a manifest that says why.
//!
//! The manifest is written before the first move, so that a run that was killed
//! half-way is told as well; what it names and the directory lacks was not moved.

mod manifest;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use chrono::{DateTime, NaiveDateTime, SecondsFormat, TimeDelta, Utc};

use super::lock::Locked;
use super::transfer::move_to_free;
use super::{make_own_folder, modified, replace};
pub use manifest::{FILE as MANIFEST, Manifest, Named};

/// What made a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Reset,
    Cleanup,
    Sweep,
    Quarantine,
    /// What a `restore` would have overwritten.
    Restore,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Reset,
        Self::Cleanup,
        Self::Sweep,
        Self::Quarantine,
        Self::Restore,
    ];

    fn prefix(self) -> &'static str {
        match self {
            Self::Reset => "",
            Self::Cleanup => "cleanup-",
            Self::Sweep => "sweep-",
            Self::Quarantine => "quarantine-",
            Self::Restore => "restore-",
        }
    }
}

/// Where the snapshots of one site are.
#[derive(Clone, Debug)]
pub struct Ring {
    pub dir: PathBuf,
    pub system: String,
    /// The site, relative to the project.
    pub site: String,
    /// This program's own folder, where the ring lies in it.
    pub own_folder: Option<PathBuf>,
    /// How many snapshots stay, at least 1.
    pub runs: usize,
}

/// Who moves things away, and when.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub kind: Kind,
    /// The command, or the call that was detected.
    pub by: &'a str,
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

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Moved,
    /// Another process took it first.
    Vanished,
    /// Left because it is in use.
    InUse,
    Failed(String),
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

impl Ring {
    /// Moves the items into a new snapshot and drops the oldest ones beyond
    /// `runs`, never the new one. The run goes on past an entry that has
    /// vanished or cannot be moved.
    ///
    /// # Errors
    /// The snapshot cannot be made; nothing was moved then.
    pub fn take(
        &self,
        locked: &Locked<'_>,
        run: Run<'_>,
        items: &[Item<'_>],
        progress: &mut dyn FnMut(usize),
    ) -> io::Result<Taken> {
        let mut taken = self.move_in(locked, run, items, progress)?;
        if let Some(path) = &taken.path {
            match self.prune(locked, path, run.now) {
                Ok(pruned) => taken.pruned = pruned,
                Err(error) => {
                    let ring = self.dir.display();
                    taken.trouble = Some(format!("older snapshots in `{ring}` stay: {error}"));
                }
            }
        }
        Ok(taken)
    }

    fn move_in(
        &self,
        _: &Locked<'_>,
        run: Run<'_>,
        items: &[Item<'_>],
        progress: &mut dyn FnMut(usize),
    ) -> io::Result<Taken> {
        if items.is_empty() {
            return Ok(Taken::default());
        }
        let path = self.new_snapshot(run)?;
        let places = places(items);
        manifest::write(&path, self, run, items, &places)?;
        let statuses: Vec<Status> = items
            .iter()
            .zip(&places)
            .enumerate()
            .map(|(n, (item, place))| {
                progress(n);
                move_one(item, &path, place)
            })
            .collect();
        let moved = statuses.contains(&Status::Moved);
        if !moved {
            remove_empty(&path)?;
        }
        Ok(Taken {
            path: moved.then_some(path),
            statuses,
            ..Taken::default()
        })
    }

    fn new_snapshot(&self, run: Run<'_>) -> io::Result<PathBuf> {
        if let Some(own) = &self.own_folder {
            make_own_folder(own)?;
        }
        let failed = |error: io::Error, dir: &Path| {
            let why = format!("could not make `{}`: {error}", dir.display());
            io::Error::new(error.kind(), why)
        };
        replace::make_dir(&self.dir).map_err(|error| failed(error, &self.dir))?;
        let stamp = run.now.to_rfc3339_opts(SecondsFormat::Millis, true);
        let name = format!("{}{}", run.kind.prefix(), stamp.replace([':', '.'], "-"));
        let mut path = self.dir.join(&name);
        for n in 1.. {
            match replace::make_new_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    path = self.dir.join(format!("{name}-{n}"));
                }
                made => {
                    return made
                        .map(|()| path.clone())
                        .map_err(|error| failed(error, &path));
                }
            }
        }
        Ok(path)
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
        found.sort_by(|a, b| (a.order(now), &a.name).cmp(&(b.order(now), &b.name)));
        Ok(found)
    }

    fn prune(&self, _: &Locked<'_>, new: &Path, now: DateTime<Utc>) -> io::Result<Vec<String>> {
        self.drop_leftovers()?;
        let mut old = self.snapshots(now)?;
        old.retain(|snapshot| snapshot.path != new);
        let surplus = (old.len() + 1).saturating_sub(self.runs.max(1));
        let mut pruned = Vec::new();
        for snapshot in old.into_iter().take(surplus) {
            // Renamed first, so that a kill leaves no half snapshot that looks whole.
            let doomed = self
                .dir
                .join(format!(".{}.{}.tmp", snapshot.name, std::process::id()));
            move_to_free(&snapshot.path, &doomed)?;
            replace::remove_own_tree(&doomed)?;
            pruned.push(snapshot.name);
        }
        Ok(pruned)
    }

    /// Finishes what a killed run had begun to drop.
    fn drop_leftovers(&self) -> io::Result<()> {
        for name in list(&self.dir)? {
            let path = self.dir.join(&name);
            if replace::is_temp_name(&name.to_string_lossy()) && is_real_dir(&path) {
                replace::remove_own_tree(&path)?;
            }
        }
        Ok(())
    }
}

fn list(dir: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(dir) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_real_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// The place of each item in the snapshot. One that the manifest or an earlier
/// item has, on a file system that folds case too, gets a number behind it.
fn places(items: &[Item<'_>]) -> Vec<PathBuf> {
    let mut used = HashSet::from([MANIFEST.to_owned()]);
    let place = |item: &Item<'_>| {
        let plain = plain_place(item);
        let folded = |path: &Path| path.to_string_lossy().to_lowercase();
        let mut place = plain.clone();
        for n in 1.. {
            if used.insert(folded(&place)) {
                break;
            }
            let mut name = plain.file_name().unwrap_or_default().to_owned();
            name.push(format!("-{n}"));
            place = plain.with_file_name(name);
        }
        place
    };
    items.iter().map(place).collect()
}

/// The item's name as the disk has it, which need not be UTF-8.
fn plain_place(item: &Item<'_>) -> PathBuf {
    let last = item.path.file_name().unwrap_or_default();
    match item.name.rsplit_once('/') {
        Some((above, _)) => Path::new(above).join(last),
        None => PathBuf::from(last),
    }
}

fn move_one(item: &Item<'_>, snapshot: &Path, place: &Path) -> Status {
    let changed = || {
        let meta = fs::symlink_metadata(item.path);
        meta.is_ok_and(|meta| modified(&meta) != item.modified)
    };
    if item.when_changed == WhenChanged::Leave && changed() {
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
        Err(error) => Status::Failed(error.to_string()),
    }
}

/// Removes a snapshot that holds nothing but manifests and empty directories.
fn remove_empty(snapshot: &Path) -> io::Result<()> {
    for name in list(snapshot)? {
        let path = snapshot.join(&name);
        if name == MANIFEST || name == manifest::FOREIGN {
            replace::remove(&path)?;
        } else {
            replace::remove_if_empty(&path);
        }
    }
    replace::remove_if_empty(snapshot);
    Ok(())
}

/// One directory of a ring.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub name: String,
    pub path: PathBuf,
    pub kind: Kind,
    /// From the name, to the millisecond.
    pub at: DateTime<Utc>,
}

/// An entry that a snapshot holds.
#[derive(Clone, Debug)]
pub struct Held {
    /// As it was called in the site.
    pub name: String,
    /// Relative to the snapshot.
    place: PathBuf,
    /// Relative to the site.
    home: PathBuf,
    pub size: u64,
    pub modified: DateTime<Utc>,
    pub is_dir: bool,
    /// Why it was moved away, where the manifest says so.
    pub reason: Option<String>,
}

impl Snapshot {
    fn named(ring: &Path, name: &std::ffi::OsStr) -> Option<Self> {
        const STAMP: usize = "2026-01-10T14-30-22-123Z".len();
        let name = name.to_str()?;
        let (kind, rest) = Kind::ALL.into_iter().rev().find_map(|kind| {
            let rest = name.strip_prefix(kind.prefix())?;
            Some((kind, rest))
        })?;
        let stamp = rest.get(..STAMP)?;
        let at = NaiveDateTime::parse_from_str(stamp, "%Y-%m-%dT%H-%M-%S-%3fZ").ok()?;
        let suffix = &rest[STAMP..];
        let numbered = suffix
            .strip_prefix('-')
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        let path = ring.join(name);
        ((suffix.is_empty() || numbered) && is_real_dir(&path)).then(|| Self {
            name: name.to_owned(),
            path,
            kind,
            at: at.and_utc(),
        })
    }

    /// A snapshot from the future was made before the clock was set back, so it
    /// is older than those of the present. A minute is allowed for clocks that
    /// differ and for a run that waited for the lock.
    fn order(&self, now: DateTime<Utc>) -> (bool, DateTime<Utc>) {
        let believable = self.at <= now + TimeDelta::minutes(1);
        (believable, self.at)
    }

    /// The manifest; none in a snapshot of another program.
    pub fn manifest(&self) -> Option<Manifest> {
        manifest::read(&self.path)
    }

    /// What is there, by name.
    ///
    /// # Errors
    /// The snapshot cannot be listed.
    pub fn holds(&self) -> io::Result<Vec<Held>> {
        let manifest = self.manifest();
        let mut held: Vec<Held> = Vec::new();
        let mut known: HashSet<OsString> = HashSet::new();
        for named in manifest.iter().flat_map(|manifest| &manifest.entries) {
            let (place, home) = (PathBuf::from(named.place()), PathBuf::from(&named.name));
            // A manifest is a file like any other: it must not lead out of the site.
            if !is_plain(&place) || !is_plain(&home) {
                continue;
            }
            if let Ok(meta) = fs::symlink_metadata(self.path.join(&place)) {
                known.extend(place.iter().next().map(OsString::from));
                held.push(Held::new(place, home, &meta, Some(named.reason.clone())));
            }
        }
        if manifest.is_some() {
            known.insert(MANIFEST.into());
        }
        known.insert(manifest::FOREIGN.into());
        for name in list(&self.path)? {
            let is_temp = replace::is_temp_name(&name.to_string_lossy());
            if known.contains(&name) || (is_temp && manifest.is_some()) {
                continue;
            }
            if let Ok(meta) = fs::symlink_metadata(self.path.join(&name)) {
                held.push(Held::new(name.clone().into(), name.into(), &meta, None));
            }
        }
        held.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(held)
    }
}

impl Held {
    fn new(place: PathBuf, home: PathBuf, meta: &fs::Metadata, reason: Option<String>) -> Self {
        Self {
            name: crate::path::from_os(&home),
            place,
            home,
            size: if meta.is_dir() { 0 } else { meta.len() },
            modified: modified(meta),
            is_dir: meta.is_dir(),
            reason,
        }
    }
}

fn is_plain(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a newer file in the site stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newer {
    Stays,
    /// Into a snapshot of its own.
    GivesWay,
}

/// What became of one entry that was to come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Return {
    Restored,
    /// The site has a newer one.
    Skipped,
    Vanished,
    Failed(String),
}

impl Ring {
    /// Moves entries of a snapshot back into the site. What they replace goes
    /// into a new snapshot, whose path comes back. No snapshot is dropped; one
    /// that is empty afterwards goes.
    ///
    /// # Errors
    /// The snapshot for what is replaced cannot be made; nothing was moved then.
    pub fn bring_back(
        &self,
        locked: &Locked<'_>,
        run: Run<'_>,
        snapshot: &Snapshot,
        wanted: &[Held],
        newer: Newer,
    ) -> io::Result<(Vec<Return>, Option<PathBuf>)> {
        let in_the_way = |held: &Held| {
            let path = locked.dir.join(&held.home);
            fs::symlink_metadata(&path).ok().map(|meta| (path, meta))
        };
        let stays = |meta: &fs::Metadata, held: &Held| {
            newer == Newer::Stays && modified(meta) > held.modified
        };
        let replaced: Vec<_> = wanted
            .iter()
            .filter_map(|held| Some((held, in_the_way(held)?)))
            .filter(|(held, (_, meta))| !stays(meta, held))
            .collect();
        let items: Vec<Item<'_>> = replaced
            .iter()
            .map(|(held, (path, meta))| Item {
                name: &held.name,
                path,
                size: meta.len(),
                modified: modified(meta),
                is_dir: meta.is_dir(),
                reason: "replaced by restore",
                when_changed: WhenChanged::Move,
            })
            .collect();
        let taken = self.move_in(locked, run, &items, &mut |_| {})?;
        let returns = wanted
            .iter()
            .map(|held| match in_the_way(held) {
                Some((_, meta)) if stays(&meta, held) => Return::Skipped,
                _ => come_home(snapshot, held, locked.dir),
            })
            .collect();
        if snapshot.holds().is_ok_and(|held| held.is_empty()) {
            remove_empty(&snapshot.path)?;
        }
        Ok((returns, taken.path))
    }
}

fn come_home(snapshot: &Snapshot, held: &Held, site: &Path) -> Return {
    let to = site.join(&held.home);
    let above = to.parent().unwrap_or(site);
    let moved = replace::make_dir(above)
        .and_then(|()| inside(above, site))
        .and_then(|()| move_to_free(&snapshot.path.join(&held.place), &to));
    match moved {
        Ok(()) => {
            let emptied = held.place.ancestors().skip(1);
            emptied
                .filter(|dir| !dir.as_os_str().is_empty())
                .for_each(|dir| {
                    replace::remove_if_empty(&snapshot.path.join(dir));
                });
            Return::Restored
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Return::Vanished,
        Err(error) => Return::Failed(error.to_string()),
    }
}

/// A directory of the site may have become a link since.
fn inside(dir: &Path, site: &Path) -> io::Result<()> {
    if fs::canonicalize(dir)?.starts_with(fs::canonicalize(site)?) {
        return Ok(());
    }
    let why = format!("`{}` leads out of the site", dir.display());
    Err(io::Error::other(why))
}

/// The snapshots below a directory, newest first, each ring's directory with it.
pub fn rings_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut queue = vec![dir.to_owned()];
    while let Some(dir) = queue.pop() {
        let names = list(&dir).unwrap_or_default();
        let (snapshots, others): (Vec<_>, Vec<_>) = names
            .iter()
            .map(|name| dir.join(name))
            .filter(|path| is_real_dir(path))
            .partition(|path| {
                path.file_name()
                    .is_some_and(|name| Snapshot::named(&dir, name).is_some())
            });
        if !snapshots.is_empty() {
            found.push(dir);
        }
        queue.extend(others);
    }
    found.sort_by_key(|dir| Reverse(dir.clone()));
    found
}
