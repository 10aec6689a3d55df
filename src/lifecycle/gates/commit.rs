//! Planned outcomes → the disk: one locked read-modify-write for each state.

use std::path::Path;
use std::{fs, io, thread};

use super::{Applied, Planned};
use crate::base::disk::resolve::is_free_of_links;
use crate::store::lock::{IN_HOOK, with_state_lock};
use crate::store::replace::replace;
use crate::systems::system::FileOutcome;

/// How often a busy lock is tried for, each time for the hook's wait.
const TRIES: usize = 4;

/// Writes what a plan says of a state.
pub(super) fn commit<'a>(
    state: &Planned<'a>,
    replan: &dyn Fn() -> Option<Planned<'a>>,
) -> Vec<Applied> {
    let planned = &state.consequences.outcomes;
    let changes = |planned: &FileOutcome| planned.outcome.is_ok();
    if !planned.iter().any(changes) {
        return state.outcomes();
    }
    let attempt = || {
        let pid_lock = state.around.governed.system.info().pid_lock;
        let locked = state.around.ready_to_lock()?;
        with_state_lock(&locked, pid_lock, IN_HOOK, |_| {
            // What was planned before the lock may be stale, and is planned again then.
            let mut outcomes = match state.asked.holds() {
                true => state.outcomes(),
                false => replan().map(|again| again.outcomes()).unwrap_or_default(),
            };
            for applied in &mut outcomes {
                if let Ok(Ok(change)) = &applied.outcome
                    && let Err(error) = write_through(&state.dir.join(&applied.file), &change.text)
                {
                    applied.outcome = Err(error);
                }
            }
            Ok(outcomes)
        })
    };
    let mut applied = attempt();
    for _ in 1..TRIES {
        match &applied {
            Err(busy) if busy.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
            _ => break,
        }
        applied = attempt();
    }
    applied.unwrap_or_else(|error| {
        let (kind, why) = (error.kind(), error.to_string());
        let failed = |planned: &FileOutcome| Applied {
            file: planned.file.clone(),
            outcome: Err(io::Error::new(kind, why.clone())),
        };
        planned.iter().map(failed).collect()
    })
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
