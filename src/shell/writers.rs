//! The commands known by name, and which of their arguments they change.

use std::cell::LazyCell;

use super::args::{Args, Syntax};
use super::command::Program;
use super::eval::Shell;
use super::field::{Field, Output};
use super::table::{Key, Table};
use super::transfer::{copy, hard_link, inside, link, remote_copy, rename as move_away, rsync};
use super::{archive, database, decode, download, edit, filter, find, git, own, rename, utility};
use crate::base::target::Act;

/// How a command's arguments become targets.
enum Rule {
    /// Every operand.
    Each(Act),
    /// The values of these options only.
    Outputs(&'static [&'static str]),
    /// The values of options that are words, `-out FILE` or `-out=FILE`.
    Words(&'static [&'static str]),
    /// Every operand, when one of these options is given.
    InPlace(&'static [&'static str]),
    /// The operand at this place, where there are as many.
    Operand(usize),
    /// Every operand, into a file with this suffix.
    Compress(&'static str, Source),
    Args(fn(&mut Shell<'_>, &Args<'_>)),
    /// A syntax of its own.
    Special(Program),
}

/// What becomes of a file that is compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Kept,
    Taken,
}

struct Writer {
    name: &'static str,
    syntax: Syntax,
    rule: Rule,
}

const fn writer(name: &'static str, short: &'static str, rule: Rule) -> Writer {
    long(name, Syntax::of(short, &[]), rule)
}

/// A program with a syntax of its own.
const fn special(name: &'static str, program: Program) -> Writer {
    writer(name, "", Rule::Special(program))
}

/// One that writes what `-o` or `--output` names, and nothing else.
const fn output(name: &'static str) -> Writer {
    long(name, OUTPUT, Rule::Outputs(&["o", "output"]))
}

const fn long(name: &'static str, syntax: Syntax, rule: Rule) -> Writer {
    Writer { name, syntax, rule }
}

const COPY: Syntax = Syntax::of(
    "tSgmo",
    &["target-directory", "suffix", "mode", "owner", "group"],
);

/// `cp`, `mv` and `ln`: only `-t` and `-S` take a value.
const PLAIN_COPY: Syntax = Syntax::of("tS", &["target-directory", "suffix"]);

const OUTPUT: Syntax = Syntax::of("o", &["output", "out", "out-file", "outfile"]);

const LINT: Syntax = Syntax::of("co", &["output-file", "config"]);

/// Sorted by name.
const WRITERS: &[Writer] = &[
    special("7z", archive::seven_zip),
    special("7za", archive::seven_zip),
    special("7zr", archive::seven_zip),
    special("7zz", archive::seven_zip),
    special("ar", archive::ar),
    long("aria2c", download::ARIA2, Rule::Args(download::aria2)),
    writer("autopep8", "", Rule::InPlace(&["i", "in-place"])),
    special("aws", download::foreign_copy),
    writer("black", "lt", Rule::Args(edit::formatter)),
    writer("brotli", "o", Rule::Compress("br", Source::Kept)),
    special("bsdtar", archive::bsdtar),
    writer("bunzip2", "S", Rule::Args(archive::decompress)),
    writer("bzip2", "S", Rule::Compress("bz2", Source::Taken)),
    special("c++", utility::compiler),
    special("cc", utility::compiler),
    special("clang", utility::compiler),
    special("clang++", utility::compiler),
    writer("clang-format", "", Rule::InPlace(&["i"])),
    writer("composite", "", Rule::Args(utility::magick)),
    writer("convert", "", Rule::Args(utility::magick)),
    long("cp", PLAIN_COPY, Rule::Args(copy)),
    writer("cpio", "DEFHMIOR", Rule::Args(archive::cpio)),
    writer("csplit", "fbn", Rule::Args(utility::csplit)),
    long("curl", download::CURL, Rule::Args(download::curl)),
    special("dd", utility::dd),
    writer("ditto", "", Rule::Args(copy)),
    special("docker", download::foreign_copy),
    writer("dos2unix", "", Rule::Args(edit::line_ends)),
    long("dot", OUTPUT, Rule::Outputs(&["o"])),
    special("ed", edit::ed),
    long("eslint", LINT, Rule::Args(edit::eslint)),
    special("ex", edit::vi),
    long("fallocate", FALLOCATE, Rule::Each(Act::Write)),
    special("ffmpeg", utility::ffmpeg),
    special("file-rename", rename::rename),
    special("find", find::find),
    special("g++", utility::compiler),
    special("gcc", utility::compiler),
    special("gcloud", download::foreign_copy),
    special("git", git::git),
    writer(
        "go",
        "",
        Rule::Words(&[
            "-o",
            "-coverprofile",
            "-cpuprofile",
            "-memprofile",
            "-trace",
        ]),
    ),
    writer("gofmt", "r", Rule::InPlace(&["w", "write"])),
    writer("goimports", "", Rule::InPlace(&["w", "write"])),
    output("gpg"),
    output("gpg2"),
    special("gsutil", download::foreign_copy),
    writer("gunzip", "S", Rule::Args(archive::decompress)),
    writer("gzip", "S", Rule::Compress("gz", Source::Taken)),
    writer("history", "wa", Rule::Outputs(&["w", "a"])),
    output("http"),
    output("https"),
    output("iconv"),
    long("install", COPY, Rule::Args(copy)),
    long("install.sh", own::SCRIPT, Rule::Args(own::install_script)),
    writer("isort", "lt", Rule::Args(edit::formatter)),
    special("jar", archive::bsdtar),
    special("kubectl", download::foreign_copy),
    special("ld", utility::compiler),
    writer("link", "", Rule::Args(hard_link)),
    long("ln", PLAIN_COPY, Rule::Args(link)),
    writer("lz4", "", Rule::Operand(1)),
    writer("mac2unix", "", Rule::Args(edit::line_ends)),
    writer("magick", "", Rule::Args(utility::magick)),
    writer("mkdir", "mZ", Rule::Each(Act::MakeDir)),
    writer("mkfifo", "m", Rule::Each(Act::Write)),
    writer("mknod", "m", Rule::Operand(0)),
    special("mktemp", utility::mktemp),
    output("mmdc"),
    writer("mogrify", "", Rule::Args(utility::mogrify)),
    writer("montage", "", Rule::Args(utility::magick)),
    long("mv", PLAIN_COPY, Rule::Args(move_away)),
    long("mysqldump", DUMP, Rule::Outputs(&["r", "result-file"])),
    special("nerdctl", download::foreign_copy),
    special("nvim", edit::vi),
    special("oc", download::foreign_copy),
    special("openssl", openssl),
    output("pandoc"),
    writer("patch", "BDdFgiopVYz", Rule::Args(edit::patch)),
    writer("pdftotext", "flrxyWH", Rule::Operand(1)),
    special("perl-rename", rename::rename),
    long("pg_dump", DUMP, Rule::Outputs(&["f", "file"])),
    writer("pigz", "S", Rule::Compress("gz", Source::Taken)),
    special("podman", download::foreign_copy),
    special("prename", rename::rename),
    writer("prettier", "", Rule::InPlace(&["w", "write"])),
    special("psql", database::psql),
    special("rar", archive::unrar),
    special("rename", rename::rename),
    writer("rimraf", "", Rule::Each(Act::RemoveTree)),
    writer("rm", "", Rule::Args(utility::remove)),
    writer("rmdir", "", Rule::Args(utility::remove_dir)),
    long("rsync", super::transfer::RSYNC, Rule::Args(rsync)),
    long("ruff", LINT, Rule::Args(edit::ruff)),
    special("rustc", utility::compiler),
    writer("rustfmt", "", Rule::Args(edit::formatter)),
    writer("scp", "cFiJloPS", Rule::Args(remote_copy)),
    writer("sd", "nf", Rule::Args(utility::sd)),
    output("sdiff"),
    special("sed", edit::sed),
    writer("sftp", "bBcDFiJloPRSs", Rule::Args(download::sftp)),
    writer("shfmt", "i", Rule::InPlace(&["w", "write"])),
    writer("shred", "ns", Rule::Args(utility::shred)),
    long("shuf", SHUF, Rule::Outputs(&["o", "output"])),
    long("sort", SORT, Rule::Outputs(&["o", "output"])),
    writer("split", "abClnt", Rule::Args(utility::split)),
    writer("sponge", "", Rule::Args(utility::tee)),
    special("sqlite3", database::sqlite),
    long("statewarden", own::SYNTAX, Rule::Args(own::statewarden)),
    special("tar", archive::tar),
    writer("tee", "", Rule::Args(utility::tee)),
    writer("tidy", "", Rule::InPlace(&["m", "modify"])),
    writer("touch", "drt", Rule::Each(Act::Write)),
    writer("trash", "", Rule::Each(Act::RemoveTree)),
    writer("trash-put", "", Rule::Each(Act::RemoveTree)),
    long("truncate", TRUNCATE, Rule::Each(Act::Write)),
    writer(
        "tsc",
        "",
        Rule::Words(&["--outFile", "--outDir", "--declarationDir"]),
    ),
    writer("uniq", "fsw", Rule::Operand(1)),
    writer("unix2dos", "", Rule::Args(edit::line_ends)),
    writer("unlink", "", Rule::Each(Act::Remove)),
    special("unrar", archive::unrar),
    writer("unxz", "S", Rule::Args(archive::decompress)),
    special("unzip", archive::unzip),
    writer("unzstd", "o", Rule::Args(archive::decompress)),
    special("vi", edit::vi),
    special("vim", edit::vi),
    long("wget", download::WGET, Rule::Args(download::wget)),
    writer("wkhtmltoimage", "", Rule::Args(utility::magick)),
    writer("wkhtmltopdf", "", Rule::Args(utility::magick)),
    output("xmllint"),
    output("xsltproc"),
    writer("xz", "S", Rule::Compress("xz", Source::Taken)),
    writer("yapf", "", Rule::InPlace(&["i", "in-place"])),
    writer("yq", "", Rule::Args(edit::yq)),
    writer("zip", "Pbnst", Rule::Args(utility::zip)),
    writer("zstd", "o", Rule::Compress("zst", Source::Kept)),
];

const SORT: Syntax = Syntax::of(
    "oktST",
    &[
        "output",
        "key",
        "field-separator",
        "buffer-size",
        "temporary-directory",
    ],
);

const SHUF: Syntax = Syntax::of(
    "oin",
    &["output", "input-range", "head-count", "random-source"],
);

const DUMP: Syntax = Syntax::of("rfhpuUFnNtTj", &["result-file", "file"]);

const FALLOCATE: Syntax = Syntax::of("lo", &["length", "offset"]);

const TRUNCATE: Syntax = Syntax::of("sr", &["size", "reference"]);

pub(super) const NAMES: [&str; WRITERS.len()] = names!(WRITERS, name);

static BY_NAME: Table<Writer> = Table::new(WRITERS, &NAMES);

/// Programs whose `-o FILE` is what they write, beside what names an output for any program.
pub(super) const TOOLS: [&str; 24] = [
    "asciidoctor",
    "bandit",
    "bison",
    "browserify",
    "coverage",
    "flex",
    "grype",
    "kustomize",
    "msgfmt",
    "nasm",
    "openapi-typescript",
    "pip-compile",
    "plantuml",
    "pyreverse",
    "repomix",
    "rollup",
    "semgrep",
    "swag",
    "tailwindcss",
    "terser",
    "trivy",
    "typst",
    "uglifyjs",
    "yt-dlp",
];

pub(super) fn is_writer(name: Key<'_>) -> bool {
    BY_NAME.get(name).is_some() || TOOLS.contains(&name.name)
}

/// Options that name what is written, for nearly every program that has them.
pub(super) const OUTPUT_FILES: [&str; 11] = [
    "--cov-report",
    "--json-report-file",
    "--junit-xml",
    "--junitxml",
    "--out",
    "--outfile",
    "--output",
    "--output-file",
    "--outputFile",
    "--report-file",
    "-out",
];

/// The same for directories: what is made in them is not known, and in no contract.
pub(super) const OUTPUT_DIRS: [&str; 9] = [
    "--out-dir",
    "--outDir",
    "--outdir",
    "--output-dir",
    "--output-path",
    "--pack-destination",
    "--reports-dir",
    "--site-dir",
    "--target-dir",
];

/// Reports the outputs that any program's options name by a path.
pub(super) fn outputs(shell: &mut Shell<'_>, args: &[Field]) {
    let is_path = |value: &&Field| value.text.contains(['.', '/']);
    for value in word_values(args, &OUTPUT_FILES) {
        // `--cov-report=KIND:PATH`.
        let kind_len = value
            .text
            .find(':')
            .filter(|at| !value.text[..*at].contains('/'));
        let file = kind_len.map_or(value.clone(), |at| value.behind(at + 1));
        shell.report_all(Some(&file).filter(is_path), Act::Write);
    }
    let made = Field::literal("output");
    for dir in word_values(args, &OUTPUT_DIRS).iter().filter(is_path) {
        shell.report(&inside(dir, &made), Act::Write);
    }
}

/// Runs a command of the table; of any other the outputs count that it names as such.
pub(super) fn run(shell: &mut Shell<'_>, key: Key<'_>, args: &[Field]) -> Option<Output> {
    let name = key.name;
    let Some(writer) = BY_NAME.get(key) else {
        shell.made_unseen = true;
        // A script writes by right what it is told to.
        if !name.contains('.') {
            outputs(shell, args);
        }
        if TOOLS.contains(&name) {
            let parsed = Args::parse(args, OUTPUT);
            shell.report_all(parsed.values(&["o"]), Act::Write);
        }
        return None;
    };
    let parsed = LazyCell::new(|| Args::parse(args, writer.syntax));
    match writer.rule {
        Rule::Special(special) => return special(shell, args),
        Rule::Each(act) => shell.report_all(&parsed.operands, act),
        Rule::Args(report) => report(shell, &parsed),
        Rule::Outputs(names) => shell.report_all(parsed.values(names), Act::Write),
        Rule::Operand(at) => shell.report_all(parsed.operands.get(at), Act::Write),
        Rule::Words(names) => {
            shell.report_all(&word_values(args, names), Act::Write);
            return None;
        }
        Rule::InPlace(flags) => {
            let operands = parsed.operands.iter().filter(|_| parsed.has(flags));
            shell.report_all(operands, Act::Edit);
            return None;
        }
        Rule::Compress(suffix, source) => {
            archive::compress(shell, &parsed, suffix, source);
            return None;
        }
    }
    match name {
        "sort" => filter::sort(shell, &parsed),
        "tee" => shell.stdin.clone(),
        "uniq" => filter::uniq(shell, &parsed),
        "cp" | "install" | "link" | "ln" | "mkdir" | "mv" | "rm" | "rmdir" | "touch"
        | "truncate" | "unlink" => Output::nothing(),
        _ => None,
    }
}

fn openssl(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let files = word_values(args, &["-out", "-keyout"]);
    shell.report_all(&files, Act::Write);
    decode::openssl(shell, args).filter(|_| files.is_empty())
}

/// The values of options that are whole words.
fn word_values(args: &[Field], names: &[&str]) -> Vec<Field> {
    let mut values = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        // Most arguments are none.
        if !arg.is_option() {
            continue;
        }
        let named = |name: &&&str| arg.text.starts_with(**name);
        let Some(name) = names.iter().filter(named).max_by_key(|name| name.len()) else {
            continue;
        };
        match arg.text.as_bytes().get(name.len()) {
            None => values.extend(rest.next().cloned()),
            Some(b'=') => values.push(arg.behind(name.len() + 1)),
            Some(_) => {}
        }
    }
    values
}
