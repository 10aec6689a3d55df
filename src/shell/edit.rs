//! Commands that change files in place, and the scripts that name more files.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output, base_name};
use super::substitute;
use crate::base::target::Act;

const SED: Syntax = Syntax {
    short: "efl",
    attached: "iI",
    long: &["expression", "file", "line-length"],
};

pub(super) fn sed(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, SED);
    let (mut scripts, mut suffix) = (Vec::new(), None);
    let (mut in_place, mut has_file, mut is_quiet) = (false, false, false);
    for (name, value) in parsed.options() {
        match name {
            "e" | "expression" => scripts.extend(value.cloned()),
            "i" | "I" | "in-place" => {
                in_place = true;
                suffix = value.cloned().or(suffix);
            }
            "f" | "file" => has_file = true,
            "n" | "quiet" | "silent" => is_quiet = true,
            _ => {}
        }
    }
    let mut operands = parsed.operands.as_slice();
    // BSD's `-i` takes the suffix as an argument of its own: empty, or one
    // that is no script.
    if in_place
        && suffix.is_none()
        && let Some((first, rest)) = operands.split_first()
        && is_bsd_suffix(first.text.as_bytes())
    {
        suffix = Some(first.clone());
        operands = rest;
    }
    let own_script = scripts.is_empty() && !has_file;
    let (script, files) = match operands.split_first() {
        Some((script, files)) if own_script => (Some(script), files),
        _ => (None, operands),
    };
    let texts = scripts.iter().chain(script).filter_map(Field::known);
    for deed in sed_deeds(texts) {
        match deed {
            Deed::Writes(name) => drop(shell.report(&Field::literal(name), Act::Write)),
            Deed::Runs(command) => drop(shell.subshell(|shell| shell.run_again(&command))),
        }
    }
    if in_place {
        in_place_edit(shell, files, suffix.as_ref());
        return Output::nothing();
    }
    if has_file || is_quiet {
        return None;
    }
    let texts = scripts.iter().chain(script).map(Field::known);
    substitute::output(shell, &texts.collect::<Option<Vec<_>>>()?, files)
}

fn is_bsd_suffix(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b'.', name @ ..] => name.iter().all(u8::is_ascii_alphanumeric),
        _ => false,
    }
}

/// Each file, and the copy that keeps its old text.
pub(super) fn in_place_edit(shell: &mut Shell<'_>, files: &[Field], suffix: Option<&Field>) {
    for file in files {
        shell.report(file, Act::Edit);
        let backup = suffix
            .and_then(Field::known)
            .filter(|suffix| !suffix.is_empty());
        if let Some(suffix) = backup
            && let Some(path) = file.known()
        {
            let name = base_name(path);
            let dir = path.strip_suffix(name).unwrap_or("");
            let copy = match suffix {
                _ if suffix.contains('/') => suffix.replace('*', name),
                _ if suffix.contains('*') => format!("{dir}{}", suffix.replace('*', name)),
                _ => format!("{path}{suffix}"),
            };
            shell.report(&file.with_text(copy), Act::Write);
        }
    }
}

/// What a sed script does besides printing.
enum Deed {
    /// The `w` command, and the `w` flag of `s`.
    Writes(String),
    /// The `e` command.
    Runs(String),
}

/// What sed scripts do, which count as one.
fn sed_deeds<'s>(scripts: impl Iterator<Item = &'s str>) -> Vec<Deed> {
    let mut deeds = Vec::new();
    let mut is_text = false;
    for script in scripts {
        // Most do nothing.
        let may_do = |pair: &[u8]| matches!(pair, [b'w' | b'W' | b'\\', _] | [b'e', b' ']);
        let ends_so = |last: &u8| may_do(&[*last, 0]);
        let bytes = script.as_bytes();
        if is_one_substitution(script)
            || !bytes.windows(2).any(may_do) && !bytes.last().is_some_and(ends_so)
        {
            is_text = false;
            continue;
        }
        for line in script.split('\n') {
            if !is_text {
                sed_line(line, &mut deeds);
            }
            // `a\`, `i\` and `c\`, and text that ends so, go on.
            is_text = line.ends_with('\\');
        }
    }
    deeds
}

/// Whether a script is one `s` with no flag that does more than replace, as most are.
fn is_one_substitution(script: &str) -> bool {
    let parts = script.strip_prefix('s');
    let flags = parts.and_then(|parts| sed_parts(parts, 2));
    flags.is_some_and(|flags| {
        flags
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'g' | b'p' | b'i' | b'I'))
    })
}

/// One line of a sed script: commands divided by `;`, `{` and `}`.
fn sed_line(line: &str, deeds: &mut Vec<Deed>) {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';', '{', '}']);
        rest = sed_address(rest);
        let Some(command) = rest.chars().next() else {
            return;
        };
        rest = &rest[command.len_utf8()..];
        match command {
            's' => {
                let Some(after) = sed_parts(rest, 2) else {
                    return;
                };
                let is_flag = |c: char| c.is_ascii_digit() || "gpiIme".contains(c);
                rest = after.trim_start_matches(is_flag);
                if let Some(name) = rest.strip_prefix('w') {
                    deeds.push(Deed::Writes(name.trim().to_owned()));
                    return;
                }
            }
            'y' => match sed_parts(rest, 2) {
                Some(after) => rest = after,
                None => return,
            },
            'w' | 'W' => {
                deeds.push(Deed::Writes(rest.trim().to_owned()));
                return;
            }
            'e' => {
                deeds.push(Deed::Runs(rest.trim().to_owned()));
                return;
            }
            'a' | 'i' | 'c' | 'r' | 'R' | 'b' | 't' | 'T' | ':' | '#' | '}' => {
                let jumps = matches!(command, 'b' | 't' | 'T');
                match rest.split_once(';').filter(|_| jumps) {
                    Some((_, after)) => rest = after,
                    None => return,
                }
            }
            _ => {}
        }
    }
}

/// Text behind numbers, `$`, `/regex/` and the commas between.
fn sed_address(line: &str) -> &str {
    let mut rest = line;
    loop {
        let mut after =
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$,~+! \t".contains(c));
        // `\,x,` is `/x/`.
        let own_mark = after.strip_prefix('\\');
        if let Some(text) = own_mark.or(Some(after).filter(|text| text.starts_with('/'))) {
            match sed_parts(text, 1) {
                Some(behind) => after = behind.trim_start_matches(['I', 'M']),
                None => return "",
            }
        }
        if after.len() == rest.len() {
            return rest;
        }
        rest = after;
    }
}

/// The text behind `n` parts that the first character divides.
fn sed_parts(text: &str, n: usize) -> Option<&str> {
    let mark = text.chars().next()?;
    let mut buffer = [0; 4];
    let mark = mark.encode_utf8(&mut buffer).as_bytes();
    let (mut rest, mut left) = (text.get(mark.len()..)?, n);
    while left > 0 {
        // No byte within a character is one that begins another.
        let ends = |byte: u8| byte == mark[0] || byte == b'\\';
        rest = rest.get(rest.bytes().position(ends)?..)?;
        if rest.as_bytes().starts_with(mark) {
            left -= 1;
            rest = &rest[mark.len()..];
        } else {
            // An escape, or a character that begins as the mark does.
            let mut chars = rest.chars();
            if chars.next() == Some('\\') {
                chars.next()?;
            }
            rest = chars.as_str();
        }
    }
    Some(rest)
}

/// `ed FILE`: what its input tells it to write.
pub(super) fn ed(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let file = args.iter().find(|arg| !arg.is_option());
    let Some(script) = shell.stdin.clone() else {
        shell.report_all(file, Act::Edit);
        return None;
    };
    for line in script.text.lines() {
        let command = line.trim_start_matches(|c: char| c.is_ascii_digit() || ",$%.".contains(c));
        let name = command
            .strip_prefix(['w', 'W'])
            .map(|name| name.trim_start_matches('q'));
        match name {
            Some("") => shell.report_all(file, Act::Edit),
            Some(name) if name.starts_with(' ') => {
                shell.report(&Field::literal(name.trim()), Act::Write);
            }
            _ => {}
        }
    }
    None
}

/// `vi`, `ex` and their like write when a command or their input says so.
pub(super) fn vi(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("cSTu", &["cmd"]));
    let plus = |arg: &&Field| arg.text.starts_with('+');
    let files = parsed.operands.iter().filter(|arg| !plus(arg));
    let commands = parsed
        .values(&["c"])
        .chain(parsed.operands.iter().filter(plus));
    let mut script: String = commands.map(|c| format!("{}\n", c.text)).collect();
    if let Some(stdin) = &shell.stdin {
        script.push_str(&stdin.text);
    }
    let files: Vec<Field> = files.cloned().collect();
    for command in script.split(['\n', '|']) {
        ex_command(shell, command, &files);
    }
    None
}

/// `:w`, `:w FILE`, `:w >> FILE`, `:!command`.
fn ex_command(shell: &mut Shell<'_>, command: &str, files: &[Field]) {
    let is_range = |c: char| c.is_ascii_digit() || "+:%,$. '<>".contains(c);
    let command = command.trim_start_matches(is_range);
    if let Some(line) = command.strip_prefix('!') {
        shell.run_again(line);
        return;
    }
    let len = command.find(|c: char| !c.is_ascii_alphabetic());
    let (verb, rest) = command.split_at(len.unwrap_or(command.len()));
    let writes = matches!(
        verb,
        "w" | "wq"
            | "x"
            | "xit"
            | "wa"
            | "wall"
            | "wqa"
            | "xa"
            | "up"
            | "update"
            | "write"
            | "sav"
            | "saveas"
    );
    let rest = rest.strip_prefix('!').unwrap_or(rest);
    // `:w !command` reads, `:normal wx` and `:s/w/x/` are no writes.
    if !writes || rest.trim_start().starts_with('!') {
        return;
    }
    let (name, act) = match rest.trim().strip_prefix(">>") {
        Some(name) => (name.trim(), Act::Edit),
        None => (rest.trim(), Act::Write),
    };
    match name {
        "" => shell.report_all(files, Act::Edit),
        name if rest.starts_with([' ', '\t']) => drop(shell.report(&Field::literal(name), act)),
        _ => {}
    }
}

/// Formatters that change their operands unless they are only to look.
pub(super) fn formatter(shell: &mut Shell<'_>, args: &Args<'_>) {
    let looks = ["check", "check-only", "diff", "c", "emit", "print-config"];
    if !args.has(&looks) {
        shell.report_all(&args.operands, Act::Edit);
    }
}

pub(super) fn ruff(shell: &mut Shell<'_>, args: &Args<'_>) {
    shell.report_all(args.values(&["o", "output-file"]), Act::Write);
    let Some((verb, files)) = args.operands.split_first() else {
        return;
    };
    let edits = match verb.known() {
        Some("format") => !args.has(&["check", "diff"]),
        Some("check") => args.has(&["fix"]),
        _ => false,
    };
    if edits {
        shell.report_all(files, Act::Edit);
    }
}

pub(super) fn eslint(shell: &mut Shell<'_>, args: &Args<'_>) {
    shell.report_all(args.values(&["o", "output-file"]), Act::Write);
    if args.has(&["fix"]) {
        shell.report_all(&args.operands, Act::Edit);
    }
}

/// `dos2unix FILE…`, and `-n IN OUT`.
pub(super) fn line_ends(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["i", "info", "O", "to-stdout"]) {
        return;
    }
    match args.has(&["n", "newfile"]) {
        true => shell.report_all(args.operands.iter().skip(1).step_by(2), Act::Write),
        false => shell.report_all(&args.operands, Act::Edit),
    }
}

/// `yq -i EXPRESSION FILE…`.
pub(super) fn yq(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["i", "inplace", "in-place"]) {
        shell.report_all(args.operands.iter().skip(1), Act::Edit);
    }
}

/// `patch [FILE]`, or the files its input names.
pub(super) fn patch(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["dry-run", "check"]) {
        return;
    }
    if let Some(out) = args.value(&["o", "output"]) {
        shell.report(out, Act::Write);
        return;
    }
    let usual = Field::literal(".orig");
    let suffix = args.value(&["z", "suffix"]).unwrap_or(&usual);
    let suffix = Some(suffix).filter(|_| args.has(&["b", "backup"]));
    if let Some(file) = args.operands.first() {
        in_place_edit(shell, std::slice::from_ref(file), suffix);
        return;
    }
    let strip = args
        .value(&["p", "strip"])
        .and_then(|n| n.known()?.parse().ok());
    let dir = args.value(&["d", "directory"]);
    let diff = shell.input(args.value(&["i", "input"]));
    let diff = diff.unwrap_or_default();
    patched(shell, &diff, strip.unwrap_or(0), dir, suffix);
}

pub(super) fn git_apply(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["check", "stat", "numstat", "summary", "cached"]) {
        return;
    }
    let strip = args.value(&["p"]).and_then(|n| n.known()?.parse().ok());
    let dir = args.value(&["directory"]);
    let files = match args.operands.as_slice() {
        [] => vec![None],
        files => files.iter().map(Some).collect(),
    };
    for file in files {
        let diff = shell.input(file).unwrap_or_default();
        patched(shell, &diff, strip.unwrap_or(1), dir, None);
    }
}

/// Names behind `+++ `, and behind `--- ` where the file is removed. With a suffix the old
/// text is kept under it.
fn patched(
    shell: &mut Shell<'_>,
    diff: &str,
    strip: usize,
    dir: Option<&Field>,
    suffix: Option<&Field>,
) {
    let mut old = "";
    for line in diff.lines() {
        let name = |line: &'_ str| line.split('\t').next().unwrap_or("").trim().to_owned();
        if let Some(rest) = line.strip_prefix("--- ") {
            old = rest;
        } else if let Some(rest) = line.strip_prefix("+++ ") {
            let (name, act) = match name(rest) {
                new if new == "/dev/null" => (name(old), Act::Remove),
                new if old.starts_with("/dev/null") => (new, Act::Write),
                new => (new, Act::Edit),
            };
            let path: Vec<&str> = name.split('/').skip(strip).collect();
            let path = Field::literal(path.join("/"));
            let path = dir.map_or(path.clone(), |dir| {
                Field::literal(format!("{}/{}", dir.text, path.text))
            });
            match act {
                Act::Edit => in_place_edit(shell, &[path], suffix),
                act => drop(shell.report(&path, act)),
            }
        }
    }
}
