//! The verdict of a report: prose of a model that quotes templates, cites earlier verdicts
//! and shows examples.

use crate::formats::markdown::{Fence, Line};

/// The line that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Its one word; none where it is a template, or says more than a word.
    pub word: Option<&'a str>,
    pub line: &'a str,
}

/// The last `Verdict` or `Overall` line outside fences; its value follows the colon, or is the
/// next line that is not blank.
pub fn last<'a>(lines: &[Line<'a>]) -> Option<Verdict<'a>> {
    let marked = lines.iter().enumerate().rev();
    let (at, value) = marked
        .filter(|(_, line)| line.fence == Fence::Outside)
        .find_map(|(at, line)| Some((at, value_after_label(line.text)?)))?;
    if !value.is_empty() {
        let line = lines[at].text.trim();
        return Some(Verdict {
            word: word_of(value),
            line,
        });
    }
    let mut below = lines[at + 1..].iter();
    let next = below.find(|line| !line.text.trim().is_empty());
    let next = next.filter(|line| line.fence == Fence::Outside);
    let line = next.map_or("", |line| line.text.trim());
    Some(Verdict {
        word: word_of(line),
        line,
    })
}

/// The text behind `Verdict` or `Overall` and its colon, if the line is one.
fn value_after_label(line: &str) -> Option<&str> {
    let text = line.trim_start();
    if text.starts_with('#') && line.len() - text.len() >= 4 {
        return None; // an indented code block
    }
    let text = text.trim_start_matches(['#', '-', '*', ' ', '\t']);
    let rest = ["Verdict", "Overall"]
        .iter()
        .find_map(|label| text.strip_prefix(label))?;
    let rest = rest.trim_start_matches(['*', '_']).trim();
    match rest.strip_prefix(':') {
        Some(value) => Some(value.trim_start_matches(['*', '_']).trim()),
        None => rest.is_empty().then_some(rest),
    }
}

/// Whether a text can be a verdict: one word, and no template.
pub fn is_word(text: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || "_-.+".contains(c);
    !text.is_empty() && text.chars().all(is_of_word)
}

/// The single word of a value, without emphasis and without a parenthesis behind it.
fn word_of(value: &str) -> Option<&str> {
    let value = without_emphasis(value);
    let word = match value.split_once('(') {
        Some((word, note)) => note.ends_with(')').then_some(word)?,
        None => value,
    };
    // A blank behind a leading `*` makes it a list item, as a template would have.
    Some(without_emphasis(word.trim_end())).filter(|word| is_word(word))
}

fn without_emphasis(text: &str) -> &str {
    text.trim_matches(['*', '_', '`'])
}
