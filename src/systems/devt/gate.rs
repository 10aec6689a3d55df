//! What the end of an agent does to `workflow.yaml`.

use serde_json::Value;

use super::artifact::{Artifact, Fault, Judged};
use super::workflow_yaml::{self, Fields};
use crate::base::actor::AgentName;
use crate::systems::gate_record::{GateRecord, Move, Outcome};
use crate::systems::workflow::{Gate, GateStatus, Proof, Workflow};

/// Carries a judged artifact into the `workflow.yaml` of an active workflow: `status` and `verdict` of a
/// valid sidecar (or `## Status`), and whether the artifact was valid. An
/// invalid one leaves the old status and is `warned`, as devt does itself.
///
/// # Errors
/// Why the file stays as it is.
pub fn on_agent_end(text: &str, artifact: &Artifact, judged: &Judged) -> Outcome {
    let before = workflow_yaml::read(text);
    if let Some(why) = wrong_phase(&before, artifact) {
        return Err(why);
    }
    let changes = changes(judged);
    let new_text =
        workflow_yaml::set(text, &changes).map_err(|why| format!("`workflow.yaml`: {why}"))?;
    let why = reason(artifact, judged);
    // The phase before may have left the same words: they are this one's now.
    let says_status = judged.as_ref().is_ok_and(|said| said.status.is_some());
    if new_text == text && !says_status {
        return Err(why);
    }
    let status =
        |text| outcome(&workflow_yaml::read(text)).map_or(GateStatus::Pending, gate_status);
    let moved = Move {
        gate: artifact.file.to_owned(),
        from: status(text),
        to: match judged
            .as_ref()
            .ok()
            .and_then(|said| said.verdict.as_deref())
        {
            Some(verdict) if gate_status(verdict) != GateStatus::Passed => gate_status(verdict),
            _ => status(&new_text),
        },
    };
    let files = [Some(artifact.file), artifact.sidecar];
    let mut proof: Vec<Proof> = files.into_iter().flatten().map(Proof::artifact).collect();
    proof.push(Proof::Verdict {
        line: why.clone(),
        at: artifact.sidecar.unwrap_or(artifact.file).to_owned(),
    });
    Ok(GateRecord {
        text: new_text,
        proof: match moved.to {
            GateStatus::Passed => proof,
            _ => Vec::new(),
        },
        moves: vec![moved],
        phase: before.text("phase").map(str::to_owned),
        iteration: before.number("iteration"),
        evidence: Some(why),
        ..GateRecord::default()
    })
}

/// The artifact whose agent alone speaks for a phase.
pub fn judged_by(phase: &str) -> Option<Artifact> {
    let judge = match phase {
        "test" => "tester",
        "review" => "code-reviewer",
        "verify" => "verifier",
        _ => return None,
    };
    Artifact::for_agent(&AgentName::parse(judge))
}

/// What a judge has not passed stays so until the judge speaks again, or the phase is
/// another's.
fn wrong_phase(workflow: &Fields, artifact: &Artifact) -> Option<String> {
    let phase = workflow.text("phase")?;
    let judge = judged_by(phase).filter(|judge| judge != artifact)?.agent;
    let verdict = workflow.text("verdict")?;
    let is_open = gate_status(verdict) != GateStatus::Passed;
    is_open.then(|| {
        format!("a wrong phase: in `{phase}` the verdict is `{judge}`'s, and it is {verdict}")
    })
}

/// Why an agent's end means nothing to a `workflow.yaml`; `None` where a workflow is
/// active. A broken file that does not say whether one is may be that of one.
pub fn inactive(text: &str) -> Option<String> {
    match (
        workflow_yaml::read(text).get("active"),
        workflow_yaml::check(text),
    ) {
        (Some(Value::Bool(true)), _) => None,
        (Some(Value::Bool(false)), _) | (_, Ok(())) => Some("no workflow is active".to_owned()),
        (_, Err(why)) => Some(format!("`workflow.yaml`: {why}")),
    }
}

fn changes(judged: &Judged) -> Vec<(&'static str, Option<Value>)> {
    let text = |text: &str| Value::from(text);
    match judged {
        Ok(said) => {
            let words = [("status", &said.status), ("verdict", &said.verdict)];
            words
                .into_iter()
                .filter_map(|(key, word)| Some((key, Some(text(word.as_ref()?)))))
                .chain([("validation_status", None), ("validation_warnings", None)])
                .collect()
        }
        Err(Fault::Invalid(_) | Fault::Stub(_)) => vec![
            ("validation_status", Some(text("warned"))),
            ("validation_warnings", Some(1.into())),
        ],
        // devt does not warn of what is still to come.
        Err(Fault::Missing(_) | Fault::Stale(_)) => Vec::new(),
    }
}

fn reason(artifact: &Artifact, judged: &Judged) -> String {
    let said = match judged {
        Err(fault) => return fault.why(),
        Ok(said) => said,
    };
    let Some(status) = &said.status else {
        return format!("`{}` is written", artifact.file);
    };
    let verdict = said.verdict.as_ref().map(|verdict| format!(", {verdict}"));
    format!(
        "`{}` says {status}{}",
        artifact.file,
        verdict.unwrap_or_default()
    )
}

/// The workflow as `status` shows it: devt keeps no gates in the file, so its
/// one gate is the phase with the status that the last artifact set.
pub fn read_workflow(text: &str, file: &str) -> Workflow {
    let fields = workflow_yaml::read(text);
    let field = |name| {
        fields
            .text(name)
            .filter(|text| *text != "null")
            .map(str::to_owned)
    };
    let phase = field("phase");
    let status = outcome(&fields).filter(|text| *text != "null");
    let active = fields.is_true("active");
    let next = match (active, &phase, status) {
        (false, ..) => "no workflow is active".to_owned(),
        (true, Some(phase), Some(status)) => match gate_status(status) {
            GateStatus::Passed => {
                format!("phase `{phase}` ended with {status}; the next one follows")
            }
            GateStatus::Failed => {
                format!("phase `{phase}` ended with {status}; it has to be mended first")
            }
            _ => format!("phase `{phase}` goes on; its last status is {status}"),
        },
        (true, Some(phase), None) => goes_on(phase),
        (true, None, _) => "the workflow has no phase yet".to_owned(),
    };
    let of_phase = status.map_or(GateStatus::Pending, gate_status);
    let gates = phase.iter().map(|phase| Gate::new(phase, of_phase));
    Workflow {
        active,
        gates: gates.collect(),
        phase,
        iteration: fields.number("iteration"),
        next: next.into(),
        updated_at: field("last_session").or_else(|| field("created_at")),
        started_at: field("created_at"),
        ..Workflow::new(super::ID, file)
    }
}

/// Takes the status of the phase before from a workflow whose phase has not spoken yet.
pub fn has_just_begun(run: &mut Workflow) {
    for gate in &mut run.gates {
        gate.status = GateStatus::Pending;
    }
    if let Some(phase) = &run.phase
        && run.active
    {
        run.next = goes_on(phase).into();
    }
}

/// The same for what an agent's end does in such a phase.
pub fn comes_from_pending(change: &mut GateRecord) {
    for moved in &mut change.moves {
        moved.from = GateStatus::Pending;
    }
}

fn goes_on(phase: &str) -> String {
    format!("continue phase `{phase}` (no status yet)")
}

/// The word that says where the phase is. A reviewer is `DONE` with work that
/// has to be done again: in the phases with a verdict, one that is not among the good ones
/// outweighs a good status.
fn outcome(fields: &Fields) -> Option<&str> {
    let phase = fields.text("phase").unwrap_or_default();
    let has_verdict = phase == "implement" || judged_by(phase).is_some();
    let verdict = if has_verdict {
        fields.text("verdict")
    } else {
        None
    };
    let status = fields.text("status");
    let is = |word: Option<&str>, status| word.map(gate_status) == Some(status);
    if is(verdict, GateStatus::Failed)
        || is(status, GateStatus::Passed) && !is(verdict, GateStatus::Passed)
    {
        return verdict.or(status);
    }
    status
}

/// devt's words of status and verdict as gates.
fn gate_status(word: &str) -> GateStatus {
    match word {
        "DONE"
        | "DONE_WITH_CONCERNS"
        | "VERIFIED"
        | "FIXED"
        | "PASS"
        | "APPROVED"
        | "APPROVED_WITH_NOTES"
        | "satisfied" => GateStatus::Passed,
        "FAILED" | "BLOCKED" | "GAPS_FOUND" | "FAIL" | "NEEDS_WORK" | "needs_revision"
        | "failed" => GateStatus::Failed,
        "PARTIAL" | "NEEDS_CONTEXT" | "NEEDS_MORE_INVESTIGATION" | "INDETERMINATE" => {
            GateStatus::InProgress
        }
        _ => GateStatus::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::super::artifact::judge;
    use super::super::sidecar::Routing;
    use super::*;

    #[track_caller]
    fn check(text: &str, json: &str, expected: Result<&str, &str>) {
        let artifact = Artifact::for_agent(&AgentName::parse("tester")).unwrap();
        let judged = judge(&artifact, Some(&"some words ".repeat(150)), Some(json));
        match (on_agent_end(text, &artifact, &judged), expected) {
            (Ok(change), Ok(after)) => {
                assert_eq!((change.text.as_str(), change.moves.len()), (after, 1));
            }
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn a_valid_sidecar_routes_and_an_invalid_one_warns() {
        let valid = r#"{"status":"DONE","verdict":"PASS","agent":"tester"}"#;
        let warned = "validation_status: warned\nvalidation_warnings: 1\n";
        let running = "active: true\nphase: test\nstatus: BLOCKED\n";
        let routed = "active: true\nphase: test\nstatus: DONE\nverdict: PASS\n";
        check(running, valid, Ok(routed));
        check(&format!("{running}{warned}"), valid, Ok(routed));
        check(
            running,
            r#"{"status":"OK"}"#,
            Ok(&format!("{running}{warned}")),
        );
        check(routed, valid, Ok(routed));
        check(running, "", Err("`test-summary.json` is missing"));
        check("active: true\nstatus:\n  - x\n", valid, Err("holds a list"));
    }

    #[test]
    fn a_verdict_that_sends_the_work_back_fails_the_phase_that_gave_it() {
        let text = "active: true\nphase: review\nstatus: DONE\nverdict: NEEDS_WORK\n";
        let status = |text: &str| read_workflow(text, "").gates[0].status;
        assert_eq!(status(text), GateStatus::Failed);
        assert!(
            read_workflow(text, "")
                .next
                .to_string()
                .contains("NEEDS_WORK; it has")
        );
        assert_eq!(
            status(&text.replace("NEEDS_WORK", "APPROVED")),
            GateStatus::Passed
        );
        let artifact = Artifact::for_agent(&AgentName::parse("code-reviewer")).unwrap();
        let json = r#"{"status":"DONE","verdict":"NEEDS_WORK","agent":"code-reviewer"}"#;
        let judged = judge(&artifact, Some(&"some words ".repeat(150)), Some(json));
        match on_agent_end("active: true\nstatus: DONE\n", &artifact, &judged) {
            Ok(change) => assert_eq!(change.moves[0].to, GateStatus::Failed),
            Err(why) => panic!("unchanged: {why}"),
        }
        // What the phase before left does not concern a phase without a verdict.
        assert_eq!(status(&text.replace("review", "docs")), GateStatus::Passed);
    }

    #[test]
    fn the_change_tells_both_ends() {
        let artifact = Artifact::for_agent(&AgentName::parse("tester")).unwrap();
        let judged = Ok(Routing {
            status: Some("DONE".to_owned()),
            ..Routing::default()
        });
        let text = "active: true\nphase: test\niteration: 2\nstatus: PARTIAL\n";
        let Ok(change) = on_agent_end(text, &artifact, &judged) else {
            panic!("unchanged");
        };
        let moved = Move {
            gate: "test-summary.md".to_owned(),
            from: GateStatus::InProgress,
            to: GateStatus::Passed,
        };
        assert_eq!(change.moves, [moved]);
        assert_eq!(change.phase.as_deref(), Some("test"));
        assert_eq!(change.iteration, Some(2));
        let says = "`test-summary.md` says DONE";
        assert_eq!(change.evidence.as_deref(), Some(says));
        let [Proof::Artifact { path, .. }, _, Proof::Verdict { line, at }] = &*change.proof else {
            panic!("{:?}", change.proof);
        };
        assert_eq!(
            (&**path, &**line, &**at),
            ("test-summary.md", says, "test-summary.json")
        );
    }
}
