//! Git's work trees: where one begins, and what belongs to the same repository.

use std::path::{Path, PathBuf};

use crate::base::disk::bounded_read;
use crate::base::git_index::{Index, Tracked};
use crate::base::path;

/// The work tree of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTree {
    /// The directory that holds `.git`.
    pub root: PathBuf,
    /// Where the index is: `.git`, or what the file `.git` points to.
    pub git_dir: PathBuf,
}

impl WorkTree {
    /// The innermost work tree that a path is in, or is the root of.
    pub fn around(path: &Path) -> Option<Self> {
        path.ancestors().find_map(Self::at)
    }

    /// The work tree whose root a directory is. As for git, a `.git` without a `HEAD` is none.
    pub fn at(dir: &Path) -> Option<Self> {
        let git = dir.join(".git");
        let git_dir = match bounded_read::read(&git, 4_096) {
            Ok(text) => {
                let text = String::from_utf8(text).ok()?;
                dir.join(text.strip_prefix("gitdir:")?.trim())
            }
            Err(_) => git,
        };
        git_dir.join("HEAD").symlink_metadata().ok()?;
        let root = dir.to_owned();
        Some(Self { root, git_dir })
    }

    /// What all work trees of the repository share; that of a submodule is its own.
    pub fn common_dir(&self) -> PathBuf {
        let file = self.git_dir.join("commondir");
        let bytes = bounded_read::read(&file, 4_096).unwrap_or_default();
        let dir = match String::from_utf8(bytes) {
            Ok(named) if !named.is_empty() => self.git_dir.join(named.trim()),
            _ => self.git_dir.clone(),
        };
        dir.canonicalize().unwrap_or(dir)
    }

    /// Whether it was made by `git worktree add`.
    pub fn is_linked(&self) -> bool {
        self.git_dir.join("commondir").exists()
    }

    pub fn is_of_same_repository(&self, other: &Self) -> bool {
        self.git_dir == other.git_dir || self.common_dir() == other.common_dir()
    }
}

/// What git tracks, asked for many paths: entries of one directory come one after another, and
/// the index that was read last is kept.
#[derive(Default)]
pub struct TrackedFiles {
    dir: Option<LookedAt>,
    index: Option<(WorkTree, Index)>,
}

/// A directory, and where it is with links followed and in which work tree.
struct LookedAt {
    dir: PathBuf,
    real: Option<(PathBuf, WorkTree)>,
}

impl LookedAt {
    fn of(dir: &Path) -> Self {
        // Git follows no links within a work tree.
        let followed = dir.canonicalize().ok();
        Self {
            dir: dir.to_owned(),
            real: followed.and_then(|real| WorkTree::around(&real).map(|tree| (real, tree))),
        }
    }
}

impl TrackedFiles {
    /// The index of the innermost repository around an entry, and the entry's path in it.
    pub fn around(&mut self, path: &Path) -> Option<(&Index, String)> {
        let dir = path.parent()?;
        if self.dir.as_ref().is_none_or(|known| known.dir != dir) {
            self.dir = Some(LookedAt::of(dir));
        }
        let (real, tree) = self.dir.as_ref()?.real.as_ref()?;
        let below = path::from_os(real.join(path.file_name()?).strip_prefix(&tree.root).ok()?);
        if self.index.as_ref().is_none_or(|(known, _)| known != tree) {
            self.index = Some((tree.clone(), Index::read(&tree.git_dir)));
        }
        self.index.as_ref().map(|(_, index)| (index, below))
    }

    /// How git knows an entry.
    pub fn find(&mut self, path: &Path) -> Tracked {
        let around = self.around(path);
        around.map_or(Tracked::No, |(index, below)| index.tracks(&below))
    }
}
