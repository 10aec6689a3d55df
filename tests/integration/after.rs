//! After a call: what got past the guard.

use serde_json::{Value, json};

use crate::support::{EVENTS, Sandbox, assert_has};

pub(crate) fn after(sandbox: &Sandbox, tool: &str, input: Value, response: Value) -> Value {
    let mut event = sandbox.event(tool, input);
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = response;
    event["duration_ms"] = 50.into();
    event
}

/// After a command that printed nothing.
pub(crate) fn after_command(sandbox: &Sandbox, command: &str) -> Value {
    after(sandbox, "Bash", json!({ "command": command }), json!({}))
}

#[test]
fn a_project_that_is_none_of_our_business_stays_untouched() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    sandbox.hook(&after_command(&sandbox, "ls")).is_silent();
    let start = sandbox.event_of("SessionStart");
    sandbox.hook(&start).is_silent();
    sandbox.hook_bytes(b"garbled").is_complaint();
    let mut foreign = start.clone();
    foreign["turn_id"] = "1".into();
    sandbox.hook(&foreign).is_silent();
    assert!(!sandbox.exists(".claude"));

    // A clone of a project whose committed settings run the hook.
    sandbox.run("install --scope project").ends(0);
    std::fs::remove_dir_all(sandbox.path(".claude/statewarden")).unwrap();
    sandbox.hook(&start).is_silent();
    assert_eq!(sandbox.names(".claude"), ["settings.json"]);
    std::fs::create_dir_all(sandbox.path(".devt/state")).unwrap();
    sandbox.hook(&start).is_silent();
    assert!(
        sandbox
            .read(".claude/statewarden/state.json")
            .contains("\"wired\":\"was-there\"")
    );
}

#[test]
fn a_session_leaves_a_heartbeat_where_there_is_a_site() {
    let mut sandbox = Sandbox::new();
    sandbox.hook(&sandbox.event_of("SessionStart")).is_silent();
    sandbox
        .env
        .push(("AI_AGENT", "claude-code_2-1-331_harness".into()));
    sandbox.hook(&sandbox.event_of("SessionStart")).is_silent();
    let beats = sandbox.records(EVENTS);
    let beat = &beats[0];
    assert_eq!(beat["decision"], "heartbeat");
    assert_eq!(
        [&beat["client"], &beats[1]["client"]],
        [&json!(null), &json!("2.1.331")]
    );
    let reason = beat["reason"].as_str().unwrap();
    assert_has(reason, env!("CARGO_PKG_VERSION"));
    assert_has(reason, "0.83");
    assert_eq!(sandbox.read(".claude/statewarden/.gitignore"), "*\n");
}

#[test]
fn a_session_below_the_root_is_told_of_its_run() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    let state = "active: true\nphase: implement\nstatus: in_progress\n";
    sandbox.write("packages/a/.devt/state/workflow.yaml", state);
    let mut start = sandbox.event_of("SessionStart");
    sandbox.hook(&start).is_silent();
    start["cwd"] = sandbox.path("packages/a").into();
    let told = sandbox.hook(&start).stdout();
    assert_has(&told, "packages/a/.devt/state");
}
