//! What Claude Code reads: form and content of a refusal.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::after::after;
use crate::support::{Ran, Sandbox, feed};

/// The reason for refusing a Write to a path of the project.
#[track_caller]
fn reason(sandbox: &Sandbox, path: &str, code: &str) -> String {
    sandbox
        .hook(&sandbox.write_event(path, "x\n"))
        .is_denied(code)
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
        let keys =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
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
    assert!(
        denied.stderr().contains("(ad-hoc-name)"),
        "{}",
        denied.stderr()
    );

    sandbox.write(".devt/state/todo.txt", "x");
    let run = after(&sandbox, "Bash", json!({ "command": "make" }), json!({}));
    let blocked = unheard(&run);
    blocked.is_refused_unread();
    assert!(
        blocked.stderr().contains("todo.txt"),
        "{}",
        blocked.stderr()
    );

    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    assert!(sandbox.hook(&call).stdout().contains("additionalContext"));
    unheard(&call).is_silent();
}

#[test]
fn what_is_allowed_gets_no_answer_at_all() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/plan.md", "old\n");
    let plan = sandbox.path(".devt/state/plan.md");
    for event in [
        sandbox.write_event("src/main.rs", "fn main() {}\n"),
        sandbox.write_event(".devt/state/plan.md", "x\n"),
        sandbox.event(
            "Edit",
            json!({ "file_path": plan, "old_string": "old", "new_string": "new" }),
        ),
        sandbox.event("Read", json!({ "file_path": plan })),
        sandbox.event(
            "Agent",
            json!({ "subagent_type": "Explore", "prompt": "write .devt/state/notes.md" }),
        ),
        sandbox.bash_event("cat .devt/state/plan.md"),
        sandbox.bash_event("git status"),
    ] {
        sandbox.hook(&event).is_silent();
    }
}

#[test]
fn the_reason_is_a_redirect() {
    let sandbox = Sandbox::new();
    for (path, code, instead) in [
        (
            ".devt/state/notes.md",
            "ad-hoc-name",
            ".devt/state/scratchpad.md",
        ),
        (
            ".devt/state/review_auth.md",
            "ad-hoc-name",
            ".devt/state/review-auth.md",
        ),
        (
            ".devt/state/impl-summry.json",
            "ad-hoc-name",
            ".devt/state/impl-summary.json",
        ),
        (".devt/state/Plan.md", "ad-hoc-name", ".devt/state/plan.md"),
        (".devt/state/plan.txt", "ad-hoc-name", ".devt/state/plan.md"),
        (
            ".devt/state/reveiw.md",
            "ad-hoc-name",
            ".devt/state/review.md",
        ),
        (
            ".devt/state/test_summary.json",
            "ad-hoc-name",
            ".devt/state/test-summary.json",
        ),
        (
            ".devt/state/scratch.md",
            "ad-hoc-name",
            ".devt/state/scratchpad.md",
        ),
        (
            ".devt/state/plan.md.tmp",
            "ephemeral-name",
            ".devt/state/plan.md",
        ),
        (
            ".devt/state/notes/plan.md",
            "undeclared-directory",
            ".devt/state/plan.md",
        ),
        (
            "packages/web/.devt/state/spec.txt",
            "ad-hoc-name",
            "packages/web/.devt/state/spec.md",
        ),
        (
            ".claude/Orchestration.local.md",
            "ad-hoc-name",
            ".claude/orchestration.local.md",
        ),
        (
            ".claude/deep_dive.local.md",
            "ad-hoc-name",
            ".claude/deep-dive.local.md",
        ),
        (
            ".claude/.docs/260110-a/research.md",
            "ad-hoc-name",
            ".claude/.docs/260110-a/research-report.md",
        ),
        (
            "openspec/changes/a/review/01.md",
            "ad-hoc-name",
            "openspec/changes/a/review/1.md",
        ),
        (
            "openspec/changes/a/test-reports/3.txt",
            "ad-hoc-name",
            "openspec/changes/a/test-reports/3.md",
        ),
    ] {
        let reason = reason(&sandbox, path, code);
        let parts = [
            format!("`{path}`"),
            format!("({code})"),
            format!("`{instead}`"),
            "OS temp directory".to_owned(),
            format!("`statewarden explain {path}`"),
        ];
        for part in parts {
            assert!(reason.contains(&part), "`{part}` is not in: {reason}");
        }
        assert!(reason.starts_with(&format!("`{path}`")), "{reason}");
    }
}

#[test]
fn every_suggested_name_is_itself_allowed() {
    let sandbox = Sandbox::new();
    for name in [
        "notes.md",
        "todo.txt",
        "output.log",
        "review.txt",
        "impl.json",
        "summary.md",
        "x",
        "é",
        "REVIEW",
        "tests.json",
        "verify.md",
        "plan (1).md",
        "workflow.yml",
        "lock",
        "denies.jsonl",
        ".lock.md",
        "archive",
        "decisons.md",
        "a-b-c-d.json",
        "---",
        "0.md",
        "review lane api.md",
    ] {
        let reason = reason(&sandbox, &format!(".devt/state/{name}"), "ad-hoc-name");
        let (_, rest) = reason
            .split_once("Use `")
            .unwrap_or_else(|| panic!("no name in: {reason}"));
        let (instead, _) = rest.split_once('`').unwrap();
        let event = sandbox.event("Edit", json!({ "file_path": sandbox.path(instead) }));
        assert_eq!(
            sandbox.hook(&event).verdict(),
            "allow",
            "{name} → {instead}"
        );
    }
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
        assert!(reason.contains("statewarden explain"), "{reason}");
    }
    // A deep site, and long names of the redirect.
    let deep = format!(
        "{}.devt/state/notes.md",
        "a-rather-long-directory/".repeat(100)
    );
    let reason = reason(&sandbox, &deep, "ad-hoc-name");
    assert!(reason.contains("statewarden explain"), "{reason}");
}

#[test]
fn the_reason_stays_short_and_printable_whoever_the_agent_is() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", &"mod: x\n".repeat(100));
    let path = format!("{}/.devt/state/workflow.yaml", "d".repeat(200));
    for agent in ["a".repeat(5_000), "'".repeat(5_000), "a\nb".repeat(100)] {
        let event = sandbox.by(&agent, sandbox.write_event(&path, "active: true\n"));
        let reason = sandbox.hook(&event).is_denied("wrong-writer");
        assert!(!reason.contains(char::is_control), "{reason:?}");
        assert!(reason.contains(" --agent "), "{reason}");
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
fn every_denial_of_a_call_is_listed_and_the_first_leads() {
    let sandbox = Sandbox::new();
    let command = "touch .devt/state/plan.md .devt/state/first.md .devt/state/.lock .agentmux/.sessions/a/state.json";
    let reason = sandbox
        .hook(&sandbox.bash_event(command))
        .is_denied("ad-hoc-name");
    assert!(reason.starts_with("`.devt/state/first.md`"), "{reason}");
    for part in [
        ".devt/state/.lock` (program-owned)",
        ".agentmux/.sessions/a/state.json` (program-owned)",
    ] {
        assert!(reason.contains(part), "`{part}` is not in: {reason}");
    }
    assert!(!reason.contains("plan.md"), "{reason}");

    let reason = sandbox
        .hook(&sandbox.bash_event("touch .devt/state/n{1..12}.md"))
        .is_denied("ad-hoc-name");
    for n in 1..=12 {
        assert!(
            reason.contains(&format!("`.devt/state/n{n}.md`")),
            "{n} of 12 is not in: {reason}"
        );
    }
}

#[test]
fn fifty_denials_at_once_fit_and_the_rest_is_counted() {
    let sandbox = Sandbox::new();
    let long = "long-name-of-a-file".repeat(8);
    for names in ["n{1..50}.md", &format!("{long}{{1..50}}.md")] {
        let event = sandbox.bash_event(&format!("touch .devt/state/{names}"));
        let reason = sandbox.hook(&event).is_denied("ad-hoc-name");
        let listed = reason.matches("(ad-hoc-name").count();
        let (_, rest) = reason
            .split_once("), and ")
            .unwrap_or_else(|| panic!("{reason}"));
        let more: usize = rest.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(listed + more, 50, "{reason}");
        assert!(reason.contains("statewarden explain"), "{reason}");
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
            .env("HOME", sandbox.home())
            .env("PATH", program.parent().unwrap())
            .output()
            .unwrap();
        let story: Value = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {ran:?}"));
        assert_eq!(story["name"], name, "{command}");
    }
}

/// The nearest name may be another's; the second nearest would be about something else.
#[test]
fn a_name_that_is_anothers_leads_to_the_place_for_notes() {
    let sandbox = Sandbox::new();
    let event = sandbox.by(
        "devt:programmer",
        sandbox.write_event(".devt/state/review_auth.md", "x\n"),
    );
    let reason = sandbox.hook(&event).is_denied("ad-hoc-name");
    for part in [
        "`review-auth.md` is for another to write",
        "Use `.devt/state/scratchpad.md` instead",
    ] {
        assert!(reason.contains(part), "`{part}` is not in: {reason}");
    }
    for (file, meant) in [
        (
            ".claude/my-orchestration.local.md",
            "orchestration.local.md",
        ),
        (".claude/.docs/260110-a/plan_report.md", "plan-report.md"),
        ("openspec/changes/x/review/1.txt", "review/1.md"),
    ] {
        let event = sandbox.by("qa", sandbox.write_event(file, "x"));
        let reason = sandbox.hook(&event).is_denied("ad-hoc-name");
        let way = format!("`{meant}` is for another to write; report what you have");
        assert!(
            reason.contains(&way) && !reason.contains("Use `"),
            "{reason}"
        );
    }
}

#[test]
fn a_contract_of_few_names_says_them_all() {
    let sandbox = Sandbox::new();
    let reason = reason(&sandbox, ".claude/.docs/260110-a/todo.md", "ad-hoc-name");
    let names =
        "; you may write `state.json`, `research-report.md`, `plan-report.md`, `review-report.md`.";
    assert!(reason.contains(names), "{reason}");
    for (agent, entry, names) in [
        (
            "reviewer",
            "review/notes.md",
            "; you may write `review/N.md`.",
        ),
        (
            "tester",
            "test-reports/2/all.md",
            "; you may write `test-reports/N.md`.",
        ),
        // Nothing in there is theirs to write.
        ("developer", "review/notes.md", "no name `review/notes.md`."),
    ] {
        let event = sandbox.write_event(&format!("openspec/changes/x/{entry}"), "x");
        let ran = sandbox.hook(&sandbox.by(agent, event));
        let answer = ran.reason();
        assert!(answer.contains(names), "{answer}");
    }
}

/// What the commands do not archive, the reason does not send to them.
#[test]
fn a_whole_site_has_its_own_way_out() {
    let sandbox = Sandbox::new();
    for (site, file, way) in [
        (".devt/state", "plan.md", "`statewarden cleanup` or `reset`"),
        (
            "openspec/changes/x",
            "tasks.md",
            "move a finished change into `archive/`",
        ),
        (
            ".agentmux/.sessions/s",
            "state.json",
            "for the user to remove",
        ),
    ] {
        sandbox.write(&format!("{site}/{file}"), "x");
        let event = sandbox.bash_event(&format!("rm -rf {site}"));
        let reason = sandbox.hook(&event).is_denied("bulk-removal");
        assert!(reason.contains(way), "{reason}");
    }
}

#[test]
fn a_temporary_name_is_not_offered_where_it_is_refused() {
    let sandbox = Sandbox::new();
    let system = "{site: docs, canonical: [index.md], ephemeral: ['*.tmp']}";
    let settings = format!("systems: {{notes: {system}}}\n");
    sandbox.write(".claude/statewarden.yaml", &settings);
    for (name, code, why) in [
        ("x.tmp", "ephemeral-name", "`x.tmp` is a temporary name"),
        (
            "y",
            "ad-hoc-name",
            "the contract of notes knows no name `y`",
        ),
        ("a/z", "undeclared-directory", "know a directory `a`"),
    ] {
        let reason = reason(&sandbox, &format!("docs/{name}"), code);
        let all = format!("{why}; you may write `index.md`. Scratch files");
        assert!(reason.contains(&all), "{reason}");
    }
}

#[test]
fn a_warning_does_not_say_that_something_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    let event = sandbox.bash_event("echo a > .devt/state/a.md; echo b > .devt/state/b.md");
    let told = sandbox.hook(&event).stdout();
    assert!(!told.contains("refused"), "{told}");
    let other = "Also against a rule: `.devt/state/b.md` (ad-hoc-name, use";
    assert!(told.contains(other), "{told}");
}

/// Read from another directory, a path below the root would be another file.
#[test]
fn paths_can_be_used_where_the_call_was_made() {
    let sandbox = Sandbox::new();
    sandbox.write("src/deep/a.rs", "");
    let mut event = sandbox.bash_event("echo x > ../../.devt/state/notes.md");
    event["cwd"] = sandbox.path("src/deep").into();
    let reason = sandbox.hook(&event).is_denied("ad-hoc-name");
    let (shown, instead) = (
        sandbox.path(".devt/state/notes.md"),
        sandbox.path(".devt/state/scratchpad.md"),
    );
    for part in [
        format!("`{shown}` is refused"),
        format!("Use `{instead}`"),
        format!("`statewarden explain {shown}`"),
    ] {
        assert!(reason.contains(&part), "`{part}` is not in: {reason}");
    }
}

#[test]
fn each_further_denial_has_its_own_way_on() {
    let sandbox = Sandbox::new();
    let command = "echo a > .devt/state/impl-summry.json; echo b > .devt/state/review_auth.md";
    let reason = sandbox
        .hook(&sandbox.bash_event(command))
        .is_denied("ad-hoc-name");
    let other = "Also refused: `.devt/state/review_auth.md` (ad-hoc-name, use `.devt/state/review-auth.md`).";
    assert!(reason.contains(other), "{reason}");
}

#[test]
fn a_bulk_removal_is_told_how_to_spare_the_site() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/plan.md", "# Plan\n");
    for (command, way_on) in [
        ("git clean -fd", "`git clean -e PATTERN`"),
        ("rm -rf .devt/state", "`statewarden cleanup`"),
        ("rm -rf .claude", "ask them"),
    ] {
        sandbox.write(".claude/statewarden/denies.jsonl", "");
        let reason = sandbox
            .hook(&sandbox.bash_event(command))
            .is_denied("bulk-removal");
        assert!(reason.contains(way_on), "{command}: {reason}");
    }
}
