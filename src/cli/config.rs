//! `config`: the settings in force, each with the file it comes from.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::{Value, json};

use super::origin::no_person;
use super::output::{Page, Paint, Show, writeln};
use super::{Answer, CliContext};
use crate::base::path;
use crate::formats::yaml;
use crate::project::accepted::{self, Accepted};
use crate::project::roots::Project;
use crate::settings::load::Layers;
use crate::settings::merge::Resolved;
use crate::settings::model::Settings;
use crate::store::lock::{IN_COMMAND, with_lock};

#[derive(Serialize)]
struct SettingsList {
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
    /// It has an error, which is reported on stderr.
    Ignored,
    /// A call may have changed it: the former content is in force.
    Held,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Put in force what a call may have changed, and take logs as they are; at a terminal only
    Accept,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    match args.action {
        None => show(context),
        Some(Action::Accept) => accept(context),
    }
}

/// The answer to `config accept`.
#[derive(Serialize)]
struct AcceptedFiles {
    ok: bool,
    accepted: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

fn accept(context: &CliContext<'_>) -> Result<Answer> {
    let project = &context.project;
    let note = no_person(context)
        .map(|why| format!("only a person at a terminal can accept settings and logs: {why}"));
    let mut accepted = Vec::new();
    if note.is_none() {
        accepted.extend(accepted::accept(project)?);
        accepted.extend(accept_logs(project)?);
    }
    let document = AcceptedFiles {
        ok: note.is_none(),
        accepted,
        note,
    };
    context.show(&document)
}

/// Takes the logs as they are for ours.
fn accept_logs(project: &Project) -> Result<Vec<String>> {
    let folder = project.own_folder();
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let accepted = with_lock(folder, IN_COMMAND, |locked| project.logs().accept(locked))
        .context("could not take the logs as they are")?;
    Ok(accepted.iter().map(|log| path::from_os(log)).collect())
}

impl Show for AcceptedFiles {
    fn text(&self, page: &mut Page<'_>) {
        for path in &self.accepted {
            writeln!(page, "in force: {}", page.paint.dim(path));
        }
        if let Some(note) = &self.note {
            writeln!(page, "{note}");
        } else if self.accepted.is_empty() {
            writeln!(
                page,
                "nothing to accept: all settings are in force, and the logs are as they were written"
            );
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.ok)
    }
}

fn show(context: &CliContext<'_>) -> Result<Answer> {
    let rules = context.rules;
    let layers = context.project.layers_of_commands(context.env);
    let mut settings: Vec<Setting> = general(&rules.settings)
        .into_iter()
        .map(|(key, value)| Setting {
            key: key.to_owned(),
            value,
            file: rules.origins.get(key).cloned(),
        })
        .chain(of_systems(rules, &layers))
        .collect();
    settings.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let files = context.project.settings_files(context.env).iter();
    let document = SettingsList {
        settings,
        files: files
            .map(|(_, path)| SettingsFile {
                state: state(path, &layers, context),
                path: path.clone(),
            })
            .collect(),
    };
    context.show(&document)?;
    Ok(Answer::yes_if(
        rules.problems.is_empty() && rules.contract_errors().is_none(),
    ))
}

fn state(path: &str, layers: &Layers, context: &CliContext<'_>) -> FileState {
    let rules = context.rules;
    let mut not_yet_accepted = Accepted::of(&context.project).held();
    let mut left_out = rules.left_out.iter();
    if not_yet_accepted.any(|file| file == path) {
        FileState::Held
    } else if rules.ignored.iter().any(|ignored| ignored == path)
        || left_out.any(|what| what.path == path && what.system.is_none())
    {
        FileState::Ignored
    } else if layers.text_of(path).is_some() {
        FileState::InForce
    } else {
        FileState::Missing
    }
}

/// The keys that always have a value.
fn general(settings: &Settings) -> [(&'static str, Value); 11] {
    [
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
        ("strict", json!(settings.strict)),
    ]
}

/// The keys of systems that are in force, as their files have them.
fn of_systems(rules: &Resolved, layers: &Layers) -> Vec<Setting> {
    let mut parsed: HashMap<&str, Value> = HashMap::new();
    let mut found = Vec::new();
    for (key, file) in &rules.origins {
        let Some((id, name)) = (key.strip_prefix("systems.")).and_then(|key| key.split_once('.'))
        else {
            continue;
        };
        if !rules.settings.has_system(id) {
            continue;
        }
        let document = parsed.entry(file).or_insert_with(|| {
            let text = layers.text_of(file).unwrap_or_default();
            yaml::parse_as(text).unwrap_or_default()
        });
        found.push(Setting {
            key: key.clone(),
            value: document["systems"][id][name].clone(),
            file: Some(file.clone()),
        });
    }
    found
}

impl Show for SettingsList {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let rows = self.settings.iter().map(|Setting { key, value, file }| {
            let shown = value.as_str().map_or(value.to_string(), str::to_owned);
            let origin = file.as_deref().map(|file| page.context.below_root(file));
            let origin = paint.dim(origin.unwrap_or("default")).path();
            [origin, Paint::plain(key), Paint::plain(&shown)]
        });
        page.table(&rows.collect::<Vec<_>>(), &[2, 0, 1]);
        writeln!(page);
        let rows = self.files.iter().map(|file| {
            let state = match file.state {
                FileState::InForce => "in force",
                FileState::Missing => "missing",
                FileState::Ignored => "ignored",
                FileState::Held => {
                    "held: the former content is in force until `statewarden config accept`"
                }
            };
            [Paint::plain(state), paint.dim(&file.path).path()]
        });
        page.table(&rows.collect::<Vec<_>>(), &[1]);
    }
}
