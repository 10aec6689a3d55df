//! Redirections as they are written: descriptor, operator, word.

use super::byte::is_name_byte;
use super::heredoc::Tabs;
use super::lex::{Cursor, Stop};
use super::syntax::{Fd, Redirect, To};

/// The redirection at the beginning of some bytes.
fn redirection(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [b'>', b'>', ..] => ">>",
        [b'>', b'|', ..] => ">|",
        [b'>', b'&', ..] => ">&",
        [b'>', ..] => ">",
        [b'<', b'<', b'<', ..] => "<<<",
        [b'<', b'<', b'-', ..] => "<<-",
        [b'<', b'<', ..] => "<<",
        [b'<', b'>', ..] => "<>",
        [b'<', b'&', ..] => "<&",
        [b'<', ..] => "<",
        [b'&', b'>', b'>', ..] => "&>>",
        [b'&', b'>', ..] => "&>",
        _ => return None,
    })
}

impl<'a> Cursor<'a> {
    pub(super) fn redirect(&mut self) -> Option<Redirect<'a>> {
        self.blanks();
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9')) {
            return None;
        }
        let start = self.at;
        let fd = self.descriptor();
        let operator = redirection(self.text.as_bytes().get(self.at..).unwrap_or(&[]));
        let substitutes = matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(');
        let Some(operator) = operator.filter(|_| !substitutes) else {
            self.at = start;
            return None;
        };
        self.at += operator.len();
        // `>!` of zsh is `>|`.
        if self.rest().starts_with("! ") && matches!(operator, ">" | ">>") {
            self.at += 1;
        }
        self.blanks();
        let before = self.at;
        let word = self.word(Stop::Blank);
        let to = match operator {
            _ if self.at == before => To::Nothing,
            "<" => To::Read(word),
            ">" | ">|" => To::Write(word),
            ">>" => To::Append(word),
            "<>" => To::ReadWrite(word),
            ">&" => To::Duplicate(word),
            "&>" => To::Both(word),
            "&>>" => To::BothAppend(word),
            "<<<" => To::HereString(word),
            "<<" => To::Heredoc(self.expect_heredoc(&word, Tabs::Kept)),
            "<<-" => To::Heredoc(self.expect_heredoc(&word, Tabs::Stripped)),
            _ => To::Nothing,
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
