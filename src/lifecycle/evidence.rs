//! What the gate log shows: whether a gate that passed was proved, and how tests ended.

mod commands;
pub(super) mod output;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::base::actor::AgentName;
use crate::base::clock;
use crate::lifecycle::counted_runs::{Run, Runs};
use crate::lifecycle::freshness::{self, Since};
use crate::lifecycle::gates::authorship::{self, Mover};
use crate::lifecycle::standing::{self, Decisive};
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::settings::model::EvidenceMode;
use crate::systems::gate_record::GateRecord;
use crate::systems::tested::{Freshness, TestNeed, Tested};
use crate::systems::workflow::{Gate, GateStatus, Proof, Standing, Workflow};
use crate::systems::{agentmux, devt, groups};

pub use commands::{background_ended, command_ended, is_test};

pub use crate::log::kept::RECENT;

const START_UNSEEN: &str = "the agent's start was not seen";

/// What the record of a run's beginning says.
const BEGUN: &str = "flow init";

/// The records of the gate log, oldest first.
pub struct GateLog<'p> {
    pub project: &'p Project,
    records: Rc<[GateRecord]>,
}

impl<'p> GateLog<'p> {
    /// Reads the last `max` bytes. A log that is not as this program wrote it proves nothing.
    pub fn read(project: &'p Project, max: u64) -> Self {
        let (log, mut records) = (project.logs().gates(), Vec::new());
        if log.difference(max).is_ok_and(|found| found.is_none()) {
            log.each(max, &mut |record| records.push(record));
        }
        Self {
            project,
            records: records.into(),
        }
    }

    /// The latest record of a run that moved a gate, and where it moved it to. One that passes
    /// again what had passed, without a proof, takes nothing from the one before.
    pub fn latest(&self, run: &Workflow, gate: &Gate) -> Option<(&GateRecord, GateStatus)> {
        let records = self.records_of(run);
        let mut moves = records.filter_map(|record| Some((record, moved_to(record, gate)?)));
        let last = moves.next()?;
        let (repeated, mut earlier) = (last, last);
        while repeats(earlier.0) {
            match moves.next() {
                Some((record, GateStatus::Passed)) => earlier = (record, GateStatus::Passed),
                _ => return Some(repeated),
            }
        }
        Some(earlier)
    }

    /// The records of a run, newest first.
    fn records_of(&self, run: &Workflow) -> impl Iterator<Item = &GateRecord> {
        let begun = run.started_at.as_deref().and_then(clock::parse);
        self.records.iter().rev().filter(move |record| {
            let at = clock::parse(&record.ts);
            let is_earlier = at < begun && at.is_some();
            let is_here = record.directory.is_none() || record.directory == run.directory;
            let is_of_file = record.system == run.system && self.is_same(&record.file, &run.file);
            is_of_file && is_here && !is_earlier
        })
    }

    /// Says of every gate that passed what shows it.
    pub fn mark(&self, run: &mut Workflow) {
        if run.system == devt::ID && !self.speaks_of_phase(run) {
            devt::gate::has_just_begun(run);
        }
        let mut gates = std::mem::take(&mut run.gates);
        let mut movers = None;
        for gate in &mut gates {
            let latest = self.latest(run, gate);
            gate.standing = standing(&run.system, gate.status, latest);
            if gate.standing.is_some() && authorship::keeps_gates_in_one_file(&run.system) {
                let is_earlier = self.is_of_earlier_run(run);
                let moved = movers.get_or_insert_with(|| authorship::movers(self.project, run));
                gate.standing = match (gate.standing, moved.get(&gate.name)) {
                    (_, Some(Mover::Nobody | Mover::Wrong(_))) => Some(Standing::OnlyInFile),
                    (Some(Standing::OnlyInFile), _) => Some(Standing::OnItsWord),
                    _ if is_earlier => Some(Standing::OnItsWord),
                    (standing, _) => standing,
                };
            }
            gate.why = self.why(run, gate).or(gate.why.take());
            // Where the file does not keep it.
            if let Some((record, status)) = latest
                && status == gate.status
                && gate.timestamp.is_none()
            {
                let agent_type = record.agent_type.as_deref();
                let agent = agent_type.map(|name| AgentName::parse(name).as_str().to_owned());
                gate.timestamp = Some(record.ts.clone());
                gate.agent = gate.agent.take().or(agent);
            }
        }
        let is_over = run.active && gates.iter().all(|gate| gate.status.has_passed());
        let mut doubted = gates.iter();
        if is_over
            && let Some(gate) = doubted.find(|gate| gate.standing == Some(Standing::OnlyInFile))
        {
            run.next = format!(
                "nobody who may was seen to pass gate `{}`: its agent ends again, or the user decides",
                gate.name
            );
        }
        run.gates = gates;
    }

    /// Whether the last record of a gate gives the same reason for changing nothing.
    pub fn has_said(&self, new: &GateRecord) -> bool {
        let is_its = |record: &&GateRecord| {
            record.system == new.system
                && self.is_same(&record.file, &new.file)
                && (&record.directory, &record.gate) == (&new.directory, &new.gate)
                && record.command.is_none()
        };
        let last = self.records.iter().rev().find(is_its);
        new.skipped.is_some() && last.is_some_and(|last| last.skipped == new.skipped)
    }

    /// Whether a later run began in the same file: a state that was copied back is none of its.
    pub fn is_of_earlier_run(&self, run: &Workflow) -> bool {
        const SLACK: TimeDelta = TimeDelta::seconds(5);
        let begun = run.started_at.as_deref().and_then(clock::parse);
        let last = self.records.iter().rev().find(|record| {
            record.system == run.system
                && self.is_same(&record.file, &run.file)
                && record.directory == run.directory
                && record.evidence.as_deref() == Some(BEGUN)
        });
        let last_begun = last.and_then(|record| clock::parse(&record.ts));
        begun
            .zip(last_begun)
            .is_some_and(|(begun, last)| begun < last - SLACK)
    }

    /// What the last end of a gate's agent left out, where it has not passed.
    fn why(&self, run: &Workflow, gate: &Gate) -> Option<String> {
        if gate.status.has_passed() || !run.active {
            return None;
        }
        let mut records = self.records_of(run);
        records.find_map(|record| {
            let is_its = record.gate.as_deref() == Some(&*gate.name);
            match (&record.skipped, moved_to(record, gate)) {
                (Some(why), _) if is_its => Some(why.clone()),
                (_, Some(GateStatus::Failed)) => record.evidence.clone(),
                // Each record of devt is of an end, also one that moved nothing.
                (_, Some(status)) if record.system == devt::ID && !status.has_passed() => {
                    record.evidence.clone()
                }
                _ => None,
            }
        })
    }

    /// Whether the status in a `workflow.yaml` is of its present phase, and not left from the
    /// one before. Where nothing is known of the run, the file is believed.
    pub fn speaks_of_phase(&self, run: &Workflow) -> bool {
        let Some(phase) = run.phase.as_deref() else {
            return true;
        };
        let mut records = self
            .records_of(run)
            .filter(|record| record.phase.is_some())
            .peekable();
        if records.peek().is_none() {
            return true;
        }
        let judge = devt::gate::judged_by(phase).map(|judge| judge.file);
        let mut in_phase = records.take_while(|record| record.phase.as_deref() == Some(phase));
        in_phase.any(|record| {
            let gate = record.gate.as_deref();
            gate.is_some_and(|gate| gate == phase || judge.is_none_or(|judge| gate == judge))
        }) || authorship::was_set_in(self.project, &self.project.main.path(&run.file), phase)
    }

    /// The tests of the run in a file, and of one gate where that has a command of its own,
    /// oldest first.
    fn tests<'l>(
        &'l self,
        file: &'l str,
        need: &'l TestNeed<'_>,
    ) -> impl Iterator<Item = &'l GateRecord> {
        let began = need.run_began.and_then(clock::parse);
        self.records.iter().filter(move |record| {
            record.command.is_some()
                && record.gate.as_deref() == need.gate
                && self.is_same(&record.file, file)
                && clock::parse(&record.ts) >= began
        })
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
    // What AgentMux writes is its own to show.
    if status != GateStatus::Passed || system == agentmux::ID {
        return None;
    }
    Some(match latest {
        _ if system == groups::ID => Standing::Proved,
        Some((record, GateStatus::Passed)) => {
            if record.unsupported.is_none() && !record.proof.is_empty() {
                Standing::Proved
            } else if record.stale.is_some() {
                Standing::Stale
            } else {
                Standing::OnItsWord
            }
        }
        _ => Standing::OnlyInFile,
    })
}

/// What is known around a state beside its files; read when it is first asked for.
pub struct Evidence<'c> {
    pub project: &'c Project,
    registry: &'c Registry<'c>,
    pub mode: EvidenceMode,
    /// The agent that ends, by its bare name and as the event has it, and how it began.
    pub agent: Option<AgentName>,
    pub agent_type: String,
    pub run: Run,
    /// Why what passes at the event is not proved by it.
    pub doubt: Option<&'static str>,
    log: OnceCell<Rc<[GateRecord]>>,
    /// What was changed since a test ended: asked once, for a plan is made twice.
    since: RefCell<BTreeMap<DateTime<Utc>, Since>>,
}

impl<'c> Evidence<'c> {
    pub fn of(context: &'c Context<'_>) -> Self {
        Self {
            project: &context.project,
            registry: context.registry,
            mode: context.rules.settings.evidence,
            agent: None,
            agent_type: String::new(),
            run: Run::default(),
            doubt: None,
            log: OnceCell::new(),
            since: RefCell::default(),
        }
    }

    /// The same at the end of an agent.
    pub fn for_agent(context: &'c Context<'_>, session: &str, name: &str, id: &str) -> Self {
        let run = Runs::read(&context.project).get(session, id);
        Self {
            agent: Some(AgentName::parse(name)),
            agent_type: name.to_owned(),
            doubt: run.agent_type.is_none().then_some(START_UNSEEN),
            run,
            ..Self::of(context)
        }
    }

    /// The same for the main thread.
    pub fn for_main(context: &'c Context<'_>) -> Self {
        Self {
            agent: Some(AgentName::parse("main")),
            ..Self::of(context)
        }
    }

    /// How the test ended that a gate needs: the one that decides among those of the run, where
    /// nothing that it tested has changed since.
    pub fn tested(&self, file: &str, need: &TestNeed<'_>) -> Tested {
        let log = self.log();
        let record = match standing::decisive(log.tests(file, need)) {
            Decisive::Passed(record) => record,
            Decisive::Failed(record) => {
                let line = record.command.as_ref().and_then(|command| match command {
                    Proof::Command { line, .. } => Some(line.clone()),
                    _ => None,
                });
                return Tested::Failed {
                    line: line.unwrap_or_default(),
                };
            }
            Decisive::None => {
                let last = log.tests(file, need).last();
                return Tested::Unseen(last.and_then(|record| record.doubt.clone()));
            }
        };
        let (Some(proof), Some(end)) = (record.command.clone(), clock::parse(&record.ts)) else {
            return Tested::Unseen(None);
        };
        match self.since(end) {
            Since::Changed(file) => Tested::Stale { file },
            Since::Unchanged => Tested::Passed {
                proof,
                freshness: Freshness::Asked,
            },
            Since::NotAsked if Some(end) >= need.gate_began.and_then(clock::parse) => {
                Tested::Passed {
                    proof,
                    freshness: Freshness::NotAsked,
                }
            }
            Since::NotAsked => {
                let why = "the last one ended before the gate began";
                Tested::Unseen(Some(why.to_owned()))
            }
        }
    }

    /// What was changed since a test ended, as it was when that was asked first.
    fn since(&self, end: DateTime<Utc>) -> Since {
        let (project, root) = (self.project, self.project.session_root());
        let mut since = self.since.borrow_mut();
        since
            .entry(end)
            .or_insert_with(|| freshness::since(project, self.registry, root, end))
            .clone()
    }

    pub fn log(&self) -> GateLog<'c> {
        let project = self.project;
        let records = self
            .log
            .get_or_init(|| GateLog::read(project, RECENT).records);
        GateLog {
            project,
            records: records.clone(),
        }
    }
}

/// devt keeps no gates: of its phase, what an agent's artifact set in it counts.
/// Whether a record's gate was passed before, and nothing is added to what shows it.
fn repeats(record: &GateRecord) -> bool {
    let passed = Some(GateStatus::Passed);
    record.from == passed && record.to == passed && record.proof.is_empty()
}

fn moved_to(record: &GateRecord, gate: &Gate) -> Option<GateStatus> {
    let is_phase = record.system == devt::ID && record.phase.as_deref() == Some(&*gate.name);
    let own = record.gate.as_deref().zip(record.to);
    let also = record.also.iter().map(|also| (&*also.gate, also.to));
    let mut moves = own.into_iter().chain(also);
    let moved = moves.find(|(name, _)| *name == gate.name || is_phase)?;
    Some(moved.1)
}
