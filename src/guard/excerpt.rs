//! The command of a call as the logs may hold it: see [`crate::shell::excerpt`].

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
        excerpt::excerpt(command, &|path| self.is_governed(path))
    }

    /// Of a test command, with the operands of its runner.
    pub fn of_test(&self, line: &str, is_runner: &dyn Fn(&str) -> bool) -> String {
        excerpt::proof(line, &|path| self.is_governed(path), is_runner)
    }

    /// Up to its first here-string, whose quotes are not those of Bash.
    fn of_powershell(&self, command: &str) -> String {
        let here_string = ["@'", "@\""]
            .into_iter()
            .filter_map(|mark| command.find(mark));
        let end = here_string.min().unwrap_or(command.len());
        self.of_command(&command[..end].replace('\\', "/"))
    }

    fn is_governed(&self, written: &str) -> bool {
        let whole = path::absolute(self.cwd, written, self.home);
        claims::site_of(&whole, self.project, self.registry).is_some()
    }
}
