//! Whether the exit status of a line is that of a command in it.

use super::field::base_name;
use super::parse;
use super::syntax::{Command, Job, Kind, Link, List, Pipeline, Sense, Statement};

/// The simple commands without which the line does not succeed, each with its words as far as
/// they are literal: `cd x && cargo test 2>&1` has both, `cargo test || true` and
/// `cargo test | tail` have no test among them.
pub fn decisive(command: &str) -> Vec<Vec<String>> {
    let (list, limit) = parse::statements(command, 0);
    let mut reading = Reading::default();
    reading.of_list(&list);
    match limit.is_none() && !reading.is_doubtful {
        true => reading.found,
        false => Vec::new(),
    }
}

#[derive(Default)]
struct Reading {
    found: Vec<Vec<String>>,
    has_pipefail: bool,
    /// A name may be a function's, or a trap may end the shell with another status.
    is_doubtful: bool,
}

impl Reading {
    fn of_list(&mut self, list: &List) {
        let Some((last, before)) = list.split_last() else {
            return;
        };
        for statement in before {
            self.note_statement(statement, Runs::Surely);
        }
        let is_and = |(link, _): &(Link, Pipeline)| *link == Link::And;
        let counts = last.job == Job::Foreground && last.rest.iter().all(is_and);
        let others = last.rest.iter().map(|(_, pipeline)| pipeline);
        for (at, pipeline) in std::iter::once(&last.first).chain(others).enumerate() {
            let decisive = match pipeline.commands.as_slice() {
                _ if !counts || pipeline.sense == Sense::Negated => &[],
                commands if self.has_pipefail => commands,
                [.., last] => std::slice::from_ref(last),
                [] => &[],
            };
            decisive.iter().for_each(|command| self.of_command(command));
            if at < last.rest.len() {
                self.note(pipeline, Runs::Surely);
            }
        }
    }

    fn of_command(&mut self, command: &Command) {
        match &command.kind {
            Kind::Simple(simple) => {
                let words = simple.words.iter();
                let words = words.map(|word| word.literal().unwrap_or_default());
                let words: Vec<String> = words.collect();
                match words.as_slice() {
                    [shell, option, line]
                        if is_shell(shell) && matches!(option.as_str(), "-c" | "-lc") =>
                    {
                        self.found.extend(decisive(line));
                    }
                    _ => self.found.push(words),
                }
            }
            Kind::Group(list) => self.of_list(list),
            Kind::Subshell(list) => {
                let has_pipefail = self.has_pipefail;
                self.of_list(list);
                self.has_pipefail = has_pipefail;
            }
            _ => {}
        }
    }

    /// What a statement changes for those behind it; `first` is whether it runs at all.
    fn note_statement(&mut self, statement: &Statement, first: Runs) {
        self.note(&statement.first, first);
        let others = statement.rest.iter();
        others.for_each(|(link, pipeline)| self.note(pipeline, Runs::After(*link)));
    }

    /// What a pipeline changes for those behind it: `set -o pipefail` is one by itself.
    fn note(&mut self, pipeline: &Pipeline, runs: Runs) {
        for command in &pipeline.commands {
            let Kind::Simple(simple) = &command.kind else {
                self.is_doubtful |= matches!(command.kind, Kind::Function { .. });
                for statement in command.lists().into_iter().flatten() {
                    self.note_statement(statement, Runs::After(Link::And));
                }
                continue;
            };
            // What is not literal is no word that is looked for.
            let words = simple.words.iter();
            let words = words.map(|word| word.literal().unwrap_or_default());
            let words: Vec<String> = words.collect();
            let is_alone = pipeline.commands.len() == 1;
            let name = words.first().map_or("", String::as_str);
            self.is_doubtful |= name == "trap" || is_alone && may_end_with_success(&words, runs);
            let is_set = name == "set";
            let option = words.iter().position(|word| word == "pipefail");
            let Some(sign) = option
                .and_then(|at| words.get(at.checked_sub(1)?))
                .filter(|_| is_set)
            else {
                continue;
            };
            match (sign.starts_with('-'), runs) {
                (false, _) => self.has_pipefail = false,
                (true, Runs::Surely) if is_alone => self.has_pipefail = true,
                (true, _) => {}
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Surely,
    After(Link),
}

/// Whether the shell may end at a command, and with a success.
fn may_end_with_success(words: &[String], runs: Runs) -> bool {
    let mut words = words.iter().map(String::as_str);
    match (words.next(), words.next()) {
        (Some("exec"), command) => command.is_some(),
        // Above 255 a status begins at 0 again.
        (Some("exit" | "return"), Some(status)) => status.parse().unwrap_or(0u8) == 0,
        // The status is that of the command before.
        (Some("exit" | "return"), None) => runs != Runs::After(Link::Or),
        _ => false,
    }
}

fn is_shell(program: &str) -> bool {
    matches!(base_name(program), "bash" | "sh" | "zsh")
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
            "set -euo pipefail && cargo test | tail",
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
            "cargo test | tail && set -o pipefail",
            "set -o pipefail; set +o pipefail; cargo test | tail",
            "(set -o pipefail); cargo test | tail",
            "x || set -o pipefail; cargo test | tail",
            "trap 'exit 0' EXIT; cargo test",
            "cargo() { :; }; cargo test",
        ] {
            check(command, false);
        }
    }
}
