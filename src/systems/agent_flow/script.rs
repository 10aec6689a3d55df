//! What `flow init` and `flow update` write, as Agent Flow's own scripts do,
//! but validated.

use chrono::{DateTime, Utc};

use super::deep_dive::Context;
use super::draft::{Draft, group_outcome};
use super::log;
use super::state::{FlowFile, FlowState, Mode, Phase};
use super::verdict::Verdict;
use crate::base::clock;
use crate::formats::yaml::{one_line, quote};
use crate::systems::gate_record::Outcome;
use crate::systems::workflow::GateStatus;

/// How a new run relates to a deep dive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeepDive {
    Missing,
    /// It exists, and the run does not use it.
    Available(Context),
    Used(Context),
}

/// The arguments of `flow init`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    pub task: String,
    /// `Single` is for the single file, the other two for the team file.
    pub mode: Mode,
    pub max_iterations: u64,
    pub deep_dive: DeepDive,
}

/// Whether a new run may replace the file that is there.
///
/// # Errors
/// An active run, and a file that cannot be read, are replaced with `--force` only.
pub fn may_replace(present: &str) -> Result<(), String> {
    match FlowState::read(present) {
        Ok(state) if state.active && state.phase != Some(Phase::Complete) => {
            Err("a run is active there; finish it or pass `--force`".to_owned())
        }
        Ok(_) => Ok(()),
        Err(why) => Err(format!("{why}; pass `--force` to replace it")),
    }
}

/// The text of a new run, in the order and the quoting of Agent Flow 1.9. The
/// blocks of tools that its script looks for on the machine say `available:
/// false`, which its readers take for "do not use".
///
/// # Errors
/// An empty task, no iterations.
pub fn init(init: &NewRun, now: DateTime<Utc>) -> Result<String, String> {
    if init.task.trim().is_empty() {
        return Err("the task is empty; say what is to be done".to_owned());
    }
    if init.max_iterations == 0 {
        return Err("`--max-iterations` is 0; give at least 1".to_owned());
    }
    let (template, mode, is_team) = match init.mode {
        Mode::Single => (include_str!("single-run.md"), "", false),
        Mode::Team => (include_str!("team-run.md"), "team", true),
        Mode::Sequential => (include_str!("team-run.md"), "sequential", false),
    };
    let (context, deep_dive) = match &init.deep_dive {
        DeepDive::Missing => (None, "Not available".to_owned()),
        DeepDive::Available(context) => {
            let unused = "Available but not requested (use --use-deep-dive)";
            (Some(context), unused.to_owned())
        }
        DeepDive::Used(context) => {
            let Context { scope, generated } = context;
            let used = format!("Using (scope: {scope}, generated: {generated})");
            (Some(context), used)
        }
    };
    let is_used = matches!(init.deep_dive, DeepDive::Used(_));
    let of_context = |field: fn(&Context) -> &str| quote(&one_line(context.map_or("", field)));
    Ok(fill(template, |name| match name {
        "at" => clock::seconds(now),
        "task" => quote(&one_line(&init.task)),
        "max_iterations" => init.max_iterations.to_string(),
        "mode" => mode.to_owned(),
        "team_available" => is_team.to_string(),
        "deep_dive_available" => context.is_some().to_string(),
        "deep_dive_used" => is_used.to_string(),
        "scope" => of_context(|context| context.scope.as_str()),
        "generated" => of_context(|context| context.generated.as_str()),
        _ => deep_dive.clone(),
    }))
}

/// A template with a value for each `{{name}}`.
pub(super) fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut parts = template.split("{{");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.filter_map(|part| part.split_once("}}"));
    first
        + &rest
            .map(|(name, text)| value(name) + text)
            .collect::<String>()
}

/// Which part of the group a `flow update` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPart {
    Whole,
    /// `review` or `verification`.
    Member(Phase),
    /// Derive the whole from both members.
    Merge,
}

/// The arguments of `flow update`, each of them optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    pub phase: Option<Phase>,
    pub gate_result: Option<GateStatus>,
    pub agent: Option<String>,
    pub message: Option<String>,
    pub iteration: Option<u64>,
    pub group: Option<GroupPart>,
    /// `--complete`: closes the run.
    pub complete: bool,
}

/// The run after `flow update`. As in the original scripts a gate result is
/// for the phase that the run was in before.
///
/// # Errors
/// What is wrong with the arguments or with the present file.
pub fn update(text: &str, update: &Update, now: DateTime<Utc>) -> Result<Outcome, String> {
    let file = FlowFile::read("", text.to_owned());
    let state = file.state.clone()?;
    check_flags(update, &state)?;
    match (state.active, update.complete) {
        (true, _) => {}
        (false, true) => {
            return Ok(Err("the run is closed already".to_owned()));
        }
        (false, false) => {
            return Err("the run is closed; start one with `statewarden flow init`".to_owned());
        }
    }
    let mut draft = Draft::open(&file, now)?;
    let note = update
        .message
        .as_deref()
        .map(log::truncate_message)
        .unwrap_or_default();
    let agent = update.agent.as_deref();
    let message = update.message.is_some().then_some(note.as_str());
    let ended = match update.group {
        Some(part) => apply_to_group(&mut draft, part, update, message)?,
        None => apply_to_gate(&mut draft, update, message)?,
    };
    if let Some(iteration) = update.iteration {
        draft.set_iteration(iteration);
    }
    if update.complete {
        draft.close(agent.unwrap_or("Orchestrator"), &note, update.gate_result);
        return draft.finish().map(Ok);
    }
    if let Some(phase) = update.phase {
        draft.enter(phase_in(phase, state.mode));
    }
    if agent.is_some() || update.message.is_some() {
        draft.log(ended, agent.unwrap_or_default(), &note, update.gate_result);
    }
    draft.finish().map(Ok)
}

/// The group's phase is the review where a run has no group.
fn phase_in(phase: Phase, mode: Mode) -> Phase {
    match (phase, mode) {
        (Phase::ReviewVerification, Mode::Sequential) => Phase::Review,
        _ => phase,
    }
}

fn check_flags(update: &Update, state: &FlowState) -> Result<(), String> {
    let fail = |why: &str| Err(why.to_owned());
    if *update == Update::default() {
        return fail(
            "nothing to update; pass `--phase`, `--gate-result`, `--message` or another flag",
        );
    }
    if update.complete && update.phase.is_some_and(|phase| phase != Phase::Complete) {
        return fail("`--complete` and `--phase` contradict each other; pass one of them");
    }
    if state.mode == Mode::Single && update.phase == Some(Phase::ReviewVerification) {
        return fail("phase `review_verification` is for team runs; write `review`");
    }
    if update.group.is_some() && state.mode != Mode::Team {
        return fail("this run has no parallel group; leave out its flags");
    }
    match (update.group, update.gate_result) {
        (Some(GroupPart::Merge), Some(_)) => {
            return fail("`--merge-parallel` finds the result itself; leave out `--gate-result`");
        }
        (Some(GroupPart::Whole | GroupPart::Member(_)), None) => {
            return fail("`--parallel-group` needs `--gate-result`");
        }
        _ => {}
    }
    let max = state.max_iterations.unwrap_or(u64::MAX);
    match update.iteration {
        Some(0) => fail("`--iteration` is 0; the first one is 1"),
        Some(iteration) if iteration > max => Err(format!(
            "`--iteration` is {iteration} and `max_iterations` {max}; report and stop with `--complete`"
        )),
        _ => Ok(()),
    }
}

/// Sets the gate of the present phase; returns the phase for the log.
fn apply_to_gate(
    draft: &mut Draft<'_>,
    update: &Update,
    message: Option<&str>,
) -> Result<Phase, String> {
    let phase = draft
        .state
        .phase
        .ok_or("`current_phase` is not one of the known phases")?;
    let gate = phase_in(phase, draft.state.mode);
    let Some(to) = update.gate_result else {
        return Ok(gate);
    };
    match gate {
        Phase::Complete => {
            return Err("phase `complete` has no gate; leave out `--gate-result`".to_owned());
        }
        Phase::ReviewVerification => apply_to_whole(draft, to),
        _ => draft.gate(gate, to, "flow update"),
    }
    draft.sign(gate, update.agent.as_deref(), message);
    Ok(gate)
}

fn apply_to_group(
    draft: &mut Draft<'_>,
    part: GroupPart,
    update: &Update,
    message: Option<&str>,
) -> Result<Phase, String> {
    let to = update.gate_result.unwrap_or(GateStatus::Pending);
    match part {
        GroupPart::Whole => apply_to_whole(draft, to),
        GroupPart::Merge => {
            let members = draft
                .state
                .group
                .as_ref()
                .map(|group| (group.review, group.verification));
            let outcome =
                members.and_then(|(review, verification)| group_outcome(review, verification));
            let outcome =
                outcome.ok_or("review and verification are not both in; merge when they are")?;
            draft.settle_group(outcome, "flow update");
        }
        GroupPart::Member(gate) => {
            draft.gate(gate, to, "flow update");
            draft.sign(gate, update.agent.as_deref(), message);
            match draft.member(gate, to, result_word(gate, to)) {
                Some(outcome) => draft.settle_group(outcome, "flow update"),
                None if to != GateStatus::Pending => draft.begin_group(),
                None => {}
            }
            return Ok(gate);
        }
    }
    Ok(Phase::ReviewVerification)
}

fn apply_to_whole(draft: &mut Draft<'_>, to: GateStatus) {
    match to {
        GateStatus::InProgress => draft.begin_group(),
        GateStatus::Pending => {
            draft.gate(Phase::ReviewVerification, to, "flow update");
            draft.blank_group();
        }
        GateStatus::Passed | GateStatus::Failed | GateStatus::Skipped => {
            draft.settle_group(to, "flow update");
        }
    }
}

fn result_word(gate: Phase, status: GateStatus) -> &'static str {
    let verdict = match (gate, status) {
        (Phase::Review, GateStatus::Passed) => Verdict::Approved,
        (Phase::Review, GateStatus::Failed) => Verdict::NeedsChanges,
        (_, GateStatus::Passed) => Verdict::Verified,
        (_, GateStatus::Failed) => Verdict::Failed,
        _ => return "",
    };
    verdict.as_str()
}

#[cfg(test)]
mod tests;
