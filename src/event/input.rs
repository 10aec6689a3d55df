//! The input of a tool call: the texts that a file tool would write, and every
//! string of other tools.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};

/// What a file tool would write.
#[derive(Debug, Default, serde::Deserialize)]
pub struct Texts {
    /// The whole new text (Write).
    pub content: Option<String>,
    /// The one replacement of an Edit.
    pub old_string: Option<String>,
    pub new_string: Option<String>,
    #[serde(default)]
    pub replace_all: bool,
    /// The replacements of a MultiEdit.
    #[serde(default)]
    pub edits: Vec<Replacement>,
}

/// One replacement of a MultiEdit.
#[derive(Debug, serde::Deserialize)]
pub struct Replacement {
    pub old_string: String,
    pub new_string: String,
    #[serde(default)]
    pub replace_all: bool,
}

/// The bytes that one call's edits may read and write. A state file has a sixteenth of
/// it at most, and no honest call changes one as often.
const MAX_WORK: usize = 256 << 20;

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
                true => text.matches(&found).count(),
                false => 1,
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

/// Walks to `tool_input` and collects its strings.
pub(super) struct InputOnly<'a>(pub(super) &'a mut Vec<(String, String)>);

impl<'b> Visitor<'b> for InputOnly<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            if key == "tool_input" {
                let input: serde_json::Value = map.next_value()?;
                collect("", &input, self.0);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

fn collect(key: &str, value: &serde_json::Value, arguments: &mut Vec<(String, String)>) {
    match value {
        serde_json::Value::String(text) => arguments.push((key.to_owned(), text.clone())),
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| collect(key, item, arguments))
        }
        serde_json::Value::Object(map) => map
            .iter()
            .for_each(|(key, item)| collect(key, item, arguments)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}
