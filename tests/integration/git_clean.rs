//! `git clean` and `git stash` in real repositories: what would take state away is denied.

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
        let identity = "git config user.name a; git config user.email a@b.c";
        run(&sandbox, &format!("git init -q; {identity}; {prepare}"));
        let before = sandbox.names(".devt/state");
        let ran = sandbox.hook(&sandbox.bash_event(command));
        run(&sandbox, command);
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
