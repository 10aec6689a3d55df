//! Brace expansion: `{a,b}` and `{1..3}` (Bash manual, "Brace Expansion").

use std::ops::Range;

use super::expand::Piece;
use super::field::Field;
use super::syntax::Quoting;

/// How many words one may become.
const MAX_WORDS: usize = 1024;

/// How many pieces all of them together may have on the way.
const MAX_PIECES: usize = 1 << 18;

const SIGNS: [char; 3] = ['{', ',', '}'];

type Pieces<'w> = Vec<Piece<'w>>;

/// What a word comes to.
pub(super) enum Expanded<'w> {
    /// There are no braces in it.
    Same,
    Words(Vec<Pieces<'w>>),
    TooMany,
}

pub(super) fn expand<'w>(pieces: &[Piece<'w>]) -> Expanded<'w> {
    let mut bare = pieces.iter().filter_map(|piece| match piece {
        Piece::Bare(text) => Some(text),
        _ => None,
    });
    if bare.any(|text| text.contains('{')) {
        words(pieces).map_or(Expanded::TooMany, Expanded::Words)
    } else {
        Expanded::Same
    }
}

fn words<'w>(pieces: &[Piece<'w>]) -> Option<Vec<Pieces<'w>>> {
    let n_signs = pieces.iter().map(|piece| match piece {
        Piece::Bare(text) => text.matches(SIGNS).count(),
        _ => 0,
    });
    if n_signs.sum::<usize>() > MAX_PIECES {
        return None;
    }
    let (mut words, mut left) = (Vec::new(), MAX_PIECES);
    let mut todo = vec![pieces.iter().flat_map(tokens).collect::<Pieces<'_>>()];
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

/// Takes braces and commas out into pieces of their own.
fn tokens<'w>(piece: &Piece<'w>) -> Pieces<'w> {
    let Piece::Bare(whole) = *piece else {
        return vec![piece.clone()];
    };
    let mut tokens = Vec::new();
    for part in whole.split_inclusive(SIGNS) {
        let text = part.trim_end_matches(SIGNS);
        let (text, sign) = part.split_at(text.len());
        let both = [text, sign].into_iter().filter(|part| !part.is_empty());
        tokens.extend(both.map(Piece::Bare));
    }
    tokens
}

/// The first group of a word that is in no other: its place, and the choices for it.
fn group<'w>(word: &[Piece<'w>]) -> Option<(Range<usize>, Vec<Pieces<'w>>)> {
    let (mut open, mut found) = (Vec::<Vec<usize>>::new(), None);
    for (at, piece) in word.iter().enumerate() {
        match (piece, open.last_mut()) {
            (Piece::Bare("{"), _) => open.push(vec![at]),
            (Piece::Bare(","), Some(marks)) => marks.push(at),
            (Piece::Bare("}"), _) => {
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
fn is_group(word: &[Piece<'_>], marks: &[usize], end: usize) -> bool {
    marks.len() > 1 || range(&word[marks[0] + 1..end]).is_some()
}

/// The parts between an opening brace, its commas and the closing one.
fn choices<'w>(word: &[Piece<'w>], marks: &[usize], end: usize) -> Vec<Pieces<'w>> {
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
fn range<'w>(inside: &[Piece<'_>]) -> Option<Vec<Pieces<'w>>> {
    let [Piece::Bare(piece)] = inside else {
        return None;
    };
    let (low, high) = piece.split_once("..")?;
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
        vec![Piece::Value(text, Quoting::Quoted)]
    });
    Some(words.collect())
}
