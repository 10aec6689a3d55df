//! The records of the logs: one JSON line each, bounded.

use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use crate::base::target::Act;
use crate::base::{clock, text};
use crate::contract::denial::{Denial, DenyCode};
use crate::formats::json::line;
use crate::host::event::{Event, Text};
use crate::log::chain::LINK_BYTES;

/// The most bytes of one line, its line break included.
pub const MAX_LINE: usize = 4_032;

/// What a record is about. The deny logs hold `deny` alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    #[default]
    Deny,
    Warn,
    Detected,
    Undone,
    Recovered,
    Heartbeat,
    Fault,
}

/// One record, format version 1. Readers keep keys they do not know; a later
/// version may add keys but changes none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Record {
    pub v: u8,
    /// Unique, and in the order of time.
    pub id: String,
    /// UTC, RFC 3339, milliseconds.
    pub ts: String,
    pub source: String,
    pub decision: What,
    pub rule: Option<DenyCode>,
    pub system: Option<String>,
    pub tool: Option<String>,
    pub action: Option<String>,
    pub file_path: Option<String>,
    pub name: Option<String>,
    pub reason: String,
    pub suggestion: Option<String>,
    pub session_id: Option<String>,
    pub workflow_id: Option<String>,
    pub agent_id: Option<String>,
    pub agent_type: Option<String>,
    pub tool_use_id: Option<String>,
    pub cwd: Option<String>,
    /// The denial that a recovery closes, by its id.
    pub resolves: Option<String>,
    pub command_excerpt: Option<String>,
    /// Of a detection: the ids of the contents before and after, and whether it is
    /// certain who made the change.
    pub before: Option<String>,
    pub after: Option<String>,
    pub certain: Option<bool>,
    /// Of a heartbeat: the version of Claude Code.
    pub client: Option<String>,
    pub also: Vec<Also>,
}

/// A further denial of the same call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Also {
    pub rule: DenyCode,
    pub system: String,
    pub name: String,
    pub file_path: String,
}

impl Record {
    /// A record of something that happened around an event; `None` when there
    /// was none that could be read. What it holds of a command is for the caller to say.
    pub fn new(what: What, reason: &str, event: Option<&Event<'_>>, now: DateTime<Utc>) -> Self {
        let none = Event::default();
        let source = event.unwrap_or(&none);
        let owned = |text: &Text<'_>| text.get().map(str::to_owned);
        Self {
            v: 1,
            id: id(now),
            ts: clock::millis(now),
            source: "statewarden".to_owned(),
            decision: what,
            tool: owned(&source.tool_name),
            reason: reason.to_owned(),
            session_id: owned(&source.session_id),
            agent_id: owned(&source.agent_id),
            agent_type: source.agent_type().map(str::to_owned),
            tool_use_id: owned(&source.tool_use_id),
            cwd: owned(&source.cwd),
            ..Self::default()
        }
    }

    /// The one record of a call's denials, led by the first.
    pub fn from_denials(
        what: What,
        denials: &[Denial],
        reason: &str,
        event: &Event<'_>,
        now: DateTime<Utc>,
    ) -> Self {
        let mut record = Self::new(what, reason, Some(event), now);
        let Some((first, others)) = denials.split_first() else {
            return record;
        };
        record.set_denial(first);
        record.also = others
            .iter()
            .map(|denial| Also {
                rule: denial.code,
                system: denial.system.clone(),
                name: denial.entry.clone(),
                file_path: denial.path.clone(),
            })
            .collect();
        record
    }
}

impl Record {
    /// Fills in what a denial is about.
    pub fn set_denial(&mut self, denial: &Denial) {
        self.rule = Some(denial.code);
        self.system = Some(denial.system.clone());
        self.action = Some(action_of(denial).to_owned());
        self.file_path = Some(denial.path.clone());
        self.name = Some(denial.entry.clone());
        self.suggestion.clone_from(&denial.suggestion);
    }
}

impl LogLine for Record {
    fn ts(&self) -> &str {
        &self.ts
    }
}

/// A record of a log.
pub trait LogLine: Serialize + Sized {
    /// UTC, RFC 3339, milliseconds.
    fn ts(&self) -> &str;

    /// What the line holds: all that has a value. It is of texts and numbers, which always
    /// make one.
    fn to_json(&self) -> Value {
        let mut record = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut record {
            fields.retain(|_, field| !field.is_null() && *field != json!([]));
        }
        record
    }

    /// One line of at most [`MAX_LINE`] bytes. The longest texts are cut first.
    fn to_line(&self) -> String {
        let mut record = self.to_json();
        let mut text = line(&record);
        for limit in [1_000, 300, 100, 30] {
            if text.len() > MAX_LINE - LINK_BYTES {
                shorten(&mut record, limit);
                text = line(&record);
            }
        }
        text
    }
}

/// What finds a record again, and the ids of contents, are never cut.
const WHOLE: &[&str] = &[
    "id", "ts", "decision", "rule", "system", "before", "after", "blob",
];

/// Brings the texts of a record to a limit each, and its lists to a sixtieth of it.
fn shorten(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => shorten_text(text, limit),
        Value::Array(items) => {
            items.truncate(limit / 60);
            items.iter_mut().for_each(|item| shorten(item, limit));
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                match key.as_str() {
                    key if WHOLE.contains(&key) => {}
                    // What a change is about.
                    "path" => shorten(field, limit.max(1_000)),
                    _ => shorten(field, limit),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts a text to so many bytes, of which those that JSON escapes weigh up to six times as much.
fn shorten_text(text: &mut String, limit: usize) {
    while text.len() + 5 * text.bytes().filter(|byte| *byte < 0x20).count() > limit {
        *text = text::truncate(text, (text.chars().count() / 2).max(1));
    }
}

/// What the call of a denial does: to start an agent writes nothing.
fn action_of(denial: &Denial) -> &'static str {
    match denial.code {
        DenyCode::GateClosed => "dispatch",
        _ => action(denial.act),
    }
}

pub fn action(act: Act) -> &'static str {
    match act {
        Act::Write => "write",
        Act::Edit => "edit",
        Act::MakeDir => "mkdir",
        Act::Link => "link",
        Act::Remove | Act::RemoveTree | Act::Clear | Act::Clean(_) => "delete",
        Act::MoveAway => "move",
    }
}

/// Microseconds, process and a counter, in digits that sort as text.
pub fn id(now: DateTime<Utc>) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(
        "{:014x}-{:08x}-{count:02x}",
        now.timestamp_micros(),
        std::process::id()
    )
}
