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
    HoldsForSome,
    /// Only a run decides, and for few.
    Unknown,
}

/// A test, and what it is to come to.
struct Predicate {
    test: Test,
    expected: bool,
}

enum Action<'f> {
    Delete,
    /// `-exec`, with the command.
    Run(&'f [Field]),
}

#[derive(Default)]
struct Find<'f> {
    tests: Vec<Predicate>,
    /// The tests before `-prune -o`: a directory that passes all of one list is not searched.
    pruned: Vec<Vec<Predicate>>,
    /// What is done, each with how many of the tests are before it.
    actions: Vec<(Action<'f>, usize)>,
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
    let is_unsure = is_open(&find.tests) && !find.actions.is_empty();
    if is_unsure || rest.iter().any(|word| is_in(OTHER_ACTIONS, &word.text)) {
        shell.unknown_write();
    }
    for (action, n_tests) in &find.actions {
        let files = find.files(shell, dirs, *n_tests);
        match action {
            Action::Delete => shell.report_all(&files, Act::Remove),
            Action::Run(command) => files.iter().for_each(|file| run_for(shell, command, file)),
        }
    }
    Ran::unknown()
}

/// Whether it takes a run to know for which entries tests hold.
fn is_open(tests: &[Predicate]) -> bool {
    tests
        .iter()
        .any(|it| matches!(it.test, Test::HoldsForSome | Test::Unknown))
}

/// A test by its name, and how many words it takes; `None` for what is none.
fn test(name: &str, value: &str) -> (Option<Test>, usize) {
    let test = match name {
        "-name" => Test::Name(Glob::new(value)),
        "-iname" => Test::IName(Glob::new(&value.to_lowercase())),
        "-path" | "-wholename" => Test::Path(Glob::new(value)),
        "-type" if value == "d" => Test::IsDir,
        "-type" if value == "f" => Test::IsFile,
        option if is_in(OF_SOME, option) => Test::HoldsForSome,
        "-regex" | "-iregex" => Test::Unknown,
        idle if is_in(IDLE, idle) => return (None, 0),
        _ => return (Some(Test::Unknown), 0),
    };
    (Some(test), 1)
}

impl<'f> Find<'f> {
    fn parse(words: &'f [Field]) -> Self {
        let mut find = Self::default();
        let (mut expected, mut rest) = (true, words);
        while let Some((word, behind)) = rest.split_first() {
            let n_values = find.read(&word.text, behind, expected);
            expected = !matches!(word.text.as_str(), "!" | "-not");
            rest = behind.get(n_values..).unwrap_or(&[]);
        }
        find
    }

    /// Reads one word of the expression. Gives how many behind it are its own.
    fn read(&mut self, word: &str, behind: &'f [Field], expected: bool) -> usize {
        let value = behind.first().map_or("", |value| value.text.as_str());
        match word {
            "-mindepth" => self.min_depth = value.parse().unwrap_or(0),
            "-maxdepth" => self.max_depth = value.parse().ok(),
            "-exec" | "-ok" => {
                let end = behind.iter().position(|word| word.is(";") || word.is("+"));
                let command = &behind[..end.unwrap_or(behind.len())];
                self.actions.push((Action::Run(command), self.tests.len()));
                return command.len() + 1;
            }
            "-delete" => {
                self.actions.push((Action::Delete, self.tests.len()));
                return 0;
            }
            "-prune" if value == "-o" => self.prune(),
            "(" if !expected => {
                self.tests.push(Predicate {
                    test: Test::Unknown,
                    expected,
                });
                return 0;
            }
            name => {
                let (found, n_values) = test(name, value);
                self.tests
                    .extend(found.map(|test| Predicate { test, expected }));
                return n_values;
            }
        }
        1
    }

    /// What was read up to here says which directories are left out.
    fn prune(&mut self) {
        let mut tests = std::mem::take(&mut self.tests);
        let has_choice = is_open(&tests);
        tests.retain(|it| {
            matches!(it.test, Test::Name(_) | Test::IName(_) | Test::Path(_)) || !has_choice
        });
        self.pruned = if has_choice {
            tests.into_iter().map(|test| vec![test]).collect()
        } else {
            vec![tests]
        };
    }

    /// The files in some directories for which the first tests hold.
    fn files(&self, shell: &mut Shell<'_>, dirs: &[Field], n_tests: usize) -> Vec<Field> {
        let tests = &self.tests[..n_tests];
        let mut found = Vec::new();
        for dir in dirs {
            match dir.known() {
                Some(dir) => self.walk(shell, dir, tests, &mut found),
                None => shell.unknown_write(),
            }
        }
        let mut files = to_fields(found);
        if is_open(tests) && files.len() > 1 {
            files = files.into_iter().map(some_of).collect();
        }
        files
    }

    fn walk(&self, shell: &mut Shell<'_>, dir: &str, tests: &[Predicate], found: &mut Vec<String>) {
        let (mut todo, mut left) = (vec![(dir.to_owned(), 0)], MAX_DIRS);
        while let Some((path, depth)) = todo.pop() {
            let is_dir = shell.is_dir(&path);
            let hold = |tests: &[Predicate]| tests.iter().all(|it| it.holds(&path, is_dir));
            if self.pruned.iter().any(|tests| hold(tests)) {
                continue;
            }
            shell.spend((1 + tests.len()) * (1 + path.len() / 64));
            if shell.has_given_up() {
                return;
            }
            if depth >= self.min_depth && hold(tests) {
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

impl Predicate {
    fn holds(&self, path: &str, is_dir: bool) -> bool {
        let is_met = match &self.test {
            Test::Name(glob) => glob.matches(base_name(path)),
            Test::IName(glob) => glob.matches(&base_name(path).to_lowercase()),
            Test::Path(glob) => glob.matches(path),
            Test::IsDir => is_dir,
            Test::IsFile => !is_dir,
            Test::HoldsForSome => return true,
            Test::Unknown => false,
        };
        is_met == self.expected
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
