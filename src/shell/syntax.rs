//! The tree of a parsed Bash command.

use std::cell::OnceCell;
use std::rc::Rc;

/// Statements one after another: a whole text, a body, the inside of parentheses.
pub(super) type List = Vec<Statement>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Link, Pipeline)>,
    pub(super) job: Job,
}

/// Whether the shell waits for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Foreground,
    /// It ends in `&`.
    Background,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    And,
    Or,
}

#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) sense: Sense,
    pub(super) commands: Vec<Command>,
}

/// Whether an exit status counts as it is: `!` turns a pipeline's around, `until` that of a
/// condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    Plain,
    Negated,
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) kind: Kind,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Simple(Simple),
    Group(List),
    Subshell(List),
    If {
        /// Conditions with what runs behind `then`.
        arms: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    While {
        sense: Sense,
        condition: List,
        body: List,
    },
    /// Without words: over the positional parameters.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    Case {
        subject: Word,
        arms: Vec<Arm>,
    },
    /// `[[ … ]]`: its words only.
    Test(Vec<Word>),
    /// `((…))`, and the head of `for ((…))` with its body.
    Arithmetic(Word, List),
    Function {
        name: String,
        body: Rc<Command>,
    },
}

#[derive(Debug, Default)]
pub(super) struct Simple {
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<Word>,
}

#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) how: How,
    pub(super) value: Assigned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Set,
    /// `+=`
    Append,
    /// `name[i]=`: the array is not followed.
    Element,
}

#[derive(Debug)]
pub(super) enum Assigned {
    Word(Word),
    Array(Vec<Word>),
}

#[derive(Debug)]
pub(super) struct Arm {
    pub(super) patterns: Vec<Word>,
    pub(super) body: List,
}

#[derive(Debug)]
pub(super) struct Redirect {
    /// The descriptor before the operator, where one is named.
    pub(super) fd: Option<u32>,
    pub(super) to: To,
}

#[derive(Debug)]
pub(super) enum To {
    Read(Word),
    /// `>`, `>|` and `&>`.
    Write(Word),
    /// `>>`, `&>>` and `<>`.
    Append(Word),
    /// `>&`: a descriptor, or both streams into a file.
    Duplicate(Word),
    HereString(Word),
    /// Its text follows the line, and comes when that is read.
    Heredoc(Rc<OnceCell<Word>>),
}

/// A word before expansion.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) parts: Vec<Part>,
}

#[derive(Debug)]
pub(super) enum Part {
    /// Unquoted text, in which globs and braces count.
    Bare(String),
    /// Literal text.
    Quoted(String),
    Parameter(Box<Parameter>, Quoting),
    /// `$(…)` and `` `…` ``
    Command(List, Quoting),
    /// `<(…)` and `>(…)`
    Process(List),
    /// `$((…))`: only what is substituted in it runs.
    Arithmetic(Word),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Quoted,
}

/// `$name` and `${name…}`.
#[derive(Debug, Default)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// The inside of `[…]`.
    pub(super) index: Option<Word>,
    /// `-`, `=`, `+`, `#`, `##`, `%`, `%%`, `/`, `//`; others are not followed.
    pub(super) operator: String,
    /// The word behind the operator, and of a replacement behind its second slash.
    pub(super) operands: [Word; 2],
}

impl Word {
    pub(super) fn quoted(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Quoted(text.into())],
        }
    }

    /// The text of a word in which nothing is expanded.
    pub(super) fn literal(&self) -> Option<String> {
        literal(&self.parts)
    }
}

/// The same of a part of a word.
pub(super) fn literal(parts: &[Part]) -> Option<String> {
    let texts = parts.iter().map(|part| match part {
        Part::Bare(text) | Part::Quoted(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
