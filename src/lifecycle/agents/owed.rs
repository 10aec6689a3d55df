//! What an agent may not end without, and how it is sent back for it.

use super::{TO_COUNT, append_gates, states_at_end};
use crate::base::actor::AgentName;
use crate::base::text;
use crate::contract::denial::Mode;
use crate::host::agent_result::{AgentResult, ToldBy};
use crate::host::event::{Event, Kind, Tool};
use crate::host::reply::{self, Reply};
use crate::lifecycle::counted_runs::Runs;
use crate::lifecycle::evidence::Evidence;
use crate::lifecycle::gates::{About, OwedArtifact, Plan};
use crate::project::context::Context;
use crate::settings::model::Strictness;
use crate::store::lock::with_lock;
use crate::store::make_own_folder;
use crate::systems::system::AgentEvent;

/// What an agent may not end without.
pub(super) fn owed_before_the_end(context: &Context<'_>, plan: &Plan<'_>) -> Vec<OwedArtifact> {
    if context.rules.settings.completion != Strictness::Block {
        return Vec::new();
    }
    let mut owed = plan.owed();
    owed.retain(|due| due.mode == Mode::Enforce);
    owed
}

/// What an agent may not end without that gives this reply, or hands it back.
fn owed_with(
    context: &Context<'_>,
    event: &Event<'_>,
    agent_type: &str,
    reply: &str,
) -> Vec<OwedArtifact> {
    let evidence = Evidence::for_agent(context, event.session(), agent_type, event.agent_id());
    let around = states_at_end(context, &context.cwd, &evidence);
    let agent = &AgentName::parse(agent_type);
    let moment = AgentEvent::AgentEnd { agent, reply };
    owed_before_the_end(context, &Plan::new(&around, moment, context.now.get()))
}

/// `PreToolUse` of `SubagentHandback`, by which an agent's report goes to its caller in
/// auto mode: the end of the agent is too late to ask for what it owes. A report is
/// refused once, and never where that cannot be noted.
pub(crate) fn handed_back(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let (session, id) = (event.session(), event.agent_id());
    let agent_type = event.agent_type().unwrap_or_default();
    let owed = owed_with(context, event, agent_type, event.input.message.as_str());
    if owed.is_empty() || id.is_empty() {
        return Reply::Silent;
    }
    let about = About {
        event: Some(event),
        agent_type: Some(agent_type),
        agent_id: Some(id),
    };
    let (project, now) = (&context.project, context.now.get());
    let records = owed.iter().map(|due| due.sent_back(&about, project, now));
    let noted = make_own_folder(context.logs().own_folder()).and_then(|()| {
        with_lock(context.logs().own_folder(), TO_COUNT, |locked| {
            let mut runs = Runs::read(locked);
            if runs.get(session, id).was_sent_back {
                return Ok(Reply::Silent);
            }
            runs.note(session, id, |run| run.was_sent_back = true);
            runs.write(locked)?;
            append_gates(context, Some(locked), records);
            let reason = send_back(&owed, BY_HANDBACK);
            Ok(Reply::Deny { reason })
        })
    });
    noted.unwrap_or_else(|error| {
        context.warn_about("runs.json", Err(error));
        Reply::Silent
    })
}

/// Why an agent would be sent back that ends or hands its report back now. Nothing is noted.
pub(crate) fn objection_to_end(context: &Context<'_>, event: &Event<'_>) -> Option<String> {
    let run = Runs::peek(context.logs().own_folder()).get(event.session(), event.agent_id());
    let (agent_type, reply, again) = match AgentResult::of(event) {
        _ if run.was_sent_back => return None,
        Some(end) if end.told_by == ToldBy::Stop && !run.is_counted => {
            let reply = end.reply_in_transcript().unwrap_or(end.reply);
            let reply = Some(reply).filter(|reply| !reply.trim().is_empty())?;
            (end.agent_type, reply, IN_A_MESSAGE)
        }
        None if (event.kind(), event.tool()) == (Kind::PreToolUse, Tool::Handback) => {
            let agent_type = event.agent_type()?.to_owned();
            (
                agent_type,
                event.input.message.as_str().to_owned(),
                BY_HANDBACK,
            )
        }
        _ => return None,
    };
    let owed = owed_with(context, event, &agent_type, &reply);
    (!owed.is_empty()).then(|| send_back(&owed, again))
}

/// How an agent that is sent back gives its report again; its next message replaces the
/// one it ended with, so it has to hold everything.
pub(super) const IN_A_MESSAGE: &str =
    "give your full report again: the next message replaces the one you just gave";
const BY_HANDBACK: &str =
    "call SubagentHandback with your full report again: this one was not delivered";

pub(super) fn send_back(owed: &[OwedArtifact], again: &str) -> String {
    let owed = owed
        .iter()
        .map(|due| format!("`{}` ({})", due.path, due.why));
    let list = text::join_limited(owed.collect(), reply::MAX_REASON - 160);
    let text = format!("Before you end: {list}. Write what is owed, then {again}.");
    text::truncate(&text, reply::MAX_REASON)
}
