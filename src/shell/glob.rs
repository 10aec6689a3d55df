//! Shell patterns over text and over directories.

use std::collections::BTreeSet;

use super::field::join;
use super::report::Found;
use crate::base::disk::cache::Disk;

/// How many directories one command may list, large ones counted more than once, and how
/// many names a glob may give.
pub(super) const MAX_LISTINGS: usize = 4096;
pub(super) const MAX_MATCHES: usize = 4096;

/// The longest product of pattern and name that is matched: the steps it may take.
const MAX_EFFORT: usize = 1 << 20;

/// A pattern in which only some characters are active: the quoted ones are not.
#[derive(Clone, Copy, Debug)]
struct Pattern<'a> {
    text: &'a str,
    /// Byte positions of active `*`, `?`, `[` in `text`, ascending.
    active: &'a [usize],
    /// The position of `text` within what `active` counts.
    offset: usize,
}

/// Positions of every glob character of a text.
pub(super) fn all_active(text: &str) -> Vec<usize> {
    let bytes = text.bytes().enumerate();
    let globs = bytes.filter(|(_, b)| matches!(b, b'*' | b'?' | b'['));
    globs.map(|(at, _)| at).collect()
}

/// A pattern that is kept.
#[derive(Default)]
pub(super) struct Glob {
    text: String,
    active: Vec<usize>,
}

impl Glob {
    /// In which every glob character counts.
    pub(super) fn all(text: &str) -> Self {
        let mut glob = Self::default();
        glob.push_active(text);
        glob
    }

    pub(super) fn push_active(&mut self, text: &str) {
        let start = self.text.len();
        let active = all_active(text).into_iter();
        self.active.extend(active.map(|at| at + start));
        self.text.push_str(text);
    }

    pub(super) fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is the text itself.
    pub(super) fn is_plain(&self) -> bool {
        self.active.is_empty()
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        // Most patterns of trees are of these kinds.
        match (self.active.as_slice(), self.text.strip_prefix('*')) {
            ([], _) => return self.text == text,
            ([0], Some(end)) => return text.ends_with(end),
            _ => {}
        }
        let pattern = Pattern {
            text: &self.text,
            active: &self.active,
            offset: 0,
        };
        pattern.matches(text)
    }
}

/// A pattern of a path.
pub(super) struct PathGlob(Vec<Part>);

enum Part {
    /// `**`: any number of names.
    Names,
    Name(Glob),
}

impl PathGlob {
    pub(super) fn all(text: &str) -> Self {
        let part = |part| match part {
            "**" => Part::Names,
            name => Part::Name(Glob::all(name)),
        };
        Self(text.split('/').map(part).collect())
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        // Most differ in the first name already.
        if let Some(Part::Name(first)) = self.0.first()
            && !first.matches(path.split('/').next().unwrap_or(path))
        {
            return false;
        }
        names_match(&self.0, &path.split('/').collect::<Vec<_>>())
    }
}

/// A mismatch goes back to the last `**` only.
fn names_match(pattern: &[Part], names: &[&str]) -> bool {
    let (mut rest, mut left) = (pattern, names);
    let mut last = None;
    loop {
        match (rest, left) {
            ([], []) => return true,
            ([Part::Names, behind @ ..], _) => {
                rest = behind;
                last = Some((behind, left));
            }
            ([Part::Name(first), behind @ ..], [name, others @ ..]) if first.matches(name) => {
                (rest, left) = (behind, others);
            }
            _ => match last {
                Some((behind, [_, others @ ..])) => {
                    (rest, left) = (behind, others);
                    last = Some((behind, others));
                }
                _ => return false,
            },
        }
    }
}

impl Pattern<'_> {
    fn is_active(&self, at: usize) -> bool {
        self.active.binary_search(&(at + self.offset)).is_ok()
    }

    fn has_glob(&self) -> bool {
        let end = self.offset + self.text.len();
        let from = self.active.partition_point(|at| *at < self.offset);
        self.active.get(from).is_some_and(|at| *at < end)
    }

    /// Whether the whole name matches. The usual two pointers: a mismatch goes
    /// back to the last star only.
    fn matches(&self, name: &str) -> bool {
        if self.text.len().saturating_mul(name.len()) > MAX_EFFORT {
            return self.text == name;
        }
        let (mut at, mut pos) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while pos < name.len() {
            if self.byte(at) == Some(b'*') && self.is_active(at) {
                star = Some((at + 1, pos));
                at += 1;
                continue;
            }
            if let Some((next_at, next_pos)) = self.step(at, name, pos) {
                (at, pos) = (next_at, next_pos);
                continue;
            }
            let Some((back_at, back_pos)) = star else {
                return false;
            };
            let width = char_len(name, back_pos);
            star = Some((back_at, back_pos + width));
            (at, pos) = (back_at, back_pos + width);
        }
        while self.byte(at) == Some(b'*') && self.is_active(at) {
            at += 1;
        }
        at == self.text.len()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Matches one character of the name against one element of the pattern.
    fn step(&self, at: usize, name: &str, pos: usize) -> Option<(usize, usize)> {
        let byte = self.byte(at)?;
        let width = char_len(name, pos);
        if self.is_active(at) {
            if byte == b'?' {
                return Some((at + 1, pos + width));
            }
            if byte == b'['
                && let Some((set, after)) = self.set(at)
            {
                let found = set_holds(set, name.get(pos..pos + width)?.chars().next()?);
                return found.then_some((after, pos + width));
            }
        }
        let same = name.as_bytes().get(pos) == Some(&byte);
        same.then_some((at + 1, pos + 1))
    }

    /// The inside of `[…]` at `at`, and the position behind it.
    fn set(&self, at: usize) -> Option<(&str, usize)> {
        let inner = self.text.get(at + 1..)?;
        let skip = inner.len() - inner.trim_start_matches(['!', '^']).len();
        let skip = skip.min(1);
        let first = inner.get(skip..)?.chars().next()?.len_utf8();
        let end = inner.get(skip + first..)?.find(']')? + skip + first;
        Some((inner.get(..end)?, at + 1 + end + 1))
    }
}

fn char_len(text: &str, at: usize) -> usize {
    let rest = text.get(at..).and_then(|rest| rest.chars().next());
    rest.map_or(1, char::len_utf8)
}

fn set_holds(set: &str, c: char) -> bool {
    let (negated, body) = match set.strip_prefix(['!', '^']) {
        Some(body) => (true, body),
        None => (false, set),
    };
    let chars: Vec<char> = body.chars().collect();
    let class = body.strip_prefix("[:").and_then(|b| b.strip_suffix(':'));
    let mut found = match class {
        Some("digit") => c.is_ascii_digit(),
        Some("alpha") => c.is_alphabetic(),
        Some("alnum") => c.is_alphanumeric(),
        Some("upper") => c.is_uppercase(),
        Some("lower") => c.is_lowercase(),
        _ => false,
    };
    let mut at = 0;
    while let Some(low) = chars.get(at) {
        let ranged = (chars.get(at + 1) == Some(&'-')).then(|| chars.get(at + 2));
        if let Some(Some(high)) = ranged {
            found |= (*low..=*high).contains(&c);
            at += 3;
        } else {
            found |= *low == c;
            at += 1;
        }
    }
    found != negated
}

/// What the globs of one command may still cost.
#[derive(Clone, Copy)]
pub(super) struct Allowance {
    pub(super) listings: usize,
    /// How many of them `find` may go through. Behind that it is not followed: most
    /// trees are searched for what is no state.
    pub(super) walks: usize,
    /// Characters of a pattern, times those of the name it is compared with.
    pub(super) effort: usize,
}

impl Allowance {
    pub(super) const FULL: Self = Self {
        listings: MAX_LISTINGS,
        walks: MAX_LISTINGS / 8,
        effort: 1 << 27,
    };
}

/// What a glob finds on the disk: the names as the shell would spell them.
pub(super) struct Search<'d> {
    pub(super) disk: &'d dyn Disk,
    /// What the command itself made so far.
    pub(super) made: &'d Found,
    pub(super) left: Allowance,
}

impl Search<'_> {
    pub(super) fn entries(&mut self, dir: &str) -> Vec<String> {
        if self.left.listings == 0 {
            return Vec::new();
        }
        let mut names = self.disk.entries(dir);
        let cost = 1 + names.len() / 256;
        self.left.listings = self.left.listings.saturating_sub(cost);
        let made = self.made.made_in(dir).into_iter();
        names.extend(made.map(|name| name.trim_end_matches('/').to_owned()));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Expands `text`; `base` is the directory relative words start from.
    pub(super) fn expand(&mut self, base: &str, text: &str, active: &[usize]) -> Vec<String> {
        let mut found = vec![String::new()];
        let mut offset = 0;
        let mut globbed = false;
        for component in text.split_inclusive('/') {
            let name = component.strip_suffix('/').unwrap_or(component);
            let slash = &component[name.len()..];
            let pattern = Pattern {
                text: name,
                active,
                offset,
            };
            offset += component.len();
            if pattern.has_glob() && name.len() <= 1024 {
                found = self.descend(base, &found, pattern, slash);
                globbed = true;
            } else {
                if globbed && !name.is_empty() {
                    found.retain(|dir| self.holds(&join(base, dir), name));
                }
                for path in &mut found {
                    path.push_str(component);
                }
            }
        }
        found
    }

    fn holds(&mut self, dir: &str, name: &str) -> bool {
        self.entries(dir).iter().any(|entry| entry == name)
    }

    fn is_match(&mut self, pattern: Pattern<'_>, name: &str) -> bool {
        let effort = pattern.text.len() * name.len();
        self.left.effort = self.left.effort.saturating_sub(effort);
        self.left.effort > 0 && pattern.matches(name)
    }

    fn descend(
        &mut self,
        base: &str,
        dirs: &[String],
        pattern: Pattern<'_>,
        slash: &str,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for dir in dirs {
            let listed = join(base, dir);
            let made = match slash {
                "" => BTreeSet::new(),
                _ => self.made.made_in(&listed),
            };
            for name in self.entries(&listed) {
                let hidden = name.starts_with('.') && !pattern.text.starts_with('.');
                if hidden || !self.is_match(pattern, &name) || found.len() == MAX_MATCHES {
                    continue;
                }
                let path = format!("{dir}{name}{slash}");
                let is_dir = || made.contains(&format!("{name}/"));
                if slash.is_empty() || is_dir() || self.disk.is_dir(&join(base, &path)) {
                    found.push(path);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        let matches = PathGlob::all(pattern).matches(path);
        assert_eq!(matches, expected, "{pattern:?} {path}");
    }

    #[test]
    fn two_stars_take_any_number_of_names() {
        check("a/**/b", "a/b", true);
        check("a/**/b", "a/x/y/b", true);
        check("a/**/b", "a/b/x", false);
        check("**/a/b", "a/x/a/b", true);
        check("**/a/**/b/*.md", "a/b/a/b/x.md", true);
        check("a/**", "a", true);
        check("a/*", "a/x/y", false);
    }

    #[test]
    fn many_stars_come_to_an_end() {
        check(&("**/a/".repeat(50) + "b"), &"a/".repeat(500), false);
    }
}
