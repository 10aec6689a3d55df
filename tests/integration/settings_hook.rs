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

/// What contracts have to do with is known without reading them; nothing is missed by that.
#[test]
fn a_contract_is_in_force_wherever_a_call_can_reach_a_place_of_it() {
    let sandbox = Sandbox::new();
    let contract =
        |site: &str| format!("systems:\n  a:\n    site: {site}\n    canonical: [plan.md]\n");
    sandbox.write(
        ".claude/statewarden.d/a.yaml",
        &contract("\"{rel,specs/*}\""),
    );
    sandbox.write(
        ".claude/statewarden.d/b.yaml",
        &contract(".b").replace("  a:", "  b:"),
    );
    sandbox
        .script("git init -q; mkdir -p rel src .b/sub; ln -s rel link; ln -s ../.b/x.md src/x.md");
    sandbox.hook(&sandbox.event_of("SessionStart"));
    let denies = |path: &str| {
        !sandbox
            .hook(&sandbox.write_event(path, "x"))
            .stdout()
            .is_empty()
    };
    assert!(!denies("src/a.rs") && !denies("src/rel.md"));
    for path in [
        "rel/x.md",
        "link/x.md",
        "src/x.md",
        "src/../rel/x.md",
        "specs/1/x.md",
        ".b/x.md",
    ] {
        assert!(denies(path), "{path}");
    }
    for command in [
        "rm -rf .b",
        "mv .b src/c",
        "git clean -fdx",
        "echo x > link/x.md",
    ] {
        sandbox.hook(&sandbox.bash_event(command)).reason();
    }
    // Changed and made since: what a session's start left is no longer true.
    sandbox.write(".claude/statewarden.d/a.yaml", &contract("other"));
    assert!(denies("other/x.md") && !denies("rel/x.md"));
    sandbox.write(
        ".claude/statewarden.d/c.yaml",
        &contract(".c").replace("  a:", "  c:"),
    );
    assert!(denies(".c/x.md"));
    // Of the same size, and with its time put back.
    let text = contract("thing");
    sandbox.script("touch -r .claude/statewarden.d/a.yaml old");
    sandbox.write(".claude/statewarden.d/a.yaml", &text);
    sandbox.script("touch -r old .claude/statewarden.d/a.yaml");
    assert!(denies("thing/x.md"));
}

/// Contracts are read once and kept, from two seconds after they were written on: a file system
/// may count in whole seconds.
#[test]
fn what_contracts_say_is_kept_until_one_of_their_files_changes() {
    const CONTRACT: &str = ".claude/statewarden.d/plan.yaml";
    const SCHEMA: &str = ".claude/statewarden.d/plan.schema.json";
    let contract = |names: &str| {
        format!(
            "systems: {{plan: {{site: plans, canonical: {names}, content: {{b.json: {{schema: \
             plan.schema.json}}}}}}}}\n"
        )
    };
    let sandbox = Sandbox::new();
    sandbox.write(CONTRACT, &contract("[a.md, b.json]"));
    sandbox.write(SCHEMA, "{\"required\": [\"wave\"]}");
    sandbox.write("plans/a.md", "x");
    let denied = |name: &str, text: &str, code: &str| {
        let event = sandbox.write_event(&format!("plans/{name}"), text);
        sandbox.denied(&event, code)
    };
    let allowed = |name: &str, text: &str| {
        let event = sandbox.write_event(&format!("plans/{name}"), text);
        sandbox.hook(&event).is_silent();
    };
    std::thread::sleep(Duration::from_millis(3_100));
    for _ in 0..2 {
        allowed("a.md", "x");
        denied("c.md", "x", "ad-hoc-name");
        denied("b.json", "{}", "malformed-content");
    }
    sandbox.write(SCHEMA, "{\"required\": [\"phase\"]}");
    assert_has(
        &denied("b.json", "{\"wave\": 1}", "malformed-content"),
        "phase",
    );
    sandbox.write(CONTRACT, &contract("[a.md, b.json, c.md]"));
    allowed("c.md", "x");
    sandbox.write(
        ".claude/statewarden.d/more.yaml",
        "systems: {more: {site: more, canonical: [a.md]}}",
    );
    let more = sandbox.write_event("more/b.md", "x");
    sandbox.denied(&more, "ad-hoc-name");
    sandbox.write(SETTINGS, "systems: {more: {mode: off}}");
    sandbox.hook(&more).is_silent();
}
