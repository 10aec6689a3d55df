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
            .envs(sandbox.surroundings())
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
    for text in [laughs, deep, long] {
        let sandbox = Sandbox::new();
        sandbox.write(SETTINGS, &text);
        let begun = Instant::now();
        let ran = sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
        ran.is_denied("ad-hoc-name");
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
    }
}
