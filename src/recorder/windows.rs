//! The calls that run: a window each, from its start until it is known to be over.
//!
//! A window is a file `open/ID` of its own, which is made, grows and is removed, and
//! is never replaced: so a call can be left without the recorder's lock.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::actor::{Actor, AgentName};
use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::base::path;
use crate::formats::json::line;
use crate::recorder::entry::{BlobId, Change, Nanos};
use crate::store::{append, replace};

const DIR: &str = "open";

/// How far file times lag behind the clock.
const LAG: Nanos = 10_000_000;

/// A window that nobody closed is dropped after this time.
pub const MAX_AGE: Nanos = 12 * 3_600 * 1_000_000_000;

/// As much of a command's text is kept to look names up in.
const MAX_TEXT: usize = 64 * 1024;

/// Who makes a call, and which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub session: String,
    /// Empty for the main thread.
    pub agent_id: String,
    /// The name of the agent, or `main`.
    pub actor: String,
    pub tool: String,
    pub tool_use_id: String,
}

impl Caller {
    pub fn actor(&self) -> Actor {
        match self.agent_id.is_empty() {
            true => Actor::Main,
            false => Actor::Agent(AgentName::parse(&self.actor)),
        }
    }
}

/// What a call is known to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    RunsCode(CallText),
    /// A file tool wrote one path, and it is not known whether it was judged before.
    Wrote {
        path: String,
    },
    /// A file tool writes one path, and this content where it was in the call.
    Writes {
        path: String,
        #[serde(default)]
        content: Option<BlobId>,
    },
}

/// What the text of a call that runs code tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallText {
    pub text: String,
    /// The paths that it was read to write.
    pub targets: Vec<String>,
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
        self.text.contains(name) || self.targets.iter().any(|target| target == path)
    }
}

/// A call that may have changed something. The first line of its file is what is known at
/// its start; the further ones are its states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub caller: Caller,
    pub start: Nanos,
    pub doing: Doing,
    #[serde(skip)]
    pub state: Running,
    /// Whether the event at hand tells that it is over.
    #[serde(skip)]
    pub ends_now: bool,
}

/// How far a call has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Running {
    #[default]
    Waited,
    /// It goes on after its call, under the client's id for it.
    Background { task: String },
    /// The end of a command in the background.
    Over { end: Nanos },
    /// Nobody told when it ended.
    Dangling { end: Nanos },
    /// The tool itself ran from `begun` to `end`.
    Ended { begun: Nanos, end: Nanos },
}

impl Running {
    fn end(&self) -> Option<Nanos> {
        match self {
            Self::Waited | Self::Background { .. } => None,
            Self::Over { end } | Self::Dangling { end } | Self::Ended { end, .. } => Some(*end),
        }
    }
}

impl Window {
    /// What no other call has: the client's id, as a name of a file.
    pub fn id(&self) -> String {
        plain_id(&self.caller.tool_use_id)
    }

    /// Whether it is among those that can have made a change.
    pub fn is_candidate(&self, change: &Change) -> bool {
        change.candidates.contains(&self.id())
    }

    /// Whether it can have made a change of this time.
    pub fn overlaps(&self, lo: Nanos, hi: Nanos) -> bool {
        let end = self.state.end().unwrap_or(Nanos::MAX);
        self.start <= hi.saturating_add(LAG) && lo <= end
    }

    /// Whether a call that nobody announced can have made a change. There was no look before
    /// it: what its text was read to leave alone may have been there.
    pub fn explains(&self, change: &Change) -> bool {
        let path = path::from_os(change.path());
        match &self.doing {
            Doing::Wrote { path: written } => *written == path,
            Doing::RunsCode(call) if !call.is_opaque() => call.names(&path),
            Doing::RunsCode(_) | Doing::Writes { .. } => self.overlaps(change.lo, change.hi),
        }
    }

    /// Whether the tool itself ran at this time, and not other hooks around it.
    pub fn ran_at(&self, lo: Nanos, hi: Nanos) -> bool {
        matches!(self.state, Running::Ended { begun, end } if begun <= hi && lo <= end)
    }

    /// Whether its end is still to come, and will be told.
    pub fn is_waited_for(&self) -> bool {
        self.state == Running::Waited
    }

    pub fn is_over(&self) -> bool {
        self.state.end().is_some()
    }

    /// Opens a window; one of the same call that is open stays.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn open(recorder: &Path, caller: Caller, start: Nanos, mut doing: Doing) -> io::Result<()> {
        if let Doing::RunsCode(call) = &mut doing {
            let mut end = call.text.len().min(MAX_TEXT);
            while !call.text.is_char_boundary(end) {
                end -= 1;
            }
            call.text.truncate(end);
        }
        let path = path_of(recorder, &caller.tool_use_id);
        let opened = line(&Self {
            caller,
            start,
            doing,
            state: Running::Waited,
            ends_now: false,
        });
        let create = || replace::create_private(&path, opened.as_bytes());
        let created = create().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                replace::make_dir(&recorder.join(DIR)).and_then(|()| create())
            }
            _ => Err(error),
        });
        created.or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })
    }

    /// Notes what became of a call; without a window there is nothing to note.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn mark(recorder: &Path, id: &str, state: &Running) -> io::Result<()> {
        match is_open(recorder, id) {
            true => append::append(&path_of(recorder, id), line(state).as_bytes()).map(drop),
            false => Ok(()),
        }
    }

    /// # Errors
    /// The file is there and cannot be removed.
    pub fn remove(recorder: &Path, id: &str) -> io::Result<()> {
        replace::remove(&path_of(recorder, id))
    }

    /// The windows that are open; one that cannot be read is none.
    pub fn all(recorder: &Path) -> Vec<Self> {
        let dir = recorder.join(DIR);
        let read = |entry: list::Entry| Self::read(&dir.join(entry.name));
        let mut windows: Vec<Self> = list::readable(&dir).filter_map(read).collect();
        windows.sort_unstable_by_key(|window| window.start);
        windows
    }

    fn read(path: &Path) -> Option<Self> {
        let bytes = bounded_read::read(path, 1 << 20).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        let window: Self = serde_json::from_str(lines.next()?).ok()?;
        let mut states = lines
            .rev()
            .filter_map(|line| serde_json::from_str(line).ok());
        let state = states.next().unwrap_or_default();
        Some(Self { state, ..window })
    }
}

/// Whether a call has a window.
pub fn is_open(recorder: &Path, id: &str) -> bool {
    path_of(recorder, id).exists()
}

/// Whether any call has one.
pub fn is_any_open(recorder: &Path) -> bool {
    list::readable(&recorder.join(DIR)).next().is_some()
}

fn path_of(recorder: &Path, id: &str) -> PathBuf {
    recorder.join(DIR).join(plain_id(id))
}

/// An id of another form than the client's is told by its hash.
fn plain_id(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match !id.is_empty() && id.len() <= 100 && id.bytes().all(is_plain) {
        true => id.to_owned(),
        false => BlobId::of(id.as_bytes()).to_string(),
    }
}
