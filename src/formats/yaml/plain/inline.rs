//! What stands on one line: keys, scalars, and lists and entries in brackets.

use super::DEEPEST;
use crate::formats::yaml::{Mapping, Value};

/// The key at the start of a text, and what stands behind its colon.
pub(super) fn entry(text: &str) -> Option<(&str, &str)> {
    let (key, behind) = match text.strip_prefix('"') {
        Some(quoted) => (quoted.split_once('"')).filter(|(key, _)| !key.contains('\\'))?,
        None => text.split_at_checked(word_len(text))?,
    };
    let is_key = text.starts_with('"') || !key.is_empty() && !is_reserved(key);
    let value = behind.strip_prefix(':')?;
    (is_key && key.len() <= 64).then_some((key, value))
}

/// The value that the rest of a line is, but for a comment.
pub(super) fn value(text: &str) -> Option<Value> {
    let (value, behind) = node(text, 0)?;
    let rest = behind.trim_start_matches(' ');
    let ends = rest.is_empty() || rest.len() < behind.len() && rest.starts_with('#');
    ends.then_some(value)
}

/// The list, the entries in braces or the scalar at the start of a text, and what
/// stands behind it.
fn node(text: &str, depth: usize) -> Option<(Value, &str)> {
    if depth == DEEPEST {
        return None;
    }
    if let Some(items) = text.strip_prefix('[') {
        let mut list = Vec::new();
        let behind = flow(items, ']', |text| {
            let (item, behind) = node(text, depth + 1)?;
            list.push(item);
            Some(behind)
        })?;
        return Some((Value::Sequence(list), behind));
    }
    if let Some(items) = text.strip_prefix('{') {
        let mut entries = Mapping::new();
        let behind = flow(items, '}', |text| {
            let (key, value) = entry(text)?;
            let value = value.strip_prefix(' ')?.trim_start_matches(' ');
            let (value, behind) = node(value, depth + 1)?;
            let before = entries.insert(Value::String(key.to_owned()), value);
            before.is_none().then_some(behind)
        })?;
        return Some((Value::Mapping(entries), behind));
    }
    scalar(text)
}

/// Hands what stands between commas to `take`, which says what stands behind it. Gives
/// what stands behind `end`.
fn flow<'t>(
    text: &'t str,
    end: char,
    mut take: impl FnMut(&'t str) -> Option<&'t str>,
) -> Option<&'t str> {
    let mut rest = text.trim_start_matches(' ');
    if let Some(behind) = rest.strip_prefix(end) {
        return Some(behind);
    }
    loop {
        let behind = take(rest)?.trim_start_matches(' ');
        if let Some(behind) = behind.strip_prefix(end) {
            return Some(behind);
        }
        rest = behind.strip_prefix(',')?.trim_start_matches(' ');
    }
}

/// The scalar at the start of a text, and what stands behind it.
fn scalar(text: &str) -> Option<(Value, &str)> {
    if let Some(inner) = text.strip_prefix('"') {
        let (text, behind) = quoted(inner)?;
        return Some((Value::String(text), behind));
    }
    let in_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.');
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    let len = match is_number {
        true => text.bytes().take_while(in_number).count(),
        false => word_len(text),
    };
    let (word, behind) = text.split_at_checked(len)?;
    let value = match word {
        _ if is_number => number(word)?,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if is_reserved(word) || word.is_empty() => return None,
        _ => Value::String(word.to_owned()),
    };
    let ends = behind.is_empty() || behind.starts_with([' ', ',', ']', '}']);
    ends.then_some((value, behind))
}

/// How far a text begins with what is a string to every YAML parser, if it is not reserved.
fn word_len(text: &str) -> usize {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte);
    let len = text.bytes().take_while(is_inner).count();
    let is_string = match text.as_bytes() {
        [b'.', b'/', ..] => true,
        [b'.', ..] => len == 1,
        [first, ..] => first.is_ascii_alphabetic() || *first == b'/',
        [] => false,
    };
    if is_string && len <= 256 { len } else { 0 }
}

/// Whether a word is a truth value or null, however it is written.
fn is_reserved(word: &str) -> bool {
    let words = ["true", "false", "null"];
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// A string as `quote` writes it, and what stands behind its last quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut plain = String::new();
    let mut rest = text;
    loop {
        let (before, behind) = rest.split_at_checked(rest.find(['"', '\\'])?)?;
        plain.push_str(before);
        if let Some(behind) = behind.strip_prefix('"') {
            return Some((plain, behind));
        }
        let escaped = behind.get(1..).filter(|e| e.starts_with(['"', '\\']))?;
        plain.push_str(&escaped[..1]);
        rest = &escaped[1..];
    }
}

/// A number that fits however it is read, without leading zeros.
fn number(text: &str) -> Option<Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_plain = text.len() <= 15 && (whole == "0" || !whole.starts_with('0'));
    if !is_plain || fraction.is_empty() {
        return None;
    }
    Some(match text.parse::<u64>() {
        Ok(number) => Value::Number(number.into()),
        Err(_) => Value::Number(text.parse::<f64>().ok()?.into()),
    })
}
