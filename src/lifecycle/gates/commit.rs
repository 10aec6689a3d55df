//! Planned outcomes → the disk: one locked read-modify-write for each state.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use super::{Applied, Plan, Planned};
use crate::base::disk::resolve::is_free_of_links;
use crate::store::lock::{IN_HOOK, with_state_lock};
use crate::store::replace::replace;
use crate::systems::system::FileOutcome;

/// How long a change waits for the locks of its state.
const TO_MOVE: Duration = IN_HOOK.saturating_mul(4);

impl Plan<'_> {
    /// Writes what the plan says of a state.
    pub(super) fn commit(&self, state: &Planned<'_>) -> Vec<Applied> {
        let planned = &state.effects.outcomes;
        if planned.iter().all(|planned| planned.outcome.is_err()) {
            return state.outcomes();
        }
        let write = |dir: &Path| {
            let pid_lock = state.around.governed.system.info().pid_lock;
            with_state_lock(dir, pid_lock, TO_MOVE, |_| {
                // What was planned before the lock may be stale.
                let again = state.around.plan(&self.moment, self.now);
                let mut outcomes = again.map_or_else(Vec::new, |again| again.outcomes());
                for applied in &mut outcomes {
                    if let Ok(Ok(change)) = &applied.outcome {
                        let path = state.dir.join(&applied.file);
                        if let Err(error) = write_through(&path, &change.text) {
                            applied.outcome = Err(error);
                        }
                    }
                }
                Ok(outcomes)
            })
        };
        let written = state.around.ready_to_lock().and_then(|dir| write(&dir));
        written.unwrap_or_else(|error| {
            let (kind, why) = (error.kind(), error.to_string());
            let failed = |planned: &FileOutcome| Applied {
                file: planned.file.clone(),
                outcome: Err(io::Error::new(kind, why.clone())),
            };
            planned.iter().map(failed).collect()
        })
    }
}

/// Replaces a state file. A link is written through, as the systems' own tools do.
///
/// # Errors
/// The file cannot be replaced; it is as it was then.
pub fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let is_real = path.to_str().is_some_and(is_free_of_links);
    let real = match is_real {
        true => None,
        false => fs::canonicalize(path).ok(),
    };
    replace(real.as_deref().unwrap_or(path), text.as_bytes())
}
