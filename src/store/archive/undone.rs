//! What was undone: a snapshot for each session, beside those of the ring, bounded, and kept
//! for some time after it was reported to the user.

use std::collections::HashSet;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Archive, Item, MANIFEST, Manifest, Named, REPORTED, Run, Snapshot, SnapshotKind, drop_snapshot,
    free_place, plain_place,
};
use crate::base::disk::bounded_read;
use crate::store::lock::Locked;
use crate::store::rename::{exchange, move_to_free, rename_over};
use crate::store::{modified, replace};

/// What became of an entry that was to be undone.
#[derive(Debug)]
pub enum Undone {
    Moved(PathBuf),
    /// It is where it was.
    Failed(io::Error),
}

/// How many bytes of undone entries an archive holds.
const MAX_UNDONE: u64 = 256 << 20;

/// How long what was undone is kept after it was reported.
const UNDONE: TimeDelta = TimeDelta::days(30);

impl Archive {
    /// Moves entries into the snapshot of what was undone in a session, with one manifest,
    /// and gives the place of each. These snapshots are none of the ring's. What an earlier
    /// one holds under the same name with the same bytes is kept once.
    ///
    /// # Errors
    /// The snapshot cannot be made, or what is not reported yet fills it; nothing was
    /// moved then.
    pub fn set_aside(
        &self,
        locked: &Locked<'_>,
        now: DateTime<Utc>,
        session: &str,
        items: &[Item<'_>],
    ) -> io::Result<Vec<Undone>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let places = self.places_for(locked, now, session, items, &holds_same)?;
        let moved = items.iter().zip(places);
        Ok(moved.map(|(item, to)| move_once(item.path, to)).collect())
    }

    /// Puts what `make` makes in the place of an entry, which goes into the same snapshot: one
    /// exchange of names, so that a kill leaves either, whole. Gives where the entry is now.
    ///
    /// # Errors
    /// As [`Self::set_aside`]; the entry is as it was, or where file systems know no exchange
    /// it is in the archive and its name is taken by a newer one.
    pub fn exchange(
        &self,
        locked: &Locked<'_>,
        now: DateTime<Utc>,
        session: &str,
        item: &Item<'_>,
        make: &dyn Fn(&Path) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let items = std::slice::from_ref(item);
        let places = self.places_for(locked, now, session, items, &|_, _| false)?;
        let to = places.into_iter().next().unwrap_or_default();
        make(&to)?;
        match exchange(item.path, &to) {
            Ok(()) => Ok(to),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                replace::remove(&to)?;
                move_to_free(item.path, &to)?;
                make(item.path)?;
                Ok(to)
            }
            Err(error) => {
                // The first error is the one to report.
                let _ = replace::remove(&to);
                Err(error)
            }
        }
    }

    /// Free places in the snapshot of what was undone in a session, named in its manifest. A
    /// place that holds the same already, as `is_kept` says, is free.
    fn places_for(
        &self,
        locked: &Locked<'_>,
        now: DateTime<Utc>,
        session: &str,
        items: &[Item<'_>],
        is_kept: &dyn Fn(&Path, &Path) -> bool,
    ) -> io::Result<Vec<PathBuf>> {
        self.make_room(locked, items.iter().map(|item| item.size).sum(), now)?;
        let run = Run {
            kind: SnapshotKind::Undo,
            now,
        };
        let of_session = self
            .snapshots(now)?
            .into_iter()
            .rev()
            .filter(|snapshot| snapshot.kind == SnapshotKind::Undo)
            .filter_map(|snapshot| Some((snapshot.manifest()?, snapshot.path)))
            .find(|(manifest, _)| manifest.session.as_deref() == Some(session));
        let (mut manifest, snapshot) = match of_session {
            Some(found) => found,
            None => {
                let mut manifest = Manifest::new(self, run, Vec::new());
                manifest.session = Some(session.to_owned());
                (manifest, self.new_snapshot(run)?)
            }
        };
        let (mut places, mut taken) = (Vec::new(), HashSet::new());
        for item in items {
            let place = free_place(plain_place(item), &|place| {
                let there = snapshot.join(place);
                *place == *Path::new(MANIFEST)
                    || *place == *Path::new(REPORTED)
                    || taken.contains(&there)
                    || fs::symlink_metadata(&there).is_ok() && !is_kept(item.path, &there)
            });
            manifest.add(Named::of(item, &place));
            taken.insert(snapshot.join(&place));
            places.push(snapshot.join(place));
        }
        manifest.write(&snapshot)?;
        places
            .iter()
            .filter_map(|place: &PathBuf| place.parent())
            .try_for_each(replace::make_dir)?;
        Ok(places)
    }

    /// Notes that what a snapshot of undone entries holds was reported to the user.
    ///
    /// # Errors
    /// The note cannot be written.
    pub fn note_reported(snapshot: &Path) -> io::Result<()> {
        let note = snapshot.join(REPORTED);
        if note.exists() || !snapshot.is_dir() {
            return Ok(());
        }
        replace::create_private(&note, b"")
    }

    /// Drops the oldest of what was undone and reported until there is room for so many bytes.
    fn make_room(&self, _: &Locked<'_>, bytes: u64, now: DateTime<Utc>) -> io::Result<()> {
        let mut runs: Vec<(Snapshot, u64)> = self
            .snapshots(now)?
            .into_iter()
            .filter(|snapshot| snapshot.kind == SnapshotKind::Undo)
            .map(|snapshot| {
                let held = snapshot.holds().unwrap_or_default();
                let size = held.iter().map(|held| held.size).sum();
                (snapshot, size)
            })
            .collect();
        let mut used: u64 = runs.iter().map(|(_, size)| size).sum();
        while used + bytes > MAX_UNDONE {
            let oldest = runs
                .iter()
                .position(|(snapshot, _)| snapshot.path.join(REPORTED).exists());
            let Some(oldest) = oldest else {
                let dir = self.dir.display();
                let why = format!("`{dir}` holds 256 MiB of what was undone already; clear it");
                return Err(io::Error::other(why));
            };
            let (snapshot, size) = runs.remove(oldest);
            used -= size;
            drop_snapshot(snapshot)?;
        }
        Ok(())
    }

    /// Drops what was reported long ago.
    ///
    /// # Errors
    /// A snapshot cannot be removed.
    pub fn drop_undone(&self, _: &Locked<'_>, now: DateTime<Utc>) -> io::Result<()> {
        for snapshot in self.snapshots(now)? {
            let reported = fs::symlink_metadata(snapshot.path.join(REPORTED));
            let is_old = reported.is_ok_and(|meta| modified(&meta) < now - UNDONE);
            if snapshot.kind == SnapshotKind::Undo && is_old {
                drop_snapshot(snapshot)?;
            }
        }
        Ok(())
    }
}

/// Moves an entry, onto what holds the same.
fn move_once(from: &Path, to: PathBuf) -> Undone {
    let moved = if holds_same(from, &to) {
        rename_over(from, &to)
    } else {
        move_to_free(from, &to)
    };
    match moved {
        Ok(()) => Undone::Moved(to),
        Err(error) => Undone::Failed(error),
    }
}

/// Whether two files hold the same bytes.
fn holds_same(one: &Path, other: &Path) -> bool {
    let open = |path| bounded_read::open(path).ok();
    let (Some((one, len)), Some((other, other_len))) = (open(one), open(other)) else {
        return false;
    };
    let (mut one, mut other) = (io::BufReader::new(one), io::BufReader::new(other));
    if len != other_len {
        return false;
    }
    loop {
        let (Ok(left), Ok(right)) = (one.fill_buf(), other.fill_buf()) else {
            return false;
        };
        let n = left.len().min(right.len());
        if n == 0 {
            return true;
        }
        if left[..n] != right[..n] {
            return false;
        }
        one.consume(n);
        other.consume(n);
    }
}
