//! Defects that were reproduced in devt's own hooks, each with a test that this
//! program does better. Where the whole behavior has tests of its own, the one
//! that covers a defect is there and has its number.

use serde_json::json;

use crate::support::{DEVT, EVENTS, Sandbox, assert_has};

#[test]
fn b11_the_place_in_the_command_and_quotes_make_no_difference() {
    let sandbox = Sandbox::new();
    for command in [
        "true; rm -rf .devt/state",
        "sudo rm -rf .devt/state",
        "bash -c 'rm -rf .devt/state'",
        "/bin/rm --recursive --force .devt/state",
        "rm -rf -- .devt/state",
    ] {
        sandbox.expect(&sandbox.bash_event(command), "bulk-removal");
    }
    sandbox
        .hook(&sandbox.bash_event("git commit -m 'never rm -rf .devt/state'"))
        .is_silent();
}

#[test]
fn b12_dots_and_notebooks_are_no_way_around() {
    let sandbox = Sandbox::new();
    let event = sandbox.event(
        "Write",
        json!({ "file_path": sandbox.path("src/../.devt/./state/x.md"), "content": "" }),
    );
    sandbox.denied(&event, "ad-hoc-name");
    let event = sandbox.event(
        "NotebookEdit",
        json!({ "notebook_path": sandbox.path(".devt/state/x.ipynb"), "new_source": "" }),
    );
    sandbox.denied(&event, "ad-hoc-name");
    sandbox
        .hook(&sandbox.write_event(".devt/state/../../src/a.py", "x"))
        .is_silent();
}

#[test]
fn b13_the_guard_needs_no_other_program() {
    let mut sandbox = Sandbox::new();
    sandbox.env.push(("PATH", String::new()));
    sandbox.denied(&sandbox.write_event(".devt/state/x.md", "x"), "ad-hoc-name");
}

#[test]
fn b20_a_denied_command_is_logged_without_its_secrets() {
    let sandbox = Sandbox::new();
    let command =
        "curl -H 'Authorization: Bearer abcdef0123456789abcdef' https://x.test > .devt/state/x.md";
    sandbox.denied(&sandbox.bash_event(command), "ad-hoc-name");
    let log = sandbox.read(DEVT);
    assert_has(&log, "command_excerpt");
    assert!(!log.contains("abcdef0123456789"), "{log}");
}

/// Declared sites and those that settings or the environment name go with the
/// directory above them.
#[test]
fn a_site_without_a_landmark_is_not_removed_from_above() {
    let mut sandbox = Sandbox::new();
    let feature = sandbox.base().join("sessions/s-1");
    sandbox
        .env
        .push(("FEATURE_DIR", feature.display().to_string()));
    std::fs::create_dir_all(&feature).unwrap();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  notes:\n    site: docs/notes\n    canonical: [index.md]\n  groups:\n    roots: [specs/x]\n",
    );
    sandbox.write("docs/notes/index.md", "x");
    sandbox.write("docs/other/a.md", "x");
    sandbox.write("specs/x/tasks.md", "## 1. A\n- [ ] a\n");
    let above = feature.parent().unwrap().display().to_string();
    for (command, expected) in [
        ("rm -rf docs".to_owned(), "bulk-removal"),
        ("mv docs /tmp/elsewhere".to_owned(), "bulk-removal"),
        ("find docs -delete".to_owned(), "bulk-removal"),
        ("rm -rf specs".to_owned(), "bulk-removal"),
        (format!("rm -rf {above}"), "bulk-removal"),
        ("rm -rf docs/other".to_owned(), "allow"),
    ] {
        let event = sandbox.bash_event(&command);
        sandbox.expect(&event, expected);
    }
}

#[test]
fn the_session_directory_of_the_environment_is_known_in_commands() {
    let mut sandbox = Sandbox::new();
    let feature = sandbox.path("fd");
    sandbox.env.push(("FEATURE_DIR", feature));
    sandbox.write("fd/state.json", "{}");
    for command in [
        "echo x >> \"$FEATURE_DIR/tool_events.jsonl\"",
        "cd $FEATURE_DIR && touch state.json",
        "touch \"${FEATURE_DIR}/06_implementation/done_1\"",
    ] {
        let event = sandbox.bash_event(command);
        sandbox.expect(&event, "program-owned");
    }
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
        let suggested = records.last().unwrap()["suggestion"].as_str().unwrap();
        assert_eq!(write(suggested).decision(), "allow", "{agent}: {suggested}");
    }
}

/// An edit of a file that is not there creates it.
#[test]
fn an_edit_makes_no_temporary_file() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/b.tmp", "x");
    for (name, expected) in [("a.tmp", "ephemeral-name"), ("b.tmp", "allow")] {
        let event = sandbox.edit_event(&format!(".devt/state/{name}"), "", "x");
        sandbox.expect(&event, expected);
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

/// Half-done changes, of any number, do not push a run out of the greeting.
#[test]
fn the_greeting_begins_with_what_is_stored() {
    let sandbox = Sandbox::new();
    sandbox.run(&["flow", "init", "a task"]);
    for n in 0..8 {
        let tasks = "## 1. A\n- [x] a\n- [ ] b\n";
        sandbox.write(
            &format!("openspec/changes/add-user-login-{n}/tasks.md"),
            tasks,
        );
    }
    let text = sandbox.hook(&sandbox.event_of("SessionStart")).context();
    assert_has(&text, "agent-flow");
}
