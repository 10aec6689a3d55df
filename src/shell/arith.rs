//! Arithmetic of the shell: `$((…))`, `((…))`, `let`.

use super::byte::is_name;
use super::eval::Shell;
use super::field::{Field, UNKNOWN};
use super::lex::Part;
use super::variable::Value;

/// How deep parentheses and names that hold expressions may nest.
const MAX_DEPTH: usize = 16;

/// Longest first, so that `<<` is not read as `<`.
const OPERATORS: &[(&str, u8)] = &[
    ("**", 12),
    ("<<", 9),
    (">>", 9),
    ("<=", 8),
    (">=", 8),
    ("==", 7),
    ("!=", 7),
    ("&&", 3),
    ("||", 2),
    ("*", 11),
    ("/", 11),
    ("%", 11),
    ("+", 10),
    ("-", 10),
    ("<", 8),
    (">", 8),
    ("&", 6),
    ("^", 5),
    ("|", 4),
];

/// The value of an expression; `None` where it is not known. What it assigns is
/// assigned, or forgotten.
pub(super) fn evaluate(shell: &mut Shell<'_>, text: &str) -> Option<i64> {
    if !shell.spend(text.len()) {
        return None;
    }
    let mut reader = Reader {
        shell,
        text,
        at: 0,
        depth: 0,
    };
    let mut value = Some(0);
    for part in text.split(',') {
        reader.text = part;
        reader.at = 0;
        value = reader.assignment();
        reader.blanks();
        if reader.at < part.len() {
            value = None;
        }
    }
    value
}

impl Shell<'_> {
    /// The value of `((…))`, where it is known. What is expanded within a loop
    /// whose turns are not known may be another text in every turn.
    pub(super) fn arithmetic(&mut self, parts: &[Part<'_>]) -> Option<i64> {
        let expands = parts
            .iter()
            .any(|part| matches!(part, Part::Value(..) | Part::Param(..)));
        let mut text = self.joined(parts).text;
        if expands && self.n_open_loops > 0 {
            text.push(UNKNOWN);
        }
        evaluate(self, &text)
    }
}

struct Reader<'t, 'h, 's> {
    shell: &'h mut Shell<'s>,
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t, '_, '_> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, text: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn name(&mut self) -> Option<&'t str> {
        self.blanks();
        let rest = self.rest();
        let rest = rest.strip_prefix('$').unwrap_or(rest);
        let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = rest.get(..len.unwrap_or(rest.len()))?;
        is_name(name).then(|| {
            self.at = self.text.len() - rest.len() + name.len();
            name
        })
    }

    /// `name = …`, `name += …`, or a value.
    fn assignment(&mut self) -> Option<i64> {
        let start = self.at;
        if let Some(name) = self.name() {
            self.blanks();
            let rest = self.rest();
            let operator = ["", "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"]
                .into_iter()
                .find(|sign| {
                    let rest = rest.strip_prefix(sign);
                    rest.is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("=="))
                });
            if let Some(sign) = operator {
                self.at += sign.len() + 1;
                let old = self.held(name);
                let value = self.deeper(Self::assignment);
                let value = match (sign, old, value) {
                    ("", _, value) => value,
                    (sign, Some(old), Some(value)) => apply(sign, old, value),
                    _ => None,
                };
                self.assign(name, value);
                return value;
            }
        }
        self.at = start;
        self.ternary()
    }

    fn ternary(&mut self) -> Option<i64> {
        let condition = self.binary(0);
        if !self.eat("?") {
            return condition;
        }
        let yes = self.deeper(Self::assignment);
        self.eat(":");
        let no = self.deeper(Self::assignment);
        match condition? {
            0 => no,
            _ => yes,
        }
    }

    fn binary(&mut self, least: u8) -> Option<i64> {
        let mut left = self.unary();
        loop {
            self.blanks();
            let rest = self.rest();
            let found = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign));
            let Some((sign, level)) = found.filter(|(_, level)| *level > least) else {
                return left;
            };
            self.at += sign.len();
            // `**` binds to the right.
            let right = match *sign {
                "**" => self.binary(level - 1),
                _ => self.binary(*level),
            };
            left = apply(sign, left?, right?);
        }
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Option<i64>) -> Option<i64> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn unary(&mut self) -> Option<i64> {
        self.deeper(Self::operand)
    }

    fn operand(&mut self) -> Option<i64> {
        for (sign, step) in [("++", 1), ("--", -1)] {
            if self.eat(sign) {
                let name = self.name()?;
                let value = self.held(name).and_then(|value| value.checked_add(step));
                self.assign(name, value);
                return value;
            }
        }
        if self.eat("-") {
            return self.unary()?.checked_neg();
        }
        if self.eat("+") {
            return self.unary();
        }
        if self.eat("!") {
            return Some(i64::from(self.unary()? == 0));
        }
        if self.eat("~") {
            return Some(!self.unary()?);
        }
        if self.eat("(") {
            let value = self.assignment();
            return value.filter(|_| self.eat(")"));
        }
        if let Some(name) = self.name() {
            let value = self.held(name);
            for (sign, step) in [("++", 1), ("--", -1)] {
                if self.eat(sign) {
                    let next = value.and_then(|value| value.checked_add(step));
                    self.assign(name, next);
                }
            }
            return value;
        }
        self.number()
    }

    fn number(&mut self) -> Option<i64> {
        self.blanks();
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '#');
        let word = rest.get(..len.unwrap_or(rest.len()))?;
        self.at += word.len();
        number(word)
    }

    /// A name's number. Within a loop whose turns are not known it may be
    /// another one in every turn.
    fn held(&self, name: &str) -> Option<i64> {
        if self.shell.n_open_loops > 0 {
            return None;
        }
        let value = self.shell.variable(name)?.into_field();
        number(value.known()?.trim())
    }

    fn assign(&mut self, name: &str, value: Option<i64>) {
        match value {
            Some(value) => {
                let field = Field::literal(value.to_string());
                self.shell.set(name, Value::One(field));
            }
            None => self.shell.forget(name),
        }
    }
}

fn apply(sign: &str, left: i64, right: i64) -> Option<i64> {
    let shift = || u32::try_from(right).ok().filter(|by| *by < 64);
    match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        "**" => left.checked_pow(u32::try_from(right).ok()?),
        "<<" => Some(left << shift()?),
        ">>" => Some(left >> shift()?),
        "&" => Some(left & right),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "&&" => Some(i64::from(left != 0 && right != 0)),
        "||" => Some(i64::from(left != 0 || right != 0)),
        _ => None,
    }
}

/// Decimal, `0x1f`, `017`, `2#101`.
fn number(word: &str) -> Option<i64> {
    if let Some((radix, digits)) = word.split_once('#') {
        let radix = radix
            .parse()
            .ok()
            .filter(|radix| (2..=36).contains(radix))?;
        return i64::from_str_radix(digits, radix).ok();
    }
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok();
    }
    match word.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        Some(digits) => i64::from_str_radix(digits, 8).ok(),
        None => word.parse().ok(),
    }
}
