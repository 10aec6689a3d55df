//! Foreign file formats: read leniently, changed in place, never dumped anew.

pub mod front_matter;
pub mod json;
pub mod markdown;
pub mod ordered;
pub mod schema;
pub mod surrogates;
pub mod test_output;
pub mod typed;
pub mod verdict;
pub mod yaml;

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
