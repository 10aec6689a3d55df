//! `${name…}`: what the operators make of a value.

use ecow::EcoString;

use super::arith;
use super::eval::Shell;
use super::field::Field;
use super::glob::{Glob, all_active};
use super::lex::{End, Op, Param, Reach, Word};
use super::variable::Value;

/// The value after the operator; `None` where it is not known.
pub(super) fn apply(
    shell: &mut Shell<'_>,
    param: &Param<'_>,
    value: Option<Value>,
) -> Option<Value> {
    let filled = |value: Option<Value>| value.filter(|value| !value.is_empty());
    match &param.op {
        Op::Plain | Op::Require => value,
        Op::Default(word) => filled(value).or_else(|| Some(Value::One(shell.single(word)))),
        Op::Assign(word) => filled(value).or_else(|| {
            let value = Value::One(shell.single(word));
            shell.set(param.name, value.clone());
            Some(value)
        }),
        Op::Alternative(word) => {
            let word = shell.single(word);
            filled(value).map(|_| Value::One(word))
        }
        Op::Cut {
            end,
            reach,
            pattern,
        } => {
            let pattern = known_text(shell, pattern)?;
            each(value?, |text| Some(cut(text, *end, *reach, &pattern)))
        }
        Op::Replace {
            reach,
            pattern,
            with,
        } => {
            let pattern = known_text(shell, pattern)?;
            let with = match with {
                Some(word) => known_text(shell, word)?,
                None => String::new(),
            };
            let by = match all_active(&pattern).is_empty() {
                true => replace,
                false if shell.spend(MAX_SEARCHED * MAX_SEARCHED) => replace_glob,
                false => return None,
            };
            each(value?, |text| by(text, *reach, &pattern, &with))
        }
        Op::Lower => each(value?, |text| Some(text.to_lowercase())),
        Op::Upper => each(value?, |text| Some(text.to_uppercase())),
        Op::LowerFirst => each(value?, |text| Some(first(text, str::to_lowercase))),
        Op::UpperFirst => each(value?, |text| Some(first(text, str::to_uppercase))),
        Op::Length => length(param, value?),
        Op::Indirect => shell.variable(value?.into_field().known()?),
        Op::Keys => Some(Value::Many(shell.keys(param.name))),
        Op::Slice(word) => {
            let range = known_text(shell, word)?;
            let range = Range::read(shell, &range)?;
            part(param, value?, range)
        }
        Op::Other => None,
    }
}

/// `${#name}`, and of a list the number of its elements.
fn length(param: &Param<'_>, value: Value) -> Option<Value> {
    let length = match value {
        Value::Many(fields) if param.index.is_some() || param.name == "@" => fields.len(),
        value => value.into_field().known()?.chars().count(),
    };
    Some(Value::One(Field::literal(length.to_string())))
}

/// `${name:1:2}`; the arguments begin with the shell's own name.
fn part(param: &Param<'_>, value: Value, range: Range) -> Option<Value> {
    match value {
        Value::Many(fields) if param.name == "@" || param.name == "*" => {
            let zero = Field::literal("sh");
            sublist([&[zero], fields.as_slice()].concat(), range)
        }
        Value::Many(fields) => sublist(fields, range),
        value => each(value, |text| slice(text, range)),
    }
}

impl Shell<'_> {
    /// What a name holds, or one element of it.
    pub(super) fn indexed(&mut self, param: &Param<'_>) -> Option<Value> {
        if let Some(index) = param.index
            && let Some(value) = self.variable(&format!("{}[{}]", param.name, self.key(index)))
        {
            return Some(value);
        }
        match (self.variable(param.name)?, param.index) {
            (value, None | Some("@" | "*")) => Some(value),
            (Value::Many(fields), Some(index)) => {
                let at = place(arith::evaluate(self, index)?, fields.len())?;
                fields.get(at).cloned().map(Value::One)
            }
            (value, Some("0")) => Some(value),
            _ => None,
        }
    }

    /// The key that an index comes to: quotes are taken off, and `$name` is looked up.
    pub(super) fn key(&self, index: &str) -> EcoString {
        let index = index.trim_matches(['"', '\'']);
        let name = index.strip_prefix('$');
        let name = name.map(|name| name.trim_start_matches('{').trim_end_matches('}'));
        let held = name.and_then(|name| self.variable(name));
        let held = held
            .map(Value::into_field)
            .filter(|held| held.gap().is_none());
        held.map_or_else(|| index.into(), |held| held.text)
    }

    /// The keys of an array, as far as they are held; of a plain one its indices.
    fn keys(&self, name: &str) -> Vec<Field> {
        let key = |held: &str| Some(Field::literal(held.strip_suffix(']')?));
        let keys: Vec<Field> = self
            .variables
            .elements_of(name)
            .filter_map(|held| key(held.get(name.len() + 1..)?))
            .collect();
        match self.variable(name) {
            Some(Value::Many(fields)) if keys.is_empty() => {
                let indices = 0..fields.len();
                indices.map(|n| Field::literal(n.to_string())).collect()
            }
            _ => keys,
        }
    }
}

fn each(value: Value, change: impl Fn(&str) -> Option<String>) -> Option<Value> {
    let one = |field: Field| Some(field.with_text(change(field.known()?)?));
    match value {
        Value::One(field) => one(field).map(Value::One),
        Value::Many(fields) => {
            let fields: Option<Vec<Field>> = fields.into_iter().map(one).collect();
            fields.map(Value::Many)
        }
    }
}

fn known_text(shell: &mut Shell<'_>, word: &Word<'_>) -> Option<String> {
    shell.single(word).known().map(str::to_owned)
}

/// The longest pattern and text `#` and `%` are worked out for: trying every
/// cut costs the square of it.
const MAX_CUT: usize = 256;

fn cut(text: &str, end: End, reach: Reach, pattern: &str) -> String {
    let glob = Glob::all(pattern);
    if glob.is_plain() || text.len() > MAX_CUT || pattern.len() > MAX_CUT / 8 {
        let stripped = match end {
            End::Front => text.strip_prefix(pattern),
            End::Back => text.strip_suffix(pattern),
        };
        return stripped.unwrap_or(text).to_owned();
    }
    let places = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
    let from_front = (end == End::Front) == (reach == Reach::One);
    let found = |at: &usize| match end {
        End::Front => text.get(..*at).is_some_and(|head| glob.matches(head)),
        End::Back => text.get(*at..).is_some_and(|tail| glob.matches(tail)),
    };
    let place = if from_front {
        places.into_iter().find(found)
    } else {
        places.rev().find(found)
    };
    let kept = place.and_then(|at| match end {
        End::Front => text.get(at..),
        End::Back => text.get(..at),
    });
    kept.unwrap_or(text).to_owned()
}

const MAX_REPLACED: usize = 1 << 16;

/// The longest text in which a pattern is looked for at every place.
const MAX_SEARCHED: usize = 96;

/// `${name//[^a-z]/-}`: at each place the longest text counts.
fn replace_glob(text: &str, reach: Reach, pattern: &str, with: &str) -> Option<String> {
    let glob = Glob::all(pattern);
    let anchored = reach == Reach::One && pattern.starts_with(['#', '%']);
    if anchored || text.len() > MAX_SEARCHED || pattern.len() > MAX_CUT / 8 {
        return None;
    }
    let mut whole = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let ends = (1..=rest.len()).rev().filter_map(|len| rest.get(..len));
        let found = ends.into_iter().find(|head| glob.matches(head));
        let Some(head) = found else {
            whole.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        whole.push_str(with);
        rest = &rest[head.len()..];
        if reach == Reach::One {
            break;
        }
    }
    whole.push_str(rest);
    Some(whole)
}

fn replace(text: &str, reach: Reach, pattern: &str, with: &str) -> Option<String> {
    let too_long = text.len().saturating_mul(with.len()) > MAX_REPLACED;
    if pattern.is_empty() || too_long {
        return None;
    }
    match (reach, pattern.as_bytes().first()) {
        (Reach::All, _) => Some(text.replace(pattern, with)),
        (Reach::One, Some(b'#')) => {
            let rest = text.strip_prefix(&pattern[1..]);
            Some(rest.map_or_else(|| text.to_owned(), |rest| format!("{with}{rest}")))
        }
        (Reach::One, Some(b'%')) => {
            let rest = text.strip_suffix(&pattern[1..]);
            Some(rest.map_or_else(|| text.to_owned(), |rest| format!("{rest}{with}")))
        }
        (Reach::One, _) => Some(text.replacen(pattern, with, 1)),
    }
}

/// The first character changed.
fn first(text: &str, change: fn(&str) -> String) -> String {
    let len = text.chars().next().map_or(0, char::len_utf8);
    let (head, tail) = text.split_at(len);
    format!("{}{tail}", change(head))
}

/// `${a[@]:1:2}`; `$@` begins with `$0`.
fn sublist(fields: Vec<Field>, range: Range) -> Option<Value> {
    let (start, length) = range.of(fields.len())?;
    let part = fields.into_iter().skip(start).take(length);
    Some(Value::Many(part.collect()))
}

fn slice(text: &str, range: Range) -> Option<String> {
    let (start, length) = range.of(text.chars().count())?;
    Some(text.chars().skip(start).take(length).collect())
}

/// What `:offset:length` says.
#[derive(Clone, Copy)]
struct Range {
    offset: i64,
    length: Option<i64>,
}

impl Range {
    fn read(shell: &mut Shell<'_>, text: &str) -> Option<Self> {
        let mut number = |text: &str| match text.trim().parse() {
            Ok(number) => Some(number),
            Err(_) => arith::evaluate(shell, text),
        };
        Some(match text.split_once(':') {
            Some((offset, length)) => Self {
                offset: number(offset)?,
                length: Some(number(length)?),
            },
            None => Self {
                offset: number(text)?,
                length: None,
            },
        })
    }

    /// Where the part of something of a length begins, and how long it may be. A negative
    /// length is a place from the end.
    fn of(self, len: usize) -> Option<(usize, usize)> {
        let start = place(self.offset, len)?;
        let length = match self.length {
            None => len,
            Some(length @ 0..) => usize::try_from(length).ok()?,
            Some(back) => place(back, len)?.checked_sub(start)?,
        };
        Some((start, length))
    }
}

/// Negative places count from the end.
fn place(at: i64, len: usize) -> Option<usize> {
    let distance = usize::try_from(at.unsigned_abs()).ok()?;
    match at {
        0.. => Some(distance),
        _ => len.checked_sub(distance),
    }
}
