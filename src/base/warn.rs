//! What goes to stderr: one line each, for whoever reads the debug log of the client.

use std::io::{self, Write as _};
use std::path::Path;

use crate::base::text::printable;

/// What each line begins with.
pub const FROM_US: &str = "statewarden: ";

/// One line on stderr, for the person who reads Claude Code's debug log.
pub fn warn(message: &str) {
    let line = printable(&message.replace('\n', " "));
    let line = format!("{FROM_US}{line}\n");
    // There is nowhere left to report to when stderr is closed.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// The same about a file that could not be written.
pub fn unwritten(path: &Path, result: io::Result<()>) {
    if let Err(error) = result {
        warn(&format!("could not write `{}`: {error}", path.display()));
    }
}

/// The same about a change that failed; a busy lock is tried again by the next event.
pub fn warn_error(what: &str, error: &io::Error) {
    if error.kind() != io::ErrorKind::WouldBlock {
        warn(&format!("{what}: {error}"));
    }
}
