//! The moments of an agent's life, and what they lead to in a system.

use crate::base::actor::AgentName;
use crate::systems::workflow::{GateStatus, Outcome};

/// A moment that can move a gate.
#[derive(Clone, Copy, Debug)]
pub enum AgentEvent<'a> {
    AgentStart {
        agent: &'a AgentName,
    },
    /// `reply` is the agent's final text.
    AgentEnd {
        agent: &'a AgentName,
        reply: &'a str,
    },
    /// The main thread's turn ended, while agents go on in the background.
    TurnEnd {
        running: &'a [AgentName],
    },
    /// The main thread wrote a file, given by its path below `gate_dir`.
    Wrote {
        entry: &'a str,
        text: &'a str,
    },
}

/// What a moment leads to in one system.
#[derive(Debug, Default)]
pub struct Effects {
    pub outcomes: Vec<FileOutcome>,
    /// Artifacts that the agent owes and that are missing or no good.
    pub owed: Vec<MissingArtifact>,
}

impl Effects {
    pub fn of(outcomes: impl IntoIterator<Item = FileOutcome>) -> Self {
        Self {
            outcomes: outcomes.into_iter().collect(),
            owed: Vec::new(),
        }
    }
}

/// What a moment does to one file.
#[derive(Clone, Debug)]
pub struct FileOutcome {
    /// Relative to `gate_dir`; empty where there was a choice of files and none was the one.
    pub file: String,
    pub outcome: Outcome,
}

impl FileOutcome {
    pub fn new(file: &str, outcome: Outcome) -> Self {
        let file = file.to_owned();
        Self { file, outcome }
    }

    /// An agent ended while a run is active, and none of its gates is the agent's.
    pub fn of_no_gate(file: &str, agent: &AgentName) -> Self {
        Self::new(file, Err(no_gate(agent)))
    }
}

/// Why the end of an agent moves nothing.
pub fn no_gate(agent: &AgentName) -> String {
    match agent.as_str() {
        "" => "the agent has no type".to_owned(),
        name => format!("agent `{name}` has no gate"),
    }
}

/// An artifact that an agent did not leave as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingArtifact {
    /// Relative to `gate_dir`.
    pub file: String,
    pub why: String,
}

/// A gate that keeps an agent from being dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedGate {
    /// The file that tells, relative to `gate_dir`.
    pub file: String,
    /// Its name, or that of the file that should tell.
    pub name: String,
    /// How it stands, and what to do.
    pub why: String,
}

impl ClosedGate {
    pub fn new(file: &str, name: &str, status: GateStatus) -> Self {
        let status = status.as_str();
        Self {
            file: file.to_owned(),
            name: name.to_owned(),
            why: format!(
                "its phase comes after the gate `{name}`, which is `{status}` in `{file}`; finish that phase first, or set the gate right"
            ),
        }
    }

    /// Where nobody knows how the gates stand, none has passed.
    pub fn unknown(file: &str, why: &str) -> Self {
        Self {
            file: file.to_owned(),
            name: file.to_owned(),
            why: format!(
                "`{file}` does not tell whether the gates before its phase have passed: {why}; mend the file first"
            ),
        }
    }
}
