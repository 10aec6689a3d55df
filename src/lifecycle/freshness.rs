//! Whether what a test has tested was changed since: by the change times of the files that git
//! tracks, and by one mark of the last code that a file tool wrote.

use std::fs;
use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read::read_text;
use crate::base::git::WorkTree;
use crate::base::git_index::Index;
use crate::base::{clock, path};
use crate::contract::glob::Pattern;
use crate::project::registry::Registry;
use crate::project::roots::{Project, Root};
use crate::project::sites;
use crate::store::changed;

/// In the memory: when a test last passed, and the code that was written since.
pub(super) const FILE: &str = "tested.json";

/// So many tracked files are asked; with more it is not known what has changed.
const MAX_TRACKED: usize = 20_000;

/// What has become of what a test has tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    Unchanged,
    /// The first file that was changed, relative to the root.
    Changed(String),
    NotAsked,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Marks {
    /// UTC, RFC 3339, milliseconds.
    tested: Option<String>,
    written: Option<Written>,
}

/// The last code that a file tool wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    /// Absolute.
    path: String,
    at: String,
}

/// Notes that a test has passed: from now on it matters what is written.
///
/// # Errors
/// The memory cannot be written.
pub fn note_tested(project: &Project, at: &str) -> io::Result<()> {
    project.change(FILE, |marks: &mut Marks| marks.tested = Some(at.to_owned()))
}

/// Notes that a file tool wrote a file; once for each test that passed.
///
/// # Errors
/// The memory cannot be written.
pub fn note_written(project: &Project, file: &str, now: DateTime<Utc>) -> io::Result<()> {
    let is_code = project
        .locate(file)
        .is_some_and(|(_, below)| is_tested(below));
    let Some(marks) = is_code.then(|| project.recall::<Marks>(FILE)).flatten() else {
        return Ok(());
    };
    let is_known = marks
        .written
        .is_some_and(|written| Some(written.at) > marks.tested);
    if marks.tested.is_none() || is_known {
        return Ok(());
    }
    let (path, at) = (file.to_owned(), clock::millis(now));
    project.change(FILE, |marks: &mut Marks| {
        marks.written = Some(Written { path, at });
    })
}

/// What was changed in a root since a test ended.
pub fn since(project: &Project, registry: &Registry<'_>, root: &Root, end: DateTime<Utc>) -> Since {
    let governed: Vec<String> = registry
        .governed
        .iter()
        .flat_map(|governed| sites::from_globs(root, registry.sites_of(governed.id()), governed))
        .collect();
    let counts = |below: &str| {
        is_tested(below)
            && !governed
                .iter()
                .any(|site| path::relative(below, site).is_some())
    };
    let marks: Marks = project.recall(FILE).unwrap_or_default();
    if let Some(written) = marks.written
        && clock::parse(&written.at) > Some(end)
        && let Some(below) = root.relative(&written.path)
        && counts(below)
        && !is_ignored(root, below)
    {
        return Since::Changed(below.to_owned());
    }
    let Some(tracked) = tracked(root) else {
        return Since::NotAsked;
    };
    let mut tested = tracked.into_iter().filter(|below| counts(below));
    match tested.find(|below| is_changed_since(&root.path(below), end)) {
        Some(below) => Since::Changed(below),
        None => Since::Unchanged,
    }
}

/// The files that git tracks in a root, relative to it, where these are known and not too many.
fn tracked(root: &Root) -> Option<Vec<String>> {
    let tree = WorkTree::around(Path::new(&root.dir))?;
    let index = Index::read(&tree.git_dir);
    let top = path::from_os(&tree.root);
    let below: Vec<String> = index
        .paths()?
        .filter_map(|path| str::from_utf8(path).ok())
        .map(|path| path::below(&top, path))
        .filter_map(|path| root.relative(&path).map(str::to_owned))
        .take(MAX_TRACKED + 1)
        .collect();
    (below.len() <= MAX_TRACKED).then_some(below)
}

/// A file that is gone was removed when its directory was changed last, at the earliest.
fn is_changed_since(file: &str, end: DateTime<Utc>) -> bool {
    let file = Path::new(file);
    let meta = fs::symlink_metadata(file).or_else(|error| match (error.kind(), file.parent()) {
        (io::ErrorKind::NotFound, Some(dir)) => fs::symlink_metadata(dir),
        _ => Err(error),
    });
    meta.is_ok_and(|meta| changed(&meta) > end)
}

/// Whether a test may depend on a file: texts, pictures and the state of workflows do not count.
fn is_tested(below: &str) -> bool {
    const TEXTS: [&str; 12] = [
        "md", "txt", "rst", "adoc", "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "bmp",
    ];
    const STATE: [&str; 5] = [".claude", ".devt", "openspec", ".agentmux", ".git"];
    let (dirs, name) = below.rsplit_once('/').unwrap_or(("", below));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_text = TEXTS
        .iter()
        .any(|text| text.eq_ignore_ascii_case(extension));
    !is_text && !dirs.split('/').any(|dir| STATE.contains(&dir))
}

/// Whether a line of a `.gitignore` on the way names a path (`gitignore(5)`). The last one that
/// does decides.
fn is_ignored(root: &Root, below: &str) -> bool {
    let mut is_ignored = false;
    let mut dir = String::new();
    for part in below.split('/') {
        let rest = below.get(dir.len()..).unwrap_or_default();
        let file = path::below(&root.path(&dir), ".gitignore");
        let text = read_text(&file).ok().flatten().unwrap_or_default();
        for line in text.lines() {
            if let Some(says) = ignores(line.trim_end(), rest.trim_start_matches('/')) {
                is_ignored = says;
            }
        }
        dir = path::below(&dir, part);
    }
    is_ignored
}

/// What a line says of a path below its directory; `None` where it does not speak of it.
fn ignores(line: &str, below: &str) -> Option<bool> {
    let (says, pattern) = match line.strip_prefix('!') {
        Some(pattern) => (false, pattern),
        None => (true, line),
    };
    if pattern.is_empty() || pattern.starts_with('#') {
        return None;
    }
    let bare = pattern.trim_end_matches('/');
    let is_anchored = bare.contains('/');
    let glob = Pattern::parse(bare.trim_start_matches('/')).ok()?;
    let ends = below
        .match_indices('/')
        .map(|(at, _)| at)
        .chain([below.len()]);
    let mut ancestors = ends.map(|end| &below[..end]);
    let is_named = ancestors.any(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        glob.matches(if is_anchored { path } else { name })
    });
    is_named.then_some(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_state_are_not_tested() {
        for file in [
            "src/a.rs",
            "Makefile",
            "a.toml",
            "docs/conf.py",
            "x.md/y.rs",
        ] {
            assert!(is_tested(file), "{file}");
        }
        for file in [
            "README.md",
            "a/b.TXT",
            "x.svg",
            ".claude/a.rs",
            "p/.devt/state/x.json",
            "openspec/changes/a/b.yaml",
        ] {
            assert!(!is_tested(file), "{file}");
        }
    }

    #[test]
    fn a_line_of_gitignore_names_a_path() {
        for (line, path, says) in [
            ("target/", "target/debug/x", Some(true)),
            ("*.log", "a/b.log", Some(true)),
            ("!keep.log", "a/keep.log", Some(false)),
            ("/build", "build/x.rs", Some(true)),
            ("/build", "a/build/x.rs", None),
            ("# x", "x", None),
            ("", "x", None),
            ("gen/out", "gen/out/a.rs", Some(true)),
        ] {
            assert_eq!(ignores(line, path), says, "{line} {path}");
        }
    }
}
