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

impl Texts {
    /// The text a file would hold after the call; `None` where the call does
    /// not say (a notebook cell, an old string that is not there).
    pub fn after(self, present: Option<&str>) -> Option<String> {
        if self.content.is_some() {
            return self.content;
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
        edits.peek()?;
        edits.try_fold(present.unwrap_or_default().to_owned(), |text, edit| {
            edit.apply(&text)
        })
    }
}

impl Replacement {
    fn apply(&self, text: &str) -> Option<String> {
        if self.old_string.is_empty() {
            // An Edit with an empty old string creates the file.
            return text.is_empty().then(|| self.new_string.clone());
        }
        if !text.contains(&self.old_string) {
            return None;
        }
        Some(if self.replace_all {
            text.replace(&self.old_string, &self.new_string)
        } else {
            text.replacen(&self.old_string, &self.new_string, 1)
        })
    }
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
