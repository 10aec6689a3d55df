//! The `git` subcommands that change files of the work tree.

use super::args::{Args, Syntax};
use super::clean::{clean, top_level};
use super::eval::Shell;
use super::field::{ANY_ONE, Field, HERE, Output, UNKNOWN};
use super::stash::{stage, stash, unstage};
use super::table::Key;
use super::transfer::inside;
use super::wrapper::line;
use super::{archive, edit, search, utility, writers};
use crate::base::path::{collapse, relative};
use crate::base::target::Act;
use crate::systems::system;

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
    let (mut dirs, mut trees) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(option) = args.get(at).filter(|arg| arg.is_option()) {
        let text = option.known()?;
        if text == "-C" {
            dirs.extend(args.get(at + 1));
        } else if text == "--work-tree" {
            trees.extend(args.get(at + 1).cloned());
        } else if text.starts_with("--work-tree=") {
            trees.push(option.behind("--work-tree=".len()));
        }
        at += if GLOBAL.contains(&text) { 2 } else { 1 };
    }
    let (verb, rest) = args.get(at..)?.split_first()?;
    let verb = verb.known()?;
    shell.subshell(|shell| {
        // From outside of its work tree, git goes to the top of it.
        let is_outside = |shell: &Shell<'_>, tree: &Field| {
            let tree = tree.known().and_then(|tree| shell.absolute(tree));
            let cwd = shell.cwd.as_deref();
            cwd.zip(tree)
                .is_none_or(|(cwd, tree)| relative(cwd, &collapse(&tree)).is_none())
        };
        for dir in dirs {
            shell.change_dir(Some(dir));
        }
        for tree in trees {
            if is_outside(shell, &tree) {
                shell.change_dir(Some(&tree));
            }
        }
        subcommand(shell, verb, rest)
    })
}

/// Long options of the subcommands that take a value.
const VALUED: &[&str] = &[
    "source",
    "output",
    "output-directory",
    "pathspec-from-file",
    "prefix",
    "exclude",
    "exec",
    "onto",
    "depth",
    "branch",
    "initial-branch",
    "origin",
    "config",
    "reference",
    "template",
    "filter",
    "jobs",
    "directory",
    "file",
    "reason",
    "name",
    "message",
];

fn subcommand(shell: &mut Shell<'_>, verb: &str, args: &[Field]) -> Option<Output> {
    let valued = |short| Args::parse(args, Syntax::of(short, VALUED));
    match verb {
        "checkout" => checkout(shell, args),
        "restore" => restore(shell, &valued("sU")),
        "clean" => clean(shell, &valued("e")),
        "stash" => stash(shell, &valued("m"), args.first()),
        "add" => stage(shell, &valued("")),
        "commit" => shell.staged.clear(),
        "reset" => reset(shell, &valued("")),
        "mv" => return writers::run(shell, Key::of("mv"), args),
        "rm" => remove(shell, &valued("")),
        "format-patch" => format_patch(shell, &valued("o")),
        "worktree" => worktree(shell, &valued("bB")),
        "config" => {
            config(shell, &valued("f"));
            return None;
        }
        "clone" => clone(shell, &valued("bouctj").operands),
        "bundle" => {
            let args = valued("");
            shell.report_all(behind(&args, "create").first(), Act::Write);
        }
        "submodule" => clone(shell, behind(&valued("b"), "add")),
        "show" | "diff" | "log" => {
            shell.report_all(valued("").values(&["output"]), Act::Write);
            return differences(args);
        }
        "archive" => return archive(shell, &valued("o")),
        "checkout-index" => checkout_index(shell, &valued("")),
        "ls-files" | "grep" => return search::git(shell, verb, args),
        "apply" | "am" => edit::git_apply(shell, &valued("pC")),
        "rev-parse" => return rev_parse(shell, args),
        "branch" | "symbolic-ref" => return branch(args),
        "rebase" => return rebase(shell, &valued("xXCs")),
        "bisect" if args.first().and_then(Field::known) == Some("run") => {
            return shell.again(args.get(1..)?);
        }
        "init" => init(shell, &valued("b")),
        _ => return None,
    }
    Output::nothing()
}

/// Files that are staged go with `--hard`; without it they only lose their place.
fn reset(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["hard"]) {
        unstage(shell);
    } else if !args.has(&["soft"]) {
        shell.staged.clear();
    }
}

fn rebase(shell: &mut Shell<'_>, args: &Args<'_>) -> Option<Output> {
    for command in args.values(&["x", "exec"]) {
        line(shell, std::slice::from_ref(command));
    }
    None
}

/// What stands behind a verb of its own.
fn behind<'a>(args: &'a Args<'_>, verb: &str) -> &'a [Field] {
    match args.operands.as_slice() {
        [first, rest @ ..] if first.known() == Some(verb) => rest,
        _ => &[],
    }
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
            let exists = path.is_some_and(|path| shell.scene.disk.exists(&path));
            if dotted || exists {
                vec![(*only).clone()]
            } else {
                Vec::new()
            }
        }
        (None, operands) => operands.iter().skip(1).copied().cloned().collect(),
    };
    let from_head = |arg: &Field| matches!(arg.known(), Some("--" | "HEAD"));
    let source = args.iter().find(|arg| !arg.is_option() || arg.text == "--");
    let same = source.is_none_or(|source| from_head(source) || paths.contains(source));
    write_files(
        shell,
        &paths,
        if same { From::Index } else { From::Revision },
    );
}

/// Where files are taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// What is tracked now.
    Index,
    Revision,
}

/// How many tracked files of a directory are told one by one.
const MAX_RESTORED: usize = 512;

/// A directory restores the tracked files; which ones another revision has is not
/// known, and a governed directory is restored as a whole then.
fn write_files(shell: &mut Shell<'_>, paths: &[Field], from: From) {
    for path in paths {
        let Some(at) = path.known().and_then(|path| shell.absolute(path)) else {
            continue;
        };
        if !at.ends_with(['.', '/']) && !shell.scene.disk.is_dir(&at) {
            shell.report(path, Act::Write);
            continue;
        }
        let at = collapse(&at).into_owned();
        // `.devt` is there for its `state`.
        let names_place = |end| system::are_named_in(&format!("{at}/{end}"));
        if !names_place("") && !names_place("state/") {
            continue;
        }
        if from == From::Revision {
            shell.report(path, Act::Clear);
            continue;
        }
        for tracked in super::clean::tracked_below(shell, &at, MAX_RESTORED) {
            shell.report(&Field::literal(tracked), Act::Write);
        }
    }
}

fn restore(shell: &mut Shell<'_>, args: &Args<'_>) {
    let index_only = args.has(&["S", "staged"]) && !args.has(&["W", "worktree"]);
    let from = match args.value(&["s", "source"]).map(Field::known) {
        None | Some(Some("HEAD")) => From::Index,
        Some(_) => From::Revision,
    };
    if !index_only {
        write_files(shell, &args.operands, from);
    }
}

/// `git checkout-index --prefix=DIR/ FILE…`.
fn checkout_index(shell: &mut Shell<'_>, args: &Args<'_>) {
    let prefix = args.value(&["prefix"]).cloned();
    let prefix = prefix.unwrap_or_else(|| Field::literal(""));
    for file in &args.operands {
        let mut path = prefix.clone();
        path.push(file);
        shell.report(&path, Act::Write);
    }
}

/// `git archive TREE PATH…`, for `tar`.
fn archive(shell: &mut Shell<'_>, args: &Args<'_>) -> Option<Output> {
    if args.has(&["o", "output"]) {
        shell.report_all(args.values(&["o", "output"]), Act::Write);
        return None;
    }
    let paths = args.operands.get(1..)?;
    let prefix = args.value(&["prefix"]).map_or(Some(""), Field::known)?;
    archive::stream(shell, paths, &|path| Some(format!("{prefix}{path}")))
}

/// A patch of the files that are named behind `--`; what else it holds is not known.
fn differences(args: &[Field]) -> Option<Output> {
    let marked = args.iter().position(|arg| arg.known() == Some("--"))?;
    let tells = |arg: &Field| arg.text.starts_with("--") && arg.text.len() > 2;
    let (options, files) = args.split_at(marked);
    if options.iter().any(tells) {
        return None;
    }
    let names = files.iter().skip(1).filter_map(Field::known);
    let patch = names.map(|name| format!("--- a/{name}\n+++ b/{name}\n@@ {UNKNOWN}\n"));
    Some(Output::literal(patch.collect::<String>())).filter(|patch| !patch.text.is_empty())
}

/// The patches are named after their commits: the first one's number stands for
/// them all.
fn format_patch(shell: &mut Shell<'_>, args: &Args<'_>) {
    let dir = args.value(&["o", "output-directory"]);
    if let Some(dir) = dir.filter(|_| !args.has(&["stdout"])) {
        shell.report(
            &inside(dir, &Field::literal("0001-SUBJECT.patch")),
            Act::Write,
        );
    }
}

/// `git worktree add PATH`, `remove PATH`, `move FROM TO`.
fn worktree(shell: &mut Shell<'_>, args: &Args<'_>) {
    match args.operands.as_slice() {
        [verb, path, ..] if verb.known() == Some("add") => drop(shell.report(path, Act::MakeDir)),
        [verb, path] if verb.known() == Some("remove") => drop(shell.report(path, Act::RemoveTree)),
        [verb, from, to] if verb.known() == Some("move") => {
            shell.report(from, Act::MoveAway);
            shell.report(to, Act::MakeDir);
        }
        _ => {}
    }
}

/// `git clone URL [DIR]`: without a directory it bears the repository's name.
fn clone(shell: &mut Shell<'_>, operands: &[Field]) {
    let named = |url: &Field| {
        let path = url.text.trim_end_matches('/');
        let name = path.rsplit(['/', ':']).next().unwrap_or(path);
        url.with_text(name.strip_suffix(".git").unwrap_or(name))
    };
    let dir = match operands {
        [url] => named(url),
        [_, dir, ..] => dir.clone(),
        [] => return,
    };
    shell.report(&dir, Act::MakeDir);
}

/// `git init [DIR]`: the repository is a directory in it, or with `--bare` it itself.
fn init(shell: &mut Shell<'_>, args: &Args<'_>) {
    let dir = args.operands.first().unwrap_or(&HERE);
    match args.has(&["bare"]) {
        true => shell.report(&inside(dir, &Field::literal("HEAD")), Act::Write),
        false => shell.report(&inside(dir, &Field::literal(".git")), Act::MakeDir),
    };
}

/// `git config -f FILE KEY VALUE`.
fn config(shell: &mut Shell<'_>, args: &Args<'_>) {
    let reads = ["get", "get-all", "get-regexp", "list", "l"];
    let reading = matches!(
        args.operands.first().and_then(Field::known),
        Some("get" | "list")
    );
    let changes = args.operands.len() > 1 || args.has(&["unset", "unset-all", "remove-section"]);
    if changes && !reading && !args.has(&reads) {
        shell.report_all(args.value(&["f", "file"]), Act::Edit);
    }
}

fn remove(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["cached", "n", "dry-run"]) {
        return;
    }
    utility::remove(shell, args);
}

/// `--show-toplevel`: the nearest directory upwards that holds `.git`.
fn rev_parse(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let options: Vec<&str> = args.iter().filter_map(Field::known).collect();
    match options.as_slice() {
        ["--show-toplevel"] => {}
        ["--abbrev-ref", "HEAD"] => return Some(any("main")),
        [short, "HEAD"] if short.starts_with("--short") => return Some(any("0a1b2c3")),
        ["HEAD"] => return Some(any("0a1b2c3d4e5f60718293a4b5c6d7e8f901234567")),
        _ => return None,
    }
    let cwd = shell.cwd.clone()?;
    let top = top_level(shell, &cwd)?;
    Some(Output::literal(format!("{top}\n")))
}

/// `git branch --show-current`, `git symbolic-ref --short HEAD`.
fn branch(args: &[Field]) -> Option<Output> {
    let mut words = args.iter().filter_map(Field::known);
    let asks = words.any(|word| matches!(word, "--show-current" | "--short"));
    asks.then(|| any("main"))
}

/// A name that stands for others of its kind.
fn any(name: &str) -> Output {
    Output {
        text: format!("{name}\n").into(),
        spelling: ANY_ONE,
    }
}
