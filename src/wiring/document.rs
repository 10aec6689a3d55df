//! Where the values of a JSON text stand, so that it can be edited as text.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::WiringError;

/// A value with its place in the text.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// Members or elements; empty for anything else.
    pub(super) items: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    Scalar,
}

/// A member (with a key) or an element (without one).
#[derive(Debug)]
pub(super) struct Item {
    /// From the key, or the value, to the end of the value.
    pub(super) span: Range<usize>,
    pub(super) key: Option<String>,
    pub(super) value: Node,
}

impl Node {
    /// The member with this key; the last one, as every reader takes it.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let mut members = self.items.iter().rev();
        members
            .find(|item| item.key.as_deref() == Some(key))
            .map(|item| &item.value)
    }
}

/// Reads a text that is one JSON document.
pub(super) fn parse(text: &str) -> Result<Node, WiringError> {
    // serde_json decides what is JSON, depth included. The scanner below may
    // then rely on it.
    serde_json::from_str::<IgnoredAny>(text).map_err(|e| syntax_error(text, &e))?;
    let mut scanner = Scanner { text, at: 0 };
    scanner.skip_blank();
    Ok(scanner.value())
}

fn syntax_error(text: &str, error: &serde_json::Error) -> WiringError {
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or(&message);
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

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, is_it: fn(u8) -> bool) {
        while self.peek().is_some_and(is_it) {
            self.at += 1;
        }
    }

    fn skip_blank(&mut self) {
        self.skip(|b| b.is_ascii_whitespace());
    }

    fn value(&mut self) -> Node {
        let start = self.at;
        let (kind, items) = match self.peek() {
            Some(b'{') => (Kind::Object, self.items(b'}')),
            Some(b'[') => (Kind::Array, self.items(b']')),
            Some(b'"') => {
                self.string();
                (Kind::Scalar, Vec::new())
            }
            _ => {
                self.skip(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
                (Kind::Scalar, Vec::new())
            }
        };
        Node {
            span: start..self.at,
            kind,
            items,
        }
    }

    fn items(&mut self, close: u8) -> Vec<Item> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip(|b| b == b',' || b.is_ascii_whitespace());
            match self.peek() {
                Some(b) if b != close => items.push(self.item(close)),
                _ => break,
            }
        }
        self.at += 1;
        items
    }

    fn item(&mut self, close: u8) -> Item {
        let start = self.at;
        let mut key = None;
        if close == b'}' {
            self.string();
            key = serde_json::from_str(&self.text[start..self.at]).ok();
            self.skip_blank();
            self.at += 1;
            self.skip_blank();
        }
        let value = self.value();
        Item {
            span: start..self.at,
            key,
            value,
        }
    }

    /// Passes over a string, the opening quote included.
    fn string(&mut self) {
        self.at += 1;
        while let Some(b) = self.peek() {
            self.at += if b == b'\\' { 2 } else { 1 };
            if b == b'"' {
                break;
            }
        }
    }
}
