//! Compound commands: conditions, loops, choices.

use super::eval::{Ran, Shell, Status};
use super::field::Field;
use super::state::Halt;
use super::syntax::{Arm, Kind, List, Sense, Word};
use crate::base::target::Spelling;

/// How many turns of a loop are followed; what comes behind them counts as one more, with
/// values that are not known.
const TURNS: usize = 64;

impl Shell<'_> {
    pub(super) fn compound(&mut self, kind: &Kind) -> Ran {
        match kind {
            Kind::Simple(simple) => self.simple(simple, &[]),
            Kind::Group(list) => self.list(list),
            Kind::Subshell(list) => self.subshell(|shell| shell.list(list)),
            Kind::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref()),
            Kind::While {
                sense,
                condition,
                body,
            } => self.repeat(*sense, condition, body),
            Kind::For { name, words, body } => {
                let values = match words {
                    Some(words) => self.fields(words),
                    None => self.place.positional.to_vec(),
                };
                let found = self.all_found(&values);
                self.turns(&found, |shell, value| {
                    shell.set(name, value);
                    shell.list(body)
                })
            }
            Kind::Case { subject, arms } => self.case(subject, arms),
            Kind::Test(words) => {
                words.iter().for_each(|word| drop(self.text(word)));
                Ran::ended(Status::Open)
            }
            Kind::Arithmetic(head, body) => {
                self.arithmetic(head);
                let ran = self.list(body);
                self.leave_turn();
                self.arithmetic(head);
                ran.uncertain()
            }
            Kind::Function { name, body } => {
                self.functions.insert(name.clone(), body.clone());
                Ran::silent()
            }
        }
    }

    fn conditional(&mut self, arms: &[(List, List)], otherwise: Option<&List>) -> Ran {
        let Some(((condition, body), others)) = arms.split_first() else {
            return otherwise.map_or(Ran::silent(), |list| self.list(list));
        };
        let status = self.list(condition).status;
        if self.halted.is_some() {
            return Ran::unknown();
        }
        if matches!(status, Status::Certain | Status::Success)
            && others.is_empty()
            && otherwise.is_none()
        {
            return self.list(body);
        }
        let (end, ran) = self.branch(|shell| shell.list(body));
        let (other_end, other) = self.branch(|shell| shell.conditional(others, otherwise));
        self.meet(vec![end, other_end]);
        Ran {
            status: Status::Open,
            output: if ran.output == other.output {
                ran.output
            } else {
                None
            },
        }
    }

    fn repeat(&mut self, sense: Sense, condition: &List, body: &List) -> Ran {
        let ran = match self.list(condition).status.seen(sense) {
            Status::Certain | Status::Success => self.list(body),
            _ => self.in_branch(|shell| shell.list(body)),
        };
        self.leave_turn();
        ran.uncertain()
    }

    /// The commands after a loop run, but where the loop left more than itself.
    fn leave_turn(&mut self) {
        if self.halted == Some(Halt::Turn) {
            self.halted = None;
        }
    }

    /// Runs a loop's body for each value.
    fn turns(&mut self, values: &[Field], turn: impl Fn(&mut Self, Field) -> Ran) -> Ran {
        let is_known = values.iter().all(|value| value.known().is_some());
        let listed_at = self.listed_at;
        if values
            .iter()
            .any(|value| value.spelling != Spelling::Literal)
        {
            self.listed_at.get_or_insert(self.n_branches);
        }
        let mut ran = Ran::silent();
        for (at, value) in values.iter().enumerate().take(TURNS + 1) {
            let value = if at < TURNS {
                value.clone()
            } else {
                Field::unknown()
            };
            ran = ran.then(if is_known {
                turn(self, value)
            } else {
                self.in_branch(|shell| turn(shell, value))
            });
            self.leave_turn();
            if self.halted.is_some() || self.has_given_up() {
                break;
            }
        }
        self.listed_at = listed_at;
        ran
    }

    /// Each arm may be the one that runs, or none.
    fn case(&mut self, subject: &Word, arms: &[Arm]) -> Ran {
        self.text(subject);
        let mut ends = vec![self.here()];
        let mut ran = Ran::silent();
        for arm in arms {
            arm.patterns
                .iter()
                .for_each(|pattern| drop(self.text(pattern)));
            let (end, other) = self.branch(|shell| shell.list(&arm.body));
            ends.push(end);
            ran = ran.then(other);
        }
        self.meet(ends);
        ran.uncertain()
    }
}
