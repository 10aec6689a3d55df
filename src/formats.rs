//! Foreign file formats: read leniently, changed in place, never dumped anew.

mod flat;
pub mod front_matter;
pub mod json;
mod line;
pub mod markdown;
pub mod yaml;

pub use flat::{Value, members};
pub use line::line;

/// As much of a file's text as a message quotes: enough to find it there. A
/// message is logged, and contents are not.
pub(crate) fn brief(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    crate::base::text::truncate(text, CHARS_MAX)
}

/// The line ending of a text, going by its first line.
pub(crate) fn newline(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next();
    match first {
        Some(line) if line.ends_with("\r\n") => "\r\n",
        _ => "\n",
    }
}
