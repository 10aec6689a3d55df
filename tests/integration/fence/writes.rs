//! The ways to write in a state directory that a line has which the guard cannot read.

use std::thread;
use std::time::Duration;

use super::{MADE_UP, OPAQUE, Strict, User};
use crate::support::assert_has;

/// How a line goes about it, and the line. `{P}` is the project, `{F}` the plan.
#[rustfmt::skip]
const WAYS: [(&str, &str); 30] = [
    ("redirection", "echo forged > {F}"),
    ("appending", "echo forged >> {F}"),
    ("a computed name", "echo forged > .devt/state/$(id -u).md"),
    ("Python", "python3 -c 'open(\"{F}\", \"w\").write(\"forged\")'"),
    ("Node", "node -e 'require(\"fs\").writeFileSync(\"{F}\", \"forged\")'"),
    ("rename into it", "echo forged > x; python3 -c 'import os; os.rename(\"x\", \"{F}\")'"),
    ("in the background", "(sleep 0.1; echo forged > {F}) & wait"),
    ("a daemon", "setsid sh -c 'sleep 0.2; echo forged > {F}; touch {P}/daemon-done' < /dev/null > /dev/null 2>&1 &"),
    ("a shell without environment", "env -i /bin/sh -c 'echo forged > {F}'"),
    ("a shell without the mark", "unset STATEWARDEN_FENCED; bash -c 'echo forged > {F}'"),
    ("git checkout", "git checkout -q HEAD -- .devt"),
    ("git reset", "git reset -q --hard HEAD"),
    ("git with settings", "git -c core.pager=cat checkout -q HEAD -- .devt"),
    ("removal", "rm -rf .devt/state"),
    ("removal of what is above", "rm -rf .devt"),
    ("moving it", "mv .devt/state .devt/other; mkdir .devt/state; echo forged > {F}"),
    ("moving what is above", "mv .devt other; mkdir -p .devt/state; echo forged > {F}"),
    ("moving the project", "mv {P} {P}-2; mkdir -p .devt/state {P}/.devt/state; echo forged > {F}"),
    ("a hard link", "ln {F} alias; echo forged > alias"),
    ("a link to it", "ln -s .devt/state s; echo forged > s/plan.md"),
    ("touch", "touch -d 2001-01-01 {F}"),
    ("chmod", "chmod 777 {F}"),
    ("truncation", "truncate -s 0 {F}"),
    ("the root of another process", "echo forged > /proc/$PPID/root{F}; echo forged > /proc/1/root{F}"),
    ("the namespace of another process", "nsenter -t $PPID -m sh -c 'echo forged > {F}'; nsenter -t $PPID -U -m sh -c 'echo forged > {F}'"),
    ("unmounting", "umount -l .devt/state; echo forged > {F}"),
    ("mounting anew", "mount -o remount,bind,rw .devt/state; echo forged > {F}"),
    ("namespaces within", "unshare -Urm sh -c 'umount -l {P}/.devt/state; mount -o remount,bind,rw {P}/.devt/state; echo forged > {F}'"),
    ("a copy in its place", "cp -r .devt copy; unshare -Urm sh -c 'mount --bind copy .devt; echo forged > {F}'"),
    ("a fence within", "{B} fence -- bash -c 'echo forged > {F}; python3 -c pass'"),
];

#[test]
fn no_way_of_this_user_leads_into_a_state_directory() {
    check_ways(User::This);
}

#[test]
fn no_way_of_an_ordinary_user_leads_into_a_state_directory() {
    check_ways(MADE_UP);
}

fn check_ways(user: User) {
    let Some(strict) = Strict::new(user) else {
        return;
    };
    // The plan is an older one than what git has.
    strict.outside("echo later >> .devt/state/plan.md");
    for (how, line) in WAYS {
        let line = line
            .replace("{F}", &strict.sandbox.path(".devt/state/plan.md"))
            .replace("{P}", strict.sandbox.project().to_str().unwrap())
            .replace("{B}", env!("CARGO_BIN_EXE_statewarden"));
        let before = strict.state();
        let ran = strict.bash(&format!("{OPAQUE}{line}"));
        if how == "a daemon" {
            await_file(&strict, "daemon-done");
        }
        assert_eq!(strict.state(), before, "{how}: {}", ran.said());
        assert!(strict.sandbox.project().is_dir(), "{how}");
        // What a way made beside the state would make the next one easier.
        strict.outside("rm -rf x alias s other copy .devt/other");
    }
}

fn await_file(strict: &Strict, name: &str) {
    for _ in 0..200 {
        if strict.sandbox.exists(name) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the daemon did not end");
}

/// What the client runs before each command would lead out of the fence.
#[test]
fn what_the_client_runs_before_a_command_is_read_only() {
    for user in [User::This, MADE_UP] {
        let Some(strict) = Strict::new(user) else {
            continue;
        };
        let env_file = strict.env_file.display().to_string();
        let snapshots = strict.sandbox.home().join(".claude/shell-snapshots");
        let snapshots = snapshots.display().to_string();
        for line in [
            format!("echo x >> {env_file}"),
            format!("echo x >> {snapshots}/snapshot-1.sh"),
            format!("echo x > {snapshots}/snapshot-2.sh"),
            format!("mv {snapshots} {snapshots}-2"),
            "mv $HOME/.claude/session-env $HOME/s".to_owned(),
            format!("chmod 755 {}", env!("CARGO_BIN_EXE_statewarden")),
            "echo x >> .claude/statewarden/events.jsonl".to_owned(),
            "rm -rf .claude/statewarden .git/statewarden".to_owned(),
            "echo mode: off > ../home/.config/statewarden/config.yaml".to_owned(),
        ] {
            let said = strict.bash(&format!("{OPAQUE}{line}")).said();
            let is_refused = [
                "Read-only file system",
                "Device or resource busy",
                "not permitted",
            ];
            assert!(
                is_refused.iter().any(|why| said.contains(why)),
                "{line}: {said}"
            );
        }
    }
}

/// The program says why, in the words of the system.
#[test]
fn a_write_that_is_refused_fails() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let ran = strict.holds("python3 -c 'open(\".devt/state/plan.md\", \"w\")'");
    assert_eq!(ran.code(), 1);
    assert_has(&ran.stderr(), "Read-only file system");
}
