//! `if f.endswith(".log"):` right before a call in a loop over a listing, and `continue` or
//! `return` right behind one: the turns in which calls are made.

use super::bind::{Bound, Shape};
use super::calls::Script;
use super::code::{Language, Token};
use super::eval::REPEAT_COST;
use super::field::{ANY_ONE, Field};
use super::value::{Reader, Span};
use crate::base::target::Spelling;

/// How many tokens a condition may have.
const MAX_CONDITION: usize = 64;

const ARROW: (Option<char>, Option<char>) = (Some('='), Some('>'));

/// What names held before a condition left less of it, by their places.
pub(super) type Held = Vec<(usize, Bound)>;

/// What is done under a condition, and what that left out of the names.
pub(super) struct Block {
    condition: Span,
    end: usize,
    held: Held,
}

/// In which turns what a condition guards is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    WhereItHolds,
    WhereItFails,
}

/// What stands between conditions.
#[derive(Clone, Copy)]
enum Joint {
    Or,
    And,
}

impl Script<'_, '_, '_, '_> {
    /// Leaves to the names of a loop only the turns in which the call at `at` is made.
    #[inline(never)]
    pub(super) fn narrow(&mut self, at: usize) -> Held {
        match self.condition_of(at) {
            Some(condition) => self.keep_turns(condition, Guard::WhereItHolds),
            None => Held::new(),
        }
    }

    /// `if CONDITION: continue`, of the innermost loop.
    #[inline(never)]
    pub(super) fn skip_turns(&mut self, at: usize) {
        let Some(condition) = self.condition_of(at) else {
            return;
        };
        // What the block left out goes on behind it.
        if let Some(block) = self.blocks.pop_if(|block| block.condition == condition) {
            self.widen(block.held);
        }
        self.keep_turns(condition, Guard::WhereItFails);
    }

    /// `if CONDITION:` and `if (CONDITION) {` count up to the end of their block.
    #[inline(never)]
    pub(super) fn enter_block(&mut self, at: usize) {
        let behind = self.after(at + 1);
        let (condition, end) = match (self.mark(at + 1), self.mark(behind)) {
            (Some('('), Some('{')) => ((at + 2, behind - 1), Some(self.after(behind))),
            _ if self.language == Language::Python => ((at + 1, self.condition_end(at + 1)), None),
            _ => return,
        };
        if end.is_none() && self.mark(condition.1) != Some(':') {
            return;
        }
        let held = self.keep_turns(condition, Guard::WhereItHolds);
        if !held.is_empty() {
            let end = end.unwrap_or_else(|| self.block_end(at));
            let block = Block {
                condition,
                end,
                held,
            };
            self.blocks.push(block);
        }
    }

    /// Where the lines end that are indented deeper than the one at a place.
    fn block_end(&self, at: usize) -> usize {
        let code = self.code;
        let behind = code.lines.partition_point(|(start, _)| *start <= at);
        let indent = behind.checked_sub(1).map_or(0, |line| code.lines[line].1);
        let mut lines = code.lines[behind..].iter();
        // An empty line ends nothing.
        let next = lines.find(|(start, depth)| {
            *depth <= indent && code.tokens.get(*start) != Some(&Token::End)
        });
        next.map_or(code.tokens.len(), |(start, _)| *start)
    }

    pub(super) fn leave_blocks(&mut self, at: usize) {
        while let Some(block) = self.blocks.pop_if(|block| block.end <= at) {
            self.widen(block.held);
        }
    }

    fn condition_of(&self, at: usize) -> Option<Span> {
        let before = self.condition_before(at);
        before.or_else(|| self.condition_behind(at))
    }

    /// Leaves out the turns in which the condition says that nothing is done.
    fn keep_turns(&mut self, condition: Span, guard: Guard) -> Held {
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
        let is_unless = self.word(condition.0.saturating_sub(1)) == Some("unless");
        let outcome = (guard == Guard::WhereItFails) != is_unless;
        let mut kept = Vec::with_capacity(turns.values.len());
        for value in &turns.values {
            kept.push(self.holds_of(name, value, condition) != Some(outcome));
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

    /// `CALL if CONDITION`, `CALL unless CONDITION`, `CALL for x in VALUES if CONDITION`.
    fn condition_behind(&self, at: usize) -> Option<Span> {
        let mut start = at + 1;
        while !matches!(self.word(start), Some("if" | "unless")) {
            if self.ends(start) || start > at + MAX_CONDITION {
                return None;
            }
            start = self.after(start);
        }
        Some((start + 1, self.condition_end(start + 1)))
    }

    fn condition_end(&self, from: usize) -> usize {
        let mut end = from;
        while !self.ends(end) && end < from + MAX_CONDITION {
            end = self.after(end);
        }
        end
    }

    fn ends(&self, at: usize) -> bool {
        matches!(
            self.code.tokens.get(at),
            None | Some(Token::End | Token::Mark(':' | ',' | ')' | ']' | '}'))
        )
    }

    /// Whether a condition holds; `None` where that is not known.
    fn holds(&mut self, condition: Span) -> Option<bool> {
        self.joined_by(Joint::Or, condition)
    }

    /// Conditions with `or` between them, each of others with `and` between them.
    fn joined_by(&mut self, joint: Joint, (start, end): Span) -> Option<bool> {
        let (word, sign, decisive) = match joint {
            Joint::Or => ("or", '|', true),
            Joint::And => ("and", '&', false),
        };
        let (mut from, mut at, mut whole) = (start, start, Some(!decisive));
        while at <= end {
            let next = match (self.word(at), self.mark(at), self.mark(at + 1)) {
                _ if at == end => at + 1,
                (Some(found), ..) if found == word => at + 1,
                (_, Some(mark), Some(next)) if mark == sign && next == sign => at + 2,
                (Some("else" | "for"), ..) | (_, Some('?'), _) => return None,
                _ => {
                    at = self.after(at);
                    continue;
                }
            };
            let part = match joint {
                Joint::Or => self.joined_by(Joint::And, (from, at)),
                Joint::And => self.negated((from, at)),
            };
            match part {
                Some(part) if part == decisive => return Some(part),
                Some(_) => {}
                None => whole = None,
            }
            (from, at) = (next, next);
        }
        whole
    }

    /// `not x`, `!x`, `(x)`.
    fn negated(&mut self, (start, end): Span) -> Option<bool> {
        let is_not = self.word(start) == Some("not") || self.mark(start) == Some('!');
        let from = start + usize::from(is_not);
        let is_whole = self.mark(from) == Some('(') && self.after(from) == end;
        let holds = match is_whole && end - from < MAX_CONDITION {
            true => self.holds((from + 1, end - 1)),
            false => self.is_true((from, end)),
        };
        holds.map(|holds| holds != is_not)
    }

    /// `x == "a"`, `x in ("a", "b")`, `x not in ("a", "b")`, `x.endswith("a")`.
    fn is_true(&mut self, (start, end): Span) -> Option<bool> {
        let mut at = start;
        while at < end {
            let n_marks = 2 + usize::from(self.mark(at + 2) == Some('='));
            match (self.word(at), self.mark(at), self.mark(at + 1)) {
                (_, Some(mark @ ('=' | '!')), Some('=')) => {
                    let is_equal = self.is_any((start, at), (at + n_marks, end), str::eq)?;
                    return Some(is_equal == (mark == '='));
                }
                (Some(word @ ("in" | "not")), ..) => {
                    let from = at + if word == "in" { 1 } else { 2 };
                    let is_list = Reader::new(self, (from, end)).whole().shape.is_list();
                    let test = if is_list { str::eq } else { contains };
                    let is_in = self.is_any((start, at), (from, end), test)?;
                    return Some(is_in == (word == "in"));
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
