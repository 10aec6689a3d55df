//! `check`: the decision without a call.

use serde_json::{Value, json};

use super::*;

/// The words behind `check`, its exit code, and a decision for each path.
const CHECKS: &[(&str, i32, &[&str])] = &[
    (".devt/state/plan.md", 0, &["allow"]),
    (".devt/state/notes.md", 1, &["deny"]),
    ("src/a.rs /etc/passwd", 0, &["allow", "allow"]),
    (
        ".devt/state/plan.md .devt/state/notes.md",
        1,
        &["allow", "deny"],
    ),
    ("--agent tester .devt/state/plan.md", 1, &["deny"]),
    ("--agent devt:Architect .devt/state/plan.md", 0, &["allow"]),
    ("--agent tester .devt/state/workflow.yaml", 1, &["deny"]),
    (".devt/state/workflow.yaml", 0, &["allow"]),
    ("--tool Write .devt/state/a.tmp", 1, &["deny"]),
    ("--tool Bash .devt/state/a.tmp", 0, &["allow"]),
    ("--tool mcp__fs__write_file .devt/state/a.tmp", 1, &["deny"]),
    (
        "--tool mcp__fs__delete_file .devt/state/a.md",
        0,
        &["allow"],
    ),
    ("--tool Edit .devt/state/notes.md", 1, &["deny"]),
    ("-- -x.md", 0, &["allow"]),
    ("--system agentmux docs/notes.md", 0, &["allow"]),
    ("--system devt .devt/state/notes.md", 1, &["deny"]),
];

#[test]
fn check_answers_by_its_exit_code_and_leaves_no_trace() {
    let sandbox = Sandbox::new();
    for (words, code, decisions) in CHECKS {
        let run = |options: &[&str]| {
            let words: Vec<&str> = words.split(' ').collect();
            sandbox.run(&[&["check"], options, &words].concat())
        };
        let ran = run(&["--json"]);
        assert_eq!(
            (ran.code(), ran.stderr()),
            (*code, String::new()),
            "{words}"
        );
        let document = ran.json();
        assert_eq!(keys(&document), ["decisions"]);
        let rows = document["decisions"].as_array().unwrap().iter();
        let found: Vec<&str> = rows.map(|row| row["decision"].as_str().unwrap()).collect();
        assert_eq!(found, *decisions, "{words}");
        let text = run(&[]);
        assert_eq!(text.code(), *code, "{words}");
        let said = text.stdout();
        assert!(decisions.iter().all(|word| said.contains(word)), "{said}");
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
        .run("check --json .devt/state/review_auth.md")
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
    let told = sandbox.denied(
        &sandbox.write_event(".devt/state/review_auth.md", "x"),
        "ad-hoc-name",
    );
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
        let ran = serve(sandbox.command("check --json --event -"), event.as_bytes());
        assert_eq!(ran.code(), code, "{event} on stdin: {}", ran.stderr());
    }
    assert!(!sandbox.exists(DEVT) && !sandbox.exists(".claude"));
}

#[test]
fn in_warn_mode_check_says_warn_and_is_content() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    let ran = sandbox.run("check --json .devt/state/notes.md");
    assert_eq!(ran.code(), 0);
    assert_eq!(ran.json()["decisions"][0]["decision"], "warn");
}

/// What the hook refuses because it cannot judge it, or because of a gate, is refused here as well.
#[test]
fn an_event_is_judged_as_the_hook_does() {
    let sandbox = Sandbox::new();
    let judge = |event: &Value| {
        sandbox.write("event.json", &event.to_string());
        sandbox.run("check --event event.json")
    };
    let nested = format!("{}touch .devt/state/x{}", "( ".repeat(60), ")".repeat(60));
    let event = sandbox.bash_event(&nested);
    sandbox.hook(&event).reason();
    let ran = judge(&event);
    assert_eq!(ran.code(), 1, "{}", ran.stderr());
    assert_has(&ran.stdout(), "40 levels");

    sandbox.run(&["flow", "init", "a task"]);
    sandbox.write(".claude/statewarden.yaml", "dispatch: block\n");
    let event = sandbox.event(
        "Agent",
        json!({ "subagent_type": "agent-flow:Lawliet", "prompt": "x" }),
    );
    sandbox.denied(&event, "gate-closed");
    let ran = judge(&event);
    assert_eq!(ran.code(), 1, "{}", ran.stderr());
    assert_has(&ran.stdout(), "gate-closed");
}

/// As for the hook, an event's project and its settings count, wherever one stands.
#[test]
fn an_event_of_another_project_is_judged_by_its_settings() {
    let sandbox = Sandbox::new();
    let settings = "systems:\n  devt:\n    extra_names: [notes.md]\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    let event = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    let judge = || {
        let mut command = sandbox.command("check --json --event -");
        command.current_dir(sandbox.home());
        serve(command, event.as_bytes())
    };
    assert_eq!(judge().code(), 0, "{}", judge().stdout());
    sandbox.write(".claude/statewarden.yaml", "moed: warn\n");
    let ran = judge();
    assert_eq!(ran.code(), 1);
    assert_has(&ran.stderr(), "`moed`");
    assert_eq!(ran.json()["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn explain_judges_for_the_agent_that_the_denial_names() {
    let sandbox = Sandbox::new();
    let event = sandbox.by(
        "devt:programmer",
        sandbox.write_event(".devt/state/review.json", "{}"),
    );
    let reason = sandbox.denied(&event, "wrong-writer");
    let command = "statewarden explain .devt/state/review.json --agent programmer";
    assert_has(&reason, &format!("`{command}`"));
    let told = |args: &[&str]| {
        sandbox
            .run(&[&["explain", ".devt/state/review.json"], args].concat())
            .stdout()
    };
    assert!(told(&["--agent", "programmer"]).contains("refused for agent `programmer`"));
    for main in [&[][..], &["--agent", "main"], &["--agent", "Main"]] {
        let text = told(main);
        assert_has(&text, "allowed for the main thread");
    }
}

/// A settings file that counts for nothing may add names that must stay.
#[test]
fn broken_settings_are_said_and_nothing_is_archived_by_them() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/council-notes.md", "x\n");
    let broken = "mdoe: enforce\nsystems:\n  devt:\n    extra_names: [council-notes.md]\n";
    sandbox.write(".claude/statewarden.yaml", broken);
    for args in [
        ["audit", "--json"],
        ["status", "--json"],
        ["cleanup", "--json"],
    ] {
        let ran = sandbox.run(&args);
        assert!(
            ran.stderr().contains("`mdoe`"),
            "{args:?}: {}",
            ran.stderr()
        );
    }
    let ran = sandbox.run("cleanup --apply").ends(2);
    assert_has(&ran.stderr(), "nothing was archived");
    assert!(sandbox.exists(".devt/state/council-notes.md"));
}

/// Whoever names a project means what is in it, unless the path leads there by itself.
#[test]
fn a_relative_path_is_one_of_the_project_that_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("w/tasks.md", "## 1. A\n- [ ] 1.1 a\n");
    let elsewhere = sandbox.base().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".git")).unwrap();
    let run = |args: &[&str]| {
        let project = sandbox.project().display().to_string();
        sandbox.run_in(&elsewhere, &[args, &["--project", &project]].concat())
    };
    let name = sandbox.project().file_name().unwrap().to_owned();
    let by_itself = format!("../{}/.devt/state/notes.md", name.display());
    for path in [".devt/state/notes.md", &by_itself] {
        assert_eq!(run(&["check", path]).code(), 1, "{path}");
        let told = run(&["explain", "--json", path]).json();
        assert_eq!(told["path"], sandbox.path(".devt/state/notes.md"));
    }
    assert_eq!(run(&["check", ".devt/state/plan.md"]).stderr(), "");
    assert_eq!(run(&["groups", "--root", "w"]).code(), 0);
}

#[test]
fn a_relative_path_that_misses_the_project_is_not_allowed_in_silence() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.base().join("other/.git")).unwrap();
    let other = sandbox.base().join("other").display().to_string();
    let path = "../third/.devt/state/notes.md";
    let ran = sandbox.run(&["check", "--project", &other, path]);
    let said = format!(
        "statewarden: `{}` lies outside the project `{other}`, where nothing is judged\n",
        sandbox.base().join("third/.devt/state/notes.md").display()
    );
    assert_eq!((ran.code(), ran.stderr()), (0, said));
    assert_eq!(sandbox.run("check src/a.rs").stderr(), "");
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_not_read_to_its_end() {
    let sandbox = Sandbox::new();
    for (args, most) in [
        ("check --event /dev/zero", "64 MiB"),
        ("contract test /dev/zero", "16 MiB"),
    ] {
        let ran = sandbox.run(args);
        let told = format!("could not read `/dev/zero`: it is larger than {most}\n");
        assert_eq!(ran.code(), 2, "{args:?}");
        assert!(ran.stderr().ends_with(&told), "{}", ran.stderr());
    }
}
