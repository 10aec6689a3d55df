//! Files that come from elsewhere: downloads, other machines, containers.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, HERE, Output};
use super::transfer::inside;
use crate::base::target::Act;

pub(super) const CURL: Syntax = Syntax::of(
    "AbcCdDeEFHKmoPQrTuUwxXyYzt",
    &[
        "output",
        "output-dir",
        "data",
        "header",
        "request",
        "user",
        "user-agent",
        "form",
        "data-raw",
        "data-binary",
        "cookie",
        "cookie-jar",
        "dump-header",
        "url",
        "max-time",
        "connect-timeout",
        "retry",
        "proxy",
        "write-out",
        "referer",
        "cacert",
        "cert",
        "key",
        "json",
        "trace",
        "trace-ascii",
        "stderr",
        "upload-file",
        "config",
        "etag-save",
    ],
);

pub(super) const WGET: Syntax = Syntax::of(
    "OPoaeiUTtwQBl",
    &[
        "output-document",
        "directory-prefix",
        "output-file",
        "append-output",
        "input-file",
        "user-agent",
        "header",
        "post-data",
        "timeout",
        "tries",
    ],
);

pub(super) const ARIA2: Syntax = Syntax::of("doijsxk", &["dir", "out"]);

pub(super) fn curl(shell: &mut Shell<'_>, args: &Args<'_>) {
    let dir = args.value(&["output-dir"]);
    let place = |file: &Field| dir.map_or_else(|| file.clone(), |dir| inside(dir, file));
    let outputs: Vec<Field> = args.values(&["o", "output"]).map(place).collect();
    shell.report_all(&outputs, Act::Write);
    if args.has(&["O", "remote-name", "remote-name-all"]) {
        let urls = args.operands.iter().chain(args.values(&["url"]));
        let named: Vec<Field> = urls.filter_map(url_name).map(|name| place(&name)).collect();
        shell.report_all(&named, Act::Write);
    }
    let others = [
        "c",
        "cookie-jar",
        "D",
        "dump-header",
        "trace",
        "trace-ascii",
        "etag-save",
    ];
    shell.report_all(args.values(&others), Act::Write);
}

/// The file name a download without a name of its own gets.
fn url_name(url: &Field) -> Option<Field> {
    let path = url.known()?.split(['?', '#']).next()?;
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let (_, name) = path.rsplit_once('/')?;
    (!name.is_empty()).then(|| url.with_text(name))
}

pub(super) fn wget(shell: &mut Shell<'_>, args: &Args<'_>) {
    shell.report_all(args.values(&["o", "output-file"]), Act::Write);
    shell.report_all(args.values(&["a", "append-output"]), Act::Edit);
    if let Some(file) = args.value(&["O", "output-document"]) {
        if file.known() != Some("-") {
            shell.report(file, Act::Write);
        }
        return;
    }
    if args.has(&["spider"]) {
        return;
    }
    let dir = args.value(&["P", "directory-prefix"]).unwrap_or(&HERE);
    let names = args.operands.iter().filter_map(url_name);
    let files: Vec<Field> = names.map(|name| inside(dir, &name)).collect();
    shell.report_all(&files, Act::Write);
}

pub(super) fn aria2(shell: &mut Shell<'_>, args: &Args<'_>) {
    let dir = args.value(&["d", "dir"]).unwrap_or(&HERE);
    let named = args.value(&["o", "out"]).cloned();
    let name = named.or_else(|| args.operands.first().and_then(url_name));
    if let Some(name) = name {
        shell.report(&inside(dir, &name), Act::Write);
    }
}

/// `docker cp`, `kubectl cp`, `aws s3 cp`, `gsutil cp` and their like: from the
/// other side to this one.
pub(super) fn foreign_copy(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax::of(
        "nc",
        &["namespace", "container", "context", "profile", "region"],
    );
    let operands = Args::parse(args, syntax).operands;
    let is_verb = |word: &Field| matches!(word.known(), Some("cp" | "mv"));
    let at = operands.iter().take(3).position(is_verb)?;
    if let [_, from, to] = operands.get(at..)?
        && from.text.contains(':')
        && to.known().is_none_or(|to| !to.contains(':'))
    {
        let to = shell.destination(&local_name(from), to);
        shell.report(&to, Act::Write);
    }
    None
}

/// The path of `host:path`, on the side that is not this one.
pub(super) fn local_name(from: &Field) -> Field {
    let path = from
        .text
        .split_once(':')
        .filter(|(host, _)| !host.contains('/'));
    match path {
        Some((_, path)) => from.with_text(path),
        None => from.clone(),
    }
}

/// `sftp HOST:FILE [PLACE]`, and the lines `get FILE [PLACE]` of its input.
pub(super) fn sftp(shell: &mut Shell<'_>, args: &Args<'_>) {
    if let [from, to] = args.operands.as_slice() {
        let to = shell.destination(&local_name(from), to);
        shell.report(&to, Act::Write);
    }
    let batch = shell.input(args.value(&["b"]));
    for line in batch.unwrap_or_default().lines() {
        let mut words = line
            .split_whitespace()
            .filter(|word| !word.starts_with('-'));
        if !matches!(words.next(), Some("get" | "reget")) {
            continue;
        }
        let (Some(from), to) = (words.next(), words.next().unwrap_or(".")) else {
            continue;
        };
        let to = shell.destination(&Field::literal(from), &Field::literal(to));
        shell.report(&to, Act::Write);
    }
}
