//! Text as people read it: cut to a length, escaped, joined, quoted.

use std::borrow::Cow;
use std::fmt::Display;

/// Whether a word is one of those in a text.
pub fn is_in(words: &str, word: &str) -> bool {
    // Most are not: to look for the text is far cheaper than to compare each word.
    words.contains(word) && words.split_ascii_whitespace().any(|known| known == word)
}

/// The candidate that is most like a word, if any is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_ascii_lowercase();
    let scored = candidates
        .into_iter()
        .map(|c| (strsim::jaro_winkler(&lower, c), c));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.6).then_some(best.1)
}

/// As many as there is room for, at least one, and the number of the rest.
pub fn join_limited(mut items: Vec<String>, room: usize) -> String {
    let lengths = items.iter().scan(0, |used, item| {
        *used += item.len() + 2;
        Some(*used)
    });
    let shown = lengths.take_while(|used| *used <= room).count().max(1);
    if items.len() > shown {
        let rest = items.len() - shown;
        items.truncate(shown);
        items.push(format!("and {rest} more"));
    }
    items.join(", ")
}

/// At most so many bytes of a text, cut between characters.
pub fn head(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A path as one word of a shell command.
pub fn shell_quote(path: &str) -> Cow<'_, str> {
    if path.chars().all(is_plain) {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(format!("'{}'", path.replace('\'', r"'\''")))
    }
}

/// Whether a shell takes a character as it is.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '…')
}

/// At most `max` characters of a text of an agent's making, safe to show.
pub fn excerpt(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max && !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(truncate(&printable(text), max))
}

/// Characters that are none to the eye: two names may differ in one alone.
const WITHOUT_WIDTH: [char; 5] = ['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}'];

/// What a terminal does not show: controls, marks that turn or end a line, characters without width.
pub(crate) fn is_invisible(c: char) -> bool {
    let turns_or_ends = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns_or_ends || c.is_control() || WITHOUT_WIDTH.contains(&c)
}

/// Text of an agent's making, safe to show: what a terminal does not show is escaped.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// At most `max` characters; what is missing shows as `…`.
pub fn truncate(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => {
            let end = text
                .char_indices()
                .nth(max.saturating_sub(1))
                .map_or(0, |(at, _)| at);
            format!("{}…", &text[..end])
        }
    }
}

/// The words of a text; characters without width are none.
pub fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    let words = text.split_whitespace();
    words.filter(|word| !word.trim_matches(WITHOUT_WIDTH).is_empty())
}

/// The byte-order mark that a text may start with, and the rest.
pub fn split_bom(text: &str) -> (&str, &str) {
    const BOM: char = '\u{feff}';
    text.split_at(if text.starts_with(BOM) {
        BOM.len_utf8()
    } else {
        0
    })
}

/// A number with its noun: `1 record`, `2 records`.
pub(crate) fn count<N: PartialEq + From<u8> + Display>(number: N, one: &str, more: &str) -> String {
    let noun = if number == 1.into() { one } else { more };
    format!("{number} {noun}")
}
