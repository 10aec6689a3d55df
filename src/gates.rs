//! Gates: what the start and the end of agents do to the systems' states.
//!
//! A system says purely what a moment leads to; here is what stands around
//! that: the nearest directory, the lock, the replacement, the record.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, Governed};
use crate::event::{Event, Field};
use crate::path;
use crate::project::{Project, read_text};
use crate::record;
use crate::store::lock::{IN_HOOK, with_state_lock};
use crate::store::replace::replace;
use crate::systems::{Consequences, Files, Moment, Owed};
use crate::workflow::{GateChange, GateStatus, Outcome};

/// One completion, as `gates.jsonl` keeps it: a change, or why there was none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRecord {
    pub id: String,
    /// UTC, RFC 3339, milliseconds.
    pub ts: String,
    pub system: String,
    /// Relative to the project.
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<GateStatus>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<GateStatus>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iteration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence: Option<String>,
    /// Why nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skipped: Option<String>,
    /// The further gates that the same completion moved.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<Moved>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub gate: String,
    pub from: GateStatus,
    pub to: GateStatus,
}

/// Who a record is about. `agent_type` and `agent_id` are the agent's that
/// started or ended, which need not be the event's.
pub struct About<'a> {
    pub event: &'a Event<'a>,
    pub agent_type: Option<&'a str>,
    pub agent_id: Option<&'a str>,
}

impl GateRecord {
    fn new(about: &About<'_>, system: &str, file: &str, now: DateTime<Utc>) -> Self {
        Self {
            id: record::id(now),
            ts: now.to_rfc3339_opts(SecondsFormat::Millis, true),
            system: system.to_owned(),
            file: file.to_owned(),
            gate: None,
            from: None,
            to: None,
            phase: None,
            iteration: None,
            agent_type: about.agent_type.map(str::to_owned),
            agent_id: about.agent_id.map(str::to_owned),
            session_id: about.event.get(Field::SessionId).map(str::to_owned),
            evidence: None,
            skipped: None,
            also: Vec::new(),
        }
    }

    fn changed(mut self, changes: &[GateChange]) -> Option<Self> {
        let (first, others) = changes.split_first()?;
        self.gate = Some(first.gate.clone());
        self.from = Some(first.from);
        self.to = Some(first.to);
        self.phase.clone_from(&first.phase);
        self.iteration = first.iteration;
        self.evidence = Some(first.evidence.clone());
        self.also = others
            .iter()
            .map(|change| Moved {
                gate: change.gate.clone(),
                from: change.from,
                to: change.to,
            })
            .collect();
        Some(self)
    }

    fn skipped(mut self, why: String) -> Self {
        self.skipped = Some(why);
        self
    }
}

/// A system's state around an event: the nearest `gate_dir` from `cwd` up to
/// the root. A work tree's agents work on the main checkout's.
pub struct Around<'c> {
    pub governed: &'c Governed<'c>,
    pub dir: PathBuf,
}

impl<'c> Around<'c> {
    pub fn all(catalog: &'c Catalog<'c>, project: &Project, cwd: &str) -> Vec<Self> {
        let around = |governed: &'c Governed<'c>| {
            let gate_dir = governed.system.gate_dir()?;
            let dir = nearest(project, cwd, gate_dir)?;
            Some(Self { governed, dir })
        };
        catalog.governed.iter().filter_map(around).collect()
    }

    pub fn files(&self) -> InDir<'_> {
        InDir { dir: &self.dir }
    }

    fn at(&self, moment: &Moment<'_>, now: DateTime<Utc>) -> Consequences {
        self.governed.system.at(moment, &self.files(), now)
    }
}

fn nearest(project: &Project, cwd: &str, gate_dir: &str) -> Option<PathBuf> {
    let root = &project.main;
    let cwd = path::collapse(&path::slashed(cwd));
    let below = match root.relative(&cwd) {
        Some(below) if !below.starts_with(".claude/worktrees/") => below,
        _ => "",
    };
    let dirs = std::iter::successors(Some(below), |below| {
        (!below.is_empty()).then(|| below.rsplit_once('/').map_or("", |(above, _)| above))
    });
    let mut candidates = dirs.map(|below| Path::new(&root.dir).join(below).join(gate_dir));
    candidates.find(|dir| dir.is_dir())
}

/// The files below a directory on the disk.
pub struct InDir<'a> {
    pub dir: &'a Path,
}

impl Files for InDir<'_> {
    fn text(&self, name: &str) -> Option<String> {
        read_text(&path::from_os(&self.dir.join(name)))
            .ok()
            .flatten()
    }

    fn dirs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir).into_iter().flatten().flatten();
        let dirs = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> = dirs
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// What one moment did in all systems.
#[derive(Default)]
pub struct Effects {
    pub records: Vec<GateRecord>,
}

/// What a moment leads to in one system, worked out before anything is locked.
pub struct Plan<'a, 'c> {
    around: &'a Around<'c>,
    consequences: Consequences,
}

pub fn plan<'a, 'c>(
    around: &'a [Around<'c>],
    moment: &Moment<'_>,
    now: DateTime<Utc>,
) -> Vec<Plan<'a, 'c>> {
    let plans = around.iter().map(|around| Plan {
        around,
        consequences: around.at(moment, now),
    });
    plans
        .filter(|Plan { consequences, .. }| {
            !consequences.outcomes.is_empty() || !consequences.owed.is_empty()
        })
        .collect()
}

/// What agents owe, in all systems.
pub fn owed(plans: &[Plan<'_, '_>]) -> Vec<(String, Owed)> {
    let owed = plans.iter().flat_map(|plan| {
        let shown = plan.around.governed.system.gate_dir().unwrap_or_default();
        let owed = plan.consequences.owed.iter();
        owed.map(move |owed| (shown.to_owned(), owed.clone()))
    });
    owed.collect()
}

/// Carries a moment into every system's state, each change as one locked
/// read-modify-write that a kill leaves whole.
pub fn carry_out(
    plans: Vec<Plan<'_, '_>>,
    moment: &Moment<'_>,
    project: &Project,
    about: &About<'_>,
    now: DateTime<Utc>,
) -> Effects {
    let mut effects = Effects::default();
    for Plan {
        around,
        consequences,
    } in plans
    {
        for (file, outcome) in settle(around, consequences, moment, now) {
            let shown = shown(project, &around.dir.join(&file));
            let record = GateRecord::new(about, around.governed.system.id(), &shown, now);
            effects.records.extend(match outcome {
                Ok(Outcome::Changed { changes, .. }) => record.changed(&changes),
                Ok(Outcome::Unchanged { why }) => Some(record.skipped(why)),
                Err(error) => Some(record.skipped(format!("could not be written: {error}"))),
            });
        }
    }
    effects
}

/// Notes that a moment changed nothing, in the states it would have concerned.
pub fn skip_all(
    plans: &[Plan<'_, '_>],
    project: &Project,
    about: &About<'_>,
    why: &str,
    now: DateTime<Utc>,
) -> Effects {
    let records = plans.iter().flat_map(|plan| {
        let around = plan.around;
        plan.consequences.outcomes.iter().map(|(file, _)| {
            let shown = shown(project, &around.dir.join(file));
            GateRecord::new(about, around.governed.system.id(), &shown, now).skipped(why.to_owned())
        })
    });
    Effects {
        records: records.collect(),
    }
}

fn shown(project: &Project, file: &Path) -> String {
    let file = path::from_os(file);
    project
        .main
        .relative(&file)
        .unwrap_or(&file)
        .trim_end_matches('/')
        .to_owned()
}

/// How often a busy lock is tried for, each time for the hook's wait.
const TRIES: usize = 4;

fn settle(
    around: &Around<'_>,
    planned: Consequences,
    moment: &Moment<'_>,
    now: DateTime<Utc>,
) -> Vec<(String, io::Result<Outcome>)> {
    let planned = planned.outcomes;
    let changes = |outcomes: &[(String, Outcome)]| {
        outcomes
            .iter()
            .any(|(_, outcome)| matches!(outcome, Outcome::Changed { .. }))
    };
    if !changes(&planned) {
        return planned
            .into_iter()
            .map(|(file, outcome)| (file, Ok(outcome)))
            .collect();
    }
    let mut error = io::Error::other("never tried");
    for _ in 0..TRIES {
        // What was planned before the lock may be stale, so it is planned again under it.
        let settled = with_state_lock(
            &around.dir,
            around.governed.system.pid_lock(),
            IN_HOOK,
            |_| {
                let outcomes = around.at(moment, now).outcomes.into_iter();
                Ok(outcomes
                    .map(|(file, outcome)| write(&around.dir, file, outcome))
                    .collect())
            },
        );
        match settled {
            Ok(settled) => return settled,
            Err(busy) if busy.kind() == io::ErrorKind::WouldBlock => error = busy,
            Err(other) => {
                error = other;
                break;
            }
        }
        thread::yield_now();
    }
    let why = error.to_string();
    planned
        .into_iter()
        .map(|(file, _)| (file, Err(io::Error::other(why.clone()))))
        .collect()
}

fn write(dir: &Path, file: String, outcome: Outcome) -> (String, io::Result<Outcome>) {
    let written = match &outcome {
        Outcome::Unchanged { .. } => Ok(()),
        Outcome::Changed { text, .. } => {
            let path = dir.join(&file);
            // A link is written through, as the systems' own tools do.
            let path = fs::canonicalize(&path).unwrap_or(path);
            replace(&path, text.as_bytes())
        }
    };
    (file, written.map(|()| outcome))
}
