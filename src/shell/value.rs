//! Expressions of scripting languages that come to a known path.

use super::bind::{Bound, Shape};
use super::calls::Script;
use super::code::{Language, Token};
use super::field::Field;
use super::lex::End;
use super::made::one;

/// Tokens from the first place up to the second.
pub(super) type Span = (usize, usize);

/// How many values an expression may have, and how deep it may nest.
pub(super) const MAX_VALUES: usize = 64;
pub(super) const MAX_DEPTH: usize = 24;

/// Each of the first with each of the second.
pub(super) fn product(first: &[Field], second: &[Field], between: &str) -> Vec<Field> {
    let mut joined = Vec::new();
    for a in first {
        for b in second.iter().take(MAX_VALUES - joined.len()) {
            let mut whole = a.clone();
            if between == "/" && b.text.starts_with('/') {
                whole = b.clone();
            } else {
                let slashed =
                    between == "/" && (whole.text.ends_with('/') || whole.text.is_empty());
                whole.text.push_str(if slashed { "" } else { between });
                whole.push(b);
            }
            joined.push(whole);
        }
    }
    joined
}

/// Puts each of the second behind each of the first.
pub(super) fn append(values: &mut Vec<Field>, piece: &[Field]) {
    match piece {
        [only] => values.iter_mut().for_each(|value| value.push(only)),
        _ => *values = product(values, piece, ""),
    }
}

impl Bound {
    /// Each of these with each of the others. What one loop gives stays in its turn.
    pub(super) fn with(mut self, other: &Self, between: &str) -> Self {
        let pairs = self.values.iter().zip(&other.values);
        let (len, others) = (self.values.len(), other.values.len());
        let in_turn = |bound: &Self| matches!(bound.shape, Shape::Turn(_));
        if len == others && in_turn(&self) && self.shape == other.shape {
            let (one, next) = (std::slice::from_ref, std::slice::from_ref);
            self.values = pairs
                .flat_map(|(a, b)| product(one(a), next(b), between))
                .collect();
            return self;
        }
        self.shape = match (in_turn(&self), in_turn(other)) {
            (true, _) if others == 1 => self.shape,
            (_, true) if len == 1 => other.shape,
            _ => Shape::One,
        };
        match between {
            "" => append(&mut self.values, &other.values),
            _ => self.values = product(&self.values, &other.values, between),
        }
        self
    }
}

/// One argument of a call.
pub(super) struct Given<'a> {
    /// `name` of `name=value`, or of `name: value`.
    pub(super) name: Option<&'a str>,
    pub(super) bound: Bound,
}

impl Given<'_> {
    /// The value of an argument among others.
    pub(super) fn first(&self) -> Field {
        let value = self.bound.values.first().cloned();
        value.unwrap_or_else(Field::unknown)
    }
}

/// Reads one expression. An empty list of values: not known.
pub(super) struct Reader<'r, 'c, 'a, 'h, 's> {
    pub(super) script: &'r mut Script<'c, 'a, 'h, 's>,
    pub(super) at: usize,
    end: usize,
    pub(super) depth: usize,
    /// What the values read last are.
    pub(super) shape: Shape,
}

impl<'r, 'c, 'a, 'h, 's> Reader<'r, 'c, 'a, 'h, 's> {
    pub(super) fn new(script: &'r mut Script<'c, 'a, 'h, 's>, span: Span) -> Self {
        Self {
            at: span.0,
            end: span.1,
            depth: script.depth,
            shape: Shape::One,
            script,
        }
    }

    /// What the whole span comes to.
    pub(super) fn whole(mut self) -> Bound {
        let values = self.expression();
        match self.at >= self.end {
            true => self.bound(values),
            false => Bound::default(),
        }
    }

    pub(super) fn bound(&self, values: Vec<Field>) -> Bound {
        let shape = self.shape;
        Bound { values, shape }
    }

    /// The items of a list literal, unknown ones among them.
    pub(super) fn items(mut self) -> Vec<Field> {
        let spans = self.script.items_in(self.at);
        Bound::list(&self.given(&spans)).values
    }

    /// One item or argument. A number is a text only there: elsewhere it may
    /// be an open file.
    pub(super) fn item(&mut self, span: Span) -> Vec<Field> {
        let word = self.script.word(span.0).filter(|_| span.1 == span.0 + 1);
        match word.filter(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(number) => {
                self.shape = Shape::One;
                vec![Field::literal(number)]
            }
            None => self.within(span),
        }
    }

    pub(super) fn within(&mut self, span: Span) -> Vec<Field> {
        self.shape = Shape::One;
        if self.depth >= MAX_DEPTH {
            return Vec::new();
        }
        if let Some(range) = self.script.counted_range(span) {
            self.shape = Shape::List;
            return range;
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

    pub(super) fn mark(&self) -> Option<char> {
        self.script.mark(self.at).filter(|_| self.at < self.end)
    }

    pub(super) fn expression(&mut self) -> Vec<Field> {
        let mut branches = Vec::new();
        let mut values = self.term();
        while self.at < self.end {
            if let Some(next) = self.branch(&values) {
                branches.append(&mut values);
                self.at = next;
                values = self.term();
                continue;
            }
            if values.is_empty() {
                break;
            }
            let between = match self.mark() {
                // A sum is another number.
                Some('+' | '/' | '%') if self.shape == Shape::Number => return Vec::new(),
                Some('%') => {
                    values = self.filled(&values);
                    continue;
                }
                Some('+' | '~') => "",
                Some('/') => "/",
                // Texts side by side are one text.
                None if self.is_text_next() => {
                    let first = self.bound(values);
                    let next = self.term();
                    values = self.joined(first, next, "");
                    continue;
                }
                _ => return Vec::new(),
            };
            self.at += 1;
            let first = self.bound(values);
            let next = self.term();
            values = self.joined(first, next, between);
        }
        if branches.is_empty() {
            return values;
        }
        if !self.shape.is_list() {
            self.shape = Shape::One;
        }
        branches.append(&mut values);
        branches
    }

    fn is_text_next(&self) -> bool {
        match self.token() {
            Some(Token::Text(_)) => true,
            Some(Token::Word(_)) => self.script.language == Language::Awk,
            _ => false,
        }
    }

    /// Two texts in one, or two lists.
    fn joined(&mut self, mut first: Bound, next: Vec<Field>, between: &str) -> Vec<Field> {
        if first.shape.is_list() && self.shape.is_list() {
            first.values.extend(next);
            first.values.truncate(MAX_VALUES);
            self.shape = Shape::List;
            return first.values;
        }
        let next = self.bound(next);
        self.give(first.with(&next, between))
    }

    /// The values of what was read last.
    pub(super) fn give(&mut self, bound: Bound) -> Vec<Field> {
        self.shape = bound.shape;
        bound.values
    }

    /// Where the other branch of `a or b`, `a || b`, `a if c else b` begins. A
    /// known value before `or` is the only one.
    fn branch(&self, before: &[Field]) -> Option<usize> {
        let next = self.script.mark(self.at + 1);
        let len = match self.token()? {
            Token::Word("if" | "unless") => {
                let mut at = self.at;
                while at < self.end && self.script.word(at) != Some("else") {
                    at = self.script.after(at);
                }
                return Some(at + 1);
            }
            Token::Word("or") => 1,
            Token::Mark('/') if self.script.language != Language::Perl => return None,
            Token::Mark(mark @ ('|' | '?' | '/')) if next == Some(*mark) => 2,
            _ => return None,
        };
        Some(match before {
            [] => self.at + len,
            _ => self.end,
        })
    }

    pub(super) fn token(&self) -> Option<&'c Token<'a>> {
        let code = self.script.code;
        code.tokens.get(self.at).filter(|_| self.at < self.end)
    }

    pub(super) fn term(&mut self) -> Vec<Field> {
        self.shape = Shape::One;
        let mut values = self.primary();
        while !values.is_empty() {
            if let Some(picked) = self.picked() {
                values = picked;
                continue;
            }
            if self.mark() == Some('[') && self.shape.is_list() {
                values = self.indexed(&values);
                continue;
            }
            if self.mark() != Some('.') {
                break;
            }
            let Some(name) = self.script.word(self.at + 1) else {
                return Vec::new();
            };
            self.at += 2;
            if name == "filter" && self.mark() == Some('(') {
                values = self.script.filtered(self.at, &values);
                self.at = self.script.after(self.at);
                continue;
            }
            let own = self.bound(values);
            let arguments = self.call_arguments();
            values = match (name, self.script.language) {
                ("format", Language::Python) => self.formatted(&own.values, b'{', &arguments),
                _ => self.method(own, name, arguments),
            };
        }
        values
    }

    /// `[1]`, `[-1]`, `[1:]`, `[:2]` of a list.
    fn indexed(&mut self, items: &[Field]) -> Vec<Field> {
        let open = self.at;
        self.at = self.script.after(open);
        self.shape = Shape::One;
        let tokens = self.script.code.tokens.get(open + 1..self.at - 1);
        let (mut bounds, mut n_bounds, mut from) = ([None; 2], 0, End::Front);
        for token in tokens.unwrap_or(&[]) {
            match token {
                Token::Mark('-') => from = End::Back,
                Token::Mark(':') if n_bounds == 0 => (n_bounds, from) = (1, End::Front),
                Token::Word(word) => {
                    let Ok(number) = word.parse() else {
                        return Vec::new();
                    };
                    bounds[n_bounds] = Some(self.place(number, from, items.len()));
                }
                _ => return Vec::new(),
            }
        }
        match (n_bounds, bounds) {
            (0, [Some(at), _]) => one(items.get(at).cloned()),
            (0, _) => Vec::new(),
            (_, [from, to]) => {
                self.shape = Shape::List;
                let span = from.unwrap_or(0)..to.unwrap_or(items.len()).min(items.len());
                items.get(span).unwrap_or(&[]).to_vec()
            }
        }
    }

    /// The arguments of a call at the cursor, if there is one.
    pub(super) fn call_arguments(&mut self) -> Vec<Given<'a>> {
        if self.mark() != Some('(') {
            return Vec::new();
        }
        let spans = self.script.items_in(self.at);
        self.at = self.script.after(self.at);
        self.given(&spans)
    }

    /// Arguments as they are given: plain, `name=value`, `name: value`, `*list`.
    pub(super) fn given(&mut self, spans: &[Span]) -> Vec<Given<'a>> {
        let mut all = Vec::new();
        for &(mut start, end) in spans {
            let named = match (self.script.mark(start + 1), self.script.language) {
                (Some('='), _) | (Some(':'), Language::Ruby | Language::Php) => {
                    self.script.mark(start + 2) != Some('=')
                }
                _ => false,
            };
            let name = self.script.word(start).filter(|_| named);
            start += if name.is_some() { 2 } else { 0 };
            let n_stars = match self.script.mark(start) {
                Some('*') => 1,
                Some('.') => 3,
                _ => 0,
            };
            let values = self.item((start + n_stars, end));
            if n_stars == 0 || values.is_empty() {
                let bound = self.bound(values);
                all.push(Given { name, bound });
                continue;
            }
            for value in values {
                let bound = Bound::from(vec![value]);
                all.push(Given { name, bound });
            }
        }
        all
    }

    pub(super) fn primary(&mut self) -> Vec<Field> {
        let Some(token) = self.token() else {
            return Vec::new();
        };
        match token {
            Token::Text(pieces) => {
                self.at += 1;
                let texts = self.script.texts(pieces);
                self.give(texts)
            }
            Token::Command(pieces) => {
                self.at += 1;
                let mut words = vec![Field::literal("eval")];
                words.append(&mut self.script.texts(pieces).values);
                self.output_of(&words)
            }
            Token::Mark('(' | '[') => self.bracket(),
            Token::Mark('{') if self.script.language != Language::Perl => self.bracket(),
            // A block has no keys.
            Token::Mark('{') if self.script.has_keys(self.at) => self.bracket(),
            // `%hash`
            Token::Mark('%') if self.script.language == Language::Perl => {
                self.at += 1;
                self.primary()
            }
            Token::Word("await") => {
                self.at += 1;
                self.primary()
            }
            Token::Word(word) => self.name(word),
            _ => Vec::new(),
        }
    }

    /// `(value)`, or all items of `[a, b]` and `(a, b)`, or the keys of `{a: b}`.
    pub(super) fn bracket(&mut self) -> Vec<Field> {
        let span = (self.at, self.script.after(self.at));
        let items = self.script.items_in(self.at);
        self.at = span.1;
        if let Some(head) = self.repeated(span.0, &items) {
            return head;
        }
        if let ([only], Some('(')) = (items.as_slice(), self.script.mark(span.0))
            && only.1 == span.1 - 1
            && self.script.key_and_value(span.0, *only).is_none()
        {
            return self.within(*only);
        }
        let mut all = Vec::new();
        for item in items.iter().take(MAX_VALUES) {
            let pair = self.script.key_and_value(span.0, *item);
            let values = match pair {
                Some([key, _]) => self.key(key),
                None => self.item(*item),
            };
            // What is not known keeps its place among others.
            match values.is_empty() && items.len() > 1 {
                true => all.push(Field::unknown()),
                false => all.extend(values),
            }
            if all.len() >= MAX_VALUES {
                break;
            }
        }
        self.shape = Shape::Literal(span);
        all
    }

    /// The items that `[f(x) for x in VALUES]` makes.
    fn repeated(&mut self, open: usize, items: &[Span]) -> Option<Vec<Field>> {
        let &(from, end) = items.first()?;
        if self.script.language != Language::Python || self.script.mark(open) == Some('{') {
            return None;
        }
        let mut at = from;
        while self.script.word(at) != Some("for") {
            at = self.script.after(at);
            if at >= end {
                return None;
            }
        }
        self.script.bind_comprehension(open);
        let values = self.within((from, at));
        self.shape = Shape::List;
        Some(values)
    }
}
