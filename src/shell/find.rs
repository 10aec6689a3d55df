//! `find` with tests of names, paths and kinds, all of which hold (POSIX, "find"). What hangs on
//! times, sizes, patterns or a choice is left to a look at the disk afterwards.

use super::eval::{Ran, Shell};
use super::field::{Field, base_name, some_of, to_fields};
use super::glob::Glob;
use crate::base::path::below;
use crate::base::target::Act;
use crate::base::text::is_in;
use crate::systems::system;

/// How many directories are gone through; those in which state may lie come first.
const MAX_DIRS: usize = 512;

/// Actions that are not followed.
const OTHER_ACTIONS: &str = "-execdir -okdir -fls -fprint -fprint0 -fprintf";

const OF_SOME: &str =
    "-amin -atime -cmin -ctime -group -mmin -mtime -newer -newermt -perm -size -user";

/// What tests nothing.
const IDLE: &str = "( ) ! -not -a -and -delete -depth -mount -print -print0 -prune -true -xdev";

/// What an entry is asked.
enum Test {
    Name(Glob),
    IName(Glob),
    Path(Glob),
    IsDir,
    IsFile,
    /// Holds for some: times, sizes, owners.
    Some,
    /// Only a run decides, and for few.
    Unknown,
}

impl Test {
    fn is_of_names(&self) -> bool {
        matches!(self, Self::Name(_) | Self::IName(_) | Self::Path(_))
    }
}

#[derive(Clone, Copy, Default)]
enum Action<'f> {
    #[default]
    Print,
    Delete,
    /// `-exec`, with the command.
    Run(&'f [Field]),
}

#[derive(Default)]
struct Find<'f> {
    /// Tests, each with what it is to come to.
    tests: Vec<(Test, bool)>,
    /// The tests before `-prune -o`: a directory that passes one of them is not searched.
    pruned: Vec<(Test, bool)>,
    action: Action<'f>,
    min_depth: usize,
    max_depth: Option<usize>,
}

pub(super) fn run(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let mut words = args.iter();
    let start = words.position(|arg| arg.text.starts_with(['-', '(', '!']));
    let (named, rest) = args.split_at(start.unwrap_or(args.len()));
    let here = [Field::literal(".")];
    let dirs = if named.is_empty() { &here } else { named };
    let find = Find::parse(rest);
    let mut tests = find.tests.iter();
    let is_open = tests.any(|(test, _)| matches!(test, Test::Some | Test::Unknown));
    let is_printing = matches!(find.action, Action::Print);
    if (is_open && !is_printing) || rest.iter().any(|word| is_in(OTHER_ACTIONS, &word.text)) {
        shell.unknown_write();
    }
    if is_printing {
        return Ran::unknown();
    }
    let mut found = Vec::new();
    for dir in dirs {
        match dir.known() {
            Some(dir) => find.walk(shell, dir, &mut found),
            None => shell.unknown_write(),
        }
    }
    let mut files = to_fields(found);
    if is_open && files.len() > 1 {
        files.iter_mut().for_each(|file| *file = some_of(file));
    }
    match find.action {
        Action::Print => {}
        Action::Delete => shell.report_all(&files, Act::Remove),
        Action::Run(command) => files.iter().for_each(|file| run_for(shell, command, file)),
    }
    Ran::unknown()
}

impl<'f> Find<'f> {
    fn parse(words: &'f [Field]) -> Self {
        let mut find = Self::default();
        let (mut wanted, mut rest) = (true, words);
        while let Some((word, behind)) = rest.split_first() {
            let value = behind.first().map_or("", |value| value.text.as_str());
            let mut n_values = 1;
            let test = match word.text.as_str() {
                "-name" => Some(Test::Name(Glob::new(value))),
                "-iname" => Some(Test::IName(Glob::new(&value.to_lowercase()))),
                "-path" | "-wholename" => Some(Test::Path(Glob::new(value))),
                "-type" if value == "d" => Some(Test::IsDir),
                "-type" if value == "f" => Some(Test::IsFile),
                option if is_in(OF_SOME, option) => Some(Test::Some),
                "-regex" | "-iregex" => Some(Test::Unknown),
                "-mindepth" => {
                    find.min_depth = value.parse().unwrap_or(0);
                    None
                }
                "-maxdepth" => {
                    find.max_depth = value.parse().ok();
                    None
                }
                "-exec" | "-ok" => {
                    let end = behind.iter().position(|word| word.is(";") || word.is("+"));
                    let command = &behind[..end.unwrap_or(behind.len())];
                    n_values = command.len() + 1;
                    find.action = Action::Run(command);
                    None
                }
                "-prune" if value == "-o" => {
                    find.pruned = std::mem::take(&mut find.tests);
                    find.pruned.retain(|(test, _)| test.is_of_names());
                    None
                }
                other => {
                    n_values = 0;
                    if other == "-delete" {
                        find.action = Action::Delete;
                    }
                    (!is_in(IDLE, other)).then_some(Test::Unknown)
                }
            };
            find.tests.extend(test.map(|test| (test, wanted)));
            wanted = !matches!(word.text.as_str(), "!" | "-not");
            rest = behind.get(n_values..).unwrap_or(&[]);
        }
        find
    }

    fn walk(&self, shell: &mut Shell<'_>, dir: &str, found: &mut Vec<String>) {
        let (mut todo, mut left) = (vec![(dir.to_owned(), 0)], MAX_DIRS);
        while let Some((path, depth)) = todo.pop() {
            let is_dir = shell.is_dir(&path);
            if self.pruned.iter().any(|test| holds(test, &path, is_dir)) {
                continue;
            }
            shell.spend((1 + self.tests.len()) * (1 + path.len() / 64));
            if shell.has_given_up() {
                return;
            }
            if depth >= self.min_depth && self.tests.iter().all(|test| holds(test, &path, is_dir)) {
                found.push(path.clone());
            }
            let goes_on = is_dir && self.max_depth.is_none_or(|most| depth < most);
            if !goes_on {
                continue;
            }
            let Some(dir) = shell.absolute(&path) else {
                continue;
            };
            if left == 0 {
                shell.unknown_write();
                continue;
            }
            left -= 1;
            let names = system::outer_first(shell.entries(&dir));
            let inside = names.iter().rev().map(|name| below(&path, name));
            todo.extend(inside.map(|path| (path, depth + 1)));
        }
    }
}

fn holds((test, wanted): &(Test, bool), path: &str, is_dir: bool) -> bool {
    match test {
        Test::Name(glob) => glob.matches(base_name(path)) == *wanted,
        Test::IName(glob) => glob.matches(&base_name(path).to_lowercase()) == *wanted,
        Test::Path(glob) => glob.matches(path) == *wanted,
        Test::IsDir => is_dir == *wanted,
        Test::IsFile => is_dir != *wanted,
        Test::Some => true,
        Test::Unknown => !*wanted,
    }
}

/// Runs a command with a file in the place of `{}`.
fn run_for(shell: &mut Shell<'_>, command: &[Field], file: &Field) {
    shell.spend(command.len());
    if shell.has_given_up() {
        return;
    }
    let words: Vec<Field> = command
        .iter()
        .map(|word| word.with_each("{}", file))
        .collect();
    shell.subshell(|shell| shell.deeper(|shell| shell.run_program(&words)));
}
