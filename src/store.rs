//! The only module that changes the disk.

#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod append;
#[cfg_attr(
    target_os = "linux",
    expect(clippy::disallowed_methods, reason = "this is the store")
)]
pub mod fence;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod relocate;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod rename;

pub mod archive;
pub mod lock;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod pid_lock;
pub mod replace;

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use chrono::{DateTime, TimeDelta, Utc};
use lock::Locked;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::disk::bounded_read::{self, read_text};
use crate::formats::json::line;

/// Makes the folder of the program's own logs and state, with a `.gitignore`
/// that keeps it out of commits.
///
/// # Errors
/// The folder or the file cannot be made.
pub fn make_own_folder(dir: &Path) -> io::Result<()> {
    let ignore = dir.join(".gitignore");
    if ignore.exists() {
        return Ok(());
    }
    replace::make_dir(dir)?;
    replace::replace(&ignore, b"*\n")
}

/// What a JSON file in the program's own folder holds; one that cannot be read counts
/// as none.
pub fn read_own<T: DeserializeOwned>(own_folder: &Path, file: &str) -> Option<T> {
    let text = read_text(&own_folder.join(file)).ok()??;
    serde_json::from_str(&text).ok()
}

/// Replaces such a file, without waiting for the device.
///
/// # Errors
/// The file cannot be replaced.
pub fn write_own(locked: &Locked<'_>, file: &str, value: &impl Serialize) -> io::Result<()> {
    replace::replace_unflushed(&locked.dir().join(file), line(value).as_bytes())
}

/// The file in the program's own folder that says that the project's settings
/// ran the hook: when they no longer do, something took it out.
pub const WIRED: &str = "wired";

/// The file in the program's own folder that names another host which has run the hook,
/// last when the file was written.
pub const OTHER_HOST: &str = "other-host";

/// The file in the program's own folder that says why strict mode was not in force when a session
/// started last.
pub const UNFENCED: &str = "unfenced";

/// The file in the program's own folder that names the last session whose start did not
/// prove that Claude Code runs it, until a tool call of it does.
pub const UNPROVED: &str = "unproved";

/// Notes that a host has run the hook, at most once a day.
///
/// # Errors
/// The folder or the file cannot be made.
pub fn note_other_host(own_folder: &Path, host: &str, now: DateTime<Utc>) -> io::Result<()> {
    let note = own_folder.join(OTHER_HOST);
    let noted = std::fs::metadata(&note);
    if noted.is_ok_and(|meta| now - modified(&meta) < TimeDelta::days(1))
        && read_text(&note).is_ok_and(|text| text.as_deref() == Some(host))
    {
        return Ok(());
    }
    make_own_folder(own_folder)?;
    replace::replace(&note, host.as_bytes())
}

/// What the note holds where `install` made the directory above the folder, `.claude`.
const MADE: &str = "made .claude\n";

/// Whether `.claude` was there before `install`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    WasThere,
    Made,
}

impl Above {
    /// What an `install` that begins now will find.
    pub fn now(own_folder: &Path) -> Self {
        if own_folder.parent().is_some_and(Path::exists) {
            Self::WasThere
        } else {
            Self::Made
        }
    }

    /// What the note says of it.
    pub fn noted(own_folder: &Path) -> Self {
        match bounded_read::read(&own_folder.join(WIRED), 1 << 20) {
            Ok(text) if text == MADE.as_bytes() => Self::Made,
            _ => Self::WasThere,
        }
    }
}

/// Notes that the project's settings run the hook; the first note stays.
///
/// # Errors
/// The folder or the file cannot be made.
pub fn note_wired(own_folder: &Path, above: Above) -> io::Result<()> {
    let note = own_folder.join(WIRED);
    if note.exists() {
        return Ok(());
    }
    make_own_folder(own_folder)?;
    let text = match above {
        Above::Made => MADE,
        Above::WasThere => "",
    };
    replace::replace(&note, text.as_bytes())
}

/// Says of an error what failed and where, which the operating system's do not.
pub(crate) fn could_not<'p>(what: &'p str, path: &'p Path) -> impl Fn(io::Error) -> io::Error + 'p {
    move |error| {
        let why = format!("could not {what} `{}`: {error}", path.display());
        io::Error::new(error.kind(), why)
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
