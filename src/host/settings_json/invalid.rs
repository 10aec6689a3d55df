//! For what Claude Code ignores a whole settings file, as measured with 2.1.331.

use serde_json::json;

use super::document::{Item, Kind, Node};

/// What Claude Code wants in a place, or it ignores the whole file.
enum Wants {
    A(Kind),
    Members(&'static [(&'static str, Self)]),
    OneOf(&'static [&'static str]),
    /// A whole number from 1 on.
    Count,
}

const SETTINGS_WANTED: &[(&str, Wants)] = &[
    ("alwaysThinkingEnabled", Wants::A(Kind::Boolean)),
    ("apiKeyHelper", Wants::A(Kind::String)),
    ("attribution", Wants::A(Kind::Object)),
    ("availableModels", Wants::A(Kind::Array)),
    ("cleanupPeriodDays", Wants::Count),
    ("companyAnnouncements", Wants::A(Kind::Array)),
    ("disableAllHooks", Wants::A(Kind::Boolean)),
    ("enableAllProjectMcpServers", Wants::A(Kind::Boolean)),
    ("enabledPlugins", Wants::A(Kind::Object)),
    ("env", Wants::A(Kind::Object)),
    ("fileSuggestion", Wants::A(Kind::Object)),
    ("includeCoAuthoredBy", Wants::A(Kind::Boolean)),
    ("language", Wants::A(Kind::String)),
    ("model", Wants::A(Kind::String)),
    ("outputStyle", Wants::A(Kind::String)),
    ("permissions", Wants::Members(PERMISSIONS_WANTED)),
    ("plansDirectory", Wants::A(Kind::String)),
    ("respectGitignore", Wants::A(Kind::Boolean)),
    ("sandbox", Wants::A(Kind::Object)),
    ("spinnerTipsEnabled", Wants::A(Kind::Boolean)),
    ("statusLine", Wants::A(Kind::Object)),
    ("worktree", Wants::A(Kind::Object)),
];

const PERMISSIONS_WANTED: &[(&str, Wants)] = &[
    ("additionalDirectories", Wants::A(Kind::Array)),
    ("allow", Wants::A(Kind::Array)),
    ("ask", Wants::A(Kind::Array)),
    ("defaultMode", Wants::OneOf(MODES)),
    ("deny", Wants::A(Kind::Array)),
];

const MODES: &[&str] = &[
    "acceptEdits",
    "auto",
    "bypassPermissions",
    "default",
    "dontAsk",
    "manual",
    "plan",
];

impl Wants {
    /// What is wrong with the value at a path, or with a member of it.
    fn misfit(&self, value: Node<'_>, path: &str) -> Option<String> {
        let must_be = |what: &str| Some(format!("`{path}` must be {what}"));
        let is_count = |n: f64| n >= 1.0 && n.fract() == 0.0;
        match self {
            Self::A(kind) if value.kind() != *kind => must_be(kind.in_words()),
            Self::Members(_) if value.kind() != Kind::Object => must_be("an object"),
            Self::OneOf(words) if !words.iter().any(|word| value.is(&json!(word))) => {
                must_be(&format!("one of `{}`", words.join("`, `")))
            }
            Self::Count if !value.number().is_some_and(is_count) => {
                must_be("a whole number from 1 on")
            }
            Self::Members(wanted) => misfit(&value.items(), wanted, &format!("{path}.")),
            _ => None,
        }
    }
}

/// What is wrong with the members of the settings.
pub(super) fn setting(members: &[Item<'_>]) -> Option<String> {
    misfit(members, SETTINGS_WANTED, "")
}

fn misfit(members: &[Item<'_>], wanted: &[(&str, Wants)], prefix: &str) -> Option<String> {
    let misfit = |(key, wants): &(&str, Wants)| {
        wants.misfit(Item::value_of(members, key)?, &format!("{prefix}{key}"))
    };
    wanted.iter().find_map(misfit)
}

/// What is wrong with the entries of an event: of those that can grant or refuse a call
/// each must be valid.
pub(super) fn entry(event: &str, groups: Node<'_>) -> Option<String> {
    let is_guarding = matches!(event, "PreToolUse" | "PermissionRequest");
    let key = is_guarding.then(|| invalid_key(groups))??;
    Some(format!("an entry of `{event}` has no valid `{key}`"))
}

fn invalid_key(groups: Node<'_>) -> Option<String> {
    let is_string = |value: Option<Node<'_>>| value.is_none_or(|it| it.kind() == Kind::String);
    let of_group = |group: Node<'_>| match group.get("hooks").and_then(Node::elements) {
        _ if !is_string(group.get("matcher")) => Some("matcher".to_owned()),
        Some(hooks) => hooks.into_iter().find_map(invalid_key_of_hook),
        None => Some("hooks".to_owned()),
    };
    match groups.elements() {
        Some(groups) => groups.into_iter().find_map(of_group),
        None => (groups.kind() != Kind::Null).then(|| "hooks".to_owned()),
    }
}

fn invalid_key_of_hook(hook: Node<'_>) -> Option<String> {
    let kind = hook.get("type").and_then(Node::string);
    let needed: &[&str] = match kind.as_deref() {
        Some("command") => &["command"],
        Some("prompt" | "agent") => &["prompt"],
        Some("http") => &["url"],
        Some("mcp_tool") => &["server", "tool"],
        _ => return Some("type".to_owned()),
    };
    let is_string = |key: &&&str| hook.get(key).is_some_and(|it| it.kind() == Kind::String);
    let lacking = needed.iter().find(|key| !is_string(key));
    let mut keys = hook
        .items()
        .into_iter()
        .filter_map(|item| Some((item.key?, item.value)));
    let unfit = || Some(keys.find(|(key, value)| !fits(key, *value))?.0);
    lacking.map(|key| (*key).to_owned()).or_else(unfit)
}

/// Whether an optional key of a hook has a value of its kind.
fn fits(key: &str, value: Node<'_>) -> bool {
    let is_one_of = |words: [&str; 2]| words.iter().any(|word| value.is(&json!(word)));
    let is_string = |it: &Node<'_>| it.kind() == Kind::String;
    match key {
        "timeout" => value.number().is_some_and(|seconds| seconds > 0.0),
        "onFailure" => is_one_of(["block", "continue"]),
        "shell" => is_one_of(["bash", "powershell"]),
        "args" => value
            .elements()
            .is_some_and(|args| args.iter().all(is_string)),
        "if" | "statusMessage" => is_string(&value),
        "once" | "async" | "asyncRewake" => value.kind() == Kind::Boolean,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
