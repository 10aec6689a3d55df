//! What the gate log shows: whether a gate that passed was proved, and which test
//! commands ran.

use std::cell::OnceCell;
use std::path::PathBuf;

use chrono::DateTime;

use crate::base::disk::bounded_read;
use crate::host::event::{Event, Kind, Tool};
use crate::lifecycle::gates::{self, About, GateRecord};
use crate::lifecycle::test_command::decisive;
use crate::lifecycle::{agents, test_command};
use crate::log::append::LogFile;
use crate::log::redact;
use crate::project::context::Context;
use crate::project::files::InDir;
use crate::project::roots::Project;
use crate::settings::model::EvidenceMode;
use crate::systems::system::Files as _;
use crate::systems::workflow::{Gate, GateStatus, Proof, Standing, Workflow};
use crate::systems::{agent_flow, devt, groups};

/// How much of the log's end a hook reads.
pub const RECENT: u64 = 512 * 1024;

/// The records of the gate log, oldest first.
#[derive(Default)]
pub struct GateLog {
    records: Vec<GateRecord>,
}

impl GateLog {
    /// Reads the last `max` bytes; a log that is not there, or a line that cannot be read,
    /// shows nothing.
    pub fn read(log: &LogFile, max: u64) -> Self {
        let mut left = max;
        let mut files: Vec<(PathBuf, u64)> = Vec::new();
        for file in std::iter::once(log.path()).chain(log.generations().into_iter().rev()) {
            let len = bounded_read::open(&file).map_or(0, |(_, len)| len);
            files.push((file, left));
            left = left.saturating_sub(len);
            if left == 0 {
                break;
            }
        }
        let mut records = Vec::new();
        for (file, max) in files.iter().rev() {
            let _ = bounded_read::tail(file, *max, &mut |line| {
                records.extend(serde_json::from_str::<GateRecord>(line));
            });
        }
        Self { records }
    }

    /// The latest record of a run that moved a gate, and where it moved it to.
    pub fn latest(
        &self,
        project: &Project,
        run: &Workflow,
        gate: &Gate,
    ) -> Option<(&GateRecord, GateStatus)> {
        let begun = run.started_at.as_deref().map(DateTime::parse_from_rfc3339);
        let is_of_run = |record: &&GateRecord| {
            let at = DateTime::parse_from_rfc3339(&record.ts);
            let is_earlier = matches!((&begun, &at), (Some(Ok(begun)), Ok(at)) if at < begun);
            record.system == run.system && is_same(project, &record.file, &run.file) && !is_earlier
        };
        let mut records = self.records.iter().rev().filter(is_of_run);
        records.find_map(|record| Some((record, moved_to(record, gate)?)))
    }

    /// Says of every gate that passed what stands behind it.
    pub fn mark(&self, project: &Project, run: &mut Workflow) {
        let standings: Vec<_> = run
            .gates
            .iter()
            .map(|gate| self.standing(project, run, gate))
            .collect();
        for (gate, standing) in run.gates.iter_mut().zip(standings) {
            gate.standing = standing;
        }
    }

    fn standing(&self, project: &Project, run: &Workflow, gate: &Gate) -> Option<Standing> {
        if gate.status != GateStatus::Passed {
            return None;
        }
        if run.system == groups::ID {
            return Some(Standing::Proved);
        }
        Some(match self.latest(project, run, gate) {
            Some((record, GateStatus::Passed)) => {
                match record.unsupported.is_none() && !record.proof.is_empty() {
                    true => Standing::Proved,
                    false => Standing::OnItsWord,
                }
            }
            _ => Standing::OnlyInFile,
        })
    }

    /// The last test that passed since a run left the phases before these.
    pub fn passed_test(&self, project: &Project, file: &str, phases: &[&str]) -> Option<&Proof> {
        let of_run = |record: &&GateRecord| is_same(project, &record.file, file);
        let records = self.records.iter().rev().filter(of_run);
        let mut since = records.take_while(|record| {
            let phase = record.phase.as_deref();
            record.command.is_some() || phase.is_none_or(|phase| phases.contains(&phase))
        });
        since.find_map(|record| {
            let command = record.command.as_ref();
            command.filter(|command| {
                matches!(
                    command,
                    Proof::Command {
                        status: Some(0),
                        ..
                    }
                )
            })
        })
    }
}

/// What is known around a state beside its files; read when it is first asked for.
pub struct Evidence<'c> {
    pub project: &'c Project,
    pub mode: EvidenceMode,
    log: OnceCell<GateLog>,
}

impl<'c> Evidence<'c> {
    pub fn of(context: &'c Context<'_>) -> Self {
        Self {
            project: &context.project,
            mode: context.rules.settings.evidence,
            log: OnceCell::new(),
        }
    }

    pub fn log(&self) -> &GateLog {
        let read = || GateLog::read(&self.project.logs().gates(), RECENT);
        self.log.get_or_init(read)
    }
}

/// `PostToolUse` and `PostToolUseFailure` of a command: a test that ran while a run of
/// Agent Flow is active leaves one record.
pub fn command_ended(context: &Context<'_>, event: &Event<'_>) {
    let line = event.input.command.as_str();
    let is_over = event.response.background_task_id.get().is_none();
    if !matches!(event.tool(), Tool::Shell(_)) || !is_over {
        return;
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
    let decisive = decisive(line);
    if !decisive
        .iter()
        .any(|words| test_command::is_test(words, &own))
    {
        return;
    }
    for (file, phase) in agent_flow::active_runs(&files) {
        let about = About {
            event: Some(event),
            agent_type: event.agent_type(),
            agent_id: event.agent_id.get(),
        };
        let file = gates::shown(&context.project, &dir.join(file));
        let mut record = GateRecord::new(&about, agent_flow::ID, &file, context.now.get());
        record.phase = phase.map(|phase| phase.to_string());
        record.command = Some(Proof::Command {
            line: redact::excerpt(line),
            status: status(event),
            at: record.ts.clone(),
        });
        agents::append_gates(context, [record]);
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

/// Records name a file relative to the main checkout where they can.
fn is_same(project: &Project, one: &str, other: &str) -> bool {
    let absolute = |file: &str| project.main.path(file);
    one == other || absolute(one) == absolute(other)
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
