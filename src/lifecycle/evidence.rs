//! What the gate log shows: whether a gate that passed was proved, and how tests ended.

mod commands;
pub(super) mod output;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::rc::Rc;

use chrono::{DateTime, TimeDelta, Utc};
use memchr::memmem::Finder;

use crate::base::actor::AgentName;
use crate::base::clock;
use crate::formats::json;
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
use crate::systems::workflow::{Gate, GateStanding, GateStatus, Proof, Workflow};
use crate::systems::{agentmux, devt, groups};

pub use commands::{background_ended, command_ended, is_test};

pub use crate::log::kept::RECENT;

const START_UNSEEN: &str = "the agent's start was not seen";

/// What the record of a run's beginning says.
const BEGUN: &str = "flow init";

/// The gate log: read when it is first asked, and each line when it can matter.
#[derive(Clone)]
pub struct GateLog<'p> {
    pub project: &'p Project,
    max: u64,
    lines: Rc<LogLines>,
}

/// The lines, the newest first, and where among them a text is, once each was asked for.
#[derive(Default)]
struct LogLines {
    all: OnceCell<Vec<LogLine>>,
    with: RefCell<HashMap<String, Rc<[usize]>>>,
}

/// A line, and the record on it once that was asked for.
struct LogLine {
    text: String,
    /// When it was written.
    ts: Option<String>,
    record: OnceCell<Option<GateRecord>>,
}

impl LogLine {
    fn new(text: &str) -> Self {
        // It is before all that others say in it.
        let ts = text
            .split_once("\"ts\":\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        Self {
            text: text.to_owned(),
            ts: ts.map(|(ts, _)| ts.to_owned()),
            record: OnceCell::new(),
        }
    }

    fn is_before(&self, oldest: &str) -> bool {
        self.ts.as_deref().is_some_and(|ts| ts < oldest)
    }

    fn record(&self) -> Option<&GateRecord> {
        self.record
            .get_or_init(|| serde_json::from_str(&self.text).ok())
            .as_ref()
    }
}

/// Events at once may be recorded in another order than they happened.
const OUT_OF_ORDER: TimeDelta = TimeDelta::minutes(10);

impl<'p> GateLog<'p> {
    /// The last `max` bytes. A log that is not as this program wrote it proves nothing.
    pub fn read(project: &'p Project, max: u64) -> Self {
        Self {
            project,
            max,
            lines: Rc::default(),
        }
    }

    /// The records about a file since then, the newest first, by the lines that may count: the
    /// others are not parsed.
    fn since<'l>(
        &'l self,
        begun: Option<DateTime<Utc>>,
        file: &str,
        may_count: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'l GateRecord> {
        let lines = self.lines();
        let oldest = begun.map(|begun| clock::millis(begun - OUT_OF_ORDER));
        let end = oldest
            .and_then(|oldest| lines.iter().position(|line| line.is_before(&oldest)))
            .unwrap_or(lines.len());
        let name = json::quoted(file.rsplit('/').next().unwrap_or(file));
        let named = self.lines_with(name.trim_start_matches('"'));
        let whole = self.project.main.path(file);
        (0..named.len())
            .map(move |nth| named[nth])
            .take_while(move |at| *at < end)
            .filter(move |at| may_count(&lines[*at].text))
            .filter_map(|at| lines[at].record())
            .filter(move |record| {
                record.file == file || self.project.main.path(&record.file) == whole
            })
    }

    fn lines(&self) -> &[LogLine] {
        let log = self.project.logs().gates();
        self.lines.all.get_or_init(|| {
            let mut lines = Vec::new();
            if log.difference(self.max).is_ok_and(|found| found.is_none()) {
                log.lines_from_end(self.max, &mut |line| {
                    lines.push(LogLine::new(line));
                    ControlFlow::Continue(())
                });
            }
            lines
        })
    }

    /// The places of the lines with a text in them.
    fn lines_with(&self, text: &str) -> Rc<[usize]> {
        if let Some(places) = self.lines.with.borrow().get(text) {
            return places.clone();
        }
        let finder = Finder::new(text);
        let lines = self.lines().iter().enumerate();
        let with = lines.filter(|(_, line)| finder.find(line.text.as_bytes()).is_some());
        let places: Rc<[usize]> = with.map(|(at, _)| at).collect();
        let mut known = self.lines.with.borrow_mut();
        known.insert(text.to_owned(), places.clone());
        places
    }

    /// The latest record of a run that moved a gate, and where it moved it to. One that passes
    /// again what had passed, without a proof, takes nothing from the one before.
    pub fn latest(&self, run: &Workflow, gate: &Gate) -> Option<(&GateRecord, GateStatus)> {
        let records = self.records_of(run, with([json::quoted(&gate.name), "\"to\":".to_owned()]));
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

    /// The records of a run, newest first, by the lines that may count.
    fn records_of<'l>(
        &'l self,
        run: &Workflow,
        may_count: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'l GateRecord> {
        let begun = run.started_at.as_deref().and_then(clock::parse);
        self.since(begun, &run.file, may_count)
            .filter(move |record| {
                let at = begun.and_then(|_| clock::parse(&record.ts));
                let is_earlier = at < begun && at.is_some();
                let is_here = record.directory.is_none() || record.directory == run.directory;
                record.system == run.system && is_here && !is_earlier
            })
    }

    /// Says of every gate that passed what shows it.
    pub fn mark(&self, run: &mut Workflow) {
        if run.system == devt::ID && !self.speaks_of_phase(run) {
            devt::gate::has_just_begun(run);
        }
        let mut gates = run.gates.clone();
        let mut movers = None;
        for gate in &mut gates {
            let latest = self.latest(run, gate);
            gate.standing = standing(&run.system, gate.status, latest);
            if gate.standing.is_some() && authorship::keeps_gates_in_one_file(&run.system) {
                let is_earlier = self.is_of_earlier_run(run);
                let moved = movers.get_or_insert_with(|| authorship::movers(self.project, run));
                gate.standing = match (gate.standing, moved.get(&gate.name)) {
                    (_, Some(Mover::Nobody | Mover::Wrong(_))) => Some(GateStanding::OnlyInFile),
                    (Some(GateStanding::OnlyInFile), _) => Some(GateStanding::OnItsWord),
                    _ if is_earlier => Some(GateStanding::OnItsWord),
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
            && let Some(gate) = doubted.find(|gate| gate.standing == Some(GateStanding::OnlyInFile))
        {
            run.next = format!(
                "nobody who may was seen to pass gate `{}`: its agent ends again, or the user decides",
                gate.name
            )
            .into();
        }
        run.gates = gates;
    }

    /// Whether the last record of a gate gives the same reason for changing nothing.
    pub fn has_said(&self, new: &GateRecord) -> bool {
        if new.skipped.is_none() {
            return false;
        }
        let last = self.since(None, &new.file, |_| true).find(|record| {
            record.system == new.system
                && (&record.directory, &record.gate) == (&new.directory, &new.gate)
                && record.command.is_none()
        });
        last.is_some_and(|last| last.skipped == new.skipped)
    }

    /// Whether a later run began in the same file: a state that was copied back is none of its.
    pub fn is_of_earlier_run(&self, run: &Workflow) -> bool {
        const SLACK: TimeDelta = TimeDelta::seconds(5);
        let begun = run.started_at.as_deref().and_then(clock::parse);
        let beginnings = with([json::quoted(BEGUN)]);
        let last = self.since(begun, &run.file, beginnings).find(|record| {
            record.system == run.system
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
        let mut records = self.records_of(run, with([json::quoted(&gate.name)]));
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
        let has_phase = with(["\"phase\":".to_owned()]);
        if self.records_of(run, &has_phase).next().is_none() {
            return true;
        }
        // Of this phase only what is about a gate says something.
        let is_in_phase = with([format!("\"phase\":{}", json::quoted(phase))]);
        let has_gate = with(["\"gate\":".to_owned()]);
        let records = self.records_of(run, |line| {
            has_phase(line) && (!is_in_phase(line) || has_gate(line))
        });
        let judge = devt::gate::judged_by(phase).map(|judge| judge.file);
        let mut in_phase = records.take_while(|record| record.phase.as_deref() == Some(phase));
        in_phase.any(|record| {
            let gate = record.gate.as_deref();
            gate.is_some_and(|gate| gate == phase || judge.is_none_or(|judge| gate == judge))
        }) || authorship::was_set_in(self.project, &self.project.main.path(&run.file), phase)
    }

    /// The tests of the run in a file, and of one gate where that has a command of its own,
    /// oldest first.
    fn tests<'l>(&'l self, file: &str, need: &TestNeed<'_>) -> Vec<&'l GateRecord> {
        let began = need.run_began.and_then(clock::parse);
        let records = self
            .since(began, file, with(["\"command\"".to_owned()]))
            .filter(|record| {
                record.command.is_some()
                    && record.gate.as_deref() == need.gate
                    && clock::parse(&record.ts) >= began
            });
        let mut tests: Vec<&GateRecord> = records.collect();
        tests.reverse();
        tests
    }
}

/// Whether all of this is in a line.
fn with<const N: usize>(texts: [String; N]) -> impl Fn(&str) -> bool {
    let finders = texts.map(|text| Finder::new(&text).into_owned());
    move |line| {
        let mut all = finders.iter();
        all.all(|finder| finder.find(line.as_bytes()).is_some())
    }
}

/// The evidence for a gate that passed, from the latest record that moved it.
fn standing(
    system: &str,
    status: GateStatus,
    latest: Option<(&GateRecord, GateStatus)>,
) -> Option<GateStanding> {
    // What AgentMux writes is its own to show.
    if status != GateStatus::Passed || system == agentmux::ID {
        return None;
    }
    Some(match latest {
        _ if system == groups::ID => GateStanding::Proved,
        Some((record, GateStatus::Passed)) => {
            if record.unsupported.is_none() && !record.proof.is_empty() {
                GateStanding::Proved
            } else if record.stale.is_some() {
                GateStanding::Stale
            } else {
                GateStanding::OnItsWord
            }
        }
        _ => GateStanding::OnlyInFile,
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
    written: OnceCell<Vec<String>>,
    /// Why what passes at the event is not proved by it.
    pub doubt: Option<&'static str>,
    log: GateLog<'c>,
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
            written: OnceCell::new(),
            doubt: None,
            log: GateLog::read(&context.project, RECENT),
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

    /// The files that the agent wrote in this run.
    pub fn written(&self) -> &[String] {
        self.written
            .get_or_init(|| authorship::written_by(self.project, &self.run))
    }

    /// How the test ended that a gate needs: the one that decides among those of the run, where
    /// nothing that it tested has changed since.
    pub fn tested(&self, file: &str, need: &TestNeed<'_>) -> Tested {
        let tests = self.log.tests(file, need);
        let record = match standing::decisive(tests.iter().copied()) {
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
                let last = tests.last();
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

    pub fn log(&self) -> &GateLog<'c> {
        &self.log
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
