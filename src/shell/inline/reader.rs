//! Follows code from its first token to its last, once: assignments, loops, calls.

use std::collections::HashMap;

use super::super::eval::Shell;
use super::super::field::Field;
use super::super::lex::MAX_DEPTH;
use super::super::own::{self, Depth};
use super::super::{Limit, copy, nested};
use super::Language;
use super::calls::{Effect, effect};
use super::token::{Token, tokens};
use super::value::Value;
use crate::base::target::Act;

/// How much is copied in one step of the bound on work.
const BYTES_A_STEP: usize = 256;

/// A name, empty where it has none, and a value.
type Argument = (String, Value);

struct Reader<'h, 's> {
    shell: &'h mut Shell<'s>,
    language: Language,
    names: HashMap<String, Value>,
    tokens: Vec<Token>,
    at: usize,
}

pub(super) fn run(shell: &mut Shell<'_>, language: Language, text: &str) {
    let mut reader = Reader {
        shell,
        language,
        names: HashMap::new(),
        tokens: tokens(language, text),
        at: 0,
    };
    while reader.at < reader.tokens.len() && !reader.shell.has_given_up() {
        reader.statement();
    }
}

impl Reader<'_, '_> {
    fn is_at(&self, ahead: usize, sign: char) -> bool {
        self.tokens.get(self.at + ahead) == Some(&Token::Sign(sign))
    }

    fn is(&self, sign: char) -> bool {
        self.is_at(0, sign)
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = self.is(sign);
        self.at += usize::from(found);
        found
    }

    fn name(&self, ahead: usize) -> Option<String> {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Name(name)) => Some(name.clone()),
            _ => None,
        }
    }

    /// Whether a single `=` comes next.
    fn assigns(&self, ahead: usize) -> bool {
        let longer = ['=', '>', '~'];
        self.is_at(ahead, '=') && !longer.iter().any(|sign| self.is_at(ahead + 1, *sign))
    }

    fn lines(&mut self) {
        while self.tokens.get(self.at) == Some(&Token::Newline) {
            self.at += 1;
        }
    }

    fn statement(&mut self) {
        let start = self.at;
        let name = self.name(0).unwrap_or_default();
        match name.as_str() {
            "for" | "foreach" => self.for_each(),
            "def" | "function" | "sub" => self.parameters(),
            "my" | "our" | "const" | "let" | "var" | "return" | "await" | "if" | "else" => {}
            "" => drop(self.expression()),
            _ if self.assigns(1) => {
                self.at += 2;
                let value = self.expression();
                self.names.insert(name, value);
            }
            _ if self.is_at(1, '+') && self.is_at(2, '=') => {
                self.at += 3;
                let before = self.names.remove(&name).unwrap_or_default();
                let value = before.followed_by(&self.expression());
                self.names.insert(name, value);
            }
            // `a, b = …` is not followed.
            _ if self.is_at(1, ',') && self.name(2).is_some() && self.assigns(3) => self.at += 4,
            _ => drop(self.expression()),
        }
        if self.at == start {
            self.at += 1;
        }
    }

    /// `for a, b in [(…), …]`, `for (const a of […])`, `for my $a (…)`
    fn for_each(&mut self) {
        let mut names = Vec::new();
        loop {
            self.at += 1;
            match self.tokens.get(self.at) {
                Some(Token::Name(name)) => match name.as_str() {
                    "my" | "const" | "let" | "var" | "await" => {}
                    "in" | "of" => {
                        self.at += 1;
                        break;
                    }
                    name => names.push(name.to_owned()),
                },
                Some(Token::Sign('(')) if self.language == Language::Perl => break,
                Some(Token::Sign('(' | ',' | ')' | '[' | ']')) => {}
                _ => return,
            }
        }
        let list = match self.language {
            Language::Perl => self.list(')'),
            _ => self.expression(),
        };
        self.bind(names, &list);
    }

    /// Gives names the elements of a list, or the columns of its rows.
    fn bind(&mut self, names: Vec<String>, list: &Value) {
        for (column, name) in names.into_iter().enumerate() {
            self.names.insert(name, list.column(column));
        }
    }

    /// What a function's parameters hold is not known.
    fn parameters(&mut self) {
        while !matches!(
            self.tokens.get(self.at),
            None | Some(Token::Newline | Token::Sign(')' | '{'))
        ) {
            self.name(0).and_then(|name| self.names.remove(&name));
            self.at += 1;
        }
    }

    /// Operands with `+` or `/` between them. Of a choice the value is not known.
    fn expression(&mut self) -> Value {
        let mut value = self.operand();
        loop {
            if self.eat('+') || (self.language == Language::Python && self.eat('|')) {
                self.lines();
                value = value.followed_by(&self.operand());
            } else if self.language == Language::Python && self.eat('/') {
                value = value.below(&self.operand());
            } else {
                break;
            }
        }
        match self.tokens.get(self.at) {
            Some(Token::Sign('?' | '%' | '*' | '|')) => Value::Unknown,
            Some(Token::Name(name)) if name == "if" => Value::Unknown,
            _ => value,
        }
    }

    fn operand(&mut self) -> Value {
        if self.shell.depth >= MAX_DEPTH {
            self.shell.give_up(Limit::Depth);
            self.at = self.tokens.len();
            return Value::Unknown;
        }
        self.shell.depth += 1;
        let value = self.shallow_operand();
        self.shell.depth -= 1;
        value
    }

    /// A literal, a name, a call, a list, and what is asked of it.
    fn shallow_operand(&mut self) -> Value {
        let mut receiver = String::new();
        let mut value = match self.tokens.get(self.at).cloned() {
            Some(Token::Text(text)) => self.texts(text),
            Some(Token::Sign('(')) => self.parenthesized(),
            Some(Token::Sign('[')) => self.list(']'),
            Some(Token::Sign('{')) => self.list('}'),
            Some(Token::Name(name)) => {
                self.at += 1;
                let variable = if self.is('(') {
                    None
                } else {
                    self.value_of(&name)
                };
                match variable {
                    Some(value) => value,
                    None if name.starts_with(|c: char| c.is_ascii_digit()) => {
                        Value::number(&name).unwrap_or_default()
                    }
                    None if matches!(name.as_str(), "await" | "my" | "new") => {
                        return self.operand();
                    }
                    None => {
                        receiver = name;
                        self.call("", &receiver.clone(), Value::Unknown)
                    }
                }
            }
            _ => return Value::Unknown,
        };
        loop {
            if self.is('.')
                && let Some(name) = self.name(1)
            {
                self.at += 2;
                value = self.member(&receiver, &name, value);
                receiver = name;
            } else if self.is('[') {
                value = self.element(&value);
            } else {
                return value;
            }
        }
    }

    /// `list[1]`
    fn element(&mut self, value: &Value) -> Value {
        let number = self.name(1).and_then(|number| number.parse().ok());
        self.list(']');
        match (number, value) {
            (Some(at), Value::List(list)) => list.get::<usize>(at).cloned().unwrap_or_default(),
            _ => Value::Unknown,
        }
    }

    /// A copy of what a name holds. Copies are work: a value can be twice the one before it.
    fn value_of(&mut self, name: &str) -> Option<Value> {
        let value = self.names.get(name)?;
        self.shell.spend(value.weight() / BYTES_A_STEP);
        let is_over = self.shell.has_given_up();
        Some(if is_over {
            Value::Unknown
        } else {
            value.clone()
        })
    }

    /// Parentheses around one expression, or a list.
    fn parenthesized(&mut self) -> Value {
        let start = self.at;
        let list = self.list(')');
        if self.is('=') && self.is_at(1, '>') {
            // `(a, b) => …`
            let end = std::mem::replace(&mut self.at, start);
            self.parameters();
            self.at = end;
        }
        match list {
            Value::List(mut elements) if elements.len() == 1 => elements.remove(0),
            list => list,
        }
    }

    /// A list in brackets; a colon makes a row of a key and a value.
    fn list(&mut self, close: char) -> Value {
        let elements = self.arguments(close).into_iter().map(|(_, value)| value);
        Value::List(elements.collect())
    }

    /// From an opening bracket to its end.
    fn arguments(&mut self, close: char) -> Vec<Argument> {
        self.at += 1;
        let mut arguments = Vec::new();
        while self.at < self.tokens.len() && !self.eat(close) {
            self.lines();
            if !self.eat(',') && !self.is(close) {
                self.argument(close, &mut arguments);
            }
        }
        arguments
    }

    fn argument(&mut self, close: char, arguments: &mut Vec<Argument>) {
        let mut name = String::new();
        if self.assigns(1) {
            name = self.name(0).unwrap_or_default();
            self.at += 2;
        }
        let start = self.at;
        let mut value = self.expression();
        if close == '}' && self.eat(':') {
            value = Value::List(vec![value, self.expression()]);
        }
        let is_end =
            self.is(',') || self.is(close) || self.tokens.get(self.at) == Some(&Token::Newline);
        if is_end && self.at > start {
            return arguments.push((name, value));
        }
        // What is no list of expressions is read as statements.
        arguments.push((name, Value::Unknown));
        while self.at < self.tokens.len() && !self.is(close) && !self.is(',') {
            self.statement();
        }
    }

    /// Texts one after another are one.
    fn texts(&mut self, mut text: String) -> Value {
        self.at += 1;
        while let Some(Token::Text(more)) = self.tokens.get(self.at) {
            text.push_str(more);
            self.at += 1;
        }
        Value::text(text)
    }

    fn member(&mut self, receiver: &str, name: &str, value: Value) -> Value {
        match name {
            "path" | "promises" if !self.is('(') => value,
            "O_WRONLY" | "O_RDWR" | "O_CREAT" | "O_TRUNC" | "O_APPEND" => Value::text("w"),
            "items" | "keys" | "entries" if self.is('(') => {
                self.arguments(')');
                value
            }
            // `['a', 'b'].forEach(name => …)`: the body is read as statements.
            "forEach" | "each" => {
                let mut names = (0..4).filter_map(|ahead| self.name(ahead));
                let name = names.find(|name| !matches!(name.as_str(), "do" | "async" | "function"));
                self.bind(name.into_iter().collect(), &value);
                Value::Unknown
            }
            _ => self.call(receiver, name, value),
        }
    }

    fn call(&mut self, receiver: &str, name: &str, value: Value) -> Value {
        // A text has a `replace` too.
        let is_own = name != "replace" || receiver == "os" || matches!(value, Value::Texts(_));
        let effect = if is_own {
            effect(self.language, receiver, name)
        } else {
            None
        };
        let may_be_bare = matches!(self.language, Language::Perl | Language::Ruby);
        let mut arguments = if self.is('(') {
            self.arguments(')')
        } else if may_be_bare && effect.is_some() {
            self.bare_arguments()
        } else {
            return Value::Unknown;
        };
        if !matches!(value, Value::Unknown) {
            arguments.insert(0, (String::new(), value));
        }
        effect.map_or(Value::Unknown, |effect| self.apply(effect, arguments))
    }

    /// Arguments without parentheses, up to the statement's end.
    fn bare_arguments(&mut self) -> Vec<Argument> {
        let mut arguments = Vec::new();
        loop {
            let start = self.at;
            let value = self.expression();
            arguments.extend((self.at > start).then_some((String::new(), value)));
            if !self.eat(',') {
                return arguments;
            }
        }
    }

    fn apply(&mut self, effect: Effect, arguments: Vec<Argument>) -> Value {
        let positional = arguments.iter().filter(|(name, _)| name.is_empty());
        let values: Vec<Value> = positional.map(|(_, value)| value.clone()).collect();
        let value = |at: usize| {
            let name = ["file", "mode"].get(at);
            let mut all = arguments.iter();
            let named = all.find(|(own, _)| Some(&own.as_str()) == name);
            let value = values.get(at).or(named.map(|(_, value)| value));
            value.cloned().unwrap_or_default()
        };
        match effect {
            Effect::Change(act) => self.shell.report_all(value(0).texts(), act),
            Effect::ChangeAll(act) => self.shell.report_all(all_texts(&values), act),
            Effect::Open if self.language == Language::Perl => {
                let (path, mode) = perl_mode(&value(1), value(2));
                self.open(&path, &mode);
            }
            Effect::Open => self.open(&value(0), &value(1)),
            Effect::Copy => pairs(self.shell, &values, |shell, from, to| {
                shell.copy_to(from, to);
            }),
            // A text's `replace` has two arguments beside it.
            Effect::Move if values.len() != 2 => {}
            Effect::Move => pairs(self.shell, &values, copy::move_to),
            Effect::Link => pairs(self.shell, &values, |shell, to, at| {
                shell.report_link(at, to)
            }),
            Effect::Access => self.change_access(&values, Depth::Here),
            Effect::AccessBelow => self.change_access(&values, Depth::Below),
            Effect::Run => self.shell.subshell(|shell| {
                // Where it runs then is not known.
                if arguments.iter().any(|(name, _)| name == "cwd") {
                    shell.place.cwd = None;
                }
                run_command(shell, &values);
            }),
            Effect::ChangeDir => {
                let dir = value(0).texts().first().cloned();
                self.shell.enter(&dir.unwrap_or_else(Field::unknown).text);
            }
            Effect::Join => return Value::joined(&values),
            Effect::Same => return value(0),
            Effect::Place => {
                let found = own::place(value(0).texts());
                return found.map_or(Value::Unknown, |path| Value::Texts(vec![path]));
            }
        }
        Value::Unknown
    }

    /// `chmod PATH, MODE` or `chmod MODE, PATHS`, of `chown` with a user and a group.
    fn change_access(&mut self, values: &[Value], asked: Depth) {
        let closes = values.iter().any(|value| match value {
            Value::Number(mode) => own::closes(mode >> 6),
            _ => false,
        });
        let paths: Vec<Field> = all_texts(values).cloned().collect();
        let depth = if closes { Depth::Below } else { asked };
        own::report_program(self.shell, &paths, depth);
    }

    /// Opens a file, for writing if its mode says so.
    fn open(&mut self, path: &Value, mode: &Value) {
        let act = match mode.first() {
            mode if mode.len() > 4 => return,
            mode if mode.contains(['w', 'x']) => Act::Write,
            mode if mode.contains(['a', '+']) => Act::Edit,
            _ => return,
        };
        self.shell.report_all(path.texts(), act);
    }
}

/// Runs a line, or a program with its arguments.
fn run_command(shell: &mut Shell<'_>, values: &[Value]) {
    if let [Value::Texts(lines)] = values {
        for line in lines.chunks(1) {
            nested::line(shell, line);
        }
        return;
    }
    let elements = values.iter().flat_map(Value::elements);
    let words = elements.map(|value| value.texts().first().cloned());
    let words: Vec<Field> = words
        .map(|word| word.unwrap_or_else(Field::unknown))
        .collect();
    shell.deeper(|shell| shell.run_program(&words));
}

/// Every text that the values may be, those of lists too.
fn all_texts(values: &[Value]) -> impl Iterator<Item = &Field> {
    let elements = values.iter().flat_map(Value::elements);
    elements.flat_map(Value::texts)
}

/// What is done with each source and its destination.
fn pairs(shell: &mut Shell<'_>, values: &[Value], act: impl Fn(&mut Shell<'_>, &Field, &Field)) {
    let unknown = [Field::unknown()];
    let (Some(from), Some(to)) = (values.first(), values.get(1)) else {
        return;
    };
    let from = match from.texts() {
        [] => &unknown,
        from => from,
    };
    for (at, to) in to.texts().iter().enumerate() {
        act(shell, from.get(at).unwrap_or(&from[0]), to);
    }
}

/// `open(my $f, ">", PATH)`, `open(F, ">PATH")`: the path, and a mode as others have it.
fn perl_mode(mode: &Value, path: Value) -> (Value, Value) {
    let sign = mode.first().trim_start_matches('+');
    let letter = match sign {
        sign if sign.starts_with(">>") => "a",
        sign if sign.starts_with('>') => "w",
        _ => "",
    };
    let path = match path {
        Value::Unknown if !sign.trim_matches(['>', ' ']).is_empty() => {
            let texts = mode.texts().iter();
            let names =
                texts.map(|text| text.with_text(text.text.trim_start_matches(['+', '>', ' '])));
            Value::Texts(names.collect())
        }
        path => path,
    };
    (path, Value::text(letter))
}
