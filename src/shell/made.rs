//! What calls and methods of scripting languages make of known values.

use super::bind::{Bound, Shape};
use super::code::Language;
use super::field::{Field, base_name, join};
use super::glob::all_active;
use super::value::{Given, MAX_VALUES, Reader, product};
use crate::target::Spelling;

impl<'a> Reader<'_, '_, 'a, '_, '_> {
    pub(super) fn made(
        &mut self,
        name: &str,
        first: &str,
        arguments: Vec<Given<'a>>,
    ) -> Vec<Field> {
        let joined = |between: &str| {
            let start = vec![Field::literal("")];
            arguments.iter().fold(start, |all, next| {
                product(&all, &next.bound.values, between)
            })
        };
        let list = arguments
            .first()
            .map_or(Shape::One, |given| given.bound.shape);
        let language = self.script.language;
        self.shape = Shape::One;
        match name {
            "Path" | "PurePath" | "PosixPath" | "Pathname" | "join" | "resolve" | "path"
            | "catfile" | "joinpath" => return joined("/"),
            "of" | "get" if matches!(first, "Path" | "Paths") => return joined("/"),
            "File" if language == Language::Java => return joined("/"),
            "file" if first == "file" && language == Language::R => return joined("/"),
            "paste0" => return joined(""),
            "format" | "sprintf" => return self.printed(arguments),
            "getenv" => return self.exported(arguments),
            "commandArgs" => return self.held(name).unwrap_or_default(),
            _ => {}
        }
        let numbers = arguments.iter().map(|given| &given.bound.values);
        if name == "range" {
            return range(numbers.filter_map(|values| values.first()?.known()?.parse().ok()));
        }
        let argument = arguments.into_iter().next();
        let argument = argument.map_or_else(Vec::new, |given| given.bound.values);
        match name {
            "str" | "String" | "expanduser" | "abspath" | "realpath" | "fspath" | "normpath"
            | "expand_path" | "sorted" | "list" | "reversed" | "tuple" => {
                self.shape = list;
                argument
            }
            "entries" | "keys" if first == "Object" => {
                self.shape = list;
                argument
            }
            "require" => vec![Field::literal("")],
            "dirname" => argument.iter().filter_map(parent).collect(),
            "basename" => argument.iter().filter_map(last_name).collect(),
            "home" | "homedir" => {
                let home = self.script.shell.scene.home;
                home.map(Field::literal).into_iter().collect()
            }
            "glob" | "iglob" => self.globbed(&argument),
            "listdir" | "readdirSync" | "children" | "entries" => self.listed(&argument, ""),
            _ => Vec::new(),
        }
    }

    pub(super) fn method(
        &mut self,
        own: Bound,
        name: &str,
        arguments: Vec<Given<'_>>,
    ) -> Vec<Field> {
        let Bound { values: own, shape } = own;
        self.shape = Shape::One;
        let mut arguments = arguments.into_iter().map(|given| given.bound.values);
        let first = arguments.next().unwrap_or_default();
        let changed = |change: fn(&str, &str) -> Option<String>| {
            let pairs = own.iter().flat_map(|a| first.iter().map(move |b| (a, b)));
            let texts =
                pairs.filter_map(|(a, b)| Some(a.with_text(change(a.known()?, b.known()?)?)));
            texts.take(MAX_VALUES).collect()
        };
        let number = |values: &[Field]| values.first()?.known()?.parse::<usize>().ok();
        match name {
            "joinpath" | "child" => joined_to(own, &first, arguments),
            "join" => match (self.script.language, own.as_slice()) {
                (Language::Python, [between]) => joined(&first, &between.text),
                // `require("path").join(…)`, or a list's own method.
                (Language::Script, [only]) if only.text.is_empty() => {
                    joined_to(own, &first, arguments)
                }
                (Language::Script, items) => {
                    joined(items, first.first().map_or(",", |between| &between.text))
                }
                _ => product(&own, &first, "/"),
            },
            "parent" | "dirname" => own.iter().filter_map(parent).collect(),
            "name" => own.iter().filter_map(last_name).collect(),
            "resolve" | "absolute" | "expanduser" | "to_s" | "toString" | "as_posix" | "strip"
            | "trim" => own,
            "items" | "entries" | "keys" | "to_a" if shape != Shape::One => {
                self.shape = shape;
                own
            }
            "split" => {
                self.shape = Shape::List;
                own.first().map_or_else(Vec::new, |own| split(own, &first))
            }
            "slice" if shape != Shape::One => {
                self.shape = Shape::List;
                let end = arguments.next().as_deref().map_or(Some(own.len()), number);
                let span = number(&first)
                    .zip(end)
                    .map(|(from, to)| from..to.min(own.len()));
                span.and_then(|span| own.get(span)).unwrap_or(&[]).to_vec()
            }
            "first" if shape != Shape::One => own.into_iter().take(1).collect(),
            "last" | "pop" if shape != Shape::One => own.into_iter().last().into_iter().collect(),
            "with_suffix" => changed(|path, suffix| {
                let stem = path.rsplit_once('.').filter(|(_, old)| !old.contains('/'));
                Some(format!("{}{suffix}", stem.map_or(path, |(stem, _)| stem)))
            }),
            "with_name" => changed(|path, name| {
                let dir = path.strip_suffix(base_name(path))?;
                Some(format!("{dir}{name}"))
            }),
            "glob" | "rglob" => {
                let patterns = product(&own, &first, "/");
                self.globbed(&patterns)
            }
            "iterdir" | "children" | "each_child" => self.listed(&own, "/"),
            _ => Vec::new(),
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
    fn exported(&mut self, arguments: Vec<Given<'a>>) -> Vec<Field> {
        let mut arguments = arguments.into_iter().map(|given| given.bound.values);
        let name = arguments.next().and_then(|names| names.into_iter().next());
        let shell = &mut *self.script.shell;
        let name = name.as_ref().and_then(Field::known);
        let value = name
            .filter(|name| super::byte::is_name(name))
            .and_then(|name| shell.variable(name));
        match value {
            Some(value) => vec![shell.afford(value.into_field())],
            None => arguments.next().unwrap_or_default(),
        }
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
        spelled(found)
    }

    /// The entries of directories: their names, or their paths.
    fn listed(&mut self, dirs: &[Field], between: &str) -> Vec<Field> {
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
        spelled(found)
    }
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

fn spelled(paths: Vec<String>) -> Vec<Field> {
    let matches = Some(paths.len());
    let field = |text: String| Field {
        text: text.into(),
        spelling: Spelling::Glob { matches },
    };
    paths.into_iter().map(field).collect()
}

fn parent(path: &Field) -> Option<Field> {
    let text = path.known()?;
    let dir = text.rsplit_once('/').map_or(".", |(dir, _)| dir);
    Some(path.with_text(if dir.is_empty() { "/" } else { dir }))
}

fn last_name(path: &Field) -> Option<Field> {
    Some(path.with_text(base_name(path.known()?)))
}

fn joined_to(
    own: Vec<Field>,
    first: &[Field],
    others: impl Iterator<Item = Vec<Field>>,
) -> Vec<Field> {
    let start = product(&own, first, "/");
    others.fold(start, |all, next| product(&all, &next, "/"))
}

/// `"a b".split()`, `"a,b".split(",")`.
fn split(text: &Field, between: &[Field]) -> Vec<Field> {
    let Some(known) = text.known() else {
        return Vec::new();
    };
    let parts: Vec<&str> = match between.first().map(|between| between.text.as_str()) {
        None | Some(" ") => known.split_ascii_whitespace().collect(),
        Some("") => Vec::new(),
        Some(between) => known.split(between).collect(),
    };
    let parts = parts.into_iter().take(MAX_VALUES);
    parts.map(|part| text.with_text(part)).collect()
}

/// `range(3)`, `range(1, 4)`.
fn range(numbers: impl Iterator<Item = usize>) -> Vec<Field> {
    let span = match numbers.collect::<Vec<usize>>().as_slice() {
        [to] => 0..*to,
        [from, to] => *from..*to,
        _ => 0..0,
    };
    let numbers = span.take(MAX_VALUES);
    numbers.map(|n| Field::literal(n.to_string())).collect()
}
