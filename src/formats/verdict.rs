//! The verdict of a report: prose of a model that quotes templates, cites earlier verdicts
//! and shows examples. What is in a quote, a comment, a fence or an indented block neither
//! decides nor contradicts.

use crate::base::text;
use crate::formats::markdown::{self, Block, Line};

/// The line that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Its one word; none where it is a template, or says more than a word.
    pub word: Option<&'a str>,
    pub line: &'a str,
    /// The indices of its label and its value.
    at: [usize; 2],
}

/// The last `Verdict` or `Overall` line of the prose; its value follows the colon, or is the
/// next line that is not blank.
pub fn last<'a>(lines: &[Line<'a>]) -> Option<Verdict<'a>> {
    let marked = lines.iter().enumerate().rev();
    let (at, value) = marked
        .filter(|(_, line)| line.block == Block::Prose)
        .find_map(|(at, line)| Some((at, value_after_label(line.text)?)))?;
    if !value.is_empty() {
        let line = lines[at].text.trim();
        return Some(Verdict {
            word: word_of(value),
            line,
            at: [at, at],
        });
    }
    let below = next_of(lines, at);
    let next = below.filter(|&below| lines[below].block == Block::Prose);
    let line = next.map_or("", |below| lines[below].text.trim());
    Some(Verdict {
        word: word_of(line),
        line,
        at: [at, below.unwrap_or(at)],
    })
}

/// The next line that is not blank.
fn next_of(lines: &[Line<'_>], at: usize) -> Option<usize> {
    let mut below = lines[at + 1..].iter();
    Some(at + 1 + below.position(|line| !line.text.trim().is_empty())?)
}

/// A line that speaks of a verdict with one of the words that deny the one that decided. A line
/// about an earlier report says nothing of this one.
pub fn contradiction<'a>(
    lines: &[Line<'a>],
    decided: &Verdict<'a>,
    denying: &[&str],
) -> Option<&'a str> {
    let mut others = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| line.block == Block::Prose && !decided.at.contains(at));
    others.find_map(|(at, line)| {
        let text = unquoted(&markdown::without_comments(line.text));
        if !has_word(&text, LABELS) || is_of_earlier(&text) {
            return None;
        }
        let denies = |text: &str| words(text).any(|word| denying.contains(&word));
        if denies(&text) {
            return Some(line.text.trim());
        }
        if !words(&text).last().is_some_and(|word| is_any(word, LABELS)) {
            return None;
        }
        let value = &lines[next_of(lines, at)?];
        let is_value =
            value.block == Block::Prose && word_of(value.text.trim()).is_some_and(denies);
        is_value.then(|| value.text.trim())
    })
}

/// Why a report with two verdicts decides nothing.
pub fn undecided(verdict: &str, line: &str) -> String {
    let line = text::truncate(line, 200);
    format!("undecided: the verdict is {verdict}, and another line says `{line}`")
}

/// Words by which reports usually say that something has not passed.
pub const BAD: &[&str] = &[
    "BLOCKED",
    "CHANGES_REQUESTED",
    "ERROR",
    "FAIL",
    "FAILED",
    "INCOMPLETE",
    "INDETERMINATE",
    "NEEDS_CHANGES",
    "NEEDS_REVISION",
    "NEEDS_WORK",
    "PARTIAL",
    "REJECT",
    "REJECTED",
];

const LABELS: &[&str] = &["verdict", "overall"];
const EARLIER: &[&str] = &["previous", "prior", "earlier", "former", "last", "first"];
const ROUNDS: &[&str] = &["round", "iteration"];

/// The words of a text, each with the marks that a verdict's word may hold.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    words
        .map(|word| word.trim_matches(['_', '-']))
        .filter(|word| !word.is_empty())
}

fn is_any(word: &str, list: &[&str]) -> bool {
    list.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn has_word(text: &str, list: &[&str]) -> bool {
    words(text).any(|word| is_any(word, list))
}

/// Whether a line is about a report before this one.
fn is_of_earlier(text: &str) -> bool {
    let behind = words(text).skip(1);
    let mut rounds = words(text).zip(behind);
    has_word(text, EARLIER)
        || rounds
            .any(|(word, n)| is_any(word, ROUNDS) && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A line without the code and the quotations in it that cite a whole verdict.
fn unquoted(line: &str) -> String {
    let mut rest = line;
    let mut text = String::new();
    while let Some(begin) = rest.find(['`', '"', '“']) {
        let opened = rest[begin..].chars().next().unwrap_or_default();
        let closing = if opened == '“' { '”' } else { opened };
        let inner = &rest[begin + opened.len_utf8()..];
        let Some(end) = inner.find(closing) else {
            break;
        };
        let (cited, behind) = (&inner[..end], &inner[end + closing.len_utf8()..]);
        text += &rest[..begin];
        text += if has_word(cited, LABELS) { "" } else { cited };
        rest = behind;
    }
    text + rest
}

/// The one word that a key of a text has, and its line: of front matter, of YAML, or of lines
/// `Key: WORD`. The outermost lines decide, in a fence too, since a report may be YAML in one;
/// where they contradict each other, none does.
pub fn of_key(text: &str, key: &str) -> Option<(String, String)> {
    let lines: Vec<(usize, &str, &str)> = text
        .lines()
        .filter_map(|line| {
            let trimmed = line.trim_start();
            let word = word_of_key(trimmed, key)?;
            Some((line.len() - trimmed.len(), word, trimmed.trim_end()))
        })
        .collect();
    let outermost = lines.iter().map(|(indent, ..)| *indent).min()?;
    let mut deciding = lines.iter().filter(|(indent, ..)| *indent == outermost);
    let (_, word, line) = deciding.next()?;
    let is_undisputed = deciding.all(|(_, other, _)| other == word);
    is_undisputed.then(|| ((*word).to_owned(), (*line).to_owned()))
}

/// The one word of a line `Key: WORD`.
fn word_of_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (name, value) = line
        .trim_start_matches(['#', '-', '*', ' '])
        .split_once(':')?;
    if !without_emphasis(name.trim()).eq_ignore_ascii_case(key) {
        return None;
    }
    let bare = value.trim_start_matches(['*', '_']).trim();
    word_of(bare.trim_matches('"'))
}

/// The text behind `Verdict` or `Overall` and its colon, if the line is one.
fn value_after_label(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(['#', '-', '*', ' ', '\t']);
    let rest = ["Verdict", "Overall"]
        .iter()
        .find_map(|label| text.strip_prefix(label))?
        .trim_start_matches(['*', '_'])
        .trim();
    match rest.strip_prefix(':') {
        Some(value) => Some(value.trim_start_matches(['*', '_']).trim()),
        None => rest.is_empty().then_some(rest),
    }
}

/// Whether a text can be a verdict: one word, and no template.
pub fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    !text.is_empty() && chars.all(|c| c.is_alphanumeric() || "_-.+".contains(c))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let lines = markdown::lines(text);
        let decided = last(&lines).expect("a verdict");
        assert_eq!(decided.word, Some("APPROVED"), "{text}");
        assert_eq!(
            contradiction(&lines, &decided, &["NEEDS_CHANGES"]),
            expected,
            "{text}"
        );
    }

    #[test]
    fn a_line_about_the_verdict_that_says_otherwise_contradicts() {
        for line in [
            "VERDICT: NEEDS_CHANGES",
            "Final Verdict: NEEDS_CHANGES",
            "My verdict: NEEDS_CHANGES",
            "**Verdict** NEEDS_CHANGES",
            "1. Verdict: NEEDS_CHANGES",
            "### 🏁 Verdict: NEEDS_CHANGES",
            "Overall, it is `NEEDS_CHANGES`.",
            "| Verdict | NEEDS_CHANGES |",
        ] {
            check(
                &format!("Verdict: APPROVED\n\n{line}?"),
                Some(&format!("{line}?")),
            );
            check(
                &format!("{line}.\n\nVerdict: APPROVED"),
                Some(&format!("{line}.")),
            );
        }
        check(
            "## Final Verdict\n\n**NEEDS_CHANGES**\n\nVerdict: APPROVED",
            Some("**NEEDS_CHANGES**"),
        );
    }

    #[test]
    fn what_is_of_an_earlier_report_or_cited_does_not() {
        for line in [
            "Previous verdict: NEEDS_CHANGES",
            "The verdict of round 1 was NEEDS_CHANGES.",
            "Iteration 2, verdict: NEEDS_CHANGES",
            "> Verdict: NEEDS_CHANGES",
            "<!--\nVerdict: NEEDS_CHANGES\n-->",
            "<!-- Verdict: NEEDS_CHANGES -->",
            "```\nVerdict: NEEDS_CHANGES\n```",
            "    Verdict: NEEDS_CHANGES",
            "Codex ended with \"Verdict: NEEDS_CHANGES\".",
            "The form is `Verdict: APPROVED` or `Verdict: NEEDS_CHANGES`.",
            "This is no NEEDS_CHANGES.",
            "The verdict is not NEEDS_CHANGES_LATER.",
        ] {
            check(&format!("Verdict: APPROVED\n\n{line}"), None);
            check(&format!("{line}\n\nVerdict: APPROVED"), None);
        }
    }

    #[test]
    fn the_outermost_lines_of_a_key_decide() {
        #[track_caller]
        fn check(text: &str, key: &str, word: Option<&str>) {
            let found = of_key(text, key);
            assert_eq!(
                found.as_ref().map(|(word, _)| word.as_str()),
                word,
                "{text}"
            );
        }
        check("**Status:** passed", "status", Some("passed"));
        check(
            "---\nstatus: gaps_found\n---\n",
            "status",
            Some("gaps_found"),
        );
        check(
            "```yaml\nreport:\n  status: PASS\n  files:\n    - path: a\n      status: created\n```",
            "status",
            Some("PASS"),
        );
        check("status: PASS | FAIL", "status", None);
        check("status: PASS\nStatus: FAIL", "status", None);
        check("status of it: PASS", "status", None);
        check("", "status", None);
    }
}
