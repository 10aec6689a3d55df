//! Where no fence can be had: nothing is held up, and it is said.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::{OPAQUE, Strict, User, as_user, can_unshare};
use crate::support::{Ran, assert_has, skip};

/// A command where no more namespaces can be made.
pub(super) fn without_namespaces(strict: &Strict, line: &[&str]) -> Command {
    const CLOSE: &str = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    let mut command = strict.command("unshare");
    command.args(["-Ur", "sh", "-c", CLOSE, "sh"]).args(line);
    command
}

/// A line of the session where no more namespaces can be made.
fn bash_without_namespaces(strict: &Strict, line: &str) -> Ran {
    let line = ["bash", "-c", &strict.script(line)];
    let ran = without_namespaces(strict, &line).output();
    ran.unwrap().into()
}

#[test]
fn a_command_runs_without_namespaces() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let ran = bash_without_namespaces(
        &strict,
        &format!("{OPAQUE}echo x > .devt/state/scratchpad.md; exit 3"),
    );
    assert_eq!(ran.code(), 3);
    assert_has(&ran.stderr(), "`strict` is not in force for this command");
    assert!(strict.sandbox.exists(".devt/state/scratchpad.md"));
    // What the text tells needs no fence.
    assert_eq!(
        bash_without_namespaces(&strict, "ls > /dev/null").stderr(),
        ""
    );
}

/// The session is told once, at its start, and its shells start as usual.
#[test]
fn a_session_without_namespaces_is_told_at_its_start() {
    if let Err(why) = can_unshare(User::This) {
        return skip(&why);
    }
    let strict = Strict::unstarted(User::This);
    let mut event = strict.sandbox.event_of("SessionStart");
    event["source"] = "startup".into();
    let mut hook = without_namespaces(&strict, &[env!("CARGO_BIN_EXE_statewarden"), "hook"]);
    hook.env("CLAUDE_PROJECT_DIR", strict.sandbox.project())
        .env("CLAUDE_ENV_FILE", &strict.env_file);
    hook.env("AI_AGENT", "claude-code_2-1-332_harness");
    let answer = crate::support::serve(hook, event.to_string().as_bytes())
        .ends(0)
        .json();
    let notice = answer["systemMessage"].as_str().unwrap();
    assert_has(notice, "`strict` is not in force");
    assert_has(notice, "statewarden doctor");
    assert_eq!(fs::read_to_string(&strict.env_file).unwrap_or_default(), "");
}

/// A session that is continued sends its start again.
#[test]
fn the_line_is_added_once() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    fs::write(
        &strict.env_file,
        format!(
            "export A=1\n{}",
            fs::read_to_string(&strict.env_file).unwrap()
        ),
    )
    .unwrap();
    let before = fs::read_to_string(&strict.env_file).unwrap();
    strict.start().is_silent();
    assert_eq!(fs::read_to_string(&strict.env_file).unwrap(), before);
}

/// A program that is gone holds nothing up.
#[test]
fn a_command_runs_without_the_program() {
    if let Err(why) = can_unshare(User::This) {
        return skip(&why);
    }
    let strict = Strict::unstarted(User::This);
    let program = strict.sandbox.base().join("statewarden");
    symlink(env!("CARGO_BIN_EXE_statewarden"), &program).unwrap();
    let mut event = strict.sandbox.event_of("SessionStart");
    event["source"] = "startup".into();
    let mut hook = as_user(User::This, program.to_str().unwrap());
    hook.arg("hook")
        .current_dir(strict.sandbox.project())
        .env_clear()
        .envs(strict.sandbox.surroundings());
    hook.env("CLAUDE_ENV_FILE", &strict.env_file)
        .env("CLAUDE_PROJECT_DIR", strict.sandbox.project());
    crate::support::serve(hook, event.to_string().as_bytes()).ends(0);
    let line = format!("{OPAQUE}echo x > .devt/state/scratchpad.md");
    strict.holds(&line);
    fs::remove_file(&program).unwrap();
    strict.bash(&line).ends(0);
    assert!(strict.sandbox.exists(".devt/state/scratchpad.md"));
}

/// A nested shell, and a command that is no shell's, have their own exit codes.
#[test]
fn what_cannot_be_run_says_so() {
    let strict = Strict::unstarted(User::This);
    strict.sandbox.write("no-program", "");
    for (line, code) in [
        ("fence -- no-such-program", 127),
        ("fence -- ./no-program", 126),
        ("fence", 2),
    ] {
        let ran = strict.sandbox.run(line);
        assert_eq!(ran.code(), code, "{line}: {}", ran.said());
    }
}
