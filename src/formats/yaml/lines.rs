//! Single-line changes to YAML in block style, found by indent and key alone.
//! Whether they mean what they should is for the caller to prove.

use std::ops::Range;

use super::{Dialect, KeyChange, Place, Value, parse, quote};
use crate::base::text::split_bom;
use crate::formats::newline;

/// A key of a block.
struct Entry {
    line: usize,
    /// The first line behind its value.
    end: usize,
    indent: usize,
    /// Where its value starts in the line, behind the colon.
    value: usize,
}

/// The lines of a text, each with its own line ending.
pub(super) struct Lines<'t> {
    dialect: Dialect,
    byte_order_mark: &'t str,
    lines: Vec<String>,
    /// What a new line ends with.
    newline: &'static str,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, dialect: Dialect) -> Self {
        let (byte_order_mark, text) = split_bom(text);
        Self {
            dialect,
            byte_order_mark,
            lines: text.split_inclusive('\n').map(String::from).collect(),
            newline: newline(text),
        }
    }

    pub(super) fn set(&mut self, change: &KeyChange) {
        let Some((leaf, parents)) = change.path.split_last() else {
            return;
        };
        let mut parent: Option<Entry> = None;
        for (depth, key) in parents.iter().enumerate() {
            match (self.find(parent.as_ref(), key).pop(), &change.value) {
                (Some(entry), _) => parent = Some(entry),
                (None, Some(value)) => {
                    let rendered = self.rendered(value);
                    return self.insert(parent, &change.path[depth..], &rendered, Place::Any);
                }
                (None, None) => return,
            }
        }
        let mut found = self.find(parent.as_ref(), leaf);
        if let Some(value) = &change.value {
            let rendered = self.rendered(value);
            match found.pop() {
                Some(last) => {
                    let wanted_line = match (change.place, parent) {
                        (Place::First, Some(parent)) => Some(parent.line + 1),
                        _ => None,
                    };
                    self.replace(last, &rendered, wanted_line);
                }
                None => self.insert(
                    parent,
                    &change.path[parents.len()..],
                    &rendered,
                    change.place,
                ),
            }
        }
        for other in found.into_iter().rev() {
            self.lines.drain(other.line..other.end);
        }
    }

    fn rendered(&self, value: &Value) -> String {
        match value {
            Value::String(text) => (self.dialect.string)(text),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => "null".to_owned(),
        }
    }

    pub(super) fn concat(&self) -> String {
        format!("{}{}", self.byte_order_mark, self.lines.concat())
    }

    /// The lines of a block's children, and their indent when there are any.
    fn children(&self, parent: Option<&Entry>) -> (Range<usize>, Option<usize>) {
        let range = parent.map_or(0..self.lines.len(), |entry| entry.line + 1..entry.end);
        let indent = self.lines[range.clone()]
            .iter()
            .find(|line| is_content(line))
            .map(|line| indent_of(line));
        (range, indent)
    }

    /// Where a key is in a block; of several the last one counts.
    fn find(&self, parent: Option<&Entry>, key: &str) -> Vec<Entry> {
        let (range, Some(indent)) = self.children(parent) else {
            return Vec::new();
        };
        let children = range.filter(|&at| {
            let line = &self.lines[at];
            is_content(line) && indent_of(line) == indent
        });
        let entries = children.filter_map(|line| {
            Some(Entry {
                line,
                end: self.end_of(line, indent),
                indent,
                value: (self.dialect.value_start)(&self.lines[line], key)?,
            })
        });
        entries.collect()
    }

    /// The first line behind the value that starts in a line.
    fn end_of(&self, line: usize, indent: usize) -> usize {
        let mut end = line + 1;
        for (at, line) in self.lines.iter().enumerate().skip(line + 1) {
            let is_item = is_item(line) && indent_of(line) == indent;
            if !is_content(line) {
                continue;
            }
            if indent_of(line) <= indent && !is_item {
                break;
            }
            end = at + 1;
        }
        end
    }

    fn replace(&mut self, entry: Entry, rendered: &str, wanted_line: Option<usize>) {
        let old = &self.lines[entry.line];
        let (head, rest) = old.split_at(entry.value);
        // What was the last line may get others below it.
        let ending = match (ending_of(old), wanted_line) {
            ("", Some(at)) if at < entry.line => self.newline,
            (ending, _) => ending,
        };
        let mut new = vec![format!("{head} {rendered}{ending}")];
        // Shell readers take a comment for a part of the value, so it moves to
        // a line of its own.
        if let Some(comment) = trailing_comment(rest) {
            let newline = if ending.is_empty() {
                self.newline
            } else {
                ending
            };
            let indent = " ".repeat(entry.indent);
            new = vec![
                format!("{head} {rendered}{newline}"),
                format!("{indent}{comment}{ending}"),
            ];
        }
        self.lines.drain(entry.line..entry.end);
        let at = wanted_line.unwrap_or(entry.line);
        self.lines.splice(at..at, new);
    }

    fn insert(&mut self, parent: Option<Entry>, keys: &[String], rendered: &str, place: Place) {
        let (range, known) = self.children(parent.as_ref());
        let indent = known.unwrap_or_else(|| parent.as_ref().map_or(0, |entry| entry.indent + 2));
        let below = match place {
            Place::Above(key) => self.find(parent.as_ref(), key).pop(),
            Place::First | Place::Any => None,
        };
        let last = range.clone().rev().find(|&at| {
            let line = &self.lines[at];
            // A line of a block of text may look like a comment.
            is_content(line) || indent_of(line) > indent && !line.trim().is_empty()
        });
        let at = match (place, below) {
            (Place::First, _) => range.start,
            (_, Some(below)) => below.line,
            (_, None) => last.map_or(range.start, |line| line + 1),
        };
        let ending = self.newline;
        if let Some(before) = at
            .checked_sub(1)
            .and_then(|before| self.lines.get_mut(before))
            && !before.ends_with('\n')
        {
            before.push_str(ending);
        }
        let mut new = Vec::with_capacity(keys.len());
        for (depth, key) in keys.iter().enumerate() {
            let (blanks, key) = (" ".repeat(indent + 2 * depth), plain_or_quoted(key));
            new.push(if depth + 1 == keys.len() {
                format!("{blanks}{key}: {rendered}{ending}")
            } else {
                format!("{blanks}{key}:{ending}")
            });
        }
        self.lines.splice(at..at, new);
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn ending_of(line: &str) -> &'static str {
    match line {
        _ if line.ends_with("\r\n") => "\r\n",
        _ if line.ends_with('\n') => "\n",
        _ => "",
    }
}

fn is_content(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && !text.starts_with('#')
}

fn is_item(line: &str) -> bool {
    let item = line.trim().strip_prefix('-');
    item.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Where the value of `key` starts on the line, if it is a line of that key.
pub(super) fn value_start(line: &str, key: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    let rest = match text.as_bytes().first()? {
        b'"' => text.strip_prefix(&quote(key))?,
        b'\'' => text[1..].strip_prefix(key)?.strip_prefix('\'')?,
        _ => text.strip_prefix(key)?,
    };
    let value = rest.trim_start_matches(' ').strip_prefix(':')?;
    let is_key = value.is_empty() || value.starts_with([' ', '\t', '\n', '\r']);
    is_key.then_some(line.len() - value.len())
}

fn plain_or_quoted(key: &str) -> String {
    let is_plain = key.starts_with(|first: char| first.is_ascii_lowercase())
        && key
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
        && !matches!(key, "true" | "false" | "null");
    if is_plain { key.to_owned() } else { quote(key) }
}

/// The comment behind a value, from its `#` on: without it the value is the same.
fn trailing_comment(value: &str) -> Option<&str> {
    let text = value.trim();
    if text.starts_with('#') {
        return Some(text);
    }
    let whole = parse(text).ok();
    if whole.is_none() && text.starts_with(['"', '\'']) {
        // It goes on in the next line.
        return None;
    }
    let mut parts = text.match_indices('#').map(|(at, _)| text.split_at(at));
    let (_, comment) =
        parts.find(|(before, _)| before.ends_with([' ', '\t']) && parse(before).ok() == whole)?;
    Some(comment)
}
