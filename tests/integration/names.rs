//! Sites in one another, and the edition of a contract: where the verbs and the hook must agree.

use serde_json::{Value, json};

use crate::support::{EVENTS, Sandbox, assert_has};

fn write(sandbox: &Sandbox, path: &str) -> String {
    sandbox.hook(&sandbox.write_event(path, "x\n")).decision()
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

/// The contract at the root of an enabled plugin holds from the next session on, and no longer
/// than the plugin is enabled.
#[test]
fn an_enabled_plugin_brings_its_contract() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    let root = sandbox.base().join("plugin");
    let plugins = sandbox.home().join(".claude/plugins");
    for dir in [&root, &plugins] {
        std::fs::create_dir_all(dir).unwrap();
    }
    let contract = "systems: {planning: {site: .planning, canonical: [STATE.md]}}\n";
    std::fs::write(root.join("statewarden.yaml"), contract).unwrap();
    // As Claude Code 2.1.330 writes it.
    let list = include_str!("../fixtures/claude-code/installed_plugins.json");
    let list = list.replace("[PLUGIN]", root.to_str().unwrap());
    std::fs::write(plugins.join("installed_plugins.json"), list).unwrap();
    for (is_enabled, expected) in [(true, "ad-hoc-name"), (false, "allow")] {
        let settings = json!({ "enabledPlugins": { "kit@market": is_enabled } });
        sandbox.write(".claude/settings.json", &settings.to_string());
        sandbox.hook(&sandbox.event_of("SessionStart")).is_silent();
        assert_eq!(write(&sandbox, ".planning/notes.md"), expected);
        assert_eq!(write(&sandbox, ".planning/STATE.md"), "allow");
        // Who could edit it could loosen it.
        let own = root.join("statewarden.yaml");
        let expected = if is_enabled {
            "protected-file"
        } else {
            "allow"
        };
        assert_eq!(write(&sandbox, own.to_str().unwrap()), expected);
    }
}
