//! `statusline`: the run that is under way, in the one line that Claude Code shows below a
//! session.

use std::io::{self, IsTerminal as _, Read as _};

use anyhow::Result;
use serde_json::Value;

use super::{Answer, CliContext, output};
use crate::base::disk::bounded_read;
use crate::lifecycle::evidence::{GateLog, RECENT};
use crate::lifecycle::gates::SiteRuns;
use crate::log::append::Logs;
use crate::log::read;
use crate::project::sites::Site;
use crate::systems::devt;
use crate::systems::workflow::{GateStatus, Workflow};

const MAX_INPUT: u64 = 1 << 20;

/// The end of a log that is looked through, since there are 2 ms for everything.
const TAIL: u64 = 64 << 10;

pub(crate) fn run(context: &CliContext<'_>) -> Result<Answer> {
    if io::stdin().is_terminal() {
        context.print(&explain()?);
        return Ok(Answer::Yes);
    }
    let mut input = Vec::new();
    io::stdin().take(MAX_INPUT).read_to_end(&mut input)?;
    // A line without denials is better than none.
    let told: Value = serde_json::from_slice(&input).unwrap_or_default();
    let session = told["session_id"].as_str().unwrap_or_default();
    let dir = told["workspace"]["project_dir"].as_str();
    let dir = dir.map_or_else(|| context.here(), str::to_owned);
    if let Some(line) = context.at(&dir, |there| line(there, session)) {
        context.print(&(output::printable(&line) + "\n"));
    }
    Ok(Answer::Yes)
}

/// What to paste, with the path of this very program.
fn explain() -> Result<String> {
    let program = std::env::current_exe()?;
    let program = program.display();
    Ok(format!(
        "Claude Code runs this; it gives a line while a workflow is under way. In its settings:\n\
         \n  \"statusLine\": {{ \"type\": \"command\", \"command\": \"{program} statusline\" }}\n\
         \nIn a status line script of yours, which has read its input into a variable:\n\
         \n  printf '%s' \"$input\" | {program} statusline\n"
    ))
}

/// `None` where nothing is under way.
fn line(context: &CliContext<'_>, session: &str) -> Option<String> {
    let sites = context.world().sites_around();
    let log = GateLog::read(&context.project, RECENT);
    let runs = SiteRuns::of(&sites, &log).readable;
    let runs = runs.into_iter().filter(|run| run.active);
    let mut parts: Vec<String> = runs.map(|run| summary(&run)).collect();
    if parts.is_empty() {
        return None;
    }
    match denials(&sites, context, session) {
        0 => {}
        n => parts.push(format!("{n} denied")),
    }
    Some(parts.join(" · "))
}

fn summary(run: &Workflow) -> String {
    let phase = run.phase.as_deref().unwrap_or("no phase");
    let mut line = format!("{}: {phase}", run.system);
    if let (Some(n), Some(max)) = (run.iteration, run.max_iterations) {
        line += &format!(", iteration {n} of {max}");
    }
    let passed = |status| {
        run.gates
            .iter()
            .filter(|gate| gate.status == status)
            .count()
    };
    match (passed(GateStatus::Passed), run.gates.len()) {
        (_, 0) => {}
        (passed, all) => line += &format!(", {passed} of {all} gates"),
    }
    match passed(GateStatus::Failed) {
        0 => line,
        failed => format!("{line} ({failed} failed)"),
    }
}

/// How many calls of the session were denied, as far as the ends of the logs tell.
fn denials(sites: &[Site<'_>], context: &CliContext<'_>, session: &str) -> usize {
    let devt = sites.iter().filter(|site| site.governed.id() == devt::ID);
    let devt = devt.map(|site| Logs::devt(site.dir().as_ref()));
    let (mut n, mut seen) = (0, read::Seen::default());
    for log in devt.chain([context.project.logs().denies()]) {
        // A log that is not there or not readable is told of by `doctor`.
        let _ = bounded_read::tail(&log.path(), TAIL, &mut |line| {
            if line.contains(session)
                && let Ok(Some(entry)) = read::parse(line)
                && entry.is_denial()
                && entry.session_id == session
            {
                n += usize::from(seen.is_new(&entry));
            }
        });
    }
    n
}
