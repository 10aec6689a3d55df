//! How the start and the end of agents move the gates of a run.
//!
//! The orchestrator calls an update script of its own after each agent, or
//! forgets to. Both ways must end in the same state, therefore an agent's end
//! settles its own gate only and the phase moves when the next agent starts:
//! nothing done here is undone or done twice by a script that comes before or
//! after.

use chrono::{DateTime, Utc};

use super::draft::Draft;
use super::log;
use super::state::{Agent, FlowFile, FlowState, Mode, Phase};
use super::verdict::{self, Verdict};
use crate::base::actor::AgentName;
use crate::systems::gate_record::Outcome;
use crate::systems::system::no_gate;
use crate::systems::tested::Tested;
use crate::systems::workflow::{GateStatus, Proof};

const ORCHESTRATOR: &str = "Orchestrator";
const ABORTED: &str = "Aborted: max iterations reached";
const COMPLETED: &str = "All phases completed successfully";

/// What was seen besides an agent's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub tested: Tested,
    /// That the user needs no test.
    pub control: Option<Proof>,
    /// Whether a verification without it stays open.
    pub is_required: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            tested: Tested::Unseen(None),
            control: None,
            is_required: false,
        }
    }
}

/// What shows a verdict, and what is missing for that. `seen` is of the one that needs a test.
fn proof_of(verdict: Verdict, evidence: &str, seen: Option<&Seen>) -> (Vec<Proof>, Option<String>) {
    if verdict == Verdict::EnvironmentBlocked {
        let word = "that the environment is blocked is the agent's word alone";
        return (Vec::new(), Some(word.to_owned()));
    }
    let said = Proof::Verdict {
        line: evidence.to_owned(),
        at: "reply".to_owned(),
    };
    let Some(seen) = seen else {
        return (vec![said], None);
    };
    match (&seen.tested, &seen.control) {
        (Tested::Passed { proof, .. }, _) | (_, Some(proof)) => (vec![said, proof.clone()], None),
        (tested, None) => (vec![said], tested.missing()),
    }
}

/// Whether a completion is of the phase that the run is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseFit {
    Current,
    /// The script has moved the phase on and left the member's gate open, as
    /// the original team script does.
    Overtaken,
}

pub(super) fn phase_fit(state: &FlowState, agent: Agent) -> Result<PhaseFit, String> {
    let own = agent.phase(state.mode);
    let phase = state
        .phase
        .ok_or("`current_phase` is not one of the known phases")?;
    // In sequential mode the original script still names the group's phase
    // while Lawliet works.
    let is_unused_group = state.mode == Mode::Sequential && phase == Phase::ReviewVerification;
    if phase == own || is_unused_group && agent == Agent::Lawliet {
        return Ok(PhaseFit::Current);
    }
    let is_left_open = own == Phase::ReviewVerification
        && matches!(phase, Phase::Complete | Phase::Implementation)
        && state.gate(agent.gate()) == GateStatus::InProgress;
    if is_left_open {
        return Ok(PhaseFit::Overtaken);
    }
    Err(format!(
        "{} works in phase `{own}`, the run is in `{phase}`",
        agent.as_str()
    ))
}

/// The end of an agent's run, with its final reply. A verification asks what was `seen`.
///
/// # Errors
/// Why the run stays as it is.
pub fn on_completion(
    file: &FlowFile,
    name: &AgentName,
    reply: &str,
    seen: &dyn Fn() -> Seen,
    now: DateTime<Utc>,
) -> Outcome {
    let mut draft = Draft::open(file, now)?;
    let agent = gate_owner(name)?;
    let fit = phase_fit(&draft.state, agent)?;
    let (verdict, evidence) = verdict::read(agent, reply)?;
    let evidence = log::truncate_message(evidence);
    let (gate, to) = (agent.gate(), verdict.gate_status());
    let message = message_of(verdict, &evidence, reply);
    let seen = (verdict == Verdict::Verified).then(seen);
    let (proof, missing) = proof_of(verdict, &evidence, seen.as_ref());
    if let (Some(missing), Some(seen)) = (&missing, &seen)
        && seen.is_required
    {
        return Err(format!("`{gate}` stays open: {missing}"));
    }
    draft.gate(gate, to, &evidence);
    if to == GateStatus::Passed {
        draft.prove(proof, missing);
        if let Some(seen) = &seen
            && seen.control.is_none()
        {
            draft.note_test(&seen.tested);
        }
    }
    draft.sign(gate, Some(agent.as_str()), Some(&message));
    draft.log(gate, agent.as_str(), &message, Some(to));
    let phase_outcome = if agent.phase(draft.state.mode) == Phase::ReviewVerification {
        member_outcome(&mut draft, agent, verdict, &evidence, fit)
    } else {
        Some(to)
    };
    let state = &draft.state;
    let is_last = state
        .max_iterations
        .is_some_and(|max| state.iteration.unwrap_or(1) >= max);
    if phase_outcome == Some(GateStatus::Failed) && is_last && fit == PhaseFit::Current {
        draft.close(ORCHESTRATOR, ABORTED, Some(GateStatus::Failed));
    }
    draft.finish()
}

/// The message that is kept of a completion.
fn message_of(verdict: Verdict, evidence: &str, reply: &str) -> String {
    log::truncate_message(&match verdict {
        Verdict::EnvironmentBlocked => {
            let caveat = verdict::headline(evidence);
            format!("Environment blocked, passed with a caveat: {caveat}")
        }
        _ => verdict::headline(reply).to_owned(),
    })
}

/// Notes the result of a member of the group that reviews; the group's, once all have one.
fn member_outcome(
    draft: &mut Draft<'_>,
    agent: Agent,
    verdict: Verdict,
    evidence: &str,
    fit: PhaseFit,
) -> Option<GateStatus> {
    // The caveat is in the message; a member's result has two words.
    let result = match verdict {
        Verdict::EnvironmentBlocked => Verdict::Verified,
        verdict => verdict,
    };
    let outcome = draft.member(agent.gate(), verdict.gate_status(), result.as_str());
    match outcome {
        Some(outcome) => draft.settle_group(outcome, evidence),
        None if fit == PhaseFit::Current => draft.begin_group(),
        None => {}
    }
    outcome
}

/// What the start of an agent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    /// Its phase begins, or goes on.
    Next,
    /// Loid takes up work that was sent back.
    Again,
}

pub(super) fn may_start(state: &FlowState, agent: Agent) -> Result<Entrance, String> {
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

/// The start of an agent's run.
///
/// # Errors
/// Why the run stays as it is.
pub fn on_start(file: &FlowFile, name: &AgentName, now: DateTime<Utc>) -> Outcome {
    let mut draft = Draft::open(file, now)?;
    let agent = gate_owner(name)?;
    let entrance = may_start(&draft.state, agent)?;
    if entrance == Entrance::Again && !draft.reopen() {
        draft.close(ORCHESTRATOR, ABORTED, Some(GateStatus::Failed));
        return draft.finish();
    }
    let (gate, own) = (agent.gate(), agent.phase(draft.state.mode));
    let status = draft.state.gate(gate);
    let is_closed =
        status == GateStatus::InProgress || status.has_passed() && entrance == Entrance::Next;
    if is_closed && entrance == Entrance::Next && draft.state.phase == Some(own) {
        return Err(format!("gate `{gate}` is already `{}`", status.as_str()));
    }
    draft.enter(own);
    if !is_closed {
        draft.begin(gate, agent.as_str());
        if own == Phase::ReviewVerification {
            draft.begin_group();
            draft.member(gate, GateStatus::InProgress, "");
        }
    }
    draft.finish()
}

/// The end of the main thread's turn: closes a run whose gates have all passed.
///
/// # Errors
/// Why the run stays as it is.
pub fn on_stop(file: &FlowFile, now: DateTime<Utc>) -> Outcome {
    let mut draft = Draft::open(file, now)?;
    if !draft.state.all_passed() {
        return Err("not every gate has passed".to_owned());
    }
    draft.close(ORCHESTRATOR, COMPLETED, Some(GateStatus::Passed));
    draft.finish()
}

fn gate_owner(name: &AgentName) -> Result<Agent, String> {
    Agent::of(name).ok_or_else(|| no_gate(name))
}

#[cfg(test)]
mod tests;
