//! Whether a Bash command can change anything, by one look at its text.
//!
//! Most commands build, test or read. Where no word is the name of a program of
//! the tables and nothing is redirected to a file, reading the grammar finds no
//! target, so it is not read.

use super::table::Sieve;
use super::{command, inline, nested, wrapper, writers};

/// The names of the tables. Most words are in none, and asking all of them would
/// cost twenty times as much.
static NAMES: Sieve = Sieve::new()
    .with(&nested::NAMES)
    .with(&wrapper::NAMES)
    .with(&inline::NAMES)
    .with(&writers::NAMES)
    .with(&writers::OUTPUT_FILES)
    .with(&writers::OUTPUT_DIRS)
    .with(&command::WRITERS);

/// `false` only where an analysis would find no target but devices, in whatever
/// directory and state. Names can be spelled in pieces (`t"ou"ch`), so a quote
/// or an expansion inside a word counts as a change.
pub fn may_change(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut in_word = false;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        if is_name(byte) {
            if in_word {
                return true;
            }
            let len = rest.iter().position(|&b| !is_name(b));
            let end = len.map_or(bytes.len(), |len| at + len);
            let word = text.get(at..end).unwrap_or(".");
            if is_known(word) && (word != "." || begins_command(text.get(..at))) {
                return true;
            }
            at = end;
            in_word = true;
        } else if byte == b'>' {
            let Some(len) = harmless_redirect(rest) else {
                return true;
            };
            at += len;
            in_word = false;
        } else {
            if rest.starts_with(b"$'") {
                return true;
            }
            // What joins the pieces of a word leaves it open.
            let is_continued =
                byte == b'\n' && text.get(..at).is_some_and(|before| before.ends_with('\\'));
            in_word &= is_joint(byte) || is_continued;
            at += 1;
        }
    }
    false
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'.' | b'+' | b'-' | b'[')
}

fn is_joint(byte: u8) -> bool {
    matches!(
        byte,
        b'\'' | b'"' | b'\\' | b'`' | b'$' | b'(' | b')' | b'{' | b'}' | b',' | b'*' | b'?' | b']'
    )
}

fn is_known(word: &str) -> bool {
    let name = command::table_name(word);
    if !NAMES.may_hold(name) && !NAMES.may_hold(inline::stem(name)) {
        return false;
    }
    command::WRITERS.contains(&name)
        || nested::is_runner(name)
        || inline::is_interpreter(name)
        || writers::is_writer(name)
        || writers::OUTPUT_FILES.contains(&name)
        || writers::OUTPUT_DIRS.contains(&name)
}

/// Whether a command begins behind a text: `.` is one there, and a directory elsewhere.
fn begins_command(before: Option<&str>) -> bool {
    let before = before.unwrap_or("").trim_end_matches([' ', '\t']);
    let keywords = ["then", "do", "else", "if", "while", "until"];
    before.is_empty()
        || before.ends_with([';', '&', '|', '(', '{', '!', '\n', '`'])
        || keywords.iter().any(|keyword| before.ends_with(keyword))
}

/// The length of `>&1`, `>&-`, `> /dev/null` at the start of a text.
fn harmless_redirect(rest: &[u8]) -> Option<usize> {
    let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| b" \t\n;&|)".contains(byte));
    let after = rest.get(1..)?;
    if let Some([stream, end @ ..]) = after.strip_prefix(b"&") {
        let closes = stream.is_ascii_digit() || *stream == b'-';
        return (closes && is_end(end.first())).then_some(3);
    }
    let after = after.strip_prefix(b">").unwrap_or(after);
    let spaces = after.iter().take_while(|&&byte| byte == b' ').count();
    let end = after.get(spaces..)?.strip_prefix(b"/dev/null")?;
    is_end(end.first()).then_some(rest.len() - end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: bool, commands: &[&str]) {
        for command in commands {
            assert_eq!(may_change(command), expected, "{command}");
        }
    }

    #[test]
    fn what_reads_is_told_from_what_may_write() {
        let reads = [
            "",
            "\ncargo test --workspace 2>&1 | tail -n 40\n",
            "cd src && ls -la | head; grep -rn \"x\" . >/dev/null",
            "pytest -q 2>/dev/null || echo 'it failed'",
            "cat a.txt\ncat 'b c.txt' &> /dev/null",
            "wc -l src/*.rs > /dev/null; cargo check >&2",
        ];
        check(false, &reads);
        let writes = [
            "echo x > a",
            "echo x >&a",
            "echo x >&1a",
            "echo x >/dev/nullx",
            "touch a",
            "/usr/bin/touch a",
            "\"touch\" a",
            "t\"ou\"ch a",
            "t\\ouch a",
            "t\\\nouch a",
            "$'\\x74ouch' a",
            "{to,}uch a",
            "a=to; ${a}uch b",
            "to$(echo uch) a",
            "tou*h a",
            "python3.11 -c 'x'",
            "sh x",
            "cd a && . /tmp/x",
            "if . ./x; then :; fi",
            "echo eA== | base64 -d",
        ];
        check(true, &writes);
    }

    #[test]
    fn every_name_of_the_tables_is_known() {
        let tables = [
            &nested::NAMES[..],
            &wrapper::NAMES,
            &inline::NAMES,
            &writers::NAMES,
            &command::WRITERS,
        ];
        for name in tables.concat() {
            check(
                true,
                &[&format!("{name} a"), &format!("/usr/bin/{name}.exe a")],
            );
        }
    }
}
