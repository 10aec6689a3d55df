//! Which paths are governed: roots, sites, and what links make of them.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Ran, Sandbox};

/// A Write of the main thread; absolute paths stand as they are.
fn write(sandbox: &Sandbox, path: &str) -> String {
    sandbox.hook(&event(sandbox, path)).verdict()
}

fn event(sandbox: &Sandbox, path: &str) -> serde_json::Value {
    sandbox.event("Write", json!({ "file_path": path, "content": "x\n" }))
}

#[track_caller]
fn check(sandbox: &Sandbox, cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        assert_eq!(write(sandbox, path), *expected, "{path}");
    }
}

#[track_caller]
fn check_by(sandbox: &Sandbox, agent: &str, cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        let found = sandbox.hook(&sandbox.by(agent, event(sandbox, path)));
        assert_eq!(found.verdict(), *expected, "{path} by {agent}");
    }
}

fn make(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
}

fn text(path: &Path) -> String {
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
        assert_eq!(sandbox.hook(&event).verdict(), expected, "{path}");
    }
    let mut event = event(&sandbox, "notes.md");
    event["cwd"] = sandbox.path(".devt/state").into();
    assert_eq!(sandbox.hook(&event).verdict(), "ad-hoc-name");
}

/// Runs without `CLAUDE_PROJECT_DIR`, with everything below a directory of the
/// sandbox that is no project.
fn from(sandbox: &Sandbox, cwd: &Path, path: &Path) -> Ran {
    make(cwd);
    let mut event = event(sandbox, &text(path));
    event["cwd"] = text(cwd).into();
    sandbox.hook_without_project_dir(&event)
}

#[test]
fn each_marker_makes_a_directory_above_the_cwd_the_root() {
    for marker in [".devt", ".claude", ".agentmux", "openspec", ".git"] {
        let sandbox = Sandbox::new();
        let root = sandbox.base().join("work");
        make(&root.join(marker));
        let cwd = root.join("src/deep");
        let found = from(&sandbox, &cwd, &root.join("lib/.devt/state/notes.md"));
        assert_eq!(found.verdict(), "ad-hoc-name", "{marker}");
        let above = from(&sandbox, &cwd, &sandbox.base().join(".devt/state/notes.md"));
        assert_eq!(above.verdict(), "allow", "{marker}");
    }
}

#[test]
fn the_nearest_marker_wins() {
    let sandbox = Sandbox::new();
    let (outer, inner) = (
        sandbox.base().join("outer"),
        sandbox.base().join("outer/inner"),
    );
    make(&outer.join(".devt/state"));
    make(&inner.join(".git"));
    let cwd = inner.join("src");
    for (path, expected) in [
        (inner.join(".devt/state/notes.md"), "ad-hoc-name"),
        (outer.join(".devt/state/notes.md"), "allow"),
    ] {
        assert_eq!(from(&sandbox, &cwd, &path).verdict(), expected, "{path:?}");
    }
}

#[test]
fn without_a_marker_the_cwd_is_the_root() {
    let sandbox = Sandbox::new();
    let cwd = sandbox.base().join("bare/src");
    for (path, expected) in [
        (cwd.join(".devt/state/notes.md"), "ad-hoc-name"),
        (sandbox.base().join("bare/.devt/state/notes.md"), "allow"),
    ] {
        assert_eq!(from(&sandbox, &cwd, &path).verdict(), expected, "{path:?}");
    }
}

#[test]
fn the_home_directory_is_no_root_for_its_claude_and_devt_directories() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    make(&home.join(".claude"));
    make(&home.join(".devt/state"));
    let cwd = home.join("work/src");
    for (path, expected) in [
        (home.join(".devt/state/notes.md"), "allow"),
        (home.join(".claude/orchestration-2.local.md"), "allow"),
        (cwd.join(".devt/state/notes.md"), "ad-hoc-name"),
    ] {
        assert_eq!(from(&sandbox, &cwd, &path).verdict(), expected, "{path:?}");
    }
}

#[test]
fn a_home_that_is_a_repository_is_a_project_like_any_other() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    make(&home.join(".git"));
    let cwd = home.join("work/src");
    let found = from(&sandbox, &cwd, &home.join(".devt/state/notes.md"));
    assert_eq!(found.verdict(), "ad-hoc-name");
}

#[test]
fn the_session_names_the_project_whatever_the_cwd() {
    let sandbox = Sandbox::new();
    let other = sandbox.base().join("other");
    make(&other.join(".devt/state"));
    for (cwd, path, expected) in [
        (
            &other,
            sandbox.project().join(".devt/state/notes.md"),
            "ad-hoc-name",
        ),
        (&other, other.join(".devt/state/notes.md"), "allow"),
        (
            &sandbox.project(),
            other.join(".devt/state/notes.md"),
            "allow",
        ),
        (
            &sandbox.project(),
            sandbox.base().join("project2/.devt/state/notes.md"),
            "allow",
        ),
    ] {
        let mut event = event(&sandbox, &text(&path));
        event["cwd"] = text(cwd).into();
        assert_eq!(
            sandbox.hook(&event).verdict(),
            expected,
            "{path:?} from {cwd:?}"
        );
    }
}

#[test]
fn the_projects_name_may_be_untidy_and_an_empty_one_is_none() {
    let sandbox = Sandbox::new();
    let event = event(&sandbox, &sandbox.path(".devt/state/notes.md"));
    let project = text(&sandbox.project());
    for (named, expected) in [
        (format!("{project}/"), "ad-hoc-name"),
        (format!("{project}/src/.."), "ad-hoc-name"),
        (format!("{project}//."), "ad-hoc-name"),
        (String::new(), "ad-hoc-name"),
        (text(&sandbox.base().join("gone")), "allow"),
    ] {
        let mut command = sandbox.command(&["hook"]);
        command.env("CLAUDE_PROJECT_DIR", &named);
        let found = crate::support::serve(command, event.to_string().as_bytes());
        assert_eq!(found.verdict(), expected, "`{named}`");
    }
}

#[test]
fn the_project_option_wins_over_the_environment() {
    let sandbox = Sandbox::new();
    let other = sandbox.base().join("other");
    make(&other);
    let event = event(&sandbox, &text(&other.join(".devt/state/notes.md")));
    assert_eq!(sandbox.hook(&event).verdict(), "allow");
    let mut command = sandbox.command(&["hook", "--project", &text(&other)]);
    command.env("CLAUDE_PROJECT_DIR", sandbox.project());
    let found = crate::support::serve(command, event.to_string().as_bytes());
    assert_eq!(found.verdict(), "ad-hoc-name");
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    fn link(sandbox: &Sandbox, below: &str, to: &str) {
        let path = sandbox.project().join(below);
        make(path.parent().unwrap());
        symlink(to, path).unwrap();
    }

    #[test]
    fn a_linked_devt_directory_is_a_site_under_both_names() {
        let sandbox = Sandbox::new();
        make(&sandbox.base().join("shared/state"));
        link(&sandbox, "a/.devt", "../../shared");
        link(&sandbox, "b/.devt/state", "../../../shared/state");
        link(&sandbox, "c/.devt", "../.devt");
        check(
            &sandbox,
            &[
                ("a/.devt/state/notes.md", "ad-hoc-name"),
                ("a/.devt/state/plan.md", "allow"),
                ("a/.devt/memory/notes.md", "allow"),
                ("b/.devt/state/notes.md", "ad-hoc-name"),
                ("b/.devt/state/plan.md", "allow"),
                ("c/.devt/state/notes.md", "ad-hoc-name"),
                ("c/.devt/state/plan.md", "allow"),
            ],
        );
    }

    #[test]
    fn a_link_elsewhere_that_leads_in_is_judged_where_it_lands() {
        let sandbox = Sandbox::new();
        link(&sandbox, "notes", ".devt/state");
        link(&sandbox, "src/twice", "../notes");
        link(&sandbox, "todo.md", ".devt/state/todo.md");
        link(&sandbox, "current-plan.md", ".devt/state/plan.md");
        link(&sandbox, "denials", ".devt/state/preflight-denies.jsonl");
        check(
            &sandbox,
            &[
                ("notes/a.md", "ad-hoc-name"),
                ("notes/plan.md", "allow"),
                ("notes/deep/a.md", "undeclared-directory"),
                ("src/twice/a.md", "ad-hoc-name"),
                ("todo.md", "ad-hoc-name"),
                ("current-plan.md", "allow"),
                ("denials", "program-owned"),
            ],
        );
        check_by(
            &sandbox,
            "tester",
            &[("notes/workflow.yaml", "wrong-writer")],
        );
        // From outside the project, too.
        symlink(
            sandbox.project().join(".devt/state"),
            sandbox.base().join("door"),
        )
        .unwrap();
        let outside = sandbox.base().join("door/a.md");
        check(&sandbox, &[(outside.to_str().unwrap(), "ad-hoc-name")]);
    }

    #[test]
    fn a_link_in_a_site_that_leads_out_is_an_escape() {
        let sandbox = Sandbox::new();
        let elsewhere = text(&sandbox.base().join("elsewhere"));
        make(Path::new(&elsewhere));
        sandbox.write("src/a.rs", "fn main() {}\n");
        link(&sandbox, ".devt/state/plan.md", "../../src/a.rs");
        link(&sandbox, ".devt/state/spec.md", "../../src/new.rs");
        link(
            &sandbox,
            ".devt/state/scope.md",
            &format!("{elsewhere}/gone/scope.md"),
        );
        link(&sandbox, ".devt/state/out", &elsewhere);
        link(&sandbox, ".devt/state/up", "..");
        check(
            &sandbox,
            &[
                (".devt/state/plan.md", "path-escape"),
                (".devt/state/spec.md", "path-escape"),
                (".devt/state/scope.md", "path-escape"),
                (".devt/state/out/plan.md", "path-escape"),
                (".devt/state/out/deep/plan.md", "path-escape"),
                (".devt/state/up/notes.md", "path-escape"),
            ],
        );
    }

    #[test]
    fn a_link_within_a_site_is_judged_by_the_name_it_leads_to() {
        let sandbox = Sandbox::new();
        link(&sandbox, ".devt/state/plan.md", "spec.md");
        link(&sandbox, ".devt/state/review.md", "notes.md");
        link(&sandbox, ".devt/state/scope.md", "./../state/.lock");
        check(
            &sandbox,
            &[
                (".devt/state/plan.md", "allow"),
                (".devt/state/review.md", "ad-hoc-name"),
                (".devt/state/scope.md", "program-owned"),
            ],
        );
    }

    #[test]
    fn the_project_may_be_named_through_a_link() {
        let sandbox = Sandbox::new();
        let alias = sandbox.base().join("alias");
        symlink(sandbox.project(), &alias).unwrap();
        for (project, path) in [
            (&alias, sandbox.project().join(".devt/state/notes.md")),
            (&alias, alias.join(".devt/state/notes.md")),
            (&sandbox.project(), alias.join(".devt/state/notes.md")),
            (&alias, alias.join("lib/.devt/state/notes.md")),
        ] {
            let mut command = sandbox.command(&["hook"]);
            command.env("CLAUDE_PROJECT_DIR", project);
            let event = event(&sandbox, &text(&path)).to_string();
            let found = crate::support::serve(command, event.as_bytes());
            assert_eq!(found.verdict(), "ad-hoc-name", "{path:?} in {project:?}");
        }
    }
}

const NUMBERED: &str = "# Tasks\n\n## 1. Login\n\n- [ ] 1.1 Form\n";

/// Makes a directory look like a linked work tree of the project.
fn work_tree(sandbox: &Sandbox, dir: &Path, gitdir: &str) {
    make(dir);
    let name = text(Path::new(dir.file_name().unwrap()));
    make(&sandbox.project().join(".git/worktrees").join(name));
    fs::write(dir.join(".git"), format!("gitdir: {gitdir}\n")).unwrap();
}

#[test]
fn the_clients_work_trees_are_roots_of_their_own() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/worktrees/x/tasks.md", NUMBERED);
    check(
        &sandbox,
        &[
            (".claude/worktrees/x/.devt/state/notes.md", "ad-hoc-name"),
            (".claude/worktrees/x/.devt/state/plan.md", "allow"),
            (
                ".claude/worktrees/x/.claude/orchestration-2.local.md",
                "ad-hoc-name",
            ),
            (
                ".claude/worktrees/x/.claude/statewarden.yaml",
                "protected-file",
            ),
            (".claude/worktrees/x/review/1.md", "wrong-writer"),
            (".claude/worktrees/x/review/x.md", "allow"),
            (".claude/worktrees/x/src/a.rs", "allow"),
            (".claude/worktrees/x/statewarden.yaml", "allow"),
            (".claude/worktrees/y/review/1.md", "allow"),
        ],
    );
    check_by(
        &sandbox,
        "agent-flow:Loid",
        &[
            (
                ".claude/worktrees/x/.claude/orchestration.local.md",
                "wrong-writer",
            ),
            (".claude/worktrees/x/.claude/notes.local.md", "allow"),
        ],
    );
}

#[test]
fn a_git_work_tree_inside_the_project_is_a_root_of_its_own() {
    let sandbox = Sandbox::new();
    let gitdir = sandbox.path(".git/worktrees/feature");
    work_tree(&sandbox, &sandbox.project().join("trees/feature"), &gitdir);
    work_tree(
        &sandbox,
        &sandbox.project().join("trees/near"),
        "../../.git/worktrees/near",
    );
    sandbox.write("lib/.git", "gitdir: ../.git/modules/lib\n");
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {groups: {roots: [docs/specs]}}\n",
    );
    for tree in ["trees/feature", "trees/near", "lib"] {
        sandbox.write(&format!("{tree}/tasks.md"), NUMBERED);
    }
    check(
        &sandbox,
        &[
            ("trees/feature/.devt/state/notes.md", "ad-hoc-name"),
            ("trees/feature/review/1.md", "wrong-writer"),
            ("trees/feature/review/x.md", "allow"),
            ("trees/feature/docs/specs/review/x.md", "ad-hoc-name"),
            ("trees/near/test-reports/12.md", "wrong-writer"),
            // A submodule is no work tree of the project; its sites count, its root does not.
            ("lib/.devt/state/notes.md", "ad-hoc-name"),
            ("lib/review/1.md", "allow"),
            ("lib/docs/specs/review/x.md", "allow"),
        ],
    );
}

#[test]
fn a_work_tree_beside_the_project_is_a_root_for_events_in_it() {
    let sandbox = Sandbox::new();
    let tree = sandbox.base().join("feature");
    work_tree(&sandbox, &tree, &sandbox.path(".git/worktrees/feature"));
    make(&tree.join("src"));
    let target = text(&tree.join(".devt/state/notes.md"));
    for (cwd, expected) in [
        (tree.clone(), "ad-hoc-name"),
        (tree.join("src"), "ad-hoc-name"),
        (sandbox.project(), "allow"),
    ] {
        let mut event = event(&sandbox, &target);
        event["cwd"] = text(&cwd).into();
        assert_eq!(sandbox.hook(&event).verdict(), expected, "from {cwd:?}");
        let mut main = self::event(&sandbox, &sandbox.path(".devt/state/notes.md"));
        main["cwd"] = text(&cwd).into();
        assert_eq!(sandbox.hook(&main).verdict(), "ad-hoc-name", "from {cwd:?}");
    }
}

#[test]
fn a_work_tree_that_the_session_names_is_a_root_whatever_the_cwd() {
    let sandbox = Sandbox::new();
    let tree = sandbox.base().join("feature");
    work_tree(&sandbox, &tree, &sandbox.path(".git/worktrees/feature"));
    for cwd in [tree.clone(), sandbox.project(), sandbox.home()] {
        let mut event = event(&sandbox, &text(&tree.join(".devt/state/notes.md")));
        event["cwd"] = text(&cwd).into();
        let mut command = sandbox.command(&["hook"]);
        command.env("CLAUDE_PROJECT_DIR", &tree);
        let found = crate::support::serve(command, event.to_string().as_bytes());
        assert_eq!(found.verdict(), "ad-hoc-name", "from {cwd:?}");
    }
}

#[test]
fn systems_of_the_settings_are_governed_in_every_work_tree() {
    let sandbox = Sandbox::new();
    let settings = "systems: {notes: {site: notes, canonical: [index.md, '*.csv']}}\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    let gitdir = sandbox.path(".git/worktrees/feature");
    work_tree(&sandbox, &sandbox.project().join("trees/feature"), &gitdir);
    check(
        &sandbox,
        &[
            (".claude/worktrees/x/notes/a.txt", "ad-hoc-name"),
            ("trees/feature/notes/a.md", "ad-hoc-name"),
            ("trees/feature/notes/a.txt", "ad-hoc-name"),
            ("trees/feature/notes/a.csv", "allow"),
            ("trees/other/notes/a.txt", "allow"),
        ],
    );
}

#[test]
fn work_trees_take_their_settings_from_the_main_checkout() {
    let sandbox = Sandbox::new();
    let tree = sandbox.base().join("feature");
    work_tree(&sandbox, &tree, &sandbox.path(".git/worktrees/feature"));
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {devt: {extra_names: [main.md]}}\n",
    );
    let own = "systems: {devt: {extra_names: [own.md]}}\n";
    sandbox.write(".claude/worktrees/x/.claude/statewarden.yaml", own);
    make(&tree.join(".claude"));
    fs::write(tree.join(".claude/statewarden.yaml"), own).unwrap();
    for (dir, project) in [
        (
            sandbox.project().join(".claude/worktrees/x"),
            sandbox.project(),
        ),
        (tree.clone(), sandbox.project()),
        (tree.clone(), tree.clone()),
    ] {
        for (name, expected) in [("main.md", "allow"), ("own.md", "ad-hoc-name")] {
            let mut event = event(&sandbox, &text(&dir.join(".devt/state").join(name)));
            event["cwd"] = text(&dir).into();
            let mut command = sandbox.command(&["hook"]);
            command.env("CLAUDE_PROJECT_DIR", &project);
            let found = crate::support::serve(command, event.to_string().as_bytes());
            assert_eq!(
                found.verdict(),
                expected,
                "{name} in {dir:?} of {project:?}"
            );
        }
    }
}

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
            (".claude/deep-dive-auth.local.md", "ad-hoc-name"),
            (".claude/research-orchestration.local.md", "ad-hoc-name"),
            (
                ".claude/research-orchestration-20260101.local.md",
                "ad-hoc-name",
            ),
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
            (".claude/deepdive.local.md", "allow"),
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
