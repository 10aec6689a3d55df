//! `status`: every workflow of every system, with its gates.

use anyhow::{Result, bail};
use serde::Serialize;

use super::global::{SwitchedOff, say_switched_off};
use super::output::{Page, Show, writeln};
use super::repositories::{OtherRepository, say_repositories, set_apart};
use super::{Answer, CliContext, denies};
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::SiteRuns;
use crate::log::read::{self, Reach};
use crate::project::sites;
use crate::systems::own;
use crate::systems::workflow::{GateStatus, NextStep, Workflow};

#[derive(Debug, Serialize)]
struct StatusReport {
    systems: Vec<Workflow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repositories: Vec<OtherRepository>,
    /// State files that cannot be read, and why.
    problems: Vec<String>,
    denials: Denials,
    /// Strict mode, where it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<Strict>,
    /// The systems that were not looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<SwitchedOff>,
}

pub(crate) fn run(context: &CliContext<'_>) -> Result<Answer> {
    let settings = &context.rules.settings;
    if let Some(id) = context.system {
        let declared = settings.system(id).declared.as_ref();
        if id == own::ID || declared.is_some_and(|declared| declared.gates.is_empty()) {
            bail!("`status` does not apply to {id}: it has no workflow");
        }
    }
    let log = GateLog::read(&context.project, u64::MAX);
    let registry = context.wanted_systems()?;
    let (sites, repositories) = set_apart(sites::all(&context.project, &registry), context);
    let runs = SiteRuns::of(&sites, &registry, &log);
    let document = StatusReport {
        systems: runs.readable,
        repositories,
        problems: runs.problems.iter().map(ToString::to_string).collect(),
        denials: Denials::count(context)?,
        strict: Strict::of(context),
        switched_off: context.all_switched_off(),
    };
    context.show(&document)
}

/// Whether strict mode held in the session that started last.
#[derive(Debug, Serialize)]
struct Strict {
    in_force: bool,
    /// What kept it from being so.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Strict {
    fn of(context: &CliContext<'_>) -> Option<Self> {
        let why = context.project.state().unfenced;
        context.rules.settings.strict.then_some(Self {
            in_force: why.is_none(),
            why,
        })
    }

    fn say(&self, page: &mut Page<'_>) {
        match &self.why {
            None => writeln!(
                page,
                "strict: what cannot be judged before it runs cannot write"
            ),
            Some(why) => {
                let line = format!("strict: not in force: {why}");
                writeln!(page, "{}; see `statewarden doctor`", page.paint.red(&line));
            }
        }
    }
}

/// What the deny logs hold, without their rotated files.
#[derive(Debug, Default, Serialize)]
struct Denials {
    denied: u64,
    /// Not followed by a write of the same agent that the rules allow.
    unresolved: u64,
    /// Those that would have changed statewarden itself.
    guard: u64,
}

impl Denials {
    fn count(context: &CliContext<'_>) -> Result<Self> {
        let recoveries = denies::recoveries(context);
        let mut counts = Self::default();
        for log in denies::deny_logs(context) {
            read::entries(&log, Reach::Newest, &mut |entry, _| {
                if entry.is_denial() && context.wants(&entry.system) {
                    counts.denied += 1;
                    counts.unresolved += u64::from(!recoveries.contains_key(&*entry.id));
                    counts.guard += u64::from(entry.system == own::ID);
                }
            })?;
        }
        Ok(counts)
    }

    fn say(&self, page: &mut Page<'_>) {
        if self.unresolved == 0 && self.guard == 0 {
            return;
        }
        let guard = match self.guard {
            0 => String::new(),
            n => format!(", {n} aimed at statewarden itself"),
        };
        let (denied, open) = (self.denied, self.unresolved);
        let line = format!("{denied} denied, {open} not resolved{guard}");
        writeln!(page, "{}; see `statewarden denies`", page.paint.red(&line));
    }
}

impl Show for StatusReport {
    fn text(&self, page: &mut Page<'_>) {
        let is_empty =
            self.systems.is_empty() && self.problems.is_empty() && self.repositories.is_empty();
        if is_empty && self.switched_off.is_empty() {
            writeln!(page, "{}", page.context.without_sites());
        }
        self.systems.iter().for_each(|run| say_run(run, page));
        for problem in &self.problems {
            writeln!(page, "{}", page.paint.red(problem));
        }
        say_repositories(&self.repositories, "status", page);
        self.denials.say(page);
        if let Some(strict) = &self.strict {
            strict.say(page);
        }
        say_switched_off(&self.switched_off, page);
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.problems.is_empty())
    }
}

/// One run for a person: a closed one in a line, an active one with its gates.
pub(super) fn say_run(run: &Workflow, page: &mut Page<'_>) {
    let name = match run.change() {
        Some(change) => format!("{} {change}  {}", run.system, run.file),
        None => match &run.directory {
            Some(directory) => format!("{} {directory}  {}", run.system, run.file),
            None => format!("{}  {}", run.system, run.file),
        },
    };
    let title = page.paint.bold(&name);
    if !run.active {
        let (NextStep::Step(next) | NextStep::Nothing(next)) = &run.next;
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
    let lengths = run.gates.iter().map(|gate| gate.name.chars().count());
    let width = lengths.max().unwrap_or_default();
    for gate in &run.gates {
        let word = match gate.status {
            GateStatus::Passed => page.paint.green(gate.label()),
            GateStatus::Failed => page.paint.red(gate.label()),
            GateStatus::InProgress => page.paint.bold(gate.label()),
            GateStatus::Pending | GateStatus::Skipped => page.paint.dim(gate.label()),
        };
        let time = gate
            .timestamp
            .as_deref()
            .map(|ts| page.local_time.minute(ts));
        let parts = [gate.agent.as_deref(), time.as_deref()];
        let about = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        writeln!(page, "  {:<width$}  {word:<11}  {about}", gate.name);
        if let Some(why) = &gate.why {
            page.paragraph(width + 4, why);
        }
    }
    page.hanging(format_args!("  next: "), 8, &run.next.to_string());
}
