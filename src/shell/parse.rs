//! The grammar of Bash commands, as far as it decides what runs.
//!
//! Nothing here fails: at a syntax error the reading stops and the commands
//! before it stand.

use std::borrow::Cow;

use super::byte::{ACTIVE, BLANK, META, QUOTE, is_any, is_meta, is_name, is_name_byte};
use super::lex::{Cursor, Part, Stop, Word};
use super::syntax::{
    Assigned, Assignment, Command, Compound, Few, How, Link, List, Sense, Simple, Step,
};

/// The last chain of a list runs in a process of its own.
fn put_in_background(steps: &mut List<'_>) {
    let start = steps.iter().rposition(|step| step.link == Link::Always);
    let chain = steps.split_off(start.unwrap_or(0));
    let group = Compound::Background(chain).into();
    steps.push(Step::alone(group));
}

impl<'a> Cursor<'a> {
    /// Commands up to a closing word, a parenthesis or the end.
    pub(super) fn list(&mut self) -> List<'a> {
        let mut steps = self.spare_lists.pop().unwrap_or_default();
        let mut link = Link::Always;
        self.rest_of_list(&mut steps, &mut link);
        steps
    }

    fn rest_of_list(&mut self, steps: &mut List<'a>, link: &mut Link) {
        while self.step(steps, link) {}
    }

    /// Reads on until no command waits for a heredoc; nothing is added at the
    /// list's end. So a long script is run as it is read and never held whole.
    pub(super) fn line(&mut self, steps: &mut List<'a>, link: &mut Link) {
        while self.step(steps, link) {
            // `&` behind a chain is its last step's word on all of it.
            if *link != Link::Always {
                continue;
            }
            if self.pending.is_empty() {
                return;
            }
            self.blank_lines();
            if self.pending.is_empty() {
                return;
            }
        }
    }

    /// Reads the next pipeline; `false` at a closing word, a parenthesis or the
    /// end. `link` is what stood before it and becomes what stands behind it.
    fn step(&mut self, steps: &mut List<'a>, link: &mut Link) -> bool {
        loop {
            self.blank_lines();
            if self.at_list_end() {
                return false;
            }
            let before = self.at;
            let (sense, pipeline) = self.pipeline();
            self.blanks();
            let in_background = self.peek() == Some(b'&') && self.peek_at(1) != Some(b'&');
            let next = match self.peek() {
                Some(b'&') if self.eat("&&") => Link::And,
                Some(b'|') if self.eat("||") => Link::Or,
                Some(b';' | b'&') if !self.at_list_end() => {
                    self.at += 1;
                    Link::Always
                }
                _ => Link::Always,
            };
            // Nothing was consumed: whatever stands here would never be.
            if self.at == before {
                self.stop();
            }
            let link = std::mem::replace(link, next);
            if pipeline.is_empty() {
                continue;
            }
            steps.push(Step {
                link,
                sense,
                pipeline,
            });
            if in_background {
                put_in_background(steps);
            }
            return true;
        }
    }

    /// Takes back the room of commands that ran.
    pub(super) fn recycle(&mut self, steps: &mut List<'a>) {
        for step in steps.drain(..) {
            match step.pipeline {
                Few::One([command]) => self.take_back(command),
                Few::Any(mut commands) => {
                    commands
                        .drain(..)
                        .for_each(|command| self.take_back(command));
                    self.spare_pipeline = Some(commands);
                }
            }
        }
    }

    fn take_back(&mut self, command: Command<'a>) {
        match command {
            Command::Simple(mut simple) => {
                simple.assignments.clear();
                simple.words.clear();
                simple.redirects.clear();
                self.spare.push(simple);
            }
            Command::Compound(compound, _) => {
                if let Compound::Group(mut list)
                | Compound::Subshell(mut list)
                | Compound::For { body: mut list, .. } = *compound
                {
                    self.recycle(&mut list);
                    self.spare_lists.push(list);
                }
            }
            Command::Lean(_) => {}
        }
    }

    fn at_list_end(&self) -> bool {
        match (self.peek(), self.peek_at(1)) {
            (None | Some(b')'), _) => true,
            (Some(b';'), next) => matches!(next, Some(b';' | b'&')),
            (Some(b't'), Some(b'h')) => self.is_at("then"),
            (Some(b'e'), Some(b'l')) => self.is_at("else") || self.is_at("elif"),
            (Some(b'e'), Some(b's')) => self.is_at("esac"),
            (Some(b'f'), Some(b'i')) => self.is_at("fi"),
            (Some(b'd'), Some(b'o')) => self.is_at("do") || self.is_at("done"),
            (Some(b'}'), _) => self.is_at("}"),
            (Some(_), _) => false,
        }
    }

    /// The unquoted word at the cursor, as far as it is plain.
    pub(super) fn peek_bare(&self) -> &'a str {
        let rest = self.rest();
        let len = rest
            .bytes()
            .position(|b| is_meta(b) || matches!(b, b'\'' | b'"' | b'\\' | b'$' | b'`'));
        rest.get(..len.unwrap_or(rest.len())).unwrap_or("")
    }

    /// Whether a reserved word is at the cursor.
    pub(super) fn is_at(&self, word: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or(&[]);
        let behind = rest.strip_prefix(word.as_bytes());
        behind.is_some_and(|behind| behind.first().is_none_or(|byte| is_meta(*byte)))
    }

    /// Takes a reserved word at the cursor.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let found = self.is_at(word);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn expect(&mut self, word: &str) {
        self.blank_lines();
        if !self.keyword(word) {
            self.stop();
        }
    }

    #[inline]
    pub(super) fn blanks(&mut self) {
        if self.peek().is_some_and(|byte| is_any(byte, BLANK)) {
            self.skip_blanks();
        }
    }

    #[inline(never)]
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') => {
                    let rest = self.rest();
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn newline(&mut self) -> bool {
        let found = self.peek() == Some(b'\n');
        if found {
            self.at += 1;
            self.read_heredocs();
        }
        found
    }

    pub(super) fn blank_lines(&mut self) {
        self.blanks();
        while self.newline() {
            self.blanks();
        }
    }

    fn pipeline(&mut self) -> (Sense, Few<Command<'a>>) {
        let mut commands = self
            .spare_pipeline
            .take()
            .map_or_else(Few::default, Few::Any);
        let mut sense = Sense::Plain;
        loop {
            self.pipeline_prefix(&mut sense);
            let before = self.at;
            if let Some(command) = self.nested(Self::command).flatten() {
                commands.push(command);
            }
            self.blanks();
            let piped = self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|');
            if !piped || self.at == before {
                return (sense, commands);
            }
            self.at += 1;
            self.eat("&");
            self.blank_lines();
        }
    }

    /// `!`, `time` and `coproc` change neither what runs nor what it writes.
    fn pipeline_prefix(&mut self, sense: &mut Sense) {
        loop {
            self.blanks();
            match (self.peek(), self.peek_at(1)) {
                (Some(b't'), Some(b'i')) if self.keyword("time") => {
                    self.blanks();
                    self.keyword("-p");
                    self.blanks();
                    self.keyword("--");
                }
                (Some(b'c'), Some(b'o')) if self.keyword("coproc") => self.coproc_name(),
                (Some(b'!'), _) if self.keyword("!") => {
                    *sense = match sense {
                        Sense::Plain => Sense::Negated,
                        Sense::Negated => Sense::Plain,
                    };
                }
                _ => return,
            }
        }
    }

    /// `coproc NAME {`.
    fn coproc_name(&mut self) {
        self.blanks();
        let name = self.peek_bare();
        let start = self.at;
        if is_name(name) {
            self.at += name.len();
            self.blanks();
            if !matches!(self.peek(), Some(b'{' | b'(')) {
                self.at = start;
            }
        }
    }

    pub(super) fn command(&mut self) -> Option<Command<'a>> {
        let compound = match self.peek()? {
            b'(' if self.peek_at(1) == Some(b'(') => match self.arithmetic() {
                Some(parts) => Some(Compound::Arith(parts)),
                None => Some(self.subshell()),
            },
            b'(' => Some(self.subshell()),
            b'{' | b'[' | b'i' | b'w' | b'u' | b'f' | b's' | b'c' => self.keyword_compound(),
            _ => None,
        };
        match compound {
            Some(compound) => {
                let mut redirects = Vec::new();
                while let Some(redirect) = self.redirect() {
                    redirects.push(redirect);
                }
                Some(Command::Compound(Box::new(compound), redirects))
            }
            None => self.simple(),
        }
    }

    /// Words up to an operator, with what may stand between them.
    pub(super) fn words(&mut self, between: fn(&mut Self)) -> Vec<Word<'a>> {
        let mut words = Vec::new();
        loop {
            between(self);
            let before = self.at;
            let word = self.word(Stop::Blank);
            if self.at == before {
                return words;
            }
            words.push(word);
        }
    }

    fn simple(&mut self) -> Option<Command<'a>> {
        match self.lean() {
            Some(text) => Some(Command::Lean(text)),
            None => self.tree(),
        }
    }

    /// Reads a simple command word by word.
    pub(super) fn tree(&mut self) -> Option<Command<'a>> {
        let mut simple = self.spare.pop().unwrap_or_default();
        let start = self.at;
        loop {
            if !simple.words.is_empty() {
                self.plain_words(&mut simple.words);
            }
            if let Some(redirect) = self.redirect() {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()
            {
                simple.assignments.push(assignment);
                continue;
            }
            let before = self.at;
            let word = self.word(Stop::Blank);
            if self.at == before {
                break;
            }
            // `name ()` defines a function only where a command may begin.
            let first = simple.words.is_empty() && simple.assignments.is_empty();
            let end = self.at;
            if first && self.empty_parentheses() {
                let name = self.text.get(before..end).unwrap_or("");
                return Some(self.function(name).into());
            }
            simple.words.push(word);
            self.declared_arrays(&mut simple);
        }
        // A parenthesis here is a syntax error, and Bash runs nothing behind it.
        if self.peek() == Some(b'(') {
            self.stop();
        }
        (self.at > start).then_some(Command::Simple(simple))
    }

    /// Most words behind a command's name are plain text, bare or in quotes, with one blank
    /// in front.
    fn plain_words(&mut self, words: &mut Vec<Word<'a>>) {
        let bytes = self.text.as_bytes();
        while self.peek() == Some(b' ') {
            let at = self.at + 1;
            let rest = bytes.get(at..).unwrap_or(&[]);
            let (start, len, end) = match rest {
                [] | [b'#', ..] => return,
                [mark @ (b'\'' | b'"'), quoted @ ..] => {
                    let expands = |byte: u8| *mark == b'"' && matches!(byte, b'$' | b'`' | b'\\');
                    let mut bytes = quoted.iter();
                    match bytes.position(|byte| byte == mark || expands(*byte)) {
                        Some(len) if quoted[len] == *mark => (at + 1, len, len + 2),
                        _ => return,
                    }
                }
                _ => {
                    let ends = |byte: &u8| is_any(*byte, META | QUOTE | ACTIVE);
                    match rest.iter().position(ends).unwrap_or(rest.len()) {
                        0 => return,
                        len => (at, len, len),
                    }
                }
            };
            // What else ends a word may belong to it, or make it a redirection's.
            let ends_word = matches!(
                rest.get(end),
                None | Some(b' ' | b'\n' | b';' | b'|' | b')')
            );
            let text = self.text.get(start..start + len);
            let Some(text) = text.filter(|_| ends_word) else {
                return;
            };
            words.push(Word {
                parts: Few::One([Part::Text(Cow::Borrowed(text))]),
            });
            self.at = at + end;
        }
    }

    /// `local a=(…)` and its like: the parenthesis belongs to the word before it.
    fn declared_arrays(&mut self, simple: &mut Simple<'a>) {
        let opens = self.peek() == Some(b'(');
        let last = simple.words.last().and_then(|word| word.parts.last());
        if let Some(Part::Bare(text)) = last
            && opens
            && let Some(name) = text.strip_suffix('=')
        {
            let value = self.array();
            simple.assignments.push(Assignment {
                name,
                how: How::Set,
                value,
            });
        }
    }

    /// Takes the `()` behind a function's name.
    pub(super) fn empty_parentheses(&mut self) -> bool {
        let start = self.at;
        self.blanks();
        let opens = self.eat("(");
        self.blanks();
        let found = opens && self.eat(")");
        if !found {
            self.at = start;
        }
        found
    }

    /// `name=`, `name+=` and `name[index]=` before a command.
    fn assignment(&mut self) -> Option<Assignment<'a>> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut len = bytes.iter().position(|b| !is_name_byte(*b))?;
        let name = rest.get(..len).filter(|name| is_name(name))?;
        let mut how = How::Set;
        if bytes.get(len) == Some(&b'[') {
            let line = bytes.get(len..)?.split(|b| is_meta(*b)).next()?;
            let n = line.iter().position(|b| *b == b']')?;
            how = How::Element(rest.get(len + 1..len + n)?);
            len += n + 1;
        }
        if bytes.get(len) == Some(&b'+') {
            len += 1;
            how = How::Append;
        }
        if bytes.get(len) != Some(&b'=') {
            return None;
        }
        self.at += len + 1;
        let value = if self.peek() == Some(b'(') {
            self.array()
        } else {
            Assigned::Word(self.word(Stop::Blank))
        };
        Some(Assignment { name, how, value })
    }

    fn array(&mut self) -> Assigned<'a> {
        self.at += 1;
        let words = self.words(Self::blank_lines);
        if !self.eat(")") {
            self.stop();
        }
        Assigned::Array(words)
    }
}
