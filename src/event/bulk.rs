//! Large events without their bulk: what no decision about names needs is taken
//! out before the rest is parsed, at a small part of the cost.

use super::Field;

/// A longer string that no decision about names needs is bulk.
const BULK: usize = 4 * 1024;

/// A copy of a JSON text in which the long strings are empty that stand under
/// no needed key. It is an event if and only if the text is one, but for
/// escapes in what is left out.
pub(super) fn without_bulk(json: &[u8]) -> Vec<u8> {
    let mut short = Vec::with_capacity(2 * BULK);
    let mut kept = 0;
    let mut before: &[u8] = b"";
    let mut from = 0;
    while let Some(open) = next_quote(json, from)
        && let Some(close) = next_quote(json, open + 1)
    {
        let string = &json[open + 1..close];
        if string.len() > BULK && !Field::may_be_named(before) {
            short.extend_from_slice(&json[kept..=open]);
            kept = close;
        }
        before = string;
        from = close + 1;
    }
    short.extend_from_slice(&json[kept..]);
    short
}

/// The first quote from `from` on that is no character of a string.
fn next_quote(json: &[u8], mut from: usize) -> Option<usize> {
    // Sixteen bytes at a time in one number, which needs no vector instructions:
    // to ask which of them there are takes a virtual machine 40 µs.
    const QUOTES: u128 = u128::from_ne_bytes([b'"'; 16]);
    const LOWEST: u128 = u128::from_ne_bytes([0x01; 16]);
    const HIGHEST: u128 = u128::from_ne_bytes([0x80; 16]);
    while let Some(bytes) = json.get(from..)?.first_chunk() {
        let zeros = u128::from_le_bytes(*bytes) ^ QUOTES;
        let mut marked = zeros.wrapping_sub(LOWEST) & !zeros & HIGHEST;
        while marked != 0 {
            // A zero borrows, so a byte above the first one may be marked wrongly.
            let at = from + marked.trailing_zeros() as usize / 8;
            if ends_a_string(json, at) {
                return Some(at);
            }
            marked &= marked - 1;
        }
        from += 16;
    }
    (from..json.len()).find(|&at| ends_a_string(json, at))
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
        fn what_lies_far_apart_is_found(gap in 0_usize..1000, slashes in 0_usize..5) {
            let json = [&b" ".repeat(gap)[..], &b"\\".repeat(slashes), b"\"\""].concat();
            let hidden = slashes % 2;
            prop_assert_eq!(next_quote(&json, 0), Some(gap + slashes + hidden));
        }
    }
}
