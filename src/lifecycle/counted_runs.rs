//! Which runs of agents have been counted, and which were sent back to work. One run can
//! bring two events, and the same agent can be continued and end again.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::store::lock::Locked;
use crate::store::{read_own, write_own};

/// Counted runs kept; a session has far fewer agents.
const MAX_RUNS: usize = 500;

const FILE: &str = "runs.json";

/// The file `runs.json` in the program's own folder. It is read and written
/// under that folder's lock.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Runs {
    /// Of each agent, the newest last.
    runs: Vec<Run>,
}

/// What is known of an agent's run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    session: String,
    agent: String,
    /// Its end was counted.
    pub is_counted: bool,
    /// Its report was denied once.
    pub was_sent_back: bool,
    pub began: Option<Began>,
}

/// What the artifacts of an agent held when it first started in a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    pub workflow: Option<String>,
    /// UTC, RFC 3339, milliseconds.
    pub at: String,
    /// git's ids of the contents, by absolute path. A file that was not there has none, nor
    /// one that the agent has written with a file tool since.
    pub held: BTreeMap<String, String>,
}

impl Run {
    fn is(&self, session: &str, agent: &str) -> bool {
        self.session == session && self.agent == agent
    }
}

impl Runs {
    /// A file that cannot be read counts as empty: at worst a run counts twice.
    pub fn read(locked: &Locked<'_>) -> Self {
        Self::peek(locked.dir())
    }

    /// The same without the lock, for what need not be the newest.
    pub fn peek(own_folder: &Path) -> Self {
        read_own(own_folder, FILE).unwrap_or_default()
    }

    /// What is known of an agent; of one that is not known, nothing.
    pub fn get(&self, session: &str, agent: &str) -> Run {
        let run = self.runs.iter().find(|run| run.is(session, agent));
        run.cloned().unwrap_or_default()
    }

    /// Changes what is known of an agent, which makes it the newest; the oldest ones go.
    pub fn note(&mut self, session: &str, agent: &str, change: impl FnOnce(&mut Run)) {
        let mut run = self.get(session, agent);
        (run.session, run.agent) = (session.to_owned(), agent.to_owned());
        change(&mut run);
        self.runs.retain(|run| !run.is(session, agent));
        self.runs.push(run);
        let surplus = self.runs.len().saturating_sub(MAX_RUNS);
        self.runs.drain(..surplus);
    }

    /// # Errors
    /// The file cannot be replaced.
    pub fn write(&self, locked: &Locked<'_>) -> io::Result<()> {
        write_own(locked, FILE, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_changed_alone_and_the_oldest_go_first() {
        let mut runs = Runs::default();
        let count = |runs: &mut Runs, session: &str, agent: &str| {
            runs.note(session, agent, |run| run.is_counted = true);
        };
        for (session, agent) in [("s", "a"), ("s", "b"), ("t", "a"), ("s", "a")] {
            count(&mut runs, session, agent);
        }
        assert_eq!(runs.runs.len(), 3);
        runs.note("t", "a", |run| run.was_sent_back = true);
        assert!(runs.get("t", "a").was_sent_back && !runs.get("s", "a").was_sent_back);
        runs.note("s", "a", |run| run.is_counted = false);
        let left = [("s", "a"), ("s", "b"), ("t", "a")].map(|(s, a)| runs.get(s, a).is_counted);
        assert_eq!(left, [false, true, true]);
        for n in 3..MAX_RUNS {
            count(&mut runs, "u", &n.to_string());
        }
        assert!(runs.get("s", "b").is_counted);
        count(&mut runs, "u", "one too many");
        assert!(!runs.get("s", "b").is_counted && runs.get("t", "a").is_counted);
        assert_eq!(runs.runs.len(), MAX_RUNS);
    }
}
