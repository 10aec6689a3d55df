//! The input of a tool call: the texts that a file tool would write, and every
//! string of other tools.

use std::fmt;
use std::rc::Rc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Error, Value, from_str};

use super::bulk::next_quote;

/// What a file tool would write.
#[derive(Debug, Default)]
pub struct Texts {
    /// The whole new text (Write).
    pub content: Option<String>,
    /// The one replacement of an Edit.
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: bool,
    /// The replacements of a MultiEdit.
    edits: Vec<Replacement>,
}

/// One replacement of a MultiEdit.
#[derive(Debug)]
struct Replacement {
    old_string: String,
    new_string: String,
    replace_all: bool,
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
    /// The texts as a reader has them that keeps the last of two equal keys; where a key
    /// stands twice, also those of one that keeps the first.
    pub(super) fn readings(event: &str) -> Result<Vec<Self>, Error> {
        let mut entries = Vec::new();
        for input in inputs(event)? {
            // What is no object has no keys.
            entries.extend(from_str::<Entries<'_>>(input).unwrap_or_default().0);
        }
        let is_twice = |at: usize| entries[..at].iter().any(|(key, _)| *key == entries[at].0);
        let is_any_twice = (0..entries.len()).any(is_twice);
        let mut readings = Vec::new();
        for _ in 0..=usize::from(is_any_twice) {
            entries.reverse();
            readings.push(Self::read(&entries)?);
        }
        Ok(readings)
    }

    /// Of a key that stands twice, the first value counts.
    fn read(entries: &[Entry<'_>]) -> Result<Self, Error> {
        let value = |wanted: &str| {
            let found = entries.iter().find(|(key, _)| key == wanted);
            found.map_or(Ok(Value::Null), |(_, value)| from_str(value.get()))
        };
        let edits = match value("edits")? {
            Value::Null => Ok(Vec::new()),
            Value::Array(edits) => edits.into_iter().map(Replacement::read).collect(),
            _ => Err(wrong("edits")),
        };
        Ok(Self {
            content: text("content", value("content")?)?,
            old_string: text("old_string", value("old_string")?)?,
            new_string: text("new_string", value("new_string")?)?,
            replace_all: flag(&value("replace_all")?)?,
            edits: edits?,
        })
    }

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

/// The keys of an object with their values, unread, in the order of the wire.
#[derive(Default)]
pub(super) struct Entries<'b>(Vec<Entry<'b>>);

type Entry<'b> = (String, &'b RawValue);

impl<'b> Entries<'b> {
    /// The last value of a key.
    pub(super) fn last(&self, wanted: &str) -> Option<&'b str> {
        let mut entries = self.0.iter().rev();
        let found = entries.find(|(key, _)| key == wanted);
        found.map(|(_, value)| value.get())
    }
}

impl<'b> Deserialize<'b> for Entries<'b> {
    fn deserialize<D: Deserializer<'b>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'b> Visitor<'b> for Entries<'b> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(entry) = map.next_entry()? {
            self.0.push(entry);
        }
        Ok(self)
    }
}

/// Every `tool_input` of an event.
fn inputs(event: &str) -> Result<impl Iterator<Item = &str>, Error> {
    let entries = from_str::<Entries<'_>>(event)?.0.into_iter();
    let inputs = entries.filter(|(key, _)| key == "tool_input");
    Ok(inputs.map(|(_, input)| input.get()))
}

impl Replacement {
    fn read(mut edit: Value) -> Result<Self, Error> {
        let mut required = |key| {
            let value = edit.get_mut(key).map(Value::take);
            text(key, value.unwrap_or_default())?.ok_or_else(|| wrong(key))
        };
        Ok(Self {
            old_string: required("old_string")?,
            new_string: required("new_string")?,
            replace_all: flag(&edit["replace_all"])?,
        })
    }
}

fn text(key: &str, value: Value) -> Result<Option<String>, Error> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(wrong(key)),
    }
}

fn flag(value: &Value) -> Result<bool, Error> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        _ => Err(wrong("replace_all")),
    }
}

fn wrong(key: &str) -> Error {
    de::Error::custom(format_args!("`{key}` has a value of the wrong type"))
}

/// The last `tool_input` of an event.
pub(super) fn value(event: &str) -> Result<Value, Error> {
    inputs(event)?.last().map_or(Ok(Value::Null), from_str)
}

/// Every string in `tool_input`, with the key it stands under; both of a key that
/// stands twice there.
pub(super) fn strings(event: &str) -> Result<Vec<(String, String)>, Error> {
    let mut strings = Vec::new();
    for input in inputs(event)? {
        collect(input, &mut strings)?;
    }
    Ok(strings)
}

/// No more of a key is kept, since every string that stands under it gets a copy.
const MAX_KEY: usize = 128;

/// Walks a JSON text by its braces and strings alone, so that no nesting is too deep.
fn collect(json: &str, strings: &mut Vec<(String, String)>) -> Result<(), Error> {
    let (mut key, mut outer) = (Rc::<str>::default(), Vec::new());
    let mut at = 0;
    while let Some(next) = json[at..].find(['"', '{', '}']) {
        at += next;
        match json.as_bytes()[at] {
            b'{' => outer.push(Rc::clone(&key)),
            b'}' => key = outer.pop().unwrap_or_default(),
            _ => {
                let Some(close) = next_quote(json.as_bytes(), at + 1) else {
                    break;
                };
                let string: String = from_str(&json[at..=close])?;
                at = close;
                match json[close + 1..].trim_start().starts_with(':') {
                    true => key = string.chars().take(MAX_KEY).collect::<String>().into(),
                    false => strings.push((key.to_string(), string)),
                }
            }
        }
        at += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_stands_under_the_innermost_key_around_it() {
        let event = r#"{"tool_input":{"a\u0062":["1",{"c":{"d":"\"]}"},"e":2},["3"]],"f" : "g:"},"tool_input":"4"}"#;
        let found = strings(event).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        let expected = [
            ("ab", "1"),
            ("d", "\"]}"),
            ("ab", "3"),
            ("f", "g:"),
            ("", "4"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_long_key_is_cut() {
        let event = format!(r#"{{"tool_input":{{"{}":["a","b"]}}}}"#, "é".repeat(9_999));
        let found = strings(&event).unwrap().into_iter();
        let lengths = found.map(|(key, _)| key.chars().count());
        assert!(lengths.eq([MAX_KEY, MAX_KEY]));
    }
}
