//! What the entries of a site cost, counted: a look goes through all of them, a write of one file
//! reads what is known of it alone.

use std::time::Duration;

use super::{Event, Run, program};
use crate::support::Sandbox;

const FEW: usize = 100;
const MANY: usize = 10_000;

const SCRATCHPAD: &str = ".devt/state/scratchpad.md";

/// Events in a site, each with the most instructions that one entry may add.
const BESIDE_ENTRIES: &[(&str, u64, Event)] = &[
    ("before a Write", 400, |sandbox| {
        sandbox.write_event(SCRATCHPAD, "y\n")
    }),
    ("after a Write", 450, |sandbox| {
        sandbox.write(SCRATCHPAD, "y\n");
        let mut event = sandbox.write_event(SCRATCHPAD, "y\n");
        event["hook_event_name"] = "PostToolUse".into();
        event["tool_use_id"] = "toolu_write".into();
        event
    }),
    ("before Bash", 9_500, |sandbox| {
        sandbox.bash_event("cargo test")
    }),
];

#[test]
fn an_entry_costs_a_look_little_and_a_write_next_to_nothing() {
    let Some(program) = program() else { return };
    let [few, many] = [FEW, MANY].map(|n_entries| {
        let sandbox = Sandbox::new();
        for n in 0..n_entries {
            let review = format!(".devt/state/review-part-{n}.md");
            sandbox.write(&review, "# Review\n");
        }
        sandbox.write(SCRATCHPAD, "x\n");
        // The first look, and one at which nothing that it found is in doubt.
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(300));
            let make = sandbox.by("Explore", sandbox.bash_event("make"));
            let run = Run {
                event: make.to_string(),
                sandbox: &sandbox,
            };
            run.calls(&program, &["hook"]);
        }
        sandbox
    });
    let mut over = Vec::new();
    for (name, most, event) in BESIDE_ENTRIES {
        let [few, many] = [&few, &many].map(|sandbox| {
            let run = Run {
                event: event(sandbox).to_string(),
                sandbox,
            };
            run.instructions(&program)
        });
        let each = (many - few) / (MANY - FEW) as u64;
        eprintln!("{name}: {each} of {most} instructions an entry");
        if each > *most {
            over.push(format!("{name}: {each} instructions an entry, not {most}"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
