//! Bash words: quoting, parameters, substitutions, heredoc bodies.
//!
//! The cursor reads the text once, left to right; a construct that does not
//! close ends the reading, and what was read before it stands.

use std::borrow::Cow;

use super::byte::{ACTIVE, CLOSE, META, QUOTE, SLASH, is_any, is_free_of};
use super::heredoc::{Heredoc, Pending};
use super::syntax::{Command, Few, List, Simple};
use super::{Extent, Limit};

/// How deep substitutions, compound commands and nested shells may stand in
/// each other, in reading and in running.
pub(super) const MAX_DEPTH: usize = 40;

#[derive(Debug)]
pub(super) struct Word<'a> {
    pub(super) parts: Few<Part<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Bare,
    Double,
}

#[derive(Debug)]
pub(super) enum Part<'a> {
    /// Unquoted text: `~`, `{a,b}` and globs keep their meaning.
    Bare(&'a str),
    /// Quoted text, taken as it is.
    Text(Cow<'a, str>),
    /// `!(…)`, `@(…)` and their like: a pattern this analyser does not expand.
    ExtGlob,
    /// `$name` and `${name}`.
    Value(&'a str, Quote),
    Param(Box<Param<'a>>, Quote),
    /// `$(…)`.
    Command(List<'a>, Quote),
    /// `` `…` ``: the text between, already unescaped once.
    Ticks(Cow<'a, str>, Quote),
    /// `$((…))`.
    Arith(Box<Few<Self>>),
    /// `<(…)` and `>(…)`.
    Process(List<'a>),
}

#[derive(Debug)]
pub(super) struct Param<'a> {
    pub(super) name: &'a str,
    pub(super) index: Option<&'a str>,
    pub(super) op: Op<'a>,
}

#[derive(Debug)]
pub(super) enum Op<'a> {
    Plain,
    /// `:-` and `-`.
    Default(Word<'a>),
    /// `:=` and `=`.
    Assign(Word<'a>),
    /// `:+` and `+`.
    Alternative(Word<'a>),
    /// `:?` and `?`.
    Require,
    Cut {
        end: End,
        reach: Reach,
        pattern: Word<'a>,
    },
    Replace {
        reach: Reach,
        pattern: Word<'a>,
        with: Option<Word<'a>>,
    },
    Lower,
    Upper,
    LowerFirst,
    UpperFirst,
    /// `${#name}`.
    Length,
    /// `${!name}`.
    Indirect,
    /// `${!name[@]}`.
    Keys,
    /// `:offset` and `:offset:length`.
    Slice(Word<'a>),
    /// Transformations and lists of names, whose value is not computed.
    Other,
}

/// An end of a text or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

/// `%` or `%%`, `/` or `//`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    One,
    All,
}

/// What ends a word besides the end of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Blanks and operators: a word of a command.
    Blank,
    /// `}`: the word of `${name:-word}`.
    Brace,
    /// `/` or `}`: the pattern of `${name/pattern/text}`.
    Slash,
}

impl Stop {
    /// The kinds of bytes that may end a word's plain text.
    fn kinds(self) -> u8 {
        match self {
            Self::Blank => META | QUOTE,
            Self::Brace => CLOSE | QUOTE,
            Self::Slash => CLOSE | SLASH | QUOTE,
        }
    }
}

impl<'a> Word<'a> {
    /// The word's text where no expansion changes it.
    pub(super) fn plain(&self) -> Option<&'a str> {
        match &*self.parts {
            [Part::Text(Cow::Borrowed(text))] => Some(text),
            [Part::Bare(text)] if is_free_of(text, ACTIVE) => Some(text),
            _ => None,
        }
    }
}

pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) heredocs: Vec<Heredoc<'a>>,
    depth: usize,
    pub(super) extent: Extent,
    pub(super) pending: Vec<Pending>,
    /// Where a lean command was looked for last, and how long it is.
    pub(super) looked: Option<(usize, Option<usize>)>,
    /// Commands, lists and pipelines that ran already, whose room the next ones take.
    #[expect(clippy::vec_box, reason = "a command holds one in a box")]
    pub(super) spare: Vec<Box<Simple<'a>>>,
    pub(super) spare_lists: Vec<List<'a>>,
    pub(super) spare_pipeline: Option<Vec<Command<'a>>>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            heredocs: Vec::new(),
            depth: 0,
            extent: Extent::Whole,
            pending: Vec::new(),
            looked: None,
            spare: Vec::new(),
            spare_lists: Vec::new(),
            spare_pipeline: None,
        }
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    #[inline]
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Ends the reading: every loop sees the end of the text.
    pub(super) fn stop(&mut self) {
        self.at = self.text.len();
    }

    /// Reads one nested construct, or nothing when the nesting is too deep.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth == MAX_DEPTH {
            self.extent = Extent::Cut(Limit::Depth);
            self.stop();
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        Some(value)
    }

    pub(super) fn word(&mut self, stop: Stop) -> Word<'a> {
        let mut start = self.at;
        let Some(mut byte) = self.special_after(start, stop) else {
            // Most words are one piece of plain text.
            let parts = match self.text.get(start..self.at) {
                Some(text) if !text.is_empty() => Few::One([Part::Bare(text)]),
                _ => Few::default(),
            };
            return Word { parts };
        };
        let mut parts = Few::default();
        loop {
            self.flush(&mut parts, start, Part::Bare);
            self.special(byte, &mut parts);
            start = self.at;
            match self.special_after(start, stop) {
                Some(next) => byte = next,
                None => break,
            }
        }
        self.flush(&mut parts, start, Part::Bare);
        Word { parts }
    }

    /// Goes over plain text; gives the byte of a quote or an expansion in the
    /// word, and `None` where the word ends.
    #[inline]
    fn special_after(&mut self, start: usize, stop: Stop) -> Option<u8> {
        let kinds = stop.kinds();
        let rest = self.text.as_bytes().get(self.at..).unwrap_or(&[]);
        let len = rest.iter().position(|b| is_any(*b, kinds));
        self.at += len.unwrap_or(rest.len());
        let byte = self.peek()?;
        let special = match byte {
            b'<' | b'>' => self.peek_at(1) == Some(b'('),
            b'(' => self.ext_glob_opens(start),
            _ => is_any(byte, QUOTE),
        };
        special.then_some(byte)
    }

    /// Adds the text since a place, if there is any.
    fn flush(
        &self,
        parts: &mut Few<Part<'a>>,
        start: usize,
        part: impl FnOnce(&'a str) -> Part<'a>,
    ) {
        if let Some(text) = self.text.get(start..self.at)
            && !text.is_empty()
        {
            parts.push(part(text));
        }
    }

    /// `x!(`, `@(`, `+(`, `?(`, `*(`; a lone `!(` at a word's start is a negated subshell.
    fn ext_glob_opens(&self, start: usize) -> bool {
        let before = self.text.as_bytes().get(start..self.at).unwrap_or(&[]);
        match before.last() {
            Some(b'@' | b'+' | b'?' | b'*') => true,
            Some(b'!') => before.len() > 1,
            _ => false,
        }
    }

    pub(super) fn special(&mut self, byte: u8, parts: &mut Few<Part<'a>>) {
        match byte {
            b'\'' => {
                self.at += 1;
                let text = self.until(b'\'');
                parts.push(Part::Text(Cow::Borrowed(text)));
            }
            b'"' => {
                self.at += 1;
                let n_before = parts.len();
                self.double_quoted(parts, Some(b'"'));
                // Even an empty pair of quotes makes a word.
                if parts.len() == n_before {
                    parts.push(Part::Text(Cow::Borrowed("")));
                }
            }
            b'\\' => {
                self.at += 1;
                if let Some(text) = self.escaped_char() {
                    parts.push(Part::Text(Cow::Borrowed(text)));
                }
            }
            b'`' => self.ticks(parts, Quote::Bare),
            b'$' => self.dollar(parts, Quote::Bare),
            b'(' => {
                self.at += 1;
                self.skip_parens();
                parts.push(Part::ExtGlob);
            }
            _ => {
                self.at += 2;
                let list = self.substitution();
                parts.push(Part::Process(list));
            }
        }
    }

    /// The text up to the next `end`, which is consumed.
    pub(super) fn until(&mut self, end: u8) -> &'a str {
        let rest = self.rest();
        // To set out on a longer step takes longer than most quotes are.
        let len = rest.as_bytes().iter().position(|byte| *byte == end);
        self.at += len.map_or(rest.len(), |n| n + 1);
        &rest[..len.unwrap_or(rest.len())]
    }

    /// The character after a backslash; a line continuation is none.
    fn escaped_char(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let len = rest.chars().next()?.len_utf8();
        self.at += len;
        let text = &rest[..len];
        (text != "\n").then_some(text)
    }

    /// Reads double-quoted text up to `end`; a heredoc body has no end but its own.
    pub(super) fn double_quoted(&mut self, parts: &mut Few<Part<'a>>, end: Option<u8>) {
        let mut start = self.at;
        while let Some(byte) = self.peek() {
            if Some(byte) == end {
                self.flush_text(parts, start);
                self.at += 1;
                return;
            }
            match byte {
                b'\\' => {
                    let next = self.peek_at(1);
                    let escapes = matches!(next, Some(b'$' | b'`' | b'\\' | b'\n'))
                        || (next.is_some() && next == end);
                    if escapes {
                        self.flush_text(parts, start);
                        self.at += 2;
                        start = self.at - usize::from(next != Some(b'\n'));
                    } else {
                        self.at += 1;
                    }
                }
                b'`' | b'$' => {
                    self.flush_text(parts, start);
                    if byte == b'`' {
                        self.ticks(parts, Quote::Double);
                    } else {
                        self.dollar(parts, Quote::Double);
                    }
                    start = self.at;
                }
                _ => self.at += 1,
            }
        }
        self.flush_text(parts, start);
    }

    fn flush_text(&self, parts: &mut Few<Part<'a>>, start: usize) {
        self.flush(parts, start, |text| Part::Text(Cow::Borrowed(text)));
    }

    /// What stands between backticks is unescaped once and read when it runs:
    /// the same mark opens and closes, so only an escaped one can nest.
    fn ticks(&mut self, parts: &mut Few<Part<'a>>, quote: Quote) {
        self.at += 1;
        let start = self.at;
        let mut escapes = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'`' => break,
                b'\\' => {
                    escapes = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.text.len());
        let source = self.text.get(start..end).unwrap_or("");
        self.at = (end + 1).min(self.text.len());
        let source = match escapes {
            true => Cow::Owned(unescape_ticks(source)),
            false => Cow::Borrowed(source),
        };
        parts.push(Part::Ticks(source, quote));
    }

    /// Over the rest of `@(…)`: its alternatives are not expanded.
    fn skip_parens(&mut self) {
        let mut open = 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                b'\'' => {
                    self.until(b'\'');
                }
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    /// The text of `$'…'`, from behind its quote to behind its end.
    pub(super) fn ansi_c(&mut self) -> String {
        let mut out = String::new();
        while let Some(c) = self.rest().chars().next() {
            self.at += c.len_utf8();
            match c {
                '\'' => break,
                '\\' => self.ansi_escape(&mut out),
                _ => out.push(c),
            }
        }
        out
    }

    fn ansi_escape(&mut self, out: &mut String) {
        let Some(c) = self.rest().chars().next() else {
            return;
        };
        self.at += c.len_utf8();
        let code = match c {
            'x' => self.digits(16, 2),
            'u' => self.digits(16, 4),
            'U' => self.digits(16, 8),
            '0'..='7' => {
                self.at -= 1;
                self.digits(8, 3)
            }
            'c' => {
                let control = self.escaped_char().and_then(|t| t.bytes().next());
                control.map(|b| u32::from(b & 0x1f))
            }
            _ => None,
        };
        let c = match (code.and_then(char::from_u32), c) {
            (Some(c), _) => c,
            (None, 'n') => '\n',
            (None, 't') => '\t',
            (None, 'r') => '\r',
            (None, 'a') => '\x07',
            (None, 'b') => '\x08',
            (None, 'e' | 'E') => '\x1b',
            (None, 'f') => '\x0c',
            (None, 'v') => '\x0b',
            (None, '\\' | '\'' | '"' | '?') => c,
            // Any other one is none.
            (None, other) => {
                out.push('\\');
                other
            }
        };
        out.push(c);
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let rest = self.rest();
        let digits = rest.bytes().take(most);
        let len = digits
            .take_while(|b| char::from(*b).is_digit(radix))
            .count();
        let value = u32::from_str_radix(rest.get(..len)?, radix).ok()?;
        self.at += len;
        Some(value)
    }
}

fn unescape_ticks(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('`' | '\\' | '$')) => out.push(next),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            _ => out.push(c),
        }
    }
    out
}
