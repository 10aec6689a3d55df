//! What the names of a script hold: the program's arguments, assignments, loops.

use super::calls::Script;
use super::code::{Language, Piece, Token, read};
use super::field::{Field, UNKNOWN};
use super::value::{MAX_DEPTH, MAX_VALUES, Reader, Span, append, product};

/// What a name may hold, where it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound {
    pub(super) values: Vec<Field>,
    pub(super) shape: Shape,
}

impl From<Vec<Field>> for Bound {
    fn from(values: Vec<Field>) -> Self {
        let shape = Shape::One;
        Self { values, shape }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    /// One text; several values are what it may be.
    #[default]
    One,
    /// The items of a list, in their order.
    List,
    /// A list that is written out in these brackets.
    Literal(Span),
}

/// How a language names the program's arguments, and how many entries of that
/// list stand before the first of them.
pub(super) const ARGUMENTS: &[(Language, &str, usize)] = &[
    (Language::Python, "sys.argv", 1),
    (Language::Python, "argv", 1),
    (Language::Script, "process.argv", 1),
    (Language::Script, "Bun.argv", 1),
    (Language::Script, "Deno.args", 0),
    (Language::Ruby, "ARGV", 0),
    (Language::Perl, "@ARGV", 0),
    (Language::Php, "$argv", 1),
    (Language::Awk, "ARGV", 1),
    (Language::Lua, "arg", 0),
    (Language::R, "commandArgs", 0),
    (Language::Julia, "ARGS", 0),
    (Language::Java, "args", 0),
];

/// Names that one statement may bind.
const MAX_NAMES: usize = 16;

impl<'a> Script<'_, 'a, '_, '_> {
    pub(super) fn take_arguments(&mut self, arguments: &[Field]) {
        let language = self.language;
        for &(_, name, n_before) in ARGUMENTS.iter().filter(|row| row.0 == language) {
            let before = std::iter::repeat_n(Field::unknown(), n_before);
            let values = before.chain(arguments.iter().cloned()).collect();
            let shape = Shape::List;
            self.set(name, Some(Bound { values, shape }));
        }
    }

    /// In a function the name holds what it held before when that ends.
    pub(super) fn set(&mut self, name: &str, bound: Option<Bound>) {
        let old = self.put(name.to_owned(), bound);
        if self.depth > 0 {
            self.journal.push((name.to_owned(), old));
        }
    }

    fn put(&mut self, name: String, bound: Option<Bound>) -> Option<Bound> {
        match bound {
            Some(bound) => self.variables.insert(name, bound),
            None => self.variables.remove(&name),
        }
    }

    /// Runs with names of its own.
    pub(super) fn scoped(&mut self, depth: usize, run: impl FnOnce(&mut Self)) {
        let mark = self.journal.len();
        let outer = std::mem::replace(&mut self.depth, depth);
        run(self);
        self.depth = outer;
        while self.journal.len() > mark
            && let Some((name, old)) = self.journal.pop()
        {
            self.put(name, old);
        }
    }

    /// Takes an item off a list.
    pub(super) fn take_item(&mut self, name: &str, place: usize) -> Vec<Field> {
        let Some(list) = self.variables.get_mut(name) else {
            return Vec::new();
        };
        list.shape = Shape::List;
        if place >= list.values.len() || !self.shell.spend(list.values.len()) {
            return Vec::new();
        }
        vec![list.values.remove(place)]
    }

    /// `shift;`, `argv.shift()`, `argv.pop(1)` for the sake of what is left.
    pub(super) fn drop_item(&mut self, at: usize) {
        let start = self.receiver_start(at);
        if self.begins_statement(start) {
            self.values((start, self.code.statement_end(start)));
        }
    }

    /// `name = value`; a value that is not known makes the name unknown.
    pub(super) fn bind(&mut self, at: usize, name: &str) {
        if self.before(at) == Some('.') {
            return;
        }
        match (self.mark(at + 1), self.mark(at + 2)) {
            (Some(','), _) if self.begins_statement(at) => {
                let names = self.names(at);
                let end = at + 2 * names.len() - 1;
                if self.mark(end) == Some('=') && self.mark(end + 1) != Some('=') {
                    self.deal(&names, end + 1);
                }
            }
            (Some(mark @ ('+' | '~' | '/')), Some('=')) => {
                let between = if mark == '/' { "/" } else { "" };
                let old = self.variable(name).unwrap_or_default();
                let more = self.values((at + 3, self.code.statement_end(at + 3)));
                let values = product(&old, &more, between);
                self.set(name, Some(Bound::from(values)));
            }
            (Some('='), Some('=' | '>' | '~')) => {}
            (Some('='), _) if !self.is_argument(at) => self.assign(name, at + 2),
            // `name: type = value`
            (Some(':'), _) if self.begins_statement(at) => {
                let equals = (at + 2..at + 8).find(|at| self.mark(*at) == Some('='));
                let equals = equals.filter(|equals| self.code.statement_end(at) > *equals);
                if let Some(equals) = equals.filter(|at| self.mark(at + 1) != Some('=')) {
                    self.assign(name, equals + 1);
                }
            }
            _ => {}
        }
    }

    fn assign(&mut self, name: &str, from: usize) {
        let span = (from, self.code.statement_end(from));
        let mut bound = Reader::new(self, span).whole();
        // `@list = qw(a b)` has no parentheses of its own.
        if name.starts_with('@') && self.mark(span.1) == Some(',') {
            let is_end = |at: &usize| self.code.tokens.get(*at).is_none_or(|t| *t == Token::End);
            let end = (from..from + 2 * MAX_VALUES).find(is_end);
            bound.shape = Shape::List;
            for item in self.code.divide((span.1, end.unwrap_or(span.1))) {
                bound.values.extend(self.values(item));
            }
        }
        self.set(name, Some(bound).filter(|bound| !bound.values.is_empty()));
    }

    /// `name=value` between the parentheses of a call, or the last of several names.
    fn is_argument(&self, at: usize) -> bool {
        let several = [Language::Ruby, Language::Lua, Language::Julia];
        match self.before(at) {
            Some('(') => self.language == Language::Python,
            Some(',') => self.language == Language::Python || several.contains(&self.language),
            _ => false,
        }
    }

    fn begins_statement(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.code.tokens.get(at));
        matches!(
            before,
            None | Some(
                Token::End
                    | Token::Mark(':' | '{' | '}')
                    | Token::Word("local" | "do" | "const" | "let" | "var")
            )
        )
    }

    /// `a, b, c` from `at` on.
    fn names(&self, at: usize) -> Vec<&'a str> {
        let places = (at..).step_by(2).take(MAX_NAMES);
        let mut names = Vec::new();
        for place in places {
            let Some(name) = self.word(place) else { break };
            names.push(name);
            if self.mark(place + 1) != Some(',') {
                break;
            }
        }
        names
    }

    /// `[a, , b] = …`, `my ($a, $b) = …`: the brackets at `at` hold names.
    pub(super) fn bind_pattern(&mut self, at: usize) {
        let end = self.after(at);
        let before = at.checked_sub(1).and_then(|at| self.word(at));
        let declares = matches!(
            before,
            Some("const" | "let" | "var" | "my" | "our" | "local")
        );
        if !declares || self.mark(end) != Some('=') {
            return;
        }
        let mut names = Vec::new();
        let mut name = "";
        for token in self.code.tokens.get(at + 1..end - 1).unwrap_or(&[]) {
            match token {
                Token::Mark(',') if names.len() < MAX_NAMES => {
                    names.push(std::mem::take(&mut name))
                }
                Token::Word(word) => name = word,
                _ => return,
            }
        }
        names.push(name);
        self.deal(&names, end + 1);
    }

    /// Gives each name its item of what stands from `from` on.
    fn deal(&mut self, names: &[&str], from: usize) {
        let mut spans = vec![(from, self.code.statement_end(from))];
        while let Some(&(_, end)) = spans.last()
            && self.mark(end) == Some(',')
            && spans.len() < names.len()
        {
            spans.push((end + 1, self.code.statement_end(end + 1)));
        }
        let mut items: Vec<Bound> = Vec::new();
        for span in &spans {
            items.push(Reader::new(self, *span).whole());
        }
        if let [list] = items.as_slice() {
            let values = match list.shape {
                Shape::One => &[],
                _ => list.values.as_slice(),
            };
            let one = |value: &Field| Bound::from(vec![value.clone()]);
            items = values.iter().map(one).collect();
        }
        let mut items = items.into_iter();
        for name in names {
            let item = items.next().unwrap_or_default();
            if !name.is_empty() {
                self.set(name, Some(item));
            }
        }
    }

    /// `for x in VALUES`, `for (const x of VALUES)`, `foreach ($v as $x)`.
    pub(super) fn bind_loop(&mut self, at: usize) {
        let words = ["const", "let", "var", "my", "our", "await"];
        let mut start = at + 1;
        let mut end = None;
        if self.mark(start) == Some('(') && self.language != Language::Python {
            end = self.code.partner.get(start).copied();
            start += 1;
        }
        while self.word(start).is_some_and(|word| words.contains(&word)) {
            start += 1;
        }
        let is_group = matches!(self.mark(start), Some('[' | '('));
        let first = start + usize::from(is_group);
        let mut names = self.names(first);
        let place = match is_group {
            true => self.after(start),
            false => first + (2 * names.len()).saturating_sub(1),
        };
        let span = match (self.word(place), self.mark(place)) {
            (Some("in" | "of"), _) => {
                let from = place + 1;
                (from, end.unwrap_or_else(|| self.block_start(from)))
            }
            (Some("as"), _) => {
                names = match self.mark(place + 2) {
                    Some('=') => self.word(place + 1).into_iter().collect(),
                    _ => Vec::new(),
                };
                let last = place + 1 + 3 * names.len();
                names.extend(self.word(last));
                (start, place)
            }
            (None, Some('(')) => (place, self.after(place)),
            _ if self.language == Language::Perl && end.is_some() => {
                names = vec!["$_"];
                (at + 1, self.after(at + 1))
            }
            _ => return,
        };
        self.deal_each(&names, span);
    }

    /// The key and the value of a dictionary's item.
    pub(super) fn key_and_value(&self, item: Span) -> Vec<Span> {
        let mut at = item.0;
        while at < item.1 {
            match (self.mark(at), self.mark(at + 1)) {
                (Some(':'), _) => return vec![(item.0, at), (at + 1, item.1)],
                (Some('='), Some('>')) => return vec![(item.0, at), (at + 2, item.1)],
                _ => at = self.after(at),
            }
        }
        vec![item]
    }

    /// Gives names what they hold in any turn of a loop.
    fn deal_each(&mut self, names: &[&str], span: Span) {
        if let [name] = names {
            let values = self.values(span);
            return self.set(name, Some(Bound::from(values)));
        }
        let parts = match self.word(span.0) {
            Some("enumerate" | "ipairs" | "zip") => self.items_in(span.0 + 1),
            _ => Vec::new(),
        };
        if let [list, ..] = parts.as_slice() {
            let counts = self.word(span.0) != Some("zip");
            for (n, name) in names.iter().enumerate() {
                let part = match counts {
                    true => Some(list).filter(|_| n + 1 == names.len()),
                    false => parts.get(n),
                };
                let values = part.map_or_else(Vec::new, |part| self.values(*part));
                self.set(name, Some(Bound::from(values)));
            }
            return;
        }
        let mut values = vec![Vec::new(); names.len()];
        if let Shape::Literal((open, _)) = Reader::new(self, span).whole().shape {
            for item in self.items_in(open).into_iter().take(MAX_VALUES) {
                let parts = match self.mark(open) {
                    Some('{') => self.key_and_value(item),
                    _ => self.items_in(item.0),
                };
                for (part, values) in parts.into_iter().zip(&mut values) {
                    values.extend(self.values(part));
                }
            }
        }
        for (name, values) in names.iter().zip(values) {
            self.set(name, Some(Bound::from(values)));
        }
    }

    /// `[f(x) for x in VALUES]`: the name is used before the loop that binds it.
    pub(super) fn bind_comprehension(&mut self, open: usize) {
        let end = self.after(open) - 1;
        let mut at = open + 1;
        while at < end {
            if self.word(at) == Some("for") {
                self.bind_loop(at);
            }
            at = self.after(at);
        }
    }

    /// Where a Python or Ruby loop's body begins.
    fn block_start(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(token) = self.code.tokens.get(at) {
            match token {
                Token::End | Token::Mark(':' | '{' | ')' | ']' | '}') => break,
                Token::Word("do" | "if" | "for") => break,
                _ => at = self.after(at),
            }
        }
        at
    }

    /// `VALUES.each do |x|`, `VALUES.forEach(x => …)`.
    pub(super) fn bind_block(&mut self, at: usize) {
        if self.before(at) != Some('.') {
            return;
        }
        let values = self.values((self.receiver_start(at), at - 1));
        let opening = |at: usize| matches!(self.mark(at), Some('(' | '{' | '|'));
        let mut place = at + 1;
        while place < at + 5
            && (opening(place) || matches!(self.word(place), Some("do" | "function" | "async")))
        {
            place += 1;
        }
        if let Some(name) = self.word(place) {
            self.set(name, Some(Bound::from(values)));
        }
    }

    /// A variable's values, as far as the budget for text goes.
    pub(super) fn variable(&mut self, name: &str) -> Option<Vec<Field>> {
        let values = &self.variables.get(name)?.values;
        let cost = values.iter().map(|value| value.text.len() + 1).sum();
        self.shell.spend(cost).then(|| values.clone())
    }

    /// The texts a literal may stand for.
    pub(super) fn texts(&mut self, pieces: &[Piece<'_>]) -> Vec<Field> {
        let mut texts = vec![Field::literal("")];
        for piece in pieces {
            match piece {
                Piece::Literal(text) => {
                    texts.iter_mut().for_each(|field| field.text.push_str(text));
                }
                Piece::Hole(expression) => {
                    let mut known = self.hole(expression);
                    if known.is_empty() {
                        known.push(Field::literal(UNKNOWN));
                    }
                    append(&mut texts, &known);
                }
            }
        }
        texts
    }

    /// A variable put into a text, or an expression.
    fn hole(&mut self, expression: &str) -> Vec<Field> {
        let known = self.variable(expression);
        let known = known.or_else(|| self.variable(&format!("${expression}")));
        if let Some(known) = known {
            return known;
        }
        if self.depth >= MAX_DEPTH || !self.shell.spend(expression.len()) {
            return Vec::new();
        }
        let code = read(self.language, expression);
        let mut inner = Script::new(&code, self.language, self.shell);
        inner.depth = self.depth + 1;
        inner.variables = std::mem::take(&mut self.variables);
        let values = inner.values((0, code.tokens.len()));
        self.variables = inner.variables;
        values
    }
}
