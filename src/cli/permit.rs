//! Whether a verb may change state as it is run: not for an agent whose file it is not, and under
//! `evidence.mode: require` not without a proof.

use serde_json::json;

use super::CliContext;
use super::origin::{Origin, no_person};
use crate::base::env;
use crate::base::text::shell_quote;
use crate::guard::decision::Ruling;
use crate::guard::{message, outcome};
use crate::host::event::Event;
use crate::lifecycle::judge;
use crate::settings::model::EvidenceMode;
use crate::systems::gate_record::Outcome;
use crate::systems::workflow::GateStatus;

/// Whether `--force` is given, by which a person passes a gate without a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    NotAsked,
    Asked,
    /// What the verb passes has nothing that could prove it.
    NotNeeded,
}

impl Approval {
    pub(super) fn of(force: bool) -> Self {
        if force { Self::Asked } else { Self::NotAsked }
    }

    /// What it lacks: a person gives it, at a terminal and in no call of a client.
    fn lack(self, context: &CliContext<'_>) -> Option<String> {
        match self {
            Self::NotAsked => Some(String::new()),
            Self::Asked => no_person(context).map(|why| format!("; {why}")),
            Self::NotNeeded => None,
        }
    }
}

/// What keeps a change from being made: it would pass a gate, and nothing proves that.
pub(super) fn missing_proof(
    context: &CliContext<'_>,
    approval: Approval,
    outcome: &Outcome,
) -> Option<String> {
    let change = outcome
        .as_ref()
        .ok()
        .filter(|change| change.proof.is_empty())?;
    let passes = |status| matches!(status, GateStatus::Passed | GateStatus::Skipped);
    let passed = change
        .moves
        .iter()
        .find(|moved| passes(moved.to) && !passes(moved.from))?;
    refusal(context, approval, &format!("gate `{}`", passed.gate))
}

/// What keeps something that is no move of a gate from being done.
pub(super) fn refusal(context: &CliContext<'_>, approval: Approval, what: &str) -> Option<String> {
    if context.rules.settings.evidence != EvidenceMode::Require {
        return None;
    }
    let lack = approval.lack(context)?;
    Some(format!(
        "nothing proves {what} (`evidence.mode: require`): its agent's end does, with what the gate needs; or a \
         person passes it with `--force` in a terminal{lack}"
    ))
}

/// Why the call of an agent that runs this verb may not, by the rules for a command that says so.
/// The denial is recorded.
pub(super) fn objection(context: &CliContext<'_>) -> Option<String> {
    let origin = Origin::of(context);
    let caller = origin.caller(&context.project)?;
    let words: Vec<_> = env::arguments()
        .map(|word| shell_quote(&word).into_owned())
        .collect();
    let event = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": context.cwd,
        "session_id": caller.session, "tool_use_id": caller.tool_use_id,
        "agent_id": caller.agent_id, "agent_type": caller.actor,
        "tool_input": { "command": format!("statewarden {}", words.join(" ")) },
    })
    .to_string();
    let event = Event::parse(event.as_bytes()).ok()?;
    let hook_context = context.hook_context();
    let (decision, claims) = judge::judge(&hook_context, &event).ok()?;
    if decision.ruling() != Ruling::Deny {
        return None;
    }
    let reason = message::reason(decision.denials(), &[]);
    outcome::record_decision(&hook_context, &event, &decision, &reason, &claims);
    Some(match origin {
        Origin::Unclear(_) => origin
            .objection()
            .map_or(reason.clone(), |why| format!("{reason}\n{why}")),
        Origin::Call | Origin::Elsewhere => reason,
    })
}
