//! Branches and loops: every branch is taken, every known value is looped over.

use std::collections::BTreeSet;

use ecow::EcoString;

use super::arith;
use super::eval::{REPEAT_COST, Shell};
use super::field::{Field, Output};
use super::glob::{Pattern, all_active};
use super::lex::{Part, Word};
use super::syntax::{Command, Compound, List, Step};
use super::variable::World;

/// How many different ends of a command's branches are followed.
const MAX_WORLDS: usize = 8;

/// Whether none of the branches may run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skips {
    Possible,
    Never,
}

/// The condition is the command `false` alone.
fn is_false(condition: &[Step<'_>]) -> bool {
    let [step] = condition else { return false };
    let [Command::Simple(simple)] = &*step.pipeline else {
        return false;
    };
    let parts = simple.words.first().map(|word| &*word.parts);
    matches!(parts, Some([Part::Bare("false")]))
}

impl Shell<'_> {
    pub(super) fn compound(&mut self, compound: &Compound<'_>) -> Option<Output> {
        match compound {
            Compound::Group(list) => self.walk(list),
            Compound::Subshell(list) => self.subshell(|shell| shell.walk(list)),
            Compound::If { arms, otherwise } => {
                let mut branches = Vec::with_capacity(arms.len() + 1);
                for (condition, body) in arms {
                    self.walk(condition);
                    if !is_false(condition) {
                        branches.push(body.as_slice());
                    }
                }
                let skips = match otherwise {
                    Some(_) => Skips::Never,
                    None => Skips::Possible,
                };
                branches.extend(otherwise.as_deref());
                self.branches(&branches, skips)
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
            Compound::Arith(parts) => {
                self.arithmetic(parts);
                Output::nothing()
            }
            Compound::Function { name, body } => {
                self.functions.insert((*name).to_owned(), (*body).into());
                Output::nothing()
            }
        }
    }

    /// Each branch starts from the same state. What follows sees what the
    /// last one led to, then what the others did.
    fn branches(&mut self, branches: &[&[Step<'_>]], skips: Skips) -> Option<Output> {
        let start = self.cwd.clone();
        let mut worlds = Vec::new();
        if skips == Skips::Possible {
            worlds.push(World::at(start.clone()));
        }
        for branch in branches {
            let mark = self.mark();
            self.cwd.clone_from(&start);
            self.walk(branch);
            self.worlds.clear();
            let world = World {
                cwd: self.cwd.clone(),
                changes: self.changed(mark),
            };
            self.take_back(mark);
            if !self.halted && worlds.len() < MAX_WORLDS && !worlds.contains(&world) {
                worlds.push(world);
            }
            self.halted = false;
        }
        self.cwd = start;
        self.complete(&mut worlds);
        if let Some(last) = worlds.pop() {
            self.enter(last);
        }
        self.worlds = worlds;
        None
    }

    /// What one branch left alone holds what it held before them all.
    fn complete(&self, worlds: &mut [World]) {
        if worlds.len() < 2 {
            return;
        }
        let changes = worlds.iter().flat_map(|world| world.changes.keys());
        let names: BTreeSet<EcoString> = changes.cloned().collect();
        for world in worlds {
            for name in &names {
                let before = || self.holds(name);
                world.changes.entry(name.clone()).or_insert_with(before);
            }
        }
    }

    fn case(&mut self, subject: &Word<'_>, arms: &[(Vec<Word<'_>>, List<'_>)]) -> Option<Output> {
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
        self.branches(&branches, Skips::Possible)
    }

    fn case_matches(&mut self, pattern: &Word<'_>, text: &str) -> bool {
        // Too long to match within bounds: taking the branch is the safe side.
        if text.len() > 1024 {
            return true;
        }
        let mut active = Vec::new();
        let mut whole = Field::literal("");
        for part in pattern.parts.iter() {
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
            && let [Command::Simple(simple)] = &*step.pipeline
            && let Some(stdin) = self.stdin.clone()
        {
            let fields = self.all_fields(&simple.words);
            let known: Vec<&str> = fields.iter().filter_map(Field::known).collect();
            if known.first() == Some(&"read") {
                let names = known.iter().skip(1).filter(|name| !name.starts_with('-'));
                let names: Vec<&str> = names.copied().collect();
                return self.with_assignments(&simple.assignments, |shell| {
                    shell.over(&names, stdin.lines(), body)
                });
            }
        }
        if let [step] = condition
            && let [Command::Compound(Compound::Arith(head), _)] = &*step.pipeline
            && let [Part::Text(head)] = &**head
            && let [first, test, next] = head.split(';').collect::<Vec<_>>().as_slice()
        {
            return self.counted([first, test, next], body);
        }
        // Once: what a further turn would change is not known, and a loop that
        // does not end must not be waited for.
        self.open_loop(|shell| {
            shell.walk(condition);
            shell.walk(body);
        });
        None
    }

    /// What is counted within may be another number in every turn.
    fn open_loop(&mut self, run: impl FnOnce(&mut Self)) {
        self.n_open_loops += 1;
        run(self);
        self.n_open_loops -= 1;
        self.halted = false;
    }

    /// `for ((first; test; next))`, as long as the numbers are known.
    fn counted(&mut self, [first, test, next]: [&str; 3], body: &[Step<'_>]) -> Option<Output> {
        arith::evaluate(self, first);
        let mut goes_on = arith::evaluate(self, test);
        let outer = self.repeats;
        while goes_on.is_some_and(|value| value != 0) && self.spend(REPEAT_COST) {
            self.walk(body);
            if std::mem::take(&mut self.halted) {
                goes_on = Some(0);
                break;
            }
            self.repeats = outer + 1;
            arith::evaluate(self, next);
            goes_on = arith::evaluate(self, test);
        }
        self.repeats = outer;
        if goes_on != Some(0) {
            self.open_loop(|shell| {
                arith::evaluate(shell, next);
                shell.walk(body);
            });
        }
        None
    }

    /// Runs a loop's body once per value; all but the first are repeats.
    fn over(&mut self, names: &[&str], values: Vec<Field>, body: &[Step<'_>]) -> Option<Output> {
        let mut printed = Some(EcoString::new());
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
        printed: &mut Option<EcoString>,
    ) {
        self.deal(names, value);
        let output = self.walk(body);
        self.halted = false;
        match (printed.as_mut(), output) {
            (Some(text), Some(output)) => text.push_str(&output.text),
            _ => *printed = None,
        }
    }
}
