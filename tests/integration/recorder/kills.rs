//! A hook that is killed at any system call of a look or an undo, and a full disk: files
//! stay whole, and the next look goes on.

use std::fs;

use serde_json::json;

use crate::crash::{kill_everywhere_in, on_a_full_disk};
use crate::recorder::{after, begin, call, told};
use crate::support::{Sandbox, assert_has};

/// How many changes of a file are on record.
fn n_changes(sandbox: &Sandbox, below: &str) -> usize {
    let path = sandbox.path(below);
    let records = sandbox.changes().into_iter();
    records.filter(|record| record["path"] == *path).count()
}

#[test]
fn an_undo_killed_at_any_system_call_is_finished_by_the_next() {
    let fresh = || {
        let sandbox = Sandbox::new();
        sandbox.write(".claude/statewarden.yaml", "undo: exclusive\n");
        sandbox.write(".devt/state/workflow.yaml", "active: true\n");
        let event = begin(&sandbox, "programmer", "python3 x.py");
        sandbox.write(".devt/state/todo.txt", "stray");
        sandbox.write(".devt/state/workflow.yaml", "active: false\n");
        (sandbox, after(&event).to_string())
    };
    kill_everywhere_in(&fresh, &["hook"], &|sandbox, event, nth| {
        let workflow = sandbox.read(".devt/state/workflow.yaml");
        assert!(
            ["active: true\n", "active: false\n"].contains(&workflow.as_str()),
            "killed at {nth}: {workflow}"
        );
        // The end that the client did not hear of, sent again, and a further call.
        sandbox.hook_bytes(event.as_bytes());
        let ran = call(sandbox, "main", "make", || ());
        assert_eq!(ran.code(), 0, "killed at {nth}: {}", ran.stderr());
        assert!(
            !sandbox.exists(".devt/state/todo.txt"),
            "killed at {nth}: {}",
            told(&ran)
        );
        let archive = sandbox.names(".devt/state/.archive");
        let is_kept = archive
            .iter()
            .any(|run| sandbox.exists(&format!(".devt/state/.archive/{run}/todo.txt")));
        assert!(is_kept, "killed at {nth}: {archive:?}");
        assert!(
            n_changes(sandbox, ".devt/state/todo.txt") > 0,
            "killed at {nth}"
        );
        call(sandbox, "main", "make", || {
            sandbox.write(".devt/state/plan.md", "x")
        });
        assert_eq!(
            n_changes(sandbox, ".devt/state/plan.md"),
            1,
            "killed at {nth}"
        );
    });
}

#[test]
fn a_full_disk_is_said_and_changes_no_answer() {
    let sandbox = Sandbox::new();
    for kind in ["PreToolUse", "PostToolUse"] {
        let event = json!({
            "session_id": "s", "cwd": "DISK", "hook_event_name": kind, "tool_name": "Bash",
            "tool_input": { "command": "make" }, "tool_use_id": "toolu_1", "duration_ms": 60_000,
            "tool_response": {},
        });
        let file = sandbox.base().join(format!("{kind}.json"));
        fs::write(file, event.to_string()).unwrap();
    }
    let base = sandbox.base();
    let script = format!(
        r#"
        export XDG_STATE_HOME="$DISK/state"
        mkdir -p "$DISK/.devt/state" && cd "$DISK" || exit 2
        hook() {{
            sed "s|DISK|$DISK|" '{base}/'$1.json | "$PROGRAM" hook 2> '{base}/errors'
            echo "$1 $?" $(grep -m 1 -o 'could not look' '{base}/errors')
        }}
        hook PreToolUse
        echo 1 > .devt/state/todo.txt
        cat /dev/zero > fill 2>/dev/null
        hook PostToolUse
        rm fill
        hook PostToolUse
        ls .devt/state
        "#,
        base = base.display()
    );
    let Some(printed) = on_a_full_disk(&sandbox, &script) else {
        return;
    };
    assert_has(&printed, "PreToolUse 0\nPostToolUse 0 could not look\n");
    assert_has(&printed, "`.devt/state/todo.txt` (ad-hoc-name): moved to");
    assert!(printed.ends_with("PostToolUse 0\n"), "{printed}");
}
