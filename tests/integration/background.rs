//! Commands that go on in the background after their call.

use serde_json::{Value, json};

use crate::after::{after, after_command, blocked};
use crate::support::{EVENTS, Sandbox, assert_has, keys};

const NOTES: &str = ".claude/statewarden/background.json";

/// After a call that starts a command in the background, as the client tells it.
fn started(sandbox: &Sandbox, session: &str, task: &str) -> Value {
    let input = json!({ "command": "make serve", "run_in_background": true });
    let response = json!({ "stdout": "", "stderr": "", "backgroundTaskId": task });
    in_session(session, after(sandbox, "Bash", input, response))
}

/// After a call that can have written nothing but its own file.
fn unrelated(sandbox: &Sandbox, session: &str) -> Value {
    let input = json!({ "file_path": sandbox.path("src/a.rs"), "content": "x" });
    in_session(
        session,
        after(sandbox, "Write", input, json!({ "type": "create" })),
    )
}

/// The end of a turn while these tasks go on.
fn stop(sandbox: &Sandbox, session: &str, tasks: &[&str]) -> Value {
    let mut event = sandbox.event_of("Stop");
    event["stop_hook_active"] = false.into();
    let task = |id| json!({ "id": id, "type": "shell", "status": "running" });
    event["background_tasks"] = tasks.iter().map(task).collect();
    in_session(session, event)
}

fn in_session(session: &str, mut event: Value) -> Value {
    event["session_id"] = session.into();
    event
}

fn detections(sandbox: &Sandbox) -> usize {
    let records = sandbox.records(EVENTS);
    let is_one = |record: &&Value| record["decision"] == "detected";
    records.iter().filter(is_one).count()
}

#[test]
fn a_command_in_the_background_is_looked_after_until_it_is_over() {
    let sandbox = Sandbox::new();
    sandbox.hook(&started(&sandbox, "s-1", "b1")).is_silent();
    sandbox.hook(&unrelated(&sandbox, "s-1")).is_silent();
    sandbox.write(".devt/state/todo.txt", "x");
    let reason = blocked(&sandbox, &unrelated(&sandbox, "s-1"));
    assert_has(&reason, "todo.txt");
    assert_has(&reason, "in the background");

    sandbox.hook(&unrelated(&sandbox, "s-1")).is_silent();
    let bash = after_command(&sandbox, "ls");
    sandbox.hook(&bash).is_silent();
    sandbox.hook(&stop(&sandbox, "s-1", &["b1"])).is_silent();
    assert_eq!(detections(&sandbox), 1, "told once");

    sandbox.write(".devt/state/todo.txt", "y");
    blocked(&sandbox, &unrelated(&sandbox, "s-1"));
    sandbox.write(".devt/state/more.txt", "x");
    assert!(blocked(&sandbox, &stop(&sandbox, "s-1", &[])).contains("more.txt"));
    assert!(!sandbox.exists(NOTES), "it is over");
    sandbox.write(".devt/state/later.txt", "x");
    sandbox.hook(&unrelated(&sandbox, "s-1")).is_silent();
    assert_eq!(detections(&sandbox), 3);
}

#[test]
fn sessions_have_commands_of_their_own() {
    let sandbox = Sandbox::new();
    sandbox.hook(&started(&sandbox, "s-1", "b1")).is_silent();
    sandbox.write(".devt/state/todo.txt", "x");
    sandbox.hook(&unrelated(&sandbox, "s-2")).is_silent();
    sandbox.hook(&stop(&sandbox, "s-2", &[])).is_silent();
    blocked(&sandbox, &unrelated(&sandbox, "s-1"));

    sandbox.write(".devt/state/plan.md", "x");
    sandbox.hook(&started(&sandbox, "s-3", "b3"));
    sandbox.hook(&stop(&sandbox, "s-1", &[])).is_silent();
    assert!(sandbox.exists(NOTES), "the other session's goes on");
    sandbox.write(".devt/state/more.txt", "x");
    sandbox.hook(&unrelated(&sandbox, "s-1")).is_silent();
    assert!(blocked(&sandbox, &unrelated(&sandbox, "s-3")).contains("more.txt"));
    sandbox.hook(&stop(&sandbox, "s-3", &[])).is_silent();
    assert!(!sandbox.exists(NOTES));
}

#[test]
fn what_a_call_made_itself_is_told_whoever_heard_of_it_before() {
    let sandbox = Sandbox::new();
    for (session, task) in [("s-1", "b1"), ("s-2", "b2")] {
        sandbox.hook(&started(&sandbox, session, task)).is_silent();
    }
    sandbox.write(".devt/state/todo.txt", "x");
    blocked(&sandbox, &unrelated(&sandbox, "s-1"));
    sandbox.hook(&unrelated(&sandbox, "s-2")).is_silent();
    let bash = after_command(&sandbox, "make");
    let reason = blocked(&sandbox, &in_session("s-2", bash));
    assert!(reason.starts_with("The call, or a command"), "{reason}");
}

#[test]
fn an_agent_hears_of_its_own_commands_and_the_main_thread_of_all() {
    let sandbox = Sandbox::new();
    let by = |agent: &str, mut event: Value| {
        event["agent_type"] = "programmer".into();
        event["agent_id"] = agent.into();
        event
    };
    sandbox
        .hook(&by("a-1", started(&sandbox, "s-1", "b1")))
        .is_silent();
    sandbox.write(".devt/state/todo.txt", "x");
    sandbox
        .hook(&by("a-2", unrelated(&sandbox, "s-1")))
        .is_silent();
    blocked(&sandbox, &by("a-1", unrelated(&sandbox, "s-1")));
    sandbox.write(".devt/state/more.txt", "x");
    assert!(blocked(&sandbox, &stop(&sandbox, "s-1", &[])).contains("more.txt"));
    assert!(!sandbox.exists(NOTES));
}

#[test]
fn a_turn_is_made_to_go_on_once_at_most() {
    let sandbox = Sandbox::new();
    sandbox.hook(&started(&sandbox, "s-1", "b1")).is_silent();
    sandbox.write(".devt/state/todo.txt", "x");
    let mut event = stop(&sandbox, "s-1", &["b1"]);
    event["stop_hook_active"] = true.into();
    let answer = sandbox.hook(&event).json();
    assert_eq!(keys(&answer), ["systemMessage"], "for the user alone");
    assert_eq!(detections(&sandbox), 1);

    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    sandbox.write(".devt/state/more.txt", "x");
    let answer = sandbox.hook(&stop(&sandbox, "s-1", &[])).json();
    assert!(
        answer["systemMessage"]
            .as_str()
            .unwrap()
            .contains("more.txt")
    );
    assert_eq!(answer.get("decision"), None);
}

#[test]
fn a_monitor_goes_on_as_well() {
    let sandbox = Sandbox::new();
    let input = json!({ "command": "tail -f log", "description": "m", "timeout_ms": 2000 });
    let response = json!({ "taskId": "m1", "timeoutMs": 2000, "persistent": false });
    sandbox
        .hook(&after(&sandbox, "Monitor", input, response))
        .is_silent();
    sandbox.write(".devt/state/todo.txt", "x");
    blocked(&sandbox, &unrelated(&sandbox, "s-1"));
}

#[test]
fn what_nobody_saw_end_is_forgotten() {
    let sandbox = Sandbox::new();
    let old = json!({ "tasks": [{ "session": "s-1", "id": "b1", "since": 0 }], "told": [] });
    sandbox.write(NOTES, &old.to_string());
    sandbox.write(".devt/state/todo.txt", "x");
    sandbox.hook(&unrelated(&sandbox, "s-1")).is_silent();
    sandbox.write(NOTES, "garbled");
    sandbox.hook(&unrelated(&sandbox, "s-1")).is_silent();
    sandbox.write(NOTES, &old.to_string());
    let bash = after_command(&sandbox, "ls");
    blocked(&sandbox, &bash);
    assert!(!sandbox.exists(NOTES));
    std::fs::remove_file(sandbox.path(".devt/state/todo.txt")).unwrap();
    sandbox.write(NOTES, &old.to_string());
    sandbox.hook(&bash).is_silent();
    assert!(!sandbox.exists(NOTES), "with nothing to tell as well");
}

#[test]
fn a_project_without_a_site_stays_untouched() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    sandbox.hook(&started(&sandbox, "s-1", "b1")).is_silent();
    sandbox.hook(&stop(&sandbox, "s-1", &["b1"])).is_silent();
    assert!(!sandbox.exists(".claude"));
}

#[test]
fn hooks_at_the_same_moment_note_every_command_and_tell_once() {
    let sandbox = Sandbox::new();
    let at_once = |events: &[Value]| {
        std::thread::scope(|scope| {
            let runs: Vec<_> = events
                .iter()
                .map(|event| scope.spawn(|| sandbox.hook(event).stdout()))
                .collect();
            let told = runs.into_iter().map(|run| run.join().unwrap());
            told.filter(|told| told.contains("todo.txt")).count()
        })
    };
    let tasks = ["b1", "b2", "b3", "b4"];
    let starts = tasks.map(|task| started(&sandbox, "s-1", task));
    assert_eq!(at_once(&starts), 0);
    let notes = sandbox.read(NOTES);
    assert!(tasks.iter().all(|task| notes.contains(task)), "{notes}");
    sandbox.write(".devt/state/todo.txt", "x");
    let same = tasks.map(|_| unrelated(&sandbox, "s-1"));
    assert_eq!(at_once(&same), 1);
    assert_eq!(detections(&sandbox), 1);
}
