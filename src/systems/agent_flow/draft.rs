//! The changes an event makes to a run's file, collected and then made at once.

use chrono::{DateTime, Utc};

use super::log;
use super::state::{FlowFile, FlowState, GROUP, Mode, Phase};
use crate::base::clock;
use crate::formats::front_matter::{self, Document};
use crate::formats::yaml::{self, KeyChange, Value};
use crate::systems::gate_record::{GateRecord, Move, Outcome};
use crate::systems::tested::Tested;
use crate::systems::workflow::{GateStatus, Proof};

pub(super) struct Draft<'a> {
    document: Document<'a>,
    value: Value,
    /// The run as the file states it; phase and iteration follow the changes.
    pub(super) state: FlowState,
    at: String,
    edits: Vec<KeyChange>,
    /// The gates that move, with the phase of the run and the reason from the first of them on.
    change: GateRecord,
    entries: String,
    /// What to say of the changes where no gate moves.
    said: Option<String>,
}

impl<'a> Draft<'a> {
    /// Opens the file of an active run that the shell readers understand.
    pub(super) fn open(file: &'a FlowFile, now: DateTime<Utc>) -> Result<Self, String> {
        let document = front_matter::split(&file.text)?;
        let value = match &file.front {
            Ok(value) => value.clone(),
            Err(error) => return Err(format!("its front matter is not YAML: {error}")),
        };
        let state = file.state.clone()?;
        if !state.active {
            return Err(super::INACTIVE.to_owned());
        }
        Ok(Self {
            document,
            value,
            state,
            at: clock::seconds(now),
            edits: Vec::new(),
            change: GateRecord::default(),
            entries: String::new(),
            said: None,
        })
    }

    pub(super) fn gate(&mut self, gate: Phase, to: GateStatus, evidence: &str) {
        let status = KeyChange::new(["gates", gate.as_str(), "status"], to.as_str());
        self.edits.push(status.first());
        if self.change.moves.is_empty() {
            self.change.phase = self.state.phase.map(|phase| phase.to_string());
            self.change.iteration = self.state.iteration;
            self.change.evidence = Some(evidence.to_owned());
        }
        self.change.moves.push(Move {
            gate: gate.to_string(),
            from: self.state.gate(gate),
            to,
        });
    }

    /// Notes what shows that a gate passed, or what is missing for that.
    pub(super) fn prove(&mut self, proof: Vec<Proof>, unsupported: Option<String>) {
        self.change.proof = proof;
        self.change.unsupported = unsupported;
    }

    /// Notes what has become of what the test has tested.
    pub(super) fn note_test(&mut self, tested: &Tested) {
        self.change.stale = tested.stale().map(str::to_owned);
        self.change.freshness = tested.freshness();
    }

    /// Marks a gate as running; what was said at its last end no longer holds.
    pub(super) fn begin(&mut self, gate: Phase, agent: &str) {
        self.gate(gate, GateStatus::InProgress, "the agent started");
        self.sign(gate, Some(agent), None);
        self.blank(["gates", gate.as_str(), "message"]);
    }

    /// Notes when a gate was changed, by whom, and what was said.
    pub(super) fn sign(&mut self, gate: Phase, agent: Option<&str>, message: Option<&str>) {
        let at = self.at.clone();
        let notes = [
            ("timestamp", Some(at.as_str())),
            ("agent", agent),
            ("message", message),
        ];
        for (key, note) in notes {
            if let Some(note) = note {
                self.set(["gates", gate.as_str(), key], note);
            }
        }
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        if self.state.phase != Some(phase) {
            self.set(["current_phase"], phase.as_str());
            self.state.phase = Some(phase);
            self.said = Some(format!("the run is in phase `{phase}` now"));
        }
    }

    pub(super) fn set_iteration(&mut self, iteration: u64) {
        self.edits.push(KeyChange::new(["iteration"], iteration));
        self.state.iteration = Some(iteration);
    }

    pub(super) fn log(
        &mut self,
        phase: Phase,
        agent: &str,
        result: &str,
        gate: Option<GateStatus>,
    ) {
        self.entries += &log::entry(phase.as_str(), agent, result, gate, &self.at);
    }

    pub(super) fn close(&mut self, agent: &str, result: &str, gate: Option<GateStatus>) {
        self.enter(Phase::Complete);
        self.edits.push(KeyChange::new(["active"], false));
        self.log(Phase::Complete, agent, result, gate);
        self.said = Some(result.to_owned());
    }

    /// Marks the group and its gate as running, at the first sign of a member.
    pub(super) fn begin_group(&mut self) {
        let group = self.state.group.as_ref();
        if group.is_none_or(|group| group.status != GateStatus::InProgress) {
            self.set_group_status(GateStatus::InProgress);
            self.blank(["parallel_groups", GROUP, "completed_at"]);
        }
        self.set_group_start();
        if self.state.gate(Phase::ReviewVerification) != GateStatus::InProgress {
            self.gate(
                Phase::ReviewVerification,
                GateStatus::InProgress,
                "the group started",
            );
            self.sign(Phase::ReviewVerification, None, None);
        }
    }

    /// Gives the group and its gate their outcome.
    pub(super) fn settle_group(&mut self, outcome: GateStatus, evidence: &str) {
        let at = self.at.clone();
        self.set_group_status(outcome);
        self.set_group_start();
        self.set(["parallel_groups", GROUP, "completed_at"], &at);
        self.gate(Phase::ReviewVerification, outcome, evidence);
        self.sign(Phase::ReviewVerification, None, None);
    }

    fn set_group_status(&mut self, status: GateStatus) {
        self.set(["parallel_groups", GROUP, "status"], status.as_str());
    }

    fn set_group_start(&mut self) {
        let group = self.state.group.as_ref();
        if group.is_none_or(|group| group.started_at.is_none()) {
            let at = self.at.clone();
            self.set(["parallel_groups", GROUP, "started_at"], &at);
        }
    }

    /// Records how far a member of the group is; once both have an outcome,
    /// returns that of the group.
    pub(super) fn member(
        &mut self,
        gate: Phase,
        status: GateStatus,
        result: &str,
    ) -> Option<GateStatus> {
        let at = self.at.clone();
        for (key, value) in [
            ("status", status.as_str()),
            ("result", result),
            ("timestamp", &at),
        ] {
            self.set(["parallel_groups", GROUP, gate.as_str(), key], value);
        }
        let other = if gate == Phase::Review {
            Phase::Verification
        } else {
            Phase::Review
        };
        let group = self.state.group.as_ref();
        let other = group.map_or(GateStatus::Pending, |group| group.member(other));
        group_outcome(status, other)
    }

    /// Takes the run back to implementation; `false` when no iteration is left.
    pub(super) fn reopen(&mut self) -> bool {
        let is_moved = self.state.phase == Some(Phase::Implementation);
        let iteration = self
            .state
            .iteration
            .unwrap_or(1)
            .saturating_add(u64::from(!is_moved));
        if self.state.max_iterations.is_some_and(|max| iteration > max) {
            return false;
        }
        self.enter(Phase::Implementation);
        if !is_moved {
            self.set_iteration(iteration);
        }
        let gates = self.state.mode.gates();
        for gate in gates.filter(|gate| *gate > Phase::Implementation) {
            if self.state.gate(gate) != GateStatus::Pending {
                self.gate(gate, GateStatus::Pending, "the work was sent back");
                for key in ["timestamp", "agent", "message"] {
                    self.blank(["gates", gate.as_str(), key]);
                }
            }
        }
        if self.state.mode == Mode::Team && self.state.group.is_some() {
            self.blank_group();
        }
        true
    }

    /// Puts the group block back to where it was before its first start.
    pub(super) fn blank_group(&mut self) {
        self.set_group_status(GateStatus::Pending);
        self.blank(["parallel_groups", GROUP, "started_at"]);
        self.blank(["parallel_groups", GROUP, "completed_at"]);
        for gate in [Phase::Review, Phase::Verification] {
            self.set(
                ["parallel_groups", GROUP, gate.as_str(), "status"],
                GateStatus::Pending.as_str(),
            );
            self.blank(["parallel_groups", GROUP, gate.as_str(), "timestamp"]);
            self.blank(["parallel_groups", GROUP, gate.as_str(), "result"]);
        }
    }

    fn set<const N: usize>(&mut self, path: [&str; N], value: &str) {
        self.edits.push(KeyChange::new(path, yaml::one_line(value)));
    }

    /// Empties a field that speaks of what was before.
    fn blank<const N: usize>(&mut self, path: [&str; N]) {
        if yaml::text(&self.value, &path).is_some() {
            self.set(path, "");
        }
    }

    pub(super) fn finish(self) -> Outcome {
        let body = log::append(self.document.body, &self.entries);
        let text = self.document.edited(self.value, &self.edits, &body)?;
        let mut change = self.change;
        if change.moves.is_empty() {
            change.phase = self.state.phase.map(|phase| phase.to_string());
            change.iteration = self.state.iteration;
            change.evidence = self.said;
        }
        change.text = text;
        Ok(change)
    }
}

/// The outcome of two members; `None` while one of them is still out.
pub(super) fn group_outcome(one: GateStatus, other: GateStatus) -> Option<GateStatus> {
    let is_in = |status: GateStatus| status.has_passed() || status == GateStatus::Failed;
    let has_failed = one == GateStatus::Failed || other == GateStatus::Failed;
    let outcome = if has_failed {
        GateStatus::Failed
    } else {
        GateStatus::Passed
    };
    (is_in(one) && is_in(other)).then_some(outcome)
}
