//! Formats: an edit changes what it should and leaves every other line alone,
//! and what a program writes it can read again.

use statewarden::base::actor::AgentName;
use statewarden::formats::json::Document;
use statewarden::formats::yaml::{self, KeyChange, Value};
use statewarden::formats::{front_matter as format, markdown};
use statewarden::host::settings_json::{self, Edited, EntryFilter};
use statewarden::settings::merge::Layer;
use statewarden::settings::model::Settings;
use statewarden::systems::agent_flow::state::{Agent, FileKind, FlowFile, FlowState, Mode};
use statewarden::systems::agent_flow::{content, gates};
use statewarden::systems::devt::workflow_yaml;
use statewarden::systems::gate_record::GateRecord;
use statewarden::systems::system::{self, AgentEvent, Files, Place, SYSTEMS, System};

pub fn front_matter(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let text = text.as_ref();
    splits_without_loss(text);
    edits_one_entry(text);
    quotes_what_is_read_back(text);
    sets_one_key(text);
    keeps_runs_readable(text);
    renders_what_it_read(text);
    wires_once(text);
    asks_every_system(text);
    Settings::resolve(&[(Layer::Project, "settings", Ok(text))], &system::known());
    for line in markdown::outside_fences(text) {
        markdown::checkbox(line);
        markdown::field(line, "Status");
    }
}

fn splits_without_loss(text: &str) {
    let Ok(document) = format::split(text) else {
        return;
    };
    let value = yaml::parse(document.front);
    let edited = |changes: &[KeyChange], body: &str| {
        let value = value.clone().ok()?;
        Some(document.edited(value, changes, body))
    };
    let unchanged = edited(&[], document.body);
    assert!(unchanged.is_none_or(|unchanged| unchanged.as_deref() == Ok(text)));
    let is_fence = |line: &str| matches!(line.trim_end(), "---" | "...");
    if !document.front.lines().any(is_fence) {
        assert_eq!(format::read(text), yaml::parse(document.front));
    }
    if let Some(Ok(edited)) = edited(&[KeyChange::new(["phase"], "x")], "new\n") {
        let again = format::split(&edited).unwrap();
        assert_eq!(again.body, "new\n");
        let value = yaml::parse(again.front).unwrap();
        assert_eq!(yaml::text(&value, &["phase"]).as_deref(), Some("x"));
    }
}

/// The last line of a text is the value that is put into it.
fn last_line(text: &str) -> &str {
    text.lines().next_back().unwrap_or_default()
}

fn edits_one_entry(text: &str) {
    let front = format::split(text).map_or(text, |document| document.front);
    let Ok(before) = yaml::parse(front) else {
        return;
    };
    let leaves = leaves(&before);
    let mut paths: Vec<Vec<String>> = [
        &["phase"][..],
        &["gates", "review", "status"],
        &["new", "a: b"],
    ]
    .map(|path| path.iter().copied().map(str::to_owned).collect())
    .to_vec();
    // Which of its own entries are changed is left to the text.
    let own = [text, last_line(text)].map(|text| chosen(&leaves, text));
    paths.extend(own.into_iter().flatten().map(|(path, _)| path.clone()));
    for path in paths.into_iter().filter(|path| !path.is_empty()) {
        let change = |value| KeyChange {
            path: path.clone(),
            value: Some(value),
            place: yaml::Place::Any,
        };
        let text = Value::from(last_line(text));
        edits(front, &before, &change(text));
        edits(front, &before, &change(Value::from(7)).first());
    }
}

/// One of several, by a text's length.
fn chosen<'a, T>(all: &'a [T], text: &str) -> Option<&'a T> {
    all.get(text.len() % all.len().max(1))
}

fn edits(front: &str, before: &Value, change: &KeyChange) {
    let Ok(edited) = yaml::edit(front, before.clone(), std::slice::from_ref(change)) else {
        return;
    };
    let after = yaml::parse(&edited).unwrap();
    let path: Vec<&str> = change.path.iter().map(String::as_str).collect();
    let expected = change.value.as_ref();
    assert_eq!(yaml::get(&after, &path), expected, "{edited:?}");
    let others = |value| {
        let mut leaves = leaves(value);
        // What led to the value may have been there, and empty.
        leaves.retain(|(path, value)| !change.path.starts_with(path) || !value.is_null());
        leaves.retain(|(path, _)| *path != change.path);
        leaves
    };
    assert_eq!(others(&after), others(before), "{edited:?}");
    if change.place == yaml::Place::Any {
        loses_no_line(front, &edited, change.path.len() + 1);
    }
    keeps_line_ends(front, &edited);
    let again = yaml::edit(&edited, after, std::slice::from_ref(change));
    // A lone CR ends a line to YAML and none to the editor, so that one may be denied.
    let is_odd = edited.replace("\r\n", "").contains('\r');
    if !is_odd || again.is_ok() {
        assert_eq!(again.as_ref(), Ok(&edited), "the same edit again");
    }
}

/// The lines of one entry make way for a few others, the rest is kept.
fn loses_no_line(before: &str, after: &str, most_new: usize) {
    let mut old: Vec<&str> = before.split_inclusive('\n').collect();
    // A last line without an end gets one where another follows.
    let closed = old.last().map(|last| format!("{last}\n"));
    let mut new: Vec<&str> = after.split_inclusive('\n').collect();
    if let (Some(last), Some(closed)) = (old.last_mut(), &closed)
        && !last.ends_with('\n')
        && new.last() != Some(last)
    {
        *last = closed;
    }
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (&old[head..], new.split_off(head));
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same);
    let tail = tail.count();
    let (lost, made) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    assert!(made.len() <= most_new, "{made:?}");
    // Unicode's other blanks are text to YAML.
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    if let Some((key, rest)) = lost.split_first() {
        let below = |line: &&str| {
            let content = line.trim();
            // Items may stand at the key's own indent, in a quoted text as well.
            content.is_empty() || content.starts_with(['#', '-']) || indent(line) > indent(key)
        };
        assert!(
            rest.iter().all(below) || made.is_empty(),
            "{lost:?} became {made:?}"
        );
    }
}

fn keeps_line_ends(before: &str, after: &str) {
    let is_crlf = |text: &str| {
        let mut lines = text.split_inclusive('\n');
        lines.all(|line| line.ends_with("\r\n") || !line.ends_with('\n'))
    };
    if before.contains("\r\n") && is_crlf(before) {
        assert!(is_crlf(after), "{after:?}");
    }
}

/// Every scalar with the keys that lead to it; lists count whole.
fn leaves(value: &Value) -> Vec<(Vec<String>, Value)> {
    let Some(block) = value.as_mapping() else {
        return vec![(Vec::new(), value.clone())];
    };
    let mut found = Vec::new();
    for (key, value) in block {
        // Keys of other types have no path.
        let key = key
            .as_str()
            .map_or_else(|| format!("{key:?}"), str::to_owned);
        for (mut path, leaf) in leaves(value) {
            path.insert(0, key.clone());
            found.push((path, leaf));
        }
    }
    found
}

fn quotes_what_is_read_back(text: &str) {
    let line = last_line(text);
    let value = yaml::parse(&format!("a: {}\n", yaml::quote(line))).unwrap();
    let expected = Value::String(line.to_owned());
    assert_eq!(yaml::get(&value, &["a"]), Some(&expected));
}

/// devt's flat file.
fn sets_one_key(text: &str) {
    let value = workflow_yaml::from_argument("task", last_line(text));
    let change = [("task", Some(value))];
    let Ok(edited) = workflow_yaml::set(text, &change) else {
        return;
    };
    assert_eq!(workflow_yaml::check(&edited), Ok(()), "{edited:?}");
    let fields = |text: &str| -> Vec<(String, serde_json::Value)> {
        let fields = workflow_yaml::read(text);
        let others = fields.iter().filter(|(key, _)| *key != "task");
        others
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    };
    assert_eq!(fields(&edited), fields(text), "{edited:?}");
    assert!(workflow_yaml::read(&edited).get("task").is_some());
    keeps_line_ends(text, &edited);
    let again = workflow_yaml::set(&edited, &change);
    // A lone CR ends a line to YAML and none to the editor, so that one may be denied.
    let is_odd = edited.replace("\r\n", "").contains('\r');
    if !is_odd || again.is_ok() {
        assert_eq!(again.as_ref(), Ok(&edited), "the same edit again");
    }
}

/// Agent Flow's gates.
fn keeps_runs_readable(text: &str) {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    if let Some(agent) = chosen(&Agent::ALL, text) {
        let agent = AgentName::parse(agent.as_str());
        let file = FlowFile::read("", text.to_owned());
        for outcome in [
            gates::on_start(&file, &agent, now),
            gates::on_completion(&file, &agent, text, &gates::Seen::default, now),
            gates::on_stop(&file, now),
        ] {
            let Ok(GateRecord { text: new, .. }) = outcome else {
                continue;
            };
            assert_ne!(new, text);
            assert!(FlowState::read(&new).is_ok(), "{new:?}");
            let file = match FlowState::read(text) {
                Ok(state) if state.mode == Mode::Single => FileKind::Single,
                _ => FileKind::Team,
            };
            if content::check_content(text, file).is_ok() {
                assert_eq!(content::check_content(&new, file), Ok(()), "{new:?}");
            }
        }
    }
}

fn renders_what_it_read(text: &str) {
    if let Ok(mut document) = Document::parse(text) {
        assert_eq!(Document::parse(&document.render()).as_ref(), Ok(&document));
        if document.set(&["a", "b"], last_line(text)).is_ok() {
            let again = Document::parse(&document.render()).unwrap();
            let value = again.get(&["a", "b"]).and_then(|value| value.as_str());
            assert_eq!(value, Some(last_line(text)));
        }
    }
}

fn wires_once(text: &str) {
    if let Ok(Edited::Changed(wired)) = settings_json::merge(text, "/bin/statewarden") {
        let again = settings_json::merge(&wired, "/bin/statewarden");
        assert!(matches!(again, Ok(Edited::Unchanged)), "{wired:?}");
        let removed = settings_json::remove(&wired, EntryFilter::Anyones);
        assert!(matches!(removed, Ok(Edited::Changed(_))), "{wired:?}");
    }
}

/// Every file of a site holds the same text.
struct Same<'t>(&'t str);

impl Files for Same<'_> {
    fn read(&self, _: &str) -> Result<Option<String>, String> {
        Ok(Some(self.0.to_owned()))
    }

    fn dirs(&self) -> Vec<String> {
        vec!["one".to_owned()]
    }
}

fn asks_every_system(text: &str) {
    const ENTRIES: &[&str] = &[
        "workflow.yaml",
        "review.json",
        "review.md",
        "impl-summary.md",
        "orchestration.local.md",
        "deep-dive.local.md",
        "state.json",
        "tasks.md",
        "test-reports/1.md",
        "review/1.md",
        "settings.json",
        "statewarden.yaml",
    ];
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let files = Same(text);
    for system in SYSTEMS {
        for entry in ENTRIES {
            let _ = system.check_content(at(entry), text, Some(text));
        }
        system.runs("site", &files);
        if let Some(name) = chosen(
            &["programmer", "code-reviewer", "lawliet", "explorer"],
            text,
        ) {
            let agent = &AgentName::parse(name);
            system.closed_gate(agent, text, &files);
            let entries = &["one/research-report.md".to_owned()];
            let events = [
                AgentEvent::Start { agent },
                AgentEvent::End {
                    agent,
                    reply: text,
                    task: text,
                },
                AgentEvent::TurnEnd {
                    running: &[],
                    reply: text,
                },
                AgentEvent::Wrote {
                    agent: None,
                    entries,
                },
            ];
            for event in events {
                for record in system.at(event, &files, now).records {
                    is_still_fine(*system, &record, text);
                }
            }
        }
    }
}

fn at(entry: &str) -> Place<'_> {
    Place {
        site: "site",
        entry,
    }
}

/// What this program writes passes its own check of the content. Agent Flow's
/// two files of a run are told apart by more than their names, see above.
fn is_still_fine(system: &dyn System, record: &GateRecord, text: &str) {
    let (name, new) = (record.file.as_str(), record.text.as_str());
    if record.is_change()
        && system.id() != "agent-flow"
        && system.judges(name)
        && system.check_content(at(name), text, None).is_ok()
    {
        let checked = system.check_content(at(name), new, Some(text));
        assert!(checked.is_ok(), "{checked:?}");
    }
}
