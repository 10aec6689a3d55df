//! Whose run of a verb it is: a person's at a terminal, or that of a call which hides that it is one.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::recorder::{after, begin, call};
use crate::support::{Ran, Sandbox, assert_has, lacks};

const SETTINGS: &str = ".claude/statewarden.yaml";
const STATE: &str = ".devt/state/workflow.yaml";
const WORKFLOW: &str = "workflow_id: a\nactive: true\nphase: implement\n";
const DOUBT: &str = "a command of agent `programmer` that began at ";

/// A project with settings that a call of the programmer has changed, so that they are held.
fn with_held_settings() -> Sandbox {
    let sandbox = Sandbox::new();
    hold_settings(&sandbox);
    sandbox
}

fn hold_settings(sandbox: &Sandbox) {
    sandbox.write(SETTINGS, "evidence: {mode: require}\n");
    sandbox.write(STATE, WORKFLOW);
    sandbox.hook(&sandbox.event_of("SessionStart"));
    call(sandbox, "programmer", "./gen", || {
        sandbox.write(SETTINGS, "mode: off\n");
    });
}

/// A line with `$STATEWARDEN` for the program, run as if no client were there.
fn run(sandbox: &Sandbox, line: &str) -> Ran {
    let program = sandbox.command(&[]).get_program().to_owned();
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(sandbox.project());
    command.env_clear().envs(sandbox.surroundings());
    command.env("STATEWARDEN", &program);
    command.stdin(Stdio::null()).output().unwrap().into()
}

fn in_terminal(verb: &str) -> String {
    format!("script -qec \"$STATEWARDEN {verb}\" /dev/null")
}

fn has_script() -> bool {
    Command::new("script").arg("--version").output().is_ok()
}

#[track_caller]
fn is_soon(sandbox: &Sandbox, path: &str) {
    let begun = Instant::now();
    while !sandbox.exists(path) && begun.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(sandbox.exists(path), "{path}");
}

#[track_caller]
fn check(sandbox: &Sandbox, line: &str, code: i32, says: &str) {
    let ran = run(sandbox, line);
    let said = ran.stdout() + &ran.stderr();
    assert_eq!(ran.code(), code, "{line}: {said}");
    assert_has(&said.replace("\r\n", "\n"), says);
}

#[test]
fn a_terminal_of_a_calls_making_is_no_persons() {
    if !has_script() {
        return lacks("no `script`");
    }
    let sandbox = with_held_settings();
    let running = begin(&sandbox, "programmer", "./gen");
    let verbs = [
        "config accept",
        "update status=DONE --force",
        "flow update --gate-result passed --force",
    ];
    sandbox.run(&["flow", "init", "Add a parser"][..]).ends(0);
    for verb in verbs {
        let expected = if verb.starts_with("config") {
            DOUBT
        } else {
            "agent `programmer`"
        };
        check(&sandbox, &in_terminal(verb), 1, expected);
    }
    let python = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn([os.environ['STATEWARDEN'], \
                  'config', 'accept'])))";
    check(&sandbox, &format!("python3 -c \"{python}\""), 1, DOUBT);
    // Its end is told, and what it left behind goes on.
    sandbox.hook(&after(&running));
    check(&sandbox, &in_terminal("config accept"), 1, DOUBT);
    let gates = fs::read_to_string(sandbox.path(".claude/orchestration.local.md")).unwrap();
    assert!(!gates.contains("\"passed\""), "{gates}");
}

#[test]
fn a_verb_in_a_session_of_a_calls_making_is_the_calls() {
    let sandbox = with_held_settings();
    let running = begin(&sandbox, "programmer", "./gen");
    for verb in ["update phase=test", "reset"] {
        let line = format!("setsid --wait \"$STATEWARDEN\" {verb}");
        check(&sandbox, &line, 1, DOUBT);
    }
    // What began before the call is not what it started, terminal or none.
    check(&sandbox, "$STATEWARDEN update phase=test", 0, "phase: test");
    sandbox.hook(&after(&running));
    let sandbox = with_held_settings();
    begin(&sandbox, "main", "./gen");
    check(
        &sandbox,
        "setsid --wait \"$STATEWARDEN\" update phase=test",
        0,
        "phase: test",
    );
}

#[test]
fn what_has_dropped_a_clients_variables_is_below_it_all_the_same() {
    if !has_script() {
        return lacks("no `script`");
    }
    let sandbox = Sandbox::new();
    for client in ["CLAUDECODE=1", "AI_AGENT=claude-code_2-1-332_agent"] {
        let (name, _) = client.split_once('=').unwrap();
        let accept = in_terminal("config accept");
        let line = format!("env {client} bash -c 'env -u {name} {accept}; exit $?'");
        check(&sandbox, &line, 1, "a call of a client runs this");
    }
}

/// A shell in a terminal, into which a person types.
#[test]
fn a_person_in_a_terminal_that_was_there_before_the_call_is_a_person() {
    let sandbox = Sandbox::new();
    let program = sandbox.command(&[]).get_program().to_owned();
    let mut terminal = Command::new("script");
    terminal
        .args(["-qfec", "sh", "/dev/null"])
        .current_dir(sandbox.project());
    terminal.env_clear().envs(sandbox.surroundings());
    let typed = terminal.stdin(Stdio::piped()).stdout(Stdio::null());
    let Ok(mut terminal) = typed.spawn() else {
        return lacks("no `script`");
    };
    let mut type_in = |line: &str| {
        let stdin = terminal.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
    };
    type_in("touch open");
    is_soon(&sandbox, "open");
    thread::sleep(Duration::from_millis(300));
    hold_settings(&sandbox);
    begin(&sandbox, "programmer", "cargo test");
    assert_has(&sandbox.run("config").stdout(), "held");
    type_in(&format!(
        "'{}' config accept; touch done",
        program.display()
    ));
    is_soon(&sandbox, "done");
    assert!(!sandbox.run("config").stdout().contains("held"));
    type_in("exit");
    terminal.wait().unwrap();
}

/// As where a program in the background outlives the shell that started it, or in a container.
#[test]
#[cfg(target_os = "linux")]
fn a_session_is_as_old_as_the_oldest_that_is_left_of_it() {
    let sandbox = Sandbox::new();
    sandbox.write(STATE, WORKFLOW);
    sandbox.hook(&sandbox.event_of("SessionStart"));
    let waiting = "setsid --wait bash -c '(while [ ! -e go ]; do sleep 0.02; done; $STATEWARDEN update phase=test; \
                   touch done) > said 2>&1 & touch left'";
    run(&sandbox, waiting).ends(0);
    thread::sleep(Duration::from_millis(200));
    begin(&sandbox, "programmer", "./gen");
    sandbox.write("go", "");
    is_soon(&sandbox, "done");
    assert_has(&sandbox.read("said"), "phase: test");
}

#[test]
#[cfg(target_os = "linux")]
fn a_call_in_a_namespace_of_its_own_is_a_call() {
    let sandbox = with_held_settings();
    begin(&sandbox, "programmer", "./gen");
    for options in ["--pid --fork", "--pid --fork --mount-proc"] {
        let unshare = format!("unshare --map-root-user {options}");
        if run(&sandbox, &format!("{unshare} true")).code() != 0 {
            return lacks("no namespaces");
        }
        let update = format!("{unshare} setsid --wait \"$STATEWARDEN\" update phase=test");
        check(&sandbox, &update, 1, DOUBT);
    }
}
