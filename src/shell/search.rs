//! Searches that list files: `grep -rl`, `rg -l`, `fd`, `git ls-files`.
//!
//! Below a governed directory that is named, all files stand for those that are found but
//! those that do not hold a plain text that is looked for. Other roots give none.

use super::args::{Args, Syntax};
use super::condition::is_listed;
use super::eval::Shell;
use super::expression::Expression;
use super::field::{Field, HERE, Output};
use super::filter;
use super::regexp::{self, Span};
use super::status::Status;
use super::transfer::is_place;
use crate::base::target::Spelling;

const GREP: Syntax = Syntax::of(
    "efmABCdDgtTjM",
    &[
        "regexp",
        "file",
        "glob",
        "type",
        "max-count",
        "include",
        "exclude",
        "exclude-dir",
    ],
);

/// `grep -rl PATTERN ROOT…`.
pub(super) fn grep(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let args = Args::parse(args, GREP);
    if !lists(&args) {
        if fails(shell, &args) {
            shell.status = Status::Failure;
        }
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

/// `grep -q TEXT ENTRY`, about an entry of a governed directory's listing that does not hold
/// the text.
fn fails(shell: &mut Shell<'_>, args: &Args<'_>) -> bool {
    let [_, entry] = args.operands.as_slice() else {
        return false;
    };
    let is_asked = is_listed(entry) && args.has(&["q", "quiet", "silent"]);
    if !is_asked || !shell.absolute(&entry.text).is_some_and(|at| is_place(&at)) {
        return false;
    }
    needles(args).is_some_and(|needles| !may_hold(shell, entry, &needles, &mut { FILE_COST }))
}

/// How many texts may be looked for at once, and how much is read to look for them.
const MAX_NEEDLES: usize = 8;
const MAX_SEARCHED: usize = 1 << 20;

/// What even a small file takes of that.
const FILE_COST: usize = 1 << 12;

/// Where a search that gives names finds some.
fn found_by(shell: &mut Shell<'_>, args: &Args<'_>, files: &Expression) -> Option<Output> {
    let named = args.has(&["e", "f", "regexp", "file"]);
    let roots = args.operands.get(usize::from(!named)..)?;
    let mut found = below(shell, roots, files);
    if let Some(needles) = needles(args) {
        let mut room = MAX_SEARCHED;
        found.retain(|path| may_hold(shell, path, &needles, &mut room));
    }
    names(&found, ends(args))
}

/// The texts, in lower case, of which every file that is found holds one. Between the
/// parts of a text that a `.` divides anything may stand.
fn needles(args: &Args<'_>) -> Option<Vec<String>> {
    if args.has(&["L", "files-without-match", "v", "invert-match", "f", "file"]) {
        return None;
    }
    let mut patterns: Vec<&Field> = args.values(&["e", "regexp"]).collect();
    if patterns.is_empty() {
        patterns.push(args.operands.first()?);
    }
    let plain = |pattern: &&Field| {
        let text = pattern.known()?;
        let is_plain = !text.contains(|c: char| "\\[]*^$+?{}()|\n".contains(c));
        is_plain.then(|| text.to_lowercase())
    };
    let all = patterns.iter().map(plain).collect::<Option<Vec<_>>>();
    all.filter(|all| all.len() <= MAX_NEEDLES)
}

/// Whether a file may hold one of some texts. What this command changed before may.
fn may_hold(shell: &mut Shell<'_>, path: &Field, needles: &[String], room: &mut usize) -> bool {
    let Some(at) = shell.absolute(&path.text) else {
        return true;
    };
    if *room == 0 || shell.found.makes_entry(&at) {
        return true;
    }
    let Some(bytes) = shell.scene.disk.bytes(&at) else {
        return true;
    };
    *room = room.saturating_sub(bytes.len().max(FILE_COST));
    if !shell.spend(bytes.len() * needles.len() / 16) {
        return true;
    }
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    let holds = |needle: &String| needle.split('.').all(|part| text.contains(part));
    needles.iter().any(holds)
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
    let syntax = Syntax::of(
        "etdEcjS",
        &[
            "extension",
            "type",
            "max-depth",
            "exclude",
            "base-directory",
        ],
    );
    let parsed = Args::parse(own, syntax);
    let files = Expression::parse(&fd_tests(&parsed));
    let here = std::slice::from_ref(&HERE);
    let roots = parsed.operands.get(1..).filter(|roots| !roots.is_empty());
    let found = list(shell, roots.unwrap_or(here), &files, ends(&parsed));
    let Some((_, command)) = command.split_first() else {
        return found;
    };
    let mut command = command.to_vec();
    if !command.iter().any(|word| word.text.contains("{}")) {
        command.push(Field::literal("{}"));
    }
    for item in found?.lines() {
        shell.run_on(&command, "{}", &item);
    }
    None
}

/// What `fd` looks for, as `find` says it.
fn fd_tests(args: &Args<'_>) -> Vec<Field> {
    let mut left_out = texts(args, ["E", "exclude"]);
    if !args.has(&["H", "hidden", "u", "unrestricted"]) {
        left_out.push(".*".to_owned());
    }
    let mut tests: Vec<String> = vec!["-mindepth".into(), "1".into()];
    if let Some(depth) = texts(args, ["d", "max-depth"]).pop() {
        tests.extend(["-maxdepth".into(), depth]);
    }
    one_of(&mut tests, "-name", left_out);
    tests.extend(["-prune", "-o", "-type", "f"].map(str::to_owned));
    let mut suffixes = texts(args, ["e", "extension"]);
    if !suffixes.is_empty() {
        suffixes
            .iter_mut()
            .for_each(|suffix| suffix.insert_str(0, "*."));
        one_of(&mut tests, "-name", suffixes);
    }
    if let Some(names) = fd_names(args) {
        one_of(&mut tests, "-iname", names);
    }
    tests.push("-print".to_owned());
    tests.into_iter().map(Field::literal).collect()
}

/// The known values of an option.
fn texts(args: &Args<'_>, names: [&str; 2]) -> Vec<String> {
    let values = args.values(&names).filter_map(Field::known);
    values.map(str::to_owned).collect()
}

/// The patterns that the first operand of `fd` comes to.
fn fd_names(args: &Args<'_>) -> Option<Vec<String>> {
    let pattern = args.operands.first()?.known()?;
    if args.has(&["p", "full-path"]) {
        return None;
    }
    if args.has(&["g", "glob"]) {
        return Some(vec![pattern.to_owned()]);
    }
    let mut globs = Vec::new();
    regexp::add_globs(&mut globs, pattern, Span::Part)?;
    Some(globs.iter().map(|glob| glob.text().to_owned()).collect())
}

/// Adds a test that one of these patterns passes.
fn one_of(tests: &mut Vec<String>, test: &str, patterns: Vec<String>) {
    tests.extend(["(", "-false"].map(str::to_owned));
    for pattern in patterns {
        tests.extend(["-o".to_owned(), test.to_owned(), pattern]);
    }
    tests.push(")".to_owned());
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

fn list(shell: &mut Shell<'_>, roots: &[Field], files: &Expression, end: &str) -> Option<Output> {
    names(&below(shell, roots, files), end)
}

/// The files below the governed roots among some.
fn below(shell: &mut Shell<'_>, roots: &[Field], files: &Expression) -> Vec<Field> {
    let mut found: Vec<Field> = Vec::new();
    for root in roots {
        if let Some(root) = root.known()
            && let Some(at) = shell.absolute(root)
            && is_place(&at)
        {
            found.extend(shell.listed(root, files));
        }
    }
    found
}

fn names(found: &[Field], end: &str) -> Option<Output> {
    if found.is_empty() {
        return None;
    }
    let spelling = Spelling::of_matches(found.len());
    let text = found.iter().flat_map(|path| [path.text.as_str(), end]);
    Some(Output {
        text: text.collect::<String>().into(),
        spelling,
    })
}
