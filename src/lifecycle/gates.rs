//! Gates: what the start and the end of agents do to the systems' states.
//!
//! A system says purely what a moment leads to; here is what stands around
//! that: the nearest directory, the lock, the replacement, the record.

mod commit;
mod files;
mod record;
mod scope;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};

pub use self::commit::write_through;
pub use self::files::{SiteRuns, nearest};
pub use self::record::{About, GateRecord};
pub use self::scope::GateScope;
use crate::base::disk::bounded_read;
use crate::base::path;
use crate::base::warn;
use crate::contract::denial::Mode;
use crate::project::roots::Project;
use crate::recorder::entry::BlobId;
use crate::systems::system::{AgentEvent, Effects, FileOutcome, MissingArtifact};
use crate::systems::workflow::{Outcome, Proof};

/// What one moment did in all systems.
#[derive(Default)]
pub struct GateEffects {
    pub records: Vec<GateRecord>,
    /// A state that should have changed could not be written.
    pub has_failed: bool,
    /// There was a choice of states, and none of them was the one.
    pub is_undecided: bool,
}

/// An artifact that an agent owes.
pub struct OwedArtifact {
    pub system: String,
    /// How its system is governed.
    pub mode: Mode,
    /// Relative to the site.
    pub name: String,
    /// Absolute: an agent in a work tree of its own takes any other for one in there.
    pub path: String,
    pub why: String,
}

impl OwedArtifact {
    /// The record of a report that was denied for want of the artifact.
    pub fn sent_back(
        &self,
        about: &About<'_>,
        project: &Project,
        now: DateTime<Utc>,
    ) -> GateRecord {
        let file = display_path(project, Path::new(&self.path));
        let record = GateRecord::new(about, &self.system, &file, now);
        record.skipped(format!("the agent was sent back: {}", self.why))
    }
}

/// What a moment means in all systems, as found before anything is locked.
pub struct Plan<'a> {
    moment: AgentEvent<'a>,
    now: DateTime<Utc>,
    states: Vec<Planned<'a>>,
}

/// What the moment means in one of the states that it concerns.
struct Planned<'a> {
    around: &'a GateScope<'a>,
    dir: &'a Path,
    effects: Effects,
    /// The files that could not be read, with the reason.
    faults: BTreeMap<String, String>,
}

/// What became of a file.
struct Applied {
    file: String,
    outcome: io::Result<Outcome>,
}

impl Planned<'_> {
    /// Looks up the files that a system names as proof.
    fn fill_in(&self, project: &Project, proof: &mut [Proof]) {
        for proof in proof {
            if let Proof::Artifact { path: name, .. } = proof {
                let file = self.around.artifact(name);
                let file = file.unwrap_or_else(|| self.dir.join(&*name));
                *proof = artifact_of(project, &display_path(project, &file));
            }
        }
    }

    /// The outcomes by file. Where one changes nothing because a file cannot be
    /// read, that is the reason; with no file chosen it can be any.
    fn outcomes(&self) -> Vec<Applied> {
        let judged = |FileOutcome { file, outcome }: FileOutcome| {
            let fault = match file.as_str() {
                "" => self.faults.first_key_value(),
                file => self.faults.get_key_value(file),
            };
            let outcome = match (&outcome, fault) {
                (Err(_), Some((name, why))) => {
                    Err(io::Error::other(format!("`{name}` cannot be read: {why}")))
                }
                _ => Ok(outcome),
            };
            Applied { file, outcome }
        };
        let outcomes = self.effects.outcomes.iter().cloned();
        outcomes.map(judged).collect()
    }
}

impl<'a> Plan<'a> {
    pub fn new(around: &'a [GateScope<'a>], moment: AgentEvent<'a>, now: DateTime<Utc>) -> Self {
        let states = around.iter();
        Self {
            moment,
            now,
            states: states.filter_map(|at| at.plan(&moment, now)).collect(),
        }
    }

    /// Whether the moment concerns no system at all.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Whether an agent ended without a word.
    pub fn is_wordless(&self) -> bool {
        matches!(self.moment, AgentEvent::AgentEnd { reply, .. } if reply.trim().is_empty())
    }

    /// What the agent owes.
    pub fn owed(&self) -> Vec<OwedArtifact> {
        let mut dues = Vec::new();
        for state in &self.states {
            for MissingArtifact { file, why } in &state.effects.owed {
                let fault = state.faults.get(file);
                let dir = state.around.own.as_deref().unwrap_or(state.dir);
                dues.push(OwedArtifact {
                    system: state.around.governed.id().to_owned(),
                    mode: state.around.governed.mode,
                    name: file.clone(),
                    path: path::from_os(&dir.join(file)),
                    why: fault.map_or(why.clone(), |why| format!("it cannot be read: {why}")),
                });
            }
        }
        dues
    }

    /// Carries the moment into every system's state, each change as one locked
    /// read-modify-write that a kill leaves whole.
    pub fn carry_out(&self, project: &Project, about: &About<'_>) -> GateEffects {
        let mut effects = GateEffects::default();
        for state in &self.states {
            for Applied { file, outcome } in self.commit(state) {
                let record = self.record(state, &file, project, about);
                effects.has_failed |= outcome.is_err();
                effects.is_undecided |= file.is_empty();
                effects.records.push(match outcome {
                    Ok(Ok(mut change)) => {
                        state.fill_in(project, &mut change.proof);
                        record.changed(&change)
                    }
                    Ok(Err(why)) => record.skipped(why),
                    Err(error) => {
                        warn::warn_error(&format!("could not change `{}`", record.file), &error);
                        record.skipped(format!("could not be changed: {error}"))
                    }
                });
            }
        }
        effects
    }

    /// Notes that nothing was changed, in the states that the moment concerns.
    pub fn skip_all(&self, project: &Project, about: &About<'_>, why: &str) -> GateEffects {
        let mut effects = GateEffects::default();
        for state in &self.states {
            for planned in &state.effects.outcomes {
                let record = self.record(state, &planned.file, project, about);
                effects.records.push(record.skipped(why.to_owned()));
            }
        }
        effects
    }

    fn record(
        &self,
        state: &Planned<'_>,
        file: &str,
        project: &Project,
        about: &About<'_>,
    ) -> GateRecord {
        let shown = display_path(project, &state.dir.join(file));
        GateRecord::new(about, state.around.governed.id(), &shown, self.now)
    }
}

/// git's id of what a file holds.
pub fn blob(file: &Path) -> Option<String> {
    let bytes = bounded_read::read_bytes(file).ok()??;
    Some(BlobId::of(&bytes).to_string())
}

/// A file that proves a gate, as it is now. Its path is as [`display_path`] gives it.
pub fn artifact_of(project: &Project, path: &str) -> Proof {
    let bytes = bounded_read::read_bytes(Path::new(&path::absolute(&project.main.dir, path, None)));
    let bytes = bytes.ok().flatten();
    Proof::Artifact {
        path: path.to_owned(),
        size: bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
        blob: bytes.map_or_else(String::new, |bytes| BlobId::of(&bytes).to_string()),
    }
}

/// A file as records and people see it.
pub fn display_path(project: &Project, file: &Path) -> String {
    let file = path::from_os(file);
    project
        .main
        .relative(&file)
        .unwrap_or(&file)
        .trim_end_matches('/')
        .to_owned()
}
