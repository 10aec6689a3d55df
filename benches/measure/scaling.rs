//! What the cost depends on beside the event: the log, the directory, the
//! settings, the project's tree. Each size has a project of its own.

use anyhow::{Context, Result};
use serde_json::json;

use crate::case::{Answer, Case};
use crate::events::{call, event, write};
use crate::probe;
use crate::site::Site;

const LOG: &str = ".devt/state/preflight-denies.jsonl";
const SETTINGS: &str = ".claude/statewarden.yaml";

pub fn all(site: &Site) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for n in [0, 1_000, 100_000] {
        cases.push(logged(site, n)?);
    }
    for n in [0, 100, 10_000] {
        cases.extend(listed(site, n)?);
    }
    for n in [0, 5, 50] {
        cases.push(declared(site, n)?);
    }
    for n in [10, 100, 1_000] {
        cases.extend(planted(site, n)?);
    }
    cases.extend(configured(site)?);
    Ok(cases)
}

/// Writes where a project has settings of its own.
fn configured(site: &Site) -> Result<[Case; 3]> {
    const OWN: &str = "# Names of this project\nsystems:\n  devt:\n    extra_names: [retro.md, \"api notes.md\"]\n    \
                       extra_globs:\n      - \"adr-*.md\"\nlog:\n  max_bytes: 1048576\n";
    site.prepare("settings", SETTINGS, OWN)?;
    site.prepare("settings", ".devt/state/scratchpad.md", "")?;
    site.prepare("settings", "src/parser.rs", "")?;
    Ok([
        ("unrelated", "src/parser.rs", Answer::Silence),
        ("allowed", ".devt/state/scratchpad.md", Answer::Silence),
        ("denied", ".devt/state/notes.md", Answer::Deny),
    ]
    .map(|(kind, below, answer)| {
        let name = format!("{kind} Write, own settings");
        Case::hook(&name, &write(site, below, 300), answer).moved(site, "settings")
    }))
}

/// A denial behind `n` earlier ones.
fn logged(site: &Site, n: usize) -> Result<Case> {
    let project = format!("log-{n}");
    site.prepare(&project, SETTINGS, "log: { max_bytes: 1073741824 }\n")?;
    site.prepare(&project, ".devt/state/scratchpad.md", "")?;
    let event = write(site, ".devt/state/notes.md", 300);
    let name = format!("denied Write, log of {n} records");
    let case = Case::hook(&name, &event, Answer::Deny).moved(site, &project);
    probe::output(&case, site)?;
    let log = site.beside(&project).join(LOG);
    let record = std::fs::read_to_string(log).context("the denial is in the log")?;
    site.prepare(&project, LOG, &record.repeat(n))?;
    Ok(case)
}

/// Calls before and after which `n` entries stand in the directory.
fn listed(site: &Site, n: usize) -> Result<[Case; 2]> {
    let project = format!("directory-{n}");
    for i in 0..n {
        let name = format!(".devt/state/review-part-{i}.md");
        site.prepare(&project, &name, "# Review\n")?;
    }
    site.prepare(&project, ".devt/state/scratchpad.md", "")?;
    let after = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_01A", "duration_ms": 12,
        "tool_input": { "command": "cargo test" },
        "tool_response": { "stdout": "ok\n", "stderr": "", "interrupted": false },
    });
    let after = event(site, "PostToolUse", after);
    let before = write(site, ".devt/state/scratchpad.md", 300);
    Ok(
        [("after Bash", after), ("allowed Write", before)].map(|(name, event)| {
            let name = format!("{name}, directory of {n} entries");
            Case::hook(&name, &event, Answer::Silence).moved(site, &project)
        }),
    )
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
        let event = call(site, "Bash", json!({ "command": command }));
        let name = format!("Bash, {kind}, {n} directories");
        Case::hook(&name, &event, Answer::Silence).moved(site, &project)
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
    site.prepare(&project, ".devt/state/scratchpad.md", "")?;
    let event = write(site, ".devt/state/scratchpad.md", 300);
    let name = format!("allowed Write, {n} declared systems");
    Ok(Case::hook(&name, &event, Answer::Silence).moved(site, &project))
}
