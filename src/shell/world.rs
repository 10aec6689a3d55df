//! The states a shell may be in where a command may have run or not.
//!
//! They go through a list side by side, one step at a time: each differs from
//! the present state by a few variables or by its directory, and there are few.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ecow::EcoString;

use super::eval::{Course, Next, Shell};
use super::field::{Field, Output};
use super::syntax::{Link, Sense, Step};
use super::table::{Key, Table};
use super::variable::Held;

/// How many states are followed besides the present one.
const MAX_WORLDS: usize = 16;

/// How many ends of one step are looked at before these are chosen.
const MAX_ENDS: usize = 8 * MAX_WORLDS;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Success,
    Failure,
    /// Its writer counts on success: only `||` looks at the other end.
    Likely,
    Open,
}

impl Status {
    pub(super) fn seen(self, sense: Sense) -> Self {
        match (sense, self) {
            (Sense::Plain, status) => status,
            (Sense::Negated, Self::Success) => Self::Failure,
            (Sense::Negated, Self::Failure) => Self::Success,
            (Sense::Negated, Self::Likely | Self::Open) => Self::Open,
        }
    }

    /// What commands usually end with.
    pub(super) fn usual(name: Key<'_>) -> Self {
        BY_NAME.get(name).map_or(Self::Open, |row| row.1)
    }
}

/// Commands that end in one way, or hardly ever fail.
const ENDS: &[(&str, Status)] = &{
    const SAFE: [&str; 40] = [
        "alias", "awk", "cat", "cd", "chdir", "chmod", "chown", "cp", "date", "declare", "echo",
        "export", "find", "head", "install", "ln", "local", "ls", "mkdir", "mv", "popd", "printf",
        "pushd", "pwd", "readonly", "rm", "sed", "set", "shift", "shopt", "sleep", "sort", "tail",
        "tee", "touch", "typeset", "umask", "unset", "wait", "wc",
    ];
    let mut ends = [("", Status::Likely); SAFE.len() + 3];
    let mut at = 0;
    while at < SAFE.len() {
        ends[at].0 = SAFE[at];
        at += 1;
    }
    ends[at] = (":", Status::Success);
    ends[at + 1] = ("true", Status::Success);
    ends[at + 2] = ("false", Status::Failure);
    ends
};

const NAMES: [&str; ENDS.len()] = names!(ENDS, 0);

static BY_NAME: Table<(&str, Status)> = Table::new(ENDS, &NAMES);

/// What a command's end leads out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// `exit`: nothing comes behind it.
    Shell,
    /// The shell goes on behind the scope.
    Scope(Scope),
}

/// What of a script can be left early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// One turn of a loop: `continue`.
    Turn,
    /// `break`.
    Loop,
    /// A function, or a script that is sourced: `return`.
    Function,
}

/// A scope that runs.
pub(super) struct Frame {
    scope: Scope,
    mark: usize,
    /// The states in which branches left it, seen from where it began.
    ends: Vec<World>,
}

/// A state seen from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct World {
    cwd: Option<Rc<str>>,
    /// The directory in which the present chain of `&&` and `||` began.
    chain_dir: Option<Rc<str>>,
    positional: Rc<[Field]>,
    status: Status,
    /// The variables that may differ, with what they hold here.
    changes: BTreeMap<EcoString, Held>,
}

impl World {
    fn is_at(&self, other: &Self) -> bool {
        self.cwd == other.cwd && self.positional == other.positional
    }

    pub(super) fn learn(&mut self, name: &str, held: Held) {
        self.changes.insert(name.into(), held);
    }

    /// A variable holds here what it holds in the present state.
    pub(super) fn share(&mut self, name: &str) {
        self.changes.remove(name);
    }

    pub(super) fn set_positional(&mut self, positional: &Rc<[Field]>) {
        self.positional.clone_from(positional);
    }
}

impl Shell<'_> {
    /// The present state, seen from itself.
    pub(super) fn place(&self) -> World {
        World {
            cwd: self.cwd.clone(),
            chain_dir: self.chain_dir.clone(),
            positional: self.positional.clone(),
            status: self.status,
            changes: BTreeMap::new(),
        }
    }

    fn enter(&mut self, world: World) {
        self.cwd = world.cwd;
        self.chain_dir = world.chain_dir;
        self.positional = world.positional;
        self.status = world.status;
        for (name, held) in world.changes {
            self.put(&name, held);
        }
    }

    /// Runs what can be left early. The states in which branches left it are behind it
    /// beside the present one.
    pub(super) fn framed(
        &mut self,
        scope: Scope,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        let mark = self.mark();
        let ends = Vec::new();
        self.frames.push(Frame { scope, mark, ends });
        let output = run(self);
        let ends = self.frames.pop().map_or_else(Vec::new, |frame| frame.ends);
        if self.halted == Some(Halt::Scope(scope)) {
            self.halted = None;
        }
        if !ends.is_empty() {
            self.join(ends, mark);
        }
        self.keep(mark);
        output
    }

    /// Goes on from other states as well, which are seen from where the mark stands;
    /// from them alone, where the present one leaves more.
    fn join(&mut self, mut ends: Vec<World>, mark: usize) {
        let before = self.before(mark);
        for world in &mut ends {
            for (name, held) in &before {
                let entry = world.changes.entry(name.clone());
                entry.or_insert_with(|| held.clone());
            }
        }
        if self.end_branch() == Next::Ends {
            ends.append(&mut self.worlds);
            return self.settle(ends);
        }
        let here = self.place();
        for mut world in ends {
            world
                .changes
                .retain(|name, held| self.variables.get(name) != held.as_ref());
            if (!world.changes.is_empty() || !world.is_at(&here)) && self.may_branch() {
                add(&mut self.worlds, world);
            }
        }
    }

    pub(super) fn is_in(&self, scope: Scope) -> bool {
        self.frames.iter().any(|frame| frame.scope == scope)
    }

    /// Leaves the innermost scope of a kind. Outside of one the command is an error, and
    /// the shell goes on.
    pub(super) fn leave(&mut self, scope: Scope) {
        let mut frames = self.frames.iter().rev();
        let frame = frames.find(|frame| frame.scope == scope || frame.scope == Scope::Function);
        // A function's body is in no loop of its caller's.
        if frame.is_some_and(|frame| frame.scope == scope) {
            self.halted = Some(Halt::Scope(scope));
        }
    }

    /// Ends a branch, and says whether the shell goes on behind it. Where the branch left
    /// a scope, the shell goes on from here behind that.
    fn end_branch(&mut self) -> Next {
        let halted = self.halted.take();
        if let Some(Halt::Scope(scope)) = halted
            && let Some(at) = self.frames.iter().rposition(|frame| frame.scope == scope)
        {
            let end = World {
                changes: self.changed(self.frames[at].mark),
                ..self.place()
            };
            add(&mut self.frames[at].ends, end);
        }
        halted.map_or(Next::GoesOn, |_| Next::Ends)
    }

    /// Runs from `start`, notes where that led to, and goes back; an end is
    /// none where the shell exits, or leaves a scope.
    pub(super) fn attempt(
        &mut self,
        start: World,
        ends: &mut Vec<World>,
        run: impl FnOnce(&mut Self),
    ) {
        let back = self.place();
        let mark = self.mark();
        self.enter(start);
        run(self);
        let next = self.end_branch();
        let end = World {
            changes: self.changed(mark),
            ..self.place()
        };
        self.take_back(mark);
        for mut world in std::mem::take(&mut self.worlds) {
            for (name, held) in &end.changes {
                let entry = world.changes.entry(name.clone());
                entry.or_insert_with(|| held.clone());
            }
            add(ends, world);
        }
        if next == Next::GoesOn {
            add(ends, end);
        }
        self.enter(back);
    }

    /// Goes on from the last of several ends, the others beside it.
    pub(super) fn settle(&mut self, mut ends: Vec<World>) {
        let changes = ends.iter().flat_map(|world| world.changes.keys());
        let names: BTreeSet<EcoString> = changes.cloned().collect();
        for world in &mut ends {
            for name in &names {
                let before = || self.holds(name);
                world.changes.entry(name.clone()).or_insert_with(before);
            }
        }
        thin(&mut ends);
        if let Some(last) = ends.pop() {
            self.enter(last);
        }
        for world in &mut ends {
            world
                .changes
                .retain(|name, held| self.variables.get(name) != held.as_ref());
        }
        let here = self.place();
        let differs = |world: &World| {
            let same = world.changes.is_empty() && world.is_at(&here);
            !same || world.status != here.status
        };
        ends.retain(differs);
        self.worlds = ends;
    }

    /// Runs a step from each state the shell may be in.
    #[inline(never)]
    pub(super) fn everywhere(&mut self, step: &Step<'_>, course: &mut Course) -> Next {
        let others = std::mem::take(&mut self.worlds);
        let mut ends = Vec::new();
        let here = self.place();
        for world in others {
            if self.may_branch() {
                self.beside(world.changes.len(), |shell| {
                    shell.attempt(world, &mut ends, |shell| {
                        shell.linked(step, &mut Course::default());
                    });
                });
            }
        }
        let mut own = Vec::new();
        self.attempt(here, &mut own, |shell| shell.linked(step, course));
        // The present state goes on, however many others there are.
        ends.truncate(MAX_ENDS - MAX_WORLDS);
        ends.retain(|end| !own.contains(end));
        ends.append(&mut own);
        if ends.is_empty() {
            return Next::Ends;
        }
        self.settle(ends);
        Next::GoesOn
    }

    /// Runs a step if what stands before it lets it run.
    pub(super) fn linked(&mut self, step: &Step<'_>, course: &mut Course) {
        match (step.link, self.status) {
            (Link::Always, _) => {
                self.chain_dir.clone_from(&self.cwd);
                self.run_step(step, course);
            }
            (Link::And, Status::Success | Status::Likely) | (Link::Or, Status::Failure) => {
                self.run_step(step, course);
                // It may not have come so far.
                self.end_branch();
            }
            (Link::And, Status::Failure) | (Link::Or, Status::Success) => {}
            (Link::And, Status::Open) => self.perhaps(step, course),
            (Link::Or, Status::Likely | Status::Open) => self.otherwise(step),
        }
    }

    /// Goes on as if the step ran; that it did not is another state.
    #[inline(never)]
    fn perhaps(&mut self, step: &Step<'_>, course: &mut Course) {
        let skipped = World {
            status: Status::Failure,
            ..self.place()
        };
        let mark = self.mark();
        self.run_step(step, course);
        let changes = self.before(mark);
        if self.end_branch() == Next::Ends {
            self.take_back(mark);
            self.enter(skipped);
            return;
        }
        self.keep(mark);
        if !changes.is_empty() || !skipped.is_at(&self.place()) {
            if self.may_branch() {
                add(&mut self.worlds, World { changes, ..skipped });
            }
        } else if self.status != Status::Failure {
            self.status = Status::Open;
        }
    }

    /// The right side of `||` starts where the left one failed. A directory
    /// that nothing led away from is no other state: most chains go on.
    #[inline(never)]
    fn otherwise(&mut self, step: &Step<'_>) {
        let failed = World {
            cwd: self.chain_dir.clone(),
            status: Status::Failure,
            ..self.place()
        };
        let mut ends = Vec::new();
        self.attempt(failed.clone(), &mut ends, |shell| {
            shell.run_step(step, &mut Course::default());
        });
        self.status = match ends.last() {
            Some(end) if !matches!(end.status, Status::Success | Status::Likely) => Status::Open,
            Some(_) => Status::Likely,
            None => Status::Success,
        };
        if ends.is_empty() {
            self.left_dir = None;
        }
        let differs = |end: &World| !end.changes.is_empty() || !end.is_at(&failed);
        ends.retain(differs);
        if self.may_branch() {
            ends.into_iter().for_each(|end| add(&mut self.worlds, end));
        }
    }

    /// A `cd` whose directory is not there, and was not made either, fails: what follows runs
    /// where the shell was before.
    #[inline(never)]
    pub(super) fn doubt(&mut self) {
        let Some(left) = self.left_dir.take() else {
            return;
        };
        let Some(dir) = self.cwd.clone().filter(|dir| *dir != left) else {
            return;
        };
        let is_home = self.scene.home == Some(&dir);
        let is_made =
            self.made_unseen || self.found.makes_dir(&dir) || self.found.makes_entry(&dir);
        if is_home || is_made || self.scene.disk.is_dir(&dir) {
            return;
        }
        let stays = World {
            cwd: Some(left.clone()),
            chain_dir: Some(left),
            status: Status::Failure,
            ..self.place()
        };
        if self.may_branch() {
            add(&mut self.worlds, stays);
        }
    }

    fn run_step(&mut self, step: &Step<'_>, course: &mut Course) {
        let output = self.pipeline(&step.pipeline);
        course.print(output);
        self.status = self.status.seen(step.sense);
    }
}

fn add(worlds: &mut Vec<World>, world: World) {
    if worlds.len() < MAX_ENDS && !worlds.contains(&world) {
        worlds.push(world);
    }
}

/// Leaves so many states as are followed, and the last one: first those in which something
/// is as in none before them.
fn thin(ends: &mut Vec<World>) {
    if ends.len() <= MAX_WORLDS + 1 {
        return;
    }
    let mut kept: Vec<World> = ends.pop().into_iter().collect();
    let mut others = Vec::new();
    for end in ends.drain(..) {
        let is_new = |(name, held): (&EcoString, &Held)| {
            let has = |world: &World| world.changes.get(name) == Some(held);
            !kept.iter().any(has)
        };
        if !kept.iter().any(|world| world.is_at(&end)) || end.changes.iter().any(is_new) {
            kept.push(end);
        } else {
            others.push(end);
        }
    }
    kept.append(&mut others);
    kept.truncate(MAX_WORLDS + 1);
    kept.reverse();
    *ends = kept;
}
