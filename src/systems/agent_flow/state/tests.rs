use super::*;

const SINGLE: &str =
    include_str!("../../../../tests/fixtures/agent-flow/01-orchestration-init-default.md");
const REVIEW: &str = include_str!(
    "../../../../tests/fixtures/agent-flow/04-orchestration-after-implementation-passed.md"
);
const TEAM: &str =
    include_str!("../../../../tests/fixtures/agent-flow/32-team-after-implementation.md");
const TEAM_SAMPLE: &str =
    include_str!("../../../../tests/fixtures/agent-flow/41-seed-sample-team.md");
const DEEP: &str = include_str!("../../../../tests/fixtures/agent-flow/20-deep-dive-init-full.md");

#[test]
fn a_run_is_read_however_it_is_written() {
    let plain = FlowState::read(SINGLE).unwrap();
    let reindented = SINGLE
        .replace("    status", "        status")
        .replace("    timestamp", "        timestamp");
    let gates = SINGLE.find("gates:").unwrap();
    let end = 4 + SINGLE[4..].find("\n---\n").unwrap();
    let gates_first = format!(
        "---\n{}{}\n{}",
        &SINGLE[gates..=end],
        &SINGLE[4..gates],
        &SINGLE[end + 1..]
    );
    for text in [
        SINGLE.replace('\n', "\r\n"),
        format!("\u{feff}\n{SINGLE}"),
        SINGLE.replace('"', "'"),
        SINGLE.replace('"', ""),
        SINGLE.replace("\"in_progress\"", "In-Progress # now"),
        SINGLE.replacen("active: true", "active: True # x", 1),
        SINGLE.replacen("iteration: 1", "iteration: \"1\"", 1),
        reindented,
        gates_first,
    ] {
        assert_eq!(FlowState::read(&text).as_ref(), Ok(&plain), "{text}");
    }
    assert_eq!(
        (plain.active, plain.phase, plain.mode),
        (true, Some(Phase::Exploration), Mode::Single)
    );
    assert_eq!((plain.iteration, plain.max_iterations), (Some(1), Some(10)));
    assert!(FlowState::read("---\ntext\n---\n").is_err() && FlowState::read("").is_err());
    let group = FlowState::read(TEAM_SAMPLE).unwrap().group.unwrap();
    assert_eq!(
        (group.status, group.review),
        (GateStatus::InProgress, GateStatus::Passed)
    );
    let banana = FlowState::read(&SINGLE.replace("in_progress", "banana")).unwrap();
    assert_eq!(banana.gate(Phase::Exploration), GateStatus::Pending);
    let nested = format!("---\na: {}\n---\n", "[".repeat(100_000));
    assert!(FlowState::read(&nested).is_err());
}

#[track_caller]
fn check_next(text: &str, replace: &[(&str, &str)], expected: &str) {
    let text = replace.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "no {from:?}");
        text.replace(from, to)
    });
    assert_eq!(FlowState::read(&text).unwrap().next().to_string(), expected);
}

#[test]
fn the_next_step_is_told() {
    check_next(SINGLE, &[], "Riko explores (exploration)");
    check_next(REVIEW, &[], "Lawliet reviews (review)");
    check_next(
        REVIEW,
        &[("pending", "passed")],
        "the main thread completes the run",
    );
    check_next(
        REVIEW,
        &[("pending", "failed")],
        "Loid implements again (implementation)",
    );
    check_next(
        REVIEW,
        &[("active: true", "active: false")],
        "nothing: the run is closed",
    );
    check_next(
        REVIEW,
        &[("active: true", "active: false"), ("pending", "failed")],
        "nothing: the run is closed, and `verification` failed",
    );
    check_next(
        TEAM,
        &[],
        "Lawliet reviews and Alphonse verifies (review_verification)",
    );
    check_next(
        TEAM,
        &[("\"team\"", "\"sequential\"")],
        "Lawliet reviews (review)",
    );
    check_next(TEAM_SAMPLE, &[], "Alphonse verifies (review_verification)");
    check_next(
        TEAM_SAMPLE,
        &[("\"passed\"\n      agent", "\"failed\"\n      agent")],
        "Loid implements again (implementation)",
    );
}

#[test]
fn a_workflow_shows_the_gates_in_order() {
    let workflow = read_workflow(TEAM_SAMPLE, ".claude/team-orchestration.local.md").unwrap();
    let gates: Vec<_> = workflow
        .gates
        .iter()
        .map(|gate| (gate.name.as_str(), gate.status.as_str()))
        .collect();
    let expected = [
        ("exploration", "passed"),
        ("planning", "passed"),
        ("implementation", "passed"),
        ("review_verification", "in_progress"),
        ("review", "passed"),
        ("verification", "in_progress"),
    ];
    assert_eq!(gates, expected);
    assert_eq!(workflow.updated_at.as_deref(), Some("2024-01-15T10:46:30Z"));
    assert_eq!(workflow.phase.as_deref(), Some("review_verification"));
    let sequential = TEAM_SAMPLE.replace("\"team\"", "\"sequential\"");
    assert_eq!(
        read_workflow(&sequential, "team-orchestration.local.md")
            .unwrap()
            .gates
            .len(),
        5
    );
    let deep = read_workflow(DEEP, r"C:\p\.claude\deep-dive.local.md").unwrap();
    assert_eq!(
        (
            deep.active,
            deep.next.to_string().as_str(),
            deep.gates.len()
        ),
        (true, "the explorers report", 3)
    );
    let deep = read_workflow(
        &DEEP.replace("initializing", "complete"),
        "deep-dive.local.md",
    )
    .unwrap();
    assert_eq!(
        (deep.active, deep.next.to_string().as_str()),
        (false, "nothing: the context is ready for use")
    );
    let error = read_workflow("x", ".claude/orchestration.local.md")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("could not read `.claude/orchestration.local.md`"),
        "{error}"
    );
}

#[track_caller]
fn check_gate(text: &str, agent: &str, expected: Option<(&'static str, GateStatus)>) {
    let state = FlowState::read(text).unwrap();
    let agent = Agent::of(&AgentName::parse(agent));
    let closed = agent.and_then(|agent| state.unmet_gate(agent));
    assert_eq!(
        closed.map(|(gate, status)| (gate.as_str(), status)),
        expected
    );
}

#[test]
fn a_dispatch_waits_for_the_gates_before_it() {
    check_gate(SINGLE, "Riko", None);
    check_gate(
        SINGLE,
        "agent-flow:Senku",
        Some(("exploration", GateStatus::InProgress)),
    );
    check_gate(
        SINGLE,
        "Alphonse",
        Some(("exploration", GateStatus::InProgress)),
    );
    check_gate(REVIEW, "Lawliet", None);
    check_gate(REVIEW, "Alphonse", Some(("review", GateStatus::Pending)));
    check_gate(
        &REVIEW.replacen("\"passed\"", "\"skipped\"", 2),
        "Lawliet",
        None,
    );
    check_gate(TEAM, "Alphonse", None);
    check_gate(
        &TEAM.replace("\"team\"", "\"sequential\""),
        "Alphonse",
        Some(("review", GateStatus::Pending)),
    );
    check_gate(SINGLE, "Speedwagon", None);
}

#[test]
fn the_mode_shows_in_its_key_or_in_the_group() {
    let mode = |text: &str| FlowState::read(text).unwrap().mode;
    assert_eq!(mode("---\nmode: team\n---\n"), Mode::Team);
    assert_eq!(mode("---\nmode: sequential\n---\n"), Mode::Sequential);
    assert_eq!(mode(&TEAM.replacen("mode: \"team\"\n", "", 1)), Mode::Team);
    assert_eq!(mode("---\nactive: true\n---\n"), Mode::Single);
}

#[test]
fn a_broken_text_says_whether_its_run_is_active() {
    for (line, is_active) in [
        ("active: true", true),
        ("active: \"True\" # x", true),
        ("active: 'true'", true),
        ("active: false", false),
        (" active: true", false),
        ("active:", false),
    ] {
        assert_eq!(says_active(line), is_active, "{line}");
    }
}
