//! What an event holds besides texts, each part read when it is asked for.

use serde_json::Value;

use super::halves::read_value;
use super::input::Entries;

/// An event's parts, unread: what a call gave back can be all that a program printed.
/// Of a key that stands twice the last value counts.
#[derive(Default)]
pub struct Document<'e> {
    parts: Entries<'e>,
    response: Entries<'e>,
}

impl<'e> Document<'e> {
    /// The error: the bytes are no JSON object.
    pub(super) fn of(event: &'e str) -> Result<Self, serde_json::Error> {
        let parts: Entries<'e> = serde_json::from_str(event)?;
        let response = parts.last("tool_response");
        Ok(Self {
            // Tools give back other values as well, and those have no keys.
            response: (response.map(serde_json::from_str).and_then(Result::ok)).unwrap_or_default(),
            parts,
        })
    }

    /// The value of a key; null where it is missing.
    pub fn get(&self, key: &str) -> Value {
        read(&self.parts, key)
    }

    /// The value of a key in what the call gave back; null where it is missing.
    pub fn response(&self, key: &str) -> Value {
        read(&self.response, key)
    }
}

fn read(parts: &Entries<'_>, key: &str) -> Value {
    let part = parts.last(key).map(read_value);
    part.and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(event: &str, key: &str, expected: (Value, Value)) {
        let document = Document::of(event).unwrap();
        assert_eq!((document.get(key), document.response(key)), expected);
    }

    #[test]
    fn a_key_is_read_where_it_stands() {
        let event = r#"{"id":1,"tool_response":{"id":"two\n","x":[{}]}}"#;
        check(event, "id", (json!(1), json!("two\n")));
        check(event, "x", (Value::Null, json!([{}])));
        let half = r#"{"id":"a\ud83d","tool_response":{"id":["\ude00"]}}"#;
        check(half, "id", (json!("a\u{fffd}"), json!(["\u{fffd}"])));
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let event = r#"{"tool_response":{"id":0},"id":1,"id":2,"tool_response":{"id":3,"id":4}}"#;
        check(event, "id", (json!(2), json!(4)));
    }

    #[test]
    fn a_response_without_keys_has_no_values() {
        for response in ["\"text\"", "[1]", "null", "1.5", "true"] {
            let event = format!(r#"{{"id":1,"tool_response":{response}}}"#);
            check(&event, "id", (json!(1), Value::Null));
        }
        check(r#"{"id":1}"#, "id", (json!(1), Value::Null));
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for event in ["", "[]", "{\"id\":1", "\"text\"", "{\"id\":\u{1}}"] {
            assert!(Document::of(event).is_err(), "{event}");
        }
    }
}
