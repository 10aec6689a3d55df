//! What names hold in the turns of a script's loops.

use super::bind::{Bound, MAX_NAMES, Shape};
use super::calls::Script;
use super::code::{Language, Token};
use super::field::Field;
use super::made::numbers;
use super::value::{MAX_VALUES, Reader, Span};

/// The names in the head of a loop, and how they stand there.
struct Pattern<'a> {
    names: Vec<&'a str>,
    /// `{a, b}` takes what stands under these keys.
    is_keyed: bool,
    /// Where it ends.
    end: usize,
}

impl<'a> Script<'_, 'a, '_, '_> {
    /// The names from `at` on, brackets among them left out.
    fn pattern(&self, at: usize) -> Pattern<'a> {
        let mut pattern = Pattern {
            names: Vec::new(),
            is_keyed: self.mark(at) == Some('{'),
            end: at,
        };
        let mut depth = 0;
        while pattern.names.len() < MAX_NAMES {
            match self.code.tokens.get(pattern.end) {
                Some(Token::Word("in" | "of" | "as" | "const" | "let" | "var" | "my")) => break,
                Some(Token::Word(word)) => pattern.names.push(word),
                Some(Token::Mark('(' | '[' | '{')) => depth += 1,
                Some(Token::Mark(')' | ']' | '}')) if depth > 0 => depth -= 1,
                // PHP's `$key => $value`.
                Some(Token::Mark(',' | '&')) => {}
                Some(Token::Mark('=')) if self.mark(pattern.end + 1) == Some('>') => {
                    if self.language != Language::Php {
                        break;
                    }
                    pattern.end += 1;
                }
                _ => break,
            }
            pattern.end += 1;
            if self.language == Language::Perl && depth == 0 {
                break;
            }
        }
        pattern
    }

    /// `for x in VALUES`, `for (const x of VALUES)`, `foreach ($v as $x)`.
    pub(super) fn bind_loop(&mut self, at: usize) {
        let is_async = self.word(at + 1) == Some("await");
        let mut start = at + 1 + usize::from(is_async);
        let mut end = None;
        if self.mark(start) == Some('(') && self.language != Language::Python {
            end = Some(self.code.partner(start));
            start += 1;
        }
        while let Some("const" | "let" | "var" | "my" | "our" | "await") = self.word(start) {
            start += 1;
        }
        let mut pattern = self.pattern(start);
        let place = pattern.end;
        let span = match (self.word(place), self.mark(place)) {
            (Some("in" | "of"), _) => {
                let from = place + 1;
                (from, end.unwrap_or_else(|| self.block_start(from)))
            }
            (None, Some('(')) if end.is_none() => (place, self.after(place)),
            _ if self.language == Language::Php => {
                let end = end.unwrap_or(place);
                let Some(place) = (start..end).find(|at| self.word(*at) == Some("as")) else {
                    return;
                };
                pattern = self.pattern(place + 1);
                (start, place)
            }
            _ if self.language == Language::Perl && end.is_some() => {
                pattern.names = vec!["$_"];
                (at + 1, self.after(at + 1))
            }
            _ => return,
        };
        self.deal_each(&pattern, span);
    }

    /// Perl's `CALL for VALUES`: the loop stands behind what it repeats.
    pub(super) fn bind_modifier(&mut self, at: usize) {
        let end = match self.mark(at + 1) {
            Some('(') => self.after(at + 1),
            _ => self.bare_end(at + 1),
        };
        let is_loop = matches!(self.word(end), Some("for" | "foreach"));
        if is_loop && self.language == Language::Perl {
            let mut values = Vec::new();
            for item in self.code.divide((end + 1, self.bare_end(end + 1))) {
                values.extend(self.values(item));
            }
            values.truncate(MAX_VALUES);
            let shape = Shape::Turn(end);
            self.set("$_", Bound { values, shape });
        }
    }

    /// The key and the value of a dictionary's item.
    pub(super) fn key_and_value(&self, open: usize, item: Span) -> Option<[Span; 2]> {
        let has_arrows = matches!(
            self.language,
            Language::Perl | Language::Php | Language::Ruby
        );
        let is_python = self.language == Language::Python && self.mark(open) == Some('(');
        let is_braced = self.mark(open) == Some('{');
        let mut at = item.0;
        while at < item.1 {
            let len = match (self.mark(at), self.mark(at + 1)) {
                (Some(':'), _) if is_braced && at > item.0 => 1,
                (Some('='), Some('>')) if has_arrows => 2,
                (Some('='), next) if is_python && at == item.0 + 1 && next != Some('=') => 1,
                _ => {
                    at = self.after(at);
                    continue;
                }
            };
            return Some([(item.0, at), (at + len, item.1)]);
        }
        None
    }

    /// Gives names what they hold in any turn of a loop.
    fn deal_each(&mut self, pattern: &Pattern<'a>, span: Span) {
        let shape = Shape::Turn(span.0);
        let columns = self.columns(pattern, &pattern.names, span);
        for (name, values) in pattern.names.iter().zip(columns) {
            self.set(name, Bound { values, shape });
        }
        if let ([name], false) = (pattern.names.as_slice(), pattern.is_keyed) {
            self.deal_members(name, span);
        }
    }

    /// `x.path`, `x["path"]` and `x[0]` for `x` of a list of records.
    fn deal_members(&mut self, name: &str, span: Span) {
        let Shape::Literal((open, _)) = Reader::new(self, span).whole().shape else {
            return;
        };
        if !self.shell.spend(self.after(open) - open) {
            return;
        }
        let records = self.items_in(open);
        let Some(first) = records.first().map(|record| record.0) else {
            return;
        };
        for (n, item) in self.items_in(first).into_iter().enumerate().take(MAX_NAMES) {
            let key = match self.key_and_value(first, item) {
                Some([key, _]) => self.key_text(key),
                None => Some(n.to_string().into()),
            };
            let Some(key) = key else { continue };
            let mut values = Vec::new();
            for record in records.iter().take(MAX_VALUES) {
                let mut value = self.item_of(record.0, &key).values;
                if value.is_empty() {
                    value.push(Field::unknown());
                }
                values.append(&mut value);
            }
            let shape = Shape::Turn(span.0);
            self.set_member(name, &key, Bound { values, shape });
        }
    }

    /// What stands in each turn at the place of each name.
    fn columns(&mut self, pattern: &Pattern<'a>, names: &[&str], span: Span) -> Vec<Vec<Field>> {
        let mut columns = vec![Vec::new(); names.len()];
        let arguments = self.items_in(span.0 + 1);
        match (self.word(span.0), arguments.as_slice()) {
            (Some("enumerate" | "ipairs"), [list, rest @ ..]) if names.len() > 1 => {
                let from = rest
                    .first()
                    .and_then(|from| self.word(from.1 - 1)?.parse().ok());
                let from = from.unwrap_or(0);
                columns = self.columns(pattern, &names[1..], *list);
                let n_turns = columns.first().map_or(0, Vec::len);
                columns.insert(0, numbers(from, from.saturating_add(n_turns)));
            }
            // What lies deeper is not looked for.
            (Some("os"), _) if self.word(span.0 + 2) == Some("walk") => {
                let arguments = self.items_in(span.0 + 3);
                let dirs = self.values(arguments.first().copied().unwrap_or((0, 0)));
                let files = Reader::new(self, span).listed(&dirs, "");
                columns = vec![dirs, vec![Field::unknown()], files];
            }
            (Some("zip"), [_, _, ..]) => {
                for (list, column) in arguments.iter().zip(&mut columns) {
                    *column = self.values(*list);
                }
                let n_turns = columns.iter().map(Vec::len).filter(|len| *len > 0).min();
                let n_turns = n_turns.unwrap_or(0);
                columns
                    .iter_mut()
                    .for_each(|column| column.truncate(n_turns));
            }
            _ => {
                let list = Reader::new(self, span).whole();
                self.spread(pattern, list, &mut columns);
            }
        }
        columns
    }

    /// Spreads the items of a list over the places of names.
    fn spread(&mut self, pattern: &Pattern<'a>, list: Bound, columns: &mut [Vec<Field>]) {
        let is_php = self.language == Language::Php;
        let takes_apart = columns.len() > 1 || pattern.is_keyed || is_php;
        let open = match (list.shape, &mut *columns) {
            (Shape::Literal((open, _)), _) if takes_apart => open,
            // `$list as $n => $item`
            (_, [.., last]) if is_php => return *last = list.values,
            (_, [first, ..]) => return *first = list.values,
            _ => return,
        };
        if !self.shell.spend(self.after(open) - open) {
            return;
        }
        for item in self.items_in(open).into_iter().take(MAX_VALUES) {
            let parts = match self.key_and_value(open, item) {
                Some(pair) if columns.len() > 1 => pair.to_vec(),
                Some([_, value]) => vec![value],
                None if pattern.is_keyed => {
                    let keys = pattern.names.iter();
                    let value = |key: &&str| self.value_of(item.0, key).unwrap_or((0, 0));
                    keys.map(value).collect()
                }
                None if is_php && columns.len() > 1 => vec![(0, 0), item],
                None if self.mark(item.0).is_none() => vec![item],
                None => self.items_in(item.0),
            };
            for (n, column) in columns.iter_mut().enumerate() {
                let part = parts.get(n).copied().unwrap_or((0, 0));
                let mut values = self.values(part);
                if values.is_empty() {
                    values = vec![Field::unknown()];
                }
                column.append(&mut values);
            }
        }
    }

    /// `while (my ($k, $v) = each %h)`.
    pub(super) fn bind_pairs(&mut self, names: &[&'a str], from: usize) {
        let pattern = Pattern {
            names: names.to_vec(),
            is_keyed: false,
            end: from,
        };
        self.deal_each(&pattern, (from, self.code.statement_end(from)));
    }

    /// `i = 0; i < 3`, in the head of a loop or before it.
    pub(super) fn counted(&self, name: &str, (from, end): Span) -> Option<Bound> {
        let first = self.word(from).filter(|_| end == from + 1)?;
        let mut at = end + 1;
        while self.word(at) == Some("while") || self.mark(at) == Some('(') {
            at += 1;
        }
        let is_bound = self.word(at) == Some(name) && self.mark(at + 1) == Some('<');
        let reaches = usize::from(self.mark(at + 2) == Some('='));
        let last: usize = self
            .word(at + 2 + reaches)
            .filter(|_| is_bound)?
            .parse()
            .ok()?;
        let values = numbers(first.parse().ok()?, last.saturating_add(reaches));
        let shape = Shape::Turn(from);
        Some(Bound { values, shape })
    }

    /// `1..3` of Perl and Ruby.
    pub(super) fn counted_range(&self, (from, end): Span) -> Option<Vec<Field>> {
        let is_range = end == from + 4
            && matches!(self.mark(from + 1), Some('.' | '~'))
            && self.mark(from + 1) == self.mark(from + 2);
        let first = self.word(from).filter(|_| is_range)?.parse().ok()?;
        let last: usize = self.word(from + 3)?.parse().ok()?;
        Some(numbers(first, last.saturating_add(1)))
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
        // What is gone through may be a dictionary.
        let mut at = self.after(from);
        while let Some(token) = self.code.tokens.get(at) {
            match token {
                Token::End
                | Token::Mark(':' | '{' | ')' | ']' | '}')
                | Token::Word("do" | "if" | "for") => break,
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
        let mut place = at + 1;
        let is_block = |at: usize| match self.mark(at) {
            Some('|') => true,
            Some('(') => self.language != Language::Python,
            Some('{') => self.language != Language::Script,
            _ => matches!(self.word(at), Some("do" | "function" | "async")),
        };
        while place < at + 5 && is_block(place) {
            place += 1;
        }
        let mut pattern = self.pattern(place);
        if self.language == Language::Script && self.word(place).is_some() {
            // The second one is the number.
            pattern.names.truncate(1);
        }
        self.deal_each(&pattern, (self.receiver_start(at), at - 1));
    }
}
