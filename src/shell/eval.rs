//! Walks a parsed command with the state a shell would have: directory,
//! variables, functions, streams.
//!
//! Every branch is taken, every loop runs over the values that are known. Work
//! that repeats is paid from a budget in proportion to the command's length.

use std::collections::HashMap;
use std::rc::Rc;

use super::field::{Field, Output, join};
use super::glob::{MAX_LISTINGS, Pattern, Search, all_active};
use super::lex::{Cursor, HeredocQuote, Part, Word};
use super::parse::{self, Assigned, Assignment, Command, Compound, How, Link, Simple, Step};
use super::report::Found;
use super::{Scene, lex};

/// How deep groups, substitutions and nested shells may stand in each other.
const MAX_DEPTH: usize = 40;

/// What repeating one simple command costs of the budget.
const REPEAT_COST: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    One(Field),
    /// An array, or `$@`.
    Many(Vec<Field>),
}

impl Value {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::One(field) => field.known() == Some(""),
            Self::Many(fields) => fields.is_empty(),
        }
    }

    pub(super) fn into_field(self) -> Field {
        match self {
            Self::One(field) => field,
            Self::Many(fields) => fields.into_iter().next().unwrap_or_else(Field::unknown),
        }
    }
}

/// A heredoc that outlives the text it was read from.
type Document = (Rc<str>, HeredocQuote);

pub(super) struct Shell<'s> {
    pub(super) scene: &'s Scene<'s>,
    pub(super) found: Found,
    /// `None` after a `cd` to a place that is not known.
    pub(super) cwd: Option<Rc<str>>,
    pub(super) previous_dir: Option<Rc<str>>,
    pub(super) dir_stack: Vec<Option<Rc<str>>>,
    pub(super) functions: HashMap<String, Rc<str>>,
    pub(super) positional: Rc<[Field]>,
    pub(super) stdin: Option<Output>,
    /// The rest of the present list does not run.
    pub(super) halted: bool,
    pub(super) listings_left: usize,
    variables: HashMap<String, Option<Value>>,
    /// What variables held before, newest last: a subshell's end takes it back.
    journal: Vec<(String, Option<Option<Value>>)>,
    documents: Rc<[Document]>,
    depth: usize,
    repeats: usize,
    room: usize,
}

impl<'s> Shell<'s> {
    pub(super) fn new(scene: &'s Scene<'s>, command_len: usize) -> Self {
        Self {
            scene,
            found: Found::default(),
            cwd: Some(scene.cwd.into()),
            previous_dir: None,
            dir_stack: Vec::new(),
            functions: HashMap::new(),
            positional: Rc::new([]),
            stdin: None,
            halted: false,
            listings_left: MAX_LISTINGS,
            variables: HashMap::new(),
            journal: Vec::new(),
            documents: Rc::new([]),
            depth: 0,
            repeats: 0,
            room: command_len.saturating_mul(4).saturating_add(1 << 20),
        }
    }

    /// Takes `cost` from the budget, if it is still there.
    pub(super) fn spend(&mut self, cost: usize) -> bool {
        let left = self.room.checked_sub(cost);
        self.room = left.unwrap_or(0);
        left.is_some()
    }

    /// The value, or an unknown one when the budget for text is used up.
    pub(super) fn afford(&mut self, field: Field) -> Field {
        if self.spend(field.text.len()) {
            field
        } else {
            Field::unknown()
        }
    }

    /// Runs the text of a nested shell in the present state.
    pub(super) fn run_text(&mut self, text: &str) -> Option<Output> {
        self.deeper(|shell| {
            let script = parse::script(text);
            shell.with_documents(script.heredocs, |shell| shell.walk(&script.list))
        })
    }

    /// Runs text that appears a second time, or was made by an expansion.
    pub(super) fn run_again(&mut self, text: &str) -> Option<Output> {
        if !self.spend(text.len()) {
            return None;
        }
        self.repeats += 1;
        let output = self.run_text(text);
        self.repeats -= 1;
        output
    }

    fn deeper(&mut self, run: impl FnOnce(&mut Self) -> Option<Output>) -> Option<Output> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let output = run(self);
        self.depth -= 1;
        output
    }

    fn with_documents<T>(
        &mut self,
        heredocs: Vec<lex::Heredoc<'_>>,
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let documents = heredocs.into_iter().map(|doc| (doc.body.into(), doc.quote));
        let outer = std::mem::replace(&mut self.documents, documents.collect());
        let value = run(self);
        self.documents = outer;
        value
    }

    /// Runs in a copy of the state; what it reports stays.
    pub(super) fn subshell(
        &mut self,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        let mark = self.journal.len();
        let (cwd, previous) = (self.cwd.clone(), self.previous_dir.clone());
        let n_dirs = self.dir_stack.len();
        let positional = self.positional.clone();
        let output = self.deeper(run);
        self.take_back(mark);
        (self.cwd, self.previous_dir) = (cwd, previous);
        self.dir_stack.truncate(n_dirs);
        self.positional = positional;
        self.halted = false;
        output
    }

    fn take_back(&mut self, mark: usize) {
        for (name, old) in self.journal.drain(mark.min(self.journal.len())..).rev() {
            match old {
                Some(value) => self.variables.insert(name, value),
                None => self.variables.remove(&name),
            };
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.assign(name, Some(value));
    }

    /// The variable holds something that is not known.
    pub(super) fn forget(&mut self, name: &str) {
        self.assign(name, None);
    }

    pub(super) fn unset(&mut self, name: &str) {
        if let Some(old) = self.variables.remove(name) {
            self.journal.push((name.to_owned(), Some(old)));
        }
    }

    /// The sorted names in a directory.
    pub(super) fn list(&mut self, dir: &str) -> Vec<String> {
        let mut search = Search {
            disk: self.scene.disk,
            listings_left: self.listings_left,
        };
        let names = search.entries(dir);
        self.listings_left = search.listings_left;
        names
    }

    fn assign(&mut self, name: &str, value: Option<Value>) {
        let old = self.variables.insert(name.to_owned(), value);
        self.journal.push((name.to_owned(), old));
    }

    pub(super) fn variable(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.variables.get(name) {
            return value.clone();
        }
        let text = match name {
            "HOME" => self.scene.home?,
            "PWD" => self.cwd.as_deref()?,
            "OLDPWD" => self.previous_dir.as_deref()?,
            "CLAUDE_PROJECT_DIR" => self.scene.project_dir?,
            "@" | "*" => return Some(Value::Many(self.positional.to_vec())),
            _ => {
                let at: usize = name.parse().ok()?;
                let field = self.positional.get(at.checked_sub(1)?)?;
                return Some(Value::One(field.clone()));
            }
        };
        Some(Value::One(Field::literal(text)))
    }

    /// Runs a list; the output is known when all its commands' outputs are.
    pub(super) fn walk(&mut self, list: &[Step<'_>]) -> Option<Output> {
        let mut printed = Some(String::new());
        let mut spelling = None;
        let mut before = self.cwd.clone();
        for step in list {
            if step.link == Link::Or {
                self.walk_otherwise(step, &before);
            } else {
                if step.link == Link::Always {
                    before.clone_from(&self.cwd);
                }
                let output = self.pipeline(&step.pipeline);
                match (&mut printed, output) {
                    (Some(text), Some(output)) => {
                        text.push_str(&output.text);
                        spelling = spelling.or(Some(output.spelling));
                    }
                    _ => printed = None,
                }
            }
            if self.halted {
                if step.link == Link::Always {
                    break;
                }
                self.halted = false;
            }
        }
        let spelling = spelling.unwrap_or(crate::target::Spelling::Literal);
        printed.map(|text| Output {
            text: text.into(),
            spelling,
        })
    }

    /// The right side of `||` starts where the left one failed; what follows
    /// sees the left one's directory, as if it had not.
    fn walk_otherwise(&mut self, step: &Step<'_>, before: &Option<Rc<str>>) {
        let left = std::mem::replace(&mut self.cwd, before.clone());
        self.pipeline(&step.pipeline);
        if left != *before {
            self.cwd = left;
        }
    }

    fn pipeline(&mut self, commands: &[Command<'_>]) -> Option<Output> {
        if let [only] = commands {
            return self.command(only);
        }
        let outer = self.stdin.clone();
        let mut piped = outer.clone();
        for command in commands {
            self.stdin = piped;
            piped = self.subshell(|shell| shell.command(command));
        }
        self.stdin = outer;
        piped
    }

    fn command(&mut self, command: &Command<'_>) -> Option<Output> {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                let streams = self.open(redirects);
                self.streamed(streams, |shell| {
                    shell.deeper(|shell| shell.compound(compound))
                })
            }
        }
    }

    fn simple(&mut self, simple: &Simple<'_>) -> Option<Output> {
        if self.repeats > 0 && !self.spend(REPEAT_COST) {
            return None;
        }
        let fields = self.all_fields(&simple.words);
        let name = fields.first().and_then(Field::known).unwrap_or("");
        let lasting = fields.is_empty() || super::command::declares(name);
        let mark = self.journal.len();
        for assignment in &simple.assignments {
            self.assignment(assignment);
        }
        let streams = self.open(&simple.redirects);
        let output = self.streamed(streams, |shell| {
            if fields.is_empty() {
                Output::nothing()
            } else {
                shell.run(&fields)
            }
        });
        if !lasting && !simple.assignments.is_empty() {
            self.take_back(mark);
        }
        output
    }

    fn assignment(&mut self, assignment: &Assignment<'_>) {
        let Assignment { name, how, value } = assignment;
        let mut value = match value {
            Assigned::Word(word) => Value::One(self.single(word)),
            Assigned::Array(words) => Value::Many(self.all_fields(words)),
        };
        match how {
            How::Set => {}
            How::Element => return self.forget(name),
            How::Append => {
                let old = self.variable(name);
                value = match (old, value) {
                    (Some(Value::Many(mut fields)), Value::Many(more)) => {
                        fields.extend(more);
                        Value::Many(fields)
                    }
                    (Some(Value::One(mut field)), Value::One(more)) => {
                        field.push(&more);
                        Value::One(self.afford(field))
                    }
                    (None, Value::Many(more)) => Value::Many(more),
                    _ => return self.forget(name),
                };
            }
        }
        self.set(name, value);
    }

    fn compound(&mut self, compound: &Compound<'_>) -> Option<Output> {
        match compound {
            Compound::Group(list) => self.walk(list),
            Compound::Subshell(list) => self.subshell(|shell| shell.walk(list)),
            Compound::If { arms, otherwise } => {
                let mut branches = Vec::with_capacity(arms.len() + 1);
                for (condition, body) in arms {
                    self.walk(condition);
                    branches.push(body.as_slice());
                }
                branches.extend(otherwise.as_deref());
                self.branches(&branches)
            }
            Compound::While { condition, body } => self.while_loop(condition, body),
            Compound::For { name, words, body } => {
                let values = match words {
                    Some(words) => self.all_fields(words),
                    None => self.positional.to_vec(),
                };
                self.over(&[name], values, body)
            }
            Compound::Case { subject, arms } => self.case(subject, arms),
            Compound::Test(words) => {
                for word in words {
                    self.side_effects(&word.parts);
                }
                Output::nothing()
            }
            Compound::Function { name, body } => {
                self.functions.insert((*name).to_owned(), (*body).into());
                Output::nothing()
            }
        }
    }

    /// Each branch starts in the same directory; one that moves decides where
    /// the next command runs.
    fn branches(&mut self, branches: &[&[Step<'_>]]) -> Option<Output> {
        let start = self.cwd.clone();
        let mut end = start.clone();
        for branch in branches {
            self.cwd.clone_from(&start);
            self.walk(branch);
            if !self.halted && self.cwd != start {
                end.clone_from(&self.cwd);
            }
            self.halted = false;
        }
        self.cwd = end;
        None
    }

    fn case(
        &mut self,
        subject: &Word<'_>,
        arms: &[(Vec<Word<'_>>, parse::List<'_>)],
    ) -> Option<Output> {
        let subject = self.single(subject);
        let mut branches = Vec::new();
        for (patterns, body) in arms {
            match subject.known() {
                None => branches.push(body.as_slice()),
                Some(text) => {
                    if patterns
                        .iter()
                        .any(|pattern| self.case_matches(pattern, text))
                    {
                        branches.push(body.as_slice());
                        break;
                    }
                }
            }
        }
        if let [only] = branches.as_slice() {
            return self.walk(only);
        }
        self.branches(&branches)
    }

    fn case_matches(&mut self, pattern: &Word<'_>, text: &str) -> bool {
        if text.len() > 1024 {
            return true;
        }
        let mut active = Vec::new();
        let mut whole = Field::literal("");
        for part in &pattern.parts {
            let start = whole.text.len();
            match part {
                Part::Bare(bare) => {
                    active.extend(all_active(bare).into_iter().map(|at| at + start));
                    whole.text.push_str(bare);
                }
                Part::Text(quoted) => whole.text.push_str(quoted),
                _ => return true,
            }
        }
        let pattern = Pattern {
            text: &whole.text,
            active: &active,
            offset: 0,
        };
        pattern.matches(text)
    }

    fn while_loop(&mut self, condition: &[Step<'_>], body: &[Step<'_>]) -> Option<Output> {
        if let [step] = condition
            && let [Command::Simple(simple)] = step.pipeline.as_slice()
            && let Some(stdin) = self.stdin.clone()
        {
            let fields = self.all_fields(&simple.words);
            let known: Vec<&str> = fields.iter().filter_map(Field::known).collect();
            if known.first() == Some(&"read") {
                let names = known.iter().skip(1).filter(|name| !name.starts_with('-'));
                let names: Vec<&str> = names.copied().collect();
                return self.over(&names, stdin.lines(), body);
            }
        }
        self.walk(condition);
        self.walk(body);
        self.halted = false;
        None
    }

    /// Runs a loop's body once per value; all but the first are repeats.
    fn over(&mut self, names: &[&str], values: Vec<Field>, body: &[Step<'_>]) -> Option<Output> {
        let mut printed = Some(String::new());
        let mut values = values.into_iter();
        if let Some(first) = values.next() {
            self.turn(names, first, body, &mut printed);
        }
        self.repeats += 1;
        for value in values {
            if !self.spend(REPEAT_COST) {
                printed = None;
                break;
            }
            self.turn(names, value, body, &mut printed);
        }
        self.repeats -= 1;
        printed.map(Output::literal)
    }

    fn turn(
        &mut self,
        names: &[&str],
        value: Field,
        body: &[Step<'_>],
        printed: &mut Option<String>,
    ) {
        self.deal(names, value);
        let output = self.walk(body);
        self.halted = false;
        match (printed.as_mut(), output) {
            (Some(text), Some(output)) => text.push_str(&output.text),
            _ => *printed = None,
        }
    }

    /// Gives a value to one name, or its words to several.
    pub(super) fn deal(&mut self, names: &[&str], value: Field) {
        if let [name] = names {
            self.set(name, Value::One(value));
            return;
        }
        let mut words = value.text.split_ascii_whitespace();
        for (n, name) in names.iter().enumerate() {
            let text = if n + 1 == names.len() {
                words.by_ref().collect::<Vec<_>>().join(" ")
            } else {
                words.next().unwrap_or("").to_owned()
            };
            self.set(name, Value::One(value.with_text(text)));
        }
    }

    /// The text of a heredoc, with its expansions made.
    pub(super) fn document(&mut self, id: usize) -> Option<Output> {
        let (body, quote) = self.documents.get(id)?.clone();
        let plain = quote == HeredocQuote::Literal || !body.contains(['$', '`', '\\']);
        if plain {
            return Some(Output::literal(body));
        }
        if self.repeats > 0 && !self.spend(body.len()) {
            return None;
        }
        let mut cursor = Cursor::new(&body);
        let mut parts = Vec::new();
        cursor.double_quoted(&mut parts, None);
        let heredocs = std::mem::take(&mut cursor.heredocs);
        let word = Word { parts };
        let field = self.with_documents(heredocs, |shell| shell.single(&word));
        Some(Output::literal(field.text))
    }

    /// An absolute path, links made by this command not yet followed.
    pub(super) fn absolute(&self, path: &str) -> Option<String> {
        let cwd = self.cwd.as_deref();
        match cwd {
            Some(cwd) => Some(join(cwd, path)),
            None => path.starts_with('/').then(|| path.to_owned()),
        }
    }
}
