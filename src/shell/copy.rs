//! Programs that copy, move, link and remove files and trees.

use super::args::Args;
use super::eval::Shell;
use super::field::{Field, base_name};
use super::git;
use crate::base::target::{Act, Spelling};
use crate::systems::system;

/// How many entries of a tree are looked at that is laid over another one.
const MAX_ENTRIES: usize = 512;

/// How much is reported of a new directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NewDir {
    Named,
    /// With all that is in it.
    Searched,
}

impl Shell<'_> {
    fn holds_dir(&self, field: &Field) -> bool {
        field.known().is_some_and(|path| {
            path.ends_with('/') || matches!(base_name(path), "." | "..") || self.is_dir(path)
        })
    }

    /// Copies a file or a tree to a path, or into a directory there.
    pub(super) fn copy_to(&mut self, from: &Field, to: &Field) {
        self.carry(from, to, NewDir::Named);
    }

    pub(super) fn carry(&mut self, from: &Field, to: &Field, new: NewDir) {
        if self.holds_dir(to) {
            self.lay(from, &inside(to, from), new);
        } else {
            self.lay(from, to, new);
        }
    }

    /// What comes to lie at a place: a file, or a directory. Of a tree that is laid over a
    /// directory that is there, all that it adds.
    fn lay(&mut self, from: &Field, to: &Field, new: NewDir) {
        let mut todo = vec![(from.clone(), to.clone())];
        let mut left = MAX_ENTRIES;
        while let Some((from, to)) = todo.pop() {
            let dir = match self.absolute(&from.text) {
                Some(dir) if self.holds_dir(&from) => dir,
                _ => {
                    let text = self.content(&from);
                    self.write(&to, Act::Write, text.as_ref());
                    continue;
                }
            };
            if !self.is_dir(&to.text) {
                self.report(&to, Act::MakeDir);
                if new == NewDir::Named {
                    continue;
                }
            }
            for name in self.entries(&dir) {
                let Some(rest) = left.checked_sub(1) else {
                    self.unknown_write();
                    return;
                };
                left = rest;
                let name = Field::literal(name);
                todo.push((from.join(&name), to.join(&name)));
            }
        }
    }

    /// Sources and their destinations.
    fn pairs(&mut self, args: &Args<'_>) -> Vec<(Field, Field)> {
        let target_dir = args.value("t target-directory");
        let (sources, last) = match (target_dir, args.operands.split_last()) {
            (Some(dir), _) => (args.operands.as_slice(), dir),
            (None, Some((last, sources))) => (sources, *last),
            (None, None) => return Vec::new(),
        };
        let is_place = args.has("T no-target-directory");
        let found = self.all_found(sources.iter().copied());
        let into = target_dir.is_some() || found.len() > 1 || (!is_place && self.holds_dir(last));
        let mut pairs = Vec::new();
        for from in found {
            let to = if args.has("parents") {
                last.join(&from)
            } else if into {
                inside(last, &from)
            } else {
                last.clone()
            };
            pairs.push((from, to));
        }
        pairs
    }
}

/// The file's own name in a directory. `dir/.` is what is in the directory.
fn inside(dir: &Field, file: &Field) -> Field {
    let name = file.base_name();
    if matches!(name.text.as_str(), "." | "..") {
        return dir.clone();
    }
    // Of a pattern that fits nothing there is nothing to copy.
    let is_gone = file.spelling == Spelling::Literal && name.text.contains('*');
    dir.join(&if is_gone { Field::unknown() } else { name })
}

pub(super) fn copy(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has("d directory") && !args.has("a r R p f") {
        // `install -d` makes directories.
        return shell.report_all(args.operands.iter().copied(), Act::MakeDir);
    }
    for (from, to) in shell.pairs(args) {
        if args.has("s symbolic-link") {
            shell.report_link(&to, &from);
        } else {
            shell.lay(&from, &to, NewDir::Named);
        }
    }
}

pub(super) fn rename(shell: &mut Shell<'_>, args: &Args<'_>) {
    for (from, to) in shell.pairs(args) {
        let new = if may_hold_state(&to) && !may_hold_state(&from) {
            NewDir::Searched
        } else {
            NewDir::Named
        };
        shell.lay(&from, &to, new);
        shell.report(&from, Act::MoveAway);
    }
}

/// Whether a path leads into a directory that sites lie in.
fn may_hold_state(path: &Field) -> bool {
    let mut parts = path.text.split('/');
    parts.any(|part| system::outer_dirs().contains(&part))
}

/// Moves a file or a tree to a path, or into a directory there.
pub(super) fn move_to(shell: &mut Shell<'_>, from: &Field, to: &Field) {
    for from in shell.found(from).iter() {
        shell.copy_to(from, to);
        shell.report(from, Act::MoveAway);
    }
}

pub(super) fn link(shell: &mut Shell<'_>, args: &Args<'_>) {
    let pairs = match args.operands.as_slice() {
        [only] if !args.has("t target-directory") => vec![((*only).clone(), only.base_name())],
        _ => shell.pairs(args),
    };
    for (from, to) in pairs {
        if args.has("s symbolic") {
            shell.report_link(&to, &from);
        } else {
            shell.report(&to, Act::Link);
        }
    }
}

/// With rules that spare some, what is copied is not known.
pub(super) fn rsync(shell: &mut Shell<'_>, args: &Args<'_>) {
    const DELETES: &str = "del delete delete-before delete-after delete-during delete-excluded";
    let Some((to, sources)) = args.operands.split_last() else {
        return;
    };
    // `host:path`
    let is_remote = |path: &Field| {
        let host = path.text.split_once(':').map(|(host, _)| host);
        host.is_some_and(|host| !host.contains('/'))
    };
    if args.has("n dry-run list-only") || is_remote(to) {
        return;
    }
    if args.has("exclude-from filter C include files-from") {
        return shell.unknown_write();
    }
    if args.has("exclude") {
        if args.has(DELETES) {
            let spares = !args.has("delete-excluded");
            let excluded = args.values("exclude").map(|rule| rule.text.clone());
            let rules: Vec<String> = if spares {
                excluded.collect()
            } else {
                Vec::new()
            };
            git::clear(shell, Act::Clear, to, "", &rules);
        }
        return shell.unknown_write();
    }
    if sources.iter().any(|source| is_remote(source)) {
        shell.unknown_write();
    }
    if args.has(DELETES) {
        shell.report(to, Act::Clear);
    }
    for source in shell.all_found(sources.iter().copied()) {
        let is_whole = source.text.ends_with('/');
        let copy = if !is_whole && (shell.holds_dir(&source) || shell.holds_dir(to)) {
            &inside(to, &source)
        } else {
            *to
        };
        shell.lay(&source, copy, NewDir::Named);
    }
}

pub(super) fn remove(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has("r R recursive") {
        return shell.report_all(args.operands.iter().copied(), Act::RemoveTree);
    }
    for operand in shell.all_found(args.operands.iter().copied()) {
        // Without `-r` a directory stays.
        if !shell.is_dir(&operand.text) {
            shell.report(&operand, Act::Remove);
        }
    }
}

/// Only a directory that is empty goes.
pub(super) fn remove_dir(shell: &mut Shell<'_>, args: &Args<'_>) {
    for operand in shell.all_found(args.operands.iter().copied()) {
        let dir = shell.absolute(&operand.text);
        if dir.is_none_or(|dir| shell.entries(&dir).is_empty()) {
            shell.report(&operand, Act::Remove);
        }
    }
}
