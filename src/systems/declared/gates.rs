//! The gates of a declared system: which agent works for which, what is open, and what is shown.

use chrono::{DateTime, Utc};

use super::directories::{Directories, DirectoryRun, Layout};
use super::step::Step;
use crate::base::actor::AgentName;
use crate::base::{clock, path};
use crate::settings::gates::{GateRule, MAIN, Need};
use crate::settings::model::Declared;
use crate::systems::gate_record::{GateRecord, Outcome};
use crate::systems::system::{AgentEvent, ClosedGate, Effects, Files, of_no_gate};
use crate::systems::workflow::{Gate, GateStatus, NextStep, UnreadableState, Workflow};

/// Where the states of declared systems are, below the root.
pub const DIR: &str = ".claude/statewarden/gates";

/// The state file of a system.
pub fn file_of(id: &str) -> String {
    format!("{DIR}/{id}.json")
}

/// The gates of one system.
#[derive(Clone, Copy)]
pub struct Gates<'s> {
    id: &'s str,
    declared: &'s Declared,
    pub(super) layout: Layout,
}

impl<'s> Gates<'s> {
    pub fn of(id: &'s str, declared: &'s Declared) -> Self {
        let is_one = matches!(declared.sites.as_slice(), [site] if site.as_name().is_some());
        Self {
            id,
            declared,
            layout: if is_one { Layout::One } else { Layout::Many },
        }
    }

    pub(super) fn file(&self) -> String {
        file_of(self.id)
    }

    pub(super) fn rules(&self) -> &'s [GateRule] {
        &self.declared.gates
    }

    pub fn is_of_gate(&self, agent: &AgentName) -> bool {
        self.declared.gate_agents.contains(agent)
    }

    /// Whether a gate of the main thread needs an entry.
    pub fn are_moved_by(&self, entry: &str) -> bool {
        let mut rules = self.rules().iter().filter(|rule| rule.main);
        rules.any(|rule| needed_files(rule).any(|needed| needed == entry))
    }

    /// The gate that an agent works for: of several the one that has begun, else the first
    /// that is open.
    pub(super) fn rule_of(&self, agent: &AgentName, run: &DirectoryRun) -> Option<&'s GateRule> {
        let own = || self.rules().iter().filter(|rule| is_of(rule, agent));
        let begun = own().find(|rule| run.status(rule) == Some(GateStatus::InProgress));
        begun
            .or_else(|| own().find(|rule| run.status(rule) != Some(GateStatus::Passed)))
            .or_else(|| own().next_back())
    }

    /// The gates that come after one, by whatever way: each is below those before it.
    pub(super) fn after<'r>(&'r self, name: &'r str) -> Vec<&'r str> {
        let mut found = vec![name];
        for rule in self.rules() {
            if rule
                .after
                .iter()
                .any(|before| found.contains(&before.as_str()))
            {
                found.push(&rule.name);
            }
        }
        found.remove(0);
        found
    }

    /// The main thread is [`MAIN`] here.
    pub fn at(&self, event: AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        let main = AgentName::parse(MAIN);
        let agent = event.agent().unwrap_or(&main);
        let is_of_gate = self.is_of_gate(agent);
        let is_end = matches!(event, AgentEvent::End { .. });
        if !is_of_gate && !is_end || files.sites().is_empty() {
            return Effects::default();
        }
        match Directories::read(*self, files) {
            Ok(dirs) if is_of_gate => {
                let step = Step {
                    gates: *self,
                    files,
                    agent,
                    dirs,
                    now: &clock::seconds(now),
                };
                step.take(event)
            }
            Ok(dirs) if dirs.has_active() => Effects::of([of_no_gate(&self.file(), agent)]),
            Err(why) if is_of_gate => Effects::of([self.record("", Err(why))]),
            _ => Effects::default(),
        }
    }

    /// No gate has begun: the files of the run are gone.
    ///
    /// # Errors
    /// The state file cannot be read.
    pub fn reset(&self, files: &dyn Files, now: DateTime<Utc>) -> Outcome {
        let dirs = Directories::read(*self, files)?;
        let now = clock::seconds(now);
        let mut moves = Vec::new();
        for dir in dirs.known() {
            let mut run = dirs.run_in(dir);
            for rule in self.rules() {
                let moved = run.set(&rule.name, GateStatus::Pending, None, &now);
                moves.extend((moved.from != moved.to).then_some(moved));
            }
        }
        Ok(GateRecord {
            moves,
            text: dirs.none_begun(&now),
            ..GateRecord::default()
        })
    }

    /// The gate before an agent's phase that has not passed: in the directory that its task
    /// names, else in the only one that is open, else in all of them.
    pub fn closed_gate(
        &self,
        agent: &AgentName,
        task: &str,
        files: &dyn Files,
    ) -> Option<ClosedGate> {
        if !self.is_of_gate(agent) || files.sites().is_empty() {
            return None;
        }
        let file = self.file();
        let dirs = match Directories::read(*self, files) {
            Ok(dirs) => dirs,
            Err(why) => return Some(ClosedGate::unknown(&file, &why)),
        };
        let candidates = match dirs.named_in(task) {
            named if named.is_empty() => dirs.open(),
            named => named,
        };
        let closed = candidates.iter().map(|dir| {
            let run = dirs.run_in(dir);
            let before = run.closed_before(self.rule_of(agent, &run)?)?;
            let place = match self.layout {
                Layout::One => &file,
                Layout::Many => dir,
            };
            Some(ClosedGate::unmet(&file, place, &before.name, before.status))
        });
        closed.collect::<Option<Vec<_>>>()?.into_iter().next()
    }

    /// The files of the sites that an agent's gates need.
    pub fn artifacts_of(&self, agent: &AgentName, files: &dyn Files) -> Vec<String> {
        let own = self.rules().iter().filter(|rule| is_of(rule, agent));
        let names: Vec<&str> = own.flat_map(needed_files).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let sites = files.sites().into_iter();
        sites
            .flat_map(|site| names.iter().map(move |name| path::below(&site, name)))
            .collect()
    }

    /// The gates that a command can show now, with the command: those of an active run, and of
    /// an agent that works, or the main thread, where none is yet.
    pub fn commands(&self, files: &dyn Files) -> Vec<(&'s str, &'s str)> {
        if !self.declared.needs_commands {
            return Vec::new();
        }
        let all: Vec<_> = self.rules().iter().flat_map(commands_of).collect();
        let agents = files.running_agents();
        if agents.iter().any(|agent| self.is_of_gate(agent)) {
            return all;
        }
        let mut mains = self.rules().iter().filter(|rule| rule.main);
        let is_mains = mains.any(|rule| commands_of(rule).next().is_some());
        match Directories::read(*self, files) {
            Ok(dirs) if dirs.has_active() || is_mains && dirs.has_open() => all,
            _ => Vec::new(),
        }
    }

    /// When the run began, where there is one.
    pub fn workflow_id(&self, files: &dyn Files) -> Option<String> {
        Directories::read(*self, files).ok()?.started_at()
    }

    /// The runs, one a directory.
    ///
    /// # Errors
    /// The state file cannot be read.
    pub fn runs(&self, files: &dyn Files) -> Result<Vec<Workflow>, UnreadableState> {
        let dirs = Directories::read(*self, files)
            .map_err(|why| UnreadableState::new(&self.file(), why))?;
        Ok(match self.layout {
            Layout::One => vec![self.workflow(None, dirs.run_in(""))],
            Layout::Many => {
                let names = dirs.names.iter();
                names
                    .map(|dir| self.workflow(Some(dir.clone()), dirs.run_in(dir)))
                    .collect()
            }
        })
    }

    fn workflow(&self, directory: Option<String>, run: DirectoryRun) -> Workflow {
        let mut gates = run.gates.iter();
        let begun = gates.find(|gate| gate.status == GateStatus::InProgress);
        let mut open = run.gates.iter().filter(|gate| !gate.status.has_passed());
        let current = begun.or_else(|| open.next());
        Workflow {
            directory,
            active: run.is_active(),
            phase: current.map(|gate| gate.name.clone()),
            next: self.next(&run, current),
            gates: run.gates,
            updated_at: run.updated_at,
            started_at: run.started_at,
            ..Workflow::new(self.id, &self.file())
        }
    }

    fn next(&self, run: &DirectoryRun, current: Option<&Gate>) -> NextStep {
        let rule = current.and_then(|gate| self.rules().iter().find(|rule| rule.name == gate.name));
        match rule {
            None => NextStep::nothing("every gate has passed"),
            Some(_) if !run.is_active() => NextStep::nothing("no gate has begun"),
            Some(rule) => {
                let names: Vec<_> = rule.agents.iter().map(AgentName::as_str).collect();
                let agents = names.join("` or `");
                let who = match (agents.as_str(), rule.main) {
                    ("", _) => "the main thread".to_owned(),
                    (agents, true) => format!("agent `{agents}` or the main thread"),
                    (agents, false) => format!("agent `{agents}`"),
                };
                format!("{who} for gate `{}`", rule.name).into()
            }
        }
    }
}

/// Whether a gate is passed by the end of an agent, or of a turn of the main thread.
pub(super) fn is_of(rule: &GateRule, agent: &AgentName) -> bool {
    rule.agents.contains(agent) || rule.main && agent.as_str() == MAIN
}

/// The commands that a gate needs, each with its gate.
fn commands_of(rule: &GateRule) -> impl Iterator<Item = (&str, &str)> {
    rule.needs.iter().filter_map(|need| match need {
        Need::Command(line) => Some((rule.name.as_str(), line.as_str())),
        _ => None,
    })
}

/// The files of a directory that a gate needs.
pub(super) fn needed_files(rule: &GateRule) -> impl Iterator<Item = &str> {
    rule.needs.iter().filter_map(|need| match need {
        Need::File { name, .. } => Some(name.as_str()),
        Need::Verdict { place, .. } => place.as_deref(),
        Need::Boxes(name) => Some(name.as_str()),
        Need::Command(_) => None,
    })
}
