//! What a system may ask about the files of a site.

use crate::base::actor::AgentName;
use crate::settings::model::EvidenceMode;
use crate::systems::groups::state::Doubt;
use crate::systems::tested::{TestNeed, Tested};
use crate::systems::workflow::{Gate, Workflow};

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

    /// How the test ended that a gate of the run in a file needs.
    fn tested(&self, _run: &str, _need: &TestNeed<'_>) -> Tested {
        Tested::Unseen(None)
    }

    /// Whether a call made a file that only the user writes.
    fn is_made_by_call(&self, _name: &str) -> bool {
        false
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

    /// The verdict files beside a `tasks.md` that do not count: a box of their group has changed
    /// since, or they are not of one who may give a verdict.
    fn outdated(&self, _tasks: &str) -> Vec<Doubt> {
        Vec::new()
    }

    /// When the agent that the event is about started: UTC, RFC 3339, milliseconds.
    fn agent_began(&self) -> Option<String> {
        None
    }

    /// When a directory was made: UTC, RFC 3339, milliseconds. `None` where the disk does not say.
    fn made_at(&self, _dir: &str) -> Option<String> {
        None
    }

    /// The files of `gate_dir` that this agent wrote since its start.
    fn agent_wrote(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a file is there that was not, or was another, when this agent started.
    fn is_new_since_start(&self, _name: &str) -> bool {
        false
    }

    /// The gates of a run that passed in its file and do not count: no actor who may write it was
    /// seen to do that, or a required proof is missing.
    fn uncounted(&self, _run: &Workflow) -> Vec<Gate> {
        Vec::new()
    }

    /// The agents that have started and not ended.
    fn running_agents(&self) -> Vec<AgentName> {
        Vec::new()
    }

    /// Whether a gate stays open without what shows it.
    fn evidence(&self) -> EvidenceMode {
        EvidenceMode::Record
    }
}
