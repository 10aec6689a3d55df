//! Deny codes about names, and what the settings make of them.

use serde_json::{Value, json};

use crate::support::Sandbox;

const STATE: &str = ".devt/state";

fn write(sandbox: &Sandbox, path: &str) -> String {
    sandbox.hook(&sandbox.write_event(path, "x\n")).verdict()
}

#[track_caller]
fn check(sandbox: &Sandbox, expected: &str, names: &[&str]) {
    for name in names {
        assert_eq!(
            write(sandbox, &format!("{STATE}/{name}")),
            expected,
            "{name:?}"
        );
    }
}

#[test]
fn names_in_no_bucket_are_ad_hoc() {
    let sandbox = Sandbox::new();
    let names = [
        "notes.md",
        "todo.txt",
        "output",
        "x",
        "é.md",
        "名前.md",
        "a b.md",
        " notes.md",
        "-rf",
        "*",
        "?.md",
        "plan",
        "plan.txt",
        "plan.md.bak",
        "plan.MD",
        "Plan.md",
        "plan..md",
        ".plan.md",
        "plan-x.md",
        "research-x.md",
        "spec-x.md",
        "debug-summary-x.md",
        "review-.md",
        "review-é.md",
        "review-a.json",
        "review-lane-api.json",
        "slice-a.json",
        "impl-summary-.json",
        "a1-summary.md",
        "A-summary.md",
        "-summary.md",
        "x.swp",
        "#x#",
        ".DS_Store",
        "x.bak",
        "x.TMP",
        "tmp",
        "x.tmp.md",
        "workflow.yml",
        "preflight-brief.jsonl",
        ".gitkeep",
        "threads.md",
        "status.json",
        "gate-trace.json",
    ];
    check(&sandbox, "ad-hoc-name", &names);
}

#[test]
fn names_of_the_contract_and_its_patterns_are_allowed() {
    let sandbox = Sandbox::new();
    let names = [
        "plan.md",
        "review-scope.md",
        "code-review-input.md",
        "last-curator-run.txt",
        "review-a.md",
        "review-..md",
        "review--x.md",
        "review-pr367-slice-A.md",
        "review-lane-api.md",
        "slice-A.md",
        "impl-summary-cr3.md",
        "module-md-update-summary.md",
        "module-summary.md",
        "a-summary.md",
    ];
    check(&sandbox, "allow", &names);
}

#[test]
fn a_file_tool_creates_no_temporary_name_but_the_shell_may() {
    let sandbox = Sandbox::new();
    let names = [
        "a.tmp",
        ".a.tmp",
        ".tmp",
        "~",
        "a~",
        "plan.md~",
        "plan.md.tmp",
        "review-a.md.tmp",
    ];
    check(&sandbox, "ephemeral-name", &names);
    for name in names {
        let command = format!("echo hi > '{STATE}/{name}'");
        assert_eq!(
            sandbox.hook(&sandbox.bash_event(&command)).verdict(),
            "allow",
            "{command}"
        );
    }
    for tool in ["mcp__fs__write_file", "mcp__fs__create_file"] {
        let event = sandbox.event(tool, json!({ "path": sandbox.path(".devt/state/a.tmp") }));
        assert_eq!(sandbox.hook(&event).verdict(), "ephemeral-name", "{tool}");
    }
}

#[test]
fn a_directory_the_contract_does_not_know_is_refused_with_all_in_it() {
    let sandbox = Sandbox::new();
    let names = [
        "notes/a.md",
        "notes/plan.md",
        "a/b/c.md",
        "threads/a.md",
        "plan.md/x",
        ".archives/x",
    ];
    check(&sandbox, "undeclared-directory", &names);
    for command in [
        "mkdir .devt/state/notes",
        "mkdir -p .devt/state/a/b/c",
        "mkdir .devt/state/threads",
        "mkdir .devt/state/plan.md",
    ] {
        let found = sandbox.hook(&sandbox.bash_event(command)).verdict();
        assert_eq!(found, "undeclared-directory", "{command}");
    }
    for command in [
        "mkdir -p .devt/state",
        "mkdir -p packages/a/.devt/state",
        "mkdir .devt/notes",
    ] {
        sandbox.hook(&sandbox.bash_event(command)).is_silent();
    }
}

#[test]
fn a_name_with_a_control_character_is_no_plain_file_name() {
    let sandbox = Sandbox::new();
    let names = [
        "plan\n.md",
        "plan.md\n/x",
        "\nplan.md\nx",
        "pl\0an.md",
        "a\tb.md",
        "plan\u{7f}.md",
        "\u{1b}[31m.md",
    ];
    check(&sandbox, "path-escape", &names);
}

#[test]
fn blanks_before_a_path_hide_nothing_and_those_behind_a_name_are_in_no_contract() {
    let sandbox = Sandbox::new();
    for (name, expected) in [
        ("plan.md", "allow"),
        ("notes.md", "ad-hoc-name"),
        ("plan.md ", "ad-hoc-name"),
        ("workflow.yaml\u{a0}", "ad-hoc-name"),
        ("plan.md\n", "path-escape"),
        ("plan.md\r", "path-escape"),
        ("plan.md\t", "path-escape"),
    ] {
        let path = format!(" \n{}", sandbox.path(&format!("{STATE}/{name}")));
        let event = sandbox.event("Write", json!({ "file_path": path, "content": "x" }));
        assert_eq!(sandbox.hook(&event).verdict(), expected, "{path:?}");
    }
}

#[test]
fn closed_directories_of_other_systems_refuse_names_alike() {
    let sandbox = Sandbox::new();
    for (path, expected) in [
        (".claude/.docs/260110-a/notes.md", "ad-hoc-name"),
        (".claude/.docs/260110-a/state.json.tmp", "ad-hoc-name"),
        (".claude/.docs/260110-a/State.json", "ad-hoc-name"),
        (".claude/.docs/260110-a/quality-report.md", "ad-hoc-name"),
        (
            ".claude/.docs/260110-a/reports/plan-report.md",
            "undeclared-directory",
        ),
        ("openspec/changes/a/review/01.md", "ad-hoc-name"),
        ("openspec/changes/a/review/0.md", "ad-hoc-name"),
        ("openspec/changes/a/review/1.MD", "ad-hoc-name"),
        ("openspec/changes/a/review/group-1.md", "ad-hoc-name"),
        ("openspec/changes/a/review/1.md.bak", "ad-hoc-name"),
        (
            "openspec/changes/a/review/1/notes.md",
            "undeclared-directory",
        ),
        ("openspec/changes/a/test-reports/1.txt", "ad-hoc-name"),
        ("openspec/changes/a/test-reports/-1.md", "ad-hoc-name"),
        ("openspec/changes/a/test-reports/1.0.md", "ad-hoc-name"),
        ("openspec/changes/a/reviews/1.md", "allow"),
        ("openspec/changes/a/test-reports.md", "allow"),
    ] {
        assert_eq!(write(&sandbox, path), expected, "{path}");
    }
}

#[test]
fn group_numbers_may_be_large() {
    let sandbox = Sandbox::new();
    for number in [
        "1",
        "10",
        "999",
        "4294967296",
        "123456789012345678901234567890",
    ] {
        let path = format!("openspec/changes/a/review/{number}.md");
        let event = sandbox.write_event(&path, "**Status:** APPROVED\n");
        assert_eq!(
            sandbox.hook(&sandbox.by("reviewer", event)).verdict(),
            "allow",
            "{number}"
        );
    }
}

#[test]
fn settings_add_names_globs_and_directories() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  devt:\n    extra_names: [notes.md, notes/list.md]\n    \
         extra_globs: ['council-*.md', '*.{csv,tsv}', 'v[0-9].txt']\n    subdirectories: [evidence, a/b/]\n",
    );
    check(
        &sandbox,
        "allow",
        &[
            "notes.md",
            "council-x.md",
            "a.csv",
            "a.tsv",
            "v1.txt",
            "evidence/x.png",
            "evidence/deep/x",
            "a/b/x",
            "plan.md",
            "notes/list.md",
        ],
    );
    check(
        &sandbox,
        "ad-hoc-name",
        &["Notes.md", "council.md", "a.csv.md", "v10.txt", "todo.md"],
    );
    check(
        &sandbox,
        "undeclared-directory",
        &["evidence2/x", "a/x", "notes/other.md", "notes2/a.csv"],
    );
    for command in [
        "mkdir .devt/state/evidence",
        "mkdir -p .devt/state/evidence/x",
        "mkdir -p .devt/state/a/b",
    ] {
        assert_eq!(
            sandbox.hook(&sandbox.bash_event(command)).verdict(),
            "allow",
            "{command}"
        );
    }
}

/// A name of a program or of an owner does not become everybody's.
#[test]
fn additions_take_no_name_from_its_writer() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {devt: {extra_names: [.lock, workflow.yaml, preflight-denies.jsonl], extra_globs: ['review*'], subdirectories: [.archive]}}\n",
    );
    check(
        &sandbox,
        "program-owned",
        &[".lock", "preflight-denies.jsonl", ".archive/x"],
    );
    for (name, expected) in [
        ("workflow.yaml", "wrong-writer"),
        ("review.md", "wrong-writer"),
        ("reviewer.txt", "allow"),
    ] {
        let event = sandbox.by(
            "tester",
            sandbox.write_event(&format!("{STATE}/{name}"), "x\n"),
        );
        assert_eq!(sandbox.hook(&event).verdict(), expected, "{name}");
    }
}

#[test]
fn the_later_edition_knows_its_own_names_and_directories() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {devt: {contract: 0.244}}\n",
    );
    check(
        &sandbox,
        "allow",
        &[
            "plan.md",
            "plan-x.md",
            "research-x.md",
            "spec-x.md",
            "debug-summary-x.md",
            "lane-diff-L1.txt",
            "rubric-api.md",
            "review-depth.txt",
            "threads/a.md",
            "lane-files/L1/x",
            "project/x",
            "hook-trace/x",
            "a-b-summary.md",
            "v2-module-summary.md",
        ],
    );
    check(
        &sandbox,
        "ad-hoc-name",
        &["notes.md", "module-summary.md", "lane-diff-1.txt"],
    );
    check(&sandbox, "undeclared-directory", &["notes/a.md"]);
    check(
        &sandbox,
        "program-owned",
        &[
            "gate-trace.jsonl",
            "workflow-id-rotations.jsonl",
            "static-compress.jsonl",
            ".archive/x",
        ],
    );
}

#[test]
fn a_declared_system_is_closed_to_names_it_does_not_list() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  evidence:\n    site: 'audit/**/state'\n    canonical: [index.md]\n    \
         patterns: ['*-[0-9].json']\n    ephemeral: ['*.part']\n",
    );
    for (path, expected) in [
        ("audit/a/state/index.md", "allow"),
        ("audit/a/b/c/state/run-1.json", "allow"),
        ("audit/a/state/run.json", "ad-hoc-name"),
        ("audit/a/state/x.part", "ephemeral-name"),
        ("audit/a/state/sub/index.md", "undeclared-directory"),
        ("audit/a/other/run.json", "allow"),
    ] {
        assert_eq!(write(&sandbox, path), expected, "{path}");
    }
    let bash = |command: &str| sandbox.hook(&sandbox.bash_event(command)).verdict();
    assert_eq!(bash("echo > audit/a/state/run.json"), "ad-hoc-name");
    assert_eq!(bash("echo > audit/a/state/x.part"), "allow");
    assert_eq!(bash("cd audit/a && echo > state/run.json"), "ad-hoc-name");
}

/// What the client gets of a call in warn mode.
fn context(sandbox: &Sandbox, event: &Value) -> String {
    let ran = sandbox.hook(event);
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    let answer = ran.json();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    let keys: Vec<&String> = answer["hookSpecificOutput"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(keys, ["hookEventName", "additionalContext"], "{answer}");
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn warn_mode_tells_and_lets_through_and_counts_as_no_denial() {
    for settings in [
        "mode: warn\n",
        "systems: {devt: {mode: warn}}\n",
        "mode: off\nsystems: {devt: {mode: warn}}\n",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(".claude/statewarden.yaml", settings);
        let told = context(&sandbox, &sandbox.write_event(".devt/state/notes.md", "x"));
        for part in [
            "notes.md",
            "ad-hoc-name",
            "scratchpad.md",
            "statewarden explain",
        ] {
            assert!(told.contains(part), "`{part}` is not in: {told}");
        }
        assert!(
            !sandbox.exists(".devt/state/preflight-denies.jsonl"),
            "{settings}"
        );
        let events = sandbox.records(".claude/statewarden/events.jsonl");
        assert_eq!(events.len(), 1, "{settings}");
        for (key, value) in [
            ("decision", "warn"),
            ("rule", "ad-hoc-name"),
            ("system", "devt"),
            ("name", "notes.md"),
        ] {
            assert_eq!(events[0][key], value, "{settings}: {}", events[0]);
        }
        sandbox
            .hook(&sandbox.write_event(".devt/state/plan.md", "x\n"))
            .is_silent();
    }
}

#[test]
fn a_call_with_an_enforced_and_a_warned_denial_is_refused_and_the_enforced_one_leads() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {devt: {mode: warn}}\n",
    );
    let command = "touch .devt/state/notes.md .agentmux/.sessions/a/state.json";
    sandbox
        .hook(&sandbox.bash_event(command))
        .is_denied("program-owned");
}

#[test]
fn systems_that_are_off_have_no_opinion_and_the_others_stay() {
    let off = [
        ("mode: off\n", "allow", "allow"),
        ("systems: {devt: {mode: off}}\n", "allow", "program-owned"),
        (
            "systems: {devt: {enabled: false}}\n",
            "allow",
            "program-owned",
        ),
        (
            "systems: {devt: {enabled: false, mode: enforce}}\n",
            "allow",
            "program-owned",
        ),
        (
            "mode: off\nsystems: {devt: {mode: enforce}}\n",
            "ad-hoc-name",
            "allow",
        ),
        (
            "systems: {devt: {enabled: true}}\n",
            "ad-hoc-name",
            "program-owned",
        ),
        (
            "systems: {agentmux: {enabled: false}}\n",
            "ad-hoc-name",
            "allow",
        ),
    ];
    for (settings, devt, agentmux) in off {
        let sandbox = Sandbox::new();
        sandbox.write(".claude/statewarden.yaml", settings);
        assert_eq!(write(&sandbox, ".devt/state/notes.md"), devt, "{settings}");
        assert_eq!(
            write(&sandbox, ".agentmux/.sessions/a/state.json"),
            agentmux,
            "{settings}"
        );
        if devt == "allow" {
            let records = sandbox.records(".devt/state/preflight-denies.jsonl");
            assert!(records.is_empty(), "{settings}: {records:?}");
        }
    }
}

/// An agent that could edit the settings that warn could switch the guard off.
#[test]
fn warn_mode_does_not_open_the_guards_own_files() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    assert_eq!(
        write(&sandbox, ".claude/statewarden.yaml"),
        "protected-file"
    );
}

#[test]
fn later_settings_win_by_key() {
    let mut sandbox = Sandbox::new();
    let user = sandbox.home().join("config/statewarden");
    std::fs::create_dir_all(&user).unwrap();
    sandbox.env.push((
        "XDG_CONFIG_HOME",
        sandbox.home().join("config").to_str().unwrap().to_owned(),
    ));
    std::fs::write(
        user.join("config.yaml"),
        "mode: off\nsystems: {devt: {extra_names: [user.md]}}\n",
    )
    .unwrap();
    assert_eq!(write(&sandbox, ".devt/state/notes.md"), "allow");
    sandbox.write(".claude/statewarden.yaml", "mode: enforce\n");
    check(&sandbox, "ad-hoc-name", &["notes.md"]);
    check(&sandbox, "allow", &["user.md"]);
    sandbox.write(
        ".claude/statewarden.local.yaml",
        "systems: {devt: {extra_names: [local.md]}}\n",
    );
    check(&sandbox, "ad-hoc-name", &["user.md"]);
    check(&sandbox, "allow", &["local.md"]);
}
