//! What git leaves of a directory that it cleans or takes away: what its index holds.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::disk::list;
use crate::base::git::TrackedFiles;
use crate::base::git_index::Tracked;
use crate::base::path;
use crate::base::target::Cleaning;

/// More files than a state directory has in any honest work; with more, some are untracked.
const MAX_FILES: usize = 20_000;

/// Whether cleaning takes something away of what is at a path. What git ignores counts as taken;
/// a directory without a file goes.
pub(crate) fn takes(git: &mut TrackedFiles, path: &Path, cleaning: Cleaning) -> bool {
    let mut files = Files::at(path);
    let mut n_files = 0;
    let is_taken = files.any(|file| {
        n_files += 1;
        let Some((index, below)) = git.around(&file) else {
            return true;
        };
        n_files > MAX_FILES
            || index.tracks(&below) != Tracked::Yes
            || (cleaning.takes_changed()
                && !fs::symlink_metadata(&file)
                    .is_ok_and(|meta| index.is_unchanged(&below, &file, &meta)))
    });
    is_taken || n_files == 0
}

/// The files below a directory that git does not track, relative to it and sorted.
pub(crate) fn untracked(git: &mut TrackedFiles, dir: &Path) -> Vec<String> {
    let mut found: Vec<String> = Files::at(dir)
        .take(MAX_FILES)
        .filter(|file| git.find(file) != Tracked::Yes)
        .map(|file| path::from_os(file.strip_prefix(dir).unwrap_or(&file)))
        .collect();
    found.sort_unstable();
    found
}

/// The files at a path or below it. Links are not followed.
struct Files(Vec<PathBuf>);

impl Files {
    fn at(path: &Path) -> Self {
        Self(vec![path.to_owned()])
    }
}

impl Iterator for Files {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        loop {
            let path = self.0.pop()?;
            match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => {
                    let entries = list::readable(&path).map(|entry| path.join(entry.name));
                    self.0.extend(entries);
                }
                Ok(_) => return Some(path),
                Err(_) => {}
            }
        }
    }
}
