//! The memory, which has to outlast a cleaned project: in git's directory, which `git clean` leaves
//! alone, else in the user's directory of program state; and the values that are kept there.

use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha1::{Digest as _, Sha1};

use crate::base::disk::bounded_read::read_text;
use crate::base::path;
use crate::base::warn;
use crate::project::roots::Project;
use crate::settings::load::OWN_FOLDER;
use crate::store::relocate::{is_writable, relocate};
use crate::store::rename::move_to_free;
use crate::store::replace::{make_dir, make_private_dir};
use crate::store::{change_value, read_value};

/// The recorder's folder of earlier versions, in the program's own.
const EARLIER: &str = "recorder";

/// The file of the runs of agents.
pub const RUNS: &str = "runs.json";

/// Where the memory is or can be, and whether it was there when it was first asked for.
#[derive(Clone, Debug)]
pub(super) struct MemoryFolder {
    dir: PathBuf,
    is_there: bool,
}

impl MemoryFolder {
    fn at(dir: PathBuf) -> Self {
        let is_there = dir.is_dir();
        Self { dir, is_there }
    }
}

impl Project {
    /// The folder of the memory: index, contents, running calls, change log, and what else has
    /// to be out of a clean-up's reach. It need not be there yet; one that is in an earlier
    /// place moves here when this is first asked.
    pub fn memory(&self) -> &Path {
        &self.memory_place().dir
    }

    /// Whether there is a memory: one that was there stays, one that was not can be made.
    pub fn has_memory(&self) -> bool {
        self.had_memory() || self.memory().is_dir()
    }

    /// Whether there was one when that was first asked.
    pub(super) fn had_memory(&self) -> bool {
        self.memory_place().is_there
    }

    fn memory_place(&self) -> &MemoryFolder {
        self.memory.get_or_init(|| self.find_memory())
    }

    fn find_memory(&self) -> MemoryFolder {
        let own = || MemoryFolder::at(self.own_folder().join(EARLIER));
        let mut places = [Self::place_in_git, Self::place_of_user]
            .into_iter()
            .filter_map(|find| find(self));
        let Some(place) = places.next() else {
            return own();
        };
        if place.is_there {
            return place;
        }
        let mut earlier = places.chain(iter::once_with(own));
        let Some(earlier) = earlier.find(|place| place.is_there) else {
            return place;
        };
        match relocate(&earlier.dir, &place.dir) {
            Ok(()) => MemoryFolder {
                dir: place.dir,
                ..earlier
            },
            Err(error) => {
                let (from, to) = (earlier.dir.display(), place.dir.display());
                warn::warn(&format!("could not move `{from}` to `{to}`: {error}"));
                earlier
            }
        }
    }

    /// The same folder, made where it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make_memory(&self) -> io::Result<&Path> {
        let memory = self.memory();
        if !self.has_memory() {
            memory.parent().map_or(Ok(()), make_dir)?;
            make_private_dir(memory)?;
            self.take_over_runs(memory);
        }
        Ok(memory)
    }

    /// Takes the runs of agents over that were noted before there was a memory: no call had run code
    /// that could have written them. Where a session has left a sign of life the memory was there,
    /// and is gone.
    fn take_over_runs(&self, memory: &Path) {
        if !self.logs().events().path().exists() {
            // At worst the starts of agents count as unseen.
            let _ = move_to_free(&self.own_folder().join(RUNS), &memory.join(RUNS));
        }
    }

    /// Where the runs of agents are kept: in the memory once there is one, since calls run code
    /// from then on.
    pub fn runs_folder(&self) -> &Path {
        if self.has_memory() {
            self.memory()
        } else {
            self.own_folder()
        }
    }

    /// A value that is kept there; `None` where it is not there or cannot be read.
    pub fn recall<T: DeserializeOwned>(&self, file: &str) -> Option<T> {
        read_value(self.memory(), file)
    }

    /// Changes a value that is kept there, under the memory's lock.
    ///
    /// # Errors
    /// The memory cannot be written.
    pub fn change<T>(&self, file: &str, change: impl FnOnce(&mut T)) -> io::Result<()>
    where
        T: Clone + Default + PartialEq + Serialize + DeserializeOwned,
    {
        change_value(self.make_memory()?, file, change)
    }

    fn place_in_git(&self) -> Option<MemoryFolder> {
        let (common, tree) = git_common_dir(Path::new(&self.main.dir))?;
        let folder = common.join(OWN_FOLDER);
        let dir = tree.map_or(folder.clone(), |tree| folder.join("worktrees").join(tree));
        let place = MemoryFolder::at(dir);
        let is_usable = place.is_there || git_dir_above(&place.dir).is_some_and(is_writable);
        is_usable.then_some(place)
    }

    fn place_of_user(&self) -> Option<MemoryFolder> {
        let homes = Path::new(self.state_home.as_deref()?).join(OWN_FOLDER);
        Some(MemoryFolder::at(homes.join(label(&self.main.dir))))
    }
}

/// The directory around the memory's folder in a repository.
fn git_dir_above(place: &Path) -> Option<&Path> {
    place.ancestors().find(|dir| dir.join("HEAD").exists())
}

/// A name for a root: its last part, and a hash, since two roots may share that.
fn label(root: &str) -> String {
    let digest = Sha1::digest(root.as_bytes());
    let hash: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let last = path::split_last(root).map_or("", |(_, name)| name);
    let name: String = last.chars().map(to_plain).take(64).collect();
    format!("{name}-{hash}")
}

fn to_plain(c: char) -> char {
    match c {
        c if c.is_ascii_alphanumeric() || "._".contains(c) => c,
        _ => '-',
    }
}

/// The directory that all work trees of a root's repository share, and the name of the work
/// tree where the root is a linked one: of a bare repository each has a memory of its own.
fn git_common_dir(root: &Path) -> Option<(PathBuf, Option<String>)> {
    let git = root.join(".git");
    if git.join("HEAD").exists() {
        return Some((git, None));
    }
    let text = read_text(&git).ok()??;
    let dir = root.join(text.strip_prefix("gitdir:")?.trim());
    if !dir.join("HEAD").exists() {
        return None;
    }
    match read_text(&dir.join("commondir")).ok().flatten() {
        None => Some((dir, None)),
        Some(common) => {
            let name = dir.file_name()?.to_string_lossy().into_owned();
            let common = fs::canonicalize(dir.join(common.trim())).ok()?;
            Some((common, Some(name)))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use super::*;
    use crate::base::env::Env;

    fn project(base: &Path, root: &str) -> Project {
        let env = Env {
            state_home: Some(base.join("state").to_str().unwrap().to_owned()),
            ..Env::default()
        };
        let root = base.join(root);
        Project::discover(root.to_str(), &env, root.to_str().unwrap())
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn runs_beside_the_logs_are_taken_over_by_the_first_memory_alone() {
        let base = std::env::temp_dir().join(format!("statewarden-runs-{}", std::process::id()));
        for (root, has_logs) in [("first", false), ("again", true)] {
            let own = base.join(root).join(".claude/statewarden");
            write(&own.join(RUNS), "{}");
            if has_logs {
                write(&own.join("events.jsonl"), "{}\n");
            }
            let project = project(&base, root);
            assert_eq!(project.runs_folder(), own);
            project.make_memory().unwrap();
            assert_eq!(project.runs_folder(), project.memory());
            assert_eq!(project.memory().join(RUNS).exists(), !has_logs, "{root}");
        }
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn the_memory_is_in_gits_directory_or_with_the_user_and_moves_along() {
        let base = std::env::temp_dir().join(format!("statewarden-memory-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let base = base.canonicalize().unwrap();
        // Today's users have theirs in the project.
        write(&base.join("p/.claude/statewarden/recorder/index"), "old");
        let of_user = project(&base, "p").memory().to_owned();
        assert!(of_user.starts_with(base.join("state/statewarden")));
        assert_eq!(fs::read(of_user.join("index")).unwrap(), b"old");
        assert!(!base.join("p/.claude/statewarden/recorder").exists());
        // A directory of that name is no repository.
        fs::create_dir(base.join("p/.git")).unwrap();
        assert_eq!(project(&base, "p").memory(), of_user);
        // A later `git init`.
        write(&base.join("p/.git/HEAD"), "ref: refs/heads/main\n");
        let in_git = base.join("p/.git/statewarden");
        assert_eq!(project(&base, "p").memory(), in_git);
        assert_eq!(fs::read(in_git.join("index")).unwrap(), b"old");
        assert!(!of_user.exists());
        // A submodule's directory is elsewhere, and so is that of a bare repository's tree.
        write(
            &base.join("p/.git/modules/s/HEAD"),
            "ref: refs/heads/main\n",
        );
        write(&base.join("p/s/.git"), "gitdir: ../.git/modules/s\n");
        assert!(
            project(&base, "p/s")
                .memory()
                .ends_with(".git/modules/s/statewarden")
        );
        write(&base.join("bare/HEAD"), "ref: refs/heads/main\n");
        write(&base.join("bare/worktrees/t/HEAD"), "ref: refs/heads/t\n");
        write(&base.join("bare/worktrees/t/commondir"), "../..\n");
        write(
            &base.join("t/.git"),
            &format!("gitdir: {}/bare/worktrees/t\n", base.display()),
        );
        assert_eq!(
            project(&base, "t").memory(),
            base.join("bare/statewarden/worktrees/t")
        );
        fs::remove_dir_all(&base).unwrap();
    }
}
