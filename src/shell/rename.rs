//! The two programs named `rename`: Perl's with an expression, util-linux's with
//! two texts.

use super::eval::Shell;
use super::field::{Field, Output, base_name};
use super::lex::Reach;
use super::substitute::{Change, Sought, reach};
use crate::base::target::Act;

pub(super) fn rename(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let is_dry = |arg: &Field| {
        matches!(
            arg.known(),
            Some("-n" | "--nono" | "--no-act" | "-vn" | "-nv")
        )
    };
    if args.iter().any(is_dry) {
        return None;
    }
    let marks = |arg: &&Field| !matches!(arg.known(), Some("-e" | "--")) && !arg.is_option();
    let words: Vec<&Field> = args.iter().filter(marks).collect();
    let (first, rest) = words.split_first()?;
    let expression = first.known()?;
    let (change, files) = match expression.strip_prefix('s').map(is_substitution) {
        // Any other expression of Perl's gives names that are not known.
        Some(true) => (substitution(expression)?, rest),
        _ => {
            let (to, files) = rest.split_first()?;
            let change = Change {
                from: Sought::Text(expression.to_owned()),
                to: to.known()?,
                reach: Reach::One,
            };
            (change, files)
        }
    };
    for file in files {
        let new = file.known().and_then(|path| renamed(path, &change));
        if let Some(new) = new {
            shell.report(file, Act::MoveAway);
            shell.carry(file, &file.with_text(new));
        }
    }
    None
}

/// A mark stands behind the `s`, and no name does.
fn is_substitution(rest: &str) -> bool {
    let mark = rest.chars().next();
    mark.is_some_and(|c| c.is_ascii_punctuation() && !matches!(c, '.' | '_' | '-'))
}

/// `s/from/to/g` without anything that a regular expression would make of it.
fn substitution(expression: &str) -> Option<Change<'_>> {
    let rest = expression.strip_prefix('s')?;
    let mark = rest.chars().next()?;
    let mut parts = rest.get(mark.len_utf8()..)?.split(mark);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || to.contains(['$', '\\', '@']) {
        return None;
    }
    let from = match (from.strip_prefix('^'), from.strip_suffix('$')) {
        (Some(from), None) => Sought::Start(literal(from)?),
        (None, Some(from)) => Sought::End(literal(from)?),
        _ => Sought::Text(literal(from)?),
    };
    let reach = reach(flags)?;
    Some(Change { from, to, reach })
}

/// The text a pattern stands for, where it stands for one only.
fn literal(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(chars.next().filter(|c| !c.is_ascii_alphanumeric())?),
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' | '@' => {
                return None;
            }
            c => text.push(c),
        }
    }
    (!text.is_empty()).then_some(text)
}

/// A path after a substitution of literal text; `None` where that is another one.
pub(super) fn substituted(expression: &str, path: &str) -> Option<String> {
    let change = substitution(expression)?;
    Some(change.made_to(path).unwrap_or_else(|| path.to_owned()))
}

/// The path with its name changed, where that is another one.
fn renamed(path: &str, change: &Change<'_>) -> Option<String> {
    let name = base_name(path);
    let (dir, name) = match path.strip_suffix(name) {
        Some(dir) if !change.has_slash() => (dir, name),
        _ => ("", path),
    };
    let new = change.made_to(name)?;
    (new != name).then(|| format!("{dir}{new}"))
}
