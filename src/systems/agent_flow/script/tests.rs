use super::*;
use crate::formats::front_matter;
use crate::systems::agent_flow::content::check_content;
use crate::systems::agent_flow::state::FileKind;
use crate::systems::workflow::GateStatus::{Failed, InProgress, Passed, Pending};

const SINGLE: &str =
    include_str!("../../../../tests/fixtures/agent-flow/01-orchestration-init-default.md");
const TEAM: &str = include_str!("../../../../tests/fixtures/agent-flow/30-team-init-team-mode.md");
const ESCAPED: &str =
    include_str!("../../../../tests/fixtures/agent-flow/10-orchestration-init-escaping-max3.md");

fn now() -> DateTime<Utc> {
    "2026-11-21T08:48:20Z".parse().unwrap()
}

fn request(task: &str, mode: Mode) -> NewRun {
    NewRun {
        task: task.to_owned(),
        mode,
        max_iterations: 10,
        deep_dive: DeepDive::Missing,
    }
}

/// The front matter without comments, which only the original has.
fn front(text: &str) -> String {
    let lines = front_matter::split(text).unwrap().front.lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn a_new_run_is_the_original_line_by_line() {
    let single = init(
        &request("Add user authentication with JWT tokens", Mode::Single),
        now(),
    )
    .unwrap();
    assert_eq!(front(&single), front(SINGLE));
    let shared_body = "\n## Orchestration Log\n\n### Session Started\n- Task: \"Add user authentication with JWT tokens\"\n- Max Iterations: 10\n- Started: 2026-11-21T08:48:20Z\n- Deep-Dive Context: Not available\n";
    assert_eq!(front_matter::split(&single).unwrap().body, shared_body);
    assert!(SINGLE.contains(shared_body));
    assert_eq!(check_content(&single, FileKind::Single), Ok(()));

    let team = init(
        &request("Add user authentication", Mode::Team),
        "2026-11-21T08:49:38Z".parse().unwrap(),
    )
    .unwrap();
    assert_eq!(front(&team), front(TEAM));
    assert_eq!(check_content(&team, FileKind::Team), Ok(()));
    let sequential = init(&request("x", Mode::Sequential), now()).unwrap();
    assert!(sequential.contains("mode: \"sequential\"\nteam_available: false\n"));
    assert!(sequential.contains("- Mode: sequential\n- Team Available: false\n- Started"));

    let task = "Fix \"login\" bug: path C:\\new\\temp\nsecond line --- # x";
    let escaped = init(
        &NewRun {
            max_iterations: 3,
            ..request(task, Mode::Single)
        },
        "2026-11-21T08:49:09Z".parse().unwrap(),
    );
    assert_eq!(front(&escaped.unwrap()), front(ESCAPED));
    assert!(init(&request(" \n", Mode::Single), now()).is_err());
    assert!(
        init(
            &NewRun {
                max_iterations: 0,
                ..request("x", Mode::Single)
            },
            now()
        )
        .is_err()
    );
}

#[test]
fn a_deep_dive_is_noted() {
    let context = Context {
        scope: "full".to_owned(),
        generated: "T".to_owned(),
    };
    let noted = |deep_dive| {
        init(
            &NewRun {
                deep_dive,
                ..request("x", Mode::Single)
            },
            now(),
        )
        .unwrap()
    };
    let used = noted(DeepDive::Used(context.clone()));
    assert!(
        used.contains("  available: true\n  using: true\n  scope: \"full\"\n  generated: \"T\"\n")
    );
    assert!(used.contains("- Deep-Dive Context: Using (scope: full, generated: T)\n"));
    let available = noted(DeepDive::Available(context));
    assert!(available.contains("  available: true\n  using: false\n  scope: \"full\"\n"));
}

#[test]
fn an_active_run_is_not_replaced() {
    assert!(may_replace(SINGLE).is_err());
    assert!(may_replace("garbage").is_err());
    assert!(may_replace(&SINGLE.replace("active: true", "active: false")).is_ok());
    assert!(may_replace(&SINGLE.replace("\"exploration\"", "\"complete\"")).is_ok());
}

fn arguments(phase: Phase, result: GateStatus, agent: &str, message: &str) -> Update {
    Update {
        phase: Some(phase),
        gate_result: Some(result),
        agent: Some(agent.to_owned()),
        message: Some(message.to_owned()),
        ..Update::default()
    }
}

#[track_caller]
fn updated(text: &str, arguments: &Update) -> String {
    match update(text, arguments, now()) {
        Ok(Ok(change)) => change.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_update_is_for_the_gate_of_the_old_phase() {
    let text = updated(
        SINGLE,
        &arguments(Phase::Planning, Passed, "Riko", "found \"5\" files"),
    );
    let expected = SINGLE
        .replace("current_phase: \"exploration\"", "current_phase: \"planning\"")
        .replace(
            "\"in_progress\"\n    timestamp: \"2026-11-21T08:48:20Z\"\n",
            "\"passed\"\n    timestamp: \"2026-11-21T08:48:20Z\"\n    agent: \"Riko\"\n    message: \"found \\\"5\\\" files\"\n",
        )
        .replace("\n\n---\n\n", "\n\n\n")
        + "\n### Phase: Exploration\n- Agent: Riko\n- Result: found \"5\" files\n- Gate: passed\n- Timestamp: 2026-11-21T08:48:20Z\n";
    assert_eq!(text, expected);
    let done = Update {
        complete: true,
        message: Some("done".to_owned()),
        ..Update::default()
    };
    let closed = updated(&text, &done);
    assert!(closed.starts_with("---\nactive: false\ncurrent_phase: \"complete\"\n"));
    assert!(closed.ends_with("### Phase: Complete\n- Agent: Orchestrator\n- Result: done\n- Timestamp: 2026-11-21T08:48:20Z\n"));
    assert!(matches!(update(&closed, &done, now()), Ok(Err(_))));
    assert!(update(&closed, &arguments(Phase::Review, Passed, "x", "y"), now()).is_err());
}

#[test]
fn the_group_is_updated_as_documented() {
    let part = |part, gate_result| Update {
        group: Some(part),
        gate_result,
        ..Update::default()
    };
    let state = |text: &str| {
        let state = FlowState::read(text).unwrap();
        let group = state.group.clone().unwrap();
        let gates = [
            Phase::ReviewVerification,
            Phase::Review,
            Phase::Verification,
        ]
        .map(|gate| state.gate(gate));
        (
            [group.status, group.review, group.verification],
            gates,
            text.contains("    completed_at: \"2026"),
        )
    };
    let running = updated(TEAM, &part(GroupPart::Whole, Some(InProgress)));
    assert_eq!(
        state(&running),
        (
            [InProgress, Pending, Pending],
            [InProgress, Pending, Pending],
            false
        )
    );
    let merge = part(GroupPart::Merge, None);
    assert!(update(&running, &merge, now()).is_err());
    let reviewed = updated(
        &running,
        &part(GroupPart::Member(Phase::Review), Some(Passed)),
    );
    assert_eq!(
        state(&reviewed),
        (
            [InProgress, Passed, Pending],
            [InProgress, Passed, Pending],
            false
        )
    );
    assert!(reviewed.contains("      result: \"APPROVED\"\n"));
    let failed = updated(
        &reviewed,
        &part(GroupPart::Member(Phase::Verification), Some(Failed)),
    );
    assert_eq!(
        state(&failed),
        ([Failed, Passed, Failed], [Failed, Passed, Failed], true)
    );
    assert_eq!(state(&updated(&failed, &merge)), state(&failed));
    let reset = updated(&failed, &part(GroupPart::Whole, Some(Pending)));
    assert_eq!(
        state(&reset),
        ([Pending; 3], [Pending, Passed, Failed], false)
    );
}

#[test]
fn every_part_of_the_group_is_filled() {
    let member = |gate, result| Update {
        group: Some(GroupPart::Member(gate)),
        gate_result: Some(result),
        agent: Some("Qa".to_owned()),
        message: Some("seen".to_owned()),
        ..Update::default()
    };
    let merge = Update {
        group: Some(GroupPart::Merge),
        ..Update::default()
    };
    for (gate, result, word) in [
        (Phase::Review, Passed, "APPROVED"),
        (Phase::Review, Failed, "NEEDS_CHANGES"),
        (Phase::Verification, Passed, "VERIFIED"),
        (Phase::Verification, Failed, "FAILED"),
    ] {
        let text = updated(TEAM, &member(gate, result));
        let parts = [
            format!("      result: \"{word}\"\n"),
            "    agent: \"Qa\"\n    message: \"seen\"\n".to_owned(),
        ];
        for part in parts {
            assert!(text.contains(&part), "{part} in {text}");
        }
        let group = FlowState::read(&text).unwrap().group.unwrap();
        assert_eq!(group.status, InProgress);
        assert!(update(&text, &merge, now()).is_err(), "the other is out");
    }
    let waiting = updated(TEAM, &member(Phase::Review, Pending));
    let group = FlowState::read(&waiting).unwrap().group.unwrap();
    assert_eq!((group.status, group.started_at), (Pending, None));

    // The original's group stays open when both are in.
    let both = TEAM.replace("      status: \"pending\"", "      status: \"passed\"");
    let merged = updated(&both, &merge);
    let at_once = Update {
        gate_result: Some(Passed),
        ..Update::default()
    };
    let reached = TEAM.replacen("\"exploration\"", "\"review_verification\"", 1);
    for text in [merged, updated(&reached, &at_once)] {
        let state = FlowState::read(&text).unwrap();
        let (gate, group) = (state.gate(Phase::ReviewVerification), state.group.unwrap());
        assert_eq!((gate, group.status), (Passed, Passed));
        assert!(text.contains("    completed_at: \"2026"));
        assert!(!text.contains("### Phase:"), "nobody said anything");
    }
}

#[test]
fn a_run_without_a_group_goes_to_the_review() {
    let sequential = TEAM.replacen("mode: \"team\"", "mode: \"sequential\"", 1);
    let moved = Update {
        phase: Some(Phase::ReviewVerification),
        iteration: Some(10),
        ..Update::default()
    };
    let text = updated(&sequential, &moved);
    assert!(
        text.contains("current_phase: \"review\"\niteration: 10\n"),
        "{text}"
    );
    let closed = Update {
        phase: Some(Phase::Complete),
        complete: true,
        ..Update::default()
    };
    assert!(updated(SINGLE, &closed).starts_with("---\nactive: false\n"));
}

#[track_caller]
fn refused(text: &str, arguments: Update, expected: &str) {
    let why = update(text, &arguments, now()).unwrap_err();
    assert!(why.contains(expected), "{why}");
}

#[test]
fn updates_that_cannot_be_are_refused() {
    let none = Update::default;
    let at = |iteration| Update {
        iteration: Some(iteration),
        ..none()
    };
    let of = |group| Update {
        group: Some(group),
        ..none()
    };
    let in_phase = |phase| Update {
        phase: Some(phase),
        ..none()
    };
    let passed = |update| Update {
        gate_result: Some(Passed),
        ..update
    };
    let completed = |update| Update {
        complete: true,
        ..update
    };
    let over = SINGLE.replace("\"exploration\"", "\"complete\"");
    refused(SINGLE, none(), "nothing to update");
    refused(SINGLE, at(11), "`max_iterations` 10");
    refused(SINGLE, at(0), "the first one is 1");
    refused(
        SINGLE,
        in_phase(Phase::ReviewVerification),
        "write `review`",
    );
    refused(SINGLE, of(GroupPart::Merge), "no parallel group");
    refused(SINGLE, completed(in_phase(Phase::Review)), "contradict");
    refused(TEAM, of(GroupPart::Whole), "needs `--gate-result`");
    refused(TEAM, passed(of(GroupPart::Merge)), "leave out");
    refused("---\r\n", at(1), "closing");
    refused(&over, passed(none()), "no gate");
}
