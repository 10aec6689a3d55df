//! Whether files are as they were when they were last read, without reading them.

use std::fs::{self, Metadata};
#[cfg(not(unix))]
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// What no change of a file leaves as it was: its size, its times and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp(u64, [i64; 4], u64);

impl Stamp {
    pub(super) fn of(path: &str) -> Option<Self> {
        Some(Self::of_meta(&fs::metadata(path).ok()?))
    }

    #[cfg(unix)]
    fn of_meta(meta: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let times = [
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ];
        Self(meta.size(), times, meta.ino())
    }

    #[cfg(not(unix))]
    fn of_meta(meta: &Metadata) -> Self {
        let modified = meta.modified().ok();
        let since = modified
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
        let times = [seconds, since.subsec_nanos().into()];
        Self(meta.len(), [times[0], times[1], times[0], times[1]], 0)
    }

    /// Whether the file was changed so long before the other one that a later change would have
    /// another time.
    fn is_well_before(&self, later: &Self) -> bool {
        let Self(_, [.., seconds, _], _) = self;
        let Self(_, [.., later_seconds, _], _) = later;
        seconds + UNSURE < *later_seconds
    }
}

/// Some file systems count in whole seconds.
const UNSURE: i64 = 2;

/// Of files that are there, by their paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Stamps(Vec<(String, Stamp)>);

impl Stamps {
    pub(super) fn of<'p>(paths: impl Iterator<Item = &'p str>) -> Self {
        Self(
            paths
                .filter_map(|path| Some((path.to_owned(), Stamp::of(path)?)))
                .collect(),
        )
    }

    /// Whether what was written later says something about the files as they are.
    pub(super) fn are_well_before(&self, later: &Stamp) -> bool {
        let mut stamps = self.0.iter();
        stamps.all(|(_, stamp)| stamp.is_well_before(later))
    }
}
