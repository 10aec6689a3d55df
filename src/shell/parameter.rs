//! `$name`, `${name:-x}`, `${name%x}`, `${name/x/y}` (POSIX, "Parameter Expansion"). Of others
//! the value is not known.

use super::eval::Shell;
use super::field::{Field, UNKNOWN};
use super::glob::{Glob, is_pattern, unescape};
use super::syntax::Parameter;

/// Longer values are not searched for patterns.
const MAX_TRIMMED: usize = 1024;

impl Shell<'_> {
    /// What a parameter comes to: of a list, all elements.
    pub(super) fn parameter(&mut self, parameter: &Parameter) -> Vec<Field> {
        let values = self.values(parameter);
        let is_set = values.iter().flatten().any(|value| !value.text.is_empty());
        let [operand, with] = &parameter.operands;
        match (parameter.operator.as_str(), values) {
            ("" | "?", values) => values.unwrap_or_else(|| vec![Field::unknown()]),
            ("-" | "=", Some(values)) if is_set => values,
            ("-", _) => vec![self.text(operand)],
            ("=", _) => {
                let value = self.text(operand);
                self.set(&parameter.name, value.clone());
                vec![value]
            }
            ("+", _) if is_set => vec![self.text(operand)],
            ("+", _) => vec![Field::literal("")],
            (operator @ ("#" | "##" | "%" | "%%"), Some(values)) => {
                let pattern = self.pattern(operand);
                changed(&values, |text| {
                    Some(trimmed(text, operator, pattern.as_deref()?))
                })
            }
            (operator @ ("/" | "//"), Some(values)) => {
                let pattern = self.pattern(operand).filter(|pattern| !is_pattern(pattern));
                let from = pattern.map(|pattern| unescape(&pattern));
                let to = self.text(with).text;
                changed(&values, |text| {
                    let from = from.as_deref().filter(|from| !from.is_empty())?;
                    Some(match operator {
                        "/" => text.replacen(from, &to, 1),
                        _ => text.replace(from, &to),
                    })
                })
            }
            _ => {
                self.text(operand);
                vec![Field::unknown()]
            }
        }
    }

    /// The values before any operation; `None` where the parameter is not set.
    fn values(&mut self, parameter: &Parameter) -> Option<Vec<Field>> {
        let name = parameter.name.as_str();
        let positional = &self.place.positional;
        if let Ok(n) = name.parse::<usize>() {
            let value = match n.checked_sub(1) {
                Some(at) => positional.get(at).cloned().unwrap_or(Field::literal("")),
                None => Field::unknown(),
            };
            return Some(vec![value]);
        }
        match name {
            "@" | "*" => return Some(positional.to_vec()),
            "#" => return Some(vec![Field::literal(positional.len().to_string())]),
            // Any number does.
            "$" | "RANDOM" => return Some(vec![Field::literal("12345")]),
            "PWD" => return Some(vec![Field::of(self.place.cwd.as_deref())]),
            "OLDPWD" => return Some(vec![Field::of(self.place.left.as_deref())]),
            _ => {}
        }
        if let Some(index) = &parameter.index {
            self.text(index);
            return Some(vec![Field::unknown()]);
        }
        self.variable(name).map(|value| vec![value.clone()])
    }
}

fn changed(values: &[Field], change: impl Fn(&str) -> Option<String>) -> Vec<Field> {
    let changed = values.iter().map(|value| {
        let text = value.known().filter(|text| text.len() <= MAX_TRIMMED);
        value.with_text(text.and_then(&change).unwrap_or(UNKNOWN.into()))
    });
    changed.collect()
}

/// The text without the shortest or longest beginning or end that a pattern fits.
fn trimmed(text: &str, operator: &str, pattern: &str) -> String {
    let glob = Glob::new(pattern);
    let is_front = operator.starts_with('#');
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let mut rests = ends.filter_map(|at| {
        let (front, back) = text.split_at(at);
        let (part, rest) = if is_front {
            (front, back)
        } else {
            (back, front)
        };
        glob.matches(part).then_some(rest)
    });
    // From the front the first one is the shortest, from the back the longest.
    let takes_first = is_front == (operator.len() == 1);
    let rest = if takes_first {
        rests.next()
    } else {
        rests.next_back()
    };
    rest.unwrap_or(text).to_owned()
}
