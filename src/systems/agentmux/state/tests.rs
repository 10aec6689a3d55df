use super::super::check::of_state;
use super::*;

const COMPLETING: &str =
    include_str!("../../../../tests/fixtures/agentmux/ok-09-completing.state.json");

fn with(changes: &[(&str, Value)]) -> String {
    let mut document = Document::parse(COMPLETING).unwrap();
    for (key, value) in changes {
        document.set(&[key], value.clone()).unwrap();
    }
    document.render()
}

#[test]
fn what_agentmux_writes_is_valid() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/agentmux");
    let mut phases = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_str().unwrap().ends_with(".state.json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let files = |name: &str| (name == "state.json").then(|| text.clone());
        let session = session("ok", &files);
        assert!(session.valid, "{}: {:?}", path.display(), session.problems);
        assert_eq!(session.phase, session.resume_phase);
        let workflow = read_workflow("x", &files).unwrap();
        assert_eq!(workflow.gates.len(), 8);
        phases.extend(session.phase);
    }
    let expected = [
        "architecting",
        "completing",
        "implementing",
        "planning",
        "reviewing",
    ];
    assert!(phases.iter().eq(expected));
}

/// `expected` is a part of the only problem.
#[track_caller]
fn check_problem(key: &str, value: Value, expected: &str) {
    let problems = of_state(&with(&[(key, value)]));
    assert!(
        problems.len() == 1 && problems[0].contains(expected),
        "{problems:?}"
    );
}

#[test]
fn problems_name_the_field() {
    check_problem(
        "phase",
        "done".into(),
        "`phase` is \"done\", not one of product_management",
    );
    check_problem(
        "last_event",
        "plan_approved".into(),
        "not one of feature_created",
    );
    check_problem(
        "review_iteration",
        (-1).into(),
        "is -1, not a whole number from 0",
    );
    check_problem(
        "implementation_group_mode",
        "both".into(),
        "serial, parallel or null",
    );
    check_problem(
        "implementation_group_index",
        3.into(),
        "group 3 of 2 is active",
    );
    check_problem("completed_subplans", vec![1; 4].into(), "4 sub-plans of 3");
    check_problem(
        "updated_at",
        "now".into(),
        "`updated_at` is \"now\", not a time",
    );
    check_problem(
        "research_tasks",
        serde_json::json!({"a": "x"}),
        "dispatched or done",
    );
    check_problem("product_manager", Value::Null, "`product_manager` is null");
    for valid in [
        ("completed_subplans", serde_json::json!(["1", "2"])),
        ("issue_number", 7.into()),
        ("issue_number", "7".into()),
        ("unknown", 1.into()),
    ] {
        assert_eq!(of_state(&with(&[valid])), [""; 0]);
    }
}

#[test]
fn a_text_that_is_no_state_is_a_problem() {
    for (text, part) in [
        ("", "not valid JSON"),
        ("[]", "an array"),
        ("\u{feff}{}", "byte-order"),
    ] {
        let problems = of_state(text);
        assert!(
            problems.len() == 1 && problems[0].contains(part),
            "{problems:?}"
        );
    }
    assert_eq!(of_state("{}").len(), 15);
    assert_eq!(
        session("x", &|_| None).problems,
        ["there is no `state.json`"]
    );
}

#[track_caller]
fn check_resume(changes: &[(&str, Value)], present: &[(&str, &str)], expected: &str) {
    let text = with(&[&[("phase", "failed".into())], changes].concat());
    let state = parse(&text).unwrap();
    let files = |path: &str| {
        present
            .iter()
            .find(|(name, _)| *name == path)
            .map(|(_, text)| (*text).to_owned())
    };
    assert_eq!(infer_resume_phase(&state, &files), expected, "{present:?}");
}

#[test]
fn a_failed_run_resumes_in_the_first_open_phase() {
    let mut there = vec![("02_architecting/architecture.md", "")];
    check_resume(&[], &[], "architecting");
    let pm = ("product_manager", Value::Bool(true));
    check_resume(std::slice::from_ref(&pm), &[], "product_management");
    let submitted = ("tool_events.jsonl", "{\"tool\":\"submit_pm_done\"}\n");
    check_resume(std::slice::from_ref(&pm), &[submitted], "architecting");
    check_resume(&[pm], &there, "planning");
    check_resume(&[], &[there[0], ("04_planning/plan.yaml", "")], "planning");
    let design = (
        "04_planning/execution_plan.yaml",
        "version: 1\nneeds_design: true # ui\n",
    );
    check_resume(&[], &[there[0], design], "designing");
    there.extend([
        design,
        ("05_design/design.md", ""),
        ("06_implementation/done_1", ""),
    ]);
    check_resume(&[], &there, "implementing");
    check_resume(&[("subplan_count", 1.into())], &there, "reviewing");
    check_resume(&[("subplan_count", 0.into())], &there, "reviewing");
    there.extend([
        ("06_implementation/done_2", ""),
        ("06_implementation/done_3", ""),
    ]);
    check_resume(&[], &there, "reviewing");
    let verdict = |text| {
        [
            there.as_slice(),
            &[("07_review/review_reviewer_logic.yaml", text)],
        ]
        .concat()
    };
    check_resume(&[], &verdict("verdict: pass\n"), "completing");
    check_resume(&[], &verdict("verdict: soon\n"), "reviewing");

    let round = ("review_iteration", Value::from(1));
    there.push(("07_review/fix_request.md", ""));
    check_resume(std::slice::from_ref(&round), &there, "reviewing");
    there.retain(|(name, _)| !name.starts_with("06_"));
    check_resume(std::slice::from_ref(&round), &there, "fixing");
    check_resume(&[], &there, "implementing");
    let other = ("tool_events.jsonl", "{\"tool\":\"submit_plan\"}\n");
    let pm = ("product_manager", Value::Bool(true));
    check_resume(&[pm], &[other], "product_management");
    let plain = ("04_planning/execution_plan.yaml", "needs_design: false\n");
    let planned = [("02_architecting/architecture.md", ""), plain];
    check_resume(&[], &planned, "implementing");
    // A round without a request to fix anything has begun no fix.
    check_resume(&[round], &planned, "implementing");
}

#[test]
fn the_phases_of_a_run_stand_for_its_gates() {
    let check = |phase: &str, more: &[(&str, Value)], plan: &str, expected: &str, next: &str| {
        let state = with(&[&[("phase", phase.into())], more].concat());
        let files = |name: &str| match name {
            "state.json" => Some(state.clone()),
            "04_planning/execution_plan.yaml" => Some(plan.to_owned()),
            _ => None,
        };
        let workflow = read_workflow("x", &files).unwrap();
        let letter = |gate: &Gate| match gate.status {
            GateStatus::Passed => "p",
            GateStatus::InProgress => "i",
            GateStatus::Pending => "-",
            GateStatus::Skipped => "s",
            GateStatus::Failed => "f",
        };
        let shown: String = workflow.gates.iter().map(letter).collect();
        assert_eq!(
            (shown.as_str(), workflow.next.to_string().as_str()),
            (expected, next)
        );
    };
    let goes_on = "AgentMux is in phase `implementing`; its orchestrator moves on";
    let none = ("review_iteration", Value::from(0));
    let pm = ("product_manager", Value::Bool(false));
    let plain = [none, pm];
    check("implementing", &plain, "", "sppsi-s-", goes_on);
    let all = [
        ("review_iteration", Value::from(2)),
        ("product_manager", Value::Bool(true)),
    ];
    let design = "needs_design: true\n";
    check("implementing", &all, design, "ppppi---", goes_on);
    let resume = "resume the session; it goes on with phase `product_management`";
    check("failed", &all, design, "--------", resume);
}

#[test]
fn a_run_is_active_until_it_fails_or_is_approved() {
    let failed = with(&[("phase", "failed".into())]);
    for (state, approval, expected) in [
        (COMPLETING, "{}", true),
        (COMPLETING, r#"{"action": "reject"}"#, true),
        (COMPLETING, r#"{"action": "approve"}"#, false),
        (failed.as_str(), "", false),
    ] {
        let files = |name: &str| match name {
            "state.json" => Some(state.to_owned()),
            "08_completion/approval.json" => Some(approval.to_owned()),
            _ => None,
        };
        let workflow = read_workflow("x", &files).unwrap();
        assert_eq!(workflow.active, expected, "{approval}");
        let is_over = workflow.next == NextStep::nothing("the run was approved");
        assert_eq!(is_over, approval.contains("approve"), "{approval}");
    }
    assert!(
        read_workflow("x", &|_| None)
            .unwrap_err()
            .to_string()
            .contains("`x`")
    );
}
