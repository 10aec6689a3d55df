//! What is known of the test that a gate needs.

use serde::{Deserialize, Serialize};

use super::workflow::Proof;

/// Which test a gate needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct TestNeed<'a> {
    /// The gate whose own command it is; without one any test of the run.
    pub gate: Option<&'a str>,
    /// When the run began: RFC 3339.
    pub run_began: Option<&'a str>,
    /// From when on a test counts where changes since then cannot be asked for: RFC 3339.
    pub gate_began: Option<&'a str>,
}

/// How a test that a gate needs ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tested {
    /// It passed, and nothing that it tested is known to have changed since.
    Passed { proof: Proof, freshness: Freshness },
    /// It passed, and then this file was changed. Relative to the root.
    Stale { file: String },
    /// It failed, and no test that passed since makes up for it.
    Failed { line: String },
    /// None was seen that counts, and why the last one does not.
    Unseen(Option<String>),
}

/// Whether the files that were tested could be compared with the time of the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Freshness {
    #[default]
    Asked,
    #[serde(rename = "not asked")]
    NotAsked,
}

impl Freshness {
    pub fn is_asked(&self) -> bool {
        *self == Self::Asked
    }
}

const NONE_SEEN: &str = "no test was seen to pass in this run";

impl Tested {
    /// What is missing for a proof.
    pub fn missing(&self) -> Option<String> {
        match self {
            Self::Passed { .. } => None,
            Self::Stale { file } => Some(format!("stale: {file}")),
            Self::Failed { line } => Some(format!("`{line}` failed last")),
            Self::Unseen(None) => Some(NONE_SEEN.to_owned()),
            Self::Unseen(Some(why)) => Some(format!("{NONE_SEEN}: {why}")),
        }
    }

    /// The file that was changed since.
    pub fn stale(&self) -> Option<&str> {
        match self {
            Self::Stale { file } => Some(file),
            _ => None,
        }
    }

    pub fn freshness(&self) -> Freshness {
        match self {
            Self::Passed { freshness, .. } => *freshness,
            _ => Freshness::Asked,
        }
    }
}
