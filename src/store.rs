//! The only module that changes the disk.

pub mod lock;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod log;
pub mod replace;

use std::io;
use std::path::Path;

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
