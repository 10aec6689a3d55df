//! The reading commands: exit codes, documents, and text for people.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, serve};

const DEVT: &str = ".devt/state/preflight-denies.jsonl";

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

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
        assert!(
            ran.stderr().contains(part),
            "`{part}` is not in: {}",
            ran.stderr()
        );
    }
}

#[test]
fn usage_errors_end_with_two_and_say_what_was_meant() {
    let sandbox = Sandbox::new();
    for (args, parts) in [
        (&[][..], &["Usage"][..]),
        (&["adit"], &["adit", "audit"]),
        (&["audit", "--jsn"], &["--jsn", "--json"]),
        (&["audit", "extra"], &["extra"]),
        (
            &["audit", "--system", "devtt"],
            &["devtt", "devt", "agentmux"],
        ),
        (&["check"], &["PATH"]),
        (&["check", "--event", "e.json", "a.md"], &["--event"]),
        (
            &["check", "--event", "e.json", "--agent", "x"],
            &["--event", "--agent"],
        ),
        (&["check", "--event", "gone.json"], &["gone.json"]),
        (&["check", "--tool", "Read", "a.md"], &["Read", "Write"]),
        (&["explain"], &["PATH"]),
        (&["explain", "a", "b"], &["b"]),
        (&["denies", "list", "--limit", "0"], &["--limit"]),
        (&["denies", "list", "--limit", "many"], &["--limit"]),
        (&["denies", "list", "--limit", "-1"], &["-1"]),
        (
            &["denies", "list", "--rule", "adhoc"],
            &["--rule", "ad-hoc-name"],
        ),
        (
            &["denies", "list", "--since", "yesterday"],
            &["--since", "24h"],
        ),
        (&["denies", "list", "--since", "24"], &["--since"]),
        (
            &["denies", "list", "--since", "99999999999999h"],
            &["--since"],
        ),
        (&["denies", "list", "--since", ""], &["--since"]),
        (&["completions", "tcsh"], &["tcsh", "bash"]),
        (&["completions"], &["SHELL"]),
        (&["audit", "--project", "gone"], &["gone"]),
        (&["audit", "--project", "file.txt"], &["file.txt"]),
    ] {
        sandbox.write("file.txt", "");
        let ran = sandbox.run(args);
        is_usage_error(&ran, parts);
    }
}

#[test]
fn help_and_version_are_no_errors() {
    let sandbox = Sandbox::new();
    for args in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["audit", "--help"],
        &["help", "denies"],
        &["--version"],
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{args:?}");
        assert!(!ran.stdout().is_empty());
    }
    let version = sandbox.run(&["--version"]).stdout();
    assert_eq!(
        version,
        format!("statewarden {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = sandbox.run(&["--help"]).stdout();
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

#[test]
fn check_answers_by_its_exit_code_and_leaves_no_trace() {
    let sandbox = Sandbox::new();
    for (args, code, decisions) in [
        (&["check", ".devt/state/plan.md"][..], 0, &["allow"][..]),
        (&["check", ".devt/state/notes.md"], 1, &["deny"]),
        (
            &["check", "src/a.rs", "/etc/passwd"],
            0,
            &["allow", "allow"],
        ),
        (
            &["check", ".devt/state/plan.md", ".devt/state/notes.md"],
            1,
            &["allow", "deny"],
        ),
        (
            &["check", "--agent", "tester", ".devt/state/plan.md"],
            1,
            &["deny"],
        ),
        (
            &["check", "--agent", "devt:Architect", ".devt/state/plan.md"],
            0,
            &["allow"],
        ),
        (
            &["check", "--agent", "tester", ".devt/state/workflow.yaml"],
            1,
            &["deny"],
        ),
        (&["check", ".devt/state/workflow.yaml"], 0, &["allow"]),
        (
            &["check", "--tool", "Write", ".devt/state/a.tmp"],
            1,
            &["deny"],
        ),
        (
            &["check", "--tool", "Bash", ".devt/state/a.tmp"],
            0,
            &["allow"],
        ),
        (
            &[
                "check",
                "--tool",
                "mcp__fs__write_file",
                ".devt/state/a.tmp",
            ],
            1,
            &["deny"],
        ),
        (
            &["check", "--tool", "Edit", ".devt/state/notes.md"],
            1,
            &["deny"],
        ),
        (&["check", "--", "-x.md"], 0, &["allow"]),
        (
            &["check", "--system", "agentmux", ".devt/state/notes.md"],
            0,
            &["allow"],
        ),
        (
            &["check", "--system", "devt", ".devt/state/notes.md"],
            1,
            &["deny"],
        ),
    ] {
        let ran = sandbox.run(&[args, &["--json"]].concat());
        let ran = if args.contains(&"--") {
            sandbox.run(&[&["--json"], args].concat())
        } else {
            ran
        };
        assert_eq!(
            (ran.code(), ran.stderr()),
            (code, String::new()),
            "{args:?}"
        );
        let document = ran.json();
        assert_eq!(keys(&document), ["decisions"]);
        let found: Vec<&str> = document["decisions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["decision"].as_str().unwrap())
            .collect();
        assert_eq!(found, decisions, "{args:?}");
        let text = sandbox.run(args);
        assert_eq!(text.code(), code, "{args:?}");
        assert!(
            decisions.iter().all(|word| text.stdout().contains(word)),
            "{}",
            text.stdout()
        );
    }
    assert!(
        !sandbox.exists(DEVT) && !sandbox.exists(".claude"),
        "a check writes nothing"
    );
}

#[test]
fn check_tells_what_the_hook_would_tell() {
    let sandbox = Sandbox::new();
    let row = &sandbox
        .run(&["check", "--json", ".devt/state/review_auth.md"])
        .json()["decisions"][0];
    assert_eq!(
        keys(row),
        [
            "path",
            "decision",
            "rule",
            "system",
            "name",
            "reason",
            "suggestion"
        ]
    );
    let told = sandbox
        .hook(&sandbox.write_event(".devt/state/review_auth.md", "x"))
        .is_denied("ad-hoc-name");
    for (key, value) in [
        ("path", ".devt/state/review_auth.md"),
        ("rule", "ad-hoc-name"),
        ("system", "devt"),
        ("name", "review_auth.md"),
        ("suggestion", "review-auth.md"),
        ("reason", &told),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
}

#[test]
fn check_takes_an_event_from_a_file_or_from_stdin() {
    let sandbox = Sandbox::new();
    let denied = sandbox.write_event(".devt/state/notes.md", "x");
    let mut after = denied.clone();
    after["hook_event_name"] = "PostToolUse".into();
    for (event, code) in [
        (denied.to_string(), 1),
        (
            sandbox.write_event(".devt/state/plan.md", "x").to_string(),
            0,
        ),
        (sandbox.bash_event("rm -rf .devt/state").to_string(), 1),
        (sandbox.bash_event("ls").to_string(), 0),
        (
            sandbox
                .by("tester", sandbox.write_event(".devt/state/plan.md", "x"))
                .to_string(),
            1,
        ),
        (
            sandbox
                .event("Read", json!({ "file_path": "/x" }))
                .to_string(),
            0,
        ),
        (
            sandbox
                .write_event(".devt/state/review.json", "[1]")
                .to_string(),
            1,
        ),
        (after.to_string(), 0),
        ("{\"tool_name\":".to_owned(), 2),
        ("no json".to_owned(), 2),
        (String::new(), 2),
    ] {
        let file = sandbox.base().join("event.json");
        fs::write(&file, &event).unwrap();
        let ran = sandbox.run(&["check", "--json", "--event", file.to_str().unwrap()]);
        assert_eq!(ran.code(), code, "{event}: {}", ran.stderr());
        let ran = serve(
            sandbox.command(&["check", "--json", "--event", "-"]),
            event.as_bytes(),
        );
        assert_eq!(ran.code(), code, "{event} on stdin: {}", ran.stderr());
    }
    assert!(!sandbox.exists(DEVT) && !sandbox.exists(".claude"));
}

#[test]
fn in_warn_mode_check_says_warn_and_is_content() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    let ran = sandbox.run(&["check", "--json", ".devt/state/notes.md"]);
    assert_eq!(ran.code(), 0);
    assert_eq!(ran.json()["decisions"][0]["decision"], "warn");
}

#[test]
fn explain_tells_the_story_of_allowed_and_refused_names() {
    let sandbox = Sandbox::new();
    let all = [
        "path", "root", "system", "site", "name", "contract", "bucket", "rule", "purpose", "owner",
        "readers", "decision", "code", "reason", "nearest",
    ];
    for (path, expected) in [
        (
            ".devt/state/plan.md",
            json!({ "system": "devt", "site": ".devt/state", "name": "plan.md", "bucket": "canonical", "rule": "plan.md", "decision": "allow", "code": null, "nearest": [] }),
        ),
        (
            ".devt/state/review-a.md",
            json!({ "bucket": "pattern_allowed", "rule": r"^review-[A-Za-z0-9_.-]+\.md$", "decision": "allow" }),
        ),
        (
            ".devt/state/a.tmp",
            json!({ "bucket": "ephemeral", "decision": "deny", "code": "ephemeral-name" }),
        ),
        (
            ".devt/state/notes.md",
            json!({ "bucket": "ad_hoc", "rule": null, "decision": "deny", "code": "ad-hoc-name", "nearest": ["scratchpad.md"] }),
        ),
        (
            ".devt/state/.lock",
            json!({ "bucket": "canonical", "decision": "deny", "code": "program-owned" }),
        ),
        (
            ".devt/state/x/y.md",
            json!({ "bucket": "ad_hoc", "code": "undeclared-directory" }),
        ),
        (
            "web/.devt/state/plan.md",
            json!({ "site": "web/.devt/state", "decision": "allow" }),
        ),
        (
            ".claude/skip-test-verification",
            json!({ "system": "agent-flow", "code": "protected-file" }),
        ),
        (
            "openspec/changes/a/review/1.md",
            json!({ "system": "groups", "site": "openspec/changes/a", "name": "review/1.md", "code": "wrong-writer" }),
        ),
        (
            ".agentmux/.sessions/s/notes.md",
            json!({ "system": "agentmux", "bucket": null, "decision": "allow" }),
        ),
        (
            ".claude/statewarden.yaml",
            json!({ "system": "self", "code": "protected-file" }),
        ),
        (
            "src/a.rs",
            json!({ "system": null, "site": null, "bucket": null, "decision": "allow" }),
        ),
        (
            "/etc/passwd",
            json!({ "system": null, "decision": "allow", "path": "/etc/passwd" }),
        ),
    ] {
        let ran = sandbox.run(&["explain", "--json", path]);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{path}");
        let story = ran.json();
        assert_eq!(keys(&story), all, "{path}");
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&story[key], value, "{key} of {path}");
        }
    }
    let story = sandbox
        .run(&["explain", "--json", ".devt/state/review.json"])
        .json();
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
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        assert!(!text.contains('\u{1b}'), "no colour in a pipe: {text}");
    }
}

#[test]
fn text_of_an_agents_making_cannot_steer_the_terminal() {
    let sandbox = Sandbox::new();
    let name = "a\u{1b}[2J\u{7}\rb.md";
    let path = format!(".devt/state/{name}");
    sandbox.hook(&sandbox.by("\u{1b}[31mx", sandbox.write_event(&path, "x")));
    #[cfg(unix)]
    sandbox.write(&path, "x");
    for args in [
        &["explain", &path][..],
        &["check", &path],
        &["denies"],
        &["audit"],
    ] {
        let ran = sandbox.run(args);
        let all = ran.stdout() + &ran.stderr();
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!all.contains(steers), "{args:?}: {all:?}");
    }
}

#[test]
fn audit_lists_every_entry_of_every_site_by_bucket() {
    let sandbox = Sandbox::new();
    for (path, text) in [
        (".devt/state/plan.md", "12345"),
        (".devt/state/decisions.md", "1"),
        (".devt/state/.archive/cleanup-1/notes.md", "xxx"),
        (".devt/state/review-a.md", "12"),
        (".devt/state/review-b.md", "1234"),
        (".devt/state/a.tmp", "1"),
        (".devt/state/small.txt", "1"),
        (".devt/state/large.txt", "123456"),
        (".devt/state/notes/deep/a.md", "x"),
        ("web/.devt/state/plan.md", "x"),
    ] {
        sandbox.write(path, text);
    }
    let ran = sandbox.run(&["audit", "--json"]);
    assert_eq!(
        (ran.code(), ran.stderr()),
        (1, String::new()),
        "something is ad hoc"
    );
    let document = ran.json();
    let sites = document["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 2);
    for site in sites {
        assert_eq!(
            keys(site),
            [
                "ok",
                "system",
                "state_dir",
                "counts",
                "total_bytes",
                "buckets"
            ]
        );
        assert_eq!(
            keys(&site["counts"]),
            [
                "canonical",
                "pattern_allowed",
                "ephemeral",
                "ad_hoc",
                "total"
            ]
        );
        assert_eq!(
            keys(&site["buckets"]),
            ["canonical", "pattern_allowed", "ephemeral", "ad_hoc"]
        );
        assert_eq!(
            (&site["ok"], &site["system"]),
            (&json!(true), &json!("devt"))
        );
    }
    let site = &sites[0];
    assert_eq!(site["state_dir"], sandbox.path(".devt/state"));
    assert_eq!(
        site["counts"],
        json!({ "canonical": 3, "pattern_allowed": 2, "ephemeral": 1, "ad_hoc": 3, "total": 9 })
    );
    assert_eq!(site["total_bytes"], 5 + 1 + 2 + 4 + 1 + 1 + 6);
    let names = |bucket: &str| -> Vec<&str> {
        site["buckets"][bucket]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect()
    };
    assert_eq!(names("canonical"), [".archive", "decisions.md", "plan.md"]);
    assert_eq!(
        names("pattern_allowed"),
        ["review-b.md", "review-a.md"],
        "the largest first"
    );
    assert_eq!(names("ad_hoc"), ["large.txt", "small.txt", "notes"]);
    let stamp = regex::Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$").unwrap();
    for bucket in site["buckets"].as_object().unwrap().values() {
        for item in bucket.as_array().unwrap() {
            assert_eq!(keys(item), ["name", "size", "mtime", "is_dir"]);
            assert!(stamp.is_match(item["mtime"].as_str().unwrap()), "{item}");
            let is_dir = item["name"] == ".archive" || item["name"] == "notes";
            assert_eq!(item["is_dir"], is_dir, "{item}");
            assert!(!is_dir || item["size"] == 0, "{item}");
        }
    }
}

#[test]
fn audit_is_content_without_ad_hoc_names_and_without_a_site() {
    let sandbox = Sandbox::new();
    let empty = sandbox.run(&["audit", "--json"]);
    assert_eq!(empty.code(), 0);
    assert_eq!(empty.json()["sites"][0]["counts"]["total"], 0);
    sandbox.write(".devt/state/plan.md", "x");
    sandbox.write(".devt/state/a.tmp", "x");
    assert_eq!(
        sandbox.run(&["audit"]).code(),
        0,
        "leftovers are not ad hoc"
    );
    fs::remove_dir_all(sandbox.project().join(".devt/state")).unwrap();
    let missing = sandbox.run(&["audit", "--json"]);
    assert_eq!(missing.code(), 0);
    let site = &missing.json()["sites"][0];
    assert_eq!(
        (&site["ok"], &site["reason"]),
        (&json!(true), &json!("state_dir_missing"))
    );
}

#[test]
fn audit_reads_every_system_and_can_be_asked_for_one() {
    let sandbox = Sandbox::new();
    for path in [
        ".devt/state/notes.md",
        ".claude/orchestration-2.local.md",
        ".claude/orchestration.local.md",
        ".claude/settings.json",
        ".claude/notes.local.md",
        ".claude/.docs/260110-a/state.json",
        ".claude/.docs/260110-a/notes.md",
        ".claude/.docs/guide/notes.md",
        "openspec/changes/a/tasks.md",
        "openspec/changes/a/proposal.md",
        "openspec/changes/a/review/1.md",
        "openspec/changes/a/review/x.md",
        "openspec/changes/archive/b/review/x.md",
        ".agentmux/.sessions/s/state.json",
        ".agentmux/.sessions/s/notes.md",
    ] {
        sandbox.write(path, "x");
    }
    for (system, dir, canonical, ad_hoc) in [
        ("devt", ".devt/state", &[][..], &["notes.md"][..]),
        (
            "agent-flow",
            ".claude",
            &["orchestration.local.md"],
            &["orchestration-2.local.md"],
        ),
        (
            "session",
            ".claude/.docs/260110-a",
            &["state.json"],
            &["notes.md"],
        ),
        (
            "groups",
            "openspec/changes/a",
            &["review/1.md", "tasks.md"],
            &["review/x.md"],
        ),
        ("agentmux", ".agentmux/.sessions/s", &["state.json"], &[]),
    ] {
        let ran = sandbox.run(&["audit", "--json", "--system", system]);
        assert_eq!(ran.code(), i32::from(!ad_hoc.is_empty()), "{system}");
        let document = ran.json();
        let sites = document["sites"].as_array().unwrap();
        assert_eq!(sites.len(), 1, "{system}: {document}");
        assert_eq!(sites[0]["state_dir"], sandbox.path(dir));
        for (bucket, expected) in [("canonical", canonical), ("ad_hoc", ad_hoc)] {
            let names: Vec<&str> = sites[0]["buckets"][bucket]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["name"].as_str().unwrap())
                .collect();
            assert_eq!(names, expected, "{bucket} of {system}");
        }
    }
}

#[cfg(unix)]
#[test]
fn audit_tells_directories_and_links_from_files() {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(".devt/state");
    fs::create_dir(state.join("plan.md")).unwrap();
    std::os::unix::fs::symlink("gone", state.join("spec.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", state.join("link.md")).unwrap();
    let document = sandbox.run(&["audit", "--json"]).json();
    let counts = &document["sites"][0]["counts"];
    assert_eq!(
        (&counts["total"], &counts["ad_hoc"]),
        (&json!(3), &json!(2)),
        "{document}"
    );
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
        let mut command = sandbox.command(&args);
        let ran = Ran::from(
            command
                .current_dir(sandbox.project().join(cwd))
                .output()
                .unwrap(),
        );
        assert_eq!(ran.code(), 1, "{project:?} in {cwd}: {}", ran.stderr());
        assert_eq!(
            ran.json()["sites"][0]["state_dir"],
            sandbox.path(".devt/state"),
            "{project:?} in {cwd}"
        );
    }
    // The environment names it from anywhere.
    let mut command = sandbox.command(&["audit", "--json"]);
    let ran = command
        .env("CLAUDE_PROJECT_DIR", sandbox.project())
        .current_dir(sandbox.home())
        .output()
        .unwrap();
    assert_eq!(Ran::from(ran).code(), 1);
}

/// A project with denials of several kinds.
fn denied() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut tester = sandbox.by(
        "devt:tester",
        sandbox.write_event(".devt/state/review.md", "x"),
    );
    let mut other = sandbox.by("devt:tester", sandbox.write_event(".devt/state/a.md", "x"));
    tester["session_id"] = "s-2".into();
    other["session_id"] = "s-2".into();
    for event in [
        sandbox.write_event(".devt/state/notes.md", "x"),
        tester,
        other,
        sandbox.write_event(".agentmux/.sessions/s/state.json", "x"),
        sandbox.by(
            "coder",
            sandbox.write_event(".agentmux/.sessions/s/state.json", "x"),
        ),
    ] {
        assert_ne!(sandbox.hook(&event).verdict(), "allow");
    }
    sandbox
}

#[track_caller]
fn listed(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let ran = sandbox.run(&[&["denies", "list", "--json"], args].concat());
    assert_eq!(ran.code(), 0, "{args:?}: {}", ran.stderr());
    let document = ran.json();
    assert_eq!(keys(&document), ["denies"]);
    let name = |record: &Value| record["name"].as_str().unwrap().to_owned();
    document["denies"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect()
}

#[test]
fn filters_of_denies_combine() {
    let sandbox = denied();
    let all = ["notes.md", "review.md", "a.md", "state.json", "state.json"];
    for (args, expected) in [
        (&[][..], &all[..]),
        (&["--session", "s-2"], &["review.md", "a.md"]),
        (
            &["--session", "s-2", "--rule", "wrong-writer"],
            &["review.md"],
        ),
        (&["--session", "none"], &[]),
        (&["--agent", "main"], &["notes.md", "state.json"]),
        (&["--agent", "tester"], &["review.md", "a.md"]),
        (
            &["--agent", "devt:tester", "--rule", "ad-hoc-name"],
            &["a.md"],
        ),
        (&["--agent", "coder", "--session", "s-2"], &[]),
        (&["--rule", "program-owned"], &["state.json", "state.json"]),
        (&["--system", "agentmux"], &["state.json", "state.json"]),
        (&["--system", "devt", "--agent", "main"], &["notes.md"]),
        (&["--limit", "2"], &["state.json", "state.json"]),
        (&["--limit", "1", "--session", "s-2"], &["a.md"]),
        (&["--limit", "99"], &all),
        (&["--since", "24h"], &all),
        (&["--since", "2020-01-01"], &all),
        (&["--since", "2020-01-01T00:00:00Z"], &all),
        (
            &["--since", "1w", "--limit", "3", "--agent", "main"],
            &["notes.md", "state.json"],
        ),
        (&["--since", "2999-01-01"], &[]),
    ] {
        assert_eq!(listed(&sandbox, args), expected, "{args:?}");
    }
}

#[test]
fn denies_skips_what_others_wrote_and_changes_nothing() {
    let sandbox = denied();
    let foreign = "{\"ts\":\"2026-01-01T00:00:00Z\",\"source\":\"bash-guard\",\"reason\":\"x\"}\n\n{\"a\":1}\n[1]\n\"x\"\n\
                   {\"v\":2,\"source\":\"statewarden\",\"decision\":\"deny\"}\n\
                   {\"v\":1,\"id\":\"0\",\"ts\":\"2026-01-01T00:00:00.000Z\",\"source\":\"statewarden\",\"decision\":\"heartbeat\",\"reason\":\"\"}\n";
    let log = format!("{foreign}{}", sandbox.read(DEVT));
    sandbox.write(DEVT, &log);
    assert_eq!(
        listed(&sandbox, &["--system", "devt"]),
        ["notes.md", "review.md", "a.md"]
    );
    assert_eq!(sandbox.read(DEVT), log);
}

#[test]
fn denies_reads_for_people() {
    let sandbox = denied();
    let text = sandbox.run(&["denies"]).stdout();
    for part in [
        ".devt/state/notes.md",
        "ad-hoc-name",
        "scratchpad.md",
        "tester",
        "wrong-writer",
        "main",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    let none = Sandbox::new().run(&["denies", "list"]);
    assert_eq!((none.code(), none.stderr()), (0, String::new()));
    assert!(!none.stdout().is_empty(), "an empty list is said to be one");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let sandbox = Sandbox::new();
    for n in 0..1_000 {
        fs::write(
            sandbox
                .project()
                .join(format!(".devt/state/review-a-rather-long-name-{n}.md")),
            "",
        )
        .unwrap();
    }
    for args in [&["audit", "--json"][..], &["completions", "bash"], &["man"]] {
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
        let code = child.wait().unwrap().code();
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{args:?}");
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
    let man = sandbox.run(&["man"]);
    assert_eq!((man.code(), man.stderr()), (0, String::new()));
    assert!(man.stdout().contains(".TH statewarden"), "{}", man.stdout());
}

#[test]
fn commands_work_without_a_home_and_outside_every_project() {
    let sandbox = Sandbox::new();
    let outside = sandbox.base().join("outside");
    fs::create_dir(&outside).unwrap();
    for args in [
        &["audit", "--json"][..],
        &["check", "a.md"],
        &["explain", "a.md"],
        &["denies"],
        &["man"],
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
