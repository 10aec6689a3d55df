//! Code in Python, JavaScript, Perl and Ruby as one kind of tokens: what joins texts is `+`, what
//! leads to a member is `.`, whatever sign the language has for it. An expression in a text is
//! put in parentheses between the texts around it.

use super::super::lex::escaped;
use super::Language::{self, JavaScript, Perl, Python, Ruby};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Sign(char),
    Newline,
}

struct Lexer<'t> {
    language: Language,
    rest: &'t str,
    tokens: Vec<Token>,
}

pub(super) fn tokens(language: Language, text: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        language,
        rest: text,
        tokens: Vec::new(),
    };
    while let Some(c) = lexer.rest.chars().next() {
        lexer.token(c);
    }
    lexer.tokens
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// How much of a text there is up to and with a mark.
fn len_to(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |at| at + mark.len())
}

impl Lexer<'_> {
    fn skip(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or("");
    }

    fn sign(&mut self, sign: char, len: usize) {
        self.tokens.push(Token::Sign(sign));
        self.skip(len);
    }

    fn token(&mut self, c: char) {
        let rest = self.rest;
        match (c, self.language) {
            ('\n', _) => {
                self.tokens.push(Token::Newline);
                self.skip(1);
            }
            ('#', Python | Perl | Ruby) => self.skip(rest.find('\n').unwrap_or(rest.len())),
            ('/', JavaScript) if rest.starts_with("//") => {
                self.skip(rest.find('\n').unwrap_or(rest.len()))
            }
            ('/', JavaScript) if rest.starts_with("/*") => self.skip(len_to(rest, "*/")),
            ('/', JavaScript | Perl | Ruby) if self.may_begin() => self.regexp(),
            ('$' | '@' | '%', Perl) | ('@' | '$', Ruby) => self.skip(1),
            ('-', Perl) if rest.starts_with("->") => self.sign('.', 2),
            (':', Perl | Ruby) if rest.starts_with("::") => self.sign('.', 2),
            ('.', Perl) => self.sign('+', 1),
            ('"' | '\'' | '`', _) => self.text(""),
            (c, _) if is_word(c) => self.name(),
            (c, _) if c.is_whitespace() => self.skip(c.len_utf8()),
            (c, _) => self.sign(c, c.len_utf8()),
        }
    }

    /// Whether an expression may begin here, so that a slash begins a pattern.
    fn may_begin(&self) -> bool {
        match self.tokens.last() {
            Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}'),
            Some(Token::Name(name)) => matches!(name.as_str(), "return" | "if" | "s" | "m" | "qr"),
            Some(Token::Text(_)) => false,
            Some(Token::Newline) | None => true,
        }
    }

    fn name(&mut self) {
        let len = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (name, behind) = self.rest.split_at(len);
        self.rest = behind;
        if self.language == Python && len <= 2 && behind.starts_with(['"', '\'']) {
            return self.text(name);
        }
        self.tokens.push(Token::Name(name.to_owned()));
    }

    /// Over a pattern between slashes.
    fn regexp(&mut self) {
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                '/' => return self.skip(at + 1),
                '\n' => return self.skip(at),
                _ => {}
            }
        }
        self.rest = "";
    }

    fn text(&mut self, prefix: &str) {
        let quote = match self.rest.get(..3) {
            Some(triple @ ("\"\"\"" | "'''")) if self.language == Python => triple,
            _ => &self.rest[..1],
        };
        let has_holes = match self.language {
            Python => prefix.contains(['f', 'F']),
            JavaScript => quote == "`",
            Perl | Ruby => quote == "\"",
        };
        let is_raw = prefix.contains(['r', 'R']);
        self.skip(quote.len());
        let mut plain = String::new();
        while let Some(c) = self.rest.chars().next() {
            if self.rest.starts_with(quote) {
                self.skip(quote.len());
                break;
            }
            if has_holes && let Some((hole, len)) = hole(self.rest, self.language) {
                self.skip(len);
                self.tokens.push(Token::Text(std::mem::take(&mut plain)));
                self.tokens.extend(['+', '('].map(Token::Sign));
                self.tokens.extend(tokens(self.language, hole));
                self.tokens.extend([')', '+'].map(Token::Sign));
            } else if c == '\\' && !is_raw {
                let (c, len) = escaped(&self.rest[1..]);
                plain.push(c);
                self.skip(1 + len);
            } else {
                plain.push(c);
                self.skip(c.len_utf8());
            }
        }
        self.tokens.push(Token::Text(plain));
    }
}

/// `{x}`, `${x}`, `#{x}`, `$x`: the expression in it, and how long the whole is.
fn hole(text: &str, language: Language) -> Option<(&str, usize)> {
    let start = match language {
        Python => "{",
        JavaScript => "${",
        Ruby => "#{",
        Perl if text.starts_with("${") => "${",
        Perl => {
            let name = text.strip_prefix('$')?;
            let len = name.find(|c| !is_word(c)).unwrap_or(name.len());
            return (len > 0).then(|| (&name[..len], len + 1));
        }
    };
    let inside = text
        .strip_prefix(start)
        .filter(|inside| !inside.starts_with('{'))?;
    // An expression is short; to look further at each brace would cost its square.
    let end = inside.bytes().take(256).position(|byte| byte == b'}')?;
    Some((&inside[..end], start.len() + end + 1))
}
