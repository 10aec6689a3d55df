//! A decision → what the agent reads: one line that redirects.

use std::fmt::Write as _;

use crate::base::text::{excerpt, shell_quote, truncate};
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::guard::decision::Decision;
use crate::host::event::Kind;
use crate::host::reply::{MAX_REASON, Reply};

/// The answer to a decision about an event of this kind. Only a call that has not run yet
/// can be refused, and only `PreToolUse` has room for a word besides. `logged` is the reason without the problems.
pub fn reply(kind: Kind, decision: &Decision, logged: String, problems: &[String]) -> Reply {
    let reason = |denials: &[Denial]| match problems {
        [] => logged,
        problems => reason(denials, problems),
    };
    match (kind, decision) {
        (kind, Decision::Deny(denials)) if kind.is_before_call() => {
            Reply::denial(kind, reason(denials))
        }
        (Kind::PreToolUse, Decision::Warn(denials)) => Reply::context(
            kind,
            format!("statewarden warns and lets this pass: {}", reason(denials)),
        ),
        (Kind::PreToolUse, Decision::Allow { notes }) if !notes.is_empty() => {
            let texts = notes.iter().map(|note| excerpt(note.text(), 420));
            Reply::context(kind, texts.collect::<Vec<_>>().join("\n"))
        }
        _ => Reply::Silent,
    }
}

/// The redirect: what is denied, why, what to do instead. One line.
pub fn reason(denials: &[Denial], problems: &[String]) -> String {
    let Some((first, others)) = denials.split_first() else {
        return String::new();
    };
    let note = problems
        .first()
        .map(|problem| format!(" Note: {}.", excerpt(problem, 240)));
    let end = note.unwrap_or_default() + &more_on(first);
    redirect(first, others, room_before(&end)) + &end
}

/// The same of one denial, without the commands that tell more.
pub fn reason_alone(denial: &Denial) -> String {
    redirect(denial, &[], room_before(&more_on(denial)))
}

fn room_before(end: &str) -> usize {
    MAX_REASON - 1 - end.chars().count()
}

fn redirect(first: &Denial, others: &[Denial], room: usize) -> String {
    let shown = excerpt(&first.display_path, 160);
    let mut text = String::with_capacity(512);
    let code = first.code.as_str();
    let why = excerpt(&first.why, 420);
    let verb = match first.mode {
        Mode::Enforce => "is denied",
        Mode::Warn | Mode::Off => "breaks a rule",
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "`{shown}` {verb} ({code}): {why}.");
    if let Some(instead) = &first.instead {
        let _ = write!(text, " Use `{}` instead", excerpt(&instead.path, 160));
        text += if instead.is_there {
            "; it exists, so edit it, and only if this is that document."
        } else {
            "."
        };
    }
    if first.code.subject().is_name() {
        let site = excerpt(&first.site, 80);
        let _ = write!(
            text,
            " Scratch files belong in the OS temp directory, not in `{site}`."
        );
    }
    if first.code != DenyCode::GateClosed {
        text += " Do not work around this through the shell.";
    }
    if !others.is_empty() {
        text += &also(
            first.mode,
            others,
            room.saturating_sub(text.chars().count()),
        );
    }
    if text.len() > room {
        return truncate(&text, room);
    }
    text
}

/// The commands that tell more.
pub(crate) fn more_on(denial: &Denial) -> String {
    if denial.code == DenyCode::GateClosed {
        let file = excerpt(&denial.path, 160);
        return format!(
            " More: `statewarden status`, `statewarden explain {}`.",
            shell_quote(&file)
        );
    }
    let agent = denial.agent.as_deref();
    let by = agent.map(|agent| format!(" --agent {}", shell_quote(&excerpt(agent, 60))));
    let (path, by) = (excerpt(&denial.display_path, 160), by.unwrap_or_default());
    format!(" More: `statewarden explain {}{by}`.", shell_quote(&path))
}

/// The further denials, as many as fit, and the number of the rest.
pub(crate) fn also(mode: Mode, others: &[Denial], room: usize) -> String {
    let mut text = String::from(match mode {
        Mode::Enforce => " Also denied: ",
        Mode::Warn | Mode::Off => " Also against a rule: ",
    });
    for (at, other) in others.iter().enumerate() {
        let mut item = format!(
            "`{}` ({}",
            excerpt(&other.display_path, 120),
            other.code.as_str()
        );
        if let Some(instead) = &other.instead {
            let _ = write!(item, ", use `{}`", excerpt(&instead.path, 120));
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
