//! The last look: a file whose time says when it ended.

use std::io;
use std::path::Path;

use crate::base::disk::bounded_read;
use crate::recorder::calls;
use crate::recorder::entry::Nanos;
use crate::recorder::look;
use crate::store::replace;

/// Written at the end of each look: the file system's time of it, and in the file how long
/// the look took, and when its event was by this machine's clock, in nanoseconds.
const LOOKED: &str = "looked";

/// No look takes longer; an earlier version wrote the time itself.
const LONGEST_LOOK: Nanos = 60_000_000_000;

/// What is known of the last look.
#[derive(Clone, Copy, Default)]
pub(super) struct LastLook {
    /// When it began, in the file system's time: at the earliest, and at the latest. What a
    /// file's time says is up to a tick of the clock too early; what is noted at a later time
    /// than its end came after it.
    pub(super) began: Nanos,
    pub(super) began_by: Nanos,
    /// When its event was; an earlier version did not say it.
    pub(super) event: Option<Nanos>,
}

impl LastLook {
    pub(super) fn read(memory: &Path) -> Self {
        let bytes = bounded_read::read(&memory.join(LOOKED), 16).unwrap_or_default();
        let mut numbers = bytes
            .as_chunks()
            .0
            .iter()
            .copied()
            .map(Nanos::from_be_bytes);
        let took = numbers.next().filter(|took| *took < LONGEST_LOOK);
        Self::ended(memory, took.unwrap_or(0), numbers.next())
    }

    /// One that has just ended.
    pub(super) fn ended(memory: &Path, took: Nanos, event: Option<Nanos>) -> Self {
        let ended = ended(memory).unwrap_or(0);
        let began = ended - took;
        Self {
            began,
            began_by: (began + look::grain(ended)).min(ended + 1),
            event,
        }
    }
}

/// When it ended.
pub(super) fn ended(memory: &Path) -> Option<Nanos> {
    calls::written(&memory.join(LOOKED))
}

/// Notes that one has ended.
///
/// # Errors
/// The file cannot be written.
pub(super) fn note(memory: &Path, took: Nanos, event: Nanos) -> io::Result<()> {
    let numbers = [took, event].map(Nanos::to_be_bytes);
    replace::overwrite_start(&memory.join(LOOKED), numbers.as_flattened())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fs::{self, File};
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn what_is_noted_later_than_its_end_came_after_it() {
        const MILLI: Nanos = 1_000_000;
        let dir = std::env::temp_dir().join(format!("statewarden-look-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = File::create(dir.join(LOOKED)).unwrap();
        for (ended, took, began_by) in [
            (7_300 * MILLI, MILLI, 7_300 * MILLI + 1),
            (7_300 * MILLI, 40 * MILLI, 7_270 * MILLI),
            // A file system that knows whole seconds.
            (7_000 * MILLI, 40 * MILLI, 7_000 * MILLI + 1),
        ] {
            let time = Duration::from_nanos(ended.cast_unsigned());
            file.set_modified(UNIX_EPOCH + time).unwrap();
            let last = LastLook::ended(&dir, took, None);
            assert_eq!((last.began, last.began_by), (ended - took, began_by));
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
