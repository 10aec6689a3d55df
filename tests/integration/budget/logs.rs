//! What the logs hold costs no event anything, counted.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Event, Run, end_of, known, program};
use crate::recorder::{after, begin};
use crate::support::{DENIES, DEVT, EVENTS, GATES, Sandbox};

/// How long each log is made: more than a hook reads of its end, rotated generations aside.
const LEN: usize = 600_000;

/// The most instructions that all logs together may add, in thousands: their ends are compared
/// with what was written into them, and a text is looked for in them. To parse one would take
/// ten times as many.
const MOST: u64 = 5_500;

const FLOW: &str =
    include_str!("../../fixtures/agent-flow/04-orchestration-after-implementation-passed.md");

type Numbered = fn(usize) -> Value;

/// Records of other sessions, runs, files and agents, `n` being a number of its own.
const RECORDS: [(&str, Numbered); 4] = [
    (GATES, |n| {
        json!({
            "prev": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "id": format!("0661-{n}"), "ts": "2025-01-02T03:04:05.678Z", "system": "agent-flow",
            "file": ".claude/other.local.md", "gate": "review", "from": "pending",
            "to": "passed", "phase": "review", "iteration": 1, "agent_type": "agent-flow:Lawliet",
            "agent_id": format!("a-{n}"), "session_id": format!("session-{n}"),
            "evidence": "### Verdict: APPROVED",
            "proof": [{ "kind": "verdict", "line": "### Verdict: APPROVED", "at": "reply" }],
        })
    }),
    (EVENTS, |n| {
        json!({
            "v": 1, "id": format!("0662-{n}"), "ts": "2025-01-02T03:04:05.678Z",
            "source": "statewarden", "rule": "ad-hoc-name",
            // Each session begins with one.
            "decision": if n % 50 == 0 { "heartbeat" } else { "detected" },
            "reason": "the contract of devt knows no name `notes.md`", "name": "notes.md",
            "session_id": format!("session-{n}"), "tool_use_id": format!("toolu_{n}"),
        })
    }),
    (DENIES, denial),
    (DEVT, denial),
];

fn denial(n: usize) -> Value {
    json!({
        "v": 1, "id": format!("0663-{n}"), "ts": "2025-01-02T03:04:05.678Z",
        "source": "statewarden", "decision": "deny", "rule": "ad-hoc-name", "system": "devt",
        "tool": "Write", "file_path": format!("/elsewhere/.devt/state/notes-{n}.md"),
        "reason": "the contract of devt knows no name `notes.md`", "name": "notes.md",
        "session_id": format!("session-{n}"), "tool_use_id": format!("toolu_{n}"),
    })
}

fn change(n: usize) -> Value {
    json!({
        "v": 1, "id": format!("0664-{n}"), "ts": "2025-01-02T03:04:05.678Z",
        "path": format!("/elsewhere/.devt/state/review-{n}.md"), "act": "create",
        "actor": "code-reviewer", "tool": "Write", "tool_use_id": format!("toolu_{n}"),
        "session_id": format!("session-{n}"), "agent_id": format!("a-{n}"), "before": null,
        "after": "1eb90885f30b138dce22d9a79a9babdcb09301bb", "size": 1882, "decision": "allowed",
        "certain": true,
    })
}

fn fill(sandbox: &Sandbox) {
    let text = |record: fn(usize) -> Value| super::numbered(LEN, |n| format!("{}\n", record(n)));
    let memory = sandbox.memory();
    for (log, record) in RECORDS {
        sandbox.write(log, &text(record));
        if log != DEVT {
            let name = log.rsplit('/').next().unwrap();
            fs::write(memory.join("logs").join(name), text(record)).unwrap();
        }
    }
    fs::write(memory.join("changes.jsonl"), text(change)).unwrap();
}

const EVENTS_OF_ALL_KINDS: &[(&str, Event)] = &[
    ("Write in a site", |sandbox| {
        sandbox.write_event(".devt/state/scratchpad.md", "x\n")
    }),
    ("denied Write", |sandbox| {
        sandbox.write_event(".devt/state/notes.md", "x\n")
    }),
    ("after a Write in a site", |sandbox| {
        let running = begin(sandbox, "main", "cargo test");
        sandbox.write(".devt/state/scratchpad.md", "x\n");
        let mut event = after(&running);
        let write = sandbox.write_event(".devt/state/scratchpad.md", "x\n");
        event["tool_name"] = write["tool_name"].clone();
        event["tool_input"] = write["tool_input"].clone();
        event
    }),
    ("before Bash", |sandbox| sandbox.bash_event("cargo test")),
    ("after Bash", super::after_bash),
    ("end of a turn", |sandbox| sandbox.event_of("Stop")),
    ("a prompt", |sandbox| sandbox.event_of("UserPromptSubmit")),
    ("start of an agent", |sandbox| {
        let mut event = end_of(sandbox, "Explore", "");
        event["hook_event_name"] = "SubagentStart".into();
        event
    }),
    ("end of an agent without a gate", |sandbox| {
        end_of(sandbox, "Explore", "Done.")
    }),
    ("end of an agent with a gate", |sandbox| {
        sandbox.write(".claude/orchestration.local.md", FLOW);
        end_of(sandbox, "agent-flow:Lawliet", "### Verdict: APPROVED")
    }),
    ("start of a session", |sandbox| {
        sandbox.event_of("SessionStart")
    }),
    ("start of a session within a run", |sandbox| {
        sandbox.write(".claude/orchestration.local.md", FLOW);
        sandbox.event_of("SessionStart")
    }),
    ("end of a session", |sandbox| sandbox.event_of("SessionEnd")),
];

#[test]
fn what_the_logs_hold_costs_no_event_anything() {
    let Some(program) = program() else { return };
    let mut over = Vec::new();
    for (name, event) in EVENTS_OF_ALL_KINDS {
        let [empty, full] = [false, true].map(|is_full| {
            let sandbox = Sandbox::new();
            sandbox.write(".devt/state/plan.md", "# Plan\n");
            known(&sandbox);
            if is_full {
                fill(&sandbox);
            }
            // The look that finds what was filled in.
            known(&sandbox);
            let event = event(&sandbox).to_string();
            // Those of the build that is measured: on another C library files have other times.
            let other = sandbox.by("Explore", sandbox.bash_event("make"));
            let runs = [&other.to_string(), &other.to_string(), &event].map(|event| Run {
                event: event.clone(),
                sandbox: &sandbox,
            });
            let [.., cost] = runs.map(|run| {
                std::thread::sleep(Duration::from_millis(100));
                run.instructions(&program) / 1_000
            });
            cost
        });
        eprintln!("{name}: {empty} k, and {full} k with full logs");
        if full > empty + MOST {
            over.push(format!("{name}: {empty} k, and {full} k with full logs"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
