//! devt's `workflow.yaml`: flat `key: value` lines, read as leniently as devt
//! does and changed line by line (`formats::yaml`), so that order, comments and lists survive.
//!
//! Two readers must agree on what is written: a YAML parser and devt's own,
//! which leaves backslashes in quotes alone except for `\n` and `\"`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::base::text::{is_in, split_bom};
use crate::formats::schema::{Schema, Type};
use crate::formats::yaml::{self, Dialect, KeyChange, Place};

/// The type that devt gives an argument `key=value`, where its known keys
/// let it: a text stays a text even if it looks like a number, so that any
/// value reads back as given.
pub fn from_argument(key: &str, value: &str) -> Value {
    match value {
        "null" if key != "task" => Value::Null,
        "" | "~" => value.into(),
        _ if is_text(key) => value.into(),
        _ => plain(value),
    }
}

fn is_text(key: &str) -> bool {
    let property = SCHEMA.property(key);
    property.is_some_and(|schema| schema.takes(Type::String))
}

/// An unquoted value. Digits that a number would not give back are a text.
fn plain(value: &str) -> Value {
    match value {
        "null" | "~" | "" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => match value.parse::<u64>() {
            Ok(number) if number <= EXACT_IN_DOUBLE && number.to_string() == value => number.into(),
            _ => value.into(),
        },
    }
}

/// devt keeps numbers in doubles.
const EXACT_IN_DOUBLE: u64 = 1 << 53;

/// The keys that devt has.
pub(super) static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("workflow.schema.json")));

/// The keys of strings that hold anything. devt quotes no value for the character it begins with.
const SENTENCES: &str = "autonomous_chain decisions_file last_session repair resume_context \
                         skipped_phases task";

/// The values on their keys' lines, in order. Lists and blocks are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Value)>);

impl Fields {
    /// Of a key that is there twice the last value counts.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// Whether a key holds the boolean `true`; a text `yes` is neither.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some(&Value::Bool(true))
    }

    /// Of a key that is there twice the last value.
    fn by_key(self) -> BTreeMap<String, Value> {
        self.0.into_iter().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

/// What devt assumes where there is no file, and writes with the first change.
pub const DEFAULT: &str = "active: false\nphase: null\ntier: null\niteration: 0\n";

pub fn read(text: &str) -> Fields {
    let lines: Vec<&str> = split_bom(text).1.lines().collect();
    let scalars = entries(&lines)
        .into_iter()
        .filter(|entry| entry.n_below == 0 && is_key(entry.key));
    Fields(
        scalars
            .map(|entry| (entry.key.to_owned(), scalar(entry.value)))
            .collect(),
    )
}

/// Whether a text is a `workflow.yaml` at all: every line that starts a value
/// must be `key: value`, each value must be whole, and only a bare key has lines
/// below it. devt's own output passes, though YAML would refuse some of it, and
/// devt itself skips some: keys that it does not read.
///
/// # Errors
/// Names the first line that breaks one of these rules, and says what to do.
pub fn check(text: &str) -> Result<(), String> {
    yaml::check_size(text)?;
    let lines: Vec<&str> = split_bom(text).1.lines().collect();
    let entries = entries(&lines);
    let mut covered = vec![false; lines.len()];
    for entry in &entries {
        covered[entry.at..=entry.at + entry.n_below].fill(true);
        let line = entry.at + 1;
        let is_whole = match entry.value.as_bytes().first() {
            Some(b'"') => unquote(entry.value).is_some(),
            _ => is_in(SENTENCES, entry.key) || yaml::parse(entry.value).is_ok(),
        };
        if !is_whole {
            return Err(format!(
                "the value in line {line} is no YAML; close it, or put it in double quotes"
            ));
        }
        let takes_lines = entry.value.is_empty() || entry.value.starts_with(['|', '>', '#']);
        if entry.n_below > 0 && !takes_lines {
            return Err(format!(
                "line {line} holds a value, yet indented lines follow it; remove one or the other"
            ));
        }
    }
    let stray = lines.iter().zip(covered).position(|(line, covered)| {
        let text = line.trim_end();
        !covered && !text.is_empty() && !text.trim_start().starts_with('#') && text != "---"
    });
    match stray {
        Some(at) => Err(format!(
            "line {} is not `key: value`; make it that, or remove it",
            at + 1
        )),
        None => Ok(()),
    }
}

/// Sets or (`None`) removes top-level scalars and leaves every other line as it
/// is. A key that was there twice is there once afterwards.
///
/// # Errors
/// The text does not pass [`check`], a key is none, or it holds a list.
pub fn set(text: &str, changes: &[(&str, Option<Value>)]) -> Result<String, String> {
    check(text)?;
    let lines: Vec<&str> = split_bom(text).1.lines().collect();
    let entries = entries(&lines);
    for (key, _) in changes {
        if !is_key(key) {
            return Err(format!(
                "`{key}` is no key: letters, digits, `_` and `-` only"
            ));
        }
        if entries.iter().any(|it| it.key == *key && it.n_below > 0) {
            return Err(format!(
                "`{key}` holds a list or a block, not a value; edit it by hand"
            ));
        }
    }
    let edits: Vec<KeyChange> = changes
        .iter()
        .map(|(key, value)| KeyChange {
            path: vec![(*key).to_owned()],
            value: value.as_ref().map(to_yaml),
            // devt writes `lanes` last and reads nothing of a list behind it.
            place: Place::Above("lanes"),
        })
        .collect();
    yaml::edit_as(LINES, text, &edits, |edited| {
        is_changed(text, edited, changes, &edits)
    })
}

/// A key may be followed by its value at once; a plain word needs no quotes.
const LINES: Dialect = Dialect {
    value_start: |line, key| {
        line.strip_prefix(key)?
            .starts_with(':')
            .then_some(key.len() + 1)
    },
    string: |text| {
        if is_plain(text) {
            text.to_owned()
        } else {
            yaml::quote(text)
        }
    },
};

/// Whether both readers see the changes and nothing else: devt's, and a YAML parser where it could
/// read the text.
fn is_changed(
    before: &str,
    after: &str,
    changes: &[(&str, Option<Value>)],
    edits: &[KeyChange],
) -> bool {
    let mut expected = read(before).by_key();
    for (key, value) in changes {
        match value {
            Some(value) => expected.insert((*key).to_owned(), value.clone()),
            None => expected.remove(*key),
        };
    }
    if read(after).by_key() != expected {
        return false;
    }
    match yaml::parse(before) {
        Ok(mut parsed @ (yaml::Value::Mapping(_) | yaml::Value::Null)) => {
            let applied = edits.iter().try_for_each(|edit| edit.apply(&mut parsed));
            applied.is_some() && yaml::parse(after) == Ok(parsed)
        }
        // To YAML `a:1` is a text.
        _ => true,
    }
}

fn to_yaml(value: &Value) -> yaml::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_u64().map_or(yaml::Value::Null, yaml::Value::from),
        _ => yaml::Value::Null,
    }
}

/// One top-level key.
struct Entry<'a> {
    key: &'a str,
    /// What follows the colon on the same line, trimmed.
    value: &'a str,
    /// The index of the line.
    at: usize,
    /// How many lines below it belong to its value.
    n_below: usize,
}

fn entries<'a>(lines: &[&'a str]) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let content = line.trim();
        if let Some((key, value)) = line.split_once(':')
            && (is_key(key) || is_unread_key(key, value))
        {
            entries.push(Entry {
                key,
                value: value.trim(),
                at,
                n_below: 0,
            });
        } else if let Some(entry) = entries.last_mut() {
            let indented = line.starts_with([' ', '\t']) && !content.starts_with('#');
            if !content.is_empty() && (indented || content == "-" || line.starts_with("- ")) {
                entry.n_below = at - entry.at;
            }
        }
    }
    entries
}

fn is_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A key that devt writes as it was given, and does not read again: `a b`, `a.b`.
fn is_unread_key(key: &str, value: &str) -> bool {
    key.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && (value.is_empty() || value.starts_with([' ', '\t']))
}

/// A value as both readers see it, YAML first where they differ.
fn scalar(value: &str) -> Value {
    if value.starts_with('"') {
        return unquote(value).map_or_else(|| value.into(), Value::from);
    }
    if value.starts_with('\'')
        && let Some(text) = by_yaml(value)
    {
        return text.into();
    }
    let end = if value.starts_with('#') {
        Some(0)
    } else {
        value.find(" #")
    };
    plain(value[..end.unwrap_or(value.len())].trim_end())
}

/// Takes the quotes off: by YAML's escapes or, where devt has written an escape
/// that YAML lacks (`"C:\dir"`), by devt's. None without a closing quote.
fn unquote(value: &str) -> Option<String> {
    by_yaml(value).or_else(|| {
        let inside = value.strip_prefix('"')?.strip_suffix('"')?;
        Some(inside.replace("\\n", "\n").replace("\\\"", "\""))
    })
}

/// A quoted text with nothing but a comment behind it.
fn by_yaml(value: &str) -> Option<String> {
    match yaml::parse(value) {
        Ok(yaml::Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Whether a text needs no quotes for both readers. Like devt, a text
/// with `:` `"` or `#` is quoted, unless a backslash would then divide them.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(yaml::is_printable)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && (text.contains('\\') || !text.contains([':', '"', '#']))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
