//! What an event does to the gates in one state file, as the gate log keeps it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::tested::Freshness;
use super::workflow::{GateStatus, Proof, TestResult};
use crate::base::clock;
use crate::log::record::{self, LogLine};

/// One gate that went from one status to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    pub gate: String,
    pub from: GateStatus,
    pub to: GateStatus,
}

/// One line of `gates.jsonl`: what an event changed in a file, or why nothing, or a test command.
/// A system makes it from the file's text alone; [`Self::stamped`] adds the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateRecord {
    pub id: String,
    /// UTC, RFC 3339, milliseconds.
    pub ts: String,
    pub system: String,
    /// Relative to the project; from a system, to its `gate_dir`, and empty where there was a
    /// choice of files and none was the one.
    pub file: String,
    /// The state directory, where the file holds the runs of several.
    pub directory: Option<String>,
    /// The gate that moved, or that it is about where none did.
    pub gate: Option<String>,
    pub from: Option<GateStatus>,
    pub to: Option<GateStatus>,
    /// Where the run stood.
    pub phase: Option<String>,
    pub iteration: Option<u64>,
    pub agent_type: Option<String>,
    pub agent_id: Option<String>,
    pub session_id: Option<String>,
    /// The line that decided.
    pub evidence: Option<String>,
    /// What shows it. Of a gate that passed there is always something.
    pub proof: Vec<Proof>,
    /// What is missing for a gate that passed all the same.
    pub unsupported: Option<String>,
    /// Why nothing was changed.
    pub skipped: Option<String>,
    /// The further gates that the same event moved.
    pub also: Vec<Move>,
    /// The file by which the test of a gate that passed is stale, relative to the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Whether it could be asked what has changed since the test.
    #[serde(skip_serializing_if = "Freshness::is_asked")]
    pub freshness: Freshness,
    /// Of a test command: what it showed, and why that proves nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<TestResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The runner that spoke first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// Which line it was: two that differ may look alike in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_id: Option<String>,
    /// A test command that ran while the run was active.
    #[serde(flatten)]
    pub command: Option<Proof>,
    /// The gates that move; once it is stamped, the first is `gate` and the others are in `also`.
    #[serde(skip)]
    pub moves: Vec<Move>,
    /// The whole text that the file gets.
    #[serde(skip)]
    pub text: String,
}

/// What an event does to one state file, computed purely from its text; the error says why there
/// is nothing to write.
pub type Outcome = Result<GateRecord, String>;

impl GateRecord {
    /// What a system makes of a file.
    pub fn of(file: &str, outcome: Outcome) -> Self {
        match outcome {
            Ok(change) => Self {
                file: file.to_owned(),
                ..change
            },
            Err(why) => Self {
                file: file.to_owned(),
                skipped: Some(why),
                ..Self::default()
            },
        }
    }

    /// The same where the gate is known, whether it moves or not.
    pub fn about(self, gate: &str) -> Self {
        let gate = Some(gate.to_owned());
        Self { gate, ..self }
    }

    /// Who an event is about: the agent that started or ended, which need not be the event's.
    pub fn by(session: Option<&str>, agent_type: Option<&str>, agent_id: Option<&str>) -> Self {
        Self {
            session_id: session.map(str::to_owned),
            agent_type: agent_type.map(str::to_owned),
            agent_id: agent_id.map(str::to_owned),
            ..Self::default()
        }
    }

    pub fn is_change(&self) -> bool {
        self.skipped.is_none()
    }

    pub fn passes_a_gate(&self) -> bool {
        let mut moves = self.moves.iter();
        moves.any(|moved| moved.to == GateStatus::Passed)
    }

    /// Leaves the file as it is.
    pub fn skipped(mut self, why: String) -> Self {
        let moved = self.moves.into_iter().next().map(|moved| moved.gate);
        Self {
            file: self.file,
            directory: self.directory,
            gate: self.gate.take().or(moved),
            skipped: Some(why),
            ..Self::default()
        }
    }

    /// The line of the log. `by` says whose the event is, `file` is relative to the project.
    pub fn stamped(self, by: &Self, system: &str, file: String, now: DateTime<Utc>) -> Self {
        // A run can also be closed, or go on, without a gate.
        let nothing =
            (self.is_change() && self.command.is_none()).then(|| "no gate moved".to_owned());
        let mut moves = self.moves.into_iter();
        let (gate, from, to) = match moves.next() {
            Some(Move { gate, from, to }) => (Some(gate), Some(from), Some(to)),
            None => (self.gate, None, None),
        };
        Self {
            id: record::id(now),
            ts: clock::millis(now),
            system: system.to_owned(),
            file,
            gate,
            from,
            to,
            also: moves.collect(),
            moves: Vec::new(),
            evidence: self.evidence.or(nothing),
            session_id: by.session_id.clone(),
            agent_type: by.agent_type.clone(),
            agent_id: by.agent_id.clone(),
            ..self
        }
    }
}

impl LogLine for GateRecord {
    fn ts(&self) -> &str {
        &self.ts
    }
}
