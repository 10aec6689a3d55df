//! A settings file of Claude Code, with the copy of it from before the first change.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::base::disk::bounded_read::read_text;
use crate::host::settings_json::{self, ENTRIES, Edited, EntryFilter, Wiring, WiringError};
use crate::store::replace;

/// A settings file of Claude Code as it is now.
pub(super) struct SettingsFile {
    /// With links followed: many people link their settings from elsewhere.
    pub(super) path: PathBuf,
    /// `None` where there is no file.
    pub(super) text: Option<String>,
}

/// How `uninstall` gets back to what was there before.
pub(super) enum Restore {
    /// The bytes of a backup, exactly.
    FromBackup(String),
    Edit(String),
    Delete,
}

impl Restore {
    /// What would be done, and what was done.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::FromBackup(_) => ("restore", "restored"),
            Self::Edit(_) => ("take the entries out of", "took the entries out of"),
            Self::Delete => ("remove", "removed"),
        }
    }

    pub(super) fn carry_out(&self, file: &SettingsFile) -> Result<()> {
        match self {
            Self::FromBackup(text) | Self::Edit(text) => {
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
    pub(super) fn open(path: &Path) -> Result<Self> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        let path = if is_link {
            fs::canonicalize(path)
                .with_context(|| format!("`{}` is a link that leads nowhere", path.display()))?
        } else {
            path.to_owned()
        };
        let text = read_text(&path)
            .with_context(|| format!("could not read `{}`; nothing was changed", path.display()))?;
        Ok(Self { path, text })
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or("")
    }

    pub(super) fn write(&self, text: &str) -> Result<()> {
        if let Some(dir) = self.path.parent() {
            replace::make_dir(dir)
                .with_context(|| format!("could not make `{}`", dir.display()))?;
        }
        replace::replace(&self.path, text.as_bytes())
            .with_context(|| format!("could not write `{}`", self.path.display()))
    }

    /// Finishes what an `install` or `uninstall` that was killed has begun: a copy
    /// of somebody's settings is not left behind.
    pub(super) fn drop_leftovers(&self) {
        if let (Some(dir), Some(name)) = (self.path.parent(), self.path.file_name()) {
            replace::drop_leftovers(dir, &name.to_string_lossy());
        }
    }

    /// The backups of this file, oldest first. None is ever overwritten.
    pub(super) fn backups(&self) -> impl Iterator<Item = PathBuf> {
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
    /// our entries is no original: they alone change in it.
    pub(super) fn back_up(&self) -> Result<Option<PathBuf>> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let ours = Wiring::read(text)?.entries;
        let mut kept = self.backups().peekable();
        let is_wired = ENTRIES
            .iter()
            .all(|entry| ours.iter().any(|wired| wired.event == entry.event));
        if is_wired
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

    /// Removes the backups that say no more than the text that is here now.
    pub(super) fn drop_backups(&self, text: &str) -> Result<()> {
        for backup in self.backups().collect::<Vec<_>>() {
            let old = read_text(&backup).ok().flatten();
            if old.is_some_and(|old| bare(&old, EntryFilter::Anyones).as_deref() == Ok(text)) {
                replace::remove(&backup)?;
            }
        }
        Ok(())
    }

    /// `None` where nothing goes.
    pub(super) fn without(&self, whose: EntryFilter<'_>) -> Result<Option<Restore>> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let bare = bare(text, whose)?;
        if bare == *text {
            return Ok(None);
        }
        let ours = Wiring::read(text)?.entries;
        let command = match whose {
            EntryFilter::Of(command) => command,
            EntryFilter::Anyones => ours.first().map_or("", |wired| &wired.command),
        };
        for backup in self.backups() {
            // A backup with entries in it, as earlier versions made, would put them back.
            if let Ok(Some(old)) = read_text(&backup)
                && Wiring::read(&old).is_ok_and(|old| !old.is_ours())
                && settings_json::merge(&old, command) == Ok(Edited::Changed(text.clone()))
            {
                return Ok(Some(Restore::FromBackup(old)));
            }
        }
        Ok(Some(if bare.trim().is_empty() {
            Restore::Delete
        } else {
            Restore::Edit(bare)
        }))
    }
}

/// A settings text without entries of ours.
fn bare(text: &str, whose: EntryFilter<'_>) -> Result<String, WiringError> {
    Ok(match settings_json::remove(text, whose)? {
        Edited::Changed(bare) => bare,
        Edited::Unchanged => text.to_owned(),
    })
}
