//! Work trees of the project, inside and beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::{NUMBERED, check, check_by, event, make, text};
use crate::support::{Ran, Sandbox, assert_has, serve};

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
    let inner = sandbox.project().join("trees/feature/inner");
    work_tree(&sandbox, &inner, &sandbox.path(".git/worktrees/inner"));
    sandbox.write("lib/.git", "gitdir: ../.git/modules/lib\n");
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {groups: {roots: [docs/specs]}}\n",
    );
    for tree in ["trees/feature", "trees/feature/inner", "trees/near", "lib"] {
        sandbox.write(&format!("{tree}/tasks.md"), NUMBERED);
    }
    check(
        &sandbox,
        &[
            ("trees/feature/.devt/state/notes.md", "ad-hoc-name"),
            ("trees/feature/review/1.md", "wrong-writer"),
            ("trees/feature/review/x.md", "allow"),
            ("trees/feature/docs/specs/review/x.md", "ad-hoc-name"),
            ("trees/feature/inner/review/1.md", "wrong-writer"),
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
        sandbox.expect(&event, expected);
        let mut main = crate::places::event(&sandbox, &sandbox.path(".devt/state/notes.md"));
        main["cwd"] = text(&cwd).into();
        sandbox.expect(&main, "ad-hoc-name");
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
        let found = sandbox.hook_of_project(&tree, &event);
        assert_eq!(found.decision(), "ad-hoc-name", "from {cwd:?}");
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
            let found = sandbox.hook_of_project(&project, &event);
            assert_eq!(
                found.decision(),
                expected,
                "{name} in {dir:?} of {project:?}"
            );
        }
    }
}

/// All three verbs take this file.
const LEFT: &str = ".devt/state/review-lane-api.json";

#[test]
fn what_changes_state_acts_on_one_root() {
    let sandbox = Sandbox::new();
    let (main, beside) = (sandbox.project(), sandbox.base().join("beside"));
    let (client, inner) = (main.join(".claude/worktrees/ag"), main.join("trees/in"));
    for tree in [&client, &inner, &beside] {
        let name = text(Path::new(tree.file_name().unwrap()));
        work_tree(
            &sandbox,
            tree,
            &sandbox.path(&format!(".git/worktrees/{name}")),
        );
    }
    let dirs = [
        ("main", main.clone()),
        ("package", main.join("packages/web")),
        ("client", client.clone()),
        ("inner", inner.clone()),
        ("beside", beside.clone()),
    ];
    for (from, given, gone) in [
        (&main, None, &["main"][..]),
        (&client, None, &["client"]),
        (&inner, None, &["inner"]),
        (&beside, None, &["beside"]),
        (&main, Some(&client), &["client"]),
        (&sandbox.home(), Some(&beside), &["beside"]),
        (&inner, Some(&main), &["main"]),
    ] {
        for args in ["reset", "cleanup --apply", "sweep --apply"] {
            for (_, dir) in &dirs {
                make(&dir.join(".devt/state"));
                fs::write(dir.join(LEFT), "{}\n").unwrap();
            }
            let mut command = sandbox.command(args);
            if let Some(given) = given {
                command.arg("--project").arg(given);
            } else {
                command.env("CLAUDE_PROJECT_DIR", &main);
            }
            let ran = Ran::from(command.current_dir(from).output().unwrap());
            assert_eq!(ran.code(), 0, "{}", ran.stderr());
            let left =
                |(name, dir): &(&'static str, PathBuf)| (!dir.join(LEFT).exists()).then_some(*name);
            let found: Vec<_> = dirs.iter().filter_map(left).collect();
            assert_eq!(found, gone, "{args:?} from {from:?} with {given:?}");
            let all = format!("{args} --all");
            sandbox.run(&all).ends(0);
            // A work tree beside the project is only seen from there.
            let remaining: Vec<_> = dirs
                .iter()
                .filter(|(_, dir)| dir.join(LEFT).exists())
                .collect();
            assert!(
                remaining.iter().all(|(name, _)| *name == "beside"),
                "{remaining:?}"
            );
        }
    }
}

#[test]
fn archives_of_a_work_tree_are_its_own_and_come_back() {
    let sandbox = Sandbox::new();
    let beside = sandbox.base().join("beside");
    let inner = sandbox.project().join("trees/in");
    for tree in [&inner, &beside] {
        let name = text(Path::new(tree.file_name().unwrap()));
        work_tree(
            &sandbox,
            tree,
            &sandbox.path(&format!(".git/worktrees/{name}")),
        );
    }
    for dir in [&sandbox.project(), &inner, &beside] {
        let file = dir.join(".claude/orchestration.local.md");
        make(file.parent().unwrap());
        fs::write(&file, text(dir)).unwrap();
        let run = |args: &[&str]| {
            let ran = sandbox.run_in(dir, args);
            assert_eq!(ran.code(), 0, "{args:?} in {dir:?}: {}", ran.stderr());
            ran
        };
        let reset = run(&["reset", "--system", "agent-flow", "--json"]).json();
        assert!(!file.exists(), "{file:?}");
        run(&["restore", reset["archived_to"].as_str().unwrap()]);
        assert_eq!(fs::read_to_string(&file).unwrap(), text(dir));
        let listed = run(&["audit", "--json"]).json();
        let sites = listed["sites"].as_array().unwrap();
        assert!(
            sites
                .iter()
                .any(|site| site["state_dir"] == text(&dir.join(".claude"))),
            "{listed}"
        );
    }
}

/// Claude Code reads a work tree's own `settings.json`, and the main checkout's
/// `settings.local.json`.
#[test]
fn entries_that_a_work_tree_does_not_have_are_missed() {
    let sandbox = Sandbox::new();
    let beside = sandbox.base().join("beside");
    let inside = sandbox.project().join(".claude/worktrees/x");
    for dir in [&beside, &inside] {
        let name = text(Path::new(dir.file_name().unwrap()));
        let gitdir = sandbox.project().join(".git/worktrees").join(name);
        work_tree(&sandbox, dir, &text(&gitdir));
        let run = |args: &[&str]| sandbox.run_in(dir, args);
        assert!(
            run(&["install", "--scope", "project"])
                .stdout()
                .contains("use `--scope local`")
        );
        let doctor = run(&["doctor"]);
        assert_eq!(doctor.code(), 1);
        let said = doctor.stdout();
        assert_has(&said, "`statewarden install --scope local`");
        sandbox.run("doctor").ends(0);

        run(&["install", "--scope", "local"]);
        let doctor = run(&["doctor"]);
        assert_eq!(doctor.code(), 0, "{}", doctor.stdout());
        run(&["uninstall", "--scope", "local"]);
    }
}

/// A session that was started in a work tree has its runs there, not in the main checkout.
#[test]
fn a_session_of_a_work_tree_has_its_own_runs() {
    for inside in [true, false] {
        let sandbox = Sandbox::new();
        let tree = match inside {
            true => sandbox.project().join(".claude/worktrees/own"),
            false => sandbox.base().join("own"),
        };
        work_tree(&sandbox, &tree, &sandbox.path(".git/worktrees/own"));
        let run = |line: &str| {
            let mut command = sandbox.command(line);
            command.env("CLAUDE_PROJECT_DIR", &tree).current_dir(&tree);
            serve(command, b"")
        };
        let riko_ends = |report: &str| {
            let mut event = sandbox.by("riko", sandbox.event_of("SubagentStop"));
            event["agent_id"] = report.into();
            event["last_assistant_message"] = report.into();
            event["cwd"] = text(&tree).into();
            sandbox.hook_of_project(&tree, &event).is_silent();
        };
        let main = ".claude/orchestration.local.md";
        sandbox.run("flow init x").ends(0);
        riko_ends("of the main checkout");
        assert_has(&sandbox.read(main), "of the main checkout");
        let before = sandbox.read(main);
        run("flow init y").ends(0);
        riko_ends("of the tree");
        assert_eq!(sandbox.read(main), before);
        let own = tree.join(main);
        assert_has(&fs::read_to_string(&own).unwrap(), "of the tree");
        let status = run("status --json").json();
        let systems = status["systems"].as_array().unwrap();
        assert!(
            systems.iter().any(|run| run["file"] == text(&own)),
            "{status}"
        );
    }
}

/// The files of such a tree would go where nobody looks for them.
#[test]
fn a_work_tree_whose_repository_was_moved_away_is_a_project_of_its_own() {
    let sandbox = Sandbox::new();
    let (tree, gone) = (sandbox.base().join("feature"), sandbox.base().join("gone"));
    make(&tree);
    let git = format!("gitdir: {}/.git/worktrees/feature\n", gone.display());
    fs::write(tree.join(".git"), git).unwrap();
    let stray = text(&tree.join(".claude/orchestration-2.local.md"));
    let mut event = event(&sandbox, &stray);
    event["cwd"] = text(&tree).into();
    let found = sandbox.hook_of_project(&tree, &event);
    assert_eq!(found.decision(), "ad-hoc-name");
    for args in [&["install"][..], &["session", "init", "x"]] {
        let ran = sandbox.command(args).current_dir(&tree).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {ran:?}");
    }
    for file in ["settings.local.json", ".docs", "statewarden/denies.jsonl"] {
        assert!(tree.join(".claude").join(file).exists(), "{file}");
    }
    assert!(!gone.exists());
}
