//! A command's arguments, told apart as options and operands.

use ecow::EcoString;

use super::field::Field;
use super::syntax::Few;

/// Which options take a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Syntax {
    /// Letters whose value is the rest of the cluster, or the next argument.
    pub(super) short: &'static str,
    /// Letters whose value can only be the rest of the cluster.
    pub(super) attached: &'static str,
    /// Long names, without dashes, whose value may be the next argument.
    pub(super) long: &'static [&'static str],
}

#[derive(Debug, Default)]
pub(super) struct Args {
    pub(super) operands: Few<Field>,
    options: Few<(EcoString, Option<Field>)>,
}

impl Args {
    pub(super) fn parse(args: &[Field], syntax: Syntax) -> Self {
        let mut parsed = Self::default();
        let mut rest = args;
        while let [arg, behind @ ..] = rest {
            rest = behind;
            if arg.known() == Some("--") {
                rest.iter()
                    .for_each(|arg| parsed.operands.push(arg.clone()));
                break;
            } else if arg.is_option() {
                rest = parsed.option(arg, rest, syntax);
            } else {
                parsed.operands.push(arg.clone());
            }
        }
        parsed
    }

    /// Adds a long option, or a cluster of letters; what is left behind its value.
    fn option<'f>(&mut self, arg: &Field, rest: &'f [Field], syntax: Syntax) -> &'f [Field] {
        let text = arg.text.as_str();
        let is_long = text.starts_with("--");
        let mut at = if is_long { 2 } else { 1 };
        while let Some(letter) = text.get(at..).and_then(|tail| tail.chars().next()) {
            let end = match is_long {
                true => text.find('=').unwrap_or(text.len()),
                false => at + letter.len_utf8(),
            };
            let name = text.get(at..end).unwrap_or("");
            let is_last = end == text.len();
            let (takes, attaches) = match is_long {
                true => (syntax.long.contains(&name), true),
                false => (
                    syntax.short.contains(letter),
                    syntax.attached.contains(letter),
                ),
            };
            let mut value = None;
            let mut left = rest;
            if !is_last && (takes || attaches) {
                value = Some(arg.behind(end + usize::from(is_long)));
            } else if takes && let [next, behind @ ..] = rest {
                value = Some(next.clone());
                left = behind;
            }
            self.options.push((name.into(), value));
            if takes || attaches {
                return left;
            }
            at = end;
        }
        rest
    }

    /// Whether one of the options, named without dashes, was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        let mut given = self.options.iter();
        given.any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of the options, in the order given.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &Field> {
        let given = self.options.iter();
        let named = given.filter(move |(name, _)| names.contains(&name.as_str()));
        named.filter_map(|(_, value)| value.as_ref())
    }

    pub(super) fn value(&self, names: &[&str]) -> Option<&Field> {
        self.values(names).last()
    }
}
