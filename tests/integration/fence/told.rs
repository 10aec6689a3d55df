//! Who is shown what.

use serde_json::{Value, json};

use super::without::without_namespaces;
use super::{Strict, User};
use crate::support::{assert_has, serve};

fn finding(document: &Value, id: &str) -> Value {
    let findings = document["findings"].as_array().unwrap();
    let of_id = findings.iter().find(|finding| finding["id"] == id);
    of_id.unwrap_or_else(|| panic!("{document:#}")).clone()
}

/// Each place is tried, and one that nothing has looked at yet is named.
#[test]
fn doctor_tries_every_place() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    sandbox.write(".claude/.docs/260110-task/state.json", "{}");
    sandbox.write("openspec/changes/add/tasks.md", "## 1. A\n- [ ] 1.1 b\n");
    let found = finding(&sandbox.run("doctor --json").json(), "strict");
    assert_eq!(found["level"], "info", "{found}");
    assert_has(found["what"].as_str().unwrap(), "in force: ");
    sandbox.write("packages/b/.devt/state/plan.md", "x");
    let found = finding(&sandbox.run("doctor --json").json(), "strict");
    assert_eq!(found["level"], "warning", "{found}");
    let path = sandbox.path("packages/b/.devt/state");
    assert_eq!(found["what"], format!("not kept: `{path}`"));
}

#[test]
fn doctor_says_what_is_missing() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let line = [env!("CARGO_BIN_EXE_statewarden"), "doctor", "--json"];
    let doctor = without_namespaces(&strict, &line);
    let found = finding(&serve(doctor, b"").json(), "strict");
    assert_eq!(found["level"], "warning", "{found}");
    assert_has(found["what"].as_str().unwrap(), "`strict`: not in force");
    assert_has(found["fix"].as_str().unwrap(), "user.max_user_namespaces");
    let settings = json!({ "sandbox": { "enabled": true } }).to_string();
    strict.sandbox.write(".claude/settings.json", &settings);
    let found = finding(
        &strict.sandbox.run("doctor --json").json(),
        "strict-sandbox",
    );
    assert_has(found["fix"].as_str().unwrap(), "denyWrite");
}

#[test]
fn status_says_that_strict_mode_is_on() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    assert_has(
        &sandbox.run("status").stdout(),
        "strict: what cannot be judged",
    );
    let document = sandbox.run("status --json").json();
    assert_eq!(document["strict"], json!({ "in_force": true }));
    let unfenced = r#"{"unfenced": "a user namespace: EPERM"}"#;
    sandbox.write(".claude/statewarden/state.json", unfenced);
    let document = sandbox.run("status --json").json();
    assert_eq!(
        document["strict"],
        json!({ "in_force": false, "why": "a user namespace: EPERM" })
    );
    strict.start().is_silent();
    let document = sandbox.run("status --json").json();
    assert_eq!(document["strict"], json!({ "in_force": true }));
}

/// The agent reads what the program printed, and what to do instead.
#[test]
fn a_refused_write_says_that_programs_can_be_declared() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    let error = "bash: .devt/state/0.md: Read-only file system";
    let after = |command: &str, error: &str| {
        let mut event = sandbox.bash_event(command);
        event["hook_event_name"] = "PostToolUseFailure".into();
        event["error"] = error.into();
        sandbox.hook(&event)
    };
    let told = after("python3 tool.py", error).json();
    let text = told["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert_has(text, "`systems.<id>.programs`");
    after("python3 tool.py", "no such file").is_silent();
    after("cat > /mnt/x <<< a", error).is_silent();
    sandbox.write("../home/.config/statewarden/config.yaml", "strict: false\n");
    after("python3 tool.py", error).is_silent();
}
