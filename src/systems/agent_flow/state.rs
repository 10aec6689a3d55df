//! What an Agent Flow file says, read leniently into types.

use std::fmt;

use crate::base::actor::AgentName;
use crate::base::string_enum::string_enum;
use crate::formats::front_matter;
use crate::formats::yaml::{self, Value};
use crate::systems::workflow::{Gate, GateStatus, NextStep, UnreadableState, Workflow};

/// The key of the only parallel group, and of its gate and phase.
pub const GROUP: &str = "review_verification";

string_enum! {
    /// The agents that own a gate.
    pub enum Agent {
        Riko = "Riko",
        Senku = "Senku",
        Loid = "Loid",
        Lawliet = "Lawliet",
        Alphonse = "Alphonse",
    }
}

impl Agent {
    /// The agent of a name in any case.
    pub fn of(name: &AgentName) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|agent| agent.as_str().eq_ignore_ascii_case(name.as_str()))
    }

    /// The gate that this agent's reply decides.
    pub fn gate(self) -> Phase {
        match self {
            Self::Riko => Phase::Exploration,
            Self::Senku => Phase::Planning,
            Self::Loid => Phase::Implementation,
            Self::Lawliet => Phase::Review,
            Self::Alphonse => Phase::Verification,
        }
    }

    /// The phase in which it works.
    pub fn phase(self, mode: Mode) -> Phase {
        match (mode, self) {
            (Mode::Team, Self::Lawliet | Self::Alphonse) => Phase::ReviewVerification,
            _ => self.gate(),
        }
    }
}

string_enum! {
    /// The values of `current_phase`, in the order of a run.
    #[derive(PartialOrd, Ord)]
    pub enum Phase {
        Exploration = "exploration",
        Planning = "planning",
        Implementation = "implementation",
        ReviewVerification = GROUP,
        Review = "review",
        Verification = "verification",
        Complete = "complete",
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How review and verification are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `orchestration.local.md`: one after the other, without a group.
    Single,
    /// The team file with `mode: "team"`: side by side, as a group.
    Team,
    /// The team file with `mode: "sequential"`: as `Single`, the group unused.
    Sequential,
}

impl Mode {
    /// The gates that count in this mode, in order.
    pub fn gates(self) -> impl DoubleEndedIterator<Item = Phase> {
        Phase::ALL.into_iter().filter(move |phase| match phase {
            Phase::Complete => false,
            Phase::ReviewVerification => self == Self::Team,
            _ => true,
        })
    }
}

string_enum! {
    /// The three state files, by their names.
    pub enum FileKind {
        Single = "orchestration.local.md",
        Team = "team-orchestration.local.md",
        DeepDive = "deep-dive.local.md",
    }
}

/// `parallel_groups.review_verification` of the team file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewGroup {
    pub status: GateStatus,
    pub started_at: Option<String>,
    pub review: GateStatus,
    pub verification: GateStatus,
}

impl ReviewGroup {
    pub fn member(&self, gate: Phase) -> GateStatus {
        if gate == Phase::Review {
            self.review
        } else {
            self.verification
        }
    }
}

/// One run as either orchestration file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowState {
    pub active: bool,
    /// `None` when it is missing or not one of the known phases.
    pub phase: Option<Phase>,
    pub iteration: Option<u64>,
    pub max_iterations: Option<u64>,
    pub mode: Mode,
    /// Every gate of the file, in the file's order.
    pub gates: Vec<Gate>,
    pub group: Option<ReviewGroup>,
    pub started_at: Option<String>,
}

/// A file of a run, read once: its text, and what that says.
pub struct FlowFile {
    /// Its name; `""` where it is not needed.
    pub name: &'static str,
    pub text: String,
    /// Its front matter. The error says why there is none.
    pub(super) front: Result<Value, String>,
    pub state: Result<FlowState, String>,
}

impl FlowFile {
    pub fn read(name: &'static str, text: String) -> Self {
        let front = front_matter::read(&text);
        let state = match &front {
            Ok(value) if value.is_mapping() => Ok(FlowState::from_value(value)),
            Ok(_) => Err("its front matter holds no `key: value` lines".to_owned()),
            Err(why) => Err(why.clone()),
        };
        Self {
            name,
            text,
            front,
            state,
        }
    }

    /// Whether it holds an active run, or cannot tell.
    pub fn may_be_active(&self) -> bool {
        self.state.as_ref().map_or(true, |state| state.active)
    }
}

/// Whether a text that does not parse says, to those who look at its lines,
/// that a run is active.
pub fn says_active(text: &str) -> bool {
    let values = text.lines().filter_map(|line| line.strip_prefix("active:"));
    let mut words = values.filter_map(|value| value.split_whitespace().next());
    words.any(|word| word.trim_matches(['"', '\'']).eq_ignore_ascii_case("true"))
}

impl FlowState {
    /// # Errors
    /// Says why the text has no readable front matter.
    pub fn read(text: &str) -> Result<Self, String> {
        FlowFile::read("", text.to_owned()).state
    }

    /// The run in a parsed front matter.
    pub fn from_value(value: &Value) -> Self {
        let text = |key| yaml::text(value, &[key]);
        let number = |key| text(key)?.parse().ok();
        let group = yaml::get(value, &["parallel_groups", GROUP]).map(group_from);
        let mode = match text("mode").as_deref() {
            Some("sequential") => Mode::Sequential,
            Some("team") => Mode::Team,
            _ if group.is_some() => Mode::Team,
            _ => Mode::Single,
        };
        Self {
            active: text("active").is_some_and(|active| active.eq_ignore_ascii_case("true")),
            phase: text("current_phase").and_then(|phase| Phase::parse(&phase)),
            iteration: number("iteration"),
            max_iterations: number("max_iterations"),
            mode,
            gates: gates_from(value, "gates"),
            group,
            started_at: text("started_at"),
        }
    }

    /// The status of a gate; one that the file does not have is pending.
    pub fn gate(&self, gate: Phase) -> GateStatus {
        let found = self.gates.iter().find(|known| known.name == gate.as_str());
        found.map_or(GateStatus::Pending, |known| known.status)
    }

    /// The first gate before the agent's phase that has not passed.
    pub fn unmet_gate(&self, agent: Agent) -> Option<(Phase, GateStatus)> {
        let own = agent.phase(self.mode);
        let before = self.mode.gates().take_while(|gate| *gate != own);
        before
            .map(|gate| (gate, self.gate(gate)))
            .find(|(_, status)| !status.has_passed())
    }

    pub fn all_passed(&self) -> bool {
        self.first_open().is_none()
    }

    /// The first of the gates that count which has not passed.
    pub fn first_open(&self) -> Option<Phase> {
        let mut gates = self.mode.gates();
        gates.find(|gate| !self.gate(*gate).has_passed())
    }

    /// Whether review, verification or their group sent the work back to Loid.
    pub fn is_sent_back(&self) -> bool {
        let mut later = self
            .mode
            .gates()
            .skip_while(|gate| *gate != Phase::Implementation)
            .skip(1);
        let group = match self.mode {
            Mode::Team => self.group.as_ref(),
            Mode::Single | Mode::Sequential => None,
        };
        let members = group.map(|group| [group.status, group.review, group.verification]);
        later.any(|gate| self.gate(gate) == GateStatus::Failed)
            || members
                .into_iter()
                .flatten()
                .any(|status| status == GateStatus::Failed)
    }

    /// What comes next, for a person.
    pub fn next(&self) -> NextStep {
        if !self.active {
            let failed = |gate: &Phase| self.gate(*gate) == GateStatus::Failed;
            return match self.mode.gates().rfind(failed) {
                None => NextStep::nothing("the run is closed"),
                Some(gate) => NextStep::Nothing(format!("the run is closed, and `{gate}` failed")),
            };
        }
        if self.is_sent_back() {
            return "Loid implements again (implementation)".into();
        }
        let open = self
            .mode
            .gates()
            .find(|gate| !self.gate(*gate).has_passed());
        let sentence = match open {
            None => return "the main thread completes the run".into(),
            Some(Phase::Exploration) => "Riko explores",
            Some(Phase::Planning) => "Senku plans",
            Some(Phase::Implementation) => "Loid implements",
            Some(Phase::Review) => "Lawliet reviews",
            Some(Phase::Verification) => "Alphonse verifies",
            Some(Phase::ReviewVerification | Phase::Complete) => match self.open_member() {
                Some(Phase::Review) => "Lawliet reviews",
                Some(_) => "Alphonse verifies",
                None => "Lawliet reviews and Alphonse verifies",
            },
        };
        format!("{sentence} ({})", open.map_or(GROUP, |gate| gate.as_str())).into()
    }

    /// The run as `status` shows it.
    pub fn workflow(&self, file: &str) -> Workflow {
        // The group's gate is not part of a sequential run.
        let mut gates = self.gates.clone();
        gates.retain(|gate| self.mode != Mode::Sequential || gate.name != GROUP);
        let times = self.gates.iter().filter_map(|gate| gate.timestamp.clone());
        Workflow {
            active: self.active,
            phase: self.phase.map(|phase| phase.to_string()),
            iteration: self.iteration,
            max_iterations: self.max_iterations,
            next: self.next(),
            updated_at: times.chain(self.started_at.clone()).max(),
            gates,
            started_at: self.started_at.clone(),
            ..Workflow::new(super::ID, file)
        }
    }

    /// The one member of the group that is still out, when the other has passed.
    fn open_member(&self) -> Option<Phase> {
        let group = self.group.as_ref()?;
        match (group.review.has_passed(), group.verification.has_passed()) {
            (true, false) => Some(Phase::Verification),
            (false, true) => Some(Phase::Review),
            _ => None,
        }
    }
}

/// Reads a status however it is spelled. An unknown word has passed nothing.
fn status_from(text: Option<String>) -> GateStatus {
    let word = text
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
        .replace(['-', ' '], "_");
    match word.as_str() {
        "complete" => GateStatus::Passed,
        word => GateStatus::parse(word).unwrap_or(GateStatus::Pending),
    }
}

fn group_from(group: &Value) -> ReviewGroup {
    let status = |path: &[&str]| status_from(yaml::text(group, path));
    ReviewGroup {
        status: status(&["status"]),
        started_at: yaml::text(group, &["started_at"]),
        review: status(&["review", "status"]),
        verification: status(&["verification", "status"]),
    }
}

fn gates_from(value: &Value, key: &str) -> Vec<Gate> {
    let gates = value.get(key).and_then(Value::as_mapping);
    let gate = |(name, gate): (&Value, &Value)| {
        let status = status_from(yaml::text(gate, &["status"]));
        Some(Gate {
            timestamp: yaml::text(gate, &["timestamp"]),
            agent: yaml::text(gate, &["agent"]),
            ..Gate::new(name.as_str()?, status)
        })
    };
    gates.into_iter().flatten().filter_map(gate).collect()
}

/// Reads any of the three files for `status`. `file` is its path relative to
/// the root; its last part says which file it is.
///
/// # Errors
/// Names the file and says why it cannot be read.
pub fn read_workflow(text: &str, file: &str) -> Result<Workflow, UnreadableState> {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let context = |why| UnreadableState::new(file, why);
    if FileKind::parse(name) == Some(FileKind::DeepDive) {
        return Ok(deep_dive_workflow(
            &front_matter::read(text).map_err(context)?,
            file,
        ));
    }
    Ok(FlowState::read(text).map_err(context)?.workflow(file))
}

fn deep_dive_workflow(value: &Value, file: &str) -> Workflow {
    let phase = yaml::text(value, &["phase"]);
    let gates = gates_from(value, "phases");
    let is_complete = phase.as_deref() == Some("complete");
    let open = gates.iter().find(|gate| !gate.status.has_passed());
    let next = match open {
        _ if is_complete => NextStep::nothing("the context is ready for use"),
        Some(gate) if gate.name == "parallel_exploration" => "the explorers report".into(),
        Some(gate) => format!("the main thread does the {}", gate.name).into(),
        None => "the main thread marks the deep dive complete".into(),
    };
    Workflow {
        active: !is_complete,
        phase,
        gates,
        next,
        updated_at: yaml::text(value, &["generated"]),
        ..Workflow::new(super::ID, file)
    }
}

#[cfg(test)]
mod tests;
