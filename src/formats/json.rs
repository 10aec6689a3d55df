//! JSON objects that other programs own: read leniently, changed key by key,
//! written back with unknown keys and the order of all keys kept.

mod outline;

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use super::surrogates;
use crate::base::text::{is_invisible, split_bom};
use outline::Outline;

/// A value of strings and numbers, which always serializes, as one line with its end. JSON
/// may hold some breaks as they are, but readers that split a text by Unicode's rules would
/// find several lines in one.
pub fn line(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    printable(json) + "\n"
}

/// A text as [`line`] writes it, in its quotes.
pub fn quoted(text: &str) -> String {
    printable(serde_json::to_string(text).unwrap_or_default())
}

/// JSON in which nothing can turn, color or end a line: beyond ASCII such characters are in its
/// strings alone, where an escape says the same.
pub fn printable(json: String) -> String {
    if json.bytes().all(|byte| byte < 0x7f) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c >= '\u{7f}' && is_invisible(c) {
            // Every one of them is in the basic plane. A `String` takes everything.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// JSON as JavaScript reads it: half a surrogate pair is text, here U+FFFD.
///
/// # Errors
/// The text is no JSON.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|_| {
        let mut bytes = text.as_bytes().to_vec();
        surrogates::repair(&mut bytes);
        serde_json::from_slice(&bytes)
    })
}

/// The largest text of which every value is kept, in bytes: a value takes up to a hundred times
/// as much memory as its text.
pub const MAX_WHOLE: usize = 1 << 20;

/// The same of a text of any size. Of one that is larger than [`MAX_WHOLE`] the first keys of its
/// object are kept, with what is no list and no object; the rest is only read.
///
/// # Errors
/// The text is no JSON.
pub fn outline(text: &str) -> serde_json::Result<Value> {
    if text.len() <= MAX_WHOLE {
        return parse(text);
    }
    serde_json::from_str(text)
        .map(|Outline(value)| value)
        .or_else(|_| {
            let mut bytes = text.as_bytes().to_vec();
            surrogates::repair(&mut bytes);
            serde_json::from_slice(&bytes).map(|Outline(value)| value)
        })
}

/// One JSON object. Of a key that is given twice the last value wins, as in every
/// reader of these files.
#[derive(Clone, Debug, PartialEq)]
pub struct Document(Map<String, Value>);

impl Document {
    /// A byte-order mark is tolerated. The nesting is bounded by `serde_json`.
    ///
    /// # Errors
    /// The text is no JSON, no object, or larger than [`MAX_WHOLE`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let (_, text) = split_bom(text);
        if text.len() > MAX_WHOLE {
            return Err(format!(
                "larger than {} KiB, which no state needs",
                MAX_WHOLE >> 10
            ));
        }
        Self::of(parse(text))
    }

    /// The same of what only has to be read, by its [`outline`].
    ///
    /// # Errors
    /// As of `parse`.
    pub fn outline(text: &str) -> Result<Self, String> {
        Self::of(outline(split_bom(text).1))
    }

    fn of(read: serde_json::Result<Value>) -> Result<Self, String> {
        match read {
            Ok(Value::Object(root)) => Ok(Self(root)),
            Ok(other) => Err(format!("the top level is {}, not an object", kind(&other))),
            Err(error) => Err(format!("not valid JSON: {error}")),
        }
    }

    pub fn root(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The value at a path of keys. A key that holds `null` is there.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.0.get(*first)?, |value, key| value.get(key))
    }

    /// Puts a value at a path. A present key keeps its place, a new one comes
    /// last, missing objects on the way are made.
    ///
    /// # Errors
    /// The path is empty, or leads through a value that is no object.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) -> Result<(), String> {
        let Some((last, parents)) = path.split_last() else {
            return Err("an empty path names no key".to_owned());
        };
        let mut object = &mut self.0;
        for (depth, key) in parents.iter().enumerate() {
            let child = object.entry(*key).or_insert_with(|| Map::new().into());
            let found = kind(child);
            object = child.as_object_mut().ok_or_else(|| {
                format!("`{}` is {found}, not an object", path[..=depth].join("."))
            })?;
        }
        object.insert((*last).to_owned(), value.into());
        Ok(())
    }

    /// Two spaces a level and a final newline, as the owners write it.
    pub fn render(&self) -> String {
        format!("{:#}\n", Value::Object(self.0.clone()))
    }
}

/// What a value is, for a message: "an array".
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(before: &str, path: &[&str], value: Value, after: &str) {
        let mut document = Document::parse(before).unwrap();
        document.set(path, value).unwrap();
        assert_eq!(document.render(), after);
    }

    #[test]
    fn a_key_keeps_its_place_and_a_new_one_comes_last() {
        check(
            "{\"b\":1,\"a\":{\"z\":[1,{}],\"y\":null}}",
            &["a", "z"],
            json!("new"),
            "{\n  \"b\": 1,\n  \"a\": {\n    \"z\": \"new\",\n    \"y\": null\n  }\n}\n",
        );
        check("\u{feff}{\"b\":1}\r\n", &["a", "c"], json!(2), {
            "{\n  \"b\": 1,\n  \"a\": {\n    \"c\": 2\n  }\n}\n"
        });
    }

    #[test]
    fn a_value_is_one_line_to_every_reader() {
        let value = ["a\u{2028}b\u{85}", "\u{2029}\u{7f}\u{9b}\u{202e}\r\n", "é"];
        let line = line(&value);
        assert_eq!(
            line,
            "[\"a\\u2028b\\u0085\",\"\\u2029\\u007f\\u009b\\u202e\\r\\n\",\"é\"]\n"
        );
        let read: Vec<String> = serde_json::from_str(&line).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        for (text, part) in [
            ("", "EOF"),
            ("[]", "an array"),
            ("null", "null"),
            ("{\"a\":1,}", "trailing comma"),
        ] {
            let error = Document::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(Document::parse(&"{\"a\":".repeat(100_000)).is_err());
        let error = Document::parse("{\"a\":[]}")
            .unwrap()
            .set(&["a", "b"], 1)
            .unwrap_err();
        assert_eq!(error, "`a` is an array, not an object");
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-d]{1,2}", inner), 0..4)
                    .prop_map(|pairs| pairs.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    /// The slow way: walk the parsed value and change the one place.
    fn change(value: &mut Value, path: &[&str], new: &Value) -> bool {
        let Value::Object(map) = value else {
            return false;
        };
        match path {
            [last] => {
                map.insert((*last).to_owned(), new.clone());
                true
            }
            [first, rest @ ..] => match map.get_mut(*first) {
                Some(child) => change(child, rest, new),
                None => {
                    let nested = rest
                        .iter()
                        .rev()
                        .fold(new.clone(), |v, key| json!({ *key: v }));
                    map.insert((*first).to_owned(), nested);
                    true
                }
            },
            [] => false,
        }
    }

    proptest! {
        #[test]
        fn an_edit_equals_parse_change_compare(
            pairs in prop::collection::vec(("[a-d]{1,2}", any_value()), 0..5),
            path in prop::collection::vec("[a-d]{1,2}", 1..4),
            value in any_value(),
        ) {
            let root: Value = pairs.into_iter().collect::<Map<_, _>>().into();
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let mut expected: Value = serde_json::from_str(&root.to_string()).unwrap();
            let possible = change(&mut expected, &path, &value);

            let mut document = Document::parse(&root.to_string()).unwrap();
            prop_assert_eq!(document.set(&path, value).is_ok(), possible);
            if possible {
                // Texts and not values are compared, so that the order counts.
                prop_assert_eq!(document.render(), format!("{expected:#}\n"));
                prop_assert_eq!(Document::parse(&document.render()).unwrap(), document);
            }
        }
    }
}
