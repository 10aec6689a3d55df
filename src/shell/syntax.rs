//! The tree of a parsed command.

use std::ops::Deref;

use super::lex::{Part, Word};

pub(super) type List<'a> = Vec<Step<'a>>;

/// Nearly always one item, which then takes no room of its own: a long command
/// has tens of thousands of words, and each allocation costs more than reading one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Few<T> {
    One([T; 1]),
    Any(Vec<T>),
}

impl<T> Few<T> {
    pub(super) fn push(&mut self, item: T) {
        if let Self::Any(items) = self
            && items.capacity() > 0
        {
            return items.push(item);
        }
        *self = match std::mem::take(self) {
            Self::Any(_) => Self::One([item]),
            Self::One([first]) => {
                let mut items = Vec::with_capacity(4);
                items.extend([first, item]);
                Self::Any(items)
            }
        };
    }
}

impl<'f, T> IntoIterator for &'f Few<T> {
    type Item = &'f T;
    type IntoIter = std::slice::Iter<'f, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::Any(Vec::new())
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::One(item) => item,
            Self::Any(items) => items,
        }
    }
}

/// One pipeline of a list.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) link: Link,
    pub(super) sense: Sense,
    pub(super) pipeline: Few<Command<'a>>,
}

impl<'a> Step<'a> {
    /// One command, whatever stands before it.
    pub(super) fn alone(command: Command<'a>) -> Self {
        Self {
            link: Link::Always,
            sense: Sense::Plain,
            pipeline: Few::One([command]),
        }
    }
}

/// How a pipeline hangs on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Always,
    And,
    Or,
}

/// `!` in front turns a pipeline's end around, `until` that of its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    Plain,
    Negated,
}

/// Small, since each goes through several hands until it runs.
#[derive(Debug)]
pub(super) enum Command<'a> {
    /// A simple command that needs no tree.
    Lean(&'a str),
    Simple(Box<Simple<'a>>),
    Compound(Box<Compound<'a>>, Vec<Redirect<'a>>),
}

impl<'a> From<Compound<'a>> for Command<'a> {
    fn from(compound: Compound<'a>) -> Self {
        Self::Compound(Box::new(compound), Vec::new())
    }
}

#[derive(Debug, Default)]
pub(super) struct Simple<'a> {
    pub(super) assignments: Vec<Assignment<'a>>,
    pub(super) words: Vec<Word<'a>>,
    pub(super) redirects: Vec<Redirect<'a>>,
}

#[derive(Debug)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    pub(super) how: How<'a>,
    pub(super) value: Assigned<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How<'a> {
    Set,
    Append,
    /// `name[i]=`: one element of an array, by what stands in the brackets.
    Element(&'a str),
}

#[derive(Debug)]
pub(super) enum Assigned<'a> {
    Word(Word<'a>),
    Array(Vec<Word<'a>>),
}

#[derive(Debug)]
pub(super) enum Compound<'a> {
    Group(List<'a>),
    Subshell(List<'a>),
    /// What stands before `&`.
    Background(List<'a>),
    If {
        arms: Vec<(List<'a>, List<'a>)>,
        otherwise: Option<List<'a>>,
    },
    While {
        sense: Sense,
        condition: List<'a>,
        body: List<'a>,
    },
    /// Without words: over the positional parameters.
    For {
        name: &'a str,
        words: Option<Vec<Word<'a>>>,
        body: List<'a>,
    },
    Case {
        subject: Word<'a>,
        arms: Vec<Arm<'a>>,
    },
    /// `[[ … ]]`: only what is substituted inside runs.
    Test(Vec<Word<'a>>),
    /// `((…))`, and the head of `for ((…))`.
    Arith(Few<Part<'a>>),
    /// The body is kept as text: a function may outlive the text that defines it.
    Function {
        name: &'a str,
        body: &'a str,
    },
}

/// One arm of `case`.
#[derive(Debug)]
pub(super) struct Arm<'a> {
    pub(super) patterns: Vec<Word<'a>>,
    pub(super) body: List<'a>,
    pub(super) then: Then,
}

/// What follows an arm that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// `;;`
    Ends,
    /// `;&`: the next arm's body.
    NextBody,
    /// `;;&`: the next arm that matches.
    NextMatch,
}

#[derive(Debug)]
pub(super) struct Redirect<'a> {
    pub(super) fd: Fd,
    pub(super) to: To<'a>,
}

/// The descriptor named before the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fd {
    Usual,
    Number(u32),
    /// `{name}>`.
    Named,
}

#[derive(Debug)]
pub(super) enum To<'a> {
    Read(Word<'a>),
    /// `>` and `>|`, and `&>` with both streams.
    Write(Word<'a>),
    /// `>>` and `&>>`.
    Append(Word<'a>),
    /// `<>`: opened without truncation, created where missing.
    ReadWrite(Word<'a>),
    /// `>&`: a descriptor, or both streams into a file.
    Duplicate(Word<'a>),

    /// The heredoc's place in the cursor.
    Heredoc(usize),
    HereString(Word<'a>),
    Nothing,
}
