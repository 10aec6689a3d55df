//! The gates of a declared system: the start and the end of agents move them in one state
//! file, of which nobody else is a writer.
//!
//! Names are relative to the root, where the state file and the sites are.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::needs::{AgentEnd, judge};
use crate::base::actor::AgentName;
use crate::base::{clock, path};
use crate::settings::gates::{GateRule, Need};
use crate::settings::model::{Declared, EvidenceMode};
use crate::systems::system::{AgentEvent, ClosedGate, Effects, FileOutcome, Files};
use crate::systems::workflow::{Gate, GateStatus, Move, Outcome, StateChange, Workflow};

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
    rules: &'s [GateRule],
}

/// The state file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// When the run began and last moved: UTC, RFC 3339, seconds.
    started_at: Option<String>,
    updated_at: Option<String>,
    gates: Vec<Gate>,
}

impl State {
    fn get(&self, name: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.name == name)
    }

    fn is_over(&self) -> bool {
        self.gates.iter().all(|gate| gate.status.has_passed())
    }

    fn is_active(&self) -> bool {
        self.started_at.is_some() && !self.is_over()
    }

    /// The first gate before another that has not passed.
    fn closed_before(&self, rule: &GateRule) -> Option<&Gate> {
        let mut before = rule.after.iter().filter_map(|name| self.get(name));
        before.find(|gate| !gate.status.has_passed())
    }

    fn set(
        &mut self,
        name: &str,
        status: GateStatus,
        agent: Option<&AgentName>,
        now: &str,
    ) -> Move {
        let mut from = GateStatus::Pending;
        if let Some(gate) = self.gates.iter_mut().find(|gate| gate.name == name) {
            from = std::mem::replace(&mut gate.status, status);
            gate.timestamp = agent.map(|_| now.to_owned());
            gate.agent = agent.map(AgentName::to_string);
        }
        self.updated_at = Some(now.to_owned());
        Move {
            gate: name.to_owned(),
            from,
            to: status,
        }
    }

    fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.unwrap_or_default() + "\n"
    }
}

impl<'s> Gates<'s> {
    pub fn of(id: &'s str, declared: &'s Declared) -> Self {
        let rules = &declared.gates;
        Self { id, rules }
    }

    fn file(&self) -> String {
        file_of(self.id)
    }

    /// The state of the contract's gates; without a file all are pending.
    fn state(&self, files: &dyn Files) -> Result<State, String> {
        let state = match files.read(&self.file())? {
            None => State::default(),
            Some(text) => {
                let state = serde_json::from_str::<State>(&text);
                state.map_err(|error| format!("`{}` is no state: {error}", self.file()))?
            }
        };
        let pending = |name: &str| Gate::new(name, GateStatus::Pending);
        let known = |name: &str| state.get(name).cloned().unwrap_or_else(|| pending(name));
        let gates = self.rules.iter().map(|rule| known(&rule.name));
        Ok(State {
            gates: gates.collect(),
            ..state
        })
    }

    /// The gate that an agent works for: of several the one that has begun, else the first
    /// that is open.
    fn rule_of(&self, agent: &AgentName, state: &State) -> Option<&'s GateRule> {
        let status = |rule: &GateRule| state.get(&rule.name).map(|gate| gate.status);
        let own = || {
            let rules = self.rules.iter();
            rules.filter(|rule| rule.agents.contains(agent))
        };
        let begun = own().find(|rule| status(rule) == Some(GateStatus::InProgress));
        let open = || own().find(|rule| status(rule) != Some(GateStatus::Passed));
        begun.or_else(open).or_else(|| own().next_back())
    }

    /// The gates that come after one, by whatever way: each stands below those before it.
    fn after<'r>(&'r self, name: &'r str) -> Vec<&'r str> {
        let mut found = vec![name];
        for rule in self.rules {
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

    pub fn at(&self, moment: &AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        let (AgentEvent::AgentStart { agent } | AgentEvent::AgentEnd { agent, .. }) = *moment
        else {
            return Effects::default();
        };
        let is_of_gate = self.rules.iter().any(|rule| rule.agents.contains(agent));
        if !is_of_gate && !self.is_active(files) || files.sites().is_empty() {
            return Effects::default();
        }
        let state = match self.state(files) {
            Ok(state) => state,
            Err(why) => return self.effect(Err(why)),
        };
        let now = clock::seconds(now);
        match (self.rule_of(agent, &state), moment) {
            (Some(rule), AgentEvent::AgentStart { .. }) => {
                let change = self.start(rule, state, agent, &now);
                Effects::of(change.map(|change| FileOutcome::new(&self.file(), Ok(change))))
            }
            (Some(rule), AgentEvent::AgentEnd { reply, .. }) => {
                self.end(rule, state, agent, reply, files, &now)
            }
            (None, AgentEvent::AgentEnd { .. }) => {
                Effects::of([FileOutcome::of_no_gate(&self.file(), agent)])
            }
            _ => Effects::default(),
        }
    }

    fn effect(&self, outcome: Outcome) -> Effects {
        Effects::of([FileOutcome::new(&self.file(), outcome)])
    }

    /// No gate has begun: the files of the run are gone.
    ///
    /// # Errors
    /// The state file cannot be read.
    pub fn reset(&self, files: &dyn Files, now: DateTime<Utc>) -> Outcome {
        let (mut state, now) = (self.state(files)?, clock::seconds(now));
        state.started_at = None;
        let pending = |rule: &GateRule| state.set(&rule.name, GateStatus::Pending, None, &now);
        let mut moves: Vec<Move> = self.rules.iter().map(pending).collect();
        moves.retain(|moved| moved.from != moved.to);
        Ok(StateChange {
            moves,
            ..StateChange::from_text(state.text())
        })
    }

    /// Begins a gate, and with the first one of all a run; what comes after it is to be done
    /// again. `None` where it has begun.
    fn start(
        &self,
        rule: &GateRule,
        mut state: State,
        agent: &AgentName,
        now: &str,
    ) -> Option<StateChange> {
        if state.get(&rule.name)?.status == GateStatus::InProgress {
            return None;
        }
        if state.is_over() && rule.after.is_empty() {
            state.started_at = None;
        }
        state.started_at.get_or_insert_with(|| now.to_owned());
        let mut moves = vec![state.set(&rule.name, GateStatus::InProgress, Some(agent), now)];
        for later in self.after(&rule.name) {
            let moved = state.set(later, GateStatus::Pending, None, now);
            moves.extend((moved.from != moved.to).then_some(moved));
        }
        Some(StateChange {
            text: state.text(),
            moves,
            phase: Some(rule.name.clone()),
            evidence: Some(format!("agent `{agent}` started")),
            ..StateChange::default()
        })
    }

    fn end(
        &self,
        rule: &GateRule,
        mut state: State,
        agent: &AgentName,
        reply: &str,
        files: &dyn Files,
        now: &str,
    ) -> Effects {
        if let Some(before) = state.closed_before(rule) {
            return self.effect(Err(format!(
                "gate `{}` comes after `{}`, which is `{}`",
                rule.name,
                before.name,
                before.status.as_str()
            )));
        }
        let own = state.get(&rule.name);
        let begun = own.filter(|own| own.status == GateStatus::InProgress);
        let found = judge(
            rule,
            AgentEnd {
                reply,
                files,
                state_file: &self.file(),
                run_began: state.started_at.as_deref(),
                gate_began: begun.and_then(|own| own.timestamp.as_deref()),
            },
        );
        if found.refuted.is_none() && !found.missing.is_empty() {
            return Effects {
                owed: found.owed,
                ..self.effect(Err(found.missing.join("; ")))
            };
        }
        let unseen = (!found.unseen.is_empty()).then(|| found.unseen.join("; "));
        let is_required = files.evidence() == EvidenceMode::Require;
        let change = match (found.refuted, unseen) {
            (Some(line), _) => StateChange {
                moves: vec![state.set(&rule.name, GateStatus::Failed, Some(agent), now)],
                evidence: Some(line),
                ..StateChange::default()
            },
            (None, Some(why)) if is_required => {
                return self.effect(Err(format!("unsupported: {why}")));
            }
            (None, unsupported) => StateChange {
                moves: vec![state.set(&rule.name, GateStatus::Passed, Some(agent), now)],
                evidence: Some(found.lines.join("; ")),
                proof: found.proof,
                unsupported,
                ..StateChange::default()
            },
        };
        state.started_at.get_or_insert_with(|| now.to_owned());
        self.effect(Ok(StateChange {
            text: state.text(),
            phase: Some(rule.name.clone()),
            ..change
        }))
    }

    fn is_active(&self, files: &dyn Files) -> bool {
        self.state(files).is_ok_and(|state| state.is_active())
    }

    pub fn closed_gate(&self, agent: &AgentName, files: &dyn Files) -> Option<ClosedGate> {
        let is_of_gate = self.rules.iter().any(|rule| rule.agents.contains(agent));
        if !is_of_gate || files.sites().is_empty() {
            return None;
        }
        let state = match self.state(files) {
            Ok(state) => state,
            Err(why) => return Some(ClosedGate::unknown(&self.file(), &why)),
        };
        let before = state.closed_before(self.rule_of(agent, &state)?)?;
        Some(ClosedGate::new(&self.file(), &before.name, before.status))
    }

    /// The files of the sites that an agent's gates need.
    pub fn artifacts_of(&self, agent: &AgentName, files: &dyn Files) -> Vec<String> {
        let own = self.rules.iter().filter(|rule| rule.agents.contains(agent));
        let needs: Vec<&Need> = own.flat_map(|rule| &rule.needs).collect();
        let names = needs.iter().filter_map(|need| match need {
            Need::File { name, .. } => Some(name),
            Need::Verdict { place, .. } => place.as_ref(),
            Need::Command(_) | Need::Boxes(_) => None,
        });
        let names: Vec<&String> = names.collect();
        let sites = if names.is_empty() {
            Vec::new()
        } else {
            files.sites()
        };
        let in_site = |site: &String| {
            names
                .iter()
                .map(|name| path::below(site, name))
                .collect::<Vec<_>>()
        };
        sites.iter().flat_map(in_site).collect()
    }

    /// The gates of an active run that a command can show, with the command.
    pub fn commands(&self, files: &dyn Files) -> Vec<(&'s str, &'s str)> {
        if !self.is_active(files) {
            return Vec::new();
        }
        let commands = |rule: &'s GateRule| {
            let needs = rule.needs.iter().filter_map(|need| match need {
                Need::Command(line) => Some(line.as_str()),
                _ => None,
            });
            needs
                .map(|line| (rule.name.as_str(), line))
                .collect::<Vec<_>>()
        };
        self.rules.iter().flat_map(commands).collect()
    }

    /// When the run began.
    pub fn workflow_id(&self, files: &dyn Files) -> Option<String> {
        self.state(files).ok()?.started_at
    }

    /// # Errors
    /// The state file cannot be read.
    pub fn run(&self, files: &dyn Files) -> anyhow::Result<Workflow> {
        let state = self.state(files).map_err(anyhow::Error::msg)?;
        let is_begun = |gate: &&Gate| gate.status == GateStatus::InProgress;
        let is_open = |gate: &&Gate| !gate.status.has_passed();
        let begun = state.gates.iter().find(is_begun);
        let current = begun.or_else(|| state.gates.iter().find(is_open));
        Ok(Workflow {
            active: state.is_active(),
            phase: current.map(|gate| gate.name.clone()),
            next: self.next(&state, current),
            gates: state.gates,
            updated_at: state.updated_at,
            started_at: state.started_at,
            ..Workflow::new(self.id, &self.file())
        })
    }

    fn next(&self, state: &State, current: Option<&Gate>) -> String {
        let rule = current.and_then(|gate| self.rules.iter().find(|rule| rule.name == gate.name));
        match rule {
            None => "nothing: every gate has passed".to_owned(),
            Some(_) if !state.is_active() => "nothing: no gate has begun".to_owned(),
            Some(rule) => {
                let agents: Vec<_> = rule.agents.iter().map(AgentName::as_str).collect();
                let agents = agents.join("` or `");
                format!("agent `{agents}` for gate `{}`", rule.name)
            }
        }
    }
}
