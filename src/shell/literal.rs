//! What a text literal of a scripting language says: its escapes and its holes.

use std::borrow::Cow;

use super::code::is_word_char;
use super::syntax::Few;

/// A part of a text literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Literal(Cow<'a, str>),
    /// A variable put into the text.
    Hole(&'a str),
}

/// What an interpolated value looks like in a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holes {
    None,
    /// Not even escapes: `r"…"` of Python.
    Raw,
    /// `{name}`
    Brace,
    /// `${name}`
    DollarBrace,
    /// `#{name}`
    HashBrace,
    /// `$name` and `${name}`
    Dollar,
}

/// Takes the escapes out of a literal and finds its holes.
pub(super) fn pieces(body: &str, holes: Holes) -> Few<Piece<'_>> {
    let mark = match holes {
        Holes::Raw => return Few::One([Piece::Literal(body.into())]),
        Holes::None => b'\\',
        Holes::Brace => b'{',
        Holes::DollarBrace | Holes::Dollar => b'$',
        Holes::HashBrace => b'#',
    };
    let is_plain = |byte: &u8| *byte != b'\\' && *byte != mark;
    // Most have neither escapes nor holes.
    if body.bytes().all(|byte| is_plain(&byte)) {
        return Few::One([Piece::Literal(body.into())]);
    }
    let mut out = Few::default();
    let mut text = Cow::Borrowed("");
    let mut rest = body;
    loop {
        let (plain, behind) = rest.split_at(rest.bytes().take_while(is_plain).count());
        text += plain;
        if let Some((name, len)) = hole(behind, holes) {
            out.push(Piece::Literal(std::mem::take(&mut text)));
            out.push(Piece::Hole(name));
            rest = behind.get(len..).unwrap_or("");
            continue;
        }
        let mut chars = behind.chars();
        // A mark that opens no hole stands for itself.
        let c = match chars.next() {
            Some('\\') => chars.next(),
            c => c,
        };
        let Some(c) = c else { break };
        text.to_mut().push(match c {
            'n' => '\n',
            't' => '\t',
            other => other,
        });
        rest = chars.as_str();
    }
    out.push(Piece::Literal(text));
    out
}

/// What stands in a hole, and the hole's length.
fn hole(rest: &str, holes: Holes) -> Option<(&str, usize)> {
    let opening = match holes {
        Holes::None | Holes::Raw => return None,
        Holes::Brace => "{",
        Holes::DollarBrace | Holes::Dollar => "${",
        Holes::HashBrace => "#{",
    };
    if let Some(inner) = rest.strip_prefix(opening) {
        if holes == Holes::Brace && inner.starts_with('{') {
            return None;
        }
        let len = inner.bytes().take(256).position(|b| b == b'}')?;
        return Some((inner.get(..len)?.trim(), opening.len() + len + 1));
    }
    let tail = rest.strip_prefix('$').filter(|_| holes == Holes::Dollar)?;
    let mut len = tail.find(|c| !is_word_char(c)).unwrap_or(tail.len());
    // `$list[0]`
    let index = tail.get(len..).and_then(|rest| rest.strip_prefix('['));
    let close = index.and_then(|index| index.bytes().take(8).position(|byte| byte == b']'));
    let digits = index
        .zip(close)
        .and_then(|(index, close)| index.get(..close));
    if let Some(digits) = digits.filter(|digits| len > 0 && digits.parse::<i32>().is_ok()) {
        len += digits.len() + 2;
    }
    (len > 0).then(|| (&rest[..=len], len + 1))
}
