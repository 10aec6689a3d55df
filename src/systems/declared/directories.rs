//! The runs of a declared system: one state file, in which each state directory has a run.
//!
//! Names are relative to the root, where the state file and the directories are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::gates::Gates;
use crate::base::actor::AgentName;
use crate::settings::gates::GateRule;
use crate::systems::gate_record::{GateRecord, Move, Outcome};
use crate::systems::system::Files;
use crate::systems::workflow::{Gate, GateStatus};

/// How the state file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The one directory of the system has the whole file.
    One,
    /// Each directory has an entry.
    Many,
}

/// The run of one directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct DirectoryRun {
    /// When the run began and last moved: UTC, RFC 3339, seconds.
    pub(super) started_at: Option<String>,
    pub(super) updated_at: Option<String>,
    #[serde(default)]
    pub(super) gates: Vec<Gate>,
}

impl DirectoryRun {
    fn get(&self, name: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.name == name)
    }

    pub(super) fn gate(&self, rule: &GateRule) -> Option<&Gate> {
        self.get(&rule.name)
    }

    pub(super) fn status(&self, rule: &GateRule) -> Option<GateStatus> {
        self.gate(rule).map(|gate| gate.status)
    }

    pub(super) fn is_over(&self) -> bool {
        self.gates.iter().all(|gate| gate.status.has_passed())
    }

    pub(super) fn is_active(&self) -> bool {
        self.started_at.is_some() && !self.is_over()
    }

    /// The first gate before another that has not passed.
    pub(super) fn closed_before(&self, rule: &GateRule) -> Option<&Gate> {
        let mut before = rule.after.iter().filter_map(|name| self.get(name));
        before.find(|gate| !gate.status.has_passed())
    }

    pub(super) fn set(
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
}

/// The state file.
#[derive(Clone, Debug, Default, Deserialize)]
struct StateFile {
    /// Of the one directory; in a file of an earlier version, of the one that is there.
    #[serde(flatten)]
    only: DirectoryRun,
    #[serde(default)]
    directories: BTreeMap<String, DirectoryRun>,
}

/// The state file, read, beside the directories that are there.
pub(super) struct Directories<'s> {
    gates: Gates<'s>,
    pub(super) names: Vec<String>,
    file: StateFile,
}

impl<'s> Directories<'s> {
    /// # Errors
    /// The state file cannot be read.
    pub(super) fn read(gates: Gates<'s>, files: &dyn Files) -> Result<Self, String> {
        let name = gates.file();
        let file = match files.read(&name)? {
            None => StateFile::default(),
            Some(text) => serde_json::from_str(&text)
                .map_err(|error| format!("`{name}` is no state: {error}"))?,
        };
        Ok(Self {
            gates,
            names: files.sites(),
            file,
        })
    }

    /// When the one run began, where there is one.
    pub(super) fn started_at(self) -> Option<String> {
        self.file.only.started_at
    }

    /// Those that are there, and those of which the file knows.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        self.file.directories.keys().map(String::as_str).chain([""])
    }

    /// The run of a directory, with each gate of the contract; what is not in the file is
    /// pending.
    pub(super) fn run_in(&self, dir: &str) -> DirectoryRun {
        let is_one = self.gates.layout == Layout::One;
        let is_only = is_one || self.file.directories.is_empty() && self.names.len() == 1;
        let own = self.file.directories.get(dir);
        let kept = match own {
            Some(own) if !is_one => own.clone(),
            _ if is_only => self.file.only.clone(),
            _ => DirectoryRun::default(),
        };
        let gates = self.gates.rules().iter().map(|rule| {
            let known = kept.get(&rule.name).cloned();
            known.unwrap_or_else(|| Gate::new(&rule.name, GateStatus::Pending))
        });
        DirectoryRun {
            gates: gates.collect(),
            ..kept
        }
    }

    pub(super) fn has_active(&self) -> bool {
        self.names.iter().any(|dir| self.run_in(dir).is_active())
    }

    /// Whether gates of a run have not passed, whether or not it has begun.
    pub(super) fn has_open(&self) -> bool {
        !self.names.iter().all(|dir| self.run_in(dir).is_over())
    }

    /// The directories of active runs; where there is none, all.
    pub(super) fn open(&self) -> Vec<String> {
        let names = self.names.iter();
        let open: Vec<String> = names
            .filter(|dir| self.run_in(dir).is_active())
            .cloned()
            .collect();
        if open.is_empty() {
            self.names.clone()
        } else {
            open
        }
    }

    /// Gives a directory a run, and writes it. Runs of directories that are gone are left out.
    pub(super) fn change(
        &mut self,
        dir: &str,
        run: &DirectoryRun,
        change: GateRecord,
    ) -> GateRecord {
        let value = match self.gates.layout {
            Layout::One => {
                self.file.only = run.clone();
                json!(run)
            }
            Layout::Many => {
                if self.file.directories.is_empty()
                    && let [only] = self.names.as_slice()
                {
                    let earlier = self.run_in(only);
                    self.file.directories.insert(only.clone(), earlier);
                }
                let directories = &mut self.file.directories;
                directories.insert(dir.to_owned(), run.clone());
                directories.retain(|known, _| self.names.contains(known));
                json!({ "directories": directories })
            }
        };
        let text = text_of(&value);
        self.gates.record(dir, Ok(GateRecord { text, ..change }))
    }

    /// The state file once no gate has begun.
    pub(super) fn none_begun(&self, now: &str) -> String {
        text_of(&match self.gates.layout {
            Layout::One => {
                let gates = self.gates.rules().iter();
                json!(DirectoryRun {
                    started_at: None,
                    updated_at: Some(now.to_owned()),
                    gates: gates
                        .map(|rule| Gate::new(&rule.name, GateStatus::Pending))
                        .collect(),
                })
            }
            Layout::Many => json!({ "directories": {} }),
        })
    }

    /// Those that a text names, by their paths or by their last components.
    pub(super) fn named_in(&self, text: &str) -> Vec<String> {
        let by_path = self.names.iter().filter(|dir| is_named(dir, text));
        let found: Vec<String> = by_path.cloned().collect();
        if !found.is_empty() {
            return found;
        }
        let by_name = self.names.iter().filter(|dir| {
            let name = dir.rsplit('/').next().unwrap_or(dir);
            // A short name is a word of any text.
            name.contains(|c: char| !c.is_alphabetic()) && is_named(name, text)
        });
        by_name.cloned().collect()
    }
}

impl Gates<'_> {
    /// What is done in one directory.
    pub(super) fn record(&self, dir: &str, outcome: Outcome) -> GateRecord {
        let directory = (self.layout == Layout::Many && !dir.is_empty()).then(|| dir.to_owned());
        GateRecord {
            directory,
            ..GateRecord::of(&self.file(), outcome)
        }
    }
}

/// Whether a name is a word of a text.
fn is_named(name: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    })
}

fn text_of(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
