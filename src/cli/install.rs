//! `install` and `uninstall`: the hook entries in a settings file of Claude Code.

mod personal;
pub(in crate::cli) mod program;
mod settings_file;
pub(super) mod uninstall;
mod wire;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use personal::Trial;
#[cfg(test)]
pub(crate) use uninstall::uninstall;

use super::guarded::Guarded;
use super::{Answer, CliContext, RunMode};
use crate::base::env::{Env, HOME};
use crate::base::string_enum::string_enum;
use crate::host::client_files;
use crate::log::append::own_folder;
use crate::project::plugins::{self, Plugin};
use crate::project::roots::{Project, read_client_text};
use crate::project::sites;

string_enum! {
    /// Which of Claude Code's settings files.
    #[derive(clap::ValueEnum)]
    pub enum Scope {
        /// `.claude/settings.json` of the project, for everyone who works on it.
        Project = "project",
        /// `settings.json` in `~/.claude`, for every project of yours.
        User = "user",
        /// `.claude/settings.local.json` of the project, for you alone.
        Local = "local",
    }
}

/// The arguments of `install`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Addition {
    #[command(flatten)]
    pub common: Args,
    /// `warn` to try it: agents are shown what would be denied. `enforce` ends that
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<Trial>,
}

/// The arguments of `uninstall`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Removal {
    #[command(flatten)]
    pub common: Args,
    /// Only the entries that run this very program, not those of another copy
    #[arg(long)]
    pub own: bool,
}

/// The arguments of both commands.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// The settings file to change: `local` for you alone in this project, `project` for everyone
    /// who works on it, `user` for every project of yours [default: where the entries are, else
    /// `local`]
    #[arg(long, value_enum, hide_possible_values = true)]
    pub scope: Option<Scope>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl Args {
    fn effect(self) -> RunMode {
        RunMode::of_dry_run(self.dry_run)
    }
}

/// Where things are on this machine; all paths absolute.
#[derive(Clone, Debug)]
pub struct Place {
    pub project: PathBuf,
    /// The work tree around the current directory, or the one that was named.
    pub work_tree: Option<PathBuf>,
    /// Claude Code's directory of the user: `$CLAUDE_CONFIG_DIR`, or `~/.claude`;
    /// `None` where the environment names neither.
    pub user_dir: Option<PathBuf>,
    /// The settings of Claude Code that hold for everyone on this machine.
    pub managed_settings: PathBuf,
    /// The program that the entries will run.
    pub program: PathBuf,
}

/// Where Claude Code has the settings that hold for everyone.
pub fn managed_settings(env: &Env) -> PathBuf {
    Path::new(&client_files::managed_dir(env)).join(client_files::MANAGED_FILE)
}

impl Place {
    /// # Errors
    /// The user's file has no known place; the sentence says what to do.
    pub fn settings(&self, scope: Scope) -> Result<PathBuf> {
        Ok(match (scope, &self.user_dir) {
            (Scope::Project, _) => self.project.join(".claude/settings.json"),
            (Scope::Local, _) => self.project.join(".claude/settings.local.json"),
            (Scope::User, Some(dir)) => dir.join("settings.json"),
            (Scope::User, None) => bail!(
                "neither `{HOME}` nor `CLAUDE_CONFIG_DIR` is set; set `{HOME}` to your home directory"
            ),
        })
    }

    /// The file of a scope that Claude Code reads when it is started here: each
    /// work tree has shared settings of its own, and no others.
    ///
    /// # Errors
    /// As of `settings`.
    pub fn settings_here(&self, scope: Scope) -> Result<PathBuf> {
        match (&self.work_tree, scope) {
            (Some(tree), Scope::Project) => Ok(tree.join(".claude/settings.json")),
            _ => self.settings(scope),
        }
    }

    /// The settings files of Claude Code, the one that wins first.
    pub fn client_settings(&self) -> Vec<PathBuf> {
        let nearest_first = [Scope::Local, Scope::Project, Scope::User].into_iter();
        let files = nearest_first.map(|scope| self.settings_here(scope));
        files.filter_map(Result::ok).collect()
    }

    /// The texts of those that can be read.
    fn settings_texts(&self) -> Vec<String> {
        let files = self.client_settings().into_iter();
        files
            .filter_map(|file| read_client_text(&file).ok()?)
            .collect()
    }

    /// The plugins that Claude Code has enabled here.
    pub fn plugins(&self) -> Vec<Plugin> {
        let project = self.work_tree.as_ref().unwrap_or(&self.project);
        let (project, settings) = (project.to_string_lossy(), self.settings_texts());
        let dir = self.user_dir.as_ref();
        dir.map(|dir| plugins::enabled(dir, &project, &settings))
            .unwrap_or_default()
    }

    /// Keeps what the enabled plugins bring, until a session begins.
    fn keep_plugins(&self, project: &Project) -> io::Result<()> {
        let (dir, settings) = (self.project.to_string_lossy(), self.settings_texts());
        plugins::find(self.user_dir.as_deref(), &dir, &settings).keep(project)
    }

    /// The folder of our logs, which a project gets and the user's directory does not.
    fn folder(&self, scope: Scope) -> Option<PathBuf> {
        (scope != Scope::User).then(|| own_folder(&self.project))
    }
}

/// Installs, and says what is guarded now and what to do next.
pub(in crate::cli) fn run(
    args: &Addition,
    place: &Place,
    context: &CliContext<'_>,
) -> Result<Answer> {
    let out = &mut *context.out.borrow_mut();
    let (project, registry) = (&context.project, &context.registry);
    install(args, place, project, out)?;
    if args.common.effect() == RunMode::Apply {
        if project.own_folder().is_dir() {
            place
                .keep_plugins(project)
                .with_context(|| format!("could not write in `{}`", project.memory().display()))?;
        }
        let guarded = Guarded::of(&sites::all(project, registry), project, registry);
        writeln!(out, "guarded here: {guarded}")?;
        say_what_is_next(&place.program, out)?;
    }
    Ok(Answer::Yes)
}

/// Merges the entries into the settings file of the scope, or renews them where they are.
///
/// # Errors
/// The program's path cannot be wired, the project is the home directory, or a
/// file cannot be read, edited or written.
pub fn install(
    args: &Addition,
    place: &Place,
    project: &Project,
    out: &mut dyn Write,
) -> Result<()> {
    let (scope, effect) = (args.common.scope, args.common.effect());
    let program = wire::named(&place.program)?;
    let scopes = scopes(scope, place)?;
    for scope in &scopes {
        wire::wire(*scope, effect, program, place, project, out)?;
    }
    if let Some(mode) = args.mode {
        personal::set_mode(mode, &place.project, effect, out)?;
    }
    if scopes.contains(&Scope::Local) || args.mode.is_some() {
        personal::keep_out_of_commits(&place.project, effect, out)?;
    }
    Ok(())
}

/// The scopes to wire: the one that is named, else those that are wired, else `local`.
fn scopes(named: Option<Scope>, place: &Place) -> Result<Vec<Scope>> {
    let mut scopes = match named {
        Some(scope) => vec![scope],
        None => Scope::ALL
            .into_iter()
            .filter(|scope| uninstall::is_wired(place, &[*scope]))
            .collect(),
    };
    if scopes.is_empty() {
        scopes.push(Scope::Local);
    }
    let project_file = place.settings(Scope::Project)?;
    if (place.settings(Scope::User)).is_ok_and(|file| file == project_file) {
        scopes.retain(|scope| *scope == Scope::User);
    }
    if scopes.is_empty() {
        bail!(
            "the home directory is no project; use `--scope user`, or name a project with `--project DIR`"
        );
    }
    Ok(scopes)
}

/// A line to paste where the commands would not be found.
fn say_what_is_next(program: &Path, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "next: start Claude Code, then see `statewarden doctor`"
    )?;
    if let Some(dir) = program.parent()
        && cfg!(unix)
        && !program::is_found(program)
    {
        writeln!(
            out,
            "`statewarden` is not on your `PATH` yet; in the file that sets it:"
        )?;
        writeln!(out, "  export PATH=\"{}:$PATH\"", dir.display())?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
