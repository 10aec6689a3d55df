//! `if f.endswith(".log"):` right before a call in a loop over a listing: the turns in
//! which the call is made.

use super::bind::{Bound, Shape};
use super::calls::Script;
use super::code::Token;
use super::eval::REPEAT_COST;
use super::field::{ANY_ONE, Field};
use super::value::{Reader, Span};
use crate::target::Spelling;

/// How many tokens a condition may have.
const MAX_CONDITION: usize = 64;

const ARROW: (Option<char>, Option<char>) = (Some('='), Some('>'));

/// What names held before a condition left less of it, by their places.
pub(super) type Held = Vec<(usize, Bound)>;

impl Script<'_, '_, '_, '_> {
    /// Leaves to the names of a loop only the turns in which the call at `at` is made.
    #[inline(never)]
    pub(super) fn narrow(&mut self, at: usize) -> Held {
        let condition = self
            .condition_before(at)
            .or_else(|| self.condition_behind(at));
        let Some(condition) = condition else {
            return Held::new();
        };
        let mut words = (condition.0..condition.1).filter_map(|at| self.word(at));
        let Some((name, turns)) = words.find_map(|word| {
            let bound = self.variables.get(word)?;
            let is_turn = matches!(bound.shape, Shape::Turn(_));
            let is_listed = bound.values.first().is_some_and(is_listed);
            (is_turn && is_listed).then(|| (word, bound.clone()))
        }) else {
            return Held::new();
        };
        if !self.shell.spend(REPEAT_COST * turns.values.len()) {
            return Held::new();
        }
        let mut kept = Vec::with_capacity(turns.values.len());
        for value in &turns.values {
            kept.push(self.holds_of(name, value, condition) != Some(false));
        }
        self.set(name, turns.clone());
        let mut held = Held::new();
        for (at, bound) in self.variables.all() {
            if bound.shape == turns.shape && bound.values.len() == kept.len() {
                held.push((at, bound.clone()));
                let mut kept = kept.iter();
                bound.values.retain(|_| kept.next() == Some(&true));
            }
        }
        held
    }

    /// What `.filter(x => CONDITION)` leaves; nothing is known where one item's end is not.
    pub(super) fn filtered(&mut self, open: usize, values: &[Field]) -> Vec<Field> {
        let end = self.after(open) - 1;
        let mut arrows = (open..end).filter(|at| (self.mark(*at), self.mark(at + 1)) == ARROW);
        let name = (open + 1..end).find_map(|at| self.word(at));
        let (Some(arrow), Some(name)) = (arrows.next(), name) else {
            return Vec::new();
        };
        let outer = self.lookup(name).cloned().unwrap_or_default();
        let mut left = Some(Vec::new());
        for value in values {
            match (self.holds_of(name, value, (arrow + 2, end)), &mut left) {
                (Some(true), Some(left)) => left.push(value.clone()),
                (Some(_), _) => {}
                (None, _) => left = None,
            }
        }
        self.set(name, outer);
        left.unwrap_or_default()
    }

    fn holds_of(&mut self, name: &str, value: &Field, condition: Span) -> Option<bool> {
        self.set(name, Bound::from(vec![value.clone()]));
        self.holds(condition)
    }

    pub(super) fn widen(&mut self, held: Held) {
        for (at, bound) in held {
            if let Some(narrowed) = self.variables.at(at) {
                *narrowed = bound;
            }
        }
    }

    /// `if CONDITION:`, `if (CONDITION) {`.
    fn condition_before(&self, at: usize) -> Option<Span> {
        let mut end = self.receiver_start(at).checked_sub(1)?;
        while matches!(
            self.code.tokens.get(end),
            Some(Token::End | Token::Mark('{') | Token::Word("await"))
        ) {
            end = end.checked_sub(1)?;
        }
        let open = self.code.partner(end);
        if self.mark(end) == Some(')') {
            let is_if = self.word(open.checked_sub(1)?) == Some("if");
            return is_if.then_some((open + 1, end));
        }
        self.mark(end).filter(|mark| *mark == ':')?;
        let mut start = end;
        while !matches!(self.word(start), Some("if" | "elif")) {
            start = start
                .checked_sub(1)
                .filter(|start| start + MAX_CONDITION > end)?;
            if self.code.tokens.get(start) == Some(&Token::End) {
                return None;
            }
        }
        Some((start + 1, end))
    }

    /// `CALL if CONDITION`, `CALL for x in VALUES if CONDITION`.
    fn condition_behind(&self, at: usize) -> Option<Span> {
        let ends = |at: usize| {
            matches!(
                self.code.tokens.get(at),
                None | Some(Token::End | Token::Mark(',' | ')' | ']' | '}'))
            )
        };
        let mut start = at + 1;
        while self.word(start) != Some("if") {
            if ends(start) || start > at + MAX_CONDITION {
                return None;
            }
            start = self.after(start);
        }
        let mut end = start + 1;
        while !ends(end) && end < start + MAX_CONDITION {
            end = self.after(end);
        }
        Some((start + 1, end))
    }

    /// Whether a condition holds; `None` where that is not known.
    fn holds(&mut self, (start, end): Span) -> Option<bool> {
        let (mut from, mut at, mut all) = (start, start, Some(true));
        while at <= end {
            let next = match (self.word(at), self.mark(at), self.mark(at + 1)) {
                _ if at == end => at + 1,
                (Some("and"), ..) => at + 1,
                (_, Some('&'), Some('&')) => at + 2,
                (Some("or" | "else" | "not" | "for"), ..) | (_, Some('|' | '?'), _) => {
                    return None;
                }
                _ => {
                    at = self.after(at);
                    continue;
                }
            };
            match self.is_true((from, at)) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
            (from, at) = (next, next);
        }
        all
    }

    /// `x == "a"`, `x in ("a", "b")`, `x.endswith("a")`.
    fn is_true(&mut self, (start, end): Span) -> Option<bool> {
        let mut at = start;
        while at < end {
            let n_marks = 2 + usize::from(self.mark(at + 2) == Some('='));
            match (self.word(at), self.mark(at), self.mark(at + 1)) {
                (_, Some(mark @ ('=' | '!')), Some('=')) => {
                    let is_equal = self.is_any((start, at), (at + n_marks, end), str::eq)?;
                    return Some(is_equal == (mark == '='));
                }
                (Some("in"), ..) => {
                    let is_list = Reader::new(self, (at + 1, end)).whole().shape.is_list();
                    let test = if is_list { str::eq } else { contains };
                    return self.is_any((start, at), (at + 1, end), test);
                }
                (Some(name), ..) if self.before(at) == Some('.') && at > start + 1 => {
                    if let Some(test) = method(name) {
                        let open = (at + 1..end).find(|at| self.mark(*at) == Some('('))?;
                        let right = (open + 1, self.after(open) - 1);
                        // `… == False`.
                        let is_all = right.1 + 1 == end;
                        return is_all.then(|| self.is_any((start, at - 1), right, test))?;
                    }
                }
                _ => {}
            }
            at = self.after(at);
        }
        None
    }

    /// Whether the text on the left passes with any on the right, where all are known.
    fn is_any(&mut self, left: Span, right: Span, test: TextTest) -> Option<bool> {
        let left = self.values(left);
        let right = self.values(right);
        let [left] = left.as_slice() else {
            return None;
        };
        let left = left.known()?;
        let mut is_any = None;
        for right in &right {
            is_any = Some(is_any == Some(true) || test(left, right.known()?));
        }
        is_any
    }
}

type TextTest = fn(&str, &str) -> bool;

fn contains(text: &str, part: &str) -> bool {
    text.contains(part)
}

fn method(name: &str) -> Option<TextTest> {
    Some(match name {
        "endswith" | "endsWith" | "end_with" => |text, end| text.ends_with(end),
        "startswith" | "startsWith" | "start_with" => |text, start| text.starts_with(start),
        "includes" => contains,
        _ => return None,
    })
}

fn is_listed(value: &Field) -> bool {
    matches!(value.spelling, Spelling::Glob { matches: Some(_) }) && value.spelling != ANY_ONE
}
