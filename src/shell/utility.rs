//! Small commands that make or remove files in a way of their own.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{ANY_ONE, Field, Output, base_name};
use super::transfer::inside;
use crate::base::target::Act;

pub(super) fn tee(shell: &mut Shell<'_>, args: &Args<'_>) {
    let act = match args.has(&["a", "append"]) {
        true => Act::Edit,
        false => Act::Write,
    };
    for file in &args.operands {
        if let Some(place) = shell.report(file, act) {
            shell.fill(place, shell.stdin.clone());
        }
    }
}

pub(super) fn remove(shell: &mut Shell<'_>, args: &Args<'_>) {
    shell.report_all(&args.operands, removal(args));
}

/// What `rm` does with its operands.
pub(super) fn removal(args: &Args<'_>) -> Act {
    match args.has(&["r", "R", "recursive"]) {
        true => Act::RemoveTree,
        false => Act::Remove,
    }
}

/// A directory that is there goes only when it is empty, and then nothing is lost.
pub(super) fn remove_dir(shell: &mut Shell<'_>, args: &Args<'_>) {
    for dir in &args.operands {
        let path = shell.absolute(&dir.text);
        if !path.is_some_and(|path| shell.scene.disk.is_dir(&path)) {
            shell.report(dir, Act::Remove);
        }
    }
}

pub(super) fn shred(shell: &mut Shell<'_>, args: &Args<'_>) {
    let removes = args.has(&["u", "remove"]);
    let act = if removes { Act::Remove } else { Act::Edit };
    shell.report_all(&args.operands, act);
}

/// The first piece's name; how many follow depends on the input.
pub(super) fn split(shell: &mut Shell<'_>, args: &Args<'_>) {
    let default = Field::literal("x");
    let mut name = args.operands.get(1).unwrap_or(&default).clone();
    let width = args
        .value(&["a", "suffix-length"])
        .and_then(|n| n.known()?.parse().ok());
    let digit = if args.has(&["d", "x", "numeric-suffixes"]) {
        "0"
    } else {
        "a"
    };
    name.text
        .push_str(&digit.repeat(width.unwrap_or(2).min(16)));
    if let Some(suffix) = args.value(&["additional-suffix"]) {
        name.push(suffix);
    }
    shell.report(&name, Act::Write);
}

pub(super) fn csplit(shell: &mut Shell<'_>, args: &Args<'_>) {
    let default = Field::literal("xx");
    let mut name = args.value(&["f", "prefix"]).unwrap_or(&default).clone();
    name.text.push_str("00");
    shell.report(&name, Act::Write);
}

pub(super) fn dd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    for arg in args.iter().filter(|arg| arg.text.starts_with("of=")) {
        shell.report(&arg.behind("of=".len()), Act::Write);
    }
    None
}

/// `-o FILE`, which compilers take as an argument of its own or attached.
pub(super) fn compiler(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let mut rest = args.iter();
    let mut is_named = false;
    while let Some(arg) = rest.next() {
        is_named |= arg.text.starts_with("-o");
        if arg.known() == Some("-o") {
            shell.report_all(rest.next(), Act::Write);
        } else if arg.text.starts_with("-o") && arg.text.contains('/') {
            shell.report(&arg.behind("-o".len()), Act::Write);
        }
    }
    let links = !args
        .iter()
        .any(|arg| matches!(arg.known(), Some("-c" | "-S" | "-E")));
    if links && !is_named && args.iter().any(|arg| arg.text.ends_with(".c")) {
        shell.report(&Field::literal("a.out"), Act::Write);
    }
    Output::nothing()
}

/// The program makes the name up: the template stands for it, with a number in
/// place of the last `X`s where one command makes several.
pub(super) fn mktemp(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("p", &["suffix"]));
    let usual = || match shell.variable("TMPDIR") {
        Some(dir) if !dir.is_empty() => dir.into_field(),
        _ => Field::literal("/tmp"),
    };
    let named = Field::literal("tmp.XXXXXXXXXX");
    let template = parsed.operands.first().unwrap_or(&named);
    let bare = parsed.operands.is_empty();
    let dir = parsed.value(&["p", "tmpdir"]).cloned();
    let in_dir = bare || dir.is_some() || parsed.has(&["t", "p", "tmpdir"]);
    let mut path = match in_dir {
        true => inside(&dir.unwrap_or_else(usual), template),
        false => template.clone(),
    };
    let n_made = shell.made_up.to_string();
    if shell.made_up > 0 && path.text.ends_with('X') {
        let kept = path.text.len().saturating_sub(n_made.len());
        path.text.truncate(kept);
        path.text.push_str(&n_made);
    }
    shell.made_up += 1;
    if let Some(suffix) = parsed.value(&["suffix"]) {
        path.push(suffix);
    }
    let act = match parsed.has(&["d", "directory"]) {
        true => Act::MakeDir,
        false => Act::Write,
    };
    if !parsed.has(&["u", "dry-run"]) {
        shell.report(&path, act);
    }
    let line = format!("{}\n", shell.absolute(path.known()?)?);
    Some(Output::literal(line))
}

/// `ffmpeg` writes its last argument, where that is no option's value.
pub(super) fn ffmpeg(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    if let [.., before, last] = args
        && before.known() != Some("-i")
        && !last.is_option()
    {
        shell.report(last, Act::Write);
    }
    None
}

/// ImageMagick writes its last operand, unless it is only to tell about one.
pub(super) fn magick(shell: &mut Shell<'_>, args: &Args<'_>) {
    let first = args.operands.first().and_then(Field::known);
    match (first, args.operands.as_slice()) {
        (Some("identify" | "compare"), _) | (_, [] | [_]) => {}
        (Some("mogrify"), _) => mogrify(shell, args),
        (_, [.., last]) => drop(shell.report(last, Act::Write)),
    }
}

/// Pictures are changed in place; an operand without a dot is an option's value.
pub(super) fn mogrify(shell: &mut Shell<'_>, args: &Args<'_>) {
    let files = args
        .operands
        .iter()
        .filter(|file| file.text.contains(['.', '/']));
    shell.report_all(files, Act::Edit);
}

/// `sd PATTERN TEXT FILE…`.
pub(super) fn sd(shell: &mut Shell<'_>, args: &Args<'_>) {
    if !args.has(&["p", "preview"]) {
        shell.report_all(args.operands.iter().skip(2), Act::Edit);
    }
}

pub(super) fn zip(shell: &mut Shell<'_>, args: &Args<'_>) {
    let Some((archive, files)) = args.operands.split_first() else {
        return;
    };
    // `-sf` is no size of `f`.
    let shows = args.value(&["s"]).and_then(Field::known) == Some("f");
    if shows || args.has(&["T", "show-files"]) {
        return;
    }
    shell.report(archive, Act::Write);
    if args.has(&["m", "move"]) {
        shell.report_all(files, Act::MoveAway);
    }
}

/// `alias x='touch a'`: kept as a function. One that bears the name of its own
/// command adds options only.
pub(super) fn alias(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    for arg in args {
        let Some((name, text)) = arg.known().and_then(|arg| arg.split_once('=')) else {
            continue;
        };
        if text.split_whitespace().next().map(base_name) != Some(name) {
            let body = format!("{text} \"$@\"");
            shell.functions.insert(name.to_owned(), body.into());
        }
    }
    Output::nothing()
}

/// `date +FORMAT`: a time stands for all of them, as one match of a glob does.
pub(super) fn date(_: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let format = args.iter().find_map(|arg| match arg.known()? {
        "-I" | "--iso-8601" => Some("%F"),
        "-Iseconds" => Some("%FT%T+00:00"),
        arg => arg.strip_prefix('+'),
    })?;
    let mut text = moment(format)?;
    text.push('\n');
    Some(Output {
        text,
        spelling: ANY_ONE,
    })
}

/// A time as a format writes it.
pub(super) fn moment(format: &str) -> Option<EcoString> {
    let mut parts = format.split('%');
    let mut text = EcoString::from(parts.next()?);
    for part in parts {
        let part = part.trim_start_matches(['-', '0', '_']);
        let mut rest = part.chars();
        text.push_str(match rest.next()? {
            'Y' => "2026",
            'm' => "01",
            'd' => "02",
            'H' | 'I' => "03",
            'M' => "04",
            'S' => "05",
            'y' => "26",
            'j' => "002",
            's' => "1767323045",
            'N' => "123456789",
            'f' => "123456",
            'F' => "2026-01-02",
            'T' => "03:04:05",
            'z' => "+0000",
            'Z' => "UTC",
            _ => return None,
        });
        text.push_str(rest.as_str());
    }
    Some(text)
}

pub(super) fn seq(_: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let (pads, args) = match args.split_first() {
        Some((first, rest)) if first.text == "-w" => (true, rest),
        _ => (false, args),
    };
    let numbers: Option<Vec<u32>> = args.iter().map(|arg| arg.known()?.parse().ok()).collect();
    let (from, step, to) = match numbers?.as_slice() {
        [to] => (1, 1, *to),
        [from, to] => (*from, 1, *to),
        [from, step, to] if *step > 0 => (*from, *step, *to),
        _ => return None,
    };
    let lines = (from..=to).step_by(usize::try_from(step).ok()?);
    let lines = lines.take(super::glob::MAX_MATCHES);
    let width = if pads { to.to_string().len() } else { 0 };
    let text: String = lines.map(|n| format!("{n:0width$}\n")).collect();
    Some(Output::literal(text))
}
