//! Parts of an event, read as leniently as its client may change them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use serde_json::{Error, Value, from_str};

/// A string, borrowed where it has no escapes; any other value counts as missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'j>(Option<Cow<'j, str>>);

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Some(Cow::Owned(text)))
    }
}

impl Text<'_> {
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The text; empty where it is missing.
    pub fn as_str(&self) -> &str {
        self.get().unwrap_or_default()
    }
}

impl<'de: 'j, 'j> Deserialize<'de> for Text<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Str<'s>(#[serde(borrow)] Cow<'s, str>);
        let json = <&RawValue>::deserialize(deserializer)?.get();
        if !json.starts_with('"') {
            return Ok(Self(None));
        }
        let Str(text) = from_str(json).map_err(D::Error::custom)?;
        Ok(Self(Some(text)))
    }
}

/// A value that is read when it is asked for: it can be all that a program printed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Raw<'j>(#[serde(borrow)] Option<&'j RawValue>);

impl Raw<'_> {
    /// How many bytes the JSON of the value has.
    pub(super) fn len(self) -> usize {
        self.0.map_or(0, |raw| raw.get().len())
    }

    /// Null where it is missing or nests too deep.
    pub fn value(self) -> Value {
        self.read().ok().flatten().unwrap_or_default()
    }

    /// The value; `None` where it is missing or null.
    ///
    /// # Errors
    /// It has another type, or nests too deep.
    pub fn read<T: DeserializeOwned>(self) -> Result<Option<T>, Error> {
        self.0.map(|raw| from_str(raw.get())).transpose()
    }
}

/// The keys of an object; any other value has none.
pub(super) fn keys<'j, T, D>(value: D) -> Result<T, D::Error>
where
    T: Deserialize<'j> + Default,
    D: Deserializer<'j>,
{
    value.deserialize_any(Keys(PhantomData))
}

/// Reads them in one pass: what a file would hold is megabytes.
struct Keys<T>(PhantomData<T>);

impl<'j, T: Deserialize<'j> + Default> Visitor<'j> for Keys<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut seq: A) -> Result<T, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
}
