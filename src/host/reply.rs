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
    /// The agent goes on until it has done what the reason says; a change of settings is not
    /// taken, and the command of a skill does not run.
    Block { reason: String },
    /// Something the model should know, such as what a call is found to have done; `holds` keeps
    /// the agent from going on as if nothing were wrong, and the notice is for the user.
    Context {
        event: Kind,
        text: String,
        holds: bool,
        notice: Option<String>,
    },
    /// Something the user should know; it is not shown to the model.
    Notice { text: String },
    /// The call is denied before it could be understood: stderr, exit 2.
    Refuse { message: String },
    /// The call goes on although something is broken: stderr, exit 0.
    Complain { message: String },
}

impl Reply {
    /// Something the model should know; the call goes on.
    pub fn context(event: Kind, text: String) -> Self {
        Self::Context {
            event,
            text,
            holds: false,
            notice: None,
        }
    }

    /// Adds something that the user should know; whether there is room for it.
    pub fn add_notice(&mut self, more: &str) -> bool {
        match self {
            Self::Silent => {
                *self = Self::Notice {
                    text: more.to_owned(),
                }
            }
            Self::Notice { text: known }
            | Self::Context {
                notice: Some(known),
                ..
            } => *known = format!("{known}\n{more}"),
            Self::Context { notice, .. } => *notice = Some(more.to_owned()),
            _ => return false,
        }
        true
    }

    /// What denies a call, at the event that asks about it.
    pub fn denial(event: Kind, reason: String) -> Self {
        match event {
            Kind::PreSkillShellCommand => Self::Block { reason },
            _ => Self::Deny { reason },
        }
    }

    /// Whether the call does not go on.
    pub fn refuses(&self) -> bool {
        matches!(
            self,
            Self::Deny { .. } | Self::Block { .. } | Self::Refuse { .. }
        )
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
            Self::Context {
                event,
                text,
                holds,
                notice,
            } => {
                let mut output = if *holds {
                    block(text)
                } else {
                    context(event, text)
                };
                if let Some(notice) = notice {
                    output["systemMessage"] = json!(notice);
                }
                output
            }
            Self::Notice { text } => json!({ "systemMessage": text }),
        };
        match (print(&output), self.refusal()) {
            // Exit 2 refuses as well, by the text on stderr.
            (Err(_), Some(reason)) => {
                warn(reason);
                2
            }
            _ => 0,
        }
    }

    /// Why a call, a turn or an agent does not go on.
    fn refusal(&self) -> Option<&str> {
        match self {
            Self::Deny { reason }
            | Self::Block { reason }
            | Self::Context {
                text: reason,
                holds: true,
                ..
            } => Some(reason),
            _ => None,
        }
    }
}

fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}

fn context(event: &Kind, text: &str) -> Value {
    let output = json!({ "hookEventName": event, "additionalContext": text });
    json!({ "hookSpecificOutput": output })
}

fn print(output: &Value) -> io::Result<()> {
    if is_discarded() {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(line(output).as_bytes())?;
    stdout.flush()
}

/// Whether stdout is read by no one: where it was closed, the standard library has opened
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
