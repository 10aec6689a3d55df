//! What the disk says of an entry, links not followed.

use std::fs::{self, FileType, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What is under a name, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Dir,
    Link,
    /// A pipe, a socket, a device.
    Other,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Dir
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

/// What the disk says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: Kind,
    pub mode: u32,
    pub dev: u64,
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    pub modified: DateTime<Utc>,
    pub changed: DateTime<Utc>,
    /// When it was made, where the file system says it.
    pub born: Option<DateTime<Utc>>,
}

impl Stat {
    /// # Errors
    /// Nothing is there, or the disk does not say.
    pub fn of(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        match linux::stat(rustix::fs::CWD, path) {
            // Old kernels and some sandboxes know no `statx`.
            Err(rustix::io::Errno::NOSYS) => {}
            stat => return Ok(stat?),
        }
        fs::symlink_metadata(path).map(|meta| Self::from(&meta))
    }

    pub fn is_dir(&self) -> bool {
        self.kind == Kind::Dir
    }
}

impl From<&Metadata> for Stat {
    fn from(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let (mode, dev, ino) = {
            use std::os::unix::fs::MetadataExt;
            (meta.mode(), meta.dev(), meta.ino())
        };
        #[cfg(not(unix))]
        let (mode, dev, ino) = (0, 0, 0);
        Self {
            kind: meta.file_type().into(),
            mode,
            dev,
            ino,
            size: meta.len(),
            modified: modified(meta),
            changed: changed(meta),
            born: meta.created().ok().map(DateTime::from),
        }
    }
}

/// When an entry was last changed, renamed or moved, where the platform keeps
/// that; else when its text was changed.
pub fn changed(meta: &Metadata) -> DateTime<Utc> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
        DateTime::from_timestamp(meta.ctime(), nanos).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
    #[cfg(not(unix))]
    modified(meta)
}

/// When a file's text was last changed; a time no calendar holds becomes the nearest one.
pub fn modified(meta: &Metadata) -> DateTime<Utc> {
    let modified = meta.modified().unwrap_or(UNIX_EPOCH);
    // Nothing that is compared here is older than 1970.
    let after = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(after.as_secs()).ok();
    let time = seconds.and_then(|s| DateTime::from_timestamp(s, after.subsec_nanos()));
    time.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Relative to a directory that is open, it takes a third less time than by a whole path; and the
/// C library of the release does not say when an entry was made.
#[cfg(target_os = "linux")]
pub(super) mod linux {
    use std::os::fd::AsFd;

    use chrono::{DateTime, Utc};
    use rustix::fs::{AtFlags, FileType, StatxFlags, StatxTimestamp, makedev, statx};
    use rustix::io::Errno;
    use rustix::path::Arg;

    use super::{Kind, Stat};

    pub(crate) fn stat(dir: impl AsFd, name: impl Arg) -> Result<Stat, Errno> {
        let asked = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let statx = statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, asked)?;
        let mode = u32::from(statx.stx_mode);
        let has_born = statx.stx_mask & StatxFlags::BTIME.bits() != 0;
        Ok(Stat {
            kind: match FileType::from_raw_mode(mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Dir,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            },
            mode,
            dev: makedev(statx.stx_dev_major, statx.stx_dev_minor),
            ino: statx.stx_ino,
            size: statx.stx_size,
            modified: time(statx.stx_mtime).max(DateTime::UNIX_EPOCH),
            changed: time(statx.stx_ctime),
            born: has_born.then(|| time(statx.stx_btime)),
        })
    }

    fn time(at: StatxTimestamp) -> DateTime<Utc> {
        DateTime::from_timestamp(at.tv_sec, at.tv_nsec).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::unwrap_used)]

    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::base::disk::list;

    #[test]
    fn a_directory_a_path_and_the_standard_library_say_the_same() {
        let dir = std::env::temp_dir().join(format!("sw-stat-{}", std::process::id()));
        fs::create_dir_all(dir.join("dir")).unwrap();
        fs::write(dir.join("file"), "text").unwrap();
        fs::set_permissions(dir.join("file"), Permissions::from_mode(0o640)).unwrap();
        fs::write(dir.join("old"), "").unwrap();
        let old = fs::File::options().write(true).open(dir.join("old"));
        old.unwrap().set_modified(UNIX_EPOCH).unwrap();
        symlink("nowhere", dir.join("link")).unwrap();
        let _socket = UnixListener::bind(dir.join("socket")).unwrap();
        let mut listing = list::entries(&dir).unwrap();
        let mut kinds = Vec::new();
        while let Some(entry) = listing.next() {
            let list::Entry { name, kind } = entry.unwrap();
            let stat = listing.stat(&name).unwrap();
            let meta = fs::symlink_metadata(dir.join(&name)).unwrap();
            let mut expected = Stat::from(&meta);
            // Not every C library says it.
            expected.born = expected.born.or(stat.born);
            assert_eq!(stat, expected, "{name:?}");
            assert_eq!(Stat::of(&dir.join(&name)).unwrap(), stat, "{name:?}");
            assert_eq!(stat.kind, kind, "{name:?}");
            kinds.push((name.into_string().unwrap(), kind));
        }
        kinds.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("dir", Kind::Dir),
            ("file", Kind::File),
            ("link", Kind::Link),
            ("old", Kind::File),
            ("socket", Kind::Other),
        ];
        assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
        let gone = listing.stat("none".as_ref()).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(&dir).unwrap();
    }
}
