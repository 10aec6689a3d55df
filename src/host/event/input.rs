//! The input of a tool call: the texts that a file tool would write, and every
//! string of other tools.

use std::fmt;

use serde::Deserialize;
use serde_json::{Error, Value};

use super::{Raw, Text};

/// The arguments of the tools whose calls are judged by more than their strings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'b"))]
pub struct Input<'b> {
    pub file_path: Text<'b>,
    pub notebook_path: Text<'b>,
    pub command: Text<'b>,
    pub run_in_background: Raw<'b>,
    pub subagent_type: Text<'b>,
    /// The task of an agent.
    pub prompt: Text<'b>,
    /// The report that an agent hands back.
    pub message: Text<'b>,
    content: Raw<'b>,
    old_string: Raw<'b>,
    new_string: Raw<'b>,
    replace_all: Raw<'b>,
    edits: Raw<'b>,
}

impl Input<'_> {
    /// The whole new text of a Write, where it takes no more than so many bytes of JSON.
    pub fn content_within(&self, bytes: u64) -> Option<String> {
        if self.content.len() as u64 > bytes {
            return None;
        }
        self.content.read().ok()?
    }

    /// The texts that a content rule judges.
    ///
    /// # Errors
    /// They have another form.
    pub fn texts(&self) -> Result<Texts, Error> {
        Ok(Texts {
            content: self.content.read()?,
            old_string: self.old_string.read()?,
            new_string: self.new_string.read()?,
            replace_all: self.replace_all.read()?,
            edits: self.edits.read()?.unwrap_or_default(),
        })
    }
}

/// What a file tool would write.
#[derive(Debug, Default)]
pub struct Texts {
    /// The whole new text (Write).
    pub content: Option<String>,
    /// The one replacement of an Edit.
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    /// The replacements of a MultiEdit.
    edits: Vec<Replacement>,
}

/// One replacement of a MultiEdit.
#[derive(Debug, Deserialize)]
struct Replacement {
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

/// The bytes that one call's edits may read and write, for which it takes half a second. A state
/// file has an eighth of it at most, and no honest call changes one as often.
const MAX_WORK: usize = 128 << 20;

/// The edits of a call would make, or take, too much.
#[derive(Debug)]
pub struct TooMuch;

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its edits come to more than {} MiB", MAX_WORK >> 20)
    }
}

impl std::error::Error for TooMuch {}

impl Texts {
    /// The text a file would hold after the call; `None` where the call does
    /// not say (a notebook cell, an old string that is not there). Line ends
    /// are those of the edits: Claude Code edits every file with `\n`.
    ///
    /// # Errors
    /// The edits cost too much to be tried.
    pub fn after(self, present: Option<&str>) -> Result<Option<String>, TooMuch> {
        if self.content.is_some() {
            return Ok(self.content);
        }
        let single = self
            .old_string
            .zip(self.new_string)
            .map(|(old_string, new_string)| Replacement {
                old_string,
                new_string,
                replace_all: self.replace_all,
            });
        let mut edits = single.into_iter().chain(self.edits).peekable();
        if edits.peek().is_none() {
            return Ok(None);
        }
        let mut text = present.unwrap_or_default().replace("\r\n", "\n");
        let mut left = MAX_WORK;
        for edit in edits {
            let Some(found) = find(&text, &edit.old_string) else {
                return Ok(None);
            };
            let times = match edit.replace_all {
                Some(true) => text.matches(&found).count(),
                _ => 1,
            };
            let most = text
                .len()
                .saturating_add(times.saturating_mul(edit.new_string.len()));
            left = left.checked_sub(most).ok_or(TooMuch)?;
            text = text.replacen(&found, &edit.new_string, times);
        }
        Ok(Some(text))
    }
}

/// An old string as the text has it: Claude Code also takes one whose quotes are straight
/// where the text's are curly, or the other way round. The empty one makes a file.
fn find(text: &str, old: &str) -> Option<String> {
    if old.is_empty() {
        return text.is_empty().then(String::new);
    }
    if text.contains(old) {
        return Some(old.to_owned());
    }
    let plain = straight(text);
    // A straight quote is shorter, but no less a character.
    let before = plain.get(..plain.find(&straight(old))?)?.chars().count();
    let chars = text.chars().skip(before).take(old.chars().count());
    Some(chars.collect())
}

fn straight(text: &str) -> String {
    text.replace(['‘', '’'], "'").replace(['“', '”'], "\"")
}

/// Every string in the arguments of a tool, with its key.
pub fn strings(arguments: &Value) -> Vec<(&str, &str)> {
    fn collect<'v>(key: &'v str, value: &'v Value, strings: &mut Vec<(&'v str, &'v str)>) {
        match value {
            Value::String(text) => strings.push((key, text)),
            Value::Array(values) => {
                for value in values {
                    collect(key, value, strings);
                }
            }
            Value::Object(entries) => {
                for (key, value) in entries {
                    collect(key, value, strings);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut strings = Vec::new();
    collect("", arguments, &mut strings);
    strings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_string_stands_under_the_innermost_key_around_it() {
        let arguments = json!({ "ab": ["1", { "c": { "d": "\"]}" }, "e": 2 }, ["3"]], "f": "g:" });
        let expected = [("ab", "1"), ("d", "\"]}"), ("ab", "3"), ("f", "g:")];
        assert_eq!(strings(&arguments), expected);
    }
}
