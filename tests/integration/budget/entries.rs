//! What the entries of a site cost, counted: a look goes through all of them, a write of one file
//! reads what is known of it alone.

use std::time::Duration;

use serde_json::Value;

use super::{Event, Run, end_of, program};
use crate::support::Sandbox;

const SCRATCHPAD: &str = ".devt/state/scratchpad.md";

pub(super) fn review(n: usize) -> String {
    format!(".devt/state/review-part-{n}.md")
}

pub(super) fn change(n: usize) -> String {
    format!("openspec/changes/change-{n}/tasks.md")
}

/// Ten changes, and all others archived.
fn archived(n: usize) -> String {
    match n {
        0..10 => change(n),
        _ => format!("openspec/changes/archive/2026-01-01-change-{n}/tasks.md"),
    }
}

fn look(sandbox: &Sandbox) -> Value {
    sandbox.bash_event("cargo test")
}

fn end(sandbox: &Sandbox) -> Value {
    end_of(sandbox, "Explore", "Done.")
}

/// A project with so many files, so long after a look that nothing is in doubt.
pub(super) fn known(
    program: &std::path::Path,
    n_files: usize,
    file: fn(usize) -> String,
) -> Sandbox {
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

pub(super) fn run(sandbox: &Sandbox, event: Value) -> Run<'_> {
    let event = event.to_string();
    Run { sandbox, event }
}

/// What there may be many of, and how many are compared; an event, and the most system calls and
/// instructions that it may take for one more. Of a change they are for its directory and its file.
struct Many {
    what: &'static str,
    counts: [usize; 3],
    file: fn(usize) -> String,
    event: Event,
    most_calls: u64,
    most_instructions: u64,
}

#[rustfmt::skip]
const MANY: &[Many] = &[
    Many { what: "entries, a look", counts: [100, 1_000, 10_000], file: review, event: look, most_calls: 1, most_instructions: 9_200 },
    Many { what: "changes, a look", counts: [10, 100, 1_000], file: change, event: look, most_calls: 5, most_instructions: 27_500 },
    Many { what: "changes, an agent's end", counts: [10, 100, 1_000], file: change, event: end, most_calls: 8, most_instructions: 41_000 },
    Many { what: "archived changes, an agent's end", counts: [20, 110, 1_010], file: archived, event: end, most_calls: 3, most_instructions: 8_000 },
];

/// As many calls more, whatever the number: to list a large directory takes several.
const SLACK: u64 = 40;

#[test]
fn an_event_costs_in_proportion_to_what_is_there() {
    let Some(program) = program() else { return };
    let mut over = Vec::new();
    for many in MANY {
        let costs = many.counts.map(|n| {
            let sandbox = known(&program, n, many.file);
            let event = run(&sandbox, (many.event)(&sandbox));
            let calls = event.calls(&program, &["hook"]).cast_unsigned();
            (n as u64, calls, event.instructions(&program))
        });
        for pair in costs.windows(2) {
            let [(few, calls, instructions), (more, more_calls, costly)] = [pair[0], pair[1]];
            let (what, added) = (many.what, more - few);
            let (calls, each) = (more_calls - calls, (costly - instructions) / added);
            let found = format!("{few} to {more} {what}: {calls} calls; {each} instructions each");
            eprintln!("{found} of {}", many.most_instructions);
            if calls > many.most_calls * added + SLACK || each > many.most_instructions {
                over.push(found);
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
