//! `statusline`: the run that is under way, in the one line that Claude Code shows below a
//! session.

use std::io::{self, IsTerminal as _, Read as _};

use anyhow::Result;
use serde_json::Value;

use super::{Answer, CliContext, output};
use crate::base::disk::bounded_read;
use crate::lifecycle::agents::roles;
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
    let state: Value = serde_json::from_slice(&input).unwrap_or_default();
    let session = state["session_id"].as_str().unwrap_or_default();
    let project_dir = state["workspace"]["project_dir"].as_str();
    let dir = project_dir.map_or_else(|| context.here(), str::to_owned);
    if let Some(line) = context.at(&dir, |there| line(there, session)) {
        context.print(&(output::printable(&line) + "\n"));
    }
    Ok(Answer::Yes)
}

/// What to paste, with the path of this very program.
fn explain() -> Result<String> {
    let path = std::env::current_exe()?;
    let program = path.display();
    Ok(format!(
        "Claude Code runs this; it gives a line while a workflow is under way. In its settings:\n\
         \n  \"statusLine\": {{ \"type\": \"command\", \"command\": \"{program} statusline\" }}\n\
         \nIn a status line script of yours, which has read its input into a variable:\n\
         \n  printf '%s' \"$input\" | {program} statusline\n"
    ))
}

/// The denials of the session, which are what a reader can do something about, then the
/// runs; `None` where nothing is under way.
fn line(context: &CliContext<'_>, session: &str) -> Option<String> {
    let around = context.hook_context();
    let sites = roles::shown_sites(&around);
    let log = GateLog::read(&context.project, RECENT);
    let runs = SiteRuns::of(&sites, around.registry, &log);
    let mut parts: Vec<String> = runs.current().map(summary).collect();
    match runs.problems.len() {
        0 => {}
        1 => parts.insert(0, "a state file cannot be read".to_owned()),
        n => parts.insert(0, format!("{n} state files cannot be read")),
    }
    if parts.is_empty() {
        return None;
    }
    match denials(&sites, context, session) {
        0 => {}
        n => parts.insert(0, format!("{n} denied")),
    }
    Some(parts.join(" · "))
}

fn summary(run: &Workflow) -> String {
    let phase = run.phase.as_deref().unwrap_or("no phase");
    let mut line = match run.change().or(run.directory.as_deref()) {
        Some(change) => format!("{change}: {phase}"),
        None => format!("{}: {phase}", run.system),
    };
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

/// How many calls of the session were denied, by the ends of the logs.
fn denials(sites: &[Site<'_>], context: &CliContext<'_>, session: &str) -> usize {
    let of_devt = sites.iter().filter(|site| site.governed.id() == devt::ID);
    let devt_logs = of_devt.map(|site| Logs::devt(site.dir().as_ref()));
    let (mut n, mut seen) = (0, read::Seen::default());
    for log in devt_logs.chain([context.project.logs().denies()]) {
        // `doctor` reports a log that cannot be read.
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
