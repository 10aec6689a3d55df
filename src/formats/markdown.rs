//! The few pieces of Markdown that state files are read by. Nothing here
//! renders or rewrites Markdown.

use crate::base::text::split_bom;

/// What a line is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Prose,
    /// A fence that is closed further down; its two delimiters count.
    Fence,
    /// A fence that never ends, which CommonMark lets run to the end of the
    /// text.
    OpenFence,
    Quote,
    /// Four or more blanks further right than the list items around it.
    Indented,
    /// A comment over several lines, first and last line included, or one that fills its line.
    Comment,
}

impl Block {
    pub fn is_fence(self) -> bool {
        matches!(self, Self::Fence | Self::OpenFence)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Without its line end.
    pub text: &'a str,
    pub block: Block,
}

/// A fence that is not closed yet.
struct Opened<'a> {
    /// The index of its first line.
    at: usize,
    marks: &'a str,
    /// How many list items it is in.
    depth: usize,
}

/// The lines of a text, with CRLF and a leading byte-order mark tolerated.
pub fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = fenced(text);
    mark_comments(&mut lines);
    lines
}

/// The same, but for comments.
fn fenced(text: &str) -> Vec<Line<'_>> {
    let (_, text) = split_bom(text);
    let mut lines: Vec<Line<'_>> = Vec::new();
    // The columns where the texts of the list items around a line begin.
    let mut items: Vec<usize> = Vec::new();
    let mut open: Option<Opened<'_>> = None;
    for (at, text) in text.lines().enumerate() {
        let bare = text.trim_start_matches(' ');
        let indent = text.len() - bare.len();
        // A line further left ends list items, and a fence in them.
        if !bare.trim().is_empty() {
            items.retain(|&column| column <= indent);
        }
        if let Some(fence) = open.take_if(|fence| fence.depth > items.len()) {
            close(&mut lines[fence.at..]);
        }
        let column = items.last().map_or(0, |&column| column.min(indent));
        let mut body = &text[column..];
        if open.is_none() {
            while let Some(width) = item(body) {
                items.push(text.len() - body.len() + width);
                body = &body[width..];
            }
        }
        let before = open.take();
        let ends = before
            .as_ref()
            .is_some_and(|fence| closes(body, fence.marks));
        let depth = items.len();
        open = before.or_else(|| opening(body).map(|marks| Opened { at, marks, depth }));
        let block = match open {
            Some(_) => Block::OpenFence,
            None => plain_block(body),
        };
        lines.push(Line { text, block });
        if let Some(fence) = open.take_if(|_| ends) {
            close(&mut lines[fence.at..]);
        }
    }
    lines
}

fn close(lines: &mut [Line<'_>]) {
    for line in lines {
        line.block = Block::Fence;
    }
}

/// What a line outside fences is, without the list items that it is in.
fn plain_block(body: &str) -> Block {
    const CODE_INDENT: usize = 4;
    let bare = body.trim_start_matches([' ', '\t']);
    let indent = &body[..body.len() - bare.len()];
    match bare.bytes().next() {
        Some(_) if indent.len() >= CODE_INDENT || indent.contains('\t') => Block::Indented,
        Some(b'>') => Block::Quote,
        _ => Block::Prose,
    }
}

const COMMENT: [&str; 2] = ["<!--", "-->"];

/// A comment that begins a line runs to its end or to that of the text; within a line, to its
/// end on one further down.
fn mark_comments(lines: &mut [Line<'_>]) {
    let mut at = 0;
    while at < lines.len() {
        let (line, rest) = (lines[at].text, &lines[at + 1..]);
        let n_marked = if lines[at].block.is_fence() {
            0
        } else {
            n_commented(line, rest)
        };
        for line in &mut lines[at..at + n_marked] {
            line.block = Block::Comment;
        }
        at += n_marked.max(1);
    }
}

/// How many lines, this one first, are a comment that begins in it.
fn n_commented(line: &str, rest: &[Line<'_>]) -> usize {
    let Some(begin) = open_comment(line) else {
        return 0;
    };
    let begins_line = line[..begin].trim().is_empty();
    if let Some(closed) = line[begin..].find(COMMENT[1]) {
        let is_all = begins_line && line[begin + closed + 3..].trim().is_empty();
        return usize::from(is_all);
    }
    let end = rest.iter().position(|line| line.text.contains(COMMENT[1]));
    match end {
        Some(n_between) => n_between + 2,
        None if begins_line => rest.len() + 1,
        None => 0,
    }
}

/// Where the last comment of a line begins, unless it is quoted as code.
fn open_comment(line: &str) -> Option<usize> {
    let begin = line.rfind(COMMENT[0])?;
    let is_code = line[..begin].matches('`').count() % 2 == 1;
    (!is_code).then_some(begin)
}

/// The first line of a merge that was left undone: git's markers, with or without a label.
pub fn merge_conflict(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    lines.find(|line| {
        let marker = line.split(' ').next().unwrap_or_default();
        matches!(marker, "<<<<<<<" | ">>>>>>>")
    })
}

/// A line without the comments that begin and end on it.
pub fn without_comments(line: &str) -> String {
    let mut pieces = line.split(COMMENT[0]);
    let before = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(before, |text, piece| match piece.split_once(COMMENT[1]) {
        Some((_, behind)) => text + behind,
        None => text + COMMENT[0] + piece,
    })
}

/// How far a list item's marker, and the blanks behind it, reach in a line.
fn item(body: &str) -> Option<usize> {
    let bare = body.trim_start_matches(' ');
    let rest = behind_marker(bare)?;
    let text = rest.trim_start_matches(' ');
    let n_blanks = rest.len() - text.len();
    let is_item = body.len() - bare.len() <= 3 && n_blanks > 0;
    // More blanks are those of indented code.
    let beyond = if n_blanks > 4 { n_blanks - 1 } else { 0 };
    is_item.then(|| body.len() - text.len() - beyond)
}

/// The text behind a list item's marker.
fn behind_marker(line: &str) -> Option<&str> {
    match line.bytes().take_while(u8::is_ascii_digit).count() {
        0 => line.strip_prefix(['-', '*', '+']),
        n_digits @ 1..=9 => line[n_digits..].strip_prefix(['.', ')']),
        _ => None,
    }
}

/// The lines that are neither code in a fence nor comments: a fence left open hides all that
/// follows it.
pub fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    lines(text)
        .into_iter()
        .filter(|line| !line.block.is_fence() && line.block != Block::Comment)
        .map(|line| line.text)
}

/// The fence marks of an opening line: three or more back-ticks or tildes.
fn opening(line: &str) -> Option<&str> {
    let marks = fence_marks(line)?;
    let info = &line.trim_start_matches(' ')[marks.len()..];
    // A back-tick in the info string makes it inline code.
    (!(marks.starts_with('`') && info.contains('`'))).then_some(marks)
}

fn closes(line: &str, opened_by: &str) -> bool {
    fence_marks(line).is_some_and(|marks| {
        marks.starts_with(&opened_by[..1])
            && marks.len() >= opened_by.len()
            && line.trim_start_matches(' ')[marks.len()..]
                .trim()
                .is_empty()
    })
}

fn fence_marks(line: &str) -> Option<&str> {
    let body = line.trim_start_matches(' ');
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let n_marks = body.len() - body.trim_start_matches(mark).len();
    (line.len() - body.len() <= 3 && n_marks >= 3).then(|| &body[..n_marks])
}

/// What follows `**Name:**` at the start of a line, with its leading space.
pub fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix("**")?
        .strip_prefix(name)?
        .strip_prefix(":**")
}

/// Which of its values a status line has, from what follows the colon. Text after white space is
/// tolerated, unless it names another value: then a template was left in.
pub fn status<'v>(after_colon: &str, values: &[&'v str]) -> Option<&'v str> {
    let rest = after_colon.strip_prefix(' ')?;
    let value = *values
        .iter()
        .filter(|value| {
            let behind = rest.strip_prefix(**value);
            behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        })
        .max_by_key(|value| value.len())?;
    let comment = &rest[value.len()..];
    let mut others = values.iter().filter(|other| **other != value);
    (!others.any(|other| names(comment, other))).then_some(value)
}

/// Whether a text has a value as a word of its own.
fn names(text: &str, value: &str) -> bool {
    let mut places = text.match_indices(value);
    places.any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric)
            && !text[at + value.len()..].starts_with(char::is_alphanumeric)
    })
}

/// The box at the start of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkbox {
    Checked,
    Unchecked,
    /// Brackets around at most one character that OpenSpec takes for no box: `[~]`, `[]`, `[ x ]`.
    Odd,
}

/// The box of a line, its brackets and the text behind them. Nested tasks and tasks in code
/// fences count, as they do for OpenSpec:
/// `/^\s*(?:[-*+]|\d{1,9}[.)])\s*\[([\sxX])\]\s*(.*)/`. A link is no box.
pub fn checkbox(line: &str) -> Option<(Checkbox, &str, &str)> {
    let item = behind_marker(line.trim_start_matches(is_js_space))?.trim_start_matches(is_js_space);
    let (brackets, text) = item.split_at(item.find(']')? + 1);
    let mark = brackets.strip_prefix('[')?.strip_suffix(']')?;
    let mut inner = mark.trim_matches(is_js_space).chars();
    let kind = match (inner.next(), inner.next()) {
        (_, Some(_)) => return None,
        (Some(_), None) if text.starts_with('(') => return None,
        (Some('x' | 'X'), None) if mark.len() == 1 => Checkbox::Checked,
        (None, None) if mark.chars().count() == 1 => Checkbox::Unchecked,
        _ => Checkbox::Odd,
    };
    Some((kind, brackets, text.trim_start_matches(is_js_space)))
}

/// JavaScript's `\s`: unlike Rust's white space it holds U+FEFF and not U+0085.
fn is_js_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_fences(text: &str, expected: &str) {
        let found: String = lines(text)
            .iter()
            .map(|line| match line.block {
                Block::Fence => 'c',
                Block::OpenFence => 'o',
                _ => '-',
            })
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn fences_follow_commonmark() {
        check_fences("a\n```\nb\n```\nc", "-ccc-");
        check_fences("a\r\n```rust\r\nb\r\n```\r\nc\r\n", "-ccc-");
        check_fences("~~~\n```\n~~~\na", "ccc-");
        check_fences("````\n```\n````\na", "ccc-");
        check_fences("```\na\n``` b\nc", "oooo");
        check_fences("   ```\na\n   ```\nb", "ccc-");
        check_fences("    ```\na", "--");
        check_fences("``` `inline` ```\na", "--");
        check_fences("~~~ `x`\na\n~~~~\nb", "ccc-");
        check_fences("\u{feff}```\na\n```", "ccc");
        check_fences("``\na", "--");
    }

    #[test]
    fn fences_stand_in_list_items_too() {
        check_fences("1. a\n    ```\n    b\n    ```\nc", "-ccc-");
        check_fences("10) a\n    ```\n    ```", "-cc");
        check_fences("- a\n  - b\n\n    ```\n    c\n    ```", "---ccc");
        check_fences("- ```\n  a\n  ```\nb", "ccc-");
        check_fences("- - ```\n    a\n\n    ```\nb", "cccc-");
        check_fences("- a\n  ```\nb\n```\nc", "-c-oo");
        check_fences("- a\n      ```\nb", "---");
        check_fences("-      ```\na", "--");
        check_fences("    - ```\na", "--");
        check_fences("-```\n1986.\n**b**\n- ", "----");
    }

    #[track_caller]
    fn check_blocks(text: &str, expected: &str) {
        let letter = |line: Line<'_>| match line.block {
            Block::Prose => '-',
            Block::Fence => 'c',
            Block::OpenFence => 'o',
            Block::Quote => 'q',
            Block::Indented => 'i',
            Block::Comment => '!',
        };
        let found: String = lines(text).into_iter().map(letter).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn quotes_indented_code_and_comments_are_no_prose() {
        check_blocks("a\n> b\n - > c\nd", "-qq-");
        check_blocks("a\n\n    b\n\tc\n- d\n\n     e\n", "--ii---");
        check_blocks("<!-- a -->\nb <!-- c --> d", "!-");
        check_blocks("<!-- a\n\nb\n--> c\nd", "!!!!-");
        check_blocks("a <!-- b\nc\n-->\nd", "!!!-");
        check_blocks("<!-- a\nb", "!!");
        check_blocks("a <!-- b\nc", "--");
        check_blocks("a `<!--` b\nc\n-->", "---");
        check_blocks("```\n<!--\n```\na", "ccc-");
        assert_eq!(without_comments("a <!-- b --> c <!-- d"), "a  c <!-- d");
    }

    #[test]
    fn fields_are_exact() {
        for (line, expected) in [
            ("**Status:** PASS", Some(" PASS")),
            ("**Status:**", Some("")),
            ("**Status: PASS**", None),
            (" **Status:** PASS", None),
            ("- **Status:** PASS", None),
            ("**status:** PASS", None),
        ] {
            assert_eq!(field(line, "Status"), expected, "{line}");
        }
    }

    #[test]
    fn brackets_around_at_most_one_character_are_a_box_and_links_are_none() {
        for (line, expected) in [
            ("- [~] 1.1 a", Some((Checkbox::Odd, "[~]", "1.1 a"))),
            ("* []", Some((Checkbox::Odd, "[]", ""))),
            ("  3) [ x ] a", Some((Checkbox::Odd, "[ x ]", "a"))),
            ("+ [  ]a", Some((Checkbox::Odd, "[  ]", "a"))),
            (
                "- [ ](see x)",
                Some((Checkbox::Unchecked, "[ ]", "(see x)")),
            ),
            ("- [x](url)", None),
            ("- [A](url)", None),
            ("- [ab] c", None),
            ("- [x", None),
            ("- a [ ]", None),
        ] {
            assert_eq!(checkbox(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn checkboxes_match_openspec(line in "[\\s\u{85}\u{feff}]{0,2}([-*+~]|[0-9]{1,10}[.)]?)?[\\s\u{feff}]{0,2}\\[[ xX\t~\u{a0}-]\\]?.{0,4}") {
            prop_assume!(!line.contains("]("));
            prop_assume!(!line.contains('\n'));
            // `\s` of JavaScript, spelled out for an engine with another `\s`.
            const SPACE: &str = "\t\\x0B\\x0C\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";
            let pattern = format!(
                "^[{SPACE}]*(?:[-*+]|[0-9]{{1,9}}[.)])[{SPACE}]*\\[([{SPACE}xX])\\]"
            );
            let expected = regex::Regex::new(&pattern).unwrap().captures(&line).map(|found| {
                if matches!(&found[1], "x" | "X") { Checkbox::Checked } else { Checkbox::Unchecked }
            });
            let found = checkbox(&line).map(|(kind, ..)| kind);
            prop_assert_eq!(found.filter(|kind| *kind != Checkbox::Odd), expected);
        }
    }
}
