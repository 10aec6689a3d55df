//! Items of a script's lists and dictionaries, and what its objects hold.

use ecow::EcoString;

use super::bind::Shape;
use super::calls::Script;
use super::code::{Language, Token};
use super::field::Field;
use super::value::{MAX_VALUES, Reader, Span};

impl Script<'_, '_, '_, '_> {
    /// What the tokens of a key say. A bare word is one but in Python, which
    /// has keys without quotes as arguments only.
    fn key_text(&mut self, (start, end): Span) -> Option<EcoString> {
        let first = start + usize::from(self.mark(start) == Some(':'));
        if end != first + 1 {
            return None;
        }
        match self.code.tokens.get(first)? {
            Token::Word(word)
                if self.language == Language::Python && self.mark(end) != Some('=') =>
            {
                let bound = self.variable(word)?;
                Some(bound.values.first()?.known()?.into())
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
        let items = self.items_in(open);
        for item in items.into_iter().take(MAX_VALUES) {
            match self.key_and_value(open, item) {
                Some([name, value]) if self.key_text(name).as_deref() == Some(key) => {
                    return Some(value);
                }
                // `{name}` in JavaScript.
                None if self.word(item.0) == Some(key) => return Some(item),
                _ => {}
            }
        }
        None
    }
}

impl<'a> Reader<'_, '_, 'a, '_, '_> {
    /// A dictionary's key as a value.
    pub(super) fn key(&mut self, span: Span) -> Vec<Field> {
        match self.script.key_text(span) {
            Some(text) => vec![Field::literal(text)],
            None => self.item(span),
        }
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
            let sigil = if self.mark() == Some('[') { '$' } else { '@' };
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
}
