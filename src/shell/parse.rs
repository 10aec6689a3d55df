//! Commands of Bash: lists, pipelines, compound commands, redirections (Bash manual, "Shell
//! Commands").

use std::rc::Rc;

use super::Limit;
use super::lex::{Parsed, Parser, is_meta, is_name, is_name_byte};
use super::syntax::{Arm, Command, Job, Kind, Link, List, Pipeline, Sense, Statement, Word};

/// Words that end a list.
const CLOSING: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// What stopped the reading of a text, and where.
pub(super) struct Fault {
    pub(super) limit: Limit,
    pub(super) at: usize,
}

/// The statements of a text; with what stopped the reading, those before it.
pub(super) fn statements(text: &str, depth: usize) -> (List, Option<Fault>) {
    let mut parser = Parser::new(text, depth);
    let mut list = List::new();
    loop {
        let statement = match parser.skip_lines() {
            Ok(()) if parser.peek().is_none() => return (list, None),
            Ok(()) if parser.is_at_list_end() => Err(Limit::Syntax),
            Ok(()) => parser.statement(),
            Err(limit) => Err(limit),
        };
        match statement {
            Ok(statement) => list.push(statement),
            Err(limit) => {
                let at = parser.at;
                return (list, Some(Fault { limit, at }));
            }
        }
    }
}

/// The same, but all or nothing.
pub(super) fn whole(text: &str, depth: usize) -> Parsed<List> {
    if depth > super::lex::MAX_DEPTH {
        return Err(Limit::Depth);
    }
    let (list, limit) = statements(text, depth);
    limit.map_or(Ok(list), |fault| Err(fault.limit))
}

impl<'t> Parser<'t> {
    /// Statements up to a closing word, a parenthesis or the end.
    pub(super) fn list(&mut self) -> Parsed<List> {
        let mut list = List::new();
        loop {
            self.skip_lines()?;
            if self.is_at_list_end() {
                return Ok(list);
            }
            list.push(self.statement()?);
        }
    }

    fn is_at_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
            Some(_) => CLOSING.contains(&self.reserved()),
        }
    }

    /// What is at the cursor up to a blank or an operator: perhaps a reserved word.
    fn reserved(&self) -> &'t str {
        /// The longest of them.
        const MAX: usize = "function".len();
        let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let end = bytes.iter().take(MAX + 1).position(|byte| is_meta(*byte));
        let end = end.unwrap_or(bytes.len().min(MAX + 1));
        self.rest().get(..end).unwrap_or_default()
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = self.reserved() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        self.skip_lines()?;
        if self.keyword(word) {
            return Ok(());
        }
        Err(Limit::Syntax)
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let link = match self.peek() {
                Some(b'&') if self.eat("&&") => Link::And,
                Some(b'|') if self.eat("||") => Link::Or,
                _ => break,
            };
            self.skip_lines()?;
            rest.push((link, self.pipeline()?));
        }
        let mut job = Job::Foreground;
        match self.peek() {
            Some(b'&') => {
                job = Job::Background;
                self.at += 1;
            }
            Some(b';') if !self.is_at_list_end() => self.at += 1,
            Some(b'\n') => {}
            _ if self.is_at_list_end() => {}
            _ => return Err(Limit::Syntax),
        }
        Ok(Statement { first, rest, job })
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut sense = Sense::Plain;
        loop {
            self.skip_blanks();
            if self.keyword("!") {
                sense = match sense {
                    Sense::Plain => Sense::Negated,
                    Sense::Negated => Sense::Plain,
                };
            } else if self.keyword("time") {
                self.skip_blanks();
                let _ = self.keyword("-p");
                self.skip_blanks();
                let _ = self.keyword("--");
            } else {
                break;
            }
        }
        let mut commands = vec![self.command()?];
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
                return Ok(Pipeline { sense, commands });
            }
            self.at += 1;
            self.eat("&");
            self.skip_lines()?;
            commands.push(self.command()?);
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        let kind = match self.compound()? {
            Some(kind) => kind,
            None => return self.simple(),
        };
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(Command { kind, redirects }),
            }
        }
    }

    fn compound(&mut self) -> Parsed<Option<Kind>> {
        if self.eat("((") {
            self.at -= 2;
            if let Some(inside) = self.arithmetic(1)? {
                return Ok(Some(Kind::Arithmetic(inside, List::new())));
            }
        }
        if self.eat("(") {
            return Ok(Some(Kind::Subshell(self.list_in_parens()?)));
        }
        let start = self.at;
        let word = self.reserved();
        let read: fn(&mut Self) -> Parsed<Kind> = match word {
            "{" => |parser: &mut Self| Ok(Kind::Group(parser.body("}")?)),
            "if" => |parser: &mut Self| parser.nested(Self::conditional),
            "while" => |parser: &mut Self| parser.repeated(Sense::Plain),
            "until" => |parser: &mut Self| parser.repeated(Sense::Negated),
            "for" | "select" => Self::for_each,
            "case" => |parser: &mut Self| parser.nested(Self::case),
            "[[" => Self::test,
            "function" => Self::named_function,
            _ => return Ok(None),
        };
        self.at = start + word.len();
        read(self).map(Some)
    }

    /// `function NAME`, perhaps with parentheses.
    fn named_function(&mut self) -> Parsed<Kind> {
        self.skip_blanks();
        let name = self.take_while(|byte| !is_meta(byte)).to_owned();
        self.parentheses();
        self.function(name)
    }

    /// A list up to its closing word, which is taken.
    fn body(&mut self, end: &str) -> Parsed<List> {
        let list = self.nested(Self::list)?;
        self.expect(end)?;
        Ok(list)
    }

    fn conditional(&mut self) -> Parsed<Kind> {
        let mut arms = Vec::new();
        loop {
            let condition = self.body("then")?;
            arms.push((condition, self.list()?));
            self.skip_lines()?;
            if !self.keyword("elif") {
                break;
            }
        }
        let otherwise = if self.keyword("else") {
            Some(self.list()?)
        } else {
            None
        };
        self.expect("fi")?;
        Ok(Kind::If { arms, otherwise })
    }

    fn repeated(&mut self, sense: Sense) -> Parsed<Kind> {
        let condition = self.body("do")?;
        let body = self.body("done")?;
        Ok(Kind::While {
            sense,
            condition,
            body,
        })
    }

    fn for_each(&mut self) -> Parsed<Kind> {
        self.skip_blanks();
        if let Some(head) = self.arithmetic(1)? {
            return Ok(Kind::Arithmetic(head, self.loop_body()?));
        }
        let name = self.take_while(is_name_byte).to_owned();
        if !is_name(&name) {
            return Err(Limit::Syntax);
        }
        self.skip_lines()?;
        let mut words = None;
        if self.keyword("in") {
            words = Some(self.words()?);
        }
        let body = self.loop_body()?;
        Ok(Kind::For { name, words, body })
    }

    /// Words up to the end of the line, `;` or a parenthesis.
    pub(super) fn words(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.word()? {
                Some(word) => words.push(word),
                None => return Ok(words),
            }
        }
    }

    fn loop_body(&mut self) -> Parsed<List> {
        self.skip_blanks();
        self.eat(";");
        self.skip_lines()?;
        if self.keyword("{") {
            return self.body("}");
        }
        self.expect("do")?;
        self.body("done")
    }

    fn case(&mut self) -> Parsed<Kind> {
        self.skip_blanks();
        let subject = self.word()?.ok_or(Limit::Syntax)?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.keyword("esac") {
                return Ok(Kind::Case { subject, arms });
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                patterns.extend(self.words()?);
                if !self.eat("|") {
                    break;
                }
            }
            if patterns.is_empty() || !self.eat(")") {
                return Err(Limit::Syntax);
            }
            let body = self.list()?;
            let _ = self.eat(";;&") || self.eat(";;") || self.eat(";&");
            arms.push(Arm { patterns, body });
        }
    }

    /// The words of `[[ … ]]`; its operators are signs that end words elsewhere.
    fn test(&mut self) -> Parsed<Kind> {
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.keyword("]]") {
                return Ok(Kind::Test(words));
            }
            match self.word()? {
                Some(word) => words.push(word),
                None if self.peek().is_none() => return Err(Limit::Syntax),
                // `(#i)` of zsh
                None if self.eat("(#") => drop(self.take_while(|byte| byte != b')')),
                None => self.at += 1,
            }
        }
    }

    pub(super) fn function(&mut self, name: String) -> Parsed<Kind> {
        self.skip_lines()?;
        let body = Rc::new(self.nested(Self::command)?);
        Ok(Kind::Function { name, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many statements a text has, or what keeps it from being read.
    #[track_caller]
    fn check(text: &str, expected: Result<usize, Limit>) {
        let (list, fault) = statements(text, 0);
        let found = fault.map_or(Ok(list.len()), |fault| Err(fault.limit));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn reads_what_bash_reads() {
        for text in [
            "a; b & c\nd",
            "a && b || c; b; (c); { d; }",
            "if a; then b; elif c; then d; else e; fi > f; x; y; z",
            "for i in a b; do c; done; for ((i=0;i<3;i++)); do a; done; for i; do b; done; d",
            "while a; do b; done < c; until a; do b; done; case x in (a|b) c;; *) d;& e) ;; esac; a",
            "f() { a; }; function g { b; }; function h() (c); h",
            "[[ -f x && ( $a == b* || $c =~ (x|y)>z ) ]]; ((a>b)); ((a) || b); ! time -p d",
            "cat <<A <<-'B' | sed x\n$(a \"b\")\nA\n\t`c`\n\tB\nx; y\nz",
            "a=(b c\nd) e+=f g[1]=h; declare -a x=(y z); 2>&1 >a <b {fd}>c &>d; a=b c",
            "echo ${a:-$(b)} ${a%%*.} \"${a[@]}\" ${a//\\//-} $((1 + (2))) $(c) `d \\`e\\``;b;c;d",
            "a # b; c\n# d\nb \\\n c; 'x\ny'; $'a\\'b' $\"c\"",
            "$(cat <<'E'\nit's (a\nE\n); \"$(echo \")\")\"; <(a) >(b); c",
        ] {
            check(text, Ok(4));
        }
    }

    #[test]
    fn says_what_bash_does_not_read() {
        for text in [
            "echo 'a",
            "echo \"a",
            "$(a",
            "`a",
            "${a",
            "a; )",
            "a ;; b",
            "if a; then b",
            "a | | b",
            "for in; do",
            "case x in a",
            "a (b)",
            "< ",
            "&& a",
            "[[ a",
            "f() ",
            "a=(b; c)",
            "done",
        ] {
            check(text, Err(Limit::Syntax));
        }
        check(&"(".repeat(60), Err(Limit::Depth));
        check(&"$(".repeat(60), Err(Limit::Depth));
    }
}
