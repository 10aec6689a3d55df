//! Git, as far as the command names what it changes: paths (`checkout PATH`, `restore`, `rm`, `mv`), new
//! directories (`clone`, `worktree add`), written files (`bundle`, `archive`), patches (`apply`), and what
//! takes away all that is untracked (`clean`, `stash -u`). What revisions hold is not known.

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::Field;
use super::glob::{Glob, is_pattern};
use super::{copy, edit};
use crate::base::path::collapse;
use crate::base::target::Act;
use crate::base::text::is_in;
use crate::systems::system;

/// Subcommands that leave the work tree as it is, and run no hooks.
const READING: &str = "add blame branch cat-file check-ignore config describe diff fetch for-each-ref grep help log \
    ls-files ls-remote ls-tree merge-base name-rev reflog remote rev-list rev-parse shortlog show status \
    symbolic-ref tag version";

/// Subcommands that may bring any of the files of a revision.
const CHECKING_OUT: &str = "am apply checkout cherry-pick clean merge mv pull rebase reset restore revert rm stash \
    switch worktree";

/// Subcommands of `git stash` that take nothing away.
const KEEPING: &str = "list show drop pop apply branch clear create store";

/// The options of all subcommands that have a value.
const VALUES: Options = Options::of(
    "bBcejmos",
    "source output exclude message depth branch origin",
);

pub(super) fn run(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let (own, rest) = Args::before_command(args, Options::of("Cc", "git-dir work-tree namespace"));
    let Some((verb, args)) = rest.split_first() else {
        return Ran::unknown();
    };
    shell.subshell(|shell| {
        for dir in own.values("C work-tree") {
            shell.place.cwd = shell.absolute(&dir.text);
        }
        let reads_stash = verb.is("stash") && args.iter().any(|arg| is_in("list show", &arg.text));
        if !is_in(READING, &verb.text) && !reads_stash {
            shell.checks_out |= is_in(CHECKING_OUT, &verb.text);
            shell.unknown_write();
        }
        subcommand(shell, &verb.text, args)
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
        "worktree" if first == "remove" => shell.report_all(operand(1), Act::RemoveTree),
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
            return Ran::printed(Field::of(top.as_ref()).line());
        }
        _ => {}
    }
    Ran::unknown()
}

/// The nearest directory upwards that holds `.git`.
fn top_level(shell: &Shell<'_>) -> Option<String> {
    let mut dir = shell.place.cwd.clone()?;
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
    let is_path = |first: &&Field| {
        has("--ours --theirs -m --merge")
            || first.text.starts_with('.')
            || shell.exists(&first.text)
    };
    if mark.is_none() && !paths.first().is_some_and(is_path) {
        let rest = paths.split_off(paths.len().min(1));
        revision = std::mem::replace(&mut paths, rest).pop();
    }
    write_files(shell, &paths, revision);
}

/// Which files of a directory another revision has is not known.
fn write_files(shell: &mut Shell<'_>, paths: &[&Field], revision: Option<&Field>) {
    for path in paths {
        let absolute = shell.absolute(&path.text);
        let is_dir = path.text.ends_with(['/', '.']) || shell.is_dir(&path.text);
        let is_governed = |path: String| system::are_named_in(&format!("{}/", collapse(&path)));
        match absolute.is_some() && is_dir {
            false => shell.report(path, Act::Write),
            true if revision.is_some() && absolute.is_some_and(is_governed) => {
                shell.report(path, Act::Clear)
            }
            true => {}
        }
    }
}

/// Without `-d` or a path, directories that are not tracked stay.
fn clean(shell: &mut Shell<'_>, args: &Args<'_>) {
    if !args.has("f force") || args.has("n dry-run") {
        return;
    }
    let exclude = args.values("e exclude").map(|rule| rule.text.clone());
    let rules = exclude.filter(|_| !args.has("X")).collect();
    let here = Field::literal(".");
    let paths = match args.operands.as_slice() {
        [] if args.has("d") => &[&here][..],
        paths => paths,
    };
    clear_all(shell, paths, args.has("x X"), rules);
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
    let n_verbs = usize::from(matches!(verb, "push" | "save"));
    let specs = args.operands.iter().skip(n_verbs);
    for spec in specs.filter(|_| verb != "save") {
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
    clear_all(shell, &paths, args.has("a all"), rules);
    let taken = shell.take_targets(at);
    shell.stashed.extend(taken);
}

/// Clears paths of what git does not track; what it ignores stays, unless that is taken too.
fn clear_all(shell: &mut Shell<'_>, paths: &[&Field], takes_ignored: bool, mut rules: Vec<String>) {
    let act = match takes_ignored {
        true => Act::Clear,
        false => {
            rules.extend(ignored(shell));
            Act::Clean
        }
    };
    for path in paths {
        clear(shell, act, path, &rules);
    }
}

/// The lines of the root's `.gitignore`.
fn ignored(shell: &Shell<'_>) -> Vec<String> {
    let text = top_level(shell).and_then(|top| shell.scene.disk.text(&format!("{top}/.gitignore")));
    let text = text.unwrap_or_default();
    let rules = text.lines().map(str::trim);
    let rules = rules.filter(|rule| !rule.is_empty() && !rule.starts_with(['#', '!']));
    rules.map(str::to_owned).collect()
}

/// Reports what is cleared: a file by its name, a whole directory, or entry by entry where
/// rules tell them apart.
fn clear(shell: &mut Shell<'_>, act: Act, dir: &Field, rules: &[String]) {
    let Some(path) = shell.absolute(&dir.text) else {
        return shell.report(dir, act);
    };
    if !shell.is_dir(&path) && !is_pattern(&path) {
        return shell.report(dir, Act::Remove);
    }
    if rules.is_empty() {
        return shell.report(dir, act);
    }
    for name in shell.entries(&path) {
        if !rules.iter().any(|rule| names(rule, &name)) {
            shell.report(&Field::literal(format!("{path}/{name}")), act);
        }
    }
}

/// Whether a rule names an entry, or a governed place in it.
fn names(rule: &str, name: &str) -> bool {
    let rule = rule.trim_matches('/');
    let is_below = rule.split('/').next() == Some(name);
    Glob::new(rule).matches(name) || (is_below && system::are_named_in(&format!("{rule}/")))
}
