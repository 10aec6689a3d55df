//! The reading commands: exit codes, documents, and text for people.

mod check;
mod options;

use std::fs;
use std::io::{BufRead, BufReader, Read};
#[cfg(target_os = "linux")]
use std::process::Command;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{DEVT, Ran, Sandbox, assert_has, keys, lacks, serve};

/// Exit 2, one line on stderr that names every part, nothing on stdout.
#[track_caller]
fn is_usage_error(ran: &Ran, parts: &[&str]) {
    assert_eq!(
        (ran.code(), ran.stdout()),
        (2, String::new()),
        "{}",
        ran.stderr()
    );
    for part in parts {
        assert_has(&ran.stderr(), part);
    }
}

#[test]
fn usage_errors_end_with_two_and_say_what_was_meant() {
    let sandbox = Sandbox::new();
    for (args, parts) in [
        ("", &["Usage"][..]),
        ("adit", &["adit", "audit"]),
        ("audit --jsn", &["--jsn", "--json"]),
        ("audit extra", &["extra"]),
        ("audit --system devtt", &["devtt", "devt", "agentmux"]),
        ("check", &["PATH"]),
        ("check --event e.json a.md", &["--event"]),
        ("check --event e.json --agent x", &["--event", "--agent"]),
        ("check --event gone.json", &["gone.json"]),
        ("check --tool Read a.md", &["Read", "Write"]),
        ("explain", &["PATH"]),
        ("explain a b", &["b"]),
        ("denies list --limit 0", &["--limit"]),
        ("denies list --limit many", &["--limit"]),
        ("denies list --limit -1", &["-1"]),
        ("denies list --rule adhoc", &["--rule", "ad-hoc-name"]),
        ("denies list --since yesterday", &["--since", "24h"]),
        ("denies list --since 24", &["--since"]),
        ("denies list --since 99999999999999h", &["--since"]),
        ("completions tcsh", &["tcsh", "bash"]),
        ("completions", &["SHELL"]),
        ("audit --project gone", &["gone"]),
        ("audit --project file.txt", &["file.txt"]),
    ] {
        sandbox.write("file.txt", "");
        let ran = sandbox.run(args);
        is_usage_error(&ran, parts);
    }
    let empty = sandbox.run(&["denies", "list", "--since", ""]);
    is_usage_error(&empty, &["--since"]);
}

#[test]
fn help_and_version_are_no_errors() {
    let sandbox = Sandbox::new();
    for args in [
        "--help",
        "-h",
        "help",
        "audit --help",
        "help denies",
        "--version",
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{args:?}");
        assert!(!ran.stdout().is_empty());
    }
    let version = sandbox.run("--version").stdout();
    assert_eq!(
        version,
        format!("statewarden {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = sandbox.run("--help").stdout();
    for verb in [
        "hook",
        "check",
        "explain",
        "audit",
        "denies",
        "install",
        "uninstall",
        "doctor",
        "completions",
        "man",
    ] {
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(verb)),
            "{verb}"
        );
    }
}

const KEYS: &str = "path root system site name contract site_kind edition switched_off_by bucket rule purpose owner \
    readers decision code reason nearest";

/// A path, and what of its story matters.
const STORIES: &[(&str, &str)] = &[
    (
        ".devt/state/plan.md",
        r#"{ "system": "devt", "site": ".devt/state", "name": "plan.md", "bucket": "canonical", "rule": "plan.md", "decision": "allow", "code": null, "nearest": [] }"#,
    ),
    (
        ".devt/state/review-a.md",
        r#"{ "bucket": "pattern_allowed", "rule": "^review-[A-Za-z0-9_.-]+\\.md$", "decision": "allow" }"#,
    ),
    (
        ".devt/state/a.tmp",
        r#"{ "bucket": "ephemeral", "decision": "deny", "code": "ephemeral-name" }"#,
    ),
    (
        ".devt/state/notes.md",
        r#"{ "bucket": "ad_hoc", "rule": null, "decision": "deny", "code": "ad-hoc-name", "nearest": ["scratchpad.md"] }"#,
    ),
    (
        ".devt/state/.lock",
        r#"{ "bucket": "canonical", "decision": "deny", "code": "program-owned" }"#,
    ),
    (
        ".devt/state/x/y.md",
        r#"{ "bucket": "ad_hoc", "code": "undeclared-directory" }"#,
    ),
    (
        "web/.devt/state/plan.md",
        r#"{ "site": "web/.devt/state", "decision": "allow" }"#,
    ),
    (
        ".claude/skip-test-verification",
        r#"{ "system": "agent-flow", "code": "protected-file" }"#,
    ),
    (
        "openspec/changes/a/review/1.md",
        r#"{ "system": "groups", "site": "openspec/changes/a", "name": "review/1.md", "code": "wrong-writer" }"#,
    ),
    (
        ".agentmux/.sessions/s/notes.md",
        r#"{ "system": "agentmux", "bucket": null, "decision": "allow" }"#,
    ),
    (
        ".claude/statewarden.yaml",
        r#"{ "system": "self", "code": "protected-file" }"#,
    ),
    (
        "src/a.rs",
        r#"{ "system": null, "site": null, "bucket": null, "decision": "allow" }"#,
    ),
    (
        "/etc/passwd",
        r#"{ "system": null, "decision": "allow", "path": "/etc/passwd" }"#,
    ),
];

#[test]
fn explain_tells_the_story_of_allowed_and_refused_names() {
    let sandbox = Sandbox::new();
    for (path, expected) in STORIES {
        let ran = sandbox.run(&["explain", "--json", path]);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{path}");
        let story = ran.json();
        assert_eq!(keys(&story).join(" "), KEYS, "{path}");
        let expected: serde_json::Map<String, Value> = serde_json::from_str(expected).unwrap();
        for (key, value) in expected {
            assert_eq!(story[&key], value, "{key} of {path}");
        }
    }
    let story = sandbox.run("explain --json .devt/state/review.json").json();
    assert!(
        story["owner"].as_str().unwrap().contains("code-reviewer"),
        "{story}"
    );
    assert!(
        story["readers"].as_str().unwrap().contains("gates"),
        "{story}"
    );
    assert!(!sandbox.exists(".claude"), "nothing is written");
}

#[test]
fn explain_reads_for_people() {
    let sandbox = Sandbox::new();
    for (path, parts) in [
        (
            ".devt/state/review.md",
            &["canonical", "code-reviewer", "devt", "allowed"][..],
        ),
        (
            ".devt/state/review_auth.md",
            &["ad_hoc", "review-auth.md", "refused", "ad-hoc-name"],
        ),
        ("src/a.rs", &["no opinion"]),
    ] {
        let text = sandbox.run(&["explain", path]).stdout();
        for part in parts {
            assert_has(&text, part);
        }
        assert!(!text.contains('\u{1b}'), "no colour in a pipe: {text}");
        assert!(!text.contains("More:"), "this is more: {text}");
    }
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    let text = sandbox.run("explain .devt/state/notes.md").stdout();
    let word = "a Write is  warned about, and not refused, for the main thread";
    assert_has(&text, word);
}

/// `script` from util-linux gives the program a terminal.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_colors_unless_it_knows_none_or_they_are_not_wanted() {
    let sandbox = Sandbox::new();
    let program = sandbox.command(&[]).get_program().to_owned();
    let line = format!("'{}' explain .devt/state/a", program.display());
    for (name, value, expected) in [
        ("TERM", "xterm", true),
        ("TERM", "dumb", false),
        ("NO_COLOR", "1", false),
    ] {
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]);
        command.current_dir(sandbox.project()).env_clear();
        command.env("PATH", "/usr/bin:/bin").env(name, value);
        let Ok(ran) = command.stdin(Stdio::null()).output() else {
            return lacks("no `script`");
        };
        let text = String::from_utf8_lossy(&ran.stdout);
        assert_has(&text, "ad-hoc-name");
        assert_eq!(text.contains('\u{1b}'), expected, "{name}={value}: {text}");
    }
}

#[test]
fn text_of_an_agents_making_cannot_steer_the_terminal() {
    let sandbox = Sandbox::new();
    let name = "a\u{1b}[2J\u{7}\r\u{202e}\u{2028}\u{2066}b.md";
    let path = format!(".devt/state/{name}");
    sandbox.hook(&sandbox.by("\u{1b}[31mx", sandbox.write_event(&path, "x")));
    #[cfg(unix)]
    sandbox.write(&path, "x");
    #[cfg(unix)]
    for file in ["state.json", "x"] {
        sandbox.write(&format!(".claude/.docs/{name}/{file}"), "{}");
    }
    let settings = "systems: {agent-flow: {enabled: false}}\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    let off = format!("{name}/.claude/orchestration.local.md");
    for args in [
        &["explain", &path][..],
        &["explain", "--agent", name, &path],
        &["explain", "--agent", name, ".devt/state/review.json"],
        &["explain", &off],
        &["check", &path],
        &["denies"],
        &["audit"],
        &["status"],
        &["groups", "--root", &path],
        &["cleanup", "--apply"],
        &["history"],
    ] {
        let ran = sandbox.run(args);
        let all = ran.stdout() + &ran.stderr();
        let turns = |c| matches!(c, '\u{202e}' | '\u{2028}' | '\u{2066}');
        let steers = |c: char| (c.is_control() && c != '\n') || turns(c);
        assert!(!all.contains(steers), "{args:?}: {all:?}");
    }
}

#[test]
fn the_project_may_be_given_in_any_form() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/notes.md", "x");
    sandbox.write("src/deep/a.rs", "x");
    let absolute = sandbox.path("");
    let relative = "../project";
    for (project, cwd) in [
        (Some(absolute.as_str()), "src"),
        (Some(absolute.trim_end_matches('/')), ".."),
        (Some(relative), "."),
        (Some("."), "."),
        (Some("../.."), "src/deep"),
        (None, "."),
        (None, "src/deep"),
        (None, ".devt/state"),
    ] {
        let mut args = vec!["audit", "--json"];
        args.extend(project.iter().flat_map(|project| ["--project", project]));
        let ran = sandbox.run_in(sandbox.path(cwd), &args);
        assert_eq!(ran.code(), 1, "{project:?} in {cwd}: {}", ran.stderr());
        assert_eq!(
            ran.json()["sites"][0]["state_dir"],
            sandbox.path(".devt/state"),
            "{project:?} in {cwd}"
        );
    }
    // The environment names it from anywhere.
    let mut command = sandbox.command("audit --json");
    let ran = command
        .env("CLAUDE_PROJECT_DIR", sandbox.project())
        .current_dir(sandbox.home())
        .output()
        .unwrap();
    assert_eq!(Ran::from(ran).code(), 1);
}

#[test]
fn a_closed_pipe_is_no_error_and_no_other_answer() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/todo.txt", "x");
    for n in 0..1_000 {
        fs::write(
            sandbox
                .project()
                .join(format!(".devt/state/review-a-rather-long-name-{n}.md")),
            "",
        )
        .unwrap();
    }
    for (args, code) in [
        ("audit", 1),
        ("audit --json", 1),
        ("completions bash", 0),
        ("man", 0),
    ] {
        let mut child = sandbox
            .command(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut reader = BufReader::with_capacity(64, child.stdout.take().unwrap());
        reader.read_line(&mut line).unwrap();
        drop(reader);
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let ended = child.wait().unwrap().code();
        assert_eq!((ended, stderr.as_str()), (Some(code), ""), "{args:?}");
        assert!(!line.is_empty());
    }
}

#[test]
fn completions_and_the_manual_go_to_stdout() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = sandbox.run(&["completions", shell]);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{shell}");
        for word in ["statewarden", "audit", "denies", "doctor"] {
            assert!(ran.stdout().contains(word), "{word} for {shell}");
        }
    }
    let man = sandbox.run("man");
    assert_eq!((man.code(), man.stderr()), (0, String::new()));
    assert_has(&man.stdout(), ".TH statewarden");
    // Not every roff reads anything else.
    assert!(man.stdout().is_ascii());
}

#[test]
fn commands_work_without_a_home_and_outside_every_project() {
    let sandbox = Sandbox::new();
    let outside = sandbox.base().join("outside");
    fs::create_dir(&outside).unwrap();
    for args in [
        "audit --json",
        "check a.md",
        "explain a.md",
        "denies",
        "man",
    ] {
        let mut command = sandbox.command(args);
        let ran = Ran::from(
            command
                .env_remove("HOME")
                .env_remove("USERPROFILE")
                .current_dir(&outside)
                .output()
                .unwrap(),
        );
        assert!(ran.code() < 2, "{args:?}: {}", ran.stderr());
    }
}

#[test]
fn a_failing_command_leaves_no_directory_behind() {
    let sandbox = Sandbox::new();
    let outside = sandbox.base().join("outside");
    fs::create_dir(&outside).unwrap();
    for args in [
        "session start plan",
        "session complete plan",
        "session skip plan --session x",
        "flow update --message x",
        "flow update --team --phase planning",
        "deep-dive init --scope focused",
        "deep-dive compile",
    ] {
        let ran = sandbox.run_in(&outside, args);
        assert_eq!(ran.code(), 2, "{args:?}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{args:?}");
    }
}

#[test]
fn without_a_home_the_project_is_wired_and_examined_all_the_same() {
    let sandbox = Sandbox::new();
    let run = |line: &str| {
        let mut command = sandbox.command(line);
        command.env_remove("HOME").env_remove("USERPROFILE");
        Ran::from(command.output().unwrap())
    };
    run("install").ends(0);
    let doctor = run("doctor --json");
    let findings = doctor.json()["findings"].clone();
    let findings = findings.as_array().unwrap();
    let find = |id: &str| findings.iter().find(|finding| finding["id"] == id).unwrap();
    assert_eq!(
        (find("wired")["level"].clone(), doctor.code()),
        ("info".into(), 1)
    );
    assert_eq!(find("live-test")["level"], "info");
    let what = find("no-home")["what"].as_str().unwrap();
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    assert_has(what, &format!("set `{home}` to your home directory"));
    run("install --scope user").ends(2);
    run("uninstall").ends(0);
    assert!(!sandbox.exists(".claude"));
}

#[test]
fn settings_that_a_session_below_does_not_read_are_told_of() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "");
    sandbox.run("install");
    let doctor = |dir: &str| {
        let ran = sandbox.run_in(sandbox.path(dir), "doctor").ends(0);
        ran.stdout().contains("does not read these settings")
    };
    assert_eq!((doctor("src"), doctor("")), (true, false));
    sandbox.run("install --scope user");
    assert!(!doctor("src"));
}
