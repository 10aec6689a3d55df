//! The hook entries of this program in Claude Code's settings: one table, and
//! the text edits that put it in and take it out. No I/O.

mod document;
mod edit;
mod invalid;

use std::fmt;

use document::{Child, Node, is_blank};
use serde_json::{Map, Value, json};

use crate::base::text::split_bom;

pub use edit::{Edited, EntryFilter, merge, remove};

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
    /// The call is denied; clients before 2.1.295 ignore the key.
    Block,
}

/// Anchored, because a pattern with a `.` in it is searched for anywhere in the
/// tool's name. Everything that can write, run code or start an agent.
const TOOLS: &str =
    "^(Write|Edit|MultiEdit|NotebookEdit|Bash|PowerShell|Monitor|Skill|Agent|Task|mcp__.*)$";

/// The tools that run the commands in a skill's text.
const SKILL_TOOLS: &str = "^(Bash|PowerShell)$";

/// How long Claude Code waits for the hook.
const TIMEOUT_S: u32 = 10;

/// The files whose change can switch the hook off in a running session.
const SETTINGS: &str = "user_settings|project_settings|local_settings";

/// All entries. `hooks/hooks.json` and every settings file are made from these.
pub const ENTRIES: [Entry; 12] = [
    Entry::on("PreToolUse", Some(TOOLS), OnFailure::Block),
    // By itself: a hook that fails must never keep an agent's report.
    Entry::on("PreToolUse", Some("SubagentHandback"), OnFailure::Continue),
    // Clients before 2.1.332 ignore an event that they do not know.
    Entry::on("PreSkillShellCommand", Some(SKILL_TOOLS), OnFailure::Block),
    Entry::on("PostToolUse", Some(TOOLS), OnFailure::Continue),
    Entry::on("PostToolUseFailure", Some(TOOLS), OnFailure::Continue),
    Entry::on("SubagentStart", None, OnFailure::Continue),
    Entry::on("SubagentStop", None, OnFailure::Continue),
    Entry::on("Stop", None, OnFailure::Continue),
    Entry::on("UserPromptSubmit", None, OnFailure::Continue),
    Entry::on("SessionStart", None, OnFailure::Continue),
    Entry::on("SessionEnd", None, OnFailure::Continue),
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
    /// Whether the file switches the plugin on or off; `None` where it does not name it.
    pub plugin: Option<bool>,
    /// What makes Claude Code ignore the whole file, as a sentence.
    pub invalid: Option<String>,
}

/// One of our entries as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired {
    pub event: String,
    pub matcher: Option<String>,
    pub command: String,
    /// The entry of the table that its whole matcher group is, as this version writes it.
    pub exact: Option<&'static Entry>,
    /// All of it but a timeout that leaves it the time to answer.
    content: Value,
}

impl Wired {
    fn is_same(&self, other: &Self) -> bool {
        (&self.event, &self.matcher, &self.content)
            == (&other.event, &other.matcher, &other.content)
    }
}

const NOT_AN_OBJECT: &str = "the settings are not an object";

impl Wiring {
    /// Reads a settings file as Claude Code does; an empty one holds nothing.
    ///
    /// # Errors
    /// The text is no JSON, and Claude Code ignores the whole file.
    pub fn read(text: &str) -> Result<Self, WiringError> {
        let (_, body) = split_bom(text);
        if is_blank(body) {
            return Ok(Self::default());
        }
        let settings = document::parse(body)?;
        let members = settings.items();
        let mut wiring = Self {
            hooks_are_disabled: Child::value_of(&members, "disableAllHooks")
                .is_some_and(|it| it.is(&json!(true))),
            plugin: Child::value_of(&members, "enabledPlugins").and_then(our_plugin),
            invalid: if settings.is_object() {
                invalid::setting(&members)
            } else {
                Some(NOT_AN_OBJECT.to_owned())
            },
            ..Self::default()
        };
        let hooks = Child::value_of(&members, "hooks").map(Node::items);
        for Child { key, value, .. } in hooks.into_iter().flatten() {
            let (event, groups) = (key.unwrap_or_default(), value);
            wiring.invalid = wiring.invalid.or_else(|| invalid::entry(&event, groups));
            for group in groups.elements().into_iter().flatten() {
                let hooks = group.get("hooks").and_then(Node::elements);
                for hook in hooks.into_iter().flatten() {
                    wiring.entries.extend(wired(&event, group, hook));
                }
            }
        }
        Ok(wiring)
    }

    /// Why Claude Code ignores the whole of a settings file, where it does.
    pub fn fault(text: &str) -> Option<String> {
        Self::read(text).map_or_else(|error| Some(error.to_string()), |wiring| wiring.invalid)
    }

    /// Whether the file switches all hooks off.
    pub fn disables_hooks(&self) -> bool {
        self.hooks_are_disabled && self.invalid.is_none()
    }

    /// Whether Claude Code runs this program for the file.
    pub fn is_live(&self) -> bool {
        self.is_ours() && !self.hooks_are_disabled && self.invalid.is_none()
    }

    /// Whether Claude Code runs this program before files are written.
    pub fn guards(&self) -> bool {
        let mut calls = self.entries.iter().filter(|it| it.event == "PreToolUse");
        self.is_live()
            && calls.any(|it| match it.matcher.as_deref() {
                None | Some("" | "*") => true,
                Some(matcher) => matcher.contains("Write"),
            })
    }

    /// Whether the file holds entries of this program.
    pub fn is_ours(&self) -> bool {
        !self.entries.is_empty()
    }

    /// The entries of the table that are not there as this version writes them.
    pub fn missing(&self) -> Vec<&'static Entry> {
        let mut missing: Vec<_> = ENTRIES.iter().collect();
        missing.retain(|entry| !self.entries.iter().any(|own| own.exact == Some(*entry)));
        missing
    }
}

fn wired(event: &str, group: Node<'_>, hook: Node<'_>) -> Option<Wired> {
    let command = our_command(hook)?;
    let mut entries = ENTRIES.iter().filter(|entry| entry.event == event);
    let exact = entries.find(|entry| group.is(&entry.group(&command)));
    let timeout = hook.get("timeout").and_then(Node::number);
    let mut content = hook.value().unwrap_or_default();
    if let Value::Object(members) = &mut content
        && timeout >= Some(1.0)
    {
        members.remove("timeout");
    }
    Some(Wired {
        content,
        event: event.to_owned(),
        matcher: group.get("matcher").and_then(Node::string),
        exact,
        command,
    })
}

/// Whether this program's plugin, of whatever marketplace, is switched on.
fn our_plugin(enabled: Node<'_>) -> Option<bool> {
    let is_ours = |key: &String| key.split('@').next() == Some(NAME);
    let mut items = enabled.items().into_iter();
    let ours = items.find(|item| item.key.as_ref().is_some_and(is_ours))?;
    Some(!ours.value.is(&json!(false)))
}

/// The boolean at a path of keys in a settings file.
pub fn flag(text: &str, path: &[&str]) -> Option<bool> {
    let settings = document::parse(split_bom(text).1).ok()?;
    let value = path.iter().try_fold(settings, |node, key| node.get(key))?;
    value.value()?.as_bool()
}

/// Whether an edit leaves alone what a settings file does for us: every entry
/// of ours stays as it was, and nothing switches the hooks or our plugin off. A text that is no JSON may
/// have held our entries if it names this program: then the new one must run it.
pub fn keeps_our_entries(before: &str, after: &str) -> bool {
    let may_be_ours = may_be_ours(before);
    let (before, after) = match (Wiring::read(before), Wiring::read(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Ok(before), Err(_)) => return !before.is_ours() && before.plugin != Some(true),
        (Err(_), after) => return !may_be_ours || after.is_ok_and(|after| after.is_live()),
    };
    let mut entries = before.entries.iter();
    let keeps_plugin = match after.plugin {
        Some(is_on) => is_on || before.plugin == Some(false),
        None => before.plugin != Some(true),
    };
    // Any of the files can switch the hooks of all off.
    keeps_plugin
        && (before.hooks_are_disabled || !after.hooks_are_disabled)
        && (before.entries.is_empty()
            || entries.all(|entry| after.entries.iter().any(|it| it.is_same(entry)))
                && (before.invalid.is_some() || after.invalid.is_none()))
}

/// Whether a text that is no JSON can be one that held our entries.
pub fn may_be_ours(text: &str) -> bool {
    text.contains(NAME)
}

/// The program's path when a hook is one of ours, in exec form or as one shell
/// line `PATH hook`.
fn our_command(hook: Node<'_>) -> Option<String> {
    let command = hook.get("command")?.string()?;
    let args = hook.get("args").filter(|args| !args.is(&Value::Null));
    let program = match args.map(Node::elements) {
        None => command
            .strip_suffix(" hook")?
            .trim_matches(['"', '\''])
            .to_owned(),
        Some(args) if args.as_ref()?.first()?.is(&json!("hook")) => command,
        Some(_) => return None,
    };
    is_our_name(&program).then_some(program)
}

/// What a program must be called for its entries to be known again.
const NAME: &str = "statewarden";

/// Whether entries that run a program are known again as ours.
pub fn is_our_name(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next();
    name.is_some_and(|name| name.strip_suffix(".exe").unwrap_or(name) == NAME)
}

#[cfg(test)]
mod tests;
