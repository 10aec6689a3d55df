//! From words to fields: parameters, commands, splitting, globs (POSIX, "Word Expansions").

use super::brace;
use super::eval::Shell;
use super::field::{Field, some_of};
use super::glob::{escape, is_pattern};
use super::lex::is_name;
use super::syntax::{List, Parameter, Part, Quoting, Word};

/// A part of a word after its parameters are replaced.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) field: Field,
    pub(super) origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the command as it is, where globs and braces count.
    Bare,
    Quoted,
    /// Of an expansion without quotes: it is split, and globs in it count.
    Expanded,
    /// The end of one element of a list.
    Break,
}

impl Piece {
    pub(super) fn new(field: Field, origin: Origin) -> Self {
        Self { field, origin }
    }

    pub(super) fn bare(text: &str) -> Self {
        Self::new(Field::literal(text), Origin::Bare)
    }
}

/// A field that is being put together.
struct Draft {
    field: Field,
    /// The same as a pattern, in which quoted signs are escaped.
    pattern: String,
    /// An empty text is a field where it was quoted.
    is_there: bool,
}

impl Draft {
    fn new() -> Self {
        Self {
            field: Field::literal(""),
            pattern: String::new(),
            is_there: false,
        }
    }

    fn push(&mut self, field: &Field, origin: Origin) {
        self.field.push(field);
        self.is_there |= origin == Origin::Quoted || !field.text.is_empty();
        match origin {
            Origin::Bare | Origin::Expanded => self.pattern.push_str(&field.text),
            Origin::Quoted | Origin::Break => self.pattern.push_str(&escape(&field.text)),
        }
    }

    /// A pattern stays one: which names it fits is asked where they are changed.
    fn finish(self) -> Field {
        if is_pattern(&self.pattern) {
            some_of(&self.field)
        } else {
            self.field
        }
    }
}

impl Shell<'_> {
    pub(super) fn fields(&mut self, words: &[Word]) -> Vec<Field> {
        let mut fields = Vec::new();
        for word in words {
            if let [Part::Quoted(text)] = word.parts.as_slice() {
                fields.push(Field::literal(text));
                continue;
            }
            let pieces = self.pieces(word);
            let Some(words) = brace::expand(pieces) else {
                self.give_up(super::Limit::Steps);
                continue;
            };
            for pieces in words {
                fields.extend(split(&pieces).into_iter().map(Draft::finish));
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
            match piece.origin {
                Origin::Break => field.text.push(' '),
                _ => field.push(&piece.field),
            }
        }
        self.spend(field.text.len() / 64);
        field
    }

    /// A word as a pattern; `None` where it is not known.
    pub(super) fn pattern(&mut self, word: &Word) -> Option<String> {
        let mut draft = Draft::new();
        for piece in self.pieces(word) {
            draft.push(&piece.field, piece.origin);
        }
        draft.field.known()?;
        Some(draft.pattern)
    }

    fn pieces(&mut self, word: &Word) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (at, part) in word.parts.iter().enumerate() {
            match part {
                Part::Bare(text) if at == 0 => self.with_home(text, word.parts.len(), &mut pieces),
                Part::Bare(text) => pieces.push(Piece::bare(text)),
                Part::Quoted(text) => pieces.push(Piece::new(Field::literal(text), Origin::Quoted)),
                Part::Parameter(parameter, quoting) => {
                    self.parameter_pieces(parameter, *quoting, &mut pieces);
                }
                Part::Command(list, quoting) => {
                    let printed = self.printed(list);
                    pieces.push(Piece::new(printed, origin(*quoting)));
                }
                Part::Process(list) => {
                    self.captured(list);
                    let path = Field::literal("/dev/fd/63");
                    pieces.push(Piece::new(path, Origin::Quoted));
                }
                Part::Arithmetic(word) => {
                    self.arithmetic(word);
                    pieces.push(Piece::new(Field::unknown(), Origin::Quoted));
                }
            }
        }
        pieces
    }

    /// `~`, `~/x` and `~+/x`.
    fn with_home(&self, text: &str, n_parts: usize, pieces: &mut Vec<Piece>) {
        let behind = text
            .strip_prefix('~')
            .filter(|rest| rest.starts_with('/') || (rest.is_empty() && n_parts == 1));
        let (dir, rest) = match (behind, text.strip_prefix("~+")) {
            (Some(rest), _) => (self.home(), rest),
            (None, Some(rest)) => (Field::of(self.place.cwd.as_ref()), rest),
            (None, None) => return pieces.push(Piece::bare(text)),
        };
        pieces.push(Piece::new(dir, Origin::Quoted));
        pieces.push(Piece::bare(rest));
    }

    fn parameter_pieces(
        &mut self,
        parameter: &Parameter,
        quoting: Quoting,
        pieces: &mut Vec<Piece>,
    ) {
        let values = self.parameter(parameter);
        let origin = origin(quoting);
        if quoting == Quoting::Quoted && parameter.name != "@" {
            let texts: Vec<String> = values.iter().map(|value| value.text.clone()).collect();
            let mut joined = values.first().cloned().unwrap_or(Field::literal(""));
            joined.text = texts.join(" ");
            if texts.len() > 1 && self.variable("IFS").is_some() {
                joined = Field::unknown();
            }
            return pieces.push(Piece::new(joined, origin));
        }
        for (at, value) in values.into_iter().enumerate() {
            let end = (at > 0).then(|| Piece::new(Field::literal(""), Origin::Break));
            pieces.extend(end);
            pieces.push(Piece::new(value, origin));
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

fn origin(quoting: Quoting) -> Origin {
    match quoting {
        Quoting::Bare => Origin::Expanded,
        Quoting::Quoted => Origin::Quoted,
    }
}

/// Splits what was expanded without quotes at its blanks.
fn split(pieces: &[Piece]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let mut draft = Draft::new();
    let mut end = |draft: &mut Draft| {
        let done = std::mem::replace(draft, Draft::new());
        drafts.extend(done.is_there.then_some(done));
    };
    for piece in pieces {
        let text = piece.field.text.as_str();
        match piece.origin {
            Origin::Break => end(&mut draft),
            Origin::Bare | Origin::Quoted => draft.push(&piece.field, piece.origin),
            Origin::Expanded => {
                for (at, part) in text.split([' ', '\t', '\n']).enumerate() {
                    if at > 0 {
                        end(&mut draft);
                    }
                    draft.push(&piece.field.with_text(part), Origin::Expanded);
                }
            }
        }
    }
    end(&mut draft);
    drafts
}
