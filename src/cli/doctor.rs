//! `doctor`: whether the guard is wired, alive and healthy, and what to do if not.

mod client;
mod disk;
mod process;
mod program;

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::global::{SwitchedOff, known_ids};
use super::install::Place;
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::text;
use crate::contract::denial::Mode;
use crate::contract::edition::InForce;
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::SiteRuns;
use crate::project::registry::mode_of;
use crate::project::sites::{self, Site};
use crate::settings::merge::Resolved;
use crate::systems::devt;

/// What the examination starts from.
pub struct Subject<'a> {
    pub place: &'a Place,
    /// Where one stands, if that is below the project's directory.
    pub below: Option<&'a str>,
    pub settings: &'a Resolved,
    /// The systems that the settings switch off.
    pub(super) switched_off: &'a [SwitchedOff],
    /// The state directories of the project.
    pub sites: &'a [PathBuf],
    /// The state files of runs that are active.
    pub runs: &'a [PathBuf],
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
struct Document {
    findings: Vec<Finding>,
}

pub(crate) fn run(place: &Place, context: &CliContext<'_>) -> Result<Answer> {
    let sites = sites::find(&context.project, &context.registry);
    let runs = active_runs(&sites, context);
    let dirs: Vec<_> = sites.iter().map(|site| PathBuf::from(site.dir())).collect();
    let roots = [Some(&place.project), place.work_tree.as_ref()];
    let is_root = |dir: &str| roots.contains(&Some(&PathBuf::from(dir)));
    let is_named = context.given_project.is_some() || context.env.project_dir.is_some();
    let findings = examine(&Subject {
        place,
        below: Some(context.cwd.as_str()).filter(|dir| !is_named && !is_root(dir)),
        settings: context.rules,
        switched_off: &context.all_switched_off(),
        sites: &dirs,
        runs: &runs,
        temp: std::env::temp_dir(),
        now: context.now,
    });
    context.show(&Document { findings })
}

/// The state files of active runs. What is derived from files that people edit
/// has no time of its own.
fn active_runs(sites: &[Site<'_>], context: &CliContext<'_>) -> Vec<PathBuf> {
    let runs = SiteRuns::of(sites, &GateLog::read(&context.project, 0))
        .readable
        .into_iter();
    let active = runs.filter(|run| run.active && run.updated_at.is_some());
    let main = Path::new(&context.project.main.dir);
    active.map(|run| main.join(run.file)).collect()
}

/// All findings, in the order in which a person would look.
pub fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = program::examine(subject);
    findings.extend(check_settings(subject));
    findings.extend(disk::examine(subject));
    findings.extend(client::examine(subject));
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
    for what in &resolved.left_out {
        let fix = "correct it there; until then it is ignored";
        findings.push(Finding::warning("left-out", what, fix));
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

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        for finding in &self.findings {
            let mark = match finding.level {
                Level::Info if finding.fix.is_empty() => paint.green("ok"),
                Level::Info => paint.dim("note"),
                Level::Warning => paint.red("warning"),
                Level::Error => paint.red("error"),
            };
            writeln!(page, "{mark:<8} {:<16} {}", finding.id, finding.what);
            if !finding.fix.is_empty() {
                writeln!(page, "{:<25} {}", "", finding.fix);
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

impl Document {
    fn count(&self, level: Level) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.level == level).count()
    }
}

#[cfg(test)]
mod tests;
