//! PowerShell: cmdlets, their aliases, redirections and the .NET file calls.
//!
//! Statements are read one by one; blocks and parentheses are read where they
//! stand, so that a script block runs once with what `$_` is known to be.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::byte::is_name_byte;
use super::eval::Shell;
use super::field::{Field, base_name};
use super::glob::Glob;
use super::lex::MAX_DEPTH;
use super::powershell_value::slashed;
use super::{Limit, cmdlets};
use crate::base::target::Act;

/// The longest name of a class in `[…]`.
pub(super) const MAX_CLASS: usize = 64;

/// An argument: a parameter's name, or the values it may hold.
#[derive(Debug)]
pub(super) enum Arg {
    /// `Path` of `-Path`.
    Name(String),
    Values(Vec<Field>),
}

/// The values on their way through a pipeline.
pub(super) type Values = Vec<Field>;

pub(super) struct PowerShell<'t, 'h, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) shell: &'h mut Shell<'s>,
    pub(super) variables: HashMap<String, Values, RandomState>,
    /// Variables that hold a table of parameters.
    tables: HashMap<String, Vec<(String, Values)>, RandomState>,
}

pub(super) fn run(shell: &mut Shell<'_>, text: &str) {
    let mut reader = PowerShell {
        text,
        at: 0,
        depth: 0,
        shell,
        variables: HashMap::default(),
        tables: HashMap::default(),
    };
    while reader.at < text.len() {
        reader.statements();
        reader.at += 1;
    }
}

impl PowerShell<'_, '_, '_> {
    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Reads what may nest, or nothing when the nesting is too deep.
    pub(super) fn nested(&mut self, read: fn(&mut Self) -> Values) -> Values {
        if self.depth == MAX_DEPTH {
            self.shell.give_up(Limit::Depth);
            self.at = self.text.len();
            return Values::new();
        }
        self.depth += 1;
        let values = read(self);
        self.depth -= 1;
        values
    }

    /// Statements up to a closing bracket or the end; gives the last one's values.
    pub(super) fn statements(&mut self) -> Values {
        self.nested(Self::list)
    }

    fn list(&mut self) -> Values {
        let mut values = Values::new();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(')' | '}' | ']') => return values,
                Some('\n' | '\r' | ';' | '&' | '|' | ',') => self.at += 1,
                Some('{') => {
                    self.at += 1;
                    self.statements();
                    self.eat("}");
                }
                Some(_) => {
                    let before = self.at;
                    values = self.pipeline();
                    if self.at == before {
                        self.at += self.peek().map_or(1, char::len_utf8);
                    }
                }
            }
        }
    }

    /// Blanks, comments and line continuations.
    pub(super) fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            self.at += match rest.as_bytes() {
                [b' ' | b'\t', ..] => 1,
                [b'<', b'#', ..] => rest.find("#>").map_or(rest.len(), |at| at + 2),
                [b'#', ..] => rest.find('\n').unwrap_or(rest.len()),
                [b'`', b'\n', ..] => 2,
                [b'`', b'\r', b'\n', ..] => 3,
                _ => return,
            };
        }
    }

    fn pipeline(&mut self) -> Values {
        if let Some(name) = self.assigned_name() {
            if self.eat("@{") {
                let table = self.table();
                self.tables.insert(name, table);
                return Values::new();
            }
            let mut values = self.pipeline_stages();
            if values.is_empty() {
                values.push(Field::unknown());
            }
            self.variables.insert(name, values.clone());
            return values;
        }
        self.pipeline_stages()
    }

    /// `$name =` or `[type]$name =`.
    fn assigned_name(&mut self) -> Option<String> {
        let start = self.at;
        if self.eat("[") {
            let class = self.rest().bytes().take(MAX_CLASS);
            let len = class.take_while(|b| *b != b']').count();
            self.at += len;
            self.eat("]");
        }
        if self.eat("$") {
            let name = self.variable_name();
            self.blanks();
            let assigns = self.rest().starts_with('=') && !self.rest().starts_with("==");
            if assigns && !name.is_empty() {
                self.at += 1;
                self.blanks();
                return Some(name);
            }
        }
        self.at = start;
        None
    }

    /// `name = value` up to the closing brace.
    fn table(&mut self) -> Vec<(String, Values)> {
        let mut table = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None => break,
                Some('}') => {
                    self.at += 1;
                    break;
                }
                Some('\n' | '\r' | ';' | '\'' | '"') => self.at += 1,
                Some(c) => {
                    let name = self.variable_name();
                    self.eat("'");
                    self.eat("\"");
                    self.blanks();
                    if name.is_empty() || !self.eat("=") {
                        self.at += if name.is_empty() { c.len_utf8() } else { 0 };
                        continue;
                    }
                    table.push((name, self.pipeline_stages()));
                }
            }
        }
        table
    }

    /// `@name`: the parameters of a table, or the items of a list.
    fn splat(&mut self, arguments: &mut Vec<Arg>) {
        self.at += 1;
        let name = self.variable_name();
        let Some(table) = self.tables.get(&name) else {
            let items = self.variables.get(&name).into_iter().flatten();
            arguments.extend(items.map(|item| Arg::Values(vec![item.clone()])));
            return;
        };
        for (name, values) in table {
            arguments.push(Arg::Name(name.clone()));
            // What is not known is a switch, as a rule.
            if values.iter().any(|value| value.known().is_some()) {
                arguments.push(Arg::Values(values.clone()));
            }
        }
    }

    pub(super) fn pipeline_stages(&mut self) -> Values {
        let mut piped = Values::new();
        loop {
            self.blanks();
            piped = self.command(piped);
            self.blanks();
            let more = self.peek() == Some('|') && !self.rest().starts_with("||");
            if !more {
                return piped;
            }
            self.at += 1;
            while matches!(self.peek(), Some('\n' | '\r' | ' ' | '\t')) {
                self.at += 1;
            }
        }
    }

    /// One command or expression; gives what it puts into the pipeline.
    fn command(&mut self, piped: Values) -> Values {
        self.eat("&");
        self.blanks();
        if self.rest().starts_with('[')
            && let Some(values) = self.static_call()
        {
            return values;
        }
        let quoted = self
            .peek()
            .is_some_and(|c| matches!(c, '"' | '\'' | '@' | '$' | '('));
        let head = self.values();
        let name = match head.as_slice() {
            [only] => only.known().unwrap_or("").to_ascii_lowercase(),
            _ => String::new(),
        };
        match name.as_str() {
            "foreach" if self.peek() == Some('(') || self.rest().starts_with(" (") => {
                self.foreach();
                return Values::new();
            }
            "foreach-object" | "%" | "foreach" | "where-object" | "?" => {
                self.variables.insert("_".into(), piped.clone());
                let start = self.at;
                self.arguments();
                let condition = self.text.get(start..self.at).unwrap_or("");
                return match name.starts_with(['w', '?']) {
                    true => chosen(piped, condition),
                    false => piped,
                };
            }
            _ => {}
        }
        let (arguments, redirects) = self.arguments();
        let called = arguments.is_empty() && quoted;
        let out = if called {
            head
        } else {
            cmdlets::run(self.shell, &name, &head, &arguments, &piped)
        };
        for (act, files) in redirects {
            cmdlets::put(self.shell, &files, act, &out);
        }
        out
    }

    /// Arguments and redirections up to the command's end.
    fn arguments(&mut self) -> (Vec<Arg>, Vec<(Act, Values)>) {
        let mut arguments = Vec::new();
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if let Some(act) = self.redirect() {
                self.blanks();
                let files = self.values();
                let devices = files
                    .iter()
                    .any(|file| file.text.eq_ignore_ascii_case("$null"));
                if !devices {
                    redirects.push((act, slashed(&files)));
                }
                continue;
            }
            match self.peek() {
                None | Some('\n' | '\r' | ';' | '|' | '&' | ')' | '}' | ']') => break,
                Some('{') => {
                    self.at += 1;
                    self.statements();
                    self.eat("}");
                    arguments.push(Arg::Values(vec![Field::unknown()]));
                }
                Some('@') if self.rest()[1..].starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    self.splat(&mut arguments);
                }
                Some('-') if self.rest()[1..].starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    let name = self.parameter();
                    arguments.push(Arg::Name(name));
                }
                Some(_) => {
                    let before = self.at;
                    let values = self.values();
                    if self.at == before {
                        self.at += self.peek().map_or(1, char::len_utf8);
                    } else {
                        arguments.push(Arg::Values(values));
                    }
                }
            }
        }
        (arguments, redirects)
    }

    /// `-Name`; the colon of `-Name:value` only divides.
    fn parameter(&mut self) -> String {
        let rest = self.rest();
        let name = rest.get(1..).unwrap_or("");
        let len = name
            .bytes()
            .take_while(|b| is_name_byte(*b) || *b == b'-')
            .count();
        let name = name.get(..len).unwrap_or("").to_owned();
        self.at += len + 1;
        self.eat(":");
        name
    }

    /// `>`, `>>`, `2>`, `*>>`; `2>&1` goes nowhere new.
    fn redirect(&mut self) -> Option<Act> {
        let rest = self.rest();
        let stream = rest.starts_with(|c: char| c.is_ascii_digit() || c == '*');
        let operator = rest.get(usize::from(stream)..)?.strip_prefix('>')?;
        let appends = operator.starts_with('>');
        self.at += usize::from(stream) + 1 + usize::from(appends);
        if self.eat("&") {
            self.at += 1;
            return self.redirect();
        }
        Some(if appends { Act::Edit } else { Act::Write })
    }

    /// `foreach ($x in VALUES) { … }`.
    fn foreach(&mut self) {
        self.blanks();
        self.eat("(");
        self.blanks();
        self.eat("$");
        let name = self.variable_name();
        self.blanks();
        self.eat("in");
        self.blanks();
        let values = self.pipeline_stages();
        self.blanks();
        self.eat(")");
        self.variables.insert(name, values);
    }
}

/// What `Where-Object Name -eq x` and `{ $_.Name -like '*.x' }` leave; all, where the
/// condition says more.
fn chosen(mut piped: Values, condition: &str) -> Values {
    let condition = condition.trim_matches([' ', '{', '}']).to_ascii_lowercase();
    let mut words = condition.splitn(3, ' ');
    let subject = words.next().map(|word| word.trim_start_matches("$_."));
    let (Some("name"), Some(operator), Some(right)) = (subject, words.next(), words.next()) else {
        return piped;
    };
    if right.contains(['$', '-']) || !matches!(operator, "-eq" | "-in" | "-like") {
        return piped;
    }
    let globs: Vec<Glob> = right
        .split(',')
        .map(|text| Glob::all(text.trim_matches([' ', '\'', '"', '(', ')', '@'])))
        .collect();
    piped.retain(|item| {
        let name = base_name(&item.text).to_ascii_lowercase();
        globs.iter().any(|glob| glob.matches(&name))
    });
    piped
}
