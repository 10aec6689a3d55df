//! What the files of a declared system have to hold.

use std::fmt;
use std::path::Path;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::base::disk::bounded_read::read_text;
use crate::formats::schema::Schema;
use crate::settings::names::{Root, relative};

/// What a file has to hold to be written.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum ContentRule {
    Json,
    Yaml,
    FrontMatter,
    /// What a JSON Schema says, of the front matter where the name ends in `.md`.
    Schema(Box<SchemaFile>),
    /// One line `**Status:** VALUE` or `Status: VALUE` with one of these values.
    #[serde(rename = "status_line")]
    StatusLine(Vec<String>),
}

/// A JSON Schema in a file of its own.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(from = "String", into = "String")]
pub struct SchemaFile {
    path: String,
    /// Empty until it is loaded.
    pub schema: Schema,
}

impl From<String> for SchemaFile {
    fn from(path: String) -> Self {
        let schema = Schema::default();
        Self { path, schema }
    }
}

/// A word, or a mapping of one key: the YAML crate would take a tag for the latter.
impl<'de> Deserialize<'de> for ContentRule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct WordOrKey;
        impl<'de> Visitor<'de> for WordOrKey {
            type Value = ContentRule;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word such as `json`, or one key such as `schema: FILE`")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<ContentRule, E> {
                ContentRule::deserialize(word.into_deserializer())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ContentRule, A::Error> {
                let rule = ContentRule::deserialize(MapAccessDeserializer::new(&mut map))?;
                match map.next_key::<String>()? {
                    Some(key) => Err(de::Error::custom(format!(
                        "one key is enough; leave out `{key}`"
                    ))),
                    None => Ok(rule),
                }
            }
        }
        from.deserialize_any(WordOrKey)
    }
}

impl Serialize for ContentRule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl From<SchemaFile> for String {
    fn from(file: SchemaFile) -> Self {
        file.path
    }
}

impl ContentRule {
    /// The file of the schema of a rule that has one.
    pub(super) fn schema_file(&self) -> Option<&str> {
        match self {
            Self::Schema(file) => Some(&file.path),
            Self::StatusLine(_) | Self::Json | Self::Yaml | Self::FrontMatter => None,
        }
    }

    /// Checks the rule, and takes the path of its schema from the directory of the file that
    /// names it.
    pub(super) fn take_path_from(&mut self, dir: &Path) -> Result<(), String> {
        match self {
            Self::Schema(file) => {
                let below = relative("content", &file.path, Root::Refused)?;
                file.path = dir.join(below).to_string_lossy().replace('\\', "/");
            }
            Self::StatusLine(values)
                if values.is_empty()
                    || values.iter().any(|it| it.is_empty() || it.trim() != it) =>
            {
                return Err("`content`: `status_line` lists the values of the line".to_owned());
            }
            Self::StatusLine(_) | Self::Json | Self::Yaml | Self::FrontMatter => {}
        }
        Ok(())
    }

    /// Reads the schema of a rule that has one.
    pub(super) fn load(&mut self) -> Result<(), String> {
        let Self::Schema(file) = self else {
            return Ok(());
        };
        let schema = read_schema(&file.path);
        file.schema = schema.map_err(|why| format!("`{}`: {why}", file.path))?;
        Ok(())
    }
}

fn read_schema(path: &str) -> Result<Schema, String> {
    match read_text(path) {
        Ok(Some(text)) => Schema::parse(&text).map_err(|fault| fault.to_string()),
        Ok(None) => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
