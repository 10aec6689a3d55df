//! What the entries of a site cost, counted: a look goes through all of them, a write of one file
//! reads what is known of it alone.

use std::time::Duration;

use super::{Event, Run, program};
use crate::support::Sandbox;

const SCRATCHPAD: &str = ".devt/state/scratchpad.md";

fn review(n: usize) -> String {
    format!(".devt/state/review-part-{n}.md")
}

fn change(n: usize) -> String {
    format!("openspec/changes/change-{n}/tasks.md")
}

/// A project with so many files, so long after a look that nothing is in doubt.
fn known(program: &std::path::Path, n_files: usize, file: fn(usize) -> String) -> Sandbox {
    let sandbox = Sandbox::new();
    for n in 0..n_files {
        sandbox.write(&file(n), "## 1. Part\n");
    }
    sandbox.write(SCRATCHPAD, "x\n");
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(300));
        let make = sandbox.by("Explore", sandbox.bash_event("make"));
        run(&sandbox, make).calls(program, &["hook"]);
    }
    sandbox
}

fn run(sandbox: &Sandbox, event: serde_json::Value) -> Run<'_> {
    let event = event.to_string();
    Run { sandbox, event }
}

/// What there may be many of: how many are compared, and the most system calls and instructions
/// that a look may take for one more. Of a change they are for its directory and its file.
type Many = (&'static str, [usize; 3], fn(usize) -> String, u64, u64);
const MANY: &[Many] = &[
    ("entries", [100, 1_000, 10_000], review, 1, 9_200),
    ("changes", [10, 100, 1_000], change, 5, 27_500),
];

/// As many calls more, whatever the number: to list a large directory takes several.
const SLACK: u64 = 40;

#[test]
fn a_look_costs_in_proportion_to_what_is_there() {
    let Some(program) = program() else { return };
    let mut over = Vec::new();
    for (what, counts, file, most_calls, most_instructions) in MANY {
        let costs = counts.map(|n| {
            let sandbox = known(&program, n, *file);
            let look = run(&sandbox, sandbox.bash_event("cargo test"));
            let calls = look.calls(&program, &["hook"]).cast_unsigned();
            (n as u64, calls, look.instructions(&program))
        });
        for pair in costs.windows(2) {
            let [(few, calls, instructions), (many, more_calls, more)] = [pair[0], pair[1]];
            let added = many - few;
            let (more_calls, each) = (more_calls - calls, (more - instructions) / added);
            eprintln!(
                "{few} to {many} {what}: {more_calls} calls; {each} of {most_instructions} instructions each"
            );
            if more_calls > most_calls * added + SLACK || each > *most_instructions {
                over.push(format!(
                    "{few} to {many} {what}: {more_calls} calls, {each} each"
                ));
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

/// Events of one file, each with the most instructions that one entry beside it may add.
const BESIDE_ENTRIES: &[(&str, u64, Event)] = &[
    ("before a Write", 420, |sandbox| {
        sandbox.write_event(SCRATCHPAD, "y\n")
    }),
    ("after a Write", 450, |sandbox| {
        sandbox.write(SCRATCHPAD, "y\n");
        let mut event = sandbox.write_event(SCRATCHPAD, "y\n");
        event["hook_event_name"] = "PostToolUse".into();
        event["tool_use_id"] = "toolu_write".into();
        event
    }),
];

#[test]
fn an_entry_costs_a_write_next_to_nothing() {
    let Some(program) = program() else { return };
    const COUNTS: [usize; 2] = [100, 10_000];
    let sandboxes = COUNTS.map(|n| known(&program, n, review));
    let mut over = Vec::new();
    for (name, most, event) in BESIDE_ENTRIES {
        let [few, many] = sandboxes
            .each_ref()
            .map(|sandbox| run(sandbox, event(sandbox)).instructions(&program));
        let each = (many - few) / (COUNTS[1] - COUNTS[0]) as u64;
        eprintln!("{name}: {each} of {most} instructions an entry");
        if each > *most {
            over.push(format!("{name}: {each} instructions an entry, not {most}"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
