//! A stand-in for Agent Flow's update scripts, and `flow update` beside it.

use chrono::{DateTime, Utc};
use statewarden::systems::agent_flow::script::{GroupPart, Update, update};
use statewarden::systems::agent_flow::state::Phase;
use statewarden::systems::workflow::GateStatus;

pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default()
}

/// One call of the original update script.
#[derive(Clone, Copy, Default)]
pub(crate) struct Call {
    phase: Option<&'static str>,
    gate: Option<&'static str>,
    iteration: Option<u64>,
    teammate: Option<&'static str>,
    complete: bool,
}

impl Call {
    pub(crate) const fn gate(gate: &'static str) -> Self {
        Self {
            gate: Some(gate),
            phase: None,
            iteration: None,
            teammate: None,
            complete: false,
        }
    }

    pub(crate) const fn to(self, phase: &'static str) -> Self {
        Self {
            phase: Some(phase),
            ..self
        }
    }

    pub(crate) const fn iteration(self, iteration: u64) -> Self {
        Self {
            iteration: Some(iteration),
            ..self
        }
    }

    pub(crate) const fn teammate(self, teammate: &'static str) -> Self {
        Self {
            teammate: Some(teammate),
            ..self
        }
    }

    pub(crate) const COMPLETE: Self = Self {
        complete: true,
        ..Self::gate("")
    };
}

/// Stands in for both original scripts: they know lines, not YAML. A gate
/// result goes to the `status:` line below the *old* phase's key, and in the
/// team file that key is found in the group block as well.
pub(crate) fn update_script(text: &str, call: Call) -> String {
    let (front, body) = text[4..].split_once("---\n").unwrap();
    let value_of = |key: &str| {
        let line = front.lines().find(|line| line.starts_with(key)).unwrap();
        line[key.len()..].trim().replace('"', "")
    };
    let old_phase = value_of("current_phase:");
    let new_phase = if call.complete {
        "complete"
    } else {
        call.phase.unwrap_or(&old_phase)
    };
    let gate = call.gate.filter(|gate| !gate.is_empty());
    let (mut member, mut below_gate) = (false, false);
    let lines = front.lines().map(|line| {
        let was_below = std::mem::replace(&mut below_gate, line == format!("  {old_phase}:"));
        if line.starts_with("    ") && !line.starts_with("     ") {
            member = call
                .teammate
                .is_some_and(|name| line == format!("    {name}:"));
        }
        match (line.trim_start().split(':').next().unwrap(), gate) {
            ("current_phase", _) => format!("current_phase: \"{new_phase}\""),
            ("iteration", _) => call
                .iteration
                .map_or(line.to_owned(), |n| format!("iteration: {n}")),
            ("active", _) if call.complete => "active: false".to_owned(),
            ("status", Some(gate)) if was_below && call.teammate.is_none() => {
                format!("    status: \"{gate}\"")
            }
            ("status", Some(gate)) if member && line.starts_with("      ") => {
                format!("      status: \"{gate}\"")
            }
            ("result", _) if member && line.starts_with("      ") => {
                "      result: \"free text\"".to_owned()
            }
            _ => line.to_owned(),
        }
    });
    format!("---\n{}\n---\n{body}", lines.collect::<Vec<_>>().join("\n"))
}

/// `flow update` with the same arguments, for who calls it in the script's place.
pub(crate) fn flow_update(text: &str, call: Call) -> String {
    let arguments = Update {
        phase: call.phase.and_then(Phase::parse),
        gate_result: call
            .gate
            .filter(|gate| !gate.is_empty())
            .map(|gate| GateStatus::parse(gate).unwrap()),
        iteration: call.iteration,
        group: call
            .teammate
            .and_then(|name| Some(GroupPart::Member(Phase::parse(name)?))),
        complete: call.complete,
        ..Update::default()
    };
    match update(text, &arguments, now()) {
        Ok(Ok(change)) => change.text,
        Ok(Err(_)) => text.to_owned(),
        Err(why) if why.contains("closed") => text.to_owned(),
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn it_does_what_the_original_does() {
    let front = |text: &str| {
        text[4..]
            .split_once("---\n")
            .unwrap()
            .0
            .trim_end()
            .to_owned()
    };
    let after = |text: &str, phases: &[&'static str]| {
        phases.iter().fold(text.to_owned(), |text, phase| {
            update_script(&text, Call::gate("passed").to(phase))
        })
    };
    let single = include_str!("../fixtures/agent-flow/01-orchestration-init-default.md");
    let planned = include_str!("../fixtures/agent-flow/03-orchestration-after-planning-passed.md");
    assert_eq!(
        front(&after(single, &["planning", "implementation"])),
        front(planned)
    );
    let team = include_str!("../fixtures/agent-flow/30-team-init-team-mode.md");
    let built = include_str!("../fixtures/agent-flow/32-team-after-implementation.md");
    assert_eq!(
        front(&after(
            team,
            &["planning", "implementation", "review_verification"]
        )),
        front(built)
    );
}
