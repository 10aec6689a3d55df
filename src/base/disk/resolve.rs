//! Where paths land: links followed as the kernel does.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind};

use crate::base::path;

/// How often links are followed before a path counts as a loop.
const MAX_LINKS: usize = 40;

/// What is too long for a path or a name cannot exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Dir,
    /// To a file, or a file is on the way.
    File,
    Missing,
    /// There are links, or nobody says.
    Unknown,
}

/// Asks the kernel about a whole path at once, where it can be asked.
pub(crate) fn way_to(path: &str) -> Way {
    #[cfg(target_os = "linux")]
    if let Some(way) = plain_way(path) {
        return way;
    }
    walk_to(path)
}

/// `None` where the kernel cannot be asked: one before 5.6, or in a sandbox that forbids it.
#[cfg(target_os = "linux")]
fn plain_way(path: &str) -> Option<Way> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;
    if !path.starts_with('/') {
        return Some(Way::Unknown);
    }
    // To want a directory spares the close: a file is refused, after its links were.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(_) => Some(Way::Dir),
        // The walk ends at the first part that is missing or no directory, past no link.
        Err(Errno::NOENT) => Some(Way::Missing),
        Err(Errno::NOTDIR) => Some(Way::File),
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(_) => Some(Way::Unknown),
    }
}

/// The same in several questions, of a collapsed path; where it goes by another name, such as
/// one in other letters, it is unknown.
pub(crate) fn walk_to(path: &str) -> Way {
    let mut known = path;
    loop {
        match fs::canonicalize(known) {
            Ok(real) if path::from_os(&real) == known => break,
            Err(error) if is_missing(&error) && fs::symlink_metadata(known).is_err() => {
                match path::split_last(known) {
                    Some((above, _)) => known = above,
                    None => return Way::Unknown,
                }
            }
            Ok(_) | Err(_) => return Way::Unknown,
        }
    }
    match fs::metadata(known) {
        Ok(meta) if !meta.is_dir() => Way::File,
        Ok(_) if known == path => Way::Dir,
        Ok(_) => Way::Missing,
        Err(_) => Way::Unknown,
    }
}

/// Whether an act goes through a link at the end of a path or takes the link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowFinal {
    Follow,
    Keep,
}

/// Whether something is at an absolute path.
pub fn exists(path: &str) -> bool {
    std::path::Path::new(path).exists()
}

/// Where a path lands: every existing part resolved as the kernel does, the
/// rest collapsed. The path may hold `..`, which then is taken after links.
///
/// # Errors
/// The disk refuses to say (permissions), or links loop.
pub fn resolve(path: &str, last: FollowFinal) -> io::Result<String> {
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
            (FollowFinal::Follow, Ok(link)) => {
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
