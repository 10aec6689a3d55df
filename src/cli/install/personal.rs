//! What `install` writes for one person in a project: the trial, and git's list of files that
//! stay out of commits.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::base::disk::bounded_read::read_text;
use crate::store::replace;

/// Whether denials are real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Trial {
    Warn,
    Enforce,
}

const SETTINGS: &str = ".claude/statewarden.local.yaml";

/// The whole of the settings that a trial needs.
const WARN: &str = "mode: warn\n";

/// Begins or ends a trial. Settings of the person's own are the person's to change.
pub(super) fn set_mode(
    mode: Trial,
    project: &Path,
    dry_run: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let file = project.join(SETTINGS);
    let name = file.display();
    let text = read_text(&file).with_context(|| format!("could not read `{name}`"))?;
    match (mode, text.as_deref()) {
        (Trial::Enforce, None) => writeln!(out, "enforced already: there is no `{name}`")?,
        (Trial::Warn, Some(WARN)) => writeln!(out, "`{name}` says `mode: warn` already")?,
        (Trial::Warn, None) if dry_run => writeln!(out, "would write `mode: warn` into `{name}`")?,
        (Trial::Warn, None) => {
            replace::replace(&file, WARN.as_bytes())
                .with_context(|| format!("could not write `{name}`"))?;
            writeln!(
                out,
                "a trial: agents are told what would be denied, and nothing is. See it with \
                 `statewarden denies --decision warn`, end it with `statewarden install --mode enforce`"
            )?;
        }
        (Trial::Enforce, Some(WARN)) if dry_run => writeln!(out, "would remove `{name}`")?,
        (Trial::Enforce, Some(WARN)) => {
            replace::remove(&file)?;
            writeln!(out, "the trial is over: removed `{name}`")?;
        }
        (Trial::Warn, Some(_)) => bail!("`{name}` has settings of yours: set `mode: warn` in it"),
        (Trial::Enforce, Some(_)) => bail!("`{name}` has settings of yours: take `mode` out of it"),
    }
    Ok(())
}

/// The top of the work tree that a directory is in, and git's own directory of it.
pub(super) fn repository(project: &Path) -> Option<(&Path, PathBuf)> {
    let top = project.ancestors().find(|dir| dir.join(".git").exists())?;
    let git = top.join(".git");
    if git.is_dir() {
        return Some((top, git));
    }
    let text = read_text(&git).ok()??;
    let git = top.join(text.strip_prefix("gitdir:")?.trim());
    git.is_dir().then_some((top, git))
}

/// The lines for git, below a comment by which they are known again.
fn lines(top: &Path, project: &Path) -> String {
    let below = project.strip_prefix(top).unwrap_or(Path::new(""));
    let path = |name: &str| {
        format!(
            "/{}\n",
            below.join(name).to_string_lossy().replace('\\', "/")
        )
    };
    let files = [".claude/settings.local.json", SETTINGS].map(path);
    format!("# written by `statewarden install`\n{}", files.concat())
}

/// Has git leave the personal files alone, unless a `.gitignore` speaks of them.
pub(super) fn keep_out_of_commits(
    project: &Path,
    dry_run: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let Some((top, git)) = repository(project) else {
        return Ok(());
    };
    let speaks_of_them = |text: String| {
        let ends = [".claude", "settings.local.json", ".local.json"];
        let mut rules = text
            .lines()
            .map(|line| line.trim().trim_end_matches(['/', '*']));
        rules.any(|rule| ends.iter().any(|end| rule.ends_with(end)))
    };
    let exclude = git.join("info/exclude");
    let rules = [
        &exclude,
        &top.join(".gitignore"),
        &project.join(".gitignore"),
    ];
    if rules
        .into_iter()
        .filter_map(|file| read_text(file).ok().flatten())
        .any(speaks_of_them)
    {
        return Ok(());
    }
    let name = exclude.display();
    if dry_run {
        return Ok(writeln!(
            out,
            "would list the personal settings in `{name}`"
        )?);
    }
    let mut text = read_text(&exclude)?.unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &lines(top, project);
    replace::make_dir(&git.join("info"))
        .and_then(|()| replace::replace(&exclude, text.as_bytes()))
        .with_context(|| format!("could not write `{name}`"))?;
    Ok(writeln!(out, "kept out of commits by `{name}`")?)
}

/// Takes out the trial and git's lines, where they are as they were written.
pub(super) fn remove(project: &Path) -> Result<()> {
    let trial = project.join(SETTINGS);
    if matches!(read_text(&trial), Ok(Some(text)) if text == WARN) {
        replace::remove(&trial)?;
    }
    let Some((top, git)) = repository(project) else {
        return Ok(());
    };
    let exclude = git.join("info/exclude");
    let text = read_text(&exclude)?.unwrap_or_default();
    match text.replacen(&lines(top, project), "", 1) {
        same if same == text => {}
        // It was not there before.
        none if none.is_empty() => {
            replace::remove(&exclude)?;
            replace::remove_if_empty(&git.join("info"));
        }
        rest => replace::replace(&exclude, rest.as_bytes())?,
    }
    Ok(())
}

#[cfg(test)]
mod tests;
