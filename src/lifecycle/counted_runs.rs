//! Which runs of agents have been counted, and which were sent back to work. One run can
//! bring two events, and the same agent can be continued and end again.

use std::io;

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
    counted: Vec<Run>,
    /// Those whose report was refused once.
    #[serde(default)]
    sent_back: Vec<Run>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    session: String,
    agent: String,
}

impl Run {
    fn is(&self, session: &str, agent: &str) -> bool {
        self.session == session && self.agent == agent
    }
}

/// Adds a run to a list as its newest; the oldest ones go.
fn add(runs: &mut Vec<Run>, session: &str, agent: &str) {
    runs.retain(|run| !run.is(session, agent));
    runs.push(Run {
        session: session.to_owned(),
        agent: agent.to_owned(),
    });
    let surplus = runs.len().saturating_sub(MAX_RUNS);
    runs.drain(..surplus);
}

impl Runs {
    /// A file that cannot be read counts as empty: at worst a run counts twice.
    pub fn read(locked: &Locked<'_>) -> Self {
        read_own(locked.dir(), FILE).unwrap_or_default()
    }

    pub fn is_counted(&self, session: &str, agent: &str) -> bool {
        self.counted.iter().any(|run| run.is(session, agent))
    }

    pub fn was_sent_back(&self, session: &str, agent: &str) -> bool {
        self.sent_back.iter().any(|run| run.is(session, agent))
    }

    pub fn count(&mut self, session: &str, agent: &str) {
        add(&mut self.counted, session, agent);
    }

    pub fn send_back(&mut self, session: &str, agent: &str) {
        add(&mut self.sent_back, session, agent);
    }

    /// A continued agent is countable again; `false` where nothing was known of it.
    pub fn forget(&mut self, session: &str, agent: &str) -> bool {
        let n_known = self.counted.len() + self.sent_back.len();
        self.counted.retain(|run| !run.is(session, agent));
        self.sent_back.retain(|run| !run.is(session, agent));
        self.counted.len() + self.sent_back.len() < n_known
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
    fn a_run_is_forgotten_alone_and_the_oldest_go_first() {
        let mut runs = Runs::default();
        for (session, agent) in [("s", "a"), ("s", "b"), ("t", "a"), ("s", "a")] {
            runs.count(session, agent);
        }
        assert_eq!(runs.counted.len(), 3);
        runs.send_back("t", "a");
        assert!(runs.was_sent_back("t", "a") && !runs.was_sent_back("s", "a"));
        assert!(runs.forget("s", "a") && !runs.forget("s", "a"));
        let left = [("s", "a"), ("s", "b"), ("t", "a")].map(|(s, a)| runs.is_counted(s, a));
        assert_eq!(left, [false, true, true]);
        for n in 2..MAX_RUNS {
            runs.count("u", &n.to_string());
        }
        assert!(runs.is_counted("s", "b"));
        runs.count("u", "one too many");
        assert!(!runs.is_counted("s", "b") && runs.is_counted("t", "a"));
        assert_eq!(runs.counted.len(), MAX_RUNS);
    }
}
