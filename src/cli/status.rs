//! `status`: every workflow of every system, with its gates.

use anyhow::{Result, bail};
use serde::Serialize;

use super::global::{SwitchedOff, say_switched_off};
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::SiteRuns;
use crate::project::sites;
use crate::systems::workflow::{Gate, GateStatus, Workflow};
use crate::systems::{groups, own};

#[derive(Debug, Serialize)]
struct Document {
    systems: Vec<Workflow>,
    /// State files that cannot be read, and why.
    problems: Vec<String>,
    /// The systems that were not looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<SwitchedOff>,
}

pub(crate) fn run(context: &CliContext<'_>) -> Result<Answer> {
    let settings = &context.rules.settings;
    let without_gates = |id: &str| {
        let declared = settings.system(id).declared.as_ref();
        declared.is_some_and(|declared| declared.gates.is_empty())
    };
    if let Some(id) = context.system
        && (id == own::ID || without_gates(id))
    {
        bail!("`status` does not apply to {id}: it has no workflow");
    }
    let log = GateLog::read(&context.project, u64::MAX);
    let registry = context.wanted_systems()?;
    let sites = sites::all(&context.project, &registry);
    let runs = SiteRuns::of(&sites, &log);
    let document = Document {
        systems: runs.readable,
        problems: runs.problems,
        switched_off: context.all_switched_off(),
    };
    context.show(&document)
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        let is_empty = self.systems.is_empty() && self.problems.is_empty();
        if is_empty && self.switched_off.is_empty() {
            writeln!(page, "{}", page.context.without_sites());
        }
        self.systems.iter().for_each(|run| say_run(run, page));
        for problem in &self.problems {
            writeln!(page, "{}", page.paint.red(problem));
        }
        say_switched_off(&self.switched_off, page);
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.problems.is_empty())
    }
}

/// One run for a person: a closed one in a line, an active one with its gates.
pub(super) fn say_run(run: &Workflow, page: &mut Page<'_>) {
    let dir = run.file.strip_suffix("/tasks.md");
    let change = dir.and_then(|dir| dir.rsplit('/').next());
    let title = match change.filter(|_| run.system == groups::ID) {
        Some(change) => format!("{} {change}  {}", run.system, run.file),
        None => format!("{}  {}", run.system, run.file),
    };
    let title = page.paint.bold(&title);
    if !run.active {
        let next = run.next.trim_start_matches("nothing: ");
        return writeln!(page, "{title}  {}", page.paint.dim(next));
    }
    writeln!(page, "{title}");
    let round = match (run.iteration, run.max_iterations) {
        (Some(n), Some(max)) => format!(", iteration {n} of {max}"),
        (Some(n), None) => format!(", iteration {n}"),
        (None, _) => String::new(),
    };
    writeln!(
        page,
        "  phase {}{round}",
        run.phase.as_deref().unwrap_or("none")
    );
    let width = |gate: &Gate| gate.name.chars().count();
    let width = run.gates.iter().map(width).max().unwrap_or_default();
    for gate in &run.gates {
        let word = match gate.status {
            GateStatus::Passed => page.paint.green(gate.label()),
            GateStatus::Failed => page.paint.red(gate.label()),
            GateStatus::InProgress => page.paint.bold(gate.label()),
            GateStatus::Pending | GateStatus::Skipped => page.paint.dim(gate.label()),
        };
        let about = [gate.agent.as_deref(), gate.timestamp.as_deref()];
        let about = about.into_iter().flatten().collect::<Vec<_>>().join(", ");
        writeln!(page, "  {:<width$}  {word:<11}  {about}", gate.name);
    }
    writeln!(page, "  next: {}", run.next);
}
