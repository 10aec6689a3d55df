//! `sed s/FROM/TO/`: what comes out where what goes in is known.

use std::borrow::Cow;

use super::eval::Shell;
use super::field::{Field, Output};
use super::filter::{input, with_text};
use super::glob::Glob;
use super::lex::Reach;

/// The output of scripts whose parts are plain text, but for `^` and `$` at its ends, or one set of
/// characters.
pub(super) fn output(shell: &mut Shell<'_>, scripts: &[&str], files: &[Field]) -> Option<Output> {
    let mut changes = Vec::new();
    for command in scripts.iter().flat_map(|script| script.split(['\n', ';'])) {
        add_changes(&mut changes, command.trim())?;
    }
    let input = input(shell, files)?;
    if !shell.spend(changes.len() * input.text.len()) {
        return None;
    }
    let mut text = String::new();
    for line in input.text.lines() {
        let mut line = Cow::Borrowed(line);
        for change in &changes {
            if let Some(changed) = change.made_to(&line) {
                line = Cow::Owned(changed);
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
    Some(with_text(&input, text))
}

/// A text with all that an expression matches put in another's place.
pub(super) fn replaced(text: &str, expression: &str, to: &str) -> Option<String> {
    // `+` behind a set is read, no other operator is.
    let plain = expression.trim_end_matches('+');
    let is_set = plain.ends_with(']') || plain == "\\s";
    let operators = ['+', '?', '(', ')', '{', '|'];
    let is_read = is_set || !expression.contains(operators);
    if !is_read || to.contains('\\') || text.len() > MAX_TEXT {
        return None;
    }
    let from = Sought::read(expression)?;
    let reach = Reach::All;
    let changed = Change { from, to, reach }.made_to(text);
    Some(changed.unwrap_or_else(|| text.to_owned()))
}

/// Longer texts are no names.
const MAX_TEXT: usize = 1 << 10;

/// What a substitution puts in place of another text.
pub(super) struct Change<'s> {
    pub(super) from: Sought,
    pub(super) to: &'s str,
    pub(super) reach: Reach,
}

pub(super) enum Sought {
    Start(String),
    End(String),
    Line(String),
    Text(String),
    /// One character of a set, or several in a row.
    One(Glob),
    Run(Glob),
}

/// Adds what one command says; of branches each is a change of its own.
fn add_changes<'s>(changes: &mut Vec<Change<'s>>, command: &'s str) -> Option<()> {
    if command.is_empty() {
        return Some(());
    }
    let body = command.strip_prefix('s')?;
    let mark = body.chars().next().filter(char::is_ascii_punctuation)?;
    let mut parts = body.split(mark).skip(1);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || to.contains(['\\', '&']) {
        return None;
    }
    let reach = reach(flags)?;
    for branch in from.split('|') {
        let from = Sought::read(branch)?;
        changes.push(Change { from, to, reach });
    }
    Some(())
}

/// What the flags of a substitution say; `None` for any but `g`.
pub(super) fn reach(flags: &str) -> Option<Reach> {
    match flags {
        "" => Some(Reach::One),
        "g" => Some(Reach::All),
        _ => None,
    }
}

impl Sought {
    fn read(from: &str) -> Option<Self> {
        if let Some(behind) = from.strip_prefix("\\s") {
            return Self::set(&format!("[ \t]{behind}"));
        }
        if from.starts_with('[') {
            return Self::set(from);
        }
        let (at_start, from) = match from.strip_prefix('^') {
            Some(from) => (true, from),
            None => (false, from),
        };
        let (at_end, from) = match from.strip_suffix('$') {
            Some(from) => (true, from),
            None => (false, from),
        };
        let from = from.replace("\\.", "\u{0}");
        // An unescaped dot in a name stands for itself nearly always.
        if from.is_empty() || from.contains(['\\', '*', '[', ']', '^', '$']) {
            return None;
        }
        let from = from.replace('\u{0}', ".");
        Some(match (at_start, at_end) {
            (true, true) => Self::Line(from),
            (true, false) => Self::Start(from),
            (false, true) => Self::End(from),
            (false, false) => Self::Text(from),
        })
    }

    /// `[^a-z]`, also with `+` behind it.
    fn set(from: &str) -> Option<Self> {
        let end = 1 + from.get(1..)?.find(']')?;
        let (set, behind) = from.split_at(end + 1);
        // A bracket that comes first stands for itself, and classes are not read.
        if matches!(set, "[]" | "[^]") || set.contains("[:") {
            return None;
        }
        match behind {
            "" => Some(Self::One(Glob::all(set))),
            "+" | "\\+" => Some(Self::Run(Glob::all(set))),
            _ => None,
        }
    }
}

impl Change<'_> {
    pub(super) fn has_slash(&self) -> bool {
        let from = match &self.from {
            Sought::Start(from) | Sought::End(from) | Sought::Line(from) | Sought::Text(from) => {
                from
            }
            Sought::One(set) | Sought::Run(set) => set.text(),
        };
        from.contains('/') || self.to.contains('/')
    }

    /// The line with the change made; `None` where it stays what it is.
    pub(super) fn made_to(&self, line: &str) -> Option<String> {
        let to = self.to;
        match &self.from {
            Sought::Line(from) => (line == from).then(|| to.to_owned()),
            Sought::Start(from) => Some(to.to_owned() + line.strip_prefix(from.as_str())?),
            Sought::End(from) => Some(line.strip_suffix(from.as_str())?.to_owned() + to),
            Sought::Text(from) => line.contains(from).then(|| match self.reach {
                Reach::All => line.replace(from, to),
                Reach::One => line.replacen(from, to, 1),
            }),
            Sought::One(set) | Sought::Run(set) => Some(self.in_sets(line, set)),
        }
    }

    fn in_sets(&self, line: &str, set: &Glob) -> String {
        let runs = matches!(self.from, Sought::Run(_));
        let mut text = String::new();
        let (mut n_changed, mut in_run) = (0, false);
        for c in line.chars() {
            let is_in = set.matches(c.encode_utf8(&mut [0; 4]));
            let goes_on = runs && in_run && is_in;
            if is_in && !goes_on && (self.reach == Reach::All || n_changed == 0) {
                text.push_str(self.to);
                n_changed += 1;
                in_run = true;
            } else if !goes_on {
                text.push(c);
                in_run = false;
            }
        }
        text
    }
}
