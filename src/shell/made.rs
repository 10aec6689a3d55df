//! What calls and methods of scripting languages make of known values.

use super::bind::{Bound, Shape};
use super::code::Language;
use super::field::{Field, base_name, join, listed};
use super::glob::all_active;
use super::texts::{self, in_case, moment, sliced};
use super::value::{Given, MAX_VALUES, Reader, product};
use crate::base::target::Spelling;

/// Longer texts are no paths, and need not be made.
const MAX_REPLACED: usize = 1 << 10;

impl<'a> Reader<'_, '_, 'a, '_, '_> {
    pub(super) fn made(
        &mut self,
        name: &str,
        first: &str,
        arguments: Vec<Given<'a>>,
    ) -> Vec<Field> {
        let language = self.script.language;
        let start = Bound::from(vec![Field::literal("")]);
        self.shape = Shape::One;
        match name {
            "Path" | "PurePath" | "PosixPath" | "Pathname" | "join" | "resolve" | "path"
            | "catfile" | "joinpath" => return self.joined_to(start, &arguments, "/"),
            "of" | "get" if matches!(first, "Path" | "Paths") => {
                return self.joined_to(start, &arguments, "/");
            }
            "File" if language == Language::Java => return self.joined_to(start, &arguments, "/"),
            "file" if first == "file" && language == Language::R => {
                return self.joined_to(start, &arguments, "/");
            }
            "paste0" => return self.joined_to(start, &arguments, ""),
            "range" => return self.range(&arguments),
            "format" | "sprintf" => {
                let [template, given @ ..] = arguments.as_slice() else {
                    return Vec::new();
                };
                return self.formatted(&template.bound.values, b'%', given);
            }
            "sub" if first == "re" => return texts::substituted(&arguments),
            "getenv" => return self.exported(arguments),
            "now" | "today" | "utcnow" if language == Language::Python => {
                return moment("%F %T.%f");
            }
            "Date" if language == Language::Script => return moment("%F %T"),
            "now" if first == "Date" => return moment("%s123"),
            "strftime" if first == "time" => {
                let format = arguments.first().map(Given::first);
                let format = format.as_ref().and_then(Field::known);
                return format.map_or_else(Vec::new, moment);
            }
            "check_output" | "getoutput" | "popen" | "execSync" | "execFileSync" | "spawnSync"
            | "shell_exec" => return self.printed(&arguments),
            "run" if matches!(first, "subprocess" | "sp") => return self.printed(&arguments),
            "commandArgs" => return self.held(name).unwrap_or_default(),
            _ => {}
        }
        let argument = arguments.into_iter().next().map(|given| given.bound);
        self.made_of(name, first, argument.unwrap_or_default())
    }

    /// What a call makes of its first argument.
    fn made_of(&mut self, name: &str, first: &str, argument: Bound) -> Vec<Field> {
        let Bound {
            values: argument,
            shape: list,
        } = argument;
        match name {
            "str" | "String" if list == Shape::Number => argument,
            "str" | "String" | "expanduser" | "abspath" | "realpath" | "fspath" | "normpath"
            | "expand_path" | "sorted" | "list" | "reversed" => {
                self.shape = list;
                argument
            }
            "entries" | "keys" if first == "Object" => {
                self.shape = list;
                argument
            }
            "values" if first == "Object" => self.given_values(list),
            "split" if first == "shlex" => {
                self.shape = Shape::List;
                let lines = argument.first();
                lines.map_or_else(Vec::new, |line| self.script.shell.words_of(line))
            }
            "require" => vec![Field::literal("")],
            "splitext" | "split" => self.halves(name, &argument),
            "dirname" => each(&argument, parent),
            "basename" => each(&argument, last_name),
            "home" | "homedir" => one(self.script.shell.scene.home.map(Field::literal)),
            "glob" | "iglob" => self.globbed(&argument),
            "scandir" if self.script.language == Language::Python => self.listed(&argument, "/"),
            "listdir" | "readdirSync" | "readdir" | "scandir" | "children" | "entries" => {
                self.listed(&argument, "")
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn method(
        &mut self,
        own: Bound,
        name: &str,
        arguments: Vec<Given<'a>>,
    ) -> Vec<Field> {
        self.shape = Shape::One;
        // A module: `require("path").join(…)`.
        if let (Language::Script, [only]) = (self.script.language, own.values.as_slice())
            && only.text.is_empty()
        {
            return self.made(name, "", arguments);
        }
        let Bound { values: own, shape } = own;
        let first = first_values(&arguments);
        match name {
            "joinpath" | "child" => self.joined_to(Bound { values: own, shape }, &arguments, "/"),
            "join" => match (self.script.language, own.as_slice()) {
                (Language::Python, [between]) => joined(first, &between.text),
                (Language::Script, items) => {
                    joined(items, first.first().map_or(",", |between| &between.text))
                }
                _ => product(&own, first, "/"),
            },
            "replace" => match arguments.as_slice() {
                [from, to] => replaced(&own, &from.first(), &to.first()),
                _ => Vec::new(),
            },
            "resolve" | "absolute" | "expanduser" | "to_s" | "toString" | "as_posix" | "strip"
            | "rstrip" | "trim" | "chomp" | "decode" | "read" | "stdout" => own,
            "path" if self.script.language == Language::Python => own,
            "sort" => {
                self.shape = shape;
                own
            }
            "lower" | "toLowerCase" | "downcase" => in_case(&own, str::to_lowercase),
            "upper" | "toUpperCase" | "upcase" => in_case(&own, str::to_uppercase),
            "strftime" => {
                let format = first.first().and_then(Field::known);
                format.map_or_else(Vec::new, moment)
            }
            "isoformat" => moment("%FT%T.%f"),
            "toISOString" => moment("%FT%T.123Z"),
            "slice" | "substring" if shape == Shape::One => sliced(&own, &arguments),
            "split" if first.is_empty() && shape == Shape::One => {
                self.shape = Shape::List;
                words_of(&own)
            }
            "splitlines" | "lines" if shape == Shape::One => {
                self.shape = Shape::List;
                let lines = own.first().and_then(Field::known).unwrap_or("").lines();
                lines.map(Field::literal).collect()
            }
            "values" => self.given_values(shape),
            "glob" | "rglob" => self.globbed(&product(&own, first, "/")),
            "iterdir" | "children" | "each_child" => self.listed(&own, "/"),
            _ if shape.is_list() => self.list_method(Bound { values: own, shape }, name, arguments),
            _ => of_path(&own, name, first),
        }
    }

    fn list_method(&mut self, own: Bound, name: &str, arguments: Vec<Given<'a>>) -> Vec<Field> {
        let Bound { values: own, shape } = own;
        let first = first_values(&arguments);
        match name {
            "get" | "fetch" => self.fetched(shape, arguments),
            "items" | "entries" | "keys" => {
                self.shape = shape;
                own
            }
            "slice" => {
                self.shape = Shape::List;
                let from = first.first().and_then(|from| from.known()?.parse().ok());
                own.get(from.unwrap_or(0)..).unwrap_or(&[]).to_vec()
            }
            "first" => one(own.into_iter().next()),
            _ => of_path(&own, name, first),
        }
    }

    /// `environ["X"]`, `env.X`, `ENV.fetch("X", default)`, `$ENV{X}`.
    pub(super) fn environment(&mut self) -> Vec<Field> {
        let at = self.at;
        match self.mark() {
            Some('.') if self.script.mark(at + 2) == Some('(') => {
                self.at = at + 2;
                let arguments = self.call_arguments();
                self.exported(arguments)
            }
            Some(mark @ ('.' | '[' | '{')) => {
                let after = if mark == '.' {
                    at + 2
                } else {
                    self.script.after(at)
                };
                self.at = after;
                let values = match self.script.word(at + 1) {
                    Some(name) => vec![Field::literal(name)],
                    None => self.within((at + 1, after - 1)),
                };
                let bound = Bound::from(values);
                self.exported(vec![Given { name: None, bound }])
            }
            _ => Vec::new(),
        }
    }

    /// A variable that the command sets, or else the default.
    fn exported(&mut self, mut arguments: Vec<Given<'a>>) -> Vec<Field> {
        let name = arguments.first().map(Given::first);
        let name = name.as_ref().and_then(Field::known).unwrap_or("");
        let shell = &mut *self.script.shell;
        if super::byte::is_name(name)
            && let Some(value) = shell.variable(name)
        {
            return vec![shell.afford(value.into_field())];
        }
        let default = arguments.pop().filter(|_| !arguments.is_empty());
        default.map_or_else(Vec::new, |given| given.bound.values)
    }

    /// What the command prints that these arguments run: a line, or words.
    fn printed(&mut self, arguments: &[Given<'_>]) -> Vec<Field> {
        let mut words = Vec::new();
        let mut is_line = true;
        for Bound { values, shape } in arguments.iter().take(2).map(|given| &given.bound) {
            let is_list = match *shape {
                Shape::Literal((open, _)) => self.script.mark(open) != Some('{'),
                shape => shape.is_list(),
            };
            if is_list || words.is_empty() {
                words.extend_from_slice(values);
                is_line &= !is_list;
            }
        }
        if is_line {
            words.truncate(1);
            words.insert(0, Field::literal("eval"));
        }
        self.output_of(&words)
    }

    /// What a command prints. Whoever uses that as a path takes the line's end off it.
    pub(super) fn output_of(&mut self, words: &[Field]) -> Vec<Field> {
        let shell = &mut *self.script.shell;
        let made_up = shell.made_up;
        shell.repeats += 1;
        let output = shell.again(words);
        shell.repeats -= 1;
        // The walk will come to the call, and must find the same names.
        shell.made_up = made_up;
        let value = output.map(|output| output.field(output.text.trim_end()));
        one(value.filter(|value| !value.text.is_empty()))
    }

    fn joined_to(&mut self, own: Bound, others: &[Given<'_>], between: &str) -> Vec<Field> {
        let mut all = own;
        for next in others {
            all = all.with(&next.bound, between);
        }
        self.give(all)
    }

    /// `range(n)`, `range(from, to)`, as far as their bounds are known.
    fn range(&mut self, arguments: &[Given<'_>]) -> Vec<Field> {
        let bounds = arguments
            .iter()
            .map(|given| given.first().text.parse().ok());
        let values = match bounds.collect::<Vec<_>>().as_slice() {
            [Some(to)] => numbers(0, *to),
            [Some(from), Some(to), ..] => numbers(*from, *to),
            _ => Vec::new(),
        };
        self.shape = Shape::List;
        values
    }

    /// A path without its suffix, and that; or its directory, and the name.
    fn halves(&mut self, name: &str, paths: &[Field]) -> Vec<Field> {
        let halves = |path: &Field| {
            let text = path.known()?;
            let (first, last) = match name {
                "splitext" => ending(text),
                _ => text.rsplit_once('/').unwrap_or(("", text)),
            };
            Some([path.with_text(first), path.with_text(last)])
        };
        if let [path] = paths {
            self.shape = Shape::List;
            return halves(path).map_or_else(Vec::new, Vec::from);
        }
        // Of several that it may be, `[0]` and `[1]` take the same half.
        let half = match (self.mark(), self.script.word(self.at + 1)) {
            (Some('['), Some("0")) => 0,
            (Some('['), Some("1")) => 1,
            _ => return Vec::new(),
        };
        self.at = self.script.after(self.at);
        let taken = |path| halves(path).and_then(|both| both.into_iter().nth(half));
        paths.iter().filter_map(taken).collect()
    }

    /// What patterns find on the disk.
    pub(super) fn globbed(&mut self, patterns: &[Field]) -> Vec<Field> {
        let mut found = Vec::new();
        for pattern in patterns {
            let shell = &mut *self.script.shell;
            let (Some(text), Some(cwd)) = (pattern.known(), shell.cwd.clone()) else {
                continue;
            };
            found.extend(shell.search(&cwd, text, &all_active(text)));
        }
        listed(found).collect()
    }

    /// The entries of directories: their names, or their paths.
    pub(super) fn listed(&mut self, dirs: &[Field], between: &str) -> Vec<Field> {
        let mut found = Vec::new();
        for dir in dirs {
            let shell = &mut *self.script.shell;
            let (Some(text), Some(cwd)) = (dir.known(), shell.cwd.clone()) else {
                continue;
            };
            let names = shell.list(&join(&cwd, text));
            found.extend(names.into_iter().map(|name| match between {
                "" => name,
                _ => join(text, &name),
            }));
        }
        listed(found).collect()
    }
}

/// What a method of a path makes of it.
fn of_path(own: &[Field], name: &str, given: &[Field]) -> Vec<Field> {
    match name {
        "parent" | "dirname" => each(own, parent),
        "name" => each(own, last_name),
        "stem" => each(own, |path| {
            Some(path.with_text(ending(base_name(path.known()?)).0))
        }),
        "suffix" => each(own, |path| Some(path.with_text(ending(path.known()?).1))),
        "with_suffix" => changed(own, given, |path, suffix| {
            let stem = path.rsplit_once('.').filter(|(_, old)| !old.contains('/'));
            Some(format!("{}{suffix}", stem.map_or(path, |(stem, _)| stem)))
        }),
        "with_name" => changed(own, given, |path, name| {
            let dir = path.strip_suffix(base_name(path))?;
            Some(format!("{dir}{name}"))
        }),
        _ => Vec::new(),
    }
}

/// Each path changed by each of the texts.
fn changed(own: &[Field], given: &[Field], change: fn(&str, &str) -> Option<String>) -> Vec<Field> {
    let mut all = Vec::new();
    for path in own {
        for other in given.iter().take(MAX_VALUES - all.len()) {
            let texts = path.known().zip(other.known());
            if let Some(text) = texts.and_then(|(path, other)| change(path, other)) {
                all.push(path.with_text(text));
            }
        }
    }
    all
}

fn joined(items: &[Field], between: &str) -> Vec<Field> {
    let mut items = items.iter();
    let mut whole = items.next().cloned();
    if let Some(whole) = &mut whole {
        for item in items {
            whole.text.push_str(between);
            whole.push(item);
        }
    }
    whole.into_iter().collect()
}

/// What `.split()` makes of a text that is written out.
fn words_of(own: &[Field]) -> Vec<Field> {
    let line = own.first();
    let line = line.filter(|line| line.spelling == Spelling::Literal);
    let words = line.and_then(Field::known).unwrap_or("");
    words.split_whitespace().map(Field::literal).collect()
}

/// A path without its suffix, and that.
fn ending(path: &str) -> (&str, &str) {
    let at = path
        .rfind('.')
        .filter(|at| *at > 0 && !path[*at..].contains('/'));
    path.split_at(at.unwrap_or(path.len()))
}

fn replaced(own: &[Field], from: &Field, to: &Field) -> Vec<Field> {
    let (Some(from), Some(to)) = (from.known(), to.known()) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for path in own
        .iter()
        .filter(|path| path.text.len().max(to.len()) < MAX_REPLACED)
    {
        let text = path.text.replace(from, to);
        if text.len() < MAX_REPLACED {
            all.push(path.with_text(text));
        }
    }
    all
}

pub(super) fn parent(path: &Field) -> Option<Field> {
    let text = path.known()?;
    let dir = text.rsplit_once('/').map_or(".", |(dir, _)| dir);
    Some(path.with_text(if dir.is_empty() { "/" } else { dir }))
}

fn last_name(path: &Field) -> Option<Field> {
    Some(path.with_text(base_name(path.known()?)))
}

/// The numbers from the first up to the second, as texts.
pub(super) fn numbers(from: usize, to: usize) -> Vec<Field> {
    let numbers = (from..to).take(MAX_VALUES);
    numbers.map(|n| Field::literal(n.to_string())).collect()
}

/// A value that may not be known.
pub(super) fn one(value: Option<Field>) -> Vec<Field> {
    value.map_or_else(Vec::new, |value| vec![value])
}

fn each(values: &[Field], change: fn(&Field) -> Option<Field>) -> Vec<Field> {
    values.iter().filter_map(change).collect()
}

/// What the first argument may be.
fn first_values<'g>(arguments: &'g [Given<'_>]) -> &'g [Field] {
    let first = arguments.first();
    first.map_or(&[], |given| given.bound.values.as_slice())
}
