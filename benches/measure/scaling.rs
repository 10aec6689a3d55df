//! What the cost depends on beside the event: the logs, the entries, the changes, the
//! settings, the project's tree. Each size has a project of its own.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::case::{Answer, Case, KIB};
use crate::cases::{agent_end, review_run};
use crate::events::{call, event, write};
use crate::probe;
use crate::site::Site;

const SETTINGS: &str = ".claude/statewarden.yaml";
const SCRATCHPAD: &str = ".devt/state/scratchpad.md";

pub fn all(site: &Site) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for mib in [0, 10] {
        cases.extend(logged(site, mib)?);
    }
    for n in [0, 60, 100, 1_000, 10_000] {
        cases.extend(listed(site, n)?);
    }
    for n in [10, 100, 1_000] {
        cases.extend(changed(site, n)?);
    }
    for n in [0, 5, 50] {
        cases.push(declared(site, n)?);
        cases.extend(contracted(site, n)?);
    }
    for n in [10, 100, 1_000] {
        cases.extend(planted(site, n)?);
    }
    cases.extend(configured(site)?);
    Ok(cases)
}

fn bash(site: &Site, command: &str) -> Value {
    call(site, "Bash", json!({ "command": command }))
}

fn after_bash(site: &Site) -> Value {
    let rest = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_01A", "duration_ms": 12,
        "tool_input": { "command": "cargo test" },
        "tool_response": { "stdout": "ok\n", "stderr": "", "interrupted": false },
    });
    event(site, "PostToolUse", rest)
}

fn after_write(site: &Site) -> Value {
    let path = site.path(SCRATCHPAD);
    let rest = json!({
        "tool_name": "Write", "tool_use_id": "toolu_01A", "duration_ms": 2,
        "tool_input": { "file_path": path, "content": "" },
        "tool_response": { "type": "update", "filePath": path, "content": "" },
    });
    event(site, "PostToolUse", rest)
}

/// Writes where a project has settings of its own.
fn configured(site: &Site) -> Result<[Case; 3]> {
    const OWN: &str = "# Names of this project\nsystems:\n  devt:\n    extra_names: [retro.md, \"api notes.md\"]\n    \
                       extra_globs:\n      - \"adr-*.md\"\nlog:\n  max_bytes: 1048576\n";
    site.prepare("settings", SETTINGS, OWN)?;
    site.prepare("settings", SCRATCHPAD, "")?;
    site.prepare("settings", "src/parser.rs", "")?;
    Ok([
        ("unrelated", "src/parser.rs", Answer::Silence),
        ("allowed", SCRATCHPAD, Answer::Silence),
        ("denied", ".devt/state/notes.md", Answer::Deny),
    ]
    .map(|(kind, below, answer)| {
        let name = format!("{kind} Write, own settings");
        Case::hook(&name, &write(site, below, 300), answer).moved(site, "settings")
    }))
}

/// Events where each log holds so many MiB, of records that another session left.
fn logged(site: &Site, mib: usize) -> Result<[Case; 2]> {
    let project = format!("logs-{mib}");
    site.prepare(&project, SETTINGS, "log: { max_bytes: 1073741824 }\n")?;
    site.prepare(&project, SCRATCHPAD, "")?;
    fill_logs(site, &project)?;
    let folders = [
        ".devt/state",
        ".claude/statewarden",
        ".git/statewarden",
        ".git/statewarden/logs",
    ];
    for folder in folders {
        grow_logs(&site.beside(&project).join(folder), mib * KIB * KIB)?;
    }
    let denied = write(site, ".devt/state/notes.md", 300);
    Ok([
        ("denied Write", denied, Answer::Deny),
        ("after allowed Write", after_write(site), Answer::Silence),
    ]
    .map(|(name, event, answer)| {
        let name = format!("{name}, logs of {mib} MiB");
        Case::hook(&name, &event, answer).moved(site, &project)
    }))
}

/// Has a session write into every log: a denial, a change that was seen, a gate.
fn fill_logs(site: &Site, project: &str) -> Result<()> {
    let (state, run) = review_run();
    site.prepare(project, state, &run)?;
    let say = |event: &Value| {
        // What another session did is nothing to the events that are measured.
        let mut event = event.clone();
        event["session_id"] = "11111111-2222-4333-8444-555555555555".into();
        let case = Case::hook("fills the logs", &event, Answer::Any).moved(site, project);
        probe::output(&case, site)
    };
    say(&event(site, "SessionStart", json!({ "source": "startup" })))?;
    say(&write(site, ".devt/state/notes.md", 300))?;
    say(&bash(site, "cargo test"))?;
    site.prepare(project, ".devt/state/review-log.md", "# Review\n")?;
    say(&after_bash(site))?;
    say(&agent_end(site, "agent-flow:Lawliet", 300))?;
    Ok(())
}

/// Repeats what the logs of a folder hold until each has at least so many bytes.
fn grow_logs(folder: &Path, len: usize) -> Result<()> {
    // Builds until 0.2.0 have no such memory.
    for file in fs::read_dir(folder).into_iter().flatten() {
        let log = file?.path();
        if log.extension().is_some_and(|ending| ending == "jsonl") {
            let records = fs::read_to_string(&log)?;
            fs::write(
                &log,
                records.repeat(len.div_ceil(records.len().max(1)).max(1)),
            )?;
        }
    }
    Ok(())
}

/// Both hooks of a command that runs programs, in a project.
fn around_bash(site: &Site, project: &str, of: &str) -> [Case; 2] {
    let before = bash(site, "cargo test");
    let hook = |name: &str, event| Case::hook(&format!("{name}, {of}"), event, Answer::Silence);
    [
        hook("Bash that runs programs", &before),
        hook("after Bash", &after_bash(site)).after(&before),
    ]
    .map(|case| case.moved(site, project))
}

/// Calls where `n` entries stand in the directory.
fn listed(site: &Site, n: usize) -> Result<Vec<Case>> {
    let project = format!("entries-{n}");
    for i in 0..n {
        let name = format!(".devt/state/review-part-{i}.md");
        site.prepare(&project, &name, "# Review\n")?;
    }
    site.prepare(&project, SCRATCHPAD, "")?;
    let writes = [
        ("allowed Write", write(site, SCRATCHPAD, 300)),
        ("after allowed Write", after_write(site)),
    ]
    .map(|(name, event)| {
        let name = format!("{name}, {n} entries");
        Case::hook(&name, &event, Answer::Silence).moved(site, &project)
    });
    let commands = around_bash(site, &project, &format!("{n} entries"));
    Ok(writes.into_iter().chain(commands).collect())
}

/// Calls where `n` OpenSpec changes are under way, a command that moves all of them, and an agent's
/// end; and one where as many are archived.
fn changed(site: &Site, n: usize) -> Result<Vec<Case>> {
    const TASKS: &str = "## 1. One\n\n- [x] 1.1 A\n";
    let (project, archived) = (format!("changes-{n}"), format!("archived-{n}"));
    for i in 0..n {
        let tasks = format!("openspec/changes/change-{i}/tasks.md");
        site.prepare(&project, &tasks, TASKS)?;
        let tasks = format!("openspec/changes/archive/2026-01-01-change-{i}/tasks.md");
        site.prepare(&archived, &tasks, TASKS)?;
        let tasks = format!("openspec/changes/change-{}/tasks.md", i % 10);
        site.prepare(&archived, &tasks, TASKS)?;
    }
    let all_moved = "mv openspec/changes/change-* openspec/changes/archive/";
    let end = agent_end(site, "Explore", 300);
    let others = [
        (
            &project,
            "Bash that moves all, changes",
            bash(site, all_moved),
        ),
        (&project, "SubagentStop, changes", end.clone()),
        (&archived, "SubagentStop, archived changes", end),
    ]
    .map(|(project, name, event)| {
        let name = name.replace("changes", &format!("{n} changes"));
        Case::hook(&name, &event, Answer::Silence).moved(site, project)
    });
    let around = around_bash(site, &project, &format!("{n} changes"));
    Ok(around.into_iter().chain(others).collect())
}

/// Calls that are not about any of `n` contracts in files.
fn contracted(site: &Site, n: usize) -> Result<[Case; 2]> {
    let project = format!("contracts-{n}");
    for i in 0..n {
        let text = format!(
            "systems:\n  plan-{i}:\n    site: [.plan-{i}, \"docs/plans-{i}/*\"]\n    open: near\n    \
             canonical: [PROJECT.md, STATE.md, config.json]\n    \
             patterns: [\"phases/*/*-PLAN.md\", \"step-[0-9]*.md\"]\n    \
             content: {{config.json: json}}\n"
        );
        site.prepare(&project, &format!(".claude/statewarden.d/c{i}.yaml"), &text)?;
    }
    site.prepare(&project, "src/parser.rs", "")?;
    site.prepare(&project, SCRATCHPAD, "")?;
    Ok([
        ("unrelated Write", write(site, "src/parser.rs", 300)),
        ("Bash that runs programs", bash(site, "cargo test")),
    ]
    .map(|(name, event)| {
        let name = format!("{name}, {n} contracts");
        Case::hook(&name, &event, Answer::Silence).moved(site, &project)
    }))
}

/// Commands over a tree of `n` directories.
fn planted(site: &Site, n: usize) -> Result<[Case; 3]> {
    let project = format!("tree-{n}");
    for i in 0..n {
        site.prepare(&project, &format!("part-{}/{i}/a.rs", i / 10), "")?;
    }
    Ok([
        ("find to read", "find . -name '*.rs' | sort | head -30"),
        (
            "find to edit",
            "find . -name '*.rs' | xargs sed -i 's/a/b/'",
        ),
        ("removal of trees", "rm -rf part-*/"),
    ]
    .map(|(kind, command)| {
        let name = format!("Bash, {kind}, {n} directories");
        Case::hook(&name, &bash(site, command), Answer::Silence).moved(site, &project)
    }))
}

/// An allowed write where the settings declare `n` systems more.
fn declared(site: &Site, n: usize) -> Result<Case> {
    let project = format!("systems-{n}");
    let system = |i| {
        format!(
            "  notes-{i}:\n    site: docs/notes-{i}\n    canonical: [index.md]\n    patterns: [\"note-[0-9]*.md\"]\n"
        )
    };
    let settings: String = (0..n).map(system).collect();
    if n > 0 {
        site.prepare(&project, SETTINGS, &format!("systems:\n{settings}"))?;
    }
    site.prepare(&project, SCRATCHPAD, "")?;
    let event = write(site, SCRATCHPAD, 300);
    let name = format!("allowed Write, {n} declared systems");
    Ok(Case::hook(&name, &event, Answer::Silence).moved(site, &project))
}
