//! What the gate log shows: whether a gate that passed was proved, and which test
//! commands ran.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use chrono::{DateTime, TimeDelta};

use crate::base::actor::AgentName;
use crate::base::{clock, path};
use crate::host::event::{Event, Kind, Tool};
use crate::lifecycle::counted_runs::{Began, Runs};
use crate::lifecycle::gates::{self, About, GateRecord, GateScope};
use crate::lifecycle::test_command;
use crate::log::redact;
use crate::project::context::Context;
use crate::project::files::InDir;
use crate::project::roots::Project;
use crate::recorder::changes::{self, ChangeRecord};
use crate::recorder::contents::Contents;
use crate::recorder::entry::BlobId;
use crate::recorder::mediate;
use crate::settings::model::EvidenceMode;
use crate::shell::decisive;
use crate::store::modified;
use crate::systems::devt::workflow_yaml::{self, Fields};
use crate::systems::groups::report::ReportKind;
use crate::systems::groups::tasks;
use crate::systems::system::Files as _;
use crate::systems::workflow::{Gate, GateStatus, Proof, Standing, Workflow};
use crate::systems::{agent_flow, declared, devt, groups};

/// How much of the log's end a hook reads.
pub const RECENT: u64 = 512 * 1024;

/// The records of the gate log, oldest first.
pub struct GateLog<'p> {
    pub project: &'p Project,
    records: Rc<[GateRecord]>,
}

impl<'p> GateLog<'p> {
    /// Reads the last `max` bytes.
    pub fn read(project: &'p Project, max: u64) -> Self {
        let (log, mut records) = (project.logs().gates(), Vec::new());
        log.each(max, &mut |record| records.push(record));
        let records = records.into();
        Self { project, records }
    }

    /// The latest record of a run that moved a gate, and where it moved it to.
    pub fn latest(&self, run: &Workflow, gate: &Gate) -> Option<(&GateRecord, GateStatus)> {
        let mut records = self.records_of(run);
        records.find_map(|record| Some((record, moved_to(record, gate)?)))
    }

    /// The records of a run, newest first.
    fn records_of(&self, run: &Workflow) -> impl Iterator<Item = &GateRecord> {
        let begun = run.started_at.as_deref().and_then(clock::parse);
        let is_of_run = move |record: &&GateRecord| {
            let at = clock::parse(&record.ts);
            let is_earlier = at < begun && at.is_some();
            record.system == run.system && self.is_same(&record.file, &run.file) && !is_earlier
        };
        self.records.iter().rev().filter(is_of_run)
    }

    /// Says of every gate that passed what stands behind it.
    pub fn mark(&self, run: &mut Workflow) {
        if run.system == devt::ID && !self.speaks_of_phase(run) {
            devt::gate::has_just_begun(run);
        }
        let mut gates = std::mem::take(&mut run.gates);
        for gate in &mut gates {
            let latest = self.latest(run, gate);
            gate.standing = standing(&run.system, gate.status, latest);
            let latest = latest.filter(|(_, status)| *status == gate.status);
            // Where the file does not keep it.
            if let Some((record, _)) = latest.filter(|_| gate.timestamp.is_none()) {
                let agent = record.agent_type.as_deref().map(AgentName::parse);
                let agent = agent.map(|agent| agent.as_str().to_owned());
                gate.timestamp = Some(record.ts.clone());
                gate.agent = gate.agent.take().or(agent);
            }
        }
        run.gates = gates;
    }

    /// Whether the status in a `workflow.yaml` is of its present phase, and not left from the
    /// one before. Where nothing is known of the run, the file is believed.
    pub fn speaks_of_phase(&self, run: &Workflow) -> bool {
        let Some(phase) = run.phase.as_deref() else {
            return true;
        };
        let mut records = self.records_of(run).filter(|record| record.phase.is_some());
        let mut records = records.by_ref().peekable();
        if records.peek().is_none() {
            return true;
        }
        let judge = devt::gate::judged_by(phase).map(|judge| judge.file);
        let mut in_phase = records.take_while(|record| record.phase.as_deref() == Some(phase));
        let is_own = |gate: &str| gate == phase || judge.is_none_or(|judge| gate == judge);
        in_phase.any(|record| record.gate.as_deref().is_some_and(is_own))
            || was_set_in(self.project, &self.project.main.path(&run.file), phase)
    }

    /// The last command that was seen for a gate, since then.
    pub fn last_command(&self, file: &str, gate: &str, since: Option<&str>) -> Option<&Proof> {
        let since = since.and_then(clock::parse);
        let of_gate = |record: &&GateRecord| {
            record.command.is_some()
                && record.gate.as_deref() == Some(gate)
                && self.is_same(&record.file, file)
                && clock::parse(&record.ts) >= since
        };
        let last = self.records.iter().rev().find(of_gate)?;
        last.command.as_ref()
    }

    /// The last test that passed since a run left the phases before these.
    pub fn passed_test(&self, file: &str, phases: &[&str]) -> Option<&Proof> {
        let records_of = |record: &&GateRecord| self.is_same(&record.file, file);
        let records = self.records.iter().rev().filter(records_of);
        let mut since = records.take_while(|record| {
            let phase = record.phase.as_deref();
            phase.is_none_or(|phase| phases.contains(&phase))
        });
        let passed =
            |proof: &&Proof| matches!(proof, Proof::Command { status, .. } if *status == Some(0));
        since.find_map(|record| record.command.as_ref().filter(passed))
    }

    /// Records name a file relative to the main checkout where they can.
    fn is_same(&self, one: &str, other: &str) -> bool {
        let absolute = |file: &str| self.project.main.path(file);
        one == other || absolute(one) == absolute(other)
    }
}

/// The evidence for a gate that passed, from the latest record that moved it.
fn standing(
    system: &str,
    status: GateStatus,
    latest: Option<(&GateRecord, GateStatus)>,
) -> Option<Standing> {
    let is_proved = |record: &GateRecord| record.unsupported.is_none() && !record.proof.is_empty();
    (status == GateStatus::Passed).then_some(match latest {
        _ if system == groups::ID => Standing::Proved,
        Some((record, GateStatus::Passed)) if is_proved(record) => Standing::Proved,
        Some((_, GateStatus::Passed)) => Standing::OnItsWord,
        _ => Standing::OnlyInFile,
    })
}

/// Whether the latest change of a `workflow.yaml` that is recorded set its status, by
/// whatever program, while it was in this phase.
fn was_set_in(project: &Project, file: &str, phase: &str) -> bool {
    let recorder = mediate::dir(project);
    let contents = Contents::of(&recorder);
    let read = |blob: Option<BlobId>| {
        let text = blob.and_then(|blob| contents.get(blob)).unwrap_or_default();
        workflow_yaml::read(&String::from_utf8_lossy(&text))
    };
    let mut is_set = false;
    changes::log(&recorder).each(RECENT, &mut |change: ChangeRecord| {
        if change.path == file && change.tool.as_deref() != Some("gate") {
            let (before, after) = (read(change.before), read(change.after));
            let said = |fields: &Fields| ["status", "verdict"].map(|key| fields.get(key).cloned());
            let phase = Some(phase);
            is_set = after.text("phase") == phase
                && (said(&before) != said(&after) || is_set && before.text("phase") == phase);
        }
    });
    is_set
}

/// The verdict files beside a `tasks.md` that are older than the last change of a box of their
/// group that the change log knows.
pub fn outdated(project: &Project, tasks: &Path) -> Vec<String> {
    let Some(dir) = tasks.parent() else {
        return Vec::new();
    };
    let recorder = mediate::dir(project);
    let contents = Contents::of(&recorder);
    let boxes = |blob: Option<BlobId>| {
        let text = contents.get(blob?)?;
        let groups = tasks::parse(&String::from_utf8_lossy(&text)).groups;
        let counts = groups.iter().map(|group| (group.number, group.boxes()));
        Some(counts.collect::<HashMap<_, _>>())
    };
    let (path, mut changed) = (path::from_os(tasks), HashMap::new());
    changes::log(&recorder).each(RECENT, &mut |change: ChangeRecord| {
        if change.path == path
            && let (Some(before), Some(after)) = (boxes(change.before), boxes(change.after))
            && let Some(at) = clock::parse(&change.ts)
        {
            let differ = |(number, boxes): &(u32, _)| before.get(number) != Some(boxes);
            let differing = after.into_iter().filter(differ);
            changed.extend(differing.map(|(number, _)| (number, at)));
        }
    });
    let modified = |file: &Path| fs::metadata(file).ok().map(|meta| modified(&meta));
    let kinds = [ReportKind::TestReport, ReportKind::Review];
    let verdicts = changed
        .iter()
        .flat_map(|(number, at)| kinds.map(|kind| (kind.path(*number), *at)));
    // A call may have changed the boxes long before it ended.
    let is_older = |(verdict, at): &(String, DateTime<_>)| {
        let at = modified(tasks).map_or(*at, |ticked| ticked.min(*at));
        modified(&dir.join(verdict)).is_some_and(|judged| judged < at)
    };
    let older = verdicts.filter(is_older);
    older.map(|(verdict, _)| verdict).collect()
}

/// What is known around a state beside its files; read when it is first asked for.
pub struct Evidence<'c> {
    pub project: &'c Project,
    pub mode: EvidenceMode,
    /// The agent that ends, and how it began.
    agent: Option<AgentName>,
    began: Option<Began>,
    log: OnceCell<Rc<[GateRecord]>>,
}

/// devt's own: clocks of files and programs differ.
const TOLERANCE: TimeDelta = TimeDelta::seconds(30);

impl<'c> Evidence<'c> {
    pub fn of(context: &'c Context<'_>) -> Self {
        Self {
            project: &context.project,
            mode: context.rules.settings.evidence,
            agent: None,
            began: None,
            log: OnceCell::new(),
        }
    }

    /// The same at the end of an agent.
    pub fn for_agent(context: &'c Context<'_>, session: &str, name: &str, id: &str) -> Self {
        let runs = Runs::peek(context.logs().own_folder());
        Self {
            agent: Some(AgentName::parse(name)),
            began: runs.get(session, id).began,
            ..Self::of(context)
        }
    }

    /// Why a file is not the work of the agent that ends, in the workflow that began then.
    pub fn left_over(&self, file: &Path, begun: Option<&str>) -> Option<String> {
        let meta = fs::metadata(file).ok()?;
        let begun = begun.and_then(clock::parse);
        if begun.is_some_and(|begun| modified(&meta) < begun - TOLERANCE) {
            return Some("is from before this workflow".to_owned());
        }
        let began = self.began.as_ref()?;
        let path = path::from_os(file);
        let held = began.held.get(&path);
        if held.is_some() && gates::blob(file).as_ref() == held {
            return Some("is what it was when the agent began".to_owned());
        }
        let writer = self.last_writer(&path, &began.at)?;
        let agent = self.agent.as_ref();
        let is_own = agent.is_none_or(|agent| agent.as_str() == writer);
        (!is_own && writer != "statewarden").then(|| format!("was last written by `{writer}`"))
    }

    /// Who is certain to have changed a file last, since then.
    fn last_writer(&self, path: &str, since: &str) -> Option<String> {
        let mut last = None;
        let log = changes::log(&mediate::dir(self.project));
        log.each(RECENT, &mut |change: ChangeRecord| {
            if change.path == path && *change.ts >= *since {
                last = change.actor.filter(|_| change.certain);
            }
        });
        last
    }

    pub fn log(&self) -> GateLog<'c> {
        let project = self.project;
        let read = || GateLog::read(project, RECENT).records;
        let records = self.log.get_or_init(read).clone();
        GateLog { project, records }
    }
}

/// `PostToolUse` and `PostToolUseFailure` of a command: one that a gate of an active run needs,
/// and a test while a run of Agent Flow is active, leave one record each.
pub fn command_ended(context: &Context<'_>, event: &Event<'_>) {
    let line = event.input.command.as_str();
    let is_over = event.response.background_task_id.get().is_none()
        && event.input.run_in_background.value() != true;
    if !matches!(event.tool(), Tool::Shell(_)) || !is_over {
        return;
    }
    let decisive_commands = decisive(line);
    if decisive_commands.is_empty() {
        return;
    }
    let is_one_of = |own: &[Vec<String>]| {
        let mut commands = decisive_commands.iter();
        commands.any(|words| test_command::is_test(words, own))
    };
    let ran = |file: String, system: &str| {
        let about = About {
            event: Some(event),
            agent_type: event.agent_type(),
            agent_id: event.agent_id.get(),
        };
        let mut record = GateRecord::new(&about, system, &file, context.now.get());
        record.command = Some(Proof::Command {
            line: redact::excerpt(line),
            status: status(event),
            at: record.ts.clone(),
        });
        record
    };
    for scope in GateScope::at_roots(context.registry, &context.project) {
        for (gate, command) in scope.governed.system.commands(&scope) {
            let own = decisive(command);
            let mut commands = decisive_commands.iter();
            if commands.any(|words| test_command::is_named(words, &own)) {
                let file = declared::gates::file_of(scope.governed.id());
                let mut record = ran(file, scope.governed.id());
                record.gate = Some(gate.to_owned());
                context.append(&context.logs().gates(), &record);
            }
        }
    }
    let Some(governed) = context.registry.get(agent_flow::ID) else {
        return;
    };
    let Some(dir) = gates::nearest(&context.project, &context.cwd, governed) else {
        return;
    };
    let files = InDir { dir: &dir };
    let own = context.rules.settings.test_commands.iter().cloned();
    let own = own.chain(files.text("test-command"));
    let own: Vec<Vec<String>> = own.flat_map(|own| decisive(&own)).collect();
    if !is_one_of(&own) {
        return;
    }
    for (file, phase) in agent_flow::active_runs(&files) {
        let file = gates::display_path(&context.project, &dir.join(file));
        let mut record = ran(file, agent_flow::ID);
        record.phase = phase.map(|phase| phase.to_string());
        context.append(&context.logs().gates(), &record);
    }
}

/// The exit status of a call; unknown where it was cut off.
fn status(event: &Event<'_>) -> Option<i32> {
    if event.kind() == Kind::PostToolUse {
        return Some(0);
    }
    let error = event.error.as_str().strip_prefix("Exit code ")?;
    let digits = error.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// devt keeps no gates: of its phase, what an agent's artifact set in it counts.
fn moved_to(record: &GateRecord, gate: &Gate) -> Option<GateStatus> {
    let is_phase = record.system == devt::ID && record.phase.as_deref() == Some(&*gate.name);
    let own = record.gate.as_deref().zip(record.to);
    let also = record.also.iter().map(|also| (&*also.gate, also.to));
    let mut moves = own.into_iter().chain(also);
    let moved = moves.find(|(name, _)| *name == gate.name || is_phase)?;
    Some(moved.1)
}
