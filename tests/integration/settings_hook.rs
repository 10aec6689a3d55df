//! Broken settings never open the guard.

use std::fs;
use std::time::{Duration, Instant};
#[cfg(target_os = "linux")]
use std::{path::Path, process::Command};

#[cfg(target_os = "linux")]
use crate::support::serve;
use crate::support::{Sandbox, assert_has};

const SETTINGS: &str = ".claude/statewarden.yaml";
const CLIENT: &str = ".claude/settings.json";

#[test]
fn check_tells_of_a_broken_file_and_goes_on() {
    let sandbox = Sandbox::new();
    let check = ["check", ".devt/state/plan.md", "--json"];
    let sound = sandbox.run(&check);
    assert_eq!(sound.stderr(), "");
    assert_eq!(sound.json().get("problems"), None);
    sandbox.write(SETTINGS, "mode: [off\n");
    let broken = sandbox.run(&check);
    assert_eq!(broken.code(), 0);
    assert!(broken.stderr().contains("statewarden.yaml"));
    let problem = broken.json()["problems"][0].as_str().unwrap().to_owned();
    assert_has(&problem, "ignored");
}

/// What is no regular file could keep the hook for ever, or fill the memory.
#[cfg(target_os = "linux")]
#[test]
fn settings_that_are_no_regular_file_count_as_broken() {
    let run = |sandbox: &Sandbox, verb: &str, stdin: &str| {
        let mut command = Command::new("timeout");
        let program = env!("CARGO_BIN_EXE_statewarden");
        let script = format!("ulimit -v 200000; exec {program} {verb}");
        command
            .args(["20", "sh", "-c", &script])
            .current_dir(sandbox.project())
            .env_clear()
            .env("HOME", sandbox.home())
            .env("PATH", "/usr/bin:/bin");
        serve(command, stdin.as_bytes())
    };
    let device = |file: &Path| std::os::unix::fs::symlink("/dev/zero", file).unwrap();
    let pipe = |file: &Path| crate::support::make_pipe(file);
    let huge = |file: &Path| fs::File::create(file).unwrap().set_len(3 << 30).unwrap();
    let socket = |file: &Path| drop(std::os::unix::net::UnixListener::bind(file).unwrap());
    for make in [&device as &dyn Fn(&Path), &pipe, &huge, &socket] {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.project().join(".claude")).unwrap();
        make(&sandbox.project().join(SETTINGS));
        let elsewhere = sandbox.write_event("src/a.rs", "x").to_string();
        run(&sandbox, "hook", &elsewhere).is_silent();
        let event = sandbox.write_event(".devt/state/notes.md", "x").to_string();
        let reason = run(&sandbox, "hook", &event).is_denied("ad-hoc-name");
        assert_has(&reason, "statewarden.yaml` is ignored");
        make(&sandbox.project().join(CLIENT));
        let ran = run(&sandbox, "doctor --json", "");
        assert_eq!(ran.code(), 1, "{}", ran.stderr());
        let findings = ran.json()["findings"].to_string();
        assert_has(&findings, "could not read `");
        assert_eq!(run(&sandbox, "install", "").code(), 2);
    }
}

#[test]
fn a_bomb_in_a_settings_file_is_no_trap() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let again = vec![format!("*a{}", n - 1); 10].join(", ");
        laughs += &format!("a{n}: &a{n} [{again}]\n");
    }
    let deep = format!("systems: {}{}", "[".repeat(50_000), "]".repeat(50_000));
    let long = format!("mode: off\n{}", "# comment\n".repeat(200_000));
    for (text, is_broken) in [(laughs, true), (deep, true), (long, false)] {
        let sandbox = Sandbox::new();
        sandbox.write(SETTINGS, &text);
        let begun = Instant::now();
        let ran = sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
        if is_broken {
            ran.is_denied("ad-hoc-name");
        } else {
            ran.is_silent();
        }
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn doctor_names_the_systems_that_are_only_warned_about() {
    let sandbox = Sandbox::new();
    let check = |settings: &str, warns_self: bool| {
        sandbox.write(SETTINGS, settings);
        let said = sandbox.run("doctor").stdout();
        assert_has(&said, "`devt` is only warned about");
        assert_eq!(said.contains("`self` is only warned about"), warns_self);
    };
    check("mode: warn\n", false);
    check("mode: warn\nsystems: {self: {mode: warn}}\n", true);
}

#[test]
fn commands_name_the_trouble_too() {
    let sandbox = Sandbox::new();
    sandbox.write(SETTINGS, "moed: off\n");
    let ran = sandbox.run("doctor --json").ends(1);
    let findings = ran.json()["findings"].to_string();
    for part in ["statewarden.yaml", "moed", "did you mean `mode`"] {
        assert_has(&findings, part);
    }
}

#[cfg(unix)]
#[test]
fn settings_behind_a_lost_link_are_broken_not_absent() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/other", "");
    sandbox.write_aged(".devt/state/retro.md", "", 3600);
    std::os::unix::fs::symlink("nowhere.yaml", sandbox.path(SETTINGS)).unwrap();
    let said = sandbox.run("doctor").stdout();
    assert_has(&said, "it is a link that leads nowhere");
    sandbox.run("cleanup --apply").ends(2);
    assert_eq!(sandbox.names(".devt/state"), ["retro.md"]);
}
