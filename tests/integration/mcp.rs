//! Tools of MCP servers, where an input is too large for a case of `tests/hook/mcp.txt`.

use serde_json::{Value, json};

use crate::support::{Sandbox, assert_has};

#[track_caller]
fn check(sandbox: &Sandbox, tool: &str, input: Value, expected: &str) {
    sandbox.expect(&sandbox.event(tool, input), expected);
}

#[test]
fn more_pairs_of_directories_and_names_than_can_be_judged_are_refused() {
    let sandbox = Sandbox::new();
    let input = |n: usize, dir: &str| {
        let dirs: Vec<String> = (0..n).map(|at| format!("{dir}/{at}")).collect();
        let names: Vec<String> = (0..n).map(|at| format!("{at}.md")).collect();
        sandbox.event("mcp__fs__write_file", json!({ "dir": dirs, "name": names }))
    };
    let reason = sandbox.hook(&input(65, ".devt/state")).reason();
    assert_has(&reason, "more than 4096 files");
    sandbox.hook(&input(65, "src")).is_silent();
    sandbox.hook(&input(64, "src")).is_silent();
}

#[test]
fn many_and_odd_arguments_are_borne() {
    let sandbox = Sandbox::new();
    let mut paths: Vec<String> = (0..2_000).map(|n| format!("src/{n}.rs")).collect();
    check(
        &sandbox,
        "mcp__fs__write_files",
        json!({ "paths": paths }),
        "allow",
    );
    paths.push(".devt/state/notes.md".to_owned());
    check(
        &sandbox,
        "mcp__fs__write_files",
        json!({ "paths": paths }),
        "ad-hoc-name",
    );
    for (path, expected) in [
        ("x".repeat(5_000_000), "allow"),
        (format!(".devt/state/{}", "n".repeat(4_000)), "ad-hoc-name"),
        (".devt/state/a\u{0}b".to_owned(), "path-escape"),
        (".devt/state/plan.md\n".to_owned(), "path-escape"),
    ] {
        check(
            &sandbox,
            "mcp__fs__write_file",
            json!({ "path": path }),
            expected,
        );
    }
}

#[test]
fn the_settings_that_hold_the_guard_are_not_removed_or_emptied() {
    let sandbox = Sandbox::new();
    sandbox.run("install --scope project").ends(0);
    let path = sandbox.path(".claude/settings.json");
    for (tool, input) in [
        ("mcp__fs__delete_file", json!({ "path": path })),
        (
            "mcp__fs__write_file",
            json!({ "path": path, "content": "{}" }),
        ),
    ] {
        sandbox.denied(&sandbox.event(tool, input), "protected-file");
    }
    let kept = sandbox.read(".claude/settings.json");
    let input = json!({ "path": path, "content": kept });
    sandbox
        .hook(&sandbox.event("mcp__fs__write_file", input))
        .is_silent();
}
