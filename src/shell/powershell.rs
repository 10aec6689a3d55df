//! PowerShell: cmdlets, calls of .NET's file classes and redirections, with paths that are
//! literals or were assigned one. Blocks are read from top to bottom, whatever their condition.

mod cmdlets;

use std::collections::HashMap;

use self::cmdlets::{Arguments, Effect, effect, method};
use super::copy::move_to;
use super::eval::Shell;
use super::field::{Field, dir_name};
use super::glob::is_pattern;
use super::lex::is_name_byte;
use crate::base::target::{Act, Spelling};

#[derive(Default)]
struct Statement {
    /// The variable that gets its value.
    variable: Option<String>,
    /// The method of .NET whose arguments it is.
    method: Option<Effect>,
    words: Vec<Field>,
    /// Whether it begins with a value instead of a name.
    is_value: bool,
}

struct Reader<'t, 'h, 's> {
    rest: &'t str,
    shell: &'h mut Shell<'s>,
    variables: HashMap<String, Field>,
    statement: Statement,
}

pub(super) fn run(shell: &mut Shell<'_>, text: &str) {
    shell.spend(text.len() / 64);
    let mut reader = Reader {
        rest: text,
        shell,
        variables: HashMap::new(),
        statement: Statement::default(),
    };
    while let Some(c) = reader.rest.chars().next()
        && !reader.shell.has_given_up()
    {
        reader.token(c);
    }
    reader.end();
}

impl<'t> Reader<'t, '_, '_> {
    fn skip(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or("");
    }

    /// Goes behind the next mark, or to the end.
    fn skip_to(&mut self, mark: &str) {
        let at = self.rest.find(mark);
        self.skip(at.map_or(self.rest.len(), |at| at + mark.len()));
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take_name(&mut self) -> &'t str {
        let mut bytes = self.rest.bytes();
        let end = bytes.position(|byte| !is_name_byte(byte) && byte != b':');
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        name
    }

    fn token(&mut self, c: char) {
        let rest = self.rest;
        match c {
            '#' => self.skip(rest.find('\n').unwrap_or(rest.len())),
            '<' if rest.starts_with("<#") => self.skip_to("#>"),
            '\n' | ';' | '|' | '&' | '{' | '}' | ')' => {
                self.skip(1);
                self.end();
            }
            // What is in parentheses is a statement of its own; what it comes to is not known.
            '(' => {
                self.skip(1);
                if !self.statement.words.is_empty() {
                    self.statement.words.push(Field::unknown());
                }
                self.end();
            }
            '@' if rest.starts_with("@(") => self.skip(1),
            c if c.is_whitespace() || ",`]".contains(c) => self.skip(c.len_utf8()),
            '[' => self.class(),
            '$' if self.statement.words.is_empty() && self.assigns() => {}
            _ if self.redirects() => {}
            c => {
                self.statement.is_value |= self.statement.words.is_empty() && "$'\"@".contains(c);
                let word = self.word();
                self.statement.words.push(word);
            }
        }
    }

    /// Runs the statement that ends here.
    fn end(&mut self) {
        let here = self.shell.place.cwd.as_deref().map_or(0, str::len);
        self.shell.spend(1 + here / 64);
        let statement = std::mem::take(&mut self.statement);
        let mut value = Field::unknown();
        match (statement.method, statement.words.as_slice()) {
            (Some(effect), words) => self.apply(effect, Arguments::of(words)),
            (None, [word]) if statement.is_value => value = word.clone(),
            (None, [name, arguments @ ..]) if !statement.is_value => self.cmdlet(name, arguments),
            _ => {}
        }
        if let Some(name) = statement.variable {
            self.variables.insert(name, value);
        }
    }

    /// `$name =`. What a loop gives a name, or adds to it, is not known.
    fn assigns(&mut self) -> bool {
        let before = self.rest;
        self.skip(1);
        let name = self.take_name().to_lowercase();
        let behind = self.rest.trim_start_matches([' ', '\t']);
        if behind.starts_with('=') && !behind.starts_with("==") {
            self.rest = &behind[1..];
            self.statement.variable = Some(name);
            return true;
        }
        if behind.starts_with("in ") || behind.starts_with("+=") {
            self.variables.remove(&name);
        }
        self.rest = before;
        false
    }

    /// `> FILE`, `2>> FILE`, `2>&1`
    fn redirects(&mut self) -> bool {
        let digits = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let sign = digits.strip_prefix('*').unwrap_or(digits);
        let Some(file) = sign.strip_prefix('>') else {
            return false;
        };
        let act = if file.starts_with('>') {
            Act::Edit
        } else {
            Act::Write
        };
        self.rest = file.trim_start_matches(['>', ' ']);
        if self.eat("&") {
            self.skip(1);
        } else {
            let file = self.word();
            self.change(Some(file), act);
        }
        true
    }

    fn word(&mut self) -> Field {
        let mut word = Field::literal("");
        while let Some(c) = self.rest.chars().next() {
            let part = match c {
                c if c.is_whitespace() || ";|&,(){}".contains(c) => break,
                '@' if self.eat("@'") => self.here_string("\n'@"),
                '@' if self.eat("@\"") => self.here_string("\n\"@"),
                '\'' | '"' => self.quoted(c),
                '$' => match self.dollar() {
                    // What is asked of it is not known.
                    _ if self.rest.starts_with('.') => Field::unknown(),
                    value => value,
                },
                c => {
                    self.skip(c.len_utf8());
                    Field::literal(c)
                }
            };
            word.push_to_path(&part);
        }
        word
    }

    /// The value of `@'…'@` is not known.
    fn here_string(&mut self, end: &str) -> Field {
        self.skip_to(end);
        Field::unknown()
    }

    fn quoted(&mut self, quote: char) -> Field {
        self.skip(1);
        let mut text = Field::literal("");
        while let Some(c) = self.rest.chars().next() {
            if c == '$' && quote == '"' {
                let value = self.dollar();
                text.push_to_path(&value);
                continue;
            }
            self.skip(c.len_utf8());
            if c == quote && !self.rest.starts_with(quote) {
                break;
            }
            self.skip(usize::from(c == quote));
            text.text.push(c);
        }
        text
    }

    /// `$name`, `${name}`, `$env:NAME`. What `$(…)` comes to is not known.
    fn dollar(&mut self) -> Field {
        self.skip(1);
        if self.rest.starts_with('(') {
            self.skip_to(")");
            return Field::unknown();
        }
        let has_brace = self.eat("{");
        let name = self.take_name().to_lowercase();
        if has_brace {
            self.eat("}");
        }
        if let Some(value) = self.variables.get(&name) {
            self.shell.spend(1 + value.text.len() / 64);
            return value.clone();
        }
        match name.as_str() {
            "pwd" => Field::of(self.shell.place.cwd.as_deref()),
            "home" => self.shell.home(),
            "" => Field::literal("$"),
            name => {
                let variable = name.strip_prefix("env:").map(str::to_uppercase);
                let value = self.shell.variable(&variable.unwrap_or_default());
                value.cloned().unwrap_or_else(Field::unknown)
            }
        }
    }

    /// `[IO.File]::WriteAllText(`; a type in front of something else says nothing.
    fn class(&mut self) {
        self.skip(1);
        let len = self.rest.find([']', '\n']).unwrap_or(self.rest.len());
        let class = self.rest[..len].to_lowercase();
        self.skip(len + 1);
        if !self.eat("::") {
            return;
        }
        let effect = method(&class, &self.take_name().to_lowercase());
        if self.eat("(") {
            self.end();
            self.statement.method = Some(effect.unwrap_or(Effect::Nothing));
        }
    }

    fn cmdlet(&mut self, name: &Field, arguments: &[Field]) {
        let Some(effect) = effect(&name.text.to_lowercase()) else {
            self.shell.program.clone_from(&name.text);
            self.shell.unknown_write();
            let words = [std::slice::from_ref(name), arguments].concat();
            self.shell
                .subshell(|shell| shell.deeper(|shell| shell.run_program(&words)));
            return;
        };
        let arguments = Arguments::parse(arguments);
        if !arguments.has("whatif") {
            self.apply(effect, arguments);
        }
    }

    fn apply(&mut self, effect: Effect, mut arguments: Arguments) {
        match effect {
            Effect::Change(_) if arguments.has("append") => {
                self.change(arguments.path(), Act::Edit);
            }
            Effect::Change(act) => self.change(arguments.path(), act),
            Effect::Item => self.new_item(arguments),
            Effect::Remove if arguments.has("recurse") => {
                self.change(arguments.paths(), Act::RemoveTree);
            }
            Effect::Remove => self.change(arguments.paths(), Act::Remove),
            Effect::Copy | Effect::Move => self.carry(effect, arguments),
            Effect::Rename => {
                if let (Some(from), Some(name)) = (arguments.path(), arguments.take("newname")) {
                    let from = as_path(&from);
                    let to = from.with_text(dir_name(&from.text)).join(&as_path(&name));
                    move_to(self.shell, &from, &to);
                }
            }
            Effect::ChangeDir => {
                let dir = arguments.path().unwrap_or_else(Field::unknown);
                self.shell.enter(&as_path(&dir).text);
            }
            Effect::Download => self.change(arguments.named("outfile").cloned(), Act::Write),
            Effect::Nothing => {}
        }
    }

    /// Copies or moves.
    fn carry(&mut self, effect: Effect, mut arguments: Arguments) {
        let named = arguments.named("destination").cloned();
        let Some(to) = named.or_else(|| arguments.positional.pop()) else {
            return;
        };
        let to = as_path(&to);
        for from in arguments.paths().iter().map(as_path) {
            match effect {
                Effect::Move => move_to(self.shell, &from, &to),
                _ => self.shell.copy_to(&from, &to),
            }
        }
    }

    /// `New-Item -ItemType Directory PATH`, perhaps with the name beside it.
    fn new_item(&mut self, mut arguments: Arguments) {
        let kind = arguments.named("itemtype").map_or("", |kind| &kind.text);
        let act = if kind.eq_ignore_ascii_case("directory") {
            Act::MakeDir
        } else {
            Act::Write
        };
        let parts = [arguments.path(), arguments.named("name").cloned()];
        let path = parts.into_iter().flatten();
        self.change(path.reduce(|dir, name| dir.join(&name)), act);
    }

    fn change(&mut self, paths: impl IntoIterator<Item = Field>, act: Act) {
        for path in paths {
            self.shell.report(&as_path(&path), act);
        }
    }
}

/// A path with `/`, which may be a pattern.
fn as_path(path: &Field) -> Field {
    let mut slashed = path.with_text(path.text.replace('\\', "/"));
    if is_pattern(&slashed.text) {
        slashed.spelling = Spelling::Glob { matches: None };
    }
    slashed
}
