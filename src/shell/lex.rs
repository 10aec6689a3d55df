//! Words of Bash: quotes, expansions, here-documents (Bash manual, "Quoting" and "Shell
//! Expansions").

use std::cell::OnceCell;
use std::rc::Rc;

use super::Limit;
use super::field::UNKNOWN;
use super::syntax::{List, Parameter, Part, Quoting, Word};

/// How deep commands may nest in one another.
pub(super) const MAX_DEPTH: usize = 40;

pub(super) type Parsed<T> = Result<T, Limit>;

/// A text that is read as Bash reads it.
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Here-documents whose texts begin behind this line.
    pub(super) pending: Vec<Heredoc>,
}

pub(super) struct Heredoc {
    pub(super) delimiter: String,
    pub(super) quoting: Quoting,
    pub(super) tabs: Tabs,
    pub(super) text: Rc<OnceCell<Word>>,
}

/// What becomes of tabs that lines of a here-document begin with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tabs {
    Kept,
    /// `<<-`
    Dropped,
}

pub(super) fn is_meta(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
    )
}

/// Whether a byte quotes what is behind it, or begins an expansion.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`')
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Whether a text can name a variable.
pub(super) fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| !c.is_ascii_digit());
    starts && text.bytes().all(is_name_byte)
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            pending: Vec::new(),
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Takes so many bytes.
    fn take(&mut self, len: usize) -> &'t str {
        let taken = self.rest().get(..len).unwrap_or("");
        self.at += len;
        taken
    }

    /// Takes what is there as long as it fits.
    pub(super) fn take_while(&mut self, fits: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.bytes().position(|byte| !fits(byte));
        self.take(len.unwrap_or(rest.len()))
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Over blanks, continued lines and a remark.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(b' ' | b'\t' | b'\r'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                (Some(b'#'), _) => drop(self.take_while(|byte| byte != b'\n')),
                _ => return,
            }
        }
    }

    /// Over blanks and the ends of lines, which the texts of here-documents follow.
    pub(super) fn skip_lines(&mut self) -> Parsed<()> {
        self.skip_blanks();
        while self.eat("\n") {
            for heredoc in std::mem::take(&mut self.pending) {
                self.heredoc_text(&heredoc)?;
            }
            self.skip_blanks();
        }
        Ok(())
    }

    fn heredoc_text(&mut self, heredoc: &Heredoc) -> Parsed<()> {
        let mut text = String::new();
        while self.at < self.text.len() {
            let mut line = self.take_while(|byte| byte != b'\n');
            self.at += 1;
            if heredoc.tabs == Tabs::Dropped {
                line = line.trim_start_matches('\t');
            }
            if line.trim_end_matches('\r') == heredoc.delimiter {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        let word = match heredoc.quoting {
            Quoting::Quoted => Word::quoted(text),
            Quoting::Bare => expanded(&text, self.depth)?,
        };
        drop(heredoc.text.set(word));
        Ok(())
    }

    /// Reads something one level deeper.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Limit::Depth);
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// The word at the cursor, if there is one.
    pub(super) fn word(&mut self) -> Parsed<Option<Word>> {
        let start = self.at;
        let mut word = Word::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    self.at += 2;
                    let list = self.list_in_parens()?;
                    word.parts.push(Part::Process(list));
                }
                b'(' if opens_pattern(&word) => self.pattern_list(&mut word)?,
                byte if is_meta(byte) => break,
                _ => self.word_part(&mut word)?,
            }
        }
        Ok((self.at > start).then_some(word))
    }

    /// Parentheses within a pattern: alternatives (`!(a|b)`, with `extglob`), or zsh's
    /// qualifiers (`*.md(N)`). What it matches is among what `*` does.
    fn pattern_list(&mut self, word: &mut Word) -> Parsed<()> {
        let mut open = 0_usize;
        loop {
            match self.next_char().ok_or(Limit::Syntax)? {
                '(' => open += 1,
                ')' if open == 1 => break,
                ')' => open -= 1,
                '\n' => return Err(Limit::Syntax),
                _ => {}
            }
        }
        if let Some(Part::Bare(text)) = word.parts.last_mut()
            && text.ends_with(['!', '+', '@', '?'])
        {
            text.pop();
            text.push('*');
        }
        Ok(())
    }

    /// A word within `${…}`, up to one of the bytes. Blanks do not end it, nor do quotes
    /// count where it is quoted itself.
    fn word_until(&mut self, ends: &[u8], quoting: Quoting) -> Parsed<Word> {
        let mut word = Word::default();
        loop {
            let is_text = |byte| !is_special(byte) || (byte == b'\'' && quoting == Quoting::Quoted);
            let plain = self.take_while(|byte| is_text(byte) && !ends.contains(&byte));
            push(&mut word, Quoting::Bare, plain);
            match self.peek().ok_or(Limit::Syntax)? {
                byte if ends.contains(&byte) => return Ok(word),
                _ => self.word_part(&mut word)?,
            }
        }
    }

    /// One part of a word that is not quoted as a whole.
    fn word_part(&mut self, word: &mut Word) -> Parsed<()> {
        match self.peek() {
            Some(b'\\') => {
                self.at += 1;
                if let Some(c) = self.next_char().filter(|c| *c != '\n') {
                    push(word, Quoting::Quoted, c.encode_utf8(&mut [0; 4]));
                }
            }
            Some(b'\'') => {
                self.at += 1;
                push(word, Quoting::Quoted, self.take_while(|byte| byte != b'\''));
                if !self.eat("'") {
                    return Err(Limit::Syntax);
                }
            }
            Some(b'"') => {
                self.at += 1;
                self.quoted(word, Some(b'"'))?;
            }
            Some(b'$') => self.dollar(word, Quoting::Bare)?,
            Some(b'`') => self.backticks(word, Quoting::Bare)?,
            _ => {
                let plain = self.take_while(|byte| !is_meta(byte) && !is_special(byte));
                push(word, Quoting::Bare, plain);
            }
        }
        Ok(())
    }

    /// The text between double quotes, behind the first of them; without an end, the whole
    /// text.
    fn quoted(&mut self, word: &mut Word, end: Option<u8>) -> Parsed<()> {
        loop {
            let plain =
                self.take_while(|byte| Some(byte) != end && !matches!(byte, b'$' | b'`' | b'\\'));
            push(word, Quoting::Quoted, plain);
            match self.peek() {
                Some(b'$') => self.dollar(word, Quoting::Quoted)?,
                Some(b'`') => self.backticks(word, Quoting::Quoted)?,
                Some(b'\\') => {
                    let is_escape = match self.peek_at(1) {
                        Some(b'$' | b'`' | b'\\' | b'\n') => true,
                        escaped => escaped.is_some() && escaped == end,
                    };
                    self.at += usize::from(is_escape);
                    push(word, Quoting::Quoted, self.take(1).trim_end_matches('\n'));
                }
                None if end.is_some() => return Err(Limit::Syntax),
                _ => {
                    self.at += 1;
                    return Ok(());
                }
            }
        }
    }

    fn dollar(&mut self, word: &mut Word, quoting: Quoting) -> Parsed<()> {
        self.at += 1;
        let part = match self.peek() {
            Some(b'(') => match self.arithmetic(1)? {
                Some(inside) => Part::Arithmetic(inside),
                None => {
                    self.at += 1;
                    Part::Command(self.list_in_parens()?, quoting)
                }
            },
            Some(b'{') => {
                self.at += 1;
                let parameter = self.nested(|parser| parser.parameter(quoting))?;
                Part::Parameter(Box::new(parameter), quoting)
            }
            Some(b'\'') if quoting == Quoting::Bare => {
                self.at += 1;
                Part::Quoted(self.ansi_c())
            }
            Some(b'"') if quoting == Quoting::Bare => return Ok(()),
            _ => match self.parameter_name().to_owned() {
                name if name.is_empty() => Part::Quoted("$".to_owned()),
                name => {
                    let parameter = Parameter {
                        name,
                        ..Parameter::default()
                    };
                    Part::Parameter(Box::new(parameter), quoting)
                }
            },
        };
        word.parts.push(part);
        Ok(())
    }

    /// A variable's name, a number, or one of the special parameters; without braces a
    /// number is one digit.
    fn parameter_name(&mut self) -> &'t str {
        match self.peek() {
            Some(byte) if byte.is_ascii_digit() || b"@*#?$!-".contains(&byte) => self.take(1),
            Some(byte) if is_name_byte(byte) => self.take_while(is_name_byte),
            _ => "",
        }
    }

    /// Behind `${`, up to and with its `}`.
    fn parameter(&mut self, quoting: Quoting) -> Parsed<Parameter> {
        let mut parameter = Parameter::default();
        if matches!(self.peek(), Some(b'!' | b'#')) && self.peek_at(1) != Some(b'}') {
            parameter.operator = self.take(1).to_owned() + "name";
        }
        let name = match self.peek() {
            Some(b'0'..=b'9') => self.take_while(|byte| byte.is_ascii_digit()),
            _ => self.parameter_name(),
        };
        parameter.name = name.to_owned();
        if self.eat("[") {
            parameter.index = Some(self.word_until(b"]", quoting)?);
            self.at += 1;
        }
        let operator = self.operator();
        parameter.operator.push_str(operator);
        let (ends, quoting): (&[u8], _) = match operator {
            "-" | "=" | "+" => (b"}", quoting),
            "/" | "//" => (b"/}", Quoting::Bare),
            _ => (b"}", Quoting::Bare),
        };
        parameter.operands[0] = self.word_until(ends, quoting)?;
        if self.eat("/") {
            parameter.operands[1] = self.word_until(b"}", quoting)?;
        }
        self.at += 1;
        Ok(parameter)
    }

    /// The operator of `${…}`, without a colon before it.
    fn operator(&mut self) -> &'t str {
        if let [Some(b':'), Some(b'-' | b'=' | b'+' | b'?')] = [self.peek(), self.peek_at(1)] {
            self.at += 1;
        }
        match [self.peek(), self.peek_at(1)] {
            [Some(b'}') | None, _] => "",
            [Some(b'#'), Some(b'#')] | [Some(b'%'), Some(b'%')] => self.take(2),
            [Some(b'/'), Some(b'/' | b'#' | b'%')] => self.take(2),
            [Some(byte), _] if byte.is_ascii() => self.take(1),
            _ => "other",
        }
    }

    /// The inside of `((…))`, its first parenthesis `ahead` of the cursor less one; `None`
    /// where it is none, but a subshell in parentheses.
    pub(super) fn arithmetic(&mut self, ahead: usize) -> Parsed<Option<Word>> {
        if self.peek_at(ahead) != Some(b'(') {
            return Ok(None);
        }
        let inside = self.rest().get(ahead + 1..).unwrap_or("");
        let mut open = 0_usize;
        for (end, byte) in inside.bytes().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' if inside[end..].starts_with("))") => {
                    self.at += ahead + 1 + end + 2;
                    return expanded(&inside[..end], self.depth + 1).map(Some);
                }
                b')' => return Ok(None),
                _ => {}
            }
        }
        Ok(None)
    }

    pub(super) fn list_in_parens(&mut self) -> Parsed<List> {
        let list = self.nested(Self::list)?;
        self.skip_lines()?;
        if self.eat(")") {
            Ok(list)
        } else {
            Err(Limit::Syntax)
        }
    }

    fn backticks(&mut self, word: &mut Word, quoting: Quoting) -> Parsed<()> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next_char().ok_or(Limit::Syntax)? {
                '`' => break,
                '\\' => match self.next_char().ok_or(Limit::Syntax)? {
                    c @ ('`' | '\\' | '$') => text.push(c),
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
        let list = super::parse::whole(&text, self.depth + 1)?;
        word.parts.push(Part::Command(list, quoting));
        Ok(())
    }

    /// The text of `$'…'`, behind its first quote.
    fn ansi_c(&mut self) -> String {
        let mut text = String::new();
        while let Some(c) = self.next_char() {
            match c {
                '\'' => break,
                '\\' => {
                    let (c, len) = escaped(self.rest());
                    self.at += len;
                    text.push(c);
                }
                c => text.push(c),
            }
        }
        text
    }
}

/// A text in which parameters and commands are expanded, as between double quotes.
fn expanded(text: &str, depth: usize) -> Parsed<Word> {
    if depth > MAX_DEPTH {
        return Err(Limit::Depth);
    }
    let mut word = Word::default();
    Parser::new(text, depth).quoted(&mut word, None)?;
    Ok(word)
}

/// The character of an escape of `$'…'` and of `printf`, behind its backslash, with its length.
/// Codes of characters are not looked up.
pub(super) fn escaped(rest: &str) -> (char, usize) {
    match rest.chars().next() {
        Some('n') => ('\n', 1),
        Some('0') if !rest[1..].starts_with(|c: char| c.is_digit(8)) => ('\0', 1),
        Some('t') => ('\t', 1),
        Some('r') => ('\r', 1),
        Some(c @ ('\\' | '\'' | '"' | '/')) => (c, 1),
        Some('x' | 'u' | 'U' | '0'..='7') => (UNKNOWN, 1),
        _ => ('\\', 0),
    }
}

/// Whether a parenthesis behind this much of a word is a part of it: behind a pattern, or a sign
/// of `extglob`.
fn opens_pattern(word: &Word) -> bool {
    let is_pattern =
        |part: &Part| matches!(part, Part::Bare(text) if text.contains(['*', '?', '[']));
    let is_sign =
        matches!(word.parts.last(), Some(Part::Bare(text)) if text.ends_with(['!', '+', '@']));
    is_sign || word.parts.iter().any(is_pattern)
}

fn push(word: &mut Word, quoting: Quoting, text: &str) {
    match (word.parts.last_mut(), quoting) {
        (_, Quoting::Bare) if text.is_empty() => {}
        (Some(Part::Bare(before)), Quoting::Bare) => before.push_str(text),
        (Some(Part::Quoted(before)), Quoting::Quoted) => before.push_str(text),
        (_, Quoting::Bare) => word.parts.push(Part::Bare(text.to_owned())),
        (_, Quoting::Quoted) => word.parts.push(Part::Quoted(text.to_owned())),
    }
}
