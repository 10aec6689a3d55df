//! What is wrong with a text that does not fit a type, in fields: the place, and what is allowed
//! there. The sentence is made last, and no code reads it.

use std::fmt::{self, Display};

use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Expected, Unexpected};

use super::brief;
use crate::base::text::nearest;
use tree::Tree;

pub(super) mod tree;

/// Why a text does not fit a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFault {
    /// Counted from 1.
    pub line: Option<usize>,
    /// The keys and `[numbers]` that lead to the place, the innermost first.
    path: Vec<String>,
    pub what: Mismatch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    UnknownWord {
        word: String,
        known: &'static [&'static str],
    },
    MissingKey(&'static str),
    TwiceGiven(&'static str),
    /// A value of another kind, or out of its bounds.
    Value {
        given: Given,
        wanted: String,
    },
    /// What no value of the format can begin with.
    Start(char),
    /// What a type of ours, or the parser, says itself.
    Said(String),
}

/// A value as a message names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    Nothing,
    List,
    Keys,
    Scalar(String),
}

impl From<Mismatch> for TypeFault {
    fn from(what: Mismatch) -> Self {
        Self {
            line: None,
            path: Vec::new(),
            what,
        }
    }
}

impl TypeFault {
    /// Why a text that was read without a type does not fit `T`; where that cannot be said, the parser's
    /// own words.
    pub(super) fn of<T: DeserializeOwned>(
        tree: &Tree,
        line: Option<usize>,
        parser: &impl Display,
    ) -> Self {
        match T::deserialize(tree) {
            Err(fault) => Self { line, ..fault },
            Ok(_) => Mismatch::Said(parser.to_string()).into(),
        }
    }

    /// The same of a JSON text.
    pub(super) fn of_json<T: DeserializeOwned>(text: &str, error: &serde_json::Error) -> Self {
        let tree = serde_json::from_str::<serde_json::Value>(text).and_then(Tree::deserialize);
        match tree {
            Ok(tree) => Self::of::<T>(&tree, Some(error.line()), error),
            Err(syntax) => Mismatch::Said(syntax.to_string()).into(),
        }
    }

    pub(super) fn in_line(self, line: usize) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }

    fn below(mut self, key: String) -> Self {
        self.path.push(key);
        self
    }

    /// The keys that lead to the place: `systems.x.gates[0]`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for key in self.path.iter().rev() {
            if !path.is_empty() && !key.starts_with('[') {
                path.push('.');
            }
            path.push_str(key);
        }
        path
    }
}

impl Display for TypeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path())?;
        }
        self.what.fmt(f)
    }
}

impl Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, known } => unknown(f, "key", key, known),
            Self::UnknownWord { word, known } => unknown(f, "value", word, known),
            Self::MissingKey(key) => write!(f, "there is no key `{key}`"),
            Self::TwiceGiven(key) => write!(f, "duplicate key `{key}`"),
            Self::Value { given, wanted } => write!(f, "{given}, expected {wanted}"),
            Self::Start('\t') => f.write_str("a tab is in front of a value; write spaces"),
            Self::Start(c) => write!(f, "a value begins with `{c}`; put it in quotes"),
            Self::Said(sentence) => f.write_str(sentence),
        }
    }
}

/// The nearest one comes before all that are known: a denial cuts the end of a long message off.
fn unknown(f: &mut fmt::Formatter<'_>, kind: &str, word: &str, known: &[&str]) -> fmt::Result {
    write!(f, "unknown {kind} `{}`", brief(word))?;
    let (end, expected) = match nearest(word, known.iter().copied()) {
        Some(near) => (format!("; did you mean `{near}`? "), "Expected"),
        None => (", ".to_owned(), "expected"),
    };
    match known {
        [] => f.write_str("; no key is expected there"),
        _ => write!(f, "{end}{expected} {}", one_of(known)),
    }
}

/// `` `a` ``, or ``one of `a`, `b` ``.
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [one] => one.clone(),
        several => format!("one of {}", several.join(", ")),
    }
}

impl Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing is given"),
            Self::List => f.write_str("a list is given"),
            Self::Keys => f.write_str("keys with values are given"),
            Self::Scalar(text) => write!(f, "`{}` is given", brief(text)),
        }
    }
}

impl From<Unexpected<'_>> for Given {
    fn from(value: Unexpected<'_>) -> Self {
        match value {
            Unexpected::Bool(flag) => Self::Scalar(flag.to_string()),
            Unexpected::Unsigned(number) => Self::Scalar(number.to_string()),
            Unexpected::Signed(number) => Self::Scalar(number.to_string()),
            Unexpected::Float(number) => Self::Scalar(number.to_string()),
            Unexpected::Str(text) => Self::Scalar(text.to_owned()),
            Unexpected::Seq => Self::List,
            Unexpected::Map => Self::Keys,
            Unexpected::Unit | Unexpected::Option => Self::Nothing,
            other => Self::Scalar(other.to_string()),
        }
    }
}

impl std::error::Error for TypeFault {}

impl de::Error for TypeFault {
    fn custom<T: Display>(sentence: T) -> Self {
        Mismatch::Said(sentence.to_string()).into()
    }

    fn invalid_type(given: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::invalid_value(given, wanted)
    }

    fn invalid_value(given: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Mismatch::Value {
            given: given.into(),
            wanted: wanted.to_string(),
        }
        .into()
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Mismatch::UnknownWord {
            word: word.to_owned(),
            known,
        }
        .into()
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Mismatch::UnknownKey {
            key: key.to_owned(),
            known,
        }
        .into()
    }

    fn missing_field(key: &'static str) -> Self {
        Mismatch::MissingKey(key).into()
    }

    fn duplicate_field(key: &'static str) -> Self {
        Mismatch::TwiceGiven(key).into()
    }
}
