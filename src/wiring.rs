//! The hook entries of this program in Claude Code's settings: one table, and
//! the text edits that put it in and take it out. No I/O.

mod document;
mod edit;

use std::fmt;

use serde_json::{Map, Value, json};

use crate::formats::split_bom;

pub use edit::{Edited, Whose, merge, remove};

/// One entry: an event, the tools it is for, and what Claude Code does when the
/// hook itself fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub event: &'static str,
    /// `None` where the event has no tools to choose from.
    pub matcher: Option<&'static str>,
    pub on_failure: OnFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Claude Code's own default: the call goes through.
    Continue,
    /// The call is refused; clients before 2.1.295 ignore the key.
    Block,
}

/// Anchored, because a pattern with a `.` in it is searched for anywhere in the
/// tool's name. Everything that can write, run code or start an agent.
const TOOLS: &str =
    "^(Write|Edit|MultiEdit|NotebookEdit|Bash|PowerShell|Monitor|Agent|Task|mcp__.*)$";

/// How long Claude Code waits for the hook.
const TIMEOUT_S: u32 = 10;

/// The files whose change can switch the hook off in a running session.
const SETTINGS: &str = "user_settings|project_settings|local_settings";

/// All entries. `hooks/hooks.json` and every settings file are made from these.
pub const ENTRIES: [Entry; 9] = [
    Entry::on("PreToolUse", Some(TOOLS), OnFailure::Block),
    // By itself: a hook that fails must never keep an agent's report.
    Entry::on("PreToolUse", Some("SubagentHandback"), OnFailure::Continue),
    Entry::on("PostToolUse", Some(TOOLS), OnFailure::Continue),
    Entry::on("PostToolUseFailure", Some(TOOLS), OnFailure::Continue),
    Entry::on("SubagentStart", None, OnFailure::Continue),
    Entry::on("SubagentStop", None, OnFailure::Continue),
    Entry::on("Stop", None, OnFailure::Continue),
    Entry::on("SessionStart", None, OnFailure::Continue),
    Entry::on("ConfigChange", Some(SETTINGS), OnFailure::Continue),
];

/// The command of the plugin form.
pub const PLUGIN_COMMAND: &str = "${CLAUDE_PLUGIN_ROOT}/bin/statewarden";

impl Entry {
    const fn on(event: &'static str, matcher: Option<&'static str>, on_failure: OnFailure) -> Self {
        Self {
            event,
            matcher,
            on_failure,
        }
    }

    /// The matcher group as JSON: exec form, so that no shell can print before
    /// the answer.
    fn group(&self, command: &str) -> Value {
        let mut hook = json!({
            "type": "command", "command": command, "args": ["hook"], "timeout": TIMEOUT_S,
        });
        if self.on_failure == OnFailure::Block {
            hook["onFailure"] = json!("block");
        }
        match self.matcher {
            Some(matcher) => json!({ "matcher": matcher, "hooks": [hook] }),
            None => json!({ "hooks": [hook] }),
        }
    }
}

/// The `hooks` object with all entries.
fn all_groups(command: &str) -> Value {
    let mut events = Map::new();
    for entry in &ENTRIES {
        let groups = events.entry(entry.event).or_insert_with(|| json!([]));
        groups
            .as_array_mut()
            .into_iter()
            .for_each(|groups| groups.push(entry.group(command)));
    }
    Value::Object(events)
}

/// A settings file that cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiringError {
    /// Both count from 1; a column is a byte.
    pub line: usize,
    pub column: usize,
    pub what: String,
}

impl fmt::Display for WiringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, what } = self;
        write!(f, "line {line}, column {column}: {what}")
    }
}

impl std::error::Error for WiringError {}

/// What a settings file says about this program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    pub entries: Vec<Wired>,
    /// `disableAllHooks` is true in the file.
    pub hooks_are_disabled: bool,
    /// A hook entry, ours or another's, that makes Claude Code ignore the file.
    pub invalid: Option<String>,
}

/// One of our entries as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired {
    pub event: String,
    pub command: String,
    pub fit: Fit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The whole matcher group is as this version writes it for this entry.
    Exact(&'static Entry),
    Different,
}

impl Wiring {
    /// Reads the entries out of a settings file; a text that is not a JSON object
    /// holds none.
    pub fn read(text: &str) -> Self {
        let (_, text) = split_bom(text);
        let Ok(settings) = serde_json::from_str::<Value>(text) else {
            return Self::default();
        };
        let mut wiring = Self {
            // Of another type than a boolean it makes Claude Code ignore the file.
            hooks_are_disabled: settings
                .get("disableAllHooks")
                .is_some_and(|it| *it != false),
            ..Self::default()
        };
        for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
            if matches!(event.as_str(), "PreToolUse" | "PermissionRequest") && !groups.is_null() {
                let fault = invalid_key(groups).map(|key| {
                    format!("an entry of `{event}` has no valid `{key}`; Claude Code ignores the whole file")
                });
                wiring.invalid = wiring.invalid.or(fault);
            }
            for group in groups.as_array().into_iter().flatten() {
                let hooks = group["hooks"].as_array().map_or(&[][..], Vec::as_slice);
                let ours = hooks.iter().filter_map(|hook| wired(event, group, hook));
                wiring.entries.extend(ours);
            }
        }
        wiring
    }

    /// Whether Claude Code runs this program for the file.
    pub fn is_live(&self) -> bool {
        self.is_ours() && !self.hooks_are_disabled && self.invalid.is_none()
    }

    /// Whether the file holds entries of this program.
    pub fn is_ours(&self) -> bool {
        !self.entries.is_empty()
    }

    /// The entries of the table that are not there as this version writes them.
    pub fn missing(&self) -> Vec<&'static Entry> {
        let is_there = |entry| self.entries.iter().any(|e| e.fit == Fit::Exact(entry));
        ENTRIES.iter().filter(|entry| !is_there(*entry)).collect()
    }
}

fn wired(event: &str, group: &Value, hook: &Value) -> Option<Wired> {
    let command = our_command(hook)?;
    let mut entries = ENTRIES.iter().filter(|entry| entry.event == event);
    let exact = entries.find(|entry| entry.group(command) == *group);
    Some(Wired {
        event: event.to_owned(),
        command: command.to_owned(),
        fit: exact.map_or(Fit::Different, Fit::Exact),
    })
}

/// The key for which Claude Code ignores the whole file. It does so for the
/// entries of events that can grant or refuse a call.
fn invalid_key(groups: &Value) -> Option<&str> {
    let Some(groups) = groups.as_array() else {
        return Some("hooks");
    };
    groups
        .iter()
        .find_map(|group| match group["hooks"].as_array() {
            _ if !group["matcher"].is_string() && group.get("matcher").is_some() => Some("matcher"),
            Some(hooks) => hooks.iter().find_map(invalid_key_of_hook),
            None => Some("hooks"),
        })
}

fn invalid_key_of_hook(hook: &Value) -> Option<&str> {
    let needed: &[&str] = match hook["type"].as_str() {
        Some("command") => &["command"],
        Some("prompt" | "agent") => &["prompt"],
        Some("http") => &["url"],
        Some("mcp_tool") => &["server", "tool"],
        _ => return Some("type"),
    };
    let lacking = needed.iter().find(|key| !hook[**key].is_string());
    let mut optional = hook.as_object()?.iter();
    let unfit = optional.find(|(key, value)| !fits(key, value));
    lacking.copied().or_else(|| Some(unfit?.0.as_str()))
}

/// Whether an optional key of a hook has a value of its kind.
fn fits(key: &str, value: &Value) -> bool {
    match key {
        "timeout" => value.as_f64().is_some_and(|seconds| seconds > 0.0),
        "onFailure" => value == "block" || value == "continue",
        "shell" => value == "bash" || value == "powershell",
        "args" => value
            .as_array()
            .is_some_and(|args| args.iter().all(Value::is_string)),
        "if" | "statusMessage" => value.is_string(),
        "once" | "async" | "asyncRewake" => value.is_boolean(),
        _ => true,
    }
}

/// Whether an edit leaves alone what a settings file does for us: every entry
/// of ours stays as it was, and nothing switches hooks off.
pub fn keeps_our_entries(before: &str, after: &str) -> bool {
    let (before, after) = (Wiring::read(before), Wiring::read(after));
    let is_kept = |entry: &Wired| after.entries.contains(entry);
    // Any of the files can switch the hooks of all off.
    (before.hooks_are_disabled || !after.hooks_are_disabled)
        && (before.entries.is_empty()
            || before.entries.iter().all(is_kept)
                && (before.invalid.is_some() || after.invalid.is_none()))
}

/// The program's path when a hook is one of ours, in exec form or as one shell
/// line `PATH hook`.
fn our_command(hook: &Value) -> Option<&str> {
    let command = hook["command"].as_str()?;
    let program = match &hook["args"] {
        Value::Null => command.strip_suffix(" hook")?.trim_matches(['"', '\'']),
        args if args[0] == "hook" => command,
        _ => return None,
    };
    is_our_name(program).then_some(program)
}

/// Whether entries that run a program are known again as ours.
pub fn is_our_name(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next();
    matches!(name, Some("statewarden" | "statewarden.exe"))
}

#[cfg(test)]
mod tests;
