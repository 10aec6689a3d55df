//! Wire JSON → [`Event`]. Only the fields that a decision needs are decoded;
//! everything else, a written file's content above all, is skipped in place.

mod bulk;
mod document;
mod escapes;
mod halves;
mod input;
mod tool;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::base::actor::{Actor, AgentName, UNKNOWN_AGENT};
use crate::base::env::Env;

pub use bulk::{Bulk, unclosed};
pub use document::Document;
pub use halves::read_value;
use halves::tolerated;

pub use input::Texts;
pub use tool::{Shell, Tool, words};

/// A field of the wire event, by where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    SessionId,
    Cwd,
    EventName,
    ToolName,
    ToolUseId,
    AgentId,
    AgentType,
    Source,
    FilePath,
    NotebookPath,
    Command,
    SubagentType,
}

impl Field {
    fn at_top(key: &str) -> Option<Self> {
        Some(match key {
            "session_id" => Self::SessionId,
            "cwd" => Self::Cwd,
            "hook_event_name" => Self::EventName,
            "tool_name" => Self::ToolName,
            "tool_use_id" => Self::ToolUseId,
            "agent_id" => Self::AgentId,
            "agent_type" => Self::AgentType,
            "source" => Self::Source,
            _ => return None,
        })
    }

    /// Whether a key as it stands in JSON may name a field, for all its escapes.
    fn may_be_named(raw: &[u8]) -> bool {
        let named = |key| Self::at_top(key).or_else(|| Self::in_input(key)).is_some();
        raw.contains(&b'\\') || std::str::from_utf8(raw).is_ok_and(named)
    }

    fn in_input(key: &str) -> Option<Self> {
        Some(match key {
            "file_path" => Self::FilePath,
            "notebook_path" => Self::NotebookPath,
            "command" => Self::Command,
            "subagent_type" => Self::SubagentType,
            _ => return None,
        })
    }
}

/// The events that matter here. New events of Claude Code are `Other`, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Kind {
    PreToolUse,
    PostToolUse,
    /// The tool failed; a command may have written before it did.
    PostToolUseFailure,
    SubagentStart,
    SubagentStop,
    Stop,
    SessionStart,
    /// A settings file of Claude Code has changed.
    ConfigChange,
    Other,
}

impl Kind {
    fn parse(name: &str) -> Self {
        match name {
            "PreToolUse" => Self::PreToolUse,
            "PostToolUse" => Self::PostToolUse,
            "PostToolUseFailure" => Self::PostToolUseFailure,
            "SubagentStart" => Self::SubagentStart,
            "SubagentStop" => Self::SubagentStop,
            "Stop" => Self::Stop,
            "SessionStart" => Self::SessionStart,
            "ConfigChange" => Self::ConfigChange,
            _ => Self::Other,
        }
    }
}

/// One event of Claude Code, borrowing from the bytes it was read from.
#[derive(Clone, Debug)]
pub struct Event<'b> {
    bytes: &'b [u8],
    bulk: Bulk,
    /// Every needed field in the order of the wire; a key that stands twice is in here twice.
    fields: Vec<(Field, Cow<'b, str>)>,
    other_host: Option<&'static str>,
}

/// From this size on the bulk of an event is taken out before it is parsed,
/// which costs a fifth of parsing it.
const LARGE: usize = 8 * 1024;

/// A client writes each of its twelve keys once; every further one is a further reading.
const MAX_FIELDS: usize = 32;

/// The host that puts a key into its events which Claude Code does not.
fn other_host(key: &str) -> Option<&'static str> {
    Some(match key {
        "agent_action_name" => "Windsurf",
        "clineVersion" | "hookName" => "Cline",
        "cursor_version" => "Cursor",
        "hookEventName" => "VS Code",
        "toolArgs" | "toolName" => "Copilot",
        "tool_call_id" => "Qwen Code",
        "turn_id" => "Codex",
        _ => return None,
    })
}

impl<'b> Event<'b> {
    /// Parses the bytes of one event; a byte order mark before it is skipped.
    ///
    /// # Errors
    /// No JSON object, or text that is no UTF-8 in a needed field.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, serde_json::Error> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let short = match bytes.len() {
            ..LARGE => None,
            _ => bulk::without_bulk(bytes),
        };
        match short {
            None => Self::parse_tolerantly(bytes),
            Some(short) => Event::parse_tolerantly(&short).map(|event| event.of(bytes)),
        }
    }

    fn parse_tolerantly(bytes: &'b [u8]) -> Result<Self, serde_json::Error> {
        Self::parse_all(bytes).or_else(|error| match halves::repaired(bytes) {
            Some(repaired) => Event::parse_all(&repaired).map(|event| event.of(bytes)),
            None => Err(error),
        })
    }

    /// The event as that of other bytes with the same meaning.
    fn of(self, bytes: &[u8]) -> Event<'_> {
        let fields = self.fields.into_iter();
        Event {
            bytes,
            bulk: self.bulk,
            fields: fields
                .map(|(field, text)| (field, Cow::Owned(text.into_owned())))
                .collect(),
            other_host: self.other_host,
        }
    }

    fn parse_all(bytes: &'b [u8]) -> Result<Self, serde_json::Error> {
        let mut wire = Wire {
            fields: Vec::with_capacity(12),
            other_host: None,
        };
        let mut json = serde_json::Deserializer::from_slice(bytes);
        json.deserialize_map(&mut wire)?;
        json.end()?;
        if wire.fields.len() > MAX_FIELDS {
            let why = format!("its keys stand twice, more than {MAX_FIELDS} in all");
            return Err(serde::de::Error::custom(why));
        }
        Ok(Self {
            bytes,
            bulk: Bulk::Kept,
            fields: wire.fields,
            other_host: wire.other_host,
        })
    }

    /// Notes that the bytes are not all that came in.
    #[must_use]
    pub fn with_bulk(self, bulk: Bulk) -> Self {
        Self { bulk, ..self }
    }

    /// The host whose event it is by its keys, where that is not Claude Code. A client that
    /// says that it is Claude Code is believed whatever keys it adds.
    pub fn other_host(&self, env: &Env) -> Option<&'static str> {
        self.other_host.filter(|_| env.client.is_none())
    }

    pub fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    pub fn bulk(&self) -> Bulk {
        self.bulk
    }

    pub fn get(&self, field: Field) -> Option<&str> {
        self.fields
            .iter()
            .rev()
            .find(|(name, _)| *name == field)
            .map(|(_, text)| text.as_ref())
    }

    pub fn kind(&self) -> Kind {
        self.get(Field::EventName).map_or(Kind::Other, Kind::parse)
    }

    pub fn tool(&self) -> Tool<'_> {
        self.get(Field::ToolName).map_or(Tool::Other, Tool::parse)
    }

    pub fn cwd(&self) -> Option<&str> {
        self.get(Field::Cwd)
    }

    /// The session's id; empty where the event has none.
    pub fn session(&self) -> &str {
        self.get(Field::SessionId).unwrap_or_default()
    }

    /// The agent an event is about; empty for the main thread.
    pub fn agent_id(&self) -> &str {
        self.get(Field::AgentId).unwrap_or_default()
    }

    /// Whether an event of this kind about this tool can matter at all, in any reading.
    pub fn may_concern(&self) -> bool {
        let values = |field| self.fields.iter().filter(move |(name, _)| *name == field);
        let tools = values(Field::ToolName).map(|(_, name)| Tool::parse(name));
        let mut kinds = values(Field::EventName).map(|(_, name)| Kind::parse(name));
        kinds.any(|kind| match kind {
            Kind::SessionStart
            | Kind::SubagentStart
            | Kind::SubagentStop
            | Kind::Stop
            | Kind::ConfigChange => true,
            Kind::PreToolUse | Kind::PostToolUse => tools.clone().any(|tool| tool != Tool::Other),
            Kind::PostToolUseFailure => tools.clone().any(Tool::runs_commands),
            Kind::Other => false,
        })
    }

    /// The type of the agent that makes the event; `None` for the main thread, which has
    /// a type but no id in a session that runs as an agent (`claude --agent`).
    pub fn agent_type(&self) -> Option<&str> {
        let named = |agent: &&str| !AgentName::parse(agent).as_str().is_empty();
        let agent = self.get(Field::AgentType).filter(named);
        (!self.agent_id().is_empty()).then_some(agent.unwrap_or(UNKNOWN_AGENT))
    }

    pub fn actor(&self) -> Actor {
        self.agent_type()
            .map_or(Actor::Main, |agent| Actor::Agent(AgentName::parse(agent)))
    }

    /// The event as a reader that keeps the last of two equal keys sees it, then
    /// where a key stands twice as one that keeps the first of all, and once for
    /// each as one that keeps that one. A call must be allowed in every reading.
    pub fn readings(&self) -> impl Iterator<Item = Cow<'_, Self>> {
        let superseded = (0..self.fields.len()).filter(|&at| {
            let (field, _) = &self.fields[at];
            self.fields[at + 1..]
                .iter()
                .any(|(later, _)| later == field)
        });
        let earlier = superseded.clone().map(|at| {
            let mut reading = self.clone();
            let field = reading.fields.remove(at);
            reading.fields.push(field);
            Cow::Owned(reading)
        });
        let first = superseded.clone().next().map(|_| {
            let mut reading = self.clone();
            reading.fields.reverse();
            Cow::Owned(reading)
        });
        std::iter::once(Cow::Borrowed(self))
            .chain(first)
            .chain(earlier)
    }

    fn text(&self) -> Result<&str, serde_json::Error> {
        std::str::from_utf8(self.bytes).map_err(serde::de::Error::custom)
    }

    /// All parts of the event, for the kinds that need more than [`Field`]s.
    ///
    /// # Errors
    /// The bytes are no JSON object.
    pub fn document(&self) -> Result<Document<'_>, serde_json::Error> {
        Document::of(self.text()?)
    }

    /// `tool_input` as a value.
    ///
    /// # Errors
    /// The bytes are no JSON object, or its values nest too deep.
    pub fn input(&self) -> Result<serde_json::Value, serde_json::Error> {
        tolerated(self.text()?, input::value)
    }

    /// Every string in `tool_input`, with the key it stands under, at any depth.
    ///
    /// # Errors
    /// The bytes are no JSON object.
    pub fn arguments(&self) -> Result<Vec<(String, String)>, serde_json::Error> {
        tolerated(self.text()?, input::strings)
    }

    /// The texts of `tool_input` that a content rule judges, in every reading: more than
    /// one where a key stands twice.
    ///
    /// # Errors
    /// The event is no JSON object, or its texts have another form.
    pub fn texts(&self) -> Result<Vec<Texts>, serde_json::Error> {
        tolerated(self.text()?, Texts::readings)
    }
}

struct Wire<'b> {
    fields: Vec<(Field, Cow<'b, str>)>,
    other_host: Option<&'static str>,
}

impl<'b> Visitor<'b> for &mut Wire<'b> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Text)? {
            match key.as_deref() {
                Some("tool_input") => map.next_value_seed(Input(&mut self.fields))?,
                key => {
                    self.other_host = self.other_host.or(key.and_then(other_host));
                    take(&mut map, key.and_then(Field::at_top), &mut self.fields)?;
                }
            }
        }
        Ok(())
    }
}

fn take<'b, A: MapAccess<'b>>(
    map: &mut A,
    field: Option<Field>,
    fields: &mut Vec<(Field, Cow<'b, str>)>,
) -> Result<(), A::Error> {
    match field {
        Some(field) => {
            if let Some(text) = map.next_value_seed(Text)? {
                fields.push((field, text));
            }
        }
        None => {
            map.next_value::<IgnoredAny>()?;
        }
    }
    Ok(())
}

/// The needed fields of `tool_input`; a value that is no object has none.
struct Input<'a, 'b>(&'a mut Vec<(Field, Cow<'b, str>)>);

impl<'b> DeserializeSeed<'b> for Input<'_, 'b> {
    type Value = ();

    fn deserialize<D: Deserializer<'b>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Accepts the scalars and sequences that a lenient reader skips.
macro_rules! skip_others {
    ($value:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

impl<'b> Visitor<'b> for Input<'_, 'b> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool's input")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Text)? {
            match key.as_deref().and_then(Field::in_input) {
                Some(Field::Command) => {
                    let value: &RawValue = map.next_value()?;
                    let text = escapes::text(value.get())?;
                    self.0.extend(text.map(|text| (Field::Command, text)));
                }
                field => take(&mut map, field, self.0)?,
            }
        }
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    skip_others!(());
}

/// A string, borrowed where the wire holds it without escapes; `None` for any other value.
pub(crate) struct Text;

impl<'b> DeserializeSeed<'b> for Text {
    type Value = Option<Cow<'b, str>>;

    fn deserialize<D: Deserializer<'b>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'b> Visitor<'b> for Text {
    type Value = Option<Cow<'b, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'b str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    skip_others!(None);
}
