//! `config`: the settings in force, each with the file it comes from.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::output::{Page, Paint, Show, writeln};
use super::{Answer, CliContext};
use crate::formats::yaml;
use crate::settings::load::text_or_lost_link;

#[derive(Serialize)]
struct Document {
    settings: Vec<Setting>,
    files: Vec<SettingsFile>,
}

#[derive(Serialize)]
struct Setting {
    key: String,
    value: Value,
    /// `None` for a default.
    file: Option<String>,
}

#[derive(Serialize)]
struct SettingsFile {
    path: String,
    state: FileState,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FileState {
    InForce,
    Missing,
    /// It has an error, which is told on stderr.
    Ignored,
}

pub(crate) fn run(context: &CliContext<'_>) -> Result<Answer> {
    let mut settings = defaults(context);
    let mut files = Vec::new();
    for (_, path) in context.project.settings_files(context.env) {
        let (state, keys) = read(&path, context);
        for (key, value) in keys {
            let overruled = format!("`{key}` in `{path}` ");
            if context
                .rules
                .overruled
                .iter()
                .any(|o| o.starts_with(&overruled))
            {
                continue;
            }
            match settings
                .get_mut(&key)
                .filter(|_| !key.starts_with("systems."))
            {
                // The value that holds is known: files are merged by more rules than this.
                Some(setting) => setting.1 = Some(path.clone()),
                None => {
                    settings.insert(key, (value, Some(path.clone())));
                }
            }
        }
        files.push(SettingsFile { path, state });
    }
    let settings = settings.into_iter();
    let settings = settings.map(|(key, (value, file))| Setting { key, value, file });
    let document = Document {
        settings: settings.collect(),
        files,
    };
    context.show(&document)?;
    Ok(Answer::yes_if(context.rules.problems.is_empty()))
}

/// The keys that always have a value.
fn defaults(context: &CliContext<'_>) -> BTreeMap<String, (Value, Option<String>)> {
    let settings = &context.rules.settings;
    let values = [
        ("mode", json!(settings.mode)),
        ("completion", json!(settings.completion)),
        ("dispatch", json!(settings.dispatch)),
        ("undo", json!(settings.undo)),
        ("recorder", json!(settings.recorder)),
        ("evidence.mode", json!(settings.evidence)),
        ("evidence.commands", json!(settings.test_commands)),
        ("archive.runs", json!(settings.archive_runs)),
        ("log.max_bytes", json!(settings.log_max_bytes)),
        ("on_error", json!(settings.on_error)),
    ];
    let values = values.into_iter();
    values
        .map(|(key, value)| (key.to_owned(), (value, None)))
        .collect()
}

/// The keys of a file, with dots where they nest: `systems.devt.extra_names`.
fn read(path: &str, context: &CliContext<'_>) -> (FileState, Vec<(String, Value)>) {
    let text = match text_or_lost_link(path) {
        Ok(None) => return (FileState::Missing, Vec::new()),
        text => text.ok().flatten(),
    };
    let is_ignored = |problem: &String| problem.starts_with(&format!("`{path}` "));
    let value = text.and_then(|text| yaml::parse_as::<Value>(&text).ok());
    let rules = &context.rules;
    if rules.problems.iter().chain(&rules.left_out).any(is_ignored) {
        return (FileState::Ignored, Vec::new());
    }
    let mut keys = Vec::new();
    flatten("", value.unwrap_or_default(), 0, &mut keys);
    (FileState::InForce, keys)
}

/// No key of the settings lies deeper than `systems.ID.KEY`.
const DEEPEST: u8 = 3;

fn flatten(above: &str, value: Value, depth: u8, keys: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) if depth < DEEPEST => {
            for (key, value) in map {
                let key = match above {
                    "" => key,
                    above => format!("{above}.{key}"),
                };
                flatten(&key, value, depth + 1, keys);
            }
        }
        Value::Null => {}
        value => keys.push((above.to_owned(), value)),
    }
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let rows = self.settings.iter().map(|Setting { key, value, file }| {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            let file = paint.dim(file.as_deref().unwrap_or("default"));
            [Paint::plain(key), Paint::plain(&value), file]
        });
        page.rows(&rows.collect::<Vec<_>>());
        writeln!(page);
        let rows = self.files.iter().map(|file| {
            let state = match file.state {
                FileState::InForce => "in force",
                FileState::Missing => "missing",
                FileState::Ignored => "ignored",
            };
            [Paint::plain(state), paint.dim(&file.path)]
        });
        page.rows(&rows.collect::<Vec<_>>());
    }
}
