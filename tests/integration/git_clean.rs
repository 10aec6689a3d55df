//! `git clean` in real repositories: what is refused is what would take state away.

#![cfg(unix)]

use std::process::Command;

use crate::support::Sandbox;

const STATE: &str = ".devt/state/plan.md";

fn run(sandbox: &Sandbox, script: &str) {
    let ran = Command::new("bash")
        .args(["-ec", script])
        .current_dir(sandbox.project())
        .env("HOME", sandbox.home())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{script}: {errors}");
}

/// A repository with a state directory, prepared by a script; each command is
/// refused if and only if it takes something of the state directory away.
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
        let identity = "git config user.name a; git config user.email a@b.c";
        run(&sandbox, &format!("git init -q; {identity}; {prepare}"));
        let before = sandbox.names(".devt/state");
        let ran = sandbox.hook(&sandbox.bash_event(command));
        run(&sandbox, command);
        let takes = !sandbox.exists(".devt/state") || sandbox.names(".devt/state") != before;
        if takes {
            ran.is_denied("bulk-removal");
            n_refused += 1;
        } else {
            assert!(
                ran.stdout().is_empty(),
                "{prepare} | {command}: {}",
                ran.stdout()
            );
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
    "git clean -fdx .devt/state/spec.md",
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

#[test]
fn the_state_is_tracked() {
    for version in ["2", "3", "4"] {
        let add = format!(
            "git add -A; touch new; git add -N new; git update-index --index-version {version}"
        );
        assert_eq!(check(&add, COMMANDS), 0);
        assert_eq!(
            check(&format!("{add}; git commit -qam x; rm -r src"), COMMANDS),
            0
        );
        assert_eq!(
            check(&format!("{add}; echo .devt > .gitignore"), COMMANDS),
            0
        );
    }
}

#[test]
fn a_part_of_it_is_tracked() {
    let part = "git add src .devt/state/spec.md .devt/config.json";
    assert_ne!(check(part, COMMANDS), 0);
    assert_ne!(
        check(&format!("{part}; echo plan.md > .gitignore"), COMMANDS),
        0
    );
    assert_ne!(check("git add src", COMMANDS), 0);
}

#[test]
fn in_a_work_tree_beside_the_repository() {
    let moved = "git add -A; git commit -qm x; mv .git ../kept; echo 'gitdir: ../kept' > .git";
    assert_eq!(check(moved, COMMANDS), 0);
}

#[test]
fn behind_many_directories() {
    let many = "mkdir -p lib/{1..150} node_modules/{1..150} web/.devt/state; \
                touch lib/{1..150}/a node_modules/{1..150}/a web/.devt/state/plan.md; \
                echo node_modules > .gitignore; git add -A; git commit -qm x";
    let commands = ["git clean -fd", "git clean -fdx -e .devt", "git stash -uq"];
    assert_eq!(check(many, &commands), 0);
}

#[test]
fn below_many_directories() {
    let deep = "d=openspec/changes/add/specs/auth/login/more; \
                for top in . packages/web; do \
                mkdir -p $top/$d; touch $top/$d/spec.md $top/openspec/changes/add/tasks.md; done; \
                echo .devt > .gitignore; git add -A; git commit -qm x; \
                mkdir $d/new; touch $d/new/spec.md openspec/changes/add/draft.md";
    let commands = ["git clean -fd", "git clean -fdx packages", "git stash -uq"];
    assert_eq!(check(deep, &commands), 0);
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
    "git add -A && git stash -q",
    "git add -A && git reset -q --hard",
    "git add src && git reset -q --hard",
    "git add -A && git reset -q && git reset -q --hard",
    "git add -A && git commit -qm x && git reset -q --hard",
];

#[test]
fn what_is_stashed_or_reset() {
    let first = "touch a; git add a; git commit -qm x; date > a; date > src/b";
    assert_ne!(check(first, STASHES), 0);
    let ignored = format!("echo .devt > .gitignore; {first}");
    assert_ne!(check(&ignored, STASHES), 0);
    let tracked = "git add -A; git commit -qm x; date > src/b";
    assert_eq!(check(tracked, STASHES), 0);
    let part = "git add src .devt/state/spec.md; git commit -qm x; date > src/b";
    assert_ne!(check(part, STASHES), 0);
}
