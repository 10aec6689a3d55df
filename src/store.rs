//! The only module that changes the disk.

pub mod lock;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod log;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod replace;

use std::fs;
use std::io;
use std::path::Path;

/// Makes the folder of the program's own logs and state, with a `.gitignore`
/// that keeps it out of commits.
///
/// # Errors
/// A directory or the file cannot be made.
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub fn make_own_folder(dir: &Path) -> io::Result<()> {
    if dir.join(".gitignore").exists() {
        return Ok(());
    }
    fs::create_dir_all(dir)?;
    fs::write(dir.join(".gitignore"), "*\n")
}
