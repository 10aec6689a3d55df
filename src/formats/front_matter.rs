//! Markdown with a YAML block between two `---` lines on top.
//!
//! `split` is strict: it accepts what the original shell readers understand
//! and nothing else, because a file is only changed when they can still read
//! it. `read` is lenient, for looking at a file.

use super::yaml::{self, KeyChange, Value};
use crate::base::text::split_bom;

// Why a text has no front matter that shell readers understand.
const BOM: &str = "it starts with a byte order mark; write it as UTF-8 without one";
const CRLF: &str = "its front matter has CRLF line endings; write LF only";
const NO_OPENING_FENCE: &str = "its first line is not `---`; start the front matter there";
const UNTERMINATED: &str = "its front matter has no closing line `---`; add one below the last key";

/// A text cut in three; joined again it is the same, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// The YAML, without the fences.
    pub front: &'a str,
    closing_fence: &'a str,
    /// All that follows the line of the closing fence.
    pub body: &'a str,
}

impl Document<'_> {
    /// The whole text with the front matter changed and a new body. `value` is
    /// what the front matter parses to.
    ///
    /// # Errors
    /// Those of `yaml::edit`.
    pub fn edited(
        &self,
        value: Value,
        changes: &[KeyChange],
        body: &str,
    ) -> Result<String, String> {
        let front = yaml::edit(self.front, value, changes)?;
        let is_open = !self.closing_fence.ends_with('\n') && !body.is_empty();
        let newline = if is_open { "\n" } else { "" };
        Ok(format!("---\n{front}{}{newline}{body}", self.closing_fence))
    }
}

/// Cuts a text at its first two lines that are exactly `---`.
///
/// # Errors
/// What is wrong with the fences; a carriage return counts up to the closing
/// fence, the body may hold any.
pub fn split(text: &str) -> Result<Document<'_>, &'static str> {
    if text.starts_with('\u{feff}') {
        return Err(BOM);
    }
    if text.starts_with("---\r") {
        return Err(CRLF);
    }
    let Some(inner) = text.strip_prefix("---\n") else {
        return Err(if text == "---" {
            UNTERMINATED
        } else {
            NO_OPENING_FENCE
        });
    };
    let mut end = 0;
    for line in inner.split_inclusive('\n') {
        if line.trim_end_matches('\n').ends_with('\r') {
            return Err(CRLF);
        }
        if line.trim_end_matches('\n') == "---" {
            let (front, rest) = inner.split_at(end);
            let (closing_fence, body) = rest.split_at(line.len());
            return Ok(Document {
                front,
                closing_fence,
                body,
            });
        }
        end += line.len();
    }
    Err(UNTERMINATED)
}

/// Reads the front matter of any file a person could mean: a byte order mark,
/// CRLF, blank lines on top, blanks behind a fence and `...` as the closing
/// fence are all fine.
///
/// # Errors
/// Says what is missing or what the YAML parser rejects.
pub fn read(text: &str) -> Result<Value, String> {
    find(text)?.ok_or_else(|| NO_OPENING_FENCE.to_owned())
}

/// The same of a file that need not have any.
///
/// # Errors
/// Says what is missing of a front matter that has begun, or what the YAML parser rejects.
pub fn find(text: &str) -> Result<Option<Value>, String> {
    let (_, text) = split_bom(text);
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return Ok(None);
    }
    let mut front = String::new();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return yaml::parse(&front).map(Some);
        }
        front.push_str(line);
        front.push('\n');
    }
    Err(UNTERMINATED.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, &str), &str>) {
        assert_eq!(
            split(text).map(|document| (document.front, document.body)),
            expected
        );
    }

    #[test]
    fn only_exact_fences_split() {
        check("---\na: 1\n---\nbody\n", Ok(("a: 1\n", "body\n")));
        check("---\na: 1\n---", Ok(("a: 1\n", "")));
        check("---\n---\n---\nx", Ok(("", "---\nx")));
        check("---\na: 1\n--- \n---\n", Ok(("a: 1\n--- \n", "")));
        check("---\na: 1\n---\nx\r\n", Ok(("a: 1\n", "x\r\n")));
        check("\u{feff}---\na: 1\n---\n", Err(BOM));
        check("---\r\na: 1\r\n---\r\n", Err(CRLF));
        check("---\na: 1\n---\r\n", Err(CRLF));
        check("\n---\na: 1\n---\n", Err(NO_OPENING_FENCE));
        check("", Err(NO_OPENING_FENCE));
        check("---", Err(UNTERMINATED));
        check("---\na: 1\n--- \nx", Err(UNTERMINATED));
    }

    #[test]
    fn reading_forgives() {
        for text in [
            "---\na: 1\n---\n",
            "\u{feff}---\r\na: '1'\r\n---\r\nbody",
            "\n\n--- \na: \"1\" # x\n... \n---\nb: 2\n",
        ] {
            assert_eq!(
                yaml::text(&read(text).unwrap(), &["a"]).as_deref(),
                Some("1"),
                "{text:?}"
            );
        }
        assert!(read("# title\n---\na: 1\n---\n").is_err());
        assert!(read("---\na: 1\n").is_err());
        assert!(read("---\na: [\n---\n").is_err());
    }

    proptest! {
        #[test]
        fn splitting_loses_nothing(text in "(---\n|a: 1\n|---|\r|\n|x){0,12}") {
            if let Ok(document) = split(&text) {
                let Document { front, closing_fence, body } = document;
                prop_assert_eq!(format!("---\n{front}{closing_fence}{body}"), text.clone());
                if let Ok(value) = yaml::parse(front) {
                    prop_assert_eq!(document.edited(value, &[], body), Ok(text));
                }
            }
        }
    }
}
