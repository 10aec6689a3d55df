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
    counted: Vec<Run>,
    /// Those whose report was denied once.
    #[serde(default)]
    sent_back: Vec<Run>,
    #[serde(default)]
    began: Vec<Began>,
}

/// What the artifacts of an agent held when it first started in a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    #[serde(flatten)]
    run: Run,
    pub workflow: Option<String>,
    /// UTC, RFC 3339, milliseconds.
    pub at: String,
    /// git's ids of the contents, by absolute path. A file that was not there has none, nor
    /// one that the agent has written with a file tool since.
    pub held: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        Self::peek(locked.dir())
    }

    /// The same without the lock, for what need not be the newest.
    pub fn peek(own_folder: &Path) -> Self {
        read_own(own_folder, FILE).unwrap_or_default()
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

    pub fn began(&self, session: &str, agent: &str) -> Option<&Began> {
        self.began.iter().find(|began| began.run.is(session, agent))
    }

    /// Notes an agent's start; an earlier one in the same workflow stands.
    pub fn begin(&mut self, session: &str, agent: &str, began: Began) {
        let earlier = self.began(session, agent);
        if earlier.is_some_and(|earlier| earlier.workflow == began.workflow) {
            return;
        }
        self.began.retain(|began| !began.run.is(session, agent));
        let run = Run {
            session: session.to_owned(),
            agent: agent.to_owned(),
        };
        self.began.push(Began { run, ..began });
        let surplus = self.began.len().saturating_sub(MAX_RUNS);
        self.began.drain(..surplus);
    }

    /// A file tool of an agent has written a file; `false` where that says nothing new.
    pub fn wrote(&mut self, session: &str, agent: &str, path: &str) -> bool {
        let mut began = self.began.iter_mut();
        let began = began.find(|began| began.run.is(session, agent));
        began.is_some_and(|began| began.held.remove(path).is_some())
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
