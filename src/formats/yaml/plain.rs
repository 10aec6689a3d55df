//! Blocks of plain `key: value` lines and lists, read without the parser.
//!
//! State files and settings are written this way, and the parser takes a microsecond
//! for every few bytes of them. What is read here is so little of YAML that it can
//! be held against the parser on random texts; all else is left to the parser.

use inline::{entry, value};

use super::{Mapping, Value, printable};

mod inline;

/// The most blocks that are open at once.
const DEEPEST: usize = 8;

/// The lines of one indent. A key is open while the lines below it may be its block.
struct Block<'t> {
    depth: usize,
    content: Content,
    open: Option<&'t str>,
}

enum Content {
    Entries(Mapping),
    Items(Vec<Value>),
}

impl From<Content> for Value {
    fn from(content: Content) -> Self {
        match content {
            Content::Entries(entries) => Self::Mapping(entries),
            Content::Items(items) => Self::Sequence(items),
        }
    }
}

/// What stands on a line, its value unread.
enum Line<'t> {
    Entry(&'t str, &'t str),
    Item(&'t str),
}

impl<'t> Line<'t> {
    fn read(content: &'t str) -> Option<Self> {
        if let Some(item) = content.strip_prefix("- ") {
            return Some(Self::Item(item));
        }
        let (key, value) = entry(content)?;
        let stands_alone = value.is_empty() || value.starts_with(' ');
        stands_alone.then_some(Self::Entry(key, value))
    }

    /// An item may stand at the indent of the key that its list belongs to.
    fn depth(&self, indent: usize) -> usize {
        match self {
            Self::Entry(..) => 2 * indent,
            Self::Item(_) => 2 * indent + 1,
        }
    }
}

impl<'t> Block<'t> {
    /// Gives the open key its value; `None` for a key that was there before.
    fn close(&mut self, value: Value) -> Option<()> {
        match (self.open.take(), &mut self.content) {
            (Some(key), Content::Entries(entries)) => {
                let before = entries.insert(Value::String(key.to_owned()), value);
                before.is_none().then_some(())
            }
            _ => Some(()),
        }
    }

    fn add(&mut self, line: &Line<'t>) -> Option<()> {
        match (line, &mut self.content) {
            (Line::Entry(key, text), _) => {
                self.close(Value::Null)?;
                self.open = Some(key);
                match text.trim_start_matches(' ') {
                    text if text.is_empty() || text.starts_with('#') => Some(()),
                    text => self.close(value(text)?),
                }
            }
            (Line::Item(text), Content::Items(items)) => {
                items.push(value(text.trim_start_matches(' '))?);
                Some(())
            }
            (Line::Item(_), Content::Entries(_)) => None,
        }
    }
}

/// What the parser would read; `None` for a text that has to be left to it.
pub(super) fn parse(text: &str) -> Option<Value> {
    let is_usual = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    if !text.bytes().all(is_usual) && !text.chars().all(|c| c == '\n' || printable(c) == c) {
        return None;
    }
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for whole in text.split('\n') {
        let content = whole.trim_start_matches(' ');
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let line = Line::read(content)?;
        let depth = line.depth(whole.len() - content.len());
        enter(&mut blocks, depth)?.add(&line)?;
    }
    leave(&mut blocks, 0)?;
    let mut root = blocks.pop()?;
    root.close(Value::Null)?;
    Some(root.content.into())
}

/// The block that a line of this depth is in.
fn enter<'b, 't>(blocks: &'b mut Vec<Block<'t>>, depth: usize) -> Option<&'b mut Block<'t>> {
    leave(blocks, depth)?;
    let begins = match blocks.last() {
        None => depth == 0,
        Some(block) => depth > block.depth && block.open.is_some() && blocks.len() < DEEPEST,
    };
    if begins {
        let content = match depth % 2 {
            0 => Content::Entries(Mapping::with_capacity(8)),
            _ => Content::Items(Vec::new()),
        };
        blocks.push(Block {
            depth,
            content,
            open: None,
        });
    }
    blocks.last_mut().filter(|block| block.depth == depth)
}

/// Ends the blocks that are deeper than `depth`.
fn leave(blocks: &mut Vec<Block<'_>>, depth: usize) -> Option<()> {
    while let Some(mut block) = blocks.pop_if(|block| block.depth > depth) {
        block.close(Value::Null)?;
        blocks.last_mut()?.close(block.content.into())?;
    }
    Some(())
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
    fn state_files_and_settings_are_read_without_the_parser() {
        for text in [
            include_str!("../../settings/every-key.yaml"),
            include_str!("../../../tests/fixtures/agent-flow/06-orchestration-review-passed.md"),
            include_str!("../../../tests/fixtures/agent-flow/30-team-init-team-mode.md"),
        ] {
            let front = front_matter::split(text).map_or(text, |document| document.front);
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
    fn plain_lines_are_read() {
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
            "a: pass-2_x # why\nB.md: docs/A.md\n",
            Some(r#"Mapping {"a": String("pass-2_x"), "B.md": String("docs/A.md")}"#),
        );
        check(
            "a: [] \n\"b c\": [d.md, \"*\", 1 ] # x\n",
            Some(
                r#"Mapping {"a": Sequence [], "b c": Sequence [String("d.md"), String("*"), Number(1)]}"#,
            ),
        );
        check(
            "a: { b: 1, \"c\": [d, {}] }\n",
            Some(
                r#"Mapping {"a": Mapping {"b": Number(1), "c": Sequence [String("d"), Mapping {}]}}"#,
            ),
        );
        check(
            "a:\n- b\n# x\n- 2\nc: # y\n  d:\n    - true\n  e: f\n",
            Some(
                r#"Mapping {"a": Sequence [String("b"), Number(2)], "c": Mapping {"d": Sequence [Bool(true)], "e": String("f")}}"#,
            ),
        );
    }

    /// Lines that are no YAML, and some that are more of it than this reader knows.
    const OTHERS: &[&str] = &[
        "",
        "# x\n",
        " a: 1\n",
        "a: 1\na: 2\n",
        "a:\na: 1\n",
        "a: 1\n  b: 2\n",
        "a:\n    b: 1\n  c: 2\n",
        "a: 01\n",
        "a: 1# x\n",
        "a: 1\r\n",
        "a:\t1\n",
        "a:1\n",
        "a : 1\n",
        "- a\n",
        "a: [1\n",
        "a: [1,]\n",
        "a: [,]\n",
        "a: [b c]\n",
        "a: [b: c]\n",
        "a: {b}\n",
        "a: {b: }\n",
        "a: {b:1}\n",
        "a: {b: 1, b: 2}\n",
        "a: {b: 1\n",
        "a: b}\n",
        "a: [b}\n",
        "{a: 1}\n",
        "a: [b]c\n",
        "a:\n  - b\n - c\n",
        "a:\n  - b: c\n",
        "a:\n  - b\n  c: d\n",
        "a:\n  -\n",
        "a: b\n- c\n",
        "a:\n- b\n  - c\n",
        "\"a\\n\": 1\n",
        ": 1\n",
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
        "a: 1.\n",
        "a: 1.5.2\n",
        "a: 01.5\n",
        "a: .5\n",
        "a: -1\n",
        "a: 1234567890123456789\n",
        "a: \"\u{feff}\"\n",
        "---\na: 1\n",
        "a: \"\u{85}\"\n",
        "a: |\n  x\n",
        "a\n",
        "a: \"\n",
        "1: 2\n",
    ];

    #[test]
    fn other_lines_are_left_to_the_parser() {
        for other in OTHERS {
            check(other, None);
        }
    }

    #[test]
    fn a_text_may_be_long_and_not_deep() {
        let long = format!("a: \"{}\"\nb: 1\n", "x: # ".repeat(2_000));
        assert_eq!(parse(&long).as_ref().map(shown), parsed(&long));
        let nested = |depth: usize| -> String {
            (0..depth)
                .map(|at| format!("{}a:\n", " ".repeat(at)))
                .collect()
        };
        assert!(parse(&nested(DEEPEST)).is_some() && parse(&nested(DEEPEST + 1)).is_none());
    }

    fn scalar_text() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => "true|no|[1-9][0-9]{0,3}|inf|(0|[1-9])\\.[0-9]{1,3}|(\\./|[A-Za-z/])[A-Za-z_./-]{0,3}|\\.",
            4 => "\"([a-z #:é\u{a0}\u{1f600}]|\\\\[\"\\\\]){0,5}\"",
            1 => "null|0[0-9x]1|1e3|True|[a-z]\\.[0-9]|'a'|[ -~\u{85}\u{2028}\u{feff}\t\r]{1,3}",
        ]
    }

    fn value_text() -> impl Strategy<Value = String> {
        let in_flow = scalar_text().prop_recursive(3, 12, 4, |inner| {
            let entry = ("([a-z]|\"[a-z :]\"|null)", "(: ){1,2}|:", inner.clone())
                .prop_map(|(key, colon, value)| format!("{key}{colon}{value}"));
            let of = |items: Vec<String>, (comma, blank): (String, String)| {
                format!("{blank}{}{blank}", items.join(&comma))
            };
            let style = ("(,|, ){1}", " {0,1}");
            let list = (prop::collection::vec(inner, 0..4), style);
            let entries = (prop::collection::vec(entry, 0..4), style);
            prop_oneof![
                list.prop_map(move |(items, style)| format!("[{}]", of(items, style))),
                entries.prop_map(move |(items, style)| format!("{{{}}}", of(items, style))),
            ]
        });
        prop_oneof![
            4 => Just(String::new()),
            8 => scalar_text().prop_map(|text| format!(" {text}")),
            4 => in_flow.prop_map(|text| format!(" {text}")),
            1 => " {0,2}[ -~]{1,3}",
        ]
    }

    /// A line: how many blocks it ends, its key (of an item it is empty), its value,
    /// and what stands behind that.
    fn line() -> impl Strategy<Value = (usize, String, String, String)> {
        let key = prop_oneof![
            14 => "[a-z]{1,2}[0-9]?|[A-Z][a-z.]{1,2}",
            6 => Just(String::new()),
            2 => "\"[a-z*: ]{0,3}\"",
            1 => "null|true|[a-z ]{2}",
        ];
        let behind = prop_oneof![8 => Just(String::new()), 2 => " {1,2}", 2 => " {0,2}#[ -~]{0,3}"];
        (0..4_usize, key, value_text(), behind)
    }

    /// Lines as programs indent them; at times one is off, or another stands between.
    fn text() -> impl Strategy<Value = String> {
        let between = prop_oneof![12 => Just(String::new()), 1 => "\n| {0,4}#[ -~]{0,3}\n| {0,3}"];
        prop::collection::vec((line(), between), 0..9).prop_map(|lines| {
            let mut text = String::new();
            let mut blocks: Vec<(usize, bool)> = Vec::new();
            for ((ends, key, value, behind), between) in lines {
                let is_open = text.is_empty() || text.ends_with(":\n");
                if is_open {
                    let is_list = key.is_empty() && !text.is_empty();
                    // A list may stand at the indent of its key.
                    let is_level = is_list && ends % 2 == 1;
                    let outer = blocks.last().map_or(0, |(indent, _)| *indent);
                    let deeper = if is_level || text.is_empty() { 0 } else { 2 };
                    blocks.push((outer + deeper, is_list));
                } else {
                    blocks.truncate(blocks.len().saturating_sub(ends).max(1));
                }
                let (indent, is_list) = blocks.last().copied().unwrap_or_default();
                let key = if key.is_empty() { "k" } else { &key };
                let head = if is_list {
                    "-".to_owned()
                } else {
                    format!("{key}:")
                };
                text += &format!("{between}{}{head}{value}{behind}\n", " ".repeat(indent));
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
