//! Tcl, as far as its file commands stand with literal words.

use super::eval::Shell;
use super::field::Field;
use crate::base::target::Act;

/// Reports what a script would change. Commands within brackets are commands of
/// their own.
pub(super) fn analyse(shell: &mut Shell<'_>, text: &str) {
    for line in text.split(['\n', ';', '[', ']']) {
        let line = line.trim();
        if !line.starts_with('#') {
            let words: Vec<Field> = line.split_whitespace().map(word).collect();
            command(shell, &words);
        }
    }
}

/// A word without its quotes; one with a variable is not known.
fn word(text: &str) -> Field {
    let bare = text.trim_matches(['"', '{', '}']);
    match bare.contains(['$', '\\']) {
        true => Field::unknown(),
        false => Field::literal(bare),
    }
}

fn command(shell: &mut Shell<'_>, words: &[Field]) {
    let known: Vec<&str> = words
        .iter()
        .map(|word| word.known().unwrap_or(""))
        .collect();
    let operands = |from: usize| {
        let words = words.iter().skip(from);
        words
            .filter(|word| !word.is_option())
            .cloned()
            .collect::<Vec<Field>>()
    };
    match known.as_slice() {
        ["open", _, mode, ..] if mode.starts_with('w') => {
            shell.report_all(words.get(1), Act::Write);
        }
        ["open", _, mode, ..] if mode.starts_with('a') || mode.contains('+') => {
            shell.report_all(words.get(1), Act::Edit);
        }
        ["file", "delete", ..] => shell.report_all(&operands(2), Act::RemoveTree),
        ["file", "mkdir", ..] => shell.report_all(&operands(2), Act::MakeDir),
        ["file", verb @ ("rename" | "copy"), ..] => {
            if let [from, to] = operands(2).as_slice() {
                if *verb == "rename" {
                    shell.report(from, Act::MoveAway);
                }
                let to = shell.destination(from, to);
                shell.carry(from, &to);
            }
        }
        ["exec" | "spawn", ..] => drop(shell.again(words.get(1..).unwrap_or(&[]))),
        ["cd", _] => drop(shell.run(words)),
        _ => {}
    }
}
