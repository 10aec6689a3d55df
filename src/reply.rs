//! A decision → what Claude Code reads. The only file that knows its output.

use std::io::{self, Write};

use serde_json::json;

use crate::decision::{Decision, Denial, DenyCode};
use crate::event::Kind;

/// The most characters a reason may have.
pub const MAX_REASON: usize = 1_200;

/// What the process prints, and how it ends. JSON together with exit 2 cannot be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// No objection: nothing on either stream, exit 0.
    Silent,
    /// The call is refused, in JSON on stdout, exit 0.
    Deny { reason: String },
    /// The agent goes on until it has done what the reason says.
    Block { reason: String },
    /// Something the model should know; the call goes on.
    Context { event: &'static str, text: String },
    /// Something the user should know; the model is not told.
    Notice { text: String },
    /// The call is refused before it could be understood: stderr, exit 2.
    Refuse { message: String },
    /// The call goes on although something is broken: stderr, exit 0.
    Complain { message: String },
}

impl Reply {
    /// The answer to a decision about an event of this kind. Only `PreToolUse` can refuse.
    pub fn to(kind: Kind, decision: &Decision, problems: &[String]) -> Self {
        match (kind, decision) {
            (Kind::PreToolUse, Decision::Deny(denials)) => Self::Deny {
                reason: reason(denials, problems),
            },
            (Kind::PreToolUse, Decision::Warn(denials)) => {
                let text = format!(
                    "statewarden would refuse this: {}",
                    reason(denials, problems)
                );
                Self::Context {
                    event: "PreToolUse",
                    text,
                }
            }
            (Kind::PreToolUse, Decision::Allow { notes }) if !notes.is_empty() => Self::Context {
                event: "PreToolUse",
                text: notes.join("\n"),
            },
            _ => Self::Silent,
        }
    }

    /// The order in which replies to several readings of one event win.
    pub fn weight(&self) -> u8 {
        match self {
            Self::Silent => 0,
            Self::Complain { .. } | Self::Notice { .. } => 1,
            Self::Context { .. } => 2,
            Self::Refuse { .. } => 3,
            Self::Deny { .. } | Self::Block { .. } => 4,
        }
    }

    /// Writes the reply and gives the exit code. A closed stream is no reason to panic.
    pub fn send(&self) -> u8 {
        match self {
            Self::Silent => 0,
            Self::Deny { reason } => print(&json!({
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                }
            })),
            Self::Block { reason } => print(&json!({ "decision": "block", "reason": reason })),
            Self::Context { event, text } => print(&json!({
                "hookSpecificOutput": { "hookEventName": event, "additionalContext": text }
            })),
            Self::Notice { text } => print(&json!({ "systemMessage": text })),
            Self::Refuse { message } => {
                complain(message);
                2
            }
            Self::Complain { message } => {
                complain(message);
                0
            }
        }
    }
}

fn print(json: &serde_json::Value) -> u8 {
    let line = format!("{json}\n");
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => 0,
        // The decision could not be delivered; exit 2 refuses without it.
        Err(_) => 2,
    }
}

/// One line on stderr, for the person who reads Claude Code's debug log.
pub fn complain(message: &str) {
    let line = format!("statewarden: {}\n", message.replace('\n', " "));
    // There is nowhere left to report to when stderr is closed.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// The redirect: what is refused, why, what to do instead. One line.
pub fn reason(denials: &[Denial], problems: &[String]) -> String {
    let Some((first, others)) = denials.split_first() else {
        return String::new();
    };
    let shown = cut(&printable(&first.shown), 160);
    let mut text = format!(
        "`{shown}` is refused ({}): {}.",
        first.code.as_str(),
        cut(&printable(&first.why), 420)
    );
    if let Some(instead) = &first.instead {
        text += &format!(" Use `{}` instead.", cut(&printable(instead), 160));
    }
    if first.code.is_about_names() {
        text += &format!(
            " Scratch files belong in the OS temp directory, not in `{}`.",
            cut(&printable(&first.site), 80)
        );
    }
    if first.code != DenyCode::GateClosed {
        text += " Do not work around this through the shell.";
    }
    let mut end = String::new();
    for problem in problems.iter().take(1) {
        end += &format!(" Note: {}.", cut(&printable(problem), 120));
    }
    end += &match first.code {
        DenyCode::GateClosed => " More: `statewarden status`.".to_owned(),
        _ => format!(" More: `statewarden explain {}`.", quoted(&shown)),
    };
    let room = MAX_REASON - 1 - end.chars().count();
    text += &also(others, room.saturating_sub(text.chars().count()));
    cut(&text, room) + &end
}

/// The further denials, as many as fit, and the number of the rest.
fn also(others: &[Denial], room: usize) -> String {
    let mut text = String::new();
    for (at, other) in others.iter().enumerate() {
        let item = format!(
            " Also refused: `{}` ({}).",
            cut(&printable(&other.shown), 120),
            other.code.as_str()
        );
        let rest = format!(" And {} more.", others.len() - at);
        if (text.len() + item.len() + rest.len()) > room {
            return text + &rest;
        }
        text += &item;
    }
    text
}

/// A path as one word of a shell command.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '…');
    if path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Text of an agent's making, safe to show: control characters are escaped.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// At most `max` characters; what is missing shows as `…`.
pub fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => {
            let end = text
                .char_indices()
                .nth(max.saturating_sub(1))
                .map_or(0, |(at, _)| at);
            format!("{}…", &text[..end])
        }
    }
}
