//! The steps of a session: what the commands and the hook do to `state.json`.
//!
//! Every step ends with the same judgement that a model's own write gets.

use chrono::{DateTime, SubsecRound, Utc};
use serde::Serialize;
use serde_json::json;

use super::check::check_content;
use super::schema::BLOCKS;
use super::state::{Phase, PhaseState, State, Status};
use crate::base::actor::AgentName;
use crate::base::clock;
use crate::formats::json::Document;
use crate::systems::workflow::{GateStatus, Move, Outcome, StateChange};

/// Pending → in progress. A `started_at` that is already there is kept.
///
/// # Errors
/// The text is no state of a session, or the step leads to none that is allowed.
pub fn start(text: &str, phase: Phase, now: DateTime<Utc>) -> Result<String, String> {
    edit(text, phase, now, |state, document| {
        if state.status == Status::InProgress && state.started_at.is_some() {
            return Err(format!("phase `{}` is already in progress", phase.as_str()));
        }
        document.set(&field(phase, "status"), Status::InProgress.as_str())?;
        start_time(state, document, now)
    })
}

/// Whether a report is the phase's own.
///
/// # Errors
/// It is not, or the phase has none.
pub fn check_report(phase: Phase, report: &str) -> Result<(), String> {
    match phase.report() {
        Some(own) if own == report => Ok(()),
        Some(own) => Err(format!(
            "the report of phase `{}` is `{own}`",
            phase.as_str()
        )),
        None => Err(format!("phase `{}` has no report", phase.as_str())),
    }
}

/// To completed, by way of in progress: a phase that was pending is started at
/// the same moment. The report is the phase's own; one that comes later takes the place of the old.
///
/// # Errors
/// The text is no state of a session, or the step leads to none that is allowed.
pub fn complete(
    text: &str,
    phase: Phase,
    report: Option<&str>,
    now: DateTime<Utc>,
) -> Result<String, String> {
    rewrite(text, now, |state, document| {
        let state = state.phase(phase);
        let stored = document.get(&field(phase, "report"));
        let is_new = report.is_some() && stored.and_then(|stored| stored.as_str()) != report;
        match (state.status, state.skipped) {
            (Status::Completed, false) if is_new => document.set(&field(phase, "report"), report),
            (Status::Completed, _) => Err(already_completed(phase)),
            _ => {
                document.set(&field(phase, "status"), Status::Completed.as_str())?;
                document.set(&field(phase, "report"), report)?;
                start_time(state, document, now)?;
                document.set(&field(phase, "completed_at"), end_time(state, now))
            }
        }
    })
}

/// Leaves a phase out, by the user's choice.
///
/// # Errors
/// The text is no state of a session, or the step leads to none that is allowed.
pub fn skip(text: &str, phase: Phase, now: DateTime<Utc>) -> Result<String, String> {
    edit(text, phase, now, |state, document| {
        document.set(&field(phase, "status"), Status::Completed.as_str())?;
        document.set(&field(phase, "skipped"), true)?;
        document.set(&field(phase, "completed_at"), end_time(state, now))
    })
}

/// Which agents the dispatcher sends for a phase, and at what: one for each input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision<'a> {
    pub agent: &'a str,
    pub mode: &'a str,
    pub instances: usize,
    pub inputs: &'a [String],
}

/// Records a decision for research or review, the phases that have agents.
///
/// # Errors
/// The phase has no agents, or the text is no state of a session.
pub fn decide(
    text: &str,
    phase: Phase,
    decision: &Decision<'_>,
    now: DateTime<Utc>,
) -> Result<String, String> {
    if !matches!(phase, Phase::Research | Phase::Review) {
        return Err(format!(
            "decisions belong to research and review, not to `{}`",
            phase.as_str()
        ));
    }
    rewrite(text, now, |_, document| {
        let mut blocks = BLOCKS.into_iter();
        let block = blocks.find(|block| document.get(&[block]).is_some());
        let block = block.unwrap_or(BLOCKS[0]);
        if document
            .get(&[block])
            .is_some_and(serde_json::Value::is_null)
        {
            document.set(&[block], json!({}))?;
        }
        document.set(&[block, phase.as_str()], json!(decision))
    })
}

/// `SubagentStart`: the agent's phase goes in progress.
pub fn on_agent_start(text: &str, agent: &AgentName, now: DateTime<Utc>) -> Outcome {
    let Some(phase) = Phase::of_agent(agent) else {
        return Outcome::Unchanged {
            why: format!("agent `{agent}` belongs to no phase"),
        };
    };
    let change = start(text, phase, now);
    outcome(text, change, phase, format!("agent `{agent}` started"))
}

/// `PostToolUse` of the main thread's Write of `<phase>-report.md`.
pub fn on_report_written(text: &str, phase: Phase, now: DateTime<Utc>) -> Outcome {
    let Some(report) = phase.report() else {
        return Outcome::Unchanged {
            why: format!("phase `{}` has no report", phase.as_str()),
        };
    };
    let change = complete(text, phase, Some(report), now);
    outcome(text, change, phase, format!("`{report}` was written"))
}

/// A step of one phase as the gate log keeps it.
pub fn outcome(
    before: &str,
    change: Result<String, String>,
    phase: Phase,
    evidence: String,
) -> Outcome {
    let status = |text: &str| {
        State::parse(text).map_or(GateStatus::Pending, |state| {
            state.phase(phase).gate_status()
        })
    };
    match change {
        Err(why) => Outcome::Unchanged { why },
        Ok(text) => {
            let (from, to) = (status(before), status(&text));
            let moved = Move {
                gate: phase.as_str().to_owned(),
                from,
                to,
            };
            Outcome::Changed(StateChange {
                text,
                // A decision moves no phase.
                moves: (from != to).then_some(moved).into_iter().collect(),
                phase: Some(phase.as_str().to_owned()),
                evidence: Some(evidence),
                ..StateChange::default()
            })
        }
    }
}

/// A rewrite that moves one phase, which must not be completed yet.
fn edit(
    text: &str,
    phase: Phase,
    now: DateTime<Utc>,
    change: impl FnOnce(&PhaseState, &mut Document) -> Result<(), String>,
) -> Result<String, String> {
    rewrite(text, now, |state, document| match state.phase(phase) {
        open if open.status != Status::Completed => change(open, document),
        _ => Err(already_completed(phase)),
    })
}

fn already_completed(phase: Phase) -> String {
    format!("phase `{}` is already completed", phase.as_str())
}

fn rewrite(
    text: &str,
    now: DateTime<Utc>,
    change: impl FnOnce(&State, &mut Document) -> Result<(), String>,
) -> Result<String, String> {
    let state = State::parse(text)?;
    let mut document = Document::parse(text)?;
    change(&state, &mut document)?;
    // A model may have invented a time that is still to come.
    if state.updated_at.at < now.trunc_subsecs(0) {
        document.set(&["updated_at"], clock::seconds(now))?;
    }
    let new_text = document.render();
    check_content(&new_text, Some(text)).map_err(|error| error.message)?;
    Ok(new_text)
}

fn field(phase: Phase, key: &'static str) -> [&'static str; 3] {
    ["phases", phase.as_str(), key]
}

fn start_time(
    state: &PhaseState,
    document: &mut Document,
    now: DateTime<Utc>,
) -> Result<(), String> {
    match state.started_at {
        Some(_) => Ok(()),
        None => document.set(&field(state.phase, "started_at"), clock::seconds(now)),
    }
}

/// Models invent start times, at times in the future; an end may not lie before
/// its start.
fn end_time(state: &PhaseState, now: DateTime<Utc>) -> String {
    match &state.started_at {
        Some(started) if started.at > now => started.text.clone(),
        _ => clock::seconds(now),
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::read_workflow;
    use super::super::{create, newest_of};
    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_768_055_400 + minute * 60, 0).unwrap()
    }

    fn fresh() -> String {
        create::tests::fresh(at(0))
    }

    fn value(text: &str, path: &[&str]) -> serde_json::Value {
        Document::parse(text).unwrap().get(path).unwrap().clone()
    }

    #[test]
    fn a_whole_run_keeps_unknown_keys_and_their_order() {
        let text = fresh().replace(
            "\"phases\": {",
            "\"mine\": {\"z\": 1, \"a\": 2.5},\n  \"phases\": {",
        );
        let text = start(&text, Phase::Research, at(1)).unwrap();
        let text = complete(&text, Phase::Research, Some("research-report.md"), at(2)).unwrap();
        let text = skip(&text, Phase::Plan, at(3)).unwrap();
        let text = complete(&text, Phase::Implement, None, at(4)).unwrap();
        let text = skip(&text, Phase::Quality, at(5)).unwrap();
        let text = complete(&text, Phase::Review, None, at(6)).unwrap();
        assert!(text.contains("\"mine\": {\n    \"z\": 1,\n    \"a\": 2.5\n  },\n  \"phases\""));
        assert_eq!(value(&text, &["updated_at"]), clock::seconds(at(6)));
        assert_eq!(
            value(&text, &field(Phase::Research, "started_at")),
            clock::seconds(at(1))
        );
        assert_eq!(
            value(&text, &field(Phase::Plan, "started_at")),
            serde_json::Value::Null
        );
        assert_eq!(
            value(&text, &field(Phase::Implement, "started_at")),
            clock::seconds(at(4))
        );
        assert!(!read_workflow(&text, "x").unwrap().active);
    }

    #[track_caller]
    fn check_refused(change: Result<String, String>, part: &str) {
        let why = change.unwrap_err();
        assert!(why.contains(part), "{why}");
    }

    #[test]
    fn impossible_steps_are_refused() {
        let text = fresh();
        check_refused(start(&text, Phase::Plan, at(1)), "`research` is not");
        check_refused(
            complete(&text, Phase::Init, None, at(1)),
            "already completed",
        );
        let check_report = |phase| check_report(phase, "x.md").unwrap_err();
        assert!(check_report(Phase::Research).contains("research-report.md"));
        assert!(check_report(Phase::Quality).contains("has no report"));
        let text = start(&text, Phase::Research, at(1)).unwrap();
        check_refused(start(&text, Phase::Research, at(2)), "already in progress");
        check_refused(start("{", Phase::Research, at(2)), "not valid JSON");
    }

    #[test]
    fn decisions_are_validated_and_stored_under_the_name_that_is_there() {
        let inputs = ["0", "1", "2", "3", "4", "5"].map(str::to_owned);
        let decision = |agent, mode, instances, n_inputs| Decision {
            agent,
            mode,
            instances,
            inputs: &inputs[..n_inputs],
        };
        for (wrong, part) in [
            (decision("scouter", "single", 2, 2), "single goes with 1"),
            (
                decision("scouter", "parallel", 1, 1),
                "parallel with 2 to 5",
            ),
            (decision("scouter", "parallel", 6, 6), "not 1 to 5"),
            (decision("scouter", "parallel", 3, 2), "one input for each"),
            (decision("coder", "single", 1, 1), "not one of scouter"),
            (decision("scouter", "both", 1, 1), "not one of single"),
        ] {
            check_refused(decide(&fresh(), Phase::Research, &wrong, at(1)), part);
        }
        let decision = decision("scouter", "parallel", 2, 2);
        let old = fresh().replace(
            "\"dispatcher_decisions\": {}",
            "\"dispatcher_decisions\": null",
        );
        let text = decide(&old, Phase::Research, &decision, at(1)).unwrap();
        let stored = value(&text, &["dispatcher_decisions", "research"]);
        let expected = "{\"agent\":\"scouter\",\"mode\":\"parallel\",\"instances\":2,\"inputs\":[\"0\",\"1\"]}";
        assert_eq!(stored.to_string(), expected);
        let known = text.replace("dispatcher_decisions", "delegating_decisions");
        let text = decide(&known, Phase::Review, &decision, at(1)).unwrap();
        assert!(!text.contains("dispatcher_decisions"), "{text}");
        check_refused(
            decide(&text, Phase::Plan, &decision, at(1)),
            "research and review",
        );
    }

    #[track_caller]
    fn check_outcome(outcome: &Outcome, expected: &str) {
        let found = match outcome {
            Outcome::Unchanged { why } => why.clone(),
            Outcome::Changed(StateChange { moves, .. }) => moves
                .iter()
                .map(|c| format!("{} {} {}", c.gate, c.from.as_str(), c.to.as_str()))
                .collect(),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn the_hook_moves_research_and_review() {
        let text = fresh();
        let agent = |name| AgentName::parse(name);
        let started = on_agent_start(&text, &agent("kit:Scouter"), at(1));
        check_outcome(&started, "research pending in_progress");
        let Outcome::Changed(StateChange { text: running, .. }) = started else {
            panic!("unchanged")
        };
        check_outcome(
            &on_agent_start(&running, &agent("researcher"), at(2)),
            "already in progress",
        );
        check_outcome(
            &on_agent_start(&running, &agent("reviewer"), at(2)),
            "`research` is not",
        );
        check_outcome(
            &on_agent_start(&running, &agent("debugger"), at(2)),
            "no phase",
        );
        check_outcome(
            &on_report_written(&running, Phase::Plan, at(2)),
            "`research` is not",
        );
        check_outcome(
            &on_report_written(&running, Phase::Quality, at(2)),
            "no report",
        );

        // A model's start time may lie in the future; the phase ends all the same.
        let future = running.replace(&clock::seconds(at(1)), "2030-01-01T00:00:00Z");
        let done = on_report_written(&future, Phase::Research, at(3));
        check_outcome(&done, "research in_progress passed");
        let Outcome::Changed(StateChange { text: done, .. }) = done else {
            panic!("unchanged")
        };
        assert_eq!(
            value(&done, &field(Phase::Research, "report")),
            "research-report.md"
        );
        check_outcome(
            &on_report_written(&done, Phase::Research, at(4)),
            "already completed",
        );
    }

    #[test]
    fn a_later_report_takes_the_place_of_the_old() {
        let text = complete(&fresh(), Phase::Research, None, at(1)).unwrap();
        let report = Some("research-report.md");
        let text = complete(&text, Phase::Research, report, at(2)).unwrap();
        let expected = [
            ("report", "research-report.md"),
            ("completed_at", &clock::seconds(at(1))),
        ];
        for (key, expected) in expected {
            assert_eq!(value(&text, &field(Phase::Research, key)), expected);
        }
        check_refused(
            complete(&text, Phase::Research, report, at(3)),
            "already completed",
        );
        check_refused(
            complete(&text, Phase::Research, None, at(3)),
            "already completed",
        );
        let skipped = skip(&text, Phase::Plan, at(4)).unwrap();
        let report = complete(&skipped, Phase::Plan, Some("plan-report.md"), at(5));
        check_refused(report, "already completed");
    }

    #[test]
    fn the_last_change_is_never_put_back() {
        for later in ["2030-01-01T00:00:00Z", "2026-01-10T14:31:00.5Z"] {
            let text = fresh();
            let old = value(&text, &["updated_at"]).to_string();
            let old = format!("\"updated_at\": {old}");
            assert!(text.contains(&old));
            let text = text.replace(&old, &format!("\"updated_at\": \"{later}\""));
            let text = start(&text, Phase::Research, at(1)).unwrap();
            assert_eq!(value(&text, &["updated_at"]), later);
        }
    }

    #[track_caller]
    fn check_newest(texts: &[(&str, &str)], expected: Result<&str, &str>) {
        let owned = |(name, text): &(&str, &str)| (String::from(*name), String::from(*text));
        let sessions: Vec<_> = texts.iter().map(owned).collect();
        match (newest_of(&sessions), expected) {
            (Ok((name, _)), Ok(expected)) => assert_eq!(name, expected),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn an_agent_belongs_to_the_newest_open_session() {
        let old = start(&fresh(), Phase::Research, at(1)).unwrap();
        let new = start(&fresh(), Phase::Research, at(2)).unwrap();
        let closed = include_str!("../../../tests/fixtures/session/complete.json");
        let closed = closed.replace("15:45:33", "23:00:00");
        let all = [("a", &*old), ("b", &new), ("c", &closed), ("d", "{")];
        check_newest(&all, Ok("b"));
        check_newest(&[("a", &old), ("b", &old)], Err("`a` and `b`"));
        check_newest(&[("c", &closed)], Err("no session"));
    }
}
