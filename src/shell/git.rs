//! Git, as far as the command names what it changes: paths (`checkout PATH`, `restore`, `rm`, `mv`), new
//! directories (`clone`, `worktree add`), written files (`bundle`, `archive`), patches (`apply`), and what
//! takes away all that is untracked (`clean`, `stash -u`). What revisions hold is not known.

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::Field;
use super::glob::{Glob, is_pattern};
use super::{copy, edit, obscure};
use crate::base::path::{self, collapse, relative};
use crate::base::target::{Act, Cleaning};
use crate::base::text::is_in;
use crate::systems::system;

/// Subcommands that leave the work tree as it is, and run no hooks.
const READING: &str = "add blame branch cat-file check-ignore config describe diff fetch for-each-ref grep help log \
    ls-files ls-remote ls-tree merge-base name-rev reflog remote rev-list rev-parse shortlog show status \
    symbolic-ref tag version";

/// Subcommands that may bring any of the files of a revision.
const CHECKING_OUT: &str = "am apply checkout cherry-pick clean merge mv pull rebase reset restore revert rm stash \
    switch worktree";

/// Those of them that rewrite the work tree by what git itself knows.
const REWRITING: &str =
    "am checkout cherry-pick clean merge pull rebase reset restore revert stash switch worktree";

/// Those of these that run a program which a word names: `rebase --exec`, `pull --upload-pack`.
const RUNNING: &str = "pull rebase";

/// Subcommands of `git stash` that take nothing away.
const KEEPING: &str = "list show drop pop apply branch clear create store";

/// The options of all subcommands that have a value.
const VALUES: Options = Options::of(
    "bBcejmos",
    "source output exclude message depth branch origin",
);

pub(super) fn run(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let (own, rest) = Args::before_command(args, Options::of("Cc", "git-dir work-tree namespace"));
    let Some((verb, of_verb)) = rest.split_first() else {
        return Ran::unknown();
    };
    let mut till_verb = args.iter().take(args.len() - of_verb.len());
    let is_plain_verb = till_verb.all(Field::is_literal) && !is_in(RUNNING, &verb.text);
    shell.is_obscure |=
        obscure::git_runs_more(&own, &verb.text, &Args::parse(of_verb, Options::default()));
    shell.subshell(|shell| {
        for dir in own.values("C work-tree") {
            shell.enter(&dir.text);
        }
        let reads_stash =
            verb.is("stash") && of_verb.iter().any(|arg| is_in("list show", &arg.text));
        if !is_in(READING, &verb.text) && !reads_stash {
            shell.checks_out |= is_in(CHECKING_OUT, &verb.text);
            shell.is_obscure |= !is_in(REWRITING, &verb.text);
            // Half a revision would be checked out where one may not write, so words behind the verb
            // need not be known.
            shell.has_known_words |= is_plain_verb;
            shell.unknown_write();
        }
        subcommand(shell, &verb.text, of_verb)
    })
}

fn subcommand(shell: &mut Shell<'_>, verb: &str, args: &[Field]) -> Ran {
    let parsed = Args::parse(args, VALUES);
    let operand = |at| parsed.operands.get(at).copied();
    let first = operand(0).map_or("", |first| first.text.as_str());
    shell.report_all(parsed.values("o output"), Act::Write);
    match verb {
        "checkout" => checkout(shell, args),
        "restore" if !parsed.has("S staged") || parsed.has("W worktree") => {
            write_files(shell, &parsed.operands, parsed.value("s source"))
        }
        "clean" => clean(shell, &parsed),
        "stash" => stash(shell, &parsed),
        "rm" if !parsed.has("cached n dry-run") => copy::remove(shell, &parsed),
        "mv" => copy::rename(shell, &parsed),
        "clone" => shell.report_all(operand(1), Act::MakeDir),
        "bundle" if first == "create" => shell.report_all(operand(1), Act::Write),
        "worktree" if first == "add" => shell.report_all(operand(1), Act::MakeDir),
        // Without `--force` git refuses where something would be lost.
        "worktree" if first == "remove" && parsed.has("f force") => {
            shell.report_all(operand(1), Act::RemoveTree)
        }
        "apply" => {
            let patch = match operand(0).filter(|file| !file.is("-")) {
                Some(file) => shell.content(file),
                None => shell.stdin.clone(),
            };
            let files = edit::patched(shell, patch, Some(1));
            shell.report_all(&files, Act::Edit);
        }
        "rev-parse" if args.iter().any(|arg| arg.is("--show-toplevel")) => {
            let top = top_level(shell);
            return Ran::printed(Field::of(top.as_deref()).line());
        }
        _ => {}
    }
    Ran::unknown()
}

/// The nearest directory upwards that holds `.git`.
fn top_level(shell: &Shell<'_>) -> Option<String> {
    let mut dir = shell.place.cwd.as_deref()?.to_owned();
    while !shell.exists(&format!("{dir}/.git")) {
        dir.truncate(dir.rfind('/')?);
    }
    Some(dir)
}

/// Paths behind `--`, or behind a revision; a first operand is one where it is there.
fn checkout(shell: &mut Shell<'_>, args: &[Field]) {
    let has = |names: &str| args.iter().any(|arg| is_in(names, &arg.text));
    if has("-b -B --orphan -t") {
        return;
    }
    let mark = args.iter().position(|arg| arg.is("--"));
    let (before, behind) = args.split_at(mark.unwrap_or(0));
    let mut revision = before.iter().find(|arg| !arg.is_option());
    let mut paths: Vec<&Field> = behind.iter().filter(|arg| !arg.is_option()).collect();
    let begins_with_path = paths.first().is_some_and(|first| {
        has("--ours --theirs -m --merge")
            || first.text.starts_with('.')
            || shell.exists(&first.text)
    });
    if mark.is_none() && !begins_with_path {
        let rest = paths.split_off(paths.len().min(1));
        revision = std::mem::replace(&mut paths, rest).pop();
    }
    write_files(shell, &paths, revision);
}

/// Which files of a directory another revision has is not known.
fn write_files(shell: &mut Shell<'_>, paths: &[&Field], revision: Option<&Field>) {
    for path in paths {
        let is_dir = path.text.ends_with(['/', '.']) || shell.is_dir(&path.text);
        match shell.absolute(&path.text) {
            Some(dir) if is_dir => {
                if revision.is_some() && system::are_named_in(&format!("{}/", collapse(&dir))) {
                    shell.report(path, Act::Clear);
                }
            }
            _ => shell.report(path, Act::Write),
        }
    }
}

/// Without `-d` or a path, directories that are not tracked stay.
fn clean(shell: &mut Shell<'_>, args: &Args<'_>) {
    if !args.has("f force") || args.has("n dry-run") {
        return;
    }
    let rules = if args.has("X") {
        Vec::new()
    } else {
        let exclude = args.values("e exclude");
        exclude.map(|rule| rule.text.clone()).collect()
    };
    let here = Field::literal(".");
    let paths = match args.operands.as_slice() {
        [] if args.has("d") => &[&here][..],
        paths => paths,
    };
    let cleaning = if args.has("x X") {
        Cleaning::Ignored
    } else {
        Cleaning::Untracked
    };
    clear_all(shell, paths, cleaning, rules);
}

/// `git stash -u` takes what is not tracked; `pop` brings it back.
fn stash(shell: &mut Shell<'_>, args: &Args<'_>) {
    let verb = args.operands.first().map_or("", |verb| &verb.text);
    if matches!(verb, "pop" | "apply") {
        shell.stashed.clear();
    }
    if !args.has("a all u include-untracked") || is_in(KEEPING, verb) {
        return;
    }
    let root = Field::literal(top_level(shell).unwrap_or(".".to_owned()));
    let (mut rules, mut paths) = (Vec::new(), Vec::new());
    let specs = match verb {
        // What follows is a message.
        "save" => &[],
        "push" => args.operands.get(1..).unwrap_or_default(),
        _ => &args.operands,
    };
    for spec in specs {
        let mut signs = [":!", ":^", ":(exclude)"].iter();
        match signs.find_map(|sign| spec.text.strip_prefix(sign)) {
            Some(rule) => rules.push(rule.to_owned()),
            None => paths.push(*spec),
        }
    }
    if paths.is_empty() {
        paths.push(&root);
    }
    let at = shell.targets.len();
    let cleaning = if args.has("a all") {
        Cleaning::ChangedOrIgnored
    } else {
        Cleaning::Changed
    };
    clear_all(shell, &paths, cleaning, rules);
    let taken = shell.take_targets(at);
    shell.stashed.extend(taken);
}

/// Clears paths of what git does not keep.
fn clear_all(shell: &mut Shell<'_>, paths: &[&Field], cleaning: Cleaning, mut rules: Vec<String>) {
    if !cleaning.takes_ignored() {
        rules.extend(ignored(shell));
    }
    let top = top_level(shell);
    for path in shell.all_found(paths.iter().copied()) {
        let path_in_tree = match (shell.absolute(&path.text), &top) {
            (Some(path), Some(top)) => relative(&collapse(&path), top).map(str::to_owned),
            _ => None,
        };
        let below = path_in_tree.as_deref().unwrap_or_default();
        clear(shell, Act::Clean(cleaning), &path, below, &rules);
    }
}

/// The lines of the root's `.gitignore`.
fn ignored(shell: &Shell<'_>) -> Vec<String> {
    let text = top_level(shell)
        .and_then(|top| shell.scene.disk.text(&format!("{top}/.gitignore")))
        .unwrap_or_default();
    text.lines()
        .map(str::trim)
        .filter(|rule| !rule.is_empty() && !rule.starts_with(['#', '!']))
        .map(str::to_owned)
        .collect()
}

/// Reports what is cleared: a file by its name, a whole directory, or entry by entry where
/// rules tell them apart. `below` is the directory's path from where the rules count.
pub(super) fn clear(shell: &mut Shell<'_>, act: Act, dir: &Field, below: &str, rules: &[String]) {
    let Some(path) = shell.absolute(&dir.text) else {
        return shell.report(dir, act);
    };
    if !shell.is_dir(&path) && !is_pattern(&path) {
        return shell.report(dir, Act::Remove);
    }
    if rules.is_empty() {
        return shell.report(dir, act);
    }
    let mut dirs = vec![(path, below.to_owned())];
    while let Some((dir, below)) = dirs.pop() {
        for name in shell.entries(&dir) {
            let (path, below) = (format!("{dir}/{name}"), path::below(&below, &name));
            match spared(rules, &below) {
                Spared::Whole => {}
                Spared::Part if shell.is_dir(&path) => dirs.push((path, below)),
                Spared::Part | Spared::Nothing => shell.report(&Field::literal(path), act),
            }
        }
    }
}

/// What rules spare of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spared {
    Nothing,
    /// Something below it.
    Part,
    Whole,
}

/// The last rule that speaks of an entry decides; one with `!` takes a sparing back.
fn spared(rules: &[String], entry: &str) -> Spared {
    let mut spared = Spared::Nothing;
    for rule in rules {
        let (pattern, is_negated) = match rule.strip_prefix('!') {
            Some(pattern) => (pattern, true),
            None => (rule.as_str(), false),
        };
        match (spares(pattern, entry), is_negated) {
            (Spared::Nothing, _) => {}
            (found, false) => spared = found,
            (Spared::Whole, true) => spared = Spared::Nothing,
            (_, true) => spared = Spared::Part,
        }
    }
    spared
}

/// A pattern without a slash counts at any depth, another from the top.
fn spares(pattern: &str, entry: &str) -> Spared {
    let anchored = pattern.trim_end_matches('/');
    if !anchored.contains('/') {
        let name = entry.rsplit('/').next().unwrap_or(entry);
        return if Glob::new(anchored).matches(name) {
            Spared::Whole
        } else {
            Spared::Nothing
        };
    }
    let (mut parts, mut names) = (
        anchored.trim_start_matches('/').split('/'),
        entry.split('/'),
    );
    loop {
        match (parts.next(), names.next()) {
            (None, _) => return Spared::Whole,
            (Some(_), None) => return Spared::Part,
            (Some(part), Some(name)) if Glob::new(part).matches(name) => {}
            (Some(_), Some(_)) => return Spared::Nothing,
        }
    }
}
