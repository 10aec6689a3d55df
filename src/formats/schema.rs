//! The part of JSON Schema that says what a state file may hold. YAML counts as
//! the same in JSON.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::brief;
use super::json::kind;
use super::ordered::Ordered;
use super::typed::TypeFault;
use crate::base::clock;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Schema {
    #[serde(rename = "$defs")]
    defs: Ordered<Self>,
    /// `#/$defs/NAME`
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type", deserialize_with = "one_or_several")]
    types: Vec<Type>,
    required: Vec<String>,
    /// Our own word: keys whose absence is worth a note and no fault.
    recommended: Vec<String>,
    /// In order, which is that of the faults.
    properties: Ordered<Self>,
    #[serde(deserialize_with = "schema_or_boolean")]
    additional_properties: Option<Box<Self>>,
    items: Option<Box<Self>>,
    #[serde(rename = "enum")]
    allowed: Vec<Value>,
    any_of: Vec<Self>,
    not: Option<Box<Self>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    format: Option<Format>,
    /// What a message says that a value should be.
    description: Option<String>,
    #[serde(rename = "$schema")]
    _dialect: Option<String>,
    #[serde(rename = "$id")]
    _id: Option<String>,
    #[serde(rename = "$comment")]
    _comment: Option<String>,
    #[serde(rename = "title")]
    _title: Option<String>,
    #[serde(rename = "default")]
    _default: Option<Value>,
    #[serde(rename = "examples")]
    _examples: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    /// Without an offset, too: models leave it out.
    DateTime,
}

impl Type {
    fn is_of(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_u64() || value.is_i64(),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true or false",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

fn one_or_several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Type>, D::Error> {
    struct OneOrSeveral;
    impl<'de> Visitor<'de> for OneOrSeveral {
        type Value = Vec<Type>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a type or a list of types")
        }

        fn visit_str<E: de::Error>(self, word: &str) -> Result<Vec<Type>, E> {
            Ok(vec![Type::deserialize(word.into_deserializer())?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<Type>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    from.deserialize_any(OneOrSeveral)
}

/// `false` is the schema of keys that may not be there.
fn schema_or_boolean<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<Schema>>, D::Error> {
    struct SchemaOrBoolean;
    impl<'de> Visitor<'de> for SchemaOrBoolean {
        type Value = Option<Box<Schema>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a schema, `true` or `false`")
        }

        fn visit_bool<E>(self, is_open: bool) -> Result<Self::Value, E> {
            if is_open {
                return Ok(None);
            }
            Ok(Some(Box::new(Schema {
                not: Some(Box::default()),
                description: Some("a key that may be there".to_owned()),
                ..Schema::default()
            })))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Schema::deserialize(MapAccessDeserializer::new(map)).map(|it| Some(Box::new(it)))
        }
    }
    from.deserialize_any(SchemaOrBoolean)
}

/// A value that is not as its schema says, or is missing.
#[derive(Clone, Debug)]
pub struct Fault<'s> {
    /// The keys that lead to it, with dots between them.
    pub path: String,
    /// None where it is missing.
    pub found: Option<Value>,
    pub schema: &'s Schema,
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.path, self.what())
    }
}

impl Fault<'_> {
    /// The fault with the name of the file.
    pub fn in_file(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => format!("`{name}` is {}", self.what()),
            path => format!("`{path}` in `{name}` is {}", self.what()),
        }
    }

    fn what(&self) -> String {
        let found = match &self.found {
            None => return "missing".to_owned(),
            Some(Value::String(text)) => format!("\"{}\"", brief(text)),
            Some(number @ Value::Number(_)) if self.schema.has_type_of(number) => {
                number.to_string()
            }
            Some(other) => kind(other).to_owned(),
        };
        format!("{found}, not {}", self.schema.wanted())
    }
}

/// What a check found, in the order of the schema.
#[derive(Clone, Debug, Default)]
pub struct SchemaReport<'s> {
    pub faults: Vec<Fault<'s>>,
    /// The recommended keys that are not there.
    pub missing: Vec<Fault<'s>>,
}

impl<'s> SchemaReport<'s> {
    /// # Errors
    /// The first wrong value, else the first key that is missing.
    pub fn into_result(mut self) -> Result<Vec<Fault<'s>>, Fault<'s>> {
        if self.faults.is_empty() {
            return Ok(self.missing);
        }
        let wrong = self.faults.iter().position(|fault| fault.found.is_some());
        Err(self.faults.swap_remove(wrong.unwrap_or(0)))
    }
}

impl Schema {
    /// # Errors
    /// The text is no JSON, or uses what this part of JSON Schema lacks.
    pub fn parse(text: &str) -> Result<Self, TypeFault> {
        serde_json::from_str(text).map_err(|error| TypeFault::of_json::<Self>(text, &error))
    }

    /// One of the program's own, which its tests read.
    pub fn built_in(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }

    /// One of its definitions.
    pub fn def(&self, name: &str) -> Option<&Self> {
        self.defs.get(name)
    }

    pub fn property(&self, key: &str) -> Option<&Self> {
        self.properties.get(key)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.properties.0.iter().map(|(key, _)| key.as_str())
    }

    /// Checks a value against one of the definitions, or with `""` the schema itself.
    pub fn check(&self, def: &str, value: &impl Serialize) -> SchemaReport<'_> {
        let mut report = SchemaReport::default();
        // A mapping with a key that JSON has no text for has none of the keys either.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        let schema = self.def(def).unwrap_or(self);
        self.check_at(schema, "", &value, &mut report);
        report
    }

    fn check_at<'s>(
        &'s self,
        at: &'s Self,
        path: &str,
        value: &Value,
        report: &mut SchemaReport<'s>,
    ) {
        let name = at
            .reference
            .as_deref()
            .and_then(|path| path.strip_prefix("#/$defs/"));
        let at = name.and_then(|name| self.def(name)).unwrap_or(at);
        if !self.fits(at, value) {
            report.faults.push(Fault {
                path: path.to_owned(),
                found: Some(value.clone()),
                schema: at,
            });
            return;
        }
        if let Value::Object(map) = value {
            self.check_object(at, path, map, report);
        }
        for (n, item) in value.as_array().into_iter().flatten().enumerate() {
            if let Some(items) = &at.items {
                self.check_at(items, &format!("{path}[{n}]"), item, report);
            }
        }
    }

    fn check_object<'s>(
        &'s self,
        at: &'s Self,
        path: &str,
        map: &Map<String, Value>,
        report: &mut SchemaReport<'s>,
    ) {
        let below = |key: &str| match path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        let missing = |key: &str, schema| Fault {
            path: below(key),
            found: None,
            schema,
        };
        for (key, schema) in &at.properties.0 {
            match map.get(key) {
                Some(value) => self.check_at(schema, &below(key), value, report),
                None if at.required.contains(key) => report.faults.push(missing(key, schema)),
                None if at.recommended.contains(key) => report.missing.push(missing(key, schema)),
                None => {}
            }
        }
        let is_known = |key: &String| at.properties.get(key).is_some();
        for key in at
            .required
            .iter()
            .filter(|key| !is_known(key) && !map.contains_key(*key))
        {
            report.faults.push(missing(key, at));
        }
        if let Some(schema) = &at.additional_properties {
            for (key, value) in map.iter().filter(|(key, _)| !is_known(key)) {
                self.check_at(schema, &below(key), value, report);
            }
        }
    }

    fn fits(&self, at: &Self, value: &Value) -> bool {
        let is_in_range = value.as_f64().is_none_or(|number| {
            at.minimum.is_none_or(|least| number >= least)
                && at.maximum.is_none_or(|most| number <= most)
        });
        let has_format = match (at.format, value) {
            (Some(Format::DateTime), Value::String(text)) => clock::parse(text).is_some(),
            _ => true,
        };
        let fits = |schema: &Self| {
            let mut report = SchemaReport::default();
            self.check_at(schema, "", value, &mut report);
            report.faults.is_empty()
        };
        at.has_type_of(value)
            && (at.allowed.is_empty() || at.allowed.contains(value))
            && is_in_range
            && has_format
            && (at.any_of.is_empty() || at.any_of.iter().any(fits))
            && at.not.as_deref().is_none_or(|schema| !fits(schema))
    }

    fn has_type_of(&self, value: &Value) -> bool {
        self.types.is_empty() || self.types.iter().any(|wanted| wanted.is_of(value))
    }

    pub fn takes(&self, wanted: Type) -> bool {
        self.types.contains(&wanted)
    }

    /// The values of a closed set, null aside; empty for any other schema.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for value in self.allowed.iter().filter(|value| !value.is_null()) {
            let word = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            if !word.is_empty() && !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    /// What a value should be, as part of a sentence.
    pub fn wanted(&self) -> String {
        if let Some(description) = &self.description {
            return description.clone();
        }
        match self.words().as_slice() {
            [] => {}
            [only] => return only.clone(),
            words => return format!("one of {}", words.join(", ")),
        }
        if self.format.is_some() {
            return "a time like 2026-01-10T14:30:22Z".to_owned();
        }
        let names: Vec<&str> = self.types.iter().map(|kind| kind.name()).collect();
        let range = match (self.minimum, self.maximum) {
            (Some(least), Some(most)) => format!(" from {least} to {most}"),
            (Some(least), None) => format!(" from {least}"),
            (None, _) => String::new(),
        };
        names.join(" or ") + &range
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The faults and the missing keys, one a line.
    #[track_caller]
    fn check(schema: &str, value: Value, expected: &[&str]) {
        let schema = Schema::parse(schema).unwrap();
        let SchemaReport { faults, missing } = schema.check("", &value);
        let found: Vec<String> = faults
            .iter()
            .chain(&missing)
            .map(Fault::to_string)
            .collect();
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn each_keyword_is_kept() {
        let object = r#"{"type": "object", "required": ["b", "x"], "recommended": ["c"], "properties": {
            "b": {"type": "boolean"}, "a": {"type": ["string", "null"]}, "c": {"items": {"type": "integer", "minimum": 1}}}}"#;
        check(object, json!([]), &["`` is an array, not an object"]);
        check(object, json!({"b": true, "x": 1, "c": [1, 2]}), &[]);
        let value = json!({"a": 7, "c": [1, 0, "3"]});
        let faults = [
            "`b` is missing",
            "`a` is a number, not a string or null",
            "`c[1]` is 0, not a whole number from 1",
            "`c[2]` is \"3\", not a whole number from 1",
            "`x` is missing",
        ];
        check(object, value, &faults);
        check(object, json!({"b": true, "x": 1}), &["`c` is missing"]);
        let words = r##"{"$defs": {"w": {"enum": ["a", "b", true]}}, "additionalProperties": {"$ref": "#/$defs/w"}}"##;
        check(words, json!({"k": "a", "l": true}), &[]);
        check(
            words,
            json!({"k": {}, "l": "c"}),
            &[
                "`k` is an object, not one of a, b, true",
                "`l` is \"c\", not one of a, b, true",
            ],
        );
        let time = r#"{"properties": {"t": {"description": "a time", "anyOf": [{"format": "date-time"}, {"enum": [""]}]}}}"#;
        check(time, json!({"t": "2026-01-10T14:30"}), &[]);
        check(time, json!({"t": ""}), &[]);
        check(time, json!({"t": "soon"}), &["`t` is \"soon\", not a time"]);
    }

    #[test]
    fn further_keys_may_be_forbidden() {
        let closed = |further: &str| {
            format!(
                r#"{{"$id": "x", "properties": {{"a": {{"default": 1}}}}, "additionalProperties": {further}}}"#
            )
        };
        check(&closed("true"), json!({"b": 1}), &[]);
        check(&closed("false"), json!({"a": 1}), &[]);
        let fault = "`b` is 1, not a key that may be there";
        check(&closed("false"), json!({"a": 1, "b": 1}), &[fault]);
    }

    #[test]
    fn what_is_not_kept_is_an_error() {
        let why = Schema::parse(r#"{"properties": {"a": {"pattern": "x"}}}"#).unwrap_err();
        assert!(
            why.to_string()
                .starts_with("line 1: `properties.a`: unknown key `pattern`"),
            "{why}"
        );
        assert!(Schema::parse(r#"{"type": "text"}"#).is_err());
    }
}
