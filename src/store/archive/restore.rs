//! The way back: entries of a snapshot return to the site.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::snapshot::remove_empty;
use super::{Archive, Held, Item, Locked, Run, Snapshot, WhenChanged};
use crate::base::path;
use crate::store::rename::move_to_free;
use crate::store::{modified, replace};

/// Whether a newer file in the site stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newer {
    Stays,
    /// Into a snapshot of its own.
    GivesWay,
}

/// What became of one entry that was to come back.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Return {
    Restored,
    /// The site has a newer one.
    Skipped,
    Vanished,
    #[serde(rename = "error")]
    Failed {
        error: String,
    },
}

impl Archive {
    /// Moves entries of a snapshot back into the site. What they replace goes
    /// into a new snapshot, whose path comes back. No snapshot is dropped; one
    /// that is empty afterwards goes.
    ///
    /// # Errors
    /// The snapshot for what is replaced cannot be made; nothing was moved then.
    pub fn bring_back(
        &self,
        locked: &Locked<'_>,
        run: Run,
        snapshot: &Snapshot,
        wanted: &[Held],
        newer: Newer,
    ) -> io::Result<(Vec<Return>, Option<PathBuf>)> {
        let in_the_way = |held: &Held| {
            let path = locked.dir().join(&held.home);
            stays_inside(&path, locked.dir()).ok()?;
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
        let taken = self.move_in(locked, run, &items)?;
        let returns = wanted
            .iter()
            .map(|held| match in_the_way(held) {
                Some((_, meta)) if stays(&meta, held) => Return::Skipped,
                _ => come_home(snapshot, held, locked.dir()),
            })
            .collect();
        if snapshot.is_empty() {
            // What is left of it goes with a later run.
            let _ = remove_empty(&snapshot.path);
        }
        Ok((returns, taken.path))
    }
}

fn come_home(snapshot: &Snapshot, held: &Held, site: &Path) -> Return {
    let (from, to) = (snapshot.path.join(&held.place), site.join(&held.home));
    let above = to.parent().unwrap_or(site);
    let moved = stays_inside(&to, site)
        .and_then(|()| links_stay_inside(&from, &to, site))
        .and_then(|()| replace::make_dir(above))
        .and_then(|()| move_to_free(&from, &to));
    match moved {
        Ok(()) => Return::Restored,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Return::Vanished,
        Err(error) => Return::Failed {
            error: error.to_string(),
        },
    }
}

/// An entry of the archive may have been exchanged for a link since.
///
/// # Errors
/// A link that would come back leads out of the site, or cannot be read.
fn links_stay_inside(from: &Path, to: &Path, site: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        let target = to.parent().unwrap_or(site).join(fs::read_link(from)?);
        let target = path::collapse(&path::from_os(&target)).into_owned();
        return stays_inside(&Path::new(&target).join("entry"), site).map_err(|_| {
            io::Error::other(format!(
                "it is a link that leads out of the site, to `{target}`"
            ))
        });
    }
    if meta.is_dir() {
        for entry in fs::read_dir(from)? {
            let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            links_stay_inside(&path, &to.join(name), site)?;
        }
    }
    Ok(())
}

/// A directory of the site may have become a link since.
///
/// # Errors
/// It leads out of the site, or cannot be looked at.
pub fn stays_inside(entry: &Path, site: &Path) -> io::Result<()> {
    let mut above = entry.ancestors().skip(1);
    let there = above.find(|dir| dir.exists()).unwrap_or(site);
    if fs::canonicalize(there)?.starts_with(fs::canonicalize(site)?) {
        return Ok(());
    }
    let why = format!("`{}` leads out of the site", there.display());
    Err(io::Error::other(why))
}
