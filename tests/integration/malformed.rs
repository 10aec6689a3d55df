//! Bad input, row by row of the failure policy.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{DEVT, EVENTS, Ran, Sandbox, assert_has, serve};

#[test]
fn unreadable_bytes_that_name_no_governed_place_pass_with_a_word() {
    let sandbox = Sandbox::new();
    for bytes in [
        &b""[..],
        b"   \n",
        b"no json",
        b"[]",
        b"{\"cwd\":\"/x\",\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"/x/a",
        b"{\"tool_name\":\"Write\"} trailing",
        b"{\"cwd\":\"\xff\xfe\"}",
        b"{\"file_path\":\"/p/.claude/commands/x\",\"content\":\"test-command",
        b"{\"transcript_path\":\"/h/.claude/.docs/x/openspec/changes/y\",",
        b"{\"agent_transcript_path\":\"/h/.devt/state/y\",",
    ] {
        sandbox.hook_bytes(bytes).is_complaint();
    }
    let faults = sandbox.records(EVENTS);
    assert_eq!(
        faults.len(),
        10,
        "each is recorded, since the project is known"
    );
    assert!(faults.iter().all(|fault| fault["decision"] == "fault"));
}

#[test]
fn unreadable_bytes_that_name_a_governed_place_are_refused() {
    let sandbox = Sandbox::new();
    for place in [
        ".devt/state/x",
        r".devt\\state\\x",
        r".devt\/state\/x",
        ".claude/.docs/x",
        ".claude/orchestration.local.md",
        ".claude/team-orchestration.local.md",
        ".claude/deep-dive.local.md",
        ".claude/skip-test-verification",
        r".claude\\known-test-failures",
        ".claude/test-command",
        ".agentmux/.sessions/x",
        "openspec/changes/x",
        ".claude/statewarden.yaml",
    ] {
        let cut = format!(
            "{{\"hook_event_name\":\"PreToolUse\",\"tool_input\":{{\"file_path\":\"/p/{place}"
        );
        sandbox.hook_bytes(cut.as_bytes()).is_refused_unread();
        let nameless = format!("{{\"file_path\":\"/p/{place}");
        sandbox.hook_bytes(nameless.as_bytes()).is_refused_unread();
    }
    sandbox
        .hook_bytes(b"{\"tool_input\":{\"file_path\":\"/p/.devt/state/\xff\"},\"cwd\":\"/\"}")
        .is_refused_unread();
}

/// Without a directory of the event, the hook's own one counts.
#[test]
fn an_event_without_a_directory_is_judged_where_the_hook_runs() {
    let sandbox = Sandbox::new();
    let call = |cwd: Value, below: &str| {
        let mut event = sandbox.event("Write", json!({ "file_path": below, "content": "x" }));
        event["cwd"] = cwd;
        event
    };
    for cwd in [json!(null), json!(7), json!(""), json!("project")] {
        let named = call(cwd.clone(), ".devt/state/notes.md");
        sandbox
            .hook_without_project_dir(&named)
            .is_denied("ad-hoc-name");
        sandbox.denied(&named, "ad-hoc-name");
        let elsewhere = call(cwd, "src/a.rs");
        sandbox.hook_without_project_dir(&elsewhere).is_silent();
        sandbox.hook(&elsewhere).is_silent();
    }
}

/// A session must be able to end, whatever its last event looked like.
#[test]
fn a_garbled_stop_is_never_refused() {
    let sandbox = Sandbox::new();
    for garbled in [
        r#"{"hook_event_name":"Stop","x":".devt/state/"#,
        r#"{"hook_event_name" : "SubagentStop","x":".devt/state/"#,
        r#"{"stop_hook_active": true,"x":".devt/state/"#,
    ] {
        sandbox.hook_bytes(garbled.as_bytes()).is_complaint();
    }
}

/// Hosts and clients that pass no arguments get the hook.
#[test]
fn without_a_verb_an_event_on_stdin_is_served() {
    let sandbox = Sandbox::new();
    let bare = |bytes: &[u8]| serve(sandbox.command(""), bytes);
    let event = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    bare(event.as_bytes()).is_denied("ad-hoc-name");
    bare(b"{\"x\":\".devt/state/").is_refused_unread();
    bare(sandbox.write_event("src/a.rs", "x").to_string().as_bytes()).is_silent();
    assert_has(&bare(b"").ends(2).stderr(), "Usage");
}

/// Exit 2 would refuse every call and hold every turn.
#[test]
fn a_usage_error_with_an_event_on_stdin_ends_with_one() {
    let sandbox = Sandbox::new();
    let event = sandbox.event_of("Stop").to_string();
    for (line, bytes, code) in [
        ("hoook", event.as_str(), 1),
        ("hook --host claude", &event, 1),
        ("--json", &event[..event.len() - 3], 1),
        ("hook --json", r#"{"hookEventName":"preToolUse"}"#, 1),
        ("hoook", "{}", 2),
        ("hoook", "", 2),
    ] {
        let ran = serve(sandbox.command(line), bytes.as_bytes()).ends(code);
        assert!(!ran.stderr().is_empty(), "{line}");
    }
}

#[test]
fn on_error_closed_refuses_everything_unreadable() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "on_error: closed\n");
    sandbox.hook_bytes(b"no json").is_refused_unread();
    for garbled in [
        r#"{"hook_event_name":"Stop","stop_hook_active":true,"x"#,
        r#"{"stop_hook_active" : true,"hook_event_name":"SubagentStop","#,
        r#"{"stop_hook_active":true,"#,
    ] {
        sandbox.hook_bytes(garbled.as_bytes()).is_complaint();
    }
    let first = r#"{"hook_event_name":"Stop","stop_hook_active":false,"#;
    sandbox.hook_bytes(first.as_bytes()).is_refused_unread();
    sandbox
        .hook(&sandbox.write_event("src/a.rs", "x"))
        .is_silent();
}

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
fn a_byte_order_mark_changes_nothing() {
    let sandbox = Sandbox::new();
    let event = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    sandbox
        .hook_bytes(format!("\u{feff}{event}").as_bytes())
        .is_denied("ad-hoc-name");
    sandbox
        .hook_bytes(format!("\n {event} \n").as_bytes())
        .is_denied("ad-hoc-name");
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

/// Otherwise nobody could mend the file but by removing it.
#[test]
fn a_file_that_is_no_text_can_be_written_anew() {
    let sandbox = Sandbox::new();
    let (research, review) = (".devt/state/research.md", "openspec/changes/a/review/1.md");
    for below in [research, review] {
        make_latin_1(&sandbox, below);
    }
    let verdict = sandbox.write_event(review, "**Status:** APPROVED\n");
    for event in [
        sandbox.write_event(research, "## Status: DONE\n"),
        sandbox.bash_event(&format!("echo '## Status: DONE' > {research}")),
        sandbox.bash_event(&format!("iconv -f latin1 -t utf8 x > {research}")),
        sandbox.bash_event(&format!("sed -i s/a/b/ {research}")),
        sandbox.by("reviewer", verdict),
    ] {
        sandbox.hook(&event).is_silent();
    }
    // The new text is judged as ever.
    sandbox.denied(
        &sandbox.write_event(research, "## Status: done\n"),
        "malformed-content",
    );
}

#[test]
fn where_the_present_text_decides_it_has_to_be_known() {
    let sandbox = Sandbox::new();
    let (research, settings) = (".devt/state/research.md", ".claude/settings.json");
    for below in [research, settings] {
        make_latin_1(&sandbox, below);
    }
    for event in [
        sandbox.edit_event(research, "c", "k"),
        sandbox.write_event(settings, "{}"),
    ] {
        let answer = sandbox.hook(&event).json();
        assert!(answer.to_string().contains("it is not UTF-8"), "{answer}");
    }
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

#[test]
fn values_of_the_wrong_type_are_no_paths() {
    let sandbox = Sandbox::new();
    for input in [
        json!(null),
        json!("text"),
        json!([1, 2]),
        json!({ "file_path": 7 }),
        json!({ "file_path": null }),
    ] {
        sandbox.hook(&sandbox.event("Write", input)).is_silent();
    }
}

#[test]
fn other_hosts_unknown_events_and_tools_get_no_opinion() {
    let sandbox = Sandbox::new();
    let path = sandbox.path(".devt/state/notes.md");
    let event = sandbox.write_event(".devt/state/notes.md", "x");
    let start = sandbox.event_of("SessionStart");
    for (keys, host) in [
        ("cursor_version", "Cursor"),
        ("toolName", "Copilot"),
        ("conversation_id workspace_roots", "Cursor"),
        ("hookEventName", "VS Code"),
        ("agent_action_name", "Windsurf"),
        ("timestamp tool_result", "Copilot"),
        ("turn_id", "Codex"),
    ] {
        for mut foreign in [event.clone(), start.clone()] {
            keys.split(' ').for_each(|key| foreign[key] = "1".into());
            sandbox.hook(&foreign).is_silent();
        }
        let state = sandbox.read(".claude/statewarden/state.json");
        assert_has(&state, &format!("\"name\":\"{host}\""));
        assert!(!sandbox.exists(EVENTS), "life where nothing is guarded");
    }
    assert_has(
        &sandbox.run("doctor").stdout(),
        "Codex ran statewarden here",
    );
    let mut foreign = event.clone();
    foreign["turn_id"] = "1".into();
    // Claude Code may come to have such a key as well.
    let mut claude = sandbox.hook_command();
    claude.env("AI_AGENT", "claude-code_2-1-400_harness");
    serve(claude, foreign.to_string().as_bytes()).is_denied("ad-hoc-name");
    for (event_name, tool) in [
        ("PreCompact", "Write"),
        ("FutureEvent", "Write"),
        ("PermissionRequest", "Write"),
        ("PreToolUse", "Read"),
        ("PreToolUse", "SubagentHandback"),
        ("PreToolUse", "FutureTool"),
        ("PreToolUse", "mcp__fs__read_file"),
        ("PreToolUse", "mcp__fs__list_directory"),
    ] {
        let mut other = sandbox.event(tool, json!({ "file_path": path, "path": path }));
        other["hook_event_name"] = event_name.into();
        sandbox.hook(&other).is_silent();
    }
}

#[cfg(unix)]
#[test]
fn a_log_that_cannot_be_written_changes_no_decision() {
    let sandbox = Sandbox::new();
    // A directory in the log's place; permissions would not stop root.
    fs::create_dir(sandbox.project().join(DEVT)).unwrap();
    let ran = sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    ran.reason();
    assert_has(&ran.stderr(), "preflight-denies.jsonl");
}

#[cfg(unix)]
#[test]
fn links_that_loop_are_refused_in_a_site_and_ignored_elsewhere() {
    let sandbox = Sandbox::new();
    let link = |below: &str, to: &str| {
        std::os::unix::fs::symlink(to, sandbox.project().join(below)).unwrap()
    };
    link(".devt/state/plan.md", "review.md");
    link(".devt/state/review.md", "plan.md");
    link("a", "b");
    link("b", "a");
    let ran = sandbox.hook(&sandbox.write_event(".devt/state/plan.md", "x"));
    let reason = ran.json()["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    assert_has(&reason, "plan.md");
    assert_has(&reason, "link");
    sandbox.hook(&sandbox.write_event("a/x", "x")).is_silent();
    let far = format!(".devt/state/plan.md/a\u{7}b/{}x", "d/".repeat(800));
    let reason = sandbox.hook(&sandbox.write_event(&far, "x")).reason();
    assert!(!reason.contains(char::is_control), "{reason:?}");
    assert!(reason.ends_with("run `statewarden doctor`."), "{reason}");
}

#[test]
fn a_command_too_deep_to_read_is_refused_where_it_names_a_governed_place() {
    let sandbox = Sandbox::new();
    let nested = |command: &str| format!("{}{command}{}", "( ".repeat(60), ")".repeat(60));
    let denied = sandbox.hook(&sandbox.bash_event(&nested("touch .devt/state/notes.md")));
    let reason = &denied.json()["hookSpecificOutput"]["permissionDecisionReason"];
    let reason = reason.as_str().unwrap();
    for part in ["nests deeper than 40 levels", "split the command"] {
        assert_has(reason, part);
    }
    let elsewhere = sandbox.bash_event(&nested("touch src/notes.md"));
    sandbox.hook(&elsewhere).is_silent();
    // Settings that change while a call runs are held.
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "mode: off\nsystems:\n  self:\n    mode: off\n",
    );
    let off = sandbox.bash_event(&nested("touch .devt/state/notes.md"));
    sandbox.hook(&off).is_silent();
}

#[test]
fn a_command_with_too_much_work_is_refused_where_it_names_a_governed_place() {
    let sandbox = Sandbox::new();
    let loops = "for i in {1..4000}; do for j in {1..4000}; do touch $i$j; done; done";
    let command = format!("cat .devt/state/spec.md; {loops}");
    let denied = sandbox.hook(&sandbox.bash_event(&command)).stdout();
    assert_has(&denied, "takes more than 262144 steps");
    sandbox.hook(&sandbox.bash_event(loops)).is_silent();
}
