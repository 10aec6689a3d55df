//! Archives and compressed files.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::expression::Expression;
use super::field::{Field, HERE, Output, UNKNOWN, base_name};
use super::rename;
use super::transfer::{is_copy_below, is_place};
use super::writers::Source;
use crate::base::path::collapse;
use crate::base::target::Act;

/// Begins what stands for an archive that is piped.
const STREAM: &str = "\u{10FFFF}tar\u{10FFFF}";

/// How a program reads the names of members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Literal,
    /// `*`, `?` and `[` stand for names that are not known here.
    Globs,
}

/// What comes out of an archive is known only where members are named.
pub(super) fn tar(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    untar(shell, args, Names::Literal)
}

pub(super) fn bsdtar(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    untar(shell, args, Names::Globs)
}

fn untar(shell: &mut Shell<'_>, args: &[Field], names: Names) -> Option<Output> {
    let syntax = Syntax::of(
        "fCTXbHIKLNgFV",
        &[
            "file",
            "directory",
            "files-from",
            "exclude",
            "transform",
            "xform",
            "strip-components",
            "owner",
            "group",
            "mode",
        ],
    );
    // The first cluster may stand without its dash.
    let bare = args.first().filter(|first| !first.text.starts_with('-'));
    let dashed = bare.map(|first| {
        let first = first.with_text(format!("-{}", first.text));
        [&[first], args.get(1..).unwrap_or(&[])].concat()
    });
    let args = Args::parse(dashed.as_deref().unwrap_or(args), syntax);
    let file = args.value(&["f", "file"]);
    if args.has(&["c", "create", "r", "append", "u", "update", "A"]) {
        let act = if args.has(&["c", "create"]) {
            Act::Write
        } else {
            Act::Edit
        };
        shell.report_all(file.filter(|file| file.known() != Some("-")), act);
        if args.has(&["remove-files"]) {
            shell.report_all(&args.operands, Act::MoveAway);
        }
        if file.is_none_or(|file| file.known() == Some("-")) {
            let dir = args.value(&["C", "directory"]);
            return shell.subshell(|shell| {
                if dir.is_some() {
                    shell.change_dir(dir);
                }
                stream(shell, &args.operands, &|name| renamed(&args, name))
            });
        }
    } else if args.has(&["x", "extract", "get"]) && !args.has(&["O", "to-stdout"]) {
        extract(shell, &args, names);
    }
    None
}

/// What an archive on its way through a pipe holds: the names it gives to files, between
/// marks of a text that is not known otherwise. Those of directories end with `/`.
pub(super) fn stream(
    shell: &mut Shell<'_>,
    paths: &[Field],
    name: &dyn Fn(&str) -> Option<String>,
) -> Option<Output> {
    let mut text = String::from(STREAM);
    for path in paths {
        for path in shell.listed(path.known()?, &Expression::parse(&[])) {
            let path = path.text.as_str();
            text.push_str(&name(path)?);
            if shell.holds_dir(path) {
                text.push('/');
            }
            text.push(UNKNOWN);
        }
    }
    Some(Output::literal(text))
}

/// The members of such an archive.
fn streamed(shell: &Shell<'_>) -> Option<Vec<Field>> {
    let text = shell.stdin.as_ref()?.text.strip_prefix(STREAM)?;
    let names = text.split(UNKNOWN).filter(|name| !name.is_empty());
    Some(names.map(Field::literal).collect())
}

/// Whether a member comes out in a governed place, and not as a copy of one.
fn is_governed(shell: &Shell<'_>, dir: &Field, member: &Field) -> bool {
    let at = |path: &str| Some(collapse(&shell.absolute(path)?).into_owned());
    let from = at(&member.text);
    let to = dir.known().map(|dir| format!("{dir}/{}", member.text));
    let paths = from.zip(to.and_then(|to| at(&to)));
    paths.is_some_and(|(from, to)| is_place(&to) && !is_copy_below(&from, &to))
}

/// The name of a member after `--transform`; `None` where it is not known.
fn renamed(args: &Args<'_>, name: &str) -> Option<String> {
    let mut name = name.to_owned();
    for expression in args.values(&["transform", "xform"]) {
        name = rename::substituted(expression.known()?, &name)?;
    }
    Some(name)
}

fn extract(shell: &mut Shell<'_>, args: &Args<'_>, names: Names) {
    shell.made_unseen = true;
    let dir = args.value(&["C", "directory"]).unwrap_or(&HERE);
    if args.has(&["recursive-unlink"]) {
        shell.report(dir, Act::Clear);
    }
    if let Some(made) = args.value(&["one-top-level"]) {
        let mut top = dir.with_text(format!("{}/", dir.text));
        top.push(made);
        shell.report(&top, Act::MakeDir);
    }
    let names = match args.has(&["wildcards"]) {
        true => Names::Globs,
        false => names,
    };
    let strip = args.value(&["strip-components"]);
    let strip = strip.and_then(|n| n.known()?.parse().ok()).unwrap_or(0);
    let file = args.value(&["f", "file"]).and_then(Field::known);
    let piped = match args.operands.is_empty() && matches!(file, None | Some("-")) {
        true => streamed(shell),
        false => None,
    };
    let mut placed = Vec::new();
    for name in piped.as_deref().unwrap_or(&args.operands) {
        let parts: Vec<&str> = name.text.split('/').skip(strip).collect();
        let member = renamed(args, &parts.join("/")).map(|new| name.with_text(new));
        let counts = |member: &Field| piped.is_none() || is_governed(shell, dir, member);
        placed.extend(member.filter(counts));
    }
    members(shell, dir, &placed, names);
}

/// Members keep their own directories below the one they are taken out to.
fn members(shell: &mut Shell<'_>, dir: &Field, members: &[Field], names: Names) {
    for name in members {
        let globbed = names == Names::Globs && name.text.contains(['*', '?', '[']);
        if !globbed && !name.text.is_empty() {
            let mut path = dir.clone();
            path.text.push('/');
            path.push(name);
            let act = match name.text.ends_with('/') {
                true => Act::MakeDir,
                false => Act::Write,
            };
            shell.report(&path, act);
        }
    }
}

/// Only the names, for programs that leave the members' directories out.
fn flat(members: &[Field]) -> Vec<Field> {
    let name = |member: &Field| member.with_text(base_name(&member.text));
    members.iter().map(name).collect()
}

/// `unzip [-options] ARCHIVE [MEMBER…] [-x MEMBER…] [-d DIR]`.
pub(super) fn unzip(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    shell.made_unseen = true;
    let is = |arg: &Field, name| arg.known() == Some(name);
    let excluded = args.iter().position(|arg| is(arg, "-x"));
    let (args, rest) = args.split_at(excluded.unwrap_or(args.len()));
    let behind = rest.iter().position(|arg| is(arg, "-d"));
    let rest = behind.map_or(&[][..], |at| &rest[at..]);
    let whole = [args, rest].concat();
    let args = Args::parse(&whole, Syntax::of("dP", &[]));
    if args.has(&["l", "p", "c", "t", "v", "Z", "z"]) {
        return None;
    }
    shell.report_all(args.value(&["d"]), Act::MakeDir);
    let dir = args.value(&["d"]).unwrap_or(&HERE);
    let named = args.operands.get(1..).unwrap_or(&[]);
    match args.has(&["j"]) {
        true => members(shell, dir, &flat(named), Names::Globs),
        false => members(shell, dir, named, Names::Globs),
    }
    None
}

/// `7z a ARCHIVE …` writes the archive, `7z x ARCHIVE -oDIR MEMBER…` the members.
pub(super) fn seven_zip(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        attached: "omptxiswv",
        ..Syntax::default()
    };
    let args = Args::parse(args, syntax);
    let [verb, archive, named @ ..] = args.operands.as_slice() else {
        return None;
    };
    let dir = args.value(&["o"]).unwrap_or(&HERE);
    packed(shell, verb, archive, named, dir);
    None
}

/// `unrar x ARCHIVE [MEMBER…] [DIR/]`.
pub(super) fn unrar(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let args = Args::parse(args, Syntax::default());
    let [verb, archive, named @ ..] = args.operands.as_slice() else {
        return None;
    };
    let (dir, named) = match named.split_last() {
        Some((last, named)) if last.text.ends_with('/') => (last, named),
        _ => (&HERE, named),
    };
    packed(shell, verb, archive, named, dir);
    None
}

/// What a verb of `7z` or `rar` does: `rn` is the one's, `m` the other's.
fn packed(shell: &mut Shell<'_>, verb: &Field, archive: &Field, named: &[Field], dir: &Field) {
    match verb.known() {
        Some("a" | "u" | "d" | "m" | "rn") => drop(shell.report(archive, Act::Write)),
        Some("x") => members(shell, dir, named, Names::Globs),
        Some("e") => members(shell, dir, &flat(named), Names::Globs),
        _ => {}
    }
}

/// `ar r ARCHIVE …` and `ar x ARCHIVE MEMBER…`.
pub(super) fn ar(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let [key, archive, named @ ..] = args else {
        return None;
    };
    let key = key.known()?.trim_start_matches('-');
    if key.contains('x') {
        members(shell, &HERE, named, Names::Literal);
    } else if key.contains(['r', 'q', 'd', 'm', 's']) && !key.contains(['t', 'p']) {
        shell.report(archive, Act::Write);
    }
    None
}

/// `cpio -i [-D DIR] PATTERN…`, `cpio -p DIR` with names on its input, and
/// `cpio -o -O ARCHIVE`.
pub(super) fn cpio(shell: &mut Shell<'_>, args: &Args<'_>) {
    let dir = args.value(&["D", "directory"]).unwrap_or(&HERE);
    if args.has(&["p", "pass-through"]) {
        let names = shell.stdin.as_ref().map(Output::lines).unwrap_or_default();
        if let Some(dir) = args.operands.first() {
            members(shell, dir, &names, Names::Literal);
        }
    } else if args.has(&["o", "create"]) {
        shell.report_all(args.values(&["O", "F", "file"]), Act::Write);
    } else if args.has(&["i", "extract"]) && !args.has(&["t", "list", "to-stdout"]) {
        members(shell, dir, &args.operands, Names::Globs);
    }
}

/// `gzip x` makes `x.gz` and takes `x` away.
pub(super) fn compress(shell: &mut Shell<'_>, args: &Args<'_>, suffix: &str, source: Source) {
    if args.has(&["d", "decompress"]) {
        return decompress(shell, args);
    }
    if !replaces(shell, args) {
        return;
    }
    for file in &args.operands {
        if args.has(&["r", "recursive"]) {
            shell.report(file, Act::Clear);
        } else {
            let named = |path: &str| Some(format!("{path}.{suffix}"));
            replace(shell, args, file, source, named);
        }
    }
}

pub(super) fn decompress(shell: &mut Shell<'_>, args: &Args<'_>) {
    if !replaces(shell, args) {
        return;
    }
    for file in &args.operands {
        let suffix = file.text.rsplit_once('.').map(|(_, suffix)| suffix);
        let source = match suffix {
            Some("zst" | "br") => Source::Kept,
            _ => Source::Taken,
        };
        replace(shell, args, file, source, |path| {
            let (stem, suffix) = path.rsplit_once('.')?;
            let packed = matches!(suffix, "gz" | "bz2" | "xz" | "Z" | "zst" | "br");
            packed.then(|| stem.to_owned())
        });
    }
}

/// Whether operands are replaced, and nothing is printed or written elsewhere.
fn replaces(shell: &mut Shell<'_>, args: &Args<'_>) -> bool {
    let out = args.value(&["o", "output"]);
    let prints = args.has(&["c", "stdout", "t", "l"]);
    shell.report_all(out.filter(|_| !prints), Act::Write);
    !prints && out.is_none()
}

fn replace(
    shell: &mut Shell<'_>,
    args: &Args<'_>,
    file: &Field,
    source: Source,
    name: impl Fn(&str) -> Option<String>,
) {
    let taken = match source {
        Source::Kept => args.has(&["rm"]),
        Source::Taken => !args.has(&["k", "keep"]),
    };
    if taken {
        shell.report(file, Act::MoveAway);
    }
    if let Some(path) = file.known().and_then(name) {
        shell.report(&file.with_text(path), Act::Write);
    }
}
