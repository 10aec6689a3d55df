//! Writing calls in a script: the literals that stand as their destinations.

use std::collections::HashMap;

use super::code::{Code, Language, Token, read};
use super::effects::{On, rows};
use super::eval::Shell;
use super::field::{Field, UNKNOWN};
use super::value::{Reader, Span, append};
use crate::target::Act;

/// Words that may stand before a parenthesis without calling anything.
const KEYWORDS: [&str; 14] = [
    "with", "in", "if", "elif", "while", "return", "and", "or", "not", "else", "yield", "await",
    "assert", "of",
];

/// Tokens of one statement that are looked at: every name in it may look ahead.
const MAX_STATEMENT: usize = 512;

pub(super) struct Script<'c, 'a, 'h, 's> {
    pub(super) code: &'c Code<'a>,
    pub(super) language: Language,
    pub(super) shell: &'h mut Shell<'s>,
    /// The values a name may hold, where all of them are known.
    pub(super) variables: HashMap<String, Vec<Field>>,
}

/// Reports what a script would change.
pub(super) fn analyse(shell: &mut Shell<'_>, language: Language, text: &str) {
    let code = read(language, text);
    shell.subshell(|shell| {
        let mut script = Script {
            code: &code,
            language,
            shell,
            variables: HashMap::new(),
        };
        script.walk();
        None
    });
}

/// An awk program: its calls, and where `print` leads.
pub(super) fn analyse_awk(shell: &mut Shell<'_>, text: &str, variables: Vec<(String, Field)>) {
    let code = read(Language::Awk, text);
    let variables = variables
        .into_iter()
        .map(|(name, value)| (name, vec![value]));
    let mut script = Script {
        code: &code,
        language: Language::Awk,
        shell,
        variables: variables.collect(),
    };
    script.walk();
}

impl Script<'_, '_, '_, '_> {
    fn walk(&mut self) {
        for at in 0..self.code.tokens.len() {
            match self.code.tokens.get(at) {
                Some(Token::Word(word)) => {
                    let word = *word;
                    self.bind(at, word);
                    match word {
                        "for" | "foreach" => self.bind_loop(at),
                        "each" | "forEach" | "map" => self.bind_block(at),
                        "print" | "printf" if self.language == Language::Awk => self.print(at),
                        _ => self.call(at, word),
                    }
                }
                Some(Token::Command(pieces)) => {
                    for command in self.texts(pieces) {
                        self.shell.run_again(&command.text);
                    }
                }
                Some(Token::Text(_)) if self.language == Language::Awk => self.pipe_in(at),
                Some(Token::Mark('[' | '(')) if self.language == Language::Python => {
                    self.bind_comprehension(at);
                }
                _ => {}
            }
        }
    }

    pub(super) fn mark(&self, at: usize) -> Option<char> {
        match self.code.tokens.get(at) {
            Some(Token::Mark(c)) => Some(*c),
            _ => None,
        }
    }

    pub(super) fn word(&self, at: usize) -> Option<&str> {
        match self.code.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn before(&self, at: usize) -> Option<char> {
        at.checked_sub(1).and_then(|at| self.mark(at))
    }

    pub(super) fn values(&mut self, span: Span) -> Vec<Field> {
        Reader::new(self, span).whole()
    }

    /// `name = value`; a value that is not known makes the name unknown.
    fn bind(&mut self, at: usize, name: &str) {
        let assigns = self.mark(at + 1) == Some('=')
            && !matches!(self.mark(at + 2), Some('=' | '>' | '~'))
            && self.before(at) != Some('.')
            && !(self.language == Language::Python && self.is_argument(at));
        if !assigns {
            return;
        }
        let values = self.values((at + 2, self.statement_end(at + 2)));
        if values.is_empty() {
            self.variables.remove(name);
        } else {
            self.variables.insert(name.to_owned(), values);
        }
    }

    /// `name=value` between the parentheses of a call.
    fn is_argument(&self, at: usize) -> bool {
        matches!(self.before(at), Some('(' | ','))
    }

    /// The end of the statement, or of the bracket that holds it.
    fn statement_end(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(token) = self
            .code
            .tokens
            .get(at)
            .filter(|_| at < from + MAX_STATEMENT)
        {
            match token {
                Token::End | Token::Mark(',' | ')' | ']' | '}') => break,
                _ => at = self.after(at),
            }
        }
        at
    }

    /// The next token at the same level of brackets.
    pub(super) fn after(&self, at: usize) -> usize {
        let partner = self.code.partner.get(at).copied().unwrap_or(at);
        partner.max(at) + 1
    }

    /// `for x in VALUES`, `for (const x of VALUES)`, `foreach ($v as $x)`.
    fn bind_loop(&mut self, at: usize) {
        let words = ["const", "let", "var", "my", "our", "await"];
        let mut start = at + 1;
        let mut end = None;
        if self.mark(start) == Some('(') {
            end = self.code.partner.get(start).copied();
            start += 1;
        }
        while self.word(start).is_some_and(|word| words.contains(&word)) {
            start += 1;
        }
        let Some(name) = self.word(start).map(str::to_owned) else {
            return;
        };
        let span = match (self.word(start + 1), self.mark(start + 1)) {
            (Some("in" | "of"), _) => (
                start + 2,
                end.unwrap_or_else(|| self.block_start(start + 2)),
            ),
            (Some("as"), _) => {
                let Some(item) = self.word(start + 2).map(str::to_owned) else {
                    return;
                };
                let values = self.values((start, start + 1));
                self.variables.insert(item, values);
                return;
            }
            (None, Some('(')) => (start + 1, self.after(start + 1)),
            _ => return,
        };
        let values = self.values(span);
        self.variables.insert(name, values);
    }

    /// `[f(x) for x in VALUES]`: the name is used before the loop that binds it.
    fn bind_comprehension(&mut self, open: usize) {
        let end = self.after(open) - 1;
        let mut at = open + 1;
        while at < end {
            if self.word(at) == Some("for") {
                self.bind_loop(at);
            }
            at = self.after(at);
        }
    }

    /// Where a Python or Ruby loop's body begins.
    fn block_start(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(token) = self.code.tokens.get(at) {
            match token {
                Token::End | Token::Mark(':' | '{' | ')' | ']' | '}') => break,
                Token::Word("do" | "if" | "for") => break,
                _ => at = self.after(at),
            }
        }
        at
    }

    /// `VALUES.each do |x|`, `VALUES.forEach(x => …)`.
    fn bind_block(&mut self, at: usize) {
        if self.before(at) != Some('.') {
            return;
        }
        let values = self.values((self.receiver_start(at), at - 1));
        let opening = |at: usize| matches!(self.mark(at), Some('(' | '{' | '|'));
        let mut place = at + 1;
        while place < at + 5
            && (opening(place) || matches!(self.word(place), Some("do" | "function" | "async")))
        {
            place += 1;
        }
        if let Some(name) = self.word(place).map(str::to_owned) {
            self.variables.insert(name, values);
        }
    }

    /// The first token of what the method at `at` is called on.
    fn receiver_start(&self, at: usize) -> usize {
        let mut start = at;
        while start >= 2 && self.mark(start - 1) == Some('.') {
            let last = start - 2;
            let partner = self.code.partner.get(last).copied().unwrap_or(last);
            start = partner.min(last);
            let callee = start.checked_sub(1).and_then(|at| self.word(at));
            let called = partner < last && callee.is_some_and(|word| !KEYWORDS.contains(&word));
            if called && self.mark(last) != Some('}') {
                start -= 1;
            }
        }
        start
    }

    fn call(&mut self, at: usize, name: &str) {
        let member = self.before(at) == Some('.');
        for (on, effect) in rows(self.language, name) {
            let own = match on {
                On::Any => true,
                On::Bare => !member,
                On::Names(names) => member && self.stands_on(at, names),
                On::Imported(names) => !member || self.stands_on(at, names),
                On::Path => member,
            };
            if !own || self.defines(at) {
                continue;
            }
            let paths = if on == On::Path {
                self.values((self.receiver_start(at), at - 1))
            } else {
                Vec::new()
            };
            if on == On::Path && paths.is_empty() {
                continue;
            }
            if let Some(arguments) = self.arguments(at) {
                self.apply(effect, &paths, &arguments);
            }
            return;
        }
    }

    /// `def open(…)` and `function copy(…)` define, they do not call.
    fn defines(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.word(at));
        matches!(before, Some("def" | "function" | "sub" | "import"))
    }

    fn stands_on(&self, at: usize, names: &[&str]) -> bool {
        let Some(last) = at.checked_sub(2) else {
            return false;
        };
        match self.code.tokens.get(last) {
            Some(Token::Word(word)) => names.contains(word),
            // `require("fs").…`
            Some(Token::Mark(')')) => {
                let open = self.code.partner.get(last).copied().unwrap_or(last);
                let called = open.checked_sub(1).and_then(|at| self.word(at));
                matches!(called, Some("require" | "__import__" | "import_module"))
            }
            _ => false,
        }
    }

    /// The arguments' places: in parentheses, or up to the statement's end
    /// where the language lets them stand bare.
    fn arguments(&self, at: usize) -> Option<Vec<Span>> {
        let (start, end) = if self.mark(at + 1) == Some('(') {
            (at + 2, self.after(at + 1) - 1)
        } else if self.language == Language::Lisp {
            return self.items_behind(at);
        } else {
            let bare = matches!(
                self.language,
                Language::Ruby | Language::Perl | Language::Lua | Language::AppleScript
            );
            let begins = matches!(
                self.code.tokens.get(at + 1),
                Some(Token::Text(_) | Token::Word(_))
            );
            if !bare || !begins {
                return None;
            }
            (at + 1, self.bare_end(at + 1))
        };
        let mut arguments = Vec::new();
        let mut from = start;
        let mut place = start;
        while place < end {
            // Julia divides with `;` as well.
            let divides =
                self.mark(place) == Some(',') || self.code.tokens.get(place) == Some(&Token::End);
            if divides {
                arguments.push((from, place));
                from = place + 1;
            }
            place = self.after(place);
        }
        if from < end {
            arguments.push((from, end));
        }
        Some(arguments)
    }

    /// Lisp: what stands behind the name in its parentheses.
    fn items_behind(&self, at: usize) -> Option<Vec<Span>> {
        let open = at
            .checked_sub(1)
            .filter(|open| self.mark(*open) == Some('('))?;
        let end = self.after(open) - 1;
        let mut items = Vec::new();
        let mut place = at + 1;
        while place < end && items.len() < MAX_STATEMENT {
            let next = self.after(place);
            if self.code.tokens.get(place) != Some(&Token::End) {
                items.push((place, next));
            }
            place = next;
        }
        Some(items)
    }

    fn bare_end(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(token) = self
            .code
            .tokens
            .get(at)
            .filter(|_| at < from + MAX_STATEMENT)
        {
            match token {
                Token::End | Token::Mark(')' | ']' | '}' | '{') => break,
                Token::Word("if" | "unless" | "or" | "and" | "do" | "for" | "foreach" | "with") => {
                    break;
                }
                _ => at = self.after(at),
            }
        }
        at
    }

    /// `print … > "file"`, `>> "file"`, `| "command"`.
    fn print(&mut self, at: usize) {
        let mut place = at + 1;
        while let Some(token) = self
            .code
            .tokens
            .get(place)
            .filter(|_| place < at + MAX_STATEMENT)
        {
            match token {
                Token::End | Token::Mark('}') => return,
                Token::Mark(mark @ ('>' | '|')) => {
                    let mark = *mark;
                    let appends = self.mark(place + 1) == Some('>');
                    let from = place + 1 + usize::from(appends);
                    let values = self.values((from, self.statement_end(from)));
                    match mark {
                        '|' => values
                            .iter()
                            .for_each(|line| drop(self.shell.run_again(&line.text))),
                        _ if appends => self.shell.report_all(&values, Act::Edit),
                        _ => self.shell.report_all(&values, Act::Write),
                    }
                    return;
                }
                _ => place = self.after(place),
            }
        }
    }

    /// `"command" | getline`.
    fn pipe_in(&mut self, at: usize) {
        if self.mark(at + 1) == Some('|') && self.word(at + 2) == Some("getline") {
            for line in self.values((at, at + 1)) {
                self.shell.run_again(&line.text);
            }
        }
    }

    /// A variable's values, as far as the budget for text goes.
    pub(super) fn variable(&mut self, name: &str) -> Option<Vec<Field>> {
        let values = self.variables.get(name)?;
        let cost = values.iter().map(|value| value.text.len() + 1).sum();
        self.shell.spend(cost).then(|| values.clone())
    }

    /// The texts a literal may stand for.
    pub(super) fn texts(&mut self, pieces: &[super::code::Piece<'_>]) -> Vec<Field> {
        let mut texts = vec![Field::literal("")];
        for piece in pieces {
            match piece {
                super::code::Piece::Literal(text) => {
                    texts.iter_mut().for_each(|field| field.text.push_str(text));
                }
                super::code::Piece::Hole(name) => {
                    let known = self.variable(name);
                    let known = known.or_else(|| self.variable(&format!("${name}")));
                    let unknown = vec![Field::literal(UNKNOWN)];
                    append(&mut texts, known.as_ref().unwrap_or(&unknown));
                }
            }
        }
        texts
    }
}
