//! Why a call is denied: the code, and what the agent is told.

use serde::{Deserialize, Serialize};

use crate::base::string_enum::string_enum;
use crate::base::target::Act;

string_enum! {
    /// Why a call is denied. The text form is stable: logs, settings and tests use it.
    pub enum DenyCode {
        AdHocName = "ad-hoc-name",
        EphemeralName = "ephemeral-name",
        UndeclaredDirectory = "undeclared-directory",
        PathEscape = "path-escape",
        WrongWriter = "wrong-writer",
        ProgramOwned = "program-owned",
        MalformedContent = "malformed-content",
        IllegalTransition = "illegal-transition",
        BulkRemoval = "bulk-removal",
        GateClosed = "gate-closed",
        ProtectedFile = "protected-file",
    }
}

impl DenyCode {
    /// A code as a person wrote it.
    ///
    /// # Errors
    /// A message with the codes there are.
    pub fn expect(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("the deny codes are {}", Self::WORDS.join(", ")))
    }

    /// Whether the refused name is the trouble, so that another place would do.
    pub fn is_about_names(self) -> bool {
        matches!(
            self,
            Self::AdHocName | Self::EphemeralName | Self::UndeclaredDirectory
        )
    }
}

/// One refusal. The redirect is part of it: a denial without a way on is a wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub code: DenyCode,
    pub system: String,
    pub mode: Mode,
    pub act: Act,
    /// The absolute path.
    pub path: String,
    /// The path as it can be used where the call was made: relative to the root
    /// for a call made there, else absolute.
    pub display_path: String,
    /// The site, relative to its root.
    pub site: String,
    /// The entry, relative to the site.
    pub entry: String,
    /// What is wrong, as a clause that starts after "is denied:".
    pub why: String,
    /// What to write instead, with its path in the same form.
    pub instead: Option<Instead>,
    /// The allowed name alone, for the log.
    pub suggestion: Option<String>,
    /// The agent that the rule is about; none where it holds for every actor.
    pub agent: Option<String>,
}

/// The path to write instead of a refused one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    pub path: String,
    /// There is a document already, which the refused text may not be.
    pub is_there: bool,
}

/// What a broken rule leads to. Weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Off,
    Warn,
    #[default]
    Enforce,
}
