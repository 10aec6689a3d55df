//! What a file of a declared system has to hold.

use serde_json::{Value, json};

use crate::formats::schema::Schema;
use crate::formats::{brief, front_matter, json, markdown, yaml};
use crate::settings::content::ContentRule;
use crate::systems::system::Note;

/// Judges the text of a file.
///
/// # Errors
/// What is wrong with it, and what to write.
pub(super) fn check(rule: &ContentRule, name: &str, text: &str) -> Result<Vec<Note>, String> {
    match rule {
        ContentRule::Json => json_of(name, text).map(|_| Vec::new()),
        ContentRule::Yaml => yaml(name, text).map(|_| Vec::new()),
        ContentRule::FrontMatter => front_matter(name, text).map(|_| Vec::new()),
        ContentRule::Schema(file) => fits(&file.schema, name, text),
        ContentRule::StatusLine(values) => status_line(values, name, text).map(|()| Vec::new()),
    }
}

fn json_of(name: &str, text: &str) -> Result<Value, String> {
    json::outline(text).map_err(|error| format!("`{name}` is not valid JSON: {error}"))
}

fn yaml(name: &str, text: &str) -> Result<yaml::Value, String> {
    yaml::parse(text).map_err(|error| format!("`{name}` is not valid YAML: {error}"))
}

fn front_matter(name: &str, text: &str) -> Result<yaml::Value, String> {
    front_matter::read(text)
        .map_err(|error| format!("the front matter of `{name}` cannot be read: {error}"))
}

/// Of a text that is too large for it, only the format is judged. Markdown without front matter
/// has none of the keys.
fn fits(schema: &Schema, name: &str, text: &str) -> Result<Vec<Note>, String> {
    if text.len() > json::MAX_WHOLE && name.ends_with(".json") {
        let limit = json::MAX_WHOLE >> 10;
        let what = format!("`{name}` is larger than {limit} KiB, so its schema was not asked");
        return json_of(name, text).map(|_| vec![Note::Remark(what)]);
    }
    let report = match name.rsplit('.').next() {
        Some("json") => schema.check("", &json_of(name, text)?),
        Some("md") if has_no_front_matter(text) && takes_nothing(schema) => return Ok(Vec::new()),
        Some("md") => schema.check("", &front_matter(name, text)?),
        _ => schema.check("", &yaml(name, text)?),
    };
    let missing = report.into_result().map_err(|fault| fault.in_file(name))?;
    Ok(missing
        .into_iter()
        .map(|fault| Note::Remark(fault.in_file(name)))
        .collect())
}

fn has_no_front_matter(text: &str) -> bool {
    matches!(front_matter::find(text), Ok(None))
}

/// Whether a schema is content with no key at all.
fn takes_nothing(schema: &Schema) -> bool {
    schema.check("", &json!({})).into_result().is_ok()
}

fn status_line(values: &[String], name: &str, text: &str) -> Result<(), String> {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let behind =
        |line| markdown::field(line, "Status").or_else(|| str::strip_prefix(line, "Status:"));
    let found: Vec<&str> = markdown::outside_fences(text).filter_map(behind).collect();
    let what = match found.as_slice() {
        [] => format!("`{name}` has no status line"),
        [one] if markdown::status(one, &values).is_some() => return Ok(()),
        [one] => format!("`{}` is no status of `{name}`", brief(one.trim())),
        several => format!("`{name}` has {} status lines", several.len()),
    };
    let lines: Vec<String> = values
        .iter()
        .map(|value| format!("`**Status:** {value}`"))
        .collect();
    Err(format!(
        "{what}; write one line {}, outside code fences",
        lines.join(" or ")
    ))
}
