//! Which paths are governed: roots, sites, and what links make of them.

#[cfg(unix)]
mod links;
mod roots;

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Ran, Sandbox};

/// A Write of the main thread; absolute paths stand as they are.
fn write(sandbox: &Sandbox, path: &str) -> String {
    sandbox.hook(&event(sandbox, path)).decision()
}

pub(crate) fn event(sandbox: &Sandbox, path: &str) -> serde_json::Value {
    sandbox.event("Write", json!({ "file_path": path, "content": "x\n" }))
}

#[track_caller]
pub(crate) fn check(sandbox: &Sandbox, cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        assert_eq!(write(sandbox, path), *expected, "{path}");
    }
}

#[track_caller]
pub(crate) fn check_by(sandbox: &Sandbox, agent: &str, cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        let found = sandbox.hook(&sandbox.by(agent, event(sandbox, path)));
        assert_eq!(found.decision(), *expected, "{path} by {agent}");
    }
}

pub(crate) fn make(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_devt_site_is_governed_at_any_depth() {
    let sandbox = Sandbox::new();
    make(&sandbox.project().join("vendor/lib/.git"));
    check(
        &sandbox,
        &[
            (".devt/state/notes.md", "ad-hoc-name"),
            ("packages/web/.devt/state/notes.md", "ad-hoc-name"),
            ("a/b/c/d/e/f/.devt/state/notes.md", "ad-hoc-name"),
            ("vendor/lib/.devt/state/notes.md", "ad-hoc-name"),
            ("node_modules/x/.devt/state/notes.md", "ad-hoc-name"),
            ("packages/web/.devt/state/plan.md", "allow"),
            // Nothing that only looks like it.
            (".devt/notes.md", "allow"),
            (".devt/state.md", "allow"),
            (".devt/states/notes.md", "allow"),
            (".devt/mystate/notes.md", "allow"),
            ("x.devt/state/notes.md", "allow"),
            ("devt/state/notes.md", "allow"),
            (".devt/memory/notes.md", "allow"),
            (".devt/x/state/notes.md", "allow"),
            ("state/notes.md", "allow"),
        ],
    );
}

#[test]
fn every_other_site_is_governed_at_any_depth() {
    let sandbox = Sandbox::new();
    check(
        &sandbox,
        &[
            (".agentmux/.sessions/s/state.json", "program-owned"),
            ("sub/.agentmux/.sessions/s/state.json", "program-owned"),
            (".agentmux/.sessions/s/notes.md", "allow"),
            (".agentmux/state.json", "allow"),
            (".agentmux/sessions/s/state.json", "allow"),
            ("openspec/changes/add-x/review/x.md", "ad-hoc-name"),
            ("sub/openspec/changes/add-x/review/x.md", "ad-hoc-name"),
            ("openspec/changes/add-x/test-reports/01.md", "ad-hoc-name"),
            ("openspec/changes/add-x/proposal.md", "allow"),
            ("openspec/changes/add-x/specs/review/x.md", "allow"),
            ("openspec/specs/add-x/review/x.md", "allow"),
            ("sub/.claude/orchestration-2.local.md", "ad-hoc-name"),
            ("sub/.claude/.docs/260110-x/notes.md", "ad-hoc-name"),
            ("sub/.claude/statewarden.yaml", "protected-file"),
        ],
    );
}

#[test]
fn finished_changes_are_nobodys() {
    let sandbox = Sandbox::new();
    check(
        &sandbox,
        &[
            ("openspec/changes/archive/2026-01-01-x/review/x.md", "allow"),
            ("openspec/changes/archive/2026-01-01-x/review/1.md", "allow"),
            ("openspec/changes/archive/x/tasks.md", "allow"),
            // A change whose name only begins like it.
            ("openspec/changes/archive-x/review/x.md", "ad-hoc-name"),
            ("openspec/changes/x/archive/review.md", "allow"),
        ],
    );
}

#[test]
fn the_spelling_of_a_path_does_not_matter() {
    let sandbox = Sandbox::new();
    make(&sandbox.project().join("src/deep"));
    let project = sandbox.path("");
    let project = project.trim_end_matches('/');
    let cases = [
        (format!("{project}/.devt/state/notes.md"), "ad-hoc-name"),
        (
            format!("{project}/src/../.devt/state/notes.md"),
            "ad-hoc-name",
        ),
        (
            format!("{project}/gone/../.devt/state/notes.md"),
            "ad-hoc-name",
        ),
        (format!("{project}//.devt///state//notes.md"), "ad-hoc-name"),
        (format!("//{project}/.devt/state/notes.md"), "ad-hoc-name"),
        (
            format!("{project}/./.devt/./state/./notes.md"),
            "ad-hoc-name",
        ),
        (
            format!("{project}/.devt/state/../state/notes.md"),
            "ad-hoc-name",
        ),
        (format!("{project}/.devt/state/../../src/notes.md"), "allow"),
        (
            format!("{project}/../project/.devt/state/notes.md"),
            "ad-hoc-name",
        ),
        (
            format!("/../..{project}/.devt/state/notes.md"),
            "ad-hoc-name",
        ),
        (".devt/state/notes.md".to_owned(), "ad-hoc-name"),
        ("./.devt/state/notes.md".to_owned(), "ad-hoc-name"),
        ("../project/.devt/state/notes.md".to_owned(), "ad-hoc-name"),
        (r".devt\state\notes.md".to_owned(), "ad-hoc-name"),
        (r".\src\..\.devt\state\notes.md".to_owned(), "ad-hoc-name"),
        (r".devt/state\plan.md".to_owned(), "allow"),
        (
            "~/../project/.devt/state/notes.md".to_owned(),
            "ad-hoc-name",
        ),
        ("~/notes.md".to_owned(), "allow"),
        ("~nobody/.devt/state/notes.md".to_owned(), "ad-hoc-name"),
        (format!("{project}/.devt/state/plan.md/"), "allow"),
    ];
    for (path, expected) in cases {
        assert_eq!(write(&sandbox, &path), expected, "{path}");
    }
}

#[test]
fn relative_paths_are_resolved_in_the_events_directory() {
    let sandbox = Sandbox::new();
    make(&sandbox.project().join("src/deep"));
    for (path, expected) in [
        (".devt/state/notes.md", "ad-hoc-name"),
        ("../../.devt/state/notes.md", "ad-hoc-name"),
        ("../../.devt/state/plan.md", "allow"),
        ("notes.md", "allow"),
    ] {
        let mut event = event(&sandbox, path);
        event["cwd"] = sandbox.path("src/deep").into();
        sandbox.expect(&event, expected);
    }
    let mut event = event(&sandbox, "notes.md");
    event["cwd"] = sandbox.path(".devt/state").into();
    sandbox.expect(&event, "ad-hoc-name");
}

pub(crate) const NUMBERED: &str = "# Tasks\n\n## 1. Login\n\n- [ ] 1.1 Form\n";

#[test]
fn a_session_directory_is_known_by_its_name_or_by_its_state_file() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/.docs/handbook/state.json", "{}");
    check(
        &sandbox,
        &[
            (".claude/.docs/260110-jwt-auth/notes.md", "ad-hoc-name"),
            (".claude/.docs/260110-a/notes.md", "ad-hoc-name"),
            (".claude/.docs/260110-a-2/notes.md", "ad-hoc-name"),
            (
                ".claude/.docs/260110-a/sub/notes.md",
                "undeclared-directory",
            ),
            (".claude/.docs/260110-a/plan-report.md", "allow"),
            (".claude/.docs/handbook/notes.md", "ad-hoc-name"),
            (".claude/.docs/handbook/review-report.md", "allow"),
            // Documents of other tools.
            (".claude/.docs/guide/notes.md", "allow"),
            (".claude/.docs/readme.md", "allow"),
            (".claude/.docs/260110/notes.md", "allow"),
            (".claude/.docs/260110-/notes.md", "allow"),
            (".claude/.docs/260110-A/notes.md", "allow"),
            (".claude/.docs/260110-a--b/notes.md", "allow"),
            (".claude/.docs/26011-a/notes.md", "allow"),
            (".claude/.docs/2601100-a/notes.md", "allow"),
            (".claude/docs/260110-a/notes.md", "allow"),
        ],
    );
    check_by(
        &sandbox,
        "scouter",
        &[
            (".claude/.docs/anything/state.json", "wrong-writer"),
            (".claude/.docs/anything/notes.md", "allow"),
        ],
    );
}

#[test]
fn directories_named_in_the_settings_are_group_sites() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {groups: {roots: [docs/specs/, plans]}}\n",
    );
    check(
        &sandbox,
        &[
            ("docs/specs/review/1.md", "wrong-writer"),
            ("docs/specs/review/x.md", "ad-hoc-name"),
            ("docs/specs/review/deep/1.md", "undeclared-directory"),
            ("docs/specs/test-reports/0.md", "ad-hoc-name"),
            ("docs/specs/design.md", "allow"),
            ("plans/e2e-report.md", "wrong-writer"),
            ("docs/review/1.md", "allow"),
            ("docs/specs-old/review/1.md", "allow"),
            ("sub/docs/specs/review/1.md", "allow"),
        ],
    );
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {groups: {roots: [.]}}\n",
    );
    check(
        &sandbox,
        &[
            ("review/x.md", "ad-hoc-name"),
            ("review/1.md", "wrong-writer"),
            ("src/review/x.md", "allow"),
        ],
    );
}

#[test]
fn a_root_whose_tasks_have_numbered_groups_gives_up_the_numbered_files() {
    let sandbox = Sandbox::new();
    let numbered = [
        ("review/1.md", "wrong-writer"),
        ("review/12.md", "wrong-writer"),
        ("test-reports/3.md", "wrong-writer"),
    ];
    let free = [
        ("review/x.md", "allow"),
        ("review/01.md", "allow"),
        ("review/0.md", "allow"),
        ("review/1.txt", "allow"),
        ("review/deep/1.md", "allow"),
        ("sub/review/1.md", "allow"),
        ("test-reports/junit.xml", "allow"),
    ];
    for tasks in [
        NUMBERED,
        "## 2. B\r\n- [x] done\r\n",
        "## 10. B\n\n* [ ] b\n",
        "intro\n\n## 1. A\n1. [X] a\n",
    ] {
        sandbox.write("tasks.md", tasks);
        check(&sandbox, &numbered);
        check(&sandbox, &free);
    }
    for tasks in [
        "",
        "# Tasks\n- [ ] a\n",
        "## 1. A\n\nprose\n",
        "## A\n- [ ] a\n",
    ] {
        sandbox.write("tasks.md", tasks);
        check(&sandbox, &numbered.map(|(path, _)| (path, "allow")));
    }
    // Only a root's own list counts.
    fs::remove_file(sandbox.project().join("tasks.md")).unwrap();
    sandbox.write("sub/tasks.md", NUMBERED);
    check(
        &sandbox,
        &[("sub/review/1.md", "allow"), ("review/1.md", "allow")],
    );
}

#[test]
fn look_alikes_of_agent_flows_files_are_ad_hoc_and_other_names_are_not_ours() {
    let sandbox = Sandbox::new();
    check(
        &sandbox,
        &[
            (".claude/my-orchestration.local.md", "ad-hoc-name"),
            (".claude/orchestration-2.local.md", "ad-hoc-name"),
            (".claude/orchestration_state.local.md", "ad-hoc-name"),
            (".claude/Orchestration.local.md", "ad-hoc-name"),
            (".claude/deep_dive.local.md", "ad-hoc-name"),
            (".claude/deepdive.local.md", "ad-hoc-name"),
            (".claude/team-orchestation.local.md", "ad-hoc-name"),
            (".claude/orchestration2.local.md", "ad-hoc-name"),
            (".claude/my-orchestration.final.v12.local.md", "ad-hoc-name"),
            (".claude/deep-dive.backup.local.md", "ad-hoc-name"),
            (".claude/copy_deep_dive.local.md", "ad-hoc-name"),
            (".claude/orchestration.local.md.tmp.4711", "ephemeral-name"),
            // Its own reports.
            (
                ".claude/research-orchestration-20260101T120000Z.local.md",
                "allow",
            ),
            (
                ".claude/research-deep-dive-20260101T120000Z-2.local.md",
                "allow",
            ),
            (".claude/research-auth-20260101T120000Z.local.md", "allow"),
            // Everybody else's.
            (".claude/ralph-loop.local.md", "allow"),
            (".claude/notes.local.md", "allow"),
            (".claude/orchestration.md", "allow"),
            (".claude/orchestration.local.md.orig", "allow"),
            (".claude/hookify.block-orchestration.local.md", "allow"),
            (".claude/hookify.warn-deep-dive.local.md", "allow"),
            (".claude/container-orchestration.local.md", "allow"),
            (".claude/deep-dive-notes.local.md", "allow"),
            (".claude/deep-dive-auth.local.md", "allow"),
            (".claude/newdeep-dive.local.md", "allow"),
            (".claude/orchestrationplan.local.md", "allow"),
            (".claude/research-orchestration.local.md", "allow"),
            (".claude/settings.local.json", "allow"),
            (".claude/CLAUDE.md", "allow"),
            (".claude/commands/orchestration-2.local.md", "allow"),
            ("orchestration-2.local.md", "allow"),
            ("claude/orchestration-2.local.md", "allow"),
        ],
    );
}

#[test]
fn the_environment_can_name_agentmuxs_session_directory() {
    for dir in ["feature", "project/runs/one", "project/runs/one/"] {
        let mut sandbox = Sandbox::new();
        let feature = sandbox.base().join(dir);
        make(&feature);
        let feature = text(&feature);
        let owned = format!("{}/state.json", feature.trim_end_matches('/'));
        let free = format!("{}/notes.md", feature.trim_end_matches('/'));
        assert_eq!(write(&sandbox, &owned), "allow", "{dir} is not named yet");
        sandbox.env.push(("FEATURE_DIR", feature));
        assert_eq!(write(&sandbox, &owned), "program-owned", "{dir}");
        assert_eq!(write(&sandbox, &free), "allow", "{dir}");
        let other = text(&sandbox.base().join("project/runs/state.json"));
        assert_eq!(write(&sandbox, &other), "allow", "{dir}");
        check(&sandbox, &[(".devt/state/notes.md", "ad-hoc-name")]);
    }
}

#[cfg(unix)]
#[test]
fn a_session_directory_that_is_a_link_is_known_by_both_names() {
    for (link, real) in [
        ("project/now", "project/runs/one"),
        ("now", "project/runs/one"),
        ("project/now", "runs/one"),
    ] {
        let mut sandbox = Sandbox::new();
        let (link, real) = (sandbox.base().join(link), sandbox.base().join(real));
        make(&real);
        std::os::unix::fs::symlink(&real, &link).unwrap();
        sandbox.env.push(("FEATURE_DIR", text(&link)));
        for dir in [&link, &real] {
            let (owned, free) = (dir.join("state.json"), dir.join("notes.md"));
            assert_eq!(write(&sandbox, &text(&owned)), "program-owned", "{owned:?}");
            assert_eq!(write(&sandbox, &text(&free)), "allow", "{free:?}");
            let removal = sandbox.bash_event(&format!("rm -rf {}", text(dir)));
            sandbox.expect(&removal, "bulk-removal");
        }
        check(&sandbox, &[(".devt/state/notes.md", "ad-hoc-name")]);
    }
}

#[test]
fn systems_of_the_settings_are_governed_below_their_root() {
    let sandbox = Sandbox::new();
    let settings = "systems: {notes: {site: 'docs/*/log', canonical: [index.md, '*.csv']}}\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    check(
        &sandbox,
        &[
            ("docs/a/log/index.md", "allow"),
            ("docs/a/log/x.csv", "allow"),
            ("docs/a/log/notes.md", "ad-hoc-name"),
            ("docs/a/log/notes.txt", "ad-hoc-name"),
            ("docs/a/log/deep/index.md", "undeclared-directory"),
            ("docs/a/notes.md", "allow"),
            ("docs/a/b/log/notes.md", "allow"),
            ("sub/docs/a/log/notes.md", "allow"),
            (".claude/worktrees/x/docs/a/log/notes.txt", "ad-hoc-name"),
        ],
    );
}
