//! What a session or `install` leaves for later events: single facts, in one small file of the
//! program's own folder.

use std::io;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::base::clock;
use crate::base::disk::bounded_read::read_text;
use crate::project::memory::RUNS;
use crate::project::roots::Project;
use crate::store::replace::{remove, replace_private};
use crate::store::{change_value, make_own_folder, read_value};

pub const FILE: &str = "state.json";

/// In earlier versions each fact had a file, and so had the runs of agents, which calls could
/// rewrite.
const EARLIER: [&str; 5] = [WIRED, "unfenced", "unproved", "other-host", RUNS];

/// The mark in the memory that the settings ran the hook: it outlasts the folder.
const WIRED: &str = "wired";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectState {
    /// The project's settings ran the hook: when they no longer do, something took it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wired: Option<ClaudeDir>,
    /// Why strict mode was not in force when a session started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfenced: Option<String>,
    /// The last session whose start did not prove that Claude Code runs it, until a tool call of
    /// it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproved: Option<String>,
    /// The host that ran the hook last and whose calls are not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_host: Option<OtherHost>,
}

/// Whether `.claude` was there before `install`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaudeDir {
    WasThere,
    Made,
}

impl ClaudeDir {
    /// What an `install` that begins now will find.
    pub fn now(project: &Project) -> Self {
        let dir = project.own_folder().parent();
        if dir.is_some_and(Path::exists) {
            Self::WasThere
        } else {
            Self::Made
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherHost {
    pub name: String,
    /// UTC, RFC 3339, milliseconds.
    pub seen: String,
}

impl OtherHost {
    fn was_seen_within_a_day(&self, name: &str, now: DateTime<Utc>) -> bool {
        let seen = clock::parse(&self.seen);
        self.name == name && seen.is_some_and(|seen| now - seen < TimeDelta::days(1))
    }
}

impl Project {
    /// What was noted, by an earlier version too.
    pub fn state(&self) -> ProjectState {
        let mut state: ProjectState = read_value(self.own_folder(), FILE).unwrap_or_default();
        state.wired = state.wired.or_else(|| self.wired_earlier());
        state
    }

    /// # Errors
    /// The folder or the file cannot be written.
    pub fn change_state(&self, change: impl FnOnce(&mut ProjectState)) -> io::Result<()> {
        make_own_folder(self.own_folder())?;
        change_value(self.own_folder(), FILE, change)
    }

    /// Notes that the settings run the hook, in the memory too where there is one; the first
    /// note stays.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn note_wired(&self, dir: ClaudeDir) -> io::Result<()> {
        let known: Option<ProjectState> = read_value(self.own_folder(), FILE);
        if known.is_none_or(|state| state.wired.is_none()) {
            self.change_state(|state| state.wired = state.wired.or(Some(dir)))?;
        }
        let mark = self.memory().join(WIRED);
        if !self.has_memory() || mark.exists() {
            return Ok(());
        }
        replace_private(&mark, b"")
    }

    /// Whether the settings ran the hook, as far as that was noted.
    pub fn was_wired(&self) -> bool {
        self.state().wired.is_some() || self.memory().join(WIRED).exists()
    }

    /// Forgets in the memory that the settings ran the hook.
    ///
    /// # Errors
    /// The mark cannot be removed.
    pub fn forget_wired(&self) -> io::Result<()> {
        remove(&self.memory().join(WIRED))
    }

    /// Removes all that was noted in the folder, which goes.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn forget_state(&self) -> io::Result<()> {
        self.remove_earlier_notes()?;
        remove(&self.own_folder().join(FILE))
    }

    /// Notes that a host has run the hook, at most once a day.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn note_other_host(&self, name: &str, now: DateTime<Utc>) -> io::Result<()> {
        let known = self.state().other_host;
        if known.is_some_and(|known| known.was_seen_within_a_day(name, now)) {
            return Ok(());
        }
        let (name, seen) = (name.to_owned(), clock::millis(now));
        self.change_state(|state| state.other_host = Some(OtherHost { name, seen }))
    }

    fn wired_earlier(&self) -> Option<ClaudeDir> {
        let mark = read_text(&self.own_folder().join(WIRED)).ok()??;
        Some(match mark.as_str() {
            "made .claude\n" => ClaudeDir::Made,
            _ => ClaudeDir::WasThere,
        })
    }

    /// Takes over what an earlier version noted, and removes its files.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn take_over_notes(&self) -> io::Result<()> {
        if let Some(dir) = self.wired_earlier() {
            self.note_wired(dir)?;
        }
        self.remove_earlier_notes()
    }

    fn remove_earlier_notes(&self) -> io::Result<()> {
        let files = EARLIER.map(|name| self.own_folder().join(name));
        files.iter().try_for_each(|file| remove(file))
    }
}
