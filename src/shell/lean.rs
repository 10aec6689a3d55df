//! Simple commands of plain words, quotes and values: kept as text, and read each time they run.
//!
//! Most commands are such, and to read one twice costs less than to build a tree of it and
//! to take that apart.

use std::borrow::Cow;

use super::byte::{ACTIVE, BLANK, META, QUOTE, is_any, is_free_of, is_meta, is_name_byte};
use super::eval::{REPEAT_COST, Shell};
use super::field::{Field, Output};
use super::lex::{Cursor, Quote};
use super::status::Status;
use super::stream::Streams;
use super::syntax::{Fd, Few};
use super::table::{Key, Table};
use super::variable::Value;
use crate::base::target::Act;

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

/// Where a command may begin these are none.
const RESERVED: [&str; 20] = [
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "select", "then", "time", "until", "while", "{", "}",
];

static IS_RESERVED: Table<&str> = Table::new(&RESERVED, &RESERVED);

impl<'a> Cursor<'a> {
    /// The lean command at the cursor.
    fn peek_lean(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let len = match self.looked {
            Some((at, len)) if at == self.at => len,
            _ => len_of(rest.as_bytes()),
        };
        self.looked = Some((self.at, len));
        rest.get(..len?)
    }

    /// Takes a lean command at the cursor.
    pub(super) fn lean(&mut self) -> Option<&'a str> {
        let text = self.peek_lean()?;
        self.at += text.len();
        Some(text)
    }

    /// Takes a lean command that is a line of its own, as most are.
    pub(super) fn lone(&mut self) -> Option<&'a str> {
        self.blank_lines();
        let text = self.peek_lean()?;
        let bytes = text.as_bytes();
        let name_len = bytes.iter().position(|byte| matches!(byte, b' ' | b'\t'));
        let name = text.get(..name_len.unwrap_or(text.len()))?;
        let ends = matches!(self.peek_at(text.len()), None | Some(b'\n'));
        if !ends || IS_RESERVED.get(Key::of(name)).is_some() {
            return None;
        }
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
                && self.variables.get("IFS").is_none());
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
mod tests;
