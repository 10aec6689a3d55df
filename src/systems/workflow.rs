//! The model that every system's state is read into: a workflow with gates.

use serde::Serialize;

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

/// One checkpoint as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gate {
    pub name: String,
    pub status: GateStatus,
    pub timestamp: Option<String>,
    pub agent: Option<String>,
}

/// The state of one run of one system, as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workflow {
    pub system: &'static str,
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
}

/// One gate that moved, as the gate log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateChange {
    pub gate: String,
    pub from: GateStatus,
    pub to: GateStatus,
    pub phase: Option<String>,
    pub iteration: Option<u64>,
    /// The line of the agent's reply that decided, cut to 200 characters.
    pub evidence: String,
}

/// What the gate log keeps of a change that moves no gate: where the run stands
/// after it, and what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub phase: Option<String>,
    pub iteration: Option<u64>,
    pub evidence: Option<String>,
}

/// What an event does to one state file: computed purely from its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file's whole new text and what it means.
    Changed {
        text: String,
        changes: Vec<GateChange>,
        account: Summary,
    },
    /// Nothing to write, and why; the reason goes to the gate log.
    Unchanged { why: String },
}

impl Outcome {
    /// A new text of which the gates that moved tell all.
    pub fn changed(text: String, changes: Vec<GateChange>) -> Self {
        Self::Changed {
            text,
            changes,
            account: Summary::default(),
        }
    }
}
