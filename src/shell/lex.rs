//! Bash words: quoting, parameters, substitutions, heredoc bodies.
//!
//! The cursor reads the text once, left to right; a construct that does not
//! close ends the reading, and what was read before it stands.

use std::borrow::Cow;

use super::parse::List;

/// How deep substitutions and compound commands may nest before reading stops.
pub(super) const MAX_DEPTH: usize = 40;

#[derive(Debug)]
pub(super) struct Word<'a> {
    pub(super) parts: Vec<Part<'a>>,
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
    Param(Box<Param<'a>>, Quote),
    /// `$(…)`.
    Command(List<'a>, Quote),
    /// `` `…` ``: the text between, already unescaped once.
    Ticks(Cow<'a, str>, Quote),
    /// `$((…))`: the value is not computed, commands within still run.
    Arith(Vec<Self>),
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
    /// `:offset` and `:offset:length`.
    Slice(Word<'a>),
    /// Lengths, indirection and transformations, whose value is not computed.
    Other,
}

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

#[derive(Debug)]
pub(super) struct Heredoc<'a> {
    pub(super) body: Cow<'a, str>,
    pub(super) quote: HeredocQuote,
}

/// A quoted delimiter makes the body literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeredocQuote {
    Expand,
    Literal,
}

struct Pending {
    id: usize,
    delimiter: String,
    strip_tabs: bool,
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
    fn ends(self, byte: u8) -> bool {
        match self {
            Self::Blank => is_meta(byte),
            Self::Brace => byte == b'}',
            Self::Slash => matches!(byte, b'}' | b'/'),
        }
    }
}

pub(super) fn is_meta(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
    )
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_name(text: &str) -> bool {
    text.bytes().all(is_name_byte) && text.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) heredocs: Vec<Heredoc<'a>>,
    depth: usize,
    pending: Vec<Pending>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            heredocs: Vec::new(),
            depth: 0,
            pending: Vec::new(),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

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
            self.stop();
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        Some(value)
    }

    pub(super) fn word(&mut self, stop: Stop) -> Word<'a> {
        let mut parts = Vec::new();
        let mut start = self.at;
        while let Some(byte) = self.peek() {
            let special = match byte {
                b'\'' | b'"' | b'\\' | b'`' => true,
                b'$' => true,
                b'<' | b'>' => stop == Stop::Blank && self.peek_at(1) == Some(b'('),
                b'(' => stop == Stop::Blank && self.ext_glob_opens(start),
                _ => false,
            };
            if special {
                self.flush(&mut parts, start);
                self.special(byte, &mut parts);
                start = self.at;
            } else if stop.ends(byte) {
                break;
            } else {
                self.at += 1;
            }
        }
        self.flush(&mut parts, start);
        Word { parts }
    }

    fn flush(&self, parts: &mut Vec<Part<'a>>, start: usize) {
        if let Some(text) = self.text.get(start..self.at)
            && !text.is_empty()
        {
            parts.push(Part::Bare(text));
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

    fn special(&mut self, byte: u8, parts: &mut Vec<Part<'a>>) {
        match byte {
            b'\'' => {
                self.at += 1;
                let text = self.until(b'\'');
                parts.push(Part::Text(Cow::Borrowed(text)));
            }
            b'"' => {
                self.at += 1;
                parts.push(Part::Text(Cow::Borrowed("")));
                self.double_quoted(parts, Some(b'"'));
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
    fn until(&mut self, end: u8) -> &'a str {
        let rest = self.rest();
        let len = rest.bytes().position(|b| b == end);
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
    pub(super) fn double_quoted(&mut self, parts: &mut Vec<Part<'a>>, end: Option<u8>) {
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
                        start = if next == Some(b'\n') {
                            self.at
                        } else {
                            self.at - 1
                        };
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

    fn flush_text(&self, parts: &mut Vec<Part<'a>>, start: usize) {
        if let Some(text) = self.text.get(start..self.at)
            && !text.is_empty()
        {
            parts.push(Part::Text(Cow::Borrowed(text)));
        }
    }

    fn ticks(&mut self, parts: &mut Vec<Part<'a>>, quote: Quote) {
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
        self.at = self.at.min(self.text.len());
        let source = self.text.get(start..self.at).unwrap_or("");
        self.at += 1;
        self.at = self.at.min(self.text.len());
        let source = if escapes {
            Cow::Owned(unescape_ticks(source))
        } else {
            Cow::Borrowed(source)
        };
        parts.push(Part::Ticks(source, quote));
    }

    fn dollar(&mut self, parts: &mut Vec<Part<'a>>, quote: Quote) {
        self.at += 1;
        match self.peek() {
            Some(b'\'') if quote == Quote::Bare => {
                self.at += 1;
                let text = self.ansi_c();
                parts.push(Part::Text(Cow::Owned(text)));
            }
            Some(b'"') if quote == Quote::Bare => {
                self.at += 1;
                parts.push(Part::Text(Cow::Borrowed("")));
                self.double_quoted(parts, Some(b'"'));
            }
            Some(b'(') => {
                if self.peek_at(1) == Some(b'(')
                    && let Some(arith) = self.arithmetic()
                {
                    parts.push(Part::Arith(arith));
                    return;
                }
                self.at += 1;
                let list = self.substitution();
                parts.push(Part::Command(list, quote));
            }
            Some(b'{') => {
                self.at += 1;
                if let Some(param) = self.nested(Self::braced) {
                    parts.push(Part::Param(Box::new(param), quote));
                }
            }
            Some(byte) if is_name_byte(byte) || b"@*#?-$!".contains(&byte) => {
                let name = self.param_name();
                let param = Param {
                    name,
                    index: None,
                    op: Op::Plain,
                };
                parts.push(Part::Param(Box::new(param), quote));
            }
            _ => parts.push(Part::Text(Cow::Borrowed("$"))),
        }
    }

    /// A name, or one digit or special character.
    fn param_name(&mut self) -> &'a str {
        let rest = self.rest();
        let len = match rest.bytes().next() {
            Some(b) if b.is_ascii_digit() || !is_name_byte(b) => 1,
            _ => rest.bytes().take_while(|b| is_name_byte(*b)).count(),
        };
        self.at += len;
        rest.get(..len).unwrap_or("")
    }

    /// The list of `$(…)`, `<(…)`, from behind the parenthesis to behind its end.
    fn substitution(&mut self) -> List<'a> {
        let pending = std::mem::take(&mut self.pending);
        let list = self.nested(Self::list).unwrap_or_default();
        let left = std::mem::replace(&mut self.pending, pending);
        self.pending.extend(left);
        if !self.eat(")") {
            self.stop();
        }
        list
    }

    /// `((…))` with the cursor on its first parenthesis; `None`, and nothing
    /// consumed, when it is a subshell within a subshell instead.
    pub(super) fn arithmetic(&mut self) -> Option<Vec<Part<'a>>> {
        let inner = self.text.get(self.at + 2..)?;
        let len = arithmetic_len(inner)?;
        let mut parts = Vec::new();
        self.at += 2;
        let end = self.at + len;
        let whole = self.text;
        self.text = whole.get(..end)?;
        self.nested(|cursor| cursor.double_quoted(&mut parts, None));
        self.text = whole;
        self.at = end + 2;
        Some(parts)
    }

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

    fn braced(&mut self) -> Param<'a> {
        let prefixed = matches!(self.peek(), Some(b'!' | b'#'))
            && self
                .peek_at(1)
                .is_some_and(|b| is_name_byte(b) || b == b'@');
        if prefixed {
            self.at += 1;
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let name = if digits > 0 {
            let name = &self.rest()[..digits];
            self.at += digits;
            name
        } else {
            self.param_name()
        };
        let index = self.eat("[").then(|| self.until(b']'));
        let op = self.op();
        if !self.eat("}") {
            self.word(Stop::Brace);
            if !self.eat("}") {
                self.stop();
            }
        }
        let op = if prefixed { Op::Other } else { op };
        Param { name, index, op }
    }

    fn op(&mut self) -> Op<'a> {
        let (end, reach) = match self.peek() {
            Some(b'}') => return Op::Plain,
            Some(b'#') => (End::Front, b'#'),
            Some(b'%') => (End::Back, b'%'),
            Some(b'/') => return self.replace(),
            Some(b',') => return self.case_op(b',', Op::Lower),
            Some(b'^') => return self.case_op(b'^', Op::Upper),
            Some(b':' | b'-' | b'=' | b'+' | b'?') => return self.default_op(),
            _ => return Op::Other,
        };
        self.at += 1;
        let reach = self.reach(reach);
        let pattern = self.word(Stop::Brace);
        Op::Cut {
            end,
            reach,
            pattern,
        }
    }

    /// A doubled mark reaches as far as it can.
    fn reach(&mut self, mark: u8) -> Reach {
        if self.peek() == Some(mark) {
            self.at += 1;
            Reach::All
        } else {
            Reach::One
        }
    }

    fn case_op(&mut self, mark: u8, op: Op<'a>) -> Op<'a> {
        self.at += 1;
        match self.reach(mark) {
            Reach::All => op,
            Reach::One => Op::Other,
        }
    }

    fn default_op(&mut self) -> Op<'a> {
        let colon = self.eat(":");
        let mark = self.peek();
        if matches!(mark, Some(b'-' | b'=' | b'+' | b'?')) {
            self.at += 1;
        }
        let word = self.word(Stop::Brace);
        match mark {
            Some(b'-') => Op::Default(word),
            Some(b'=') => Op::Assign(word),
            Some(b'+') => Op::Alternative(word),
            Some(b'?') => Op::Require,
            _ if colon => Op::Slice(word),
            _ => Op::Other,
        }
    }

    fn replace(&mut self) -> Op<'a> {
        self.at += 1;
        let reach = self.reach(b'/');
        let pattern = self.word(Stop::Slash);
        let with = self.eat("/").then(|| self.word(Stop::Brace));
        Op::Replace {
            reach,
            pattern,
            with,
        }
    }

    /// Notes a heredoc whose body follows the line, and gives its place.
    pub(super) fn expect_heredoc(&mut self, delimiter: &Word<'_>, strip_tabs: bool) -> usize {
        let id = self.heredocs.len();
        let mut quote = HeredocQuote::Expand;
        let mut text = String::new();
        for part in &delimiter.parts {
            match part {
                Part::Bare(bare) => text.push_str(bare),
                Part::Text(quoted) => {
                    text.push_str(quoted);
                    quote = HeredocQuote::Literal;
                }
                _ => {}
            }
        }
        self.heredocs.push(Heredoc {
            body: Cow::Borrowed(""),
            quote,
        });
        self.pending.push(Pending {
            id,
            delimiter: text,
            strip_tabs,
        });
        id
    }

    /// Reads the bodies due after the newline just consumed.
    pub(super) fn read_heredocs(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let body = self.heredoc_body(&pending);
            if let Some(slot) = self.heredocs.get_mut(pending.id) {
                slot.body = body;
            }
        }
    }

    fn heredoc_body(&mut self, pending: &Pending) -> Cow<'a, str> {
        let start = self.at;
        let mut end = self.text.len();
        while self.at < self.text.len() {
            let line_start = self.at;
            let line = self.until(b'\n');
            let bare = if pending.strip_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if bare == pending.delimiter {
                end = line_start;
                break;
            }
        }
        let body = self.text.get(start..end).unwrap_or("");
        if pending.strip_tabs && body.contains('\t') {
            let stripped = body.split_inclusive('\n');
            Cow::Owned(stripped.map(|line| line.trim_start_matches('\t')).collect())
        } else {
            Cow::Borrowed(body)
        }
    }

    /// The text of `$'…'`, from behind its quote to behind its end.
    fn ansi_c(&mut self) -> String {
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
        out.push(match (code.and_then(char::from_u32), c) {
            (Some(c), _) => c,
            (None, 'n') => '\n',
            (None, 't') => '\t',
            (None, 'r') => '\r',
            (None, 'a') => '\x07',
            (None, 'b') => '\x08',
            (None, 'e' | 'E') => '\x1b',
            (None, 'f') => '\x0c',
            (None, 'v') => '\x0b',
            (None, other) => other,
        });
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

/// The length of `…` in `…))`, when the parentheses balance that way.
fn arithmetic_len(inner: &str) -> Option<usize> {
    let bytes = inner.as_bytes();
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'(' => open += 1,
            b')' if open > 0 => open -= 1,
            b')' => return (bytes.get(at + 1) == Some(&b')')).then_some(at),
            b'\\' => at += 1,
            b'\'' | b'"' => {
                at += 1;
                at += bytes.get(at..)?.iter().position(|b| b == byte)?;
            }
            _ => {}
        }
        at += 1;
    }
    None
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
