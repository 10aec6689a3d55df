//! Wire JSON → [`Event`]. Only the fields that a decision needs are decoded;
//! everything else, a written file's content above all, is skipped in place.

mod input;
mod json;
mod tool;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::{Error, Value, from_str};

use crate::base::actor::{Actor, AgentName, UNKNOWN_AGENT};
use crate::base::env::Env;
use crate::base::string_enum::string_enum;

pub use input::{Input, Texts, strings};
pub use json::{Raw, Text};
pub use tool::{McpTool, Shell, Tool, words};

string_enum! {
    /// The events that matter here. New events of Claude Code are `Other`, never an error.
    pub enum Kind {
        PreToolUse = "PreToolUse",
        /// A command in the text of a skill is about to run (from 2.1.332 on), by the tool
        /// that the event names.
        PreSkillShellCommand = "PreSkillShellCommand",
        PostToolUse = "PostToolUse",
        /// The tool failed; a command may have written before it did.
        PostToolUseFailure = "PostToolUseFailure",
        SubagentStart = "SubagentStart",
        SubagentStop = "SubagentStop",
        Stop = "Stop",
        UserPromptSubmit = "UserPromptSubmit",
        SessionStart = "SessionStart",
        SessionEnd = "SessionEnd",
        /// A settings file of Claude Code has changed.
        ConfigChange = "ConfigChange",
        Other = "",
    }
}

/// Where in the course of a session the client runs the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookPoint {
    /// A call can still be refused.
    BeforeCall,
    /// An agent is about to be started.
    Dispatch,
    /// An agent hands its report to its caller.
    HandBack,
    AfterCall,
    AgentStart,
    AgentEnd,
    /// The turn of the main thread is over.
    TurnEnd,
    Prompt,
    SessionStart,
    SessionEnd,
    /// A settings file of Claude Code has changed.
    SettingsChange,
}

impl Kind {
    /// Whether a call is asked about that has not run yet, and can be refused.
    pub fn is_before_call(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PreSkillShellCommand)
    }
}

/// One event of Claude Code, borrowing from the bytes it was read from. A key that is there
/// twice is an error: the client cannot write it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'b"))]
pub struct Event<'b> {
    /// All of it.
    #[serde(skip)]
    json: &'b str,
    pub session_id: Text<'b>,
    pub cwd: Text<'b>,
    pub hook_event_name: Text<'b>,
    pub tool_name: Text<'b>,
    pub tool_use_id: Text<'b>,
    pub agent_id: Text<'b>,
    pub agent_type: Text<'b>,
    /// The main thread's.
    pub transcript_path: Text<'b>,
    pub agent_transcript_path: Text<'b>,
    pub last_assistant_message: Text<'b>,
    stop_hook_active: Raw<'b>,
    /// What the user or the client says to the model.
    pub prompt: Text<'b>,
    /// The settings file that has changed.
    pub file_path: Text<'b>,
    pub duration_ms: Raw<'b>,
    /// Of a call that failed: `Exit code N` and what it printed.
    pub error: Text<'b>,
    pub background_tasks: Raw<'b>,
    #[serde(rename = "tool_input", deserialize_with = "json::keys")]
    pub input: Input<'b>,
    #[serde(rename = "tool_response", deserialize_with = "json::keys")]
    pub response: Response<'b>,
}

/// What a call gave back, as far as it matters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'b"))]
pub struct Response<'b> {
    pub status: Text<'b>,
    pub agent_type: Text<'b>,
    pub agent_id: Text<'b>,
    pub worktree_path: Text<'b>,
    pub handback_report: Raw<'b>,
    /// How many of the first and of the last blocks of `content` are the client's own.
    pub harness_note_count: Raw<'b>,
    pub harness_tail_count: Raw<'b>,
    pub content: Raw<'b>,
    pub background_task_id: Text<'b>,
    pub task_id: Text<'b>,
    /// The start of what a command printed, both streams in it.
    pub stdout: Text<'b>,
    pub stderr: Text<'b>,
    pub interrupted: Raw<'b>,
    /// The file with all that it printed, where that is longer.
    pub persisted_output_path: Text<'b>,
    pub persisted_output_size: Raw<'b>,
}

impl Response<'_> {
    /// The agent that was launched and goes on in the background.
    pub fn launched(&self) -> Option<&str> {
        if self.status.get() == Some("async_launched") {
            self.agent_id.get()
        } else {
            None
        }
    }
}

/// Keys which together are in the events of a host, and not in those of Claude Code. The
/// first that are there decide.
const OTHER_HOSTS: [(&[&str], &str); 11] = [
    (&["cursor_version"], "Cursor"),
    (&["conversation_id", "workspace_roots"], "Cursor"),
    (&["agent_action_name"], "Windsurf"),
    (&["toolName"], "Copilot"),
    (&["toolArgs"], "Copilot"),
    (&["hookEventName"], "VS Code"),
    (&["clineVersion"], "Cline"),
    (&["hookName"], "Cline"),
    (&["turn_id"], "Codex"),
    (&["tool_call_id"], "Qwen Code"),
    (&["timestamp", "tool_result"], "Copilot"),
];

impl<'b> Event<'b> {
    /// Parses the bytes of one event; a byte order mark before it is skipped.
    ///
    /// # Errors
    /// No JSON object in UTF-8, or a needed key is there twice.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, Error> {
        let text = std::str::from_utf8(bytes).map_err(Error::custom)?;
        let json = text.strip_prefix('\u{feff}').unwrap_or(text);
        if !json.trim_ascii_start().starts_with('{') {
            return Err(Error::custom("it is no JSON object"));
        }
        let event: Self = from_str(json)?;
        Ok(Self { json, ..event })
    }

    /// The host whose event it is by its keys, where that is not Claude Code. A client that
    /// says that it is Claude Code is believed whatever keys it adds.
    pub fn other_host(&self, env: &Env) -> Option<&'static str> {
        if env.client.is_some() {
            return None;
        }
        let keys: BTreeMap<String, IgnoredAny> = from_str(self.json).unwrap_or_default();
        let is_sent =
            |(needed, _): &&(&[&str], _)| needed.iter().all(|key| keys.contains_key(*key));
        OTHER_HOSTS.iter().find(is_sent).map(|(_, host)| *host)
    }

    /// All of the event.
    pub fn json(&self) -> &'b str {
        self.json
    }

    pub fn kind(&self) -> Kind {
        Kind::parse(self.hook_event_name.as_str()).unwrap_or(Kind::Other)
    }

    pub fn tool(&self) -> Tool<'_> {
        Tool::parse(self.tool_name.as_str())
    }

    /// The session's id; empty where the event has none.
    pub fn session(&self) -> &str {
        self.session_id.as_str()
    }

    /// The agent an event is about; empty for the main thread.
    pub fn agent_id(&self) -> &str {
        self.agent_id.as_str()
    }

    /// The same as an agent's.
    #[must_use]
    pub fn by_agent(&self, id: String, agent_type: String) -> Self {
        Self {
            agent_id: id.into(),
            agent_type: agent_type.into(),
            ..self.clone()
        }
    }

    /// Whether a hook has made the turn or the agent go on already.
    pub fn is_held(&self) -> bool {
        matches!(self.stop_hook_active.read(), Ok(Some(true)))
    }

    /// Whether it is about a call of a tool.
    pub fn is_of_tool(&self) -> bool {
        self.kind().is_before_call()
            || matches!(self.kind(), Kind::PostToolUse | Kind::PostToolUseFailure)
    }

    /// The exit status of a command that ended; unknown where it was cut off, and of other tools.
    pub fn exit_status(&self) -> Option<i32> {
        if !matches!(self.tool(), Tool::Shell(_)) {
            return None;
        }
        if self.kind() == Kind::PostToolUse {
            return Some(0);
        }
        let error = self.error.as_str().strip_prefix("Exit code ")?;
        let digits = error.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }

    /// What the event is to the hook; `None` for an event or a tool that cannot matter.
    pub fn point(&self) -> Option<HookPoint> {
        Some(match (self.kind(), self.tool()) {
            (Kind::Other, _) => return None,
            _ if self.is_of_tool() && self.tool() == Tool::Other => return None,
            (Kind::PreToolUse, Tool::Agent) => HookPoint::Dispatch,
            (Kind::PreToolUse, Tool::Handback) => HookPoint::HandBack,
            (Kind::PreToolUse | Kind::PreSkillShellCommand, _) => HookPoint::BeforeCall,
            (Kind::PostToolUse | Kind::PostToolUseFailure, Tool::Agent)
            | (Kind::SubagentStop, _) => HookPoint::AgentEnd,
            (Kind::PostToolUse | Kind::PostToolUseFailure, _) => HookPoint::AfterCall,
            (Kind::SubagentStart, _) => HookPoint::AgentStart,
            (Kind::Stop, _) => HookPoint::TurnEnd,
            (Kind::UserPromptSubmit, _) => HookPoint::Prompt,
            (Kind::SessionStart, _) => HookPoint::SessionStart,
            (Kind::SessionEnd, _) => HookPoint::SessionEnd,
            (Kind::ConfigChange, _) => HookPoint::SettingsChange,
        })
    }

    /// The type of the agent that makes the event; `None` for the main thread, which has
    /// a type but no id in a session that runs as an agent (`claude --agent`).
    pub fn agent_type(&self) -> Option<&str> {
        if self.agent_id().is_empty() {
            return None;
        }
        let named = self
            .agent_type
            .get()
            .filter(|agent| !AgentName::parse(agent).as_str().is_empty());
        Some(named.unwrap_or(UNKNOWN_AGENT))
    }

    pub fn actor(&self) -> Actor {
        self.agent_type()
            .map_or(Actor::Main, |agent| Actor::Agent(AgentName::parse(agent)))
    }

    /// `tool_response` as a value; null where it is missing or nests too deep.
    pub fn result(&self) -> Value {
        #[derive(Default, Deserialize)]
        struct WithResponse {
            #[serde(default)]
            tool_response: Value,
        }
        from_str(self.json).map_or(Value::Null, |WithResponse { tool_response }| tool_response)
    }

    /// `tool_input` as a value; null where it is missing.
    ///
    /// # Errors
    /// Its values nest too deep.
    pub fn arguments(&self) -> Result<Value, Error> {
        #[derive(Deserialize)]
        struct WithInput {
            #[serde(default)]
            tool_input: Value,
        }
        from_str(self.json).map(|WithInput { tool_input }| tool_input)
    }
}
