//! Defects that were reproduced in devt's own hooks, each with a test that this
//! program does better. Where the whole behavior has tests of its own, the one
//! that covers a defect is there and has its number.

use serde_json::json;

use crate::support::{DEVT, EVENTS, Sandbox, assert_has};

#[test]
fn the_guard_needs_no_other_program() {
    let mut sandbox = Sandbox::new();
    sandbox.env.push(("PATH", String::new()));
    sandbox.denied(&sandbox.write_event(".devt/state/x.md", "x"), "ad-hoc-name");
}

#[test]
fn a_denied_command_is_logged_without_its_secrets() {
    let sandbox = Sandbox::new();
    let command =
        "curl -H 'Authorization: Bearer abcdef0123456789abcdef' https://x.test > .devt/state/x.md";
    sandbox.denied(&sandbox.bash_event(command), "ad-hoc-name");
    let log = sandbox.read(DEVT);
    assert_has(&log, "command_excerpt");
    assert!(!log.contains("abcdef0123456789"), "{log}");
}

/// A suggestion must not lead into the next denial.
#[test]
fn only_what_the_actor_may_write_is_suggested() {
    let sandbox = Sandbox::new();
    for (agent, name) in [
        ("programmer", "review_auth.md"),
        ("code-reviewer", "review_auth.md"),
        ("tester", "impl-summry.json"),
        ("programmer", "workflow.yml"),
    ] {
        let write = |name: &str| {
            let event = sandbox.write_event(&format!(".devt/state/{name}"), "x");
            sandbox.hook(&sandbox.by(agent, event))
        };
        write(name).is_denied("ad-hoc-name");
        let records = sandbox.records(DEVT);
        let Some(suggested) = records.last().unwrap()["suggestion"].as_str() else {
            continue;
        };
        assert_eq!(write(suggested).decision(), "allow", "{agent}: {suggested}");
    }
}

#[test]
fn a_repaired_state_is_told_and_recorded() {
    let sandbox = Sandbox::new();
    sandbox.run(&["session", "init", "a task"]);
    let session = sandbox.names(".claude/.docs").remove(0);
    let state = format!(".claude/.docs/{session}/state.json");
    let good = sandbox.read(&state);
    let odd = format!("\"workflow\": \"{}\"", "x".repeat(100_000));
    let odd = good.replace("\"workflow\": \"code\"", &odd);
    assert_ne!(odd, good);
    for broken in ["{oops", &odd] {
        sandbox.write(&state, broken);
        let told = sandbox.hook(&sandbox.write_event(&state, &good)).context();
        assert!(told.contains("is broken") && told.len() < 500, "{told}");
    }
    // The state need not be the first that a command writes.
    let report = format!("touch .claude/.docs/{session}/plan-report.md");
    let command = format!("{report}; cat > {state} <<'E'\n{good}E");
    sandbox.hook(&sandbox.bash_event(&command)).json();
    let records = sandbox.records(EVENTS);
    assert_eq!(records.len(), 3);
    for fault in records {
        assert_eq!(fault["decision"], "fault");
        assert_eq!(fault["system"], "session");
        assert_eq!(fault["file_path"], sandbox.path(&state));
    }
}

/// Denials do not stay open for having been rotated away.
#[test]
fn a_recovery_closes_denials_of_the_generation_before() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "log:\n  max_bytes: 65536\n");
    sandbox.write(
        ".devt/state/workflow.yaml",
        "active: true\ncreated_at: \"2026-01-01T00:00:00.000Z\"\n",
    );
    let mut refused = sandbox.write_event(".devt/state/notes.md", "x");
    for n in 0..110 {
        refused["tool_use_id"] = format!("call-{n}").into();
        sandbox.denied(&refused, "ad-hoc-name");
    }
    sandbox.run("stuck").ends(1);
    sandbox.write(".devt/state/plan.md", "x");
    let mut written = sandbox.write_event(".devt/state/plan.md", "x");
    written["hook_event_name"] = "PostToolUse".into();
    written["tool_response"] = json!({});
    written["duration_ms"] = 1.into();
    sandbox.hook(&written).is_silent();
    sandbox.run("stuck").ends(0);
}
