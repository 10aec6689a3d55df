//! Clients of databases: the database that is a file, and the files their
//! commands write.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output};
use crate::base::target::Act;

/// `sqlite3 DB [SQL]` changes its file unless all it is told is to read.
pub(super) fn sqlite(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let valued = ["-cmd", "-separator", "-newline", "-nullvalue", "-init"];
    let mut operands = Vec::new();
    let mut script = String::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.known().unwrap_or("");
        if valued.contains(&text) {
            let value = rest.next().map_or("", |value| value.text.as_str());
            if text == "-cmd" {
                script.push_str(&format!("{value}\n"));
            }
        } else if !arg.is_option() {
            operands.push(arg);
        }
    }
    let (database, commands) = operands.split_first()?;
    if commands.is_empty() {
        let stdin = shell.stdin.as_ref();
        script.push_str(stdin.map_or("", |stdin| stdin.text.as_ref()));
    }
    for command in commands {
        script.push_str(&format!("{}\n", command.text));
    }
    let reads_only = args.iter().any(|arg| arg.known() == Some("-readonly"));
    // What comes from elsewhere may do anything.
    if !reads_only && (script.trim().is_empty() || !only_reads(&script)) {
        shell.report(database, Act::Edit);
    }
    for line in script.lines() {
        sqlite_output(shell, line);
    }
    None
}

/// Whether every statement is one that cannot change a database.
fn only_reads(script: &str) -> bool {
    let lines = script.lines().map(str::trim);
    let (dotted, sql): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('.'));
    let changes = [".import", ".restore", ".read", ".load", ".open"];
    let dots = dotted
        .iter()
        .all(|line| !changes.iter().any(|name| line.starts_with(name)));
    let text = sql.join("\n").to_ascii_lowercase();
    let statements = text
        .split(';')
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let verbs = [
        "insert", "update", "delete", "replace", "create", "drop", "alter", "vacuum", "reindex",
        "attach",
    ];
    let reads = |statement: &str| {
        let mut words = statement.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        match words.next() {
            Some("select" | "explain" | "values" | "begin" | "commit" | "end") => true,
            Some("") if statement.starts_with("--") => true,
            Some("with") => !words.any(|word| verbs.contains(&word)),
            Some("pragma") => !statement.contains('='),
            _ => false,
        }
    };
    dots && statements.into_iter().all(reads)
}

/// `.output FILE` and its like; `VACUUM INTO 'FILE'`.
fn sqlite_output(shell: &mut Shell<'_>, line: &str) {
    let line = line.trim();
    let mut words = line.split_whitespace();
    let file = match words.next() {
        Some(".output" | ".once" | ".log" | ".trace") => words.find(|word| !word.starts_with('-')),
        Some(".backup" | ".save" | ".clone") => words.next_back(),
        _ => into_file(line),
    };
    let file = file.map(|file| file.trim_matches(['\'', '"']));
    if let Some(file) =
        file.filter(|file| !file.starts_with('|') && !matches!(*file, "stdout" | "off"))
    {
        shell.report(&Field::literal(file), Act::Write);
    }
}

fn into_file(line: &str) -> Option<&str> {
    let at = line.to_ascii_lowercase().find("vacuum into ")?;
    line.get(at + "vacuum into ".len()..)?.split('\'').nth(1)
}

const PSQL: Syntax = Syntax::of(
    "oLcdfhpUvFPRT",
    &[
        "output", "log-file", "command", "dbname", "file", "host", "port", "username", "set",
    ],
);

/// `psql -o FILE`, `\o FILE` and `\copy … to FILE`.
pub(super) fn psql(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, PSQL);
    shell.report_all(parsed.values(&["o", "output", "L", "log-file"]), Act::Write);
    let commands = parsed
        .values(&["c", "command"])
        .map(|command| command.text.clone());
    let stdin = shell.stdin.iter().map(|stdin| stdin.text.clone());
    let lines: Vec<EcoString> = commands.chain(stdin).collect();
    for line in lines.iter().flat_map(|text| text.lines()).map(str::trim) {
        let file = if let Some(rest) = line.strip_prefix("\\copy ") {
            let at = rest.to_ascii_lowercase().rfind(" to ");
            at.and_then(|at| rest.get(at + " to ".len()..)?.split_whitespace().next())
        } else {
            let words = line
                .split_once(' ')
                .filter(|(verb, _)| matches!(*verb, "\\o" | "\\out" | "\\w"));
            words.map(|(_, file)| file.trim())
        };
        let file = file.map(|file| file.trim_matches(['\'', '"', ';']));
        let is_file = |file: &&str| {
            !file.starts_with('|') && !matches!(*file, "stdout" | "pstdout" | "program" | "PROGRAM")
        };
        if let Some(file) = file.filter(is_file) {
            shell.report(&Field::literal(file), Act::Write);
        }
    }
    None
}
