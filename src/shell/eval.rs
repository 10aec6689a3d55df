//! Walks a parsed command with the state a shell would have: directory,
//! variables, functions, streams.
//!
//! Every branch is taken, every loop runs over the values that are known. Work
//! that repeats is paid from a budget in proportion to the command's length.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use ecow::EcoString;
use foldhash::fast::RandomState;

use super::field::{Field, Output, join_to};
use super::glob::{Allowance, Search};
use super::heard::Heard;
use super::heredoc::HeredocQuote;
use super::lex::{Cursor, MAX_DEPTH, Word};
use super::report::{Found, Place};
use super::slots::{Held, Var, Variables};
use super::status::Status;
use super::syntax::{Command, Few, Link, List, Simple, Step};
use super::world::{Context, Frame, Halt};
use super::{Analysis, Extent, Limit, Scene};
use crate::base::target::Spelling;

/// No file system takes longer paths.
const MAX_PATH: usize = 4096;

/// What repeating one simple command costs of the budget.
pub(super) const REPEAT_COST: usize = 128;

/// What any command may spend, besides a share by its length.
pub(super) const STEPS: usize = 1 << 20;

/// What a list's commands printed, as long as all of it is known.
pub(super) struct Course(Option<Output>);

impl Default for Course {
    fn default() -> Self {
        Self(Output::nothing())
    }
}

impl Course {
    pub(super) fn print(&mut self, output: Option<Output>) {
        match (&mut self.0, output) {
            (Some(all), Some(output)) => {
                if !output.text.is_empty() {
                    all.text.push_str(&output.text);
                }
                if output.spelling != Spelling::Literal {
                    all.spelling = output.spelling;
                }
            }
            _ => self.0 = None,
        }
    }

    pub(super) fn output(self) -> Option<Output> {
        self.0
    }
}

/// Whether the shell goes on behind a step, or behind a branch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GoesOn,
    Ends,
}

/// A heredoc that outlives the text it was read from.
type Document = (EcoString, HeredocQuote);

pub(super) struct Shell<'s> {
    pub(super) scene: &'s Scene<'s>,
    pub(super) found: Found,
    /// `None` after a `cd` to a place that is not known.
    pub(super) cwd: Option<Rc<str>>,
    pub(super) previous_dir: Option<Rc<str>>,
    pub(super) dir_stack: Vec<Option<Rc<str>>>,
    pub(super) functions: HashMap<String, Rc<str>, RandomState>,
    pub(super) positional: Rc<[Field]>,
    pub(super) stdin: Option<Output>,
    pub(super) heard: Heard,
    /// The rest of the present list does not run.
    pub(super) halted: Option<Halt>,
    pub(super) frames: Vec<Frame>,
    pub(super) globs_left: Allowance,
    /// How many names programs have made up, `mktemp`'s.
    pub(super) made_up: usize,
    /// What `git add` took up and no commit holds yet.
    pub(super) staged: Vec<Field>,
    /// The targets of each stash that the command has made.
    pub(super) stashes: Vec<Range<Place>>,
    /// Loops around the present command whose turns are not known.
    pub(super) n_open_loops: usize,
    /// What can be read from `/dev/fd/63` and on, where that is known.
    pub(super) pipes: Vec<Option<EcoString>>,
    extent: Extent,
    pub(super) variables: Variables,
    /// Names that stand for other names, `declare -n`.
    pub(super) references: BTreeMap<EcoString, EcoString>,
    /// What variables held before, newest last: a subshell's end takes it back.
    pub(super) journal: Vec<(Var, Held)>,
    /// How many places may still be gone back to; without one nothing is noted.
    pub(super) marks: usize,
    /// States the commands so far may have led to besides the present one.
    pub(super) worlds: Vec<Context>,
    /// `shopt -s nocasematch`.
    pub(super) ignores_case: bool,
    /// How the last command ended.
    pub(super) status: Status,
    /// The directory in which the present chain of `&&` and `||` began.
    pub(super) chain_dir: Option<Rc<str>>,
    /// Where a `cd` of the present chain came from: where it failed, the shell is still there.
    pub(super) left_dir: Option<Rc<str>>,
    /// A program ran that may have made directories whose names are not known.
    pub(super) made_unseen: bool,
    /// The bodies of the functions that run.
    pub(super) calls: Vec<Rc<str>>,
    /// What the locals of each running function hold outside of it.
    pub(super) locals: Vec<Vec<(Var, Held)>>,
    /// The file whose code an interpreter reads.
    pub(super) script_file: Option<Field>,
    /// The last word of the command before, `$_`.
    pub(super) last_word: Option<Field>,
    /// The heredocs of the text that is being run, by their place in it.
    documents: Vec<Document>,
    depth: usize,
    pub(super) repeats: usize,
    /// Budgets: for what is run once, for what is repeated, for other states.
    room: usize,
    repeat_room: usize,
    branch_room: usize,
    /// Room for the fields of a command and for a path, taken anew by each.
    pub(super) spare: Vec<Field>,
    pub(super) path: String,
}

impl<'s> Shell<'s> {
    pub(super) fn new(scene: &'s Scene<'s>, command_len: usize) -> Self {
        Self {
            scene,
            found: Found::of(command_len),
            cwd: Some(scene.cwd.into()),
            previous_dir: None,
            dir_stack: Vec::new(),
            functions: HashMap::default(),
            positional: Rc::new([]),
            stdin: None,
            heard: Heard::Nowhere,
            halted: None,
            frames: Vec::new(),
            globs_left: Allowance::FULL,
            made_up: 0,
            staged: Vec::new(),
            stashes: Vec::new(),
            n_open_loops: 0,
            pipes: Vec::new(),
            extent: Extent::Whole,
            variables: Variables::default(),
            references: BTreeMap::new(),
            journal: Vec::new(),
            marks: 0,
            worlds: Vec::new(),
            ignores_case: false,
            status: Status::Success,
            chain_dir: None,
            left_dir: None,
            made_unseen: false,
            calls: Vec::new(),
            locals: Vec::new(),
            script_file: None,
            last_word: None,
            documents: Vec::new(),
            spare: Vec::new(),
            path: String::new(),
            depth: 0,
            repeats: 0,
            room: command_len.saturating_mul(4).saturating_add(STEPS),
            repeat_room: command_len.saturating_mul(4).saturating_add(STEPS),
            branch_room: command_len.saturating_mul(2).saturating_add(STEPS / 8),
        }
    }

    /// Takes `cost` from the budget, if it is still there.
    pub(super) fn spend(&mut self, cost: usize) -> bool {
        let budget = match self.repeats {
            0 => &mut self.room,
            _ => &mut self.repeat_room,
        };
        let left = budget.checked_sub(cost);
        *budget = left.unwrap_or(0);
        if left.is_none() {
            self.give_up(Limit::Steps);
        }
        left.is_some()
    }

    /// Notes that something of the command stays unread; the first reason counts.
    pub(super) fn give_up(&mut self, limit: Limit) {
        if self.extent == Extent::Whole {
            self.extent = Extent::Cut(limit);
        }
    }

    pub(super) fn into_analysis(self) -> Analysis {
        Analysis {
            targets: self.found.into_targets(),
            extent: self.extent,
        }
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
            let outer = std::mem::take(&mut shell.documents);
            let mut cursor = Cursor::new(text);
            let output = shell.chained(|shell, course| shell.walk_text(&mut cursor, course));
            shell.learn_extent(&cursor);
            shell.documents = outer;
            output
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

    fn learn_extent(&mut self, cursor: &Cursor<'_>) {
        if let Extent::Cut(limit) = cursor.extent {
            self.give_up(limit);
        }
    }

    pub(super) fn deeper(
        &mut self,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        if self.depth == MAX_DEPTH {
            self.give_up(Limit::Depth);
            return None;
        }
        self.depth += 1;
        let output = run(self);
        self.depth -= 1;
        output
    }

    /// Keeps the heredocs read since the last time: their places go on counting.
    fn keep_documents(&mut self, cursor: &Cursor<'_>) {
        let new = cursor.heredocs.get(self.documents.len()..).unwrap_or(&[]);
        let new = new.iter().map(|doc| (doc.body.as_ref().into(), doc.quote));
        self.documents.extend(new);
    }

    /// Runs in a copy of the state; what it reports stays.
    pub(super) fn subshell(
        &mut self,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        let mark = self.mark();
        let (cwd, previous) = (self.cwd.clone(), self.previous_dir.clone());
        let n_dirs = self.dir_stack.len();
        let positional = self.positional.clone();
        // What it leaves, it leaves in its own process.
        let frames = std::mem::take(&mut self.frames);
        let left_dir = self.left_dir.take();
        let output = self.deeper(run);
        self.frames = frames;
        self.left_dir = left_dir;
        self.take_back(mark);
        (self.cwd, self.previous_dir) = (cwd, previous);
        self.dir_stack.truncate(n_dirs);
        self.positional = positional;
        self.halted = None;
        self.worlds.clear();
        output
    }

    /// The sorted names in a directory.
    pub(super) fn list(&mut self, dir: &str) -> Vec<String> {
        self.look(|search| search.entries(dir))
    }

    /// What a pattern finds on the disk.
    pub(super) fn search(&mut self, cwd: &str, text: &str, globs: &[usize]) -> Vec<String> {
        self.look(|search| search.expand(cwd, text, globs))
    }

    fn look(&mut self, find: impl FnOnce(&mut Search<'_>) -> Vec<String>) -> Vec<String> {
        let mut search = Search {
            disk: self.scene.disk,
            made: &self.found,
            left: self.globs_left,
        };
        let found = find(&mut search);
        self.globs_left = search.left;
        if self.globs_left.listings == 0 {
            self.give_up(Limit::Listings);
        }
        if self.globs_left.effort == 0 {
            self.give_up(Limit::Steps);
        }
        found
    }

    /// Runs a list; the output is known when all its commands' outputs are.
    pub(super) fn walk(&mut self, list: &[Step<'_>]) -> Option<Output> {
        self.chained(|shell, course| {
            for step in list {
                if shell.step(step, course) == Next::Ends {
                    break;
                }
            }
        })
    }

    /// Runs what has chains of `&&` and `||` of its own.
    fn chained(&mut self, run: impl FnOnce(&mut Self, &mut Course)) -> Option<Output> {
        let mut course = Course::default();
        let outer = self.chain_dir.clone();
        let left_dir = self.left_dir.take();
        run(self, &mut course);
        self.left_dir = self.left_dir.take().or(left_dir);
        self.chain_dir = outer;
        course.output()
    }

    /// Runs a text line by line, as it is read.
    fn walk_text<'a>(&mut self, cursor: &mut Cursor<'a>, course: &mut Course) {
        let mut link = Link::Always;
        let mut steps: List<'a> = List::new();
        'text: loop {
            if let Some(text) = cursor.lone() {
                let step = Step::alone(Command::Lean(text));
                if self.step(&step, course) == Next::Ends {
                    break;
                }
                continue;
            }
            cursor.line(&mut steps, &mut link);
            if steps.is_empty() {
                break;
            }
            self.keep_documents(cursor);
            for step in &steps {
                if self.step(step, course) == Next::Ends {
                    break 'text;
                }
            }
            cursor.recycle(&mut steps);
        }
    }

    fn step(&mut self, step: &Step<'_>, course: &mut Course) -> Next {
        if self.repeats > 0 && self.repeat_room == 0 {
            course.print(None);
            self.give_up(Limit::Steps);
            return Next::Ends;
        }
        if self.left_dir.is_some() && step.link == Link::Always {
            self.doubt();
        }
        if !self.worlds.is_empty() {
            return self.everywhere(step, course);
        }
        self.linked(step, course);
        match self.halted {
            Some(_) => Next::Ends,
            None => Next::GoesOn,
        }
    }

    /// Whether there is room to follow states besides the present one.
    pub(super) fn may_branch(&self) -> bool {
        self.branch_room > 0
    }

    /// Takes what another state costs from its own budget: one that is not
    /// followed to its end leaves the present one whole.
    pub(super) fn beside(&mut self, n_changes: usize, run: impl FnOnce(&mut Self)) {
        let left = self.repeat_room;
        self.repeats += 1;
        run(self);
        self.repeats -= 1;
        let cost = left.saturating_sub(self.repeat_room) + REPEAT_COST + 16 * n_changes;
        self.branch_room = self.branch_room.saturating_sub(cost);
    }

    pub(super) fn command(&mut self, command: &Command<'_>) -> Option<Output> {
        match command {
            Command::Lean(text) => self.lean(text),
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                let streams = self.open(redirects);
                self.streamed(streams, |shell| {
                    shell.deeper(|shell| shell.compound(compound))
                })
            }
        }
    }

    #[inline(never)]
    fn simple(&mut self, simple: &Simple<'_>) -> Option<Output> {
        if self.repeats > 0 && !self.spend(REPEAT_COST) {
            return None;
        }
        self.status = Status::Success;
        let mut fields = std::mem::take(&mut self.spare);
        self.fields_of(&simple.words, &mut fields);
        if self.repeats > 0 {
            let len: usize = fields.iter().map(|field| field.text.len()).sum();
            if !self.spend(len.saturating_sub(REPEAT_COST)) {
                return None;
            }
        }
        let run = |shell: &mut Self| {
            let streams = shell.open(&simple.redirects);
            shell.streamed(streams, |shell| match fields.is_empty() {
                true => Output::nothing(),
                false => shell.invoke(&fields),
            })
        };
        let output = match simple.assignments.as_slice() {
            [] => run(self),
            assignments => self.assigned(assignments, &fields, run),
        };
        self.leave_room(fields);
        output
    }

    /// The room of a command's fields goes to the next one.
    pub(super) fn leave_room(&mut self, mut fields: Vec<Field>) {
        self.last_word = fields.pop();
        fields.clear();
        self.spare = fields;
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
        let mut parts = Few::default();
        cursor.double_quoted(&mut parts, None);
        let outer = std::mem::take(&mut self.documents);
        self.keep_documents(&cursor);
        self.learn_extent(&cursor);
        let field = self.single(&Word { parts });
        self.documents = outer;
        Some(field.into())
    }

    /// An absolute path, links made by this command not yet followed.
    pub(super) fn absolute(&self, path: &str) -> Option<String> {
        let room = self.cwd.as_ref().map_or(0, |cwd| cwd.len());
        let mut whole = String::with_capacity(room + 1 + path.len());
        self.join_to(path, &mut whole).then_some(whole)
    }

    /// Puts the absolute path into `whole`; `false` where there is none.
    pub(super) fn join_to(&self, path: &str, whole: &mut String) -> bool {
        let known = self.cwd.is_some() || path.starts_with('/');
        join_to(self.cwd.as_deref().unwrap_or("/"), path, whole);
        known && whole.len() <= MAX_PATH
    }
}
