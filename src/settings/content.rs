//! What the files of a declared system have to hold.

use std::path::Path;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::Value;

use crate::base::disk::bounded_read::read_text;
use crate::formats::schema::Schema;
use crate::settings::file::explain;
use crate::settings::names::{Root, relative};

/// What a file has to hold to be written.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
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
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(from = "String")]
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
        Self::deserialize(Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl ContentRule {
    /// Checks the rule, and takes the path of its schema from the directory of the file that
    /// names it.
    pub(super) fn stand_in(&mut self, dir: &Path) -> Result<(), String> {
        let is_value = |value: &String| !value.is_empty() && value.trim() == value;
        match self {
            Self::Schema(file) => {
                let below = relative("content", &file.path, Root::Refused)?;
                file.path = dir.join(below).to_string_lossy().replace('\\', "/");
            }
            Self::StatusLine(values) if values.is_empty() || !values.iter().all(is_value) => {
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
        let text = read_text(&file.path).map_err(|error| error.to_string());
        let text = text.and_then(|text| text.ok_or_else(|| "there is no such file".to_owned()));
        let schema = text.and_then(|text| Schema::parse(&text).map_err(|error| explain(&error)));
        file.schema = schema.map_err(|why| format!("`{}`: {why}", file.path))?;
        Ok(())
    }
}
