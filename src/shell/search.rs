//! Searches that list files: `grep -rl`, `rg -l`, `fd`, `git ls-files`.
//!
//! Which files hold what is looked for is not asked: below a governed directory
//! that is named, all of them stand for those that are found. Other roots give none.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::expression::Expression;
use super::field::{Field, Output};
use super::filter;
use crate::systems;
use crate::target::Spelling;

const GREP: Syntax = Syntax {
    short: "efmABCdDgtTjM",
    attached: "",
    long: &[
        "regexp",
        "file",
        "glob",
        "type",
        "max-count",
        "include",
        "exclude",
        "exclude-dir",
    ],
};

/// `grep -rl PATTERN ROOT…`.
pub(super) fn grep(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let args = Args::parse(args, GREP);
    if !lists(&args) {
        return filter::grep(shell, &args);
    }
    let deep = ["r", "R", "recursive", "dereference-recursive"];
    let depth = (!args.has(&deep)).then_some(0);
    let files = Expression::files(&mut args.values(&["include"]), depth);
    found_by(shell, &args, &files)
}

/// `rg -l PATTERN ROOT…` and `rg --files ROOT…`.
pub(super) fn ripgrep(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let args = Args::parse(args, GREP);
    let names_all = args.has(&["files"]);
    if !names_all && !lists(&args) {
        return filter::grep(shell, &args);
    }
    let globs = args.values(&["g", "glob", "iglob"]);
    let mut globs = globs.filter(|glob| !glob.text.starts_with('!'));
    let files = Expression::files(&mut globs, None);
    if names_all {
        return list(shell, &args.operands, &files, ends(&args));
    }
    found_by(shell, &args, &files)
}

/// Whether a search gives the names of files.
fn lists(args: &Args<'_>) -> bool {
    args.has(&[
        "l",
        "L",
        "files-with-matches",
        "files-without-match",
        "name-only",
    ])
}

/// Where a search that gives names finds some.
fn found_by(shell: &mut Shell<'_>, args: &Args<'_>, files: &Expression) -> Option<Output> {
    let named = args.has(&["e", "f", "regexp", "file"]);
    let roots = args.operands.get(usize::from(!named)..)?;
    list(shell, roots, files, ends(args))
}

/// What stands behind each name.
fn ends(args: &Args<'_>) -> &'static str {
    match args.has(&["Z", "0", "z", "null", "print0"]) {
        true => "\0",
        false => "\n",
    }
}

/// `fd [PATTERN [ROOT…]]`, with `-x` and `-X` for commands.
pub(super) fn fd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let runs = |arg: &Field| matches!(arg.known(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    let at = args.iter().position(runs).unwrap_or(args.len());
    let (own, command) = args.split_at(at);
    let syntax = Syntax {
        short: "etdEcjS",
        long: &[
            "extension",
            "type",
            "max-depth",
            "exclude",
            "base-directory",
        ],
        ..Syntax::default()
    };
    let parsed = Args::parse(own, syntax);
    let names: Vec<Field> = parsed
        .values(&["e", "extension"])
        .map(|suffix| suffix.with_text(format!("*.{}", suffix.text)))
        .collect();
    let files = Expression::files(&mut names.iter(), None);
    let here = [Field::literal(".")];
    let roots = parsed.operands.get(1..).filter(|roots| !roots.is_empty());
    let found = list(shell, roots.unwrap_or(&here), &files, ends(&parsed));
    let Some((_, command)) = command.split_first() else {
        return found;
    };
    let mut command = command.to_vec();
    if !command.iter().any(|word| word.text.contains("{}")) {
        command.push(Field::literal("{}"));
    }
    for item in found?.lines() {
        shell.run_on(&command, &item);
    }
    None
}

/// `git ls-files ROOT…`, `git grep -l PATTERN -- ROOT…`.
pub(super) fn git(shell: &mut Shell<'_>, verb: &str, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, GREP);
    let files = Expression::files(&mut [].iter(), None);
    match verb {
        "ls-files" => list(shell, &parsed.operands, &files, ends(&parsed)),
        _ if lists(&parsed) => found_by(shell, &parsed, &files),
        _ => None,
    }
}

/// The files below the governed roots among some.
fn list(shell: &mut Shell<'_>, roots: &[Field], files: &Expression, end: &str) -> Option<Output> {
    let mut found: Vec<Field> = Vec::new();
    for root in roots {
        let at = root
            .known()
            .and_then(|root| Some((root, shell.absolute(root)?)));
        let governed = at.filter(|(_, at)| systems::are_named_in(&format!("{at}/")));
        if let Some((root, _)) = governed {
            found.extend(shell.listed(root, files));
        }
    }
    let matches = Some(found.len()).filter(|n| *n > 0)?;
    let text = found.iter().flat_map(|path| [path.text.as_str(), end]);
    let text: String = text.collect();
    Some(Output {
        text: text.into(),
        spelling: Spelling::Glob {
            matches: Some(matches),
        },
    })
}
