//! `echo` and `printf`: what they print.

use super::eval::Shell;
use super::field::{Field, Output};
use super::variable::Value;

pub(super) fn echo(_: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let mut words = args;
    let mut end = "\n";
    let mut escapes = false;
    while let Some((first, rest)) = words.split_first() {
        match first.known() {
            Some("-n") => end = "",
            Some("-e") => escapes = true,
            Some("-E") => escapes = false,
            Some("-ne" | "-en") => (end, escapes) = ("", true),
            _ => break,
        }
        words = rest;
    }
    let mut line = Field::literal("");
    for (n, word) in words.iter().enumerate() {
        if n > 0 {
            line.text.push(' ');
        }
        line.push(word);
    }
    if escapes {
        line.text = unescape(&line.text).into();
    }
    line.text.push_str(end);
    Some(line.into())
}

/// Backslash escapes of `echo -e` and `printf`.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('x') => out.extend(code(&mut chars, 0, 2, 16)),
            Some(digit @ '0'..='7') => {
                let first = digit.to_digit(8).unwrap_or(0);
                out.extend(code(&mut chars, first, 2 + usize::from(digit == '0'), 8));
            }
            Some('e') => out.push('\u{1b}'),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
    out
}

/// The character of an escape's digits, the first of which is given.
fn code(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    first: u32,
    n_digits: usize,
    radix: u32,
) -> Option<char> {
    let mut code = first;
    for _ in 0..n_digits {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        code = code * radix + digit;
        chars.next();
    }
    char::from_u32(code)
}

/// `%s`, `%d`, `%b` and `%%`; the format repeats while arguments are left.
pub(super) fn printf(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let args = match args.first().and_then(Field::known) {
        Some("--") => args.get(1..)?,
        Some("-v") => {
            let value = printf(shell, args.get(2..)?);
            let value = value.map(|output| Value::One(output.field(&output.text)));
            shell.assign(args.get(1)?.known()?, value);
            return Output::nothing();
        }
        _ => args,
    };
    let (format, values) = args.split_first()?;
    let format = unescape(&format.text);
    let mut values = values.iter().peekable();
    let mut printed = Field::literal("");
    loop {
        let before = values.len();
        let mut parts = format.split('%');
        printed.text.push_str(parts.next()?);
        while let Some(part) = parts.next() {
            if part.is_empty() {
                printed.text.push('%');
                printed.text.push_str(parts.next().unwrap_or(""));
                continue;
            }
            let (width, rest) = zero_padded(part);
            let rest = rest.strip_prefix(['s', 'd', 'b'])?;
            if let Some(value) = values.next() {
                let n_zeros = width.saturating_sub(value.text.len());
                printed.text.push_str(&"0".repeat(n_zeros));
                printed.push(value);
            }
            printed.text.push_str(rest);
        }
        if values.peek().is_none() || values.len() == before {
            return Some(printed.into());
        }
    }
}

/// The width of `%03d`, and what stands behind it.
fn zero_padded(part: &str) -> (usize, &str) {
    let digits = part.strip_prefix('0').unwrap_or("");
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let width = digits
        .get(..digits.len() - rest.len())
        .and_then(|width| width.parse().ok());
    match width.filter(|width| *width < 64 && rest.starts_with('d')) {
        Some(width) => (width, rest),
        None => (0, part),
    }
}
