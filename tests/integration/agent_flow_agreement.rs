//! Agent Flow's orchestrator may call its own update script before the hook,
//! after it, or never: the gates and the phase have to end the same.

use std::collections::BTreeMap;

use statewarden::actor::AgentName;
use statewarden::systems::agent_flow::gates::{on_completion, on_start, on_stop};
use statewarden::systems::agent_flow::state::FlowState;
use statewarden::workflow::Outcome;

use crate::agent_flow_stand_in::{Call, flow_update, now, update_script};

const SINGLE: &str = include_str!("../fixtures/agent-flow/01-orchestration-init-default.md");
const TEAM: &str = include_str!("../fixtures/agent-flow/30-team-init-team-mode.md");

const APPROVED: &str = "## Review\n\n### Verdict\nAPPROVED\n";
const NEEDS_CHANGES: &str = "## Review\n\n### Verdict: NEEDS_CHANGES\n";
const VERIFIED: &str = "### Overall: VERIFIED\n";
const FAILED: &str = "### Overall: FAILED\n";
const REPORT: &str = "## Results\nAll is well.\n";

/// Each way to update: the original's and ours.
type Script = fn(&str, Call) -> String;

const SCRIPTS: [Script; 2] = [update_script, flow_update];

#[derive(Clone, Copy)]
enum Event {
    Start(&'static str),
    Done(&'static str, &'static str),
    Script(Call),
    Stop,
}

fn apply(text: &str, event: Event, script: Script) -> String {
    let outcome = match event {
        Event::Start(agent) => on_start(text, &AgentName::parse(agent), now()),
        Event::Done(agent, reply) => on_completion(text, &AgentName::parse(agent), reply, now()),
        Event::Stop => on_stop(text, now()),
        Event::Script(call) => return script(text, call),
    };
    match outcome {
        Outcome::Changed { text, .. } => text,
        Outcome::Unchanged { .. } => text.to_owned(),
    }
}

/// What has to agree: phase, iteration, activity, gates, and the group.
fn summary(text: &str) -> String {
    let state = FlowState::read(text).unwrap();
    let gates = state
        .gates
        .iter()
        .map(|gate| format!("{}={}", gate.name, gate.status.as_str()));
    let group = state.group.map_or(String::new(), |group| {
        let statuses = [group.status, group.review, group.verification];
        format!(
            " group={}",
            statuses.map(|status| status.as_str()).join("/")
        )
    });
    let phase = state.phase.map_or("?", |phase| phase.as_str());
    let gates = gates.collect::<Vec<_>>().join(" ");
    format!(
        "{phase} {} {} {gates}{group}",
        state.iteration.unwrap(),
        state.active
    )
}

/// All the texts that a run can have come to, by their front matter.
struct Runs {
    texts: BTreeMap<String, Vec<&'static str>>,
    script: Script,
}

impl Runs {
    fn begin(text: &str, script: Script) -> Self {
        Self {
            texts: BTreeMap::from([(essence(text), Vec::new())]),
            script,
        }
    }

    /// Lets every run go on in each of the given ways.
    fn branch(&mut self, ways: &[(&'static str, Vec<Event>)]) {
        let mut next = BTreeMap::new();
        for (text, history) in &self.texts {
            for (name, events) in ways {
                let text = events.iter().fold(text.clone(), |text, event| {
                    apply(&text, *event, self.script)
                });
                let history = history.iter().copied().chain([*name]).collect();
                next.insert(essence(&text), history);
            }
        }
        self.texts = next;
    }

    /// An agent's end, with the orchestrator's calls before it, after it, or forgotten.
    fn done(&mut self, agent: &'static str, reply: &'static str, calls: &[Call]) {
        let hook = || [Event::Done(agent, reply)].into_iter();
        let script = || calls.iter().map(|call| Event::Script(*call));
        self.branch(&[
            ("script first", script().chain(hook()).collect()),
            ("hook first", hook().chain(script()).collect()),
            ("no script", hook().collect()),
        ]);
    }

    fn start(&mut self, agent: &'static str, expected: &str) {
        self.branch(&[("start", vec![Event::Start(agent)])]);
        self.agree_on(expected);
    }

    #[track_caller]
    fn agree_on(&self, expected: &str) {
        for (text, history) in &self.texts {
            assert_eq!(summary(text), expected, "after {history:?}");
        }
    }
}

fn without_body(text: &str) -> String {
    let end = text[4..].find("\n---\n").unwrap() + 9;
    text[..end].to_owned()
}

/// The text without what no rule looks at, so that like runs fall together.
fn essence(text: &str) -> String {
    let front = without_body(text);
    let is_note = |line: &&str| {
        ![
            "    message:",
            "    agent:",
            "    timestamp:",
            "      result:",
        ]
        .iter()
        .any(|key| line.starts_with(key))
    };
    front
        .lines()
        .filter(is_note)
        .map(|line| format!("{line}\n"))
        .collect()
}

fn until_implemented(text: &str, script: Script, after: &'static str, rest: &str) -> Runs {
    let mut runs = Runs::begin(text, script);
    runs.branch(&[("start", vec![Event::Start("agent-flow:Riko")])]);
    runs.done(
        "agent-flow:Riko",
        REPORT,
        &[Call::gate("passed").to("planning")],
    );
    runs.start(
        "agent-flow:Senku",
        &format!(
            "planning 1 true exploration=passed planning=in_progress implementation=pending {rest}"
        ),
    );
    runs.done(
        "senku",
        REPORT,
        &[Call::gate("passed").to("implementation")],
    );
    runs.start("Loid", &format!(
        "implementation 1 true exploration=passed planning=passed implementation=in_progress {rest}"
    ));
    runs.done("Loid", REPORT, &[Call::gate("passed").to(after)]);
    runs
}

const BUILT: &str = "exploration=passed planning=passed implementation=passed";

#[test]
fn a_single_run_with_two_loops_ends_the_same() {
    SCRIPTS.into_iter().for_each(a_single_run_with_two_loops);
}

fn a_single_run_with_two_loops(script: Script) {
    let mut runs = until_implemented(
        SINGLE,
        script,
        "review",
        "review=pending verification=pending",
    );
    runs.start(
        "Lawliet",
        &format!("review 1 true {BUILT} review=in_progress verification=pending"),
    );
    let back = Call::gate("failed").to("implementation");
    runs.done("Lawliet", NEEDS_CHANGES, &[back.iteration(2)]);
    let again = "exploration=passed planning=passed implementation=in_progress review=pending verification=pending";
    runs.start("Loid", &format!("implementation 2 true {again}"));
    runs.done("Loid", REPORT, &[Call::gate("passed").to("review")]);
    runs.start(
        "Lawliet",
        &format!("review 2 true {BUILT} review=in_progress verification=pending"),
    );
    runs.done(
        "Lawliet",
        APPROVED,
        &[Call::gate("passed").to("verification")],
    );
    let verifying = format!("true {BUILT} review=passed verification=in_progress");
    runs.start("Alphonse", &format!("verification 2 {verifying}"));
    runs.done("Alphonse", FAILED, &[back.iteration(3)]);
    runs.start("Loid", &format!("implementation 3 true {again}"));
    runs.done("Loid", REPORT, &[Call::gate("passed").to("review")]);
    runs.start(
        "Lawliet",
        &format!("review 3 true {BUILT} review=in_progress verification=pending"),
    );
    runs.done(
        "Lawliet",
        APPROVED,
        &[Call::gate("passed").to("verification")],
    );
    runs.start("Alphonse", &format!("verification 3 {verifying}"));
    runs.done(
        "Alphonse",
        VERIFIED,
        &[Call::gate("passed").to("verification"), Call::COMPLETE],
    );
    runs.branch(&[("stop", vec![Event::Stop])]);
    runs.agree_on(&format!(
        "complete 3 false {BUILT} review=passed verification=passed"
    ));
}

#[test]
fn a_run_at_its_last_iteration_ends_the_same() {
    SCRIPTS.into_iter().for_each(a_run_at_its_last_iteration);
}

fn a_run_at_its_last_iteration(script: Script) {
    let text = SINGLE.replace("max_iterations: 10", "max_iterations: 1");
    let closed = format!("complete 1 false {BUILT} review=failed verification=pending");
    let mut runs = until_implemented(
        &text,
        script,
        "review",
        "review=pending verification=pending",
    );
    runs.start(
        "Lawliet",
        &format!("review 1 true {BUILT} review=in_progress verification=pending"),
    );
    runs.done(
        "Lawliet",
        NEEDS_CHANGES,
        &[Call::gate("failed"), Call::COMPLETE],
    );
    runs.agree_on(&closed);
    runs.branch(&[
        ("stop", vec![Event::Stop]),
        ("start", vec![Event::Start("Loid")]),
    ]);
    runs.agree_on(&closed);
}

#[test]
fn a_script_that_goes_beyond_the_last_iteration_is_stopped_at_the_next_start() {
    let text = SINGLE.replace("max_iterations: 10", "max_iterations: 1");
    let mut runs = until_implemented(
        &text,
        update_script,
        "review",
        "review=pending verification=pending",
    );
    runs.branch(&[("start", vec![Event::Start("Lawliet")])]);
    let beyond = Call::gate("failed").to("implementation").iteration(2);
    runs.branch(&[(
        "beyond",
        vec![Event::Script(beyond), Event::Done("Lawliet", NEEDS_CHANGES)],
    )]);
    runs.start(
        "Loid",
        &format!("complete 2 false {BUILT} review=failed verification=pending"),
    );
}

#[test]
fn a_sequential_team_run_ends_the_same() {
    SCRIPTS.into_iter().for_each(a_sequential_team_run);
}

fn a_sequential_team_run(script: Script) {
    let text = TEAM
        .replace("mode: \"team\"", "mode: \"sequential\"")
        .replace("team_available: true", "team_available: false");
    let group = "group=pending/pending/pending";
    let rest = format!("review_verification=pending review=pending verification=pending {group}");
    // The original team command names the group's phase in this mode too.
    let mut runs = until_implemented(&text, script, "review_verification", &rest);
    let reviewing = format!(
        "{BUILT} review_verification=pending review=in_progress verification=pending {group}"
    );
    runs.start("Lawliet", &format!("review 1 true {reviewing}"));
    runs.done(
        "Lawliet",
        NEEDS_CHANGES,
        &[Call::gate("failed").to("implementation").iteration(2)],
    );
    runs.start("Loid", &format!(
        "implementation 2 true exploration=passed planning=passed implementation=in_progress {rest}"
    ));
    runs.done(
        "Loid",
        REPORT,
        &[Call::gate("passed").to("review_verification")],
    );
    runs.start("Lawliet", &format!("review 2 true {reviewing}"));
    runs.done(
        "Lawliet",
        APPROVED,
        &[Call::gate("passed").to("verification")],
    );
    let passed = format!("{BUILT} review_verification=pending review=passed");
    runs.start(
        "Alphonse",
        &format!("verification 2 true {passed} verification=in_progress {group}"),
    );
    runs.done(
        "Alphonse",
        VERIFIED,
        &[Call::gate("passed").to("verification"), Call::COMPLETE],
    );
    runs.branch(&[("stop", vec![Event::Stop])]);
    runs.agree_on(&format!(
        "complete 2 false {passed} verification=passed {group}"
    ));
}

/// Every order of both completions with any part of the orchestrator's three
/// calls: one for each member, and the merge after those.
fn group_orders(
    review: &'static str,
    verification: &'static str,
    calls: [Call; 3],
) -> Vec<Vec<Event>> {
    let hooks = [
        Event::Done("Lawliet", review),
        Event::Done("Alphonse", verification),
    ];
    let mut orders = Vec::new();
    for chosen in 0..8_u8 {
        let chosen = |index: usize| chosen & (1 << index) != 0;
        let calls = calls.iter().enumerate().filter(|(index, _)| chosen(*index));
        let script: Vec<_> = calls.map(|(_, call)| Event::Script(*call)).collect();
        for first in 0..=script.len() {
            for second in first..=script.len() {
                for (early, late) in [(0, 1), (1, 0)] {
                    let mut order = script.clone();
                    order.insert(second, hooks[late]);
                    order.insert(first, hooks[early]);
                    orders.push(order);
                }
            }
        }
    }
    orders
}

#[test]
fn a_team_run_ends_the_same() {
    SCRIPTS.into_iter().for_each(a_team_run);
}

fn a_team_run(script: Script) {
    const PENDING: &str = "review_verification=pending review=pending verification=pending group=pending/pending/pending";
    const RUNNING: &str = "review_verification=in_progress review=in_progress verification=in_progress group=in_progress/in_progress/in_progress";
    let mut runs = until_implemented(TEAM, script, "review_verification", PENDING);
    let member = |gate, name| Call::gate(gate).teammate(name);
    for (round, review, verification) in [
        (1, "failed", "passed"),
        (2, "passed", "failed"),
        (3, "passed", "passed"),
    ] {
        runs.branch(&[
            (
                "L A",
                vec![Event::Start("Lawliet"), Event::Start("Alphonse")],
            ),
            (
                "A L",
                vec![Event::Start("Alphonse"), Event::Start("Lawliet")],
            ),
        ]);
        runs.agree_on(&format!(
            "review_verification {round} true {BUILT} {RUNNING}"
        ));
        let merge = if round < 3 {
            Call::gate("failed")
                .to("implementation")
                .iteration(round + 1)
        } else {
            Call::gate("passed").to("complete")
        };
        let calls = [
            member(review, "review"),
            member(verification, "verification"),
            merge,
        ];
        let replies = (
            if review == "passed" {
                APPROVED
            } else {
                NEEDS_CHANGES
            },
            if verification == "passed" {
                VERIFIED
            } else {
                FAILED
            },
        );
        let orders = group_orders(replies.0, replies.1, calls);
        assert_eq!(orders.len(), 76);
        runs.branch(
            &orders
                .into_iter()
                .map(|order| ("an order", order))
                .collect::<Vec<_>>(),
        );
        if round < 3 {
            runs.start("Loid", &format!(
                "implementation {} true exploration=passed planning=passed implementation=in_progress {PENDING}",
                round + 1
            ));
            runs.done(
                "Loid",
                REPORT,
                &[Call::gate("passed").to("review_verification")],
            );
        }
    }
    runs.branch(&[
        ("complete", vec![Event::Script(Call::COMPLETE), Event::Stop]),
        ("stop", vec![Event::Stop]),
        ("both", vec![Event::Stop, Event::Script(Call::COMPLETE)]),
    ]);
    runs.agree_on(&format!(
        "complete 3 false {BUILT} review_verification=passed review=passed verification=passed group=passed/passed/passed"
    ));
}
