//! The commands known by name, and which of their arguments they change.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output};
use super::transfer::{copy, hard_link, inside, link, rename, rsync};
use super::{archive, edit, find, git};
use crate::target::Act;

type Special = fn(&mut Shell<'_>, &[Field]) -> Option<Output>;

/// How a command's arguments become targets.
enum Rule {
    /// Every operand.
    Each(Act),
    /// The values of these options only.
    Outputs(&'static [&'static str]),
    /// The operand at this place, where there are as many.
    Operand(usize),
    Args(fn(&mut Shell<'_>, &Args)),
    /// A syntax of its own.
    Special(Special),
}

struct Writer {
    name: &'static str,
    syntax: Syntax,
    rule: Rule,
}

const fn writer(name: &'static str, short: &'static str, rule: Rule) -> Writer {
    let syntax = Syntax {
        short,
        attached: "",
        long: &[],
    };
    Writer { name, syntax, rule }
}

const fn long(name: &'static str, syntax: Syntax, rule: Rule) -> Writer {
    Writer { name, syntax, rule }
}

const COPY: Syntax = Syntax {
    short: "tSgmo",
    attached: "",
    long: &["target-directory", "suffix", "mode", "owner", "group"],
};

/// `cp`, `mv` and `ln`: only `-t` and `-S` take a value.
const PLAIN_COPY: Syntax = Syntax {
    short: "tS",
    attached: "",
    long: &["target-directory", "suffix"],
};

const RSYNC: Syntax = Syntax {
    short: "efBMT",
    attached: "",
    long: &[
        "exclude",
        "include",
        "filter",
        "files-from",
        "rsh",
        "exclude-from",
        "include-from",
        "chmod",
        "max-size",
        "min-size",
        "temp-dir",
        "backup-dir",
        "port",
        "bwlimit",
    ],
};

const CURL: Syntax = Syntax {
    short: "AbcCdDeEFHKmoPQrTuUwxXyYzt",
    attached: "",
    long: &[
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
};

const WGET: Syntax = Syntax {
    short: "OPoaeiUTtwQBl",
    attached: "",
    long: &[
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
};

const OUTPUT: Syntax = Syntax {
    short: "o",
    attached: "",
    long: &["output", "out", "out-file", "outfile"],
};

/// Sorted by name.
const WRITERS: &[Writer] = &[
    writer("7z", "", Rule::Special(archive::seven_zip)),
    writer("bunzip2", "", Rule::Args(archive::decompress)),
    writer("bzip2", "", Rule::Args(archive::compress)),
    writer("c++", "", Rule::Special(compiler)),
    writer("cc", "", Rule::Special(compiler)),
    writer("clang", "", Rule::Special(compiler)),
    writer("clang++", "", Rule::Special(compiler)),
    long("cp", PLAIN_COPY, Rule::Args(copy)),
    writer("csplit", "fbn", Rule::Args(csplit)),
    long("curl", CURL, Rule::Args(curl)),
    writer("dd", "", Rule::Special(dd)),
    long("dot", OUTPUT, Rule::Outputs(&["o"])),
    writer("ed", "p", Rule::Special(edit::ed)),
    writer("ex", "cST", Rule::Special(edit::vi)),
    writer("find", "", Rule::Special(find::find)),
    writer("g++", "", Rule::Special(compiler)),
    writer("gcc", "", Rule::Special(compiler)),
    writer("gcp", "tS", Rule::Args(copy)),
    writer("gfind", "", Rule::Special(find::find)),
    writer("git", "", Rule::Special(git::git)),
    writer("gmv", "tS", Rule::Args(rename)),
    writer("go", "", Rule::Special(compiler)),
    writer("gofmt", "r", Rule::Args(edit::write_flag)),
    writer("gpg", "o", Rule::Outputs(&["o", "output"])),
    writer("grm", "", Rule::Args(remove)),
    writer("gsed", "", Rule::Special(edit::sed)),
    writer("gtar", "", Rule::Special(archive::tar)),
    writer("gtouch", "drt", Rule::Each(Act::Write)),
    writer("gunzip", "S", Rule::Args(archive::decompress)),
    writer("gzip", "S", Rule::Args(archive::compress)),
    long("iconv", OUTPUT, Rule::Outputs(&["o", "output"])),
    long("install", COPY, Rule::Args(copy)),
    writer("ld", "", Rule::Special(compiler)),
    writer("link", "", Rule::Args(hard_link)),
    long("ln", PLAIN_COPY, Rule::Args(link)),
    writer("mkdir", "mZ", Rule::Each(Act::MakeDir)),
    writer("mkfifo", "m", Rule::Each(Act::Write)),
    writer("mknod", "m", Rule::Operand(0)),
    long("mv", PLAIN_COPY, Rule::Args(rename)),
    writer("nvim", "cST", Rule::Special(edit::vi)),
    writer("openssl", "", Rule::Special(openssl)),
    long("pandoc", OUTPUT, Rule::Outputs(&["o", "output"])),
    writer("patch", "BDdFgiopVYz", Rule::Args(edit::patch)),
    writer("prettier", "", Rule::Args(edit::write_flag)),
    writer("rename", "", Rule::Special(ignored)),
    writer("rimraf", "", Rule::Each(Act::RemoveTree)),
    writer("rm", "", Rule::Args(remove)),
    writer("rmdir", "", Rule::Each(Act::Remove)),
    long("rsync", RSYNC, Rule::Args(rsync)),
    writer("rustc", "", Rule::Special(compiler)),
    writer("scp", "cFiJloPS", Rule::Args(copy)),
    writer("sed", "", Rule::Special(edit::sed)),
    writer("shfmt", "i", Rule::Args(edit::write_flag)),
    writer("shred", "ns", Rule::Args(shred)),
    long("sort", SORT, Rule::Outputs(&["o", "output"])),
    writer("split", "abClnt", Rule::Args(split)),
    writer("sponge", "", Rule::Args(tee)),
    writer("sqlite3", "", Rule::Special(sqlite)),
    writer("tar", "", Rule::Special(archive::tar)),
    writer("tee", "", Rule::Args(tee)),
    writer("touch", "drt", Rule::Each(Act::Write)),
    writer("trash", "", Rule::Each(Act::RemoveTree)),
    writer("trash-put", "", Rule::Each(Act::RemoveTree)),
    long("truncate", TRUNCATE, Rule::Each(Act::Write)),
    writer("uniq", "fsw", Rule::Operand(1)),
    writer("unlink", "", Rule::Each(Act::Remove)),
    writer("unxz", "S", Rule::Args(archive::decompress)),
    writer("unzip", "dx", Rule::Args(archive::unzip)),
    writer("vi", "cST", Rule::Special(edit::vi)),
    writer("vim", "cST", Rule::Special(edit::vi)),
    long("wget", WGET, Rule::Args(wget)),
    writer("xxd", "clos", Rule::Operand(1)),
    writer("xz", "S", Rule::Args(archive::compress)),
    writer("yq", "", Rule::Args(edit::yq)),
    writer("zip", "", Rule::Operand(0)),
    writer("zstd", "o", Rule::Outputs(&["o"])),
];

const SORT: Syntax = Syntax {
    short: "oktST",
    attached: "",
    long: &[
        "output",
        "key",
        "field-separator",
        "buffer-size",
        "temporary-directory",
    ],
};

const TRUNCATE: Syntax = Syntax {
    short: "sr",
    attached: "",
    long: &["size", "reference"],
};

/// Runs a command of the table; any other changes nothing that is known here.
pub(super) fn run(shell: &mut Shell<'_>, name: &str, words: &[Field]) -> Option<Output> {
    let at = WRITERS
        .binary_search_by(|writer| writer.name.cmp(name))
        .ok()?;
    let writer = WRITERS.get(at)?;
    let args = words.get(1..).unwrap_or(&[]);
    let parsed = || Args::parse(args, writer.syntax);
    match writer.rule {
        Rule::Special(special) => return special(shell, args),
        Rule::Each(act) => shell.report_all(&parsed().operands, act),
        Rule::Outputs(names) => shell.report_all(parsed().values(names), Act::Write),
        Rule::Operand(at) => shell.report_all(parsed().operands.get(at), Act::Write),
        Rule::Args(report) => report(shell, &parsed()),
    }
    match name {
        "tee" => shell.stdin.clone(),
        "sort" | "curl" | "wget" | "uniq" | "iconv" | "xxd" => None,
        _ => Output::nothing(),
    }
}

fn ignored(_: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    None
}

fn tee(shell: &mut Shell<'_>, args: &Args) {
    let appends = args.has(&["a", "append"]);
    let text = shell.stdin.as_ref().map(|stdin| stdin.text.clone());
    for file in &args.operands {
        if appends {
            shell.report(file, Act::Edit);
        } else {
            shell.report_text(file, Act::Write, text.clone());
        }
    }
}

fn remove(shell: &mut Shell<'_>, args: &Args) {
    let tree = args.has(&["r", "R", "recursive"]);
    let act = if tree { Act::RemoveTree } else { Act::Remove };
    shell.report_all(&args.operands, act);
}

fn shred(shell: &mut Shell<'_>, args: &Args) {
    let removes = args.has(&["u", "remove"]);
    let act = if removes { Act::Remove } else { Act::Edit };
    shell.report_all(&args.operands, act);
}

fn curl(shell: &mut Shell<'_>, args: &Args) {
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

fn wget(shell: &mut Shell<'_>, args: &Args) {
    shell.report_all(args.values(&["o", "output-file"]), Act::Write);
    shell.report_all(args.values(&["a", "append-output"]), Act::Edit);
    if let Some(file) = args.value(&["O", "output-document"]) {
        if file.known() != Some("-") {
            shell.report(&file.clone(), Act::Write);
        }
        return;
    }
    if args.has(&["spider"]) {
        return;
    }
    let here = Field::literal(".");
    let dir = args.value(&["P", "directory-prefix"]).unwrap_or(&here);
    let names = args.operands.iter().filter_map(url_name);
    let files: Vec<Field> = names.map(|name| inside(dir, &name)).collect();
    shell.report_all(&files, Act::Write);
}

/// The first piece's name; how many follow depends on the input.
fn split(shell: &mut Shell<'_>, args: &Args) {
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

fn csplit(shell: &mut Shell<'_>, args: &Args) {
    let default = Field::literal("xx");
    let mut name = args.value(&["f", "prefix"]).unwrap_or(&default).clone();
    name.text.push_str("00");
    shell.report(&name, Act::Write);
}

fn dd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    for arg in args.iter().filter(|arg| arg.text.starts_with("of=")) {
        shell.report(&arg.behind("of=".len()), Act::Write);
    }
    None
}

/// `-o FILE`, which compilers take as an argument of its own or attached.
fn compiler(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg.known() == Some("-o") {
            shell.report_all(args.next(), Act::Write);
        } else if arg.text.starts_with("-o") && arg.text.contains('/') {
            shell.report(&arg.behind("-o".len()), Act::Write);
        }
    }
    Output::nothing()
}

fn openssl(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let outs = args.windows(2).filter(|pair| {
        matches!(
            pair.first().and_then(Field::known),
            Some("-out" | "-keyout")
        )
    });
    let files: Vec<Field> = outs.filter_map(|pair| pair.last().cloned()).collect();
    shell.report_all(&files, Act::Write);
    None
}

/// `sqlite3 DB [SQL]` changes its file unless all it is told is to read.
fn sqlite(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax::default();
    let parsed = Args::parse(args, syntax);
    let reads = |sql: &Field| {
        let word = sql
            .known()
            .map(|text| text.trim_start().to_ascii_lowercase());
        word.is_some_and(|text| {
            let head = [
                "select",
                ".schema",
                ".tables",
                ".dump",
                "explain",
                "pragma table_info",
            ];
            head.iter().any(|head| text.starts_with(head)) && !text.contains("insert")
        })
    };
    let (database, sql) = parsed.operands.split_first()?;
    let only_reads = args.iter().any(|arg| arg.known() == Some("-readonly"))
        || (!sql.is_empty() && sql.iter().all(reads));
    if !only_reads {
        shell.report(database, Act::Edit);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(WRITERS.is_sorted_by_key(|writer| writer.name));
    }
}
