//! What the disk says of the directories around a call's targets. A command with many targets
//! names few directories, so what was said of one is kept while the call is analysed and judged.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

use foldhash::fast::RandomState;

use crate::base::disk::list::{self, Entry, Kind};
use crate::base::disk::resolve::{FollowFinal, Way, is_missing, resolve, way_to};
use crate::base::path;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing, and no link is on the way.
    Missing,
    /// A file, and no link is on the way.
    File,
    /// A directory, and no link is on the way.
    Dir,
    /// A link, or the directory does not tell.
    Unknown,
}

/// The directories around the targets of a call, as far as they were looked at.
#[derive(Default)]
pub struct DirCache {
    /// `None` for one target: to keep what is asked once spares nothing.
    dirs: Option<RefCell<HashMap<String, Dir, RandomState>>>,
    /// The names that globs were given.
    given: RefCell<HashMap<String, Vec<String>, RandomState>>,
}

/// By the names in lower case, which some disks do not tell from capitals.
type Entries = HashMap<String, PathKind, RandomState>;

/// What is known of a directory.
enum Dir {
    /// It was named once.
    Named,
    /// Nothing is there, or a file.
    Missing,
    /// No link leads to it; so many of its entries were asked for one by one.
    Plain(usize),
    /// No link leads to it.
    Listed(Entries),
    /// A link leads to it, or nobody knows, or it is too large to be listed.
    Unknown,
}

/// To list a directory costs as much as to ask for some of its entries.
const LISTED_FROM: usize = 6;

/// A directory with more entries is not listed.
const MAX_LISTED: usize = 1024;

/// What a glob lists is kept as well, where that costs little.
const MAX_SEEN: usize = 64;

/// The names of larger directories are read anew for each glob.
const MAX_GIVEN: usize = 1 << 14;

/// Of a directory with more entries a glob gets no further ones.
const MAX_NAMES: usize = 100_000;

impl DirCache {
    /// For the many targets that a command may have: keeps what the disk says.
    pub fn kept() -> Self {
        Self {
            dirs: Some(RefCell::default()),
            given: RefCell::default(),
        }
    }

    /// What stands at a collapsed path, as far as its directory tells.
    pub fn at(&self, path: &str) -> PathKind {
        let (Some(dirs), Some((dir, name))) = (&self.dirs, path::split_last(path)) else {
            return PathKind::Unknown;
        };
        let mut dirs = dirs.borrow_mut();
        let Some(known) = dirs.get_mut(dir) else {
            dirs.insert(dir.to_owned(), Dir::Named);
            return PathKind::Unknown;
        };
        known.learn(dir);
        match known {
            Dir::Missing => PathKind::Missing,
            // What a disk takes for the same name is not always told by its letters.
            Dir::Listed(_) if !is_plain(name) => PathKind::Unknown,
            Dir::Listed(entries) => {
                let entry = entries.get(&name.to_ascii_lowercase());
                entry.copied().unwrap_or(PathKind::Missing)
            }
            Dir::Named | Dir::Plain(_) | Dir::Unknown => PathKind::Unknown,
        }
    }

    /// The names in a directory, as far as they can be read.
    pub fn names(&self, dir: &str) -> Vec<String> {
        let key = path::collapse(dir.trim_end_matches('/'));
        let (Some(dirs), Cow::Borrowed(key)) = (&self.dirs, key) else {
            return into_names(names(dir, way_to(dir)).0);
        };
        if let Some(names) = self.given.borrow().get(key) {
            return names.clone();
        }
        let way = match dirs.borrow().get(key) {
            Some(Dir::Missing) => return Vec::new(),
            _ => self.way_by_listing(key).unwrap_or_else(|| way_to(dir)),
        };
        let (entries, known) = names(dir, way);
        let mut dirs = dirs.borrow_mut();
        match dirs.get_mut(key) {
            None => drop(dirs.insert(key.to_owned(), known)),
            Some(dir @ (Dir::Named | Dir::Plain(_))) => *dir = known,
            Some(_) => {}
        }
        let mut names = into_names(entries);
        // Whoever matches them against a pattern wants them in order.
        names.sort_unstable();
        if names.len() <= MAX_GIVEN {
            self.given
                .borrow_mut()
                .insert(key.to_owned(), names.clone());
        }
        names
    }

    /// What stands at a path, where its directory was listed before.
    fn way_by_listing(&self, path: &str) -> Option<Way> {
        let (dir, name) = path::split_last(path)?;
        let dirs = self.dirs.as_ref()?.borrow();
        let Dir::Listed(entries) = dirs.get(dir)? else {
            return None;
        };
        match entries
            .get(&name.to_ascii_lowercase())
            .filter(|_| is_plain(name))?
        {
            PathKind::Dir => Some(Way::Dir),
            PathKind::File => Some(Way::File),
            PathKind::Missing | PathKind::Unknown => None,
        }
    }

    /// Whether a path is a directory, or a link to one; `None` where nobody says.
    pub fn leads_to_dir(&self, path: &str) -> Option<bool> {
        match self.at_end_of(without_slash(path)) {
            PathKind::Missing | PathKind::File => Some(false),
            PathKind::Dir => Some(true),
            PathKind::Unknown => match fs::metadata(path) {
                Ok(meta) => Some(meta.is_dir()),
                Err(error) => is_missing(&error).then_some(false),
            },
        }
    }

    /// Whether anything is at a path.
    pub fn holds(&self, path: &str) -> bool {
        match self.at_end_of(path) {
            PathKind::Missing => false,
            PathKind::File | PathKind::Dir => true,
            PathKind::Unknown => fs::symlink_metadata(path).is_ok(),
        }
    }

    /// [`Self::at`], of a path that need not be collapsed.
    fn at_end_of(&self, path: &str) -> PathKind {
        match path::collapse(path) {
            Cow::Borrowed(path) => self.at(path),
            Cow::Owned(_) => PathKind::Unknown,
        }
    }

    /// [`resolve`], of a path among others, given as it is and collapsed.
    ///
    /// # Errors
    /// The same.
    pub fn resolve<'p>(
        &self,
        path: &str,
        collapsed: &'p str,
        last: FollowFinal,
    ) -> io::Result<Cow<'p, str>> {
        let is_plain = without_slash(path) == collapsed || self.leads_up_plainly(path);
        match is_plain && self.is_free_of_links(collapsed) {
            true => Ok(Cow::Borrowed(collapsed)),
            false => resolve(path, last).map(Cow::Owned),
        }
    }

    /// Whether no link is on the way to a collapsed path or at its end.
    fn is_free_of_links(&self, path: &str) -> bool {
        if self.at(path) != PathKind::Unknown || self.is_plain_dir(path) {
            return true;
        }
        let way = way_to(path);
        if let (Way::Dir | Way::File, Some((dir, _))) = (way, path::split_last(path)) {
            self.note_plain(dir);
        }
        way != Way::Unknown
    }

    /// Whether a path is known for a directory without links, or for one that is missing.
    fn is_plain_dir(&self, path: &str) -> bool {
        let known = |dirs: &RefCell<HashMap<_, _, _>>| {
            let dirs = dirs.borrow();
            matches!(
                dirs.get(path),
                Some(Dir::Missing | Dir::Plain(_) | Dir::Listed(_))
            )
        };
        self.dirs.as_ref().is_some_and(known)
    }

    fn note_plain(&self, dir: &str) {
        let Some(dirs) = &self.dirs else { return };
        let mut dirs = dirs.borrow_mut();
        match dirs.get_mut(dir) {
            Some(known @ Dir::Named) => *known = Dir::Plain(1),
            Some(_) => {}
            None => drop(dirs.insert(dir.to_owned(), Dir::Plain(1))),
        }
    }

    /// Whether the one `..` in a path leads out of a directory that no link leads to, so
    /// that it may be collapsed.
    fn leads_up_plainly(&self, path: &str) -> bool {
        let Some((dir, rest)) = path.split_once("/../") else {
            return false;
        };
        let is_clean = !rest.split('/').any(|part| part == "..")
            && matches!(path::collapse(dir), Cow::Borrowed(_));
        if self.dirs.is_none() || !is_clean || !self.is_free_of_links(dir) {
            return false;
        }
        self.note_plain(dir);
        if let Some((above, _)) = path::split_last(dir) {
            self.note_plain(above);
        }
        true
    }
}

impl Dir {
    /// Asks the disk for what the next question needs.
    fn learn(&mut self, dir: &str) {
        match self {
            Self::Named => {
                *self = match way_to(dir) {
                    Way::Dir => Self::Plain(0),
                    Way::Missing | Way::File => Self::Missing,
                    Way::Unknown => Self::Unknown,
                }
            }
            Self::Plain(LISTED_FROM) => *self = list(dir).map_or(Self::Unknown, Self::Listed),
            Self::Plain(asked) => *asked += 1,
            Self::Missing | Self::Listed(_) | Self::Unknown => {}
        }
    }
}

/// A path without the `/` behind it, which only counts where a link is at the end.
fn without_slash(path: &str) -> &str {
    match path.strip_suffix('/') {
        Some("") | None => path,
        Some(dir) => dir,
    }
}

/// What a directory is read with, and what is known of it from then on.
fn names(dir: &str, way: Way) -> (Vec<io::Result<Entry>>, Dir) {
    if matches!(way, Way::Missing | Way::File) {
        return (Vec::new(), Dir::Missing);
    }
    let entries = list::entries(Path::new(dir)).into_iter().flatten();
    let entries: Vec<_> = entries.take(MAX_NAMES).collect();
    let known = match (way, entries.len()) {
        (Way::Dir, ..=MAX_SEEN) => by_name(entries.iter()).map_or(Dir::Plain(0), Dir::Listed),
        (Way::Dir, _) => Dir::Plain(0),
        _ => Dir::Unknown,
    };
    (entries, known)
}

fn into_names(entries: Vec<io::Result<Entry>>) -> Vec<String> {
    let read = entries.into_iter().flatten();
    read.map(Entry::into_name).collect()
}

/// The entries of a directory, unless it cannot be read, has too many, or some may go by
/// other names.
fn list(dir: &str) -> Option<Entries> {
    let entries = list::entries(Path::new(dir)).ok()?;
    let entries: Vec<_> = entries.take(MAX_LISTED + 1).collect();
    (entries.len() <= MAX_LISTED).then(|| by_name(entries.iter()))?
}

/// The entries that a directory was read with, unless some were not, or may go by other names.
fn by_name<'e>(read: impl Iterator<Item = &'e io::Result<Entry>>) -> Option<Entries> {
    let mut entries = Entries::default();
    for entry in read {
        let entry = entry.as_ref().ok()?;
        let there = match entry.kind {
            Kind::Dir => PathKind::Dir,
            Kind::File => PathKind::File,
            Kind::Link => PathKind::Unknown,
        };
        let name = entry.name.to_string_lossy();
        if !(is_plain(&name) || there == PathKind::File) {
            return None;
        }
        let known = entries.entry(name.to_ascii_lowercase()).or_insert(there);
        if *known != there {
            *known = PathKind::Unknown;
        }
    }
    Some(entries)
}

/// Whether a name can only be one that differs in its letters' case: disks that do not
/// tell cases apart fold others too, and some have short names with `~`.
fn is_plain(name: &str) -> bool {
    name.is_ascii() && !name.contains('~')
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::os::unix::fs::symlink;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use proptest::test_runner::{Config, TestRunner};

    use super::*;
    use crate::base::disk::resolve::walk_to;

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

    #[derive(Clone, Copy, Debug)]
    enum Ask {
        Names,
        Resolution(FollowFinal),
        Dir,
        Holds,
    }

    fn questions() -> impl Strategy<Value = Vec<(Ask, Vec<&'static str>, &'static str)>> {
        use Ask::{Dir, Holds, Names, Resolution};
        let (follow, keep) = (
            Resolution(FollowFinal::Follow),
            Resolution(FollowFinal::Keep),
        );
        let asks = select(vec![Names, follow, follow, follow, keep, Dir, Holds]);
        vec(
            (asks, vec(select(PARTS), 0..5), select(vec!["", "", "/"])),
            1..30,
        )
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
            let (ground, nothing) = (DirCache::kept(), DirCache::default());
            for (ask, parts, slash) in questions {
                let path = [&[real.as_str()], parts.as_slice()].concat().join("/") + slash;
                let told = |ground: &DirCache| match ask {
                    Ask::Names => {
                        let mut names = ground.names(&path);
                        names.sort();
                        format!("{names:?}")
                    }
                    Ask::Resolution(last) => {
                        let collapsed = path::collapse(&path);
                        format!("{:?}", ground.resolve(&path, &collapsed, last).ok())
                    }
                    Ask::Dir => format!("{}", ground.leads_to_dir(&path) == Some(true)),
                    Ask::Holds => format!("{}", ground.holds(&path)),
                };
                prop_assert_eq!(told(&ground), told(&nothing), "{:?} {}", ask, path);
                // In several questions as in one.
                let collapsed = path::collapse(&path);
                prop_assert_eq!(walk_to(&collapsed), way_to(&collapsed), "{}", collapsed);
            }
            Ok(())
        });
        fs::remove_dir_all(&base).unwrap();
        done.unwrap();
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
