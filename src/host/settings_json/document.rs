//! A JSON text, read piece by piece, as Claude Code reads it: nested to any depth, with
//! half surrogate pairs, and of equal keys the last. So it can be edited as text.

use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use super::WiringError;
use crate::formats::json;
use crate::formats::ordered::Ordered;

/// A value with its place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'t> {
    start: usize,
    text: &'t str,
}

/// A member (with a key) or an element (without one).
#[derive(Debug)]
pub(super) struct Child<'t> {
    /// From the key, or the value, to the end of the value.
    pub(super) span: Range<usize>,
    /// `None` for half a surrogate pair as well, which no key of ours has.
    pub(super) key: Option<String>,
    pub(super) value: Node<'t>,
}

impl<'t> Node<'t> {
    pub(super) fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    pub(super) fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    pub(super) fn is_array(self) -> bool {
        self.text.starts_with('[')
    }

    /// Members or elements; empty for anything else.
    pub(super) fn items(self) -> Vec<Child<'t>> {
        // The text is JSON, so that reading a piece of it can only fail for its kind.
        if self.is_object() {
            let members: Ordered<&RawValue, &RawValue> =
                serde_json::from_str(self.text).unwrap_or_default();
            let item = |(key, value)| self.item(Some(key), value);
            return members.0.into_iter().map(item).collect();
        }
        let elements: Vec<&RawValue> = if self.is_array() {
            serde_json::from_str(self.text).unwrap_or_default()
        } else {
            Vec::new()
        };
        elements.into_iter().map(|it| self.item(None, it)).collect()
    }

    fn item(self, key: Option<&'t RawValue>, value: &'t RawValue) -> Child<'t> {
        let place = |raw: &'t RawValue| Self {
            start: self.start + (raw.get().as_ptr().addr() - self.text.as_ptr().addr()),
            text: raw.get(),
        };
        let (key, value) = (key.map(place), place(value));
        Child {
            span: key.unwrap_or(value).start..value.span().end,
            key: key.and_then(Self::string),
            value,
        }
    }

    /// The member with this key.
    pub(super) fn get(self, key: &str) -> Option<Self> {
        Child::value_of(&self.items(), key)
    }

    /// Those of an array; `None` for anything else.
    pub(super) fn elements(self) -> Option<Vec<Self>> {
        let items = self.is_array().then(|| self.items());
        Some(items?.into_iter().map(|item| item.value).collect())
    }

    /// A string without half surrogate pairs.
    pub(super) fn string(self) -> Option<String> {
        serde_json::from_str(self.text).ok()
    }

    pub(super) fn number(self) -> Option<f64> {
        self.text.parse().ok()
    }

    /// With U+FFFD for half surrogate pairs; `None` where it is nested too deep.
    pub(super) fn value(self) -> Option<Value> {
        json::parse(self.text).ok()
    }

    pub(super) fn is(self, value: &Value) -> bool {
        self.value().as_ref() == Some(value)
    }
}

impl<'t> Child<'t> {
    /// The member with this key, among all of an object.
    pub(super) fn value_of(members: &[Self], key: &str) -> Option<Node<'t>> {
        members
            .iter()
            .rfind(|item| item.key.as_deref() == Some(key))
            .map(|item| item.value)
    }
}

/// Nothing but what JSON takes for blanks, which are fewer than Unicode's.
pub(super) fn is_blank(body: &str) -> bool {
    body.trim_matches([' ', '\t', '\r', '\n']).is_empty()
}

/// Reads a text that is one JSON document.
pub(super) fn parse(text: &str) -> Result<Node<'_>, WiringError> {
    let document: &RawValue = serde_json::from_str(text).map_err(|e| syntax_error(text, &e))?;
    Ok(Node {
        start: document.get().as_ptr().addr() - text.as_ptr().addr(),
        text: document.get(),
    })
}

fn syntax_error(text: &str, error: &serde_json::Error) -> WiringError {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = message.strip_suffix(&place).unwrap_or(&message);
    let line = text
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or("");
    let from = line.get(error.column().saturating_sub(1)..).unwrap_or("");
    let hint = match from.bytes().next() {
        Some(b'/') => " (comments are not JSON)",
        Some(b'}' | b']') => " (a comma too many?)",
        _ => "",
    };
    let what = format!("{reason}{hint}");
    WiringError {
        line: error.line(),
        column: error.column(),
        what,
    }
}

/// The error for a value that is of the wrong kind.
pub(super) fn misshapen(text: &str, at: usize, what: &str) -> WiringError {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    WiringError {
        line: before.matches('\n').count() + 1,
        column: at - line_start + 1,
        what: what.to_owned(),
    }
}
