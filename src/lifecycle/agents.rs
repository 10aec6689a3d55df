//! The events around agents: starts, ends, dispatches, the turn's end. The counterpart of the
//! guard: it denies nothing but an end that owes an artifact, and a dispatch before its gate.

mod dispatch;
mod main_thread;
mod owed;
pub(crate) mod roles;
mod runs;

use std::io;
use std::path::Path;
use std::time::Duration;

pub(crate) use self::dispatch::{dispatched, objection_to_dispatch};
pub(crate) use self::main_thread::{report_written, turn_ended};
use self::owed::{IN_A_MESSAGE, owed_before_the_end, send_back};
pub(crate) use self::owed::{handed_back, objection_to_end};
pub(crate) use self::runs::{agent_wrote, test_launched};
use crate::base::actor::{Actor, AgentName};
use crate::base::path;
use crate::base::warn;
use crate::host::agent_result::{self, AgentResult, ReportedBy};
use crate::host::event::Event;
use crate::host::reply::Reply;
use crate::lifecycle::counted_runs::{Run, Runs};
use crate::lifecycle::evidence::Evidence;
use crate::lifecycle::gates::{self, GateScope, Plan};
use crate::log::append::LogFile;
use crate::log::record::{LogLine, Record, What};
use crate::project::context::Context;
use crate::project::memory::RUNS;
use crate::project::sites;
use crate::recorder::calls::Caller;
use crate::recorder::index::Index;
use crate::recorder::mediate::{Recorder, WritesTo};
use crate::settings::model::Strictness;
use crate::store::lock::{IN_HOOK, Locked, with_lock};
use crate::store::make_own_folder;
use crate::systems::gate_record::GateRecord;
use crate::systems::groups;
use crate::systems::system::{AgentEvent, Missing};

/// How long an end waits to be counted: several times as long as a lock is tried
/// for, since the end before it may be waiting for the locks of its states.
pub(crate) const TO_COUNT: Duration = IN_HOOK.saturating_mul(8);

/// `SubagentStart`: the agent's phase begins, and its next end counts.
pub(crate) fn agent_started(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let agent = AgentName::parse(event.agent_type.as_str());
    let around = states(context, &context.cwd, None);
    runs::begin(context, event, &agent, &around);
    let started = AgentEvent::Start { agent: &agent };
    let (agent_type, agent_id) = (event.agent_type.get(), event.agent_id.get());
    let by = GateRecord::by(event.session_id.get(), agent_type, agent_id);
    let plan = Plan::new(&around, started, by, context.now.get());
    let mut records = Vec::new();
    let written = write_gates(context, &plan, &mut records);
    // A start that moves nothing is not worth a line, one that should have is.
    if written.is_ok() && !plan.is_undecided() {
        records.retain(GateRecord::is_change);
    }
    append_gates(context, None, &records);
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

/// The same for the end of an agent: groups in which no agent has a role ask for nothing.
fn states_at_end<'c>(
    context: &'c Context<'_>,
    cwd: &str,
    evidence: &'c Evidence<'c>,
) -> Vec<GateScope<'c>> {
    let mut around = states(context, cwd, Some(evidence));
    let is_of_groups = |at: &GateScope<'_>| at.governed.id() == groups::ID && at.dir().is_some();
    if around.iter().any(is_of_groups) && !roles::has_group_roles_around(context) {
        around.retain(|at| !is_of_groups(at));
    }
    around
}

/// The client's news of agents in the background that did not come to their own end: a record
/// each, in the states that they would have moved.
pub(crate) fn agents_failed(context: &Context<'_>, event: &Event<'_>) {
    let news = agent_result::failures(event);
    if news.is_empty() {
        return;
    }
    let runs = Runs::read(&context.project);
    for failure in news {
        let run = runs.get(event.session(), &failure.task);
        let Some(agent_type) = run.agent_type else {
            continue;
        };
        if run.is_counted {
            continue;
        }
        let agent = AgentName::parse(&agent_type);
        let around = states(context, &context.cwd, None);
        let end = AgentEvent::End {
            agent: &agent,
            reply: "",
            task: &run.task,
        };
        let session = event.session_id.get();
        let by = GateRecord::by(session, Some(&agent_type), Some(&failure.task));
        let plan = Plan::new(&around, end, by, context.now.get());
        append_gates(context, None, &plan.skip_all(&failure.why));
    }
}

/// The end of an agent's run, counted once.
pub(crate) fn agent_ended(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let Some(ending) = AgentResult::of(event) else {
        return Reply::Silent;
    };
    let agent = AgentName::parse(&ending.agent_type);
    let id = ending.agent_id.as_deref();
    let own_id = id.unwrap_or_default();
    let evidence = Evidence::for_agent(context, event.session(), &ending.agent_type, own_id);
    let cwd = ending.work_tree.as_deref().unwrap_or(&context.cwd);
    let around = states_at_end(context, cwd, &evidence);
    let by = GateRecord::by(event.session_id.get(), Some(&ending.agent_type), id);
    append_gates(context, None, &elsewhere(context, &around, &agent, &by));
    if !around.iter().any(GateScope::is_here) {
        return Reply::Silent;
    }
    let task = match evidence.run.task.as_str() {
        "" if around.iter().any(GateScope::is_at_root) => ending.task(event),
        known => known.to_owned(),
    };
    let reply = ending.reply_in_transcript();
    let end = AgentEvent::End {
        agent: &agent,
        reply: reply.as_deref().unwrap_or(&ending.reply),
        task: &task,
    };
    let plan = Plan::new(&around, end, by, context.now.get());
    if plan.is_empty() {
        return Reply::Silent;
    }
    let end = |locked: Option<&Locked<'_>>| end_run(context, event, &ending, &plan, locked);
    let counted = make_own_folder(context.own_folder()).and_then(|()| {
        with_lock(context.own_folder(), TO_COUNT, |locked| {
            Ok(end(Some(locked)))
        })
    });
    counted.unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let why = format!("could not be counted: {error}");
            append_gates(context, None, &plan.skip_all(&why));
            Reply::Silent
        }
        // The gates are not in that folder. At worst the run's second event moves them again.
        _ => {
            context.warn_about(RUNS, Err(error));
            end(None)
        }
    })
}

/// The records of an agent that owes an artifact to a state elsewhere, in a package say, and left
/// none there.
fn elsewhere(
    context: &Context<'_>,
    around: &[GateScope<'_>],
    agent: &AgentName,
    by: &GateRecord,
) -> Vec<GateRecord> {
    let mut records = Vec::new();
    for scope in around {
        if !scope.is_here()
            && scope.held(agent).is_some()
            && let Some(dir) = known_elsewhere(context, scope)
        {
            let shown = gates::display_path(&context.project, Path::new(&dir));
            let why =
                format!("no state is around the agent, and it wrote no artifact in `{shown}`");
            let record = GateRecord::of("", Err(why));
            records.push(record.stamped(by, scope.governed.id(), shown, context.now.get()));
        }
    }
    records
}

/// The first state directory of a system that the recorder has seen, else one that no event has
/// named yet: only for the end of an agent of that system is the project walked.
fn known_elsewhere(context: &Context<'_>, scope: &GateScope<'_>) -> Option<String> {
    seen_elsewhere(context, scope).or_else(|| {
        let sites = sites::find(&context.project, context.registry);
        let id = scope.governed.id();
        let mut of_system = sites.iter().filter(|site| site.governed.id() == id);
        of_system.next().map(|site| site.dir().to_owned())
    })
}

fn seen_elsewhere(context: &Context<'_>, scope: &GateScope<'_>) -> Option<String> {
    let inside = format!("/{}/", scope.governed.system.info().gate_dir?);
    let index = Index::read(context.project.memory()).ok()??;
    let files = index
        .entries()
        .map(|(file, _)| path::from_os(Path::new(file)));
    let dirs = files.filter_map(|file| Some(file[..file.find(&inside)?].to_owned()));
    Some(path::below(&dirs.min()?, inside.trim_matches('/')))
}

/// Carries the end of a run into the states; once, where runs can be counted.
fn end_run(
    context: &Context<'_>,
    event: &Event<'_>,
    ending: &AgentResult,
    plan: &Plan<'_>,
    locked: Option<&Locked<'_>>,
) -> Reply {
    let mut runs = locked.map_or_else(Runs::default, |_| Runs::read(&context.project));
    let id = ending.agent_id.as_deref().unwrap_or_default();
    let run = runs.get(event.session(), id);
    // The end before a second one was blocked, by whatever hook, and did not count.
    if run.is_counted && ending.reported_by != ReportedBy::SecondStop {
        return Reply::Silent;
    }
    if let Some(objection) = objection(event, ending, plan, &run) {
        let why = objection.map(|why| plan.skip_all(&why));
        append_gates(context, locked, &why.unwrap_or_default());
        return Reply::Silent;
    }
    let owed = owed_before_the_end(context, plan);
    if ending.reported_by == ReportedBy::Stop && !run.was_sent_back && !owed.is_empty() {
        let reason = send_back(&owed, IN_A_MESSAGE);
        return Reply::Block { reason };
    }
    let mut records = Vec::new();
    let written = write_gates(context, plan, &mut records);
    // Where a file could not be written, the run's second event is another chance.
    if let Some(locked) = locked
        && !id.is_empty()
        && written.is_ok()
    {
        runs.note(event.session(), id, |run| {
            run.is_counted = true;
            run.tests.clear();
        });
        // The gate has moved; at worst the run's second event is applied as well.
        context.warn_about(RUNS, runs.write(&context.project, locked));
    }
    append_gates(context, locked, &records);
    if context.rules.settings.completion != Strictness::Off {
        for owed in plan.missing() {
            let note = note_of_owed(context, event, &owed);
            append(context, locked, &context.logs().events(), &[note]);
        }
    }
    Reply::Silent
}

/// Why an end moves nothing, if it does; the inner `None` is the second event of one end, which
/// says nothing new.
fn objection(
    event: &Event<'_>,
    ending: &AgentResult,
    plan: &Plan<'_>,
    run: &Run,
) -> Option<Option<String>> {
    const TESTING: &str = "a test that the agent began still runs in the background";
    const WORDLESS: &str = "the agent's final text is empty";
    let is_launchers = ending.reported_by == ReportedBy::Launcher;
    let mut tests = run.tests.iter();
    let is_testing = tests.any(|test| is_launchers || is_running(event, test));
    let said_nothing = plan.is_wordless().then_some(WORDLESS);
    let unsaid = is_testing.then_some(TESTING).or(said_nothing);
    let why = ending.ended.objection().or(unsaid.map(str::to_owned))?;
    Some((!(is_launchers && is_testing)).then_some(why))
}

/// What is recorded of an artifact that is owed.
fn note_of_owed(
    context: &Context<'_>,
    event: &Event<'_>,
    (scope, owed): &(&GateScope<'_>, Missing),
) -> Record {
    let path = scope.place_of(owed);
    let reason = format!("`{path}` is owed: {}", owed.why);
    let mut record = Record::new(What::Warn, &reason, Some(event), context.now.get());
    record.system = Some(scope.governed.id().to_owned());
    record.file_path = Some(path);
    record.name = Some(owed.file.clone());
    record
}

/// Whether the end of an agent lists a task as one that goes on.
fn is_running(event: &Event<'_>, task: &str) -> bool {
    let listed = event.background_tasks.value();
    let mut tasks = listed.as_array().into_iter().flatten();
    tasks.any(|listed| listed["id"] == *task && listed["status"] == "running")
}

/// What an event of an agent, or of the main thread, leads to in the states around it.
fn plan<'a>(
    context: &Context<'_>,
    event: &Event<'_>,
    agent_event: AgentEvent<'a>,
    around: &'a [GateScope<'a>],
) -> Plan<'a> {
    let session = event.session_id.get();
    let by = match event.actor() {
        Actor::Main => GateRecord::by(session, None, None),
        _ => GateRecord::by(session, event.agent_type.get(), event.agent_id.get()),
    };
    Plan::new(around, agent_event, by, context.now.get())
}

/// Carries a plan out. A file that could not be written has its record.
fn carry_out(context: &Context<'_>, plan: &Plan<'_>) -> Vec<GateRecord> {
    let mut records = Vec::new();
    write_gates(context, plan, &mut records).ok();
    records
}

/// Carries an event into the states, so that no call is taken for its author.
fn write_gates(
    context: &Context<'_>,
    plan: &Plan<'_>,
    records: &mut Vec<GateRecord>,
) -> io::Result<()> {
    let files = plan.files_to_change();
    if files.is_empty() {
        return plan.carry_out(records);
    }
    let main = &context.project.main;
    let planned = WritesTo::Files(files.iter().map(|file| main.path(file)).collect());
    let by = Caller::ourselves("gate");
    Recorder::of(context).own_writes_at(&planned, &by, IN_HOOK, &mut || {
        let written = plan.carry_out(records);
        let changed = records.iter().filter(|record| record.is_change());
        let files = changed.map(|record| main.path(&record.file)).collect();
        (written, WritesTo::Files(files))
    })
}

/// Appends gate records; where that fails the gate changes stay.
fn append_gates(context: &Context<'_>, locked: Option<&Locked<'_>>, records: &[GateRecord]) {
    append(context, locked, &context.logs().gates(), records);
}

/// Appends to a log in the program's own folder, which may be locked already.
fn append(
    context: &Context<'_>,
    locked: Option<&Locked<'_>>,
    log: &LogFile,
    records: &[impl LogLine],
) {
    let (Some(locked), Some(first)) = (locked, records.first()) else {
        records
            .iter()
            .for_each(|record| context.append(log, record));
        return;
    };
    let lines: Vec<String> = records.iter().map(LogLine::to_line).collect();
    let max_bytes = context.rules.settings.log_max_bytes;
    let written = log.append_all_locked(locked, &lines, max_bytes, first.ts());
    warn::unwritten(&log.path(), written);
}
