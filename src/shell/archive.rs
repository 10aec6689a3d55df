//! Archives and compressed files.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output};
use crate::target::Act;

/// What comes out of an archive is known only where members are named.
pub(super) fn tar(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "fCTXbHIKLNgFV",
        attached: "",
        long: &[
            "file",
            "directory",
            "files-from",
            "exclude",
            "transform",
            "strip-components",
        ],
    };
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
    } else if args.has(&["x", "extract", "get"]) && !args.has(&["O", "to-stdout"]) {
        let here = Field::literal(".");
        let dir = args.value(&["C", "directory"]).unwrap_or(&here);
        members(shell, dir, &args.operands);
    }
    None
}

/// Members keep their own directories below the one they are taken out to.
fn members(shell: &mut Shell<'_>, dir: &Field, names: &[Field]) {
    for name in names {
        let mut path = dir.clone();
        path.text.push('/');
        path.push(name);
        shell.report(&path, Act::Write);
    }
}

pub(super) fn unzip(shell: &mut Shell<'_>, args: &Args) {
    if args.has(&["l", "p", "t", "v", "Z", "z"]) {
        return;
    }
    let here = Field::literal(".");
    let dir = args.value(&["d"]).unwrap_or(&here);
    members(shell, dir, args.operands.get(1..).unwrap_or(&[]));
}

/// `7z a ARCHIVE …` writes the archive.
pub(super) fn seven_zip(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let args = Args::parse(args, Syntax::default());
    if let [verb, archive, ..] = args.operands.as_slice()
        && matches!(verb.known(), Some("a" | "u" | "d"))
    {
        shell.report(archive, Act::Write);
    }
    None
}

/// `gzip x` makes `x.gz` and takes `x` away.
pub(super) fn compress(shell: &mut Shell<'_>, args: &Args) {
    if args.has(&["d", "decompress"]) {
        return decompress(shell, args);
    }
    if args.has(&["c", "stdout", "t", "l"]) {
        return;
    }
    for file in &args.operands {
        replace(shell, args, file, |path| Some(format!("{path}.gz")));
    }
}

pub(super) fn decompress(shell: &mut Shell<'_>, args: &Args) {
    if args.has(&["c", "stdout", "t", "l"]) {
        return;
    }
    for file in &args.operands {
        replace(shell, args, file, |path| {
            let (stem, suffix) = path.rsplit_once('.')?;
            matches!(suffix, "gz" | "bz2" | "xz" | "Z").then(|| stem.to_owned())
        });
    }
}

fn replace(
    shell: &mut Shell<'_>,
    args: &Args,
    file: &Field,
    name: impl Fn(&str) -> Option<String>,
) {
    if !args.has(&["k", "keep"]) {
        shell.report(file, Act::MoveAway);
    }
    if let Some(path) = file.known().and_then(name) {
        shell.report(&file.with_text(path), Act::Write);
    }
}
