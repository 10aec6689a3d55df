//! Whether a new text of `state.json` may replace the present one.

use super::schema;
use super::state::{Phase, State, Status};
use crate::formats::brief;
use crate::formats::json::Document;
use crate::systems::system::{ContentError, Judgement, Note, same_name};

/// Judges a whole new text, in the directory of the session `id` where one is given. `present`
/// is what the file holds now, if anything.
/// A present text that is itself broken is no hindrance to a good new one, so
/// that a broken state can be repaired; the notes then say so.
///
/// # Errors
/// The text is malformed or leads from no state, with what to write instead.
pub fn check_content(new_text: &str, present: Option<&str>, id: Option<&str>) -> Judgement {
    let new = State::parse(new_text).map_err(ContentError::malformed)?;
    let document = Document::parse(new_text).map_err(ContentError::malformed)?;
    schema::check_written(&document).map_err(ContentError::malformed)?;
    coherent(&new).map_err(ContentError::illegal)?;
    if let Some(id) = id.filter(|id| !same_name(&new.id, id)) {
        return Err(ContentError::illegal(format!(
            "`id` is \"{}\", and the session's directory is `{id}`; write `\"id\": \"{id}\"`",
            brief(&new.id)
        )));
    }
    let mut notes: Vec<Note> = new.notes.iter().cloned().map(Note::Remark).collect();
    let Some(present) = present else {
        return Ok(notes);
    };
    let broken = match State::parse(present) {
        Err(why) => Some(why),
        Ok(old) => {
            same_session(&old, &new).map_err(ContentError::illegal)?;
            let incoherent = coherent(&old).err();
            if incoherent.is_none() {
                reachable(&old, &new).map_err(ContentError::illegal)?;
            }
            incoherent
        }
    };
    if let Some(why) = broken {
        notes.push(Note::Repair(format!(
            "the present state is broken ({why}); the new one replaces it"
        )));
    }
    Ok(notes)
}

/// Rules that hold in every state.
fn coherent(state: &State) -> Result<(), String> {
    if state.updated_at.at < state.created_at.at {
        return Err(format!(
            "`updated_at` lies before `created_at`, which is \"{}\"",
            brief(&state.created_at.text)
        ));
    }
    for phase in state.phases() {
        let name = phase.phase.as_str();
        if phase.skipped && phase.status != Status::Completed {
            return Err(format!(
                "`phases.{name}` is skipped, so its status must be completed"
            ));
        }
        if phase.status == Status::Completed {
            if phase.completed_at.is_none() {
                return Err(format!(
                    "`phases.{name}` is completed without `completed_at`"
                ));
            }
            if phase.started_at.is_none() && !phase.skipped {
                return Err(format!(
                    "`phases.{name}` is completed but was neither started (`started_at`) nor skipped"
                ));
            }
        }
        if let (Some(started), Some(completed)) = (&phase.started_at, &phase.completed_at)
            && completed.at < started.at
        {
            return Err(format!(
                "`phases.{name}.completed_at` lies before its `started_at`"
            ));
        }
        if phase.status != Status::Pending
            && let Some(gate) = state.unfinished_before(phase.phase)
        {
            return Err(out_of_order(phase.phase, gate.phase));
        }
    }
    Ok(())
}

fn out_of_order(phase: Phase, gate: Phase) -> String {
    format!(
        "phase `{}` may start only when all before it are completed, and `{}` is not; complete or skip that first",
        phase.as_str(),
        gate.as_str()
    )
}

fn same_session(old: &State, new: &State) -> Result<(), String> {
    for (key, old, new) in [
        ("id", &old.id, &new.id),
        ("task", &old.task, &new.task),
        ("created_at", &old.created_at.text, &new.created_at.text),
    ] {
        if old != new {
            return Err(format!("`{key}` never changes: it is \"{}\"", brief(old)));
        }
    }
    Ok(())
}

fn reachable(old: &State, new: &State) -> Result<(), String> {
    if new.updated_at.at < old.updated_at.at {
        let last = brief(&old.updated_at.text);
        return Err(format!("`updated_at` never goes back: it is \"{last}\""));
    }
    for (old, new) in old.phases().iter().zip(new.phases()) {
        if new.status < old.status {
            let name = old.phase.as_str();
            return Err(match old.status {
                Status::Completed => format!("phase `{name}` is completed and stays so"),
                _ => format!("phase `{name}` has started and cannot be pending again"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::create;
    use super::*;
    use crate::contract::denial::DenyCode;

    const COMPLETE: &str = include_str!("../../../tests/fixtures/session/complete.json");

    fn fresh() -> String {
        create::tests::fresh(chrono::DateTime::from_timestamp(1_768_055_422, 0).unwrap())
    }

    fn with(text: &str, changes: &[(&[&str], Value)]) -> String {
        let mut document = Document::parse(text).unwrap();
        for (path, value) in changes {
            document.set(path, value.clone()).unwrap();
        }
        document.render()
    }

    /// `expected` is empty for a text that is allowed.
    #[track_caller]
    fn check(present: Option<&str>, new: &str, expected: &str) {
        match check_content(new, present, None) {
            Ok(_) => assert_eq!(expected, "", "was allowed"),
            Err(ContentError { code, message }) => {
                assert_eq!(code, DenyCode::IllegalTransition, "{message}");
                assert!(
                    !expected.is_empty() && message.contains(expected),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn every_state_is_coherent() {
        let fresh = fresh();
        check(None, &fresh, "");
        check(None, COMPLETE, "");
        let phase =
            |phase, key, value: Value| with(&fresh, &[(&["phases", phase, key], value.clone())]);
        check(
            None,
            &phase("plan", "status", json!("in_progress")),
            "`research` is not",
        );
        check(
            None,
            &phase("research", "skipped", json!(true)),
            "must be completed",
        );
        check(
            None,
            &phase("init", "completed_at", json!(null)),
            "without `completed_at`",
        );
        check(
            None,
            &phase("init", "started_at", json!(null)),
            "neither started",
        );
        check(
            None,
            &phase("init", "started_at", json!("2027-01-01T00:00:00Z")),
            "lies before",
        );
        check(None, &phase("research", "status", json!("in_progress")), "");
        let early = with(&fresh, &[(&["updated_at"], json!("2026-01-01T00:00:00Z"))]);
        check(None, &early, "`updated_at` lies before `created_at`");
    }

    #[test]
    fn reports_and_decisions_belong_to_their_phases() {
        let decision = |agent: &str| json!({"agent": agent, "mode": "single", "instances": 1, "inputs": ["a"]});
        let phase = |name: &str| json!({"status": "pending", "report": name});
        let (report, decisions) = ("report", "dispatcher_decisions");
        for (path, value, expected) in [
            (
                &["phases", "plan", report][..],
                json!("research-report.md"),
                "not plan-report.md",
            ),
            (
                &["phases", "plan", report],
                json!("../plan-report.md"),
                "not plan-report.md",
            ),
            (
                &["phases", "implement", report],
                json!("plan-report.md"),
                "has no report",
            ),
            (
                &["phases", "deploy"],
                phase("x"),
                "`phases.deploy` is an object, not one of the phases",
            ),
            (
                &[decisions, "plan"],
                decision("scouter"),
                "not a decision for research or review",
            ),
            (
                &[decisions, "research"],
                decision("reviewer"),
                "not one of scouter, researcher",
            ),
            (
                &["delegating_decisions"],
                json!({"review": decision("scouter")}),
                "reviewer",
            ),
        ] {
            let text = with(COMPLETE, &[(path, value)]);
            let error = check_content(&text, None, None).unwrap_err();
            assert_eq!(error.code, DenyCode::MalformedContent);
            assert!(error.message.contains(expected), "{}", error.message);
            // What is there already can be read, and repaired.
            assert!(State::parse(&text).is_ok());
            assert!(check_content(COMPLETE, Some(&text), None).is_ok());
        }
    }

    #[test]
    fn nothing_goes_back_and_the_session_stays_the_same() {
        let fresh = fresh();
        let started = with(
            &fresh,
            &[
                (&["phases", "research", "status"], json!("in_progress")),
                (
                    &["phases", "research", "started_at"],
                    json!("2026-01-10T14:31:00Z"),
                ),
            ],
        );
        check(Some(&fresh), &started, "");
        check(Some(&started), &fresh, "`research` has started");
        let reopened = with(
            COMPLETE,
            &[(&["phases", "review", "status"], json!("in_progress"))],
        );
        check(Some(COMPLETE), &reopened, "`review` is completed");
        check(Some(COMPLETE), COMPLETE, "");
        for key in ["id", "task"] {
            check(
                Some(&fresh),
                &with(&fresh, &[(&[key], json!("other"))]),
                "never changes",
            );
        }
        let late = with(
            &started,
            &[(&["updated_at"], json!("2026-01-10T15:00:00Z"))],
        );
        check(Some(&late), &started, "`updated_at` never goes back");
        let earlier = with(&fresh, &[(&["created_at"], json!("2020-01-01T00:00:00Z"))]);
        check(Some(&fresh), &earlier, "`created_at` never changes");
    }

    #[test]
    fn a_session_is_called_like_its_directory() {
        let id = "260110-token-refresh";
        assert_eq!(check_content(COMPLETE, None, Some(id)), Ok(Vec::new()));
        let other = check_content(COMPLETE, Some(COMPLETE), Some("260110-x")).unwrap_err();
        assert_eq!(other.code, DenyCode::IllegalTransition);
        assert!(other.message.contains("write `\"id\": \"260110-x\"`"));
        let malformed = check_content("{", None, Some(id)).unwrap_err();
        assert_eq!(malformed.code, DenyCode::MalformedContent);
    }

    #[test]
    fn a_broken_state_can_be_repaired_by_a_good_one_only() {
        let fresh = fresh();
        let incoherent = with(
            &fresh,
            &[(&["phases", "review", "status"], json!("in_progress"))],
        );
        for broken in ["{\"id\":", "[]", "{}", incoherent.as_str()] {
            let notes = check_content(&fresh, Some(broken), None).unwrap();
            assert!(
                notes.iter().any(|note| matches!(note, Note::Repair(_))),
                "{broken}"
            );
            check(Some(broken), &incoherent, "`research` is not");
        }
        let other = with(&fresh, &[(&["id"], json!("260110-u"))]);
        check(Some(&incoherent), &other, "`id` never changes");
        let malformed = check_content("{}", Some(&fresh), None).unwrap_err();
        assert_eq!(
            malformed,
            ContentError::malformed("`workflow` is missing".to_owned())
        );
    }
}
