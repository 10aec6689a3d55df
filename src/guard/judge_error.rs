//! Why a call could not be judged, and the message to its agent.

use std::error::Error;
use std::{fmt, io};

use crate::base::text::excerpt;
use crate::contract::denial::DenyCode;
use crate::guard::targets::Unread;

/// How many claims of one call are judged each by itself. All further ones are denied as one.
pub const MAX_JUDGED: usize = 1_000;

/// How many directories of the trees that a call takes away are searched for sites.
pub(super) const MAX_SEARCHED: usize = 50_000;

/// Why a call that concerns a system could not be judged. It is denied.
#[derive(Debug)]
pub enum JudgeError {
    Target {
        path: String,
        system: String,
        code: DenyCode,
        error: io::Error,
    },
    /// It would take away a tree that is too large to be searched for sites.
    TooLarge { path: String },
    /// It changes more governed paths than are judged; one of the others.
    TooMany { path: String, system: String },
    /// Its targets are not known.
    Call(Unread),
}

impl fmt::Display for JudgeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target {
                path,
                system,
                error,
                ..
            } => write!(
                out,
                "`{}` belongs to {system} and could not be judged: {}",
                excerpt(path, 160),
                excerpt(&error.to_string(), 420)
            ),
            Self::TooLarge { path } => write!(
                out,
                "`{}` may hold workflow state and is too large to be searched for it: \
                 more than {MAX_SEARCHED} directories",
                excerpt(path, 160)
            ),
            Self::TooMany { path, system } => write!(
                out,
                "it changes more than {MAX_JUDGED} paths that belong to {system} or another system, \
                 such as `{}`",
                excerpt(path, 160)
            ),
            Self::Call(unread) => write!(out, "{unread}"),
        }
    }
}

impl Error for JudgeError {}

impl JudgeError {
    /// The rule that it might break.
    pub fn code(&self) -> DenyCode {
        match self {
            Self::Target { code, .. } => *code,
            Self::TooLarge { .. } => DenyCode::BulkRemoval,
            Self::TooMany { .. } | Self::Call(_) => DenyCode::MalformedContent,
        }
    }

    /// The id of the system that it concerns, where it is known.
    pub fn system(&self) -> Option<&str> {
        match self {
            Self::Target { system, .. } | Self::TooMany { system, .. } => Some(system),
            Self::Call(Unread::Command(_, system)) => Some(system),
            _ => None,
        }
    }

    /// The governed path that it is about, where one is known.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Target { path, .. } | Self::TooMany { path, .. } => Some(path),
            Self::TooLarge { .. } | Self::Call(_) => None,
        }
    }

    /// The refusal, with what to do.
    pub fn reason(&self) -> String {
        let (code, way_on) = (self.code().as_str(), self.way_on());
        format!(
            "The call is denied ({code}): {self}. Nothing was written; {way_on}, or run `statewarden doctor`."
        )
    }

    /// What to do instead, as a clause.
    fn way_on(&self) -> &'static str {
        match self {
            Self::TooMany { .. } | Self::Call(Unread::Command(..)) => {
                "split the command and change state files in commands of their own"
            }
            Self::TooLarge { .. } => "remove its subdirectories one at a time, in separate calls",
            Self::Target { .. } | Self::Call(Unread::Arguments(_)) => "mend that and try again",
        }
    }
}
