//! Commands that print what is plain to see.

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::{Field, UNKNOWN, base_name, dir_name, to_fields};
use super::lex::escaped;
use crate::base::target::Act;
use crate::base::text::is_in;

pub(super) fn run(shell: &mut Shell<'_>, name: &str, args: &[Field]) -> Option<Ran> {
    let path = args.iter().find(|arg| !arg.is_option());
    let of_path = |part: &dyn Fn(&str) -> String| {
        let printed = path.and_then(|path| Some(path.with_text(part(path.known()?))));
        printed.unwrap_or_else(Field::unknown).line()
    };
    Some(Ran::printed(match name {
        "pwd" => Field::of(shell.place.cwd.as_deref()).line(),
        "echo" => echo(args),
        "printf" => return Some(printf(shell, args)),
        "dirname" => of_path(&|path| dir_name(path).to_owned()),
        "basename" => {
            let suffix = args.get(1).map_or("", |suffix| &suffix.text);
            of_path(&|path| {
                let name = base_name(path);
                name.strip_suffix(suffix).unwrap_or(name).to_owned()
            })
        }
        "cat" => return Some(cat(shell, args)),
        "date" => date(args).line(),
        "mktemp" => mktemp(shell, args),
        _ => return None,
    }))
}

/// Fields as one, with something between them.
pub(super) fn joined(args: &[Field], separator: char) -> Field {
    let mut text = Field::literal("");
    for (at, arg) in args.iter().enumerate() {
        text.text.extend((at > 0).then_some(separator));
        text.push(arg);
    }
    text
}

fn echo(args: &[Field]) -> Field {
    let flags = args
        .iter()
        .take_while(|arg| is_in("-n -e -E -ne -en", &arg.text));
    let (flags, words) = args.split_at(flags.count());
    let has = |letter| flags.iter().any(|flag| flag.text.contains(letter));
    let mut text = joined(words, ' ');
    if has('e') {
        text.text = unescaped(&text.text);
    }
    if has('n') { text } else { text.line() }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (c, len) = escaped(&rest[at + 1..]);
        plain.push_str(&rest[..at]);
        plain.push(c);
        rest = &rest[at + 1 + len..];
    }
    plain + rest
}

fn printf(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    match args {
        [flag, name, format, values @ ..] if flag.is("-v") => {
            shell.set(&name.text, formatted(&format.text, values));
            Ran::silent()
        }
        [flag, format, values @ ..] if flag.is("--") => {
            Ran::printed(formatted(&format.text, values))
        }
        [format, values @ ..] => Ran::printed(formatted(&format.text, values)),
        [] => Ran::silent(),
    }
}

/// `%s`, `%b` and plain `%d`; of another directive the text is not known.
fn formatted(format: &str, values: &[Field]) -> Field {
    let plain = unescaped(format);
    let mut left = values.iter();
    let mut text = Field::literal("");
    loop {
        let before = left.len();
        let mut parts = plain.split('%');
        text.text.push_str(parts.next().unwrap_or(""));
        while let Some(part) = parts.next() {
            match part.chars().next() {
                Some('s' | 'b' | 'd') => {
                    if let Some(value) = left.next() {
                        text.push(value);
                    }
                    text.text.push_str(&part[1..]);
                }
                None => text.text.extend(["%", parts.next().unwrap_or("")]),
                Some(_) => {
                    left.next();
                    text.text.push(UNKNOWN);
                    text.text
                        .push_str(part.trim_start_matches(|c: char| c.is_alphanumeric()));
                }
            }
        }
        if left.len() == 0 || left.len() == before {
            return text;
        }
    }
}

/// `date +FORMAT` at a made-up time, so that a name with it can be judged.
fn date(args: &[Field]) -> Field {
    const TIME: &str =
        "%F 2026-01-02 %T 03:04:05 %Y 2026 %m 01 %d 02 %H 03 %M 04 %S 05 %s 1767323045";
    let format = args.iter().find_map(|arg| arg.text.strip_prefix('+'));
    let mut text = format.unwrap_or("%").to_owned();
    let mut words = TIME.split(' ');
    while let (Some(sign), Some(value)) = (words.next(), words.next()) {
        text = text.replace(sign, value);
    }
    if text.contains('%') {
        return Field::unknown();
    }
    to_fields(vec![text]).remove(0)
}

fn cat(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let mut files = args.iter().filter(|arg| !arg.is_option());
    let output = match (files.next(), files.next()) {
        (None, _) => shell.stdin.clone(),
        (Some(file), None) if file.is("-") => shell.stdin.clone(),
        (Some(file), None) => shell.content(file),
        _ => None,
    };
    Ran {
        output,
        ..Ran::silent()
    }
}

/// `mktemp [TEMPLATE]`: the template is taken for the name that is made up.
fn mktemp(shell: &mut Shell<'_>, args: &[Field]) -> Field {
    let own = Args::parse(args, Options::of("p", "suffix tmpdir"));
    let act = if own.has("d directory") {
        Act::MakeDir
    } else {
        Act::Write
    };
    let path = match (own.operands.first(), own.value("p tmpdir")) {
        (Some(name), Some(dir)) => dir.join(name),
        (Some(name), None) if !own.has("t") => (*name).clone(),
        // Each call makes another name.
        _ => Field::literal(format!("/tmp/tmp.{}", shell.made.len())),
    };
    if !own.has("u dry-run") {
        shell.report(&path, act);
    }
    path.line()
}
