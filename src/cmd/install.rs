//! `install` and `uninstall`: the hook entries in a settings file of Claude Code.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::store::{self, replace};
use crate::wiring::{self, ENTRIES, Edited};

/// Which of Claude Code's settings files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// `.claude/settings.json` of the project, for everyone who works on it.
    Project,
    /// `settings.json` in `~/.claude`, for every project of yours.
    User,
    /// `.claude/settings.local.json` of the project, for you alone.
    Local,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Project, Self::User, Self::Local];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Local => "local",
        }
    }
}

/// The arguments of both commands.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// The settings file to change
    #[arg(long, value_enum, default_value_t = Scope::Project)]
    pub scope: Scope,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Where things are on this machine; all paths absolute.
#[derive(Clone, Debug)]
pub struct Place {
    pub project: PathBuf,
    /// Claude Code's directory of the user: `$CLAUDE_CONFIG_DIR`, or `~/.claude`.
    pub user_dir: PathBuf,
    /// The program that the entries will run.
    pub program: PathBuf,
}

impl Place {
    pub fn settings(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::Project => self.project.join(".claude/settings.json"),
            Scope::User => self.user_dir.join("settings.json"),
            Scope::Local => self.project.join(".claude/settings.local.json"),
        }
    }

    /// The folder of our logs, which a project gets and the user's directory does not.
    fn folder(&self, scope: Scope) -> Option<PathBuf> {
        (scope != Scope::User).then(|| self.project.join(".claude/statewarden"))
    }
}

/// Merges the entries into the settings file of the scope.
pub fn install(args: &Args, place: &Place, out: &mut dyn Write) -> Result<()> {
    let program = place
        .program
        .to_str()
        .context("the path of this program is not UTF-8")?;
    if !place.program.is_absolute() {
        bail!("`{program}` is not an absolute path; the hook would not find it");
    }
    if args.scope != Scope::User && place.settings(Scope::Project) == place.settings(Scope::User) {
        bail!(
            "the home directory is no project; use `--scope user`, or name a project with `--project DIR`"
        );
    }
    let file = SettingsFile::open(&place.settings(args.scope))?;
    let merged = wiring::merge(file.text(), program);
    match merged.with_context(|| format!("could not edit `{}`", file.path.display()))? {
        Edited::Unchanged => writeln!(out, "already wired: `{}`", file.path.display())?,
        Edited::Changed(text) if args.dry_run => {
            writeln!(out, "would write `{}`:", file.path.display())?;
            write_difference(out, file.text(), &text)?;
        }
        Edited::Changed(text) => {
            let backup = file.back_up()?;
            file.write(&text)?;
            writeln!(
                out,
                "wired {} events in `{}`",
                ENTRIES.len(),
                file.path.display()
            )?;
            if let Some(backup) = backup {
                writeln!(out, "the file as it was: `{}`", backup.display())?;
            }
        }
    }
    match place.folder(args.scope) {
        Some(folder) if !args.dry_run => store::note_wired(&folder)
            .with_context(|| format!("could not make `{}`", folder.display())),
        Some(folder) if !folder.is_dir() => Ok(writeln!(out, "would make `{}`", folder.display())?),
        _ => Ok(()),
    }
}

/// Takes the entries out of the settings file of the scope. A file that is as
/// `install` left it gets its old bytes back, or goes if there was none.
pub fn uninstall(args: &Args, place: &Place, out: &mut dyn Write) -> Result<()> {
    let file = SettingsFile::open(&place.settings(args.scope))?;
    let name = file.path.display();
    match file
        .without_us()
        .with_context(|| format!("could not edit `{name}`"))?
    {
        Undo::Nothing => writeln!(out, "not wired: `{name}`")?,
        undo if args.dry_run => writeln!(out, "would {} `{name}`", undo.words().0)?,
        undo => {
            undo.carry_out(&file)?;
            writeln!(out, "{} `{name}`", undo.words().1)?;
        }
    }
    if !args.dry_run {
        remove_folder(args.scope, place, out)?;
    }
    Ok(())
}

/// Removes what `install` made beside the settings, unless it is in use.
fn remove_folder(scope: Scope, place: &Place, out: &mut dyn Write) -> Result<()> {
    let Some(folder) = place.folder(scope) else {
        return Ok(());
    };
    for other in [Scope::Project, Scope::Local] {
        let text = fs::read_to_string(place.settings(other)).unwrap_or_default();
        if !wiring::is_wired(&text).entries.is_empty() {
            return Ok(());
        }
    }
    replace::remove(&folder.join(store::WIRED))?;
    let names = fs::read_dir(&folder).map(|list| list.flatten().map(|entry| entry.file_name()));
    match names.map(Iterator::collect::<Vec<_>>) {
        Ok(names) if names.iter().all(|name| name == ".gitignore") => {
            replace::remove(&folder.join(".gitignore"))?;
            if replace::remove_if_empty(&folder) {
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
    Nothing,
    /// The bytes of a backup, exactly.
    Restore {
        backup: PathBuf,
        text: String,
    },
    Edit {
        text: String,
    },
    Delete,
}

impl Undo {
    /// What would be done, and what was done.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Nothing => ("leave", "left"),
            Self::Restore { .. } => ("restore", "restored"),
            Self::Edit { .. } => ("take the entries out of", "took the entries out of"),
            Self::Delete => ("remove", "removed"),
        }
    }

    fn carry_out(&self, file: &SettingsFile) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Restore { backup, text } => {
                file.write(text)?;
                Ok(replace::remove(backup)?)
            }
            Self::Edit { text } => file.write(text),
            Self::Delete => {
                replace::remove(&file.path)?;
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
        let text = match fs::read(&path) {
            Ok(bytes) => Some(String::from_utf8(bytes).ok().with_context(|| {
                format!("`{}` is not UTF-8; nothing was changed", path.display())
            })?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => {
                return Err(e).with_context(|| format!("could not read `{}`", path.display()));
            }
        };
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

    /// Keeps the file as it is before the first change. A later change of a
    /// file that holds our entries is no new original.
    fn back_up(&self) -> Result<Option<PathBuf>> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let is_original = wiring::is_wired(text).entries.is_empty();
        let mut kept = self.backups().peekable();
        if (!is_original && kept.peek().is_some())
            || kept.any(|backup| fs::read(backup).is_ok_and(|bytes| bytes == text.as_bytes()))
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

    fn without_us(&self) -> Result<Undo> {
        let Some(text) = &self.text else {
            return Ok(Undo::Nothing);
        };
        let Edited::Changed(without) = wiring::remove(text)? else {
            return Ok(Undo::Nothing);
        };
        let command = wiring::is_wired(text)
            .entries
            .into_iter()
            .next()
            .map(|wired| wired.command);
        let command = command.unwrap_or_default();
        let mut has_backup = false;
        for backup in self.backups() {
            has_backup = true;
            let Ok(old) = fs::read_to_string(&backup) else {
                continue;
            };
            if wiring::merge(&old, &command) == Ok(Edited::Changed(text.clone())) {
                return Ok(Undo::Restore { backup, text: old });
            }
        }
        if without.trim().is_empty() && !has_backup {
            return Ok(Undo::Delete);
        }
        Ok(Undo::Edit { text: without })
    }
}

/// Shows the lines between the common head and the common tail.
fn write_difference(out: &mut dyn Write, before: &str, after: &str) -> io::Result<()> {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let head = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (before, after) = (&before[head..], &after[head..]);
    let tails = before.iter().rev().zip(after.iter().rev());
    let tail = tails.take_while(|(a, b)| a == b).count();
    for line in &before[..before.len() - tail] {
        writeln!(out, "- {line}")?;
    }
    for line in &after[..after.len() - tail] {
        writeln!(out, "+ {line}")?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
