//! Runs the cases of `tests/shell-cases`, whose format its `README.md` tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Analysis, Scene, analyze, analyze_powershell};
use crate::base::disk::cache::Disk;
use crate::base::env::Env;
use crate::base::path;
use crate::base::target::{Act, Spelling, Target, Text};

const CWD: &str = "/p";

/// A disk in memory: files with their text, and directories.
#[derive(Default)]
struct Memory {
    files: BTreeMap<String, String>,
    dirs: BTreeSet<String>,
}

impl Memory {
    fn add(&mut self, line: &str) {
        let (path, text) = line.split_once(' ').unwrap_or((line, ""));
        let path = super::field::join(CWD, path);
        let mut dir = path.trim_end_matches('/');
        if path.ends_with('/') {
            self.dirs.insert(dir.to_owned());
        } else {
            self.files.insert(path.clone(), text.to_owned());
        }
        while let Some((parent, _)) = dir.rsplit_once('/') {
            self.dirs.insert(parent.to_owned());
            dir = parent;
        }
    }
}

impl Disk for Memory {
    fn entries(&self, dir: &str) -> Vec<String> {
        let dir = path::collapse(dir);
        let all = self.files.keys().chain(&self.dirs);
        let below = all.filter_map(|path| path.rsplit_once('/'));
        let names = below.filter(|(parent, name)| *parent == dir && !name.is_empty());
        names.map(|(_, name)| name.to_owned()).collect()
    }

    fn is_dir(&self, path: &str) -> bool {
        self.dirs.contains(&*path::collapse(path))
    }

    fn text(&self, path: &str) -> Option<String> {
        self.files.get(&*path::collapse(path)).cloned()
    }
}

fn show(target: &Target) -> String {
    let act = match target.act {
        Act::Write => "write",
        Act::Edit => "edit",
        Act::MakeDir => "mkdir",
        Act::Link => "link",
        Act::Remove => "remove",
        Act::RemoveTree => "remove-tree",
        Act::MoveAway => "move-away",
        Act::Clear => "clear",
        Act::Clean(cleaning) if cleaning.takes_ignored() => "clear",
        Act::Clean(_) => "clean",
    };
    let path = target.path.strip_prefix("/p/").unwrap_or(&target.path);
    let mut line = format!("{act} {path}");
    match target.spelling {
        Spelling::Literal => {}
        Spelling::Glob { matches: Some(n) } => write!(line, " [glob {n}]").unwrap(),
        Spelling::Glob { matches: None } => line.push_str(" [glob ?]"),
    }
    if let Some(to) = &target.link_to {
        write!(line, " [to {to}]").unwrap();
    }
    match &target.text {
        None => {}
        Some(Text::Whole(text)) => write!(line, " [text {text:?}]").unwrap(),
        Some(Text::Added(text)) => write!(line, " [adds {text:?}]").unwrap(),
    }
    line
}

type Analyser = fn(&str, &Scene<'_>) -> Analysis;

#[track_caller]
fn check(file: &str, cases: &str, analyse: Analyser) {
    let mut disk = Memory::default();
    let mut failures = String::new();
    let mut n_cases = 0;
    let mut lines = cases.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if let Some(entry) = line.strip_prefix("@ ") {
            disk.add(entry);
        }
        let Some(first) = line.strip_prefix("$ ") else {
            continue;
        };
        n_cases += 1;
        let mut command = first.to_owned();
        while let Some((_, more)) = lines.next_if(|(_, line)| line.starts_with('>')) {
            command.push('\n');
            command.push_str(more.strip_prefix("> ").unwrap_or(""));
        }
        let mut wanted = Vec::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with("= ")) {
            wanted.push(line[2..].to_owned());
        }
        let scene = Scene {
            cwd: CWD,
            env: &Env {
                home: Some("/home/u".into()),
                project_dir: Some(CWD.into()),
                ..Env::default()
            },
            disk: &disk,
        };
        // A text is compared only where the case gives one.
        let without_text = |line: String| match line
            .split_once(" [text")
            .or_else(|| line.split_once(" [adds"))
        {
            Some((head, _)) if !wanted.contains(&line) => head.to_owned(),
            _ => line,
        };
        let targets = analyse(&command, &scene).targets;
        let mut found: Vec<String> = targets.iter().map(show).map(without_text).collect();
        found.sort();
        wanted.sort();
        if found != wanted {
            let place = format!("{file}:{}", at + 1);
            writeln!(
                failures,
                "{place}: {command}\n  wanted {wanted:?}\n  found  {found:?}"
            )
            .unwrap();
        }
    }
    assert!(n_cases > 0, "{file} holds no case");
    assert!(failures.is_empty(), "\n{failures}");
}

macro_rules! corpus {
    ($($test:ident $file:literal $analyse:path;)*) => {$(
        #[test]
        fn $test() {
            check($file, include_str!(concat!("../../tests/shell-cases/", $file)), $analyse);
        }
    )*};
}

corpus! {
    writes "writes.txt" analyze;
    trees "trees.txt" analyze;
    programs "programs.txt" analyze;
    removals "removals.txt" analyze;
    reads_and_prose_are_no_targets "no-targets.txt" analyze;
    state_of_the_shell "state.txt" analyze;
    nested_shells "nested.txt" analyze;
    interpreters "interpreters.txt" analyze;
    powershell "powershell.txt" analyze_powershell;
}
