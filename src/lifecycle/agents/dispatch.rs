//! The dispatch of an agent: warned of or denied before its gate.

use super::{runs, states};
use crate::base::actor::AgentName;
use crate::base::path;
use crate::base::target::Act;
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::guard::decision::Decision;
use crate::guard::outcome;
use crate::host::event::Event;
use crate::host::reply::Reply;
use crate::lifecycle::evidence::Evidence;
use crate::lifecycle::gates::GateScope;
use crate::project::context::Context;
use crate::settings::model::Strictness;
use crate::systems::system::ClosedGate;

/// `PreToolUse` of a dispatch: warned of or refused before its gate.
pub(crate) fn dispatched(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let objection = objection_to_dispatch(context, event);
    let decision = Decision::of(objection.into_iter().collect());
    let reply = outcome::conclude(context, event, &decision, &[]);
    if !reply.refuses() {
        runs::note_task(context, event);
    }
    reply
}

/// What is said against a dispatch: a gate before the agent's phase has not passed.
pub(crate) fn objection_to_dispatch(context: &Context<'_>, event: &Event<'_>) -> Option<Denial> {
    let agent_type = event.input.subagent_type.get()?;
    let setting = context.rules.settings.dispatch;
    if agent_type.is_empty() || setting == Strictness::Off {
        return None;
    }
    let agent = AgentName::parse(agent_type);
    let evidence = Evidence::of(context);
    let scopes = states(context, &context.cwd, Some(&evidence));
    let task = event.input.prompt.as_str();
    let (scope, gate) = scopes
        .iter()
        .find_map(|scope| Some((scope, scope.closed_gate(&agent, task)?)))?;
    let mode = match setting {
        Strictness::Block => scope.governed.mode,
        Strictness::Off | Strictness::Warn => Mode::Warn,
    };
    Some(closed(context, scope, agent_type, gate, mode))
}

/// A dispatch before its gate.
fn closed(
    context: &Context<'_>,
    around: &GateScope<'_>,
    agent_type: &str,
    gate: ClosedGate,
    mode: Mode,
) -> Denial {
    let dir = around.dir().map(path::from_os).unwrap_or_default();
    Denial {
        code: DenyCode::GateClosed,
        system: around.governed.id().to_owned(),
        mode,
        act: Act::Write,
        display_path: agent_type.to_owned(),
        site: context
            .project
            .main
            .relative(&dir)
            .unwrap_or(&dir)
            .to_owned(),
        path: path::below(&dir, &gate.file),
        why: gate.why,
        entry: gate.name,
        instead: None,
        suggestion: None,
        agent: None,
    }
}
