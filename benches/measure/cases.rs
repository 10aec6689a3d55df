//! What is measured: every class of event at every size it comes in.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::case::{Answer, Case, KIB, Program, size};
use crate::events::{SHAPES, call, code, command, event, long, steps, usual, write};
use crate::site::Site;

const SIZES: [usize; 5] = [300, 10 * KIB, 100 * KIB, KIB * KIB, 5 * KIB * KIB];

/// Each with the words that make it print its own path, since the one on `PATH`
/// may be a slow stand-in.
const PEERS: [(&str, &str, &[&str]); 3] = [
    ("bash", "devt.sh", &["-c", "echo $BASH"]),
    (
        "python3",
        "devt.py",
        &["-c", "import sys; print(sys.executable)"],
    ),
    ("node", "devt.js", &["-p", "process.execPath"]),
];

const STATE: &str = ".claude/orchestration.local.md";
const RUNS: &str = ".git/statewarden/runs.json";
const FLOW: &str =
    include_str!("../../tests/fixtures/agent-flow/04-orchestration-after-implementation-passed.md");

/// `installed` are hooks of others: a name and a command line each.
pub fn all(site: &Site, installed: &[(String, String)]) -> Vec<Case> {
    let peers: Vec<_> = PEERS
        .iter()
        .filter_map(|(name, script, itself)| {
            Some((
                *name,
                Program::Peer(path_of(name, itself)?, vec![script_of(script)]),
            ))
        })
        .collect();
    let mut cases: Vec<_> = installed
        .iter()
        .flat_map(|(name, line)| installed_peer(site, name, line))
        .collect();
    for len in SIZES {
        cases.extend(writes(site, len, &peers));
        cases.extend(calls(site, len));
        cases.extend(moments(site, len));
    }
    cases.extend(starts(site));
    cases.extend(commands(site));
    cases
}

fn script_of(script: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(script);
    path.to_string_lossy().into_owned()
}

/// What a hook of others takes for the common events, whatever it answers.
fn installed_peer(site: &Site, name: &str, line: &str) -> Vec<Case> {
    let bash = |command: &str| call(site, "Bash", json!({ "command": command }));
    let mut words = line.split_whitespace().map(str::to_owned);
    let program = Program::Peer(words.next().unwrap_or_default(), words.collect());
    [
        ("unrelated Write", write(site, "src/module/new.rs", 300)),
        (
            "allowed Write",
            write(site, ".devt/state/scratchpad.md", 300),
        ),
        ("denied Write", write(site, ".devt/state/notes.md", 300)),
        (
            "git Bash",
            bash("git status --short && git diff --stat HEAD~1"),
        ),
        (
            "unrelated Bash",
            bash("cargo test --workspace 2>&1 | tail -n 40"),
        ),
    ]
    .into_iter()
    .map(|(what, event)| Case {
        program: program.clone(),
        ..Case::hook(&format!("{name}: {what}"), &event, Answer::Any)
    })
    .collect()
}

fn path_of(interpreter: &str, itself: &[&str]) -> Option<String> {
    let output = Command::new(interpreter).args(itself).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// A write by what becomes of it, for us, for a process that does nothing, and for the peers.
fn writes(site: &Site, len: usize, peers: &[(&str, Program)]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, below, answer) in [
        ("unrelated Write", "src/module/new.rs", Answer::Silence),
        (
            "allowed Write",
            ".devt/state/scratchpad.md",
            Answer::Silence,
        ),
        ("denied Write", ".devt/state/notes.md", Answer::Deny),
    ] {
        let event = write(site, below, len);
        if cases.is_empty() {
            cases.push(Case {
                program: Program::Floor,
                ..Case::hook("floor", &event, Answer::Silence)
            });
        }
        cases.push(Case::hook(name, &event, answer));
        for (peer, program) in peers {
            cases.push(Case {
                program: program.clone(),
                ..Case::hook(&format!("{peer}: {name}"), &event, answer)
            });
        }
    }
    cases
}

/// Calls of other tools. A command is not longer than the kernel takes.
fn calls(site: &Site, len: usize) -> Vec<Case> {
    const LONGEST: usize = 100 * KIB;
    let text = code(len.saturating_sub(600));
    let edit = json!({
        "file_path": site.path("src/module/parser.rs"), "old_string": "main", "new_string": text,
    });
    let after = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_01A", "duration_ms": 12,
        "tool_input": { "command": "cargo test" },
        "tool_response": { "stdout": text, "stderr": "", "interrupted": false },
    });
    let unrelated = "cargo test --workspace 2>&1 | tail -n 40\n";
    let silent = |name: &str, event| Case::hook(name, &event, Answer::Silence);
    let bash = |command| call(site, "Bash", json!({ "command": command }));
    let mut cases = vec![
        silent(
            "unrelated tool",
            call(site, "TodoWrite", json!({ "todos": [{ "content": text }] })),
        ),
        silent("unrelated Edit", call(site, "Edit", edit)),
        silent("after Bash", event(site, "PostToolUse", after))
            .after(&bash("cargo test".to_owned())),
    ];
    if len <= LONGEST {
        cases.push(silent(
            "unrelated Bash",
            bash(unrelated.repeat(len / unrelated.len())),
        ));
        cases.push(silent("Bash parsed", bash(command(len))));
    }
    cases
}

/// The agent whose end moves a gate.
const REVIEWER: &str = "agent-flow:Lawliet";

/// The start of an agent; its end follows.
fn agent_start(site: &Site, agent: &str) -> Value {
    let rest = json!({ "agent_id": "a-1", "agent_type": agent });
    event(site, "SubagentStart", rest)
}

/// The end of an agent whose reply is a report of about `len` bytes.
pub fn agent_end(site: &Site, agent: &str, len: usize) -> Value {
    let rest = json!({
        "agent_id": "a-1", "agent_type": agent, "stop_hook_active": false,
        "last_assistant_message":
            format!("{}\n### Verdict: APPROVED\n", code(len.saturating_sub(600))),
    });
    event(site, "SubagentStop", rest)
}

/// The state file of a run that waits for a review, and its text.
pub fn review_run() -> (&'static str, String) {
    let review = FLOW.replacen(
        "current_phase: \"implementation\"",
        "current_phase: \"review\"",
        1,
    );
    (STATE, review)
}

fn moments(site: &Site, len: usize) -> Vec<Case> {
    let (state, review) = review_run();
    let end = |name: &str, agent| Case::hook(name, &agent_end(site, agent, len), Answer::Silence);
    vec![
        end("SubagentStop, no gate", "Explore").with(state, None),
        end("SubagentStop, gate change", REVIEWER)
            .after(&agent_start(site, REVIEWER))
            .with(state, Some(&review))
            .with(RUNS, None)
            // Where builds until 0.2.0 keep it.
            .with(".claude/statewarden/runs.json", None),
    ]
}

/// The start of a session, whose event has one size.
fn starts(site: &Site) -> Vec<Case> {
    let start = |source: &str| event(site, "SessionStart", json!({ "source": source }));
    vec![
        Case::hook("SessionStart, no run", &start("startup"), Answer::Any).with(STATE, None),
        Case::hook("SessionStart, a run", &start("resume"), Answer::Context)
            .with(STATE, Some(FLOW)),
    ]
}

/// Commands whose analysis costs differ, and calls without a size.
fn commands(site: &Site) -> Vec<Case> {
    let silent = |name: &str, event| Case::hook(name, &event, Answer::Silence);
    let bash = |name: &str, command: String| {
        silent(name, call(site, "Bash", json!({ "command": command })))
    };
    let read = json!({ "file_path": site.path("src/a.rs") });
    let unrelated = "cargo test --workspace 2>&1 | tail -n 40\n";
    let mut cases = vec![
        silent("unrelated Read", call(site, "Read", read)),
        bash(
            "git Bash",
            "git status --short && git diff --stat HEAD~1".to_owned(),
        ),
        bash(
            "unrelated Bash, 20 KiB",
            unrelated.repeat(20 * KIB / unrelated.len()),
        ),
    ];
    for len in [KIB, 20 * KIB, 64 * KIB] {
        cases.push(bash(&format!("Bash parsed, {}", size(len)), command(len)));
    }
    cases.push(bash("Bash, the steps of an agent, 1 KiB", steps()));
    cases.extend(usual().map(|(name, command)| bash(&format!("Bash, a {name}"), command)));
    let heredoc = format!("cat > /dev/null <<'EOF'\n{}EOF\n", code(64 * KIB));
    cases.push(bash("Bash here-document, 64 KiB", heredoc));
    cases.extend(long().map(|(name, command)| bash(&format!("Bash, {name}, 64 KiB"), command)));
    cases.extend(SHAPES.map(|(name, before, line, after)| {
        let lines = line.repeat(64 * KIB / line.len());
        bash(
            &format!("Bash {name}, 64 KiB"),
            format!("{before}{lines}{after}"),
        )
    }));
    cases
}
