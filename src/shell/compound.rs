//! The grammar of compound commands: groups, branches, loops, functions.

use super::lex::{Cursor, Part, Stop};
use super::syntax::{Arm, Compound, Few, List, Sense, Step, Then};

impl<'a> Cursor<'a> {
    pub(super) fn keyword_compound(&mut self) -> Option<Compound<'a>> {
        let second = self.peek_at(1).unwrap_or(b' ');
        Some(match (self.peek()?, second) {
            (b'{', _) if self.keyword("{") => {
                let list = self.list();
                self.expect("}");
                Compound::Group(list)
            }
            (b'i', b'f') if self.keyword("if") => self.if_command(),
            (b'w', b'h') if self.keyword("while") => self.while_command(Sense::Plain),
            (b'u', b'n') if self.keyword("until") => self.while_command(Sense::Negated),
            (b'f', b'o') if self.keyword("for") => self.for_command(),
            (b's', b'e') if self.keyword("select") => self.for_command(),
            (b'c', b'a') if self.keyword("case") => self.case_command(),
            (b'[', b'[') if self.keyword("[[") => self.test_command(),
            (b'f', b'u') if self.keyword("function") => {
                self.blanks();
                let name = self.peek_bare();
                self.at += name.len();
                self.empty_parentheses();
                self.function(name)
            }
            _ => return None,
        })
    }

    pub(super) fn subshell(&mut self) -> Compound<'a> {
        self.at += 1;
        let list = self.list();
        if !self.eat(")") {
            self.stop();
        }
        Compound::Subshell(list)
    }

    fn while_command(&mut self, sense: Sense) -> Compound<'a> {
        let condition = self.list();
        let body = self.do_body();
        Compound::While {
            sense,
            condition,
            body,
        }
    }

    /// Every arm is read: which one runs is known only when it runs.
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

    /// `do … done`, and the braces that Bash takes in their place.
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
            let test = Compound::Arith(head).into();
            return Compound::While {
                sense: Sense::Plain,
                condition: vec![Step::alone(test)],
                body,
            };
        }
        let name = self.peek_bare();
        self.at += name.len();
        self.blank_lines();
        let words = self.keyword("in").then(|| self.words(Self::blanks));
        self.blanks();
        self.eat(";");
        let body = self.do_body();
        Compound::For { name, words, body }
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
            // Without its parenthesis the rest would be read as commands that are none.
            if !self.eat(")") {
                self.stop();
            }
            let body = self.list();
            let then = if self.eat(";;&") {
                Then::NextMatch
            } else if !self.eat(";;") && self.eat(";&") {
                Then::NextBody
            } else {
                Then::Ends
            };
            arms.push(Arm {
                patterns,
                body,
                then,
            });
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
            let mut word = self.word(Stop::Blank);
            if self.at == before {
                self.at += 1;
                let mark = self.text.get(before..self.at).unwrap_or("");
                word.parts = Few::One([Part::Bare(mark)]);
            }
            words.push(word);
        }
    }

    pub(super) fn function(&mut self, name: &'a str) -> Compound<'a> {
        self.blank_lines();
        let start = self.at;
        // Read for its end only: whoever calls it reads it again, with arguments.
        self.nested(Self::command);
        let body = self.text.get(start..self.at).unwrap_or("");
        Compound::Function { name, body }
    }
}
