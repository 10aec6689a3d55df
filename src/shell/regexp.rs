//! Regular expressions of `grep`, as patterns of the shell.

use super::glob::Glob;

/// How many patterns the branches of one expression may come to.
const MAX_BRANCHES: usize = 64;

/// Which part of a line an expression has to match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    Part,
    Line,
}

/// A text that stands for itself.
pub(super) fn fixed(text: &str, span: Span) -> Glob {
    let mut glob = open(span);
    glob.push_text(text);
    close(glob, span)
}

/// Adds the patterns an expression comes to: plain text, `.`, `.*`, `.+`, `[…]`, `^` and `$`, and
/// branches. Names hold no brackets and bars, so what they mean without a backslash in one
/// dialect, and with it in the other, counts in all.
pub(super) fn add_globs(globs: &mut Vec<Glob>, expression: &str, span: Span) -> Option<()> {
    let mut plain = expression.to_owned();
    for (escaped, mark) in [("\\|", "|"), ("\\(", "("), ("\\)", ")")] {
        plain = plain.replace(escaped, mark);
    }
    let mut todo = vec![plain];
    while let Some(text) = todo.pop() {
        if todo.len() + globs.len() > MAX_BRANCHES {
            return None;
        }
        // The last one holds no other.
        let Some((before, rest)) = text.rsplit_once('(') else {
            for branch in text.split('|') {
                globs.push(glob(branch, span)?);
            }
            continue;
        };
        let (group, after) = rest.split_once(')')?;
        if after.starts_with(['*', '+', '?', '{']) {
            return None;
        }
        let branches = group.split('|');
        todo.extend(branches.map(|branch| format!("{before}{branch}{after}")));
    }
    Some(())
}

fn glob(branch: &str, span: Span) -> Option<Glob> {
    let (start, rest) = match branch.strip_prefix('^') {
        Some(rest) => (Span::Line, rest),
        None => (span, branch),
    };
    let (end, mut rest) = match rest.strip_suffix('$') {
        Some(rest) if !rest.ends_with('\\') => (Span::Line, rest),
        _ => (span, rest),
    };
    let mut glob = open(start);
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        match c {
            '\\' => {
                let escaped = rest.chars().nth(1).filter(char::is_ascii_punctuation)?;
                len += 1;
                glob.push_text(escaped.encode_utf8(&mut [0; 4]));
            }
            '.' => {
                let (pattern, more) = match rest.as_bytes().get(1) {
                    Some(b'*') => ("*", 1),
                    Some(b'+') => ("?*", 1),
                    _ => ("?", 0),
                };
                len += more;
                glob.push_active(pattern);
            }
            // A bracket that comes first stands for itself, and classes are not read.
            '[' => {
                let first = rest[1..].trim_start_matches('^');
                let set = first.split_once(']')?.0;
                if set.is_empty() || set.contains(['[', '*', '?']) {
                    return None;
                }
                len = rest.len() - first.len() + set.len() + 1;
                glob.push_active(&rest[..len]);
            }
            '*' | '+' | '?' | '{' | ')' | '^' | '$' => return None,
            _ => glob.push_text(&rest[..len]),
        }
        rest = &rest[len..];
    }
    Some(close(glob, end))
}

fn open(span: Span) -> Glob {
    match span {
        Span::Part => Glob::all("*"),
        Span::Line => Glob::default(),
    }
}

fn close(mut glob: Glob, span: Span) -> Glob {
    if span == Span::Part {
        glob.push_active("*");
    }
    glob
}
