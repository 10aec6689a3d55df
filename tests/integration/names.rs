//! Deny codes about names, and what the settings make of them.

mod settings;

use serde_json::{Value, json};

use crate::support::Sandbox;

const STATE: &str = ".devt/state";

fn write(sandbox: &Sandbox, path: &str) -> String {
    sandbox.hook(&sandbox.write_event(path, "x\n")).decision()
}

#[track_caller]
fn check(sandbox: &Sandbox, expected: &str, names: &str) {
    check_each(sandbox, expected, &names.split(' ').collect::<Vec<_>>());
}

/// The same of names that hold blanks.
#[track_caller]
fn check_each(sandbox: &Sandbox, expected: &str, names: &[&str]) {
    for name in names {
        assert_eq!(
            write(sandbox, &format!("{STATE}/{name}")),
            expected,
            "{name:?}"
        );
    }
}

#[test]
fn b3_names_in_no_bucket_are_ad_hoc() {
    let sandbox = Sandbox::new();
    let names = "notes.md todo.txt output x é.md 名前.md -rf * ?.md plan plan.txt plan.md.bak \
                 plan.MD Plan.md plan..md .plan.md plan-x.md research-x.md spec-x.md \
                 debug-summary-x.md review-.md review-é.md review-a.json review-lane-api.json \
                 slice-a.json impl-summary-.json a1-summary.md A-summary.md -summary.md x.swp #x# \
                 .DS_Store x.bak x.TMP tmp x.tmp.md workflow.yml preflight-brief.jsonl .gitkeep \
                 threads.md status.json gate-trace.json";
    check_each(&sandbox, "ad-hoc-name", &["a b.md", " notes.md"]);
    check(&sandbox, "ad-hoc-name", names);
}

#[test]
fn names_of_the_contract_and_its_patterns_are_allowed() {
    let sandbox = Sandbox::new();
    let names = "plan.md review-scope.md code-review-input.md last-curator-run.txt review-a.md \
                 review-..md review--x.md review-pr367-slice-A.md review-lane-api.md slice-A.md \
                 impl-summary-cr3.md module-md-update-summary.md module-summary.md a-summary.md";
    check(&sandbox, "allow", names);
}

#[test]
fn a_file_tool_creates_no_temporary_name_but_the_shell_may() {
    let sandbox = Sandbox::new();
    let names = "a.tmp .a.tmp .tmp ~ a~ plan.md~ plan.md.tmp review-a.md.tmp";
    check(&sandbox, "ephemeral-name", names);
    for name in names.split(' ') {
        let command = format!("echo hi > '{STATE}/{name}'");
        sandbox.expect(&sandbox.bash_event(&command), "allow");
    }
    for tool in ["mcp__fs__write_file", "mcp__fs__create_file"] {
        let event = sandbox.event(tool, json!({ "path": sandbox.path(".devt/state/a.tmp") }));
        sandbox.expect(&event, "ephemeral-name");
    }
}

#[test]
fn a_directory_the_contract_does_not_know_is_refused_with_all_in_it() {
    let sandbox = Sandbox::new();
    let names = "notes/a.md notes/plan.md a/b/c.md threads/a.md plan.md/x .archives/x";
    check(&sandbox, "undeclared-directory", names);
    for command in [
        "mkdir .devt/state/notes",
        "mkdir -p .devt/state/a/b/c",
        "mkdir .devt/state/threads",
        "mkdir .devt/state/plan.md",
    ] {
        let found = sandbox.hook(&sandbox.bash_event(command)).decision();
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
fn no_file_takes_the_place_of_a_site() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir(sandbox.path(".devt/state")).unwrap();
    for site in [
        ".devt/state",
        ".agentmux/.sessions/s1",
        ".claude/.docs/260101-add-x",
    ] {
        let ran = sandbox.hook(&sandbox.write_event(site, "x"));
        assert_eq!(ran.decision(), "path-escape", "{site}");
    }
    sandbox
        .hook(&sandbox.bash_event("mkdir -p .devt/state"))
        .is_silent();
}

#[test]
fn a_file_beside_the_sites_is_no_site() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {notes: {site: 'docs/*', canonical: [ok.md]}}\n",
    );
    for place in ["openspec/changes", ".agentmux/.sessions", "docs"] {
        for name in ["README.md", "LICENSE"] {
            sandbox.write(&format!("{place}/{name}"), "x\n");
        }
        for name in ["README.md", "LICENSE", "NEW.md"] {
            let path = format!("{place}/{name}");
            assert_eq!(write(&sandbox, &path), "allow", "{path}");
            for command in [format!("rm -f {path}"), format!("mv {path} {place}/B.md")] {
                sandbox.hook(&sandbox.bash_event(&command)).is_silent();
            }
        }
        std::fs::create_dir(sandbox.path(&format!("{place}/v1.2"))).unwrap();
        let removal = sandbox.bash_event(&format!("rm -rf {place}/v1.2"));
        sandbox.expect(&removal, "bulk-removal");
        assert_eq!(write(&sandbox, &format!("{place}/add")), "path-escape");
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
    check_each(&sandbox, "path-escape", &names);
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
        sandbox.expect(&event, expected);
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
        sandbox.expect(&sandbox.by("reviewer", event), "allow");
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
        "plan.md plan-x.md research-x.md spec-x.md debug-summary-x.md lane-diff-L1.txt \
         rubric-api.md review-depth.txt threads/a.md lane-files/L1/x project/x hook-trace/x \
         a-b-summary.md v2-module-summary.md notes/a.md council-api-20260101-120000.md",
    );
    check(
        &sandbox,
        "ad-hoc-name",
        "notes.md module-summary.md lane-diff-1.txt",
    );
    check(&sandbox, "undeclared-directory", "drafts/a.md");
    check(
        &sandbox,
        "program-owned",
        ".instances/a.json gate-trace.jsonl workflow-id-rotations.jsonl static-compress.jsonl .archive/x",
    );
}
