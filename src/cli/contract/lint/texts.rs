//! The texts that instruct agents, and whom each is for.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::base::actor::Actor;
use crate::base::disk::bounded_read::read_text;
use crate::base::path::from_os;
use crate::cli::replay::{files_below, files_where};
use crate::formats::{front_matter, yaml};

/// One file, and who reads it.
pub(super) struct Text {
    pub path: String,
    pub text: String,
    pub reader: Actor,
}

/// The directories of a plugin whose texts instruct agents.
const PARTS: [&str; 4] = ["agents", "commands", "skills", "workflows"];

/// The folders whose texts are read: those parts of a directory where it is a plugin's, else all
/// of it, and the ones that are named.
pub(super) fn folders(dirs: &[PathBuf], named: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for dir in dirs {
        let below = PARTS.iter().map(|part| dir.join(part));
        let parts: Vec<PathBuf> = below.filter(|part| part.is_dir()).collect();
        if !parts.is_empty() {
            folders.extend(parts);
        } else if named.is_empty() {
            folders.push(dir.clone());
        }
    }
    folders.extend_from_slice(named);
    folders.dedup();
    folders
}

/// The Markdown files below folders.
pub(super) fn read(folders: &[PathBuf]) -> Result<Vec<Text>> {
    let mut files = files_below(folders, "md")?;
    // A folder that is named may be, or be in, one that is read anyway.
    let mut known = HashSet::new();
    files.retain(|file| known.insert(fs::canonicalize(file).unwrap_or_else(|_| file.clone())));
    files.iter().map(|path| text_of(path)).collect()
}

fn text_of(path: &Path) -> Result<Text> {
    let text = read_text(path)
        .with_context(|| format!("could not read `{}`", path.display()))?
        .unwrap_or_default();
    Ok(Text {
        path: from_os(path),
        reader: reader(path, &text),
        text,
    })
}

/// The other files below folders that are text: a script beside them writes what they mention.
pub(super) fn of_programs(folders: &[PathBuf]) -> Result<Vec<String>> {
    let files = files_where(folders, |path| {
        path.extension().is_none_or(|ext| ext != "md")
    })?;
    let texts = files
        .iter()
        .filter_map(|file| read_text(file).ok().flatten());
    Ok(texts.collect())
}

/// The agent that a file below `agents` defines; all else the main thread reads.
fn reader(path: &Path, text: &str) -> Actor {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    if !parts.any(|part| part == "agents") {
        return Actor::Main;
    }
    let front = front_matter::read(text).ok();
    let named = front.and_then(|front| yaml::text(&front, &["name"]));
    let part = parts.next().unwrap_or_default();
    Actor::parse(&named.unwrap_or_else(|| part.trim_end_matches(".md").to_owned()))
}
