//! Parsing a simple command of Bash: assignments, words, redirections (Bash manual, "Simple Commands").

use std::cell::OnceCell;
use std::rc::Rc;

use super::Limit;
use super::lex::{Heredoc, Parsed, Parser, Tabs, is_meta, is_name, is_name_byte};
use super::syntax::{
    Assigned, Assignment, Command, How, Kind, Quoting, Redirect, Simple, To, Word,
};

/// Signs of redirections, the longer ones first.
const OPERATORS: [&str; 12] = [
    "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">", "&>>", "&>",
];

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Parsed<Command> {
        let (mut simple, mut redirects) = (Simple::default(), Vec::new());
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            if let Some(assignment) = self.assignment(&simple)? {
                simple.assignments.push(assignment);
                continue;
            }
            let Some(word) = self.word()? else { break };
            simple.words.push(word);
            if simple.words.len() == 1 && self.parentheses() {
                let name = simple.words[0].literal().ok_or(Limit::Syntax)?;
                let kind = self.function(name)?;
                return Ok(Command { kind, redirects });
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && redirects.is_empty() {
            return Err(Limit::Syntax);
        }
        let kind = Kind::Simple(simple);
        Ok(Command { kind, redirects })
    }

    /// Takes the `()` behind a function's name.
    pub(super) fn parentheses(&mut self) -> bool {
        let start = self.at;
        self.skip_blanks();
        let found = self.eat("()") || self.eat("( )");
        if !found {
            self.at = start;
        }
        found
    }

    /// `name=word`, `name+=(…)`, `name[i]=word` before a command's words; an array may also
    /// be one of them, behind `declare`.
    fn assignment(&mut self, simple: &Simple) -> Parsed<Option<Assignment>> {
        let start = self.at;
        let name = self.take_while(is_name_byte);
        let is_element = self.peek() == Some(b'[') && {
            self.take_while(|byte| byte != b']' && !is_meta(byte));
            self.eat("]")
        };
        let how = match (is_element, self.eat("+")) {
            (true, _) => How::Element,
            (false, true) => How::Append,
            (false, false) => How::Set,
        };
        let is_assignment = is_name(name) && self.eat("=");
        if !is_assignment || !(simple.words.is_empty() || self.peek() == Some(b'(')) {
            self.at = start;
            return Ok(None);
        }
        let value = if self.eat("(") {
            Assigned::Array(self.array()?)
        } else {
            Assigned::Word(self.word()?.unwrap_or_default())
        };
        Ok(Some(Assignment {
            name: name.to_owned(),
            how,
            value,
        }))
    }

    fn array(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            words.extend(self.words()?);
            match self.peek() {
                Some(b'\n') => self.skip_lines()?,
                _ if self.eat(")") => return Ok(words),
                _ => return Err(Limit::Syntax),
            }
        }
    }

    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let start = self.at;
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9')) {
            return Ok(None);
        }
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let mut fd = digits.parse().ok();
        if digits.is_empty() && self.eat("{") {
            let name = self.take_while(is_name_byte);
            // Its number is none of the usual ones.
            fd = (is_name(name) && self.eat("}")).then_some(u32::MAX);
        }
        let opens_process = self.peek_at(1) == Some(b'(');
        let operator = OPERATORS.iter().find(|operator| self.eat(operator));
        let (Some(operator), false) = (operator, opens_process) else {
            self.at = start;
            return Ok(None);
        };
        self.skip_blanks();
        let raw_start = self.at;
        let word = self.word()?.ok_or(Limit::Syntax)?;
        let raw = self.text.get(raw_start..self.at).unwrap_or("");
        let to = match *operator {
            "<<<" => To::HereString(word),
            "<<" => To::Heredoc(self.heredoc(raw, Tabs::Kept)),
            "<<-" => To::Heredoc(self.heredoc(raw, Tabs::Dropped)),
            "<" | "<&" => To::Read(word),
            ">>" | "&>>" | "<>" => To::Append(word),
            ">&" => To::Duplicate(word),
            _ => To::Write(word),
        };
        Ok(Some(Redirect { fd, to }))
    }

    fn heredoc(&mut self, delimiter: &str, tabs: Tabs) -> Rc<OnceCell<Word>> {
        let is_quote = |c| matches!(c, '\'' | '"' | '\\');
        let text = Rc::new(OnceCell::new());
        self.pending.push(Heredoc {
            delimiter: delimiter.replace(is_quote, ""),
            quoting: if delimiter.contains(is_quote) {
                Quoting::Quoted
            } else {
                Quoting::Bare
            },
            tabs,
            text: text.clone(),
        });
        text
    }
}
