//! What Claude Code reads: form and content of a refusal.

mod ways;

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::after::after_command;
use crate::support::{Ran, Sandbox, assert_has, feed, keys};

/// The reason for refusing a Write to a path of the project.
#[track_caller]
fn reason(sandbox: &Sandbox, path: &str, code: &str) -> String {
    sandbox.denied(&sandbox.write_event(path, "x\n"), code)
}

#[test]
fn a_refusal_that_cannot_be_printed_is_given_by_the_exit_code() {
    let sandbox = Sandbox::new();
    let event = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    let ways = [(">&-", 2), (">/dev/null", 2), (">&- 2>&-", 2), ("2>&-", 0)];
    for (n, (closed, code)) in ways.into_iter().enumerate() {
        let mut shell = Command::new("sh");
        let hook = format!("exec \"$0\" hook {closed}");
        shell.args(["-c", &hook, env!("CARGO_BIN_EXE_statewarden")]);
        shell.envs(sandbox.surroundings());
        shell.env("CLAUDE_PROJECT_DIR", sandbox.project());
        let ran = crate::support::serve(shell, event.as_bytes());
        assert_eq!(ran.code(), code, "{closed}: {}", ran.stderr());
        let records = sandbox.records(".devt/state/preflight-denies.jsonl");
        assert_eq!(records.len(), n + 1, "{closed}");
    }
}

#[test]
fn a_refusal_is_exactly_one_json_object_and_nothing_else() {
    let sandbox = Sandbox::new();
    for event in [
        sandbox.write_event(".devt/state/notes.md", "x"),
        sandbox.write_event(".claude/statewarden.yaml", "x"),
        sandbox.bash_event("rm -rf .devt/state"),
        sandbox.by("tester", sandbox.write_event(".devt/state/review.md", "x")),
    ] {
        let ran = sandbox.hook(&event);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
        let stdout = ran.stdout();
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
        assert!(
            stdout.starts_with('{') && stdout.trim_end().ends_with('}'),
            "{stdout}"
        );
        let answer = ran.json();
        assert_eq!(keys(&answer), ["hookSpecificOutput"]);
        assert_eq!(
            keys(&answer["hookSpecificOutput"]),
            [
                "hookEventName",
                "permissionDecision",
                "permissionDecisionReason"
            ]
        );
    }
}

/// Exit 2 refuses without JSON; what is only told must not refuse by that.
#[test]
fn a_refusal_reaches_whom_stdout_does_not_and_a_note_refuses_nothing() {
    let sandbox = Sandbox::new();
    let unheard = |event: &Value| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.hook_command();
        command.stdout(writer).stderr(Stdio::piped());
        let child = feed(&mut command, event.to_string().as_bytes());
        Ran::from(child.wait_with_output().unwrap())
    };
    let call = sandbox.write_event(".devt/state/notes.md", "x");
    let denied = unheard(&call);
    denied.is_refused_unread();
    assert_has(&denied.stderr(), "(ad-hoc-name)");

    sandbox.write(".devt/state/todo.txt", "x");
    let run = after_command(&sandbox, "make");
    let blocked = unheard(&run);
    blocked.is_refused_unread();
    assert_has(&blocked.stderr(), "todo.txt");

    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    assert!(sandbox.hook(&call).stdout().contains("additionalContext"));
    unheard(&call).is_silent();
}

#[test]
fn the_reason_stays_short_whatever_the_path() {
    let sandbox = Sandbox::new();
    for (name, code) in [
        ("n".repeat(100_000), "ad-hoc-name"),
        (format!("{}.md", "é".repeat(30_000)), "ad-hoc-name"),
        (format!("{}x", "d/".repeat(5_000)), "undeclared-directory"),
        ("\u{1f980}".repeat(10_000), "ad-hoc-name"),
        ("\"\\'`$".repeat(2_000).replace('\\', ""), "ad-hoc-name"),
        ("\u{1}".repeat(5_000), "path-escape"),
    ] {
        let reason = reason(&sandbox, &format!(".devt/state/{name}"), code);
        assert_has(&reason, "statewarden explain");
    }
    // A deep site, and long names of the redirect.
    let deep = format!(
        "{}.devt/state/notes.md",
        "a-rather-long-directory/".repeat(100)
    );
    let reason = reason(&sandbox, &deep, "ad-hoc-name");
    assert_has(&reason, "statewarden explain");
}

#[test]
fn the_reason_stays_short_and_printable_whoever_the_agent_is() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", &"mod: x\n".repeat(100));
    let path = format!("{}/.devt/state/workflow.yaml", "d".repeat(200));
    for agent in ["a".repeat(5_000), "'".repeat(5_000), "a\nb".repeat(100)] {
        let event = sandbox.by(&agent, sandbox.write_event(&path, "active: true\n"));
        let reason = sandbox.denied(&event, "wrong-writer");
        assert!(!reason.contains(char::is_control), "{reason:?}");
        assert_has(&reason, " --agent ");
    }
}

#[test]
fn the_reason_says_what_to_write_however_long_the_wrong_value_is() {
    let sandbox = Sandbox::new();
    let prose = "hunter2 and so on, ".repeat(60);
    let session = ".claude/.docs/260110-token-refresh/state.json";
    for (agent, path, content, wanted) in [
        (
            "reviewer",
            "openspec/changes/add/review/1.md",
            format!("**Status:** {prose}\n"),
            "`**Status:** APPROVED`",
        ),
        (
            "code-reviewer",
            ".devt/state/review.json",
            json!({ "status": prose }).to_string(),
            "DONE, PARTIAL, BLOCKED",
        ),
        (
            "researcher",
            ".devt/state/research.md",
            format!("## Status: {}\n", prose.replace(' ', "-")),
            "one of DONE",
        ),
        (
            "main",
            ".claude/orchestration.local.md",
            format!("---\nactive: true\ncurrent_phase: \"{prose}\"\n---\n"),
            "one of exploration, ",
        ),
        (
            "main",
            ".claude/orchestration.local.md",
            format!("---\nactive: true\niteration: \"{prose}\"\n---\n"),
            "a whole number",
        ),
        (
            "main",
            session,
            json!({ "id": "x", "task": "t", "workflow": prose }).to_string(),
            "code, code:fast",
        ),
    ] {
        let event = sandbox.by_actor(agent, sandbox.write_event(path, &content));
        let reason = sandbox.denied(&event, "malformed-content");
        assert_has(&reason, wanted);
        let quoted = reason.matches("hunter2").count();
        assert!(
            quoted <= 3,
            "a message is logged, a file's content is not: {reason}"
        );
    }
}

#[test]
fn the_reason_is_one_line_of_printable_text() {
    let sandbox = Sandbox::new();
    for name in [
        "a\nIgnore the above.md",
        "\u{1b}[2Jx",
        "a\u{7}b",
        "a\rb",
        "a\u{85}b",
    ] {
        let reason = reason(&sandbox, &format!(".devt/state/{name}"), "path-escape");
        assert!(!reason.contains(char::is_control), "{reason:?}");
    }
}

#[test]
fn fifty_denials_at_once_fit_and_the_rest_is_counted() {
    let sandbox = Sandbox::new();
    let long = "long-name-of-a-file".repeat(8);
    for names in ["n{1..50}.md", &format!("{long}{{1..50}}.md")] {
        let event = sandbox.bash_event(&format!("touch .devt/state/{names}"));
        let reason = sandbox.denied(&event, "ad-hoc-name");
        let listed = reason.matches("(ad-hoc-name").count();
        let (_, rest) = reason
            .split_once("), and ")
            .unwrap_or_else(|| panic!("{reason}"));
        let more: usize = rest.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(listed + more, 50, "{reason}");
        assert_has(&reason, "statewarden explain");
    }
}

/// The command in the reason is meant to be copied into a shell.
#[cfg(unix)]
#[test]
fn the_command_in_the_reason_names_the_very_path() {
    let sandbox = Sandbox::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_statewarden"));
    for name in [
        "notes.md", "a b.md", "it's.md", "$HOME.md", "a\"b.md", "a&b;c.md", "*.md", "(x)", "~x",
        "!x", "#x",
    ] {
        let reason = reason(&sandbox, &format!(".devt/state/{name}"), "ad-hoc-name");
        let (_, command) = reason.split_once("More: `").unwrap();
        let command = command.strip_suffix("`.").unwrap();
        let ran = Command::new("/bin/sh")
            .args(["-c", &format!("{command} --json")])
            .current_dir(sandbox.project())
            .env_clear()
            .envs(sandbox.surroundings())
            .env("PATH", program.parent().unwrap())
            .output()
            .unwrap();
        let story: Value = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {ran:?}"));
        assert_eq!(story["name"], name, "{command}");
    }
}
