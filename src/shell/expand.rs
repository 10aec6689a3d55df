//! From words to fields: parameters, commands, splitting, globs (POSIX, "Word Expansions").

use super::brace::{self, Expanded};
use super::eval::Shell;
use super::field::{Field, some_of};
use super::glob::{escape, is_pattern};
use super::lex::is_name;
use super::print;
use super::syntax::{List, Parameter, Part, Quoting, Word};
use crate::base::target::Spelling;

/// A part of a word after its parameters are replaced.
#[derive(Clone)]
pub(super) enum Piece<'w> {
    /// In the command as it is, where globs and braces count.
    Bare(&'w str),
    Quoted(&'w str),
    /// What a part came to: without quotes it is split, and globs in it count.
    Value(Field, Quoting),
    /// The end of one element of a list.
    Break,
}

/// A field that is being put together.
struct Draft {
    field: Field,
    /// An empty text is a field where it was quoted.
    is_there: bool,
    is_pattern: bool,
}

impl Draft {
    fn new() -> Self {
        Self {
            field: Field::literal(""),
            is_there: false,
            is_pattern: false,
        }
    }

    fn push(&mut self, text: &str, quoting: Quoting) {
        self.field.text.push_str(text);
        self.is_there |= quoting == Quoting::Quoted || !text.is_empty();
        self.is_pattern |= quoting == Quoting::Bare && is_pattern(text);
    }

    /// A part of a value.
    fn push_value(&mut self, part: &str, value: &Field, quoting: Quoting) {
        self.push(part, quoting);
        if value.spelling != Spelling::Literal {
            self.field.spelling = value.spelling;
        }
    }

    /// Ends this field, and begins another one. A pattern stays one: which names it fits is
    /// asked where they are changed.
    fn finish(&mut self, fields: &mut Vec<Field>) {
        let done = std::mem::replace(self, Self::new());
        if done.is_there {
            fields.push(if done.is_pattern {
                some_of(done.field)
            } else {
                done.field
            });
        }
    }
}

impl Shell<'_> {
    pub(super) fn fields(&mut self, words: &[Word]) -> Vec<Field> {
        let mut fields = Vec::with_capacity(words.len());
        for word in words {
            match word.parts.as_slice() {
                [Part::Quoted(text)] => fields.push(Field::literal(text)),
                [Part::Bare(text)] if !text.contains(['~', '{', '*', '?', '[']) => {
                    fields.push(Field::literal(text));
                }
                _ => {
                    let pieces = self.pieces(word);
                    match brace::expand(&pieces) {
                        Expanded::Same => split(&pieces, &mut fields),
                        Expanded::Words(words) => {
                            words.iter().for_each(|word| split(word, &mut fields));
                        }
                        Expanded::TooMany => self.give_up(super::Limit::Steps),
                    }
                }
            }
        }
        let bytes: usize = fields.iter().map(|field| field.text.len()).sum();
        self.spend(fields.len() + bytes / 64);
        fields
    }

    /// A word as one field, neither split nor searched for.
    pub(super) fn text(&mut self, word: &Word) -> Field {
        let mut field = Field::literal("");
        for piece in self.pieces(word) {
            match piece {
                Piece::Bare(text) | Piece::Quoted(text) => field.text.push_str(text),
                Piece::Value(value, _) => field.push(&value),
                Piece::Break => field.text.push(' '),
            }
        }
        self.spend(field.text.len() / 64);
        field
    }

    /// A word as a pattern; `None` where it is not known.
    pub(super) fn pattern(&mut self, word: &Word) -> Option<String> {
        let mut pattern = String::new();
        for piece in self.pieces(word) {
            match &piece {
                Piece::Bare(text) => pattern.push_str(text),
                Piece::Quoted(text) => pattern.push_str(&escape(text)),
                Piece::Value(value, Quoting::Bare) => pattern.push_str(value.known()?),
                Piece::Value(value, Quoting::Quoted) => pattern.push_str(&escape(value.known()?)),
                Piece::Break => {}
            }
        }
        Some(pattern)
    }

    fn pieces<'w>(&mut self, word: &'w Word) -> Vec<Piece<'w>> {
        let mut pieces = Vec::with_capacity(word.parts.len());
        for (at, part) in word.parts.iter().enumerate() {
            pieces.push(match part {
                Part::Bare(text) if at == 0 && text.starts_with('~') => {
                    self.with_home(text, word.parts.len(), &mut pieces);
                    continue;
                }
                Part::Bare(text) => Piece::Bare(text),
                Part::Quoted(text) => Piece::Quoted(text),
                Part::Parameter(parameter, quoting) => {
                    self.parameter_pieces(parameter, *quoting, &mut pieces);
                    continue;
                }
                Part::Command(list, quoting) => Piece::Value(self.printed(list), *quoting),
                Part::Process(list) => {
                    self.captured(list);
                    Piece::Quoted("/dev/fd/63")
                }
                Part::Arithmetic(word) => {
                    self.arithmetic(word);
                    Piece::Value(Field::unknown(), Quoting::Quoted)
                }
            });
        }
        pieces
    }

    /// `~`, `~/x` and `~+/x`.
    fn with_home<'w>(&self, text: &'w str, n_parts: usize, pieces: &mut Vec<Piece<'w>>) {
        let behind = text
            .strip_prefix('~')
            .filter(|rest| rest.starts_with('/') || (rest.is_empty() && n_parts == 1));
        let (dir, rest) = match (behind, text.strip_prefix("~+")) {
            (Some(rest), _) => (self.home(), rest),
            (None, Some(rest)) => (Field::of(self.place.cwd.as_deref()), rest),
            (None, None) => return pieces.push(Piece::Bare(text)),
        };
        pieces.extend([Piece::Value(dir, Quoting::Quoted), Piece::Bare(rest)]);
    }

    fn parameter_pieces(
        &mut self,
        parameter: &Parameter,
        quoting: Quoting,
        pieces: &mut Vec<Piece<'_>>,
    ) {
        let mut values = self.parameter(parameter);
        if quoting == Quoting::Quoted && parameter.name != "@" && values.len() != 1 {
            let is_split_by_blanks = values.is_empty() || self.variable("IFS").is_none();
            values = vec![if is_split_by_blanks {
                print::joined(&values, ' ')
            } else {
                Field::unknown()
            }];
        }
        for (at, value) in values.into_iter().enumerate() {
            pieces.extend((at > 0).then_some(Piece::Break));
            pieces.push(Piece::Value(value, quoting));
        }
    }

    /// What a list prints, in a shell of its own.
    fn captured(&mut self, list: &List) -> Option<Field> {
        self.subshell(|shell| shell.list(list)).output
    }

    /// What `$(…)` comes to.
    fn printed(&mut self, list: &List) -> Field {
        let output = self.captured(list).unwrap_or_else(Field::unknown);
        output.with_text(output.text.trim_end_matches('\n'))
    }

    /// Runs what is substituted in arithmetic; where it assigns, no name in it is known behind it.
    pub(super) fn arithmetic(&mut self, word: &Word) {
        let text = self.text(word).text;
        if ["=", "++", "--"].iter().any(|sign| text.contains(sign)) {
            let words = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            for name in words.filter(|word| is_name(word)) {
                self.set(name, Field::unknown());
            }
        }
    }
}

/// Splits what was expanded without quotes at its blanks.
fn split(pieces: &[Piece<'_>], fields: &mut Vec<Field>) {
    let mut draft = Draft::new();
    for piece in pieces {
        match piece {
            Piece::Break => draft.finish(fields),
            Piece::Bare(text) => draft.push(text, Quoting::Bare),
            Piece::Quoted(text) => draft.push(text, Quoting::Quoted),
            Piece::Value(value, quoting) => {
                let ends: &[char] = match quoting {
                    Quoting::Bare => &[' ', '\t', '\n'],
                    Quoting::Quoted => &[],
                };
                let mut parts = value.text.split(ends);
                draft.push_value(parts.next().unwrap_or_default(), value, *quoting);
                for part in parts {
                    draft.finish(fields);
                    draft.push_value(part, value, *quoting);
                }
            }
        }
    }
    draft.finish(fields);
}
