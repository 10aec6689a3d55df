//! What is noted of the runs of agents while they go on: the start, the task, what was written,
//! and the tests in the background.

use std::io;

use super::{TO_COUNT, append_gates, carry_out, plan, states};
use crate::base::actor::AgentName;
use crate::base::clock;
use crate::base::target::Act;
use crate::guard::claims::Claim;
use crate::host::event::Event;
use crate::lifecycle::counted_runs::{Began, Runs};
use crate::lifecycle::evidence::{self, Evidence};
use crate::lifecycle::gates::GateScope;
use crate::project::context::Context;
use crate::project::memory::RUNS;
use crate::store::lock::with_lock;
use crate::store::make_own_folder;
use crate::systems::system::AgentEvent;

/// Files that an agent wrote and that are kept; a run writes far fewer.
const MAX_WROTE: usize = 200;

/// Changes what is known of runs. Where that cannot be written it is said, and the event goes on.
fn change(context: &Context<'_>, change: impl FnOnce(&mut Runs)) {
    let folder = context.own_folder().to_owned();
    let changed = make_own_folder(&folder).and_then(|()| {
        with_lock(&folder, TO_COUNT, |locked| -> io::Result<()> {
            let mut runs = Runs::read(&context.project);
            change(&mut runs);
            runs.write(&context.project, locked)
        })
    });
    context.warn_about(RUNS, changed);
}

/// Lets the end of a run count again, and its report be denied again, since its agent
/// goes on; and notes what the agent found where it is to write.
pub(super) fn begin(
    context: &Context<'_>,
    event: &Event<'_>,
    agent: &AgentName,
    around: &[GateScope<'_>],
) {
    let (session, id) = (event.session(), event.agent_id());
    let began = found(context, agent, around);
    let is_here = context.own_folder().is_dir() || began.is_some();
    if id.is_empty() || !is_here && !around.iter().any(|scope| scope.concerns(agent)) {
        return;
    }
    change(context, |runs| {
        let task = runs.take_task(session, event.agent_type.as_str());
        runs.note(session, id, |run| {
            run.start(
                event.agent_type.get(),
                clock::millis(context.now.get()),
                task,
            );
            began.into_iter().for_each(|began| run.begin(began));
        });
    });
}

/// What the files hold that an agent is to write; `None` where none is.
fn found(context: &Context<'_>, agent: &AgentName, around: &[GateScope<'_>]) -> Option<Began> {
    let mut began: Option<Began> = None;
    for (workflow, held) in around.iter().filter_map(|scope| scope.held(agent)) {
        let first = began.get_or_insert_default();
        first.workflow = first.workflow.take().or(workflow);
        first.held.extend(held);
        first.at = clock::millis(context.now.get());
    }
    began
}

/// A call of an agent has written. By a file tool the file is its work, the same bytes too; and
/// a gate of its may begin where it writes.
pub(crate) fn agent_wrote(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) {
    let (session, id) = (event.session(), event.agent_id());
    let writes = claims
        .iter()
        .filter(|claim| matches!(claim.target.act, Act::Write | Act::Edit));
    let paths: Vec<String> = writes.map(Claim::path).collect();
    if id.is_empty() || paths.is_empty() {
        return;
    }
    let run = Runs::read(&context.project).get(session, id);
    let is_typed = event.tool().is_file_tool();
    let is_first = paths.iter().any(|path| !run.wrote.contains(path));
    if run.started.is_none() || !is_first && !is_typed {
        return;
    }
    change(context, |runs| {
        runs.note(session, id, |run| {
            add(&mut run.wrote, &paths);
            if is_typed {
                let at = clock::millis(context.now.get());
                let typed = paths.iter().map(|path| (path.clone(), at.clone()));
                run.typed_at.extend(typed);
                run.typed_at.retain(|path, _| run.wrote.contains(path));
                let held = run.began.iter_mut().map(|began| &mut began.held);
                held.for_each(|held| held.retain(|path, _| !paths.contains(path)));
            }
        });
    });
    if is_first {
        begin_where_written(context, event, &paths);
    }
}

/// Adds what is not known yet; the oldest go.
fn add(known: &mut Vec<String>, paths: &[String]) {
    for path in paths {
        if !known.contains(path) {
            known.push(path.clone());
        }
    }
    let surplus = known.len().saturating_sub(MAX_WROTE);
    known.drain(..surplus);
}

/// In a system with several state directories, the first file that an agent writes in one begins
/// its gate there.
fn begin_where_written(context: &Context<'_>, event: &Event<'_>, paths: &[String]) {
    let agent_type = event.agent_type().unwrap_or_default();
    let agent = AgentName::parse(agent_type);
    let evidence = Evidence::for_agent(context, event.session(), agent_type, event.agent_id());
    let mut around = states(context, &context.cwd, Some(&evidence));
    around.retain(GateScope::is_at_root);
    for scope in around {
        let entries = scope.entries_of(paths);
        if !entries.is_empty() {
            let wrote = AgentEvent::Wrote {
                agent: Some(&agent),
                entries: &entries,
            };
            let plan = plan(context, event, wrote, std::slice::from_ref(&scope));
            append_gates(context, None, &carry_out(context, &plan));
        }
    }
}

/// A test that an agent runs in the background: until it is over, neither is the agent.
pub(crate) fn test_launched(context: &Context<'_>, event: &Event<'_>) {
    let (session, id) = (event.session(), event.agent_id());
    let Some(task) = event.response.background_task_id.get() else {
        return;
    };
    if !id.is_empty() && evidence::is_test(context, event.input.command.as_str()) {
        change(context, |runs| {
            runs.note(session, id, |run| run.tests.push(task.to_owned()));
        });
    }
}

/// Keeps the task of an agent until it starts, for a system with several state directories.
pub(super) fn note_task(context: &Context<'_>, event: &Event<'_>) {
    let agent_type = event.input.subagent_type.as_str();
    let agent = AgentName::parse(agent_type);
    let scopes = states(context, &context.cwd, None);
    let mut around = scopes.iter();
    let task = event.input.prompt.as_str();
    if !task.is_empty() && around.any(|scope| scope.is_at_root() && scope.concerns(&agent)) {
        change(context, |runs| {
            runs.dispatch(event.session(), agent_type, task)
        });
    }
}
