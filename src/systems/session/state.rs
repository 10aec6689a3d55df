//! The session file `state.json`: six phases in a fixed order.
//!
//! A typed view over the document. Keys it does not know are never looked at
//! and never lost.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::schema::{self, BLOCKS};
use crate::base::actor::AgentName;
use crate::base::clock;
use crate::base::string_enum::string_enum;
use crate::formats::json::Document;
use crate::systems::workflow::{Gate, GateStatus, NextStep, UnreadableState, Workflow};

string_enum! {
    /// The phases, in the order in which they must be completed.
    #[derive(PartialOrd, Ord)]
    pub enum Phase {
        Init = "init",
        Research = "research",
        Plan = "plan",
        Implement = "implement",
        Quality = "quality",
        Review = "review",
    }
}

impl Phase {
    /// The file in the session's directory that completes the phase.
    pub fn report(self) -> Option<&'static str> {
        match self {
            Self::Research => Some("research-report.md"),
            Self::Plan => Some("plan-report.md"),
            Self::Review => Some("review-report.md"),
            Self::Init | Self::Implement | Self::Quality => None,
        }
    }

    pub fn from_report(file_name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.report() == Some(file_name))
    }

    /// The phase an agent works for; the other phases belong to the main thread.
    pub fn for_agent(agent: &AgentName) -> Option<Self> {
        match agent.as_str() {
            "scouter" | "researcher" => Some(Self::Research),
            "reviewer" => Some(Self::Review),
            _ => None,
        }
    }
}

string_enum! {
    /// How far a phase is.
    #[derive(PartialOrd, Ord)]
    pub enum Status {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
    }
}

/// A time as it is written and the instant it means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    pub text: String,
    pub at: DateTime<Utc>,
}

impl Timestamp {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(Self {
            at: clock::parse(text)?,
            text: text.to_owned(),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseState {
    pub phase: Phase,
    pub status: Status,
    /// Completed by leaving it out.
    pub skipped: bool,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// Whom the dispatcher chose for it.
    agent: Option<String>,
}

impl PhaseState {
    pub fn gate_status(&self) -> GateStatus {
        match self.status {
            Status::Pending => GateStatus::Pending,
            Status::InProgress => GateStatus::InProgress,
            Status::Completed if self.skipped => GateStatus::Skipped,
            Status::Completed => GateStatus::Passed,
        }
    }
}

/// What a readable `state.json` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub id: String,
    pub task: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// One for each of [`Phase::ALL`], in its order.
    phases: [PhaseState; 6],
    /// Oddities that do not make the file unreadable.
    pub notes: Vec<String>,
}

impl State {
    /// # Errors
    /// Names the place that breaks the schema and what may be there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let document = Document::parse(text)?;
        let notes = schema::check(&document)?;
        let text = |path: &[&str]| document.get(path)?.as_str();
        let moment = |path: &[&str]| Timestamp::parse(text(path)?);
        let agent = |phase: Phase| {
            let mut blocks = BLOCKS.iter();
            blocks
                .find_map(|block| text(&[block, phase.as_str(), "agent"]))
                .map(str::to_owned)
        };
        let phase = |phase: Phase| {
            let path = |key| ["phases", phase.as_str(), key];
            PhaseState {
                phase,
                status: text(&path("status"))
                    .and_then(Status::parse)
                    .unwrap_or(Status::Pending),
                skipped: document.get(&path("skipped")) == Some(&Value::Bool(true)),
                started_at: moment(&path("started_at")),
                completed_at: moment(&path("completed_at")),
                agent: agent(phase),
            }
        };
        Ok(Self {
            id: text(&["id"]).unwrap_or_default().to_owned(),
            task: text(&["task"]).unwrap_or_default().to_owned(),
            created_at: moment(&["created_at"]).unwrap_or_default(),
            updated_at: moment(&["updated_at"]).unwrap_or_default(),
            phases: Phase::ALL.map(phase),
            notes,
        })
    }

    pub fn phases(&self) -> &[PhaseState] {
        &self.phases
    }

    pub fn phase(&self, phase: Phase) -> &PhaseState {
        &self.phases[phase as usize]
    }

    /// The first phase that is not completed; none when the session is over.
    pub fn unfinished(&self) -> Option<&PhaseState> {
        self.phases
            .iter()
            .find(|phase| phase.status != Status::Completed)
    }

    /// The gate that keeps a phase from starting, if one does.
    pub fn unfinished_before(&self, phase: Phase) -> Option<&PhaseState> {
        self.unfinished()
            .filter(|unfinished| unfinished.phase < phase)
    }
}

/// A session as `status` shows it; its phases are shown as gates.
///
/// # Errors
/// The text is no state of a session.
pub fn read_workflow(text: &str, file: &str) -> Result<Workflow, UnreadableState> {
    let state = State::parse(text).map_err(|why| UnreadableState::new(file, why))?;
    let gates = state.phases.iter().map(|phase| Gate {
        timestamp: phase
            .completed_at
            .as_ref()
            .or(phase.started_at.as_ref())
            .map(|moment| moment.text.clone()),
        agent: phase.agent.clone(),
        ..Gate::new(phase.phase.as_str(), phase.gate_status())
    });
    Ok(Workflow {
        active: state.unfinished().is_some(),
        phase: state
            .unfinished()
            .map(|phase| phase.phase.as_str().to_owned()),
        gates: gates.collect(),
        next: next_step(&state),
        updated_at: Some(state.updated_at.text.clone()),
        ..Workflow::new(super::ID, file)
    })
}

fn next_step(state: &State) -> NextStep {
    let Some(open) = state.unfinished() else {
        return NextStep::nothing("every phase is completed");
    };
    let name = open.phase.as_str();
    match (open.status, open.phase.report()) {
        (Status::InProgress, Some(report)) => {
            format!("finish phase `{name}`: write `{report}`, which completes it").into()
        }
        (Status::InProgress, None) => format!("finish phase `{name}`").into(),
        _ => format!("start phase `{name}`").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &str = include_str!("../../../tests/fixtures/session/complete.json");

    #[test]
    fn a_finished_session_reads_as_a_workflow() {
        let workflow = read_workflow(COMPLETE, ".claude/.docs/x/state.json").unwrap();
        let gates: Vec<_> = workflow
            .gates
            .iter()
            .map(|gate| (gate.name.as_str(), gate.status))
            .collect();
        let passed = |name| (name, GateStatus::Passed);
        assert_eq!(
            gates,
            [
                passed("init"),
                passed("research"),
                passed("plan"),
                passed("implement"),
                ("quality", GateStatus::Skipped),
                passed("review")
            ]
        );
        assert_eq!(workflow.gates[1].agent.as_deref(), Some("scouter"));
        assert_eq!((workflow.active, workflow.phase.as_deref()), (false, None));
        assert_eq!(workflow.next, NextStep::nothing("every phase is completed"));
    }

    #[test]
    fn what_only_lacks_a_minor_key_is_read_with_a_note() {
        let text = COMPLETE
            .replace("\"dispatcher_decisions\"", "\"delegating_decisions\"")
            .replace("      \"skipped\": false,\n      \"report\": null,\n", "");
        let state = State::parse(&text).unwrap();
        assert_eq!(
            state.phase(Phase::Review).agent.as_deref(),
            Some("reviewer")
        );
        assert_eq!(state.notes.len(), 4, "{:?}", state.notes);
        for text in [
            "2026-01-10T14:30:22+02:00",
            "2026-01-10T14:30:22.5",
            "2026-01-10T14:30",
        ] {
            assert!(Timestamp::parse(text).is_some(), "{text}");
        }
    }
}
