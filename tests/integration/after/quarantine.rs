//! What is detected can be moved into the archive.

use super::{after_command, blocked};
use crate::support::{Sandbox, assert_has};

/// A project with a stray file that is younger than the setting to move such files away.
fn quarantining(more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let settings = format!("quarantine: true\n{more}");
    sandbox.write(".claude/statewarden.yaml", &settings);
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    sandbox.write(".devt/state/todo.txt", "kept");
    sandbox
}

#[test]
fn what_is_detected_can_be_quarantined_and_restored() {
    let sandbox = quarantining("");
    let event = after_command(&sandbox, "make");
    let reason = blocked(&sandbox, &event);
    assert_has(&reason, ".archive/quarantine-");
    assert!(!sandbox.exists(".devt/state/todo.txt"));
    let history = sandbox.run("history --json").json().to_string();
    let at = history.find("quarantine-").expect("a snapshot");
    let end = history[at..].find('"').unwrap();
    sandbox.run(&["restore", &history[at..at + end]]).ends(0);
    assert_eq!(sandbox.read(".devt/state/todo.txt"), "kept");
    // What a person brought back stays, until it is written again.
    sandbox.hook(&event).is_silent();
    assert_eq!(sandbox.read(".devt/state/todo.txt"), "kept");
    sandbox.write(".devt/state/todo.txt", "kept");
    blocked(&sandbox, &event);
    assert!(!sandbox.exists(".devt/state/todo.txt"));
}

#[test]
fn warnings_tell_and_move_nothing() {
    let sandbox = quarantining("systems: {devt: {mode: warn}}\n");
    let event = after_command(&sandbox, "make");
    let answer = sandbox.hook(&event).json();
    let told = &answer["hookSpecificOutput"];
    assert_eq!(told["hookEventName"], "PostToolUse");
    let text = told["additionalContext"].as_str().unwrap();
    assert_has(text, "todo.txt");
    assert_eq!(answer.get("decision"), None);
    assert!(sandbox.exists(".devt/state/todo.txt"));
}

#[test]
fn nothing_is_quarantined_while_devt_writes() {
    let sandbox = quarantining("");
    sandbox.write(".devt/state/.lock", &std::process::id().to_string());
    let event = after_command(&sandbox, "make");
    let ran = sandbox.hook(&event);
    assert_has(&ran.stderr(), "could not quarantine");
    assert!(sandbox.exists(".devt/state/todo.txt"));
}
