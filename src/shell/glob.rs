//! Patterns of names (Bash manual, "Pattern Matching"), and the names that are there.

use std::borrow::Cow;
use std::slice;

use super::eval::Shell;
use super::field::{Field, join, to_fields};
use crate::base::target::Spelling;

/// A pattern, taken apart.
pub(super) struct Glob {
    elements: Vec<Element>,
    /// How it begins, for names that begin with a dot.
    first: Option<char>,
}

enum Element {
    Any,
    One,
    Char(char),
    Set {
        ranges: Vec<(char, char)>,
        holds: bool,
    },
}

/// A text in which no sign counts as a pattern.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Whether a pattern is more than a text.
pub(super) fn is_pattern(pattern: &str) -> bool {
    let last_close = pattern.rfind(']').unwrap_or(0);
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '*' | '?' => return true,
            '[' if at < last_close => return true,
            _ => {}
        }
    }
    false
}

/// Whether a field is a pattern for which nothing was searched yet.
pub(super) fn is_open(field: &Field) -> bool {
    field.spelling == Spelling::Glob { matches: None } && field.known().is_some_and(is_pattern)
}

/// The text that a pattern without signs matches.
pub(super) fn unescape(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        text.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    text
}

impl Glob {
    /// Signs with a backslash in front are plain characters.
    pub(super) fn new(pattern: &str) -> Self {
        let chars: Vec<char> = pattern.chars().collect();
        let last_close = chars.iter().rposition(|c| *c == ']').map_or(0, |at| at + 1);
        let (mut elements, mut at) = (Vec::new(), 0);
        while let Some(&c) = chars.get(at) {
            at += 1;
            let element = match c {
                '*' => Element::Any,
                '?' => Element::One,
                '[' => match chars.get(at..last_close).and_then(set) {
                    Some((set, len)) => {
                        at += len;
                        set
                    }
                    None => Element::Char('['),
                },
                '\\' => {
                    at += 1;
                    Element::Char(chars.get(at - 1).copied().unwrap_or('\\'))
                }
                c => Element::Char(c),
            };
            elements.push(element);
        }
        Self {
            elements,
            first: chars.first().copied(),
        }
    }

    /// Whether the whole text fits. A mismatch goes back to the last `*` only.
    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut pos) = (0, 0);
        let mut star = None;
        while pos < text.len() {
            match self.elements.get(at) {
                Some(Element::Any) => {
                    star = Some((at + 1, pos));
                    at += 1;
                    continue;
                }
                Some(element) if element.fits(text[pos]) => {
                    at += 1;
                    pos += 1;
                    continue;
                }
                _ => {}
            }
            let Some((back, from)) = star else {
                return false;
            };
            star = Some((back, from + 1));
            (at, pos) = (back, from + 1);
        }
        self.elements[at..]
            .iter()
            .all(|element| matches!(element, Element::Any))
    }

    /// A hidden name fits only a pattern that begins with its dot.
    fn matches_name(&self, name: &str) -> bool {
        (!name.starts_with('.') || self.first == Some('.')) && self.matches(name)
    }
}

impl Element {
    fn fits(&self, c: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Char(own) => *own == c,
            Self::Set { ranges, holds } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) == *holds
            }
        }
    }
}

/// The set behind `[`, with its length; `None` where no `]` ends it.
fn set(chars: &[char]) -> Option<(Element, usize)> {
    let holds = !matches!(chars.first(), Some('!' | '^'));
    let start = usize::from(!holds);
    let end = chars.iter().skip(start + 1).position(|c| *c == ']')? + start + 1;
    let (mut ranges, mut at) = (Vec::new(), start);
    while at < end {
        let (high, len) = match chars[at..end] {
            [_, '-', high, ..] => (high, 3),
            _ => (chars[at], 1),
        };
        ranges.push((chars[at], high));
        at += len;
    }
    Some((Element::Set { ranges, holds }, end + 1))
}

impl Shell<'_> {
    /// The names that are there of a pattern; of anything else itself.
    pub(super) fn found<'f>(&mut self, field: &'f Field) -> Cow<'f, [Field]> {
        if !is_open(field) {
            return Cow::Borrowed(slice::from_ref(field));
        }
        Cow::Owned(match to_fields(self.expand_glob(&field.text)) {
            // It is taken as it is written.
            names if names.is_empty() => vec![Field::literal(field.text.as_str())],
            names => names,
        })
    }

    pub(super) fn all_found<'f>(
        &mut self,
        fields: impl IntoIterator<Item = &'f Field>,
    ) -> Vec<Field> {
        let mut found = Vec::new();
        for field in fields {
            found.extend_from_slice(&self.found(field));
        }
        found
    }

    /// The paths that a pattern fits, as the shell would spell them.
    pub(super) fn expand_glob(&mut self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        let mut is_listed = false;
        let mut names = pattern.split('/').peekable();
        while let Some(name) = names.next() {
            let slash = if names.peek().is_some() { "/" } else { "" };
            if is_pattern(name) {
                found = self.descend(&found, &Glob::new(name), slash);
                is_listed = true;
                continue;
            }
            let name = unescape(name);
            found.iter_mut().for_each(|path| {
                path.push_str(&name);
                path.push_str(slash);
            });
            if is_listed && !name.is_empty() {
                found.retain(|path| self.exists(path.trim_end_matches('/')));
            }
        }
        found
    }

    fn descend(&mut self, dirs: &[String], glob: &Glob, slash: &str) -> Vec<String> {
        let mut found = Vec::new();
        for dir in dirs {
            let here = if dir.is_empty() { "." } else { dir };
            let Some(listed) = self.absolute(here) else {
                return Vec::new();
            };
            for name in self.entries(&listed) {
                self.spend(glob.elements.len() * name.len() / 64);
                if self.has_given_up() {
                    return found;
                }
                if glob.matches_name(&name)
                    && (slash.is_empty() || self.is_dir(&join(&listed, &name)))
                {
                    found.push(format!("{dir}{name}{slash}"));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_bash() {
        for (pattern, text, expected) in [
            ("*.md", "a.md", true),
            ("*.md", ".md", true),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[a", "[a", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            ("*a*b", "xaxb", true),
            ("*a*b", "xbxa", false),
            ("", "", true),
        ] {
            assert_eq!(
                Glob::new(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }
}
