//! Expressions of scripting languages that come to a known path.

use super::calls::Script;
use super::code::{Language, Token};
use super::field::{Field, base_name, join};
use super::glob::all_active;
use crate::target::Spelling;

/// Tokens from the first place up to the second.
pub(super) type Span = (usize, usize);

/// How many values an expression may have, and how deep it may nest.
const MAX_VALUES: usize = 64;
const MAX_DEPTH: usize = 24;

/// Each of the first with each of the second.
pub(super) fn product(first: &[Field], second: &[Field], between: &str) -> Vec<Field> {
    let pairs = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| (a, b)));
    let joined = pairs.take(MAX_VALUES).map(|(a, b)| {
        let mut whole = a.clone();
        if between == "/" && b.text.starts_with('/') {
            return b.clone();
        }
        let slashed = between == "/" && (whole.text.ends_with('/') || whole.text.is_empty());
        if !slashed {
            whole.text.push_str(between);
        }
        whole.push(b);
        whole
    });
    joined.collect()
}

/// Puts each of the second behind each of the first.
pub(super) fn append(values: &mut Vec<Field>, piece: &[Field]) {
    match piece {
        [only] => values.iter_mut().for_each(|value| value.push(only)),
        _ => *values = product(values, piece, ""),
    }
}

/// Reads one expression. An empty list of values: not known.
pub(super) struct Reader<'r, 'c, 'a, 'h, 's> {
    script: &'r mut Script<'c, 'a, 'h, 's>,
    at: usize,
    end: usize,
    depth: usize,
}

impl<'r, 'c, 'a, 'h, 's> Reader<'r, 'c, 'a, 'h, 's> {
    pub(super) fn new(script: &'r mut Script<'c, 'a, 'h, 's>, span: Span) -> Self {
        Self {
            script,
            at: span.0,
            end: span.1,
            depth: 0,
        }
    }

    /// The values of the whole span.
    pub(super) fn whole(mut self) -> Vec<Field> {
        let values = self.expression();
        let done = self.at >= self.end;
        if done { values } else { Vec::new() }
    }

    /// The items of a list literal, unknown ones among them.
    pub(super) fn items(mut self) -> Vec<Field> {
        let end = self.script.after(self.at) - 1;
        self.at += 1;
        let mut items = Vec::new();
        while self.at < end {
            let item = self.item(end);
            let one = item.into_iter().next();
            items.push(one.unwrap_or_else(Field::unknown));
        }
        items
    }

    /// One item up to its comma.
    fn item(&mut self, end: usize) -> Vec<Field> {
        let mut stop = self.at;
        while stop < end && self.script.mark(stop) != Some(',') {
            stop = self.script.after(stop);
        }
        let values = self.within((self.at, stop));
        self.at = stop + 1;
        values
    }

    fn within(&mut self, span: Span) -> Vec<Field> {
        if self.depth == MAX_DEPTH {
            return Vec::new();
        }
        let outer = (self.at, self.end);
        (self.at, self.end) = span;
        self.depth += 1;
        let values = self.expression();
        let done = self.at >= self.end;
        self.depth -= 1;
        (self.at, self.end) = outer;
        if done { values } else { Vec::new() }
    }

    fn mark(&self) -> Option<char> {
        self.script.mark(self.at).filter(|_| self.at < self.end)
    }

    fn expression(&mut self) -> Vec<Field> {
        let mut values = self.term();
        while self.at < self.end && !values.is_empty() {
            let between = match self.mark() {
                Some('+' | '~') => "",
                Some('/') => "/",
                // Texts side by side are one text.
                None if matches!(self.token(), Some(Token::Text(_))) => {
                    let next = self.term();
                    values = product(&values, &next, "");
                    continue;
                }
                _ => return Vec::new(),
            };
            self.at += 1;
            let next = self.term();
            values = product(&values, &next, between);
        }
        values
    }

    fn token(&self) -> Option<&'c Token<'a>> {
        let code = self.script.code;
        code.tokens.get(self.at).filter(|_| self.at < self.end)
    }

    fn term(&mut self) -> Vec<Field> {
        let mut values = self.primary();
        while self.mark() == Some('.') && !values.is_empty() {
            let Some(Token::Word(name)) = self.script.code.tokens.get(self.at + 1) else {
                return Vec::new();
            };
            self.at += 2;
            let arguments = self.call_arguments();
            values = self.method(values, name, arguments);
        }
        values
    }

    /// The arguments of a call at the cursor, if there is one.
    fn call_arguments(&mut self) -> Vec<Vec<Field>> {
        if self.mark() != Some('(') {
            return Vec::new();
        }
        let end = self.script.after(self.at) - 1;
        self.at += 1;
        let mut arguments = Vec::new();
        while self.at < end {
            let argument = self.item(end);
            arguments.push(argument);
        }
        self.at = end + 1;
        arguments
    }

    fn primary(&mut self) -> Vec<Field> {
        let Some(token) = self.token() else {
            return Vec::new();
        };
        match token {
            Token::Text(pieces) => {
                self.at += 1;
                self.script.texts(pieces)
            }
            Token::Mark('(' | '[') => self.bracket(),
            Token::Word(word) => self.name(word),
            _ => Vec::new(),
        }
    }

    /// `(value)`, or all items of `[a, b]` and `(a, b)`.
    fn bracket(&mut self) -> Vec<Field> {
        let end = self.script.after(self.at) - 1;
        self.at += 1;
        let mut all = Vec::new();
        while self.at < end {
            let item = self.item(end);
            if all.len() < MAX_VALUES {
                all.extend(item);
            }
        }
        self.at = end + 1;
        all
    }

    /// A variable, or a call that makes a path. A dotted name counts as one.
    fn name(&mut self, first: &str) -> Vec<Field> {
        if matches!(first, "new" | "await" | "my") {
            self.at += 1;
            return self.primary();
        }
        self.at += 1;
        if self.script.variables.contains_key(first) {
            return self.script.variable(first).unwrap_or_default();
        }
        let mut last = first;
        let mut n_parts = 1;
        while self.mark() == Some('.')
            && let Some(Token::Word(next)) = self.script.code.tokens.get(self.at + 1)
            && n_parts < 4
        {
            last = next;
            n_parts += 1;
            self.at += 2;
            if self.mark() == Some('(') || is_cwd(last) {
                break;
            }
        }
        if self.script.language == Language::Ruby && last == "new" {
            last = first;
        }
        if is_cwd(last) {
            self.call_arguments();
            let cwd = self.script.shell.cwd.as_deref();
            return cwd.map(Field::literal).into_iter().collect();
        }
        if self.mark() == Some('[') && first == "Dir" {
            let patterns = self.bracket();
            return self.globbed(&patterns);
        }
        if self.mark() != Some('(') {
            return Vec::new();
        }
        let arguments = self.call_arguments();
        self.made(last, first, arguments)
    }

    fn made(&mut self, name: &str, first: &str, arguments: Vec<Vec<Field>>) -> Vec<Field> {
        let joins = |arguments: Vec<Vec<Field>>| {
            let start = vec![Field::literal("")];
            arguments
                .iter()
                .fold(start, |all, next| product(&all, next, "/"))
        };
        let mut arguments = arguments.into_iter();
        match name {
            "Path" | "PurePath" | "PosixPath" | "Pathname" | "join" | "resolve" | "path"
            | "catfile" | "joinpath" => joins(arguments.collect()),
            "of" | "get" if matches!(first, "Path" | "Paths") => joins(arguments.collect()),
            "File" if self.script.language == Language::Java => joins(arguments.collect()),
            "file" if matches!(first, "file") && self.script.language == Language::R => {
                joins(arguments.collect())
            }
            "str" | "String" | "expanduser" | "abspath" | "realpath" | "fspath" | "normpath"
            | "expand_path" | "sorted" | "list" | "reversed" => {
                arguments.next().unwrap_or_default()
            }
            "require" => vec![Field::literal("")],
            "dirname" => {
                let paths = arguments.next().unwrap_or_default();
                paths.iter().filter_map(parent).collect()
            }
            "home" | "homedir" => {
                let home = self.script.shell.scene.home;
                home.map(Field::literal).into_iter().collect()
            }
            "glob" | "iglob" => self.globbed(&arguments.next().unwrap_or_default()),
            "listdir" | "readdirSync" | "children" | "entries" if first != "Object" => {
                self.listed(&arguments.next().unwrap_or_default(), "")
            }
            _ => Vec::new(),
        }
    }

    fn method(&mut self, own: Vec<Field>, name: &str, arguments: Vec<Vec<Field>>) -> Vec<Field> {
        let first = arguments.first().cloned().unwrap_or_default();
        let changed = |change: fn(&str, &str) -> Option<String>| {
            let pairs = own.iter().flat_map(|a| first.iter().map(move |b| (a, b)));
            let texts =
                pairs.filter_map(|(a, b)| Some(a.with_text(change(a.known()?, b.known()?)?)));
            texts.take(MAX_VALUES).collect()
        };
        match name {
            "joinpath" | "child" => arguments
                .iter()
                .fold(own, |all, next| product(&all, next, "/")),
            "join" => match (self.script.language, own.as_slice()) {
                (Language::Python, [between]) => joined(&first, &between.text),
                // `require("path").join(…)`, or a list's own method.
                (Language::Script, [only]) if only.text.is_empty() => arguments
                    .iter()
                    .fold(own, |all, next| product(&all, next, "/")),
                (Language::Script, items) => {
                    joined(items, first.first().map_or(",", |between| &between.text))
                }
                _ => product(&own, &first, "/"),
            },
            "parent" | "dirname" => own.iter().filter_map(parent).collect(),
            "resolve" | "absolute" | "expanduser" | "to_s" | "toString" | "as_posix" | "strip"
            | "trim" => own,
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

    /// What patterns find on the disk.
    fn globbed(&mut self, patterns: &[Field]) -> Vec<Field> {
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

/// Names and calls that stand for the working directory.
fn is_cwd(name: &str) -> bool {
    matches!(
        name,
        "cwd" | "getcwd" | "pwd" | "__dirname" | "currentDirectory"
    )
}
