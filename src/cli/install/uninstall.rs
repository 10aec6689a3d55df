//! `uninstall`: what `install` put in, and nothing else, goes.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::settings_file::SettingsFile;
use super::{Place, Removal, RunMode, Scope, personal, program};
use crate::cli::origin::Origin;
use crate::cli::{Answer, CliContext};
use crate::host::settings_json::{self, EntryFilter, Wiring};
use crate::project::roots::Project;
use crate::project::roots::read_client_text;
use crate::project::state::ClaudeDir;
use crate::store::replace;

/// Uninstalls, and names what stays.
pub(in crate::cli) fn run(
    args: &Removal,
    place: &Place,
    context: &CliContext<'_>,
) -> Result<Answer> {
    let (project, out) = (&context.project, &mut *context.out.borrow_mut());
    uninstall(args, place, project, out)?;
    // A session that runs keeps its hooks, whatever one of its calls does.
    if args.common.effect() == RunMode::Apply
        && !is_wired(place, &Scope::ALL)
        && Origin::of(context).objection().is_none()
    {
        project.forget_wired()?;
    }
    if project.memory().is_dir() {
        writeln!(
            out,
            "former contents of state files stay in `{}`; delete it if you do not need them",
            project.memory().display()
        )?;
    }
    Ok(Answer::Yes)
}

/// Takes the entries out of the settings file of the scope, or out of the project's. A file
/// that is as `install` left it gets its old bytes back, or goes if there was none.
///
/// # Errors
/// A file cannot be read, edited, written or removed.
pub(crate) fn uninstall(
    args: &Removal,
    place: &Place,
    project: &Project,
    out: &mut dyn Write,
) -> Result<()> {
    let (scope, effect) = (args.common.scope, args.common.effect());
    let own_paths = program::paths(&place.program);
    let whose: Vec<EntryFilter<'_>> = if args.own {
        own_paths.iter().map(|path| EntryFilter::Of(path)).collect()
    } else {
        vec![EntryFilter::Anyones]
    };
    let scopes = match &scope {
        Some(scope) => std::slice::from_ref(scope),
        None => &[Scope::Project, Scope::Local],
    };
    let mut was_wired = false;
    for scope in scopes {
        for entries in &whose {
            was_wired |= unwire(*scope, *entries, effect, place, out)?;
        }
    }
    if !was_wired {
        writeln!(
            out,
            "not wired in scope {}",
            scope.map_or("project or local", Scope::as_str)
        )?;
    }
    if effect == RunMode::DryRun {
        return Ok(());
    }
    name_others(&whose, place, out)?;
    if scopes.contains(&Scope::User) {
        return Ok(());
    }
    remove_folder(place, project, out)
}

/// Whether there was something to take out.
fn unwire(
    scope: Scope,
    whose: EntryFilter<'_>,
    effect: RunMode,
    place: &Place,
    out: &mut dyn Write,
) -> Result<bool> {
    let file = SettingsFile::open(&place.settings(scope)?)?;
    let name = file.path.display();
    let restore = file
        .without(whose)
        .with_context(|| format!("could not edit `{name}`, nothing was changed"))?;
    let is_ours = restore.is_some();
    if effect == RunMode::DryRun {
        if let Some(restore) = restore {
            writeln!(out, "would {} `{name}`", restore.words().0)?;
        }
        return Ok(is_ours);
    }
    file.drop_leftovers();
    match restore {
        None if file.text.is_none() => {}
        None => file.drop_backups(file.text())?,
        Some(restore) => {
            restore.carry_out(&file)?;
            writeln!(out, "{} `{name}`", restore.words().1)?;
        }
    }
    for backup in file.backups() {
        writeln!(
            out,
            "an earlier copy of the settings stays: `{}`; delete it if you do not need it",
            backup.display()
        )?;
    }
    Ok(is_ours)
}

/// Says what still runs the hook here. What this program put elsewhere is no
/// news to one who takes out its own entries only, file by file.
fn name_others(whose: &[EntryFilter<'_>], place: &Place, out: &mut dyn Write) -> Result<()> {
    for scope in Scope::ALL {
        let Ok(path) = place.settings(scope) else {
            continue;
        };
        let (scope, file) = (scope.as_str(), path.display());
        let commands = match commands(&path) {
            Ok(found) => found,
            Err(e) => {
                writeln!(
                    out,
                    "may be wired in scope {scope}: could not read `{file}`: {e}"
                )?;
                continue;
            }
        };
        for command in commands {
            if whose.contains(&EntryFilter::Of(&command)) {
                continue;
            }
            writeln!(
                out,
                "still wired in scope {scope}: `{file}` runs `{command}`"
            )?;
        }
    }
    Ok(())
}

/// Removes what `install` made beside the settings, unless it is in use.
fn remove_folder(place: &Place, project: &Project, out: &mut dyn Write) -> Result<()> {
    let Some(folder) = place.folder(Scope::Local) else {
        return Ok(());
    };
    if is_wired(place, &[Scope::Project, Scope::Local]) {
        return Ok(());
    }
    personal::remove(&place.project)?;
    let wired = project.state().wired;
    project.forget_state()?;
    replace::drop_leftovers(&folder, "");
    let names = fs::read_dir(&folder).map(|list| list.flatten().map(|entry| entry.file_name()));
    match names.map(Iterator::collect::<Vec<_>>) {
        Ok(names) if names.iter().all(|name| name == ".gitignore") => {
            replace::remove(&folder.join(".gitignore"))?;
            if replace::remove_if_empty(&folder) && wired == Some(ClaudeDir::Made) {
                replace::remove_if_empty(&place.project.join(".claude"));
            }
            Ok(())
        }
        Ok(_) => Ok(writeln!(out, "the logs stay in `{}`", folder.display())?),
        Err(_) => Ok(()),
    }
}

/// Whether one of the scopes runs the hook; a file that cannot be read may.
pub(super) fn is_wired(place: &Place, scopes: &[Scope]) -> bool {
    let mut files = scopes
        .iter()
        .filter_map(|scope| place.settings(*scope).ok());
    files.any(|file| commands(&file).map_or(true, |found| !found.is_empty()))
}

/// The commands of our entries in a settings file.
///
/// # Errors
/// The file cannot be read, and may hold entries of ours.
pub(super) fn commands(file: &Path) -> Result<Vec<String>> {
    let text = read_client_text(file)?.unwrap_or_default();
    let wiring = match Wiring::read(&text) {
        Err(_) if !settings_json::may_be_ours(&text) => Wiring::default(),
        wiring => wiring?,
    };
    let mut commands: Vec<_> = wiring
        .entries
        .into_iter()
        .map(|wired| wired.command)
        .collect();
    commands.sort_unstable();
    commands.dedup();
    Ok(commands)
}
