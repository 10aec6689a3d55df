//! Where paths land: links followed as the kernel does.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind};

use crate::base::path;

/// How often links are followed before a path counts as a loop.
const MAX_LINKS: usize = 40;

/// No longer path exists.
pub(crate) const LONGEST: usize = if cfg!(windows) { 1 << 15 } else { 1 << 12 };

/// What is too long for a path or a name cannot exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    use ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// The longest part of a path from its start, without the whole, that is there. It is looked for
/// from the top: of a path that is made up, hardly any part may be there.
fn existing_part(path: &str) -> Option<&str> {
    let parts = path.match_indices('/').map(|(at, _)| &path[..at.max(1)]);
    parts
        .take_while(|part| fs::symlink_metadata(part).is_ok())
        .last()
}

/// A directory's path without links.
pub(crate) fn real_dir(dir: &str) -> Option<String> {
    if is_collapsed(dir) && leads_straight(dir) {
        return Some(dir.to_owned());
    }
    fs::canonicalize(dir).ok().map(|real| path::from_os(&real))
}

/// Where a path leads without a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To what is there.
    Open,
    /// To nothing, or a file is on the way.
    Missing,
    /// There are links, or the disk does not say.
    Unknown,
}

/// Asks about a collapsed path; where it goes by another name, such as one in other
/// letters, it is unknown.
pub(crate) fn way_to(path: &str) -> Way {
    let mut known = path;
    while !leads_straight(known) {
        match fs::canonicalize(known) {
            Ok(real) if path::from_os(&real) == known => break,
            Err(error) if is_missing(&error) && fs::symlink_metadata(known).is_err() => {
                match existing_part(known) {
                    Some(above) => known = above,
                    None => return Way::Unknown,
                }
            }
            Ok(_) | Err(_) => return Way::Unknown,
        }
    }
    if known == path {
        Way::Open
    } else {
        Way::Missing
    }
}

/// Whether Linux says that something is at a path and no part of it is a link: one question
/// where each part takes one. An old kernel does not say it.
#[cfg(target_os = "linux")]
fn leads_straight(path: &str) -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let links = ResolveFlags::NO_SYMLINKS;
    path.starts_with('/') && openat2(CWD, path, flags, Mode::empty(), links).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn leads_straight(_: &str) -> bool {
    false
}

/// Whether no part of a path is a link.
pub(crate) fn is_free_of_links(path: &str) -> bool {
    is_collapsed(path) && way_to(path) != Way::Unknown
}

fn is_collapsed(path: &str) -> bool {
    matches!(path::collapse(path), Cow::Borrowed(_))
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
    if is_free_of_links(path) {
        return Ok(path.to_owned());
    }
    let mut current = path.to_owned();
    for _ in 0..=MAX_LINKS {
        // A path that ends in `/` is a directory, and a link to one is followed.
        let Some((dir, name)) = path::split_last(&current) else {
            return resolve_existing(&current);
        };
        if matches!(name, "." | "..") {
            return resolve_existing(&current);
        }
        let landed = format!("{}/{name}", resolve_existing(dir)?.trim_end_matches('/'));
        match (last, fs::read_link(&landed)) {
            (FollowFinal::Follow, Ok(link)) => {
                let link = path::from_os(&link);
                let (dir, _) = path::split_last(&landed).unwrap_or(("/", ""));
                current = path::join(dir, &link, None);
            }
            _ => return Ok(landed),
        }
    }
    Err(io::Error::other(format!("too many links at `{current}`")))
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
                if rest.split('/').any(|part| part == "..") {
                    return resolve_existing(&collapsed);
                }
                return Ok(collapsed);
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
                match existing_part(existing) {
                    Some(above) => existing = above,
                    None => return Ok(path::collapse(path).into_owned()),
                }
            }
            Err(error) => return Err(error),
        }
    }
}
