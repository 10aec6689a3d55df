//! The command of a call as the logs may hold it: see [`crate::shell::excerpt`].

use std::path::Path;

use crate::base::disk::resolve;
use crate::base::path;
use crate::guard::claims;
use crate::host::event::{Event, Shell, Tool};
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::shell::excerpt;

/// By what the paths in a command are known to be governed.
#[derive(Clone, Copy)]
pub struct Excerpts<'p> {
    pub project: &'p Project,
    pub registry: &'p Registry<'p>,
    /// The directory that the command starts in, absolute.
    pub cwd: &'p str,
    pub home: Option<&'p str>,
}

impl<'p> Excerpts<'p> {
    pub fn around(context: &'p Context<'_>) -> Self {
        Self {
            project: &context.project,
            registry: context.registry,
            cwd: &context.cwd,
            home: context.env.home.as_deref(),
        }
    }

    /// Of the command of a call; `None` where it has none.
    pub fn of_call(&self, event: &Event<'_>) -> Option<String> {
        let command = event.input.command.get()?;
        Some(match event.tool() {
            Tool::Shell(Shell::PowerShell) => self.of_powershell(command),
            _ => self.of_command(command),
        })
    }

    pub fn of_command(&self, command: &str) -> String {
        excerpt::excerpt(command, &|dir, path| self.is_governed(dir, path))
    }

    /// Of a test command, with the operands of its runner.
    pub fn of_test(&self, line: &str, is_runner: &dyn Fn(&str) -> bool) -> String {
        excerpt::proof(line, &|dir, path| self.is_governed(dir, path), is_runner)
    }

    /// Up to its first here-string, whose quotes are not those of Bash.
    fn of_powershell(&self, command: &str) -> String {
        let here_string = ["@'", "@\""]
            .into_iter()
            .filter_map(|mark| command.find(mark));
        let end = here_string.min().unwrap_or(command.len());
        self.of_command(&command[..end].replace('\\', "/"))
    }

    /// Whether a word is the path of state. In a state directory, and beside one, any word would
    /// be, a password too: there it has to be one of something that exists.
    fn is_governed(&self, dir: &str, written: &str) -> bool {
        let here = path::absolute(self.cwd, dir, self.home);
        let whole = path::absolute(&here, written, self.home);
        let Some(site) = claims::site_of(&whole, self.project, self.registry) else {
            return false;
        };
        let site_dir = site.dir();
        let names_site = match path::relative(site_dir, &here) {
            Some("") => false,
            Some(below) => {
                written.contains('/') && (below.contains('/') || Path::new(&site_dir).is_dir())
            }
            None => ["/", "~", "../"]
                .iter()
                .any(|begin| written.starts_with(begin)),
        };
        names_site || resolve::exists(&whole)
    }
}
