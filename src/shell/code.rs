//! Tokens of scripting languages, as far as calls with literal arguments need them.

use std::borrow::Cow;

use super::byte::is_name_byte;
use super::field::UNKNOWN;
use super::literal::{Holes, Piece, pieces};
use super::syntax::Few;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    /// JavaScript and TypeScript.
    Script,
    Ruby,
    Perl,
    Php,
    Awk,
    Lua,
    R,
    Julia,
    /// Emacs Lisp.
    Lisp,
    AppleScript,
    /// Java, as `jshell` and Groovy take it.
    Java,
}

impl Language {
    pub(super) const ALL: [Self; 12] = [
        Self::Python,
        Self::Script,
        Self::Ruby,
        Self::Perl,
        Self::Php,
        Self::Awk,
        Self::Lua,
        Self::R,
        Self::Julia,
        Self::Lisp,
        Self::AppleScript,
        Self::Java,
    ];

    pub(super) fn counts_from_one(self) -> bool {
        matches!(self, Self::Lua | Self::R | Self::Julia)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or a number; sigils belong to it.
    Word(&'a str),
    /// Behind a pointer, since most tokens are none: memory that is touched costs more than
    /// what is done with it.
    Text(Box<Few<Piece<'a>>>),
    /// Perl's and Ruby's `` `command` ``.
    Command(Box<Few<Piece<'a>>>),
    /// One character of punctuation. Member access is `.` in every language,
    /// joining of texts by an operator of its own is `~`.
    Mark(char),
    /// A statement's end.
    End,
}

pub(super) struct Code<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    /// For each bracket the place of its partner, for the rest their own place.
    partner: Vec<u32>,
    /// Where lines begin outside of parentheses, and how far they are indented.
    pub(super) lines: Vec<(usize, usize)>,
}

/// The length of a script for whose tokens room is made at once.
const MAX_ROOM: usize = 1 << 17;

pub(super) fn read(language: Language, text: &str) -> Code<'_> {
    let mut lexer = Lexer {
        text,
        at: 0,
        language,
        // Room that is not used costs nothing, and to grow means to copy.
        tokens: Vec::with_capacity(text.len().min(MAX_ROOM) / 2),
        open: Vec::new(),
        lines: vec![(0, indentation(text))],
        room: 8 * text.len(),
    };
    while lexer.at < text.len() {
        lexer.token();
    }
    Code {
        partner: partners(&lexer.tokens),
        tokens: lexer.tokens,
        lines: lexer.lines,
    }
}

impl Code<'_> {
    /// The place of a bracket's partner; of what is none, or has none, its own.
    pub(super) fn partner(&self, at: usize) -> usize {
        self.partner.get(at).map_or(at, |partner| *partner as usize)
    }
}

fn partners(tokens: &[Token<'_>]) -> Vec<u32> {
    let mut partner: Vec<u32> = (0..).take(tokens.len()).collect();
    let mut open: Vec<u32> = Vec::new();
    for (at, token) in (0..).zip(tokens) {
        match token {
            Token::Mark('(' | '[' | '{') => open.push(at),
            Token::Mark(')' | ']' | '}') => {
                if let Some(start) = open.pop() {
                    partner[start as usize] = at;
                    partner[at as usize] = start;
                }
            }
            _ => {}
        }
    }
    partner
}

fn indentation(line: &str) -> usize {
    line.bytes()
        .take_while(|byte| *byte == b' ' || *byte == b'\t')
        .count()
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    language: Language,
    tokens: Vec<Token<'a>>,
    /// Brackets not yet closed: a line's end inside `(` ends no statement.
    open: Vec<char>,
    lines: Vec<(usize, usize)>,
    /// How much may still be read in search of a regex's end and not be one.
    room: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn token(&mut self) {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else {
            self.at = self.text.len();
            return;
        };
        // Most of a script is words and blanks.
        if is_word_char(c) {
            return self.word(c);
        }
        if c == ' ' {
            self.at += indentation(rest);
            return;
        }
        match c {
            '#' | '%' | '-' | '.' | '/' | ':' | ';' | '<' | '?' if self.several(rest) => {}
            '\n' => {
                self.at += 1;
                if !matches!(self.open.last(), Some('(' | '[')) {
                    self.tokens.push(Token::End);
                    let indent = indentation(self.rest());
                    self.lines.push((self.tokens.len(), indent));
                }
            }
            // The line goes on.
            '\\' if rest.starts_with("\\\n") => self.at += 2,
            ';' => {
                self.at += 1;
                self.tokens.push(Token::End);
            }
            '\'' | '`' if self.language == Language::Lisp => self.at += 1,
            '\'' | '"' | '`' => self.quoted(c, self.holes(c)),
            '/' if self.regex_may_start() => self.regex(),
            _ if c.is_whitespace() => self.at += c.len_utf8(),
            _ if self.is_sigil(c) => self.word(c),
            _ => {
                self.at += c.len_utf8();
                match c {
                    '(' | '[' | '{' => self.open.push(c),
                    ')' | ']' | '}' => drop(self.open.pop()),
                    _ => {}
                }
                let joins = c == '.' && matches!(self.language, Language::Perl | Language::Php);
                self.tokens.push(Token::Mark(if joins { '~' } else { c }));
            }
        }
    }

    /// Takes what several characters mean together.
    fn several(&mut self, rest: &'a str) -> bool {
        self.comment(rest) || self.operator(rest) || self.ruby_words(rest) || self.perl_glob(rest)
    }

    fn comment(&mut self, rest: &str) -> bool {
        use Language::{AppleScript, Java, Lisp, Lua, Php, Script};
        let end = match (self.language, rest.as_bytes()) {
            (Script | Php | Java, [b'/', b'*', ..]) => rest.find("*/").map(|at| at + 2),
            (Script | Php | Java, [b'/', b'/', ..])
            | (Lua | AppleScript, [b'-', b'-', ..])
            | (Lisp, [b';', ..]) => rest.find('\n'),
            (Lua | AppleScript | Lisp | Script | Java, _) => return false,
            (_, [b'#', ..]) => rest.find('\n'),
            _ => return false,
        };
        self.at += end.unwrap_or(rest.len());
        true
    }

    /// `->`, `::` and `?.` are all member access; `<-` assigns in R, `..` joins in Lua.
    fn operator(&mut self, rest: &str) -> bool {
        let mark = match (self.language, rest.as_bytes()) {
            (_, [b'-', b'>', ..] | [b':', b':', ..] | [b'?', b'.', ..]) => '.',
            (Language::R, [b'<', b'-', ..]) => '=',
            (Language::Lua, [b'.', b'.', ..]) => '~',
            // Behind a value, `//` is no regex.
            (Language::Perl, [b'/', b'/', ..]) if !self.regex_may_start() => {
                self.tokens.push(Token::Mark('/'));
                '/'
            }
            _ => return false,
        };
        self.at += 2;
        self.tokens.push(Token::Mark(mark));
        true
    }

    fn is_sigil(&self, c: char) -> bool {
        match self.language {
            Language::Perl => matches!(c, '$' | '@'),
            Language::Php | Language::Script => c == '$',
            Language::Ruby => matches!(c, '$' | '@'),
            _ => false,
        }
    }

    fn word(&mut self, first: char) {
        let rest = self.rest();
        let lisp = self.language == Language::Lisp;
        let tail = rest.as_bytes().get(first.len_utf8()..).unwrap_or(&[]);
        let mut len = tail.iter().take_while(|byte| is_name_byte(**byte)).count();
        // Most words end with their ASCII.
        if tail.get(len).is_some_and(|byte| !byte.is_ascii() || lisp) {
            let ends = |c| !(is_word_char(c) || lisp && c == '-');
            let tail = rest.get(first.len_utf8()..).unwrap_or("");
            len = tail.find(ends).unwrap_or(tail.len());
        }
        let word = rest.get(..first.len_utf8() + len).unwrap_or("");
        self.at += word.len();
        let next = rest.get(word.len()..).and_then(|rest| rest.chars().next());
        match (self.language, next) {
            (Language::Python, Some(quote @ ('\'' | '"'))) if is_prefix(word) => {
                let holes = match (word.contains(['f', 'F']), word.contains(['r', 'R'])) {
                    (true, _) => Holes::Brace,
                    (false, true) => Holes::Raw,
                    (false, false) => Holes::None,
                };
                self.quoted(quote, holes);
            }
            (Language::Perl, Some(mark)) if !is_word_char(mark) => self.perl_word(word, mark),
            (Language::Ruby, Some('?' | '!')) => {
                self.at += 1;
                self.tokens.push(Token::Word(word));
            }
            _ => self.tokens.push(Token::Word(word)),
        }
    }

    /// `q(…)`, `qq{…}`, `qw[…]`, `s/…/…/`, `m{…}`, `tr/…/…/`.
    fn perl_word(&mut self, word: &'a str, mark: char) {
        let parts = match word {
            "q" | "qq" | "qw" | "qr" | "qx" | "m" => 1,
            "s" | "tr" | "y" => 2,
            _ => 0,
        };
        let quotes = parts > 0
            && !mark.is_whitespace()
            && !matches!(mark, '=' | ',' | ';' | ')' | '>')
            && self.tokens.last() != Some(&Token::Mark('.'));
        if !quotes {
            self.tokens.push(Token::Word(word));
            return;
        }
        let mut body = self.delimited();
        if parts == 2 && body.is_some() {
            let bracketed = matches!(mark, '(' | '[' | '{' | '<');
            if !bracketed {
                self.at -= mark.len_utf8();
            }
            self.delimited();
            body = None;
        }
        let body = body.unwrap_or("");
        match word {
            "q" => self.literal(body),
            "qq" => self.text_of(pieces(body, Holes::Dollar)),
            "qx" => self
                .tokens
                .push(Token::Command(pieces(body, Holes::Dollar).into())),
            "qw" => {
                for item in body.split_whitespace() {
                    self.literal(item);
                    self.tokens.push(Token::Mark(','));
                }
            }
            _ => self.literal(UNKNOWN.to_string()),
        }
    }

    /// `%w[a b]`
    fn ruby_words(&mut self, rest: &str) -> bool {
        let begins = matches!(
            rest.as_bytes(),
            [b'%', b'w' | b'i', b'[' | b'(' | b'{' | b'<' | b'|', ..]
        );
        if self.language != Language::Ruby || !begins {
            return false;
        }
        self.at += 2;
        let body = self.delimited().unwrap_or("");
        self.tokens.push(Token::Mark('['));
        for item in body.split_whitespace() {
            self.literal(item);
            self.tokens.push(Token::Mark(','));
        }
        self.tokens.push(Token::Mark(']'));
        true
    }

    /// `<*.md>` is `glob "*.md"`.
    fn perl_glob(&mut self, rest: &'a str) -> bool {
        let is_perl = self.language == Language::Perl;
        let inner = rest.strip_prefix('<').filter(|_| is_perl).unwrap_or("");
        let ends = |c: u8| c.is_ascii_whitespace() || matches!(c, b'<' | b'>' | b';');
        let (pattern, behind) = inner.split_at(inner.bytes().position(ends).unwrap_or(0));
        let stands_for_names = |c: u8| matches!(c, b'*' | b'?' | b'{');
        let is_glob = behind.starts_with('>') && pattern.bytes().any(stands_for_names);
        if is_glob {
            self.at += pattern.len() + 2;
            self.tokens.push(Token::Word("glob"));
            self.text_of(pieces(pattern, Holes::Dollar));
        }
        is_glob
    }

    fn text_of(&mut self, pieces: Few<Piece<'a>>) {
        self.tokens.push(Token::Text(pieces.into()));
    }

    fn literal(&mut self, text: impl Into<Cow<'a, str>>) {
        let piece = Piece::Literal(text.into());
        self.text_of(Few::One([piece]));
    }

    /// The text between a delimiter and its partner.
    fn delimited(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let open = rest.chars().next()?;
        let close = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        let mut depth = 1;
        let mut escaped = false;
        let start = open.len_utf8();
        for (at, c) in rest.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    self.at += at + c.len_utf8();
                    return rest.get(start..at);
                }
            } else if c == open {
                depth += 1;
            }
        }
        self.at = self.text.len();
        None
    }

    fn holes(&self, quote: char) -> Holes {
        match (self.language, quote) {
            (Language::Script, '`') => Holes::DollarBrace,
            (Language::Ruby, '"' | '`') => Holes::HashBrace,
            (Language::Perl | Language::Php | Language::Julia, '"' | '`') => Holes::Dollar,
            _ => Holes::None,
        }
    }

    /// A literal; only where the language allows it, it may span lines.
    fn quoted(&mut self, quote: char, holes: Holes) {
        let rest = self.rest();
        let triple = match quote {
            '"' => "\"\"\"",
            _ => "'''",
        };
        let long = self.language == Language::Python && rest.starts_with(triple);
        let fence = if long { 3 } else { 1 };
        let one_line = match self.language {
            Language::Python => !long,
            Language::Script => quote != '`',
            _ => false,
        };
        let body = rest.get(fence..).unwrap_or("");
        let closes = |at: usize| !long || body.get(at..).is_some_and(|r| r.starts_with(triple));
        let bytes = body.as_bytes();
        let mut end = 0;
        while let Some(&byte) = bytes.get(end) {
            match byte {
                b'\\' => end += 1,
                b'\n' if one_line => break,
                _ if byte == quote as u8 && closes(end) => break,
                _ => {}
            }
            end += 1;
        }
        let end = end.min(body.len());
        self.at = (self.at + fence + end + fence).min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        let found = pieces(body.get(..end).unwrap_or(""), holes);
        let runs = quote == '`'
            && matches!(
                self.language,
                Language::Ruby | Language::Perl | Language::Php | Language::Julia
            );
        match runs {
            true => self.tokens.push(Token::Command(found.into())),
            false => self.text_of(found),
        }
    }

    /// A slash begins a regex where no value stands before it.
    fn regex_may_start(&self) -> bool {
        let has_regexes = matches!(
            self.language,
            Language::Script | Language::Ruby | Language::Perl | Language::Awk
        );
        if !has_regexes {
            return false;
        }
        match self.tokens.last() {
            None | Some(Token::End) => true,
            Some(Token::Mark(c)) => !matches!(c, ')' | ']' | '}'),
            Some(Token::Word(word)) => {
                matches!(*word, "return" | "typeof" | "if" | "unless" | "and")
            }
            Some(_) => false,
        }
    }

    fn regex(&mut self) {
        let rest = self.rest();
        let (mut escaped, mut in_set) = (false, false);
        let mut len = 0;
        for (at, c) in rest.char_indices().skip(1).take(self.room) {
            len = at;
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => in_set = true,
                ']' => in_set = false,
                '\n' => break,
                '/' if !in_set => {
                    self.at += at + 1;
                    return self.literal(UNKNOWN.to_string());
                }
                _ => {}
            }
        }
        self.room = self.room.saturating_sub(len);
        self.at += 1;
        self.tokens.push(Token::Mark('/'));
    }
}

pub(super) fn is_word_char(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => is_name_byte(byte),
        _ => c.is_alphanumeric(),
    }
}

fn is_prefix(word: &str) -> bool {
    word.len() <= 2 && word.bytes().all(|b| b"rbufRBUF".contains(&b))
}
