//! The analyser against Bash itself: commands of a small grammar are run in a
//! state directory, and what changed there is compared with the targets. What
//! the analyser misses must be detected after the call; what it reports without
//! a change is counted by cause.

#![cfg(unix)]

mod grammar;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use statewarden::base::disk::cache::DirCache;
use statewarden::base::env::Env;
use statewarden::base::path;
use statewarden::base::target::Act;
use statewarden::shell::{Scene, analyze};

use crate::recorder::{after, begin};
use crate::support::{EVENTS, Sandbox, in_parallel, stride};
use grammar::Grammar;

const N_COMMANDS: usize = 1_000;

/// How many targets no run changed, by what stands before the dot in their
/// names: branches that only a run would leave out. A change of the analyser
/// shows here.
const OVER_REPORTS: &[(&str, usize)] = &[
    ("and", 4),
    ("case", 16),
    ("if", 3),
    ("or", 1),
    ("test", 5),
    ("trap", 5),
    ("until", 5),
    ("while", 2),
];

/// How many changes at most were no target: names in other languages or of other variables, members
/// of archives. All are detected.
const MAX_MISSES: usize = N_COMMANDS / 10;

fn files(dir: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        found.insert(name.clone());
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), &format!("{name}/"), found);
        }
    }
}

/// What the targets of a command say of the names below a directory.
#[derive(Default)]
struct Predicted {
    dirs: BTreeSet<String>,
    /// What may also be a copied tree.
    files: BTreeSet<String>,
    gone: BTreeSet<String>,
}

impl Predicted {
    fn of(command: &str, dir: &str, home: &str) -> Self {
        let scene = Scene {
            cwd: dir,
            env: &Env {
                home: Some(home.to_owned()),
                ..Env::default()
            },
            disk: &DirCache::default(),
        };
        let mut predicted = Self::default();
        for target in analyze(command, &scene).targets {
            let path = path::collapse(&target.path);
            let Some(below) = path.strip_prefix(&format!("{dir}/")) else {
                continue;
            };
            let names = match target.act {
                Act::MakeDir => &mut predicted.dirs,
                Act::Write | Act::Edit | Act::Link => &mut predicted.files,
                Act::Remove | Act::RemoveTree | Act::MoveAway | Act::Clear | Act::Clean(_) => {
                    &mut predicted.gone
                }
            };
            names.insert(timeless(below));
            // A directory may have been copied with what is in it.
            if target.act == Act::MakeDir {
                predicted.files.insert(timeless(below));
            }
        }
        predicted
    }

    fn made(&self) -> impl Iterator<Item = &String> {
        self.dirs.iter().chain(&self.files)
    }

    /// Directories above a target are made on the way to it.
    fn has(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let is_on_the_way = || self.made().any(|name| name.starts_with(&below));
        self.dirs.contains(path) || holds(&self.files, path) || is_on_the_way()
    }
}

/// The path without the digits at its end that one run has and the next has not:
/// the analyser puts others in their place.
fn timeless(path: &str) -> String {
    const CAUSES: [&str; 8] = [
        "date", "eval", "pid", "pipe", "random", "read", "script", "sh",
    ];
    let stem = path.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_dated = CAUSES.contains(&cause(path)) && path.matches('.').count() > 1;
    match stem.strip_suffix('.') {
        Some(stem) if is_dated => format!("{stem}.now"),
        _ => path.to_owned(),
    }
}

/// Whether one of the names is the path or holds it.
fn holds(names: &BTreeSet<String>, path: &str) -> bool {
    let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
    names.contains(path) || above.any(|dir| names.contains(dir))
}

fn run(command: &str, sandbox: &Sandbox) {
    let ran = Command::new("bash")
        .args(["-c", command])
        .current_dir(sandbox.path(".devt/state"))
        .envs(sandbox.surroundings())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        errors.is_empty(),
        "bash refused the command: {errors}\n{command}"
    );
}

/// The entries of the state directory that are told after a call.
fn detected(event: &Value, command: &str, sandbox: &Sandbox) -> BTreeSet<String> {
    let mut event = after(event);
    event["cwd"] = sandbox.path(".devt/state").into();
    assert_eq!(
        sandbox.hook(&event).json()["decision"],
        "block",
        "{command}"
    );
    let records = sandbox.records(EVENTS).into_iter();
    let records =
        records.filter(|record| record["decision"] == "detected" || record["decision"] == "undone");
    records
        .map(|record| timeless(record["name"].as_str().unwrap()))
        .collect()
}

/// How a run and the targets differ.
struct Difference {
    /// Changed, and no target; detected after the call.
    misses: Vec<String>,
    /// A target, and not changed.
    over_reports: Vec<String>,
}

#[track_caller]
fn compare(command: &str) -> Difference {
    let sandbox = Sandbox::new();
    for (path, text) in [
        ("s1", "one\n"),
        ("s2", "one\ntwo\n"),
        ("sd/a", "a\n"),
        ("sd/b", "b\n"),
        ("archive.d/x", "x\n"),
        ("w.sh", "touch \"$1.$(date +%s)\"\n"),
    ] {
        sandbox.write(&format!("../home/{path}"), text);
    }
    // The recorder knows what was there before.
    let call = begin(&sandbox, "main", "make");
    let (dir, home) = (sandbox.path(".devt/state"), sandbox.path("../home"));
    let predicted = Predicted::of(command, &dir, &path::collapse(&home));
    run(command, &sandbox);
    let mut now = BTreeSet::new();
    files(Path::new(&dir), "", &mut now);
    let now: BTreeSet<String> = now.iter().map(|path| timeless(path)).collect();

    let still = predicted.gone.iter().find(|path| now.contains(*path));
    assert_eq!(still, None, "predicted to be gone\n{command}");
    let misses: Vec<String> = now
        .iter()
        .filter(|path| !predicted.has(path))
        .cloned()
        .collect();
    if !misses.is_empty() {
        let told = detected(&call, command, &sandbox);
        let entry = |path: &&String| told.contains(path.split('/').next().unwrap_or_default());
        let untold = misses.iter().find(|path| !entry(path));
        assert_eq!(
            untold, None,
            "neither predicted nor detected: {told:?}\n{command}"
        );
    }
    let there = |path: &&String| now.contains(*path) || holds(&predicted.gone, path);
    let over_reports = predicted
        .made()
        .filter(|path| !there(path))
        .cloned()
        .collect();
    Difference {
        misses,
        over_reports,
    }
}

/// Why a path differs: what stands before the dot in its last part with one.
fn cause(path: &str) -> &str {
    let name = path.rsplit('/').find(|part| part.contains('.'));
    name.and_then(|name| name.split('.').next())
        .unwrap_or_default()
}

#[track_caller]
fn check_counts<'d>(
    what: &str,
    differences: impl Iterator<Item = (&'d String, &'d String)>,
    expected: &[(&str, usize)],
) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (command, path) in differences {
        let is_known = expected.iter().any(|(known, _)| *known == cause(path));
        assert!(is_known, "{what}: `{path}` has no known cause\n{command}");
        *counts.entry(cause(path)).or_default() += 1;
    }
    let counts: Vec<(&str, usize)> = counts.into_iter().collect();
    eprintln!("{what} in {N_COMMANDS} commands: {counts:?}");
    if stride() == 1 {
        assert_eq!(counts, expected, "{what}");
    }
}

#[test]
fn bash_changes_what_is_predicted_and_the_rest_is_detected() {
    let mut grammar = Grammar::new(2026);
    let commands: Vec<String> = (0..N_COMMANDS / stride())
        .map(|round| grammar.command(round % 5))
        .collect();
    let differences = in_parallel(&commands, |command| compare(command));
    let all = || commands.iter().zip(&differences);
    let over_reports = all()
        .flat_map(|(command, found)| found.over_reports.iter().map(move |path| (command, path)));
    check_counts("over-reports", over_reports, OVER_REPORTS);
    let n_misses: usize = differences.iter().map(|found| found.misses.len()).sum();
    assert!(n_misses <= MAX_MISSES, "{n_misses} misses");
}
