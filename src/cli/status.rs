//! `status`: every workflow of every system, with its gates.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use serde::Serialize;

use super::global::{SwitchedOff, write_switched_off};
use super::{Answer, CliContext, output};
use crate::base::text;
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::SiteRuns;
use crate::project::registry::Registry;
use crate::project::sites;
use crate::recorder::changes::{self, Outcome};
use crate::systems::workflow::{Gate, GateStatus, Workflow};
use crate::systems::{groups, own};

#[derive(Debug, Default, Serialize)]
struct Document {
    systems: Vec<Workflow>,
    /// State files that cannot be read, and why.
    problems: Vec<String>,
    /// The systems that were not looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<SwitchedOff>,
    /// What the recorder has on record.
    #[serde(skip_serializing_if = "Changes::is_none")]
    changes: Changes,
}

#[derive(Debug, Default, Serialize)]
struct Changes {
    total: u64,
    detected: u64,
    undone: u64,
}

impl Changes {
    fn is_none(&self) -> bool {
        self.total == 0
    }

    fn read(recorder: &Path) -> Self {
        let mut changes = Self::default();
        changes::each(recorder, &mut |change| {
            changes.total += 1;
            changes.detected += u64::from(change.decision == Outcome::Detected);
            changes.undone += u64::from(change.decision == Outcome::Undone);
        });
        changes
    }
}

pub(crate) fn run(context: &CliContext<'_>, out: &mut dyn Write) -> Result<Answer> {
    let declared = |id: &str| context.rules.settings.system(id).declared.is_some();
    if let Some(id) = context.system.as_deref()
        && (id == own::ID || declared(id))
    {
        bail!("`status` does not apply to {id}: it has no workflow");
    }
    let mut document = context.with_catalog(|registry| Ok(read(context, registry)))?;
    document.switched_off = context.all_switched_off();
    document.changes = Changes::read(&context.recorder_dir());
    context.print(out, &document, |out| write_text(&document, context, out))?;
    Ok(Answer::yes_if(document.problems.is_empty()))
}

fn read(context: &CliContext<'_>, registry: &Registry<'_>) -> Document {
    let mut document = Document::default();
    let log = GateLog::read(&context.project.logs().gates(), u64::MAX);
    for site in sites::all(&context.project, registry) {
        let runs = SiteRuns::of(&site, &context.project, &log);
        document.systems.extend(runs.readable);
        document.problems.extend(runs.problems);
    }
    document
}

fn write_text(
    document: &Document,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Document {
        systems,
        problems,
        switched_off,
        changes,
    } = document;
    if systems.is_empty() && problems.is_empty() && switched_off.is_empty() {
        writeln!(out, "{}", context.without_sites())?;
    }
    for run in systems {
        write_run(run, context, out)?;
    }
    for problem in problems {
        writeln!(out, "{}", context.paint.red(problem))?;
    }
    if !changes.is_none() {
        let recorded = text::count(changes.total, "change", "changes");
        let (detected, undone) = (changes.detected, changes.undone);
        writeln!(
            out,
            "{recorded} on record, {detected} detected, {undone} undone; `statewarden log` shows them"
        )?;
    }
    write_switched_off(switched_off, out)
}

/// One run for a person: a closed one in a line, an active one with its gates.
pub(super) fn write_run(
    run: &Workflow,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let change = run
        .file
        .strip_suffix("/tasks.md")
        .and_then(|dir| dir.rsplit('/').next());
    let title = match change.filter(|_| run.system == groups::ID) {
        Some(change) => format!("{} {change}  {}", run.system, run.file),
        None => format!("{}  {}", run.system, run.file),
    };
    let title = context.paint.bold(&title);
    if !run.active {
        let next = run.next.trim_start_matches("nothing: ");
        return writeln!(out, "{title}  {}", context.paint.dim(next));
    }
    writeln!(out, "{title}")?;
    let phase = output::printable(run.phase.as_deref().unwrap_or("none"));
    let round = match (run.iteration, run.max_iterations) {
        (Some(n), Some(max)) => format!(", iteration {n} of {max}"),
        (Some(n), None) => format!(", iteration {n}"),
        (None, _) => String::new(),
    };
    writeln!(out, "  phase {phase}{round}")?;
    let width = |gate: &Gate| gate.name.chars().count();
    let width = run.gates.iter().map(width).max().unwrap_or_default();
    for gate in &run.gates {
        write_gate(gate, width, context, out)?;
    }
    writeln!(out, "  next: {}", output::printable(&run.next))
}

fn write_gate(
    gate: &Gate,
    width: usize,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Colors are no width, so the word is padded before it gets one.
    let word = format!("{:<11}", gate.shown());
    let word = match gate.status {
        GateStatus::Passed => context.paint.green(&word),
        GateStatus::Failed => context.paint.red(&word),
        GateStatus::InProgress => context.paint.bold(&word),
        GateStatus::Pending | GateStatus::Skipped => context.paint.dim(&word),
    };
    let name = output::printable(&gate.name);
    let about = [gate.agent.as_deref(), gate.timestamp.as_deref()];
    let about = about.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let line = format!("  {name:<width$}  {word}  {}", output::printable(&about));
    writeln!(out, "{}", line.trim_end())
}
