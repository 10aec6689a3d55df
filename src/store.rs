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

use std::io;
use std::path::Path;

use lock::{IN_HOOK, with_lock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::disk::bounded_read::read_text;
pub use crate::base::disk::stat::{changed, modified};
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
