//! Whether a Bash command can change anything, by one look at its text.
//!
//! Most commands build, test or read. Where no word is the name of a program of
//! the tables and nothing is redirected to a file, reading the grammar finds no
//! target, so it is not read.

use super::expression::{self, Deed, deed};
use super::table::{Hash, Key, Sieve};
use super::{command, inline, nested, wrapper, writers};

/// The names of the tables. Most words are in none, and asking all of them would
/// cost twenty times as much.
static NAMES: Sieve = Sieve::new()
    .with(&nested::NAMES)
    .with(&wrapper::NAMES)
    .with(&inline::NAMES)
    .with(&writers::NAMES)
    .with(&writers::TOOLS)
    .with(&writers::OUTPUT_FILES)
    .with(&writers::OUTPUT_DIRS)
    .with(&command::WRITERS)
    .with(&expression::DEED_NAMES);

/// `false` only where an analysis would find no target but devices, in whatever
/// directory and state. Names can be spelled in pieces (`t"ou"ch`), so a quote
/// or an expansion inside a word counts as a change.
pub fn may_change(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut in_word = false;
    while let Some(&byte) = bytes.get(at) {
        match KINDS[usize::from(byte)] {
            Kind::Name => {
                let (end, likely) = sift(bytes, at);
                let is_known = || {
                    let part = |from, to| text.get(from..to).unwrap_or(".");
                    is_known(part(at, end), part(0, at), part(end, text.len()))
                };
                if in_word || (likely == Likely::Known && is_known()) {
                    return true;
                }
                at = end;
                in_word = true;
            }
            Kind::Redirect => {
                let Some(len) = harmless_redirect(bytes.get(at..).unwrap_or_default()) else {
                    return true;
                };
                at += len;
                in_word = false;
            }
            // What joins the pieces of a word leaves it open.
            Kind::Joint if byte == b'$' && bytes.get(at + 1) == Some(&b'\'') => return true,
            Kind::Joint => at += 1,
            Kind::Blank => {
                in_word &= byte == b'\n' && bytes.get(..at).is_some_and(|b| b.ends_with(b"\\"));
                at += 1;
            }
        }
    }
    false
}

/// What a byte is to a look at the text.
#[derive(Clone, Copy)]
enum Kind {
    Name,
    Joint,
    Redirect,
    Blank,
}

static KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Blank; 256];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = match at as u8 {
            b'>' => Kind::Redirect,
            b'\'' | b'"' | b'\\' | b'`' | b'$' | b'(' | b')' | b'{' | b'}' | b',' | b'*' | b'?'
            | b']' => Kind::Joint,
            b'_' | b'.' | b'+' | b'-' | b'[' | 0x80.. => Kind::Name,
            byte if byte.is_ascii_alphanumeric() => Kind::Name,
            _ => Kind::Blank,
        };
        at += 1;
    }
    kinds
};

#[derive(PartialEq, Eq)]
enum Likely {
    Known,
    Unknown,
}

/// Where the word that begins at a place ends, and whether the tables may know it. Its
/// hash is taken while it is read, as a whole and without the version behind it.
fn sift(bytes: &[u8], start: usize) -> (usize, Likely) {
    let mut at = start;
    let (mut whole, mut stem) = (Hash::NEW, Hash::NEW);
    while let Some(&byte) = bytes.get(at)
        && matches!(KINDS[usize::from(byte)], Kind::Name)
    {
        whole = whole.and(byte);
        if !byte.is_ascii_digit() && byte != b'.' {
            stem = whole;
        }
        at += 1;
    }
    let word = bytes.get(start..at).unwrap_or_default();
    let is_likely = NAMES.may_hold(whole)
        || NAMES.may_hold(stem)
        || word.ends_with(b".exe")
        || (word.first() == Some(&b'g') && sift(bytes, start + 1).1 == Likely::Known);
    let likely = if is_likely {
        Likely::Known
    } else {
        Likely::Unknown
    };
    (at, likely)
}

fn is_known(word: &str, before: &str, after: &str) -> bool {
    let begins_with_letter = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    match command::table_name(word) {
        // What it changes stands in its actions.
        "find" => false,
        "xargs" => !runs_named(after),
        "sort" => !prints(after),
        "." if word == "." => begins_command(before),
        word => match deed(word) {
            Some(Deed::Deletes | Deed::PrintsTo) => true,
            Some(Deed::Runs | Deed::RunsBeside) => !begins_with_letter(after.trim_start()),
            None => is_writer(word),
        },
    }
}

/// Whether a program of the tables has the name.
pub(super) fn is_writer(name: &str) -> bool {
    let name = command::table_name(name);
    let key = Key::of(name);
    command::WRITERS.contains(&name)
        || nested::is_runner(key)
        || inline::is_interpreter(key)
        || writers::is_writer(key)
        || writers::OUTPUT_FILES.contains(&name)
        || writers::OUTPUT_DIRS.contains(&name)
}

/// Whether a command begins behind a text: `.` is one there, and a directory elsewhere.
fn begins_command(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let keywords = ["then", "do", "else", "if", "while", "until"];
    before.is_empty()
        || before.ends_with([';', '&', '|', '(', '{', '!', '\n', '`'])
        || keywords.iter().any(|keyword| before.ends_with(keyword))
}

/// Whether what stands behind `xargs` names the command it runs, rather than its input.
fn runs_named(after: &str) -> bool {
    let mut words = after.split([' ', '\t']).filter(|word| !word.is_empty());
    let mut mark = None;
    while let Some(word) = words.next() {
        let valued = ["-n", "-P", "-L"]
            .iter()
            .find_map(|flag| word.strip_prefix(flag));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        match word {
            "-0" | "-r" | "-t" | "--null" | "--no-run-if-empty" => {}
            "-I" => mark = words.next(),
            _ if word.starts_with("-I") => mark = word.get(2..),
            _ if is_number(valued.unwrap_or(word)) => {}
            _ => {
                let mark = mark.map(|mark| mark.trim_matches(['\'', '"']));
                return word.starts_with(|c: char| c.is_ascii_alphabetic())
                    && mark.is_none_or(|mark| !mark.is_empty() && !word.contains(mark));
            }
        }
    }
    false
}

/// So much of a command is looked through for an option.
const MAX_SORT: usize = 128;

/// Whether what stands behind `sort` has no `-o`.
fn prints(after: &str) -> bool {
    let mut near = after.bytes().take(MAX_SORT);
    let end = near.position(|byte| b"|;&\n)".contains(&byte));
    let end = end.or_else(|| (after.len() < MAX_SORT).then_some(after.len()));
    let Some(own) = end.and_then(|end| after.get(..end)) else {
        return false;
    };
    let mut words = own.split_ascii_whitespace();
    let is_output = |word: &str| {
        let word = word.trim_start_matches(['\'', '"', '\\']);
        word.starts_with('-') && word.contains('o')
    };
    !own.contains(['$', '`', '{']) && !words.any(is_output)
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
            "find . -type f -name '*.rs' -not -path './target/*' 2>/dev/null | head -30",
            "find src -name '*.rs' -exec grep -l x {} + | sort",
            "find . -name '*.md' -print0 | xargs -0 -n 1 -P4 grep -l x",
            "ls | xargs -I {} basename {} .rs; ls | xargs -I% -L1 wc %",
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
            "find . -name x -delete",
            "find . -fprint a",
            "find . -exec rm {} +",
            "find . -execdir {} a \\;",
            "ls | xargs rm",
            "ls | xargs -n 1 -I{} {} a",
            "ls | xargs -I e cate x",
            "ls | xargs -d '\\n' $x",
            "ls | xargs",
            "sort -uo a b",
            "ls | sort --output=a",
            "sort \"-o\" a",
            "x=-o; sort $x a b",
            "sort -{o,u} a",
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
            &writers::TOOLS,
            &command::WRITERS,
        ];
        for name in tables.concat() {
            // These are told by what stands behind them.
            if matches!(name, "find" | "sort" | "xargs") {
                continue;
            }
            check(
                true,
                &[&format!("{name} a"), &format!("/usr/bin/{name}.exe a")],
            );
        }
    }

    /// A word that is like a name costs what a look at all tables does, at each place.
    #[test]
    fn everyday_words_are_like_no_name() {
        let words = "cargo test --workspace 2 1 tail -n 40 npm run build git log --oneline -5 status \
                     --short diff ls -la grep -rn -l -i head cat cd src tests pytest -q -x go vet \
                     make check pwd echo wc sort pnpm yarn lint tsc clippy --all-targets show branch \
                     HEAD main true then else fi for in do done if while ps sleep date docker logs \
                     kubectl get jq ruff uv tree du -sh stat file -c -e -A -B 10 20 3 node gh pr view \
                     --help --version version --release rev-parse --stat --name-only origin null";
        for word in words.split_ascii_whitespace() {
            let likely = sift(word.as_bytes(), 0).1 == Likely::Known;
            assert!(!likely || is_writer(word), "{word}");
        }
    }
}
