//! What a system may ask about the files of a site.

use crate::settings::model::EvidenceMode;
use crate::systems::workflow::{Proof, Workflow};

/// The files of a site or of a `gate_dir`, by their path below it.
pub trait Files {
    /// The text of a file; `None` where there is none.
    ///
    /// # Errors
    /// Why a file that is there cannot be read as text.
    fn read(&self, name: &str) -> Result<Option<String>, String>;

    /// The same; what cannot be read counts as empty, so that nothing takes it
    /// for missing.
    fn text(&self, name: &str) -> Option<String> {
        self.read(name).unwrap_or_else(|_| Some(String::new()))
    }

    /// The names of the directories directly below.
    fn dirs(&self) -> Vec<String>;

    /// The sites of the system, relative to `gate_dir`, where that is a root.
    fn sites(&self) -> Vec<String> {
        Vec::new()
    }

    /// The last command that was seen for a gate of the run in a file, since then (RFC 3339).
    fn last_command(&self, _run: &str, _gate: &str, _since: Option<&str>) -> Option<Proof> {
        None
    }

    /// The last test command that passed while the run in a file was in one of these phases.
    fn passed_test(&self, _run: &str, _phases: &[&str]) -> Option<Proof> {
        None
    }

    /// Whether the status in a run's file is of its present phase.
    fn speaks_of_phase(&self, _run: &Workflow) -> bool {
        true
    }

    /// Why a file is not the work of the agent that ends, in the workflow that began then
    /// (RFC 3339).
    fn left_over(&self, _name: &str, _begun: Option<&str>) -> Option<String> {
        None
    }

    /// The verdict files beside a `tasks.md` that are older than the last known change of a box
    /// of their group.
    fn outdated(&self, _tasks: &str) -> Vec<String> {
        Vec::new()
    }

    /// Whether a gate stays open without what shows it.
    fn evidence(&self) -> EvidenceMode {
        EvidenceMode::Record
    }
}
