//! A decision → what Claude Code reads. The only file that knows its output.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use crate::decision::{Decision, Denial, DenyCode};
use crate::event::Kind;
use crate::formats::line;
use crate::settings::Mode;
use crate::stdin;

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
    Context { event: Kind, text: String },
    /// Something the user should know; the model is not told.
    Notice { text: String },
    /// The call is refused before it could be understood: stderr, exit 2.
    Refuse { message: String },
    /// The call goes on although something is broken: stderr, exit 0.
    Complain { message: String },
}

/// What goes to stdout, by Claude Code's names.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<ForEvent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForEvent<'a> {
    hook_event_name: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
}

impl Reply {
    /// The answer to a decision about an event of this kind. Only `PreToolUse`
    /// can refuse. `logged` is the reason without the problems.
    pub fn to(kind: Kind, decision: &Decision, logged: String, problems: &[String]) -> Self {
        let reason = |denials: &[Denial]| match problems {
            [] => logged,
            problems => reason(denials, problems),
        };
        match (kind, decision) {
            (Kind::PreToolUse, Decision::Deny(denials)) => Self::Deny {
                reason: reason(denials),
            },
            (Kind::PreToolUse, Decision::Warn(denials)) => Self::Context {
                event: kind,
                text: format!("statewarden warns and lets this pass: {}", reason(denials)),
            },
            (Kind::PreToolUse, Decision::Allow { notes }) if !notes.is_empty() => Self::Context {
                event: kind,
                text: (notes.iter().map(|note| shown(note.text(), 420)))
                    .collect::<Vec<_>>()
                    .join("\n"),
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
        let printed = match self {
            Self::Silent => return 0,
            Self::Refuse { message } => {
                complain(message);
                return 2;
            }
            Self::Complain { message } => {
                complain(message);
                return 0;
            }
            Self::Deny { reason } => print_for(ForEvent {
                hook_event_name: Kind::PreToolUse,
                permission_decision: Some("deny"),
                permission_decision_reason: Some(reason),
                additional_context: None,
            }),
            Self::Block { reason } => print(&Output {
                decision: Some("block"),
                reason: Some(reason),
                ..Output::default()
            }),
            Self::Context { event, text } => print_for(ForEvent {
                hook_event_name: *event,
                permission_decision: None,
                permission_decision_reason: None,
                additional_context: Some(text),
            }),
            Self::Notice { text } => print(&Output {
                system_message: Some(text),
                ..Output::default()
            }),
        };
        match (printed, self) {
            // Exit 2 refuses as well, by what stands on stderr.
            (Err(_), Self::Deny { reason } | Self::Block { reason }) => {
                complain(reason);
                2
            }
            // What is only told refuses nothing.
            _ => 0,
        }
    }
}

fn print_for(event: ForEvent<'_>) -> io::Result<()> {
    print(&Output {
        hook_specific_output: Some(event),
        ..Output::default()
    })
}

fn print(output: &Output<'_>) -> io::Result<()> {
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

/// One line on stderr, for the person who reads Claude Code's debug log.
pub fn complain(message: &str) {
    let line = printable(&message.replace('\n', " "));
    let line = format!("statewarden: {line}\n");
    // There is nowhere left to report to when stderr is closed.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// The same about a change that failed; a busy lock is tried again by the next event.
pub fn complain_of(what: &str, error: &io::Error) {
    if error.kind() != io::ErrorKind::WouldBlock {
        complain(&format!("{what}: {error}"));
    }
}

/// The redirect: what is refused, why, what to do instead. One line.
pub fn reason(denials: &[Denial], problems: &[String]) -> String {
    let Some((first, others)) = denials.split_first() else {
        return String::new();
    };
    let shown = shown(&first.shown, 160);
    let mut text = String::with_capacity(512);
    let code = first.code.as_str();
    let why = self::shown(&first.why, 420);
    let verb = match first.mode {
        Mode::Enforce => "is refused",
        Mode::Warn | Mode::Off => "breaks a rule",
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "`{shown}` {verb} ({code}): {why}.");
    if let Some(instead) = &first.instead {
        let _ = write!(text, " Use `{}` instead.", self::shown(instead, 160));
    }
    if first.code.is_about_names() {
        let site = self::shown(&first.site, 80);
        let _ = write!(
            text,
            " Scratch files belong in the OS temp directory, not in `{site}`."
        );
    }
    if first.code != DenyCode::GateClosed {
        text += " Do not work around this through the shell.";
    }
    let note = problems.first();
    let note = note.map(|problem| format!(" Note: {}.", self::shown(problem, 240)));
    let end = note.unwrap_or_default() + &more_on(first);
    let room = MAX_REASON - 1 - end.chars().count();
    if !others.is_empty() {
        text += &also(
            first.mode,
            others,
            room.saturating_sub(text.chars().count()),
        );
    }
    if text.len() > room {
        text = cut(&text, room);
    }
    text + &end
}

/// The commands that tell more.
fn more_on(denial: &Denial) -> String {
    if denial.code == DenyCode::GateClosed {
        let file = shown(&denial.path, 160);
        return format!(
            " More: `statewarden status`, `statewarden explain {}`.",
            quoted(&file)
        );
    }
    let agent = denial.agent.as_deref();
    let by = agent.map(|agent| format!(" --agent {}", quoted(&shown(agent, 60))));
    let (path, by) = (shown(&denial.shown, 160), by.unwrap_or_default());
    format!(" More: `statewarden explain {}{by}`.", quoted(&path))
}

/// The further denials, as many as fit, and the number of the rest.
fn also(mode: Mode, others: &[Denial], room: usize) -> String {
    let mut text = String::from(match mode {
        Mode::Enforce => " Also refused: ",
        Mode::Warn | Mode::Off => " Also against a rule: ",
    });
    for (at, other) in others.iter().enumerate() {
        let mut item = format!("`{}` ({}", shown(&other.shown, 120), other.code.as_str());
        if let Some(instead) = &other.instead {
            let _ = write!(item, ", use `{}`", shown(instead, 120));
        }
        let rest = format!("and {} more.", others.len() - at);
        if text.len() + item.len() + rest.len() + 3 > room {
            return text + &rest;
        }
        text += &item;
        text += if at + 1 == others.len() { ")." } else { "), " };
    }
    text
}

/// As many as there is room for, at least one, and the number of the rest.
pub fn listed(mut items: Vec<String>, room: usize) -> String {
    let mut used = 0;
    let fit = |item: &&String| {
        used += item.len() + 2;
        used <= room
    };
    let shown = items.iter().take_while(fit).count().max(1);
    if items.len() > shown {
        let rest = items.len() - shown;
        items.truncate(shown);
        items.push(format!("and {rest} more"));
    }
    items.join(", ")
}

/// A path as one word of a shell command.
pub fn quoted(path: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '…');
    if path.chars().all(is_plain) {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(format!("'{}'", path.replace('\'', r"'\''")))
    }
}

/// At most `max` characters of a text of an agent's making, safe to show.
pub fn shown(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max && !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(cut(&printable(text), max))
}

/// What a terminal does not show but obeys: controls, and marks that turn or end a line.
fn is_obeyed(c: char) -> bool {
    let turns_or_ends = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns_or_ends || c.is_control()
}

/// Text of an agent's making, safe to show: what a terminal obeys is escaped.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) {
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
