//! Writing calls in a script: the literals that stand as their destinations.

use ecow::EcoString;

use super::bind::{Bound, Shape};
use super::code::{Code, Language, Token, read};
use super::effects::{On, rows};
use super::eval::{REPEAT_COST, Shell};
use super::field::Field;
use super::guard::Block;
use super::names::Names;
use super::routine::{Functions, MAX_FOLLOWED, MAX_LEVELS, functions};
use super::value::{Reader, Span};
use crate::base::target::Act;

/// Words that may stand before a parenthesis without calling anything.
const KEYWORDS: [&str; 14] = [
    "with", "in", "if", "elif", "while", "return", "and", "or", "not", "else", "yield", "await",
    "assert", "of",
];

/// Tokens of one statement that are looked at: every name in it may look ahead.
const MAX_STATEMENT: usize = 512;

/// What reading a script once more costs, besides a share by its length.
const SCRIPT_COST: usize = 4 * REPEAT_COST;

pub(super) struct Script<'c, 'a, 'h, 's> {
    pub(super) code: &'c Code<'a>,
    pub(super) language: Language,
    pub(super) shell: &'h mut Shell<'s>,
    pub(super) variables: Names,
    /// What names stand for that were imported: a name, its own and its module's.
    pub(super) imported: Vec<[&'c str; 3]>,
    /// What objects, lists and dictionaries were given: `name.key`.
    pub(super) members: Vec<(EcoString, Bound)>,
    /// Where the names of the present function begin.
    pub(super) frame: usize,
    pub(super) functions: Functions<'a>,
    /// The functions that are being called.
    pub(super) running: Vec<usize>,
    /// What the innermost of them gives back.
    pub(super) returned: Vec<Field>,
    /// Files whose names the program made up, as long as nothing renames what is not known.
    pub(super) made_up: Vec<Field>,
    /// Calls that were followed for their value before the walk comes to them.
    pub(super) followed: Vec<usize>,
    /// The blocks around the present place whose conditions leave out turns of a loop.
    pub(super) blocks: Vec<Block>,
    /// How deep the present function stands, and how many calls deeper is followed.
    pub(super) depth: usize,
    pub(super) levels: usize,
    /// How many tokens the calls may still come to.
    pub(super) room: usize,
}

/// Reports what a script would change that is given these arguments.
pub(super) fn analyse(shell: &mut Shell<'_>, language: Language, text: &str, arguments: &[Field]) {
    if shell.repeats > 0 && !shell.spend(SCRIPT_COST + text.len()) {
        return;
    }
    let code = read(language, text);
    shell.process(|shell| {
        let mut script = Script::new(&code, language, shell);
        script.take_arguments(arguments);
        script.walk((0, code.tokens.len()));
        None
    });
}

// What is asked at every turn is not worth its room in every place.
impl<'a> Code<'a> {
    #[inline(never)]
    pub(super) fn mark(&self, at: usize) -> Option<char> {
        match self.tokens.get(at) {
            Some(Token::Mark(c)) => Some(*c),
            _ => None,
        }
    }

    #[inline(never)]
    pub(super) fn word(&self, at: usize) -> Option<&'a str> {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The next token at the same level of brackets.
    #[inline(never)]
    pub(super) fn after(&self, at: usize) -> usize {
        self.partner(at).max(at) + 1
    }

    /// A token of the statement that begins at a place.
    #[inline]
    fn token_of(&self, from: usize, at: usize) -> Option<&Token<'a>> {
        self.tokens.get(at).filter(|_| at < from + MAX_STATEMENT)
    }

    /// The end of the statement, or of the bracket that holds it.
    pub(super) fn statement_end(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(token) = self.token_of(from, at) {
            match token {
                Token::End | Token::Mark(',' | ')' | ']' | '}') => break,
                _ => at = self.after(at),
            }
        }
        at
    }

    /// What commas, or Julia's `;`, divide from the first place up to the second.
    pub(super) fn divide(&self, (start, end): Span) -> Vec<Span> {
        let mut items = Vec::new();
        let mut from = start;
        let mut place = start;
        while place < end {
            if self.mark(place) == Some(',') || self.tokens.get(place) == Some(&Token::End) {
                if from < place {
                    items.push((from, place));
                }
                from = place + 1;
            }
            place = self.after(place);
        }
        if from < end {
            items.push((from, end));
        }
        items
    }

    /// The items in the brackets that open at a place.
    pub(super) fn items_in(&self, open: usize) -> Vec<Span> {
        match self.mark(open) {
            Some('(' | '[' | '{') => self.divide((open + 1, self.after(open) - 1)),
            _ => Vec::new(),
        }
    }
}

impl<'c, 'a, 'h, 's> Script<'c, 'a, 'h, 's> {
    pub(super) fn new(code: &'c Code<'a>, language: Language, shell: &'h mut Shell<'s>) -> Self {
        Self {
            code,
            language,
            shell,
            variables: Names::default(),
            members: Vec::new(),
            imported: Vec::new(),
            frame: 0,
            functions: functions(code, language),
            running: Vec::new(),
            returned: Vec::new(),
            followed: Vec::new(),
            made_up: Vec::new(),
            blocks: Vec::new(),
            depth: 0,
            levels: MAX_LEVELS,
            room: MAX_FOLLOWED,
        }
    }

    /// Walks over tokens; a function's own ones with parameters of which
    /// nothing is known.
    pub(super) fn walk(&mut self, span: Span) {
        let mut at = span.0;
        let outer = std::mem::take(&mut self.blocks);
        // A function's own walk is over its body.
        let mut body = self.functions.body_from(at + 1);
        while at < span.1 {
            let start = body.map_or(span.1, |(start, _)| start.min(span.1));
            (at..start).for_each(|at| self.look(at));
            at = start;
            if at < span.1
                && let Some((_, function)) = body
            {
                match self.definition(function) {
                    Some(end) => at = end,
                    None => self.look(at),
                }
                at = at.max(start + 1);
            }
            body = self.functions.body_from(at);
        }
        self.leave_blocks(usize::MAX);
        self.blocks = outer;
    }

    fn look(&mut self, at: usize) {
        if !self.blocks.is_empty() {
            self.leave_blocks(at);
        }
        match self.code.tokens.get(at) {
            Some(Token::Word(word)) => {
                self.bind(at, word);
                match *word {
                    "for" | "foreach" => self.bind_loop(at),
                    "each" | "forEach" | "map" => self.bind_block(at),
                    "return" => {
                        self.skip_turns(at);
                        self.give_back(at);
                    }
                    "if" | "elif" => self.enter_block(at),
                    "continue" | "next" => self.skip_turns(at),
                    "import" => self.import(at),
                    "shift" => self.drop_item(at),
                    "append" | "push" => {
                        self.add_item(at);
                        self.call(at, word);
                    }
                    "print" | "printf" if self.language == Language::Awk => self.print(at),
                    word => self.call(at, word),
                }
            }
            Some(Token::Command(pieces)) => {
                for command in self.texts(pieces).values {
                    self.shell.run_again(&command.text);
                }
            }
            Some(Token::Text(_)) if self.language == Language::Awk => self.pipe_in(at),
            Some(Token::Mark('[' | '(' | '{')) => {
                self.bind_pattern(at);
                if self.language == Language::Python {
                    self.bind_comprehension(at);
                }
            }
            _ => {}
        }
    }

    pub(super) fn mark(&self, at: usize) -> Option<char> {
        self.code.mark(at)
    }

    pub(super) fn word(&self, at: usize) -> Option<&'a str> {
        self.code.word(at)
    }

    pub(super) fn after(&self, at: usize) -> usize {
        self.code.after(at)
    }

    pub(super) fn items_in(&self, open: usize) -> Vec<Span> {
        self.code.items_in(open)
    }

    pub(super) fn before(&self, at: usize) -> Option<char> {
        at.checked_sub(1).and_then(|at| self.mark(at))
    }

    pub(super) fn values(&mut self, span: Span) -> Vec<Field> {
        let bound = Reader::new(self, span).whole();
        match bound.shape {
            Shape::Number => Vec::new(),
            _ => bound.values,
        }
    }

    /// The first token of what the method at `at` is called on.
    pub(super) fn receiver_start(&self, at: usize) -> usize {
        let mut start = at;
        while start >= 2 && self.mark(start - 1) == Some('.') {
            let last = start - 2;
            let partner = self.code.partner(last);
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
        if let Some(function) = self.function(name, at) {
            if let Some(place) = self.followed.iter().position(|place| *place == at) {
                self.followed.swap_remove(place);
            } else if let Some(spans) = self.arguments(at) {
                let given = Reader::new(self, (at, at)).given(&spans);
                self.invoke(function, given);
            }
            return;
        }
        let member = self.before(at) == Some('.');
        let import = self.imported(name).filter(|_| !member);
        let [_, name, module] = import.unwrap_or([name, name, ""]);
        for (on, effect) in rows(self.language, name) {
            let own = match on {
                On::Any => true,
                On::Bare => !member,
                On::Names(names) if !member => names.contains(&module),
                On::Names(names) => self.stands_on(at, names),
                On::Imported(names) => !member || self.stands_on(at, names),
                On::Path => member,
            };
            if !own || self.defines(at) {
                continue;
            }
            let held = self.narrow(at);
            let mut own = Bound::default();
            if on == On::Path {
                own = Reader::new(self, (self.receiver_start(at), at - 1)).whole();
                // A list's own method changes no file.
                if own.values.is_empty() || own.shape.is_list() {
                    self.widen(held);
                    continue;
                }
            }
            if let Some(arguments) = self.arguments(at) {
                self.bind_modifier(at);
                self.apply(effect, &own.values, &arguments);
            }
            self.widen(held);
            return;
        }
    }

    /// `def open(…)` and `function copy(…)` define, they do not call.
    pub(super) fn defines(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.word(at));
        matches!(before, Some("def" | "function" | "sub" | "import"))
    }

    pub(super) fn stands_on(&self, at: usize, names: &[&str]) -> bool {
        let Some(last) = at.checked_sub(2) else {
            return false;
        };
        match self.code.tokens.get(last) {
            Some(Token::Word(word)) => {
                let own = self.imported(word).map_or(*word, |import| import[1]);
                names.contains(word) || names.contains(&own)
            }
            // `require("fs").…`
            Some(Token::Mark(')')) => {
                let open = self.code.partner(last);
                let called = open.checked_sub(1).and_then(|at| self.word(at));
                matches!(called, Some("require" | "__import__" | "import_module"))
            }
            _ => false,
        }
    }

    /// The arguments' places: in parentheses, or up to the statement's end
    /// where the language lets them stand bare.
    pub(super) fn arguments(&self, at: usize) -> Option<Vec<Span>> {
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
        Some(self.code.divide((start, end)))
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

    pub(super) fn bare_end(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(token) = self.code.token_of(from, at) {
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
        while let Some(token) = self.code.token_of(at, place) {
            match token {
                Token::End | Token::Mark('}') => return,
                Token::Mark(mark @ ('>' | '|')) => {
                    let mark = *mark;
                    let appends = self.mark(place + 1) == Some('>');
                    let from = place + 1 + usize::from(appends);
                    let values = self.values((from, self.code.statement_end(from)));
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
}
