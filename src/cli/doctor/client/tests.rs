#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use chrono::Utc;
use serde_json::json;

use crate::cli::doctor::Level;
use crate::cli::doctor::tests::{alone, check, findings, healthy};

#[test]
fn the_client_that_ran_last_is_judged_by_its_version() {
    let _alone = alone();
    let temp = healthy();
    let log = temp.0.join("project/.claude/statewarden/events.jsonl");
    for (client, expected) in [
        ("2.1.138", &[("client-too-old", Level::Error)][..]),
        ("2.1.139", &[("client-old", Level::Warning)]),
        ("2.1.142", &[("client-old", Level::Warning)]),
        ("2.1.143", &[("fails-open", Level::Warning)]),
        ("2.1.294", &[("fails-open", Level::Warning)]),
        ("2.1.295", &[]),
        ("2.2", &[]),
        ("10.0.0", &[]),
        ("claude-code", &[]),
    ] {
        let beat = json!({ "decision": "heartbeat", "client": client });
        private(&log, &format!("{beat}\n"));
        check(&temp, expected);
    }
}

#[test]
fn a_run_that_goes_on_without_the_hook_is_seen() {
    let _alone = alone();
    let temp = healthy();
    let log = temp.0.join("project/.claude/statewarden/events.jsonl");
    let state = "project/.devt/state/workflow.yaml";
    let age = |path: &Path, hours| {
        let file = fs::File::options().append(true).open(path).unwrap();
        let then = Utc::now() - chrono::Duration::hours(hours);
        file.set_modified(then.into()).unwrap();
    };
    let unseen = [("unseen-run", Level::Warning)];
    // The settings were written before.
    temp.write(state, "active: true\n");
    check(&temp, &unseen);
    age(&temp.0.join(state), 1);
    check(&temp, &[]);
    temp.write(state, "active: true\n");
    private(&log, "{}\n");
    check(&temp, &[]);
    age(&log, 23);
    check(&temp, &[]);
    age(&log, 25);
    check(&temp, &unseen);
}

/// A log as the program makes it.
fn private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn the_settings_in_force_are_named() {
    let _alone = alone();
    let temp = healthy();
    temp.write(
        "etc/managed-settings.json",
        "{\"allowManagedHooksOnly\": true}",
    );
    temp.write("home/.claude/settings.json", "{\"model\": 3}");
    check(
        &temp,
        &[
            ("managed-hooks-only", Level::Error),
            ("settings-file", Level::Error),
        ],
    );
    let findings = findings(&temp).into_iter();
    let what = |id: &str| findings.clone().find(|f| f.id == id).unwrap().what;
    let dir = temp.0.display();
    assert_eq!(
        what("settings-files"),
        format!(
            "in force, the strongest first: `{dir}/etc/managed-settings.json`, \
             `{dir}/project/.claude/settings.json`"
        )
    );
    assert_eq!(
        what("settings-file"),
        format!("`{dir}/home/.claude/settings.json`: `model` must be a string")
    );
}

/// More files of managed settings: each is stronger than the ones before it by name.
#[test]
fn the_directory_of_managed_settings_is_read() {
    let _alone = alone();
    let temp = healthy();
    let only = |is_on: bool| format!("{{\"allowManagedHooksOnly\": {is_on}}}");
    temp.write("etc/managed-settings.json", "{}");
    temp.write("etc/managed-settings.d/10-a.json", &only(true));
    temp.write("etc/managed-settings.d/readme.txt", "no settings");
    check(&temp, &[("managed-hooks-only", Level::Error)]);
    let dir = temp.0.display();
    let findings = findings(&temp).into_iter();
    let what = |id: &str| findings.clone().find(|f| f.id == id).unwrap().what;
    assert_eq!(
        what("settings-files"),
        format!(
            "in force, the strongest first: `{dir}/etc/managed-settings.d/10-a.json`, \
             `{dir}/etc/managed-settings.json`, `{dir}/project/.claude/settings.json`"
        )
    );
    temp.write("etc/managed-settings.d/20-b.json", &only(false));
    check(&temp, &[]);
}
