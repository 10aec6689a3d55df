//! The events around agents: starts, ends, dispatches, the turn's end, the
//! session's start. The counterpart of the guard: it refuses nothing but an
//! end that owes an artifact, and a dispatch before its gate.

mod owed;
pub(crate) mod roles;

use std::io;
use std::time::Duration;

use self::owed::{IN_A_MESSAGE, owed_before_the_end, send_back};
pub(crate) use self::owed::{handed_back, objection_to_end};
use crate::base::actor::{Actor, AgentName};
use crate::base::disk::bounded_read::read_text;
use crate::base::target::{Act, Text};
use crate::base::{clock, path};
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::guard::claims::Claim;
use crate::guard::decision::Decision;
use crate::guard::outcome;
use crate::host::agent_result::{AgentResult, ToldBy};
use crate::host::event::{Event, Tool};
use crate::host::reply::Reply;
use crate::lifecycle::calls;
use crate::lifecycle::counted_runs::{Began, Runs};
use crate::lifecycle::evidence::Evidence;
use crate::lifecycle::gates::{About, GateEffects, GateRecord, GateScope, OwedArtifact, Plan};
use crate::log::append::LogFile;
use crate::log::record::{LogLine, Record, What};
use crate::project::context::Context;
use crate::recorder::mediate::Recorder;
use crate::settings::model::Strictness;
use crate::store::lock::{IN_HOOK, Locked, with_lock};
use crate::store::make_own_folder;
use crate::systems::groups;
use crate::systems::system::{AgentEvent, ClosedGate};

/// How long an end waits to be counted: several times as long as a lock is tried
/// for, since the end before it may be waiting for the locks of its states.
pub(crate) const TO_COUNT: Duration = IN_HOOK.saturating_mul(8);

/// `SubagentStart`: the agent's phase begins, and its next end counts.
pub(crate) fn agent_started(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let (agent_type, agent_id) = (event.agent_type.get(), event.agent_id.get());
    let agent = AgentName::parse(agent_type.unwrap_or_default());
    let around = states(context, &context.cwd, None);
    let moment = AgentEvent::AgentStart { agent: &agent };
    let about = About {
        event: Some(event),
        agent_type,
        agent_id,
    };
    begin_run(context, event, &agent, &around);
    let plan = Plan::new(&around, moment, context.now.get());
    let effects = write_gates(context, &plan, &about);
    // A start that moves nothing is not worth a line, one that should have is.
    let is_odd = effects.has_failed || effects.is_undecided;
    let records = effects.records.into_iter();
    let worthy = records.filter(|record| record.skipped.is_none() || is_odd);
    append_gates(context, None, worthy);
    Reply::Silent
}

/// The systems' states around a directory.
fn states<'c>(
    context: &'c Context<'_>,
    cwd: &str,
    evidence: Option<&'c Evidence<'c>>,
) -> Vec<GateScope<'c>> {
    GateScope::all(context.registry, &context.project, cwd, evidence)
}

/// The same for the end of an agent: groups in which nobody plays a role ask for nothing.
fn states_at_end<'c>(
    context: &'c Context<'_>,
    cwd: &str,
    evidence: &'c Evidence<'c>,
) -> Vec<GateScope<'c>> {
    let mut around = states(context, cwd, Some(evidence));
    let is_of_groups = |at: &GateScope<'_>| at.governed.id() == groups::ID && at.dir().is_some();
    if around.iter().any(is_of_groups) && !roles::has_group_roles(context, &context.sites_around())
    {
        around.retain(|at| !is_of_groups(at));
    }
    around
}

/// Lets the end of a run count again, and its report be denied again, since its agent
/// goes on; and notes what the agent found where it is to write.
fn begin_run(
    context: &Context<'_>,
    event: &Event<'_>,
    agent: &AgentName,
    around: &[GateScope<'_>],
) {
    let (session, id) = (event.session(), event.agent_id());
    let mut began: Option<Began> = None;
    for (workflow, held) in around.iter().filter_map(|scope| scope.held(agent)) {
        let began = began.get_or_insert_default();
        began.workflow = began.workflow.take().or(workflow);
        began.held.extend(held);
        began.at = clock::millis(context.now.get());
    }
    let folder = context.logs().own_folder().to_owned();
    if !folder.is_dir() && began.is_none() {
        return;
    }
    let noted = make_own_folder(&folder).and_then(|()| {
        with_lock(&folder, TO_COUNT, |locked| {
            let mut runs = Runs::read(locked);
            let known = runs.get(session, id);
            let is_news = began.is_some() || known.is_counted || known.was_sent_back;
            if id.is_empty() || !is_news {
                return Ok(());
            }
            runs.note(session, id, |run| {
                (run.is_counted, run.was_sent_back) = (false, false);
                let workflow = |began: &Option<Began>| Some(began.as_ref()?.workflow.clone());
                // Of two starts in one workflow the earlier one is kept.
                if began.is_some() && workflow(&began) != workflow(&run.began) {
                    run.began = began;
                }
            });
            runs.write(locked)
        })
    });
    context.warn_about("runs.json", noted);
}

/// A file tool of an agent has written: what it wrote is its work, the same bytes too.
pub(crate) fn agent_wrote(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) {
    let (session, id) = (event.session(), event.agent_id());
    let paths: Vec<String> = claims.iter().map(Claim::path).collect();
    let folder = context.logs().own_folder().to_owned();
    if id.is_empty() || !event.tool().is_file_tool() || paths.is_empty() {
        return;
    }
    let began = Runs::peek(&folder).get(session, id).began;
    if !began.is_some_and(|began| paths.iter().any(|path| began.held.contains_key(path))) {
        return;
    }
    let noted = with_lock(&folder, TO_COUNT, |locked| {
        let mut runs = Runs::read(locked);
        runs.note(session, id, |run| {
            let held = run.began.iter_mut().map(|began| &mut began.held);
            held.for_each(|held| held.retain(|path, _| !paths.contains(path)));
        });
        runs.write(locked)
    });
    context.warn_about("runs.json", noted);
}

/// The end of an agent's run, counted once.
pub(crate) fn agent_ended(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let Some(ending) = AgentResult::of(event) else {
        return Reply::Silent;
    };
    let agent = AgentName::parse(&ending.agent_type);
    let id = ending.agent_id.as_deref().unwrap_or_default();
    let evidence = Evidence::for_agent(context, event.session(), &ending.agent_type, id);
    let cwd = ending.work_tree.as_deref().unwrap_or(&context.cwd);
    let around = states_at_end(context, cwd, &evidence);
    let end = |reply| AgentEvent::AgentEnd {
        agent: &agent,
        reply,
    };
    let mut plan = Plan::new(&around, end(&ending.reply), context.now.get());
    if plan.is_empty() {
        return Reply::Silent;
    }
    let found = ending.reply_in_transcript();
    if let Some(reply) = &found {
        plan = Plan::new(&around, end(reply), context.now.get());
    }
    let end = |locked: Option<&Locked<'_>>| end_run(context, event, &ending, &plan, locked);
    let counted = make_own_folder(context.logs().own_folder()).and_then(|()| {
        with_lock(context.logs().own_folder(), TO_COUNT, |locked| {
            Ok(end(Some(locked)))
        })
    });
    counted.unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let why = format!("could not be counted: {error}");
            let effects = plan.skip_all(&context.project, &about(event, &ending), &why);
            append_gates(context, None, effects.records);
            Reply::Silent
        }
        // The gates are not in that folder. At worst the run's second event moves them again.
        _ => {
            context.warn_about("runs.json", Err(error));
            end(None)
        }
    })
}

/// Carries the end of a run into the states; once, where runs can be counted.
fn end_run(
    context: &Context<'_>,
    event: &Event<'_>,
    ending: &AgentResult,
    plan: &Plan<'_>,
    locked: Option<&Locked<'_>>,
) -> Reply {
    let mut runs = locked.map(Runs::read).unwrap_or_default();
    let id = ending.agent_id.as_deref().unwrap_or_default();
    let run = runs.get(event.session(), id);
    // The end before a second one was blocked, by whatever hook, and did not count.
    if run.is_counted && ending.told_by != ToldBy::SecondStop {
        return Reply::Silent;
    }
    let about = about(event, ending);
    if plan.is_wordless() {
        let why = "the agent's final text is empty";
        let effects = plan.skip_all(&context.project, &about, why);
        append_gates(context, locked, effects.records);
        return Reply::Silent;
    }
    let owed = owed_before_the_end(context, plan);
    if ending.told_by == ToldBy::Stop && !run.was_sent_back && !owed.is_empty() {
        let reason = send_back(&owed, IN_A_MESSAGE);
        return Reply::Block { reason };
    }
    let owed = plan.owed();
    let effects = write_gates(context, plan, &about);
    // Where a file could not be written, the run's second event is another chance.
    if let Some(locked) = locked.filter(|_| !id.is_empty() && !effects.has_failed) {
        runs.note(event.session(), id, |run| run.is_counted = true);
        // The gate has moved; at worst the run's second event is applied as well.
        context.warn_about("runs.json", runs.write(locked));
    }
    append_gates(context, locked, effects.records);
    if context.rules.settings.completion != Strictness::Off {
        let notes = owed.iter().map(|due| note_of_owed(context, event, due));
        notes.for_each(|note| append(context, locked, &context.logs().events(), &note));
    }
    Reply::Silent
}

fn note_of_owed(context: &Context<'_>, event: &Event<'_>, due: &OwedArtifact) -> Record {
    let reason = format!("`{}` is owed: {}", due.path, due.why);
    let mut record = Record::new(What::Warn, &reason, Some(event), context.now.get());
    record.system = Some(due.system.clone());
    record.file_path = Some(due.path.clone());
    record.name = Some(due.name.clone());
    record
}

/// The agents that go on in the background.
fn running(event: &Event<'_>) -> Vec<AgentName> {
    let tasks = event.background_tasks.value();
    let types = tasks.as_array().into_iter().flatten();
    let types = types.filter_map(|task| task["agent_type"].as_str());
    types.map(AgentName::parse).collect()
}

/// The main thread's turn is over: a run whose gates have all passed is
/// closed, and what calls did that sent no end is found.
pub(crate) fn turn_ended(context: &Context<'_>, event: &Event<'_>) -> Reply {
    if event.actor() == Actor::Main {
        let running = running(event);
        let moment = AgentEvent::TurnEnd { running: &running };
        carry_out(context, moment, &states(context, &context.cwd, None), event);
    }
    calls::turn_ended(context, event)
}

/// A call has succeeded; where the main thread wrote a report, that completes its phase.
pub(crate) fn report_written(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) {
    if event.actor() != Actor::Main {
        return;
    }
    for claim in claims {
        let said = match (&claim.target.text, event.tool()) {
            (Some(Text::Whole(text) | Text::Added(text)), _) => Some(text.to_string()),
            (None, Tool::Write) => event.input.texts().unwrap_or_default().content,
            // What an Edit or a program leaves may be no report.
            (None, _) => None,
        };
        let path = claim.path();
        let dir = claim.governed.system.info().gate_dir;
        let place = dir.and_then(|dir| Some((dir, path.split_once(&format!("/{dir}/"))?)));
        let (Some(said), Some((dir, (above, entry)))) = (said, place) else {
            continue;
        };
        let left = read_text(&path).ok().flatten().unwrap_or(said);
        let dir = format!("{above}/{dir}").into();
        let around = [GateScope::at_dir(&context.project, claim.governed, dir)];
        let moment = AgentEvent::Wrote { entry, text: &left };
        carry_out(context, moment, &around, event);
    }
}

/// Carries a moment of the main thread into the states around it.
fn carry_out(
    context: &Context<'_>,
    moment: AgentEvent<'_>,
    around: &[GateScope<'_>],
    event: &Event<'_>,
) {
    let about = About {
        event: Some(event),
        ..About::default()
    };
    let plan = Plan::new(around, moment, context.now.get());
    let effects = write_gates(context, &plan, &about);
    append_gates(context, None, effects.records);
}

/// Carries an event into the states, so that no call is taken for its author.
fn write_gates(context: &Context<'_>, plan: &Plan<'_>, about: &About<'_>) -> GateEffects {
    let mut write = || plan.carry_out(&context.project, about);
    match plan.is_empty() {
        true => write(),
        false => Recorder::of(context).own_writes("gate", IN_HOOK, &mut write),
    }
}

/// `PreToolUse` of a dispatch: warned of or refused before its gate.
pub(crate) fn dispatched(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let objection = objection_to_dispatch(context, event);
    let decision = Decision::of(objection.into_iter().collect());
    outcome::conclude(context, event, &decision, &[])
}

/// What is said against a dispatch: a gate before the agent's phase has not passed.
pub(crate) fn objection_to_dispatch(context: &Context<'_>, event: &Event<'_>) -> Option<Denial> {
    let agent_type = event.input.subagent_type.get()?;
    let setting = context.rules.settings.dispatch;
    if agent_type.is_empty() || setting == Strictness::Off {
        return None;
    }
    let agent = AgentName::parse(agent_type);
    let around = states(context, &context.cwd, None);
    let mut around = around.iter();
    let (around, gate) = around.find_map(|around| Some((around, around.closed_gate(&agent)?)))?;
    let mode = match setting {
        Strictness::Block => around.governed.mode,
        Strictness::Off | Strictness::Warn => Mode::Warn,
    };
    Some(closed(context, around, agent_type, gate, mode))
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

/// Appends gate records; where that fails the gate changes stand.
fn append_gates(
    context: &Context<'_>,
    locked: Option<&Locked<'_>>,
    records: impl IntoIterator<Item = GateRecord>,
) {
    let log = context.logs().gates();
    let records = records.into_iter();
    records.for_each(|record| append(context, locked, &log, &record));
}

/// Appends to a log in the program's own folder, which may be locked already.
fn append(
    context: &Context<'_>,
    locked: Option<&Locked<'_>>,
    log: &LogFile,
    record: &impl LogLine,
) {
    let Some(locked) = locked else {
        return context.append(log, record);
    };
    let max_bytes = context.rules.settings.log_max_bytes;
    let written = log.append_locked(locked, &record.to_line(), max_bytes, record.ts());
    context.warn_about(log.name, written);
}

fn about<'a>(event: &'a Event<'a>, ending: &'a AgentResult) -> About<'a> {
    About {
        event: Some(event),
        agent_type: Some(&ending.agent_type),
        agent_id: ending.agent_id.as_deref(),
    }
}
