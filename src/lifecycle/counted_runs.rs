//! What is kept of the runs of agents: which have been counted or sent back to work, since one run
//! can bring two events, and what each found at its start and wrote since.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::base::text;
use crate::formats::json::line;
use crate::project::memory::RUNS;
use crate::project::roots::Project;
use crate::store::lock::Locked;
use crate::store::read_value;
use crate::store::replace::replace_private;

/// Counted runs kept; a session has far fewer agents.
const MAX_RUNS: usize = 500;

/// As much of a task is kept, in characters, to look the names of directories up in.
const MAX_TASK: usize = 4_000;

/// The file `runs.json`. It is changed under the lock of the program's own folder, whose gate log
/// is appended to at the same time.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Runs {
    /// Of each agent, the newest last.
    runs: Vec<Run>,
    /// The dispatches of agents that have not started yet, the newest last.
    #[serde(default)]
    dispatched: Vec<Dispatched>,
}

/// An agent that is to start, and the task that it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Dispatched {
    session: String,
    agent_type: String,
    task: String,
}

/// What is known of an agent's run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    session: String,
    /// The agent's id.
    pub agent: String,
    /// Its end was counted.
    pub is_counted: bool,
    /// Its report was denied once.
    pub was_sent_back: bool,
    /// As the event of its start has it; `None` where the start was not seen.
    #[serde(default)]
    pub agent_type: Option<String>,
    /// When it last started: UTC, RFC 3339, milliseconds.
    #[serde(default)]
    pub started: Option<String>,
    /// The governed files that its calls wrote since then: absolute paths.
    #[serde(default)]
    pub wrote: Vec<String>,
    /// Those of them that a file tool wrote last, and when: whatever they hold is its work.
    #[serde(default)]
    pub typed_at: BTreeMap<String, String>,
    /// The beginning of its task.
    #[serde(default)]
    pub task: String,
    /// The tests that it began in the background, by the client's ids for them, and that had
    /// not ended when it was last seen to stop.
    #[serde(default)]
    pub tests: Vec<String>,
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
    /// Its agent starts, or goes on after an end: that counts, and may be denied, again.
    pub fn start(&mut self, agent_type: Option<&str>, at: String, task: String) {
        (self.is_counted, self.was_sent_back) = (false, false);
        self.agent_type = agent_type.map(str::to_owned);
        self.started = Some(at);
        self.task = task;
        self.wrote.clear();
        self.typed_at.clear();
        self.tests.clear();
    }

    /// Of two starts in one workflow the earlier one is kept.
    pub fn begin(&mut self, new: Began) {
        match &self.began {
            Some(known) if known.workflow == new.workflow => {}
            _ => self.began = Some(new),
        }
    }

    /// Whether it is the run of an agent.
    pub fn is_agent(&self, id: &str) -> bool {
        !id.is_empty() && self.agent == id
    }

    fn is(&self, session: &str, agent: &str) -> bool {
        self.session == session && self.agent == agent
    }
}

impl Runs {
    /// A file that cannot be read counts as empty: at worst a run counts twice.
    pub fn read(project: &Project) -> Self {
        read_value(project.runs_folder(), RUNS).unwrap_or_default()
    }

    /// What is known of an agent; of one that is not known, nothing.
    pub fn get(&self, session: &str, agent: &str) -> Run {
        let run = self.runs.iter().find(|run| run.is(session, agent));
        run.cloned().unwrap_or_default()
    }

    /// The agents of the newest runs that have not ended.
    pub fn running(&self) -> impl Iterator<Item = &str> {
        let open = self.runs.iter().filter(|run| !run.is_counted);
        open.filter_map(|run| run.agent_type.as_deref())
    }

    /// When a file tool of an agent wrote a file last, as far as that is kept.
    pub fn typed_at(&self, path: &str) -> Option<&str> {
        let times = self.runs.iter().filter_map(|run| run.typed_at.get(path));
        times.max().map(String::as_str)
    }

    /// Notes the task of an agent that is to start.
    pub fn dispatch(&mut self, session: &str, agent_type: &str, task: &str) {
        self.dispatched.push(Dispatched {
            session: session.to_owned(),
            agent_type: agent_type.to_owned(),
            task: text::truncate(task, MAX_TASK),
        });
        let surplus = self.dispatched.len().saturating_sub(MAX_RUNS);
        self.dispatched.drain(..surplus);
    }

    /// The task of an agent that starts. Where several of its type are to start, with different
    /// tasks, it is not known which is its.
    pub fn take_task(&mut self, session: &str, agent_type: &str) -> String {
        let is_it = |one: &Dispatched| one.session == session && one.agent_type == agent_type;
        let Some(first) = self.dispatched.iter().position(is_it) else {
            return String::new();
        };
        let mut others = self.dispatched.iter().filter(|one| is_it(one));
        let is_one = others.all(|one| one.task == self.dispatched[first].task);
        let taken = self.dispatched.remove(first);
        if is_one { taken.task } else { String::new() }
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
    pub fn write(&self, project: &Project, _: &Locked<'_>) -> io::Result<()> {
        let file = project.runs_folder().join(RUNS);
        replace_private(&file, line(self).as_bytes())
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
