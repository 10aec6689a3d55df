//! YAML: parsed as a whole, changed one scalar at a time.
//!
//! Programs that live on `grep` and `sed` read these files too, so a change
//! replaces or adds single lines and leaves every other byte alone. Each edit
//! is proven before it is returned: the new text must parse to the old value
//! with exactly the wanted scalars set. What cannot be done that way (flow
//! style, anchors) is refused.

use std::fmt;

use serde_yaml::Mapping;
pub use serde_yaml::Value;

/// A value as it is written into a file: strings double-quoted, the rest bare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    Text(String),
    Integer(u64),
    Boolean(bool),
}

/// Where a key belongs in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Directly below the block's own line; moved there when it stands elsewhere.
    First,
    /// Where it is; at the end of the block when it is missing.
    Any,
}

/// One scalar to set, by the keys that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: Vec<String>,
    pub value: Scalar,
    pub place: Place,
}

impl Change {
    pub fn new<const N: usize>(path: [&str; N], value: Scalar) -> Self {
        Self {
            path: path.map(String::from).to_vec(),
            value,
            place: Place::Any,
        }
    }

    pub fn text<const N: usize>(path: [&str; N], value: &str) -> Self {
        Self::new(path, Scalar::Text(value.to_owned()))
    }

    pub fn first(self) -> Self {
        Self {
            place: Place::First,
            ..self
        }
    }
}

/// Why a text was left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The text is not YAML; the parser's message with line and column.
    Unreadable(String),
    /// The key at this path holds a block or a list, or its parent is not a block.
    NotAScalar(String),
    /// The lines are written in a style that single-line edits cannot keep.
    Style(String),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(message) => write!(f, "not readable as YAML: {message}"),
            Self::NotAScalar(path) => {
                write!(
                    f,
                    "`{path}` cannot hold a plain value here; write its parent as a block"
                )
            }
            Self::Style(path) => {
                write!(
                    f,
                    "`{path}` cannot be changed in this style; write one `key: value` a line"
                )
            }
        }
    }
}

impl std::error::Error for EditError {}

/// Parses one document. Aliases and nesting are bounded by the parser.
///
/// # Errors
/// The parser's message, with line and column.
pub fn parse(text: &str) -> Result<Value, String> {
    serde_yaml::from_str(text).map_err(|error| error.to_string())
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

// Line separators and byte order marks are breaks or errors to YAML parsers
// although Rust does not count them among the control characters.
fn printable(character: char) -> char {
    match character {
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => ' ',
        _ if character.is_control() => ' ',
        _ => character,
    }
}

/// Sets all `changes` in order and returns the whole new text.
///
/// # Errors
/// Nothing is changed when one of them cannot be made exactly.
pub fn edit(text: &str, changes: &[Change]) -> Result<String, EditError> {
    let mut expected = parse(text).map_err(EditError::Unreadable)?;
    let mut lines = Lines::new(text);
    for change in changes {
        expect(&mut expected, &change.path, &change.value)
            .ok_or_else(|| EditError::NotAScalar(change.path.join(".")))?;
        lines.set(change);
    }
    let edited = lines.0.concat();
    if parse(&edited).as_ref() == Ok(&expected) {
        return Ok(edited);
    }
    let paths: Vec<_> = changes.iter().map(|change| change.path.join(".")).collect();
    Err(EditError::Style(paths.join("`, `")))
}

/// Makes the change in the parsed value; `None` where that would drop a block.
fn expect(value: &mut Value, path: &[String], scalar: &Scalar) -> Option<()> {
    let Some((key, rest)) = path.split_first() else {
        *value = match scalar {
            _ if !matches!(
                value,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)
            ) =>
            {
                return None;
            }
            Scalar::Text(text) => Value::String(one_line(text)),
            Scalar::Integer(number) => Value::Number((*number).into()),
            Scalar::Boolean(flag) => Value::Bool(*flag),
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

/// A key of a block: its line, the end of its value (exclusive), its indent.
struct Entry {
    line: usize,
    end: usize,
    indent: usize,
}

/// The lines of a text, each with its own line ending.
struct Lines(Vec<String>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.split_inclusive('\n').map(String::from).collect())
    }

    fn set(&mut self, change: &Change) {
        let rendered = match &change.value {
            Scalar::Text(text) => quote(text),
            Scalar::Integer(number) => number.to_string(),
            Scalar::Boolean(flag) => flag.to_string(),
        };
        let mut parent: Option<Entry> = None;
        for (depth, key) in change.path.iter().enumerate() {
            let is_leaf = depth + 1 == change.path.len();
            match self.find(parent.as_ref(), key) {
                Some(entry) if is_leaf => {
                    let first = (change.place == Place::First).then_some(parent).flatten();
                    return self.replace(entry, &rendered, first.map(|parent| parent.line + 1));
                }
                Some(entry) => parent = Some(entry),
                None => {
                    let place = if is_leaf { change.place } else { Place::Any };
                    return self.insert(parent, &change.path[depth..], &rendered, place);
                }
            }
        }
    }

    /// The lines of a block's children, and their indent when there are any.
    fn children(&self, parent: Option<&Entry>) -> (std::ops::Range<usize>, Option<usize>) {
        let range = parent.map_or(0..self.0.len(), |entry| entry.line + 1..entry.end);
        let indent = self.0[range.clone()]
            .iter()
            .find(|line| is_content(line))
            .map(|line| indent_of(line));
        (range, indent)
    }

    fn find(&self, parent: Option<&Entry>, key: &str) -> Option<Entry> {
        let (mut range, indent) = self.children(parent);
        let indent = indent?;
        let line = range.find(|&at| {
            let line = &self.0[at];
            indent_of(line) == indent && is_content(line) && key_len(line, key).is_some()
        })?;
        let mut end = line + 1;
        for (at, line) in self.0.iter().enumerate().skip(line + 1) {
            let is_item = line.trim_start().starts_with('-') && indent_of(line) == indent;
            if !is_content(line) {
                continue;
            }
            if indent_of(line) <= indent && !is_item {
                break;
            }
            end = at + 1;
        }
        Some(Entry { line, end, indent })
    }

    fn replace(&mut self, entry: Entry, rendered: &str, wanted_line: Option<usize>) {
        let old = &self.0[entry.line];
        let head = old.find(':').map_or(old.as_str(), |colon| &old[..=colon]);
        let ending = ending_of(old);
        let mut new = vec![format!("{head} {rendered}{ending}")];
        // Shell readers take a comment for a part of the value, so it moves to
        // a line of its own.
        if let Some(comment) = trailing_comment(&old[head.len()..]) {
            new.push(format!("{}{comment}\n", " ".repeat(entry.indent)));
        }
        self.0.drain(entry.line..entry.end);
        let at = wanted_line.unwrap_or(entry.line);
        self.0.splice(at..at, new);
    }

    fn insert(&mut self, parent: Option<Entry>, keys: &[String], rendered: &str, place: Place) {
        let (range, indent) = self.children(parent.as_ref());
        let indent = indent.unwrap_or_else(|| parent.as_ref().map_or(0, |entry| entry.indent + 2));
        let last_content = range.clone().rev().find(|&at| is_content(&self.0[at]));
        let at = match place {
            Place::First => range.start,
            Place::Any => last_content.map_or(range.start, |line| line + 1),
        };
        let mut ending = "\n";
        if let Some(before) = at.checked_sub(1).and_then(|before| self.0.get_mut(before)) {
            if !before.ends_with('\n') {
                before.push('\n');
            }
            ending = if before.ends_with("\r\n") {
                "\r\n"
            } else {
                "\n"
            };
        }
        let n_keys = keys.len();
        let new = keys.iter().enumerate().map(|(depth, key)| {
            let indent = " ".repeat(indent + 2 * depth);
            let value = if depth + 1 == n_keys {
                format!(" {rendered}")
            } else {
                String::new()
            };
            format!("{indent}{}:{value}{ending}", plain_or_quoted(key))
        });
        let new: Vec<_> = new.collect();
        self.0.splice(at..at, new);
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn ending_of(line: &str) -> &'static str {
    match line {
        _ if line.ends_with("\r\n") => "\r\n",
        _ if line.ends_with('\n') => "\n",
        _ => "",
    }
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// The length of the key as it is written on the line, quotes included.
fn key_len(line: &str, key: &str) -> Option<usize> {
    let line = line.trim_start();
    let rest = [format!("\"{key}\""), format!("'{key}'"), key.to_owned()]
        .iter()
        .find_map(|form| line.strip_prefix(form.as_str()))?;
    let value = rest.trim_start_matches(' ').strip_prefix(':')?;
    let is_key = value.is_empty() || value.starts_with([' ', '\t', '\n', '\r']);
    is_key.then_some(line.len() - rest.len())
}

fn plain_or_quoted(key: &str) -> String {
    let is_plain = key.starts_with(|first: char| first.is_ascii_lowercase())
        && key
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
        && !matches!(key, "true" | "false" | "null");
    if is_plain { key.to_owned() } else { quote(key) }
}

/// The comment behind a value, from its `#` on. `after_colon` is the rest of the line.
fn trailing_comment(after_colon: &str) -> Option<&str> {
    let value = after_colon.trim();
    let rest = match value.as_bytes().first()? {
        b'"' => {
            let mut escaped = false;
            let end = value[1..].find(|character| {
                let closes = character == '"' && !escaped;
                escaped = character == '\\' && !escaped;
                closes
            })?;
            &value[end + 2..]
        }
        b'\'' => &value[value.rfind('\'').filter(|&end| end > 0)? + 1..],
        b'#' => return Some(value),
        _ => value,
    };
    rest.find(" #").map(|at| &rest[at + 1..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const GATES: &str = "# top\nphase: planning # why\ngates:\n  review:\n    # note\n    timestamp: 'x'\n    status: pending\n  test:\n\n# end\nnames:\n- a\n";

    #[track_caller]
    fn check(text: &str, change: &Change, expected: &str) {
        assert_eq!(
            edit(text, std::slice::from_ref(change)).as_deref(),
            Ok(expected)
        );
    }

    #[test]
    fn single_lines_change() {
        let status = |text| Change::text(["gates", "review", "status"], text);
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
            &Change::text(["phase"], "done"),
            &GATES.replace("phase: planning # why", "phase: \"done\"\n# why"),
        );
        check(
            GATES,
            &Change::text(["gates", "test", "status"], "passed").first(),
            &GATES.replace("  test:\n", "  test:\n    status: \"passed\"\n"),
        );
        check(
            GATES,
            &Change::text(["gates", "lint", "status"], "x"),
            &GATES.replace("  test:\n", "  test:\n  lint:\n    status: \"x\"\n"),
        );
        check("", &Change::new(["n"], Scalar::Integer(3)), "n: 3\n");
        check(
            "a: 1",
            &Change::new(["b"], Scalar::Boolean(true)),
            "a: 1\nb: true\n",
        );
        check(
            "a: 1\r\nb: 2\r\n",
            &Change::new(["a"], Scalar::Integer(3)),
            "a: 3\r\nb: 2\r\n",
        );
        check(
            "a: |\n  x\n  y\nb: 2\n",
            &Change::text(["a"], "z"),
            "a: \"z\"\nb: 2\n",
        );
        check(
            "'a' : \"x # y\" # z\n",
            &Change::text(["a"], "q"),
            "'a' : \"q\"\n# z\n",
        );
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let change = [Change::text(["gates", "review", "status"], "passed")];
        assert!(matches!(
            edit("a: [", &change),
            Err(EditError::Unreadable(_))
        ));
        assert!(matches!(
            edit("gates: x\n", &change),
            Err(EditError::NotAScalar(_))
        ));
        assert!(matches!(
            edit("gates: {review: {status: pending}}\n", &change),
            Err(EditError::Style(_))
        ));
        let block = [Change::text(["gates"], "x")];
        assert!(matches!(
            edit("gates:\n  a: 1\n", &block),
            Err(EditError::NotAScalar(_))
        ));
        let anchor = [Change::text(["a"], "x")];
        assert!(matches!(
            edit("a: &x 1\nb: *x\n", &anchor),
            Err(EditError::Style(_))
        ));
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
            let change = Change::text(["gates", &name, &key], &value);
            let change = if is_first { change.first() } else { change };
            let path = ["gates", &name, &key].map(String::from);
            if expect(&mut expected, &path, &change.value).is_none() {
                return Ok(());
            }
            let edited = edit(&text, &[change]).unwrap();
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
            let _ = edit(&text, &[Change::text(["a", "b"], &value), Change::text(["b"], &value)]);
        }
    }
}
