//! Who makes a tool call.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An agent's type as contracts name it: the text after the last `:`, in lower
/// case, with `_` read as `-`, so that `agent-flow:Code_Reviewer` is
/// `code-reviewer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentName(String);

impl AgentName {
    pub fn parse(agent_type: &str) -> Self {
        let bare = agent_type.rsplit(':').next().unwrap_or(agent_type).trim();
        Self(bare.to_ascii_lowercase().replace('_', "-"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The type of an agent whose event names none: an agent that no contract knows.
pub const UNKNOWN_AGENT: &str = "unknown";

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The main thread is a call without an `agent_id`; everything else is an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    Main,
    Agent(AgentName),
}

impl Actor {
    /// An actor as a person names it: `main`, or an agent.
    pub fn parse(name: &str) -> Self {
        match AgentName::parse(name) {
            name if name.as_str() == "main" => Self::Main,
            name => Self::Agent(name),
        }
    }

    /// The name that options and reports use.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Main => "main",
            Self::Agent(name) => name.as_str(),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("the main thread"),
            Self::Agent(name) => write!(f, "agent `{name}`"),
        }
    }
}
