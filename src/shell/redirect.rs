//! Redirections as they are written: descriptor, operator, word.

use super::byte::is_name_byte;
use super::heredoc::Tabs;
use super::lex::{Cursor, Stop};
use super::syntax::{Fd, Redirect, To};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Read,
    Write,
    Append,
    ReadWrite,
    Duplicate,
    /// `<&`.
    DuplicateInput,
    Both,
    BothAppend,
    HereString,
    Heredoc(Tabs),
}

/// The operator at the beginning of some bytes, and its length.
fn operator(bytes: &[u8]) -> Option<(Operator, usize)> {
    Some(match bytes {
        [b'>', b'>', ..] => (Operator::Append, 2),
        [b'>', b'|', ..] => (Operator::Write, 2),
        [b'>', b'&', ..] => (Operator::Duplicate, 2),
        [b'>', ..] => (Operator::Write, 1),
        [b'<', b'<', b'<', ..] => (Operator::HereString, 3),
        [b'<', b'<', b'-', ..] => (Operator::Heredoc(Tabs::Stripped), 3),
        [b'<', b'<', ..] => (Operator::Heredoc(Tabs::Kept), 2),
        [b'<', b'>', ..] => (Operator::ReadWrite, 2),
        [b'<', b'&', ..] => (Operator::DuplicateInput, 2),
        [b'<', ..] => (Operator::Read, 1),
        [b'&', b'>', b'>', ..] => (Operator::BothAppend, 3),
        [b'&', b'>', ..] => (Operator::Both, 2),
        _ => return None,
    })
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn redirect(&mut self) -> Option<Redirect<'a>> {
        self.blanks();
        match self.peek() {
            Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9') => self.redirection(),
            _ => None,
        }
    }

    #[inline(never)]
    fn redirection(&mut self) -> Option<Redirect<'a>> {
        let start = self.at;
        let fd = self.descriptor();
        let found = operator(self.text.as_bytes().get(self.at..).unwrap_or(&[]));
        let substitutes = matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(');
        let Some((operator, len)) = found.filter(|_| !substitutes) else {
            self.at = start;
            return None;
        };
        self.at += len;
        // `>!` of zsh is `>|`.
        if matches!(operator, Operator::Write | Operator::Append)
            && (self.peek(), self.peek_at(1)) == (Some(b'!'), Some(b' '))
        {
            self.at += 1;
        }
        self.blanks();
        let before = self.at;
        let word = self.word(Stop::Blank);
        let to = match operator {
            _ if self.at == before => To::Nothing,
            Operator::Read => To::Read(word),
            Operator::Write => To::Write(word),
            Operator::Append => To::Append(word),
            Operator::ReadWrite => To::ReadWrite(word),
            Operator::Duplicate => To::Duplicate(word),
            Operator::Both => To::Both(word),
            Operator::BothAppend => To::BothAppend(word),
            Operator::HereString => To::HereString(word),
            Operator::Heredoc(tabs) => To::Heredoc(self.expect_heredoc(&word, tabs)),
            Operator::DuplicateInput => To::Nothing,
        };
        Some(Redirect { fd, to })
    }

    /// Digits or `{name}` directly before a redirection.
    fn descriptor(&mut self) -> Fd {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (fd, len) = if digits > 0 {
            let number = rest.get(..digits).and_then(|text| text.parse().ok());
            (number.map_or(Fd::Named, Fd::Number), digits)
        } else if let Some(inner) = rest.strip_prefix('{') {
            let name = inner.bytes().take_while(|b| is_name_byte(*b)).count();
            if name == 0 || inner.as_bytes().get(name) != Some(&b'}') {
                return Fd::Usual;
            }
            (Fd::Named, name + 2)
        } else {
            return Fd::Usual;
        };
        if matches!(self.peek_at(len), Some(b'<' | b'>')) {
            self.at += len;
            fd
        } else {
            Fd::Usual
        }
    }
}
