//! `git clean` and `git stash` in real repositories: what would take state away is denied.

#![cfg(unix)]

use crate::support::Sandbox;

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
