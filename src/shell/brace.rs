//! Brace expansion: `{a,b}` and `{1..3}` (Bash manual, "Brace Expansion").

use super::expand::{Origin, Piece};
use super::field::Field;
use super::lex::MAX_DEPTH;

/// How many words one may become.
const MAX_WORDS: usize = 1024;

type Pieces = Vec<Piece>;

/// The words that the pieces of one come to; `None` where they are too many.
pub(super) fn expand(pieces: Pieces) -> Option<Vec<Pieces>> {
    let has_brace = |piece: &Piece| is_sign(piece) && piece.field.text.contains('{');
    if !pieces.iter().any(has_brace) {
        return Some(vec![pieces]);
    }
    let tokens: Pieces = pieces.into_iter().flat_map(tokens).collect();
    let closes = closes(&tokens);
    words(&tokens, &closes, 0)
}

fn is_sign(piece: &Piece) -> bool {
    piece.origin == Origin::Bare
}

fn is(piece: &Piece, sign: &str) -> bool {
    is_sign(piece) && piece.field.text == sign
}

/// Takes braces and commas out into pieces of their own.
fn tokens(piece: Piece) -> Pieces {
    if !is_sign(&piece) {
        return vec![piece];
    }
    let mut tokens = Vec::new();
    for part in piece.field.text.split_inclusive(['{', ',', '}']) {
        let text = part.trim_end_matches(['{', ',', '}']);
        let (text, sign) = part.split_at(text.len());
        let both = [text, sign].into_iter().filter(|part| !part.is_empty());
        tokens.extend(both.map(Piece::bare));
    }
    tokens
}

/// For each opening brace how far behind it its closing one stands.
fn closes(tokens: &[Piece]) -> Vec<Option<usize>> {
    let mut closes = vec![None; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if is(token, "{") {
            open.push(at);
        } else if is(token, "}")
            && let Some(start) = open.pop()
        {
            closes[start] = Some(at - start);
        }
    }
    closes
}

fn words(tokens: &[Piece], closes: &[Option<usize>], depth: usize) -> Option<Vec<Pieces>> {
    let mut words = vec![Vec::new()];
    let mut at = 0;
    while at < tokens.len() {
        let mut choices = Vec::new();
        if let Some(len) = closes[at].filter(|_| depth < MAX_DEPTH) {
            let inside = at + 1..at + len;
            choices = self::choices(&tokens[inside.clone()], &closes[inside], depth + 1)?;
        }
        if choices.is_empty() {
            words
                .iter_mut()
                .for_each(|word| word.push(tokens[at].clone()));
            at += 1;
            continue;
        }
        if words.len() * choices.len() > MAX_WORDS {
            return None;
        }
        let with = |word: &Pieces| {
            let word = word.clone();
            choices
                .iter()
                .map(move |choice| [word.as_slice(), choice].concat())
        };
        words = words.iter().flat_map(with).collect();
        at += closes[at].unwrap_or(0) + 1;
    }
    Some(words)
}

/// What stands for a group; nothing where it is a text like any other.
fn choices(inside: &[Piece], closes: &[Option<usize>], depth: usize) -> Option<Vec<Pieces>> {
    let (mut choices, mut start, mut at) = (Vec::new(), 0, 0);
    while at < inside.len() {
        if is(&inside[at], ",") {
            choices.extend(words(&inside[start..at], &closes[start..at], depth)?);
            start = at + 1;
        }
        at += closes[at].unwrap_or(0) + 1;
    }
    match inside {
        [only] if start == 0 && is_sign(only) => range(&only.field.text),
        _ if start == 0 => Some(Vec::new()),
        _ => {
            choices.extend(words(&inside[start..], &closes[start..], depth)?);
            Some(choices)
        }
    }
}

/// `1..3`, `01..10..2`.
fn range(text: &str) -> Option<Vec<Pieces>> {
    let parts: Vec<&str> = text.split("..").collect();
    let number = |part: &&str| part.parse::<i32>().ok().map(i64::from);
    let numbers: Option<Vec<i64>> = parts.iter().map(number).collect();
    let (low, high, step) = match numbers.as_deref() {
        Some([low, high]) => (*low, *high, 1),
        Some([low, high, step]) => (*low, *high, step.abs().max(1)),
        _ => return Some(Vec::new()),
    };
    let n = (high - low).abs() / step;
    if n >= MAX_WORDS as i64 {
        return None;
    }
    let is_padded = |text: &&str| text.len() > 1 && text.trim_start_matches('-').starts_with('0');
    let width = match parts[..2].iter().any(is_padded) {
        true => parts[0].len().max(parts[1].len()),
        false => 0,
    };
    let word = |at| {
        let number = low + at * step * (high - low).signum();
        vec![Piece::new(
            Field::literal(format!("{number:0width$}")),
            Origin::Quoted,
        )]
    };
    Some((0..=n).map(word).collect())
}
