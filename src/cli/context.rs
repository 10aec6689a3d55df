//! What every command gets: where it stands, what holds there, how it prints.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::output::{self, Paint};
use super::unless_unread;
use crate::base::clock::Now;
use crate::base::env::Env;
use crate::base::path;
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::recorder::mediate::{self, Recorder};
use crate::settings::merge::Resolved;
use crate::store::lock::IN_COMMAND;
use crate::systems::declared::DeclaredSystem;

/// What every command gets.
#[derive(Clone)]
pub(crate) struct CliContext<'a> {
    pub(crate) env: &'a Env,
    pub(crate) project: Project,
    /// What `--project` said.
    pub(crate) given_project: Option<String>,
    pub(crate) cwd: String,
    pub(crate) rules: Resolved,
    pub(crate) system: Option<String>,
    pub(crate) format: Format,
    pub(crate) paint: Paint,
    pub(crate) now: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

impl CliContext<'_> {
    /// The same around another directory: its project, and the settings of that.
    pub(crate) fn at(&self, cwd: &str) -> Self {
        let project = Project::discover(self.given_project.as_deref(), self.env, cwd);
        Self {
            rules: project.settings(self.env),
            project,
            cwd: path::slashed(cwd).into_owned(),
            ..self.clone()
        }
    }

    /// A path as a person wrote it, made absolute and collapsed.
    pub(crate) fn absolute(&self, written: &str) -> String {
        path::absolute(&self.cwd, written, self.env.home.as_deref())
    }

    /// A path of the project as a person wrote it: from where one stands or, where that
    /// leads out of a project that `--project` names, from that project.
    pub(crate) fn in_project(&self, written: &str) -> String {
        let path = self.absolute(written);
        if self.given_project.is_none() || self.project.locate(&path).is_some() {
            return path;
        }
        path::absolute(&self.here(), written, self.env.home.as_deref())
    }

    /// The directory that `--project` names, wherever one stands; else where one stands.
    pub(crate) fn here(&self) -> String {
        let given = self.given_project.as_deref();
        given.map_or(self.cwd.clone(), |dir| path::absolute(&self.cwd, dir, None))
    }

    /// The sentence of every verb that finds nothing to work on.
    pub(crate) fn without_sites(&self) -> String {
        let dir = output::printable(&self.project.main.dir);
        format!("no workflow state below `{dir}`")
    }

    /// Where the recorder keeps what it knows of the project.
    pub(crate) fn recorder_dir(&self) -> PathBuf {
        mediate::dir(&self.project)
    }

    /// Runs what changes state files, so that the recorder knows whose the changes are.
    pub(super) fn own_writes<T>(&self, verb: &str, write: &mut dyn FnMut() -> T) -> T {
        let declared = DeclaredSystem::all(&self.rules.settings);
        let registry = Registry::new(&self.rules.settings, &declared);
        let context = self.world(&registry);
        Recorder::of(&context).own_writes(verb, IN_COMMAND, write)
    }

    /// What the hook would find here, with the given systems.
    pub(crate) fn world<'w>(&'w self, registry: &'w Registry<'w>) -> Context<'w> {
        Context {
            project: self.project.clone(),
            cwd: self.cwd.clone(),
            env: self.env,
            now: Now::Known(self.now),
            rules: &self.rules,
            registry,
        }
    }

    /// Prints the document of a reading verb.
    pub(crate) fn print(
        &self,
        out: &mut dyn Write,
        json: &impl serde::Serialize,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let printed = match self.format {
            Format::Json => serde_json::to_writer_pretty(&mut *out, json)
                .map_err(anyhow::Error::from)
                .and_then(|()| Ok(writeln!(out)?)),
            Format::Text => text(out).map_err(anyhow::Error::from),
        };
        unless_unread(printed)
    }
}
