#![allow(clippy::disallowed_methods)]

#[cfg(unix)]
mod programs;

#[cfg(unix)]
use std::fs;
#[cfg(unix)]
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(unix)]
use serde_json::json;

use chrono::TimeDelta;

use super::*;
use crate::cli::install::tests::{Temp, in_scope, project};
#[cfg(unix)]
use crate::cli::install::{self, Scope};
use crate::recorder::health::Health;

/// What `doctor` says about a project, one `id:level` a finding.
pub(super) fn findings(temp: &Temp) -> Vec<Finding> {
    findings_by(&temp.place(), temp, MayRun::Known)
}

fn findings_by(place: &Place, temp: &Temp, may_run: MayRun) -> Vec<Finding> {
    let runs = [place.project.join(".devt/state/workflow.yaml")];
    let sites = [".devt/state", ".claude"].map(|site| place.project.join(site));
    let subject = Subject {
        place,
        below: None,
        settings: &Resolved::default(),
        switched_off: &[],
        sites: &sites,
        runs: &runs,
        unreadable: &[],
        guarded: Guarded::Off,
        logs: Logs::of(&place.project, None),
        state: project(place).state(),
        recorder: Health::default(),
        may_run,
        strict: None,
        n_surplus_contracts: 0,
        temp: temp.0.clone(),
        now: Utc::now(),
    };
    examine(&subject)
}

#[track_caller]
pub(super) fn check(temp: &Temp, expected: &[(&str, Level)]) {
    let findings = findings(temp);
    for (id, level) in expected {
        let is_there = findings.iter().any(|f| f.id == *id && f.level == *level);
        assert!(is_there, "{id} {level:?} is not in {findings:#?}");
    }
    let is_expected = |f: &&Finding| {
        expected
            .iter()
            .any(|(id, level)| f.id == *id && f.level == *level)
    };
    let surplus: Vec<_> = findings
        .iter()
        .filter(|f| f.level > Level::Info)
        .filter(|f| !is_expected(f))
        .collect();
    assert!(surplus.is_empty(), "{surplus:#?}");
    assert!(
        findings
            .iter()
            .all(|f| f.level == Level::Info || !f.fix.is_empty())
    );
}

/// A program cannot be started while its file is open for writing, and a child
/// that another thread is just starting has it open.
#[cfg(unix)]
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A project with our entries and a program that does what `hook` says.
#[cfg(unix)]
fn wired(version: &str, hook: &str) -> Temp {
    use std::os::unix::fs::PermissionsExt;
    let temp = Temp::new();
    let program = format!(
        "#!/bin/sh\ncase $1 in\n--version) echo statewarden {version} ;;\nhook) event=$(cat); {hook} ;;\nesac\n"
    );
    temp.write("bin/statewarden", &program);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(temp.place().program, mode).unwrap();
    fs::create_dir_all(temp.0.join("project/.devt/state")).unwrap();
    let args = in_scope(Scope::Project);
    install::tests::wire(&args, &temp.place(), &mut Vec::new()).unwrap();
    temp
}

#[cfg(unix)]
const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r"}}"#;

#[cfg(unix)]
pub(super) fn healthy() -> Temp {
    wired(
        env!("CARGO_PKG_VERSION"),
        &format!("case $event in *notes.md*) echo '{DENY}' ;; esac"),
    )
}

#[cfg(unix)]
#[test]
fn a_healthy_project_has_nothing_to_mend() {
    let _alone = alone();
    let temp = healthy();
    let all = [
        ("wired", Level::Info),
        ("live-test", Level::Info),
        ("heartbeat", Level::Info),
    ];
    check(&temp, &all);
    let leftovers = fs::read_dir(&temp.0).unwrap().flatten();
    assert!(
        leftovers
            .into_iter()
            .all(|e| !e.file_name().to_string_lossy().contains("doctor"))
    );
}

#[cfg(unix)]
#[test]
fn a_program_that_does_not_guard_is_found_out() {
    let _alone = alone();
    let version = env!("CARGO_PKG_VERSION");
    let denies_all = format!("echo '{DENY}'");
    let noisy = format!("case $event in *notes.md*) echo hello; echo '{DENY}' ;; esac");
    let cases = [
        ("exit 0", "did not deny"),
        (denies_all.as_str(), "does not let"),
        (noisy.as_str(), "did not deny"),
        ("echo broken >&2; exit 3", "exit 3, `broken`"),
        ("kill -9 $$", "a signal"),
        ("echo not installed >&2; exit 2", "exit 2, `not installed`"),
    ];
    for (hook, words) in cases {
        let temp = wired(version, hook);
        check(&temp, &[("live-test", Level::Error)]);
        let finding = findings(&temp)
            .into_iter()
            .find(|f| f.id == "live-test")
            .unwrap();
        assert!(finding.what.contains(words), "{}", finding.what);
    }
    check(
        &wired("0.0.1", "exit 0"),
        &[
            ("version-differs", Level::Warning),
            ("live-test", Level::Error),
        ],
    );
}

/// Process ids come again, in a container soon.
#[cfg(unix)]
#[test]
fn what_a_killed_doctor_left_is_in_nobodys_way() {
    let _alone = alone();
    let temp = healthy();
    let left = format!("statewarden-doctor-{}-0", std::process::id());
    fs::create_dir(temp.0.join(&left)).unwrap();
    check(&temp, &[("live-test", Level::Info)]);
    assert!(temp.0.join(left).exists(), "it may be another's");
}

#[cfg(unix)]
#[test]
fn a_program_that_cannot_run_is_named() {
    let _alone = alone();
    use std::os::unix::fs::PermissionsExt;
    let temp = healthy();
    let program = temp.place().program;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    check(&temp, &[("program-not-executable", Level::Error)]);
    fs::remove_file(program).unwrap();
    check(&temp, &[("program-missing", Level::Error)]);
}

#[test]
fn wiring_that_cannot_work_is_an_error() {
    check(&Temp::new(), &[("not-wired", Level::Error)]);
    for (text, id) in [
        ("{ // no\n}", "settings-file"),
        ("{\"disableAllHooks\": true}", "hooks-disabled"),
        (
            "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"timeout\": \"10\"}]}]}}",
            "settings-file",
        ),
        ("{\"permissions\": {\"allow\": \"x\"}}", "settings-file"),
    ] {
        let temp = Temp::new();
        temp.write("home/.claude/settings.json", text);
        check(&temp, &[("not-wired", Level::Error), (id, Level::Error)]);
        let whats = findings(&temp).into_iter().map(|finding| finding.what);
        assert!(!whats.collect::<String>().contains("nothing was changed"));
    }
    // Whether what nobody can read runs the hook is not known.
    let temp = Temp::new();
    temp.write("project/.claude/settings.json/x", "");
    check(&temp, &[("settings-file", Level::Error)]);
}

#[cfg(unix)]
#[test]
fn two_programs_and_old_entries_are_seen() {
    let _alone = alone();
    let temp = healthy();
    let path = temp.place().settings(Scope::Project).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"timeout\": 10", "\"timeout\": 9")).unwrap();
    check(&temp, &[("wired-otherwise", Level::Error)]);
    temp.write(
        "home/.claude/plugins/installed_plugins.json",
        "{\"plugins\": {\"statewarden@x\": [{\"installPath\": \"/nowhere\"}]}}",
    );
    check(&temp, &[("wired-otherwise", Level::Error)]);
    let enabled = "{\"enabledPlugins\": {\"statewarden@x\": true}}";
    temp.write("home/.claude/settings.json", enabled);
    check(
        &temp,
        &[
            ("wired-otherwise", Level::Error),
            ("wired-twice", Level::Warning),
            ("program-missing", Level::Error),
        ],
    );
}

/// Any plugin may hold the entries.
#[cfg(unix)]
#[test]
fn a_plugin_that_runs_the_program_is_found() {
    let _alone = alone();
    let temp = healthy();
    let settings = temp.place().settings(Scope::Project).unwrap();
    let plugin = temp.0.join("plugin");
    let hooks = fs::read_to_string(&settings).unwrap();
    temp.write("plugin/hooks/hooks.json", &hooks);
    let list = json!({ "plugins": {
        "flow@team": [{ "installPath": plugin }],
        "other@team": [{ "installPath": "/nowhere" }],
    } });
    temp.write(
        "home/.claude/plugins/installed_plugins.json",
        &list.to_string(),
    );
    let enable = |is: bool| json!({ "enabledPlugins": { "flow@team": is, "other@team": true } });
    fs::write(&settings, enable(false).to_string()).unwrap();
    check(&temp, &[("not-wired", Level::Error)]);
    fs::write(&settings, enable(true).to_string()).unwrap();
    check(
        &temp,
        &[("plugin", Level::Info), ("live-test", Level::Info)],
    );
    let list = json!({ "plugins": { "statewarden@team": [{ "installPath": plugin, "version": "0.1.9" }] } });
    temp.write(
        "home/.claude/plugins/installed_plugins.json",
        &list.to_string(),
    );
    let enabled = json!({ "enabledPlugins": { "statewarden@team": true } });
    fs::write(&settings, enabled.to_string()).unwrap();
    check(&temp, &[("version-differs", Level::Warning)]);
}

/// An earlier version let itself be wired there.
#[cfg(unix)]
#[test]
fn a_program_in_a_package_cache_is_seen() {
    let _alone = alone();
    let temp = healthy();
    let settings = temp.place().settings(Scope::Project).unwrap();
    let wired = fs::read_to_string(&settings).unwrap();
    let cached = temp.0.join(".cache/npx");
    fs::create_dir_all(&cached).unwrap();
    fs::rename(temp.place().program, cached.join("statewarden")).unwrap();
    let bin = temp.0.join("bin");
    let moved = wired.replace(bin.to_str().unwrap(), cached.to_str().unwrap());
    fs::write(&settings, moved).unwrap();
    let found = [
        ("program-in-cache", Level::Warning),
        ("program-not-run", Level::Warning),
    ];
    check(&temp, &found);
}

#[cfg(unix)]
#[test]
fn logs_locks_and_leftovers_are_examined() {
    let _alone = alone();
    use std::os::unix::fs::PermissionsExt;
    let temp = healthy();
    let log = "project/.claude/statewarden/events.jsonl";
    let beat = "{\"decision\":\"heartbeat\",\"session_id\":\"s\",\"ts\":\"2026-01-02T03:04:05.678Z\",\"reason\":\"0.1.0\"}";
    temp.write(log, &format!("{beat}\nno json\n{{\"torn\":"));
    fs::set_permissions(temp.0.join(log), fs::Permissions::from_mode(0o644)).unwrap();
    temp.write("project/.devt/state/.lock", "4194305");
    let old = Utc::now() - chrono::Duration::hours(1);
    for name in [
        ".workflow.yaml.77.tmp",
        "workflow.yaml.tmp",
        "x.md.tmp.77",
        "x.tmp.md",
    ] {
        let name = format!("project/.claude/{name}");
        temp.write(&name, "half");
        let file = fs::File::options().write(true).open(temp.0.join(&name));
        file.unwrap().set_modified(old.into()).unwrap();
    }
    let expected = [
        ("log-line", Level::Warning),
        ("log-torn", Level::Info),
        ("log-mode", Level::Warning),
        ("orphan-temp", Level::Warning),
        ("stale-lock", Level::Warning),
    ];
    check(&temp, &expected);
    let leftovers = |f: &Finding| f.what.starts_with("3 temporary files");
    assert_eq!(findings(&temp).into_iter().filter(leftovers).count(), 1);
    // A log that cannot be asked for is not taken for none, and a link gets no records.
    let denials = temp.0.join("project/.devt/state/preflight-denies.jsonl");
    for target in [
        "preflight-denies.jsonl",
        "nowhere",
        "../../.claude/statewarden/events.jsonl",
    ] {
        std::os::unix::fs::symlink(target, &denials).unwrap();
        check(&temp, &[&expected[..], &[("log", Level::Error)]].concat());
        fs::remove_file(&denials).unwrap();
    }
    let project = project(&temp.place());
    let other_host = [&expected[..], &[("other-host", Level::Warning)]].concat();
    for (days, expected) in [(8, &expected[..]), (1, &other_host)] {
        let seen = Utc::now() - TimeDelta::days(days);
        project.note_other_host("Codex", seen).unwrap();
        check(&temp, expected);
    }
    let client = beat.replace('}', ",\"client\":\"2.1.331\"}");
    for (record, unproved, end) in [
        (
            beat,
            "s",
            ", but nothing proves that Claude Code started it",
        ),
        (beat, "of another", ""),
        (client.as_str(), "s", ", Claude Code 2.1.331"),
    ] {
        temp.write(log, &format!("{record}\n"));
        let note = |state: &mut ProjectState| state.unproved = Some(unproved.to_owned());
        project.change_state(note).unwrap();
        let is_beat = |finding: &Finding| finding.id == "heartbeat";
        let heartbeat = findings(&temp).into_iter().find(is_beat).unwrap();
        let what = "last session start: 2026-01-02 03:04 (0.1.0)";
        assert_eq!(heartbeat.what, format!("{what}{end}"));
    }
    temp.write(log, &"x".repeat(2_047));
    let size = |f: &Finding| f.id == "log" && f.what.ends_with(": 0 records, 2.0 KiB");
    assert!(findings(&temp).iter().any(size), "{:#?}", findings(&temp));
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_told_and_not_waited_for() {
    let _alone = alone();
    let temp = healthy();
    let folder = temp.0.join("project/.claude/statewarden");
    fs::create_dir_all(&folder).unwrap();
    for path in [
        folder.join("events.jsonl"),
        temp.0.join("project/.devt/state/.lock"),
        temp.0.join("home/.claude/plugins/installed_plugins.json"),
    ] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }
    check(
        &temp,
        &[("log", Level::Error), ("stale-lock", Level::Warning)],
    );
}

#[cfg(unix)]
#[test]
fn where_no_record_can_be_written_is_told() {
    let _alone = alone();
    use std::os::unix::fs::PermissionsExt;
    let temp = healthy();
    let folder = temp.0.join("project/.claude/statewarden");
    fs::remove_dir_all(&folder).ok();
    fs::write(&folder, "").unwrap();
    check(&temp, &[("log", Level::Error)]);
    fs::remove_file(&folder).unwrap();
    std::os::unix::fs::symlink("nowhere", &folder).unwrap();
    check(&temp, &[("log", Level::Error)]);
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let events = folder.join("events.jsonl");
    fs::write(&events, "").unwrap();
    for (path, mode) in [(&events, 0o400), (&folder, 0o500)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        // Root may write everywhere.
        let append = fs::File::options().append(true).open(&events);
        if append.is_err() || fs::write(folder.join("new"), "").is_err() {
            check(&temp, &[("log", Level::Error)]);
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_lock_is_judged_as_writers_do() {
    let _alone = alone();
    let temp = healthy();
    for (content, id, level, words) in [
        ("1", "lock", Level::Info, "held by process 1"),
        ("{\"pid\":1}", "lock", Level::Info, "held by process 1"),
        (
            "4194305",
            "stale-lock",
            Level::Warning,
            "process 4194305, which has ended",
        ),
        (
            "{\"pid\":4194305}",
            "stale-lock",
            Level::Warning,
            "which has ended",
        ),
        ("x", "stale-lock", Level::Warning, "holds no process id"),
    ] {
        temp.write("project/.devt/state/.lock", content);
        check(&temp, &[(id, level)]);
        let findings = findings(&temp);
        let finding = findings.iter().find(|finding| finding.id == id).unwrap();
        assert!(finding.what.contains(words), "{}", finding.what);
    }
}
