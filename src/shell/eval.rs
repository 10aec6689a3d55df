//! Walks a parsed command with the state a shell would have: directory,
//! variables, functions, streams.
//!
//! Every branch is taken, every loop runs over the values that are known. Work
//! that repeats is paid from a budget in proportion to the command's length.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::Scene;
use super::field::{Field, Output, join};
use super::glob::{MAX_LISTINGS, Search};
use super::heredoc::{Heredoc, HeredocQuote};
use super::lex::{Cursor, Word};
use super::parse;
use super::report::Found;
use super::syntax::{Command, Link, Simple, Step};

/// How deep groups, substitutions and nested shells may stand in each other.
const MAX_DEPTH: usize = 40;

/// No file system takes longer paths.
const MAX_PATH: usize = 4096;

/// What repeating one simple command costs of the budget.
pub(super) const REPEAT_COST: usize = 128;

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

/// What a variable holds: nothing, something not known, or a value.
pub(super) type Held = Option<Option<Value>>;

/// What a branch leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct World {
    pub(super) cwd: Option<Rc<str>>,
    pub(super) changes: BTreeMap<String, Held>,
}

impl World {
    /// The same variables, seen from a directory.
    pub(super) fn at(cwd: Option<Rc<str>>) -> Self {
        let changes = BTreeMap::new();
        Self { cwd, changes }
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
    /// How many names programs have made up, `mktemp`'s.
    pub(super) made_up: usize,
    /// Loops around the present command whose turns are not known.
    pub(super) n_open_loops: usize,
    /// What can be read from `/dev/fd/63` and on, where that is known.
    pub(super) pipes: Vec<Option<Rc<str>>>,
    /// Names that stand for other names, `declare -n`.
    references: HashMap<String, String>,
    variables: HashMap<String, Option<Value>>,
    /// What variables held before, newest last: a subshell's end takes it back.
    journal: Vec<(String, Held)>,
    /// States the last command may have led to besides the present one.
    pub(super) worlds: Vec<World>,
    /// The last word of the command before, `$_`.
    last_word: Option<Field>,
    documents: Rc<[Document]>,
    depth: usize,
    pub(super) repeats: usize,
    /// Budgets: for what is run once, and for what is repeated.
    room: usize,
    spare: usize,
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
            made_up: 0,
            n_open_loops: 0,
            pipes: Vec::new(),
            references: HashMap::new(),
            variables: HashMap::new(),
            journal: Vec::new(),
            worlds: Vec::new(),
            last_word: None,
            documents: Rc::new([]),
            depth: 0,
            repeats: 0,
            room: command_len.saturating_mul(4).saturating_add(1 << 20),
            spare: command_len.saturating_mul(4).saturating_add(1 << 20),
        }
    }

    /// Takes `cost` from the budget, if it is still there.
    pub(super) fn spend(&mut self, cost: usize) -> bool {
        let budget = match self.repeats {
            0 => &mut self.room,
            _ => &mut self.spare,
        };
        let left = budget.checked_sub(cost);
        *budget = left.unwrap_or(0);
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

    pub(super) fn deeper(
        &mut self,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
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
        heredocs: Vec<Heredoc<'_>>,
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
        self.worlds.clear();
        output
    }

    pub(super) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// The variables changed since the mark, with what they hold now.
    pub(super) fn changed(&self, mark: usize) -> BTreeMap<String, Held> {
        let since = self.journal.get(mark..).unwrap_or(&[]).iter();
        since
            .map(|(name, _)| (name.clone(), self.holds(name)))
            .collect()
    }

    pub(super) fn holds(&self, name: &str) -> Held {
        self.variables.get(name).cloned()
    }

    /// Goes to a state that was left before.
    pub(super) fn enter(&mut self, world: World) {
        self.cwd = world.cwd;
        for (name, value) in world.changes {
            match value {
                Some(value) => self.assign(&name, value),
                None => self.unset(&name),
            }
        }
    }

    pub(super) fn take_back(&mut self, mark: usize) {
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

    /// `name` stands for another name from here on.
    pub(super) fn refer(&mut self, name: &str, to: Option<&str>) {
        match to.filter(|to| *to != name) {
            Some(to) => drop(self.references.insert(name.to_owned(), to.to_owned())),
            None => self.forget(name),
        }
    }

    pub(super) fn assign(&mut self, name: &str, value: Option<Value>) {
        let referred = self.references.get(name).cloned();
        let name = referred.as_deref().unwrap_or(name);
        let old = self.variables.insert(name.to_owned(), value);
        self.journal.push((name.to_owned(), old));
    }

    pub(super) fn variable(&self, name: &str) -> Option<Value> {
        let name = self.references.get(name).map_or(name, String::as_str);
        if let Some(value) = self.variables.get(name) {
            return value.clone();
        }
        let text = match name {
            "HOME" => self.scene.home?,
            "PWD" => self.cwd.as_deref()?,
            "OLDPWD" => self.previous_dir.as_deref()?,
            "_" => return self.last_word.clone().map(Value::One),
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
        for (n, step) in list.iter().enumerate() {
            if self.repeats > 0 && self.spare == 0 {
                return None;
            }
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
            let rest = list.get(n + 1..).unwrap_or(&[]);
            if !self.worlds.is_empty() && !rest.is_empty() {
                self.walk_elsewhere(rest);
            }
        }
        let spelling = spelling.unwrap_or(crate::target::Spelling::Literal);
        printed.map(|text| Output {
            text: text.into(),
            spelling,
        })
    }

    /// Runs the rest of a list in the other states that are possible. Only
    /// what is not a repeat itself branches out, so the work stays bounded.
    fn walk_elsewhere(&mut self, rest: &[Step<'_>]) {
        for world in std::mem::take(&mut self.worlds) {
            if self.repeats > 0 {
                return;
            }
            self.repeats += 1;
            self.subshell(|shell| {
                shell.enter(world);
                shell.walk(rest)
            });
            self.repeats -= 1;
        }
    }

    /// The right side of `||` starts where the left one failed; what follows
    /// may see either one's directory.
    fn walk_otherwise(&mut self, step: &Step<'_>, before: &Option<Rc<str>>) {
        let left = std::mem::replace(&mut self.cwd, before.clone());
        self.pipeline(&step.pipeline);
        if left != *before {
            let right = std::mem::replace(&mut self.cwd, left);
            if !self.halted && right != *before {
                self.worlds.push(World::at(right));
            }
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
        let mut fields = self.all_fields(&simple.words);
        let name = fields.first().and_then(Field::known).unwrap_or("");
        let lasting = fields.is_empty() || super::command::declares(name);
        let run = |shell: &mut Self| {
            let streams = shell.open(&simple.redirects);
            shell.streamed(streams, |shell| match fields.is_empty() {
                true => Output::nothing(),
                false => shell.run(&fields),
            })
        };
        let output = if lasting {
            for assignment in &simple.assignments {
                self.assignment(assignment);
            }
            run(self)
        } else {
            self.with_assignments(&simple.assignments, run)
        };
        self.last_word = fields.pop();
        output
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
        let path = match cwd {
            Some(cwd) => join(cwd, path),
            None if path.starts_with('/') => path.to_owned(),
            None => return None,
        };
        (path.len() <= MAX_PATH).then_some(path)
    }
}
