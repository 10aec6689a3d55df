//! `make` with a makefile that the command spells out: its recipes are commands.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output};

pub(super) fn make(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "fCIoWlE",
        long: &["file", "makefile", "directory", "eval"],
        ..Syntax::default()
    };
    let parsed = Args::parse(args, syntax);
    if parsed.has(&["n", "just-print", "dry-run", "q", "question", "t", "touch"]) {
        return None;
    }
    let file = parsed.value(&["f", "file", "makefile"])?;
    let text = match file.known() {
        Some("-") => shell.stdin.as_ref()?.text.clone(),
        _ => shell.script_text(file)?,
    };
    let dir = parsed.value(&["C", "directory"]).cloned();
    shell.subshell(|shell| {
        if let Some(dir) = dir {
            shell.run(&[Field::literal("cd"), dir]);
        }
        for line in recipes(&text) {
            shell.subshell(|shell| shell.run_again(&line));
        }
        None
    })
}

/// The commands of every rule, with the variables put in that are plain text.
fn recipes(makefile: &str) -> Vec<String> {
    let joined = makefile.replace("\\\n", " ");
    let mut variables: Vec<(&str, &str)> = Vec::new();
    let mut commands = Vec::new();
    let mut target = "";
    for line in joined.lines() {
        let command = match line.strip_prefix('\t') {
            Some(command) => command,
            None if line.trim_start().starts_with('#') => continue,
            None => match line.split_once('=') {
                Some((name, value))
                    if !line.starts_with(' ') && !name.contains(' ') || is_assignment(name) =>
                {
                    let name = name.trim_end_matches([':', '?', '+', ' ', '!']);
                    variables.push((name, value.trim()));
                    continue;
                }
                _ => {
                    let (head, rest) = line.split_once(':').unwrap_or((line, ""));
                    target = head.trim();
                    rest.split_once(';').map_or("", |(_, command)| command)
                }
            },
        };
        let command = command.trim_start_matches(['@', '-', '+', ' ', '\t']);
        if !command.is_empty() {
            commands.push(filled(command, target, &variables));
        }
    }
    commands
}

/// `NAME =`, `NAME :=`.
fn is_assignment(head: &str) -> bool {
    let name = head.trim_end_matches([':', '?', '+', '!']).trim();
    super::byte::is_name(name)
}

/// `$(NAME)`, `${NAME}`, `$@` and `$$`; anything else with a `$` is not known.
fn filled(command: &str, target: &str, variables: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let mark = after.chars().next();
        let close = match mark {
            Some('(') => after.find(')'),
            Some('{') => after.find('}'),
            _ => None,
        };
        rest = match (mark, close) {
            (Some('$'), _) => {
                text.push('$');
                &after[1..]
            }
            (Some('@'), _) => {
                text.push_str(target);
                &after[1..]
            }
            (_, Some(close)) => {
                let name = &after[1..close];
                let known = variables.iter().rev().find(|(known, _)| *known == name);
                let value = known
                    .map(|(_, value)| *value)
                    .filter(|value| !value.contains('$'));
                match value {
                    Some(value) => text.push_str(value),
                    None => text.push(super::field::UNKNOWN),
                }
                &after[close + 1..]
            }
            _ => {
                text.push(super::field::UNKNOWN);
                after.get(mark.map_or(0, char::len_utf8)..).unwrap_or("")
            }
        };
    }
    text.push_str(rest);
    text
}
