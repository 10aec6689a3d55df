//! The model that every system's state is read into: a workflow with gates.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::base::string_enum::string_enum;

/// A state file that is there and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableState {
    /// Its path below the root.
    pub file: String,
    pub why: String,
}

impl UnreadableState {
    pub fn new(file: &str, why: impl fmt::Display) -> Self {
        Self {
            file: file.to_owned(),
            why: why.to_string(),
        }
    }
}

impl fmt::Display for UnreadableState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not read `{}`: {}", self.file, self.why)
    }
}

impl std::error::Error for UnreadableState {}

string_enum! {
    /// How far a gate is. Each system's file maps its own spelling to these.
    pub enum GateStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Passed = "passed",
        Failed = "failed",
        Skipped = "skipped",
    }
}

impl GateStatus {
    /// A skipped gate opens the way as a passed one does.
    pub fn has_passed(self) -> bool {
        matches!(self, Self::Passed | Self::Skipped)
    }
}

string_enum! {
    /// How well a passed gate is supported.
    pub enum GateStanding {
        Proved = "proved",
        /// What its test tested was changed before the gate was judged.
        Stale = "stale",
        /// Its agent said so, and what would show it is missing.
        OnItsWord = "on its word",
        /// No change of it was recorded.
        OnlyInFile = "only in the file",
    }
}

string_enum! {
    /// What a test command showed.
    pub enum TestResult {
        Passed = "passed",
        Failed = "failed",
        /// Nothing that counts.
        Unproved = "unproved",
    }
}

/// One checkpoint as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub name: String,
    pub status: GateStatus,
    /// When it got that status, and by whom.
    pub timestamp: Option<String>,
    pub agent: Option<String>,
    /// Of a gate that passed, once the gate log was asked.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub standing: Option<GateStanding>,
    /// Of a gate that has not passed: what the last end of its agent left out.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub why: Option<String>,
    /// What shows it, where the files themselves do.
    #[serde(skip)]
    pub proof: Vec<Proof>,
}

impl Gate {
    pub fn new(name: &str, status: GateStatus) -> Self {
        Self {
            name: name.to_owned(),
            status,
            timestamp: None,
            agent: None,
            standing: None,
            why: None,
            proof: Vec::new(),
        }
    }

    /// Its status in words, for people and models.
    pub fn label(&self) -> &'static str {
        match self.standing {
            Some(GateStanding::OnItsWord) => "passed on its word",
            Some(GateStanding::Stale) => "passed on a stale test",
            Some(GateStanding::OnlyInFile) => "passed only in the file",
            Some(GateStanding::Proved) | None => self.status.as_str(),
        }
    }
}

/// What comes next, as a short sentence for a person or a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    Step(String),
    /// Why there is none.
    Nothing(String),
}

impl NextStep {
    pub fn nothing(why: &str) -> Self {
        Self::Nothing(why.to_owned())
    }
}

impl Default for NextStep {
    fn default() -> Self {
        Self::Step(String::new())
    }
}

impl<T: Into<String>> From<T> for NextStep {
    fn from(step: T) -> Self {
        Self::Step(step.into())
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => f.write_str(step),
            Self::Nothing(why) => write!(f, "nothing: {why}"),
        }
    }
}

impl Serialize for NextStep {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The state of one run of one system, as `status` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Workflow {
    pub system: String,
    /// Where it was read from, relative to the project root.
    pub file: String,
    /// The state directory, where the file holds the runs of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    pub active: bool,
    pub phase: Option<String>,
    pub iteration: Option<u64>,
    pub max_iterations: Option<u64>,
    pub gates: Vec<Gate>,
    pub next: NextStep,
    pub updated_at: Option<String>,
    /// What the log holds of earlier runs in the same file says nothing of this one.
    #[serde(skip)]
    pub started_at: Option<String>,
}

impl Workflow {
    /// The OpenSpec change that a run of groups belongs to.
    pub fn change(&self) -> Option<&str> {
        let dir = self.file.strip_suffix("/tasks.md")?;
        let is_of_groups = self.system == super::groups::ID;
        dir.rsplit('/')
            .next()
            .filter(|name| is_of_groups && !name.is_empty())
    }
}

impl Workflow {
    /// One of which nothing is known yet.
    pub fn new(system: &str, file: &str) -> Self {
        Self {
            system: system.to_owned(),
            file: file.to_owned(),
            ..Self::default()
        }
    }
}

/// What shows that a gate passed, beside what somebody said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Proof {
    /// The words that decided, and their place: a file, or the agent's `reply`.
    Verdict { line: String, at: String },
    /// A file as it was when the gate passed. A system names it; size and git's id of the
    /// content are added when the change is recorded.
    Artifact {
        path: String,
        size: u64,
        blob: String,
    },
    /// A test command that ran.
    Command {
        line: String,
        /// Where, relative to the project where that is in it.
        #[serde(default)]
        cwd: String,
        /// `None` where the host gives none.
        status: Option<i32>,
        /// The tests by what it printed; `None` where it said nothing of them.
        #[serde(default)]
        passed: Option<u64>,
        #[serde(default)]
        failed: Option<u64>,
        /// UTC, RFC 3339, milliseconds.
        at: String,
    },
    /// The checked boxes of a task group.
    Boxes { done: usize, of: usize },
    /// A person's word: a command at a terminal, or a file that only the user writes.
    Approval { by: String },
}

impl Proof {
    pub fn artifact(path: &str) -> Self {
        Self::Artifact {
            path: path.to_owned(),
            size: 0,
            blob: String::new(),
        }
    }
}
