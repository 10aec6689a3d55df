//! One event in the directories of a declared system: which gates begin, pass and fail by it.

use super::directories::{Directories, DirectoryRun, Layout};
use super::gates::{Gates, is_of, needed_files};
use super::needs::{AgentEnd, judge};
use crate::base::actor::AgentName;
use crate::base::{clock, path};
use crate::settings::gates::GateRule;
use crate::systems::gate_record::GateRecord;
use crate::systems::system::{AgentEvent, Effects, Files};
use crate::systems::workflow::GateStatus;

pub(super) struct Step<'a, 's> {
    pub(super) gates: Gates<'s>,
    pub(super) files: &'a dyn Files,
    pub(super) agent: &'a AgentName,
    pub(super) dirs: Directories<'s>,
    /// RFC 3339, seconds.
    pub(super) now: &'a str,
}

impl Step<'_, '_> {
    pub(super) fn take(mut self, event: AgentEvent<'_>) -> Effects {
        match event {
            AgentEvent::Start { .. } => Effects::of(self.start()),
            AgentEvent::Wrote {
                agent: Some(_),
                entries,
            } => Effects::of(self.wrote(entries)),
            AgentEvent::Wrote {
                agent: None,
                entries,
            } => Effects::of(self.main_wrote(entries)),
            AgentEvent::End { reply, task, .. } => self.end(reply, task),
            AgentEvent::TurnEnd { reply, .. } => Effects::of(self.turn_ended(reply)),
        }
    }

    /// The start of an agent begins its gate in the only directory. Of several, it is not known
    /// yet in which it works; nor is work taken back in one that it may not touch.
    fn start(&mut self) -> Option<GateRecord> {
        let [only] = self.dirs.names.as_slice() else {
            return None;
        };
        let dir = only.clone();
        let run = self.dirs.run_in(&dir);
        let rule = self.gates.rule_of(self.agent, &run)?;
        let later = self.gates.after(&rule.name);
        let is_news = run.status(rule) != Some(GateStatus::Passed)
            && run.gates.iter().all(|gate| {
                gate.status == GateStatus::Pending || !later.contains(&gate.name.as_str())
            });
        if self.gates.layout == Layout::Many && !is_news {
            return None;
        }
        self.begin(&dir, rule, run, self.now)
    }

    /// The first file that an agent writes in a directory begins its gate there, as of its start.
    fn wrote(&mut self, entries: &[String]) -> Vec<GateRecord> {
        let mut records = Vec::new();
        for dir in self.dirs_with(entries) {
            let run = self.dirs.run_in(&dir);
            if let Some(rule) = self.gates.rule_of(self.agent, &run) {
                let began = self.began(rule, &dir);
                records.extend(self.begin(&dir, rule, run, &self.seconds_of(began)));
            }
        }
        records
    }

    /// When the work for a gate began, as far as it is known: with the agent's start; of the main
    /// thread's with the making of the directory. RFC 3339.
    fn began(&self, rule: &GateRule, dir: &str) -> Option<String> {
        let made = if rule.main {
            self.files.made_at(dir)
        } else {
            None
        };
        self.files.agent_began().or(made)
    }

    /// A time of RFC 3339 to the second; now where there is none.
    fn seconds_of(&self, time: Option<String>) -> String {
        let parsed = time.as_deref().and_then(clock::parse);
        parsed.map_or_else(|| self.now.to_owned(), clock::seconds)
    }

    /// The directories in which some of the files are.
    fn dirs_with(&self, files: &[String]) -> Vec<String> {
        let mut with = self.dirs.names.clone();
        with.retain(|dir| files.iter().any(|file| path::relative(file, dir).is_some()));
        with
    }

    /// Begins a gate, and with the first one of all a run; what comes after it is to be done
    /// again. `None` where it has begun.
    fn begin(
        &mut self,
        dir: &str,
        rule: &GateRule,
        mut run: DirectoryRun,
        now: &str,
    ) -> Option<GateRecord> {
        if run.status(rule)? == GateStatus::InProgress {
            return None;
        }
        if run.is_over() && rule.after.is_empty() {
            run.started_at = None;
        }
        run.started_at.get_or_insert_with(|| now.to_owned());
        let agent = self.agent;
        let mut moves = vec![run.set(&rule.name, GateStatus::InProgress, Some(agent), now)];
        for later in self.gates.after(&rule.name) {
            let moved = run.set(later, GateStatus::Pending, None, now);
            moves.extend((moved.from != moved.to).then_some(moved));
        }
        let change = GateRecord {
            moves,
            phase: Some(rule.name.clone()),
            evidence: Some(format!("agent `{agent}` started")),
            ..GateRecord::default()
        };
        Some(self.dirs.change(dir, &run, change))
    }

    /// The directories that the end of an agent counts for: where its calls wrote, else where a
    /// file that its gates need is new, else the one that its task or its report names.
    ///
    /// # Errors
    /// Several are open, and nothing says which.
    fn directories_of_end(&self, reply: &str, task: &str) -> Result<Vec<String>, String> {
        if let [only] = self.dirs.names.as_slice() {
            return Ok(vec![only.clone()]);
        }
        let by_call = self.dirs_with(&self.files.agent_wrote());
        if !by_call.is_empty() {
            return Ok(by_call);
        }
        let rules = self.gates.rules().iter();
        let needed: Vec<&str> = rules
            .filter(|rule| is_of(rule, self.agent))
            .flat_map(needed_files)
            .collect();
        let mut by_disk = self.dirs.names.clone();
        by_disk.retain(|dir| {
            let mut files = needed.iter().map(|name| path::below(dir, name));
            files.any(|file| self.files.is_new_since_start(&file))
        });
        if !by_disk.is_empty() {
            return Ok(by_disk);
        }
        for text in [task, reply] {
            if let [named] = self.dirs.named_in(text).as_slice() {
                return Ok(vec![named.clone()]);
            }
        }
        match self.dirs.open().as_slice() {
            [open] => Ok(vec![open.clone()]),
            open => Err(format!(
                "{} directories are open, and `{}` neither wrote in one nor was one named",
                open.len(),
                self.agent
            )),
        }
    }

    fn end(&mut self, reply: &str, task: &str) -> Effects {
        let dirs = match self.directories_of_end(reply, task) {
            Ok(dirs) => dirs,
            Err(why) => return Effects::of([self.gates.record("", Err(why))]),
        };
        let mut effects = Effects::default();
        for dir in dirs {
            let run = self.dirs.run_in(&dir);
            let Some(rule) = self.gates.rule_of(self.agent, &run) else {
                continue;
            };
            let ended = self.judge(&dir, rule, run, reply);
            effects.records.extend(ended.records);
            effects.missing.extend(ended.missing);
        }
        effects
    }

    fn judge(&mut self, dir: &str, rule: &GateRule, mut run: DirectoryRun, reply: &str) -> Effects {
        if let Some(before) = run.closed_before(rule) {
            let status = before.status.as_str();
            let why = format!(
                "gate `{}` comes after `{}`, which is `{status}`",
                rule.name, before.name
            );
            return Effects::of([self.gates.record(dir, Err(why)).about(&rule.name)]);
        }
        let begun = match run.gate(rule) {
            Some(gate) if gate.status == GateStatus::InProgress => gate.timestamp.clone(),
            _ => None,
        };
        let began = self.began(rule, dir);
        let ending = AgentEnd {
            reply,
            files: self.files,
            state_file: &self.gates.file(),
            run_began: run.started_at.as_deref().or(began.as_deref()),
            gate_began: begun.as_deref().or(began.as_deref()),
        };
        let found = judge(rule, dir, ending);
        if found.refuted.is_none() && !found.missing.is_empty() {
            let why = found.missing.join("; ");
            return Effects {
                missing: found.owed,
                ..Effects::of([self.gates.record(dir, Err(why)).about(&rule.name)])
            };
        }
        let (to, evidence, proof) = match found.refuted {
            Some(line) => (GateStatus::Failed, line, Vec::new()),
            None => (GateStatus::Passed, found.lines.join("; "), found.proof),
        };
        let moved = run.set(&rule.name, to, Some(self.agent), self.now);
        run.started_at.get_or_insert(self.seconds_of(began));
        let change = GateRecord {
            moves: vec![moved],
            phase: Some(rule.name.clone()),
            evidence: Some(evidence),
            proof,
            freshness: found.freshness,
            ..GateRecord::default()
        };
        Effects::of([self.dirs.change(dir, &run, change)])
    }

    /// The main thread wrote files: the gates of its own that need them are judged.
    fn main_wrote(&mut self, entries: &[String]) -> Vec<GateRecord> {
        let mut records = Vec::new();
        for dir in self.dirs_with(entries) {
            let names: Vec<&str> = entries
                .iter()
                .filter_map(|entry| path::relative(entry, &dir))
                .collect();
            for rule in self.gates.rules().iter().filter(|rule| rule.main) {
                if needed_files(rule).any(|needed| names.contains(&needed)) {
                    records.extend(self.judge_main(&dir, rule, ""));
                }
            }
        }
        records.retain(GateRecord::is_change);
        records
    }

    /// The main thread's turn ended: its gates that have not passed are judged. Where no run has
    /// begun, that is what begins the one of the only directory: a gate that needs no file of it.
    fn turn_ended(&mut self, reply: &str) -> Vec<GateRecord> {
        let has_begun = self.dirs.has_active();
        let open = self.dirs.open();
        if !has_begun && open.len() > 1 {
            return Vec::new();
        }
        let mut records = Vec::new();
        for dir in open {
            for rule in self.gates.rules().iter().filter(|rule| rule.main) {
                let is_news = has_begun || needed_files(rule).next().is_none();
                if is_news && self.dirs.run_in(&dir).status(rule) != Some(GateStatus::Passed) {
                    records.extend(self.judge_main(&dir, rule, reply));
                }
            }
        }
        records.retain(|record| has_begun || record.is_change());
        records
    }

    /// A gate of the main thread; where nothing of it is there yet, nothing is to say.
    fn judge_main(&mut self, dir: &str, rule: &GateRule, reply: &str) -> Option<GateRecord> {
        let run = self.dirs.run_in(dir);
        if run.closed_before(rule).is_some() {
            return None;
        }
        let before = run.status(rule);
        let record = self.judge(dir, rule, run, reply).records.pop()?;
        // A file that its own writer changed proves the gate by what is in it now.
        let is_news = record
            .moves
            .iter()
            .any(|moved| Some(moved.to) != before || moved.to == GateStatus::Passed);
        (is_news || !record.is_change()).then_some(record)
    }
}
