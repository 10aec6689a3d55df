//! `doctor`: whether the guard is wired, alive and healthy, and what to do if not.

mod client;
mod disk;
mod process;
mod program;
mod recorder;
mod strict;

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::global::{SwitchedOff, known_ids};
use super::guarded::Guarded;
use super::install::Place;
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::text;
use crate::contract::denial::Mode;
use crate::contract::edition::InForce;
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::SiteRuns;
use crate::log::append::Logs;
use crate::project::registry::mode_of;
use crate::project::roots::Project;
use crate::project::settings::MAX_CONTRACTS;
use crate::project::sites;
use crate::project::state::ProjectState;
use crate::recorder::health::Health;
use crate::settings::merge::Resolved;
use crate::systems::devt;
use crate::systems::workflow::{UnreadableState, Workflow};

#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// Also run a program that the project's settings name and that is not this one
    #[arg(long)]
    run: bool,
}

/// Which of the programs that are wired may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayRun {
    /// This one, and those that the person's own settings name: a project may be a stranger's.
    Known,
    All,
}

/// What the examination starts from.
pub struct Subject<'a> {
    pub place: &'a Place,
    /// The current directory, if that is below the project's.
    pub below: Option<&'a str>,
    pub settings: &'a Resolved,
    /// The systems that the settings switch off.
    pub(super) switched_off: &'a [SwitchedOff],
    /// The state directories of the project.
    pub sites: &'a [PathBuf],
    /// The state files of runs that are active.
    pub runs: &'a [PathBuf],
    /// Why a state file cannot be read, a sentence each.
    pub unreadable: &'a [UnreadableState],
    pub guarded: Guarded,
    /// The program's own logs, and what was written into them.
    pub logs: Logs,
    /// What sessions left for later ones.
    pub state: ProjectState,
    /// What the recorder cannot do.
    pub recorder: Health,
    pub may_run: MayRun,
    /// What strict mode has to keep; `None` where it is off.
    pub strict: Option<Vec<PathBuf>>,
    /// How many contract files are more than are read.
    pub n_surplus_contracts: usize,
    /// Where the project for the live test is made, the system's temporary directory.
    pub temp: PathBuf,
    pub now: DateTime<Utc>,
}

/// How much a finding matters. `Warning` and `Error` make the project unhealthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// One thing that was found, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable, for scripts.
    pub id: &'static str,
    pub level: Level,
    pub what: String,
    /// Empty where there is nothing to do.
    pub fix: String,
}

impl Finding {
    fn new(
        id: &'static str,
        level: Level,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let (what, fix) = (what.into(), fix.into());
        Self {
            id,
            level,
            what,
            fix,
        }
    }

    fn info(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Level::Info, what, "")
    }

    fn warning(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Level::Warning, what, fix)
    }

    fn error(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Level::Error, what, fix)
    }
}

#[derive(Serialize)]
struct Examination {
    findings: Vec<Finding>,
    /// The text names paths below it without it.
    #[serde(skip)]
    project: PathBuf,
}

pub(crate) fn run(args: Args, place: &Place, context: &CliContext<'_>) -> Result<Answer> {
    let (project, registry) = (&context.project, &context.registry);
    let sites = sites::find(project, registry);
    let held = SiteRuns::of(&sites, registry, &GateLog::read(project, 0));
    let runs = active_runs(held.readable, project);
    let dirs: Vec<_> = sites.iter().map(|site| PathBuf::from(site.dir())).collect();
    let findings = examine(&Subject {
        place,
        below: below(place, context),
        settings: context.rules,
        switched_off: &context.all_switched_off(),
        sites: &dirs,
        runs: &runs,
        unreadable: &held.problems,
        guarded: Guarded::of(&sites, project, registry),
        logs: project.logs(),
        state: project.state(),
        recorder: Health::of(project.memory(), &sites, registry),
        strict: (context.rules.settings.strict).then(|| strict::places(&context.world(), &sites)),
        may_run: if args.run { MayRun::All } else { MayRun::Known },
        n_surplus_contracts: project.n_surplus_contracts(),
        temp: std::env::temp_dir(),
        now: context.now,
    });
    context.show(&Examination {
        findings,
        project: place.project.clone(),
    })
}

/// The current directory, where it is neither a root nor in a project that was named.
fn below<'c>(place: &Place, context: &'c CliContext<'_>) -> Option<&'c str> {
    let cwd = Path::new(&context.cwd);
    let is_root = cwd == place.project || place.work_tree.as_deref() == Some(cwd);
    let is_named = context.given_project.is_some() || context.env.project_dir.is_some();
    (!is_root && !is_named).then_some(&context.cwd)
}

/// The state files of active runs. What is derived from files that people edit
/// has no time of its own.
fn active_runs(runs: Vec<Workflow>, project: &Project) -> Vec<PathBuf> {
    let stored = runs
        .into_iter()
        .filter(|run| run.active && run.updated_at.is_some());
    stored
        .map(|run| Path::new(&project.main.dir).join(run.file))
        .collect()
}

/// Finds the answers to a question.
type Probe = fn(&Subject<'_>) -> Vec<Finding>;

/// The questions in the order in which a person would ask them.
const QUESTIONS: [Probe; 7] = [
    // Which program is wired, and does it do its work?
    program::examine,
    // What do the settings say?
    check_settings,
    // What is guarded, and can it be read?
    check_state,
    // Are logs, locks and folders as they should be?
    disk::examine,
    // Does the recorder see and keep all of it?
    recorder::examine,
    // Did sessions run the hook?
    client::examine,
    // Is strict mode in force?
    strict::examine,
];

/// All findings.
pub fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let answers = QUESTIONS.iter().map(|probe| probe(subject));
    answers.flatten().collect()
}

fn check_state(subject: &Subject<'_>) -> Vec<Finding> {
    let guarded = &subject.guarded;
    let mut findings = match guarded {
        Guarded::Sites(_) => vec![Finding::info("guarded", guarded.to_string())],
        Guarded::NothingYet { .. } => {
            let fix = "nothing to do: the first file that a workflow makes there is guarded; \
                       `statewarden help contract` says how to declare directories of your own";
            let what = guarded.to_string();
            vec![Finding::new("guarded", Level::Info, what, fix)]
        }
        // The settings have a finding of their own.
        Guarded::Off => Vec::new(),
    };
    for problem in subject.unreadable {
        let fix = "repair the file, or bring an earlier content back: `statewarden log` lists them";
        findings.push(Finding::warning("state-file", problem.to_string(), fix));
    }
    findings
}

fn check_settings(subject: &Subject<'_>) -> Vec<Finding> {
    let (resolved, switched_off) = (subject.settings, subject.switched_off);
    let settings = &resolved.settings;
    let InForce { edition, why } = settings.edition_of(devt::ID);
    let mut findings = vec![Finding::info(
        "contract",
        format!("devt contract, edition {}: {why}", edition.as_str()),
    )];
    for problem in &resolved.problems {
        let fix = "correct the file; until then all of it is ignored";
        findings.push(Finding::warning("settings", problem, fix));
    }
    if subject.n_surplus_contracts > 0 {
        let n = subject.n_surplus_contracts;
        let what = format!("only the first {MAX_CONTRACTS} contract files are read, {n} are not");
        let fix = "put the systems of several files of `.claude/statewarden.d/` into one";
        findings.push(Finding::warning("left-out", what, fix));
    }
    for what in &resolved.left_out {
        let fix = "correct it there; until then it is ignored";
        findings.push(Finding::warning("left-out", &what.what, fix));
    }
    for key in &resolved.overruled {
        findings.push(Finding::info("overruled", key));
    }
    let ids = known_ids(settings);
    for id in &ids {
        if mode_of(id, settings) == Mode::Warn {
            let what = format!("`{id}` is only warned about: the settings say so");
            findings.push(Finding::info("mode", what));
        }
    }
    match switched_off {
        [first, ..] if switched_off.len() == ids.len() => {
            let what = format!("nothing is guarded: every system is off, by `{}`", first.by);
            let fix = "take `mode: off` out of it to be guarded";
            findings.push(Finding::warning("mode", what, fix));
        }
        some => findings.extend(
            some.iter()
                .map(|off| Finding::info("mode", off.to_string())),
        ),
    }
    findings
}

/// Where the texts of the findings begin.
const COLUMN: usize = 26;

impl Show for Examination {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let project = self.project.display();
        writeln!(page, "{}", paint.dim(&format!("in {project}")));
        let below = format!("`{project}/");
        for finding in &self.findings {
            let mark = match finding.level {
                Level::Info if finding.fix.is_empty() => paint.green("ok"),
                Level::Info => paint.dim("note"),
                Level::Warning => paint.red("warning"),
                Level::Error => paint.red("error"),
            };
            let what = finding.what.replace(&below, "`");
            page.hanging(format_args!("{mark:<8} {:<16} ", finding.id), COLUMN, &what);
            if !finding.fix.is_empty() {
                page.hanging(format_args!("{:COLUMN$}", ""), COLUMN, &finding.fix);
            }
        }
        match (self.count(Level::Error), self.count(Level::Warning)) {
            (0, 0) => writeln!(page, "{}", paint.green("healthy")),
            (errors, warnings) => {
                let errors = text::count(errors, "error", "errors");
                let warnings = text::count(warnings, "warning", "warnings");
                writeln!(page, "{}: {errors}, {warnings}", paint.red("unhealthy"));
            }
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.count(Level::Error) + self.count(Level::Warning) == 0)
    }
}

impl Examination {
    fn count(&self, level: Level) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.level == level).count()
    }
}

#[cfg(test)]
mod tests;
