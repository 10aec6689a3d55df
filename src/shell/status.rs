//! Whether the exit status of a line is that of a command in it.

use super::parse;
use super::syntax::{Command, Ground, Kind, Link, List, Pipeline, Sense, Statement};

/// The simple commands without which the line does not succeed, each with its words as far as
/// they are literal: `cd x && cargo test 2>&1` has both, `cargo test || true` and
/// `cargo test | tail` have no test among them.
pub fn decisive(command: &str) -> Vec<Vec<String>> {
    let (list, limit) = parse::statements(command, 0);
    let mut found = Vec::new();
    if limit.is_none() {
        of_list(&list, &list, &mut found);
    }
    found
}

fn of_list(list: &List, whole: &List, found: &mut Vec<Vec<String>>) {
    let Some(last) = list.last().filter(|last| last.ground == Ground::Fore) else {
        return;
    };
    let is_and = |(link, _): &(Link, Pipeline)| *link == Link::And;
    if !last.rest.iter().all(is_and) {
        return;
    }
    let others = last.rest.iter().map(|(_, pipeline)| pipeline);
    for pipeline in std::iter::once(&last.first).chain(others) {
        let decisive = match pipeline.commands.as_slice() {
            _ if pipeline.sense == Sense::Negated => &[],
            commands if whole.iter().any(sets_pipefail) => commands,
            [.., last] => std::slice::from_ref(last),
            [] => &[],
        };
        decisive
            .iter()
            .for_each(|command| of_command(command, whole, found));
    }
}

fn of_command(command: &Command, whole: &List, found: &mut Vec<Vec<String>>) {
    match &command.kind {
        Kind::Simple(simple) => {
            let words = simple.words.iter().map_while(|word| word.literal());
            found.push(words.collect());
        }
        Kind::Group(list) | Kind::Subshell(list) => of_list(list, whole, found),
        _ => {}
    }
}

/// `set -o pipefail`
fn sets_pipefail(statement: &Statement) -> bool {
    let pipelines = std::iter::once(&statement.first)
        .chain(statement.rest.iter().map(|(_, pipeline)| pipeline));
    let mut commands = pipelines.flat_map(|pipeline| &pipeline.commands);
    commands.any(|command| match &command.kind {
        Kind::Simple(simple) => {
            let mut words = simple.words.iter().filter_map(|word| word.literal());
            words.next().is_some_and(|name| name == "set") && words.any(|word| word == "pipefail")
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: bool) {
        let is_test =
            |words: &Vec<String>| words.starts_with(&["cargo".to_owned(), "test".to_owned()]);
        assert_eq!(decisive(command).iter().any(is_test), expected, "{command}");
    }

    #[test]
    fn a_status_is_that_of_the_test_or_not() {
        for command in [
            "cargo test",
            "cd x && cargo test 2>&1",
            "A=b cargo test && echo ok",
            "cd x; (cargo test)",
            "set -o pipefail; cargo test 2>&1 | tail",
            "{ cargo test; } > log",
        ] {
            check(command, true);
        }
        for command in [
            "cargo test || true",
            "cargo test | tail",
            "cargo test; echo ok",
            "cargo test &",
            "! cargo test",
            "echo 'cargo test'",
            "if cargo test; then echo; fi",
            "cargo test && 'x",
        ] {
            check(command, false);
        }
    }
}
