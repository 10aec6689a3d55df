//! One word of a command after expansion.

use std::borrow::Cow;

use ecow::EcoString;

use crate::base::path::slashed;
use crate::base::target::Spelling;

/// Stands in a text for a part whose value is not known. It is no character:
/// a command that holds it is read with U+FFFD in its place.
pub(super) const UNKNOWN: char = '\u{10FFFF}';

/// A text of a known shape, which stands for others of it.
pub(super) const ANY_ONE: Spelling = Spelling::Glob { matches: Some(1) };

/// The directory that a command works in where none is named.
pub(super) static HERE: Field = Field {
    text: EcoString::inline("."),
    spelling: Spelling::Literal,
};

/// Text with what is known about its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: EcoString,
    pub(super) spelling: Spelling,
}

impl Field {
    pub(super) fn literal(text: impl Into<EcoString>) -> Self {
        Self {
            text: text.into(),
            spelling: Spelling::Literal,
        }
    }

    /// A word of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self::literal(UNKNOWN)
    }

    /// Where the first part stands that is not known.
    pub(super) fn gap(&self) -> Option<usize> {
        gap(&self.text)
    }

    /// The whole text, where it is known.
    pub(super) fn known(&self) -> Option<&str> {
        self.gap().is_none().then_some(self.text.as_str())
    }

    /// The same origin with another text.
    pub(super) fn with_text(&self, text: impl Into<EcoString>) -> Self {
        Self {
            text: text.into(),
            ..self.clone()
        }
    }

    /// The part behind the first `len` bytes.
    pub(super) fn behind(&self, len: usize) -> Self {
        Self {
            text: self.text.get(len..).unwrap_or("").into(),
            spelling: self.spelling,
        }
    }

    pub(super) fn push(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        if other.spelling != Spelling::Literal {
            self.spelling = other.spelling;
        }
    }

    pub(super) fn is_option(&self) -> bool {
        matches!(self.text.as_bytes(), [b'-', _, ..])
    }
}

/// What a pattern or a listing gave.
pub(super) fn listed(texts: Vec<String>) -> impl Iterator<Item = Field> {
    let spelling = Spelling::of_matches(texts.len());
    texts.into_iter().map(move |text| Field {
        text: text.into(),
        spelling,
    })
}

/// Where the first part of a text stands that is not known.
pub(super) fn gap(text: &str) -> Option<usize> {
    // Its first byte begins only the last characters of all.
    let may_be = text.as_bytes().contains(&0xf4);
    may_be.then(|| text.find(UNKNOWN))?
}

/// What a command would print, where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) text: EcoString,
    /// A listing carries its glob along to `xargs` and `read`.
    pub(super) spelling: Spelling,
}

impl Output {
    pub(super) fn literal(text: impl Into<EcoString>) -> Self {
        Self {
            text: text.into(),
            spelling: Spelling::Literal,
        }
    }

    /// A command that prints nothing.
    pub(super) fn nothing() -> Option<Self> {
        Some(Self::literal(""))
    }

    pub(super) fn lines(&self) -> Vec<Field> {
        let lines = self.text.lines();
        lines.map(|line| self.field(line)).collect()
    }

    pub(super) fn field(&self, text: &str) -> Field {
        Field {
            text: text.into(),
            spelling: self.spelling,
        }
    }
}

impl From<Field> for Output {
    fn from(field: Field) -> Self {
        Self {
            text: field.text,
            spelling: field.spelling,
        }
    }
}

/// `path` seen from `dir`, with `.` and `..` left in but for `./` in front.
pub(super) fn join(dir: &str, path: &str) -> String {
    let mut whole = String::with_capacity(dir.len() + 1 + path.len());
    join_to(dir, path, &mut whole);
    whole
}

/// The same, in place of what `whole` holds.
pub(super) fn join_to(dir: &str, path: &str, whole: &mut String) {
    whole.clear();
    let path = &*if cfg!(windows) {
        windows_path(path)
    } else {
        Cow::Borrowed(path)
    };
    if !is_absolute(path) {
        whole.push_str(dir);
        if dir.as_bytes().last() != Some(&b'/') {
            whole.push('/');
        }
    }
    whole.push_str(without_here(path));
}

/// A path without `./` in front, as `find .` prints them: of a path that is tidy the disk is
/// asked less.
fn without_here(mut path: &str) -> &str {
    while let [b'.', b'/', next, ..] = path.as_bytes()
        && *next != b'/'
    {
        path = &path[2..];
    }
    path
}

/// A path as programs on Windows take it: `\` separates, and the Bash of Git for Windows
/// names drives by `/c`.
fn windows_path(path: &str) -> Cow<'_, str> {
    let path = slashed(path);
    match path.as_bytes() {
        [b'/', drive] if drive.is_ascii_alphabetic() => format!("{}:/", &path[1..]).into(),
        [b'/', drive, b'/', ..] if drive.is_ascii_alphabetic() => {
            format!("{}:{}", &path[1..2], &path[2..]).into()
        }
        _ => path,
    }
}

/// `/x`, `C:\x`, `C:/x`, `\\server`.
fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    let drive = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'/' | b'\\');
    matches!(bytes, [b'/', ..] | [b'\\', b'\\', ..]) || drive
}

/// The name after the last separator, trailing separators ignored.
pub(super) fn base_name(path: &str) -> &str {
    // Most are names already.
    if !path.as_bytes().contains(&b'/') {
        return path;
    }
    let path = path.trim_end_matches('/');
    path.rfind('/').map_or(path, |at| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::windows_path;

    #[test]
    fn windows_has_drives_and_backslashes() {
        for (path, expected) in [
            ("/c/Users/x", "c:/Users/x"),
            ("/d", "d:/"),
            (r"a\b", "a/b"),
            (r"C:\x\y", "C:/x/y"),
            ("/tmp/x", "/tmp/x"),
            ("/1/x", "/1/x"),
            ("c/x", "c/x"),
            ("/", "/"),
        ] {
            assert_eq!(windows_path(path), expected, "{path}");
        }
    }
}
