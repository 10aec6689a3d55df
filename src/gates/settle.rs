//! Planned outcomes → the disk: one locked read-modify-write for each state.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;

use super::{Planned, Settled};
use crate::landing::without_links;
use crate::store::lock::{IN_HOOK, with_state_lock};
use crate::store::replace::replace;
use crate::workflow::Outcome;

/// How often a busy lock is tried for, each time for the hook's wait.
const TRIES: usize = 4;

/// Writes what a plan says of a state; what became of each file.
pub(super) fn settle<'a>(state: &Planned<'a>, replan: &dyn Fn() -> Option<Planned<'a>>) -> Settled {
    let planned = &state.consequences.outcomes;
    let changes = |(_, outcome): &(String, Outcome)| matches!(outcome, Outcome::Changed { .. });
    if !planned.iter().any(changes) {
        return state.outcomes();
    }
    let attempt = || {
        let pid_lock = state.around.governed.system.pid_lock();
        with_state_lock(state.dir, pid_lock, IN_HOOK, |_| {
            // What was planned before the lock may be stale, and is planned again then.
            let outcomes = match state.asked.holds() {
                true => state.outcomes(),
                false => replan().map(|again| again.outcomes()).unwrap_or_default(),
            };
            let written = outcomes.into_iter().map(|(file, outcome)| {
                let written = outcome.and_then(|outcome| write(&state.dir.join(&file), outcome));
                (file, written)
            });
            Ok(written.collect())
        })
    };
    let mut settled = attempt();
    for _ in 1..TRIES {
        match &settled {
            Err(busy) if busy.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
            _ => break,
        }
        settled = attempt();
    }
    settled.unwrap_or_else(|error| {
        let (kind, why) = (error.kind(), error.to_string());
        let failed = |(file, _): &(String, Outcome)| {
            let error = io::Error::new(kind, why.clone());
            (file.clone(), Err(error))
        };
        planned.iter().map(failed).collect()
    })
}

fn write(path: &Path, outcome: Outcome) -> io::Result<Outcome> {
    if let Outcome::Changed { text, .. } = &outcome {
        write_through(path, text)?;
    }
    Ok(outcome)
}

/// Replaces a state file. A link is written through, as the systems' own tools do.
///
/// # Errors
/// The file cannot be replaced; it is as it was then.
pub fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let is_real = path.to_str().and_then(without_links).is_some();
    let real = match is_real {
        true => None,
        false => fs::canonicalize(path).ok(),
    };
    replace(real.as_deref().unwrap_or(path), text.as_bytes())
}
