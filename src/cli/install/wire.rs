//! `install`: the entries in one settings file, and what is noted beside it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

use super::settings_file::SettingsFile;
use super::{Place, RunMode, Scope};
use crate::base::git::WorkTree;
use crate::base::path;
use crate::host::settings_json::{self, ENTRIES, Edited, Wiring};
use crate::project::roots::Project;
use crate::project::state::ClaudeDir;
use crate::store::replace;

/// Puts the entries into the settings file of a scope.
///
/// # Errors
/// The file cannot be read, edited or written.
pub(super) fn wire(
    scope: Scope,
    effect: RunMode,
    program: &str,
    place: &Place,
    project: &Project,
    out: &mut dyn Write,
) -> Result<()> {
    let dir = ClaudeDir::now(project);
    merge_into(&place.settings(scope)?, effect, program, out)?;
    warn_of_path(scope, program, place, out)?;
    if effect == RunMode::DryRun {
        return Ok(());
    }
    if let Some(folder) = place.folder(scope) {
        project
            .note_wired(dir)
            .with_context(|| format!("could not make `{}`", folder.display()))?;
    }
    Ok(note_in_receipt(scope, place, out)?)
}

fn merge_into(settings: &Path, effect: RunMode, program: &str, out: &mut dyn Write) -> Result<()> {
    let file = SettingsFile::open(settings)?;
    let name = file.path.display();
    let edited = merged(file.text(), program)
        .map_err(|e| anyhow!("could not edit `{name}`, nothing was changed: {e}"))?;
    if effect == RunMode::Apply {
        file.drop_leftovers();
    }
    let n = ENTRIES.len();
    match (edited, effect) {
        (Edited::Unchanged, _) => writeln!(out, "already wired: `{name}`")?,
        (Edited::Changed(_), RunMode::DryRun) => {
            writeln!(out, "would wire {n} entries in `{name}`")?;
        }
        (Edited::Changed(text), RunMode::Apply) => {
            let backup = file.back_up()?;
            file.write(&text)?;
            writeln!(out, "wired {n} entries in `{name}`")?;
            if let Some(backup) = backup {
                writeln!(out, "the file as it was: `{}`", backup.display())?;
            }
        }
    }
    Ok(())
}

/// Says who else will meet the path, and when it leads nowhere.
fn warn_of_path(scope: Scope, program: &str, place: &Place, out: &mut dyn Write) -> Result<()> {
    if let Some(part) = path::passing_part(program) {
        writeln!(
            out,
            "`{part}` in the path of the program changes with its version: run `statewarden install` \
             again after each upgrade, or put a link to it into a directory of your `PATH`"
        )?;
    }
    if scope == Scope::Project && WorkTree::around(&place.project).is_some() {
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
    Ok(())
}

/// The settings with our entries; an error where Claude Code would ignore them.
fn merged(text: &str, program: &str) -> Result<Edited, String> {
    let edited = settings_json::merge(text, program).map_err(|e| e.to_string())?;
    let after: &str = match &edited {
        Edited::Changed(changed) => changed,
        Edited::Unchanged => text,
    };
    match Wiring::fault(after) {
        Some(fault) => Err(format!("{fault}; Claude Code ignores the whole file")),
        None => Ok(edited),
    }
}

/// The program as entries name it.
///
/// # Errors
/// It could not be run, or not be known again, by that path.
pub(super) fn named(path: &Path) -> Result<&str> {
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
