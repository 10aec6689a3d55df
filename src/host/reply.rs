//! A decision → what Claude Code reads. The only file that knows its output.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::base::warn::warn;
use crate::formats::json::line;
use crate::host::event::Kind;
use crate::host::stdin;

/// The most characters a reason may have.
pub const MAX_REASON: usize = 1_200;

/// What the process prints, and how it ends. JSON together with exit 2 cannot be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// No objection: nothing on either stream, exit 0.
    Silent,
    /// The call is denied, in JSON on stdout, exit 0.
    Deny { reason: String },
    /// The agent goes on until it has done what the reason says.
    Block { reason: String },
    /// Something the model should know; the call goes on.
    Context { event: Kind, text: String },
    /// What a call is found to have done; `holds` keeps the agent from going on as if
    /// nothing were wrong, and the notice is for the user.
    Found {
        event: Kind,
        text: String,
        holds: bool,
        notice: Option<String>,
    },
    /// Something the user should know; the model is not told.
    Notice { text: String },
    /// The call is denied before it could be understood: stderr, exit 2.
    Refuse { message: String },
    /// The call goes on although something is broken: stderr, exit 0.
    Complain { message: String },
}

impl Reply {
    /// Whether the call does not go on.
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Deny { .. } | Self::Refuse { .. })
    }

    /// A turn or an agent that a hook has held once already is never held again, whatever
    /// fails: clients before 2.1.143 would do so for ever.
    #[must_use]
    pub fn unless_held_before(self, event: &[u8]) -> Self {
        match self {
            Self::Block { reason } if stdin::was_held_before(event) => {
                Self::Notice { text: reason }
            }
            Self::Refuse { message } if stdin::was_held_before(event) => Self::Complain { message },
            reply => reply,
        }
    }

    /// Writes the reply and gives the exit code. A closed stream is no reason to panic.
    pub fn send(&self) -> u8 {
        let block = |reason: &str| json!({ "decision": "block", "reason": reason });
        let context = |event: &Kind, text: &str| {
            let output = json!({ "hookEventName": event, "additionalContext": text });
            json!({ "hookSpecificOutput": output })
        };
        // By Claude Code's names.
        let output = match self {
            Self::Silent => return 0,
            Self::Refuse { message } => {
                warn(message);
                return 2;
            }
            Self::Complain { message } => {
                warn(message);
                return 0;
            }
            Self::Deny { reason } => json!({ "hookSpecificOutput": {
                "hookEventName": Kind::PreToolUse,
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            } }),
            Self::Block { reason } => block(reason),
            Self::Context { event, text } => context(event, text),
            Self::Found {
                event,
                text,
                holds,
                notice,
            } => {
                let mut output = match holds {
                    true => block(text),
                    false => context(event, text),
                };
                if let Some(notice) = notice {
                    output["systemMessage"] = json!(notice);
                }
                output
            }
            Self::Notice { text } => json!({ "systemMessage": text }),
        };
        match (print(&output), self) {
            // Exit 2 refuses as well, by what stands on stderr.
            (
                Err(_),
                Self::Deny { reason }
                | Self::Block { reason }
                | Self::Found {
                    text: reason,
                    holds: true,
                    ..
                },
            ) => {
                warn(reason);
                2
            }
            // What is only told refuses nothing.
            _ => 0,
        }
    }
}

fn print(output: &Value) -> io::Result<()> {
    if is_discarded() {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(line(output).as_bytes())?;
    stdout.flush()
}

/// Whether nobody can read stdout: where it was closed, the standard library has opened
/// `/dev/null` in its place, to which every write succeeds.
#[cfg(unix)]
fn is_discarded() -> bool {
    use rustix::fs::{fstat, stat};
    match (fstat(rustix::stdio::stdout()), stat("/dev/null")) {
        (Ok(stdout), Ok(null)) => stdout.st_rdev == null.st_rdev,
        (stdout, _) => stdout.is_err(),
    }
}

#[cfg(not(unix))]
fn is_discarded() -> bool {
    false
}
