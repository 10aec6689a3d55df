//! How the start and the end of agents move the gates of a run.
//!
//! The orchestrator calls an update script of its own after each agent, or
//! forgets to. Both ways must end in the same state, therefore an agent's end
//! settles its own gate only and the phase moves when the next agent starts:
//! nothing done here is undone or done twice by a script that comes before or
//! after.

use chrono::{DateTime, Utc};

use super::log;
use super::state::{Agent, FlowState, GROUP, Mode, Phase, has_passed};
use super::verdict::{self, Reading, Verdict};
use crate::actor::AgentName;
use crate::formats::front_matter::{self, Document};
use crate::formats::yaml::{self, Change, Scalar, Value};
use crate::workflow::{GateChange, GateStatus, Outcome, stamp};

const ABORTED: &str = "Aborted: max iterations reached";
const COMPLETED: &str = "All phases completed successfully";

/// What an agent just did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Start,
    Completion,
}

/// The end of an agent's run, with its final reply.
pub fn on_completion(text: &str, agent: &AgentName, reply: &str, now: DateTime<Utc>) -> Outcome {
    outcome(complete(text, agent, reply, now))
}

/// The start of an agent's run.
pub fn on_start(text: &str, agent: &AgentName, now: DateTime<Utc>) -> Outcome {
    outcome(start(text, agent, now))
}

/// The end of the main thread's turn: closes a run whose gates have all passed.
pub fn on_stop(text: &str, now: DateTime<Utc>) -> Outcome {
    outcome(stop(text, now))
}

/// Whether an event of this agent belongs to the run in this file; decides
/// between the two files when both hold an active run.
pub fn fits(text: &str, agent: &AgentName, moment: Moment) -> bool {
    let state = FlowState::read(text).ok().filter(|state| state.active);
    let (Some(state), Some(agent)) = (state, Agent::parse(agent)) else {
        return false;
    };
    match moment {
        Moment::Start => may_start(&state, agent).is_ok(),
        Moment::Completion => standing(&state, agent).is_ok(),
    }
}

fn outcome(result: Result<Outcome, String>) -> Outcome {
    result.unwrap_or_else(|why| Outcome::Unchanged { why })
}

/// How a completion stands to the phase of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Current,
    /// The script has moved the phase on and left the member's gate open, as
    /// the original team script does.
    Overtaken,
}

fn standing(state: &FlowState, agent: Agent) -> Result<Standing, String> {
    let own = agent.phase(state.mode);
    let phase = state
        .phase
        .ok_or("`current_phase` is not one of the known phases")?;
    // In sequential mode the original script still names the group's phase
    // while Lawliet works.
    let is_unused_group = state.mode == Mode::Sequential && phase == Phase::ReviewVerification;
    if phase == own || is_unused_group && agent == Agent::Lawliet {
        return Ok(Standing::Current);
    }
    let is_left_open = own == Phase::ReviewVerification
        && matches!(phase, Phase::Complete | Phase::Implementation)
        && state.gate(agent.gate()) == GateStatus::InProgress;
    if is_left_open {
        return Ok(Standing::Overtaken);
    }
    Err(format!(
        "{} works in phase `{own}`, the run is in `{phase}`",
        agent.as_str()
    ))
}

fn complete(
    text: &str,
    name: &AgentName,
    reply: &str,
    now: DateTime<Utc>,
) -> Result<Outcome, String> {
    let mut draft = Draft::open(text, now)?;
    let agent = gate_owner(name)?;
    let standing = standing(&draft.state, agent)?;
    let (verdict, evidence) = match verdict::read(agent, reply) {
        Reading::Decided { verdict, evidence } => (verdict, log::cut(evidence)),
        Reading::Undecided { why } => return Err(why.to_owned()),
    };
    let to = verdict.gate_status();
    let headline = verdict::headline(reply);
    let message = log::cut(&match verdict {
        Verdict::EnvironmentBlocked => {
            format!("Environment blocked, passed with a caveat: {evidence}")
        }
        _ => headline.to_owned(),
    });
    draft.gate(agent.gate(), to, &evidence);
    draft.signed(agent.gate(), agent);
    draft.set(Change::text(
        ["gates", agent.gate().as_str(), "message"],
        &message,
    ));
    draft.log(agent.gate(), agent.as_str(), &message, Some(to));
    let is_failure = if agent.phase(draft.state.mode) == Phase::ReviewVerification {
        draft.settle_member(agent, verdict, &evidence, standing) == Some(GateStatus::Failed)
    } else {
        to == GateStatus::Failed
    };
    let is_last = draft
        .state
        .max_iterations
        .is_some_and(|max| draft.iteration() >= max);
    if is_failure && is_last && standing == Standing::Current {
        draft.close(ABORTED, Some(GateStatus::Failed));
    }
    draft.finish()
}

/// What the start of an agent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entrance {
    /// Its phase begins, or goes on.
    Next,
    /// Loid takes up work that was sent back.
    Again,
}

fn may_start(state: &FlowState, agent: Agent) -> Result<Entrance, String> {
    if agent == Agent::Loid && state.is_sent_back() {
        return Ok(Entrance::Again);
    }
    let own = agent.phase(state.mode);
    let phase = state
        .phase
        .ok_or("`current_phase` is not one of the known phases")?;
    // A team run whose phase names one of the members is inside the group.
    let reached = if state.mode == Mode::Team && phase < Phase::Complete {
        phase.min(Phase::ReviewVerification)
    } else {
        phase
    };
    if reached > own {
        return Err(format!(
            "{} works in phase `{own}`, the run is already in `{phase}`",
            agent.as_str()
        ));
    }
    if let Some((gate, status)) = state.unmet_gate(agent) {
        return Err(format!(
            "gate `{gate}` before phase `{own}` is `{}`",
            status.as_str()
        ));
    }
    Ok(Entrance::Next)
}

fn start(text: &str, name: &AgentName, now: DateTime<Utc>) -> Result<Outcome, String> {
    let mut draft = Draft::open(text, now)?;
    let agent = gate_owner(name)?;
    let entrance = may_start(&draft.state, agent)?;
    if entrance == Entrance::Again && !draft.reopen() {
        draft.close(ABORTED, Some(GateStatus::Failed));
        return draft.finish();
    }
    let own = agent.phase(draft.state.mode);
    let status = draft.state.gate(agent.gate());
    let is_open =
        status != GateStatus::InProgress && (entrance == Entrance::Again || !has_passed(status));
    if !is_open && entrance == Entrance::Next && draft.state.phase == Some(own) {
        return Err(format!("gate `{}` is `{}`", agent.gate(), status.as_str()));
    }
    draft.enter(own);
    if is_open {
        draft.gate(agent.gate(), GateStatus::InProgress, "the agent started");
        draft.signed(agent.gate(), agent);
    }
    if own == Phase::ReviewVerification {
        draft.begin_group();
        draft.member(agent, "status", GateStatus::InProgress.as_str());
        let at = draft.at.clone();
        draft.member(agent, "timestamp", &at);
    }
    draft.finish()
}

fn stop(text: &str, now: DateTime<Utc>) -> Result<Outcome, String> {
    let mut draft = Draft::open(text, now)?;
    if !draft.state.all_passed() {
        return Err("not every gate has passed".to_owned());
    }
    draft.close(COMPLETED, Some(GateStatus::Passed));
    draft.finish()
}

fn gate_owner(name: &AgentName) -> Result<Agent, String> {
    Agent::parse(name).ok_or_else(|| format!("agent `{name}` has no gate"))
}

/// The changes an event makes, collected before the text is edited once.
struct Draft<'a> {
    document: Document<'a>,
    value: Value,
    state: FlowState,
    at: String,
    edits: Vec<Change>,
    moved: Vec<GateChange>,
    entries: String,
}

impl<'a> Draft<'a> {
    fn open(text: &'a str, now: DateTime<Utc>) -> Result<Self, String> {
        let document = front_matter::split(text).map_err(|fault| fault.to_string())?;
        let value = yaml::parse(document.front)?;
        let state = FlowState::from_value(&value);
        if !state.active {
            return Err("the run is not active".to_owned());
        }
        let (edits, moved, entries) = (Vec::new(), Vec::new(), String::new());
        Ok(Self {
            document,
            value,
            state,
            at: stamp(now),
            edits,
            moved,
            entries,
        })
    }

    fn iteration(&self) -> u64 {
        self.state.iteration.unwrap_or(1)
    }

    fn set(&mut self, change: Change) {
        self.edits.push(change);
    }

    fn gate(&mut self, gate: Phase, to: GateStatus, evidence: &str) {
        self.set(Change::text(["gates", gate.as_str(), "status"], to.as_str()).first());
        self.moved.push(GateChange {
            gate: gate.to_string(),
            from: self.state.gate(gate),
            to,
            phase: self.state.phase.map(|phase| phase.to_string()),
            iteration: self.state.iteration,
            evidence: evidence.to_owned(),
        });
    }

    fn signed(&mut self, gate: Phase, agent: Agent) {
        let at = self.at.clone();
        self.set(Change::text(["gates", gate.as_str(), "timestamp"], &at));
        self.set(Change::text(
            ["gates", gate.as_str(), "agent"],
            agent.as_str(),
        ));
    }

    fn enter(&mut self, phase: Phase) {
        if self.state.phase != Some(phase) {
            self.set(Change::text(["current_phase"], phase.as_str()));
            self.state.phase = Some(phase);
        }
    }

    fn log(&mut self, phase: Phase, agent: &str, result: &str, gate: Option<GateStatus>) {
        self.entries += &log::entry(phase.as_str(), agent, result, gate, &self.at);
    }

    fn close(&mut self, result: &str, gate: Option<GateStatus>) {
        self.enter(Phase::Complete);
        self.set(Change::new(["active"], Scalar::Boolean(false)));
        self.log(Phase::Complete, "Orchestrator", result, gate);
    }

    fn group(&mut self, key: &str, value: &str) {
        self.set(Change::text(["parallel_groups", GROUP, key], value));
    }

    fn member(&mut self, agent: Agent, key: &str, value: &str) {
        self.set(Change::text(
            ["parallel_groups", GROUP, agent.gate().as_str(), key],
            value,
        ));
    }

    /// Marks the group and its gate as running, at the first sign of a member.
    fn begin_group(&mut self) {
        let group = self.state.group.as_ref();
        let is_begun = group.is_some_and(|group| group.started_at.is_some());
        if group.is_none_or(|group| group.status != GateStatus::InProgress) {
            self.group("status", GateStatus::InProgress.as_str());
        }
        if !is_begun {
            let at = self.at.clone();
            self.group("started_at", &at);
        }
        if self.state.gate(Phase::ReviewVerification) != GateStatus::InProgress {
            self.gate(
                Phase::ReviewVerification,
                GateStatus::InProgress,
                "the group started",
            );
            let at = self.at.clone();
            self.set(Change::text(["gates", GROUP, "timestamp"], &at));
        }
    }

    /// Records a member's verdict; returns the group's outcome once both are in.
    fn settle_member(
        &mut self,
        agent: Agent,
        verdict: Verdict,
        evidence: &str,
        standing: Standing,
    ) -> Option<GateStatus> {
        let at = self.at.clone();
        let own = verdict.gate_status();
        self.member(agent, "status", own.as_str());
        self.member(agent, "result", verdict.as_str());
        self.member(agent, "timestamp", &at);
        let other = if agent.gate() == Phase::Review {
            Phase::Verification
        } else {
            Phase::Review
        };
        let other = self
            .state
            .group
            .as_ref()
            .map_or(GateStatus::Pending, |group| group.member(other));
        let outcome = match (own, other) {
            (_, GateStatus::Pending | GateStatus::InProgress) => {
                if standing == Standing::Current {
                    self.begin_group();
                }
                return None;
            }
            (GateStatus::Failed, _) | (_, GateStatus::Failed) => GateStatus::Failed,
            _ => GateStatus::Passed,
        };
        if self
            .state
            .group
            .as_ref()
            .is_none_or(|group| group.started_at.is_none())
        {
            self.group("started_at", &at);
        }
        self.group("status", outcome.as_str());
        self.group("completed_at", &at);
        self.gate(Phase::ReviewVerification, outcome, evidence);
        self.set(Change::text(["gates", GROUP, "timestamp"], &at));
        Some(outcome)
    }

    /// Takes the run back to implementation; `false` when no iteration is left.
    fn reopen(&mut self) -> bool {
        let is_moved = self.state.phase == Some(Phase::Implementation);
        let iteration = self.iteration() + u64::from(!is_moved);
        if self.state.max_iterations.is_some_and(|max| iteration > max) {
            return false;
        }
        self.enter(Phase::Implementation);
        if !is_moved {
            self.set(Change::new(["iteration"], Scalar::Integer(iteration)));
            self.state.iteration = Some(iteration);
        }
        let later = self
            .state
            .mode
            .gates()
            .iter()
            .skip_while(|gate| **gate <= Phase::Implementation);
        for gate in later {
            if self.state.gate(*gate) != GateStatus::Pending {
                self.gate(*gate, GateStatus::Pending, "the work was sent back");
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

    /// Empties a field that speaks of the iteration before.
    fn blank<const N: usize>(&mut self, path: [&str; N]) {
        if yaml::text(&self.value, &path).is_some() {
            self.set(Change::text(path, ""));
        }
    }

    fn blank_group(&mut self) {
        self.group("status", GateStatus::Pending.as_str());
        self.blank(["parallel_groups", GROUP, "started_at"]);
        self.blank(["parallel_groups", GROUP, "completed_at"]);
        for agent in [Agent::Lawliet, Agent::Alphonse] {
            self.member(agent, "status", GateStatus::Pending.as_str());
            for key in ["timestamp", "result"] {
                self.blank(["parallel_groups", GROUP, agent.gate().as_str(), key]);
            }
        }
    }

    fn finish(self) -> Result<Outcome, String> {
        let body = log::append(self.document.body, &self.entries);
        let text = self
            .document
            .edited(&self.edits, &body)
            .map_err(|error| error.to_string())?;
        Ok(Outcome::Changed {
            text,
            changes: self.moved,
        })
    }
}
