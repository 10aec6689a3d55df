//! Blocks of plain `key: value` lines, read without the parser.
//!
//! State files are written this way, and the parser takes a microsecond for
//! every few bytes of them. What is read here is so little of YAML that it can
//! be held against the parser on random texts; all else is left to the parser.

use super::{Mapping, Value, printable};

/// The most blocks that are open at once.
const DEEPEST: usize = 8;

/// The keys of one indent. A key is open while the lines below it may be its block.
struct Block<'t> {
    indent: usize,
    entries: Mapping,
    open: Option<&'t str>,
}

impl<'t> Block<'t> {
    /// Gives the open key its value; `None` for a key that was there before.
    fn close(&mut self, value: Value) -> Option<()> {
        match self.open.take() {
            Some(key) => {
                let before = self.entries.insert(Value::String(key.to_owned()), value);
                before.is_none().then_some(())
            }
            None => Some(()),
        }
    }

    fn add(&mut self, key: &'t str, value: &str) -> Option<()> {
        self.close(Value::Null)?;
        self.open = Some(key);
        if value.is_empty() {
            return Some(());
        }
        self.close(scalar(value)?)
    }
}

/// What the parser would read; `None` for a text that has to be left to it.
pub(super) fn parse(text: &str) -> Option<Value> {
    let is_printable = |c| matches!(c, ' '..='~' | '\n') || printable(c) == c;
    if !text.chars().all(is_printable) {
        return None;
    }
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for line in text.split('\n') {
        let content = line.trim_start_matches(' ');
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let (key, value) = content.split_once(':').filter(|(key, _)| is_word(key))?;
        if !value.is_empty() && !value.starts_with(' ') {
            return None;
        }
        let indent = line.len() - content.len();
        enter(&mut blocks, indent)?.add(key, value.trim_matches(' '))?;
    }
    leave(&mut blocks, 0)?;
    let mut root = blocks.pop()?;
    root.close(Value::Null)?;
    Some(Value::Mapping(root.entries))
}

/// The block that a line of this indent is in.
fn enter<'b, 't>(blocks: &'b mut Vec<Block<'t>>, indent: usize) -> Option<&'b mut Block<'t>> {
    leave(blocks, indent)?;
    let begins = match blocks.last() {
        None => indent == 0,
        Some(block) => indent > block.indent && block.open.is_some() && blocks.len() < DEEPEST,
    };
    if begins {
        blocks.push(Block {
            indent,
            entries: Mapping::with_capacity(8),
            open: None,
        });
    }
    blocks.last_mut().filter(|block| block.indent == indent)
}

/// Ends the blocks that are deeper than `indent`.
fn leave(blocks: &mut Vec<Block<'_>>, indent: usize) -> Option<()> {
    while let Some(mut block) = blocks.pop_if(|block| block.indent > indent) {
        block.close(Value::Null)?;
        blocks.last_mut()?.close(Value::Mapping(block.entries))?;
    }
    Some(())
}

fn scalar(text: &str) -> Option<Value> {
    match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ if is_word(text) => Some(Value::String(text.to_owned())),
        _ if text.starts_with('"') => quoted(text).map(Value::String),
        _ => number(text),
    }
}

/// Whether a text without quotes is a string to every YAML parser.
fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
        && !matches!(text, "true" | "false" | "null")
}

/// A string as `quote` writes it.
fn quoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains(['"', '\\']) {
        return Some(inner.to_owned());
    }
    let mut plain = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => characters.next().filter(|c| matches!(c, '"' | '\\'))?,
            '"' => return None,
            _ => character,
        });
    }
    Some(plain)
}

/// A number that fits however it is read, without leading zeros.
fn number(text: &str) -> Option<Value> {
    let is_plain = text.len() <= 18
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    let number: u64 = text.parse().ok().filter(|_| is_plain)?;
    Some(Value::Number(number.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse_as;
    use super::*;
    use crate::formats::front_matter;

    /// Compared as text, so that the order of the keys counts.
    fn shown(value: &Value) -> String {
        format!("{value:?}")
    }

    fn parsed(text: &str) -> Option<String> {
        parse_as(text).as_ref().map(shown).ok()
    }

    #[test]
    fn state_files_are_read_without_the_parser() {
        for text in [
            include_str!("../../../tests/fixtures/agent-flow/06-orchestration-review-passed.md"),
            include_str!("../../../tests/fixtures/agent-flow/30-team-init-team-mode.md"),
        ] {
            let front = front_matter::split(text).map_or("", |document| document.front);
            let read = parse(front).map(|value| shown(&value));
            assert!(read.is_some(), "{text}");
            assert_eq!(read, parsed(front));
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let read = parse(text);
        assert_eq!(read.as_ref().map(shown).as_deref(), expected, "{text:?}");
        if let Some(read) = read {
            assert_eq!(parsed(text), Some(shown(&read)));
        }
    }

    #[test]
    fn only_plain_lines_are_read() {
        let abc =
            r#"Mapping {"a": Mapping {"b": Mapping {"c": Number(0)}, "d": Null}, "e": Bool(true)}"#;
        check("a:\n  b:\n     c: 0\n  d:\n# x\ne: true", Some(abc));
        check(
            "# x\n\na: \"\\\"\\\\\" \n",
            Some(r#"Mapping {"a": String("\"\\")}"#),
        );
        check(
            "a: \"  é # : [\"\n",
            Some(r#"Mapping {"a": String("  é # : [")}"#),
        );
        check(
            "a: pass-2_x\n",
            Some(r#"Mapping {"a": String("pass-2_x")}"#),
        );
        for other in [
            "",
            "# x\n",
            " a: 1\n",
            "a: 1\na: 2\n",
            "a:\na: 1\n",
            "a: 1\n  b: 2\n",
            "a:\n    b: 1\n  c: 2\n",
            "a: 01\n",
            "a: 1 # x\n",
            "a: 1\r\n",
            "a:\t1\n",
            "a:1\n",
            "a : 1\n",
            "- a\n",
            "a: [1]\n",
            "a: 'x'\n",
            "a: x y\n",
            "a: \"x\" y\n",
            "a: \"x\n",
            "a: \"\\n\"\n",
            "a: \"\\\"\n",
            "a: null\n",
            "true: 1\n",
            "a: True\n",
            "a: &b x\n",
            "a: 1.5\n",
            "a: -1\n",
            "a: 1234567890123456789\n",
            "a: \"\u{feff}\"\n",
            "---\na: 1\n",
            "a: \"\u{85}\"\n",
            "a: |\n  x\n",
            "a\n",
            "a: \"\n",
            "1: 2\n",
        ] {
            check(other, None);
        }
        let long = format!("a: \"{}\"\nb: 1\n", "x: # ".repeat(2_000));
        assert_eq!(parse(&long).as_ref().map(shown), parsed(&long));
        let nested = |depth: usize| -> String {
            (0..depth)
                .map(|at| format!("{}a:\n", " ".repeat(at)))
                .collect()
        };
        assert!(parse(&nested(DEEPEST)).is_some() && parse(&nested(DEEPEST + 1)).is_none());
    }

    /// A line: how many blocks it ends, its key and its value.
    fn line() -> impl Strategy<Value = (usize, String, String)> {
        let value = prop_oneof![
            4 => Just(String::new()),
            6 => " {1,2}(true|no|[1-9][0-9]{0,3}|inf|[a-z][a-z_-]{0,3}) {0,1}",
            4 => " \"([a-z #:é\u{a0}\u{1f600}]|\\\\[\"\\\\]){0,5}\"",
            1 => " (null|0[0-9x]1|1e3|True)| {0,2}[ -~\u{85}\u{2028}\u{feff}\t\r]{1,3}",
        ];
        let key = prop_oneof![20 => "[a-z]{1,2}[0-9]?", 1 => "null|true|[a-z ]{2}"];
        (0..4_usize, key, value)
    }

    /// Lines as programs indent them; at times one is off, or another stands between.
    fn text() -> impl Strategy<Value = String> {
        let between = prop_oneof![12 => Just(String::new()), 1 => "\n| {0,4}#[ -~]{0,3}\n| {0,3}"];
        prop::collection::vec((line(), between), 0..9).prop_map(|lines| {
            let (mut text, mut indents) = (String::new(), Vec::new());
            for ((ends, key, value), between) in lines {
                let is_open = text.is_empty() || text.ends_with(":\n");
                let ends = if is_open { 0 } else { ends.min(indents.len()) };
                if is_open {
                    indents.push(2 * indents.len());
                }
                indents.truncate(indents.len().saturating_sub(ends).max(1));
                let indent = indents.last().copied().unwrap_or_default();
                text += &format!("{between}{}{key}:{value}\n", " ".repeat(indent));
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn what_is_read_is_what_the_parser_reads(text in text()) {
            if let Some(read) = parse(&text) {
                prop_assert_eq!(Some(shown(&read)), parsed(&text), "{}", text);
            }
        }
    }
}
