//! Halves of surrogate pairs. JavaScript cuts texts between the two, and writes what is
//! left as an escape of no character.

use memchr::memmem;

/// Makes each half without its other half U+FFFD, as readers do that go on.
pub fn repair(json: &mut [u8]) {
    if memmem::find(json, br"\ud").is_none() && memmem::find(json, br"\uD").is_none() {
        return;
    }
    let mut at = 0;
    while let Some(next) = json[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        at += match (unit(json, at), unit(json, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                json[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            _ => 2,
        };
        at = at.min(json.len());
    }
}

/// The code unit of an escape at a place.
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
            (r#""a""#, r#""a""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\u00e9\n""#, r#""\u00e9\n""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uDE00x""#, r#""\ufffdx""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\n\ude00""#, r#""\ufffd\n\ufffd""#),
            (r#""\\\ud83d"#, r#""\\\ufffd"#),
            (r#""\ud83"#, r#""\ud83"#),
            (r"\ud83d\", r"\ufffd\"),
        ] {
            let mut found = json.as_bytes().to_vec();
            repair(&mut found);
            assert_eq!(String::from_utf8(found).unwrap(), expected, "{json}");
        }
    }
}
