//! Whether the exit status of a line is that of a command in it.

use super::field::{Field, base_name};
use super::syntax::{Command, Job, Kind, Link, List, Pipeline, Sense, Statement};
use super::{parse, wrappers};
use crate::base::text::is_in;

/// The simple commands without which the line does not succeed, each with its words as far as
/// they are literal, and those that such a command runs in its place: `cd x && timeout 9 cargo
/// test 2>&1` has three, `cargo test || true` and `cargo test | tail` have no test among them.
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
    /// A name may be a function's, or the shell may end with another status.
    is_doubtful: bool,
}

impl Reading {
    fn of_list(&mut self, list: &List) {
        let Some((last, before)) = list.split_last() else {
            return;
        };
        for statement in before {
            self.note_statement(statement, None);
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
                self.note(pipeline, None);
            }
        }
    }

    fn of_command(&mut self, command: &Command) {
        match &command.kind {
            Kind::Simple(_) => self.of_words(&words(command)),
            Kind::Group(list) => self.of_list(list),
            Kind::Subshell(list) => {
                let has_pipefail = self.has_pipefail;
                self.of_list(list);
                self.has_pipefail = has_pipefail;
            }
            _ => {}
        }
    }

    fn of_words(&mut self, words: &[Field]) {
        let is_shell = |name: &Field| is_in("bash sh zsh", base_name(&name.text));
        match words {
            [shell, option, line] if is_shell(shell) && is_in("-c -lc", &option.text) => {
                self.found.extend(decisive(&line.text));
            }
            words => {
                let texts = words.iter().map(|word| word.text.clone());
                self.found.push(texts.collect());
                if let Some(inner) = wrappers::inner(words) {
                    self.of_words(inner);
                }
            }
        }
    }

    /// What a statement changes for those behind it; `link` is what it hangs on.
    fn note_statement(&mut self, statement: &Statement, link: Option<Link>) {
        self.note(&statement.first, link);
        let others = statement.rest.iter();
        others.for_each(|(link, pipeline)| self.note(pipeline, Some(*link)));
    }

    /// What a pipeline changes for those behind it: `set -o pipefail` is one by itself.
    fn note(&mut self, pipeline: &Pipeline, link: Option<Link>) {
        let is_sure = link.is_none() && pipeline.commands.len() == 1;
        for command in &pipeline.commands {
            for statement in command.lists().into_iter().flatten() {
                self.note_statement(statement, Some(Link::And));
            }
            let words = words(command);
            self.is_doubtful |= matches!(command.kind, Kind::Function { .. });
            self.is_doubtful |= may_end_with_success(&words, link);
            let is_set = words.first().is_some_and(|name| name.is("set"));
            let mut pairs = words.windows(2).filter(|_| is_set);
            if let Some([sign, _]) = pairs.find(|pair| pair[1].is("pipefail")) {
                let is_on = self.has_pipefail || is_sure;
                self.has_pipefail = is_on && sign.is_option();
            }
        }
    }
}

/// The words of a simple command. What is not literal is no word that is looked for.
fn words(command: &Command) -> Vec<Field> {
    let Kind::Simple(simple) = &command.kind else {
        return Vec::new();
    };
    let words = simple.words.iter().map(|word| word.literal());
    words
        .map(|word| Field::literal(word.unwrap_or_default()))
        .collect()
}

/// Whether the shell may end at a command, or with a trap, and with a success.
fn may_end_with_success(words: &[Field], link: Option<Link>) -> bool {
    let mut words = words.iter().map(|word| word.text.as_str());
    match (words.next(), words.next()) {
        (Some("trap"), _) => true,
        (Some("exec"), command) => command.is_some(),
        // Above 255 a status begins at 0 again.
        (Some("exit" | "return"), Some(status)) => status.parse().unwrap_or(0u8) == 0,
        // The status is that of the command before.
        (Some("exit" | "return"), None) => link != Some(Link::Or),
        _ => false,
    }
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
            "cd x || exit; timeout -k 1 9 env A=b cargo test",
            "uv run --with a cargo test",
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
            "coproc cargo test",
            "command -v cargo test",
            "[ -f x ] && exit; cargo test",
        ] {
            check(command, false);
        }
    }
}
