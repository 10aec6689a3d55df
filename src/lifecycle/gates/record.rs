//! The records of the gate log: what a completion moved, or why it moved nothing.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::base::clock;
use crate::host::event::Event;
use crate::log::record::{self, LogLine};
use crate::systems::workflow::{GateStatus, Move, Proof, StateChange};

/// One line of `gates.jsonl`: what a completion changed, or why nothing, or a test command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateRecord {
    pub id: String,
    /// UTC, RFC 3339, milliseconds.
    pub ts: String,
    pub system: String,
    /// Relative to the project.
    pub file: String,
    pub gate: Option<String>,
    pub from: Option<GateStatus>,
    pub to: Option<GateStatus>,
    pub phase: Option<String>,
    pub iteration: Option<u64>,
    pub agent_type: Option<String>,
    pub agent_id: Option<String>,
    pub session_id: Option<String>,
    pub evidence: Option<String>,
    /// What shows it. Of a gate that passed there is always something.
    pub proof: Vec<Proof>,
    /// What is missing for a gate that passed all the same.
    pub unsupported: Option<String>,
    /// Why nothing was changed.
    pub skipped: Option<String>,
    /// The further gates that the same completion moved.
    pub also: Vec<Move>,
    /// A test command that ran while the run was active.
    #[serde(flatten)]
    pub command: Option<Proof>,
}

/// Who a record is about. `agent_type` and `agent_id` are the agent's that
/// started or ended, which need not be the event's. A command has no event.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    pub event: Option<&'a Event<'a>>,
    pub agent_type: Option<&'a str>,
    pub agent_id: Option<&'a str>,
}

impl GateRecord {
    pub fn new(about: &About<'_>, system: &str, file: &str, now: DateTime<Utc>) -> Self {
        Self {
            id: record::id(now),
            ts: clock::millis(now),
            system: system.to_owned(),
            file: file.to_owned(),
            agent_type: about.agent_type.map(str::to_owned),
            agent_id: about.agent_id.map(str::to_owned),
            session_id: about
                .event
                .and_then(|event| event.session_id.get())
                .map(str::to_owned),
            ..Self::default()
        }
    }

    /// Notes what moved. A run can also be closed, or go on, without a gate.
    pub fn changed(mut self, change: &StateChange) -> Self {
        let mut moves = change.moves.iter().cloned();
        if let Some(first) = moves.next() {
            self.gate = Some(first.gate);
            self.from = Some(first.from);
            self.to = Some(first.to);
        }
        self.also = moves.collect();
        self.phase.clone_from(&change.phase);
        self.iteration = change.iteration;
        let evidence = change.evidence.as_deref();
        self.evidence = Some(evidence.unwrap_or("no gate moved").to_owned());
        self.proof.clone_from(&change.proof);
        self.unsupported.clone_from(&change.unsupported);
        self
    }

    pub(super) fn skipped(mut self, why: String) -> Self {
        self.skipped = Some(why);
        self
    }
}

impl LogLine for GateRecord {
    fn ts(&self) -> &str {
        &self.ts
    }
}
