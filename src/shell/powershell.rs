//! PowerShell: cmdlets, their aliases, redirections and the .NET file calls.
//!
//! Statements are read one by one; blocks and parentheses are read where they
//! stand, so that a script block runs once with what `$_` is known to be.

use std::collections::HashMap;

use super::cmdlets;
use super::eval::Shell;
use super::field::{Field, UNKNOWN};
use super::lex::is_name_byte;
use super::value::product;
use crate::target::Act;

/// How deep blocks and parentheses may nest.
const MAX_DEPTH: usize = 40;

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
    text: &'t str,
    at: usize,
    depth: usize,
    pub(super) shell: &'h mut Shell<'s>,
    variables: HashMap<String, Values>,
}

pub(super) fn run(shell: &mut Shell<'_>, text: &str) {
    let mut reader = PowerShell {
        text,
        at: 0,
        depth: 0,
        shell,
        variables: HashMap::new(),
    };
    while reader.at < text.len() {
        reader.statements();
        reader.at += 1;
    }
}

impl PowerShell<'_, '_, '_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Statements up to a closing bracket or the end; gives the last one's values.
    fn statements(&mut self) -> Values {
        let mut values = Values::new();
        if self.depth == MAX_DEPTH {
            self.at = self.text.len();
            return values;
        }
        self.depth += 1;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(')' | '}' | ']') => break,
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
        self.depth -= 1;
        values
    }

    /// Blanks, comments and line continuations.
    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t']) {
                self.at += 1;
            } else if rest.starts_with("<#") {
                self.at += rest.find("#>").map_or(rest.len(), |at| at + 2);
            } else if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("`\n") {
                self.at += 2;
            } else if rest.starts_with("`\r\n") {
                self.at += 3;
            } else {
                return;
            }
        }
    }

    fn pipeline(&mut self) -> Values {
        if let Some(name) = self.assigned_name() {
            let values = self.pipeline_stages();
            self.variables.insert(name, values.clone());
            return values;
        }
        self.pipeline_stages()
    }

    /// `$name =` or `[type]$name =`.
    fn assigned_name(&mut self) -> Option<String> {
        let start = self.at;
        if self.eat("[") {
            let rest = self.rest();
            self.at += rest.find(']').map_or(0, |at| at + 1);
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

    fn pipeline_stages(&mut self) -> Values {
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
                self.arguments();
                return piped;
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
            let text = match (act, out.as_slice()) {
                (Act::Write, [only]) => Some(format!("{}\n", only.text)),
                _ => None,
            };
            for file in files {
                self.shell.report_text(&file, act, text.clone());
            }
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

    /// `[IO.File]::WriteAllText(…)`; `None` when it is no static call.
    fn static_call(&mut self) -> Option<Values> {
        let rest = self.rest();
        let (class, after) = rest.get(1..)?.split_once("]::")?;
        if class.len() > 64 || class.contains(|c: char| !(c.is_alphanumeric() || c == '.')) {
            return None;
        }
        let len = after.bytes().take_while(|b| is_name_byte(*b)).count();
        let method = after.get(..len)?.to_ascii_lowercase();
        let class = class.to_ascii_lowercase();
        self.at += 1 + class.len() + 3 + len;
        let mut arguments = Vec::new();
        if self.eat("(") {
            loop {
                self.blanks();
                let before = self.at;
                let value = self.value();
                arguments.push(slashed(&value));
                self.blanks();
                while !matches!(self.peek(), None | Some(',' | ')')) {
                    // An operator, or an expression that is not followed.
                    self.at += self.peek().map_or(1, char::len_utf8);
                }
                if !self.eat(",") || self.at == before {
                    break;
                }
            }
            self.eat(")");
        }
        Some(cmdlets::static_call(
            self.shell, &class, &method, &arguments,
        ))
    }

    /// Values with commas between them.
    fn values(&mut self) -> Values {
        let mut values = self.value();
        loop {
            let at = self.at;
            self.blanks();
            if !self.eat(",") {
                self.at = at;
                return values;
            }
            while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
                self.at += 1;
            }
            values.extend(self.value());
        }
    }

    /// One value: pieces side by side are one text.
    fn value(&mut self) -> Values {
        let mut values = vec![Field::literal("")];
        let start = self.at;
        while let Some(c) = self.peek() {
            let piece = match c {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '@' => match self.at_sign() {
                    Some(piece) => piece,
                    None => break,
                },
                '$' => self.dollar(),
                '(' => self.parenthesized(),
                '`' => {
                    self.at += 1;
                    let escaped = self.peek().map(String::from).unwrap_or_default();
                    self.at += escaped.len();
                    vec![Field::literal(escaped)]
                }
                ' ' | '\t' | '\n' | '\r' | ';' | '|' | '&' | ')' | '}' | '{' | ',' | '>' | '<' => {
                    break;
                }
                ']' if self.at == start => break,
                _ => {
                    self.at += c.len_utf8();
                    vec![Field::literal(c)]
                }
            };
            values = product(&values, &piece, "");
        }
        if self.at == start {
            Values::new()
        } else {
            values
        }
    }

    fn parenthesized(&mut self) -> Values {
        self.at += 1;
        let values = self.statements();
        self.eat(")");
        self.members();
        if values.is_empty() {
            vec![Field::unknown()]
        } else {
            values
        }
    }

    /// `.FullName` and its like leave the path what it is.
    fn members(&mut self) {
        let paths = [".fullname", ".path", ".tostring()", ".name"];
        let rest = self
            .rest()
            .get(..16)
            .unwrap_or(self.rest())
            .to_ascii_lowercase();
        if let Some(member) = paths.iter().find(|member| rest.starts_with(**member)) {
            self.at += member.len();
        }
    }

    fn single_quoted(&mut self) -> Values {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            if c != '\'' {
                text.push(c);
            } else if !self.eat("'") {
                break;
            } else {
                text.push('\'');
            }
        }
        vec![Field::literal(text)]
    }

    fn double_quoted(&mut self) -> Values {
        self.at += 1;
        let mut values = vec![Field::literal("")];
        let push = |values: &mut Values, c: char| values.iter_mut().for_each(|v| v.text.push(c));
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    if !self.eat("\"") {
                        break;
                    }
                    push(&mut values, '"');
                }
                '`' => {
                    self.at += 1;
                    if let Some(escaped) = self.peek() {
                        self.at += escaped.len_utf8();
                        push(&mut values, if escaped == 'n' { '\n' } else { escaped });
                    }
                }
                '$' => {
                    let piece = self.interpolated();
                    values = product(&values, &piece, "");
                }
                _ => {
                    self.at += c.len_utf8();
                    push(&mut values, c);
                }
            }
        }
        values
    }

    /// Within quotes a variable ends with its name.
    fn interpolated(&mut self) -> Values {
        if self.rest().starts_with("$(") {
            return self.dollar();
        }
        self.at += 1;
        let name = self.variable_name();
        if name.is_empty() {
            return vec![Field::literal("$")];
        }
        self.variable(&name)
    }

    /// `@'…'@`, `@"…"@` and `@(…)`.
    fn at_sign(&mut self) -> Option<Values> {
        let rest = self.rest();
        if rest.starts_with("@(") {
            self.at += 2;
            let mut all = Values::new();
            while !matches!(self.peek(), None | Some(')')) {
                let before = self.at;
                all.extend(self.pipeline_stages());
                while matches!(self.peek(), Some(' ' | '\n' | '\r' | ';' | ',')) {
                    self.at += 1;
                }
                if self.at == before {
                    break;
                }
            }
            self.eat(")");
            return Some(all);
        }
        let quote = rest
            .get(1..)?
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))?;
        let end = format!("\n{quote}@");
        let body = rest.split_once('\n')?.1;
        let len = if body.starts_with(&end[1..]) {
            0
        } else {
            body.find(&end)?
        };
        let text = body.get(..len)?.trim_end_matches('\r').to_owned();
        let head = rest.len() - body.len();
        self.at += head + len + end.len() - usize::from(len == 0);
        let expands = quote == '"' && text.contains('$');
        let unknown = Field::literal(UNKNOWN);
        Some(vec![if expands {
            unknown
        } else {
            Field::literal(text)
        }])
    }

    fn dollar(&mut self) -> Values {
        self.at += 1;
        if self.eat("(") {
            let values = self.statements();
            self.eat(")");
            return if values.is_empty() {
                vec![Field::unknown()]
            } else {
                values
            };
        }
        let name = self.variable_name();
        let values = self.variable(&name);
        self.members();
        if self.rest().starts_with(['.', '[']) {
            // Another member: not the value any more.
            let rest = self.rest();
            let len = rest.find(|c: char| !(is_name_byte(c as u8) || matches!(c, '.' | '[' | ']')));
            self.at += len.unwrap_or(rest.len());
            return vec![Field::unknown()];
        }
        values
    }

    /// `name`, `env:name`, `{name}`, `script:name`.
    fn variable_name(&mut self) -> String {
        let braced = self.eat("{");
        let rest = self.rest();
        let mut len = rest
            .bytes()
            .take_while(|b| is_name_byte(*b) || *b == b':')
            .count();
        while rest.get(..len).is_some_and(|name| name.ends_with(':')) {
            len -= 1;
        }
        let name = rest.get(..len).unwrap_or("").to_ascii_lowercase();
        self.at += len;
        if braced {
            self.eat("}");
        }
        let scope = ["script:", "global:", "local:"];
        let bare = scope.iter().find_map(|scope| name.strip_prefix(scope));
        bare.map_or(name.clone(), str::to_owned)
    }

    fn variable(&self, name: &str) -> Values {
        if let Some(values) = self
            .variables
            .get(if name == "psitem" { "_" } else { name })
        {
            return values.clone();
        }
        let scene = self.shell.scene;
        let known = match name {
            "pwd" => self.shell.cwd.as_deref(),
            "home" | "env:home" | "env:userprofile" => scene.home,
            "env:claude_project_dir" => scene.project_dir,
            "null" => Some("$null"),
            _ => None,
        };
        vec![known.map_or_else(Field::unknown, Field::literal)]
    }
}

/// Paths with `/` alone, which is what the rest of the analyser reads.
pub(super) fn slashed(values: &[Field]) -> Values {
    let values = values.iter();
    values
        .map(|value| value.with_text(value.text.replace('\\', "/")))
        .collect()
}
