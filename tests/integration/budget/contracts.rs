//! What declared systems cost where they are not concerned, counted.

use std::time::Duration;

use super::{Event, Run, end_of, program};
use crate::support::Sandbox;

/// Contracts of the usual size. A project has a state directory of the first of them.
const CONTRACTS: usize = 50;

fn contract(n: usize) -> String {
    format!(
        "systems:\n  plan-{n}:\n    site: [.plan-{n}, \"docs/plans-{n}/*\"]\n    open: near\n    \
         programs: [tool-{n}]\n    canonical: [PROJECT.md, STATE.md, ROADMAP.md, config.json]\n    \
         patterns: [\"phases/*/*-PLAN.md\", \"phases/*/*-SUMMARY.md\", \"step-[0-9]*.md\"]\n    \
         owners: {{\"phases/*/*-PLAN.md\": planner-{n}, config.json: \"@program\"}}\n    content: \
         {{config.json: json, \"phases/*/*-PLAN.md\": front-matter}}\n    gates:\n      - {{name: plan, \
         agent: planner-{n}, needs: [{{file: PROJECT.md}}]}}\n      - {{name: check, agent: checker-{n}, \
         after: plan, needs: [{{verdict: PASS}}]}}\n"
    )
}

/// Events that are not about a contract, with the most thousands of instructions and the most
/// system calls that the contracts may add.
const BESIDE_CONTRACTS: &[(&str, i64, i64, Event)] = &[
    ("Write elsewhere", 1_350, 72, |sandbox| {
        sandbox.write_event("src/b.rs", "x\n")
    }),
    ("Bash that runs programs", 2_050, 178, |sandbox| {
        sandbox.bash_event("cargo test --workspace 2>&1 | tail -n 40")
    }),
    ("allowed Write of another system", 1_350, 68, |sandbox| {
        sandbox.write_event(".devt/state/scratchpad.md", "x\n")
    }),
    ("end of an agent without a gate", 2_650, 285, |sandbox| {
        end_of(sandbox, "Explore", "Done.")
    }),
];

#[test]
fn contracts_cost_little_where_they_are_not_concerned() {
    cost_little(&|sandbox| {
        for n in 0..CONTRACTS {
            sandbox.write(&format!(".claude/statewarden.d/c{n}.yaml"), &contract(n));
        }
    });
}

#[test]
fn systems_of_the_settings_cost_little_where_they_are_not_concerned() {
    cost_little(&|sandbox| {
        let systems = (0..CONTRACTS).map(|n| contract(n).replacen("systems:\n", "", 1));
        let settings = format!("systems:\n{}", systems.collect::<String>());
        sandbox.write(".claude/statewarden.yaml", &settings);
    });
}

fn cost_little(declare: &dyn Fn(&Sandbox)) {
    let Some(program) = program() else { return };
    let [without, with] = [false, true].map(|has_systems| {
        let sandbox = Sandbox::new();
        sandbox.write(".devt/state/plan.md", "# Plan\n");
        if has_systems {
            declare(&sandbox);
            sandbox.write(".plan-0/STATE.md", "x\n");
        }
        sandbox
    });
    // What was read within two seconds of a change is read again.
    std::thread::sleep(Duration::from_secs(3));
    let mut over = Vec::new();
    for (name, most_instructions, most_calls, event) in BESIDE_CONTRACTS {
        let [(before, calls_before), (after, calls)] = [&without, &with].map(|sandbox| {
            let run = Run {
                event: event(sandbox).to_string(),
                sandbox,
            };
            run.calls(&program, &["hook"]);
            let calls = run.calls(&program, &["hook"]);
            (run.instructions(&program), calls)
        });
        let thousands = (after.cast_signed() - before.cast_signed()) / 1_000;
        let calls = calls - calls_before;
        eprintln!("{name}: {thousands} of {most_instructions}, {calls} of {most_calls}");
        if thousands > *most_instructions || calls > *most_calls {
            over.push(format!(
                "{name}: {thousands} thousand instructions and {calls} calls more"
            ));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
