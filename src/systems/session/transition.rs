//! The steps of a session: what the commands and the hook do to `state.json`.
//!
//! Every step ends with the same judgement that a model's own write gets.

use chrono::{DateTime, SubsecRound, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use super::check::check_content;
use super::schema::BLOCKS;
use super::state::{Phase, PhaseState, State, Status};
use crate::base::clock;
use crate::formats::json::Document;
use crate::systems::gate_record::{GateRecord, Move, Outcome};

/// What is done to one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Pending → in progress. A `started_at` that is already there is kept.
    Start,
    /// To completed, by way of in progress: a phase that was pending is started at the same
    /// moment. The report is the phase's own; one that comes later takes the place of the old.
    Complete { report: Option<&'a str> },
    /// Left out, by the user's choice.
    Skip,
    /// Which agents work for research or review, the phases that have agents.
    Decide(PhaseDecision<'a>),
}

/// Which agents the dispatcher sends for a phase, and at what: one for each input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseDecision<'a> {
    pub agent: &'a str,
    pub mode: &'a str,
    pub instances: usize,
    pub inputs: &'a [String],
}

/// What a step makes of a state. `evidence` says where it comes from.
///
/// # Errors
/// The text is no state of a session, or the step leads to none that is allowed.
pub fn apply(
    text: &str,
    phase: Phase,
    step: Step<'_>,
    evidence: &str,
    now: DateTime<Utc>,
) -> Outcome {
    let state = State::parse(text)?;
    let mut document = Document::parse(text)?;
    let (old, name) = (state.phase(phase), phase.as_str());
    let report_path = ["phases", name, "report"];
    let stored = document.get(&report_path).and_then(Value::as_str);
    let is_over = old.status == Status::Completed;
    match step {
        Step::Decide(decision) => set_decision(&mut document, phase, &decision)?,
        Step::Complete {
            report: Some(report),
        } if is_over && !old.skipped && stored != Some(report) => {
            document.set(&report_path, report)?;
        }
        _ if is_over => return Err(format!("phase `{name}` is already completed")),
        Step::Start if old.status == Status::InProgress && old.started_at.is_some() => {
            return Err(format!("phase `{name}` is already in progress"));
        }
        step => set_phase(&mut document, old, step, now)?,
    }
    // A model may have invented a time that is still to come.
    let updated = now.trunc_subsecs(0).max(state.created_at.at);
    if state.updated_at.at < updated {
        document.set(&["updated_at"], clock::seconds(updated))?;
    }
    let new_text = document.render();
    check_content(&new_text, Some(text), None).map_err(|error| error.message)?;
    let moved = Move {
        gate: name.to_owned(),
        from: old.gate_status(),
        to: State::parse(&new_text)?.phase(phase).gate_status(),
    };
    Ok(GateRecord {
        text: new_text,
        // A decision moves no phase.
        moves: (moved.from != moved.to)
            .then_some(moved)
            .into_iter()
            .collect(),
        phase: Some(name.to_owned()),
        evidence: Some(evidence.to_owned()),
        ..GateRecord::default()
    })
}

fn set_phase(
    document: &mut Document,
    old: &PhaseState,
    step: Step<'_>,
    now: DateTime<Utc>,
) -> Result<(), String> {
    let mut set = |key, value: Value| document.set(&["phases", old.phase.as_str(), key], value);
    let status = match step {
        Step::Start => Status::InProgress,
        _ => Status::Completed,
    };
    set("status", status.as_str().into())?;
    match step {
        Step::Complete { report } => set("report", report.into())?,
        Step::Skip => set("skipped", true.into())?,
        _ => {}
    }
    if step != Step::Skip && old.started_at.is_none() {
        set("started_at", clock::seconds(now).into())?;
    }
    if status == Status::Completed {
        // Models invent start times, at times in the future; an end may not lie before its start.
        let end = match &old.started_at {
            Some(started) if started.at > now => started.text.clone(),
            _ => clock::seconds(now),
        };
        set("completed_at", end.into())?;
    }
    Ok(())
}

fn set_decision(
    document: &mut Document,
    phase: Phase,
    decision: &PhaseDecision<'_>,
) -> Result<(), String> {
    if !matches!(phase, Phase::Research | Phase::Review) {
        return Err(format!(
            "decisions belong to research and review, not to `{}`",
            phase.as_str()
        ));
    }
    let mut blocks = BLOCKS.into_iter();
    let block = blocks
        .find(|block| document.get(&[block]).is_some())
        .unwrap_or(BLOCKS[0]);
    if document.get(&[block]).is_some_and(Value::is_null) {
        document.set(&[block], json!({}))?;
    }
    document.set(&[block, phase.as_str()], json!(decision))
}

#[cfg(test)]
mod tests {
    use super::super::state::read_workflow;
    use super::super::{SessionFile, create, newest_of};
    use super::*;
    use crate::base::actor::AgentName;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_768_055_400 + minute * 60, 0).unwrap()
    }

    fn complete(report: Option<&str>) -> Step<'_> {
        Step::Complete { report }
    }

    fn field(phase: Phase, key: &'static str) -> [&'static str; 3] {
        ["phases", phase.as_str(), key]
    }

    fn hook(text: &str, phase: Phase, step: Step<'_>, now: DateTime<Utc>) -> Outcome {
        super::apply(text, phase, step, "", now)
    }

    fn apply(
        text: &str,
        phase: Phase,
        step: Step<'_>,
        now: DateTime<Utc>,
    ) -> Result<String, String> {
        hook(text, phase, step, now).map(|change| change.text)
    }

    fn fresh() -> String {
        create::tests::fresh(at(0))
    }

    fn value(text: &str, path: &[&str]) -> Value {
        Document::parse(text).unwrap().get(path).unwrap().clone()
    }

    #[test]
    fn a_whole_run_keeps_unknown_keys_and_their_order() {
        let text = fresh().replace(
            "\"phases\": {",
            "\"mine\": {\"z\": 1, \"a\": 2.5},\n  \"phases\": {",
        );
        let text = apply(&text, Phase::Research, Step::Start, at(1)).unwrap();
        let text = apply(
            &text,
            Phase::Research,
            complete(Some("research-report.md")),
            at(2),
        )
        .unwrap();
        let text = apply(&text, Phase::Plan, Step::Skip, at(3)).unwrap();
        let text = apply(&text, Phase::Implement, complete(None), at(4)).unwrap();
        let text = apply(&text, Phase::Quality, Step::Skip, at(5)).unwrap();
        let text = apply(&text, Phase::Review, complete(None), at(6)).unwrap();
        assert!(text.contains("\"mine\": {\n    \"z\": 1,\n    \"a\": 2.5\n  },\n  \"phases\""));
        assert_eq!(value(&text, &["updated_at"]), clock::seconds(at(6)));
        assert_eq!(
            value(&text, &field(Phase::Research, "started_at")),
            clock::seconds(at(1))
        );
        assert_eq!(value(&text, &field(Phase::Plan, "started_at")), Value::Null);
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
        check_refused(
            apply(&text, Phase::Plan, Step::Start, at(1)),
            "`research` is not",
        );
        check_refused(
            apply(&text, Phase::Init, complete(None), at(1)),
            "already completed",
        );
        let text = apply(&text, Phase::Research, Step::Start, at(1)).unwrap();
        check_refused(
            apply(&text, Phase::Research, Step::Start, at(2)),
            "already in progress",
        );
        check_refused(
            apply("{", Phase::Research, Step::Start, at(2)),
            "not valid JSON",
        );
    }

    #[test]
    fn decisions_are_validated_and_stored_under_the_name_that_is_there() {
        let inputs = ["0", "1", "2", "3", "4", "5"].map(str::to_owned);
        let decision = |agent, mode, instances, n_inputs| PhaseDecision {
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
            check_refused(
                apply(&fresh(), Phase::Research, Step::Decide(wrong), at(1)),
                part,
            );
        }
        let review = decision("reviewer", "parallel", 2, 2);
        let decision = decision("scouter", "parallel", 2, 2);
        let old = fresh().replace(
            "\"dispatcher_decisions\": {}",
            "\"dispatcher_decisions\": null",
        );
        let text = apply(&old, Phase::Research, Step::Decide(decision), at(1)).unwrap();
        let stored = value(&text, &["dispatcher_decisions", "research"]);
        let expected = "{\"agent\":\"scouter\",\"mode\":\"parallel\",\"instances\":2,\"inputs\":[\"0\",\"1\"]}";
        assert_eq!(stored.to_string(), expected);
        let known = text.replace("dispatcher_decisions", "delegating_decisions");
        let text = apply(&known, Phase::Review, Step::Decide(review), at(1)).unwrap();
        assert!(!text.contains("dispatcher_decisions"), "{text}");
        check_refused(
            apply(&text, Phase::Plan, Step::Decide(decision), at(1)),
            "research and review",
        );
    }

    #[track_caller]
    fn check_outcome(outcome: &Outcome, expected: &str) {
        let found = match outcome {
            Err(why) => why.clone(),
            Ok(GateRecord { moves, .. }) => moves
                .iter()
                .map(|c| format!("{} {} {}", c.gate, c.from.as_str(), c.to.as_str()))
                .collect(),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn the_hook_moves_research_and_review() {
        let text = fresh();
        let named = |name| Phase::for_agent(&AgentName::parse(name));
        assert_eq!(named("kit:Scouter"), Some(Phase::Research));
        assert_eq!(named("researcher"), Some(Phase::Research));
        assert_eq!(named("reviewer"), Some(Phase::Review));
        assert_eq!(named("debugger"), None);
        let started = hook(&text, Phase::Research, Step::Start, at(1));
        check_outcome(&started, "research pending in_progress");
        let Ok(GateRecord { text: running, .. }) = started else {
            panic!("unchanged")
        };
        check_outcome(
            &hook(&running, Phase::Research, Step::Start, at(2)),
            "already in progress",
        );
        check_outcome(
            &hook(&running, Phase::Review, Step::Start, at(2)),
            "`research` is not",
        );
        check_outcome(
            &hook(&running, Phase::Plan, complete(Phase::Plan.report()), at(2)),
            "`research` is not",
        );

        // A model's start time may lie in the future; the phase ends all the same.
        let future = running.replace(&clock::seconds(at(1)), "2030-01-01T00:00:00Z");
        let done = hook(
            &future,
            Phase::Research,
            complete(Phase::Research.report()),
            at(3),
        );
        check_outcome(&done, "research in_progress passed");
        let Ok(GateRecord { text: done, .. }) = done else {
            panic!("unchanged")
        };
        assert_eq!(
            value(&done, &field(Phase::Research, "report")),
            "research-report.md"
        );
        check_outcome(
            &hook(
                &done,
                Phase::Research,
                complete(Phase::Research.report()),
                at(4),
            ),
            "already completed",
        );
    }

    #[test]
    fn a_later_report_takes_the_place_of_the_old() {
        let text = apply(&fresh(), Phase::Research, complete(None), at(1)).unwrap();
        let report = Some("research-report.md");
        let text = apply(&text, Phase::Research, complete(report), at(2)).unwrap();
        let expected = [
            ("report", "research-report.md"),
            ("completed_at", &clock::seconds(at(1))),
        ];
        for (key, expected) in expected {
            assert_eq!(value(&text, &field(Phase::Research, key)), expected);
        }
        check_refused(
            apply(&text, Phase::Research, complete(report), at(3)),
            "already completed",
        );
        check_refused(
            apply(&text, Phase::Research, complete(None), at(3)),
            "already completed",
        );
        let skipped = apply(&text, Phase::Plan, Step::Skip, at(4)).unwrap();
        let report = apply(
            &skipped,
            Phase::Plan,
            complete(Some("plan-report.md")),
            at(5),
        );
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
            let text = apply(&text, Phase::Research, Step::Start, at(1)).unwrap();
            assert_eq!(value(&text, &["updated_at"]), later);
        }
    }

    #[track_caller]
    fn check_newest(texts: &[(&str, &str)], expected: Result<&str, &str>) {
        let owned = |(name, text): &(&str, &str)| SessionFile {
            name: format!("{name}/state.json"),
            text: match *text {
                "?" => Err("not UTF-8".to_owned()),
                text => Ok(text.to_owned()),
            },
        };
        let sessions: Vec<_> = texts.iter().map(owned).collect();
        match (newest_of(&sessions), expected) {
            (Ok((name, _)), Ok(expected)) => assert_eq!(name, format!("{expected}/state.json")),
            (Err(why), Err(part)) => assert!(why.to_string().contains(part), "{why}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn an_agent_belongs_to_the_newest_open_session() {
        let old = apply(&fresh(), Phase::Research, Step::Start, at(1)).unwrap();
        let new = apply(&fresh(), Phase::Research, Step::Start, at(2)).unwrap();
        let closed = include_str!("../../../tests/fixtures/session/complete.json");
        let closed = closed.replace("15:45:33", "23:00:00");
        let all = [("a", "{"), ("b", &*old), ("c", &new), ("d", &closed)];
        check_newest(&all, Ok("c"));
        let torn = [("a", &*old), ("b", "{")];
        let held = "`b/state.json` is the newest session and cannot be read";
        check_newest(&torn, Err(held));
        check_newest(&[("a", &old), ("b", "?")], Err(held));
        check_newest(
            &[("a", &old), ("b", &old)],
            Err("`a/state.json` and `b/state.json`"),
        );
        check_newest(&[("c", &closed)], Err("no session"));
    }
}
