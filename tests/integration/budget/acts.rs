//! What a command did to many files, counted: twice as many cost about twice as much, before the
//! command and after it. Now and then the index is written anew, which is half as much again.

use std::process::Command;

use serde_json::json;

use super::entries::{change, known, review, run};
use super::program;
use crate::recorder::{after, before};
use crate::support::Sandbox;

/// A file, by its number.
type File = fn(usize) -> String;

/// The most instructions that each of 200 files may take.
const MOST: u64 = 260_000;

/// Commands that change all of many files.
const ACTS: &[(File, &str)] = &[
    (review, "sed -i s/Part/Teil/ .devt/state/review-part-*"),
    (review, "rm -f .devt/state/review-part-*"),
    (
        review,
        "for f in .devt/state/review-part-*.md; do mv $f ${f%.md}-b.md; done",
    ),
    (change, "sed -i s/Part/Teil/ openspec/changes/*/tasks.md"),
    (change, "rm -rf openspec/changes/change-*"),
    (change, "mkdir -p old; mv openspec/changes/change-* old/"),
    (
        change,
        "mkdir -p openspec/changes/archive; mv openspec/changes/change-* openspec/changes/archive/",
    ),
];

/// What the events around a command take: the first where it is said in the call, and the last
/// where it was done, in a program or as it was said.
fn costs(file: File, command: &str, said: &str, n: usize) -> Vec<u64> {
    let Some(program) = program() else {
        return Vec::new();
    };
    let sandbox = known(&program, n, file);
    let event = before(&sandbox, "main", "Bash", json!({ "command": said }));
    let before = run(&sandbox, event.clone()).instructions(&program);
    let is_denied = !sandbox.hook(&event).stdout().is_empty();
    if is_denied {
        return vec![before];
    }
    do_it(&sandbox, command);
    let after = run(&sandbox, after(&event)).instructions(&program);
    vec![before, after]
}

fn do_it(sandbox: &Sandbox, command: &str) {
    let mut shell = Command::new("sh");
    let status = shell
        .args(["-c", command])
        .current_dir(sandbox.project())
        .status();
    assert!(status.unwrap().success(), "{command}");
}

#[test]
fn a_command_costs_in_proportion_to_what_it_changes() {
    let mut over = Vec::new();
    for (file, command) in ACTS {
        for said in [command, "./run.sh"] {
            let [few, many] = [100, 200].map(|n| costs(*file, command, said, n));
            eprintln!("`{command}` said as `{said}`: {few:?} and {many:?}");
            let too_much = |(few, many): (&u64, &u64)| *many >= few * 13 / 4 || many / 200 > MOST;
            if few.len() != many.len() || few.iter().zip(&many).any(too_much) {
                over.push(format!("`{command}` said as `{said}`: {few:?}, {many:?}"));
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
