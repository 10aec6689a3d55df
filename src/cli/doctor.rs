//! `doctor`: whether the guard is wired, alive and healthy, and what to do if not.

mod client;
mod disk;
mod guard;
mod process;
mod program;
mod questions;
mod recorder;
mod strict;
mod wiring;

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use self::disk::{ReadLog, SiteLock};
use self::program::Trial;
use self::questions::{Found, QUESTIONS};
use self::strict::Fence;
use self::wiring::{ScopeFile, Wired, WiredPlugin};
use super::global::SwitchedOff;
use super::guarded::Guarded;
use super::install::{Place, Scope};
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::text;
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::SiteRuns;
use crate::log::append::Logs;
use crate::project::roots::Project;
use crate::project::sites;
use crate::project::state::ProjectState;
use crate::recorder::health::Health;
use crate::settings::merge::Resolved;
use crate::systems::workflow::{UnreadableState, Workflow};

#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// Also run a program that the project's settings name and that is not this one
    #[arg(long = "run")]
    runs_all: bool,
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
    let found = SiteRuns::of(&sites, registry, &GateLog::read(project, 0));
    let runs = active_runs(found.readable, project);
    let dirs: Vec<_> = sites.iter().map(|site| PathBuf::from(site.dir())).collect();
    let findings = examine(&Subject {
        place,
        below: below(place, context),
        settings: context.rules,
        switched_off: &context.all_switched_off(),
        sites: &dirs,
        runs: &runs,
        unreadable: &found.problems,
        guarded: Guarded::of(&sites, project, registry),
        logs: project.logs(),
        state: project.state(),
        recorder: Health::of(project.memory(), &sites, registry),
        strict: (context.rules.settings.strict)
            .then(|| strict::places(&context.hook_context(), &sites)),
        may_run: if args.runs_all {
            MayRun::All
        } else {
            MayRun::Known
        },
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

/// What is read and tried once, whatever asks for it.
struct Facts<'a> {
    subject: &'a Subject<'a>,
    files: Vec<ScopeFile>,
    plugins: Vec<WiredPlugin>,
    commands: Vec<Wired>,
    trials: Vec<Trial>,
    logs: Vec<ReadLog>,
    locks: Vec<SiteLock>,
    /// The last start of a session.
    beat: Option<Value>,
    /// `None` where strict mode is off.
    fence: Option<Fence>,
}

impl<'a> Facts<'a> {
    fn gather(subject: &'a Subject<'a>) -> Self {
        let place = subject.place;
        let files: Vec<_> = Scope::ALL.map(|scope| ScopeFile::read(scope, place)).into();
        let enabled = place.plugins().into_iter();
        let plugins: Vec<_> = enabled.filter_map(WiredPlugin::of).collect();
        let commands = wiring::commands(&files, &plugins);
        let trials = commands.iter().map(|wired| Trial::of(wired, subject));
        let sites = subject.sites.iter();
        Self {
            subject,
            trials: trials.collect(),
            files,
            plugins,
            commands,
            logs: ReadLog::all(subject),
            locks: sites.map(|site| SiteLock::of(site)).collect(),
            beat: client::last_heartbeat(&subject.logs.events().path()),
            fence: Fence::of(subject),
        }
    }

    fn rules(&self) -> &'a Resolved {
        self.subject.settings
    }
}

/// All findings, in the order of the questions.
fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let facts = Facts::gather(subject);
    let answers = QUESTIONS.iter().map(|question| question.ask(&facts));
    answers.flatten().collect()
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
