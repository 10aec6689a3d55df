use std::fs;

use serde_json::json;

use super::*;
use crate::base::disk::cache::DirCache;
use crate::base::env::Env;
use crate::lifecycle::early_exit::Reading;
use crate::shell::Scene;

/// What a line of a table prints: `RUNNER`, `RUNNER fail`, or `nothing`; from the outputs that
/// are kept of each runner.
fn printed(what: &str) -> String {
    let (name, kind) = what.split_once(' ').unwrap_or((what, "pass"));
    if name == "nothing" {
        return "done\n".to_owned();
    }
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/test-output");
    let file = format!("{dir}/{}.txt", name.replace(':', "-"));
    let text = fs::read_to_string(&file).expect(&file);
    let mut parts = text.split("#### ");
    let part = parts.find(|part| part.starts_with(kind)).expect(what);
    part.split_once('\n').expect(what).1.to_owned()
}

/// Whether a line counts as a test that passed, and why not.
fn counts(line: &str, printed: &str, declared: Option<&str>) -> Result<(), String> {
    let reading = test_line::read(line);
    let own = declared.and_then(|own| test_line::is_declared(line, own));
    let kind = match (own, &reading) {
        (Some(dirs), _) => LineKind::Declared(dirs),
        (None, Some(_)) => LineKind::Runner,
        (None, None) => return Err("it starts no test".to_owned()),
    };
    let end = End {
        at: DateTime::default(),
        status: Some(0),
        output: Some(printed.to_owned()),
        is_interrupted: false,
    };
    let dir = Dir {
        shown: ".".to_owned(),
        outside: None,
    };
    let found = judge(&kind, reading.as_ref(), &end, &dir);
    match (found.result, found.doubt) {
        (Some(TestResult::Passed), None) => Ok(()),
        (result, doubt) => Err(doubt.unwrap_or_else(|| format!("{result:?}"))),
    }
}

/// The lines of a table, each with what it prints and what is behind it.
fn table(name: &str) -> Vec<(String, String, Option<String>)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/evidence");
    let text = fs::read_to_string(format!("{dir}/{name}.txt")).expect(name);
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    let row = |line: &str| {
        let (what, line) = line.split_once(" | ").expect(line);
        let (line, why) = match line.rsplit_once(" | it ") {
            Some((line, why)) => (line, Some(format!("it {why}"))),
            None => (line, None),
        };
        (what.to_owned(), line.replace('⏎', "\n"), why)
    };
    lines.map(row).collect()
}

#[test]
fn what_ran_no_passing_test_does_not_count() {
    let rows = table("masked");
    assert!(rows.len() >= 202, "{}", rows.len());
    let counting: Vec<&String> = rows
        .iter()
        .filter(|(what, line, _)| counts(line, &printed(what), None).is_ok())
        .map(|(_, line, _)| line)
        .collect();
    assert!(counting.is_empty(), "{counting:#?}");
}

/// Whoever meets one finds in the manual why it does not count.
#[test]
fn lines_that_do_not_count_are_in_the_manual() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/limits.md");
    let manual = fs::read_to_string(manual).unwrap();
    for (_, line, why) in table("honest") {
        let is_named = manual.contains(&format!("`{line}`"));
        assert_eq!(why.is_some(), is_named, "{line}");
    }
}

#[test]
fn tests_that_pass_count() {
    let rows = table("honest");
    assert!(rows.len() >= 111, "{}", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(what, line, why)| {
            let found = counts(line, &printed(what), None);
            (found != why.clone().map_or(Ok(()), Err)).then(|| format!("{line}: {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_declared_line_counts_by_its_status() {
    for (line, declared) in [
        ("./run-tests.sh", "./run-tests.sh"),
        (
            "cd app && ./scripts/test.sh > log 2>&1 || exit 1",
            "./scripts/test.sh",
        ),
        ("make -j4 check", "make check"),
        ("CI=1 pytest -qq", "pytest -qq"),
    ] {
        assert_eq!(counts(line, "", Some(declared)), Ok(()), "{line}");
    }
    for line in [
        "make check SHELL=/bin/true",
        "make -f fake.mk check",
        "make -C /tmp/x check",
        "make MAKEFLAGS=n check",
        "make --dry check",
        "make -ki check",
        "make help check",
        "make check CHECK=none",
        "eval 'make(){ :; }'; make check",
        "source f; make check",
        "sudo -b make check",
        "setsid -f make check",
        "set -n; make check",
        "env -S true make check",
        "make check || true",
        "make -n check",
        "make -sn check",
        "make -k -i check",
        "make check -- -n",
        "make check | cat",
        "./make check",
        "/tmp/fake/make check",
        "make checks",
        "make check; true",
    ] {
        assert!(counts(line, "", Some("make check")).is_err(), "{line}");
    }
}

/// A test whose start leaves no note proves nothing at its end.
#[test]
fn every_test_that_counts_is_noted_before_it_runs() {
    let env = Env::default();
    for (what, line, _) in table("honest") {
        let call = json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": line},
        });
        let bytes = call.to_string().into_bytes();
        let scene = Scene {
            cwd: "/project",
            env: &env,
            disk: &DirCache::default(),
        };
        let reading = Reading::of(&Event::parse(&bytes).unwrap(), &scene);
        assert!(!reading.is_understood(), "{what}: {line}");
    }
}
