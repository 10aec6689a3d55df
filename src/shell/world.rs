//! The states a shell may be in where a command may have run or not.
//!
//! They go through a list side by side, one step at a time: each differs from
//! the present state by a few variables or by its directory, and there are few.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::changes::Changes;
use super::eval::{Course, Next, Shell};
use super::field::{Field, Output};
use super::slots::{Held, Var, Watch};
use super::status::Status;
use super::syntax::{Link, Step};

/// How many states are followed besides the present one.
const MAX_WORLDS: usize = 16;

/// How many ends of one step are looked at before these are chosen.
const MAX_ENDS: usize = 8 * MAX_WORLDS;

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
    ends: Vec<Context>,
}

/// A state seen from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Context {
    cwd: Option<Rc<str>>,
    /// The directory in which the present chain of `&&` and `||` began.
    chain_dir: Option<Rc<str>>,
    positional: Rc<[Field]>,
    status: Status,
    /// The variables that may differ, with what they hold here.
    changes: Changes,
}

impl Context {
    fn is_at(&self, other: &Self) -> bool {
        self.cwd == other.cwd && self.positional == other.positional
    }

    fn differs(&self, here: &Self) -> bool {
        !self.changes.is_empty() || !self.is_at(here) || self.status != here.status
    }

    pub(super) fn learn(&mut self, var: Var, held: Held) {
        self.changes.set(var, held);
    }

    /// A variable holds here what it holds in the present state.
    pub(super) fn share(&mut self, var: Var) {
        self.changes.remove(var);
    }

    pub(super) fn set_positional(&mut self, positional: &Rc<[Field]>) {
        self.positional.clone_from(positional);
    }
}

impl Shell<'_> {
    /// The present state, seen from itself.
    pub(super) fn place(&self) -> Context {
        Context {
            cwd: self.cwd.clone(),
            chain_dir: self.chain_dir.clone(),
            positional: self.positional.clone(),
            status: self.status,
            changes: Changes::default(),
        }
    }

    fn enter(&mut self, world: Context) {
        self.cwd = world.cwd;
        self.chain_dir = world.chain_dir;
        self.positional = world.positional;
        self.status = world.status;
        for (var, held) in world.changes {
            self.put(var, held);
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
    fn join(&mut self, mut ends: Vec<Context>, mark: usize) {
        let before = self.before(mark);
        for world in &mut ends {
            world.changes.fill(before.iter());
        }
        if self.end_branch() == Next::Ends {
            ends.append(&mut self.worlds);
            return self.settle(ends);
        }
        let here = self.place();
        for mut world in ends {
            self.reduce(&mut world);
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
            let end = Context {
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
        start: Context,
        ends: &mut Vec<Context>,
        run: impl FnOnce(&mut Self),
    ) {
        let back = self.place();
        let mark = self.mark();
        self.enter(start);
        run(self);
        self.go_back(back, mark, ends);
    }

    /// Notes where a run from the mark on led to, and goes back to where it began.
    fn go_back(&mut self, back: Context, mark: usize, ends: &mut Vec<Context>) {
        let next = self.end_branch();
        let end = Context {
            changes: self.changed(mark),
            ..self.place()
        };
        self.take_back(mark);
        for mut world in std::mem::take(&mut self.worlds) {
            world.changes.fill(end.changes.iter());
            add(ends, world);
        }
        if next == Next::GoesOn {
            add(ends, end);
        }
        self.enter(back);
    }

    /// Goes on from the last of several ends, the others beside it.
    pub(super) fn settle(&mut self, mut ends: Vec<Context>) {
        if ends.len() > MAX_WORLDS + 1 {
            self.even_out(&mut ends);
            thin(&mut ends);
        }
        if let Some(last) = ends.pop() {
            for world in &mut ends {
                let before = last.changes.vars().map(|var| (var, self.variables.at(var)));
                world.changes.fill(before);
            }
            self.enter(last);
        }
        ends.iter_mut().for_each(|world| self.reduce(world));
        let here = self.place();
        ends.retain(|world| world.differs(&here));
        self.worlds = ends;
    }

    /// Lets each state say of each variable what it holds.
    fn even_out(&self, ends: &mut [Context]) {
        let vars: BTreeSet<Var> = ends.iter().flat_map(|world| world.changes.vars()).collect();
        for world in ends {
            let here = vars.iter().map(|var| (*var, self.variables.at(*var)));
            world.changes.fill(here);
        }
    }

    /// Leaves of a state's changes what differs from the present one.
    fn reduce(&self, world: &mut Context) {
        world
            .changes
            .retain(|var, held| self.variables.at(var) != held);
    }

    /// Runs a step from each state the shell may be in: once for all of them, where it meets
    /// nothing in which they differ.
    #[inline(never)]
    pub(super) fn everywhere(&mut self, step: &Step<'_>, course: &mut Course) -> Next {
        let others = std::mem::take(&mut self.worlds);
        let here = self.place();
        let watch = self.watch(step.link, &here, &others);
        let mark = self.mark();
        self.linked(step, course);
        let is_same = watch.is_some_and(|watch| self.variables.ended(watch));
        if is_same && self.halted.is_none() && self.worlds.is_empty() {
            self.keep(mark);
            self.take_along(others);
            return Next::GoesOn;
        }
        let mut own = Vec::new();
        self.go_back(here, mark, &mut own);
        let mut ends = Vec::new();
        for world in others {
            if self.may_branch() {
                self.beside(world.changes.len(), |shell| {
                    shell.attempt(world, &mut ends, |shell| {
                        shell.linked(step, &mut Course::default());
                    });
                });
            }
        }
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

    /// Watches the variables in which other states differ from the present one; `None` where
    /// they differ in more than that.
    fn watch(&mut self, link: Link, here: &Context, others: &[Context]) -> Option<Watch> {
        if link != Link::Always || !others.iter().all(|world| world.is_at(here)) {
            return None;
        }
        let vars = others.iter().flat_map(|world| world.changes.vars());
        self.variables.watch(vars.collect())
    }

    /// Other states have come to what the present one has come to.
    fn take_along(&mut self, mut others: Vec<Context>) {
        let here = self.place();
        for world in &mut others {
            let changes = std::mem::take(&mut world.changes);
            *world = Context {
                changes,
                ..here.clone()
            };
        }
        others.retain(|world| world.differs(&here));
        self.worlds = others;
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
        let skipped = Context {
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
                add(&mut self.worlds, Context { changes, ..skipped });
            }
        } else if self.status != Status::Failure {
            self.status = Status::Open;
        }
    }

    /// The right side of `||` starts where the left one failed. A directory
    /// that nothing led away from is no other state: most chains go on.
    #[inline(never)]
    fn otherwise(&mut self, step: &Step<'_>) {
        let failed = Context {
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
        let differs = |end: &Context| !end.changes.is_empty() || !end.is_at(&failed);
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
        let stays = Context {
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

fn add(worlds: &mut Vec<Context>, world: Context) {
    if worlds.len() < MAX_ENDS && !worlds.contains(&world) {
        worlds.push(world);
    }
}

/// Leaves so many states as are followed, and the last one: first those in which something
/// is as in none before them.
fn thin(ends: &mut Vec<Context>) {
    let mut kept: Vec<Context> = ends.pop().into_iter().collect();
    let mut others = Vec::new();
    for end in ends.drain(..) {
        let is_new = |(var, held): (Var, &Held)| {
            let has = |world: &Context| world.changes.get(var) == Some(held);
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
