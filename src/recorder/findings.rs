//! What is reported of changes against the rules, to whom, and what still has to be.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read::read_text;
use crate::base::path;
use crate::base::text;
use crate::contract::denial::Mode;
use crate::formats::json::line;
use crate::host::reply::MAX_REASON;
use crate::recorder::calls::{Call, Progress};
use crate::recorder::entry::ChangeKind;
use crate::recorder::facts::Decision;
use crate::recorder::look::is_gone;
use crate::recorder::undo::Refused;
use crate::recorder::verdict::{Because, Verdict};
use crate::store::lock::Locked;
use crate::store::{append, replace};

/// What waits for the next event of those whom it concerns.
const UNDELIVERED: &str = "undelivered.jsonl";

/// A part of a session that can be sent something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient {
    pub session: String,
    /// Empty for the main thread.
    pub agent_id: String,
}

impl Recipient {
    pub fn main_of(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            agent_id: String::new(),
        }
    }

    /// Who is responsible for a call: its agent, or the main thread where the agent may be
    /// gone by then.
    fn of(call: &Call) -> Self {
        let session = call.caller.session.clone();
        let agent_id = match call.progress {
            Progress::Running | Progress::Ended { .. } => call.caller.agent_id.clone(),
            _ => String::new(),
        };
        Self { session, agent_id }
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
    /// The absolute path of an entry that is reported because it is there.
    #[serde(default)]
    pub present: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// It stays; the clause says why, if there is more to say.
    Left(Option<String>),
    /// It is there now.
    MovedTo(String),
    RenamedTo(String),
    /// It is what it was; the newer content, if any, is there.
    PutBack(Option<String>),
    /// It went with the directory that holds it.
    Along,
    /// It is gone by itself.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MadeBy {
    ThisCall,
    /// It came while the call ran, and others ran as well.
    OneOfSeveral,
    Background,
    /// The call has no end that was reported.
    Interrupted,
    NoCall,
}

/// The findings, each with whom it is for.
pub type Findings = Vec<(Recipient, Finding)>;

/// What is reported of a change; `None` for what concerns no one.
pub(super) fn finding(
    decision: &Decision<'_, '_>,
    done: &Result<Done, Refused>,
) -> Option<Finding> {
    let denial = decision.denial.as_ref()?;
    let left = |why: &str| Done::Left(Some(why.to_owned()));
    let done = match (done, decision.attribution.verdict) {
        (Ok(Done::Along | Done::Gone), _) => return None,
        (Ok(Done::Left(_)), Verdict::Report(because)) => match because {
            Because::NoCallRan | Because::NothingLost => Done::Left(None),
            Because::Tracked => left("git tracks it, so it is not moved"),
            Because::OtherRepository => left("it is in another git repository, so it is not moved"),
            Because::VersionControl => left("it came from version control"),
            Because::OwningProgram => Done::Left(Some(format!(
                "a program of {} ran, and the contract may be behind it",
                denial.system
            ))),
            Because::ActedUpon => left("another program acts upon it"),
            Because::NotInForce => left(
                "the former settings remain in force until a person runs `statewarden config accept`",
            ),
            Because::NotCertain => left("it is not certain who made it"),
        },
        (Ok(done), _) => done.clone(),
        (Err(Refused::NotKept), _) => left("what it was is not kept"),
        (Err(Refused::Later | Refused::Superseded), _) => left("it was changed again"),
        (Err(Refused::Failed(error)), _) => Done::Left(Some(format!("it stays: {error}"))),
    };
    let made_by = match decision.candidates.as_slice() {
        [] => MadeBy::NoCall,
        [one] => match one.progress {
            Progress::Background { .. } | Progress::BackgroundEnded { .. } => MadeBy::Background,
            Progress::Interrupted => MadeBy::Interrupted,
            Progress::Running | Progress::Ended { .. } => MadeBy::ThisCall,
        },
        _ => MadeBy::OneOfSeveral,
    };
    Some(Finding {
        path: denial.display_path.clone(),
        code: denial.code.as_str().to_owned(),
        why: denial.why.clone(),
        instead: denial.instead.as_ref().map(|instead| instead.path.clone()),
        done,
        restorable_at: None,
        made_by,
        is_enforced: denial.mode == Mode::Enforce,
        present: (decision.change.act() != ChangeKind::Remove)
            .then(|| path::from_os(decision.change.path())),
    })
}

/// To whom a finding is reported: every candidate of what was undone, else those that have
/// ended; of what no call made, the main thread.
pub(super) fn recipients(
    decision: &Decision<'_, '_>,
    finding: &Finding,
    session: &str,
) -> Vec<Recipient> {
    let candidates = decision.candidates.iter();
    let mut recipients: Vec<Recipient> = candidates
        .filter(|call| finding.was_undone() || !call.is_awaited())
        .map(|call| Recipient::of(call))
        .collect();
    // A session whose call has no end may be over.
    let is_over = decision.candidates.iter().any(|call| {
        call.caller.session != session && matches!(call.progress, Progress::Interrupted)
    });
    if decision.candidates.is_empty() || is_over {
        recipients.push(Recipient::main_of(session));
    }
    recipients.dedup();
    recipients
}

impl Finding {
    /// One line: the path, what is wrong, what was done.
    pub fn to_item(&self) -> String {
        let (path, code, why) = (shown(&self.path), &self.code, shown(&self.why));
        let right = self.right_name();
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
            Done::Left(None) | Done::Along | Done::Gone => {
                format!("`{path}` ({code}: {why}){right}{old}")
            }
            Done::Left(Some(more)) => format!("`{path}` ({code}: {why}){right}; {more}{old}"),
        }
    }

    fn right_name(&self) -> String {
        let instead = self.instead.as_deref();
        instead.map_or(String::new(), |name| format!("; use `{}`", shown(name)))
    }

    /// Whether there is still something to report: an entry that was left may be gone.
    pub fn is_due(&self) -> bool {
        let present = self.present.as_deref().map(Path::new);
        self.was_undone() || present.is_none_or(|path| !is_gone(path))
    }

    pub fn was_undone(&self) -> bool {
        matches!(
            self.done,
            Done::MovedTo(_) | Done::RenamedTo(_) | Done::PutBack(_)
        )
    }
}

fn shown(text: &str) -> String {
    text::excerpt(text, 160).into_owned()
}

/// The text for the model about some findings, what is left to correct first; `None` without any.
pub fn to_text(findings: &[Finding]) -> Option<String> {
    let head = head(findings)?;
    let (undone, left): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|finding| finding.was_undone());
    let is_nobodys = findings
        .iter()
        .all(|finding| finding.made_by == MadeBy::NoCall);
    let todo = match (left.is_empty(), is_nobodys) {
        (true, _) => "",
        (false, true) => " They may be the user's: leave them, and tell the user.",
        (false, false) => " Correct what is yours; tell the user about the rest.",
    };
    let first = left.first().or(undone.first())?;
    let more = if shown(&first.path) == first.path {
        let path = text::shell_quote(&first.path);
        format!(" More: `statewarden explain {path}`.")
    } else {
        " More: `statewarden log`.".to_owned()
    };
    let moved = moved(&undone);
    let moved: Vec<String> = moved.into_iter().filter(|it| !it.is_empty()).collect();
    let behind = moved.iter().map(|it| it.chars().count() + 2).sum::<usize>();
    let used = head.len() + todo.len() + more.len() + behind + 4;
    let items = left.iter().map(|finding| finding.to_item()).collect();
    let mut parts = Vec::new();
    if !left.is_empty() {
        parts.push(text::join_limited(items, MAX_REASON.saturating_sub(used)));
    }
    parts.extend(moved);
    let text = format!("{head}: {}.{todo}{more}", parts.join(". "));
    Some(text::truncate(&text, MAX_REASON))
}

fn head(findings: &[Finding]) -> Option<&'static str> {
    let first = findings.first()?.made_by;
    let is_all = findings.iter().all(|finding| finding.made_by == first);
    Some(match first {
        MadeBy::ThisCall if is_all => "This call changed state files against the rules",
        MadeBy::Background if is_all => {
            "A command in the background changed state files against the rules"
        }
        MadeBy::NoCall if is_all => "State files were changed against the rules while no call ran",
        MadeBy::Interrupted if is_all => {
            "State files were changed against the rules after a call that was interrupted had begun"
        }
        _ => "State files were changed against the rules while this call ran, maybe by another one",
    })
}

/// What was taken back, and how a person gets it again: a line for what was moved to each
/// folder, and one for what was put back.
fn moved(undone: &[&Finding]) -> Vec<String> {
    const NAMED: usize = 3;
    let mut lines = Vec::new();
    let mut rest: Vec<&&Finding> = undone.iter().collect();
    while let Some((folder, first)) = rest.first().and_then(|one| Some((one.folder()?, **one))) {
        let (here, others): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|finding| finding.folder() == Some(folder));
        rest = others;
        let restore = if shown(folder) == folder {
            let folder = text::shell_quote(folder);
            format!("; `statewarden restore {folder}` brings it back")
        } else {
            String::new()
        };
        lines.push(match here.as_slice() {
            [one] => format!("{}{restore}", one.to_item()),
            all => {
                let names: Vec<String> = all
                    .iter()
                    .take(NAMED)
                    .map(|one| format!("`{}`", text::excerpt(&one.path, 60)))
                    .collect();
                let more = all.len() - names.len();
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    "{}{more} ({}): moved to `{}`{}{restore}",
                    names.join(", "),
                    first.code,
                    shown(folder),
                    first.right_name()
                )
            }
        });
    }
    let others: Vec<String> = rest.iter().map(|finding| finding.to_item()).collect();
    if !others.is_empty() {
        lines.push(text::join_limited(others, MAX_REASON / 2));
    }
    lines
}

impl Finding {
    /// The folder in the archive to which it was moved.
    pub fn folder(&self) -> Option<&str> {
        match &self.done {
            Done::MovedTo(to) => to.rsplit_once('/').map(|(folder, _)| folder),
            _ => None,
        }
    }
}

/// One line for the user about what was moved or put back.
pub fn to_notice(findings: &[Finding]) -> Option<String> {
    let undone: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.was_undone())
        .collect();
    let lines = moved(&undone).join("; ");
    (!lines.is_empty()).then(|| text::truncate(&format!("statewarden: {lines}"), MAX_REASON))
}

/// Keeps findings until their recipients' next events; what is of no session is in the log.
///
/// # Errors
/// The file cannot be written.
pub fn keep(locked: &Locked<'_>, findings: Findings) -> io::Result<()> {
    let lines: String = findings
        .iter()
        .filter(|(to, _)| !to.session.is_empty())
        .map(line)
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    append::append(&locked.dir().join(UNDELIVERED), lines.as_bytes()).map(drop)
}

/// Takes what a recipient was not sent yet.
///
/// # Errors
/// The file cannot be written; nothing counts as delivered then.
pub fn take(locked: &Locked<'_>, recipient: &Recipient) -> io::Result<Vec<Finding>> {
    let undelivered = read(locked.dir()).into_iter();
    let (mine, others): (Findings, Findings) = undelivered.partition(|(to, _)| to == recipient);
    if !mine.is_empty() {
        replace_all(locked, &others)?;
    }
    Ok(mine.into_iter().map(|(_, finding)| finding).collect())
}

/// Sends all that is undelivered to another recipient; `None` drops it.
///
/// # Errors
/// The file cannot be written.
pub fn pass_on(
    locked: &Locked<'_>,
    to: &dyn Fn(&Recipient) -> Option<Recipient>,
) -> io::Result<()> {
    let before = read(locked.dir());
    let passed: Findings = before
        .iter()
        .filter_map(|(recipient, finding)| Some((to(recipient)?, finding.clone())))
        .collect();
    if passed == before {
        return Ok(());
    }
    replace_all(locked, &passed)
}

fn replace_all(locked: &Locked<'_>, findings: &Findings) -> io::Result<()> {
    let path = locked.dir().join(UNDELIVERED);
    if findings.is_empty() {
        return replace::remove(&path);
    }
    let lines: String = findings.iter().map(line).collect();
    replace::replace_private(&path, lines.as_bytes())
}

fn read(memory: &Path) -> Findings {
    let kept = read_text(&memory.join(UNDELIVERED)).ok().flatten();
    let text = kept.unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
