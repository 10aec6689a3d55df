//! A JSON value of which little is kept: memory is bounded, however large the text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::base::text;

/// The most keys that are kept.
const MAX_KEYS: usize = 64;

/// The longest text that is kept, in bytes; of a longer one the beginning.
const MAX_TEXT: usize = 4 << 10;

/// An object with its first keys, or another value by its kind.
pub(super) struct Outline(pub(super) Value);

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Top).map(Self)
    }
}

/// Reads the top level.
struct Top;

/// Reads the value of a key.
struct Below(Value);

impl<'de> Deserialize<'de> for Below {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(KindVisitor).map(Self)
    }
}

/// Keeps what is no list and no object, of which it keeps the kind.
struct KindVisitor;

macro_rules! visit_scalars {
    () => {
        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("JSON")
        }

        fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_str<E>(self, value: &str) -> Result<Value, E> {
            Ok(text::head(value, MAX_TEXT).into())
        }

        fn visit_unit<E>(self) -> Result<Value, E> {
            Ok(Value::Null)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Value::Array(Vec::new()))
        }
    };
}

impl<'de> Visitor<'de> for Top {
    type Value = Value;

    visit_scalars!();

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while kept.len() < MAX_KEYS
            && let Some((key, Below(value))) = object.next_entry::<String, Below>()?
        {
            kept.insert(key, value);
        }
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Object(kept))
    }
}

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Value;

    visit_scalars!();

    /// A number comes as an object too, with its digits.
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Object(Map::new()))
    }
}
