//! The grammar of Bash commands, as far as it decides what runs.
//!
//! Nothing here fails: at a syntax error the reading stops and the commands
//! before it stand.

use super::lex::{Cursor, Part, Stop, Word, is_meta, is_name, is_name_byte};
use super::syntax::{
    Assigned, Assignment, Command, Compound, Fd, How, Link, List, Redirect, Script, Simple, Step,
    To,
};

pub(super) fn script(text: &str) -> Script<'_> {
    let mut cursor = Cursor::new(text);
    let list = cursor.list();
    Script {
        list,
        heredocs: cursor.heredocs,
    }
}

const CLOSERS: [&str; 8] = ["then", "else", "elif", "fi", "do", "done", "esac", "}"];

/// Operators in the order they must be tried.
const REDIRECTIONS: [&str; 12] = [
    "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">",
];

impl<'a> Cursor<'a> {
    /// Commands up to a closing word, a parenthesis or the end.
    pub(super) fn list(&mut self) -> List<'a> {
        let mut steps = List::new();
        let mut link = Link::Always;
        loop {
            self.blank_lines();
            if self.at_list_end() {
                return steps;
            }
            let before = self.at;
            let pipeline = self.pipeline();
            if !pipeline.is_empty() {
                steps.push(Step { link, pipeline });
            }
            self.blanks();
            link = match self.peek() {
                Some(b'&') if self.eat("&&") => Link::And,
                Some(b'|') if self.eat("||") => Link::Or,
                Some(b';') if self.at_list_end() => return steps,
                Some(b';' | b'&') => {
                    self.at += 1;
                    Link::Always
                }
                Some(b'\n') => Link::Always,
                None | Some(b')') => return steps,
                _ if self.at_list_end() => return steps,
                _ => Link::Always,
            };
            if self.at == before {
                self.stop();
            }
        }
    }

    fn at_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
            Some(b't' | b'e' | b'f' | b'd' | b'}') => CLOSERS.contains(&self.peek_bare()),
            Some(_) => false,
        }
    }

    /// The unquoted word at the cursor, as far as it is plain.
    fn peek_bare(&self) -> &'a str {
        let rest = self.rest();
        let len = rest
            .bytes()
            .position(|b| is_meta(b) || matches!(b, b'\'' | b'"' | b'\\' | b'$' | b'`'));
        rest.get(..len.unwrap_or(rest.len())).unwrap_or("")
    }

    /// A reserved word at the cursor.
    fn keyword(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word) && self.peek_at(word.len()).is_none_or(is_meta);
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect(&mut self, word: &str) {
        self.blank_lines();
        if !self.keyword(word) {
            self.stop();
        }
    }

    fn blanks(&mut self) {
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
        let found = self.eat("\n");
        if found {
            self.read_heredocs();
        }
        found
    }

    fn blank_lines(&mut self) {
        self.blanks();
        while self.newline() {
            self.blanks();
        }
    }

    fn pipeline(&mut self) -> Vec<Command<'a>> {
        let mut commands = Vec::new();
        loop {
            self.pipeline_prefix();
            let before = self.at;
            if let Some(command) = self.nested(Self::command).flatten() {
                commands.push(command);
            }
            self.blanks();
            let piped = self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|');
            if !piped || self.at == before {
                return commands;
            }
            self.at += 1;
            self.eat("&");
            self.blank_lines();
        }
    }

    fn pipeline_prefix(&mut self) {
        loop {
            self.blanks();
            if !matches!(self.peek(), Some(b't' | b'!' | b'c')) {
                return;
            }
            if self.keyword("time") {
                self.blanks();
                self.keyword("-p");
            } else if self.keyword("coproc") {
                self.coproc_name();
            } else if !self.keyword("!") {
                return;
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

    fn command(&mut self) -> Option<Command<'a>> {
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
                Some(Command::Compound(compound, redirects))
            }
            None => self.simple(),
        }
    }

    fn keyword_compound(&mut self) -> Option<Compound<'a>> {
        if self.keyword("{") {
            let list = self.list();
            self.expect("}");
            return Some(Compound::Group(list));
        }
        if self.keyword("if") {
            return Some(self.if_command());
        }
        if self.keyword("while") || self.keyword("until") {
            let condition = self.list();
            let body = self.do_body();
            return Some(Compound::While { condition, body });
        }
        if self.keyword("for") || self.keyword("select") {
            return Some(self.for_command());
        }
        if self.keyword("case") {
            return Some(self.case_command());
        }
        if self.keyword("[[") {
            return Some(self.test_command());
        }
        if self.keyword("function") {
            self.blanks();
            let name = self.peek_bare();
            self.at += name.len();
            self.blanks();
            if self.eat("(") {
                self.blanks();
                self.eat(")");
            }
            return Some(self.function(name));
        }
        None
    }

    fn subshell(&mut self) -> Compound<'a> {
        self.at += 1;
        let list = self.list();
        if !self.eat(")") {
            self.stop();
        }
        Compound::Subshell(list)
    }

    fn if_command(&mut self) -> Compound<'a> {
        let mut arms = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.list();
            self.expect("then");
            let body = self.list();
            arms.push((condition, body));
            self.blank_lines();
            if !self.keyword("elif") {
                break;
            }
        }
        if self.keyword("else") {
            otherwise = Some(self.list());
        }
        self.expect("fi");
        Compound::If { arms, otherwise }
    }

    fn do_body(&mut self) -> List<'a> {
        self.blank_lines();
        let end = if self.keyword("{") {
            "}"
        } else {
            self.expect("do");
            "done"
        };
        let body = self.list();
        self.expect(end);
        body
    }

    fn for_command(&mut self) -> Compound<'a> {
        self.blanks();
        if self.peek() == Some(b'(') {
            let head = self.arithmetic().unwrap_or_default();
            self.blanks();
            self.eat(";");
            let body = self.do_body();
            let test = Command::Compound(Compound::Arith(head), Vec::new());
            let step = Step {
                link: Link::Always,
                pipeline: vec![test],
            };
            return Compound::While {
                condition: vec![step],
                body,
            };
        }
        let name = self.peek_bare();
        self.at += name.len();
        self.blank_lines();
        let words = self.keyword("in").then(|| self.words());
        self.blanks();
        self.eat(";");
        let body = self.do_body();
        Compound::For { name, words, body }
    }

    /// Words up to an operator or the line's end.
    fn words(&mut self) -> Vec<Word<'a>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            let before = self.at;
            let word = self.word(Stop::Blank);
            if self.at == before {
                return words;
            }
            words.push(word);
        }
    }

    fn case_command(&mut self) -> Compound<'a> {
        self.blanks();
        let subject = self.word(Stop::Blank);
        self.expect("in");
        let mut arms = Vec::new();
        loop {
            self.blank_lines();
            if self.peek().is_none() || self.keyword("esac") {
                return Compound::Case { subject, arms };
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word(Stop::Blank));
                self.blanks();
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                self.stop();
            }
            let body = self.list();
            arms.push((patterns, body));
            if !self.eat(";;&") && !self.eat(";;") {
                self.eat(";&");
            }
        }
    }

    /// `[[ … ]]`: `<`, `>`, `(`, `&&` compare or group and redirect nothing.
    fn test_command(&mut self) -> Compound<'a> {
        let mut words = Vec::new();
        loop {
            self.blank_lines();
            if self.peek().is_none() || self.keyword("]]") {
                return Compound::Test(words);
            }
            let before = self.at;
            words.push(self.word(Stop::Blank));
            if self.at == before {
                self.at += 1;
            }
        }
    }

    fn function(&mut self, name: &'a str) -> Compound<'a> {
        self.blank_lines();
        let start = self.at;
        self.nested(Self::command);
        let body = self.text.get(start..self.at).unwrap_or("");
        Compound::Function { name, body }
    }

    fn simple(&mut self) -> Option<Command<'a>> {
        let mut simple = Simple::default();
        let start = self.at;
        loop {
            self.blanks();
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
            let first = simple.words.is_empty() && simple.assignments.is_empty();
            if first && self.function_follows() {
                let name = self.text.get(before..self.at).unwrap_or("");
                self.blanks();
                self.at += 1;
                self.blanks();
                self.at += 1;
                return Some(Command::Compound(self.function(name), Vec::new()));
            }
            simple.words.push(word);
            self.declared_arrays(&mut simple);
        }
        if self.peek() == Some(b'(') {
            self.stop();
        }
        (self.at > start).then_some(Command::Simple(simple))
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

    fn function_follows(&mut self) -> bool {
        let at = self.at;
        self.blanks();
        let opens = self.eat("(");
        self.blanks();
        let closes = opens && self.peek() == Some(b')');
        self.at = at;
        closes
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
            len += line.iter().position(|b| *b == b']')? + 1;
            how = How::Element;
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
        let mut words = Vec::new();
        loop {
            self.blank_lines();
            let before = self.at;
            let word = self.word(Stop::Blank);
            if self.at == before {
                break;
            }
            words.push(word);
        }
        if !self.eat(")") {
            self.stop();
        }
        Assigned::Array(words)
    }

    fn redirect(&mut self) -> Option<Redirect<'a>> {
        self.blanks();
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9')) {
            return None;
        }
        let start = self.at;
        let fd = self.descriptor();
        let operator = REDIRECTIONS.iter().find(|op| self.rest().starts_with(**op));
        let substitutes = matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(');
        let Some(operator) = operator.filter(|_| !substitutes) else {
            self.at = start;
            return None;
        };
        self.at += operator.len();
        // `>!` of zsh is `>|`.
        if self.rest().starts_with("! ") && matches!(*operator, ">" | ">>") {
            self.at += 1;
        }
        self.blanks();
        let before = self.at;
        let word = self.word(Stop::Blank);
        let to = match *operator {
            _ if self.at == before => To::Nothing,
            "<" => To::Read(word),
            ">" | ">|" => To::Write(word),
            ">>" => To::Append(word),
            "<>" => To::ReadWrite(word),
            ">&" => To::Duplicate(word),
            "&>" => To::Both(word),
            "&>>" => To::BothAppend(word),
            "<<<" => To::HereString(word),
            "<<" | "<<-" => To::Heredoc(self.expect_heredoc(&word, *operator == "<<-")),
            _ => To::Nothing,
        };
        Some(Redirect { fd, to })
    }

    /// Digits or `{name}` directly before a redirection.
    fn descriptor(&mut self) -> Fd {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (fd, len) = if digits > 0 {
            let number = rest.get(..digits).and_then(|text| text.parse().ok());
            (number.map_or(Fd::Named, Fd::Number), digits)
        } else if let Some(inner) = rest.strip_prefix('{') {
            let name = inner.bytes().take_while(|b| is_name_byte(*b)).count();
            if name == 0 || inner.as_bytes().get(name) != Some(&b'}') {
                return Fd::Usual;
            }
            (Fd::Named, name + 2)
        } else {
            return Fd::Usual;
        };
        if matches!(self.peek_at(len), Some(b'<' | b'>')) {
            self.at += len;
            fd
        } else {
            Fd::Usual
        }
    }
}
