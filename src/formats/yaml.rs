//! YAML: parsed as a whole, changed one scalar at a time.
//!
//! Programs that live on `grep` and `sed` read these files too, so a change
//! replaces, adds or removes single lines and leaves every other byte alone. Each edit
//! is proven before it is returned: the new text must parse to the old value
//! with exactly the wanted scalars set. What cannot be done that way (flow
//! style, anchors) is denied. A family of files whose own readers take YAML for
//! less, or for more, is a [`Dialect`].

use serde::de::DeserializeOwned;
use serde_yaml::Mapping;

pub use serde_yaml::Value;

use lines::Lines;

use super::typed::tree::Tree;
use super::typed::{Mismatch, TypeFault};
use crate::base::text::split_bom;

mod lines;

/// Where a key belongs in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Directly below the block's own line; moved there when it is elsewhere.
    First,
    /// Where it is; at the end of the block when it is missing.
    Any,
    /// Where it is; when it is missing, above this key, or else at the end of the block.
    Above(&'static str),
}

/// One scalar to set, or to remove, by the keys that lead to it. A key that is there twice is there
/// once afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange {
    pub path: Vec<String>,
    /// `None` removes the key.
    pub value: Option<Value>,
    pub place: Place,
}

impl KeyChange {
    pub fn new<const N: usize>(path: [&str; N], value: impl Into<Value>) -> Self {
        Self {
            path: path.map(String::from).to_vec(),
            value: Some(value.into()),
            place: Place::Any,
        }
    }

    pub fn first(self) -> Self {
        Self {
            place: Place::First,
            ..self
        }
    }

    /// Makes the change in the parsed value; `None` where that would drop a block.
    pub fn apply(&self, value: &mut Value) -> Option<()> {
        match &self.value {
            Some(scalar) => put(value, &self.path, scalar),
            None => take(value, &self.path),
        }
    }
}

/// How the readers of a file tell keys and values.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Where the value starts on a line, behind the colon, if it is a line of the key.
    pub value_start: fn(line: &str, key: &str) -> Option<usize>,
    /// A string as it is written behind the colon.
    pub string: fn(&str) -> String,
}

/// Strings in double quotes.
const QUOTED: Dialect = Dialect {
    value_start: lines::value_start,
    string: quote,
};

/// The most opening brackets, and the most marks `? ` of keys, of a text that is parsed. The parser
/// finds out late how deep they nest: its time grows with the square of the brackets, its memory
/// with the marks.
const BRACKETS_MAX: usize = 4096;

/// The largest text that is parsed, in bytes: the parser takes a second for four times as much.
const MAX_TEXT: usize = 1 << 20;

/// Parses one document; aliases and nesting are bounded by the parser. A byte-order mark is
/// tolerated, which the parser takes for a column of the first line.
///
/// # Errors
/// The parser's message, with line and column.
pub fn parse(text: &str) -> Result<Value, String> {
    check_size(text)?;
    serde_yaml::from_str(split_bom(text).1).map_err(|error| error.to_string())
}

/// The same into a type of its own.
///
/// # Errors
/// What does not fit the type, or the parser's message.
pub fn parse_as<T: DeserializeOwned>(text: &str) -> Result<T, TypeFault> {
    let text = split_bom(text).1;
    check_size(text).map_err(Mismatch::Said)?;
    serde_yaml::from_str(text).map_err(|error| {
        let line = error.location().map(|place| place.line());
        match serde_yaml::from_str::<Option<Tree>>(text) {
            Ok(tree) => TypeFault::of::<T>(&tree.unwrap_or_default(), line, &error),
            Err(syntax) => syntax_fault(text, &syntax),
        }
    })
}

fn syntax_fault(text: &str, error: &serde_yaml::Error) -> TypeFault {
    let place = error.location();
    let rest = place.as_ref().and_then(|it| text.get(it.index()..));
    let start = rest.and_then(|rest| rest.chars().next());
    match (place, start) {
        (Some(place), Some(start @ ('\t' | '@' | '`' | '%'))) => {
            TypeFault::from(Mismatch::Start(start)).in_line(place.line())
        }
        _ => Mismatch::Said(error.to_string()).into(),
    }
}

/// Whether a text is no larger than what is parsed.
///
/// # Errors
/// It is; or it has too many signs that nest.
pub fn check_size(text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT {
        return Err(format!("larger than {} KiB", MAX_TEXT >> 10));
    }
    if !has_few_brackets(text) {
        return Err(format!(
            "more than {BRACKETS_MAX} opening brackets or marks `? `"
        ));
    }
    Ok(())
}

fn has_few_brackets(text: &str) -> bool {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{'));
    brackets.count() <= BRACKETS_MAX && text.matches("? ").count() <= BRACKETS_MAX
}

/// The value below `path`, when every step is a mapping.
pub fn get<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

/// The scalar at `path` as text, whatever way it was written; `None` for
/// nothing, null, and the empty string.
pub fn text(value: &Value, path: &[&str]) -> Option<String> {
    let text = match get(value, path)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Wraps a string in double quotes on a single line. What a line cannot hold is escaped.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if is_printable(c) => quoted.push(c),
            c if u32::from(c) > 0xffff => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

/// A text for readers that know no escapes: what a line cannot hold becomes a space.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if is_of_a_line(c) { c } else { ' ' })
        .collect()
}

/// Whether a character needs no escape: no blank but the space.
pub(crate) fn is_printable(c: char) -> bool {
    is_of_a_line(c) && (c == ' ' || !c.is_whitespace())
}

/// Whether a line can hold a character. Line separators and byte order marks are breaks or errors
/// to YAML parsers although Rust does not count them among the control characters.
fn is_of_a_line(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// Sets all `changes` in order and returns the whole new text. `expected` is
/// what the text parses to.
///
/// # Errors
/// Nothing is changed when one of them cannot be made exactly: a key holds a block or a list, or
/// its parent is no block, or the lines are in a style that single-line edits cannot keep.
pub fn edit(text: &str, mut expected: Value, changes: &[KeyChange]) -> Result<String, String> {
    for change in changes {
        change
            .apply(&mut expected)
            .ok_or_else(|| not_a_scalar(&change.path.join(".")))?;
    }
    edit_as(QUOTED, text, changes, |edited| {
        parse(edited).as_ref() == Ok(&expected)
    })
}

/// The same for other readers, who prove it.
///
/// # Errors
/// Nothing is changed when the new text is not proven.
pub fn edit_as(
    dialect: Dialect,
    text: &str,
    changes: &[KeyChange],
    is_proven: impl FnOnce(&str) -> bool,
) -> Result<String, String> {
    let mut lines = Lines::new(text, dialect);
    changes.iter().for_each(|change| lines.set(change));
    let edited = lines.concat();
    if is_proven(&edited) {
        return Ok(edited);
    }
    let paths: Vec<_> = changes.iter().map(|change| change.path.join(".")).collect();
    Err(format!(
        "`{}` cannot be changed in this style; write one `key: value` a line",
        paths.join("`, `")
    ))
}

fn not_a_scalar(path: &str) -> String {
    format!("`{path}` cannot hold a plain value here; write its parent as a block")
}

fn put(value: &mut Value, path: &[String], scalar: &Value) -> Option<()> {
    let Some((key, rest)) = path.split_first() else {
        *value = is_scalar(value).then(|| scalar.clone())?;
        return Some(());
    };
    if value.is_null() {
        *value = Value::Mapping(Mapping::new());
    }
    let slot = value
        .as_mapping_mut()?
        .entry(Value::String(key.clone()))
        .or_insert(Value::Null);
    put(slot, rest, scalar)
}

fn take(value: &mut Value, path: &[String]) -> Option<()> {
    let Some((key, rest)) = path.split_first() else {
        return Some(());
    };
    if get(value, &[key]).is_none() && (value.is_null() || value.is_mapping()) {
        return Some(());
    }
    let block = value.as_mapping_mut()?;
    let slot = block.get_mut(key)?;
    if !rest.is_empty() {
        return take(slot, rest);
    }
    is_scalar(slot).then(|| block.shift_remove(key))?;
    // A block without a key is nothing at all.
    if block.is_empty() {
        *value = Value::Null;
    }
    Some(())
}

fn is_scalar(value: &Value) -> bool {
    !matches!(
        value,
        Value::Mapping(_) | Value::Sequence(_) | Value::Tagged(_)
    )
}

#[cfg(test)]
mod tests;
