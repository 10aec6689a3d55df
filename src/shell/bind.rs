//! What the names of a script hold: the program's arguments and assignments.

use super::calls::Script;
use super::code::{Language, Token, read};
use super::field::Field;
use super::literal::Piece;
use super::made::one;
use super::value::{Given, MAX_DEPTH, MAX_VALUES, Reader, Span};

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

impl Bound {
    /// The values of arguments without a name as the items of a list.
    pub(super) fn list(given: &[Given<'_>]) -> Self {
        let mut values = Vec::new();
        for given in given.iter().filter(|given| given.name.is_none()) {
            values.push(given.first());
        }
        let shape = Shape::List;
        Self { values, shape }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    /// One text; several values are what it may be.
    #[default]
    One,
    /// A number. It is a text in texts only: by itself it may be an open file.
    Number,
    /// One text for each turn of the loop that begins here.
    Turn(usize),
    /// The items of a list, in their order.
    List,
    /// A list that is written out in these brackets.
    Literal(Span),
}

impl Shape {
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Literal(_))
    }
}

/// How a language names the program's arguments, and how many entries of that
/// list stand before the first of them. A member's name has a dot.
const ARGUMENTS: &[(Language, &str, usize)] = &[
    (Language::Python, ".argv", 1),
    (Language::Python, "argv", 1),
    (Language::Script, ".argv", 1),
    (Language::Script, ".args", 0),
    (Language::Ruby, "ARGV", 0),
    (Language::Perl, "ARGV", 0),
    (Language::Php, "$argv", 1),
    (Language::Awk, "ARGV", 1),
    (Language::Lua, "arg", 0),
    (Language::R, "commandArgs", 0),
    (Language::Julia, "ARGS", 0),
    (Language::Java, "args", 0),
];

/// Names that one statement may bind.
pub(super) const MAX_NAMES: usize = 16;

/// Members of objects that are known at once, and arguments of a script.
pub(super) const MAX_MEMBERS: usize = 256;

impl<'c, 'a> Script<'c, 'a, '_, '_> {
    pub(super) fn take_arguments(&mut self, arguments: &[Field]) {
        // Awk's operands may give values to names.
        let assigns = self.language == Language::Awk;
        let mut plain = Vec::new();
        for field in arguments.iter().take(MAX_MEMBERS) {
            match field.text.split_once('=') {
                Some((name, _)) if assigns => {
                    let value = field.behind(name.len() + 1);
                    self.set(name, Bound::from(vec![value]));
                }
                _ => plain.push(field.clone()),
            }
        }
        if assigns {
            self.set("FILENAME", Bound::from(plain.clone()));
        }
        for &(language, name, n_before) in ARGUMENTS {
            if language == self.language {
                let mut values = vec![Field::unknown(); n_before];
                values.extend_from_slice(&plain);
                let shape = Shape::List;
                self.set(name, Bound { values, shape });
            }
        }
    }

    /// What a name holds here, or outside of the present function.
    pub(super) fn lookup(&mut self, name: &str) -> Option<&mut Bound> {
        let place = self.variables.place(name)?;
        self.variables.at(place)
    }

    /// In a function the name holds something of its own until that ends.
    pub(super) fn set(&mut self, name: &str, bound: Bound) {
        self.forget_members(name);
        let place = self.variables.place(name);
        let is_known = place.is_some();
        if let Some(place) = place.filter(|place| *place >= self.frame)
            && let Some(held) = self.variables.at(place)
        {
            *held = bound;
            return;
        }
        let is_news = is_known || bound.shape.is_list() || !bound.values.is_empty();
        if is_news {
            self.variables.push(name, bound);
        }
    }

    /// Takes the first item off a list.
    pub(super) fn shift(&mut self, name: &str) -> Vec<Field> {
        let Some(list) = self.lookup(name) else {
            return Vec::new();
        };
        list.shape = Shape::List;
        match list.values.is_empty() {
            true => Vec::new(),
            false => vec![list.values.remove(0)],
        }
    }

    /// `shift;`, `argv.shift()` for the sake of what is left.
    pub(super) fn drop_item(&mut self, at: usize) {
        let start = self.receiver_start(at);
        if self.begins_statement(start) {
            self.values((start, self.code.statement_end(start)));
        }
    }

    /// `name = value`; a value that is not known makes the name unknown.
    pub(super) fn bind(&mut self, at: usize, name: &'c str) {
        if self.before(at) == Some('.') {
            return;
        }
        let behind = (self.mark(at + 1), self.mark(at + 2));
        match behind {
            (Some(','), _) if self.begins_statement(at) => {
                let names = self.names(at);
                let end = at + 2 * names.len() - 1;
                if self.mark(end) == Some('=') && self.mark(end + 1) != Some('=') {
                    self.deal(&names, end + 1);
                }
            }
            // `name ||= value`, `??=`, Perl's `//=`
            (Some(mark @ ('|' | '?' | '/')), Some(next))
                if mark == next
                    && self.mark(at + 3) == Some('=')
                    && self.variable(name).is_none() =>
            {
                self.assign(name, at + 4);
            }
            _ if self.counts(at, behind) && self.is_number(name) => {
                self.set(name, Bound::default())
            }
            (Some(mark @ ('+' | '~' | '/')), Some('=')) => {
                let between = if mark == '/' { "/" } else { "" };
                let old = self.variable(name).unwrap_or_default();
                let span = (at + 3, self.code.statement_end(at + 3));
                let more = Reader::new(self, span).whole();
                self.set(name, old.with(&more, between));
            }
            (Some('='), Some('=' | '>' | '~')) => {}
            (Some(':'), Some('=')) if self.language == Language::Python => {
                self.assign(name, at + 3);
            }
            (Some('.' | '[' | '{'), _) if self.begins_statement(at) => self.bind_member(at, name),
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

    fn assign(&mut self, name: &'c str, from: usize) {
        let span = (from, self.code.statement_end(from));
        if self.word(from) == Some("require") {
            self.import_as(name, span);
        }
        let counted = self.counted(name, span).or_else(|| self.number(span));
        let mut bound = counted.unwrap_or_else(|| Reader::new(self, span).whole());
        // `@list = qw(a b)` has no parentheses of its own.
        let array = name
            .strip_prefix('@')
            .filter(|_| self.language == Language::Perl);
        if array.is_some() {
            bound.shape = Shape::List;
            let mut at = span.1;
            while self.mark(at) == Some(',') && bound.values.len() < MAX_VALUES {
                let item = (at + 1, self.code.statement_end(at + 1));
                bound.values.extend(self.values(item));
                at = item.1;
            }
        }
        let name = array.unwrap_or(name);
        self.set(name, bound);
    }

    fn number(&self, (from, end): Span) -> Option<Bound> {
        let word = self.word(from).filter(|_| end == from + 1)?;
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Bound {
            values: vec![Field::literal(word)],
            shape: Shape::Number,
        })
    }

    /// `n += 1`, `n++`, `++n`: another number from here on.
    fn counts(&self, at: usize, behind: (Option<char>, Option<char>)) -> bool {
        let is_behind = match behind {
            (Some(sign @ ('+' | '-')), Some(next)) => next == sign || next == '=',
            (Some('*' | '/' | '%'), next) => next == Some('='),
            _ => false,
        };
        let is_before = match self.before(at) {
            Some(sign @ ('+' | '-')) => self.before(at - 1) == Some(sign),
            _ => false,
        };
        is_behind || is_before
    }

    fn is_number(&mut self, name: &str) -> bool {
        let held = self.lookup(name);
        held.is_some_and(|bound| bound.shape == Shape::Number)
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
        if self.word(end + 1) == Some("require") {
            return self.import_from((at + 1, end - 1), self.module(end + 3));
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
        match self.word(end + 1) {
            Some("each") => self.bind_pairs(&names, end + 1),
            _ => self.deal(&names, end + 1),
        }
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
        let list = Reader::new(self, spans[0]).whole();
        let is_keyed = from > 1 && self.mark(from - 2) == Some('}');
        for (n, name) in names.iter().enumerate() {
            let bound = match spans.get(n) {
                Some(span) if spans.len() > 1 => Reader::new(self, *span).whole(),
                _ if !list.shape.is_list() => Bound::default(),
                _ if is_keyed => match list.shape {
                    Shape::Literal((open, _)) => self.item_of(open, name),
                    _ => Bound::default(),
                },
                _ => Bound::from(one(list.values.get(n).cloned())),
            };
            if !name.is_empty() {
                self.set(name, bound);
            }
        }
    }

    /// A variable's values, as far as the budget for text goes.
    pub(super) fn variable(&mut self, name: &str) -> Option<Bound> {
        let values = &self.lookup(name)?.values;
        let cost = values.iter().map(|value| value.text.len() + 1).sum();
        let known = cost > 0 && self.shell.spend(cost);
        known.then(|| self.lookup(name).cloned())?
    }

    /// The texts a literal may stand for.
    pub(super) fn texts(&mut self, pieces: &[Piece<'_>]) -> Bound {
        let mut texts = Bound::from(vec![Field::literal("")]);
        for piece in pieces {
            match piece {
                Piece::Literal(text) => {
                    let fields = texts.values.iter_mut();
                    fields.for_each(|field| field.text.push_str(text));
                }
                Piece::Hole(expression) => {
                    let mut known = self.hole(expression);
                    if known.values.is_empty() {
                        known.values.push(Field::unknown());
                    }
                    texts = texts.with(&known, "");
                }
            }
        }
        texts
    }

    /// A variable put into a text, or an expression.
    fn hole(&mut self, expression: &str) -> Bound {
        if self.language == Language::Python
            && let Some((expression, format)) = expression.rsplit_once(':')
            && format.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            let mut bound = self.hole(expression);
            pad(&mut bound.values, format);
            return bound;
        }
        let known = self.variable(expression);
        let known = known.or_else(|| self.variable(&format!("${expression}")));
        if let Some(known) = known {
            return known;
        }
        if self.depth >= MAX_DEPTH || !self.shell.spend(expression.len()) {
            return Bound::default();
        }
        let code = read(self.language, expression);
        let mut inner = Script::new(&code, self.language, self.shell);
        (inner.depth, inner.frame) = (self.depth + 1, self.frame);
        inner.variables = std::mem::take(&mut self.variables);
        inner.members = std::mem::take(&mut self.members);
        let bound = Reader::new(&mut inner, (0, code.tokens.len())).whole();
        (self.variables, self.members) = (inner.variables, inner.members);
        bound
    }
}

/// The zeros that `{n:02}` puts in front.
fn pad(values: &mut [Field], format: &str) {
    let width = format.strip_prefix('0').unwrap_or("");
    let width = width.trim_end_matches('d').parse().unwrap_or(0);
    for value in values {
        let width = usize::min(width, MAX_DEPTH);
        value.text = format!("{:0>width$}", value.text).into();
    }
}
