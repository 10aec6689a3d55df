//! Halves of surrogate pairs. JavaScript cuts texts between the two, and writes what is
//! left as an escape that stands for no character.

use serde_json::Value;

/// Half a pair becomes this, as in every reader that goes on.
const REPLACEMENT: &[u8; 4] = b"fffd";

/// Reads JSON; where that fails, with its halves replaced.
pub(super) fn tolerated<T, E>(json: &str, read: impl Fn(&str) -> Result<T, E>) -> Result<T, E> {
    read(json).or_else(|error| {
        let repaired = repaired(json.as_bytes()).map(String::from_utf8);
        match repaired {
            Some(Ok(json)) => read(&json),
            _ => Err(error),
        }
    })
}

/// A JSON value, with its halves replaced where it cannot be read as it is.
///
/// # Errors
/// The text is no JSON.
pub fn read_value(json: &str) -> serde_json::Result<Value> {
    tolerated(json, |json| serde_json::from_str(json))
}

/// A JSON text with its halves replaced; `None` where it has none.
pub(super) fn repaired(json: &[u8]) -> Option<Vec<u8>> {
    let mut repaired: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(next) = json
        .get(at..)
        .and_then(|rest| rest.iter().position(|b| *b == b'\\'))
    {
        at += next;
        at += match (unit(json, at), unit(json, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                let copy = repaired.get_or_insert_with(|| json.to_vec());
                copy[at + 2..at + 6].copy_from_slice(REPLACEMENT);
                6
            }
            _ => 2,
        };
    }
    repaired
}

/// The code unit that an escape at a place stands for.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        for (json, expected) in [
            (r#""a""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\u00e9\n""#, None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\uDE00x""#, Some(r#""\ufffdx""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83d\n\ude00""#, Some(r#""\ufffd\n\ufffd""#)),
            (r#""\\\ud83d"#, Some(r#""\\\ufffd"#)),
            (r#""\ud83"#, None),
            ("\\", None),
        ] {
            let found = repaired(json.as_bytes());
            let found = found.map(|json| String::from_utf8(json).unwrap());
            assert_eq!(found.as_deref(), expected, "{json}");
        }
    }
}
