//! Denials that an allowed write settles.

use serde_json::{Value, json};

use crate::after::after;
use crate::support::{DENIES, DEVT, EVENTS, Sandbox};

/// The event after a Write into the devt site.
fn written(sandbox: &Sandbox, name: &str) -> Value {
    let path = sandbox.path(&format!(".devt/state/{name}"));
    let input = json!({ "file_path": path, "content": "x" });
    after(sandbox, "Write", input, json!({ "type": "create" }))
}

/// A project in which `notes.md` was denied in the devt site.
fn with_a_denial() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.denied(
        &sandbox.write_event(".devt/state/notes.md", "x"),
        "ad-hoc-name",
    );
    sandbox
}

/// The lock of the folder with the logs.
#[cfg(unix)]
fn lock(sandbox: &Sandbox) -> fd_lock::RwLock<std::fs::File> {
    sandbox.write(".claude/statewarden/.gitignore", "*\n");
    let folder = std::fs::File::open(sandbox.path(".claude/statewarden")).unwrap();
    fd_lock::RwLock::new(folder)
}

#[test]
fn an_allowed_write_settles_the_agents_open_denials() {
    let sandbox = with_a_denial();
    let other = sandbox.by(
        "programmer",
        sandbox.write_event(".devt/state/todo.md", "x"),
    );
    sandbox.denied(&other, "ad-hoc-name");
    let log = sandbox.read(DEVT);
    let first = log.lines().next().unwrap();
    let foreign = first.replace("statewarden\",\"decision", "devt\",\"decision");
    assert_ne!(foreign, first);
    sandbox.write(DEVT, &format!("{log}{foreign}\n"));
    sandbox.write(".devt/state/scratchpad.md", "x");
    let event = written(&sandbox, "scratchpad.md");
    sandbox.hook(&event).is_silent();
    sandbox.hook(&event).is_silent();
    let denial = &sandbox.records(DEVT)[0];
    let events = sandbox.records(EVENTS);
    let recovered: Vec<_> = events
        .iter()
        .filter(|record| record["decision"] == "recovered")
        .collect();
    assert_eq!(
        recovered.len(),
        1,
        "the others' stay open, and this one closes once"
    );
    assert_eq!(recovered[0]["resolves"], denial["id"]);
    assert_eq!(recovered[0]["name"], "scratchpad.md");
}

/// A denial does not make the directory, so it stands in the project's own log.
#[test]
fn a_denial_from_before_the_site_was_made_is_settled_too() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir(sandbox.project().join(".devt/state")).unwrap();
    sandbox.denied(
        &sandbox.write_event(".devt/state/notes.md", "x"),
        "ad-hoc-name",
    );
    let denial = &sandbox.records(DENIES)[0];
    sandbox.write(".devt/state/scratchpad.md", "x");
    let event = written(&sandbox, "scratchpad.md");
    sandbox.hook(&event).is_silent();
    let events = sandbox.records(EVENTS);
    assert_eq!(events[0]["resolves"], denial["id"], "{events:?}");
}

#[cfg(unix)]
#[test]
fn writes_at_the_same_moment_close_a_denial_once() {
    let sandbox = with_a_denial();
    let mut lock = lock(&sandbox);
    let guard = lock.write().unwrap();
    std::thread::scope(|scope| {
        for name in ["plan.md", "spec.md"] {
            let event = written(&sandbox, name);
            let sandbox = &sandbox;
            scope.spawn(move || sandbox.hook(&event).is_silent());
        }
        // Both have come to the log by then.
        std::thread::sleep(std::time::Duration::from_millis(150));
        drop(guard);
    });
    assert_eq!(sandbox.records(EVENTS).len(), 1);
}

#[cfg(unix)]
#[test]
fn a_lock_that_stays_busy_costs_no_record() {
    let sandbox = with_a_denial();
    let mut lock = lock(&sandbox);
    let _guard = lock.write().unwrap();
    sandbox.hook(&written(&sandbox, "plan.md")).is_silent();
    assert_eq!(sandbox.records(EVENTS).len(), 1);
}

/// Only the end of a long log is read, which may begin within a character.
#[test]
fn a_denial_in_a_long_log_is_found_wherever_its_end_begins() {
    for shift in ["", " "] {
        let sandbox = with_a_denial();
        let denial = sandbox.read(DEVT);
        let long = format!("{{\"reason\":\"{}\"}}\n{shift}", "é".repeat(300_000));
        let log = [long.as_bytes(), b"{\"torn\":\"\xc3\n", denial.as_bytes()].concat();
        std::fs::write(sandbox.project().join(DEVT), log).unwrap();
        let event = written(&sandbox, "plan.md");
        sandbox.hook(&event).is_silent();
        let events = sandbox.records(EVENTS);
        assert_eq!(events.len(), 1, "shifted by {shift:?}");
        assert_eq!(events[0]["decision"], "recovered");
    }
}
