//! What the disk says of the directories around a call's targets. A command with many targets
//! names few directories, so each is asked about once.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

use crate::base::disk::list::{self, Entry};
use crate::base::disk::resolve::{FollowFinal, Way, resolve, way_to};
use crate::base::path;

/// The directories around the targets of a call, as far as they were looked at.
#[derive(Default)]
pub struct DirCache {
    /// How collapsed paths of directories lead there.
    ways: RefCell<HashMap<String, Way>>,
    /// The names in directories, sorted.
    names: RefCell<HashMap<String, Vec<String>>>,
}

/// The names of a larger directory are read anew for each glob.
const MAX_KEPT: usize = 1 << 14;

/// Of a directory with more entries a glob gets no further ones.
const MAX_NAMES: usize = 100_000;

impl DirCache {
    /// The names in a directory, as far as they can be read.
    pub fn names(&self, dir: &str) -> Vec<String> {
        if let Some(names) = self.names.borrow().get(dir) {
            return names.clone();
        }
        let entries = list::readable(Path::new(dir)).take(MAX_NAMES);
        let mut names: Vec<String> = entries.map(Entry::into_name).collect();
        // Patterns are matched against them in order.
        names.sort_unstable();
        if names.len() <= MAX_KEPT {
            let kept = names.clone();
            self.names.borrow_mut().insert(dir.to_owned(), kept);
        }
        names
    }

    /// [`resolve`], of a path given as it is and collapsed.
    ///
    /// # Errors
    /// The same.
    pub fn resolve<'p>(
        &self,
        path: &str,
        collapsed: &'p str,
        last: FollowFinal,
    ) -> io::Result<Cow<'p, str>> {
        if without_slash(path) == collapsed && self.is_free_of_links(collapsed) {
            Ok(Cow::Borrowed(collapsed))
        } else {
            resolve(path, last).map(Cow::Owned)
        }
    }

    /// Whether no link is on the way to a collapsed path or at its end.
    fn is_free_of_links(&self, path: &str) -> bool {
        let Some((dir, _)) = path::split_last(path) else {
            return true;
        };
        match self.way(dir) {
            Way::Missing => true,
            Way::Open => !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()),
            Way::Unknown => false,
        }
    }

    fn way(&self, dir: &str) -> Way {
        if let Some(way) = self.ways.borrow().get(dir) {
            return *way;
        }
        let way = way_to(dir);
        self.ways.borrow_mut().insert(dir.to_owned(), way);
        way
    }
}

/// A path without the `/` behind it, which only counts where a link is at the end.
fn without_slash(path: &str) -> &str {
    match path.strip_suffix('/') {
        Some("") | None => path,
        Some(dir) => dir,
    }
}

/// What the analyser may ask the disk.
pub trait Disk {
    /// The names in a directory, without `.` and `..`; empty where it cannot be read.
    fn entries(&self, dir: &str) -> Vec<String>;
    fn is_dir(&self, path: &str) -> bool;
    /// Whether anything is there.
    fn exists(&self, path: &str) -> bool {
        self.is_dir(path) || self.bytes(path).is_some()
    }
    /// A small text file's content.
    fn text(&self, path: &str) -> Option<String>;
    /// A file's content that need not be text.
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.text(path).map(String::into_bytes)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::os::unix::fs::symlink;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use proptest::test_runner::{Config, TestRunner};

    use super::*;

    /// Directories with files, and with links of every kind.
    fn make(base: &Path) {
        let dir = |path: &str| fs::create_dir_all(base.join(path)).expect(path);
        let file = |path: &str| fs::write(base.join(path), "").expect(path);
        let link = |path: &str, to: &str| symlink(to, base.join(path)).expect(path);
        ["a/b/c", "a/many", "é~"].into_iter().for_each(dir);
        ["f", "a/f", "a/b/g", "a/many/x"].into_iter().for_each(file);
        link("to-a", "a");
        link("a/b/up", "../..");
        link("a/lost", "nowhere/x");
        link("a/loop", "loop");
        link("a/many/to-f", "../f");
    }

    #[rustfmt::skip]
    const PARTS: &[&str] = &[
        "a", "b", "c", "f", "g", "many", "x", "to-a", "up", "lost", "loop", "to-f", "é~", "none", "..", ".",
    ];

    fn questions() -> impl Strategy<Value = Vec<(FollowFinal, Vec<&'static str>, &'static str)>> {
        let last = select(vec![FollowFinal::Follow, FollowFinal::Keep]);
        let slash = select(vec!["", "", "/"]);
        vec((last, vec(select(PARTS), 0..5), slash), 1..30)
    }

    #[test]
    fn what_is_kept_changes_no_answer() {
        let base = std::env::temp_dir().join(format!("statewarden-ground-{}", std::process::id()));
        // So deep that `..` does not lead out of it.
        let inner = base.join("1/2/3/4/5");
        make(&inner);
        let real = path::from_os(&fs::canonicalize(inner).unwrap());
        let mut runner = TestRunner::new(Config {
            cases: 2_000,
            failure_persistence: None,
            ..Config::default()
        });
        let done = runner.run(&questions(), |questions| {
            let cache = DirCache::default();
            for (last, parts, slash) in questions {
                let path = [&[real.as_str()], parts.as_slice()].concat().join("/") + slash;
                let collapsed = path::collapse(&path);
                let told = cache.resolve(&path, &collapsed, last).ok();
                let expected = resolve(&path, last).ok();
                prop_assert_eq!(told.as_deref(), expected.as_deref(), "{:?} {}", last, path);
                prop_assert_eq!(cache.names(&path), DirCache::default().names(&path));
            }
            Ok(())
        });
        fs::remove_dir_all(&base).unwrap();
        done.unwrap();
    }
}
