//! A hook that is killed at any system call of a look or an undo: files stay whole, and
//! the next look goes on.

use crate::crash::kill_everywhere_in;
use crate::recorder::{after, begin, call, changes, told};
use crate::support::Sandbox;

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
            !changes(sandbox, ".devt/state/todo.txt").is_empty(),
            "killed at {nth}"
        );
        call(sandbox, "main", "make", || {
            sandbox.write(".devt/state/plan.md", "x")
        });
        assert_eq!(
            changes(sandbox, ".devt/state/plan.md").len(),
            1,
            "killed at {nth}"
        );
    });
}
