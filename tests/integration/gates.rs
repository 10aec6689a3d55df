//! What agents' starts and ends do to the states on the disk, end to end.

mod agents;
mod artifact;
#[cfg(unix)]
mod concurrent;
mod evidence;
mod honest;
mod recorded;
mod session;
mod words;

use std::ops::Deref;

use serde_json::{Value, json};
use statewarden::systems::agent_flow::state::read_workflow;

use crate::support::{EVENTS, GATES, Ran, Sandbox, keys};

pub(crate) const SINGLE: &str = ".claude/orchestration.local.md";
pub(crate) const TEAM: &str = ".claude/team-orchestration.local.md";

pub(crate) const APPROVED: &str = "Read it all.\n\n### Verdict: APPROVED";
pub(crate) const NEEDS_CHANGES: &str = "### Verdict\n\n**NEEDS_CHANGES**";
pub(crate) const VERIFIED: &str = "### Overall: VERIFIED";

/// A project in which agents come and go.
pub(crate) struct Stage(pub(crate) Sandbox);

impl Deref for Stage {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.0
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self(Sandbox::new())
    }

    /// With a run of Agent Flow that a command started.
    pub(crate) fn with_run(flags: &[&str]) -> Self {
        let mut sandbox = Sandbox::new();
        sandbox
            .env
            .push(("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1".to_owned()));
        let args: Vec<&str> = ["flow", "init", "a task"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        sandbox.run(&args).ends(0);
        std::fs::remove_file(sandbox.path(GATES)).unwrap();
        Self(sandbox)
    }

    pub(crate) fn agent(&self, kind: &str, agent: &str, id: &str) -> Value {
        let mut event = self.event_of(kind);
        event["agent_type"] = agent.into();
        event["agent_id"] = id.into();
        event
    }

    pub(crate) fn stop_event(&self, agent: &str, id: &str, text: &str) -> Value {
        let mut event = self.agent("SubagentStop", agent, id);
        event["stop_hook_active"] = false.into();
        event["last_assistant_message"] = text.into();
        event
    }

    /// The launching call's result for a foreground run.
    fn launched(&self, agent: &str, id: &str, text: &str) -> Value {
        let mut event = self.event_of("PostToolUse");
        event["tool_name"] = "Agent".into();
        event["tool_input"] = json!({ "subagent_type": agent, "prompt": "go" });
        event["tool_response"] = json!({
            "status": "completed", "agentId": id, "agentType": agent, "content": [{ "type": "text", "text": text }],
        });
        event
    }

    #[track_caller]
    pub(crate) fn start(&self, agent: &str, id: &str) {
        self.hook(&self.agent("SubagentStart", agent, id))
            .is_silent();
    }

    #[track_caller]
    pub(crate) fn stop(&self, agent: &str, id: &str, text: &str) {
        self.hook(&self.stop_event(agent, id, text)).is_silent();
    }

    /// Start and end of one agent, whose id is its name.
    #[track_caller]
    pub(crate) fn play(&self, agent: &str, text: &str) {
        self.start(agent, agent);
        self.stop(agent, agent, text);
    }

    /// `phase/iteration:` and the first letters of the gates' statuses.
    #[track_caller]
    pub(crate) fn standing(&self, file: &str) -> String {
        let run = read_workflow(&self.read(file), file).unwrap();
        let letter = |status: &str| {
            if status == "in_progress" {
                "i"
            } else {
                &status[..2]
            }
            .to_owned()
        };
        let gates: Vec<_> = run
            .gates
            .iter()
            .map(|gate| letter(gate.status.as_str()))
            .collect();
        let closed = if run.active { "" } else { " closed" };
        format!(
            "{}/{}: {}{closed}",
            run.phase.unwrap(),
            run.iteration.unwrap(),
            gates.join(" ")
        )
    }

    pub(crate) fn gates(&self) -> Vec<Value> {
        self.records(GATES)
    }

    /// The last gate record's reason for changing nothing.
    #[track_caller]
    fn skipped(&self) -> String {
        let records = self.gates();
        let last = records.last().expect("a gate record");
        last["skipped"]
            .as_str()
            .unwrap_or_else(|| panic!("{last}"))
            .to_owned()
    }
}

/// Asks an agent to go on: exactly a top-level block with its reason.
#[track_caller]
fn blocked(ran: &Ran) -> String {
    let answer = ran.json();
    assert_eq!((ran.code(), keys(&answer)), (0, vec!["decision", "reason"]));
    assert_eq!(answer["decision"], "block");
    answer["reason"].as_str().unwrap().to_owned()
}
