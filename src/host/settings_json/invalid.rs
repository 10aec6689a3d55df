//! The errors for which Claude Code ignores a whole settings file, as `client.schema.json` lists
//! them.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::document::{Child, Node};
use crate::formats::schema::Schema;

static CLIENT: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("client.schema.json")));

/// What is wrong with the members of the settings.
pub(super) fn setting(members: &[Child<'_>]) -> Option<String> {
    // Others are not read: they may nest as deep as they like.
    let known = members.iter().filter_map(|item| {
        let key = item.key.as_ref()?;
        CLIENT.property(key)?;
        Some((key.clone(), item.value.value()?))
    });
    let settings: Map<String, Value> = known.collect();
    let fault = CLIENT.check("", &settings).faults.into_iter().next()?;
    Some(format!(
        "`{}` must be {}",
        fault.path,
        fault.schema.wanted()
    ))
}

/// What is wrong with the entries of an event: of those that can grant or refuse a call
/// each must be valid.
pub(super) fn entry(event: &str, groups: Node<'_>) -> Option<String> {
    if !matches!(event, "PreToolUse" | "PermissionRequest") {
        return None;
    }
    let value = groups.value()?;
    let key = invalid_key("entries", &value).or_else(|| {
        let groups = value.as_array().into_iter().flatten();
        let mut hooks = groups
            .filter_map(|group| group["hooks"].as_array())
            .flatten();
        hooks.find_map(|hook| invalid_key(hook["type"].as_str()?, hook))
    })?;
    Some(format!("an entry of `{event}` has no valid `{key}`"))
}

/// The last key on the path to a value that does not match a definition.
fn invalid_key(def: &str, value: &Value) -> Option<String> {
    let fault = CLIENT.check(def, value).faults.into_iter().next()?;
    let mut keys = fault
        .path
        .rsplit('.')
        .flat_map(|part| part.split('[').next());
    let key = keys.find(|key| !key.is_empty());
    Some(key.unwrap_or("hooks").to_owned())
}

#[cfg(test)]
mod tests;
