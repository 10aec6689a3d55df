use serde_json::json;

use super::*;
use crate::host::settings_json::tests::{HERE, is_live, merged, value};
use crate::host::settings_json::{Wiring, keeps_our_entries};

/// Each of them made the client ignore the whole file when it was measured.
#[test]
fn a_value_for_which_the_client_ignores_the_file_is_seen() {
    let before = merged("{\n  \"permissions\": {}\n}\n", HERE);
    let fault = |path: &str, it: Value| {
        let mut settings = value(&before);
        settings
            .as_object_mut()
            .unwrap()
            .entry(path.split('.').next().unwrap())
            .or_insert(json!({}));
        let place = format!("/{}", path.replace('.', "/"));
        match settings.pointer_mut(&place) {
            Some(place) => *place = it,
            None => settings["permissions"][&path["permissions.".len()..]] = it,
        }
        let after = settings.to_string();
        let fault = Wiring::fault(&after);
        assert_eq!(
            keeps_our_entries(&before, &after),
            fault.is_none(),
            "{after}"
        );
        fault.unwrap_or_default()
    };
    for (path, it, what) in [
        ("permissions", json!([]), "`permissions` must be an object"),
        (
            "permissions.allow",
            json!("x"),
            "`permissions.allow` must be an array",
        ),
        (
            "permissions.defaultMode",
            json!("yolo"),
            "`permissions.defaultMode` must be one of acceptEdits",
        ),
        ("model", json!(3), "`model` must be a string"),
        (
            "enabledPlugins",
            json!(["a@b"]),
            "`enabledPlugins` must be an object",
        ),
        (
            "cleanupPeriodDays",
            json!(0),
            "`cleanupPeriodDays` must be a whole number",
        ),
        (
            "cleanupPeriodDays",
            json!("x"),
            "`cleanupPeriodDays` must be a whole number",
        ),
        (
            "includeCoAuthoredBy",
            json!(null),
            "`includeCoAuthoredBy` must be true or false",
        ),
        ("statusLine", json!("x"), "`statusLine` must be an object"),
        (
            "disableAllHooks",
            json!("true"),
            "`disableAllHooks` must be true or false",
        ),
    ] {
        assert!(fault(path, it).starts_with(what), "{what}");
    }
    for (path, it) in [
        ("permissions.allow", json!([3])),
        ("permissions.defaultMode", json!("plan")),
        ("cleanupPeriodDays", json!(30)),
        ("env", json!({ "a": 1 })),
        ("effortLevel", json!(3)),
        ("_comment", json!([])),
    ] {
        assert_eq!(fault(path, it), "", "{path}");
    }
}

fn entry(hook: Value) -> Value {
    json!([{ "matcher": "X", "hooks": [hook] }])
}

fn command(key: &str, it: Value) -> Value {
    let mut hook = json!({ "type": "command", "command": "x" });
    hook[key] = it;
    entry(hook)
}

/// Each of them made the client ignore the whole file when it was measured.
fn ignored() -> Vec<Value> {
    vec![
        json!(["x"]),
        json!([null]),
        json!([{ "matcher": "X" }]),
        json!([{ "matcher": "X", "hooks": "y" }]),
        json!([{ "matcher": 3, "hooks": [] }]),
        json!([{ "matcher": null, "hooks": [] }]),
        entry(json!("y")),
        entry(json!(null)),
        entry(json!({ "command": "x" })),
        entry(json!({ "type": "command" })),
        entry(json!({ "type": "comand", "command": "x" })),
        entry(json!({ "type": "prompt" })),
        command("timeout", json!("10")),
        command("timeout", json!(0)),
        command("timeout", json!(-1)),
        command("args", json!("z")),
        command("args", json!([1])),
        command("onFailure", json!("blok")),
        command("shell", json!("fishy")),
        command("async", json!("yes")),
        command("once", json!("yes")),
        command("if", json!(3)),
        command("statusMessage", json!(3)),
    ]
}

#[test]
fn an_entry_for_which_the_client_ignores_the_file_is_seen() {
    let before = merged("{}\n", HERE);
    let live = |event: &str, entries: Value| {
        let mut settings = value(&before);
        match &mut settings["hooks"][event] {
            Value::Array(ours) if entries.is_array() => {
                ours.extend(entries.as_array().unwrap().iter().cloned());
            }
            place => *place = entries,
        }
        let after = settings.to_string();
        assert_eq!(
            keeps_our_entries(&before, &after),
            is_live(&after),
            "{after}"
        );
        is_live(&after)
    };
    for entries in ignored() {
        assert!(!live("PreToolUse", entries.clone()), "{entries}");
        assert!(!live("PermissionRequest", entries.clone()), "{entries}");
        assert!(live("Stop", entries.clone()), "{entries}");
    }
    assert!(!live("PermissionRequest", json!({})) && live("PermissionRequest", json!(null)));
    for entries in [
        json!([]),
        command("timeout", json!(0.5)),
        entry(json!({ "type": "http", "url": "x" })),
    ] {
        assert!(live("PreToolUse", entries.clone()), "{entries}");
    }
}
