//! Systems that the settings switch off, and the ids that `--system` takes.

use crate::support::{Sandbox, assert_has};

const LOCAL: &str = ".claude/statewarden.local.yaml";

/// A project whose local settings switch devt off, and a declared system.
fn without_devt() -> Sandbox {
    let sandbox = Sandbox::new();
    let notes = "systems:\n  notes: {site: docs/notes, canonical: [a.md]}\n";
    sandbox.write(".claude/statewarden.yaml", notes);
    let off = "systems:\n  devt: {enabled: false}\n  notes: {mode: off}\n";
    sandbox.write(LOCAL, off);
    sandbox.write(".devt/state/notes.md", "x");
    sandbox
}

/// Every part is in what the program says on either stream.
#[track_caller]
fn says(sandbox: &Sandbox, line: &str, code: i32, parts: &[&str]) {
    let ran = sandbox.run(line);
    let text = ran.said();
    assert_eq!(ran.code(), code, "{line}: {text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in {line}: {text}");
    }
}

#[test]
fn a_switched_off_system_is_named_with_the_file_that_says_so() {
    let sandbox = without_devt();
    let file = sandbox.path(LOCAL);
    let off = format!("devt is switched off by `{file}`");
    let both = format!("devt, notes are switched off by `{file}`");
    let path = ".devt/state/notes.md";
    says(
        &sandbox,
        &format!("check {path}"),
        0,
        &["allow", "not judged", &off],
    );
    says(
        &sandbox,
        "check docs/notes/b.md",
        0,
        &["notes is switched off"],
    );
    let explained = format!("a site of devt, which is switched off by `{file}`");
    says(&sandbox, &format!("explain {path}"), 0, &[&explained]);
    says(&sandbox, "contract show .devt/state", 2, &[&off]);
    says(&sandbox, "contract show", 0, &[&both]);
    says(&sandbox, "audit", 0, &[&both]);
    says(&sandbox, "status", 0, &[&both]);
    says(&sandbox, "stuck", 0, &[&off]);
    for verb in ["audit", "status", "history", "cleanup", "reset"] {
        says(&sandbox, &format!("{verb} --system devt"), 2, &[&off]);
    }
    says(&sandbox, "reset", 2, &[&off]);
    says(&sandbox, "sweep", 2, &[&off]);
    says(&sandbox, "doctor", 1, &[&off]);

    let json = sandbox.run(&["check", "--json", path]).json();
    let row = &json["decisions"][0];
    assert_eq!(
        [&row["decision"], &row["system"], &row["switched_off_by"]],
        ["allow", "devt", file.as_str()]
    );
    let json = sandbox.run("audit --json").json();
    assert_eq!(json["switched_off"][0]["by"], file.as_str(), "{json}");
    let event = sandbox.base().join("event.json");
    std::fs::write(&event, sandbox.write_event(path, "x").to_string()).unwrap();
    let event = event.to_str().unwrap();
    says(
        &sandbox,
        &format!("check --event {event}"),
        0,
        &["not judged", &off],
    );
}

#[test]
fn where_everything_is_off_doctor_warns() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "mode: off\n");
    let file = sandbox.path(".claude/statewarden.yaml");
    let what = format!("nothing is guarded: every system is off, by `{file}`");
    says(&sandbox, "doctor", 1, &["warning  mode", &what]);
    let all =
        format!("devt, agent-flow, session, groups, agentmux, self are switched off by `{file}`");
    says(&sandbox, "audit", 0, &[&all]);
    says(&sandbox, "groups", 2, &["groups is switched off"]);
    says(&sandbox, "agentmux", 2, &["agentmux is switched off"]);
    sandbox.write(LOCAL, "systems:\n  devt: {mode: enforce}\n");
    says(&sandbox, "check .devt/state/notes.md", 1, &["deny"]);
    says(
        &sandbox,
        "doctor",
        1,
        &["ok       mode             self is switched off"],
    );
}

#[test]
fn an_id_that_no_system_has_is_an_error_everywhere() {
    let sandbox = Sandbox::new();
    for verb in [
        "check a.md",
        "explain a.md",
        "audit",
        "cleanup",
        "reset",
        "sweep",
        "history",
        "restore x",
        "update a=b",
        "status",
        "denies",
        "denies stats",
        "stuck",
        "contract show",
        "contract test x",
        "replay .",
        "groups",
        "agentmux",
        "session show",
        "flow update",
        "deep-dive init",
        "doctor",
        "install",
        "uninstall",
        "man",
        "completions bash",
    ] {
        let ran = sandbox.run(&format!("{verb} --system sesion"));
        assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{verb}");
        let text = ran.stderr();
        let near = text.contains("no system `sesion`; did you mean `session`?");
        assert!(near || text.contains("leave `--system` out"), "{text}");
    }
    assert!(!sandbox.exists(".claude"));
}

#[test]
fn an_option_without_a_meaning_is_neither_taken_nor_offered() {
    let sandbox = Sandbox::new();
    for (args, flag) in [
        ("doctor --system devt", "--system"),
        ("--system devt install --dry-run", "--system"),
        ("groups --system devt", "--system"),
        ("stuck --system session", "--system"),
        ("session show --system groups", "--system"),
        ("install --json", "--json"),
        ("uninstall --json", "--json"),
        ("--json man", "--json"),
        ("completions bash --json", "--json"),
    ] {
        says(&sandbox, args, 2, &[&format!("leave `{flag}` out")]);
        let mut words = args.split(' ');
        let verb = words.find(|word| !word.starts_with('-') && *word != "devt");
        let help = sandbox.run(&[verb.unwrap(), "--help"]).stdout();
        assert!(!help.contains(&format!("{flag} ")), "{help}");
        assert_has(&help, "Global options:");
    }
    assert!(!sandbox.exists(".claude"));
    // A verb about one system takes that system's id.
    says(&sandbox, "stuck --system devt", 0, &["not stuck"]);
}

#[test]
fn a_path_of_another_system_is_not_called_allowed() {
    let sandbox = Sandbox::new();
    let path = ".devt/state/notes.md";
    let whose = "belongs to devt, not to session";
    says(
        &sandbox,
        &format!("check --system session {path}"),
        2,
        &[whose],
    );
    says(
        &sandbox,
        &format!("explain --system session {path}"),
        0,
        &[whose, "refused"],
    );
    says(
        &sandbox,
        "contract show --system session .devt/state",
        2,
        &[whose],
    );
    says(
        &sandbox,
        &format!("check --system devt {path}"),
        1,
        &["deny"],
    );
    says(&sandbox, "check --system devt src/main.rs", 0, &["allow"]);
    let event = sandbox.base().join("event.json");
    std::fs::write(
        &event,
        sandbox
            .bash_event("echo > .devt/state/notes.md")
            .to_string(),
    )
    .unwrap();
    let event = event.to_str().unwrap();
    says(
        &sandbox,
        &format!("check --system session --event {event}"),
        2,
        &[whose],
    );
    says(
        &sandbox,
        &format!("check --system devt --event {event}"),
        1,
        &["deny"],
    );
}

#[test]
fn contracts_tell_open_from_closed_and_the_edition_in_force() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/orchestration.local.md",
        "---\nactive: false\n---\n",
    );
    let show = |system: &str| {
        sandbox
            .run(&["contract", "show", "--system", system])
            .stdout()
    };
    for (system, expected) in [
        ("agent-flow", "open: the directory itself"),
        ("devt", "closed: the directory itself"),
        ("session", "closed: the directory itself"),
        ("agentmux", "open: the directory itself"),
        ("devt", "; edition 0.83 is in force\n"),
    ] {
        let text = show(system);
        assert!(text.contains(expected), "{system}: {text}");
    }
    says(
        &sandbox,
        "explain .claude/orchestration.local.md",
        0,
        &["agent-flow, open"],
    );
    let path = ".devt/state/plan.md";
    says(
        &sandbox,
        &format!("explain {path}"),
        0,
        &["devt, closed", "edition 0.83 is in force"],
    );
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {devt: {contract: \"0.244\"}}\n",
    );
    assert!(show("devt").contains("; edition 0.244 is in force\n"));
    let story = sandbox.run(&["explain", "--json", path]).json();
    assert_eq!(story["edition"], "0.244");
}
