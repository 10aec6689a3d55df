//! Items of a script's lists and dictionaries, and what its objects hold.

use ecow::EcoString;

use super::bind::{Bound, MAX_MEMBERS, Shape};
use super::calls::Script;
use super::code::{Language, Token};
use super::field::Field;
use super::lex::End;
use super::value::{Given, MAX_VALUES, Reader, Span};

impl Script<'_, '_, '_, '_> {
    /// What the tokens of a key say. A bare word is one but in Python, which
    /// has keys without quotes as arguments only.
    pub(super) fn key_text(&mut self, (start, end): Span) -> Option<EcoString> {
        let first = start + usize::from(self.mark(start) == Some(':'));
        if end != first + 1 {
            return None;
        }
        let is_index = self.before(start) == Some('[') && self.mark(end) == Some(']');
        let is_python = self.language == Language::Python && self.mark(end) != Some('=');
        match self.code.tokens.get(first)? {
            Token::Word(word) if word.parse::<usize>().is_ok() => Some((*word).into()),
            Token::Word(word) if first == start && (is_index || is_python) => {
                match self.variable(word)?.values.as_slice() {
                    [only] => Some(only.known()?.into()),
                    _ => None,
                }
            }
            Token::Word(word) => Some((*word).into()),
            Token::Text(pieces) => {
                let texts = self.texts(pieces).values;
                Some(texts.first()?.known()?.into())
            }
            _ => None,
        }
    }

    /// What stands under a key in the brackets at `open`.
    pub(super) fn value_of(&mut self, open: usize, key: &str) -> Option<Span> {
        let after = self.after(open);
        if !self.shell.spend(after - open) {
            return None;
        }
        let items = self.items_in(open);
        if let Some(item) = key.parse().ok().and_then(|n: usize| items.get(n))
            && !self.language.counts_from_one()
            && self.key_and_value(open, *item).is_none()
        {
            return Some(*item);
        }
        for item in items.into_iter().take(MAX_VALUES) {
            match self.key_and_value(open, item) {
                Some([name, value]) if self.key_text(name).as_deref() == Some(key) => {
                    return Some(value);
                }
                // `{name}` in JavaScript.
                None if self.mark(open) == Some('{') && self.word(item.0) == Some(key) => {
                    return Some(item);
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn item_of(&mut self, open: usize, key: &str) -> Bound {
        let span = self.value_of(open, key);
        span.map_or_else(Bound::default, |span| Reader::new(self, span).whole())
    }

    pub(super) fn has_keys(&self, open: usize) -> bool {
        let items = self.items_in(open);
        let first = items.first();
        first.is_some_and(|item| self.key_and_value(open, *item).is_some())
    }

    /// The key of `.name`, `["name"]`, `[0]` or Perl's `{name}`, and what stands behind it.
    fn key_at(&mut self, at: usize) -> Option<(EcoString, usize)> {
        let mut open = at;
        if self.mark(at) == Some('.') {
            open += 1;
            if let Some(word) = self.word(open) {
                return (self.mark(open + 1) != Some('(')).then(|| (word.into(), open + 1));
            }
        }
        let is_perl = self.language == Language::Perl;
        let is_key = self.mark(open) == Some('[') || is_perl && self.mark(open) == Some('{');
        let behind = self.after(open);
        let key = is_key.then(|| self.key_text((open + 1, behind - 1)))??;
        Some((key, behind))
    }

    /// `record.name = value`, `record["name"] = value`.
    pub(super) fn bind_member(&mut self, at: usize, name: &str) {
        let Some((key, behind)) = self.key_at(at + 1) else {
            return;
        };
        let compares = matches!(self.mark(behind + 1), Some('=' | '>' | '~'));
        if self.mark(behind) != Some('=') || compares {
            return;
        }
        let span = (behind + 1, self.code.statement_end(behind + 1));
        let bound = Reader::new(self, span).whole();
        self.set_member(name, &key, bound);
    }

    pub(super) fn set_member(&mut self, name: &str, key: &str, bound: Bound) {
        let name = member_name(name, key);
        if let Some((_, held)) = self.members.iter_mut().find(|(held, _)| *held == name) {
            *held = bound;
        } else if self.members.len() < MAX_MEMBERS {
            self.members.push((name, bound));
        }
    }

    /// What a name has now is not what it had.
    pub(super) fn forget_members(&mut self, name: &str) {
        let name = name.trim_start_matches('$');
        let is_of = |held: &str| {
            held.strip_prefix(name)
                .is_some_and(|key| key.starts_with('.'))
        };
        self.members.retain(|(held, _)| !is_of(held));
    }

    /// `list.append(item)`.
    pub(super) fn add_item(&mut self, at: usize) {
        let name = at.checked_sub(2).and_then(|at| self.word(at)).unwrap_or("");
        let is_list = self.before(at) == Some('.')
            && self.lookup(name).is_some_and(|list| list.shape.is_list());
        if !is_list || self.mark(at + 1) != Some('(') {
            return;
        }
        let item = self.values((at + 2, self.after(at + 1) - 1));
        if let Some(list) = self
            .lookup(name)
            .filter(|list| list.values.len() < MAX_VALUES)
        {
            list.shape = Shape::List;
            list.values.extend(item);
        }
    }
}

fn member_name(name: &str, key: &str) -> EcoString {
    let name = match name.trim_start_matches('$') {
        "this" | "cls" => "self",
        name => name,
    };
    format!("{name}.{key}").into()
}

impl<'a> Reader<'_, '_, 'a, '_, '_> {
    /// A dictionary's key as a value.
    pub(super) fn key(&mut self, span: Span) -> Vec<Field> {
        match self.script.key_text(span) {
            Some(text) => vec![Field::literal(text)],
            None => self.item(span),
        }
    }

    /// `record.name`, `record["name"]`, where that was given a value by itself, and
    /// `Class.NAME`.
    pub(super) fn member(&mut self, first: &str) -> Option<Vec<Field>> {
        if !matches!(self.mark(), Some('.' | '[' | '{')) {
            return None;
        }
        let (key, behind) = self.script.key_at(self.at)?;
        let name = member_name(first, &key);
        let held = self.script.members.iter().find(|(held, _)| *held == name);
        let bound = match held {
            Some((_, bound)) => bound.clone(),
            None => {
                let is_constant = !key.contains(|c: char| c.is_lowercase() || c == '/');
                let is_class = name.starts_with("self.") || name.starts_with(char::is_uppercase);
                let constant = is_constant && is_class && self.script.lookup(first).is_none();
                self.script.variable(constant.then_some(&key)?)?
            }
        };
        let len = bound.values.iter().map(|value| value.text.len() + 1).sum();
        if bound.values.is_empty() || !self.script.shell.spend(len) {
            return None;
        }
        self.at = behind;
        Some(self.give(bound))
    }

    /// What stands under the key at the cursor in the literal that was read last.
    pub(super) fn picked(&mut self) -> Option<Vec<Field>> {
        let Shape::Literal((open, _)) = self.shape else {
            return None;
        };
        if !matches!(self.mark(), Some('.' | '[' | '{')) {
            return None;
        }
        let (key, behind) = self.script.key_at(self.at)?;
        let span = self.script.value_of(open, &key)?;
        self.at = behind;
        Some(self.within(span))
    }

    /// `record.get("name", default)`.
    pub(super) fn fetched(&mut self, shape: Shape, arguments: Vec<Given<'a>>) -> Vec<Field> {
        let key = arguments.first().map(Given::first);
        if let (Shape::Literal((open, _)), Some(key)) = (shape, key.as_ref().and_then(Field::known))
            && let Some(span) = self.script.value_of(open, key)
        {
            return self.within(span);
        }
        let default = arguments.into_iter().nth(1);
        default.map_or_else(Vec::new, |given| given.bound.values)
    }

    /// What all keys of a dictionary stand for.
    pub(super) fn given_values(&mut self, shape: Shape) -> Vec<Field> {
        let Shape::Literal((open, _)) = shape else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for item in self.script.items_in(open).into_iter().take(MAX_VALUES) {
            let span = self.script.key_and_value(open, item);
            all.extend(self.within(span.map_or(item, |[_, value]| value)));
        }
        self.shape = Shape::List;
        all
    }

    /// What a variable holds, or the program's arguments.
    pub(super) fn held(&mut self, first: &str) -> Option<Vec<Field>> {
        let mut key = first;
        if self.script.language == Language::Perl {
            let is_item = matches!(self.mark(), Some('[' | '{'));
            let sigil = if is_item { '$' } else { '@' };
            key = first.strip_prefix(sigil).unwrap_or(first);
        }
        if self.mark() == Some('.') && matches!(first, "sys" | "process" | "Deno" | "Bun") {
            key = match self.script.word(self.at + 1) {
                Some("argv") => ".argv",
                Some("args") => ".args",
                _ => first,
            };
            self.at += if key == first { 0 } else { 2 };
        }
        self.shape = self.script.lookup(key)?.shape;
        let shifts = self.mark() == Some('.') && self.script.word(self.at + 1) == Some("shift");
        if shifts && self.shape.is_list() {
            self.at += 2;
            self.call_arguments();
            self.shape = Shape::One;
            return Some(self.script.shift(key));
        }
        let bound = self.script.variable(key)?;
        Some(self.give(bound))
    }

    /// Perl's `shift`, `shift @ARGV`, `shift(@_)`.
    pub(super) fn perl_shift(&mut self) -> Vec<Field> {
        let is_call = self.mark() == Some('(');
        let named = self.script.word(self.at + usize::from(is_call));
        let named = named.and_then(|name| name.strip_prefix('@'));
        if is_call || named.is_some() {
            self.at = self.script.after(self.at);
        }
        let in_function = self.script.lookup("_").is_some();
        let usual = if in_function { "_" } else { "ARGV" };
        self.script.shift(named.unwrap_or(usual))
    }

    /// The place of an index in a list of a length; it counts from one of the ends.
    pub(super) fn place(&self, number: usize, from: End, len: usize) -> usize {
        let first = usize::from(self.script.language.counts_from_one());
        match from {
            End::Back => len.wrapping_sub(number),
            End::Front => number.wrapping_sub(first),
        }
    }
}
