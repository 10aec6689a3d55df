//! A command's arguments, told apart as options and operands.

use std::borrow::Cow;
use std::ops::Deref;

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

impl Syntax {
    /// Without letters whose value has to be attached.
    pub(super) const fn of(short: &'static str, long: &'static [&'static str]) -> Self {
        Self {
            short,
            attached: "",
            long,
        }
    }
}

#[derive(Debug)]
pub(super) struct Args<'f> {
    pub(super) operands: Operands<'f>,
    options: Few<(&'f str, Option<Cow<'f, Field>>)>,
}

/// Where the value of an option is, if it has one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// In the argument itself.
    Here,
    /// In the next argument.
    Next,
}

/// What is no option and no option's value. Nearly always it stands in one piece, which
/// needs no copy.
#[derive(Debug)]
pub(super) enum Operands<'f> {
    Piece {
        args: &'f [Field],
        start: usize,
        end: usize,
    },
    Picked(Vec<Field>),
}

impl Deref for Operands<'_> {
    type Target = [Field];

    fn deref(&self) -> &[Field] {
        match self {
            Self::Piece { args, start, end } => args.get(*start..*end).unwrap_or(&[]),
            Self::Picked(fields) => fields,
        }
    }
}

impl<'o> IntoIterator for &'o Operands<'_> {
    type Item = &'o Field;
    type IntoIter = std::slice::Iter<'o, Field>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'f> Operands<'f> {
    pub(super) fn as_slice(&self) -> &[Field] {
        self
    }

    /// Adds the arguments from one place up to another.
    fn add(&mut self, args: &'f [Field], from: usize, to: usize) {
        match self {
            Self::Piece { end, .. } if *end == from => *end = to,
            Self::Piece { start, end, .. } if start == end => {
                *self = Self::Piece {
                    args,
                    start: from,
                    end: to,
                };
            }
            Self::Piece { .. } => {
                let mut picked = self.to_vec();
                picked.extend_from_slice(args.get(from..to).unwrap_or(&[]));
                *self = Self::Picked(picked);
            }
            Self::Picked(picked) => picked.extend_from_slice(args.get(from..to).unwrap_or(&[])),
        }
    }
}

impl<'f> Args<'f> {
    pub(super) fn parse(args: &'f [Field], syntax: Syntax) -> Self {
        let mut parsed = Self {
            operands: Operands::Piece {
                args,
                start: 0,
                end: 0,
            },
            options: Few::default(),
        };
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            at += 1;
            if !arg.is_option() {
                parsed.operands.add(args, at - 1, at);
            } else if arg.known() == Some("--") {
                parsed.operands.add(args, at, args.len());
                break;
            } else if parsed.option(arg, args.get(at), syntax) == Value::Next {
                at += 1;
            }
        }
        parsed
    }

    /// Adds what an argument names; says where the last option's value is.
    fn option(&mut self, arg: &'f Field, next: Option<&'f Field>, syntax: Syntax) -> Value {
        match arg.text.strip_prefix("--") {
            Some(name) => self.long(name, arg, next, syntax),
            None => self.cluster(arg, next, syntax),
        }
    }

    fn long(
        &mut self,
        text: &'f str,
        arg: &'f Field,
        next: Option<&'f Field>,
        syntax: Syntax,
    ) -> Value {
        let (name, value) = match text.find('=') {
            Some(end) => (&text[..end], Some(arg.behind("--".len() + end + 1))),
            None => (text, None),
        };
        let name = whole_name(name, syntax.long);
        let next = next.filter(|_| value.is_none() && syntax.long.contains(&name));
        let value = value.map(Cow::Owned);
        self.options.push((name, value.or(next.map(Cow::Borrowed))));
        next.map_or(Value::Here, |_| Value::Next)
    }

    fn cluster(&mut self, arg: &'f Field, next: Option<&'f Field>, syntax: Syntax) -> Value {
        let letters = arg.text.get(1..).unwrap_or("");
        for (at, letter) in letters.char_indices() {
            let end = at + letter.len_utf8();
            let is_last = end == letters.len();
            let takes = is_among(letter, syntax.short);
            let (value, place) = match next {
                _ if !is_last && (takes || is_among(letter, syntax.attached)) => {
                    (Some(Cow::Owned(arg.behind(1 + end))), Some(Value::Here))
                }
                Some(next) if takes => (Some(Cow::Borrowed(next)), Some(Value::Next)),
                _ => (None, None),
            };
            self.options.push((&letters[at..end], value));
            if let Some(place) = place {
                return place;
            }
        }
        Value::Here
    }

    pub(super) fn has_options(&self) -> bool {
        !self.options.is_empty()
    }

    pub(super) fn options(&self) -> impl Iterator<Item = (&str, Option<&Field>)> {
        let given = self.options.iter();
        given.map(|(name, value)| (*name, value.as_deref()))
    }

    /// Whether one of the options, named without dashes, was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        let mut given = self.options.iter();
        given.any(|(name, _)| names.contains(name))
    }

    /// The values of the options, in the order given.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &Field> {
        let given = self.options.iter();
        let named = given.filter(move |(name, _)| names.contains(name));
        named.filter_map(|(_, value)| value.as_deref())
    }

    pub(super) fn value(&self, names: &[&str]) -> Option<&Field> {
        self.values(names).last()
    }
}

/// Whether an option's letter is one of a few.
fn is_among(letter: char, letters: &str) -> bool {
    letters.bytes().any(|known| char::from(known) == letter)
}

/// A long option's name, which may be cut short.
fn whole_name<'f>(given: &'f str, long: &[&'static str]) -> &'f str {
    let mut meant = long.iter().filter(|name| name.starts_with(given));
    match (meant.next(), meant.next()) {
        (Some(only), None) if given.len() > 2 => only,
        _ => given,
    }
}
