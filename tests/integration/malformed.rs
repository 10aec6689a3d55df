//! Bad input, row by row of the failure policy.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{EVENTS, Ran, Sandbox, serve};

fn left_open(sandbox: &Sandbox, bytes: &[u8]) -> (Ran, Duration) {
    use std::io::Write;
    let mut child = sandbox
        .hook_command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(bytes).unwrap();
    let begun = Instant::now();
    // `wait_with_output` closes only a stdin that is still in the child.
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    (Ran::from(output), begun.elapsed())
}

#[test]
fn a_stdin_that_is_never_closed_ends_in_a_decision() {
    let sandbox = Sandbox::new();
    let whole = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    let (ran, _) = left_open(&sandbox, whole.as_bytes());
    ran.is_denied("ad-hoc-name");
    let (ran, _) = left_open(&sandbox, &whole.as_bytes()[..whole.len() - 20]);
    ran.is_refused_unread();
    let (ran, took) = left_open(&sandbox, b"{\"cwd\":");
    ran.is_complaint();
    assert!(
        took < Duration::from_secs(8),
        "the hook must end well before its timeout, took {took:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_stdin_that_never_ends_does_not_keep_the_hook() {
    let sandbox = Sandbox::new();
    let mut command = Command::new("timeout");
    command
        .args(["20", env!("CARGO_BIN_EXE_statewarden"), "hook"])
        .env_clear()
        .envs(sandbox.surroundings())
        .env("PATH", "/usr/bin:/bin")
        .stdin(fs::File::open("/dev/zero").unwrap());
    Ran::from(command.output().unwrap()).is_complaint();
}

#[test]
fn unknown_fields_and_deep_nesting_change_nothing() {
    let sandbox = Sandbox::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (name, expected) in [("notes.md", true), ("plan.md", false)] {
        let path = sandbox.path(&format!(".devt/state/{name}"));
        let event = format!(
            "{{\"cwd\":{:?},\"future\":{deep},\"hook_event_name\":\"PreToolUse\",\"permission_mode\":\"new\",\
             \"tool_name\":\"Write\",\"tool_input\":{{\"file_path\":{path:?},\"content\":\"x\",\"extra\":{deep}}}}}",
            sandbox.path("")
        );
        let ran = sandbox.hook_bytes(event.as_bytes());
        if expected {
            ran.is_denied("ad-hoc-name");
        } else {
            ran.is_silent();
        }
    }
}

/// The event with this JSON text, so many times, in the place of `CONTENT`: to write it out as
/// JSON would take most of the time.
fn filled(event: &Value, text: &str, n: usize) -> Vec<u8> {
    let event = event.to_string();
    event.replace("CONTENT", &text.repeat(n)).into_bytes()
}

const QUOTED_LINE: &str = r#"line \\ \"quoted\"\n"#;

#[test]
fn large_content_changes_nothing() {
    let sandbox = Sandbox::new();
    let hook = |path: &str| {
        let event = sandbox.write_event(path, "CONTENT");
        sandbox.hook_bytes(&filled(&event, QUOTED_LINE, 20 * 1024 * 1024 / 16))
    };
    hook("src/big.txt").is_silent();
    hook(".devt/state/big.md").is_denied("ad-hoc-name");
}

/// A text is not copied where nobody judges it.
#[cfg(target_os = "linux")]
#[test]
fn large_content_takes_the_memory_of_the_event() {
    let sandbox = Sandbox::new();
    let event = sandbox.write_event("src/big.txt", "CONTENT");
    let event = filled(&event, QUOTED_LINE, 40 * 1024 * 1024 / 16);
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_statewarden");
    let room = 2 * event.len() / 1024;
    command
        .args(["-c", &format!("ulimit -v {room}; exec {program} hook")])
        .env_clear()
        .envs(sandbox.surroundings())
        .env("CLAUDE_PROJECT_DIR", sandbox.project());
    serve(command, &event).is_silent();
}

#[test]
fn large_content_is_judged() {
    let sandbox = Sandbox::new();
    let large = "x".repeat(2 * 1024 * 1024);
    for (below, code) in [
        ("notes.md", Some("ad-hoc-name")),
        ("scratchpad.md", None),
        ("review.json", Some("malformed-content")),
    ] {
        let path = sandbox.path(&format!(".devt/state/{below}"));
        let behind = json!({ "content": large, "file_path": path });
        let before = json!({ "file_path": path, "content": large });
        for input in [behind, before] {
            let ran = sandbox.hook(&sandbox.event("Write", input));
            assert_eq!(ran.decision(), code.unwrap_or("allow"), "{below}");
        }
    }
}

#[test]
fn an_event_past_the_bound_is_unreadable() {
    let sandbox = Sandbox::new();
    let hook = |event: &Value| sandbox.hook_bytes(&filled(event, "x", 65 * 1024 * 1024));
    let plan = ".devt/state/plan.md";
    hook(&sandbox.write_event("src/big.txt", "CONTENT")).is_complaint();
    hook(&sandbox.write_event(plan, "CONTENT")).is_refused_unread();
    let input = json!({ "content": "CONTENT", "file_path": sandbox.path(plan) });
    hook(&sandbox.event("Write", input)).is_refused_unread();
    let faults = sandbox.records(EVENTS);
    assert_eq!(faults.len(), 3, "each is recorded");
}

#[test]
fn a_session_state_that_is_no_text_can_be_repaired() {
    let sandbox = Sandbox::new();
    sandbox.run("session init b").ends(0);
    let made = sandbox.names(".claude/.docs").remove(0);
    let state = format!(".claude/.docs/{made}/state.json");
    let good = sandbox.read(&state);
    make_latin_1(&sandbox, &state);
    let answer = sandbox.hook(&sandbox.write_event(&state, &good)).json();
    assert!(
        answer.to_string().contains("the present state is broken"),
        "{answer}"
    );
    let record = &sandbox.records(EVENTS)[0];
    assert_eq!(record["decision"], "fault", "{record}");
    sandbox.denied(&sandbox.write_event(&state, "{}"), "malformed-content");
}

fn make_latin_1(sandbox: &Sandbox, below: &str) {
    sandbox.write(below, "");
    fs::write(sandbox.path(below), b"caf\xe9\n").unwrap();
}

#[cfg(unix)]
#[test]
fn a_refused_path_is_shown_printable_and_short() {
    let sandbox = Sandbox::new();
    let plan = sandbox.path(".devt/state/plan.md");
    std::os::unix::fs::symlink(&plan, &plan).unwrap();
    let far = format!(".devt/state/plan.md/a\u{7}b/{}x", "d/".repeat(800));
    let reason = sandbox.hook(&sandbox.write_event(&far, "x")).reason();
    assert!(!reason.contains(char::is_control), "{reason:?}");
    assert!(reason.ends_with("run `statewarden doctor`."), "{reason}");
}
