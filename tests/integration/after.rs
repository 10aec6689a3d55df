//! After a call: what got past the guard, and which denials are settled.

use serde_json::{Value, json};

use crate::support::Sandbox;

fn after(sandbox: &Sandbox, tool: &str, input: Value, response: Value) -> Value {
    let mut event = sandbox.event(tool, input);
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = response;
    event["duration_ms"] = 50.into();
    event
}

fn blocked(sandbox: &Sandbox, event: &Value) -> String {
    let ran = sandbox.hook(event);
    let answer = ran.json();
    assert_eq!(
        (ran.code(), &answer["decision"]),
        (0, &json!("block")),
        "{answer}"
    );
    answer["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_name_that_a_command_computed_is_detected() {
    let sandbox = Sandbox::new();
    let command = json!({ "command": "python3 make.py" });
    sandbox
        .hook(&sandbox.event("Bash", command.clone()))
        .is_silent();
    sandbox.write(".devt/state/todo.txt", "x");
    sandbox.write(".devt/state/plan.md", "x");
    let reason = blocked(
        &sandbox,
        &after(&sandbox, "Bash", command, json!({ "stdout": "" })),
    );
    assert!(
        reason.contains("todo.txt") && reason.contains("scratchpad.md"),
        "{reason}"
    );
    assert!(!reason.contains("plan.md`"), "{reason}");
    let records = sandbox.records(".claude/statewarden/events.jsonl");
    let detected: Vec<_> = records
        .iter()
        .filter(|record| record["decision"] == "detected")
        .collect();
    assert_eq!(detected.len(), 1);
    assert_eq!(
        (&detected[0]["rule"], &detected[0]["name"]),
        (&json!("ad-hoc-name"), &json!("todo.txt"))
    );
    assert!(sandbox.exists(".devt/state/todo.txt"), "nothing is deleted");
    assert!(
        sandbox
            .records(".devt/state/preflight-denies.jsonl")
            .is_empty(),
        "it was no denial"
    );
}

#[test]
fn a_command_that_failed_is_looked_at_as_well() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/todo.txt", "x");
    let mut event = after(
        &sandbox,
        "Bash",
        json!({ "command": "make; exit 1" }),
        Value::Null,
    );
    event["hook_event_name"] = "PostToolUseFailure".into();
    blocked(&sandbox, &event);
}

#[cfg(unix)]
#[test]
fn what_was_there_before_the_call_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/old.txt", "x");
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    sandbox
        .hook(&after(
            &sandbox,
            "Bash",
            json!({ "command": "true" }),
            json!({}),
        ))
        .is_silent();
}

#[test]
fn files_that_the_client_lists_are_judged() {
    let sandbox = Sandbox::new();
    sandbox.write("packages/a/.devt/state/notes.md", "x");
    sandbox.write(".devt/state/review.json", "{}");
    let diff = json!({ "bashEditDiff": { "changedFiles": [
        sandbox.path("packages/a/.devt/state/notes.md"),
        sandbox.path(".devt/state/review.json"),
        sandbox.path("src/x.rs"),
    ] } });
    let event = after(&sandbox, "Bash", json!({ "command": "python3 x.py" }), diff);
    let reason = blocked(&sandbox, &sandbox.by("programmer", event));
    assert!(
        reason.contains("notes.md") && reason.contains("wrong-writer"),
        "{reason}"
    );
}

#[test]
fn an_allowed_write_settles_the_agents_open_denials() {
    let sandbox = Sandbox::new();
    sandbox
        .hook(&sandbox.write_event(".devt/state/notes.md", "x"))
        .is_denied("ad-hoc-name");
    let other = sandbox.by(
        "programmer",
        sandbox.write_event(".devt/state/todo.md", "x"),
    );
    sandbox.hook(&other).is_denied("ad-hoc-name");
    sandbox.write(".devt/state/scratchpad.md", "x");
    let input = json!({ "file_path": sandbox.path(".devt/state/scratchpad.md"), "content": "x" });
    let event = after(&sandbox, "Write", input, json!({ "type": "create" }));
    sandbox.hook(&event).is_silent();
    sandbox.hook(&event).is_silent();
    let denial = &sandbox.records(".devt/state/preflight-denies.jsonl")[0];
    let events = sandbox.records(".claude/statewarden/events.jsonl");
    let recovered: Vec<_> = events
        .iter()
        .filter(|record| record["decision"] == "recovered")
        .collect();
    assert_eq!(
        recovered.len(),
        1,
        "the other agent's stays open, and this one closes once"
    );
    assert_eq!(recovered[0]["resolves"], denial["id"]);
}

#[test]
fn a_project_that_is_none_of_our_business_stays_untouched() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    sandbox
        .hook(&after(
            &sandbox,
            "Bash",
            json!({ "command": "ls" }),
            json!({}),
        ))
        .is_silent();
    let mut start = sandbox.event("x", json!({}));
    start["hook_event_name"] = "SessionStart".into();
    sandbox.hook(&start).is_silent();
    sandbox.hook_bytes(b"garbled").is_complaint();
    assert!(!sandbox.exists(".claude"));
}

#[test]
fn a_session_leaves_a_heartbeat_where_there_is_a_site() {
    let sandbox = Sandbox::new();
    let mut start = sandbox.event("x", json!({}));
    start["hook_event_name"] = "SessionStart".into();
    sandbox.hook(&start).is_silent();
    let beat = &sandbox.records(".claude/statewarden/events.jsonl")[0];
    assert_eq!(beat["decision"], "heartbeat");
    let reason = beat["reason"].as_str().unwrap();
    assert!(
        reason.contains(env!("CARGO_PKG_VERSION")) && reason.contains("0.83"),
        "{reason}"
    );
    assert_eq!(sandbox.read(".claude/statewarden/.gitignore"), "*\n");
}

#[test]
fn what_is_detected_can_be_quarantined_and_restored() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "quarantine: true\n");
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    sandbox.write(".devt/state/todo.txt", "kept");
    let event = after(&sandbox, "Bash", json!({ "command": "make" }), json!({}));
    let reason = blocked(&sandbox, &event);
    assert!(reason.contains(".archive/quarantine-"), "{reason}");
    assert!(!sandbox.exists(".devt/state/todo.txt"));
    let history = sandbox.run(&["history", "--json"]).json().to_string();
    let at = history.find("quarantine-").expect("a snapshot");
    let end = history[at..].find('"').unwrap();
    let ran = sandbox.run(&["restore", &history[at..at + end]]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    assert_eq!(sandbox.read(".devt/state/todo.txt"), "kept");
}

#[test]
fn a_command_that_takes_the_guard_out_of_the_settings_is_told() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["install"]).code(), 0);
    let bash = json!({ "command": "python3 unwire.py" });
    sandbox
        .hook(&after(&sandbox, "Bash", bash.clone(), json!({})))
        .is_silent();
    sandbox.write(".claude/settings.json", "{}\n");
    let reason = blocked(&sandbox, &after(&sandbox, "Bash", bash, json!({})));
    assert!(
        reason.contains("settings.json") && reason.contains("protected-file"),
        "{reason}"
    );
}

#[test]
fn a_command_that_removes_the_settings_with_the_guard_is_told() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["install"]).code(), 0);
    std::fs::remove_file(sandbox.project().join(".claude/settings.json")).unwrap();
    let event = after(
        &sandbox,
        "Bash",
        json!({ "command": "rm .claude/settings.json" }),
        json!({}),
    );
    assert!(blocked(&sandbox, &event).contains("protected-file"));
}

#[test]
fn a_command_that_writes_our_settings_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    let event = after(
        &sandbox,
        "Bash",
        json!({ "command": "python3 x.py" }),
        json!({}),
    );
    assert!(sandbox.hook(&event).stdout().contains("protected-file"));
}
