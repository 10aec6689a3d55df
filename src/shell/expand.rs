//! From words to fields: braces, tilde, parameters, substitutions, splitting, globs.

use ecow::EcoString;

use super::brace::{Piece, piece};
use super::byte::{ACTIVE, is_free_of};
use super::eval::Shell;
use super::field::{Field, Output, listed};
use super::glob::all_active;
use super::lex::{Op, Param, Part, Quote, Word};
use super::param;
use super::variable::Value;
use crate::base::target::Spelling;

/// Fields under construction.
#[derive(Default)]
struct Builder {
    done: Vec<Draft>,
    open: Option<Draft>,
    /// What divides unquoted values in place of blanks, by `$IFS`.
    marks: Option<EcoString>,
}

/// A field whose globs are not yet expanded.
struct Draft {
    field: Field,
    globs: Vec<usize>,
}

impl Draft {
    fn new() -> Self {
        Self {
            field: Field::literal(""),
            globs: Vec::new(),
        }
    }
}

impl Builder {
    fn draft(&mut self) -> &mut Draft {
        self.open.get_or_insert_with(Draft::new)
    }

    /// Quotes make a word, even around an array without elements; only `"$@"` and its like
    /// may be none.
    fn begin(&mut self) {
        self.draft();
    }

    fn push(&mut self, value: &Field) {
        self.draft().field.push(value);
    }

    fn push_text(&mut self, text: &str) {
        self.draft().field.text.push_str(text);
    }

    /// Text whose glob characters count.
    fn push_active(&mut self, value: &Field) {
        let draft = self.draft();
        let start = draft.field.text.len();
        let globs = all_active(&value.text).into_iter();
        draft.globs.extend(globs.map(|at| at + start));
        draft.field.push(value);
    }

    fn close(&mut self) {
        self.done.extend(self.open.take());
    }

    /// An unquoted value: split at blanks, or at what `$IFS` says.
    fn push_split(&mut self, value: &Field) {
        let marks = std::mem::take(&mut self.marks);
        let divides = |c: char| match &marks {
            None => matches!(c, ' ' | '\t' | '\n'),
            Some(marks) => marks.contains(c),
        };
        // A mark at either end divides the value from what it touches in the word.
        if value.text.starts_with(divides) {
            self.close();
        }
        let words = value.text.split(divides).filter(|word| !word.is_empty());
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            self.push_active(&value.with_text(word));
            if words.peek().is_some() {
                self.close();
            }
        }
        if value.text.ends_with(divides) {
            self.close();
        }
        self.marks = marks;
    }

    /// Several values: `"$@"` keeps each whole, unquoted they are split.
    fn push_all(&mut self, values: &[Field], quote: Quote) {
        for (n, value) in values.iter().enumerate() {
            if n > 0 {
                self.close();
            }
            self.push_value(value, quote);
        }
    }

    fn push_value(&mut self, value: &Field, quote: Quote) {
        match quote {
            Quote::Double => self.push(value),
            Quote::Bare => self.push_split(value),
        }
    }
}

fn is_joined(param: &Param<'_>) -> bool {
    (param.name == "*" || param.index == Some("*")) && !matches!(param.op, Op::Keys)
}

impl Shell<'_> {
    /// All fields a list of words gives.
    pub(super) fn all_fields(&mut self, words: &[Word<'_>]) -> Vec<Field> {
        let mut fields = Vec::with_capacity(words.len());
        self.fields_of(words, &mut fields);
        fields
    }

    /// The field of a word that must give one, as a redirection's.
    pub(super) fn one_field(&mut self, word: &Word<'_>) -> Option<Field> {
        if let Some(text) = word.plain() {
            return Some(Field::literal(text));
        }
        let mut fields = Vec::new();
        self.fields(word, &mut fields);
        fields.pop().filter(|_| fields.is_empty())
    }

    pub(super) fn fields_of(&mut self, words: &[Word<'_>], out: &mut Vec<Field>) {
        for word in words {
            match word.plain() {
                Some(text) => out.push(Field::literal(text)),
                None => self.fields(word, out),
            }
        }
    }

    fn fields(&mut self, word: &Word<'_>, out: &mut Vec<Field>) {
        if let Some(field) = self.side_by_side(word) {
            out.push(field);
            return;
        }
        let braced = |part: &Part<'_>| matches!(part, Part::Bare(t) if t.contains('{'));
        if !word.parts.iter().any(braced) {
            return self.built(word.parts.iter().map(piece), out);
        }
        let mut alternatives = self.braces(word).into_iter();
        if let Some(pieces) = alternatives.next() {
            self.built(pieces.into_iter(), out);
        }
        // A substitution in the word runs again for every further one.
        self.repeats += 1;
        for pieces in alternatives {
            self.built(pieces.into_iter(), out);
        }
        self.repeats -= 1;
    }

    /// The field of a word in which plain texts and values stand side by side, and no value
    /// has to be split or is a pattern: most words that are not plain.
    fn side_by_side(&mut self, word: &Word<'_>) -> Option<Field> {
        // Of a backslash at the text's end nothing is left, which is no word.
        if word.parts.is_empty() {
            return None;
        }
        let mut whole = Field::literal("");
        let mut cost = 0;
        for part in &word.parts {
            match part {
                Part::Text(text) => whole.text.push_str(text),
                Part::Bare(text) if is_free_of(text, ACTIVE) => whole.text.push_str(text),
                Part::Value(name, quote) => {
                    let value = self.whole_value(name, *quote)?;
                    cost += value.text.len();
                    whole.push(&value);
                }
                _ => return None,
            }
        }
        self.spend(cost).then_some(whole)
    }

    fn built<'p, 'a: 'p>(
        &mut self,
        pieces: impl Iterator<Item = Piece<'p, 'a>>,
        out: &mut Vec<Field>,
    ) {
        let mut builder = Builder {
            marks: self.separators(),
            ..Builder::default()
        };
        for (n, piece) in pieces.enumerate() {
            match piece {
                Piece::Bare(text) if n == 0 => self.bare(&text, &mut builder),
                Piece::Bare(text) => builder.push_active(&Field::literal(text)),
                Piece::Part(part) => self.part(part, &mut builder, None),
            }
        }
        for draft in builder.done.into_iter().chain(builder.open) {
            self.glob(draft, out);
        }
    }

    /// A word where nothing is split or globbed: assignments and the like.
    pub(super) fn single(&mut self, word: &Word<'_>) -> Field {
        if let Some(text) = word.plain() {
            return Field::literal(text);
        }
        self.joined(&word.parts)
    }

    pub(super) fn joined(&mut self, parts: &[Part<'_>]) -> Field {
        let mut builder = Builder::default();
        for (n, part) in parts.iter().enumerate() {
            match part {
                Part::Bare(text) if n == 0 && text.starts_with('~') => {
                    self.bare(text, &mut builder);
                }
                part => self.part(part, &mut builder, Some(Quote::Double)),
            }
        }
        let mut drafts = builder.done.into_iter().chain(builder.open);
        let first = drafts.next().map(|draft| draft.field);
        let mut whole = first.unwrap_or_else(|| Field::literal(""));
        for draft in drafts {
            whole.text.push(' ');
            whole.push(&draft.field);
        }
        whole
    }

    /// The word's first unquoted text, where a tilde may stand.
    fn bare(&self, text: &str, builder: &mut Builder) {
        let Some(rest) = text.strip_prefix('~') else {
            builder.push_active(&Field::literal(text));
            return;
        };
        let len = rest.find('/').unwrap_or(rest.len());
        let (user, path) = rest.split_at(len);
        let home = match user {
            "" => self.variable("HOME"),
            "+" => self.variable("PWD"),
            "-" => self.variable("OLDPWD"),
            _ => None,
        };
        builder.push(&home.map_or_else(Field::unknown, Value::into_field));
        builder.push_active(&Field::literal(path));
    }

    fn part(&mut self, part: &Part<'_>, builder: &mut Builder, force: Option<Quote>) {
        match part {
            Part::Bare(text) => builder.push_text(text),
            Part::Text(text) => builder.push_text(text),
            Part::ExtGlob => {
                builder.push(&Field::unknown());
                let draft = builder.draft();
                draft.globs.push(draft.field.text.len());
            }
            Part::Value(name, quote) => {
                let quote = force.unwrap_or(*quote);
                let mut value = self.variable(name);
                if quote == Quote::Double && *name == "*" {
                    value = value.map(|value| self.in_one(value));
                }
                if quote == Quote::Double && *name != "@" {
                    builder.begin();
                }
                self.expanded(value, builder, quote);
            }
            Part::Param(param, quote) => {
                let quote = force.unwrap_or(*quote);
                let mut value = self.param(param);
                if quote == Quote::Double && is_joined(param) {
                    value = value.map(|value| self.in_one(value));
                }
                if quote == Quote::Double && param.name != "@" && param.index != Some("@") {
                    builder.begin();
                }
                self.expanded(value, builder, quote);
            }
            Part::Command(list, quote) => {
                let output = self.captured(|shell| shell.walk(list));
                self.substituted(output, builder, force.unwrap_or(*quote));
            }
            Part::Ticks(source, quote) => {
                let output = self.captured(|shell| shell.run_text(source));
                self.substituted(output, builder, force.unwrap_or(*quote));
            }
            Part::Arith(parts) => {
                let value = self.arithmetic(parts);
                let number = |value: i64| Field::literal(value.to_string());
                builder.push(&value.map_or_else(Field::unknown, number));
            }
            Part::Process(list) => {
                let output = self.captured(|shell| shell.walk(list));
                let pipe = self.pipe(output);
                builder.push(&pipe);
            }
        }
    }

    fn expanded(&mut self, value: Option<Value>, builder: &mut Builder, quote: Quote) {
        match value {
            Some(Value::One(field)) => {
                let field = self.afford(field);
                builder.push_value(&field, quote);
            }
            Some(Value::Many(fields)) => builder.push_all(&fields, quote),
            None => builder.push(&Field::unknown()),
        }
    }

    /// `"$*"`: the fields in one, with the first of `$IFS` between them.
    fn in_one(&self, value: Value) -> Value {
        let Value::Many(fields) = value else {
            return value;
        };
        let mark = Field::literal(self.joint());
        let mut whole = Field::literal("");
        for (n, field) in fields.iter().enumerate() {
            if n > 0 {
                whole.push(&mark);
            }
            whole.push(field);
        }
        Value::One(whole)
    }

    fn substituted(&mut self, output: Option<Output>, builder: &mut Builder, quote: Quote) {
        match output {
            Some(output) => {
                let value = output.field(output.text.trim_end_matches('\n'));
                let value = self.afford(value);
                builder.push_value(&value, quote);
            }
            None => builder.push(&Field::unknown()),
        }
    }

    fn param(&mut self, param: &Param<'_>) -> Option<Value> {
        let value = self.indexed(param);
        param::apply(self, param, value)
    }

    /// Globs a draft on the disk; without a match it stays as written.
    fn glob(&mut self, draft: Draft, out: &mut Vec<Field>) {
        let Draft { mut field, globs } = draft;
        // The test command's name is no pattern: a script has it more often than
        // directories may be listed.
        if globs.is_empty() || field.text == "[" {
            out.push(field);
            return;
        }
        let Some(cwd) = self.cwd.clone().filter(|_| field.gap().is_none()) else {
            field.spelling = Spelling::Glob { matches: None };
            out.push(field);
            return;
        };
        let found = self.search(&cwd, &field.text, &globs);
        if found.is_empty() {
            out.push(field);
            return;
        }
        out.extend(listed(found));
    }

    /// Fields whose own text is a pattern, expanded.
    pub(super) fn wildcards(&mut self, fields: &[Field]) -> Vec<Field> {
        let mut out = Vec::new();
        for field in fields {
            let globs = all_active(&field.text);
            let field = field.clone();
            self.glob(Draft { field, globs }, &mut out);
        }
        out
    }
}
