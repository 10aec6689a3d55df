//! Runs a tree: lists, pipelines, redirections.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::field::Field;
use super::own::{OwnCommand, Stdin, is_named_by};
use super::parse::Fault;
use super::state::{Halt, Place};
use super::syntax::{Command, Job, Kind, Link, List, Pipeline, Redirect, Sense, Statement, To};
use super::targets::Entry;
use super::{Analysis, Limit, Scene, writers};
use crate::base::target::{Act, Target};

/// How much is done for one command: each simple command counts, each word, each 64 bytes.
pub(super) const STEPS: usize = 1 << 18;

/// What it costs to list a directory.
pub(super) const LISTING: usize = 256;

/// Text that is longer is not kept.
const MAX_TEXT: usize = 1 << 20;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// Of a directory that is there.
    Certain,
    /// Whoever wrote it expects that it succeeds.
    Success,
    Failure,
    /// A test.
    Open,
}

/// What became of a command.
pub(super) struct Ran {
    pub(super) status: Status,
    /// What it printed; `None` where that is not known.
    pub(super) output: Option<Field>,
}

impl Ran {
    /// An ordinary command that prints nothing.
    pub(super) fn silent() -> Self {
        Self::printed(Field::literal(""))
    }

    pub(super) fn printed(output: Field) -> Self {
        Self {
            status: Status::Success,
            output: Some(output),
        }
    }

    /// One that prints what is not known.
    pub(super) fn unknown() -> Self {
        Self {
            status: Status::Success,
            output: None,
        }
    }

    pub(super) fn ended(status: Status) -> Self {
        Self {
            status,
            ..Self::silent()
        }
    }

    /// What both printed, one behind the other, and the status of the later one.
    pub(super) fn then(self, next: Self) -> Self {
        let output = self.output.zip(next.output).map(|(mut all, more)| {
            all.push(&more);
            all
        });
        Self {
            status: next.status,
            output: output.filter(|output| output.text.len() <= MAX_TEXT),
        }
    }

    /// Of something that perhaps did not run.
    pub(super) fn uncertain(self) -> Self {
        Self {
            status: Status::Open,
            output: self.output.filter(|output| output.text.is_empty()),
        }
    }
}

impl Status {
    pub(super) fn seen(self, sense: Sense) -> Self {
        match (sense, self) {
            (Sense::Negated, Self::Certain) => Self::Failure,
            (Sense::Negated, Self::Success) => Self::Open,
            (Sense::Negated, Self::Failure) => Self::Success,
            _ => self,
        }
    }
}

/// A file that a redirection opened.
struct Opened {
    path: Field,
    act: Act,
    fd: Option<u32>,
}

pub(super) struct Shell<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) place: Place,
    pub(super) functions: HashMap<String, Rc<Command>>,
    /// The functions that run now.
    pub(super) running: Vec<String>,
    /// What the running function's own variables hide.
    pub(super) locals: Vec<(String, Option<Field>)>,
    /// What commands run with when the shell ends.
    pub(super) traps: Vec<String>,
    /// What the next command reads; `None` where that is not known.
    pub(super) stdin: Option<Field>,
    /// Where it comes from.
    pub(super) stdin_from: Stdin,
    pub(super) halted: Option<Halt>,
    /// How many branches this is within, each of which may not be taken.
    pub(super) n_branches: usize,
    /// How many there were around a loop over what was listed: for which of the names a branch
    /// within it is taken is not known.
    pub(super) listed_at: Option<usize>,
    pub(super) depth: usize,

    pub(super) targets: Vec<Target>,
    /// The place of the last target of each path.
    pub(super) by_path: HashMap<String, usize>,
    /// What `git stash` took away, until it is brought back.
    pub(super) stashed: Vec<Target>,
    /// What the command itself made.
    pub(super) made: BTreeMap<String, Entry>,
    pub(super) makes_links: bool,
    /// The one that runs, or ran last.
    pub(super) program: String,
    /// Those that may have written what is not among the targets.
    pub(super) programs: BTreeSet<String>,
    /// Whether all words of the program that runs are known.
    pub(super) has_known_words: bool,
    pub(super) is_obscure: bool,
    pub(super) checks_out: bool,
    pub(super) own_commands: Vec<OwnCommand>,
    /// Whether a word named this program: what is copied may be it.
    pub(super) names_own_program: bool,
    pub(super) steps: usize,
    pub(super) limit: Option<Limit>,
}

impl<'a> Shell<'a> {
    pub(super) fn new(scene: &'a Scene<'a>) -> Self {
        let mut shell = Self {
            scene,
            place: Place {
                cwd: Some(Rc::from(scene.cwd)),
                left: None,
                positional: Rc::from([]),
                variables: Rc::default(),
            },
            functions: HashMap::new(),
            running: Vec::new(),
            locals: Vec::new(),
            traps: Vec::new(),
            stdin: None,
            stdin_from: Stdin::Inherited,
            halted: None,
            n_branches: 0,
            listed_at: None,
            depth: 0,
            targets: Vec::new(),
            by_path: HashMap::new(),
            stashed: Vec::new(),
            made: BTreeMap::new(),
            makes_links: false,
            program: String::new(),
            programs: BTreeSet::new(),
            has_known_words: true,
            is_obscure: false,
            checks_out: false,
            own_commands: Vec::new(),
            names_own_program: false,
            steps: STEPS,
            limit: None,
        };
        shell.inherit();
        shell
    }

    /// Sets the variables of the client's environment that lead to state.
    fn inherit(&mut self) {
        let env = self.scene.env;
        for (name, value) in [
            ("HOME", &env.home),
            ("CLAUDE_PROJECT_DIR", &env.project_dir),
            ("CLAUDE_CONFIG_DIR", &env.claude_config_dir),
            ("FEATURE_DIR", &env.feature_dir),
        ] {
            let known = value.as_ref().map(Field::literal);
            self.set_value(name, known);
        }
        // The client sets it at the start of a session alone, to a file in this directory.
        if let Some(dir) = env.claude_dir() {
            let file = Field::literal(dir + "/session-env/CLAUDE_ENV_FILE");
            self.set("CLAUDE_ENV_FILE", file);
        }
        self.is_obscure = false;
    }

    pub(super) fn into_analysis(mut self) -> Analysis {
        self.targets.append(&mut self.stashed);
        Analysis {
            targets: self.targets,
            limit: self.limit,
            programs: self.programs.into_iter().collect(),
            is_obscure: self.is_obscure,
            checks_out: self.checks_out,
            own_commands: self.own_commands,
        }
    }

    /// Counts work; at the bound nothing more is done.
    pub(super) fn spend(&mut self, steps: usize) {
        match self.steps.checked_sub(steps) {
            Some(left) => self.steps = left,
            None => self.give_up(Limit::Steps),
        }
    }

    pub(super) fn give_up(&mut self, limit: Limit) {
        self.limit.get_or_insert(limit);
        self.unknown_write();
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.limit.is_some()
    }

    /// Runs the whole of a command, and what it left for its end.
    pub(super) fn run_all(&mut self, text: &str) {
        self.run_text(text);
        for trap in std::mem::take(&mut self.traps) {
            self.halted = None;
            self.run_text(&trap);
        }
    }

    /// Runs a text; what Bash would not read does nothing.
    pub(super) fn run_text(&mut self, text: &str) -> Ran {
        self.spend(text.len() / 64);
        if self.has_given_up() {
            return Ran::unknown();
        }
        let (list, fault) = super::parse::statements(text, self.depth);
        let ran = self.list(&list);
        match fault {
            _ if text.contains(super::field::UNKNOWN) => self.unknown_write(),
            None => {}
            // Other shells have forms that Bash does not read.
            Some(Fault {
                limit: Limit::Syntax,
                at,
            }) if !writers::may_be_in(text.get(..at).unwrap_or(text)) => {
                self.unknown_write();
            }
            Some(fault) => self.give_up(fault.limit),
        }
        ran
    }

    /// Runs something one level deeper.
    pub(super) fn deeper(&mut self, run: impl FnOnce(&mut Self) -> Ran) -> Ran {
        if self.depth >= super::lex::MAX_DEPTH {
            self.give_up(Limit::Depth);
            return Ran::unknown();
        }
        self.depth += 1;
        let ran = run(self);
        self.depth -= 1;
        ran
    }

    pub(super) fn list(&mut self, list: &List) -> Ran {
        let mut ran = Ran::silent();
        for statement in list {
            if self.halted.is_some() || self.has_given_up() {
                break;
            }
            ran = ran.then(match statement.job {
                Job::Foreground => self.statement(statement),
                Job::Background => self.subshell(|shell| shell.statement(statement)),
            });
        }
        ran
    }

    fn statement(&mut self, statement: &Statement) -> Ran {
        let mut ran = self.pipeline(&statement.first);
        for (link, pipeline) in &statement.rest {
            if self.halted.is_some() {
                break;
            }
            match (link, ran.status) {
                (Link::And, Status::Certain | Status::Success) | (Link::Or, Status::Failure) => {
                    ran = ran.then(self.pipeline(pipeline));
                }
                (Link::And, Status::Failure) | (Link::Or, Status::Certain) => {}
                _ => {
                    let other = self.in_branch(|shell| shell.pipeline(pipeline));
                    let status = match link {
                        Link::Or if other.status != Status::Open => Status::Success,
                        Link::Or => ran.status,
                        Link::And => Status::Open,
                    };
                    let is_silent = other.output.is_some_and(|output| output.text.is_empty());
                    let output = if is_silent { ran.output } else { None };
                    ran = Ran { status, output };
                }
            }
        }
        ran
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Ran {
        let mut ran = match pipeline.commands.as_slice() {
            [only] => self.command(only),
            commands => {
                let stdin = (self.stdin.clone(), self.stdin_from);
                let mut ran = Ran::unknown();
                for (at, command) in commands.iter().enumerate() {
                    if at > 0 {
                        self.stdin = ran.output.take();
                        self.stdin_from = Stdin::Given;
                    }
                    ran = self.subshell(|shell| shell.command(command));
                }
                (self.stdin, self.stdin_from) = stdin;
                ran
            }
        };
        ran.status = ran.status.seen(pipeline.sense);
        ran
    }

    pub(super) fn command(&mut self, command: &Command) -> Ran {
        self.spend(1);
        if self.has_given_up() {
            return Ran::unknown();
        }
        match &command.kind {
            Kind::Simple(simple) => self.simple(simple, &command.redirects),
            kind => self.redirected(&command.redirects, |shell| {
                shell.deeper(|shell| shell.compound(kind))
            }),
        }
    }

    /// Runs something with files for its streams. They are reported after it, since only then it
    /// is known what it wrote into them.
    pub(super) fn redirected(
        &mut self,
        redirects: &[Redirect],
        run: impl FnOnce(&mut Self) -> Ran,
    ) -> Ran {
        if redirects.is_empty() {
            return run(self);
        }
        let stdin = (self.stdin.clone(), self.stdin_from);
        let opened: Vec<Opened> = redirects
            .iter()
            .filter_map(|redirect| self.open(redirect))
            .collect();
        let last = opened
            .iter()
            .rposition(|file| matches!(file.fd, None | Some(1)));
        let mut ran = run(self);
        (self.stdin, self.stdin_from) = stdin;
        for (at, Opened { path, act, .. }) in opened.iter().enumerate() {
            let text = if Some(at) == last {
                ran.output.take()
            } else {
                (*act == Act::Write).then(|| Field::literal(""))
            };
            self.write(path, *act, text.as_ref());
        }
        if last.is_some() {
            ran.output = Some(Field::literal(""));
        }
        ran
    }

    fn open(&mut self, redirect: &Redirect) -> Option<Opened> {
        let (word, act) = match &redirect.to {
            To::Read(word) => {
                let file = self.text(word);
                self.names_own_program |= is_named_by(&file.text);
                self.stdin = self.content(&file);
                self.stdin_from = if file.is("/dev/null") {
                    Stdin::Inherited
                } else {
                    Stdin::Given
                };
                return None;
            }
            To::HereString(word) => {
                self.stdin = Some(self.text(word).line());
                self.stdin_from = Stdin::Given;
                return None;
            }
            To::Heredoc(text) => {
                self.stdin = text.get().map(|word| self.text(word));
                self.stdin_from = Stdin::Given;
                return None;
            }
            To::Write(word) | To::Duplicate(word) => (word, Act::Write),
            To::Append(word) => (word, Act::Edit),
        };
        // Bash writes nothing where a word becomes several.
        let words = self.fields(std::slice::from_ref(word));
        let [file] = words.as_slice() else {
            return None;
        };
        let mut path = self.found(file).last()?.clone();
        if matches!(redirect.to, To::Duplicate(_))
            && (path.known().is_none() || path.text.chars().all(|c| c.is_ascii_digit() || c == '-'))
        {
            return None;
        }
        if let Some(absolute) = self.absolute(&path.text) {
            path.text = absolute;
        }
        let fd = redirect.fd;
        Some(Opened { path, act, fd })
    }
}
