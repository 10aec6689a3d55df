//! Gates: what an event does to the systems' states.
//!
//! A system says purely what an event leads to; here is what is around that: the nearest
//! directory, the lock, the replacement, the record.

pub mod authorship;
mod basis;
mod files;
mod scope;

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use chrono::{DateTime, Utc};

use self::basis::Basis;
pub use self::files::{SiteRuns, nearest};
pub use self::scope::GateScope;
use crate::base::disk::bounded_read;
use crate::base::path;
use crate::base::text;
use crate::base::warn;
use crate::project::roots::Project;
use crate::recorder::entry::BlobId;
use crate::store::lock::{IN_HOOK, with_state_lock};
use crate::store::replace::replace;
use crate::systems::gate_record::GateRecord;
use crate::systems::system::{AgentEvent, Effects, Missing};
use crate::systems::workflow::Proof;

/// How long a change waits for the locks of its state.
const TO_MOVE: Duration = IN_HOOK.saturating_mul(4);

/// What an event leads to in the states around it, as found before anything is locked.
pub struct Plan<'a> {
    event: AgentEvent<'a>,
    /// Whose the event is.
    by: GateRecord,
    now: DateTime<Utc>,
    states: Vec<PlannedState<'a>>,
}

/// What an event leads to in one state, and what that was found by.
struct PlannedState<'a> {
    scope: &'a GateScope<'a>,
    effects: Effects,
    basis: Basis,
}

impl<'a> Plan<'a> {
    pub fn new(
        around: &'a [GateScope<'a>],
        event: AgentEvent<'a>,
        by: GateRecord,
        now: DateTime<Utc>,
    ) -> Self {
        let planned = |scope: &'a GateScope<'a>| {
            let (effects, basis) = scope.effects(event, now)?;
            Some(PlannedState {
                scope,
                effects,
                basis,
            })
        };
        Self {
            event,
            by,
            now,
            states: around.iter().filter_map(planned).collect(),
        }
    }

    /// Whether the event concerns no system at all.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Whether there is a choice of states somewhere, and none of them is the one.
    pub fn is_undecided(&self) -> bool {
        let mut records = self.states.iter().flat_map(|state| &state.effects.records);
        records.any(|record| record.file.is_empty())
    }

    /// Whether an agent ended without a word.
    pub fn is_wordless(&self) -> bool {
        matches!(self.event, AgentEvent::End { reply, .. } if text::words(reply).next().is_none())
    }

    /// What the agent owes, and where.
    pub fn missing(&self) -> Vec<(&'a GateScope<'a>, Missing)> {
        let states = self.states.iter();
        states
            .flat_map(|state| {
                state
                    .effects
                    .missing
                    .iter()
                    .map(|owed| (state.scope, owed.clone()))
            })
            .collect()
    }

    /// The state files that are to change, as records name them.
    pub fn files_to_change(&self) -> Vec<String> {
        let mut files = Vec::new();
        for PlannedState { scope, effects, .. } in &self.states {
            let changes = effects.records.iter().filter(|record| record.is_change());
            files.extend(changes.map(|record| scope.display_path(&record.file)));
        }
        files
    }

    /// Carries the event into every system's state, each change as one locked
    /// read-modify-write that a kill leaves whole, and adds their records.
    ///
    /// # Errors
    /// A state that should have changed could not be, which its record says too.
    pub fn carry_out(&self, records: &mut Vec<GateRecord>) -> io::Result<()> {
        let mut result = Ok(());
        for state in &self.states {
            let scope = state.scope;
            for (record, written) in self.carry_into(state) {
                let Err(error) = written else {
                    records.push(self.stamped(scope, record));
                    continue;
                };
                let why = format!("could not be changed: {error}");
                let left = self.stamped(scope, record.skipped(why));
                warn::warn_error(&format!("could not change `{}`", left.file), &error);
                records.push(left);
                result = Err(error);
            }
        }
        result
    }

    /// The records of a state after its files were written, each with what became of that.
    fn carry_into(&self, state: &PlannedState<'_>) -> Vec<(GateRecord, io::Result<()>)> {
        let (scope, planned) = (state.scope, &state.effects);
        if !planned.records.iter().any(GateRecord::is_change) {
            return scope.write(planned.clone());
        }
        let pid_lock = scope.governed.system.info().pid_lock;
        let written = scope.ready_to_lock().and_then(|dir| {
            with_state_lock(&dir, pid_lock, TO_MOVE, |_| {
                if scope.is_still(&state.basis) {
                    return Ok(scope.write(planned.clone()));
                }
                // What was planned before the lock is stale.
                let again = scope.effects(self.event, self.now);
                Ok(scope.write(again.map(|(effects, _)| effects).unwrap_or_default()))
            })
        });
        written.unwrap_or_else(|error| {
            let records = planned.records.iter().cloned();
            records
                .map(|record| {
                    let again = io::Error::new(error.kind(), error.to_string());
                    (record, Err(again))
                })
                .collect()
        })
    }

    /// Notes that nothing was changed, in the states that the event concerns.
    pub fn skip_all(&self, why: &str) -> Vec<GateRecord> {
        let mut records = Vec::new();
        for PlannedState { scope, effects, .. } in &self.states {
            for record in &effects.records {
                let skipped = record.clone().skipped(why.to_owned());
                records.push(self.stamped(scope, skipped));
            }
        }
        records
    }

    /// The line of the log.
    fn stamped(&self, scope: &GateScope<'_>, record: GateRecord) -> GateRecord {
        let file = scope.display_path(&record.file);
        record.stamped(&self.by, scope.governed.id(), file, self.now)
    }
}

/// Replaces a state file. A link is written through, as the systems' own tools do.
///
/// # Errors
/// The file cannot be replaced; it is as it was then.
pub fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    let real = if is_link {
        fs::canonicalize(path).ok()
    } else {
        None
    };
    replace(real.as_deref().unwrap_or(path), text.as_bytes())
}

/// git's id of what a file holds.
pub fn blob(file: &Path) -> Option<String> {
    let bytes = bounded_read::read_bytes(file).ok()??;
    Some(BlobId::of(&bytes).to_string())
}

/// A file that proves a gate, as it is now. Its path is as [`display_path`] gives it.
pub fn artifact_of(project: &Project, path: &str) -> Proof {
    let whole = path::absolute(&project.main.dir, path, None);
    let bytes = bounded_read::read_bytes(Path::new(&whole)).ok().flatten();
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
