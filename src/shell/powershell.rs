//! PowerShell: cmdlets, calls of .NET's file classes and redirections, with paths that are
//! literals or were assigned one.

mod cmdlets;

use std::collections::HashMap;

use self::cmdlets::{Arguments, Effect, effect, method};
use super::Limit;
use super::copy::move_to;
use super::eval::Shell;
use super::field::{Field, dir_name, to_fields};
use super::glob::is_pattern;
use super::lex::{MAX_DEPTH, is_name_byte};
use crate::base::target::Act;

/// The longest value of a variable that is followed, in bytes: a path, or a short script.
const MAX_VALUE: usize = 64 << 10;

/// How much is copied in one step of the bound on work.
const BYTES_A_STEP: usize = 256;

struct Reader<'t, 'h, 's> {
    rest: &'t str,
    shell: &'h mut Shell<'s>,
    variables: HashMap<String, Field>,
}

pub(super) fn run(shell: &mut Shell<'_>, text: &str) {
    shell.spend(text.len() / 64);
    let mut reader = Reader {
        rest: text,
        shell,
        variables: HashMap::new(),
    };
    while !reader.rest.is_empty() && !reader.shell.has_given_up() {
        reader.statements();
        reader.skip(1);
    }
}

impl<'t> Reader<'t, '_, '_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or("");
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes the letters of a name.
    fn take_name(&mut self) -> &'t str {
        let end = self
            .rest
            .bytes()
            .position(|byte| !is_name_byte(byte) && byte != b':');
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        name
    }

    /// Over blanks, comments and continued lines.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest;
            match rest.as_bytes() {
                [b' ' | b'\t' | b'\r', ..] => self.skip(1),
                [b'`', b'\n', ..] => self.skip(2),
                [b'#', ..] => self.skip(rest.find('\n').unwrap_or(rest.len())),
                [b'<', b'#', ..] => self.skip(rest.find("#>").map_or(rest.len(), |at| at + 2)),
                _ => return,
            }
        }
    }

    /// Statements up to a closing bracket; gives the value of the last one.
    fn statements(&mut self) -> Field {
        let mut value = Field::unknown();
        if self.shell.depth >= MAX_DEPTH {
            self.shell.give_up(Limit::Depth);
            self.rest = "";
        }
        self.shell.depth += 1;
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(')' | '}') => break,
                Some('\n' | ';' | '&' | '|' | ',' | ']') => self.skip(1),
                Some(_) => value = self.statement(),
            }
        }
        self.shell.depth -= 1;
        value
    }

    /// `$name = …`, or a command.
    fn statement(&mut self) -> Field {
        let here = self.shell.place.cwd.as_ref().map_or(0, String::len);
        self.shell.spend(1 + here / 64);
        if self.shell.has_given_up() {
            self.rest = "";
        }
        let before = self.rest;
        if self.eat("$") {
            let name = self.take_name().to_lowercase();
            self.skip_blanks();
            if self.rest.starts_with('=') && !self.rest.starts_with("==") {
                self.skip(1);
                self.skip_blanks();
                let value = self.command();
                let is_short = value.text.len() <= MAX_VALUE;
                let kept = if is_short { value } else { Field::unknown() };
                self.variables.insert(name, kept);
                return Field::unknown();
            }
            // What a loop gives a name is not known.
            if self.rest.starts_with("in ") {
                self.variables.remove(&name);
            }
        }
        self.rest = before;
        self.command()
    }

    /// A value by itself, or a command; the words of a list follow one another.
    fn command(&mut self) -> Field {
        let mut words = Vec::new();
        let is_value = self.peek().is_some_and(|c| "$'\"([@".contains(c));
        loop {
            self.skip_blanks();
            let before = self.rest.len();
            match self.peek() {
                None | Some('\n' | ';' | '|' | '&' | ')' | '}') => break,
                Some('{') => {
                    self.skip(1);
                    self.statements();
                    self.eat("}");
                }
                Some(',') => self.skip(1),
                Some(_) if self.redirect() => {}
                Some(_) => words.push(self.word()),
            }
            if self.rest.len() == before {
                self.skip(self.peek().map_or(1, char::len_utf8));
            }
        }
        match words.as_slice() {
            [value] if is_value => value.clone(),
            [name, arguments @ ..] if !is_value => self.run_named(name, arguments),
            _ => Field::unknown(),
        }
    }

    fn run_named(&mut self, name: &Field, arguments: &[Field]) -> Field {
        let Some(effect) = effect(&name.text.to_lowercase()) else {
            self.shell.program.clone_from(&name.text);
            self.shell.unknown_write();
            let words = [std::slice::from_ref(name), arguments].concat();
            self.shell.subshell(|shell| shell.run_program(&words));
            return Field::unknown();
        };
        let arguments = Arguments::parse(arguments);
        if arguments.has("whatif") {
            Field::unknown()
        } else {
            self.apply(effect, arguments)
        }
    }

    /// `> FILE`, `2>> FILE`, `2>&1`
    fn redirect(&mut self) -> bool {
        let sign = self
            .rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '*');
        if !sign.starts_with('>') {
            return false;
        }
        self.rest = sign.trim_start_matches('>');
        let act = if sign.starts_with(">>") {
            Act::Edit
        } else {
            Act::Write
        };
        if self.eat("&") {
            self.skip(1);
            return true;
        }
        self.skip_blanks();
        let file = self.word();
        self.change([file], act);
        true
    }

    fn word(&mut self) -> Field {
        let mut word = Field::literal("");
        let before = self.rest.len();
        while let Some(c) = self.peek() {
            let is_start = self.rest.len() == before;
            let part = match c {
                c if c.is_whitespace() || ";|&,)}".contains(c) => break,
                '{' | '>' if is_start => break,
                '[' if is_start => self.class(),
                '@' if self.rest.starts_with("@'") => self.here_string("\n'@"),
                '@' if self.rest.starts_with("@\"") => self.here_string("\n\"@"),
                '@' if self.rest.starts_with("@(") => {
                    self.skip(1);
                    continue;
                }
                '(' => self.parenthesized(),
                '\'' | '"' => self.quoted(c),
                '$' => match self.dollar() {
                    // What is asked of it is not known.
                    _ if self.rest.starts_with('.') => Field::unknown(),
                    value => value,
                },
                '`' => {
                    self.skip(1);
                    continue;
                }
                c => {
                    self.skip(c.len_utf8());
                    Field::literal(c)
                }
            };
            word.push(&part);
        }
        word
    }

    fn parenthesized(&mut self) -> Field {
        self.skip(1);
        let value = self.statements();
        self.eat(")");
        value
    }

    /// Over `@'…'@`, of which the value is not known.
    fn here_string(&mut self, end: &str) -> Field {
        let len = self.rest.find(end).map_or(usize::MAX, |at| at + end.len());
        self.skip(len);
        Field::unknown()
    }

    fn quoted(&mut self, quote: char) -> Field {
        self.skip(1);
        let mut text = Field::literal("");
        while let Some(c) = self.peek() {
            match c {
                '$' if quote == '"' => text.push(&self.dollar()),
                c => {
                    self.skip(c.len_utf8());
                    if c == quote && self.peek() != Some(quote) {
                        break;
                    }
                    self.skip(usize::from(c == quote));
                    text.text.push(c);
                }
            }
        }
        text
    }

    /// `$name`, `${name}`, `$env:NAME`, `$(…)`
    fn dollar(&mut self) -> Field {
        self.skip(1);
        if self.peek() == Some('(') {
            return self.parenthesized();
        }
        let has_brace = self.eat("{");
        let name = self.take_name().to_lowercase();
        if has_brace {
            self.eat("}");
        }
        let environment = name.strip_prefix("env:").map(str::to_uppercase);
        match (self.variables.get(&name), name.as_str()) {
            (Some(value), _) => {
                // A value can be twice the one before it, so that a copy is work.
                self.shell.spend(value.text.len() / BYTES_A_STEP);
                let is_over = self.shell.has_given_up();
                if is_over {
                    Field::unknown()
                } else {
                    value.clone()
                }
            }
            (_, "pwd") => Field::of(self.shell.place.cwd.as_ref()),
            (_, "home") => self.shell.home(),
            (_, "") => Field::literal("$"),
            _ => {
                let name = environment.unwrap_or_default();
                let variable = self.shell.variable_text(&name).cloned();
                variable.unwrap_or_else(Field::unknown)
            }
        }
    }

    /// `[IO.File]::WriteAllText(PATH, …)`; of another class the value is not known.
    fn class(&mut self) -> Field {
        self.skip(1);
        let len = self.rest.find([']', '\n']).unwrap_or(self.rest.len());
        let class = self.rest[..len].to_lowercase();
        self.skip(len + 1);
        if !self.eat("::") {
            return Field::literal("");
        }
        let effect = method(&class, &self.take_name().to_lowercase());
        let mut arguments = Arguments::default();
        while self.eat("(") || self.eat(",") {
            self.skip_blanks();
            arguments.positional.push(self.word());
            self.skip_blanks();
        }
        self.eat(")");
        effect.map_or_else(Field::unknown, |effect| self.apply(effect, arguments))
    }

    fn apply(&mut self, effect: Effect, mut arguments: Arguments) -> Field {
        match effect {
            Effect::Change(act) => {
                let act = if arguments.has("append") {
                    Act::Edit
                } else {
                    act
                };
                let path = arguments.path();
                self.change(path, act);
            }
            Effect::Item => self.new_item(arguments),
            Effect::Remove if arguments.has("recurse") => {
                self.change(arguments.paths(), Act::RemoveTree);
            }
            Effect::Remove => self.change(arguments.paths(), Act::Remove),
            Effect::Copy | Effect::Move => self.carry(effect, arguments),
            Effect::Rename => {
                let paths = arguments.path();
                let name = arguments.take("newname").as_ref().map(slashed);
                for (from, name) in self.found(paths).iter().zip(&name) {
                    let to = from.with_text(dir_name(&from.text)).join(name);
                    move_to(self.shell, from, &to);
                }
            }
            Effect::ChangeDir => {
                let dir = arguments.path().as_ref().map(slashed);
                self.shell.place.cwd = dir.and_then(|dir| self.shell.absolute(&dir.text));
            }
            Effect::Download => self.change(arguments.named("outfile").cloned(), Act::Write),
            Effect::JoinPath => {
                let child = arguments.named("childpath").cloned();
                let parts = arguments.paths().into_iter().chain(child);
                let path = parts.reduce(|path, part| path.join(&part));
                return path.unwrap_or_else(Field::unknown);
            }
            Effect::Same => return arguments.path().unwrap_or_else(Field::unknown),
            Effect::Nothing => {}
        }
        Field::unknown()
    }

    /// Copies or moves.
    fn carry(&mut self, effect: Effect, mut arguments: Arguments) {
        let named = arguments.named("destination").cloned();
        let Some(to) = named.or_else(|| arguments.positional.pop()) else {
            return;
        };
        let to = slashed(&to);
        for from in self.found(arguments.paths()) {
            match effect {
                Effect::Move => move_to(self.shell, &from, &to),
                _ => self.shell.copy_to(&from, &to),
            }
        }
    }

    /// `New-Item -ItemType Directory PATH`, perhaps with the name beside it.
    fn new_item(&mut self, mut arguments: Arguments) {
        let act = match arguments.named("itemtype") {
            Some(kind) if kind.text.eq_ignore_ascii_case("directory") => Act::MakeDir,
            _ => Act::Write,
        };
        let dir = arguments.path();
        let name = arguments.named("name").cloned();
        self.change(
            [dir, name]
                .into_iter()
                .flatten()
                .reduce(|dir, name| dir.join(&name)),
            act,
        );
    }

    fn change(&mut self, paths: impl IntoIterator<Item = Field>, act: Act) {
        let paths = self.found(paths);
        self.shell.report_all(&paths, act);
    }

    /// Paths with `/`, and for a pattern the names that are there.
    fn found(&mut self, paths: impl IntoIterator<Item = Field>) -> Vec<Field> {
        let mut found = Vec::new();
        for path in paths.into_iter().map(|path| slashed(&path)) {
            match path.known().filter(|path| is_pattern(path)) {
                Some(pattern) => found.extend(to_fields(self.shell.expand_glob(pattern))),
                None => found.push(path),
            }
        }
        found
    }
}

fn slashed(path: &Field) -> Field {
    path.with_text(path.text.replace('\\', "/"))
}
