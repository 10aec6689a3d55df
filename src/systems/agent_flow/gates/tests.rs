use super::*;
use crate::systems::gate_record::{GateRecord, Move};

const SINGLE: &str =
    include_str!("../../../../tests/fixtures/agent-flow/01-orchestration-init-default.md");
const REVIEW: &str = include_str!(
    "../../../../tests/fixtures/agent-flow/04-orchestration-after-implementation-passed.md"
);
const VERIFY: &str =
    include_str!("../../../../tests/fixtures/agent-flow/06-orchestration-review-passed.md");
const SAMPLE: &str =
    include_str!("../../../../tests/fixtures/agent-flow/40-seed-sample-orchestration.md");
const TEAM: &str =
    include_str!("../../../../tests/fixtures/agent-flow/32-team-after-implementation.md");
const TEAM_SAMPLE: &str =
    include_str!("../../../../tests/fixtures/agent-flow/41-seed-sample-team.md");

fn now() -> DateTime<Utc> {
    "2027-01-02T03:04:05.678Z".parse().unwrap()
}

fn name(agent: &str) -> AgentName {
    AgentName::parse(agent)
}

fn file(text: &str) -> FlowFile {
    FlowFile::read("", text.to_owned())
}

fn after_start(text: &str, agent: &str) -> Outcome {
    on_start(&file(text), &name(agent), now())
}

fn after_end(text: &str, agent: &str, reply: &str) -> Outcome {
    on_completion(&file(text), &name(agent), reply, &Seen::default, now())
}

fn front_matter(text: &str) -> &str {
    text.split("\n---\n").next().unwrap()
}

#[track_caller]
fn changed(outcome: Outcome) -> (String, GateRecord) {
    match outcome {
        Ok(change) => (change.text.clone(), change),
        Err(why) => panic!("unchanged: {why}"),
    }
}

fn moved(changes: &GateRecord) -> Vec<(&str, GateStatus)> {
    let changes = changes.moves.iter();
    changes
        .map(|change| (change.gate.as_str(), change.to))
        .collect()
}

#[track_caller]
fn unchanged(outcome: Outcome, expected: &str) {
    match outcome {
        Ok(change) => panic!("changed to {}", change.text),
        Err(why) => assert!(why.contains(expected), "{why}"),
    }
}

#[test]
fn a_completion_settles_its_gate_and_nothing_else() {
    let reply = "## Exploration \"Results\"\n\nFound 5 files.\n";
    let (text, changes) = changed(after_end(SINGLE, "agent-flow:Riko", reply));
    let expected = SINGLE
        .replace(
            "    status: \"in_progress\"\n    timestamp: \"2026-11-21T08:48:20Z\"\n",
            "    status: \"passed\"\n    timestamp: \"2027-01-02T03:04:05Z\"\n    agent: \"Riko\"\n    message: \"Exploration \\\"Results\\\"\"\n",
        )
        .replace("\n\n---\n\n", "\n\n\n")
        + "\n### Phase: Exploration\n- Agent: Riko\n- Result: Exploration \"Results\"\n- Gate: passed\n- Timestamp: 2027-01-02T03:04:05Z\n";
    assert_eq!(text, expected);
    let change = Move {
        gate: "exploration".to_owned(),
        from: GateStatus::InProgress,
        to: GateStatus::Passed,
    };
    assert_eq!(changes.moves, [change]);
    let evidence = changes.evidence.as_deref();
    let phase = changes.phase.as_deref();
    assert_eq!((phase, changes.iteration), (Some("exploration"), Some(1)));
    assert_eq!(evidence, Some("## Exploration \"Results\""));
}

#[test]
fn a_start_enters_the_next_phase() {
    let passed = SINGLE.replacen("\"in_progress\"", "\"passed\"", 1);
    let (text, changes) = changed(after_start(&passed, "senku"));
    let expected = passed
        .replace("current_phase: \"exploration\"", "current_phase: \"planning\"")
        .replace(
            "  planning:\n    status: \"pending\"\n",
            "  planning:\n    status: \"in_progress\"\n    timestamp: \"2027-01-02T03:04:05Z\"\n    agent: \"Senku\"\n",
        )
        .replace("\n\n---\n\n", "\n\n\n");
    assert_eq!(text, expected);
    assert_eq!(
        (changes.moves.len(), changes.phase.as_deref()),
        (1, Some("planning"))
    );
    unchanged(after_start(&text, "senku"), "already `in_progress`");
    let skipped = SINGLE.replacen("\"in_progress\"", "\"skipped\"", 1);
    changed(after_start(&skipped, "senku"));
}

#[test]
fn events_that_do_not_fit_change_nothing() {
    unchanged(
        after_end(SINGLE, "Loid", "done"),
        "the run is in `exploration`",
    );
    unchanged(after_end(SINGLE, "Riko", " \n"), "empty");
    unchanged(after_end(SINGLE, "Explore", "x"), "has no gate");
    unchanged(
        after_end(
            &SINGLE.replace("active: true", "active: false"),
            "Riko",
            "x",
        ),
        "not active",
    );
    unchanged(
        after_start(SINGLE, "Senku"),
        "gate `exploration` before phase `planning` is `in_progress`",
    );
    unchanged(after_start(SINGLE, "Riko"), "already `in_progress`");
    unchanged(after_start(REVIEW, "Riko"), "already in `review`");
    unchanged(after_start(REVIEW, "Loid"), "already in `review`");
    unchanged(after_start(REVIEW, "Alphonse"), "gate `review`");
    unchanged(
        after_end(REVIEW, "Lawliet", "### Verdict\n[APPROVED | NEEDS_CHANGES]"),
        "no single verdict",
    );
    unchanged(on_stop(&file(SINGLE), now()), "not every gate");
    unchanged(on_stop(&file(VERIFY), now()), "not every gate");
    // The sample contradicts itself: its phase lags behind its gates.
    unchanged(
        after_end(SAMPLE, "Loid", "done"),
        "the run is in `exploration`",
    );
    let (text, changes) = changed(after_start(SAMPLE, "Loid"));
    assert_eq!(text.matches("current_phase: \"implementation\"").count(), 1);
    assert_eq!(changes.moves, []);
}

#[test]
fn a_file_that_the_scripts_would_not_read_is_left_alone() {
    unchanged(
        after_end(&SINGLE.replace('\n', "\r\n"), "Riko", "x"),
        "CRLF",
    );
    unchanged(
        after_end(&format!("\u{feff}{SINGLE}"), "Riko", "x"),
        "byte order mark",
    );
    unchanged(after_end("---\nactive: true\n", "Riko", "x"), "closing");
    unchanged(
        after_end(&SINGLE.replacen("true", "[", 1), "Riko", "x"),
        "not YAML",
    );
    unchanged(
        after_end(&SINGLE.replace("\"exploration\"", "\"zzz\""), "Riko", "x"),
        "not one of",
    );
    let flow = SINGLE.replace(
        "  exploration:\n    status: \"in_progress\"\n    timestamp",
        "  exploration: {status: x}\n  other:\n    timestamp",
    );
    unchanged(after_end(&flow, "Riko", "x"), "`gates.exploration.status`");
}

#[test]
fn a_failure_sends_the_work_back_once() {
    let (failed, _) = changed(after_end(
        REVIEW,
        "Lawliet",
        "Bad.\n### Verdict: NEEDS_CHANGES",
    ));
    assert!(failed.contains("  review:\n    status: \"failed\"\n    timestamp: \"2027-01-02T03:04:05Z\"\n    agent: \"Lawliet\"\n    message: \"Bad.\"\n"));
    let (again, changes) = changed(after_start(&failed, "Loid"));
    assert!(
        again.contains("iteration: 2\n") && again.contains("current_phase: \"implementation\"\n")
    );
    assert!(again.contains("  review:\n    status: \"pending\"\n    timestamp: \"\"\n    agent: \"\"\n    message: \"\"\n"));
    assert_eq!(
        moved(&changes),
        [
            ("review", GateStatus::Pending),
            ("implementation", GateStatus::InProgress)
        ]
    );
    let at = (changes.phase.as_deref(), changes.iteration);
    assert_eq!(at, (Some("implementation"), Some(2)));
    unchanged(after_start(&again, "Loid"), "already `in_progress`");
    let moved = failed
        .replace("\"review\"", "\"implementation\"")
        .replace("iteration: 1\n", "iteration: 5\n");
    assert!(
        changed(after_start(&moved, "Loid"))
            .0
            .contains("\niteration: 5\n")
    );
}

#[test]
fn the_last_iteration_closes_a_failed_run() {
    let last = REVIEW.replace("\niteration: 1\n", "\niteration: 10\n");
    let (text, changes) = changed(after_end(&last, "Lawliet", "### Verdict: NEEDS_CHANGES"));
    assert!(text.starts_with("---\nactive: false\ncurrent_phase: \"complete\"\niteration: 10\n"));
    assert!(text.contains("  review:\n    status: \"failed\"\n"));
    assert!(text.ends_with("### Phase: Complete\n- Agent: Orchestrator\n- Result: Aborted: max iterations reached\n- Gate: failed\n- Timestamp: 2027-01-02T03:04:05Z\n"));
    assert_eq!(changes.moves.len(), 1);
    let (text, _) = changed(after_end(&last, "Lawliet", "### Verdict: APPROVED"));
    assert!(text.starts_with("---\nactive: true\n"));
}

#[test]
fn a_run_with_all_gates_passed_is_closed_at_stop() {
    let reply = "### Overall: ENVIRONMENT_BLOCKED (python 3.9)";
    let (text, _) = changed(after_end(VERIFY, "Alphonse", reply));
    let message = "    message: \"Environment blocked, passed with a caveat: Overall: ENVIRONMENT_BLOCKED (python 3.9)\"\n";
    assert!(text.contains(message), "{text}");
    let (closed, changes) = changed(on_stop(&file(&text), now()));
    assert!(closed.starts_with("---\nactive: false\ncurrent_phase: \"complete\"\n"));
    assert_eq!(changes.moves, []);
    unchanged(on_stop(&file(&closed), now()), "not active");
}

#[test]
fn the_group_is_filled_from_both_members() {
    let (text, changes) = changed(after_start(TEAM, "Alphonse"));
    let at = "2027-01-02T03:04:05Z";
    assert!(text.contains(&format!("  review_verification:\n    status: \"in_progress\"\n    started_at: \"{at}\"\n    completed_at: \"\"\n    review:\n      status: \"pending\"\n")));
    assert!(text.contains(&format!("    verification:\n      status: \"in_progress\"\n      agent: \"Alphonse\"\n      timestamp: \"{at}\"\n      result: \"\"\n")));
    assert_eq!(changes.moves.len(), 2);
    assert!(text.contains(&format!(
        "  review_verification:\n    status: \"in_progress\"\n    timestamp: \"{at}\"\n"
    )));
    // A completion whose start was never seen begins the group as well.
    let (text, _) = changed(after_end(TEAM, "Lawliet", "### Verdict: APPROVED"));
    assert!(
        text.contains("      result: \"APPROVED\"\n")
            && text.contains(&format!("    started_at: \"{at}\"\n"))
    );
    let (text, changes) = changed(after_end(TEAM_SAMPLE, "Alphonse", "Overall: FAILED"));
    assert!(text.contains(&format!("    status: \"failed\"\n    started_at: \"2024-01-15T10:45:00Z\"\n    completed_at: \"{at}\"\n")));
    assert!(text.contains("      result: \"FAILED\"\n") && text.contains("active: true\n"));
    assert_eq!(
        moved(&changes),
        [
            ("verification", GateStatus::Failed),
            ("review_verification", GateStatus::Failed)
        ]
    );
    // One member's failure alone does not end the last iteration.
    let last = TEAM.replace("\niteration: 1\n", "\niteration: 10\n");
    let (text, _) = changed(after_end(&last, "Lawliet", "### Verdict: NEEDS_CHANGES"));
    assert!(text.starts_with("---\nactive: true\n"));
    let (text, _) = changed(after_end(&text, "Alphonse", "### Overall: VERIFIED"));
    assert!(text.starts_with("---\nactive: false\n"));
}

#[test]
fn a_group_whose_start_was_never_seen_is_dated_at_its_end() {
    let reviewed = TEAM.replacen("      status: \"pending\"", "      status: \"passed\"", 1);
    let reply = "### Overall: ENVIRONMENT_BLOCKED (no network)";
    let (text, changes) = changed(after_end(&reviewed, "Alphonse", reply));
    let at = "2027-01-02T03:04:05Z";
    for part in [
        format!("    started_at: \"{at}\"\n    completed_at: \"{at}\"\n"),
        format!("  review_verification:\n    status: \"passed\"\n    timestamp: \"{at}\"\n"),
        format!("      timestamp: \"{at}\"\n      result: \"VERIFIED\"\n"),
    ] {
        assert!(text.contains(&part), "{part} in {text}");
    }
    assert_eq!(changes.moves.len(), 2);
}

#[test]
fn work_that_is_sent_back_empties_the_group() {
    let failed = changed(after_end(TEAM_SAMPLE, "Alphonse", "### Overall: FAILED")).0;
    let again = changed(after_start(&failed, "Loid")).0;
    let group = "    status: \"pending\"\n    started_at: \"\"\n    completed_at: \"\"\n    review:\n      status: \"pending\"\n";
    assert!(again.contains(group), "{again}");
    assert_eq!(again.matches("      result: \"\"\n").count(), 2);
    // A team run may do without the group's block.
    let (before, rest) = TEAM.split_once("parallel_groups:\n").unwrap();
    let gates = &rest[rest.find("gates:\n").unwrap()..];
    let failed = format!("{before}{}", gates.replacen("\"pending\"", "\"failed\"", 1));
    let again = changed(after_start(&failed, "Loid")).0;
    assert!(!again.contains("parallel_groups:"), "{again}");
}

#[test]
fn the_phase_of_a_run_decides_who_may_start_and_end() {
    let in_phase = |text: &str, phase: &str| {
        let (before, rest) = text.split_once("current_phase: \"").unwrap();
        let (_, behind) = rest.split_once('"').unwrap();
        format!("{before}current_phase: \"{phase}\"{behind}")
    };
    for member in ["review", "verification"] {
        changed(after_start(&in_phase(TEAM, member), "Alphonse"));
    }
    let over = in_phase(TEAM, "complete");
    unchanged(after_start(&over, "Alphonse"), "already in `complete`");
    unchanged(after_start(VERIFY, "Lawliet"), "already in `verification`");
    let approved = "### Verdict: APPROVED";
    let started = changed(after_start(TEAM, "Lawliet")).0;
    let early = in_phase(&started, "planning");
    unchanged(after_end(&early, "Lawliet", approved), "is in `planning`");
    let started = changed(after_start(REVIEW, "Lawliet")).0;
    let late = in_phase(&started, "implementation");
    unchanged(after_end(&late, "Lawliet", approved), "`implementation`");
    let sequential = TEAM.replacen("mode: \"team\"", "mode: \"sequential\"", 1);
    let late = in_phase(&sequential, "verification");
    unchanged(after_end(&late, "Lawliet", approved), "`verification`");
    // A gate before Loid's own sends nothing back to him.
    let failed = SINGLE.replacen("\"in_progress\"", "\"passed\"", 1);
    let failed = failed.replacen("\"pending\"", "\"failed\"", 1);
    unchanged(after_start(&failed, "Loid"), "gate `planning`");
    // Nor does a group that a sequential run does not count.
    let mut unused = in_phase(&sequential, "implementation");
    unused = unused.replace(
        "    status: \"pending\"\n    started",
        "    status: \"failed\"\n    started",
    );
    unchanged(after_start(&unused, "Loid"), "already `passed`");
}

#[test]
fn a_member_that_starts_again_leaves_no_word_of_its_last_end() {
    let reply = "### Overall: FAILED";
    let (text, _) = changed(after_end(TEAM_SAMPLE, "Alphonse", reply));
    let (text, _) = changed(after_start(&text, "Alphonse"));
    let said = ["FAILED", "completed_at: \"2027", "message: \"O"];
    let front = front_matter(&text);
    assert!(said.iter().all(|word| !front.contains(word)), "{front}");
    assert!(front.contains("started_at: \"2024-01-15T10:45:00Z\"\n    completed_at: \"\"\n"));
}

#[test]
fn a_completion_after_loid_took_over_is_late() {
    let started = changed(after_start(TEAM, "Lawliet")).0;
    let started = changed(after_start(&started, "Alphonse")).0;
    let failed = changed(after_end(&started, "Lawliet", "### Verdict: NEEDS_CHANGES")).0;
    let again = changed(after_start(&failed, "Loid")).0;
    unchanged(
        after_end(&again, "Alphonse", "### Overall: VERIFIED"),
        "the run is in `implementation`",
    );
}

#[test]
fn an_event_belongs_to_the_file_whose_phase_fits() {
    use Agent::{Alphonse, Lawliet, Loid, Riko, Senku};
    let state = |text: &str| FlowState::read(text).unwrap();
    let starts = |text: &str, agent| may_start(&state(text), agent).is_ok();
    let ends = |text: &str, agent| phase_fit(&state(text), agent).is_ok();
    assert!(ends(SINGLE, Riko) && starts(SINGLE, Riko));
    assert!(!starts(SINGLE, Senku) && !ends(SINGLE, Loid));
    assert!(starts(REVIEW, Lawliet) && !starts(SINGLE, Lawliet));
    assert!(starts(TEAM, Alphonse) && !starts(REVIEW, Alphonse));
}

#[test]
fn a_script_in_between_is_respected() {
    let start = |text: &str, agent| after_start(text, agent);
    let end = |text: &str, agent, reply| after_end(text, agent, reply);
    // Moved to the last iteration, not beyond it.
    let moved = REVIEW
        .replacen("\"review\"", "\"implementation\"", 1)
        .replacen("\niteration: 1\n", "\niteration: 10\n", 1)
        .replacen(
            "  review:\n    status: \"pending\"",
            "  review:\n    status: \"failed\"",
            1,
        );
    let again = changed(start(&moved, "Loid")).0;
    assert!(
        again.starts_with("---\nactive: true\ncurrent_phase: \"implementation\"\niteration: 10\n")
    );
    // A gate that has passed is not opened by a second reviewer.
    let passed = REVIEW.replacen(
        "  review:\n    status: \"pending\"",
        "  review:\n    status: \"passed\"",
        1,
    );
    unchanged(start(&passed, "Lawliet"), "already `passed`");
    // Two signs of work at once: the failed review counts.
    let both = moved.replacen(
        "  implementation:\n    status: \"passed\"",
        "  implementation:\n    status: \"in_progress\"",
        1,
    );
    assert!(
        changed(start(&both, "Loid"))
            .0
            .contains("  review:\n    status: \"pending\"\n")
    );
    // The original names the group's phase in sequential mode, too.
    let sequential = TEAM.replace("\"team\"", "\"sequential\"");
    let reviewed = changed(end(&sequential, "Lawliet", "### Verdict: APPROVED")).0;
    assert!(reviewed.contains("  review:\n    status: \"passed\"\n    timestamp"));
    assert!(
        reviewed
            .contains("  review_verification:\n    status: \"pending\"\n    started_at: \"\"\n")
    );
    unchanged(
        end(&sequential, "Alphonse", "### Overall: VERIFIED"),
        "works in phase `verification`",
    );
}

#[test]
fn a_member_whose_group_was_closed_by_a_script_only_fills_its_own_part() {
    let start = |text: &str, agent| changed(after_start(text, agent)).0;
    let running = start(&start(TEAM, "Lawliet"), "Alphonse").replacen(
        "\niteration: 1\n",
        "\niteration: 10\n",
        1,
    );
    let moved = running
        .replacen(
            "current_phase: \"review_verification\"",
            "current_phase: \"implementation\"",
            1,
        )
        .replace(
            "  review_verification:\n    status: \"in_progress\"",
            "  review_verification:\n    status: \"failed\"",
        );
    let end = |text: &str, agent, reply| changed(after_end(text, agent, reply)).0;
    let first = end(&moved, "Lawliet", "### Verdict: NEEDS_CHANGES");
    assert_eq!(
        first
            .matches("  review_verification:\n    status: \"failed\"")
            .count(),
        2
    );
    let both = end(&first, "Alphonse", "### Overall: VERIFIED");
    assert!(both.starts_with("---\nactive: true\ncurrent_phase: \"implementation\"\n"));
}

#[test]
fn the_status_is_written_first() {
    let swapped = SINGLE.replacen(
        "    status: \"in_progress\"\n    timestamp: \"2026-11-21T08:48:20Z\"\n",
        "    # note\n    timestamp: \"2026-11-21T08:48:20Z\"\n    status: 'in_progress' # now\n    owner: me\n",
        1,
    );
    let text = changed(after_end(&swapped, "Riko", "x")).0;
    let expected = "  exploration:\n    status: \"passed\"\n    # now\n    # note\n    timestamp: \"2027-01-02T03:04:05Z\"\n    owner: me\n    agent: \"Riko\"\n    message: \"x\"\n  planning:\n";
    assert!(text.contains(expected), "{text}");
    let missing = REVIEW.replacen("  review:\n    status: \"pending\"\n", "", 1);
    let text = changed(after_start(&missing, "Lawliet")).0;
    let expected = "  review:\n    status: \"in_progress\"\n    timestamp: \"2027-01-02T03:04:05Z\"\n    agent: \"Lawliet\"\n";
    assert!(text.contains(expected), "{text}");
}

proptest::proptest! {
    /// Whatever became of a file: an event leaves it alone, or writes one that
    /// is whole and in which the shell readers find two fences.
    #[test]
    fn no_file_is_broken(
        file in 0..5_usize,
        cuts in proptest::collection::vec((0..90_usize, 0..6_usize), 0..4),
        events in proptest::collection::vec((0..5_usize, proptest::bool::ANY), 1..6),
    ) {
        let mut lines: Vec<_> = [SINGLE, REVIEW, SAMPLE, TEAM, TEAM_SAMPLE][file].lines().collect();
        for (at, kind) in cuts {
            let at = at.min(lines.len() - 1);
            match kind {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, "# note"),
                2 => lines.insert(at, "---"),
                3 => lines[at] = "    status: 'failed' # by hand",
                4 => lines[at] = "iteration: 18446744073709551615",
                _ => lines.insert(at, "\"odd key\": [a, {b: c}]"),
            }
        }
        let mut text = lines.join("\n");
        for (agent, is_start) in events {
            let agent = Agent::ALL[agent].as_str();
            let outcome = if is_start {
                after_start(&text, agent)
            } else {
                after_end(&text, agent, "### Verdict: NEEDS_CHANGES\n### Overall: VERIFIED")
            };
            if let Ok(GateRecord { text: new, .. }) = outcome {
                proptest::prop_assert!(FlowState::read(&new).is_ok());
                proptest::prop_assert_eq!(new.lines().filter(|line| *line == "---").count(), 2);
                text = new;
            }
        }
    }
}
