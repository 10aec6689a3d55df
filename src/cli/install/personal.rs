//! What `install` writes for one person in a project: the trial, and git's list of files that
//! stay out of commits.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::base::disk::bounded_read::read_text;
use crate::base::git::WorkTree;
use crate::cli::RunMode;
use crate::contract::glob::Pattern;
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
    effect: RunMode,
    out: &mut dyn Write,
) -> Result<()> {
    let file = project.join(SETTINGS);
    let name = file.display();
    let text = read_text(&file).with_context(|| format!("could not read `{name}`"))?;
    match (mode, text.as_deref(), effect) {
        (Trial::Enforce, None, _) => writeln!(out, "enforced already: there is no `{name}`")?,
        (Trial::Warn, Some(WARN), _) => writeln!(out, "`{name}` says `mode: warn` already")?,
        (Trial::Warn, None, RunMode::DryRun) => {
            writeln!(out, "would write `mode: warn` into `{name}`")?;
        }
        (Trial::Warn, None, RunMode::Apply) => {
            replace::replace(&file, WARN.as_bytes())
                .with_context(|| format!("could not write `{name}`"))?;
            writeln!(
                out,
                "a trial: agents are told what would be denied, and nothing is. See it with \
                 `statewarden denies --decision warn`, end it with `statewarden install --mode enforce`"
            )?;
        }
        (Trial::Enforce, Some(WARN), RunMode::DryRun) => writeln!(out, "would remove `{name}`")?,
        (Trial::Enforce, Some(WARN), RunMode::Apply) => {
            replace::remove(&file)?;
            writeln!(out, "the trial is over: removed `{name}`")?;
        }
        (Trial::Warn, Some(_), _) => {
            bail!("`{name}` has settings of yours: set `mode: warn` in it")
        }
        (Trial::Enforce, Some(_), _) => {
            bail!("`{name}` has settings of yours: take `mode` out of it")
        }
    }
    Ok(())
}

/// Git reads one such file for all work trees of a repository.
fn exclude_file(tree: &WorkTree) -> PathBuf {
    tree.common_dir().join("info/exclude")
}

/// Files of one person in a project.
const PERSONAL: [&str; 2] = [".claude/settings.local.json", SETTINGS];

/// Comes before the lines for git, which are known by it again.
const HEADER: &str = "# written by `statewarden install`\n";

/// The line for git about a personal file.
fn line(top: &Path, project: &Path, name: &str) -> String {
    let below = project.strip_prefix(top).unwrap_or(Path::new(""));
    let path = below.join(name);
    format!("/{}\n", path.to_string_lossy().replace('\\', "/"))
}

/// Whether a line of rules for git leaves a personal file out. A rule that only git understands
/// costs a line too many.
fn leaves_out(rule: &str, name: &str) -> bool {
    if rule.starts_with(['#', '!']) {
        return false;
    }
    let contents = rule.trim_start_matches('/').trim_end_matches("/**");
    let path = contents.trim_end_matches("/*").trim_end_matches('/');
    let (dir, last) = path.rsplit_once('/').unwrap_or(("", path));
    let Ok(pattern) = Pattern::parse(last) else {
        return false;
    };
    let is_of_file = dir.is_empty() || dir == "**" || dir.ends_with(".claude");
    let file = name.rsplit('/').next().unwrap_or(name);
    pattern.matches(".claude") || is_of_file && pattern.matches(file)
}

/// The personal files that no rule leaves out.
fn in_reach_of_git(tree: &WorkTree, project: &Path) -> Vec<&'static str> {
    let files = [
        exclude_file(tree),
        tree.root.join(".gitignore"),
        project.join(".gitignore"),
    ];
    let texts = files
        .iter()
        .filter_map(|file| read_text(file).ok().flatten());
    let rules: String = texts.map(|text| text + "\n").collect();
    let mut names = PERSONAL.to_vec();
    names.retain(|name| !rules.lines().any(|rule| leaves_out(rule.trim(), name)));
    names
}

/// Has git leave the personal files alone, unless a `.gitignore` does.
pub(super) fn keep_out_of_commits(
    project: &Path,
    effect: RunMode,
    out: &mut dyn Write,
) -> Result<()> {
    let Some(tree) = WorkTree::around(project) else {
        return Ok(());
    };
    let exclude = exclude_file(&tree);
    let missing = in_reach_of_git(&tree, project);
    if missing.is_empty() {
        return Ok(());
    }
    let name = exclude.display();
    if effect == RunMode::DryRun {
        return Ok(writeln!(
            out,
            "would list the personal settings in `{name}`"
        )?);
    }
    let mut text = read_text(&exclude)?.unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += HEADER;
    for missing in missing {
        text += &line(&tree.root, project, missing);
    }
    replace::make_dir(exclude.parent().unwrap_or(&tree.git_dir))
        .and_then(|()| replace::replace(&exclude, text.as_bytes()))
        .with_context(|| format!("could not write `{name}`"))?;
    Ok(writeln!(out, "kept out of commits by `{name}`")?)
}

/// The text without the lines that this program wrote below its comment.
fn without_our_lines(text: &str, top: &Path, project: &Path) -> String {
    let Some((before, below)) = text.split_once(HEADER) else {
        return text.to_owned();
    };
    let mut rest = below;
    for name in PERSONAL {
        rest = rest
            .strip_prefix(&*line(top, project, name))
            .unwrap_or(rest);
    }
    [before, rest].concat()
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
    let rest = without_our_lines(&text, &tree.root, project);
    if rest.is_empty() && !text.is_empty() {
        // It was not there before.
        replace::remove(&exclude)?;
        if let Some(dir) = exclude.parent() {
            replace::remove_if_empty(dir);
        }
    } else if rest != text {
        replace::replace(&exclude, rest.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
