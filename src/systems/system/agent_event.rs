//! The events that can move a gate, and what one leads to in a system.

use std::collections::BTreeMap;

use crate::base::actor::AgentName;
use crate::systems::gate_record::GateRecord;
use crate::systems::workflow::GateStatus;

/// An event that can move a gate.
#[derive(Clone, Copy, Debug)]
pub enum AgentEvent<'a> {
    Start {
        agent: &'a AgentName,
    },
    /// A call wrote files, given by their paths below `gate_dir`; without an agent it was the
    /// main thread's.
    Wrote {
        agent: Option<&'a AgentName>,
        entries: &'a [String],
    },
    /// `reply` is the agent's final text, `task` what it was asked to do.
    End {
        agent: &'a AgentName,
        reply: &'a str,
        task: &'a str,
    },
    /// The main thread's turn ended with these words, while agents go on in the background.
    TurnEnd {
        running: &'a [AgentName],
        reply: &'a str,
    },
}

impl<'a> AgentEvent<'a> {
    /// The agent whose event it is; `None` for the main thread.
    pub fn agent(self) -> Option<&'a AgentName> {
        match self {
            Self::Start { agent } | Self::End { agent, .. } => Some(agent),
            Self::Wrote { agent, .. } => agent,
            Self::TurnEnd { .. } => None,
        }
    }

    /// The same event of an agent by another name.
    pub fn by(mut self, name: &'a AgentName) -> Self {
        match &mut self {
            Self::Start { agent } | Self::End { agent, .. } => *agent = name,
            Self::Wrote { agent, .. } => *agent = Some(name),
            Self::TurnEnd { .. } => {}
        }
        self
    }
}

/// What an event leads to in one system.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    pub records: Vec<GateRecord>,
    pub missing: Vec<Missing>,
    /// The files that are there and cannot be read, with the reason. A system leaves it empty.
    pub faults: BTreeMap<String, String>,
}

impl Effects {
    pub fn of(records: impl IntoIterator<Item = GateRecord>) -> Self {
        Self {
            records: records.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.missing.is_empty()
    }

    /// Why it cannot be known what to do with a file; with no file chosen that can be any.
    pub fn fault_of(&self, file: &str) -> Option<String> {
        let fault = match file {
            "" => self.faults.first_key_value(),
            file => self.faults.get_key_value(file),
        };
        fault.map(|(name, why)| format!("`{name}` cannot be read: {why}"))
    }
}

/// An artifact that an agent owes and that is missing or no good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Relative to `gate_dir`.
    pub file: String,
    pub why: String,
}

/// An agent ended while a run is active, and none of its gates is the agent's.
pub fn of_no_gate(file: &str, agent: &AgentName) -> GateRecord {
    GateRecord::of(file, Err(no_gate(agent)))
}

/// Why the end of an agent moves nothing.
pub fn no_gate(agent: &AgentName) -> String {
    match agent.as_str() {
        "" => "the agent has no type".to_owned(),
        name => format!("agent `{name}` has no gate"),
    }
}

/// A gate that keeps an agent from being dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedGate {
    /// The file that says so, relative to `gate_dir`.
    pub file: String,
    /// Its name, or that of the file that should say so.
    pub name: String,
    /// Its status, and what to do.
    pub why: String,
}

impl ClosedGate {
    /// `place` is the file, or the directory of several to which the gate belongs.
    pub fn unmet(file: &str, place: &str, name: &str, status: GateStatus) -> Self {
        let cure = "finish that phase first, or set the gate right";
        Self::new(file, place, name, status.as_str(), cure)
    }

    pub fn new(file: &str, place: &str, name: &str, status: &str, cure: &str) -> Self {
        Self {
            file: file.to_owned(),
            name: name.to_owned(),
            why: format!(
                "its phase comes after the gate `{name}`, which is `{status}` in `{place}`; {cure}"
            ),
        }
    }

    /// Where the gates cannot be read, none has passed.
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
