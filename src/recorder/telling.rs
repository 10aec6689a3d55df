//! What is told of changes against the rules, to whom, and what still has to be.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read::read_text;
use crate::base::text;
use crate::formats::json::line;
use crate::host::reply::MAX_REASON;
use crate::recorder::windows::{Caller, Running, Window};
use crate::store::lock::Locked;
use crate::store::replace;

/// What waits for the next event of those whom it concerns.
const UNTOLD: &str = "untold.jsonl";

/// A part of a session that can be told something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hearer {
    pub session: String,
    /// Empty for the main thread.
    pub agent_id: String,
}

impl Hearer {
    pub fn of(caller: &Caller) -> Self {
        Self {
            session: caller.session.clone(),
            agent_id: caller.agent_id.clone(),
        }
    }

    pub fn main_of(&self) -> Self {
        Self {
            agent_id: String::new(),
            ..self.clone()
        }
    }

    /// Who hears of what a call did: its agent, or the main thread where the agent may
    /// be gone by then.
    pub fn of_window(window: &Window) -> Self {
        let caller = Self::of(&window.caller);
        match window.state {
            Running::Waited | Running::Ended { .. } => caller,
            Running::Background { .. } | Running::Over { .. } | Running::Dangling { .. } => {
                caller.main_of()
            }
        }
    }
}

/// One change against the rules, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The path as it is shown.
    pub path: String,
    pub code: String,
    /// What is wrong, as a clause.
    pub why: String,
    pub instead: Option<String>,
    pub done: Done,
    pub made_by: MadeBy,
    /// Whether the rule holds, and does not just warn.
    pub is_enforced: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// It stays; the clause says why, if there is more to say.
    Left(Option<String>),
    MovedTo(String),
    RenamedTo(String),
    /// It is what it was; the newer content, if any, is there.
    PutBack(Option<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MadeBy {
    ThisCall,
    /// It came while the call ran, and others ran as well.
    OneOfSeveral,
    Background,
    NoCall,
}

impl Finding {
    /// One line: the path, what is wrong, what was done.
    pub fn to_item(&self) -> String {
        let (path, code) = (text::excerpt(&self.path, 160), &self.code);
        let shown = |text: &str| text::excerpt(text, 160).into_owned();
        match &self.done {
            Done::MovedTo(to) => {
                let right = self.instead.as_ref();
                let right = right.map_or(String::new(), |name| format!("; use `{}`", shown(name)));
                format!("`{path}` ({code}): moved to `{}`{right}", shown(to))
            }
            Done::RenamedTo(to) => {
                format!("`{path}` ({code}): renamed back to `{}`", shown(to))
            }
            Done::PutBack(newer) => {
                let newer = newer.as_ref();
                let newer = newer.map_or(String::new(), |at| {
                    format!("; the other content is in `{}`", shown(at))
                });
                format!(
                    "`{path}` ({code}: {}): put back as it was{newer}",
                    shown(&self.why)
                )
            }
            Done::Left(more) => {
                let right = self.instead.as_ref();
                let right = right.map_or(String::new(), |name| format!("; use `{}`", shown(name)));
                let more = more
                    .as_ref()
                    .map_or(String::new(), |more| format!("; {more}"));
                format!("`{path}` ({code}: {}){right}{more}", shown(&self.why))
            }
        }
    }

    pub fn was_undone(&self) -> bool {
        !matches!(self.done, Done::Left(_))
    }
}

/// The text for the model about some findings; `None` without any.
pub fn to_text(findings: &[Finding]) -> Option<String> {
    let first = findings.first()?;
    let is_all = |by| findings.iter().all(|finding| finding.made_by == by);
    let head = match first.made_by {
        MadeBy::ThisCall if is_all(MadeBy::ThisCall) => {
            "This call changed state files against the rules"
        }
        MadeBy::Background if is_all(MadeBy::Background) => {
            "A command in the background changed state files against the rules"
        }
        MadeBy::NoCall if is_all(MadeBy::NoCall) => {
            "State files were changed against the rules while no call ran"
        }
        _ => "State files were changed against the rules while this call ran, maybe by another one",
    };
    let todo = match findings.iter().any(|finding| !finding.was_undone()) {
        true => " Correct what is yours; tell the user about the rest.",
        false => "",
    };
    let path = text::excerpt(&first.path, 160);
    let end = format!(
        "{todo} More: `statewarden explain {}`.",
        text::shell_quote(&path)
    );
    let room = MAX_REASON.saturating_sub(head.len() + end.len() + 4);
    let items = findings.iter().map(Finding::to_item).collect();
    let text = format!("{head}: {}.{end}", text::join_limited(items, room));
    Some(text::truncate(&text, MAX_REASON))
}

#[derive(Serialize, Deserialize)]
struct Untold {
    to: Hearer,
    finding: Finding,
}

/// Keeps findings until their hearers' next events; what is of no session is in the log.
///
/// # Errors
/// The file cannot be written.
pub fn keep(locked: &Locked<'_>, findings: Vec<(Hearer, Finding)>) -> io::Result<()> {
    let findings: Vec<_> = findings
        .into_iter()
        .filter(|(to, _)| !to.session.is_empty())
        .collect();
    if findings.is_empty() {
        return Ok(());
    }
    let untold = findings
        .into_iter()
        .map(|(to, finding)| Untold { to, finding });
    let lines: String = untold.map(|untold| line(&untold)).collect();
    let path = locked.dir().join(UNTOLD);
    crate::store::append::append(&path, lines.as_bytes()).map(drop)
}

/// Takes what a hearer was not told yet.
///
/// # Errors
/// The file cannot be written; nothing counts as told then.
pub fn take(locked: &Locked<'_>, hearer: &Hearer) -> io::Result<Vec<Finding>> {
    let all = read(locked.dir());
    let (mine, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.to == *hearer);
    if !mine.is_empty() {
        write(locked, &others)?;
    }
    Ok(mine.into_iter().map(|untold| untold.finding).collect())
}

/// Leaves what some hearers were not told to the main threads of their sessions, or, with
/// `None`, to nobody.
///
/// # Errors
/// The file cannot be written.
pub fn pass_on(locked: &Locked<'_>, to: &dyn Fn(&Hearer) -> Option<Hearer>) -> io::Result<()> {
    let all = read(locked.dir());
    let hearers = |all: &[Untold]| all.iter().map(|one| one.to.clone()).collect::<Vec<_>>();
    let before = hearers(&all);
    let passed = all.into_iter().filter_map(|untold| {
        let to = to(&untold.to)?;
        Some(Untold { to, ..untold })
    });
    let passed: Vec<Untold> = passed.collect();
    match hearers(&passed) == before {
        true => Ok(()),
        false => write(locked, &passed),
    }
}

fn read(recorder: &Path) -> Vec<Untold> {
    let text = read_text(&recorder.join(UNTOLD)).ok().flatten();
    let text = text.unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn write(locked: &Locked<'_>, untold: &[Untold]) -> io::Result<()> {
    let path = locked.dir().join(UNTOLD);
    match untold {
        [] => replace::remove(&path),
        untold => {
            let lines: String = untold.iter().map(line).collect();
            replace::replace_private(&path, lines.as_bytes())
        }
    }
}
