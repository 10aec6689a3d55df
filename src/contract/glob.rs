//! A glob from a settings file: globset says whether it is one. Names are matched
//! here, because its matcher takes a hook too long to compile.

use std::collections::BTreeSet;
use std::mem;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `*` and `?` stay within one path component; `**` crosses them. As with
/// globset, `?` and a class take one byte.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// Made for the first name that may match: a hook meets few globs of a contract.
    steps: OnceLock<Vec<Step>>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(to)
    }
}

/// The text was a glob when it was written.
impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let steps = OnceLock::new();
        Ok(Self {
            text: String::deserialize(from)?,
            steps,
        })
    }
}

/// The signs with which something else than a character begins.
const SIGNS: &[char] = &['*', '?', '[', '{', '\\'];

impl Pattern {
    /// The longest glob in bytes; a name costs at most a few steps for each byte of it
    /// and of the glob.
    pub const MAX_BYTES: usize = 1024;

    /// Reads a glob.
    ///
    /// # Errors
    /// Says what is wrong with the text: it is empty, too long, or no glob.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the glob is empty".to_owned());
        }
        if text.len() > Self::MAX_BYTES {
            let (start, most) = (text.chars().take(16).collect::<String>(), Self::MAX_BYTES);
            return Err(format!("the glob `{start}…` is longer than {most} bytes"));
        }
        if !is_simple(text) {
            glob(text).map_err(|e| format!("`{text}` is not a glob: {}", e.kind()))?;
        }
        Ok(Self {
            text: text.to_owned(),
            steps: OnceLock::new(),
        })
    }

    fn steps(&self) -> &[Step] {
        self.steps.get_or_init(|| Parser::new(&self.text).steps())
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The one name that a glob without signs of its own matches.
    pub fn as_name(&self) -> Option<&str> {
        let is_name = !self.text.contains(SIGNS) && self.matches(&self.text);
        is_name.then_some(&self.text)
    }

    /// A name with a NUL or a line break matches nothing, whatever the glob says.
    pub fn matches(&self, name: &str) -> bool {
        // Most globs begin with a character of their own, and most names with another.
        let begins_otherwise = !self.text.starts_with(SIGNS)
            && self.text.as_bytes().first() != name.as_bytes().first();
        if begins_otherwise || name.contains(['\0', '\n', '\r']) {
            return false;
        }
        if self.text.contains(SIGNS) {
            self.after(name).contains(&self.steps().len())
        } else {
            self.text == name
        }
    }

    /// Whether the glob takes names below a directory.
    pub fn leads_below(&self, dir: &str) -> bool {
        let mut after = self.after(&format!("{dir}/")).into_iter();
        after.any(|at| at < self.steps().len())
    }

    /// The steps that the start of a name leads to.
    fn after(&self, start: &str) -> BTreeSet<usize> {
        let mut now = BTreeSet::new();
        self.enter(0, &mut now);
        for byte in start.bytes() {
            let mut next = BTreeSet::new();
            for at in now {
                for ahead in self.steps().get(at).map_or(&[][..], |step| step.take(byte)) {
                    self.enter(at + ahead, &mut next);
                }
            }
            now = next;
        }
        now
    }

    /// Enters a step and those it leads to without a byte, each once.
    fn enter(&self, at: usize, entered: &mut BTreeSet<usize>) {
        if entered.insert(at) {
            for ahead in self.steps().get(at).map_or(&[][..], Step::skip) {
                self.enter(at + ahead, entered);
            }
        }
    }

    /// Whether the glob has no shape at all: it takes any name at all.
    pub(crate) fn matches_everything(&self) -> bool {
        ["q", "Zq-0~.xq"].iter().all(|name| self.matches(name))
    }
}

/// Whether a text is a glob without being parsed: only what can stay open can be wrong
/// with one, and a range of characters.
fn is_simple(text: &str) -> bool {
    let mut parts = text.split('[');
    let is_open = |part: &str| part.contains('\\') || !are_braces_flat(part);
    !parts.next().is_some_and(is_open)
        && parts.all(|part| {
            part.split_once(']')
                .is_some_and(|(class, behind)| is_class(class) && !is_open(behind))
        })
}

/// Whether a character class holds letters and digits alone, and its ranges go up.
fn is_class(class: &str) -> bool {
    let mut rest = class.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = match behind {
            [b'-', last, behind @ ..] if first <= last => behind,
            [b'-', ..] => return false,
            _ => behind,
        };
        if !first.is_ascii_alphanumeric() {
            return false;
        }
    }
    !class.is_empty()
}

/// Whether every brace is closed before the next one opens.
fn are_braces_flat(text: &str) -> bool {
    let mut braces = text.bytes().filter(|byte| matches!(byte, b'{' | b'}'));
    while let Some(first) = braces.next() {
        if (first, braces.next()) != (b'{', Some(b'}')) {
            return false;
        }
    }
    true
}

/// The globs without braces that one with braces abbreviates, at most 256.
pub(crate) fn branches(text: &str) -> Vec<String> {
    const MOST: usize = 256;
    let Some((before, inner, after)) = first_braces(text) else {
        return vec![text.to_owned()];
    };
    let behind = branches(after);
    let inside = inner.into_iter().flat_map(branches);
    let each = inside.flat_map(|part| {
        behind
            .iter()
            .map(move |rest| [before, &part, rest].concat())
    });
    each.take(MOST).collect()
}

/// What is before, between the commas of, and behind the first braces of a glob.
fn first_braces(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    let open = text.find('{')?;
    let (mut depth, mut from, mut parts) = (0, open + 1, Vec::new());
    for (at, c) in text[open..].char_indices() {
        let at = open + at;
        match c {
            '{' => depth += 1,
            ',' if depth == 1 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            '}' if depth == 1 => {
                parts.push(&text[from..at]);
                return Some((&text[..open], parts, &text[at + 1..]));
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Only a test compiles what this returns: that links a regular expression engine.
fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
}

/// A part of a glob. Steps follow one another; a name matches if it leads past the last.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Byte(u8),
    /// `?`
    Any,
    /// `*`
    Star,
    /// One directory or more: anything up to a slash.
    Dirs,
    /// Anything.
    Rest,
    Class {
        negated: bool,
        ranges: Vec<(u8, u8)>,
    },
    /// Takes nothing and goes on with each of the steps that far ahead.
    Fork(Vec<usize>),
}

impl Step {
    /// How far ahead the steps are that follow once this one has taken the byte.
    fn take(&self, byte: u8) -> &'static [usize] {
        match self {
            Self::Byte(own) if *own == byte => &[1],
            Self::Any if byte != b'/' => &[1],
            Self::Star if byte != b'/' => &[0],
            Self::Dirs if byte == b'/' => &[0, 1],
            Self::Dirs | Self::Rest => &[0],
            Self::Class { negated, ranges } => {
                let is_listed = ranges
                    .iter()
                    .any(|&(low, high)| (low..=high).contains(&byte));
                if is_listed != *negated { &[1] } else { &[] }
            }
            Self::Byte(_) | Self::Any | Self::Star | Self::Fork(_) => &[],
        }
    }

    /// How far ahead the steps are that follow without any byte.
    fn skip(&self) -> &[usize] {
        match self {
            Self::Star | Self::Rest => &[1],
            Self::Fork(ahead) => ahead,
            Self::Byte(_) | Self::Any | Self::Dirs | Self::Class { .. } => &[],
        }
    }
}

/// Reads a text that globset takes for a glob, and as globset reads it. Only `\` is
/// no slash on Windows: a settings file means the same everywhere.
struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    /// The branch being read; the glob itself outside of braces.
    branch: Vec<Step>,
    /// The branches before it, each brace's behind the one that holds the brace.
    before: Vec<Vec<Step>>,
    /// Where the branches of each open brace begin.
    open: Vec<usize>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            branch: Vec::new(),
            before: Vec::new(),
            open: Vec::new(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn bump(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn steps(mut self) -> Vec<Step> {
        while let Some(byte) = self.bump() {
            match byte {
                b'?' => self.branch.push(Step::Any),
                b'*' => self.star(),
                b'[' => self.class(),
                b'{' => {
                    self.before.push(mem::take(&mut self.branch));
                    self.open.push(self.before.len());
                }
                b',' if !self.open.is_empty() => self.before.push(mem::take(&mut self.branch)),
                b'}' => self.close(),
                b'\\' => {
                    let escaped = self.bump().map(Step::Byte);
                    self.branch.extend(escaped);
                }
                byte => self.branch.push(Step::Byte(byte)),
            }
        }
        if self.branch_is_prefix() {
            return vec![Step::Rest];
        }
        self.branch
    }

    /// Whether nothing but `**/` was read in the branch.
    fn branch_is_prefix(&self) -> bool {
        matches!(self.branch.as_slice(), [Step::Fork(_), Step::Dirs])
    }

    fn star(&mut self) {
        let behind = self.at.checked_sub(2).and_then(|at| self.text.get(at));
        if self.peek() != Some(b'*') {
            return self.branch.push(Step::Star);
        }
        self.at += 1;
        let (is_first, is_nested) = (self.branch.is_empty(), !self.open.is_empty());
        // That an escaped `,` or `{` counts too, and is lost, is globset's doing.
        let starts =
            is_first || behind == Some(&b'/') || (is_nested && matches!(behind, Some(b',' | b'{')));
        let slash_follows = self.peek() == Some(b'/');
        let ends = match self.peek() {
            None => true,
            Some(b',' | b'}') => is_nested && !is_first,
            _ => false,
        };
        if !starts || !(ends || slash_follows) {
            return self.branch.push(Step::Star);
        }
        self.at += usize::from(slash_follows);
        match self.branch.as_mut_slice() {
            [Step::Fork(_), Step::Dirs] => return,
            [.., Step::Dirs] | [] => {}
            [.., last] => *last = Step::Byte(b'/'),
        }
        if ends && !is_first {
            self.branch.push(Step::Rest);
        } else {
            self.branch.extend([Step::Fork(vec![1, 2]), Step::Dirs]);
        }
    }

    fn class(&mut self) {
        let negated = matches!(self.peek(), Some(b'!' | b'^'));
        self.at += usize::from(negated);
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        let mut is_open = false;
        while let Some(byte) = self.bump() {
            match (byte, ranges.last_mut()) {
                (b']', Some(_)) => break,
                (b'-', Some(_)) if !is_open => is_open = true,
                (_, Some((_, high))) if is_open => {
                    *high = byte;
                    is_open = false;
                }
                _ => ranges.push((byte, byte)),
            }
        }
        if is_open {
            ranges.push((b'-', b'-'));
        }
        self.branch.push(Step::Class { negated, ranges });
    }

    /// Ends a brace. A branch may be empty.
    fn close(&mut self) {
        self.before.push(mem::take(&mut self.branch));
        let branches = self.before.split_off(self.open.pop().unwrap_or_default());
        self.branch = self.before.pop().unwrap_or_default();
        let total: usize = branches.iter().map(|branch| branch.len() + 1).sum();
        let (mut starts, mut steps) = (Vec::new(), Vec::with_capacity(total));
        for branch in branches {
            starts.push(steps.len() + 1);
            steps.extend(branch);
            steps.push(Step::Fork(vec![total - steps.len()]));
        }
        self.branch.push(Step::Fork(starts));
        self.branch.append(&mut steps);
    }
}

#[cfg(test)]
mod tests;
