//! `git clean` and `git stash` in real repositories: what would take state away is denied.

#![cfg(unix)]

use crate::support::{Sandbox, assert_has};

const STATE: &str = ".devt/state/plan.md";

/// A repository with a state directory, prepared by a script; each command is
/// refused where it takes something of the state directory away.
#[track_caller]
fn check(prepare: &str, commands: &[&str]) -> usize {
    let mut n_refused = 0;
    for command in commands {
        let sandbox = Sandbox::new();
        let files = [
            STATE,
            ".devt/state/spec.md",
            ".devt/config.json",
            "src/deep/er/a.rs",
        ];
        for path in files {
            sandbox.write(path, "x\n");
        }
        sandbox.script(&format!("git init -q; {prepare}"));
        let before = sandbox.names(".devt/state");
        let ran = sandbox.hook(&sandbox.bash_event(command));
        sandbox.script(command);
        let takes = !sandbox.exists(".devt/state") || sandbox.names(".devt/state") != before;
        if takes {
            ran.is_denied("bulk-removal");
            n_refused += 1;
        }
    }
    n_refused
}

const COMMANDS: &[&str] = &[
    "git clean -f",
    "git clean -fd",
    "git clean -fdx",
    "git clean -fdX",
    "git clean -fX",
    "git clean -fx",
    "git clean -f .devt",
    "git clean -fd .devt/state",
    "git clean -fd src",
    "git clean -fdx -e .devt",
    "git clean -fd -e '*.md'",
    "git clean -fdX -e .devt",
    "git clean -fdX -e '!.devt'",
    "cd .devt && git clean -fd",
];

#[test]
fn nothing_is_tracked() {
    assert_ne!(check(":", COMMANDS), 0);
    assert_ne!(check("echo .devt/ > .gitignore", COMMANDS), 0);
    assert_ne!(check("echo '*.md' > .gitignore", COMMANDS), 0);
    assert_ne!(check("echo '*' > .devt/state/.gitignore", COMMANDS), 0);
}

const STASHES: &[&str] = &[
    "git stash -q",
    "git stash -uq",
    "git stash -aq",
    "git stash save -uq 'all of it'",
    "git stash push -uq -- src",
    "git stash push -uq -- .devt",
    "git stash push -aq -- .devt/state",
    "git stash push -aq -- ':!.devt'",
    "cd src && git stash -uq -- .",
];

#[test]
fn what_is_stashed() {
    let first = "touch a; git add a; git commit -qm x; date > a; date > src/b";
    assert_ne!(check(first, STASHES), 0);
    assert_ne!(
        check(&format!("echo .devt > .gitignore; {first}"), STASHES),
        0
    );
}

/// In a repository that a script prepared, a command is denied just where it takes something.
#[track_caller]
fn check_exactly(prepare: &str, commands: &[&str]) {
    for command in commands {
        let sandbox = Sandbox::new();
        for path in [STATE, ".devt/state/spec.md", "src/a.rs", "README.md"] {
            sandbox.write(path, "x\n");
        }
        // What is as young as the index may differ from it all the same.
        let age = "touch -d 2026-01-01 .devt/state/* src/* README.md";
        sandbox.script(&format!("{age}; git init -q; {prepare}"));
        let state = || sandbox.script("cd .devt/state 2> /dev/null && grep -r '' . | sort || true");
        let before = state();
        let ran = sandbox.hook(&sandbox.bash_event(command));
        sandbox.script(command);
        let takes = state() != before;
        let expected = if takes { "bulk-removal" } else { "allow" };
        assert_eq!(ran.decision(), expected, "{prepare}: {command}");
    }
}

const TAKING: &[&str] = &[
    "git clean -fd",
    "git clean -fdx",
    "git clean -fd .devt",
    "git clean -fdx .devt/state",
    "cd src && git clean -fd",
    "git clean -fdx -e .devt",
    "git clean -fdx -e /.devt/state",
    "git clean -fdx -e src",
    "git stash -uq",
    "git stash push -uq -- .devt",
    "git stash push -uq -- src",
];

const COMMIT: &str = "git add -A; git commit -qm one";

#[test]
fn what_is_committed_and_unchanged_is_out_of_reach() {
    let unchanged = format!("{COMMIT}; echo new > src/b.rs; echo y > README.md");
    check_exactly(&unchanged, TAKING);
    check_exactly(&unchanged, &["git reset -q --hard && git clean -fdxq"]);
    let split = format!("git config core.splitIndex true; git config index.version 4; {unchanged}");
    check_exactly(&split, TAKING);
    check_exactly(
        &format!("{unchanged}; echo z > src/a.rs; git add -A"),
        TAKING,
    );
}

#[test]
fn what_is_not_tracked_is_in_reach() {
    let untracked = format!("{COMMIT}; echo x > .devt/state/handoff.json");
    check_exactly(&untracked, &TAKING[..8]);
}

#[test]
fn what_was_changed_is_in_reach_of_a_stash() {
    let changed = format!("{COMMIT}; echo y > .devt/state/plan.md; echo new > src/b.rs");
    check_exactly(&changed, TAKING);
    check_exactly(&format!("{changed}; git add -A"), &TAKING[..8]);
}

#[test]
fn a_pattern_spares_what_it_matches_and_nothing_beside_it() {
    for (exclude, spares_all) in [
        ("-e .claude -e .devt", true),
        ("-e .claude/.docs -e .devt", false),
        (
            "-e .claude/.docs -e .claude/orchestration.local.md -e .devt",
            true,
        ),
        ("-e .claude -e .devt -e '!.devt'", false),
        ("-e .claude -e .devt/state/plan.md", false),
    ] {
        let sandbox = Sandbox::new();
        for path in [
            STATE,
            ".devt/state/spec.md",
            ".claude/.docs/260110-task/state.json",
            ".claude/orchestration.local.md",
        ] {
            sandbox.write(path, "x\n");
        }
        sandbox.script("git init -q");
        let event = sandbox.bash_event(&format!("git clean -fdx {exclude}"));
        let expected = if spares_all { "allow" } else { "bulk-removal" };
        assert_eq!(sandbox.hook(&event).decision(), expected, "{exclude}");
    }
}

/// `fx` is a work tree of the project, `clone` another repository.
#[test]
fn a_work_tree_and_a_clone_may_go() {
    for (prepare, command, expected) in [
        ("", "git worktree remove fx", "allow"),
        ("", "git worktree remove --force fx", "allow"),
        ("", "rm -rf fx && git worktree prune", "allow"),
        ("", "cd fx && git clean -fdx", "allow"),
        ("", "rm -rf clone", "allow"),
        ("", "rm -rf clone fx", "allow"),
        ("", "mv clone ../elsewhere", "allow"),
        ("", "rm -rf clone/.devt", "bulk-removal"),
        ("", "rm -rf .devt", "bulk-removal"),
        (
            "touch src/x fx/src/x",
            "git worktree remove --force fx",
            "allow",
        ),
        (
            "touch fx/.devt/state/handoff.json",
            "git worktree remove fx",
            "allow",
        ),
        (
            "touch fx/.devt/state/handoff.json",
            "git worktree remove --force fx",
            "bulk-removal",
        ),
        (
            "touch fx/.devt/state/handoff.json",
            "rm -rf fx",
            "bulk-removal",
        ),
        (
            "touch clone/.devt/state/handoff.json",
            "rm -rf clone",
            "allow",
        ),
        (
            "touch clone/.devt/state/handoff.json",
            "cd clone && git clean -fd",
            "bulk-removal",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(STATE, "x\n");
        sandbox.write("src/a.rs", "x\n");
        sandbox.script(&format!(
            "git init -q; {COMMIT}; git worktree add -q fx; git clone -q . clone; {prepare}"
        ));
        let ran = sandbox.hook(&sandbox.bash_event(command));
        assert_eq!(ran.decision(), expected, "{prepare}: {command}");
        if expected != "allow" && prepare.contains("fx/") {
            assert_has(&ran.stdout(), "git does not track `handoff.json`");
        }
    }
}

#[test]
fn what_deletes_beside_its_work_is_a_removal() {
    for (command, expected) in [
        ("rsync -a --delete src/ ./", "bulk-removal"),
        ("rsync -a --delete --exclude .git src/ ./", "bulk-removal"),
        ("rsync -a --delete --exclude .devt src/ ./", "allow"),
        (
            "rsync -a --delete --delete-excluded --exclude .devt src/ ./",
            "bulk-removal",
        ),
        ("rsync -a --exclude .git src/ ./", "allow"),
        ("rsync -a --delete src/ build/", "allow"),
        ("tar czf x.tgz .devt --remove-files", "bulk-removal"),
        ("tar --remove-files -cf x.tar src", "allow"),
        (
            "tar -C .devt --remove-files -cf x.tar state",
            "bulk-removal",
        ),
        ("tar czf x.tgz .devt", "allow"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(STATE, "x\n");
        sandbox.write("src/a.rs", "x\n");
        sandbox.write("build/a.rs", "x\n");
        let ran = sandbox.hook(&sandbox.bash_event(command));
        assert_eq!(ran.decision(), expected, "{command}");
    }
}
