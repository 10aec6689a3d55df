//! What each byte of a command may mean.

pub(super) const META: u8 = 1;
/// Quotes, and what begins an expansion.
pub(super) const QUOTE: u8 = 2;
const NAME: u8 = 4;
pub(super) const CLOSE: u8 = 8;
pub(super) const SLASH: u8 = 16;
/// What keeps a meaning in an unquoted word: tilde, brace, glob.
pub(super) const ACTIVE: u8 = 32;
/// What may begin something that stands between words: blanks, a line
/// continuation, a comment.
pub(super) const BLANK: u8 = 64;
/// What a path cannot hold, and what begins a part that is not known.
pub(super) const NO_PATH: u8 = 128;

/// What each byte may mean. Every byte of a command is asked at least once.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut at = 0;
    while at < 256 {
        kinds[at] = match at as u8 {
            b' ' | b'\t' => META | BLANK,
            b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => META,
            b'\\' => QUOTE | BLANK,
            b'\'' | b'"' | b'`' | b'$' => QUOTE,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => NAME,
            b'}' => CLOSE,
            b'/' => SLASH,
            b'~' | b'{' | b'*' | b'?' | b'[' => ACTIVE,
            b'#' => BLANK,
            0 | 0xf4 => NO_PATH,
            _ => 0,
        };
        at += 1;
    }
    kinds
};

#[inline]
pub(super) fn is_any(byte: u8, kinds: u8) -> bool {
    KINDS[usize::from(byte)] & kinds != 0
}

pub(super) fn is_free_of(text: &str, kinds: u8) -> bool {
    !text.bytes().any(|byte| is_any(byte, kinds))
}

pub(super) fn is_meta(byte: u8) -> bool {
    is_any(byte, META)
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    is_any(byte, NAME)
}

pub(super) fn is_name(text: &str) -> bool {
    text.bytes().all(is_name_byte) && text.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}
