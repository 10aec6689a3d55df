//! YAML: parsed as a whole, changed one scalar at a time.
//!
//! Programs that live on `grep` and `sed` read these files too, so a change
//! replaces or adds single lines and leaves every other byte alone. Each edit
//! is proven before it is returned: the new text must parse to the old value
//! with exactly the wanted scalars set. What cannot be done that way (flow
//! style, anchors) is denied.

use serde::de::DeserializeOwned;
use serde_yaml::Mapping;

pub use serde_yaml::Value;

use lines::Lines;

mod lines;

/// Where a key belongs in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Directly below the block's own line; moved there when it is elsewhere.
    First,
    /// Where it is; at the end of the block when it is missing.
    Any,
}

/// One scalar to set, by the keys that lead to it. Strings are written in double quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange {
    pub path: Vec<String>,
    pub value: Value,
    pub place: Place,
}

impl KeyChange {
    pub fn new<const N: usize>(path: [&str; N], value: impl Into<Value>) -> Self {
        Self {
            path: path.map(String::from).to_vec(),
            value: value.into(),
            place: Place::Any,
        }
    }

    pub fn first(self) -> Self {
        Self {
            place: Place::First,
            ..self
        }
    }
}

/// The most opening brackets of a text that is parsed. The parser's time grows
/// with their square where they nest, and it finds out about the depth late.
const BRACKETS_MAX: usize = 4096;

/// The largest text that is parsed, in bytes: the parser takes a second for four times as much.
const MAX_TEXT: usize = 1 << 20;

/// Parses one document; aliases and nesting are bounded by the parser.
///
/// # Errors
/// The parser's message, with line and column.
pub fn parse(text: &str) -> Result<Value, String> {
    parse_as(text)
}

/// The same into a type of its own.
///
/// # Errors
/// The same.
pub fn parse_as<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("larger than {} KiB", MAX_TEXT >> 10));
    }
    if !has_few_brackets(text) {
        return Err(format!("more than {BRACKETS_MAX} opening brackets"));
    }
    serde_yaml::from_str(text).map_err(|error| error.to_string())
}

fn has_few_brackets(text: &str) -> bool {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{'));
    brackets.count() <= BRACKETS_MAX
}

/// The value below `path`, when every step is a mapping.
pub fn get<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

/// The scalar at `path` as text, whatever way it was written; `None` for
/// nothing, null, and the empty string.
pub fn text(value: &Value, path: &[&str]) -> Option<String> {
    let text = match get(value, path)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Wraps a string in double quotes on a single line. What a line cannot hold
/// (line breaks, control characters) becomes a space.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars().map(printable) {
        if matches!(character, '\\' | '"') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

/// The one-line form of a text: what `quote` keeps, without the quotes.
pub fn one_line(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// The character, or a space for one that a line cannot hold. Line separators and byte
/// order marks are breaks or errors to YAML parsers although Rust does not count them
/// among the control characters.
pub(crate) fn printable(character: char) -> char {
    match character {
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => ' ',
        _ if character.is_control() => ' ',
        _ => character,
    }
}

/// Sets all `changes` in order and returns the whole new text. `expected` is
/// what the text parses to.
///
/// # Errors
/// Nothing is changed when one of them cannot be made exactly: a key holds a block or a list, or
/// its parent is no block, or the lines are in a style that single-line edits cannot keep.
pub fn edit(text: &str, mut expected: Value, changes: &[KeyChange]) -> Result<String, String> {
    let mut lines = Lines::new(text);
    for change in changes {
        expect(&mut expected, &change.path, &change.value)
            .ok_or_else(|| not_a_scalar(&change.path.join(".")))?;
        lines.set(change);
    }
    let edited = lines.concat();
    if parse(&edited).as_ref() == Ok(&expected) {
        return Ok(edited);
    }
    let paths: Vec<_> = changes.iter().map(|change| change.path.join(".")).collect();
    Err(format!(
        "`{}` cannot be changed in this style; write one `key: value` a line",
        paths.join("`, `")
    ))
}

fn not_a_scalar(path: &str) -> String {
    format!("`{path}` cannot hold a plain value here; write its parent as a block")
}

/// Makes the change in the parsed value; `None` where that would drop a block.
fn expect(value: &mut Value, path: &[String], scalar: &Value) -> Option<()> {
    let Some((key, rest)) = path.split_first() else {
        *value = match scalar {
            _ if !matches!(
                value,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)
            ) =>
            {
                return None;
            }
            Value::String(text) => Value::String(one_line(text)),
            other => other.clone(),
        };
        return Some(());
    };
    if value.is_null() {
        *value = Value::Mapping(Mapping::new());
    }
    let slot = value
        .as_mapping_mut()?
        .entry(Value::String(key.clone()))
        .or_insert(Value::Null);
    expect(slot, rest, scalar)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GATES: &str = "# top\nphase: planning # why\ngates:\n  review:\n    # note\n    timestamp: 'x'\n    status: pending\n  test:\n\n# end\nnames:\n- a\n";

    fn changed(text: &str, changes: &[KeyChange]) -> Result<String, String> {
        edit(text, parse(text).unwrap(), changes)
    }

    #[track_caller]
    fn check(text: &str, change: &KeyChange, expected: &str) {
        assert_eq!(
            changed(text, std::slice::from_ref(change)).as_deref(),
            Ok(expected)
        );
    }

    #[test]
    fn single_lines_change() {
        let status = |text| KeyChange::new(["gates", "review", "status"], text);
        check(
            GATES,
            &status("passed"),
            &GATES.replace("    status: pending", "    status: \"passed\""),
        );
        check(
            GATES,
            &status("a\"b\\c\nd").first(),
            &GATES
                .replace("    status: pending\n", "")
                .replace("  review:\n", "  review:\n    status: \"a\\\"b\\\\c d\"\n"),
        );
        check(
            GATES,
            &KeyChange::new(["phase"], "done"),
            &GATES.replace("phase: planning # why", "phase: \"done\"\n# why"),
        );
        check(
            GATES,
            &KeyChange::new(["gates", "test", "status"], "passed").first(),
            &GATES.replace("  test:\n", "  test:\n    status: \"passed\"\n"),
        );
        check(
            GATES,
            &KeyChange::new(["gates", "lint", "status"], "x"),
            &GATES.replace("  test:\n", "  test:\n  lint:\n    status: \"x\"\n"),
        );
        check("", &KeyChange::new(["n"], 3), "n: 3\n");
        check("a: 1", &KeyChange::new(["b"], true), "a: 1\nb: true\n");
        check(
            "a: 1\r\nb: 2\r\n",
            &KeyChange::new(["a"], 3),
            "a: 3\r\nb: 2\r\n",
        );
        check(
            "a: |\n  x\n  y\nb: 2\n",
            &KeyChange::new(["a"], "z"),
            "a: \"z\"\nb: 2\n",
        );
        check(
            "'a' : \"x # y\" # z\n",
            &KeyChange::new(["a"], "q"),
            "'a' : \"q\"\n# z\n",
        );
    }

    #[test]
    fn comments_move_below_their_value() {
        check("a: 1 # c", &KeyChange::new(["a"], "x"), "a: \"x\"\n# c");
        check(
            "a: 1 # c\r\n",
            &KeyChange::new(["a"], "x"),
            "a: \"x\"\r\n# c\r\n",
        );
        check(
            "a: 'it''s' # it's\n",
            &KeyChange::new(["a"], "x"),
            "a: \"x\"\n# it's\n",
        );
        check(
            "a: \"\\\" #\" # c\n",
            &KeyChange::new(["a"], "x"),
            "a: \"x\"\n# c\n",
        );
        check("a: x#y\n", &KeyChange::new(["a"], "x"), "a: \"x\"\n");
        check(
            "a:\n  b: # c\n",
            &KeyChange::new(["a", "b"], "x"),
            "a:\n  b: \"x\"\n  # c\n",
        );
        check(
            "\"a:b\": 1\n",
            &KeyChange::new(["a:b"], "x"),
            "\"a:b\": \"x\"\n",
        );
        check(
            "\"a\\\"b\": 1\n",
            &KeyChange::new(["a\"b"], "x"),
            "\"a\\\"b\": \"x\"\n",
        );
        check(
            "-a: 1\n",
            &KeyChange::new(["b"], "x").first(),
            "b: \"x\"\n-a: 1\n",
        );
        check(
            "b: 1\n-a: 1\n",
            &KeyChange::new(["b"], "x"),
            "b: \"x\"\n-a: 1\n",
        );
        check(
            "# c\r\n",
            &KeyChange::new(["a"], "x"),
            "a: \"x\"\r\n# c\r\n",
        );
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let change = [KeyChange::new(["gates", "review", "status"], "passed")];
        // What the text was taken for counts, not only what it becomes.
        let other = parse("gates: 1\nphase: done\n").unwrap();
        let style = |edited: Result<String, String>| {
            let why = edited.unwrap_err();
            assert!(why.contains("cannot be changed in this style"), "{why}");
        };
        let block = |edited: Result<String, String>| {
            let why = edited.unwrap_err();
            assert!(why.contains("cannot hold a plain value here"), "{why}");
        };
        let to_text = [KeyChange::new(["gates"], "x")];
        style(edit("gates: 1\nphase: x\n", other, &to_text));
        block(changed("gates: x\n", &change));
        style(changed("gates: {review: {status: pending}}\n", &change));
        block(changed("gates:\n  a: 1\n", &to_text));
        style(changed("a: &x 1\nb: *x\n", &[KeyChange::new(["a"], "x")]));
    }

    fn scalar_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z]{1,6}",
            Just("\"quoted # text\"".to_owned()),
            Just("'it''s'".to_owned()),
            Just("plain # comment".to_owned()),
            Just("|\n          block\n          text".to_owned()),
            Just("007".to_owned()),
            Just(String::new()),
        ]
    }

    /// A document of blocks with comments, blanks and odd keys, as people leave them.
    fn document() -> impl Strategy<Value = String> {
        let field = ("(status|agent|note)", scalar_text(), any::<bool>());
        let gate = (0..5_usize, prop::collection::vec(field, 0..3));
        prop::collection::vec(gate, 0..4).prop_map(|gates| {
            let mut text = String::from("phase: x\ngates:\n");
            for (index, (name, fields)) in gates.into_iter().enumerate() {
                text += &format!("  g{name}{index}:\n");
                for (at, (key, value, comment)) in fields.into_iter().enumerate() {
                    text += if comment { "    # status: no\n\n" } else { "" };
                    text += &format!("    {key}{}: {value}\n", if at == 0 { "" } else { "_b" });
                }
            }
            text + "tail: [1, 2]\n# end\n"
        })
    }

    proptest! {
        #[test]
        fn an_edit_is_parse_change_compare(
            text in document(),
            name in "g[0-4][0-3]",
            key in "(status|agent|new)",
            value in "\\PC{0,8}|[\\x00-\\x20\"\\\\#:']{0,6}|[\u{2028}\u{feff}\u{85}a]{0,4}",
            is_first in any::<bool>(),
        ) {
            let Ok(mut expected) = parse(&text) else { return Ok(()) };
            let change = KeyChange::new(["gates", &name, &key], value.as_str());
            let change = if is_first { change.first() } else { change };
            let path = ["gates", &name, &key].map(String::from);
            if expect(&mut expected, &path, &change.value).is_none() {
                return Ok(());
            }
            let edited = changed(&text, &[change]).unwrap();
            prop_assert_eq!(parse(&edited).unwrap(), expected);
            // Outside the changed entry every line is kept, in order.
            let mut rest = edited.lines();
            let block_text = text.lines().filter(|line| line.starts_with("          "));
            let dropped: Vec<_> = block_text.collect();
            for line in text.lines().filter(|line| !dropped.contains(line)) {
                let is_target = line.trim_start().starts_with(&format!("{key}:"));
                prop_assert!(is_target || rest.any(|kept| kept == line), "lost {line:?}");
            }
        }

        #[test]
        fn quoting_is_read_back(text in any::<String>()) {
            let value = parse(&format!("a: {}\n", quote(&text))).unwrap();
            prop_assert_eq!(get(&value, &["a"]), Some(&Value::String(one_line(&text))));
        }

        #[test]
        fn no_text_is_broken(text in "[ab:#'\"|\\-\\[{ \\n&*]{0,60}", value in "[a-z\"\\\\]{0,5}") {
            if let Ok(read) = parse(&text) {
                let changes = [KeyChange::new(["a", "b"], value.as_str()), KeyChange::new(["b"], value.as_str())];
                let _ = edit(&text, read, &changes);
            }
        }
    }
}
