//! Agent Flow's orchestrator may call its own update script before the hook,
//! after it, or never: the gates and the phase have to end the same.

use std::collections::BTreeMap;

use statewarden::base::actor::AgentName;
use statewarden::systems::agent_flow::gates::{Seen, on_completion, on_start, on_stop};
use statewarden::systems::agent_flow::state::{Agent, FlowFile, FlowState};

use crate::agent_flow_stand_in::{Call, flow_update, now, update_script};

const SINGLE: &str = include_str!("../fixtures/agent-flow/01-orchestration-init-default.md");
const TEAM: &str = include_str!("../fixtures/agent-flow/30-team-init-team-mode.md");

const APPROVED: &str = "## Review\n\n### Verdict\nAPPROVED\n";
const REJECTED: &str = "## Review\n\n### Verdict: NEEDS_CHANGES\n";
const VERIFIED: &str = "### Overall: VERIFIED\n";
const FAILED: &str = "### Overall: FAILED\n";
const REPORT: &str = "## Results\nAll is well.\n";

/// Who updates: the original's script or our command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Script {
    Original,
    Ours,
}

const BOTH: &[Script] = &[Script::Original, Script::Ours];

#[derive(Clone, Copy)]
enum Event {
    Start(&'static str),
    Done(&'static str, &'static str),
    Script(Call),
    Stop,
}

fn apply(text: &str, event: Event, script: Script) -> String {
    let file = FlowFile::read("", text.to_owned());
    let outcome = match event {
        Event::Start(agent) => on_start(&file, &AgentName::parse(agent), now()),
        Event::Done(agent, reply) => {
            let agent = AgentName::parse(agent);
            on_completion(&file, &agent, reply, &Seen::default, now())
        }
        Event::Stop => on_stop(&file, now()),
        Event::Script(call) => {
            return match script {
                Script::Original => update_script(text, call),
                Script::Ours => flow_update(text, call),
            };
        }
    };
    match outcome {
        Ok(change) => change.text,
        Err(_) => text.to_owned(),
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

/// All the texts that a run can have come to with each script, by their front matter,
/// and how they came to it.
struct Runs(BTreeMap<(Script, String), Vec<&'static str>>);

impl Runs {
    fn begin(text: &str, scripts: &[Script]) -> Self {
        let run = |script: &Script| ((*script, essence(text)), Vec::new());
        Self(scripts.iter().map(run).collect())
    }

    /// Lets every run go on in each of the given ways.
    fn branch(&mut self, ways: &[(&'static str, Vec<Event>)]) {
        let mut next = BTreeMap::new();
        for ((script, text), history) in &self.0 {
            for (name, events) in ways {
                let events = events.iter();
                let text = events.fold(text.clone(), |text, event| apply(&text, *event, *script));
                let history = history.iter().copied().chain([*name]).collect();
                next.insert((*script, essence(&text)), history);
            }
        }
        self.0 = next;
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

    #[track_caller]
    fn start(&mut self, agent: &'static str, expected: &str) {
        self.branch(&[("start", vec![Event::Start(agent)])]);
        self.agree_on(expected);
    }

    /// An agent's whole work: its start, after which the gates of every run are as
    /// expected, and its end.
    #[track_caller]
    fn work(
        &mut self,
        agent: &'static str,
        round: u64,
        gates: &str,
        reply: &'static str,
        calls: &[Call],
    ) {
        let phase = Agent::of(&AgentName::parse(agent)).unwrap().gate();
        self.start(agent, &format!("{phase} {round} true {gates}"));
        self.done(agent, reply, calls);
    }

    #[track_caller]
    fn agree_on(&self, expected: &str) {
        for ((script, text), history) in &self.0 {
            assert_eq!(summary(text), expected, "{script:?}, after {history:?}");
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

const PASSED: Call = Call::gate("passed");
const SENT_BACK: Call = Call::gate("failed");

/// The gates when Loid is at work, and when it is done.
const BUILDING: &str = "exploration=passed planning=passed implementation=in_progress";
const BUILT: &str = "exploration=passed planning=passed implementation=passed";

/// The gates of a single run until and while Lawliet is at work.
const TO_REVIEW: &str = "review=pending verification=pending";
const IN_REVIEW: &str = "review=in_progress verification=pending";

fn until_implemented(text: &str, scripts: &[Script], after: &'static str, rest: &str) -> Runs {
    let planning = format!("exploration=passed planning=in_progress implementation=pending {rest}");
    let building = format!("{BUILDING} {rest}");
    let mut runs = Runs::begin(text, scripts);
    runs.branch(&[("start", vec![Event::Start("agent-flow:Riko")])]);
    runs.done("agent-flow:Riko", REPORT, &[PASSED.to("planning")]);
    let calls = [PASSED.to("implementation")];
    runs.start("agent-flow:Senku", &format!("planning 1 true {planning}"));
    runs.done("senku", REPORT, &calls);
    runs.work("Loid", 1, &building, REPORT, &[PASSED.to(after)]);
    runs
}

#[test]
fn a_single_run_with_two_loops_ends_the_same() {
    let mut runs = until_implemented(SINGLE, BOTH, "review", TO_REVIEW);
    let building = format!("{BUILDING} {TO_REVIEW}");
    let reviewing = format!("{BUILT} {IN_REVIEW}");
    let verifying = format!("{BUILT} review=passed verification=in_progress");
    let back = SENT_BACK.to("implementation");
    let (review, verify) = (PASSED.to("review"), PASSED.to("verification"));
    runs.work("Lawliet", 1, &reviewing, REJECTED, &[back.iteration(2)]);
    runs.work("Loid", 2, &building, REPORT, &[review]);
    runs.work("Lawliet", 2, &reviewing, APPROVED, &[verify]);
    runs.work("Alphonse", 2, &verifying, FAILED, &[back.iteration(3)]);
    runs.work("Loid", 3, &building, REPORT, &[review]);
    runs.work("Lawliet", 3, &reviewing, APPROVED, &[verify]);
    let calls = [verify, Call::COMPLETE];
    runs.work("Alphonse", 3, &verifying, VERIFIED, &calls);
    runs.branch(&[("stop", vec![Event::Stop])]);
    runs.agree_on(&format!(
        "complete 3 false {BUILT} review=passed verification=passed"
    ));
}

#[test]
fn a_run_at_its_last_iteration_ends_the_same() {
    let text = SINGLE.replace("max_iterations: 10", "max_iterations: 1");
    let mut runs = until_implemented(&text, BOTH, "review", TO_REVIEW);
    let reviewing = format!("{BUILT} {IN_REVIEW}");
    let calls = [SENT_BACK, Call::COMPLETE];
    runs.work("Lawliet", 1, &reviewing, REJECTED, &calls);
    let closed = format!("complete 1 false {BUILT} review=failed verification=pending");
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
    let mut runs = until_implemented(&text, &[Script::Original], "review", TO_REVIEW);
    runs.branch(&[("start", vec![Event::Start("Lawliet")])]);
    let beyond = SENT_BACK.to("implementation").iteration(2);
    let events = vec![Event::Script(beyond), Event::Done("Lawliet", REJECTED)];
    runs.branch(&[("beyond", events)]);
    let closed = format!("complete 2 false {BUILT} review=failed verification=pending");
    runs.start("Loid", &closed);
}

#[test]
fn a_sequential_team_run_ends_the_same() {
    let text = TEAM
        .replace("mode: \"team\"", "mode: \"sequential\"")
        .replace("team_available: true", "team_available: false");
    let group = "group=pending/pending/pending";
    let rest = format!("review_verification=pending {TO_REVIEW} {group}");
    // The original team command names the group's phase in this mode too.
    let mut runs = until_implemented(&text, BOTH, "review_verification", &rest);
    let building = format!("{BUILDING} {rest}");
    let reviewing = format!("{BUILT} review_verification=pending {IN_REVIEW} {group}");
    let passed = format!("{BUILT} review_verification=pending review=passed");
    let verifying = format!("{passed} verification=in_progress {group}");
    let back = SENT_BACK.to("implementation").iteration(2);
    let review = PASSED.to("review_verification");
    let verify = PASSED.to("verification");
    runs.work("Lawliet", 1, &reviewing, REJECTED, &[back]);
    runs.work("Loid", 2, &building, REPORT, &[review]);
    runs.work("Lawliet", 2, &reviewing, APPROVED, &[verify]);
    let calls = [verify, Call::COMPLETE];
    runs.work("Alphonse", 2, &verifying, VERIFIED, &calls);
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
    let pending = format!("review_verification=pending {TO_REVIEW} group=pending/pending/pending");
    let running = "review_verification=in_progress review=in_progress verification=in_progress \
                   group=in_progress/in_progress/in_progress";
    let mut runs = until_implemented(TEAM, BOTH, "review_verification", &pending);
    let building = format!("{BUILDING} {pending}");
    let back = SENT_BACK.to("implementation");
    for (round, review, verification, merge) in [
        (1, "failed", "passed", back.iteration(2)),
        (2, "passed", "failed", back.iteration(3)),
        (3, "passed", "passed", PASSED.to("complete")),
    ] {
        if round > 1 {
            let calls = [PASSED.to("review_verification")];
            runs.work("Loid", round, &building, REPORT, &calls);
        }
        let (lawliet, alphonse) = (Event::Start("Lawliet"), Event::Start("Alphonse"));
        runs.branch(&[
            ("L A", vec![lawliet, alphonse]),
            ("A L", vec![alphonse, lawliet]),
        ]);
        runs.agree_on(&format!(
            "review_verification {round} true {BUILT} {running}"
        ));
        let calls = [
            Call::gate(review).teammate("review"),
            Call::gate(verification).teammate("verification"),
            merge,
        ];
        let reply = |gate, good, bad| if gate == "passed" { good } else { bad };
        let review = reply(review, APPROVED, REJECTED);
        let verification = reply(verification, VERIFIED, FAILED);
        let orders = group_orders(review, verification, calls).into_iter();
        let orders: Vec<_> = orders.map(|order| ("an order", order)).collect();
        assert_eq!(orders.len(), 76);
        runs.branch(&orders);
    }
    runs.branch(&[
        ("complete", vec![Event::Script(Call::COMPLETE), Event::Stop]),
        ("stop", vec![Event::Stop]),
        ("both", vec![Event::Stop, Event::Script(Call::COMPLETE)]),
    ]);
    runs.agree_on(&format!(
        "complete 3 false {BUILT} review_verification=passed review=passed verification=passed \
         group=passed/passed/passed"
    ));
}
