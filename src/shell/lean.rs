//! Simple commands of plain words, quotes and values: kept as text, and read each time they run.
//!
//! Most commands are such, and to read one twice costs less than to build a tree of it and
//! to take that apart.

use std::borrow::Cow;

use super::byte::{ACTIVE, BLANK, META, QUOTE, is_any, is_free_of, is_meta, is_name_byte};
use super::eval::{REPEAT_COST, Shell};
use super::field::{Field, Output};
use super::lex::{Cursor, Quote};
use super::stream::Streams;
use super::syntax::{Fd, Few};
use super::variable::Value;
use super::world::Status;
use crate::target::Act;

/// What a redirection of a lean command does with its word.
#[derive(Clone, Copy)]
enum Stream {
    File(Act),
    /// `>&1`
    Same,
}

/// A redirection of a lean command.
struct Lead {
    fd: Fd,
    to: Stream,
    word: Field,
}

/// The length of the lean command at the start of some bytes; `None` where a tree is needed.
fn len_of(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut name_len = None;
    loop {
        let rest = bytes.get(at..)?;
        let plain = rest
            .iter()
            .position(|byte| is_any(*byte, META | QUOTE | ACTIVE | BLANK));
        at += plain.unwrap_or(rest.len());
        at += match bytes.get(at..)? {
            [] | [b'\n' | b';' | b'|' | b')', ..] => break,
            [b'&', next @ ..] if next.first() != Some(&b'>') => break,
            [b' ' | b'\t', ..] => {
                name_len.get_or_insert(at);
                1
            }
            [b'\'', quoted @ ..] => 2 + quoted.iter().position(|byte| *byte == b'\'')?,
            [b'"', quoted @ ..] => 2 + quoted_len(quoted)?,
            [b'$', name @ ..] if begins_name(name) => 1,
            [b'#', ..] if at > 0 && !is_any(bytes[at - 1], BLANK) => 1,
            [b'>', ..] if name_len.is_some() => redirect_len(&bytes[at..])?,
            _ => return None,
        };
    }
    let name = bytes.get(..name_len.unwrap_or(at))?;
    (!name.is_empty() && !name.contains(&b'=')).then_some(at)
}

/// The length of what stands between double quotes, where only values are expanded.
fn quoted_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        at += rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'$' | b'`' | b'\\'))?;
        match bytes.get(at..)? {
            [b'"', ..] => return Some(at),
            [b'$', name @ ..] if begins_name(name) => at += 1,
            _ => return None,
        }
    }
}

fn begins_name(bytes: &[u8]) -> bool {
    matches!(bytes, [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..])
}

/// The length of `>` or `>>` before its word, or of the whole of `>&1`.
fn redirect_len(bytes: &[u8]) -> Option<usize> {
    if let [b'>', b'&', b'0'..=b'9', end @ ..] = bytes {
        return end.first().is_none_or(|byte| is_meta(*byte)).then_some(3);
    }
    let arrows = 1 + usize::from(bytes.get(1) == Some(&b'>'));
    let word = bytes.get(arrows..)?;
    let blanks = word.iter().take_while(|byte| **byte == b' ').count();
    let first = *word.get(blanks)?;
    let begins_word = !is_any(first, META | ACTIVE) && !matches!(first, b'!' | b'#');
    begins_word.then_some(arrows + blanks)
}

impl<'a> Cursor<'a> {
    /// Takes a lean command at the cursor.
    pub(super) fn lean(&mut self) -> Option<&'a str> {
        let rest = self.text.get(self.at..)?;
        let text = rest.get(..len_of(rest.as_bytes())?)?;
        self.at += text.len();
        Some(text)
    }
}

/// A word of a lean command while it is put together.
struct Reader<'r, 'a> {
    text: &'a str,
    at: usize,
    shell: &'r Shell<'r>,
    whole: Field,
    /// How long the values in it are.
    cost: usize,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Puts the text up to a place into the word.
    fn push_to(&mut self, end: usize) {
        if let Some(text) = self.text.get(self.at..end)
            && !text.is_empty()
        {
            self.whole.text.push_str(text);
        }
        self.at = end;
    }

    /// Where the next byte is that ends a piece.
    fn find(&self, ends: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(byte) = bytes.get(at)
            && !ends(*byte)
        {
            at += 1;
        }
        at
    }

    /// Takes the rest of the word; `None` where a value in it is no text, or is divided.
    fn finish(&mut self) -> Option<()> {
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => {
                    self.at += 1;
                    self.push_to(self.find(|byte| byte == b'\''));
                    self.at += 1;
                }
                b'"' => {
                    self.at += 1;
                    loop {
                        self.push_to(self.find(|byte| matches!(byte, b'"' | b'$')));
                        if self.peek() != Some(b'$') {
                            break;
                        }
                        self.value(Quote::Double)?;
                    }
                    self.at += 1;
                }
                b'$' => self.value(Quote::Bare)?,
                byte if is_meta(byte) => break,
                _ => self.push_to(self.find(|byte| is_any(byte, META | QUOTE))),
            }
        }
        Some(())
    }

    fn value(&mut self, quote: Quote) -> Option<()> {
        self.at += 1;
        let end = self.find(|byte| !is_name_byte(byte));
        let value = self
            .shell
            .whole_value(self.text.get(self.at..end)?, quote)?;
        self.cost += value.text.len();
        self.whole.push(&value);
        self.at = end;
        Some(())
    }
}

/// The descriptor and the operator of a redirection at the start of some bytes, and their length.
fn redirection(bytes: &[u8]) -> Option<(Fd, Stream, usize)> {
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (number, operator) = bytes.split_at(digits);
    let (to, len) = match operator {
        [b'>', b'&', ..] => (Stream::Same, 2),
        [b'>', b'>', ..] => (Stream::File(Act::Edit), 2),
        [b'>', ..] => (Stream::File(Act::Write), 1),
        _ => return None,
    };
    let number = std::str::from_utf8(number).ok();
    let fd = match number.and_then(|number| number.parse().ok()) {
        _ if digits == 0 => Fd::Usual,
        number => number.map_or(Fd::Named, Fd::Number),
    };
    Some((fd, to, digits + len))
}

impl Shell<'_> {
    /// What a variable puts into a word, where that neither divides the word nor is a pattern.
    pub(super) fn whole_value(&self, name: &str, quote: Quote) -> Option<Cow<'_, Field>> {
        if !self.references.is_empty() {
            return None;
        }
        let value = match self.variables.get(name) {
            Some(held) => held.as_ref().map(Cow::Borrowed),
            None => self.variable(name).map(Cow::Owned),
        };
        let field = match value {
            None => Cow::Owned(Field::unknown()),
            Some(Cow::Borrowed(Value::One(field))) => Cow::Borrowed(field),
            Some(Cow::Owned(Value::One(field))) => Cow::Owned(field),
            Some(Cow::Borrowed(Value::Many(_)) | Cow::Owned(Value::Many(_))) => return None,
        };
        let stays_whole = quote == Quote::Double
            || (!field.text.is_empty()
                && is_free_of(&field.text, META | ACTIVE)
                && !self.variables.contains_key("IFS"));
        stays_whole.then_some(field)
    }

    /// Takes the words of a lean command and its redirections.
    fn read_lean(
        &mut self,
        text: &str,
        fields: &mut Vec<Field>,
        leads: &mut Few<Lead>,
    ) -> Option<()> {
        let bytes = text.as_bytes();
        let (mut at, mut cost) = (0, 0);
        let mut redirect = None;
        loop {
            while let Some(b' ' | b'\t') = bytes.get(at) {
                at += 1;
            }
            let start = at;
            while let Some(byte) = bytes.get(at)
                && !is_any(*byte, META | QUOTE)
            {
                at += 1;
            }
            let end = bytes.get(at);
            // What is all digits behind an operator is its word.
            if redirect.is_none()
                && end == Some(&b'>')
                && let Some((fd, to, len)) = redirection(&bytes[start..])
            {
                redirect = Some((fd, to));
                at = start + len;
                continue;
            }
            let mut word = Field::literal(text.get(start..at)?);
            if end.is_some_and(|byte| is_any(*byte, QUOTE)) {
                (word, at, cost) = self.put_together(word, text, at, cost)?;
            } else if start == at {
                break;
            }
            match redirect.take() {
                Some((fd, to)) => leads.push(Lead { fd, to, word }),
                None => fields.push(word),
            }
        }
        (cost == 0 || self.spend(cost)).then_some(())
    }

    /// The rest of a word from its first quote or value on, with where it ends.
    #[inline(never)]
    fn put_together(
        &self,
        whole: Field,
        text: &str,
        at: usize,
        cost: usize,
    ) -> Option<(Field, usize, usize)> {
        let mut reader = Reader {
            text,
            at,
            shell: self,
            whole,
            cost,
        };
        reader.finish()?;
        Some((reader.whole, reader.at, reader.cost))
    }

    #[inline(never)]
    pub(super) fn lean(&mut self, text: &str) -> Option<Output> {
        let mut fields = std::mem::take(&mut self.spare);
        let mut leads = Few::default();
        if self.read_lean(text, &mut fields, &mut leads).is_none() {
            fields.clear();
            self.spare = fields;
            let command = Cursor::new(text).tree()?;
            return self.command(&command);
        }
        if self.repeats > 0 && !self.spend(REPEAT_COST.max(text.len())) {
            return None;
        }
        self.status = Status::Success;
        let mut streams = Streams::default();
        for Lead { fd, to, word } in &leads {
            match to {
                Stream::File(act) => self.lead(*fd, *act, word, &mut streams),
                Stream::Same => self.duplicate(*fd, word, &mut streams),
            }
        }
        let output = self.streamed(streams, |shell| shell.invoke(&fields));
        self.leave_room(fields);
        output
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::{Disk, Extent, Scene, analyze};
    use crate::target::Target;

    struct Plain;

    impl Disk for Plain {
        fn entries(&self, _dir: &str) -> Vec<String> {
            ["a", "b c", "d"].map(str::to_owned).to_vec()
        }

        fn is_dir(&self, path: &str) -> bool {
            path.ends_with("/d")
        }

        fn text(&self, _path: &str) -> Option<String> {
            None
        }
    }

    #[rustfmt::skip]
    const BEFORE: &[&str] = &[
        "v=a", "v='a b'", "v='*'", "v=", "v=~", "v='x;y'", "w=d/b", "w=$v", "v+=c", "v=(a 'b c')",
        "v=()", "v=$(date)", "unset v", "IFS=/", "IFS=,; w=a,b", "declare -n v=w; w=c", "export v=e",
        "set -- p 'q r'", "cd d", "f() { touch \"$1\"; }", "alias f=rm",
    ];

    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "touch", "touch", "touch", "rm", "mkdir", "cp", "mv", "ln -s", "tee", "echo", "cd", "f",
        "\"touch\"", "t'ou'ch", "$v", "\"$v\"", "sh -c", "eval", "export", "set --", "x=1 touch", "!",
        "/bin/touch", "time touch", "a=b", "2", "test -e", "touch -- a",
    ];

    #[rustfmt::skip]
    const PIECES: &[&str] = &[
        "a", "b.c", "d/", "2", "12", "'s q'", "\"d q\"", "''", "\"\"", "$v", "$w", "\"$v\"", "\"$v$w\"",
        "\"x$v/y\"", "$u", "\"$u\"", "$v_", "=", "a=b", "!a", "}", "a#", "''#", "-f", "é", "\r", "'\n'", "\"'#\"",
        "'\"'", "$1", "\"$@\"", "$_", "\"$\"", "~", "*", "{a,b}", "[", "\\ ", "${v}", "$(echo g)",
    ];

    #[rustfmt::skip]
    const BETWEEN: &[&str] = &[
        " ", " ", " ", " ", "", "", "  ", "\t", " \t", ">", " >", " > ", ">>", " >>", " >\t", " 2>",
        " 1>", " 2>> ", " >&1 ", " 2>&1 ", " >&2 ", " >&1", " >&", " &> ", " >| ", " <", " > >", " >! ",
    ];

    #[rustfmt::skip]
    const ENDS: &[&str] = &[
        "\n", "\n", "; ", ";", " && ", "&&", " || ", " | ", "|", " & ", "&", " # it's\n", "\n\n", " |& ",
    ];

    const AROUND: &[(&str, &str)] = &[
        ("", ""),
        ("", ""),
        ("{ ", "\n}"),
        ("(", ")"),
        ("f() {\n", "\n}; f a 'b c'"),
        ("v=$(", ")"),
        ("if ", "\nthen touch g; fi"),
        ("if :; then ", "\nelse rm h; fi"),
        ("for v in a 'b c' $w; do ", "\ndone"),
        ("while read v w; do ", "\ndone <<< 'a b'"),
        ("while ", "\ndo touch g; done"),
        ("case $v in a) ", ";; *) touch g; esac"),
    ];

    /// Ways to write a command, all of which do the same.
    #[derive(Clone, Copy)]
    enum Way {
        Lean,
        /// The line goes on behind it.
        Tree,
        /// Each word ends with what prints nothing.
        Expanded,
    }

    #[derive(Clone, Debug)]
    struct Written {
        name: &'static str,
        words: Vec<(&'static str, &'static str)>,
        end: &'static str,
    }

    impl Written {
        fn put(&self, way: Way, script: &mut String) {
            script.push_str(self.name);
            for (n, (between, piece)) in self.words.iter().enumerate() {
                script.extend([*between, *piece]);
                let ends_word = self
                    .words
                    .get(n + 1)
                    .is_none_or(|(between, _)| !between.is_empty());
                let is_number = piece.bytes().all(|byte| byte.is_ascii_digit());
                if matches!(way, Way::Expanded) && ends_word && !is_number {
                    script.push_str("$()");
                }
            }
            if matches!(way, Way::Tree) {
                script.push_str(" \\\n");
            }
        }
    }

    fn command() -> impl Strategy<Value = Written> {
        let words = vec((select(BETWEEN), select(PIECES)), 0..5);
        let parts = (select(NAMES), words, select(ENDS));
        parts.prop_map(|(name, words, end)| Written { name, words, end })
    }

    fn analyse(script: &str) -> (Vec<Target>, Extent) {
        let scene = Scene {
            cwd: "/p",
            home: Some("/home/u"),
            project_dir: None,
            config_dir: None,
            feature_dir: None,
            disk: &Plain,
        };
        let found = analyze(script, &scene);
        (found.targets, found.extent)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_lean_command_changes_what_its_tree_does(
            before in vec(select(BEFORE), 0..4),
            (open, close) in select(AROUND),
            commands in vec(command(), 1..4),
            behind in command(),
        ) {
            let changes = |way| {
                let mut script = before.join("\n") + "\n" + open;
                for command in &commands {
                    command.put(way, &mut script);
                    script.push_str(command.end);
                }
                script.extend([close, "\n"]);
                behind.put(way, &mut script);
                (analyse(&script), script)
            };
            let (lean, script) = changes(Way::Lean);
            for way in [Way::Tree, Way::Expanded] {
                prop_assert_eq!(&lean, &changes(way).0, "{}", script);
            }
        }
    }
}
