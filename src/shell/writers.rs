//! The programs that write, one row each: how their operands are taken, and what becomes of them.

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::Field;
use super::{copy, edit, find, own};
use crate::base::target::Act;
use crate::base::text::is_in;

/// How a program's arguments become targets.
#[derive(Clone, Copy)]
enum Rule {
    /// Every operand.
    Each(Act),
    /// The values of these options. But for `sort` the program may write more.
    Values(Act, &'static str),
    /// The operand at this place.
    Operand(usize),
    /// Every operand, where one of these options is given.
    With(&'static str),
    /// Every operand, unless one of these options is given.
    Without(&'static str),
    Run(fn(&mut Shell<'_>, &Args<'_>)),
    /// With a syntax of its own.
    Raw(fn(&mut Shell<'_>, &[Field]) -> Ran),
}

struct Program {
    options: Options,
    rule: Rule,
}

const fn row(short: &'static str, long: &'static str, rule: Rule) -> Option<Program> {
    Some(Program {
        options: Options::of(short, long),
        rule,
    })
}

/// The verbs of some formatters, before the files.
const VERBS: &str = "check format lint";

const COPY: &str = "target-directory suffix mode owner group";

fn writer(name: &str) -> Option<Program> {
    file_tool(name)
        .or_else(|| formatter(name))
        .or_else(|| permission_tool(name))
}

/// Programs that make, copy, change and remove files.
fn file_tool(name: &str) -> Option<Program> {
    use Rule::{Each, Operand, Raw, Run, Values};
    match name {
        "tee" | "sponge" => row("", "", Raw(edit::tee)),
        "touch" => row("drt", "date reference time", Each(Act::Write)),
        "mkdir" => row("mZ", "mode", Each(Act::MakeDir)),
        "mkfifo" => row("m", "mode", Operand(0)),
        "truncate" => row("sr", "size reference", Each(Act::Write)),
        "fallocate" => row("lo", "length offset", Each(Act::Write)),
        "cp" => row("tS", COPY, Run(copy::copy)),
        "install" => row("tSgmo", COPY, Run(copy::copy)),
        "mv" => row("tS", COPY, Run(copy::rename)),
        "ln" | "link" => row("tS", COPY, Run(copy::link)),
        "rsync" => row("efBMT", "exclude include filter suffix", Run(copy::rsync)),
        "rm" => row("", "", Run(copy::remove)),
        "rmdir" => row("", "", Run(copy::remove_dir)),
        "unlink" => row("", "", Each(Act::Remove)),
        "shred" => row("ns", "iterations size", Each(Act::Edit)),
        "rimraf" | "trash" => row("", "", Each(Act::RemoveTree)),
        "dd" => row("", "", Raw(edit::dd)),
        "sed" => row("", "", Raw(edit::sed)),
        "patch" => row(
            "BDdFgioprVYz",
            "input output strip suffix",
            Run(edit::patch),
        ),
        "csplit" => row("fbn", "prefix", Values(Act::Write, "f prefix")),
        "find" => row("", "", Raw(find::run)),
        "curl" => row("", "", Raw(edit::curl)),
        "wget" => row("", "", Raw(edit::wget)),
        "tar" | "bsdtar" => row("", "", Raw(edit::tar)),
        "unzip" => row("dxP", "", Values(Act::MakeDir, "d")),
        "zip" => row("Pbnstx", "", Operand(0)),
        "sqlite3" => row("", "cmd init separator", Run(edit::sqlite)),
        "sort" => row("oktST", "output key", Values(Act::Write, "o output")),
        "uniq" => row("fsw", "", Operand(1)),
        "split" => row(
            "abClnt",
            "lines bytes number suffix-length",
            Run(edit::split),
        ),
        own::NAME => row("", own::OPTIONS, Run(own::run)),
        "install.sh" => row("", own::OPTIONS, Run(own::install_script)),
        _ => None,
    }
}

/// Programs that write a file anew in another form.
fn formatter(name: &str) -> Option<Program> {
    use Rule::{With, Without};
    match name {
        "gofmt" | "goimports" | "shfmt" => row("ri", "", With("w write")),
        "prettier" => row("", "config parser", With("w write")),
        "clang-format" | "autopep8" | "yapf" => row("", "style", With("i in-place")),
        "eslint" | "biome" => row("co", "config output-file", With("fix write")),
        "ruff" => row("o", "config output-file", With("fix format")),
        "black" | "rustfmt" => row("lt", "edition config", Without("c")),
        "isort" => row("lt", "profile", Without("c check-only")),
        "dos2unix" | "unix2dos" => row("", "", Without("info")),
        _ => None,
    }
}

/// Programs that change who may write.
fn permission_tool(name: &str) -> Option<Program> {
    use Rule::Run;
    match name {
        "chmod" => row("", "reference", Run(own::change_access)),
        "chown" | "chgrp" => row("", "reference from", Run(own::change_access)),
        "chattr" => row("pv", "", Run(own::change_access)),
        "setfacl" => row(
            "mMxX",
            "modify modify-file remove remove-file restore",
            Run(own::change_access),
        ),
        _ => None,
    }
}

/// Programs of the table that only read, unless an option makes them write.
const MOSTLY_READ: &str = "find sort uniq";
const TOLD_TO_WRITE: [&str; 6] = [" -o", " --output", " -delete", " -exec", " -ok", " -fprint"];

/// Whether a text that cannot be read holds a redirection into a file, or the name of a program
/// of the table.
pub(super) fn may_be_in(text: &str) -> bool {
    const TO_NO_FILE: [&str; 4] = ["&>/dev/null", ">/dev/null", "> /dev/null", ">&"];
    let to_files = TO_NO_FILE
        .iter()
        .fold(text.to_owned(), |text, form| text.replace(form, ""));
    let is_told = TOLD_TO_WRITE.iter().any(|option| text.contains(option));
    let mut words = text
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.'))
        .filter(|word| !word.is_empty());
    to_files.contains('>')
        || words.any(|word| writer(word).is_some() && (is_told || !is_in(MOSTLY_READ, word)))
}

/// Runs a program of the table.
pub(super) fn run(shell: &mut Shell<'_>, name: &str, args: &[Field]) -> Option<Ran> {
    let writer = writer(name)?;
    if let Rule::Raw(run) = writer.rule {
        return Some(run(shell, args));
    }
    let parsed = Args::parse(args, writer.options);
    let operands = parsed.operands.iter().copied();
    let mut ran = Ran::silent();
    match writer.rule {
        Rule::Each(act) => {
            // `touch -c` makes none.
            let mut files = parsed.operands.clone();
            if parsed.has("c no-create") {
                files.retain(|file| file.known().is_none_or(|path| shell.exists(path)));
            }
            shell.report_all(files, act);
        }
        Rule::Run(run) => run(shell, &parsed),
        Rule::Values(act, names) => {
            shell.report_all(parsed.values(names), act);
            ran = Ran::unknown();
            if name != "sort" {
                shell.unknown_write();
            }
        }
        Rule::Operand(at) => shell.report_all(parsed.operands.get(at).copied(), Act::Write),
        Rule::With(flags) | Rule::Without(flags) => {
            let verb = operands
                .clone()
                .next()
                .filter(|verb| is_in(VERBS, &verb.text));
            let is_given = parsed.has(flags) || verb.is_some_and(|verb| is_in(flags, &verb.text));
            if is_given == matches!(writer.rule, Rule::With(_)) && !parsed.has("check diff") {
                shell.report_all(operands.skip(usize::from(verb.is_some())), Act::Edit);
            }
            outputs(shell, name, args);
            ran = shell.unknown_program();
        }
        Rule::Raw(_) => {}
    }
    Some(ran)
}

/// Options that name what is written, for nearly every program that has them.
const OUTPUT_FILES: &str = "-o -out -coverprofile --cov-report --html --json-report-file --junit-xml --junitxml \
    --out --outFile --outfile --output --output-file --outputFile --report-file";

/// The same for directories.
const OUTPUT_DIRS: &str = "--out-dir --outDir --outdir --output-dir --reports-dir --target-dir";

/// Reports the outputs that any program's options name by a path. A script writes by right
/// what its call names.
pub(super) fn outputs(shell: &mut Shell<'_>, name: &str, args: &[Field]) {
    if name.contains('.') {
        return;
    }
    let mut rest = args.iter().take_while(|arg| !arg.is("--"));
    while let Some(arg) = rest.next() {
        let (option, value) = match arg.text.split_once('=') {
            Some((option, value)) => (option, Some(arg.with_text(value))),
            None => (arg.text.as_str(), None),
        };
        let act = match option {
            option if is_in(OUTPUT_FILES, option) => Act::Write,
            option if is_in(OUTPUT_DIRS, option) => Act::MakeDir,
            _ => continue,
        };
        let Some(value) = value.or_else(|| rest.next().cloned()) else {
            return;
        };
        // `--cov-report=KIND:PATH`
        let path = value
            .text
            .split_once(':')
            .filter(|(kind, _)| !kind.contains('/'));
        let path = value.with_text(path.map_or(value.text.as_str(), |(_, path)| path));
        if path.text.contains(['.', '/']) {
            shell.report(&path, act);
        }
    }
}
