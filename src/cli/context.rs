//! What every command gets: the directory, the rules that apply there, and how to print.

use std::cell::RefCell;
use std::path::PathBuf;

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::Answer;
use super::origin::Origin;
use super::output::{Page, Paint, Show};
use crate::base::clock::Now;
use crate::base::disk::resolve::{FollowFinal, resolve};
use crate::base::env::Env;
use crate::base::path;
use crate::formats::json;
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites::{self, Site};
use crate::recorder::calls::Caller;
use crate::recorder::mediate::{self, Recorder};
use crate::settings::merge::Resolved;
use crate::store::lock::IN_COMMAND;
use crate::systems::declared::DeclaredSystem;
use crate::systems::system::System;

/// What every command gets.
pub(crate) struct CliContext<'a> {
    pub(crate) env: &'a Env,
    pub(crate) project: Project,
    /// What `--project` said.
    pub(crate) given_project: Option<&'a str>,
    pub(crate) cwd: String,
    pub(crate) rules: &'a Resolved,
    pub(crate) declared: &'a [Box<dyn System + 'a>],
    /// Every system that is on, whatever `--system` says.
    pub(crate) registry: Registry<'a>,
    /// What `--system` said.
    pub(crate) system: Option<&'a str>,
    pub(crate) format: Format,
    pub(crate) paint: Paint,
    pub(crate) now: DateTime<Utc>,
    /// What goes to stdout when all is done.
    pub(crate) out: &'a RefCell<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

impl CliContext<'_> {
    /// Runs `f` with the same around another directory: its project, and the settings of that.
    pub(crate) fn at<T>(&self, cwd: &str, f: impl FnOnce(&CliContext<'_>) -> T) -> T {
        let project = Project::discover(self.given_project, self.env, cwd);
        let rules = project.settings(self.env);
        let declared = DeclaredSystem::all(&rules.settings);
        f(&CliContext {
            project,
            cwd: path::slashed(cwd).into_owned(),
            rules: &rules,
            declared: &declared,
            registry: Registry::new(&rules.settings, &declared),
            ..*self
        })
    }

    /// A path as a person wrote it, made absolute and collapsed.
    pub(crate) fn absolute(&self, written: &str) -> String {
        path::absolute(&self.cwd, written, self.env.home.as_deref())
    }

    /// A path of the project as a person wrote it: from the current directory or, where that
    /// leads out of a project that `--project` names, from that project. Links to the project are
    /// followed, as in all that is kept of it.
    pub(crate) fn in_project(&self, written: &str) -> String {
        let from_here = self.absolute(written);
        let from_project = path::absolute(&self.here(), written, self.env.home.as_deref());
        let real = resolve(&from_here, FollowFinal::Keep).unwrap_or_default();
        let ways = [&from_here, &from_project, &real];
        let located = ways.iter().find_map(|path| self.project.locate(path));
        let found = located.map(|(root, below)| root.path(below));
        found.unwrap_or(from_project)
    }

    /// The directory that `--project` names, else the current directory.
    pub(crate) fn here(&self) -> String {
        let given = self.given_project;
        given.map_or(self.cwd.clone(), |dir| path::absolute(&self.cwd, dir, None))
    }

    /// A path as it is shown: of one in the project the part below its root.
    pub(crate) fn below_root<'p>(&self, path: &'p str) -> &'p str {
        match self.project.main.relative(path) {
            Some("") => ".",
            Some(below) => below,
            None => path,
        }
    }

    /// The sentence of every verb that finds nothing to work on.
    pub(crate) fn without_sites(&self) -> String {
        format!("no workflow state below `{}`", self.project.main.dir)
    }

    /// What a list says that is empty: the same sentence where it could hold nothing.
    pub(crate) fn empty(&self, said: &str) -> String {
        if sites::all(&self.project, &self.registry).is_empty() {
            self.without_sites()
        } else {
            said.to_owned()
        }
    }

    /// Where the recorder keeps what it knows of the project.
    pub(crate) fn recorder_dir(&self) -> PathBuf {
        mediate::dir(&self.project)
    }

    /// Runs what changes state files, so that the recorder knows whose the changes are: those of
    /// the agent whose call runs the verb, else this program's.
    pub(super) fn own_writes<T>(&self, verb: &str, write: &mut dyn FnMut() -> T) -> T {
        let by = match Origin::of(self).caller(&self.project) {
            Some(agent) => Caller {
                tool: verb.to_owned(),
                ..agent
            },
            None => Caller::ourselves(verb),
        };
        Recorder::of(&self.hook_context()).own_writes(&by, IN_COMMAND, write)
    }

    /// What the hook would find here.
    pub(crate) fn hook_context(&self) -> Context<'_> {
        Context {
            project: self.project.clone(),
            cwd: self.cwd.clone(),
            env: self.env,
            now: Now::Known(self.now),
            rules: self.rules,
            registry: &self.registry,
        }
    }

    /// The sites of one system, whatever `--system` says.
    pub(crate) fn sites_of(&self, id: &str) -> Vec<Site<'_>> {
        let all = sites::all(&self.project, &self.registry);
        all.into_iter()
            .filter(|site| site.governed.id() == id)
            .collect()
    }

    /// Prints what a verb found.
    pub(crate) fn show(&self, found: &impl Show) -> Result<Answer> {
        let text = match self.format {
            Format::Json => json::printable(serde_json::to_string_pretty(found)?) + "\n",
            Format::Text => {
                let mut page = Page::new(self);
                found.text(&mut page);
                page.text
            }
        };
        self.print(&text);
        Ok(found.answer())
    }

    pub(crate) fn print(&self, text: &str) {
        self.out.borrow_mut().extend(text.as_bytes());
    }
}
