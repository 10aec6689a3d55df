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
use crate::store::{append, replace};

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
    pub fn from_window(window: &Window) -> Self {
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
    /// The change before which the entry held what is kept, where it was left.
    #[serde(default)]
    pub restorable_at: Option<String>,
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
        let shown = |text: &str| text::excerpt(text, 160).into_owned();
        let (path, code, why) = (shown(&self.path), &self.code, shown(&self.why));
        let right = match &self.instead {
            Some(name) => format!("; use `{}`", shown(name)),
            None => String::new(),
        };
        let old = match &self.restorable_at {
            // A path that is shortened is none to paste.
            Some(id) if path == self.path => format!(
                "; `statewarden restore {} --at {id}` brings back what it held",
                text::shell_quote(&path)
            ),
            _ => String::new(),
        };
        match &self.done {
            Done::MovedTo(to) => format!("`{path}` ({code}): moved to `{}`{right}", shown(to)),
            Done::RenamedTo(to) => format!("`{path}` ({code}): renamed back to `{}`", shown(to)),
            Done::PutBack(None) => format!("`{path}` ({code}: {why}): put back as it was"),
            Done::PutBack(Some(newer)) => format!(
                "`{path}` ({code}: {why}): put back as it was; the other content is in `{}`",
                shown(newer)
            ),
            Done::Left(None) => format!("`{path}` ({code}: {why}){right}{old}"),
            Done::Left(Some(more)) => format!("`{path}` ({code}: {why}){right}; {more}{old}"),
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

/// The findings, each with the agent that is told.
pub type Findings = Vec<(Hearer, Finding)>;

/// Keeps findings until their hearers' next events; what is of no session is in the log.
///
/// # Errors
/// The file cannot be written.
pub fn keep(locked: &Locked<'_>, findings: Findings) -> io::Result<()> {
    let heard = findings.iter().filter(|(to, _)| !to.session.is_empty());
    let lines: String = heard.map(line).collect();
    match lines.is_empty() {
        true => Ok(()),
        false => append::append(&locked.dir().join(UNTOLD), lines.as_bytes()).map(drop),
    }
}

/// Takes what a hearer was not told yet.
///
/// # Errors
/// The file cannot be written; nothing counts as told then.
pub fn take(locked: &Locked<'_>, hearer: &Hearer) -> io::Result<Vec<Finding>> {
    let untold = read(locked.dir()).into_iter();
    let mine = untold.filter(|(to, _)| to == hearer);
    let mine = mine.map(|(_, finding)| finding).collect();
    pass_on(locked, &|to| (to != hearer).then(|| to.clone()))?;
    Ok(mine)
}

/// Says of all that is still to be told who is to hear it now; `None` is nobody.
///
/// # Errors
/// The file cannot be written.
pub fn pass_on(locked: &Locked<'_>, to: &dyn Fn(&Hearer) -> Option<Hearer>) -> io::Result<()> {
    let before = read(locked.dir());
    let passed = before.iter().cloned();
    let passed: Findings = passed
        .filter_map(|(heard, finding)| Some((to(&heard)?, finding)))
        .collect();
    if passed == before {
        return Ok(());
    }
    let path = locked.dir().join(UNTOLD);
    if passed.is_empty() {
        return replace::remove(&path);
    }
    let lines: String = passed.iter().map(line).collect();
    replace::replace_private(&path, lines.as_bytes())
}

fn read(recorder: &Path) -> Findings {
    let text = read_text(&recorder.join(UNTOLD)).ok().flatten();
    let text = text.unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
