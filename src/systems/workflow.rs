//! The model that every system's state is read into: a workflow with gates.

use serde::{Deserialize, Serialize};

use crate::base::string_enum::string_enum;

string_enum! {
    /// How far a gate is. Each system's file maps its own spelling to these.
    pub enum GateStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Passed = "passed",
        Failed = "failed",
        Skipped = "skipped",
    }
}

impl GateStatus {
    /// A skipped gate opens the way as a passed one does.
    pub fn has_passed(self) -> bool {
        matches!(self, Self::Passed | Self::Skipped)
    }
}

string_enum! {
    /// What stands behind a gate that passed.
    pub enum Standing {
        Proved = "proved",
        /// Its agent said so, and what would show it is missing.
        OnItsWord = "on its word",
        /// Nobody was seen passing it.
        OnlyInFile = "only in the file",
    }
}

/// One checkpoint as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub name: String,
    pub status: GateStatus,
    /// When it got that status, and by whom.
    pub timestamp: Option<String>,
    pub agent: Option<String>,
    /// Of a gate that passed, once the gate log was asked.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub standing: Option<Standing>,
    /// What shows it, where the files themselves do.
    #[serde(skip)]
    pub proof: Vec<Proof>,
}

impl Gate {
    pub fn new(name: &str, status: GateStatus) -> Self {
        Self {
            name: name.to_owned(),
            status,
            timestamp: None,
            agent: None,
            standing: None,
            proof: Vec::new(),
        }
    }

    /// How people and models are told of it.
    pub fn label(&self) -> &'static str {
        match self.standing {
            Some(Standing::OnItsWord) => "passed on its word",
            _ => self.status.as_str(),
        }
    }
}

/// The state of one run of one system, as `status` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Workflow {
    pub system: String,
    /// Where it was read from, relative to the project root.
    pub file: String,
    pub active: bool,
    pub phase: Option<String>,
    pub iteration: Option<u64>,
    pub max_iterations: Option<u64>,
    pub gates: Vec<Gate>,
    /// What comes next, as a short sentence for a person or a model.
    pub next: String,
    pub updated_at: Option<String>,
    /// What the log holds of earlier runs in the same file says nothing of this one.
    #[serde(skip)]
    pub started_at: Option<String>,
}

impl Workflow {
    /// One of which nothing is known yet.
    pub fn new(system: &str, file: &str) -> Self {
        Self {
            system: system.to_owned(),
            file: file.to_owned(),
            ..Self::default()
        }
    }
}

/// One gate that went from one status to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    pub gate: String,
    pub from: GateStatus,
    pub to: GateStatus,
}

/// What shows that a gate passed, beside what somebody said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Proof {
    /// The words that decided, and where they stand: a file, or the agent's `reply`.
    Verdict { line: String, at: String },
    /// A file as it was when the gate passed. A system names it; size and git's id of the
    /// content are added when the change is recorded.
    Artifact {
        path: String,
        size: u64,
        blob: String,
    },
    /// A test command that ran.
    Command {
        line: String,
        status: Option<i32>,
        /// UTC, RFC 3339, milliseconds.
        at: String,
    },
    /// The checked boxes of a task group.
    Boxes { done: usize, of: usize },
    /// A person's word: a command at a terminal, or a file that only the user writes.
    Approval { by: String },
}

impl Proof {
    pub fn artifact(path: &str) -> Self {
        Self::Artifact {
            path: path.to_owned(),
            size: 0,
            blob: String::new(),
        }
    }
}

/// A change of one state file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateChange {
    /// The file's whole new text.
    pub text: String,
    pub moves: Vec<Move>,
    /// Where the run stood.
    pub phase: Option<String>,
    pub iteration: Option<u64>,
    /// The line that decided.
    pub evidence: Option<String>,
    pub proof: Vec<Proof>,
    /// What is missing for a gate that passed all the same.
    pub unsupported: Option<String>,
}

impl StateChange {
    /// A new text that says all.
    pub fn from_text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// What an event does to one state file, computed purely from its text; the error says why there
/// is nothing to write, and goes to the gate log.
pub type Outcome = Result<StateChange, String>;
