//! Commands that only pass text on: what comes out where what goes in is known.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output};

/// The most lines and characters a filter is worked out for.
const MAX_TEXT: usize = 4096;

/// What a filter reads: its input, or one file this command wrote.
fn input(shell: &Shell<'_>, files: &[Field]) -> Option<Output> {
    let input = match files {
        [] => shell.stdin.clone()?,
        [file] => Output::literal(shell.written(file)?),
        _ => return None,
    };
    (input.text.len() <= MAX_TEXT).then_some(input)
}

fn with_text(input: &Output, text: String) -> Output {
    Output {
        text: text.into(),
        ..input.clone()
    }
}

fn with_lines<'t>(input: &Output, lines: impl Iterator<Item = &'t str>) -> Output {
    with_text(input, lines.map(|line| format!("{line}\n")).collect())
}

/// Which end of a text is passed on.
#[derive(Clone, Copy)]
enum End {
    Head,
    Tail,
}

pub(super) fn head(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    ends(shell, args, End::Head)
}

pub(super) fn tail(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    ends(shell, args, End::Tail)
}

/// `-n N` and `-N`.
fn ends(shell: &Shell<'_>, args: &[Field], end: End) -> Option<Output> {
    let mut n_lines = 10;
    let mut files = args;
    while let Some((option, rest)) = files.split_first().filter(|(arg, _)| arg.is_option()) {
        files = rest;
        let digits = option.known()?.trim_start_matches('-');
        let digits = match digits.strip_prefix('n') {
            Some("") => {
                let (number, rest) = files.split_first()?;
                files = rest;
                number.known()?
            }
            Some(digits) => digits,
            None => digits,
        };
        n_lines = digits.parse().ok()?;
    }
    let input = input(shell, files)?;
    let lines: Vec<&str> = input.text.lines().collect();
    let skipped = match end {
        End::Head => 0,
        End::Tail => lines.len().saturating_sub(n_lines),
    };
    let lines = lines.into_iter().skip(skipped).take(n_lines);
    Some(with_lines(&input, lines))
}

/// `cut -d X -f N`.
pub(super) fn cut(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "dfcb",
        ..Syntax::default()
    };
    let parsed = Args::parse(args, syntax);
    let place: usize = parsed.value(&["f"])?.known()?.parse().ok()?;
    let mark = parsed.value(&["d"]).map_or(Some("\t"), Field::known)?;
    let mark = mark.chars().next()?;
    let input = input(shell, &parsed.operands)?;
    let field = |line| fields(line, mark).nth(place.checked_sub(1)?);
    // A line without the mark is passed on whole.
    let lines = input.text.lines().map(|line| match line.contains(mark) {
        true => field(line).unwrap_or(""),
        false => line,
    });
    Some(with_lines(&input, lines))
}

fn fields(line: &str, mark: char) -> impl Iterator<Item = &str> {
    line.split(mark)
}

/// `awk '{print $N}'`, also with `-F`.
pub(super) fn awk(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "Fvf",
        ..Syntax::default()
    };
    let parsed = Args::parse(args, syntax);
    let (program, files) = parsed.operands.split_first()?;
    let place = program
        .known()?
        .trim()
        .strip_prefix('{')?
        .strip_suffix('}')?;
    let place = place
        .trim()
        .strip_prefix("print")?
        .trim()
        .trim_end_matches(';');
    let place: usize = place.strip_prefix('$')?.parse().ok()?;
    let at = place.checked_sub(1)?;
    let input = input(shell, files)?;
    let mark = match parsed.value(&["F"]) {
        Some(mark) => Some(single(mark.known()?)?),
        None => None,
    };
    let field = |line| match mark {
        Some(mark) => fields(line, mark).nth(at),
        None => str::split_ascii_whitespace(line).nth(at),
    };
    let lines = input.text.lines().map(|line| field(line).unwrap_or(""));
    Some(with_lines(&input, lines))
}

fn single(mark: &str) -> Option<char> {
    let mut chars = mark.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// `tr [-c] [-s] SET1 SET2` and `tr -d SET`.
pub(super) fn tr(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let own = args.iter().take_while(|arg| arg.is_option()).count();
    let (options, sets) = args.split_at(own);
    let parsed = Args::parse(options, Syntax::default());
    let input = input(shell, &[])?;
    let sets: Option<Vec<Vec<char>>> = sets
        .iter()
        .map(|set| set.known().and_then(characters))
        .collect();
    let others = parsed.has(&["c", "C", "complement"]);
    let squeezes = parsed.has(&["s", "squeeze-repeats"]);
    let deletes = parsed.has(&["d", "delete"]);
    let text = match sets?.as_slice() {
        [from] if deletes && !squeezes => {
            let kept = |c: &char| from.contains(c) == others;
            input.text.chars().filter(kept).collect()
        }
        [from, to] if !deletes => {
            let last = *to.last()?;
            let turned = |c| match from.iter().position(|other| *other == c) {
                Some(_) if others => c,
                Some(at) => to.get(at).copied().unwrap_or(last),
                None if others => last,
                None => c,
            };
            let mut text = String::new();
            for c in input.text.chars().map(turned) {
                if !(squeezes && text.ends_with(c) && to.contains(&c)) {
                    text.push(c);
                }
            }
            text
        }
        _ => return None,
    };
    Some(with_text(&input, text))
}

/// The characters of a set of `tr`.
fn characters(set: &str) -> Option<Vec<char>> {
    // A class is the range of its characters here.
    const NAMED: [(&str, &str); 7] = [
        ("[:upper:]", "A-Z"),
        ("[:lower:]", "a-z"),
        ("[:digit:]", "0-9"),
        ("[:alpha:]", "A-Za-z"),
        ("[:alnum:]", "0-9A-Za-z"),
        ("\\n", "\n"),
        ("\\t", "\t"),
    ];
    let mut set = set.to_owned();
    for (name, range) in NAMED {
        set = set.replace(name, range);
    }
    if set.contains(['\\', '[']) {
        return None;
    }
    let chars: Vec<char> = set.chars().collect();
    let mut out = Vec::new();
    let mut rest = chars.as_slice();
    loop {
        rest = match rest {
            [] => return Some(out),
            [from, '-', to, rest @ ..] => {
                out.extend((*from..=*to).take(MAX_TEXT));
                rest
            }
            [one, rest @ ..] => {
                out.push(*one);
                rest
            }
        };
    }
}

/// `sed s/FROM/TO/` whose parts are plain text, but for `^` and `$` at its ends.
pub(super) fn sed(shell: &Shell<'_>, script: &str, files: &[Field]) -> Option<Output> {
    let body = script.trim().strip_prefix('s')?;
    let mark = body.chars().next().filter(char::is_ascii_punctuation)?;
    let mut parts = body.split(mark).skip(1);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || to.contains(['\\', '&']) || !matches!(flags, "" | "g") {
        return None;
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
    let input = input(shell, files)?;
    let turned = |line: &str| match (at_start, at_end) {
        (true, true) if line == from => to.to_owned(),
        (true, true) => line.to_owned(),
        (true, false) => match line.strip_prefix(from.as_str()) {
            Some(rest) => format!("{to}{rest}"),
            None => line.to_owned(),
        },
        (false, true) => match line.strip_suffix(from.as_str()) {
            Some(rest) => format!("{rest}{to}"),
            None => line.to_owned(),
        },
        (false, false) if flags == "g" => line.replace(&from, to),
        (false, false) => line.replacen(&from, to, 1),
    };
    let lines: Vec<String> = input.text.lines().map(turned).collect();
    Some(with_lines(&input, lines.iter().map(String::as_str)))
}
