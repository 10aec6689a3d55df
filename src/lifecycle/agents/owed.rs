//! What an agent may not end without, and how it is sent back for it.

use std::path::Path;

use super::{TO_COUNT, append_gates, states_at_end};
use crate::base::actor::AgentName;
use crate::base::text;
use crate::contract::denial::Mode;
use crate::host::agent_result::{AgentResult, ReportedBy};
use crate::host::event::{Event, Kind, Tool};
use crate::host::reply::{self, Reply};
use crate::lifecycle::counted_runs::Runs;
use crate::lifecycle::evidence::Evidence;
use crate::lifecycle::gates::{self, GateScope, Plan};
use crate::project::context::Context;
use crate::project::memory::RUNS;
use crate::settings::model::Strictness;
use crate::store::lock::with_lock;
use crate::store::make_own_folder;
use crate::systems::gate_record::GateRecord;
use crate::systems::system::{AgentEvent, Missing};

/// What an agent may not end without, and where.
pub(super) fn owed_before_the_end<'p>(
    context: &Context<'_>,
    plan: &Plan<'p>,
) -> Vec<(&'p GateScope<'p>, Missing)> {
    if context.rules.settings.completion != Strictness::Block {
        return Vec::new();
    }
    let mut owed = plan.missing();
    owed.retain(|(scope, _)| scope.governed.mode == Mode::Enforce);
    owed
}

/// What an agent may not end without that gives this reply, or hands it back: why it is sent
/// back, and the records of that.
fn objection_to(
    context: &Context<'_>,
    event: &Event<'_>,
    agent_type: &str,
    reply: &str,
    again: &str,
) -> Option<(String, Vec<GateRecord>)> {
    let id = event.agent_id();
    let evidence = Evidence::for_agent(context, event.session(), agent_type, id);
    let around = states_at_end(context, &context.cwd, &evidence);
    let end = AgentEvent::End {
        agent: &AgentName::parse(agent_type),
        reply,
        task: "",
    };
    let by = GateRecord::by(event.session_id.get(), Some(agent_type), Some(id));
    let plan = Plan::new(&around, end, by.clone(), context.now.get());
    let owed = owed_before_the_end(context, &plan);
    let records = owed.iter().map(|(scope, owed)| {
        let why = format!("the agent was sent back: {}", owed.why);
        let record = GateRecord::of(&owed.file, Err(why));
        let file = gates::display_path(&context.project, Path::new(&scope.place_of(owed)));
        record.stamped(&by, scope.governed.id(), file, context.now.get())
    });
    (!owed.is_empty()).then(|| (send_back(&owed, again), records.collect()))
}

/// `PreToolUse` of `SubagentHandback`, by which an agent's report goes to its caller in
/// auto mode: the end of the agent is too late to ask for what it owes. A report is
/// denied once, and never where that cannot be noted.
pub(crate) fn handed_back(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let (session, id) = (event.session(), event.agent_id());
    let report = event.input.message.as_str();
    let agent_type = event.agent_type().unwrap_or_default();
    let objection = objection_to(context, event, agent_type, report, BY_HANDBACK);
    let Some((reason, records)) = objection else {
        return Reply::Silent;
    };
    if id.is_empty() {
        return Reply::Silent;
    }
    let noted = make_own_folder(context.own_folder()).and_then(|()| {
        with_lock(context.own_folder(), TO_COUNT, |locked| {
            let mut runs = Runs::read(&context.project);
            if runs.get(session, id).was_sent_back {
                return Ok(Reply::Silent);
            }
            runs.note(session, id, |run| run.was_sent_back = true);
            runs.write(&context.project, locked)?;
            append_gates(context, Some(locked), &records);
            Ok(Reply::Deny { reason })
        })
    });
    noted.unwrap_or_else(|error| {
        context.warn_about(RUNS, Err(error));
        Reply::Silent
    })
}

/// Why an agent would be sent back that ends or hands its report back now. Nothing is noted.
pub(crate) fn objection_to_end(context: &Context<'_>, event: &Event<'_>) -> Option<String> {
    let run = Runs::read(&context.project).get(event.session(), event.agent_id());
    let (agent_type, reply, again) = match AgentResult::of(event) {
        _ if run.was_sent_back => return None,
        Some(end) if end.reported_by == ReportedBy::Stop && !run.is_counted => {
            let reply = end.reply_in_transcript().unwrap_or(end.reply);
            let reply = Some(reply).filter(|reply| !reply.trim().is_empty())?;
            (end.agent_type, reply, IN_A_MESSAGE)
        }
        None if (event.kind(), event.tool()) == (Kind::PreToolUse, Tool::Handback) => {
            let agent_type = event.agent_type()?.to_owned();
            let report = event.input.message.as_str().to_owned();
            (agent_type, report, BY_HANDBACK)
        }
        _ => return None,
    };
    objection_to(context, event, &agent_type, &reply, again).map(|(reason, _)| reason)
}

/// How an agent that is sent back gives its report again; its next message replaces the
/// one it ended with, so it has to hold everything.
pub(super) const IN_A_MESSAGE: &str =
    "give your full report again: the next message replaces the one you just gave";
const BY_HANDBACK: &str =
    "call SubagentHandback with your full report again: this one was not delivered";

pub(super) fn send_back(owed: &[(&GateScope<'_>, Missing)], again: &str) -> String {
    let named = owed
        .iter()
        .map(|(scope, owed)| format!("`{}` ({})", scope.place_of(owed), owed.why));
    let list = text::join_limited(named.collect(), reply::MAX_REASON - 160);
    let text = format!("Before you end: {list}. Write what is owed, then {again}.");
    text::truncate(&text, reply::MAX_REASON)
}
