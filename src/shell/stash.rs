//! `git stash` and `git reset --hard`: what they take of what is not tracked, and what
//! `git add` staged in the same command. What the command brings back stays.

use ecow::EcoString;

use super::args::Args;
use super::clean::{Gitignore, Sort, repository, rules, sweep};
use super::eval::Shell;
use super::field::Field;
use crate::base::path::{collapse, relative};
use crate::base::target::Spelling;

/// `git stash`: `pop` and `apply` bring back what the last stash of the command took.
pub(super) fn stash(shell: &mut Shell<'_>, args: &Args<'_>, first: Option<&Field>) {
    match args.operands.first().and_then(Field::known) {
        Some("pop" | "apply") if !first.is_some_and(Field::is_option) => {
            let taken = shell.stashes.pop();
            taken
                .into_iter()
                .for_each(|taken| shell.found.withdraw(taken));
        }
        _ => {
            let before = shell.found.len();
            push(shell, args, first);
            shell.stashes.push(before..shell.found.len());
        }
    }
}

/// Takes what is not tracked with `-u`, what is ignored with `-a` too, and what the same
/// command staged.
fn push(shell: &mut Shell<'_>, args: &Args<'_>, first: Option<&Field>) {
    let operands = args.operands.as_slice();
    let paths = match operands.split_first() {
        None => &[],
        // An option first stands for `push`.
        Some(_) if first.is_some_and(Field::is_option) => operands,
        Some((verb, paths)) => match verb.known() {
            Some("push") => paths,
            Some("save") => &[],
            _ => return,
        },
    };
    let (mut taken, mut spared) = (Vec::new(), Vec::new());
    for path in paths {
        let marks = [":!", ":^", ":(exclude)"];
        match marks.iter().find(|mark| path.text.starts_with(**mark)) {
            Some(mark) => spared.push(path.behind(mark.len())),
            None => taken.push(path.clone()),
        }
    }
    let sort = Sort {
        excluded: rules(&mut spared.iter()),
        gitignore: match args.has(&["a", "all"]) {
            true => Gitignore::Unread,
            false => Gitignore::Read,
        },
        ..Sort::default()
    };
    if !args.has(&["u", "include-untracked", "a", "all"]) {
        let staged = staged(shell, &taken);
        return sweep(shell, &staged, sort);
    }
    if taken.is_empty() {
        taken.push(top(shell));
    }
    sweep(shell, &taken, sort);
}

/// Stands for the top of the work tree, which most commands need not look for.
const EVERYTHING: Field = Field {
    text: EcoString::new(),
    spelling: Spelling::Literal,
};

/// `git add`: what `git reset --hard` and `git stash` will take, as long as it was not
/// tracked before.
pub(super) fn stage(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["n", "dry-run", "u", "update"]) {
        return;
    }
    if args.operands.is_empty() && args.has(&["A", "all"]) {
        shell.staged.push(EVERYTHING);
    }
    for path in &args.operands {
        let path = path.known().and_then(|path| shell.absolute(path));
        shell.staged.extend(path.map(Field::literal));
    }
}

/// Takes what was staged and in no commit.
pub(super) fn unstage(shell: &mut Shell<'_>) {
    let staged = staged(shell, &[]);
    sweep(shell, &staged, Sort::default());
}

/// What was staged and in no commit, or what of it lies in the paths if there are any;
/// then the rest stays staged.
fn staged(shell: &mut Shell<'_>, paths: &[Field]) -> Vec<Field> {
    let mut staged = match paths {
        [] => std::mem::take(&mut shell.staged),
        _ => shell.staged.clone(),
    };
    for path in staged.iter_mut().filter(|path| **path == EVERYTHING) {
        *path = top(shell);
    }
    if paths.is_empty() {
        return staged;
    }
    let named = paths
        .iter()
        .filter_map(|path| shell.absolute(path.known()?));
    let named: Vec<String> = named.map(|path| collapse(&path).into_owned()).collect();
    let within = |one: &str, other: &str| relative(one, other).is_some();
    let mut both = Vec::new();
    for old in staged.iter().filter_map(Field::known) {
        for new in &named {
            if within(new, old) {
                both.push(Field::literal(new.as_str()));
            } else if within(old, new) {
                both.push(Field::literal(old));
            }
        }
    }
    both
}

/// The top of the work tree.
fn top(shell: &mut Shell<'_>) -> Field {
    let cwd = shell.cwd.clone();
    cwd.map_or_else(Field::unknown, |cwd| {
        Field::literal(repository(shell, &cwd))
    })
}
