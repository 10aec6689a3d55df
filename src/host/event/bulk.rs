//! Large events without their bulk: what no decision about names needs is taken
//! out before the rest is parsed, at a small part of the cost.

use std::ops::Range;

use super::Field;

/// Whether an event still holds all that came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bulk {
    #[default]
    Kept,
    /// Long strings lack their beginning.
    Dropped,
}

/// A longer string that no decision about names needs is bulk.
const BULK: usize = 4 * 1024;

/// A copy of a JSON text in which the long strings are empty that stand under
/// no needed key; `None` where there are none. It is an event if and only if the text is one,
/// but for escapes in what is left out.
pub(super) fn without_bulk(json: &[u8]) -> Option<Vec<u8>> {
    let mut short = Vec::new();
    let mut kept = 0;
    let mut before: &[u8] = b"";
    let mut from = 0;
    while let Some(open) = next_quote(json, from)
        && let Some(close) = next_quote(json, open + 1)
    {
        let string = &json[open + 1..close];
        if string.len() > BULK && !Field::may_be_named(before) {
            short.reserve(2 * BULK);
            short.extend_from_slice(&json[kept..=open]);
            kept = close;
        }
        before = string;
        from = close + 1;
    }
    (kept > 0).then(|| {
        short.extend_from_slice(&json[kept..]);
        short
    })
}

/// Where the bulk is in a beginning of an event that ends in it: in a string
/// that makes up most of it and stands under no needed key. Backslashes at the
/// end belong to what comes next.
pub fn unclosed(json: &[u8]) -> Option<Range<usize>> {
    let mut before: &[u8] = b"";
    let mut from = 0;
    let start = loop {
        let start = next_quote(json, from)? + 1;
        let Some(close) = next_quote(json, start) else {
            break start;
        };
        before = &json[start..close];
        from = close + 1;
    };
    let string = &json[start..];
    let slashes = string.iter().rev().take_while(|&&byte| byte == b'\\');
    let end = json.len() - slashes.count();
    let is_bulk = end - start > BULK.max(json.len() / 2);
    (is_bulk && !Field::may_be_named(before)).then_some(start..end)
}

/// The first quote from `from` on that is no character of a string.
pub(super) fn next_quote(json: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let at = next::<b'"'>(json, from)?;
        if ends_a_string(json, at) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The first place from `from` on at which a byte stands.
#[inline]
pub(super) fn next<const BYTE: u8>(text: &[u8], mut from: usize) -> Option<usize> {
    // Sixteen bytes at a time in one number, which needs no vector instructions:
    // to ask which of them there are takes a virtual machine 40 µs.
    const LOWEST: u128 = u128::from_ne_bytes([0x01; 16]);
    const HIGHEST: u128 = u128::from_ne_bytes([0x80; 16]);
    while let Some(bytes) = text.get(from..)?.first_chunk() {
        let zeros = u128::from_le_bytes(*bytes) ^ const { u128::from_ne_bytes([BYTE; 16]) };
        // A zero borrows from the bytes above it, so only the first one is marked for certain.
        let marked = zeros.wrapping_sub(LOWEST) & !zeros & HIGHEST;
        if marked != 0 {
            return Some(from + marked.trailing_zeros() as usize / 8);
        }
        from += 16;
    }
    let rest = text.get(from..)?;
    rest.iter()
        .position(|byte| *byte == BYTE)
        .map(|at| from + at)
}

/// Whether a byte is a quote, and no odd number of backslashes stands before it.
fn ends_a_string(json: &[u8], at: usize) -> bool {
    let backslash = |at: usize| json.get(at) == Some(&b'\\');
    json[at] == b'"'
        && (!backslash(at.wrapping_sub(1))
            || backslash(at.wrapping_sub(2)) && {
                let before = json[..at].iter().rev();
                before.take_while(|&&byte| byte == b'\\').count() % 2 == 0
            })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::event::Event;

    proptest! {
        #[test]
        fn a_quote_is_found_where_no_backslash_hides_it(
            json in prop::collection::vec(prop::sample::select(&b"\"\\\\ax"[..]), 0..400),
            from in 0_usize..400,
        ) {
            let naive = (from..json.len()).find(|&at| {
                let before = json[..at].iter().rev();
                json[at] == b'"' && before.take_while(|&&byte| byte == b'\\').count() % 2 == 0
            });
            prop_assert_eq!(next_quote(&json, from), naive);
        }

        #[test]
        fn bulk_that_is_dropped_on_the_way_changes_no_field(
            content in prop::collection::vec(prop::sample::select(
                &["\\\\", "\\\"", "\\n", "\\u00e9", "é", "x", "{\\\"cwd\\\":\\\"/q\\\"}"][..],
            ), 1..60),
            cuts in prop::collection::vec(1_usize..3 * BULK, 1..4),
        ) {
            let content = content.concat().repeat(2 * BULK / content.len());
            let json = format!(
                r#"{{"cwd":"/p","tool_name":"Write","tool_input":{{"content":"{content}","file_path":"/a"}}}}"#
            );
            let mut rest = json.as_bytes();
            let mut kept = Vec::new();
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                kept.extend_from_slice(piece);
                rest = behind;
                if let Some(bulk) = unclosed(&kept) {
                    kept.drain(bulk);
                }
            }
            kept.extend_from_slice(rest);
            let event = Event::parse(&kept).expect("an event");
            prop_assert_eq!(event.cwd(), Some("/p"));
            prop_assert_eq!(event.get(Field::FilePath), Some("/a"));
        }

        #[test]
        fn what_lies_far_apart_is_found(gap in 0_usize..1000, slashes in 0_usize..5) {
            let json = [&b" ".repeat(gap)[..], &b"\\".repeat(slashes), b"\"\""].concat();
            let hidden = slashes % 2;
            prop_assert_eq!(next_quote(&json, 0), Some(gap + slashes + hidden));
        }
    }
}
