//! `groups`: one change, several, a root of its own, none.

use serde_json::json;

use crate::support::{Sandbox, assert_has, keys};

const TASKS: &str = include_str!("../fixtures/groups/C07/tasks.md");
const PASS: &str = include_str!("../fixtures/groups/C07/test-reports/1.md");

fn states(sandbox: &Sandbox, args: &[&str]) -> serde_json::Value {
    let args: Vec<&str> = ["groups", "--json"].iter().chain(args).copied().collect();
    let ran = sandbox.run(&args).ends(0);
    let rows = ran.json()["groups"].clone();
    let brief = |row: &serde_json::Value| json!([row["group"], row["state"], row["root"]]);
    rows.as_array().unwrap().iter().map(brief).collect()
}

#[test]
fn the_groups_of_the_one_change_are_shown() {
    let sandbox = Sandbox::new();
    let tasks = format!("{TASKS}\n## 2. Later\n- [ ] 2.1 b\n");
    sandbox.write("openspec/changes/auth/tasks.md", &tasks);
    sandbox.write("openspec/changes/auth/test-reports/1.md", PASS);
    sandbox.write("openspec/changes/archive/old/tasks.md", &tasks);
    let expected = json!([[1, "REVIEWING", null], [2, "PENDING", null]]);
    assert_eq!(states(&sandbox, &[]), expected);
    assert_eq!(states(&sandbox, &["2"]), json!([[2, "PENDING", null]]));
    let answer = sandbox.run("groups 1 --json").json();
    assert_eq!(
        keys(&answer["groups"][0]),
        [
            "group", "name", "state", "rework", "round", "reasons", "next"
        ]
    );
    let text = sandbox.run("groups 1").stdout();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(lines[0].starts_with("1  REVIEWING"), "{text}");
    assert!(
        lines.contains(&"next: dispatch the reviewer, who writes `review/1.md`"),
        "{text}"
    );
}

#[test]
fn several_roots_are_told_apart() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/auth/tasks.md", "## 1. A\n- [ ] a\n");
    sandbox.write("tasks.md", "## 1. B\n- [x] b\n");
    sandbox.write("docs/plan/tasks.md", "## 3. C\n- [x] c\n");
    let settings = "systems:\n  groups:\n    roots: [docs/plan]\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    let found = states(&sandbox, &[]);
    for row in [
        json!([1, "PENDING", "openspec/changes/auth"]),
        json!([1, "TESTING", "."]),
        json!([3, "TESTING", "docs/plan"]),
    ] {
        assert!(
            found.as_array().unwrap().contains(&row),
            "{row} is not in {found}"
        );
    }
    assert_eq!(
        states(&sandbox, &["--root", "docs/plan"]),
        json!([[3, "TESTING", null]])
    );
    assert_eq!(
        states(&sandbox, &["--root", "."]),
        json!([[1, "TESTING", null]])
    );
}

/// Unfinished work that is in no group's state.
#[test]
fn a_change_that_its_groups_do_not_tell_of_is_listed() {
    let sandbox = Sandbox::new();
    for (change, tasks) in [
        ("plain", "# Tasks\n- [ ] a\n"),
        ("stray", "## 1. A\n- [x] a\n## Later\n- [ ] b\n"),
        ("whole", "## 1. A\n- [x] a\n"),
    ] {
        sandbox.write(&format!("openspec/changes/{change}/tasks.md"), tasks);
    }
    let report = sandbox.path("openspec/changes/whole/review/1.md");
    sandbox.write("openspec/changes/whole/review/1.md", "");
    std::fs::write(&report, b"**Status:** APPROVED \xff").unwrap();
    let answer = sandbox.run("groups --json").ends(0).json();
    let ungrouped = json!([
        {"change": "openspec/changes/plain", "reason": "`tasks.md` has no group (headings `## N. Name`)"},
        {"change": "openspec/changes/stray", "reason": "open boxes that belong to no group: 1, in line 4; \
            move them below a heading `## N. Name`"},
    ]);
    assert_eq!(answer["ungrouped"], ungrouped);
    let reasons = answer["groups"][1]["reasons"].to_string();
    assert_has(&reasons, "`review/1.md` cannot be read: it is not UTF-8");
    let text = sandbox.run("groups").stdout();
    assert_has(
        &text,
        "\nopenspec/changes/plain: not done: `tasks.md` has no group",
    );
}

#[test]
fn a_change_that_is_archived_with_open_boxes_is_told_of() {
    let sandbox = Sandbox::new();
    let open = "- [ ] z\n## 1. A\n- [x] a\n- [~] b\n";
    for (change, tasks) in [("open", open), ("done", "## 1. A\n- [x] a\n")] {
        sandbox.write(&format!("openspec/changes/{change}/tasks.md"), tasks);
    }
    let archived = |change: &str| {
        let change = format!("openspec/changes/{change}");
        sandbox.hook(&sandbox.bash_event(&format!("mv {change} openspec/changes/archive/")))
    };
    let told = archived("open").context();
    assert_has(&told, "open boxes in `openspec/changes/open/tasks.md`: 2");
    archived("done").is_silent();
}

#[test]
fn no_answer_is_an_error() {
    let sandbox = Sandbox::new();
    for (args, word) in [
        ("groups", "tasks.md"),
        ("groups --root docs", "tasks.md"),
        ("groups 0", "at least 1"),
        ("groups x", "invalid"),
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{args:?}");
        assert_has(&ran.stderr(), word);
    }
    sandbox.write("openspec/changes/auth/tasks.md", "## 1. A\n- [ ] a\n");
    let ran = sandbox.run("groups 7");
    assert!(
        ran.code() == 2 && ran.stderr().contains("the groups are 1"),
        "{}",
        ran.stderr()
    );
    for name in ["STUCK.md", "tasks.md"] {
        let file = sandbox.path(&format!("openspec/changes/auth/{name}"));
        std::fs::write(file, b"Group 1 \xff").unwrap();
        let ran = sandbox.run("groups");
        assert_eq!(ran.code(), 2, "unreadable is neither done nor free");
        assert_has(&ran.stderr(), name);
    }
}
