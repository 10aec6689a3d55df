//! The only module that changes the disk.

#[cfg_attr(
    not(unix),
    expect(clippy::disallowed_methods, reason = "this is the store")
)]
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

use chrono::{DateTime, Utc};
use lock::{IN_HOOK, with_lock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::disk::bounded_read::read_text;
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

/// What a JSON file in a folder of the program's own holds; one that cannot be read counts as
/// none.
pub fn read_value<T: DeserializeOwned>(folder: &Path, file: &str) -> Option<T> {
    let text = read_text(&folder.join(file)).ok()??;
    serde_json::from_str(&text).ok()
}

/// Changes what such a file holds, under the folder's lock; what is left as it was is not written.
///
/// # Errors
/// The folder is locked, or the file cannot be replaced.
pub fn change_value<T>(folder: &Path, file: &str, change: impl FnOnce(&mut T)) -> io::Result<()>
where
    T: Clone + Default + PartialEq + Serialize + DeserializeOwned,
{
    with_lock(folder, IN_HOOK, |_| {
        let before: T = read_value(folder, file).unwrap_or_default();
        let mut value = before.clone();
        change(&mut value);
        if value == before {
            return Ok(());
        }
        replace::replace_private(&folder.join(file), line(&value).as_bytes())
    })
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
