//! A command's arguments, told apart as options and operands.

use ecow::EcoString;

use super::field::Field;

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
    pub(super) operands: Vec<Field>,
    options: Vec<(EcoString, Option<Field>)>,
}

impl Args {
    pub(super) fn parse(args: &[Field], syntax: Syntax) -> Self {
        let mut parsed = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if arg.known() == Some("--") {
                parsed.operands.extend(rest.by_ref().cloned());
            } else if arg.text.starts_with("--") {
                parsed.long(arg, &mut rest, syntax);
            } else if arg.is_option() {
                parsed.cluster(arg, &mut rest, syntax);
            } else {
                parsed.operands.push(arg.clone());
            }
        }
        parsed
    }

    fn long<'f>(
        &mut self,
        arg: &Field,
        rest: &mut impl Iterator<Item = &'f Field>,
        syntax: Syntax,
    ) {
        let name_len = arg.text.find('=');
        let name = arg.text.get(2..name_len.unwrap_or(arg.text.len()));
        let name = name.unwrap_or("");
        let value = match name_len {
            Some(len) => Some(arg.behind(len + 1)),
            None if syntax.long.contains(&name) => rest.next().cloned(),
            None => None,
        };
        self.options.push((name.into(), value));
    }

    fn cluster<'f>(
        &mut self,
        arg: &Field,
        rest: &mut impl Iterator<Item = &'f Field>,
        syntax: Syntax,
    ) {
        for (at, letter) in arg.text.char_indices().skip(1) {
            let behind = at + letter.len_utf8();
            let attached = arg.behind(behind);
            let filled = !attached.text.is_empty();
            if syntax.attached.contains(letter) {
                let value = filled.then_some(attached);
                self.options.push((letter.into(), value));
                return;
            }
            if syntax.short.contains(letter) {
                let value = if filled {
                    Some(attached)
                } else {
                    rest.next().cloned()
                };
                self.options.push((letter.into(), value));
                return;
            }
            self.options.push((letter.into(), None));
        }
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
