//! The `git` subcommands that change files of the work tree.

use super::args::{Args, Syntax};
use super::edit;
use super::eval::Shell;
use super::field::{Field, Output, base_name};
use super::writers;
use crate::target::Act;

/// Options before the subcommand that take a value.
const GLOBAL: [&str; 6] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
];

pub(super) fn git(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let mut dirs = Vec::new();
    let mut at = 0;
    while let Some(option) = args.get(at).filter(|arg| arg.is_option()) {
        let text = option.known()?;
        if text == "-C" {
            dirs.extend(args.get(at + 1).cloned());
        }
        at += if GLOBAL.contains(&text) { 2 } else { 1 };
    }
    let (verb, rest) = args.get(at..)?.split_first()?;
    let verb = verb.known()?.to_owned();
    shell.subshell(|shell| {
        for dir in dirs {
            shell.run(&[Field::literal("cd"), dir]);
        }
        subcommand(shell, &verb, rest)
    })
}

fn subcommand(shell: &mut Shell<'_>, verb: &str, args: &[Field]) -> Option<Output> {
    let valued = |short| {
        Args::parse(
            args,
            Syntax {
                short,
                attached: "",
                long: &["source", "output", "pathspec-from-file", "prefix"],
            },
        )
    };
    match verb {
        "checkout" => checkout(shell, args),
        "restore" => restore(shell, &valued("sU")),
        "clean" => clean(shell, &valued("e")),
        "mv" => return writers::run(shell, "mv", &[&[Field::literal("mv")], args].concat()),
        "rm" => remove(shell, &valued("")),
        "show" | "diff" | "log" | "format-patch" => {
            shell.report_all(valued("").values(&["output"]), Act::Write);
            return None;
        }
        "archive" => shell.report_all(valued("o").values(&["o", "output"]), Act::Write),
        "apply" | "am" => edit::git_apply(shell, &valued("pC")),
        "rev-parse" => return rev_parse(shell, args),
        "init" | "clone" => {
            if let Some(dir) = valued("bouc").operands.get(usize::from(verb == "clone")) {
                shell.report(dir, Act::MakeDir);
            }
        }
        _ => return None,
    }
    Output::nothing()
}

/// Paths after `--`, or after a revision; a lone operand only when it is a
/// path on the disk, since it is a branch otherwise.
fn checkout(shell: &mut Shell<'_>, args: &[Field]) {
    let marked = args.iter().position(|arg| arg.known() == Some("--"));
    let makes_branch = |arg: &Field| matches!(arg.known(), Some("-b" | "-B" | "--orphan" | "-t"));
    let operands: Vec<&Field> = args.iter().filter(|arg| !arg.is_option()).collect();
    let paths: Vec<Field> = match (marked, operands.as_slice()) {
        (Some(at), _) => args.iter().skip(at + 1).cloned().collect(),
        (None, _) if args.iter().any(makes_branch) => Vec::new(),
        (None, [only]) => {
            let path = only.known().and_then(|path| shell.absolute(path));
            let dotted = only.text.starts_with('.');
            let exists = path.is_some_and(|path| shell.scene.disk.text(&path).is_some());
            if dotted || exists {
                vec![(*only).clone()]
            } else {
                Vec::new()
            }
        }
        (None, operands) => operands
            .iter()
            .skip(1)
            .map(|path| (*path).clone())
            .collect(),
    };
    write_files(shell, &paths);
}

/// A directory restores tracked files whose names are not known here.
fn write_files(shell: &mut Shell<'_>, paths: &[Field]) {
    for path in paths {
        let at = path.known().and_then(|path| shell.absolute(path));
        if at.is_some_and(|at| !at.ends_with(['.', '/']) && !shell.scene.disk.is_dir(&at)) {
            shell.report(path, Act::Write);
        }
    }
}

fn restore(shell: &mut Shell<'_>, args: &Args) {
    let index_only = args.has(&["S", "staged"]) && !args.has(&["W", "worktree"]);
    if !index_only {
        write_files(shell, &args.operands);
    }
}

fn clean(shell: &mut Shell<'_>, args: &Args) {
    if !args.has(&["f", "force"]) || args.has(&["n", "dry-run"]) {
        return;
    }
    if args.operands.is_empty() {
        shell.report(&Field::literal("."), Act::Clear);
    }
    shell.report_all(&args.operands, Act::Clear);
}

fn remove(shell: &mut Shell<'_>, args: &Args) {
    if args.has(&["cached", "n", "dry-run"]) {
        return;
    }
    let act = if args.has(&["r"]) {
        Act::RemoveTree
    } else {
        Act::Remove
    };
    shell.report_all(&args.operands, act);
}

/// `--show-toplevel`: the nearest directory upwards that holds `.git`.
fn rev_parse(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    if args.first()?.known() != Some("--show-toplevel") {
        return None;
    }
    let cwd = shell.cwd.clone()?;
    let mut dir = cwd.trim_end_matches('/');
    loop {
        if shell.list(dir).iter().any(|name| name == ".git") {
            return Some(Output::literal(format!("{dir}\n")));
        }
        dir = dir.strip_suffix(base_name(dir))?.strip_suffix('/')?;
    }
}
