//! A client that an agent starts in one of its calls: what its main thread does is the agent's.

use crate::host::event::Event;
use crate::recorder::calls::{Call, Caller, Notes, Work};

/// The event as the agent's whose call runs the client that sends it, where there is one. Only a
/// call whose text names the client is taken for that: two sessions side by side are no nest.
pub fn as_agent<'e>(event: &Event<'e>, noted: &Notes) -> Option<Event<'e>> {
    if !event.agent_id().is_empty() {
        return None;
    }
    let around = noted.running().find(|call| {
        let caller = &call.caller;
        !caller.agent_id.is_empty() && caller.session != event.session() && runs_client(call)
    })?;
    let Caller {
        agent_id, actor, ..
    } = around.caller.clone();
    Some(event.by_agent(agent_id, actor))
}

fn runs_client(call: &Call) -> bool {
    let Work::RunsCode(call) = &call.work else {
        return false;
    };
    call.text
        .split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))
        .any(|word| word == "claude")
}
