//! Random programs of three agents at once: nothing is lost, no bad name stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::recorder::{after, begin};
use crate::support::{Sandbox, must_have_all};

/// One step of a program, on names that are allowed, or not, to every actor.
#[derive(Clone, Debug)]
enum Step {
    Write(&'static str, u8),
    Append(&'static str, u8),
    Remove(&'static str),
    Rename(&'static str, &'static str),
    Link(&'static str),
    MakeDir(&'static str),
}

const ALLOWED: &[&str] = &[
    "plan.md",
    "spec.md",
    "decisions.md",
    "scratchpad.md",
    "research.md",
];
const STRAYS: &[&str] = &["a.txt", "my notes.md", "plan2.md"];
const DIRS: &[&str] = &["notes", "tmp"];

fn step() -> impl Strategy<Value = Step> {
    let allowed = || select(ALLOWED);
    let either = || prop_oneof![3 => select(ALLOWED), 1 => select(STRAYS)];
    prop_oneof![
        4 => (either(), any::<u8>()).prop_map(|(name, byte)| Step::Write(name, byte)),
        2 => (allowed(), any::<u8>()).prop_map(|(name, byte)| Step::Append(name, byte)),
        2 => allowed().prop_map(Step::Remove),
        1 => (allowed(), either()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => select(STRAYS).prop_map(Step::Link),
        1 => select(DIRS).prop_map(Step::MakeDir),
    ]
}

/// Does a step in the state directory, as far as it can be done.
fn run(state: &Path, step: &Step) {
    use std::io::Write;
    let at = |name: &str| state.join(name);
    let _ = match step {
        Step::Write(name, byte) => fs::write(at(name), [b'w', *byte]),
        Step::Append(name, byte) => {
            let file = fs::OpenOptions::new().append(true).open(at(name));
            file.and_then(|mut file| file.write_all(&[*byte]))
        }
        Step::Remove(name) => fs::remove_file(at(name)),
        Step::Rename(from, to) => fs::rename(at(from), at(to)),
        #[cfg(unix)]
        Step::Link(name) => std::os::unix::fs::symlink("plan.md", at(name)),
        #[cfg(not(unix))]
        Step::Link(_) => Ok(()),
        Step::MakeDir(name) => fs::create_dir(at(name)),
    };
}

/// Files by name and content; links and directories by name.
fn listing(state: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let entries = fs::read_dir(state).unwrap().map(Result::unwrap);
    let entries = entries.map(|entry| {
        let kind = entry.file_type().unwrap();
        let bytes = kind.is_file().then(|| fs::read(entry.path()).unwrap());
        (entry.file_name().into_string().unwrap(), bytes)
    });
    entries.filter(|(name, _)| name != ".archive").collect()
}

/// The contents that the archive holds.
fn archived(state: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut dirs = vec![state.join(".archive")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => dirs.push(entry.path()),
                kind if kind.is_file() => found.push(fs::read(entry.path()).unwrap()),
                _ => {}
            }
        }
    }
    found
}

/// The programs of three agents, interleaved: whose turn it is, and the step.
type Programs = Vec<(usize, Step)>;

fn check(programs: &Programs) {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(".devt/state");
    for name in ALLOWED {
        fs::write(state.join(name), name).unwrap();
    }
    let actors = ["main", "programmer", "tester"];
    let calls: Vec<Value> = actors
        .iter()
        .map(|actor| begin(&sandbox, actor, "python3 x.py"))
        .collect();
    programs.iter().for_each(|(_, step)| run(&state, step));
    let left = listing(&state);
    for call in &calls {
        let ran = sandbox.hook(&after(call));
        assert_eq!(
            (ran.code(), ran.stderr()),
            (0, String::new()),
            "{programs:?}"
        );
    }
    let now = listing(&state);
    let kept = archived(&state);
    for (name, content) in &left {
        let is_allowed = ALLOWED.contains(&name.as_str());
        match content {
            // What is allowed is untouched, and no content is lost.
            _ if is_allowed => assert_eq!(now.get(name), Some(content), "{name}: {programs:?}"),
            Some(bytes) => {
                let is_there = now.values().flatten().any(|other| other == bytes);
                assert!(is_there || kept.contains(bytes), "{name}: {programs:?}");
            }
            None => {}
        }
    }
    for name in now.keys() {
        assert!(
            ALLOWED.contains(&name.as_str()),
            "{name} stayed: {programs:?}"
        );
    }
    // Every difference to the beginning stands in the log.
    let recorded = sandbox.changes();
    let is_recorded = |name: &str| {
        let path = state.join(name);
        recorded
            .iter()
            .any(|record| record["path"] == path.to_str().unwrap())
    };
    for name in left
        .keys()
        .map(String::as_str)
        .chain(ALLOWED.iter().copied())
    {
        let before = ALLOWED
            .contains(&name)
            .then(|| Some(name.as_bytes().to_vec()));
        if left.get(name).cloned() != before {
            assert!(is_recorded(name), "{name}: {programs:?}");
        }
    }
}

fn n_cases() -> u32 {
    let given = std::env::var("STATEWARDEN_CASES").ok();
    let usual = if must_have_all() { 300 } else { 40 };
    given.and_then(|n| n.parse().ok()).unwrap_or(usual)
}

proptest! {
    // STATEWARDEN_CASES=10000 for a long run.
    #![proptest_config(ProptestConfig::with_cases(n_cases()))]

    #[test]
    fn random_programs_lose_nothing_and_leave_no_bad_name(
        programs in prop::collection::vec((0..3_usize, step()), 1..12)
    ) {
        check(&programs);
    }
}
