//! Commands that go on in the background after their call, and what was told
//! while they did.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::store::lock::Locked;
use crate::store::replace::remove;
use crate::store::{read_own, write_own};

const FILE: &str = "background.json";

/// A command that nobody saw end is forgotten after this time.
const MAX_AGE: TimeDelta = TimeDelta::hours(12);

/// Commands kept; a session has a few at a time.
const MAX_TASKS: usize = 100;

/// Told changes kept.
const MAX_TOLD: usize = 500;

/// The file `background.json` in the program's own folder, which is there while
/// any session has a command in the background. It is changed under that
/// folder's lock.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Background {
    tasks: VecDeque<Task>,
    told: VecDeque<Told>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    session: String,
    /// The agent that started it; empty for the main thread.
    #[serde(default)]
    agent: String,
    /// The client's id of the task.
    id: String,
    /// When its call began; microseconds since 1970.
    since: i64,
}

/// A change that a session was told of.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    session: String,
    path: String,
    /// Microseconds since 1970; `None` for an entry that is gone.
    changed: Option<i64>,
}

/// Who may have made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The session's own call.
    Call,
    /// A command in the background, or anyone else meanwhile.
    Others,
}

impl Background {
    /// `None` without a command in the background. A file that cannot be read
    /// counts as none: at worst an entry is told twice, or not at all.
    pub fn read(own_folder: &Path) -> Option<Self> {
        read_own(own_folder, FILE)
    }

    /// When the oldest command of an agent began; of any in the session for the
    /// main thread, whose agents may have ended.
    pub fn since(&self, session: &str, agent: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let oldest = (now - MAX_AGE).timestamp_micros();
        let is_mine =
            |task: &&Task| task.session == session && (agent.is_empty() || task.agent == agent);
        let mine = self.tasks.iter().filter(is_mine);
        let since = mine.map(|task| task.since).filter(|since| *since >= oldest);
        since.min().and_then(DateTime::from_timestamp_micros)
    }

    /// Whether a command is in here that is forgotten.
    pub fn has_stale(&self, now: DateTime<Utc>) -> bool {
        let oldest = (now - MAX_AGE).timestamp_micros();
        self.tasks.iter().any(|task| task.since < oldest)
    }

    pub fn begin(&mut self, session: &str, agent: &str, id: &str, since: DateTime<Utc>) {
        self.tasks.push_back(Task {
            session: session.to_owned(),
            agent: agent.to_owned(),
            id: id.to_owned(),
            since: since.timestamp_micros(),
        });
        let surplus = self.tasks.len().saturating_sub(MAX_TASKS);
        self.tasks.drain(..surplus);
    }

    /// Forgets the commands of a session that are over.
    pub fn end(&mut self, session: &str, is_over: impl Fn(&str) -> bool) {
        self.tasks
            .retain(|task| task.session != session || !is_over(&task.id));
    }

    /// Notes that a session is told of a change; `false` when it had been told,
    /// or, of what no call of its own made, when any session had.
    pub fn tell(
        &mut self,
        session: &str,
        path: &str,
        changed: Option<DateTime<Utc>>,
        by: By,
    ) -> bool {
        let told = Told {
            session: session.to_owned(),
            path: path.to_owned(),
            changed: changed.map(|changed| changed.timestamp_micros()),
        };
        let is_same = |known: &Told| known.path == told.path && known.changed == told.changed;
        let counts = |known: &Told| by == By::Others || known.session == told.session;
        if self
            .told
            .iter()
            .any(|known| is_same(known) && counts(known))
        {
            return false;
        }
        self.told.push_back(told);
        let surplus = self.told.len().saturating_sub(MAX_TOLD);
        self.told.drain(..surplus);
        true
    }

    /// Writes the file, or removes it when no command is left.
    ///
    /// # Errors
    /// The file cannot be replaced or removed.
    pub fn write(&mut self, locked: &Locked<'_>, now: DateTime<Utc>) -> io::Result<()> {
        let oldest = (now - MAX_AGE).timestamp_micros();
        self.tasks.retain(|task| task.since >= oldest);
        match self.tasks.is_empty() {
            true => remove(&locked.dir().join(FILE)),
            false => write_own(locked, FILE, self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn the_oldest_command_of_the_session_counts_until_it_is_forgotten() {
        let mut noted = Background::default();
        noted.begin("s", "", "a", at(10));
        noted.begin("s", "x", "b", at(20));
        noted.begin("t", "", "c", at(0));
        assert_eq!(noted.since("s", "", at(30)), Some(at(10)));
        assert_eq!(noted.since("s", "x", at(30)), Some(at(20)));
        assert_eq!(noted.since("s", "y", at(30)), None);
        assert_eq!(noted.since("u", "", at(30)), None);
        let later = at(15) + MAX_AGE;
        assert_eq!(noted.since("s", "", later), Some(at(20)));
        assert!(noted.has_stale(later) && !noted.has_stale(at(30)));
        noted.end("s", |id| id == "b" || id == "c");
        assert_eq!(noted.since("s", "", at(30)), Some(at(10)));
        assert_eq!(noted.since("t", "", at(30)), Some(at(0)));
    }

    #[test]
    fn a_change_is_told_once_to_each_session() {
        let mut noted = Background::default();
        let mut check = |session, path, changed, by, expected| {
            let is_new = noted.tell(session, path, changed, by);
            assert_eq!(is_new, expected, "{session} {path} {changed:?}");
        };
        check("s", "/a", Some(at(1)), By::Others, true);
        check("s", "/a", Some(at(1)), By::Others, false);
        check("s", "/a", Some(at(1)), By::Call, false);
        check("s", "/a", Some(at(2)), By::Others, true);
        check("s", "/b", None, By::Call, true);
        check("t", "/a", Some(at(1)), By::Others, false);
        check("t", "/a", Some(at(1)), By::Call, true);
    }

    #[test]
    fn both_lists_are_bounded() {
        let mut noted = Background::default();
        for n in 0..2_000 {
            noted.begin("s", "", &n.to_string(), at(n));
            noted.tell("s", &n.to_string(), None, By::Call);
        }
        assert_eq!((noted.tasks.len(), noted.told.len()), (MAX_TASKS, MAX_TOLD));
        assert_eq!(noted.tasks[0].id, "1900", "the oldest goes");
    }
}
