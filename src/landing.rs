//! Where paths land: links followed as the kernel does. A call with many targets names
//! few directories, so what the disk says of one is kept while the call is judged.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use foldhash::fast::RandomState;

use crate::listing::{self, Kind};
use crate::path;

/// How often links are followed before a path counts as a loop.
const MAX_LINKS: usize = 40;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
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
pub struct Ground {
    /// `None` for one target: to keep what is asked once spares nothing.
    dirs: Option<RefCell<HashMap<String, Dir, RandomState>>>,
}

/// What is known of a directory.
enum Dir {
    /// It was named once.
    Named,
    /// Nothing is there, or a file.
    Missing,
    /// No link leads to it; so many of its entries were asked for one by one.
    Plain(usize),
    /// By the names in lower case, which some disks do not tell from capitals.
    Listed(HashMap<String, There, RandomState>),
    /// A link leads to it, or nobody knows, or it is too large to be listed.
    Unknown,
}

/// To list a directory costs as much as to ask for some of its entries.
const LISTED_FROM: usize = 6;

/// A directory with more entries is not listed.
const MAX_LISTED: usize = 1024;

impl Ground {
    /// For so many targets.
    pub fn of(n_targets: usize) -> Self {
        Self {
            dirs: (n_targets > 1).then(RefCell::default),
        }
    }

    /// What stands at a collapsed path, as far as its directory tells.
    pub fn at(&self, path: &str) -> There {
        let (Some(dirs), Some((dir, name))) = (&self.dirs, path::split_last(path)) else {
            return There::Unknown;
        };
        let mut dirs = dirs.borrow_mut();
        let Some(known) = dirs.get_mut(dir) else {
            dirs.insert(dir.to_owned(), Dir::Named);
            return There::Unknown;
        };
        known.learn(dir);
        match known {
            Dir::Missing => There::Missing,
            // What a disk takes for the same name is not always told by its letters.
            Dir::Listed(_) if !is_plain(name) => There::Unknown,
            Dir::Listed(entries) => {
                let entry = entries.get(&name.to_ascii_lowercase());
                entry.copied().unwrap_or(There::Missing)
            }
            Dir::Named | Dir::Plain(_) | Dir::Unknown => There::Unknown,
        }
    }

    /// Whether a path is a directory, or a link to one; `None` where nobody says.
    pub fn is_dir(&self, path: &str) -> Option<bool> {
        match self.at_end_of(path) {
            There::Missing | There::File => Some(false),
            There::Dir => Some(true),
            There::Unknown => match fs::metadata(path) {
                Ok(meta) => Some(meta.is_dir()),
                Err(error) => is_missing(&error).then_some(false),
            },
        }
    }

    /// Whether anything is at a path.
    pub fn exists(&self, path: &str) -> bool {
        match self.at_end_of(path) {
            There::Missing => false,
            There::File | There::Dir => true,
            There::Unknown => fs::symlink_metadata(path).is_ok(),
        }
    }

    /// [`Self::at`], of a path that need not be collapsed.
    fn at_end_of(&self, path: &str) -> There {
        match path::collapse(path) {
            Cow::Borrowed(path) => self.at(path),
            Cow::Owned(_) => There::Unknown,
        }
    }

    /// [`resolve`], of a path among others, given as it is and collapsed.
    ///
    /// # Errors
    /// The same.
    pub fn resolve<'p>(
        &self,
        path: &'p str,
        collapsed: &str,
        last: LastLink,
    ) -> io::Result<Cow<'p, str>> {
        if path != collapsed {
            return resolve(path, last).map(Cow::Owned);
        }
        match self.at(path) {
            There::Unknown if way_to(path) == Way::Unknown => resolve(path, last).map(Cow::Owned),
            There::Unknown | There::Missing | There::File | There::Dir => Ok(Cow::Borrowed(path)),
        }
    }
}

impl Dir {
    /// Asks the disk for what the next question needs.
    fn learn(&mut self, dir: &str) {
        match self {
            Self::Named => {
                *self = match way_to(dir) {
                    Way::Dir => Self::Plain(0),
                    Way::Missing => Self::Missing,
                    Way::Unknown => Self::Unknown,
                }
            }
            Self::Plain(LISTED_FROM) => *self = list(dir).map_or(Self::Unknown, Self::Listed),
            Self::Plain(asked) => *asked += 1,
            Self::Missing | Self::Listed(_) | Self::Unknown => {}
        }
    }
}

/// The entries of a directory, unless it cannot be read, has too many, or some may go by
/// other names.
fn list(dir: &str) -> Option<HashMap<String, There, RandomState>> {
    let mut entries = HashMap::default();
    for entry in listing::entries(Path::new(dir)).ok()? {
        let entry = entry.ok()?;
        let there = match entry.kind {
            Kind::Dir => There::Dir,
            Kind::File => There::File,
            Kind::Link => There::Unknown,
        };
        let name = entry.into_name();
        if entries.len() == MAX_LISTED || !(is_plain(&name) || there == There::File) {
            return None;
        }
        let known = entries.entry(name.to_ascii_lowercase()).or_insert(there);
        if *known != there {
            *known = There::Unknown;
        }
    }
    Some(entries)
}

/// Whether a name can only be one that differs in its letters' case: disks that do not
/// tell cases apart fold others too, and some have short names with `~`.
fn is_plain(name: &str) -> bool {
    name.is_ascii() && !name.contains('~')
}

/// What is too long for a path or a name cannot exist.
fn is_missing(error: &io::Error) -> bool {
    use ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// A directory's path without links.
pub(crate) fn real_dir(dir: &str) -> Option<String> {
    if let Some(collapsed) = without_links(dir) {
        return Some(collapsed.into_owned());
    }
    fs::canonicalize(dir).ok().map(|real| path::from_os(&real))
}

/// A path collapsed, if no link is on the way.
pub(crate) fn without_links(path: &str) -> Option<Cow<'_, str>> {
    let collapsed = path::collapse(path);
    // What `..` leads away from may be missing, and then nothing behind it was looked at.
    let is_free = is_free_of_links(path) && (collapsed == path || is_free_of_links(&collapsed));
    is_free.then_some(collapsed)
}

/// Whether no part of a path is a link; `false` where nobody says.
fn is_free_of_links(path: &str) -> bool {
    way_to(path) != Way::Unknown
}

/// Where a path leads without a link.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only Linux answers for a whole path at once")
)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Dir,
    /// To nothing, or to a file.
    Missing,
    /// There are links, or nobody says.
    Unknown,
}

/// Asks the kernel about a whole path at once, where it can be asked.
fn way_to(path: &str) -> Way {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
        use rustix::io::Errno;
        if !path.starts_with('/') {
            return Way::Unknown;
        }
        // To want a directory spares the close: a file is refused, after its links were.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(_) => Way::Dir,
            // The walk ends at the first part that is missing or no directory, past no link.
            Err(Errno::NOENT | Errno::NOTDIR) => Way::Missing,
            Err(_) => Way::Unknown,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        Way::Unknown
    }
}

/// Whether an act goes through a link at the end of a path or takes the link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    Follow,
    Keep,
}

/// Where a path lands: every existing part resolved as the kernel does, the
/// rest collapsed. The path may hold `..`, which then is taken after links.
///
/// # Errors
/// The disk refuses to say (permissions), or links loop.
pub fn resolve(path: &str, last: LastLink) -> io::Result<String> {
    if let Some(collapsed) = without_links(path) {
        return Ok(collapsed.into_owned());
    }
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        // What stands before a last `/` is a directory, and a link to one is followed.
        let Some((dir, name)) = path::split_last(&path) else {
            return resolve_existing(&path);
        };
        if matches!(name, "." | "..") {
            return resolve_existing(&path);
        }
        let landed = format!("{}/{name}", resolve_existing(dir)?.trim_end_matches('/'));
        match (last, fs::read_link(&landed)) {
            (LastLink::Follow, Ok(link)) => {
                let link = path::from_os(&link);
                let (dir, _) = path::split_last(&landed).unwrap_or(("/", ""));
                path = path::join(dir, &link, None);
            }
            _ => return Ok(landed),
        }
    }
    Err(io::Error::other(format!("too many links at `{path}`")))
}

/// Resolves the deepest existing ancestor and appends the rest.
fn resolve_existing(path: &str) -> io::Result<String> {
    let mut existing = path;
    loop {
        match fs::canonicalize(existing) {
            Ok(real) => {
                let rest = &path[existing.len()..];
                let whole = format!("{}/{rest}", path::from_os(&real));
                let collapsed = path::collapse(&whole).into_owned();
                // Behind a way up out of what is missing there may be more that exists.
                return match rest.split('/').any(|part| part == "..") {
                    true => resolve_existing(&collapsed),
                    false => Ok(collapsed),
                };
            }
            Err(error) if is_missing(&error) => {
                // A dangling link on the way would be created through.
                if let Ok(link) = fs::read_link(existing)
                    && let Some((dir, _)) = path::split_last(existing)
                {
                    let through = path::join(dir, &path::from_os(&link), None);
                    let whole = format!("{through}/{}", &path[existing.len()..]);
                    return Ok(path::collapse(&whole).into_owned());
                }
                match path::split_last(existing) {
                    Some((above, _)) => existing = above,
                    None => return Ok(path::collapse(path).into_owned()),
                }
            }
            Err(error) => return Err(error),
        }
    }
}
