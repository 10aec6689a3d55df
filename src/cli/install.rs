//! `install` and `uninstall`: the hook entries in a settings file of Claude Code.

pub(in crate::cli) mod difference;
mod personal;
mod settings_file;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use personal::Trial;
use settings_file::SettingsFile;

use crate::base::env::{self, HOME};
use crate::base::path;
use crate::base::string_enum::string_enum;
use crate::host::settings_json::{self, ENTRIES, Edited, EntryFilter, Wiring};
use crate::log::append::Logs;
use crate::project::plugins::{self, Plugin};
use crate::project::roots::read_client_text;
use crate::store::{self, Above, replace};

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
    /// `warn` to try it: agents are told what would be denied. `enforce` ends that
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

/// Where things are on this machine; all paths absolute.
#[derive(Clone, Debug)]
pub struct Place {
    pub project: PathBuf,
    /// The work tree in which one stands, or that was named.
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
pub const MANAGED_SETTINGS: &str = if cfg!(windows) {
    "C:/Program Files/ClaudeCode/managed-settings.json"
} else if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

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

    /// The plugins that Claude Code has enabled here.
    pub fn plugins(&self) -> Vec<Plugin> {
        let project = self.work_tree.as_ref().unwrap_or(&self.project);
        let (project, settings) = (project.to_string_lossy(), self.client_settings());
        let dir = self.user_dir.as_ref();
        dir.map(|dir| plugins::enabled(dir, &project, &settings))
            .unwrap_or_default()
    }

    /// Keeps what the enabled plugins bring, until a session begins.
    fn keep_plugins(&self, folder: &Path) -> io::Result<()> {
        let (project, settings) = (self.project.to_string_lossy(), self.client_settings());
        plugins::find(self.user_dir.as_deref(), &project, &settings).keep(folder)
    }

    /// The folder of our logs, which a project gets and the user's directory does not.
    fn folder(&self, scope: Scope) -> Option<PathBuf> {
        (scope != Scope::User).then(|| Logs::of(&self.project).own_folder().to_owned())
    }
}

/// Merges the entries into the settings file of the scope, or renews them where they are.
///
/// # Errors
/// The program's path cannot be wired, the project is the home directory, or a
/// file cannot be read, edited or written.
pub fn install(args: &Addition, place: &Place, out: &mut dyn Write) -> Result<()> {
    let Args { scope, dry_run } = args.common;
    let program = named(&place.program)?;
    let holds_ours = |scope: &Scope| {
        let commands = place.settings(*scope).map(|file| commands(&file));
        commands.is_ok_and(|commands| commands.map_or(true, |found| !found.is_empty()))
    };
    let mut scopes: Vec<Scope> = match scope {
        Some(scope) => vec![scope],
        None => Scope::ALL.into_iter().filter(holds_ours).collect(),
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
    for scope in &scopes {
        wire(*scope, dry_run, program, place, out)?;
    }
    if let Some(mode) = args.mode {
        personal::set_mode(mode, &place.project, dry_run, out)?;
    }
    if scopes.contains(&Scope::Local) || args.mode.is_some() {
        personal::keep_out_of_commits(&place.project, dry_run, out)?;
    }
    match dry_run {
        true => Ok(()),
        false => say_what_is_next(&place.program, out),
    }
}

fn wire(
    scope: Scope,
    dry_run: bool,
    program: &str,
    place: &Place,
    out: &mut dyn Write,
) -> Result<()> {
    let folder = place.folder(scope);
    let above = folder.as_deref().map_or(Above::WasThere, Above::now);
    let file = SettingsFile::open(&place.settings(scope)?)?;
    let name = file.path.display();
    let merged = merged(file.text(), program)
        .map_err(|e| anyhow!("could not edit `{name}`, nothing was changed: {e}"))?;
    if !dry_run {
        file.drop_leftovers();
    }
    let n = ENTRIES.len();
    match merged {
        Edited::Unchanged => writeln!(out, "already wired: `{name}`")?,
        Edited::Changed(_) if dry_run => writeln!(out, "would wire {n} entries in `{name}`")?,
        Edited::Changed(text) => {
            let backup = file.back_up()?;
            file.write(&text)?;
            writeln!(out, "wired {n} entries in `{name}`")?;
            if let Some(backup) = backup {
                writeln!(out, "the file as it was: `{}`", backup.display())?;
            }
        }
    }
    if scope == Scope::Project && personal::repository(&place.project).is_some() {
        writeln!(
            out,
            "that file is usually committed: where `{program}` is missing, every matched call is \
             denied. For you alone: `--scope local`; for a team: the plugin"
        )?;
    }
    if place.settings(scope)? != place.settings_here(scope)? {
        writeln!(
            out,
            "a session in this work tree reads another: commit the file, or use `--scope local`"
        )?;
    }
    match folder {
        _ if dry_run => return Ok(()),
        Some(folder) => store::note_wired(&folder, above)
            .and_then(|()| place.keep_plugins(&folder))
            .with_context(|| format!("could not make `{}`", folder.display()))?,
        None => {}
    }
    Ok(note_in_receipt(scope, place, out)?)
}

/// A line to paste where the commands would not be found.
fn say_what_is_next(program: &Path, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "next: start Claude Code, then see `statewarden doctor`"
    )?;
    if let Some(dir) = program
        .parent()
        .filter(|dir| cfg!(unix) && !env::is_on_path(dir))
    {
        writeln!(out, "  export PATH=\"{}:$PATH\"", dir.display())?;
    }
    Ok(())
}

/// The settings with our entries; an error where Claude Code would ignore them.
fn merged(text: &str, program: &str) -> Result<Edited, String> {
    let merged = settings_json::merge(text, program).map_err(|e| e.to_string())?;
    let after: &str = match &merged {
        Edited::Changed(text) => text,
        Edited::Unchanged => text,
    };
    match Wiring::fault(after) {
        Some(fault) => Err(format!("{fault}; Claude Code ignores the whole file")),
        None => Ok(merged),
    }
}

/// The program as entries name it.
fn named(path: &Path) -> Result<&str> {
    let program = path
        .to_str()
        .context("the path of this program is not UTF-8")?;
    if !path.is_absolute() {
        bail!("`{program}` is not an absolute path; the hook would not find it");
    }
    if !settings_json::is_our_name(program) {
        bail!("entries that run `{program}` would not be known again; name it `statewarden`");
    }
    if path::is_in_package_cache(program) {
        bail!(
            "`{program}` is in a package cache, which can be emptied: every matched call would be denied. \
             Install it first, such as by `npm install --global statewarden`"
        );
    }
    Ok(program)
}

/// The list of what `install.sh` put in, beside the program it installed.
const RECEIPT: &str = ".statewarden-receipt";

/// Tells `install.sh --uninstall` of entries that would outlive the program.
fn note_in_receipt(scope: Scope, place: &Place, out: &mut dyn Write) -> io::Result<()> {
    let receipt = place.program.with_file_name(RECEIPT);
    let Ok(text) = fs::read_to_string(&receipt) else {
        return Ok(());
    };
    let line = format!("wired {} {}", scope.as_str(), place.project.display());
    if text.lines().any(|known| known == line) {
        return Ok(());
    }
    // The program may be another person's, who removes it without asking.
    match replace::replace(&receipt, format!("{text}{line}\n").as_bytes()) {
        Ok(()) => Ok(()),
        Err(e) => writeln!(
            out,
            "could not note it in `{}` ({e}): run `statewarden uninstall` before the program is removed",
            receipt.display()
        ),
    }
}

/// Takes the entries out of the settings file of the scope, or out of the project's. A file
/// that is as `install` left it gets its old bytes back, or goes if there was none.
///
/// # Errors
/// A file cannot be read, edited, written or removed.
pub fn uninstall(args: &Removal, place: &Place, out: &mut dyn Write) -> Result<()> {
    let Args { scope, dry_run } = args.common;
    let program = place.program.to_string_lossy();
    let whose = match args.own {
        true => EntryFilter::Of(&program),
        false => EntryFilter::Anyones,
    };
    let scopes = match &scope {
        Some(scope) => std::slice::from_ref(scope),
        None => &[Scope::Project, Scope::Local],
    };
    let mut taken_out = 0;
    for scope in scopes {
        taken_out += usize::from(unwire(*scope, whose, dry_run, place, out)?);
    }
    if taken_out == 0 {
        writeln!(
            out,
            "not wired in scope {}",
            scope.map_or("project or local", Scope::as_str)
        )?;
    }
    if dry_run {
        return Ok(());
    }
    tell_of_others(whose, place, out)?;
    if scopes.contains(&Scope::User) {
        return Ok(());
    }
    remove_folder(place, out)
}

/// Whether there was something to take out.
fn unwire(
    scope: Scope,
    whose: EntryFilter<'_>,
    dry_run: bool,
    place: &Place,
    out: &mut dyn Write,
) -> Result<bool> {
    let file = SettingsFile::open(&place.settings(scope)?)?;
    let name = file.path.display();
    if !dry_run {
        file.drop_leftovers();
    }
    let restore = file
        .without(whose)
        .with_context(|| format!("could not edit `{name}`, nothing was changed"))?;
    let is_ours = restore.is_some();
    match restore {
        None if dry_run || file.text.is_none() => {}
        None => file.drop_backups(file.text())?,
        Some(restore) if dry_run => writeln!(out, "would {} `{name}`", restore.words().0)?,
        Some(restore) => {
            restore.carry_out(&file)?;
            writeln!(out, "{} `{name}`", restore.words().1)?;
        }
    }
    for backup in file.backups().filter(|_| !dry_run) {
        writeln!(
            out,
            "an earlier copy of the settings stays: `{}`; delete it if you do not need it",
            backup.display()
        )?;
    }
    Ok(is_ours)
}

/// The commands of our entries in a settings file.
///
/// # Errors
/// The file cannot be read, and may hold entries of ours.
fn commands(file: &Path) -> Result<Vec<String>> {
    let text = read_client_text(file)?.unwrap_or_default();
    let wiring = match Wiring::read(&text) {
        Err(_) if !settings_json::may_be_ours(&text) => Wiring::default(),
        wiring => wiring?,
    };
    let commands = wiring.entries.into_iter().map(|wired| wired.command);
    let mut commands: Vec<_> = commands.collect();
    commands.sort_unstable();
    commands.dedup();
    Ok(commands)
}

/// Says what still runs the hook here. What this program put elsewhere is no
/// news to one who takes out its own entries only, file by file.
fn tell_of_others(whose: EntryFilter<'_>, place: &Place, out: &mut dyn Write) -> Result<()> {
    for scope in Scope::ALL {
        let Ok(path) = place.settings(scope) else {
            continue;
        };
        let (scope, file) = (scope.as_str(), path.display());
        let commands = match commands(&path) {
            Ok(commands) => commands,
            Err(e) => {
                writeln!(
                    out,
                    "may be wired in scope {scope}: could not read `{file}`: {e}"
                )?;
                continue;
            }
        };
        for command in commands
            .iter()
            .filter(|command| whose != EntryFilter::Of(command))
        {
            writeln!(
                out,
                "still wired in scope {scope}: `{file}` runs `{command}`"
            )?;
        }
    }
    Ok(())
}

/// Removes what `install` made beside the settings, unless it is in use.
fn remove_folder(place: &Place, out: &mut dyn Write) -> Result<()> {
    let Some(folder) = place.folder(Scope::Local) else {
        return Ok(());
    };
    for scope in [Scope::Project, Scope::Local] {
        let commands = commands(&place.settings(scope)?);
        if commands.map_or(true, |commands| !commands.is_empty()) {
            return Ok(());
        }
    }
    personal::remove(&place.project)?;
    let above = Above::noted(&folder);
    replace::remove(&folder.join(store::WIRED))?;
    replace::drop_leftovers(&folder, "");
    let names = fs::read_dir(&folder).map(|list| list.flatten().map(|entry| entry.file_name()));
    match names.map(Iterator::collect::<Vec<_>>) {
        Ok(names) if names.iter().all(|name| name == ".gitignore") => {
            replace::remove(&folder.join(".gitignore"))?;
            if replace::remove_if_empty(&folder) && above == Above::Made {
                replace::remove_if_empty(&place.project.join(".claude"));
            }
            Ok(())
        }
        Ok(_) => Ok(writeln!(out, "the logs stay in `{}`", folder.display())?),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
