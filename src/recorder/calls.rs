//! The calls that run or have just ended: a note each, a file `open/ID` that is made, grows
//! and is removed, and never replaced, so that it needs no lock.
//!
//! All times are those of the file system that holds the notes.

use std::cell::OnceCell;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::actor::{Actor, AgentName};
use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::base::path;
use crate::base::text::head;
use crate::formats::json::line;
use crate::project::roots::Project;
use crate::recorder::entry::{BlobId, Change, Nanos};
use crate::store::{append, replace};

const DIR: &str = "open";

const SECOND: Nanos = 1_000_000_000;

/// Other hooks of the same event run before and after the tool.
const AROUND_TOOL: Nanos = SECOND / 10;

/// The client's longest timeout of a command in the foreground, and some seconds. One without
/// an end after it was killed with its client.
const LONGEST: Nanos = 610 * SECOND;

/// How long the note of a call that ended is kept: its end may be sent twice.
const KEPT: Nanos = 10 * SECOND;

/// How long that of an interrupted one is: its end may come after the user's next words.
const KEPT_INTERRUPTED: Nanos = 3_600 * SECOND;

/// A command in the background whose end was not reported is forgotten after this time.
const KEPT_BACKGROUND: Nanos = 12 * 3_600 * SECOND;

/// As much of a command's text is kept to look names up in.
const MAX_TEXT: usize = 64 * 1024;

/// Who makes a call, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub session: String,
    /// Empty for the main thread.
    pub agent_id: String,
    /// The name of the agent, `main`, or [`OURSELVES`].
    pub actor: String,
    pub tool: String,
    pub tool_use_id: String,
}

/// The actor of what this program writes itself.
pub const OURSELVES: &str = "statewarden";

impl Caller {
    /// This program, by the verb or the part of the hook that writes.
    pub fn ourselves(tool: &str) -> Self {
        Self {
            actor: OURSELVES.to_owned(),
            tool: tool.to_owned(),
            ..Self::default()
        }
    }

    /// `None` is this program, which may write everything.
    pub fn actor(&self) -> Option<Actor> {
        match (self.actor.as_str(), self.agent_id.as_str()) {
            (OURSELVES, "") => None,
            (_, "") => Some(Actor::Main),
            (actor, _) => Some(Actor::Agent(AgentName::parse(actor))),
        }
    }

    pub fn is_of(&self, session: &str, agent_id: &str) -> bool {
        self.session == session && self.agent_id == agent_id
    }
}

/// What a call is known to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    RunsCode(CallText),
    /// A file tool writes one path, and this content where it was in the call.
    Writes {
        path: String,
        #[serde(default)]
        content: Option<BlobId>,
    },
}

/// What the text of a call that runs code shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallText {
    pub text: String,
    /// The paths that it was read to write.
    pub targets: Paths,
    /// What runs in it that may write more than was read from it.
    pub programs: Vec<String>,
    /// Whether it runs version control that changes files.
    pub version_control: bool,
}

impl CallText {
    /// Whether it may write what was not read from it.
    pub fn is_opaque(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Whether the text holds the last part of a path, or the call was read to write it.
    pub fn names(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.text.contains(name) || self.targets.contains(path)
    }

    /// Whether a path is one of its targets, is below one, or is made on the way to one.
    pub fn reaches(&self, path: &str) -> bool {
        let mut above = iter::successors(Some(path), |path| Some(path::split_last(path)?.0));
        above.any(|path| self.targets.contains(path)) || self.targets.lead_through(path)
    }
}

/// Absolute paths, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>")]
pub struct Paths(Vec<String>);

impl From<Vec<String>> for Paths {
    fn from(mut paths: Vec<String>) -> Self {
        paths.sort_unstable();
        paths.dedup();
        Self(paths)
    }
}

impl Paths {
    pub fn contains(&self, path: &str) -> bool {
        let found = self.0.binary_search_by(|known| known.as_str().cmp(path));
        found.is_ok()
    }

    /// Whether one of them is below a directory.
    fn lead_through(&self, dir: &str) -> bool {
        let below = format!("{}/", dir.trim_end_matches('/'));
        let first = self.0.partition_point(|path| *path < below);
        let next = self.0.get(first);
        next.is_some_and(|path| path.starts_with(&below))
    }
}

/// How far a call has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    #[default]
    Running,
    /// It goes on after its call, under the client's id for it. What its tool had run for by
    /// then, in milliseconds, says when it began.
    Background {
        task: String,
        #[serde(default)]
        ran: Option<i64>,
    },
    /// A command in the background whose end was reported.
    BackgroundEnded {
        #[serde(default)]
        begun: Nanos,
    },
    /// When it ended was not reported: Esc, a prompt that was rejected, a client that was killed.
    Interrupted,
    /// The tool itself ran for so many milliseconds, where the client says it.
    Ended { ran: Option<i64> },
}

/// A call that may have changed something. The first line of its file is what is known at
/// its start; the further ones are how it went on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub caller: Caller,
    pub opened: Nanos,
    /// What the file system's clock is ahead of this machine's.
    #[serde(default)]
    pub skew: Nanos,
    pub work: Work,
    #[serde(skip)]
    pub progress: Progress,
    /// When the note last changed: when the call ended, of one that has.
    #[serde(skip)]
    pub noted: Nanos,
}

impl Call {
    /// What no other call has: the client's id, as a name of a file.
    pub fn id(&self) -> String {
        plain_id(&self.caller.tool_use_id)
    }

    /// Notes that a call begins; one of the same call that is there stays.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn open(memory: &Path, caller: Caller, clock: Nanos, mut work: Work) -> io::Result<()> {
        if let Work::RunsCode(call) = &mut work {
            let end = head(&call.text, MAX_TEXT).len();
            call.text.truncate(end);
        }
        let path = path_of(memory, &caller.tool_use_id);
        let note = |made: Option<Nanos>| {
            let opened = made.unwrap_or(clock);
            line(&Self {
                caller: caller.clone(),
                opened,
                skew: opened - clock,
                work: work.clone(),
                progress: Progress::Running,
                noted: opened,
            })
            .into_bytes()
        };
        let create = || replace::create_timed(&path, &note);
        let created = create().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => replace::make_dir(&memory.join(DIR)).and_then(|()| create()),
            _ => Err(error),
        });
        created.or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })
    }

    /// Notes how the call went on.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&mut self, memory: &Path, progress: Progress) -> io::Result<()> {
        let path = path_of(memory, &self.caller.tool_use_id);
        append::append(&path, line(&progress).as_bytes())?;
        self.noted = written(&path).unwrap_or(self.noted);
        self.progress = progress;
        Ok(())
    }

    /// # Errors
    /// The file is there and cannot be removed.
    pub fn forget(&self, memory: &Path) -> io::Result<()> {
        replace::remove(&path_of(memory, &self.caller.tool_use_id))
    }

    /// A moment of this machine's clock in the file system's.
    fn file_time(&self, clock: Nanos) -> Nanos {
        clock.saturating_add(self.skew)
    }

    /// Whether it can have made a change: it ran at that time, and a call that was understood
    /// to the end, or a file tool, can have changed its own targets and nothing else.
    pub fn can_have_made(&self, change: &Change) -> bool {
        let (from, to) = match self.progress {
            Progress::Running => (self.opened, Nanos::MAX),
            Progress::Background { .. } => (self.began().max(self.opened), Nanos::MAX),
            Progress::BackgroundEnded { begun } => (begun.max(self.opened), self.noted),
            Progress::Interrupted => (self.opened, self.noted.min(self.opened + LONGEST)),
            Progress::Ended { .. } => (self.began().max(self.opened), self.noted),
        };
        // The look before the call found it, in the tick in which the call began.
        let was_there = change.hi <= self.opened && change.seen <= self.opened - self.skew;
        from <= change.hi
            && change.lo <= to
            && !was_there
            && self.reaches(&path::from_os(change.path()))
    }

    /// When its tool began, by the time that the client says it ran for.
    pub fn began(&self) -> Nanos {
        match self.progress {
            Progress::Ended { ran: Some(ran) } | Progress::Background { ran: Some(ran), .. } => {
                self.noted - ran.max(0) * 1_000_000 - AROUND_TOOL
            }
            _ => self.opened,
        }
    }

    /// Whether it is the file tool that wrote just this, and has ended.
    pub fn wrote(&self, change: &Change) -> bool {
        let is_over = matches!(self.progress, Progress::Ended { .. });
        match (&self.work, change.after) {
            (Work::Writes { path, content }, Some(after)) => {
                let is_content = content.is_none() || *content == after.blob;
                is_over && is_content && *path == path::from_os(change.path())
            }
            _ => false,
        }
    }

    fn reaches(&self, path: &str) -> bool {
        match &self.work {
            Work::RunsCode(call) => call.is_opaque() || call.reaches(path),
            Work::Writes { path: written, .. } => {
                written == path || path::relative(written, path).is_some()
            }
        }
    }

    fn is_out_of_time(&self, clock: Nanos) -> bool {
        self.file_time(clock) - self.opened > LONGEST
    }

    /// When it began, by this machine's clock.
    pub fn opened_here(&self) -> Nanos {
        self.opened - self.skew
    }

    /// Whether it is still said to run.
    pub fn is_running(&self) -> bool {
        matches!(
            self.progress,
            Progress::Running | Progress::Background { .. }
        )
    }

    /// Whether its end is still to come.
    pub fn is_awaited(&self) -> bool {
        self.progress == Progress::Running
    }

    /// Whether nothing more is to be expected of it.
    pub fn is_stale(&self, clock: Nanos) -> bool {
        let age = |since: Nanos| self.file_time(clock) - since;
        match self.progress {
            Progress::Running => age(self.opened) > KEPT_INTERRUPTED,
            Progress::Background { .. } => age(self.opened) > KEPT_BACKGROUND,
            Progress::Interrupted => age(self.noted) > KEPT_INTERRUPTED,
            Progress::Ended { .. } | Progress::BackgroundEnded { .. } => age(self.noted) > KEPT,
        }
    }

    fn read(path: &Path) -> Option<Self> {
        let bytes = bounded_read::read(path, 1 << 20).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        let call: Self = serde_json::from_str(lines.next()?).ok()?;
        let mut later = lines
            .rev()
            .filter_map(|line| serde_json::from_str(line).ok());
        let progress = later.next().unwrap_or_default();
        let noted = written(path).unwrap_or(call.opened);
        Some(Self {
            progress,
            noted,
            ..call
        })
    }
}

/// When a file was last written.
pub fn written(path: &Path) -> Option<Nanos> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    crate::store::modified(&meta).timestamp_nanos_opt()
}

/// The notes that are there, the earliest first; one that cannot be read is none.
///
/// # Errors
/// The folder cannot be listed: that no call ran is not known then.
pub fn all(memory: &Path, clock: Nanos) -> io::Result<Vec<Call>> {
    let dir = memory.join(DIR);
    let Some(entries) = bounded_read::if_there(list::entries(&dir))? else {
        return Ok(Vec::new());
    };
    let names: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.name)).collect();
    let mut calls: Vec<Call> = names?
        .into_iter()
        .filter_map(|name| Call::read(&dir.join(name)))
        .collect();
    calls.sort_unstable_by_key(|call| call.opened);
    interrupt_earlier(&mut calls);
    // Of a client that was killed no end comes.
    for call in &mut calls {
        if call.is_awaited() && call.is_out_of_time(clock) {
            (call.progress, call.noted) = (Progress::Interrupted, call.opened + LONGEST);
        }
    }
    Ok(calls)
}

/// No two calls of one actor that write run at once: one that is open when the next begins
/// was interrupted.
fn interrupt_earlier(calls: &mut [Call]) {
    for at in 0..calls.len() {
        let (before, later) = calls.split_at_mut(at + 1);
        let call = &mut before[at];
        let next = later.iter().find(|next| {
            let is_same = next
                .caller
                .is_of(&call.caller.session, &call.caller.agent_id);
            is_same && matches!(next.work, Work::RunsCode(_))
        });
        if let (Progress::Running, Some(next)) = (&call.progress, next) {
            (call.progress, call.noted) = (Progress::Interrupted, next.opened);
        }
    }
}

/// The note of one call.
pub fn find(memory: &Path, id: &str) -> Option<Call> {
    Call::read(&path_of(memory, id))
}

/// The calls that are noted when an event first asks; none where their notes cannot be listed.
pub struct Notes {
    memory: PathBuf,
    calls: OnceCell<Vec<Call>>,
}

impl Notes {
    pub fn of(project: &Project) -> Self {
        Self {
            memory: project.memory().to_owned(),
            calls: OnceCell::new(),
        }
    }

    /// The calls that are said to run.
    pub fn running(&self) -> impl Iterator<Item = &Call> {
        let calls = self
            .calls
            .get_or_init(|| all(&self.memory, 0).unwrap_or_default());
        calls.iter().filter(|call| call.is_running())
    }
}

/// The calls that run code now, or ended so short a time ago that what they left may still run;
/// none where their notes cannot be listed.
pub fn recent(memory: &Path, clock: Nanos) -> Vec<Call> {
    let mut calls = all(memory, clock).unwrap_or_default();
    calls.retain(|call| {
        let ended = call.file_time(clock) - call.noted;
        matches!(call.work, Work::RunsCode(_)) && (call.is_running() || ended <= KEPT)
    });
    calls
}

/// Drops the notes of calls that ended some time ago.
///
/// # Errors
/// One of them cannot be removed.
pub fn forget_stale(memory: &Path, clock: Nanos) -> io::Result<()> {
    let dir = memory.join(DIR);
    for entry in list::readable(&dir) {
        let path = dir.join(entry.name);
        let is_old = written(&path).is_some_and(|written| clock - written > KEPT);
        if is_old && Call::read(&path).is_some_and(|call| call.is_stale(clock)) {
            replace::remove(&path)?;
        }
    }
    Ok(())
}

/// Drops all notes.
///
/// # Errors
/// One of them cannot be removed.
pub fn forget_all(memory: &Path) -> io::Result<()> {
    let dir = memory.join(DIR);
    let mut notes = list::readable(&dir).map(|entry| dir.join(entry.name));
    notes.try_for_each(|note| replace::remove(&note))
}

fn path_of(memory: &Path, id: &str) -> PathBuf {
    memory.join(DIR).join(plain_id(id))
}

/// An id of another form than the client's is replaced by its hash.
fn plain_id(id: &str) -> String {
    let is_plain = id
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_plain && (1..=100).contains(&id.len()) {
        id.to_owned()
    } else {
        BlobId::of(id.as_bytes()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_reaches_what_is_on_the_way_to_its_targets_and_below_them() {
        let targets = ["/p/a", "/p/a-b/c", "/p/d/e/f", "/p/d/e/f", "/p/d.md"];
        let call = CallText {
            targets: targets.map(str::to_owned).to_vec().into(),
            ..CallText::default()
        };
        for path in [
            "/",
            "/p",
            "/p/a",
            "/p/a/x/y",
            "/p/a-b",
            "/p/d",
            "/p/d/e",
            "/p/d/e/f/g",
        ] {
            assert!(call.reaches(path), "{path}");
        }
        for path in [
            "/q", "/p/b", "/p/a-", "/p/a-b/d", "/p/d/ef", "/p/d/e/g", "/pp",
        ] {
            assert!(!call.reaches(path), "{path}");
        }
        assert!(!CallText::default().reaches("/p"));
        let everywhere = CallText {
            targets: vec!["/".to_owned()].into(),
            ..CallText::default()
        };
        assert!(everywhere.reaches("/p/a") && everywhere.reaches("/"));
    }
}
