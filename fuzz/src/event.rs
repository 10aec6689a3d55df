//! Events: read as a slow reader reads them, and never taken for unrelated.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use statewarden::base::actor::Actor;
use statewarden::base::env::Env;
use statewarden::formats::surrogates;
use statewarden::guard::targets;
use statewarden::host::agent_result::AgentResult;
use statewarden::host::event::{Event, Kind, Text, Tool};
use statewarden::host::stdin;
use statewarden::log::record::{self, LogLine, Record, What};
use statewarden::shell::Scene;
use statewarden::systems::system;

use super::disk::Memory;

type Field = for<'e, 'b> fn(&'e Event<'b>) -> &'e Text<'b>;

const AT_TOP: &[(&str, Field)] = &[
    ("session_id", |event| &event.session_id),
    ("cwd", |event| &event.cwd),
    ("hook_event_name", |event| &event.hook_event_name),
    ("tool_name", |event| &event.tool_name),
    ("tool_use_id", |event| &event.tool_use_id),
    ("agent_id", |event| &event.agent_id),
    ("agent_type", |event| &event.agent_type),
];

const IN_INPUT: &[(&str, Field)] = &[
    ("file_path", |event| &event.input.file_path),
    ("notebook_path", |event| &event.input.notebook_path),
    ("command", |event| &event.input.command),
    ("subagent_type", |event| &event.input.subagent_type),
];

/// Keys that only other hosts send.
const FOREIGN: &[&[&str]] = &[
    &["agent_action_name"],
    &["clineVersion"],
    &["conversation_id", "workspace_roots"],
    &["cursor_version"],
    &["hookEventName"],
    &["hookName"],
    &["timestamp", "tool_result"],
    &["toolArgs"],
    &["toolName"],
    &["tool_call_id"],
    &["turn_id"],
];

pub fn event(data: &[u8]) {
    let mut bytes = data.to_vec();
    surrogates::repair(&mut bytes);
    system::are_named_in(&String::from_utf8_lossy(&bytes));
    stdin::may_be_before_call(&bytes);
    let parsed = Event::parse(&bytes);
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    // A number of any precision is an object to Serde.
    let is_object = body.trim_ascii_start().starts_with(b"{");
    if let (true, Ok(Json::Object(document))) = (is_object, serde_json::from_slice(body)) {
        agrees(&parsed, &document);
    }
    if let Ok(event) = parsed {
        is_told_from_others(&event);
        is_recorded_in_one_line(&event);
    }
}

/// Every value that stands in the bytes counts; a needed key stands there once.
fn agrees(parsed: &Result<Event<'_>, serde_json::Error>, document: &[(String, Json)]) {
    let input = document.iter().find_map(|(key, value)| match value {
        Json::Object(input) if key == "tool_input" => Some(input.as_slice()),
        _ => None,
    });
    let tables = [(AT_TOP, document), (IN_INPUT, input.unwrap_or_default())];
    let event = match parsed {
        Ok(event) => event,
        Err(error) => {
            let mut all = tables.iter().map(|(_, object)| object);
            assert!(all.any(|object| is_any_twice(object)), "{error}");
            return;
        }
    };
    for (table, object) in tables {
        for (name, field) in table {
            let found: Vec<_> = object.iter().filter(|(key, _)| key == name).collect();
            assert!(found.len() < 2, "`{name}` stands twice");
            let text = found.first().and_then(|(_, value)| match value {
                Json::Text(text) => Some(text.as_str()),
                _ => None,
            });
            assert_eq!(field(event).get(), text, "{name}");
        }
    }
    let has = |key: &&str| document.iter().any(|(name, _)| name == key);
    let is_foreign = FOREIGN.iter().any(|keys| keys.iter().all(has));
    assert_eq!(event.other_host(&Env::default()).is_some(), is_foreign);
}

fn is_any_twice(object: &[(String, Json)]) -> bool {
    let is_twice = |at: usize| object[..at].iter().any(|(key, _)| *key == object[at].0);
    (0..object.len()).any(is_twice)
}

/// What would change a file is no event that is left unread.
fn is_told_from_others(event: &Event<'_>) {
    let changes = |event: &Event<'_>| {
        let scene = Scene {
            cwd: event.cwd.get().unwrap_or("/p"),
            env: &Env {
                home: Some("/home/u".into()),
                project_dir: Some("/p".into()),
                ..Env::default()
            },
            disk: &Memory::default(),
        };
        match event.tool() {
            // The analysis is the other target's.
            Tool::Shell(_) => event.input.command.get().is_some(),
            _ => targets::of(event, &scene).map_or(true, |changes| !changes.targets.is_empty()),
        }
    };
    if event.kind() == Kind::PreToolUse && changes(event) {
        assert!(
            event.point().is_some(),
            "a call that changes files is unread"
        );
    }
    assert_eq!(event.actor() == Actor::Main, event.agent_id().is_empty());
    let _ = event.input.texts();
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
