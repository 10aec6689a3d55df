//! `install` and `uninstall`: the hook entries in a settings file of Claude Code.

mod difference;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::env::HOME;
use crate::project::read_text;
use crate::store::log::Logs;
use crate::store::{self, Above, replace};
use crate::wiring::{self, ENTRIES, Edited, Whose, Wiring, WiringError};
use crate::words::words;

words! {
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
    /// The settings file to change: `project` for everyone who works on it, `local` for you alone
    /// there, `user` for every project of yours
    #[arg(long, value_enum, default_value_t = Scope::Project, hide_possible_values = true)]
    pub scope: Scope,
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
    /// The program that the entries will run.
    pub program: PathBuf,
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

    /// The folder of our logs, which a project gets and the user's directory does not.
    fn folder(&self, scope: Scope) -> Option<PathBuf> {
        (scope != Scope::User).then(|| Logs::of(&self.project).own_folder().to_owned())
    }
}

/// Merges the entries into the settings file of the scope.
///
/// # Errors
/// The program's path cannot be wired, the project is the home directory, or a
/// file cannot be read, edited or written.
pub fn install(args: &Args, place: &Place, out: &mut dyn Write) -> Result<()> {
    let program = named(&place.program)?;
    let project_file = place.settings(Scope::Project)?;
    let is_home = place
        .settings(Scope::User)
        .is_ok_and(|file| file == project_file);
    if args.scope != Scope::User && is_home {
        bail!(
            "the home directory is no project; use `--scope user`, or name a project with `--project DIR`"
        );
    }
    let folder = place.folder(args.scope);
    let above = folder.as_deref().map_or(Above::WasThere, Above::now);
    let file = SettingsFile::open(&place.settings(args.scope)?)?;
    let merged = merged(file.text(), program);
    let what = || {
        let file = file.path.display();
        format!("could not edit `{file}`, nothing was changed")
    };
    if !args.dry_run {
        file.drop_leftovers();
    }
    match merged.map_err(|e| anyhow!("{}: {e}", what()))? {
        Edited::Unchanged => writeln!(out, "already wired: `{}`", file.path.display())?,
        Edited::Changed(text) if args.dry_run => {
            writeln!(out, "would write `{}`:", file.path.display())?;
            difference::write(out, file.text(), &text)?;
        }
        Edited::Changed(text) => {
            let backup = file.back_up()?;
            file.write(&text)?;
            writeln!(
                out,
                "wired {} entries in `{}`",
                ENTRIES.len(),
                file.path.display()
            )?;
            if let Some(backup) = backup {
                writeln!(out, "the file as it was: `{}`", backup.display())?;
            }
        }
    }
    if place.settings(args.scope)? != place.settings_here(args.scope)? {
        writeln!(
            out,
            "a session in this work tree reads another: commit the file, or use `--scope local`"
        )?;
    }
    if !args.dry_run {
        note_in_receipt(args.scope, place, out)?;
    }
    match folder {
        Some(folder) if !args.dry_run => store::note_wired(&folder, above)
            .with_context(|| format!("could not make `{}`", folder.display())),
        Some(folder) if !folder.is_dir() => Ok(writeln!(out, "would make `{}`", folder.display())?),
        _ => Ok(()),
    }
}

/// The settings with our entries; an error where Claude Code would ignore them.
fn merged(text: &str, program: &str) -> Result<Edited, String> {
    let merged = wiring::merge(text, program).map_err(|e| e.to_string())?;
    let after: &str = match &merged {
        Edited::Changed(text) => text,
        Edited::Unchanged => text,
    };
    match Wiring::read(after).invalid {
        Some(fault) => Err(fault),
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
    if !wiring::is_our_name(program) {
        bail!("entries that run `{program}` would not be known again; name it `statewarden`");
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

/// Takes the entries out of the settings file of the scope. A file that is as
/// `install` left it gets its old bytes back, or goes if there was none.
///
/// # Errors
/// A file cannot be read, edited, written or removed.
pub fn uninstall(args: &Removal, place: &Place, out: &mut dyn Write) -> Result<()> {
    let Args { scope, dry_run } = args.common;
    let program = place.program.to_string_lossy();
    let whose = match args.own {
        true => Whose::Of(&program),
        false => Whose::Anyones,
    };
    let file = SettingsFile::open(&place.settings(scope)?)?;
    let name = file.path.display();
    if !dry_run {
        file.drop_leftovers();
    }
    match file
        .without(whose)
        .with_context(|| format!("could not edit `{name}`, nothing was changed"))?
    {
        None if file.text.is_none() => writeln!(out, "not wired: there is no `{name}`")?,
        None => {
            writeln!(out, "not wired: `{name}` holds no entry of statewarden")?;
            if !dry_run {
                file.drop_backups(file.text())?;
            }
        }
        Some(undo) if dry_run => writeln!(out, "would {} `{name}`", undo.words().0)?,
        Some(undo) => {
            undo.carry_out(&file)?;
            writeln!(out, "{} `{name}`", undo.words().1)?;
        }
    }
    if dry_run {
        return Ok(());
    }
    tell_of_others(whose, place, out)?;
    remove_folder(scope, place, out)
}

/// The commands of our entries in the settings file of a scope.
fn commands(scope: Scope, place: &Place) -> Vec<String> {
    let file = place.settings(scope).ok();
    let text = file.and_then(|file| read_text(&file).ok()?);
    let entries = Wiring::read(&text.unwrap_or_default()).entries;
    let mut commands: Vec<_> = entries.into_iter().map(|wired| wired.command).collect();
    commands.sort_unstable();
    commands.dedup();
    commands
}

/// Says what still runs the hook here. What this program put elsewhere is no
/// news to one who takes out its own entries only, file by file.
fn tell_of_others(whose: Whose<'_>, place: &Place, out: &mut dyn Write) -> Result<()> {
    for scope in Scope::ALL {
        for command in commands(scope, place) {
            if whose != Whose::Of(&command) {
                let (scope, file) = (scope.as_str(), place.settings(scope)?);
                let file = file.display();
                writeln!(
                    out,
                    "still wired in scope {scope}: `{file}` runs `{command}`"
                )?;
            }
        }
    }
    Ok(())
}

/// Removes what `install` made beside the settings, unless it is in use.
fn remove_folder(scope: Scope, place: &Place, out: &mut dyn Write) -> Result<()> {
    let Some(folder) = place.folder(scope) else {
        return Ok(());
    };
    if [Scope::Project, Scope::Local]
        .iter()
        .any(|scope| !commands(*scope, place).is_empty())
    {
        return Ok(());
    }
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

/// A settings file of Claude Code as it is now.
struct SettingsFile {
    /// With links followed: many people link their settings from elsewhere.
    path: PathBuf,
    /// `None` where there is no file.
    text: Option<String>,
}

/// How `uninstall` gets back to what was there before.
enum Undo {
    /// The bytes of a backup, exactly.
    Restore(String),
    Edit(String),
    Delete,
}

impl Undo {
    /// What would be done, and what was done.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Restore(_) => ("restore", "restored"),
            Self::Edit(_) => ("take the entries out of", "took the entries out of"),
            Self::Delete => ("remove", "removed"),
        }
    }

    fn carry_out(&self, file: &SettingsFile) -> Result<()> {
        match self {
            Self::Restore(text) | Self::Edit(text) => {
                file.write(text)?;
                file.drop_backups(text)
            }
            Self::Delete => {
                replace::remove(&file.path)?;
                file.drop_backups("")?;
                // Goes with it only if `install` made it for the file.
                file.path.parent().map(replace::remove_if_empty);
                Ok(())
            }
        }
    }
}

impl SettingsFile {
    fn open(path: &Path) -> Result<Self> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        let path = match is_link {
            true => fs::canonicalize(path)
                .with_context(|| format!("`{}` is a link that leads nowhere", path.display()))?,
            false => path.to_owned(),
        };
        let text = read_text(&path)
            .with_context(|| format!("could not read `{}`; nothing was changed", path.display()))?;
        Ok(Self { path, text })
    }

    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or("")
    }

    fn write(&self, text: &str) -> Result<()> {
        if let Some(dir) = self.path.parent() {
            replace::make_dir(dir)
                .with_context(|| format!("could not make `{}`", dir.display()))?;
        }
        replace::replace(&self.path, text.as_bytes())
            .with_context(|| format!("could not write `{}`", self.path.display()))
    }

    /// Finishes what an `install` or `uninstall` that was killed has begun: a copy
    /// of somebody's settings is not left lying about.
    fn drop_leftovers(&self) {
        if let (Some(dir), Some(name)) = (self.path.parent(), self.path.file_name()) {
            replace::drop_leftovers(dir, &name.to_string_lossy());
        }
    }

    /// The backups of this file, oldest first. None is ever overwritten.
    fn backups(&self) -> impl Iterator<Item = PathBuf> {
        self.backup_names().take_while(|path| path.exists())
    }

    fn backup_names(&self) -> impl Iterator<Item = PathBuf> {
        let name = self
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = format!("{name}.statewarden-backup");
        let numbered = (1..).map(move |n| {
            if n == 1 {
                name.clone()
            } else {
                format!("{name}-{n}")
            }
        });
        numbered.map(|name| self.path.with_file_name(name))
    }

    /// Keeps the file as it is before the first change. A file that holds all
    /// our entries is nobody's original: they alone change in it.
    fn back_up(&self) -> Result<Option<PathBuf>> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let ours = Wiring::read(text).entries;
        let is_wired = |event: &str| ours.iter().any(|wired| wired.event == event);
        let mut kept = self.backups().peekable();
        if ENTRIES.iter().all(|entry| is_wired(entry.event))
            || (!ours.is_empty() && kept.peek().is_some())
            || kept.any(|backup| read_text(&backup).is_ok_and(|kept| kept.as_ref() == Some(text)))
        {
            return Ok(None);
        }
        let free = self
            .backup_names()
            .find(|path| !path.exists())
            .context("no free name")?;
        replace::copy_to_free(&self.path, &free)
            .with_context(|| format!("could not keep a copy as `{}`", free.display()))?;
        Ok(Some(free))
    }

    /// Removes the backups that say no more than the text that now stands here.
    fn drop_backups(&self, text: &str) -> Result<()> {
        for backup in self.backups().collect::<Vec<_>>() {
            let old = read_text(&backup).ok().flatten();
            if old.is_some_and(|old| bare(&old, Whose::Anyones).as_deref() == Ok(text)) {
                replace::remove(&backup)?;
            }
        }
        Ok(())
    }

    /// `None` where nothing goes.
    fn without(&self, whose: Whose<'_>) -> Result<Option<Undo>> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let bare = bare(text, whose)?;
        if bare == *text {
            return Ok(None);
        }
        let ours = Wiring::read(text).entries;
        let command = match whose {
            Whose::Of(command) => command,
            Whose::Anyones => ours.first().map_or("", |wired| &wired.command),
        };
        for backup in self.backups() {
            // A backup with entries in it, as earlier versions made, would put them back.
            if let Ok(Some(old)) = read_text(&backup)
                && !Wiring::read(&old).is_ours()
                && wiring::merge(&old, command) == Ok(Edited::Changed(text.clone()))
            {
                return Ok(Some(Undo::Restore(old)));
            }
        }
        Ok(Some(if bare.trim().is_empty() {
            Undo::Delete
        } else {
            Undo::Edit(bare)
        }))
    }
}

/// A settings text without entries of ours.
fn bare(text: &str, whose: Whose<'_>) -> Result<String, WiringError> {
    Ok(match wiring::remove(text, whose)? {
        Edited::Changed(bare) => bare,
        Edited::Unchanged => text.to_owned(),
    })
}

#[cfg(test)]
pub(crate) mod tests;
