//! Brace expansion: `{a,b}`, `{1..9}`.

use std::borrow::Cow;

use super::Limit;
use super::eval::Shell;
use super::glob::MAX_MATCHES;
use super::lex::{Part, Word};

/// A part of a word once braces are expanded.
#[derive(Clone)]
pub(super) enum Piece<'p, 'a> {
    Bare(Cow<'p, str>),
    Part(&'p Part<'a>),
}

impl Shell<'_> {
    /// Brace expansion: depth first, in the order Bash gives.
    pub(super) fn braces<'p, 'a>(&mut self, word: &'p Word<'a>) -> Vec<Vec<Piece<'p, 'a>>> {
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

pub(super) fn piece<'p, 'a>(part: &'p Part<'a>) -> Piece<'p, 'a> {
    match part {
        Part::Bare(text) => Piece::Bare(Cow::Borrowed(text)),
        part => Piece::Part(part),
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
