//! Why a call is denied: the code and the reason.

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

    /// What a denial with the code says, and what to do about it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::AdHocName => {
                "The contract knows no such name. Use the suggested one; a name that the project needs goes into `extra_names`."
            }
            Self::EphemeralName => {
                "A file tool would make a temporary file. Use the OS temp directory."
            }
            Self::UndeclaredDirectory => {
                "The contract knows no such directory. Write into the state directory itself, or declare it in `subdirectories`."
            }
            Self::PathEscape => {
                "A link leads out of the state directory, or the name is no plain file name. Write the real path."
            }
            Self::WrongWriter => {
                "The file belongs to another agent. Leave it to its owner; task groups can map a role."
            }
            Self::ProgramOwned => {
                "Only a program writes this file. Use the command that writes it."
            }
            Self::MalformedContent => {
                "The file's readers could not parse it. Write what the reason asks for."
            }
            Self::IllegalTransition => {
                "The new state does not follow from the present one. Finish or skip the phases before it."
            }
            Self::BulkRemoval => {
                "It would remove a whole state directory or several of its files. Remove single files by name, or archive them with `cleanup` or `reset`."
            }
            Self::GateClosed => {
                "The agent was started before its gate. Finish the phase before it."
            }
            Self::ProtectedFile => "Settings, logs and control files are the user's to change.",
        }
    }

    /// What the rule is about.
    pub const fn subject(self) -> Subject {
        match self {
            Self::AdHocName | Self::UndeclaredDirectory => Subject::Name,
            Self::EphemeralName => Subject::TemporaryName,
            Self::PathEscape => Subject::Path,
            Self::WrongWriter | Self::ProgramOwned => Subject::Writer,
            Self::MalformedContent | Self::IllegalTransition => Subject::Content,
            Self::BulkRemoval | Self::GateClosed | Self::ProtectedFile => Subject::Call,
        }
    }
}

/// What is wrong where a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The name, whoever uses it.
    Name,
    /// The name, for a file tool alone: programs have temporary files.
    TemporaryName,
    /// Where the path leads, whoever follows it.
    Path,
    /// Who writes.
    Writer,
    /// What is written.
    Content,
    /// What the call does as a whole.
    Call,
}

impl Subject {
    /// Whether another name or place would do.
    pub fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::TemporaryName)
    }

    /// Whether the rule holds for every actor and program.
    pub fn holds_for_everyone(self) -> bool {
        matches!(self, Self::Name | Self::Path)
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

impl Denial {
    /// The absolute path of the site.
    pub fn site_dir(&self) -> &str {
        let above = self.path.strip_suffix(&self.entry).unwrap_or(&self.path);
        above.trim_end_matches('/')
    }
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Off,
    Warn,
    #[default]
    Enforce,
}
