//! What settings add to the names, and take from the refusals.

use super::*;
use crate::after::{after_command, blocked};
use crate::support::{DEVT, EVENTS, assert_has};

#[test]
fn settings_add_names_globs_and_directories() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  devt:\n    extra_names: [notes.md, notes/list.md]\n    \
         extra_globs: ['council-*.md', '*.{csv,tsv}', 'v[0-9].txt']\n    subdirectories: [evidence, a/b/]\n",
    );
    check(
        &sandbox,
        "allow",
        "notes.md council-x.md a.csv a.tsv v1.txt evidence/x.png evidence/deep/x a/b/x plan.md \
         notes/list.md",
    );
    check(
        &sandbox,
        "ad-hoc-name",
        "Notes.md council.md a.csv.md v10.txt todo.md a/x notes/other.md",
    );
    check(
        &sandbox,
        "undeclared-directory",
        "evidence2/x notes2/a.csv a/c/x",
    );
    for command in [
        "mkdir .devt/state/evidence",
        "mkdir -p .devt/state/evidence/x",
        "mkdir -p .devt/state/a/b",
    ] {
        sandbox.expect(&sandbox.bash_event(command), "allow");
    }
}

/// A directory that only the names in it declare is no stray.
#[test]
fn directories_on_the_way_to_a_name_are_known() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  devt:\n    extra_names: [notes/list.md]\n    \
         extra_globs: ['lanes/*.md', 'log/**']\n    subdirectories: [a/b]\n  \
         kb: {site: kb, canonical: ['parts/**/x.md']}\n",
    );
    for file in ["notes/list.md", "lanes/1.md", "log/x/y/z.txt", "a/b/c.png"] {
        sandbox.write(&format!(".devt/state/{file}"), "x");
    }
    sandbox.write("kb/parts/1/x.md", "x");
    sandbox.run("audit").ends(0);
    sandbox.hook(&after_command(&sandbox, "make")).is_silent();
    for (dir, verdict) in [
        (".devt/state/lanes", "allow"),
        (".devt/state/log/x", "allow"),
        (".devt/state/a", "allow"),
        ("kb/parts/1", "allow"),
        (".devt/state/lanes/sub", "undeclared-directory"),
        (".devt/state/note", "undeclared-directory"),
    ] {
        let event = sandbox.bash_event(&format!("mkdir -p {dir}"));
        sandbox.expect(&event, verdict);
    }
    sandbox.write(".devt/state/lanes/1.txt", "x");
    let args = ["cleanup", "--system", "devt", "--json"];
    let archived = sandbox.run(&args).json()["archived"].take();
    let n_archived = archived.as_array().map_or(0, Vec::len);
    assert_eq!(
        (n_archived, &archived[0]["name"]),
        (1, &json!("lanes/1.txt"))
    );
}

/// A verdict is what the numbered files owe.
#[test]
fn names_added_beside_the_verdicts_hold_any_text() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {groups: {extra_names: [review/summary.md], extra_globs: ['test-reports/*.txt']}}\n",
    );
    for entry in ["review/summary.md", "test-reports/1.txt"] {
        let file = format!("openspec/changes/c/{entry}");
        let event = sandbox.write_event(&file, "no verdict\n");
        sandbox.hook(&event).is_silent();
        sandbox.write(&file, "no verdict\n");
    }
    let event = sandbox.write_event("openspec/changes/c/review/2.md", "no verdict\n");
    let event = sandbox.by("reviewer", event);
    sandbox.denied(&event, "malformed-content");
    sandbox.hook(&after_command(&sandbox, "make")).is_silent();
}

/// A name of a program or of an owner does not become everybody's.
#[test]
fn additions_take_no_name_from_its_writer() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {devt: {extra_names: [.lock, workflow.yaml, preflight-denies.jsonl], extra_globs: ['review*'], subdirectories: [.archive]}}\n",
    );
    check(
        &sandbox,
        "program-owned",
        ".lock preflight-denies.jsonl .archive/x",
    );
    for (name, expected) in [
        ("workflow.yaml", "wrong-writer"),
        ("review.md", "wrong-writer"),
        ("reviewer.txt", "allow"),
    ] {
        let event = sandbox.by(
            "tester",
            sandbox.write_event(&format!("{STATE}/{name}"), "x\n"),
        );
        sandbox.expect(&event, expected);
    }
}

#[test]
fn a_slip_in_a_declared_name_leads_to_that_name() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {notes: {site: docs/notes, canonical: [index.md, changes.md], patterns: \
         ['note-[0-9].md'], owners: {changes.md: [main]}}}\n",
    );
    let reason = |agent: &str, name: &str| {
        let event = sandbox.write_event(&format!("docs/notes/{name}"), "x\n");
        let event = sandbox.by_actor(agent, event);
        sandbox.denied(&event, "ad-hoc-name")
    };
    for (name, meant) in [
        ("indx.md", "index.md"),
        ("index.txt", "index.md"),
        ("chagnes.md", "changes.md"),
        ("note_1.md", "note-1.md"),
    ] {
        let reason = reason("main", name);
        let use_it = format!("Use `docs/notes/{meant}` instead");
        assert_has(&reason, &use_it);
    }
    let reason = reason("scribe", "chagnes.md");
    assert_has(&reason, "is for another to write");
}

#[test]
fn a_declared_system_is_closed_to_names_it_does_not_list() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  evidence:\n    site: 'audit/**/state'\n    canonical: [index.md]\n    \
         patterns: ['*-[0-9].json']\n    ephemeral: ['*.part']\n",
    );
    for (path, expected) in [
        ("audit/a/state/index.md", "allow"),
        ("audit/a/b/c/state/run-1.json", "allow"),
        ("audit/a/state/run.json", "ad-hoc-name"),
        ("audit/a/state/x.part", "ephemeral-name"),
        ("audit/a/state/sub/index.md", "undeclared-directory"),
        ("audit/a/other/run.json", "allow"),
    ] {
        assert_eq!(write(&sandbox, path), expected, "{path}");
    }
    let bash = |command: &str| sandbox.hook(&sandbox.bash_event(command)).decision();
    assert_eq!(bash("echo > audit/a/state/run.json"), "ad-hoc-name");
    assert_eq!(bash("echo > audit/a/state/x.part"), "allow");
    assert_eq!(bash("cd audit/a && echo > state/run.json"), "ad-hoc-name");
}

#[test]
fn all_below_a_directory_is_the_directory() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {notes: {site: 'docs/**', canonical: [a.md]}}\n",
    );
    for (path, expected) in [
        ("docs/a.md", "allow"),
        ("docs/b.md", "ad-hoc-name"),
        ("docs/x/a.md", "undeclared-directory"),
    ] {
        assert_eq!(write(&sandbox, path), expected, "{path}");
    }
    sandbox.write("docs/b.md", "x");
    sandbox.run("audit").ends(1);
}

#[test]
fn what_a_command_leaves_in_a_declared_site_is_detected() {
    let sandbox = Sandbox::new();
    let declared = "systems:\n  notes:\n    site: docs/notes\n    canonical: [index.md]\n";
    sandbox.write(".claude/statewarden.yaml", declared);
    sandbox.write("docs/notes/todo.md", "x");
    let told = blocked(&sandbox, &after_command(&sandbox, "./generate"));
    assert_has(&told, "`docs/notes/todo.md` (ad-hoc-name)");
}

/// What the client gets of a call in warn mode.
fn context(sandbox: &Sandbox, event: &Value) -> String {
    let ran = sandbox.hook(event);
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    let answer = ran.json();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    let keys: Vec<&String> = answer["hookSpecificOutput"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(keys, ["hookEventName", "additionalContext"], "{answer}");
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn warn_mode_tells_and_lets_through_and_counts_as_no_denial() {
    for settings in [
        "mode: warn\n",
        "systems: {devt: {mode: warn}}\n",
        "mode: off\nsystems: {devt: {mode: warn}}\n",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(".claude/statewarden.yaml", settings);
        let told = context(&sandbox, &sandbox.write_event(".devt/state/notes.md", "x"));
        for part in [
            "notes.md",
            "ad-hoc-name",
            "scratchpad.md",
            "statewarden explain",
        ] {
            assert_has(&told, part);
        }
        assert!(!sandbox.exists(DEVT), "{settings}");
        let events = sandbox.records(EVENTS);
        assert_eq!(events.len(), 1, "{settings}");
        for (key, value) in [
            ("decision", "warn"),
            ("rule", "ad-hoc-name"),
            ("system", "devt"),
            ("name", "notes.md"),
        ] {
            assert_eq!(events[0][key], value, "{settings}: {}", events[0]);
        }
        sandbox
            .hook(&sandbox.write_event(".devt/state/plan.md", "x\n"))
            .is_silent();
    }
}

#[test]
fn a_call_with_an_enforced_and_a_warned_denial_is_refused_and_the_enforced_one_leads() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {devt: {mode: warn}}\n",
    );
    let command = "touch .devt/state/notes.md .agentmux/.sessions/a/state.json";
    sandbox.denied(&sandbox.bash_event(command), "program-owned");
}

#[test]
fn b14_systems_that_are_off_have_no_opinion_and_the_others_stay() {
    let off = [
        ("mode: off\n", "allow", "allow"),
        ("systems: {devt: {mode: off}}\n", "allow", "program-owned"),
        (
            "systems: {devt: {enabled: false}}\n",
            "allow",
            "program-owned",
        ),
        (
            "systems: {devt: {enabled: false, mode: enforce}}\n",
            "allow",
            "program-owned",
        ),
        (
            "mode: off\nsystems: {devt: {mode: enforce}}\n",
            "ad-hoc-name",
            "allow",
        ),
        (
            "systems: {devt: {enabled: true}}\n",
            "ad-hoc-name",
            "program-owned",
        ),
        (
            "systems: {agentmux: {enabled: false}}\n",
            "ad-hoc-name",
            "allow",
        ),
    ];
    for (settings, devt, agentmux) in off {
        let sandbox = Sandbox::new();
        sandbox.write(".claude/statewarden.yaml", settings);
        assert_eq!(write(&sandbox, ".devt/state/notes.md"), devt, "{settings}");
        assert_eq!(
            write(&sandbox, ".agentmux/.sessions/a/state.json"),
            agentmux,
            "{settings}"
        );
        if devt == "allow" {
            let records = sandbox.records(DEVT);
            assert!(records.is_empty(), "{settings}: {records:?}");
        }
    }
}

/// An agent that could edit the settings that warn could switch the guard off.
#[test]
fn warn_mode_does_not_open_the_guards_own_files() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    assert_eq!(
        write(&sandbox, ".claude/statewarden.yaml"),
        "protected-file"
    );
}

#[test]
fn later_settings_win_by_key() {
    let mut sandbox = Sandbox::new();
    let user = sandbox.home().join("config/statewarden");
    std::fs::create_dir_all(&user).unwrap();
    sandbox.env.push((
        "XDG_CONFIG_HOME",
        sandbox.home().join("config").to_str().unwrap().to_owned(),
    ));
    std::fs::write(
        user.join("config.yaml"),
        "mode: off\nsystems: {devt: {extra_names: [user.md]}}\n",
    )
    .unwrap();
    assert_eq!(write(&sandbox, ".devt/state/notes.md"), "allow");
    sandbox.write(".claude/statewarden.yaml", "mode: enforce\n");
    check(&sandbox, "ad-hoc-name", "notes.md");
    check(&sandbox, "allow", "user.md");
    sandbox.write(
        ".claude/statewarden.local.yaml",
        "systems: {devt: {extra_names: [local.md]}}\n",
    );
    check(&sandbox, "ad-hoc-name", "user.md");
    check(&sandbox, "allow", "local.md");
}

/// Of sites in one another the deepest has an entry, for the guard as for every verb.
#[test]
fn of_nested_sites_the_deepest_wins() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {adr: {site: docs, canonical: [index.md], subdirectories: [deep]}, \
         zero: {site: docs/deep/zero, canonical: ['run{,-[0-9]}.md']}, \
         tree: {site: '**/tree', canonical: [leaf.md]}}\n",
    );
    for (path, expected) in [
        ("docs/index.md", "allow"),
        ("docs/run.md", "ad-hoc-name"),
        ("docs/deep/x.md", "allow"),
        ("docs/deep/zero/run.md", "allow"),
        ("docs/deep/zero/run-2.md", "allow"),
        ("docs/deep/zero/index.md", "ad-hoc-name"),
        ("tree/a/tree/leaf.md", "allow"),
        ("tree/a/leaf.md", "undeclared-directory"),
    ] {
        assert_eq!(write(&sandbox, path), expected, "{path}");
        sandbox.write(path, "x");
    }
    let sites = |verb: &str, key: &str| {
        let document = sandbox.run(verb).json();
        document[key].as_array().unwrap().clone()
    };
    let shown = sites("contract show docs/deep/zero --json", "contracts");
    assert_eq!(shown[0]["system"], "zero");
    let audited = sites("audit --json", "sites");
    let strays = |system: &str| {
        let mut of_system = audited.iter().filter(|site| site["system"] == system);
        let site = of_system.next().unwrap();
        site["buckets"]["ad_hoc"].to_string()
    };
    assert_has(&strays("zero"), "index.md");
    assert_has(&strays("adr"), "run.md");
    assert!(!strays("adr").contains("deep"), "{}", strays("adr"));
    let removal = sandbox.bash_event("rm -rf docs/deep/zero");
    sandbox.expect(&removal, "bulk-removal");
}

/// `auto`, the default: the devt that Claude Code has enabled says which edition holds.
#[test]
fn the_edition_is_that_of_the_enabled_devt() {
    let sandbox = Sandbox::new();
    let installed = |installs: Value| {
        let list = json!({ "version": 2, "plugins": { "devt@dev": installs } });
        let dir = sandbox.home().join(".claude/plugins");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("installed_plugins.json"), list.to_string()).unwrap();
    };
    let enable = |is: bool| {
        let settings = json!({ "enabledPlugins": { "devt@dev": is } });
        sandbox.write(".claude/settings.json", &settings.to_string());
    };
    // `plan-x.md` is a name of the later edition only.
    let check = |expected: &str, why: &str| {
        sandbox.hook(&sandbox.event_of("SessionStart")).is_silent();
        let decision = write(&sandbox, ".devt/state/plan-x.md");
        let (later, earlier) = (("allow", "0.244"), ("ad-hoc-name", "0.83"));
        let expected = [later, earlier]
            .into_iter()
            .find(|(_, edition)| *edition == expected);
        let (allowed, edition) = expected.unwrap();
        assert_eq!(decision, allowed, "{why}");
        let beats = sandbox.records(EVENTS);
        let mut beats = beats
            .iter()
            .filter(|record| record["decision"] == "heartbeat");
        let beat = beats.next_back().unwrap()["reason"].as_str().unwrap();
        assert_has(beat, &format!("devt contract {edition}: {why}"));
        let shown = sandbox.run("contract show .devt/state").stdout();
        assert_has(&shown, &format!("; edition {edition} is in force: {why}\n"));
        let doctor = sandbox.run("doctor").stdout();
        assert_has(&doctor, &format!("devt contract, edition {edition}: {why}"));
    };
    let none = "no enabled devt plugin found";
    let user = json!({ "scope": "user", "installPath": "/nowhere", "version": "0.250.1" });
    check("0.83", none);
    installed(json!([user]));
    check("0.83", none);
    enable(true);
    check("0.244", "plugin `devt@dev` is 0.250.1");
    // Another one for this project, whose version only the plugin knows.
    let root = sandbox.base().join("plugin");
    std::fs::create_dir_all(root.join(".claude-plugin")).unwrap();
    let manifest = root.join(".claude-plugin/plugin.json");
    std::fs::write(manifest, json!({ "version": "0.83.2" }).to_string()).unwrap();
    installed(json!([user, {
        "scope": "project", "projectPath": sandbox.project(), "installPath": root, "version": "unknown"
    }]));
    check("0.83", "plugin `devt@dev` is 0.83.2");
    installed(json!([user]));
    sandbox.write(
        ".claude/statewarden.local.yaml",
        "systems: {devt: {contract: 0.83}}\n",
    );
    check("0.83", "the settings name it");
    sandbox.write(
        ".claude/statewarden.local.yaml",
        "systems: {devt: {contract: auto}}\n",
    );
    check("0.244", "plugin `devt@dev` is 0.250.1");
    enable(false);
    check("0.83", none);
    // `install` does not wait for a session.
    enable(true);
    sandbox.run("install --scope project").ends(0);
    assert_eq!(write(&sandbox, ".devt/state/plan-x.md"), "allow");
}
