//! What `install` writes for one person in a project: the trial, and git's list of files that
//! stay out of commits.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::base::disk::bounded_read::read_text;
use crate::base::git::WorkTree;
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

/// Git reads one such file for all work trees of a repository.
fn exclude_file(tree: &WorkTree) -> PathBuf {
    tree.common_dir().join("info/exclude")
}

/// The lines for git, below a comment by which they are known again.
fn lines(top: &Path, project: &Path) -> String {
    let below = project.strip_prefix(top).unwrap_or(Path::new(""));
    let files = [".claude/settings.local.json", SETTINGS].map(|name| {
        let path = below.join(name);
        format!("/{}\n", path.to_string_lossy().replace('\\', "/"))
    });
    format!("# written by `statewarden install`\n{}", files.concat())
}

/// Whether rules for git are about the personal files.
fn speaks_of_them(rules: &str) -> bool {
    let ends = [".claude", "settings.local.json", ".local.json"];
    let mut names = rules
        .lines()
        .map(|line| line.trim().trim_end_matches(['/', '*']));
    names.any(|name| ends.iter().any(|end| name.ends_with(end)))
}

/// Has git leave the personal files alone, unless a `.gitignore` speaks of them.
pub(super) fn keep_out_of_commits(
    project: &Path,
    dry_run: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let Some(tree) = WorkTree::around(project) else {
        return Ok(());
    };
    let exclude = exclude_file(&tree);
    let rules = [
        &exclude,
        &tree.root.join(".gitignore"),
        &project.join(".gitignore"),
    ];
    if rules
        .into_iter()
        .filter_map(|file| read_text(file).ok().flatten())
        .any(|text| speaks_of_them(&text))
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
    text += &lines(&tree.root, project);
    replace::make_dir(exclude.parent().unwrap_or(&tree.git_dir))
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
    let Some(tree) = WorkTree::around(project) else {
        return Ok(());
    };
    let exclude = exclude_file(&tree);
    let text = read_text(&exclude)?.unwrap_or_default();
    let rest = text.replacen(&lines(&tree.root, project), "", 1);
    if rest.is_empty() && !text.is_empty() {
        // It was not there before.
        replace::remove(&exclude)?;
        exclude.parent().map(replace::remove_if_empty);
    } else if rest != text {
        replace::replace(&exclude, rest.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
