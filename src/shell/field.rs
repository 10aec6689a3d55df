//! Words after expansion: the fields of POSIX, "Word Expansions".

use crate::base::target::Spelling;

/// Stands in a text for a part whose value is not known. It is no character: a command that
/// holds it is read with U+FFFD in its place.
pub(super) const UNKNOWN: char = '\u{10FFFF}';

/// The longest path that a system takes, in bytes (`PATH_MAX` of Linux). A longer text is none.
const MAX_PATH: usize = 4_096;

/// Text with what is known about its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) spelling: Spelling,
}

impl Field {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            spelling: Spelling::Literal,
        }
    }

    /// One of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self::literal(UNKNOWN)
    }

    /// A text that may not be known.
    pub(super) fn of(text: Option<&str>) -> Self {
        text.map_or_else(Self::unknown, Self::literal)
    }

    /// With the end of a line behind it.
    pub(super) fn line(mut self) -> Self {
        self.text.push('\n');
        self
    }

    /// The whole text, where it is known.
    pub(super) fn known(&self) -> Option<&str> {
        (!self.text.contains(UNKNOWN)).then_some(self.text.as_str())
    }

    /// Whether the whole text is known, and is no name out of several.
    pub(super) fn is_literal(&self) -> bool {
        self.spelling == Spelling::Literal && self.known().is_some()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(super) fn is_option(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with('-')
    }

    /// The same origin with another text.
    pub(super) fn with_text(&self, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            spelling: self.spelling,
        }
    }

    pub(super) fn push(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        if other.spelling != Spelling::Literal {
            self.spelling = other.spelling;
        }
    }

    /// The same to a path, which is not known any more once it is longer than one can be.
    pub(super) fn push_to_path(&mut self, other: &Self) {
        if self.text.len() + other.text.len() > MAX_PATH {
            *self = Self::unknown();
        } else {
            self.push(other);
        }
    }

    /// With something in the place of each mark; where there is one, it is of that origin.
    pub(super) fn with_each(&self, mark: &str, value: &Self) -> Self {
        if self.text.contains(mark) {
            value.with_text(self.text.replace(mark, &value.text))
        } else {
            self.clone()
        }
    }

    /// The name of a file in the directory that this is.
    pub(super) fn join(&self, name: &Self) -> Self {
        let mut path = self.clone();
        if !path.text.ends_with('/') {
            path.text.push('/');
        }
        path.push(name);
        path
    }

    /// The name behind the last slash.
    pub(super) fn base_name(&self) -> Self {
        let name = base_name(&self.text);
        // What is not known may hold a slash, but the text behind one is known.
        self.with_text(name)
    }
}

/// The fields that a pattern or a listing gave.
pub(super) fn to_fields(texts: Vec<String>) -> Vec<Field> {
    let spelling = Spelling::from_matches(texts.len());
    let fields = texts.into_iter().map(|text| Field { text, spelling });
    fields.collect()
}

/// The same for some of them, which are not known.
pub(super) fn some_of(field: Field) -> Field {
    Field {
        spelling: Spelling::Glob { matches: None },
        ..field
    }
}

/// `path` seen from `dir`, with `.` and `..` left in but for `./` in front.
pub(super) fn join(dir: &str, path: &str) -> String {
    let mut below = path;
    while let Some(rest) = below
        .strip_prefix("./")
        .filter(|rest| !rest.starts_with('/'))
    {
        below = rest;
    }
    crate::base::path::join(dir, if below.is_empty() { "." } else { below }, None)
}

/// The name behind the last slash, slashes at the end left out.
pub(super) fn base_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// The part before the last slash.
pub(super) fn dir_name(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/",
        Some((dir, _)) => dir,
        None => ".",
    }
}
