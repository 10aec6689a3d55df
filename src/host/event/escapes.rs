//! A long string of JSON in one step.
//!
//! A parser that does not know how long a string will be copies it several times while it
//! grows, and at last into its own place. Memory that is touched for the first time costs
//! more than the rest of reading it, so a command gets its room at once.

use std::borrow::Cow;

use serde::de::Error;

use super::bulk::next;

/// The text of a JSON value; `None` where it is no string.
///
/// # Errors
/// Half a surrogate pair.
pub(super) fn text<E: Error>(value: &str) -> Result<Option<Cow<'_, str>>, E> {
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else {
        return Ok(None);
    };
    if next::<b'\\'>(inner.as_bytes(), 0).is_none() {
        return Ok(Some(Cow::Borrowed(inner)));
    }
    match unescaped(inner.as_bytes()) {
        Some(text) => Ok(Some(Cow::Owned(text))),
        None => Err(E::custom("half a surrogate pair")),
    }
}

/// What stands between the quotes of valid JSON; `None` where an escape stands for no
/// character.
fn unescaped(raw: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(escape) = next::<b'\\'>(raw, at) {
        text.extend_from_slice(raw.get(at..escape)?);
        at = escape + 2;
        text.push(match *raw.get(escape + 1)? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let (c, len) = code_point(raw.get(at..)?)?;
                text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                at += len;
                continue;
            }
            itself => itself,
        });
    }
    text.extend_from_slice(raw.get(at..)?);
    String::from_utf8(text).ok()
}

/// The character of the digits behind `\u`, and how long they are, the other half of a pair
/// included.
fn code_point(digits: &[u8]) -> Option<(char, usize)> {
    let first = code_unit(digits)?;
    if !matches!(first, 0xD800..=0xDBFF) {
        return Some((char::from_u32(first.into())?, 4));
    }
    let second = code_unit(digits.get(4..)?.strip_prefix(b"\\u")?)?;
    let pair = char::decode_utf16([first, second]).next()?.ok()?;
    Some((pair, 10))
}

fn code_unit(digits: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::Error;

    use super::*;

    const PIECES: &[&str] = &[
        "a",
        " ",
        "é",
        "🦀",
        "\\n",
        "\\t",
        "\\r",
        "\\b",
        "\\f",
        "\\\"",
        "\\\\",
        "\\/",
        "\\u00e9",
        "\\u0000",
        "\\uD83D\\uDE00",
        "\\ud83d",
        "\\ude00",
        "\\uFFFF",
    ];

    proptest! {
        #[test]
        fn a_string_is_what_the_parser_reads(pieces in vec(select(PIECES), 0..24)) {
            let json = format!("\"{}\"", pieces.concat());
            let expected: Option<String> = serde_json::from_str(&json).ok();
            let found = text::<Error>(&json).ok().flatten();
            prop_assert_eq!(found.as_deref(), expected.as_deref(), "{}", json);
        }
    }

    #[test]
    fn what_is_no_string_has_no_text() {
        for json in ["1", "null", "{\"a\":\"b\"}", "[\"a\"]", "true"] {
            assert_eq!(text::<Error>(json).unwrap(), None, "{json}");
        }
    }
}
