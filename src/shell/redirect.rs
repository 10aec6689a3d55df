//! Redirections as they are written: descriptor, operator, word.

use super::byte::is_name_byte;
use super::heredoc::Tabs;
use super::lex::{Cursor, Stop, Word};
use super::syntax::{Fd, Redirect, To};

/// What an operator does with the word behind it.
enum Operator<'a> {
    Opens(fn(Word<'a>) -> To<'a>),
    Heredoc(Tabs),
    /// `<&`.
    DuplicatesInput,
}

/// The operator at the beginning of some bytes, and its length. `>!` of zsh is `>|`.
fn operator<'a>(bytes: &[u8]) -> Option<(Operator<'a>, usize)> {
    use Operator::{DuplicatesInput, Heredoc, Opens};
    Some(match bytes {
        [b'>', b'>', b'!', b' ', ..] => (Opens(To::Append), 3),
        [b'>', b'>', ..] => (Opens(To::Append), 2),
        [b'>', b'!', b' ', ..] | [b'>', b'|', ..] => (Opens(To::Write), 2),
        [b'>', b'&', ..] => (Opens(To::Duplicate), 2),
        [b'>', ..] => (Opens(To::Write), 1),
        [b'<', b'<', b'<', ..] => (Opens(To::HereString), 3),
        [b'<', b'<', b'-', ..] => (Heredoc(Tabs::Stripped), 3),
        [b'<', b'<', ..] => (Heredoc(Tabs::Kept), 2),
        [b'<', b'>', ..] => (Opens(To::ReadWrite), 2),
        [b'<', b'&', ..] => (DuplicatesInput, 2),
        [b'<', ..] => (Opens(To::Read), 1),
        [b'&', b'>', b'>', ..] => (Opens(To::Append), 3),
        [b'&', b'>', ..] => (Opens(To::Write), 2),
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
        self.blanks();
        let before = self.at;
        let word = self.word(Stop::Blank);
        let to = match operator {
            _ if self.at == before => To::Nothing,
            Operator::Opens(to) => to(word),
            Operator::Heredoc(tabs) => To::Heredoc(self.expect_heredoc(&word, tabs)),
            Operator::DuplicatesInput => To::Nothing,
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
