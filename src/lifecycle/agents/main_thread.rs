//! What the main thread does to gates: the end of its turn, and the reports that it writes.

use super::{append_gates, carry_out, plan, states};
use crate::base::actor::{Actor, AgentName};
use crate::base::target::Text;
use crate::guard::claims::Claim;
use crate::host::event::{Event, Tool};
use crate::host::reply::Reply;
use crate::lifecycle::calls::{self, Announcement};
use crate::lifecycle::evidence::Evidence;
use crate::lifecycle::gates::GateScope;
use crate::project::context::Context;
use crate::systems::gate_record::GateRecord;
use crate::systems::system::AgentEvent;

/// The main thread's turn is over: a run whose gates have all passed is
/// closed, and what calls did that sent no end is found.
pub(crate) fn turn_ended(context: &Context<'_>, event: &Event<'_>) -> Reply {
    // What calls did says whose the gates are.
    let mut reply = calls::turn_ended(context, event);
    if event.actor() == Actor::Main {
        let running = running(event);
        let evidence = Evidence::for_main(context);
        let ended = AgentEvent::TurnEnd {
            running: &running,
            reply: event.last_assistant_message.as_str(),
        };
        let around = states(context, &context.cwd, Some(&evidence));
        let mut records = carry_out(context, &plan(context, event, ended, &around));
        // A session has many turns: what keeps a run open is said once.
        records.retain(|record| !evidence.log().has_said(record));
        let kept_open: Vec<String> = records.iter().filter_map(why_open).collect();
        append_gates(context, None, &records);
        if !kept_open.is_empty() {
            reply.add_notice(&kept_open.join("\n"));
        }
    }
    reply
}

/// What keeps a whole run open, for the user.
fn why_open(record: &GateRecord) -> Option<String> {
    match (&record.gate, &record.skipped) {
        (None, Some(why)) => Some(format!("statewarden: `{}`: {why}", record.file)),
        _ => None,
    }
}

/// The agents that go on in the background.
fn running(event: &Event<'_>) -> Vec<AgentName> {
    let tasks = event.background_tasks.value();
    tasks
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|task| task["agent_type"].as_str())
        .map(AgentName::parse)
        .collect()
}

/// A call has succeeded; what the main thread wrote may be what a gate of its own needs, or the
/// report that completes a phase.
pub(crate) fn report_written(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) {
    if event.actor() != Actor::Main {
        return;
    }
    for claim in claims {
        let path = claim.path();
        match claim.governed.system.info().gate_dir {
            Some("") => file_written(context, event, claim.governed.id(), &path),
            Some(dir) if is_whole(claim, event) => {
                let Some((above, entry)) = path.split_once(&format!("/{dir}/")) else {
                    continue;
                };
                let dir = format!("{above}/{dir}").into();
                let scope = GateScope::at_dir(&context.project, claim.governed, dir);
                let wrote = AgentEvent::Wrote {
                    agent: None,
                    entries: &[entry.to_owned()],
                };
                let plan = plan(context, event, wrote, std::slice::from_ref(&scope));
                let records = match calls::announcement(context, event) {
                    Announcement::Seen => carry_out(context, &plan),
                    Announcement::Repeated => Vec::new(),
                    Announcement::Unseen => plan.skip_all(UNANNOUNCED),
                };
                append_gates(context, None, &records);
            }
            _ => {}
        }
    }
}

const UNANNOUNCED: &str = "the call that wrote it was not announced";

/// What an Edit or a program leaves may be no report.
fn is_whole(claim: &Claim<'_>, event: &Event<'_>) -> bool {
    matches!(claim.target.text, Some(Text::Whole(_) | Text::Added(_)))
        || claim.target.text.is_none() && event.tool() == Tool::Write
}

/// The main thread wrote a file of a declared system.
fn file_written(context: &Context<'_>, event: &Event<'_>, system: &str, path: &str) {
    let mut evidence = Evidence::for_main(context);
    let is_unseen = calls::announcement(context, event) == Announcement::Unseen;
    evidence.doubt = is_unseen.then_some(UNANNOUNCED);
    for scope in states(context, &context.cwd, Some(&evidence)) {
        if scope.is_at_root() && scope.governed.id() == system {
            let wrote = AgentEvent::Wrote {
                agent: None,
                entries: &scope.entries_of(&[path.to_owned()]),
            };
            let plan = plan(context, event, wrote, std::slice::from_ref(&scope));
            append_gates(context, None, &carry_out(context, &plan));
        }
    }
}
