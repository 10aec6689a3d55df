//! The context of one event: project, settings, systems, environment and time.

use std::io;
use std::path::Path;

use crate::base::clock::Now;
use crate::base::env::Env;
use crate::base::warn;
use crate::log::append::{LogFile, Logs};
use crate::log::record::LogLine;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites::{self, Site};
use crate::project::state;
use crate::settings::merge::Resolved;
use crate::store::lock::IN_HOOK;
use crate::store::make_own_folder;

/// What every handler of an event gets.
pub struct Context<'w> {
    pub project: Project,
    pub cwd: String,
    pub env: &'w Env,
    pub now: Now,
    pub rules: &'w Resolved,
    pub registry: &'w Registry<'w>,
}

impl<'w> Context<'w> {
    pub fn logs(&self) -> Logs {
        self.project.logs()
    }

    pub fn own_folder(&self) -> &Path {
        self.project.own_folder()
    }

    /// Appends a record; a log that cannot be written changes no decision.
    pub fn append(&self, log: &LogFile, record: &impl LogLine) {
        let (line, max_bytes) = (record.to_line(), self.rules.settings.log_max_bytes);
        let ready = if log.dir == self.own_folder() {
            make_own_folder(&log.dir)
        } else {
            Ok(())
        };
        let appended = ready.and_then(|()| log.append(&line, max_bytes, record.ts(), IN_HOOK));
        warn::unwritten(&log.path(), appended);
    }

    /// Whether the project has a site, or our folder or memory already: what is none of
    /// our business stays untouched.
    pub fn is_concerned(&self) -> bool {
        self.project.has_memory() || self.own_folder().is_dir() || !self.sites_around().is_empty()
    }

    /// The sites at the project's root, and at the event's directory and above it.
    pub fn sites_around(&self) -> Vec<Site<'w>> {
        sites::around(
            &self.project,
            self.registry,
            std::slice::from_ref(&self.cwd),
        )
    }

    /// Those of one system.
    pub fn sites_around_of(&self, system: &str) -> Vec<Site<'w>> {
        let dirs = std::slice::from_ref(&self.cwd);
        sites::around_of(&self.project, self.registry, dirs, &|id| id == system)
    }

    /// Says that what was noted for later events could not be written.
    pub fn warn_about_state(&self, result: io::Result<()>) {
        warn::unwritten(&self.own_folder().join(state::FILE), result);
    }

    /// Says of a file of the memory that it could not be written.
    pub fn warn_about(&self, file: &str, result: io::Result<()>) {
        warn::unwritten(&self.project.memory().join(file), result);
    }
}
