//! What the gate log shows: whether a gate that passed was proved, and which test
//! commands ran.

use std::path::PathBuf;

use chrono::DateTime;

use crate::base::disk::bounded_read;
use crate::lifecycle::gates::GateRecord;
use crate::log::append::LogFile;
use crate::project::roots::Project;
use crate::systems::workflow::{Gate, GateStatus, Proof, Standing, Workflow};
use crate::systems::{devt, groups};

/// How much of the log's end a hook reads.
pub const RECENT: u64 = 512 * 1024;

/// The records of the gate log, oldest first.
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
            command.filter(|command| matches!(command, Proof::Command { status: Some(0), .. }))
        })
    }
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
