//! A program's arguments, split into options and operands (POSIX, "Utility Syntax
//! Guidelines", with GNU's long options).

use super::field::Field;
use crate::base::text::is_in;

/// Which options take a value.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    /// Letters whose value is the rest of the cluster, or the next argument.
    short: &'static str,
    /// Long names, without dashes and with blanks between them, whose value may be the next
    /// argument.
    long: &'static str,
}

impl Options {
    pub(super) const fn of(short: &'static str, long: &'static str) -> Self {
        Self { short, long }
    }
}

pub(super) struct Args<'f> {
    pub(super) operands: Vec<&'f Field>,
    options: Vec<(&'f str, Option<Field>)>,
}

impl<'f> Args<'f> {
    pub(super) fn parse(args: &'f [Field], options: Options) -> Self {
        let (mut parsed, rest) = Self::parse_own(args, options, false);
        parsed.operands.extend(rest);
        parsed
    }

    /// The options of a program that runs another, and the arguments after them.
    pub(super) fn before_command(args: &'f [Field], options: Options) -> (Self, &'f [Field]) {
        Self::parse_own(args, options, true)
    }

    fn parse_own(args: &'f [Field], options: Options, stops: bool) -> (Self, &'f [Field]) {
        let mut parsed = Self {
            operands: Vec::new(),
            options: Vec::new(),
        };
        let mut rest = args;
        while let [arg, behind @ ..] = rest {
            if arg.is("--") {
                return (parsed, behind);
            }
            if !arg.is_option() {
                if stops {
                    break;
                }
                parsed.operands.push(arg);
                rest = behind;
                continue;
            }
            let takes_next = match arg.text.strip_prefix("--") {
                Some(long) => parsed.long(arg, long, behind.first(), options),
                None => parsed.cluster(arg, behind.first(), options),
            };
            rest = if takes_next {
                behind.get(1..).unwrap_or(&[])
            } else {
                behind
            };
        }
        (parsed, rest)
    }

    /// Adds a long option; says whether the next argument is its value.
    fn long(&mut self, arg: &Field, text: &'f str, next: Option<&Field>, options: Options) -> bool {
        if let Some((name, value)) = text.split_once('=') {
            self.options.push((name, Some(arg.with_text(value))));
            return false;
        }
        let takes_next = is_in(options.long, text);
        let value = if takes_next { next.cloned() } else { None };
        self.options.push((text, value));
        takes_next
    }

    fn cluster(&mut self, arg: &'f Field, next: Option<&Field>, options: Options) -> bool {
        let letters = &arg.text[1..];
        for (at, letter) in letters.char_indices() {
            let end = at + letter.len_utf8();
            let name = &letters[at..end];
            if !options.short.contains(letter) {
                self.options.push((name, None));
                continue;
            }
            let takes_next = end == letters.len();
            let value = if takes_next {
                next.cloned()
            } else {
                Some(arg.with_text(&letters[end..]))
            };
            self.options.push((name, value));
            return takes_next;
        }
        false
    }

    /// Whether one of the options, named without dashes, was given.
    pub(super) fn has(&self, names: &str) -> bool {
        self.options.iter().any(|(name, _)| is_in(names, name))
    }

    pub(super) fn options(&self) -> impl Iterator<Item = (&'f str, Option<&Field>)> {
        self.options
            .iter()
            .map(|(name, value)| (*name, value.as_ref()))
    }

    pub(super) fn values(&self, names: &str) -> impl Iterator<Item = &Field> {
        let given = self
            .options
            .iter()
            .filter(move |(name, _)| is_in(names, name));
        given.filter_map(|(_, value)| value.as_ref())
    }

    pub(super) fn value(&self, names: &str) -> Option<&Field> {
        self.values(names).last()
    }
}
