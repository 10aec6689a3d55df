//! One line of JSON as programs write their logs: an object in which nothing is
//! nested. A long log is counted in half the time that a general parser takes, and
//! that one reads every line of another kind.

/// The value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'l> {
    Text(&'l str),
    /// A string with escapes, as it stands between its quotes and with them.
    Escaped(&'l str),
    /// A whole number, an empty list, or a word such as `null`.
    Other,
}

/// Hands the members to `take` in their order. `None`: the line is of another kind,
/// or `take` wants no more.
pub fn members<'l>(
    line: &'l str,
    take: &mut dyn FnMut(&'l str, Value<'l>) -> Option<()>,
) -> Option<()> {
    let bytes = line.as_bytes();
    let mut at = after(bytes, 0, b'{')?;
    loop {
        let Value::Text(key) = string(line, &mut at)? else {
            return None;
        };
        at = after(bytes, at, b':')?;
        let value = match bytes.get(at)? {
            b'"' => string(line, &mut at)?,
            _ => {
                at = after_other(bytes, at)?;
                Value::Other
            }
        };
        take(key, value)?;
        at = match after(bytes, at, b',') {
            Some(next) => next,
            None => return (&bytes[at..] == b"}").then_some(()),
        };
    }
}

/// The place behind a byte and the blanks that follow it.
fn after(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    let mut at = at;
    if *bytes.get(at)? != byte {
        return None;
    }
    loop {
        at += 1;
        if *bytes.get(at)? != b' ' {
            return Some(at);
        }
    }
}

/// The string that begins at a place, which moves behind it.
fn string<'l>(line: &'l str, at: &mut usize) -> Option<Value<'l>> {
    let bytes = line.as_bytes();
    if *bytes.get(*at)? != b'"' {
        return None;
    }
    let start = *at + 1;
    let mut end = plain(bytes, start);
    let mut escaped = false;
    while *bytes.get(end)? == b'\\' {
        escaped = true;
        end = plain(bytes, after_escape(bytes, end)?);
    }
    if bytes[end] != b'"' {
        return None;
    }
    *at = end + 1;
    Some(if escaped {
        Value::Escaped(&line[start - 1..=end])
    } else {
        Value::Text(&line[start..end])
    })
}

fn after_escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = bytes.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// The place of the next quote, backslash or control character, or the end.
fn plain(bytes: &[u8], mut at: usize) -> usize {
    // Eight bytes at a time; a byte above the first that is marked may be marked wrongly.
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHEST: u64 = EACH << 7;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let eight = u64::from_le_bytes(*eight);
        let below = |bytes: u64, limit: u64| bytes.wrapping_sub(EACH * limit) & !bytes;
        let is = |byte: u8| below(eight ^ (EACH * u64::from(byte)), 1);
        let marked = (below(eight, 0x20) | is(b'"') | is(b'\\')) & HIGHEST;
        if marked != 0 {
            return at + marked.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let ends = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\');
    while bytes.get(at).is_some_and(|byte| !ends(*byte)) {
        at += 1;
    }
    at
}

/// The place behind a value that is no string.
fn after_other(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = &bytes[start..];
    let words = [&b"[]"[..], b"null", b"true", b"false"];
    if let Some(word) = words.into_iter().find(|word| rest.starts_with(word)) {
        return Some(start + word.len());
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = digits == 1 || digits > 1 && rest[0] != b'0';
    is_number.then_some(start + digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Members = Vec<(String, Option<String>)>;

    /// The members by the general parser, where the line is one of this kind.
    fn by_serde(line: &str) -> Option<Members> {
        let members: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).ok()?;
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => Some(Some(text)),
            serde_json::Value::Array(items) if !items.is_empty() => None,
            serde_json::Value::Object(_) => None,
            _ => Some(None),
        };
        let all = members.into_iter();
        all.map(|(key, value)| Some((key, text(value)?))).collect()
    }

    fn found(line: &str) -> Option<Members> {
        let mut found = Members::new();
        members(line, &mut |key, value| {
            let text = match value {
                Value::Text(text) => Some(text.to_owned()),
                Value::Escaped(json) => Some(serde_json::from_str(json).ok()?),
                Value::Other => None,
            };
            found.push((key.to_owned(), text));
            Some(())
        })?;
        Some(found)
    }

    #[test]
    fn a_log_line_is_read_without_the_general_parser() {
        for line in [
            r#"{"v":1,"ts":"2026-01-01T00:00:00Z","name":"ä.md","also":[]}"#,
            r#"{"a":null,"b":true,"c":false,"d":0}"#,
            r#"{"":""}"#,
            r#"{"v": 10, "reason":  "a \"b\" \u00e4\n", "name": "x"}"#,
        ] {
            assert_eq!(found(line), by_serde(line), "{line}");
            assert!(found(line).is_some(), "{line}");
        }
    }

    #[test]
    fn every_other_line_is_left_to_it() {
        for line in [
            "",
            "{",
            "{}",
            "[]",
            r#"{"a":"b"#,
            r#"{"a":"b"}}"#,
            r#"{"a":"b"},"#,
            r#"{"a":"b",}"#,
            r#"{"a":"b\x"}"#,
            r#"{"a":"\u12"}"#,
            r#"{"\n":"b"}"#,
            r#"{"a" :"b"}"#,
            r#"{"a":01}"#,
            r#"{"a":-1}"#,
            r#"{"a":1.5}"#,
            r#"{"a":}"#,
            r#"{"a":nul}"#,
            r#"{"a":[1]}"#,
            r#"{"a":{}}"#,
            "{\"a\":\"\u{1}\"}",
            r#"{1:"a"}"#,
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn who_takes_can_stop() {
        let mut n = 0;
        let ended = members(r#"{"a":1,"b":2}"#, &mut |_, _| {
            n += 1;
            None
        });
        assert_eq!((ended, n), (None, 1));
    }

    const PARTS: &[&str] = &[
        r#""a":"#,
        r#""b":"#,
        r#""é":"#,
        "\"\"",
        r#""x""#,
        r#""12345678""#,
        r#""12345678é""#,
        "7",
        "10",
        "0",
        "07",
        "null",
        "[]",
        ",",
        ",",
        ",",
        "}",
        r#"\""#,
        r#""\u0041""#,
        "\"\t\"",
        "\"\u{7f}\"",
        " ",
        "[",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn what_is_read_is_what_the_general_parser_reads(
            parts in prop::collection::vec(prop::sample::select(PARTS), 0..8),
        ) {
            let line = format!("{{{}}}", parts.concat());
            if let Some(members) = found(&line) {
                let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
                keys.sort_unstable();
                if keys.windows(2).all(|pair| pair[0] != pair[1]) {
                    prop_assert_eq!(Some(members), by_serde(&line));
                }
            }
        }
    }
}
