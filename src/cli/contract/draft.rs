//! `contract new`: drafts a contract from what is in a directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::base::disk::bounded_read::read_text;
use crate::base::disk::list;
use crate::base::path;
use crate::base::text::count;
use crate::cli::output::{Page, Show};
use crate::cli::{Answer, CliContext};
use crate::contract::glob::Pattern;
use crate::formats::{front_matter, json, yaml};
use crate::project::sites;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A directory of the project with the files of a workflow
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: String,
}

#[derive(Debug, Serialize)]
struct Drafted {
    system: String,
    site: String,
    /// The files that were looked at.
    files: usize,
    /// The contract, as YAML.
    contract: String,
}

/// More files say nothing new about names.
const MOST_FILES: usize = 10_000;

/// So many names of one kind in a directory are an example of it, no list.
const A_LIST: usize = 8;

/// Files of a row that are read to find out what they hold.
const READ: usize = 20;

pub(super) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let dir = context.in_project(&args.dir);
    let Some(site) = path::relative(&dir, &context.project.main.dir).filter(|dir| !dir.is_empty())
    else {
        bail!(
            "`{dir}` is no directory below `{}`",
            context.project.main.dir
        );
    };
    if !Path::new(&dir).is_dir() {
        bail!("there is no directory `{dir}`");
    }
    let real = Path::new(&dir).canonicalize()?;
    if !real.starts_with(&context.project.main.dir) {
        bail!(
            "`{dir}` leads out of the project, to `{}`; draft a contract where the directory is",
            real.display()
        );
    }
    let mut files = Vec::new();
    collect(Path::new(&dir), "", &mut files);
    if files.is_empty() {
        bail!("`{dir}` holds no files to draft a contract from");
    }
    let guarded = sites::all(&context.project, &context.registry).into_iter();
    if let Some(site) = guarded
        .map(|site| site.dir().to_owned())
        .find(|site| site.starts_with(&dir))
    {
        bail!("`{site}` is guarded already; see `statewarden contract show {site}`");
    }
    let draft = Draft::of(&dir, site, &files);
    context.show(&Drafted {
        system: draft.id(),
        contract: draft.yaml(),
        files: files.len(),
        site: draft.site,
    })
}

/// The files below a directory by their paths in it. Hidden ones are not an agent's.
fn collect(dir: &Path, below: &str, files: &mut Vec<String>) {
    for entry in list::readable(dir) {
        let (path, name) = (dir.join(&entry.name), entry.into_name());
        let kind = std::fs::symlink_metadata(&path);
        let Ok(kind) = kind.map(|meta| meta.file_type()) else {
            continue;
        };
        if name.starts_with('.') || files.len() >= MOST_FILES {
            continue;
        }
        let name = path::below(below, &name);
        if kind.is_dir() {
            collect(&path, &name, files);
        } else if kind.is_file() {
            files.push(name);
        }
    }
}

/// What a contract would say.
struct Draft {
    /// Relative to the project.
    site: String,
    canonical: Vec<String>,
    patterns: Vec<String>,
    content: Vec<(String, &'static str)>,
}

impl Draft {
    fn of(dir: &str, site: &str, files: &[String]) -> Self {
        let each = sites_in(files);
        let names: BTreeSet<&str> = match &each {
            Some(_) => files
                .iter()
                .filter_map(|file| file.split_once('/'))
                .map(|(_, name)| name)
                .collect(),
            None => files.iter().map(String::as_str).collect(),
        };
        let rows = rows(&names);
        let mut content = Vec::new();
        for row in &rows {
            let glob = Pattern::parse(row).ok();
            let of_row = files.iter().filter(|file| {
                let inside = file.split_once('/').map_or("", |(_, name)| name);
                let name = if each.is_some() { inside } else { file };
                glob.as_ref().is_some_and(|glob| glob.matches(name))
            });
            let texts: Vec<String> = of_row
                .take(READ)
                .filter_map(|file| read_text(&path::below(dir, file)).ok().flatten())
                .collect();
            content.extend(holds(row, &texts).map(|rule| (row.clone(), rule)));
        }
        let (patterns, canonical) = rows.into_iter().partition(|row| row.contains('*'));
        Self {
            site: each.map_or(site.to_owned(), |glob| path::below(site, &glob)),
            canonical,
            patterns,
            content,
        }
    }

    /// The name of the directory in the letters of an id.
    fn id(&self) -> String {
        let mut names = self.site.rsplit('/').filter(|name| !name.contains('*'));
        let name = names.next().unwrap_or_default().to_ascii_lowercase();
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let id = plain.trim_matches(|c: char| !c.is_ascii_lowercase());
        if id.is_empty() { "workflow" } else { id }.to_owned()
    }

    fn yaml(&self) -> String {
        let id = self.id();
        let mut text = format!(
            "# A draft from what was there: take out what should not be written, and say who writes what.\n\
             systems:\n  {id}:\n    site: {}\n",
            scalar(&self.site)
        );
        for (key, names) in [("canonical", &self.canonical), ("patterns", &self.patterns)] {
            if !names.is_empty() {
                text += &format!("    {key}:\n");
            }
            for name in names {
                text += &format!("      - {}\n", scalar(name));
            }
        }
        if !self.content.is_empty() {
            text += "    content:\n";
        }
        for (name, rule) in &self.content {
            text += &format!("      {}: {rule}\n", scalar(name));
        }
        text + "    # owners:            # agents, \"@main\", \"@program\", \"@user\"\n    # open: near         # other names are free, misspelled ones are not\n"
    }
}

/// The glob of the directories below, where each holds the same names: one state directory for
/// each feature, change or story.
fn sites_in(files: &[String]) -> Option<String> {
    let mut dirs_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut dirs = BTreeSet::new();
    for file in files {
        let (dir, name) = file.split_once('/')?;
        dirs.insert(dir);
        dirs_of.entry(name).or_default().insert(dir);
    }
    let most = dirs_of
        .values()
        .map(BTreeSet::len)
        .max()
        .unwrap_or_default();
    if most < 2 || most * 2 < dirs.len() {
        return None;
    }
    let is_numbered = dirs
        .iter()
        .all(|dir| dir.starts_with(|c: char| c.is_ascii_digit()));
    Some(if is_numbered { "[0-9]*" } else { "*" }.to_owned())
}

/// Names and globs that together take every name: what is numbered or dated by its shape, long
/// lists by their ending.
fn rows(names: &BTreeSet<&str>) -> BTreeSet<String> {
    let shapes: BTreeSet<String> = names.iter().map(|name| shape(&literal(name))).collect();
    let shapes = generalized(shapes, numbered);
    generalized(shapes, |shape| {
        (!shape.contains('*')).then(|| by_ending(shape)).flatten()
    })
}

/// A glob that a name alone is like.
fn literal(name: &str) -> String {
    let mut glob = String::new();
    for c in name.chars() {
        if "*?[{}".contains(c) {
            glob.extend(['[', c, ']']);
        } else {
            glob.push(c);
        }
    }
    glob
}

/// Puts one glob in place of many names that it takes.
fn generalized(
    shapes: BTreeSet<String>,
    glob_of: impl Fn(&str) -> Option<String>,
) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for glob in shapes.iter().filter_map(|shape| glob_of(shape)) {
        *counts.entry(glob).or_default() += 1;
    }
    let each = shapes.into_iter().map(|shape| {
        let glob = glob_of(&shape).filter(|glob| {
            let most = if glob.contains("[0-9]") { 2 } else { A_LIST };
            counts.get(glob).is_some_and(|count| *count > most)
        });
        glob.unwrap_or(shape)
    });
    each.collect()
}

/// `step-3.md` → `step-[0-9]*.md`, `2026-01-10-login/plan.md` → `[0-9]*-login/plan.md`
fn shape(name: &str) -> String {
    let parts = name.split('/').map(shape_of_part);
    parts.collect::<Vec<_>>().join("/")
}

fn shape_of_part(part: &str) -> String {
    let is_edge = |c: char| "-_.".contains(c);
    let mut shaped = String::new();
    for word in part.split_inclusive(is_edge) {
        let digits = word.trim_end_matches(is_edge);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            shaped += word;
        } else if shaped.ends_with("[0-9]*-") || shaped.ends_with("[0-9]*_") {
            // A date or a pair of numbers is one number here.
            shaped.pop();
            shaped += &word[digits.len()..];
        } else {
            shaped += "[0-9]*";
            shaped += &word[digits.len()..];
        }
    }
    shaped
}

/// `[0-9]*-login.md` → `[0-9]*-*.md`, `[0-9]*-login/plan.md` → `[0-9]*-*/plan.md`
fn numbered(shape: &str) -> Option<String> {
    let mut parts: Vec<String> = shape.split('/').map(str::to_owned).collect();
    let at = parts.iter().position(|part| part.starts_with("[0-9]*-"))?;
    let is_file = at + 1 == parts.len();
    parts[at] = match parts[at].rsplit_once('.') {
        Some((_, ending)) if is_file => format!("[0-9]*-*.{ending}"),
        _ => "[0-9]*-*".to_owned(),
    };
    Some(parts.join("/"))
}

/// `notes/a.md` → `notes/*.md`
fn by_ending(name: &str) -> Option<String> {
    let (dir, name) = name.rsplit_once('/').unwrap_or(("", name));
    let (_, ending) = name.rsplit_once('.')?;
    Some(path::below(dir, &format!("*.{ending}")))
}

/// The content rule that all texts of a row keep.
fn holds(row: &str, texts: &[String]) -> Option<&'static str> {
    let all = |keeps: fn(&str) -> bool| !texts.is_empty() && texts.iter().all(|text| keeps(text));
    match row.rsplit('.').next()? {
        "json" => all(|text| json::parse(text).is_ok()).then_some("json"),
        "yaml" | "yml" => all(|text| yaml::parse(text).is_ok()).then_some("yaml"),
        "md" => all(|text| front_matter::read(text).is_ok()).then_some("front-matter"),
        _ => None,
    }
}

/// A text as YAML: in quotes where it could mean something else.
fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.');
    let mut chars = text.chars();
    if is_word
        && text.contains('.')
        && chars.all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
    {
        text.to_owned()
    } else {
        yaml::quote(text)
    }
}

impl Show for Drafted {
    fn text(&self, page: &mut Page<'_>) {
        for line in self.contract.lines() {
            page.verbatim(line);
        }
        let files = count(self.files, "file", "files");
        page.verbatim(&format!("# {files} of {}; put this into", self.site));
        page.verbatim(&format!("# .claude/statewarden.d/{}.yaml", self.system));
    }
}
