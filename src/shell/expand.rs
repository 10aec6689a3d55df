//! From words to fields: braces, tilde, parameters, substitutions, splitting, globs.

use std::borrow::Cow;

use super::Limit;
use super::eval::Shell;
use super::field::{Field, Output};
use super::glob::{MAX_MATCHES, Search, all_active};
use super::lex::{Part, Quote, Word};
use super::param;
use super::variable::Value;
use crate::target::Spelling;

/// A part of a word once braces are expanded.
#[derive(Clone)]
enum Piece<'p, 'a> {
    Bare(Cow<'p, str>),
    Part(&'p Part<'a>),
}

/// Fields under construction.
#[derive(Default)]
struct Builder {
    done: Vec<Draft>,
    open: Option<Draft>,
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

    /// An unquoted value: split at blanks.
    fn push_split(&mut self, value: &Field) {
        // A blank at either end divides the value from what it touches in the word.
        if value.text.starts_with([' ', '\t', '\n']) {
            self.close();
        }
        let mut words = value.text.split_ascii_whitespace().peekable();
        while let Some(word) = words.next() {
            self.push_active(&value.with_text(word));
            if words.peek().is_some() {
                self.close();
            }
        }
        if value.text.ends_with([' ', '\t', '\n']) {
            self.close();
        }
    }

    /// Several values: `"$@"` keeps each whole, unquoted they are split.
    fn push_all(&mut self, values: &[Field], quote: Quote) {
        for (n, value) in values.iter().enumerate() {
            if n > 0 {
                self.close();
            }
            match quote {
                Quote::Double => self.push(value),
                Quote::Bare => self.push_split(value),
            }
        }
    }
}

fn is_joined(param: &super::lex::Param<'_>) -> bool {
    (param.name == "*" || param.index == Some("*")) && !matches!(param.op, super::lex::Op::Keys)
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
        let braced = |part: &Part<'_>| matches!(part, Part::Bare(t) if t.contains('{'));
        if !word.parts.iter().any(braced) {
            return self.built(word.parts.iter().map(piece), out);
        }
        for pieces in self.braces(word) {
            self.built(pieces.into_iter(), out);
        }
    }

    fn built<'p, 'a: 'p>(
        &mut self,
        pieces: impl Iterator<Item = Piece<'p, 'a>>,
        out: &mut Vec<Field>,
    ) {
        let mut builder = Builder::default();
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
    fn bare(&mut self, text: &str, builder: &mut Builder) {
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
            Part::Param(param, quote) => {
                let quote = force.unwrap_or(*quote);
                match self.param(param) {
                    Some(Value::One(field)) => {
                        let field = self.afford(field);
                        push_value(builder, &field, quote);
                    }
                    Some(Value::Many(fields)) if quote == Quote::Double && is_joined(param) => {
                        let field = self.one_of(&fields);
                        push_value(builder, &field, quote);
                    }
                    Some(Value::Many(fields)) => builder.push_all(&fields, quote),
                    None => builder.push(&Field::unknown()),
                }
            }
            Part::Command(list, quote) => {
                let output = self.subshell(|shell| shell.walk(list));
                self.substituted(output, builder, force.unwrap_or(*quote));
            }
            Part::Ticks(source, quote) => {
                let output = self.subshell(|shell| shell.run_text(source));
                self.substituted(output, builder, force.unwrap_or(*quote));
            }
            Part::Arith(parts) => {
                let value = self.arithmetic(parts);
                let number = |value: i64| Field::literal(value.to_string());
                builder.push(&value.map_or_else(Field::unknown, number));
            }
            Part::Process(list) => {
                let output = self.subshell(|shell| shell.walk(list));
                let pipe = self.pipe(output);
                builder.push(&pipe);
            }
        }
    }

    /// `"$*"`: the fields in one, with the first of `$IFS` between them.
    fn one_of(&self, fields: &[Field]) -> Field {
        let marks = self.separators();
        let mark = Field::literal(marks.get(..1).unwrap_or(" "));
        let mut whole = Field::literal("");
        for (n, field) in fields.iter().enumerate() {
            if n > 0 {
                whole.push(&mark);
            }
            whole.push(field);
        }
        whole
    }

    fn substituted(&mut self, output: Option<Output>, builder: &mut Builder, quote: Quote) {
        match output {
            Some(output) => {
                let value = output.field(output.text.trim_end_matches('\n'));
                let value = self.afford(value);
                push_value(builder, &value, quote);
            }
            None => builder.push(&Field::unknown()),
        }
    }

    /// Runs what is substituted within parts whose own value does not matter.
    pub(super) fn side_effects(&mut self, parts: &[Part<'_>]) {
        self.joined(parts);
    }

    fn param(&mut self, param: &super::lex::Param<'_>) -> Option<Value> {
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
        let matches = Some(found.len());
        out.extend(found.into_iter().map(|text| Field {
            text: text.into(),
            spelling: Spelling::Glob { matches },
        }));
    }

    /// What a pattern finds on the disk.
    pub(super) fn search(&mut self, cwd: &str, text: &str, globs: &[usize]) -> Vec<String> {
        let mut search = Search {
            disk: self.scene.disk,
            listings_left: self.listings_left,
        };
        let found = search.expand(cwd, text, globs);
        self.count_listings(search.listings_left);
        found
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

    /// Brace expansion: depth first, in the order Bash gives.
    fn braces<'p, 'a>(&mut self, word: &'p Word<'a>) -> Vec<Vec<Piece<'p, 'a>>> {
        let mut done = Vec::new();
        let mut todo = vec![word.parts.iter().map(piece).collect::<Vec<_>>()];
        while let Some(pieces) = todo.pop() {
            let Some(group) = group(&pieces) else {
                done.push(pieces);
                continue;
            };
            let n = group.n_alternatives();
            // Each alternative is searched for groups again, and copied.
            let cost: usize = pieces.iter().map(|piece| 8 * piece.len()).sum();
            let fits = done.len() + todo.len() + n <= MAX_MATCHES;
            if !fits {
                self.give_up(Limit::Steps);
            }
            if !fits || !self.spend(cost.saturating_mul(n)) {
                // What is left would not fit either, and looking costs as well.
                done.push(pieces);
                done.extend(todo.into_iter().rev());
                break;
            }
            todo.extend(group.alternatives(&pieces).into_iter().rev());
        }
        done
    }
}

fn piece<'p, 'a>(part: &'p Part<'a>) -> Piece<'p, 'a> {
    match part {
        Part::Bare(text) => Piece::Bare(Cow::Borrowed(text)),
        part => Piece::Part(part),
    }
}

fn push_value(builder: &mut Builder, value: &Field, quote: Quote) {
    match quote {
        Quote::Double => builder.push(value),
        Quote::Bare => builder.push_split(value),
    }
}

impl Piece<'_, '_> {
    fn len(&self) -> usize {
        match self {
            Self::Bare(text) => text.len(),
            Self::Part(_) => 1,
        }
    }
}

/// A place in a word: which piece, and which byte of it.
type Place = (usize, usize);

/// One `{…}` that expands.
struct Group {
    open: Place,
    /// Commas, then the closing brace.
    ends: Vec<Place>,
    sequence: Vec<String>,
}

/// How many opening braces of a word are tried: a run of unclosed ones would
/// otherwise cost the square of its length.
const MAX_OPENINGS: usize = 16;

/// The first group that expands.
fn group(pieces: &[Piece<'_, '_>]) -> Option<Group> {
    let mut tried = 0;
    for (n, piece) in pieces.iter().enumerate() {
        let Piece::Bare(text) = piece else { continue };
        for (at, _) in text.match_indices('{') {
            let found = group_at(pieces, (n, at));
            tried += 1;
            if found.is_some() || tried == MAX_OPENINGS {
                return found;
            }
        }
    }
    None
}

fn group_at(pieces: &[Piece<'_, '_>], open: Place) -> Option<Group> {
    let mut ends = Vec::new();
    let mut depth = 0;
    for (n, piece) in pieces.iter().enumerate().skip(open.0) {
        let Piece::Bare(text) = piece else { continue };
        let from = if n == open.0 { open.1 } else { 0 };
        for (at, byte) in text.bytes().enumerate().skip(from) {
            match byte {
                b'{' => depth += 1,
                b',' if depth == 1 => ends.push((n, at)),
                b'}' if depth == 1 => {
                    let sequence = if ends.is_empty() && n == open.0 {
                        sequence(text.get(open.1 + 1..at)?)?
                    } else {
                        Vec::new()
                    };
                    let expands = !ends.is_empty() || !sequence.is_empty();
                    ends.push((n, at));
                    return expands.then_some(Group {
                        open,
                        ends,
                        sequence,
                    });
                }
                b'}' => depth -= 1,
                _ => {}
            }
        }
    }
    None
}

impl Group {
    fn n_alternatives(&self) -> usize {
        self.ends.len().max(self.sequence.len())
    }

    fn alternatives<'p, 'a>(&self, pieces: &[Piece<'p, 'a>]) -> Vec<Vec<Piece<'p, 'a>>> {
        let before = slice(pieces, (0, 0), self.open);
        let last = self.ends.last().copied().unwrap_or(self.open);
        let after = slice(pieces, (last.0, last.1 + 1), (pieces.len(), 0));
        let middles: Vec<Vec<Piece<'p, 'a>>> = if self.sequence.is_empty() {
            let mut start = self.open;
            let middle = |end: &Place| {
                let middle = slice(pieces, (start.0, start.1 + 1), *end);
                start = *end;
                middle
            };
            self.ends.iter().map(middle).collect()
        } else {
            let items = self.sequence.iter();
            items
                .map(|item| vec![Piece::Bare(Cow::Owned(item.clone()))])
                .collect()
        };
        let whole = |middle: Vec<Piece<'p, 'a>>| [before.clone(), middle, after.clone()].concat();
        middles.into_iter().map(whole).collect()
    }
}

fn slice<'p, 'a>(pieces: &[Piece<'p, 'a>], from: Place, to: Place) -> Vec<Piece<'p, 'a>> {
    let mut out = Vec::new();
    for (n, piece) in pieces.iter().enumerate().skip(from.0) {
        if n > to.0 || (n == to.0 && to.1 == 0) {
            break;
        }
        match piece {
            Piece::Bare(text) => {
                let start = if n == from.0 { from.1 } else { 0 };
                let end = if n == to.0 { to.1 } else { text.len() };
                let cut = text.get(start..end).unwrap_or("");
                if !cut.is_empty() {
                    out.push(Piece::Bare(match text {
                        Cow::Borrowed(whole) => Cow::Borrowed(whole.get(start..end).unwrap_or("")),
                        Cow::Owned(_) => Cow::Owned(cut.to_owned()),
                    }));
                }
            }
            Piece::Part(part) => out.push(Piece::Part(part)),
        }
    }
    out
}

/// `1..5`, `01..10..2`, `a..e`.
fn sequence(inner: &str) -> Option<Vec<String>> {
    let mut parts = inner.split("..");
    let (low, high, step) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let step = match step {
        Some(step) => step.parse::<i64>().ok()?.unsigned_abs().max(1),
        None => 1,
    };
    let step = usize::try_from(step).ok()?;
    if let (Ok(from), Ok(to)) = (low.parse::<i64>(), high.parse::<i64>()) {
        let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
        let width = if padded(low) || padded(high) {
            low.len().max(high.len())
        } else {
            0
        };
        let show = |n: i64| format!("{n:0width$}");
        return Some(range(from, to, step).map(show).collect());
    }
    let letter = |text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    };
    let show = |n: i64| u8::try_from(n).map_or(String::new(), |b| char::from(b).to_string());
    Some(range(letter(low)?, letter(high)?, step).map(show).collect())
}

fn range(from: i64, to: i64, step: usize) -> Box<dyn Iterator<Item = i64>> {
    if from <= to {
        Box::new((from..=to).step_by(step).take(MAX_MATCHES))
    } else {
        Box::new((to..=from).rev().step_by(step).take(MAX_MATCHES))
    }
}
