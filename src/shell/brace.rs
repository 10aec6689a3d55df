//! Brace expansion: `{a,b}` and `{1..3}` (Bash manual, "Brace Expansion").

use std::ops::Range;

use super::expand::{Origin, Piece};
use super::field::Field;

/// How many words one may become.
const MAX_WORDS: usize = 1024;

/// How many pieces all of them together may have on the way.
const MAX_PIECES: usize = 1 << 18;

const SIGNS: [char; 3] = ['{', ',', '}'];

type Pieces = Vec<Piece>;

/// The words that the pieces of one come to; `None` where they are too many.
pub(super) fn expand(pieces: Pieces) -> Option<Vec<Pieces>> {
    let bare = pieces.iter().filter(|piece| is_sign(piece));
    let signs = bare.flat_map(|piece| piece.field.text.matches(SIGNS));
    if !signs.clone().any(|sign| sign == "{") {
        return Some(vec![pieces]);
    }
    if signs.count() > MAX_PIECES {
        return None;
    }
    let (mut words, mut left) = (Vec::new(), MAX_PIECES);
    let mut todo = vec![pieces.into_iter().flat_map(tokens).collect::<Pieces>()];
    while let Some(word) = todo.pop() {
        let Some((at, choices)) = group(&word) else {
            words.push(word);
            continue;
        };
        left = left.checked_sub(choices.len() * word.len())?;
        let (before, behind) = (&word[..at.start], &word[at.end..]);
        let made = choices
            .iter()
            .map(|choice| [before, choice, behind].concat());
        todo.extend(made.rev());
        if words.len() + todo.len() > MAX_WORDS {
            return None;
        }
    }
    Some(words)
}

fn is_sign(piece: &Piece) -> bool {
    piece.origin == Origin::Bare
}

/// Takes braces and commas out into pieces of their own.
fn tokens(piece: Piece) -> Pieces {
    if !is_sign(&piece) {
        return vec![piece];
    }
    let mut tokens = Vec::new();
    for part in piece.field.text.split_inclusive(SIGNS) {
        let text = part.trim_end_matches(SIGNS);
        let (text, sign) = part.split_at(text.len());
        let both = [text, sign].into_iter().filter(|part| !part.is_empty());
        tokens.extend(both.map(Piece::bare));
    }
    tokens
}

/// The first group of a word that is in no other: its place, and the choices for it.
fn group(word: &[Piece]) -> Option<(Range<usize>, Vec<Pieces>)> {
    let (mut open, mut found) = (Vec::<Vec<usize>>::new(), None);
    for (at, piece) in word.iter().enumerate().filter(|(_, piece)| is_sign(piece)) {
        match (piece.field.text.as_str(), open.last_mut()) {
            ("{", _) => open.push(vec![at]),
            (",", Some(marks)) => marks.push(at),
            ("}", _) => {
                let Some(marks) = open.pop() else { continue };
                let known: Option<&(Vec<usize>, _)> = found.as_ref();
                if known.is_none_or(|(other, _)| marks[0] < other[0]) && is_group(word, &marks, at)
                {
                    found = Some((marks, at));
                }
            }
            _ => {}
        }
    }
    let (marks, end) = found?;
    Some((marks[0]..end + 1, choices(word, &marks, end)))
}

/// Braces without a comma are a group where they hold a range.
fn is_group(word: &[Piece], marks: &[usize], end: usize) -> bool {
    marks.len() > 1 || range(&word[marks[0] + 1..end]).is_some()
}

/// The parts between an opening brace, its commas and the closing one.
fn choices(word: &[Piece], marks: &[usize], end: usize) -> Vec<Pieces> {
    if let [start] = marks {
        return range(&word[start + 1..end]).unwrap_or_default();
    }
    let ends = marks.iter().skip(1).chain([&end]);
    let between = marks.iter().zip(ends);
    between
        .map(|(mark, end)| word[mark + 1..*end].to_vec())
        .collect()
}

/// `1..3`, `01..10`.
fn range(inside: &[Piece]) -> Option<Vec<Pieces>> {
    let [piece] = inside else { return None };
    let (low, high) = piece.field.text.split_once("..")?;
    let [from, to] = [low.parse::<i32>().ok()?, high.parse().ok()?];
    let is_padded = |text: &str| text.len() > 1 && text.trim_start_matches('-').starts_with('0');
    let width = if is_padded(low) || is_padded(high) {
        low.len().max(high.len())
    } else {
        0
    };
    let numbers: Box<dyn Iterator<Item = i32>> = if from <= to {
        Box::new(from..=to)
    } else {
        Box::new((to..=from).rev())
    };
    let words = numbers.take(MAX_WORDS + 1).map(|number| {
        let text = Field::literal(format!("{number:0width$}"));
        vec![Piece::new(text, Origin::Quoted)]
    });
    Some(words.collect())
}
