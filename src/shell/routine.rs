//! Functions that a script defines: what their calls do with what they are given.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::bind::{Bound, Shape};
use super::calls::Script;
use super::code::{Code, Language, Token};
use super::field::Field;
use super::value::{Given, MAX_DEPTH, MAX_VALUES, Reader, Span};

/// Calls within calls that are followed; from a function that is not called, one.
pub(super) const MAX_LEVELS: usize = 4;

/// How many tokens the followed calls of a script may come to. The rest is read
/// without knowing what it is given.
pub(super) const MAX_FOLLOWED: usize = 32 << 10;

/// How far behind the parameters a body may begin.
const MAX_HEAD: usize = 32;

/// How many functions of a script are known.
const MAX_FUNCTIONS: usize = 1024;

#[derive(Clone, Copy)]
pub(super) struct Function<'a> {
    name: &'a str,
    params: Span,
    body: Span,
}

/// The functions of a script, and where they are found.
pub(super) struct Functions<'a> {
    all: Vec<Function<'a>>,
    /// The last function of each name.
    by_name: HashMap<&'a str, usize, RandomState>,
    /// Where bodies begin, in order, and the function of each.
    bodies: Vec<(usize, usize)>,
}

/// A body ends with its brace, or with the first line that is indented no
/// further than the line it began in.
struct Finder<'c, 'a> {
    code: &'c Code<'a>,
    language: Language,
    found: Vec<Function<'a>>,
    class: &'a str,
    /// Indented bodies that go on: the line's number and indentation, and the function.
    open: Vec<(usize, usize, usize)>,
}

pub(super) fn functions<'a>(code: &Code<'a>, language: Language) -> Functions<'a> {
    let mut finder = Finder {
        code,
        language,
        found: Vec::new(),
        class: "",
        open: Vec::new(),
    };
    finder.search();
    let all = finder.found;
    let mut bodies: Vec<_> = (all.iter().enumerate())
        .map(|(place, function)| (function.body.0, place))
        .collect();
    bodies.sort_unstable();
    let names = all.iter().enumerate();
    Functions {
        by_name: names.map(|(place, row)| (row.name, place)).collect(),
        bodies,
        all,
    }
}

impl Functions<'_> {
    /// The first body that begins at a place or behind it, and its function.
    pub(super) fn body_from(&self, at: usize) -> Option<(usize, usize)> {
        let place = self.bodies.partition_point(|(start, _)| *start < at);
        self.bodies.get(place).copied()
    }
}

impl<'a> Finder<'_, 'a> {
    fn search(&mut self) {
        let mut n_lines = 0;
        let mut line = (0, 0);
        for (at, token) in self.code.tokens.iter().enumerate() {
            while let Some((start, indent)) = self.code.lines.get(n_lines)
                && *start <= at
            {
                n_lines += 1;
                line = (n_lines, *indent);
            }
            // An empty line ends nothing.
            if *token == Token::End {
                continue;
            }
            while let Some((begun, indent, _)) = self.open.last()
                && *begun != line.0
                && *indent >= line.1
            {
                self.close(at);
            }
            match token {
                Token::Word("end") if self.begins_in(line.0) => self.close(at),
                Token::Word("def" | "function" | "sub") => self.define(at, line),
                Token::Word("lambda") => self.lambda(at),
                Token::Word("class") => self.class = self.code.word(at + 1).unwrap_or(""),
                Token::Mark('>') => self.arrow(at),
                _ => {}
            }
        }
    }

    fn begins_in(&self, line: usize) -> bool {
        let innermost = self
            .open
            .last()
            .filter(|_| self.language != Language::Python);
        innermost.is_some_and(|(begun, ..)| *begun == line)
    }

    /// Ends the innermost body, behind which a token at `at` stands.
    fn close(&mut self, at: usize) {
        if let Some((_, _, function)) = self.open.pop()
            && let Some(function) = self.found.get_mut(function)
        {
            function.body.1 = at;
        }
    }

    fn add(&mut self, name: &'a str, params: Span, body: Span) {
        if self.found.len() < MAX_FUNCTIONS {
            self.found.push(Function { name, params, body });
        }
    }

    /// The first such mark in the head of a function.
    fn find(&self, from: usize, mark: char) -> Option<usize> {
        (from..from + MAX_HEAD).find(|at| self.code.mark(*at) == Some(mark))
    }

    /// `def w(p):`, `function w(p) {`, `w = function(p) {`, `sub w {`.
    fn define(&mut self, at: usize, line: (usize, usize)) {
        let code = self.code;
        let is_own = code.word(at + 1) == Some("self") && code.mark(at + 2) == Some('.');
        let named = if is_own { at + 3 } else { at + 1 };
        let (name, open) = match code.word(named) {
            Some(name) => (Some(name), named + 1),
            None => (self.assigned(at), at + 1),
        };
        let name = if name == Some("__init__") {
            Some(self.class)
        } else {
            name
        };
        let Some(name) = name else { return };
        let is_braced = !matches!(
            self.language,
            Language::Python | Language::Ruby | Language::Lua | Language::Julia
        );
        let (params, rest) = match code.mark(open) {
            Some('(') => ((open + 1, code.after(open) - 1), code.after(open)),
            _ if is_braced => ((open, open), open),
            _ => {
                let end = code.statement_end(open);
                ((open, end), end)
            }
        };
        let body = match self.language {
            Language::Python => self.find(rest, ':').unwrap_or(rest) + 1,
            Language::Ruby if code.mark(rest) == Some('=') => rest + 1,
            _ if !is_braced => rest,
            _ => {
                let body = match self.find(rest, '{') {
                    Some(start) => self.braced(start),
                    None => (rest, code.statement_end(rest)),
                };
                return self.add(name, params, body);
            }
        };
        self.open.push((line.0, line.1, self.found.len()));
        self.add(name, params, (body, code.tokens.len()));
    }

    fn braced(&self, open: usize) -> Span {
        match self.code.after(open) - 1 {
            // It is never closed.
            end if end == open => (open + 1, self.code.tokens.len()),
            end => (open + 1, end),
        }
    }

    /// The name in front of `= function`, `= (p) =>`.
    fn assigned(&self, at: usize) -> Option<&'a str> {
        let equals = at.checked_sub(1)?;
        self.code.mark(equals).filter(|mark| *mark == '=')?;
        self.code.word(equals.checked_sub(1)?)
    }

    /// `w = lambda p: …`.
    fn lambda(&mut self, at: usize) {
        if let (Some(name), Some(colon)) = (self.assigned(at), self.find(at, ':')) {
            let body = (colon + 1, self.code.statement_end(colon + 1));
            self.add(name, (at + 1, colon), body);
        }
    }

    /// `w = (p, t) => …`, `w = async p => …`; `at` is behind the `=`.
    fn arrow(&mut self, at: usize) {
        let code = self.code;
        if at < 3 || self.language != Language::Script || code.mark(at - 1) != Some('=') {
            return;
        }
        let last = at - 2;
        let (first, params) = match code.mark(last) {
            Some(')') => {
                let open = code.partner(last);
                (open, (open + 1, last))
            }
            _ => (last, (last, last + 1)),
        };
        let is_async = first > 0 && code.word(first - 1) == Some("async");
        let Some(name) = self.assigned(first - usize::from(is_async)) else {
            return;
        };
        let body = match code.mark(at + 1) {
            Some('{') => self.braced(at + 1),
            _ => (at + 1, code.statement_end(at + 1)),
        };
        self.add(name, params, body);
    }
}

impl<'a> Script<'_, 'a, '_, '_> {
    /// The function that a call of `name` at `at` leads to. A method is called on
    /// something, a function is not.
    pub(super) fn function(&self, name: &str, at: usize) -> Option<usize> {
        // Most scripts have none.
        if self.functions.all.is_empty() {
            return None;
        }
        let place = *self.functions.by_name.get(name)?;
        let function = self.functions.all.get(place)?;
        let takes_own = matches!(self.word(function.params.0), Some("self" | "cls"));
        let fits = match self.before(at) {
            Some('.') => takes_own || self.stands_on(at, &["self", "this", "$this", "cls"]),
            // `Name(p)` makes an object.
            _ => !takes_own || name.starts_with(char::is_uppercase),
        };
        // `def self.w(p)` defines, too.
        let is_own = at > 2 && self.word(at - 3) == Some("def");
        (fits && !is_own && !self.defines(at)).then_some(place)
    }

    /// Walks over the body of a function, and says where it ends.
    pub(super) fn definition(&mut self, place: usize) -> Option<usize> {
        let function = *self.functions.all.get(place)?;
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.enter(function, None, self.levels.min(1));
        Some(function.body.1)
    }

    /// Follows a call; what the function gives back is known where all of it is.
    pub(super) fn invoke(&mut self, place: usize, given: Vec<Given<'a>>) -> Vec<Field> {
        let Some(&function) = self.functions.all.get(place) else {
            return Vec::new();
        };
        let cost = function.body.1.saturating_sub(function.body.0) + 16;
        let is_deep = self.depth >= MAX_DEPTH || self.levels == 0 || self.running.contains(&place);
        if is_deep || self.room < cost || !self.shell.spend(2 * cost) {
            return Vec::new();
        }
        self.room -= cost;
        self.running.push(place);
        let mut values = self.enter(function, Some(given), self.levels - 1);
        self.running.pop();
        values.truncate(MAX_VALUES);
        values
    }

    /// Walks over a function with names of its own.
    fn enter(
        &mut self,
        function: Function<'a>,
        given: Option<Vec<Given<'a>>>,
        levels: usize,
    ) -> Vec<Field> {
        let frame = std::mem::replace(&mut self.frame, self.variables.len());
        let returned = std::mem::take(&mut self.returned);
        let outer = std::mem::replace(&mut self.levels, levels);
        self.depth += 1;
        let is_called = given.is_some();
        self.take(function, given);
        if is_called {
            self.returned = self.only_value(function.body);
        }
        self.walk(function.body);
        self.depth -= 1;
        self.levels = outer;
        self.variables.truncate(self.frame);
        self.frame = frame;
        std::mem::replace(&mut self.returned, returned)
    }

    /// A body that is one expression gives back what that comes to.
    fn only_value(&mut self, (mut start, mut end): Span) -> Vec<Field> {
        let is_end = |at: usize| {
            let token = self.code.tokens.get(at);
            matches!(token, None | Some(Token::End | Token::Word("end")))
        };
        while start < end && is_end(start) {
            start += 1;
        }
        while start < end && is_end(end - 1) {
            end -= 1;
        }
        self.values((start, end))
    }

    /// `return VALUE`.
    pub(super) fn give_back(&mut self, at: usize) {
        if !self.running.is_empty() && self.returned.len() < MAX_VALUES {
            let values = self.values((at + 1, self.code.statement_end(at + 1)));
            self.returned.extend(values);
        }
    }

    /// Gives the parameters their values; of a function that is not called none is known.
    fn take(&mut self, function: Function<'_>, given: Option<Vec<Given<'a>>>) {
        let is_called = given.is_some();
        let mut given = given.unwrap_or_default();
        if self.language == Language::Perl {
            self.set("_", Bound::list(&given));
        }
        for (n, span) in self.code.divide(function.params).into_iter().enumerate() {
            let mut at = span.0;
            while at < span.1 && self.word(at).is_none() {
                at += 1;
            }
            // `string $p`
            while at + 1 < span.1 && self.word(at + 1).is_some() {
                at += 1;
            }
            let Some(name) = self.word(at) else { continue };
            if n >= MAX_VALUES || (n == 0 && matches!(name, "self" | "cls")) {
                continue;
            }
            let place = given.iter().position(|given| given.name == Some(name));
            let place = place.or_else(|| given.iter().position(|given| given.name.is_none()));
            let argument = place.and_then(|place| given.get_mut(place));
            let bound = match (self.mark(span.0), argument) {
                (Some('*' | '.'), _) => Bound::list(&given),
                (_, Some(argument)) => {
                    // No other parameter takes it.
                    argument.name = Some("");
                    std::mem::take(&mut argument.bound)
                }
                (_, None) if is_called => self.usual((at + 1, span.1)),
                _ => Bound::default(),
            };
            match self.mark(span.0) {
                Some('{') if is_called => self.take_keys(span.0, &bound),
                _ => self.set(name, bound),
            }
        }
    }

    /// What a parameter holds that is not given: `p = value`, `p: type = value`, Ruby's `p: value`.
    fn usual(&mut self, (from, end): Span) -> Bound {
        let is_ruby = self.language == Language::Ruby;
        let mut at = from;
        while at < end && self.mark(at) != Some('=') && !(is_ruby && self.mark(at) == Some(':')) {
            at = self.after(at);
        }
        Reader::new(self, ((at + 1).min(end), end)).whole()
    }

    /// JavaScript's `{a, b: c, d = value}`.
    fn take_keys(&mut self, open: usize, given: &Bound) {
        for item in self.items_in(open) {
            let Some(key) = self.word(item.0) else {
                continue;
            };
            let own = self
                .word(item.0 + 2)
                .filter(|_| self.mark(item.0 + 1) == Some(':'));
            let value = match given.shape {
                Shape::Literal((list, _)) => self.value_of(list, key),
                _ => None,
            };
            let bound = match value {
                Some(value) => Reader::new(self, value).whole(),
                None => self.usual(item),
            };
            self.set(own.unwrap_or(key), bound);
        }
    }
}
