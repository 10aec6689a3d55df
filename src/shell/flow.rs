//! Branches and loops: every branch is taken, every known value is looped over.

use super::condition::bare;
use super::eval::{Course, REPEAT_COST, Shell};
use super::field::{ANY_ONE, Field, Output};
use super::lex::{Cursor, Part, Word};
use super::status::Status;
use super::syntax::{Arm, Command, Compound, List, Sense, Simple, Step, Then};
use super::world::Scope;
use super::{arith, assign};

/// How many turns of a loop are followed one by one; those behind are one turn with a
/// value that is not known.
pub(super) const MAX_TURNS: usize = 512;

/// Whether none of the branches may run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skips {
    Possible,
    Never,
}

impl Skips {
    fn unless(certain: bool) -> Self {
        match certain {
            true => Self::Never,
            false => Self::Possible,
        }
    }
}

impl Shell<'_> {
    #[inline(never)]
    pub(super) fn compound(&mut self, compound: &Compound<'_>) -> Option<Output> {
        match compound {
            Compound::Group(list) => self.walk(list),
            Compound::Subshell(list) => self.subshell(|shell| shell.walk(list)),
            Compound::Background(list) => {
                let output = self.subshell(|shell| shell.walk(list));
                self.status = Status::Success;
                output
            }
            Compound::If { arms, otherwise } => self.if_command(arms, otherwise.as_deref()),
            Compound::While {
                sense,
                condition,
                body,
            } => self.while_loop(*sense, condition, body),
            Compound::For { name, words, body } => {
                let values = match words {
                    Some(words) => self.all_fields(words),
                    None => self.positional.to_vec(),
                };
                let known = values.iter().any(|value| value.known().is_some());
                self.perhaps_once(Skips::unless(known || values.is_empty()), |shell| {
                    shell.over(&[name], values, body)
                })
            }
            Compound::Case { subject, arms } => self.case(subject, arms),
            Compound::Test(words) => {
                // What is substituted in them runs.
                for word in words {
                    self.joined(&word.parts);
                }
                self.status = self.condition(words);
                Output::nothing()
            }
            Compound::Arith(parts) => {
                self.arithmetic(parts);
                self.status = Status::Open;
                Output::nothing()
            }
            Compound::Function { name, body } => {
                self.functions.insert((*name).to_owned(), (*body).into());
                self.status = Status::Success;
                Output::nothing()
            }
        }
    }

    #[inline(never)]
    fn if_command(
        &mut self,
        arms: &[(List<'_>, List<'_>)],
        otherwise: Option<&[Step<'_>]>,
    ) -> Option<Output> {
        let mut branches: Vec<&[Step<'_>]> = Vec::with_capacity(arms.len() + 1);
        let mut rest = otherwise;
        let mut skips = Skips::unless(otherwise.is_some());
        for (condition, body) in arms {
            self.walk(condition);
            match self.status {
                Status::Failure => {}
                Status::Success => {
                    branches.push(body);
                    (rest, skips) = (None, Skips::Never);
                    break;
                }
                Status::Likely | Status::Open => branches.push(body),
            }
        }
        branches.extend(rest);
        match branches.as_slice() {
            [] => Output::nothing(),
            [only] if skips == Skips::Never => self.walk(only),
            _ => self.branches(&branches, skips),
        }
    }

    /// Each branch starts from the same state. What follows sees what the
    /// last one led to, and what the others did.
    #[inline(never)]
    fn branches(&mut self, branches: &[&[Step<'_>]], skips: Skips) -> Option<Output> {
        self.worlds.clear();
        let mut ends = Vec::new();
        if skips == Skips::Possible {
            ends.push(self.place());
        }
        for branch in branches {
            self.attempt(self.place(), &mut ends, |shell| {
                shell.walk(branch);
                shell.status = Status::Open;
            });
        }
        self.settle(ends);
        self.status = Status::Open;
        None
    }

    /// What may not run at all, and then leaves another state.
    fn perhaps_once(
        &mut self,
        skips: Skips,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        if skips == Skips::Never {
            return run(self);
        }
        self.worlds.clear();
        let mut ends = vec![self.place()];
        self.attempt(self.place(), &mut ends, |shell| drop(run(shell)));
        self.settle(ends);
        self.status = Status::Open;
        None
    }

    #[inline(never)]
    fn case(&mut self, subject: &Word<'_>, arms: &[Arm<'_>]) -> Option<Output> {
        let subject = self.single(subject);
        // What stands for others of its kind may be any of them.
        let known = subject.known().filter(|_| subject.spelling != ANY_ONE);
        let Some(text) = known else {
            let branches: Vec<&[Step<'_>]> = arms.iter().map(|arm| arm.body.as_slice()).collect();
            let rest = |arm: &Arm<'_>| arm.patterns.iter().any(|word| bare(word) == Some("*"));
            return self.branches(&branches, Skips::unless(arms.iter().any(rest)));
        };
        let mut course = Course::default();
        let mut then = Then::NextMatch;
        for arm in arms {
            let runs = match then {
                Then::Ends => break,
                Then::NextBody => true,
                Then::NextMatch => {
                    let mut patterns = arm.patterns.iter();
                    patterns.any(|pattern| self.case_matches(pattern, text))
                }
            };
            if runs {
                course.print(self.walk(&arm.body));
                then = arm.then;
            }
        }
        course.output()
    }

    fn case_matches(&self, pattern: &Word<'_>, text: &str) -> bool {
        // Too long to match within bounds: taking the branch is the safe side.
        if text.len() > 1024 {
            return true;
        }
        let pattern = self.pattern(pattern);
        pattern.is_none_or(|pattern| pattern.matches(&self.folded(text)))
    }

    #[inline(never)]
    fn while_loop(
        &mut self,
        sense: Sense,
        condition: &[Step<'_>],
        body: &[Step<'_>],
    ) -> Option<Output> {
        let tree;
        let only = match condition {
            [step] => match &*step.pipeline {
                [Command::Lean(text)] => {
                    tree = Cursor::new(text).tree();
                    tree.as_ref()
                }
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        };
        if let Some(Command::Simple(simple)) = only
            && let Some(output) = self.reading_loop(simple, body)
        {
            return output;
        }
        if let Some(Command::Compound(compound, _)) = only
            && let Compound::Arith(head) = &**compound
            && head
                .iter()
                .all(|part| matches!(part, Part::Text(_) | Part::Value(..) | Part::Param(..)))
            && let Some(head) = self.joined(head).known()
            && let [first, test, next] = head.split(';').collect::<Vec<_>>().as_slice()
        {
            return self.counted([first, test, next], body);
        }
        self.walk(condition);
        let skips = match self.status.seen(sense) {
            Status::Failure => return Output::nothing(),
            status => Skips::unless(status == Status::Success),
        };
        self.perhaps_once(skips, |shell| {
            shell.open_loop(|shell| shell.turns(condition, body));
            None
        })
    }

    /// A loop over what `getopts` or `read` takes; `None` where the condition is another one.
    fn reading_loop(&mut self, simple: &Simple<'_>, body: &[Step<'_>]) -> Option<Option<Output>> {
        if simple.words.first().and_then(bare) == Some("getopts")
            && let [_, letters, name, given @ ..] = self.all_fields(&simple.words).as_slice()
            && let (Some(letters), Some(name)) = (letters.known(), name.known())
            && let Some(turns) = assign::options(self, letters, given)
        {
            return Some(self.over(&[name, "OPTARG"], turns, body));
        }
        let stdin = self.stdin.clone()?;
        let fields = self.all_fields(&simple.words);
        let mut known = fields.iter().filter_map(Field::known);
        known.next().filter(|name| *name == "read")?;
        let names: Vec<&str> = known.filter(|name| !name.starts_with('-')).collect();
        Some(self.with_assignments(&simple.assignments, |shell| {
            shell.over(&names, stdin.lines(), body)
        }))
    }

    /// Once: what a further turn would change is not known, and a loop that does
    /// not end must not be waited for. One that takes arguments away has turns
    /// as long as there are more.
    fn turns(&mut self, condition: &[Step<'_>], body: &[Step<'_>]) {
        let outer = self.repeats;
        loop {
            let n_args = self.positional.len();
            self.framed(Scope::Turn, |shell| shell.walk(body));
            let left = self.positional.len();
            self.repeats = outer + 1;
            let ends = self.halted.is_some() || left == 0 || left >= n_args;
            if ends || !self.spend(REPEAT_COST) {
                break;
            }
            self.walk(condition);
        }
        self.repeats = outer;
    }

    /// What is counted within may be another number in every turn.
    fn open_loop(&mut self, run: impl FnOnce(&mut Self)) {
        self.n_open_loops += 1;
        self.framed(Scope::Loop, |shell| {
            run(shell);
            None
        });
        self.n_open_loops -= 1;
    }

    /// `for ((first; test; next))`, as long as the numbers are known.
    fn counted(&mut self, [first, test, next]: [&str; 3], body: &[Step<'_>]) -> Option<Output> {
        arith::evaluate(self, first);
        let mut goes_on = arith::evaluate(self, test);
        let outer = self.repeats;
        let mut n_left = MAX_TURNS;
        self.framed(Scope::Loop, |shell| {
            while goes_on.is_some_and(|value| value != 0) && n_left > 0 && shell.spend(REPEAT_COST)
            {
                n_left -= 1;
                shell.framed(Scope::Turn, |shell| shell.walk(body));
                if shell.halted.is_some() {
                    goes_on = Some(0);
                    break;
                }
                shell.repeats = outer + 1;
                arith::evaluate(shell, next);
                goes_on = arith::evaluate(shell, test);
            }
            None
        });
        self.repeats = outer;
        if goes_on != Some(0) {
            self.open_loop(|shell| {
                arith::evaluate(shell, next);
                shell.framed(Scope::Turn, |shell| shell.walk(body));
            });
        }
        None
    }

    /// Runs a loop's body once per value; all but the first are repeats.
    fn over(
        &mut self,
        names: &[&str],
        mut values: Vec<Field>,
        body: &[Step<'_>],
    ) -> Option<Output> {
        if values.len() > MAX_TURNS {
            values.truncate(MAX_TURNS);
            values.push(Field::unknown());
        }
        let mut course = Course::default();
        let outer = self.repeats;
        self.framed(Scope::Loop, |shell| {
            for (n, value) in values.into_iter().enumerate() {
                if n > 0 && !shell.spend(REPEAT_COST) {
                    course.print(None);
                    break;
                }
                shell.turn(names, value, body, &mut course);
                if shell.halted.is_some() {
                    break;
                }
                shell.repeats = outer + 1;
            }
            None
        });
        self.repeats = outer;
        course.output()
    }

    fn turn(&mut self, names: &[&str], value: Field, body: &[Step<'_>], course: &mut Course) {
        self.deal(names, value);
        for world in &mut self.worlds {
            let vars = names.iter().filter_map(|name| self.variables.find(name));
            vars.for_each(|var| world.share(var));
        }
        course.print(self.framed(Scope::Turn, |shell| shell.walk(body)));
    }
}
