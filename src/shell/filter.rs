//! Commands that only pass text on: what comes out where what goes in is known.
//!
//! Of a list some lines may be taken that are not known, or their order may not be known:
//! then all of them are passed on, and how many there are counts as unknown.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output};
use super::lex::End;
use super::regexp::{self, Span};
use crate::base::target::Spelling;

/// The most characters a filter is worked out for.
const MAX_TEXT: usize = 1 << 16;

/// The same for one that looks each of them up.
const MAX_TURNED: usize = 1 << 12;

/// What a filter reads: its input, or one file this command wrote.
pub(super) fn input(shell: &mut Shell<'_>, files: &[Field]) -> Option<Output> {
    let input = match files {
        [] => shell.stdin.clone()?,
        [file] => Output::literal(shell.written(file)?),
        _ => return None,
    };
    let len = input.text.len();
    (len <= MAX_TEXT && shell.spend(len)).then_some(input)
}

/// Some of the lines, or all of them in some order.
pub(super) fn some_of(input: Output) -> Option<Output> {
    let Spelling::Glob { matches } = input.spelling else {
        return None;
    };
    let matches = matches.filter(|n| *n == 1);
    let spelling = Spelling::Glob { matches };
    Some(Output { spelling, ..input })
}

pub(super) fn with_text(input: &Output, text: String) -> Output {
    Output {
        text: text.into(),
        ..input.clone()
    }
}

fn with_lines(input: &Output, lines: &mut dyn Iterator<Item = &str>) -> Output {
    let text = lines.flat_map(|line| [line, "\n"]).collect();
    with_text(input, text)
}

pub(super) fn head(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    ends(shell, args, End::Front)
}

pub(super) fn tail(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    ends(shell, args, End::Back)
}

/// The lines at one end: `-n N` and `-N`, `tail -n +N` and `head -n -N`.
fn ends(shell: &mut Shell<'_>, args: &[Field], end: End) -> Option<Output> {
    let mut number = "10";
    let mut files = args;
    while let Some((option, rest)) = files.split_first().filter(|(arg, _)| arg.is_option()) {
        files = rest;
        number = option.known()?.trim_start_matches('-');
        if let Some(attached) = number.strip_prefix('n') {
            number = attached;
        }
        if number.is_empty() {
            let (next, rest) = files.split_first()?;
            files = rest;
            number = next.known()?;
        }
    }
    let input = input(shell, files)?;
    let n_lines = input.text.lines().count();
    let n: usize = number.trim_start_matches(['+', '-']).parse().ok()?;
    let all_but = n_lines.saturating_sub(n);
    let (skipped, taken) = match (end, number.as_bytes().first()) {
        (End::Front, Some(b'-')) => (0, all_but),
        (End::Front, _) => (0, n),
        (End::Back, Some(b'+')) => (n.saturating_sub(1), usize::MAX),
        (End::Back, _) => (all_but, n),
    };
    picked(&input, skipped, taken)
}

/// The lines at some places of all.
fn picked(input: &Output, skipped: usize, taken: usize) -> Option<Output> {
    let n_lines = input.text.lines().count();
    let taken = taken.min(n_lines.saturating_sub(skipped));
    match input.spelling {
        Spelling::Glob { matches: None } if taken == 1 && n_lines > 1 => None,
        Spelling::Glob { matches: None } if taken > 0 => some_of(input.clone()),
        _ => {
            let mut lines = input.text.lines().skip(skipped).take(taken);
            Some(with_lines(input, &mut lines))
        }
    }
}

/// With these what comes out is no line, or there are others around it.
const NO_LINES: &[&str] = &[
    "c",
    "count",
    "q",
    "quiet",
    "silent",
    "o",
    "only-matching",
    "n",
    "line-number",
    "b",
    "H",
    "r",
    "R",
    "recursive",
    "f",
    "file",
    "A",
    "B",
    "C",
];

/// `grep PATTERN` and `grep -v PATTERN` of its input.
pub(super) fn grep(shell: &mut Shell<'_>, args: &Args<'_>) -> Option<Output> {
    if args.has(NO_LINES) {
        return None;
    }
    let mut expressions: Vec<&Field> = args.values(&["e", "regexp"]).collect();
    let mut files = args.operands.as_slice();
    if expressions.is_empty() {
        let (first, rest) = files.split_first()?;
        (expressions, files) = (vec![first], rest);
    }
    let input = input(shell, files)?;
    let folds = args.has(&["i", "ignore-case", "y"]);
    let fold = |text: &str| match folds {
        true => text.to_lowercase(),
        false => text.to_owned(),
    };
    let span = match args.has(&["x", "line-regexp"]) {
        true => Span::Line,
        false => Span::Part,
    };
    let mut globs = Vec::new();
    let is_fixed = args.has(&["F", "fixed-strings"]);
    for expression in expressions {
        let text = fold(expression.known()?);
        if is_fixed {
            globs.push(regexp::fixed(&text, span));
        } else if regexp::add_globs(&mut globs, &text, span).is_none() {
            return some_of(input);
        }
    }
    if !shell.spend(globs.len() * input.text.len() / 16) {
        return None;
    }
    if args.has(&["w", "word-regexp", "m", "max-count", "z", "null-data"]) {
        return some_of(input);
    }
    let inverts = args.has(&["v", "invert-match"]);
    let is_left = |line: &&str| globs.iter().any(|glob| glob.matches(&fold(line))) != inverts;
    let left = with_lines(&input, &mut input.text.lines().filter(is_left));
    Some(recounted(left))
}

/// A list of which lines are gone.
fn recounted(mut list: Output) -> Output {
    let n_lines = list.text.lines().count();
    if let Spelling::Glob { matches } = list.spelling
        && (matches.is_some() || n_lines == 1)
    {
        list.spelling = Spelling::of_matches(n_lines);
    }
    list
}

/// By the bytes, where no option says otherwise.
pub(super) fn sort(shell: &mut Shell<'_>, args: &Args<'_>) -> Option<Output> {
    if args.has(&["o", "output", "c", "C", "check"]) {
        return None;
    }
    let input = input(shell, &args.operands)?;
    if args.has_options() {
        return some_of(input);
    }
    let mut lines: Vec<String> = input.text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    Some(with_lines(&input, &mut lines.iter().map(String::as_str)))
}

pub(super) fn uniq(shell: &mut Shell<'_>, args: &Args<'_>) -> Option<Output> {
    if args.has(&["c", "count"]) {
        return None;
    }
    let input = input(shell, &args.operands)?;
    if args.has_options() {
        return some_of(input);
    }
    let mut lines: Vec<&str> = input.text.lines().collect();
    lines.dedup();
    Some(with_lines(&input, &mut lines.into_iter()))
}

pub(super) fn tac(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let input = input(shell, args)?;
    Some(with_lines(&input, &mut input.text.lines().rev()))
}

/// `cut -d X -f LIST`, `cut -c LIST`.
pub(super) fn cut(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("dfcb", &[]));
    let fields = parsed.value(&["f"]);
    let list = fields.or(parsed.value(&["c"]))?.known()?;
    let ranges: Option<Vec<[usize; 2]>> = list.split(',').map(range).collect();
    let ranges = ranges?;
    let mark = parsed.value(&["d"]).map_or(Some("\t"), Field::known)?;
    let mark = mark.chars().next()?;
    let input = input(shell, &parsed.operands)?;
    let is_taken = |at: usize| {
        ranges
            .iter()
            .any(|[from, to]| (*from..=*to).contains(&(at + 1)))
    };
    let lines = input.text.lines().map(|line| match fields {
        // A line without the mark is passed on whole.
        Some(_) if !line.contains(mark) => line.to_owned(),
        Some(_) => {
            let parts = line.split(mark).enumerate();
            let taken: Vec<&str> = parts
                .filter(|part| is_taken(part.0))
                .map(|part| part.1)
                .collect();
            taken.join(mark.encode_utf8(&mut [0; 4]))
        }
        None => {
            let chars = line.chars().enumerate();
            chars.filter(|c| is_taken(c.0)).map(|c| c.1).collect()
        }
    });
    let lines: Vec<String> = lines.collect();
    Some(with_lines(&input, &mut lines.iter().map(String::as_str)))
}

/// `N`, `N-M`, `N-` and `-M`.
fn range(text: &str) -> Option<[usize; 2]> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str, usual| match text {
        "" => Some(usual),
        text => text.parse().ok(),
    };
    Some([number(from, 1)?, number(to, usize::MAX)?])
}

/// `awk '{print $N}'`, also with `-F`; `awk 'NR>N'`, and other conditions alone.
pub(super) fn awk(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("Fvf", &[]));
    let (program, files) = parsed.operands.split_first()?;
    let program = program.known()?.trim();
    if !program.contains('{') {
        let input = input(shell, files)?;
        let number = |sign| {
            program
                .strip_prefix("NR")?
                .trim()
                .strip_prefix(sign)?
                .trim()
                .parse()
                .ok()
        };
        return match (number("=="), number(">")) {
            (Some(n), _) => picked(&input, usize::saturating_sub(n, 1), 1),
            (_, Some(n)) => picked(&input, n, usize::MAX),
            _ => some_of(input),
        };
    }
    let place = program.strip_prefix('{')?.strip_suffix('}')?;
    let place = place
        .trim()
        .strip_prefix("print")?
        .trim()
        .trim_end_matches(';');
    let at: Option<usize> = match place.strip_prefix('$')? {
        "NF" => None,
        number => Some(number.parse::<usize>().ok()?.checked_sub(1)?),
    };
    let input = input(shell, files)?;
    let mark = match parsed.value(&["F"]) {
        Some(mark) => Some(single(mark.known()?)?),
        None => None,
    };
    let field = |line| match mark {
        Some(mark) => nth_or_last(str::split(line, mark), at),
        None => nth_or_last(str::split_ascii_whitespace(line), at),
    };
    let mut lines = input.text.lines().map(|line| field(line).unwrap_or(""));
    Some(with_lines(&input, &mut lines))
}

fn nth_or_last<'t>(
    mut fields: impl Iterator<Item = &'t str>,
    at: Option<usize>,
) -> Option<&'t str> {
    match at {
        Some(at) => fields.nth(at),
        None => fields.last(),
    }
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
    let input = input(shell, &[]).filter(|input| input.text.len() <= MAX_TURNED)?;
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
                out.extend((*from..=*to).take(MAX_TURNED));
                rest
            }
            [one, rest @ ..] => {
                out.push(*one);
                rest
            }
        };
    }
}
