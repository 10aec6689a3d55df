//! Events: read as a slow reader reads them, and never taken for unrelated.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use statewarden::base::actor::Actor;
use statewarden::base::env::Env;
use statewarden::guard::targets;
use statewarden::host::agent_result::AgentResult;
use statewarden::host::event::{Event, Field, Kind, Tool};
use statewarden::host::stdin;
use statewarden::log::record::{self, LogLine, Record, What};
use statewarden::shell::Scene;
use statewarden::systems::system;

use super::disk::Memory;

const AT_TOP: &[(&str, Field)] = &[
    ("session_id", Field::SessionId),
    ("cwd", Field::Cwd),
    ("hook_event_name", Field::EventName),
    ("tool_name", Field::ToolName),
    ("tool_use_id", Field::ToolUseId),
    ("agent_id", Field::AgentId),
    ("agent_type", Field::AgentType),
    ("source", Field::Source),
];

const IN_INPUT: &[(&str, Field)] = &[
    ("file_path", Field::FilePath),
    ("notebook_path", Field::NotebookPath),
    ("command", Field::Command),
    ("subagent_type", Field::SubagentType),
];

/// Keys that only other hosts send.
const FOREIGN: &[&str] = &[
    "agent_action_name",
    "clineVersion",
    "cursor_version",
    "hookEventName",
    "hookName",
    "toolArgs",
    "toolName",
    "tool_call_id",
    "turn_id",
];

/// A byte that no JSON text holds stands for text in bulk, which inputs of
/// libFuzzer's size have no room for.
const BULK: u8 = 1;

pub fn event(data: &[u8]) {
    judge(data);
    let body = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut large = vec![b' '; 32 * 1024];
    for byte in body {
        match *byte {
            BULK => large.extend([b'x'; 5_000]),
            byte => large.push(byte),
        }
    }
    judge(&large);
}

fn judge(bytes: &[u8]) {
    system::are_named_in(&String::from_utf8_lossy(bytes));
    stdin::may_be_pre_tool_use(bytes);
    let parsed = Event::parse(bytes);
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // A number of any precision is an object to Serde.
    let is_object = body.trim_ascii_start().starts_with(b"{");
    if let (true, Ok(Json::Object(document))) = (is_object, serde_json::from_slice(body)) {
        let is_foreign = document
            .iter()
            .any(|(key, _)| FOREIGN.contains(&key.as_str()));
        match &parsed {
            Ok(event) => {
                assert_eq!(event.other_host(&Env::default()).is_some(), is_foreign);
                agrees(event, &fields(&document));
            }
            Err(error) => panic!("JSON is refused: {error}"),
        }
    }
    if let Ok(event) = parsed {
        is_told_from_others(&event);
        is_recorded_in_one_line(&event);
    }
}

/// Every value that stands in the bytes counts in some reading: the last of
/// each key in the first one, and the first of each key in one as well.
fn agrees(event: &Event<'_>, wire: &[(Field, String)]) {
    let readings: Vec<_> = event.readings().collect();
    let fields = AT_TOP.iter().chain(IN_INPUT).map(|(_, field)| *field);
    for field in fields.clone() {
        let values = || wire.iter().filter(|(name, _)| *name == field);
        let last = values().next_back().map(|(_, value)| value.as_str());
        assert_eq!(event.get(field), last, "{field:?}");
        assert_eq!(readings[0].get(field), last, "{field:?}");
        if values().count() <= 8 && readings.len() <= 16 {
            for (_, value) in values() {
                let seen = readings
                    .iter()
                    .any(|reading| reading.get(field) == Some(value));
                assert!(seen, "{field:?}: {value:?} is in no reading");
            }
        }
    }
    let first = |field| wire.iter().find(|(name, _)| *name == field);
    let keeps_first = |reading: &Event<'_>| {
        let mut fields = fields.clone();
        fields.all(|field| reading.get(field) == first(field).map(|(_, value)| value.as_str()))
    };
    assert!(
        readings.iter().any(|reading| keeps_first(reading)),
        "no reading keeps what came first"
    );
}

/// What would change a file is no event that is left unread.
fn is_told_from_others(event: &Event<'_>) {
    let changes = |event: &Event<'_>| {
        let scene = Scene {
            cwd: event.cwd().unwrap_or("/p"),
            home: Some("/home/u"),
            project_dir: Some("/p"),
            config_dir: None,
            feature_dir: None,
            disk: &Memory::default(),
        };
        match event.tool() {
            // The analysis is the other target's.
            Tool::Shell(_) => event.get(Field::Command).is_some(),
            _ => targets::of(event, &scene).map_or(true, |targets| !targets.is_empty()),
        }
    };
    for reading in event.readings() {
        if reading.kind() == Kind::PreToolUse && changes(&reading) {
            assert!(event.may_concern(), "a call that changes files is unread");
        }
        assert_eq!(
            reading.actor() == Actor::Main,
            reading.agent_id().is_empty()
        );
    }
    let _ = event.texts();
    AgentResult::of(event);
}

fn is_recorded_in_one_line(event: &Event<'_>) {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let line = Record::new(What::Deny, "why", Some(event), now).to_line();
    assert!(line.len() <= record::MAX_LINE, "{} bytes", line.len());
    assert_eq!(line.find('\n'), Some(line.len() - 1));
    let read: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(read["decision"], "deny");
    assert_eq!(read["source"], "statewarden");
}

/// The needed fields in the order of the wire.
fn fields(document: &[(String, Json)]) -> Vec<(Field, String)> {
    let mut found = Vec::new();
    let mut take = |table: &[(&str, Field)], key: &str, value: &Json| {
        let field = table.iter().find(|(name, _)| *name == key);
        if let (Some((_, field)), Json::Text(text)) = (field, value) {
            found.push((*field, text.clone()));
        }
    };
    for (key, value) in document {
        match (key.as_str(), value) {
            ("tool_input", Json::Object(input)) => {
                input
                    .iter()
                    .for_each(|(key, value)| take(IN_INPUT, key, value));
            }
            (key, value) => take(AT_TOP, key, value),
        }
    }
    found
}

/// JSON in which a key that stands twice is there twice.
enum Json {
    Text(String),
    Object(Vec<(String, Self)>),
    Other,
}

impl<'d> Deserialize<'d> for Json {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'d> Visitor<'d> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut items: A) -> Result<Json, A::Error> {
        while items.next_element::<Json>()?.is_some() {}
        Ok(Json::Other)
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Json::Object(pairs))
    }
}
