//! Where a test's streams go, and what the words of a line may be.

use super::{Errors, Failure, LineReading, Value};
use crate::base::text::is_in;
use crate::shell::syntax::{Kind, List, Part, Redirect, To, Word};

impl LineReading {
    /// Whether the operands are logs that tests of this line have written.
    pub(super) fn shows_log(&self, args: &[&str]) -> bool {
        let mut files = args
            .iter()
            .filter(|arg| !arg.starts_with('-') && !arg.bytes().all(|byte| byte.is_ascii_digit()))
            .peekable();
        files.peek().is_some() && files.all(|file| self.logs.iter().any(|log| log == *file))
    }

    /// Where a test's streams go.
    pub(super) fn redirect(&mut self, status: Failure, redirects: &[Redirect]) {
        if status == Failure::None {
            return;
        }
        let (mut output, mut errors): (Option<String>, Option<String>) = (None, None);
        for Redirect { fd, to } in redirects {
            match to {
                To::Write(word) | To::Append(word) => {
                    let file = Some(self.text(word));
                    // `&>` has no number of its own in the tree: both go there at worst.
                    match fd {
                        Some(2) => errors = file,
                        Some(_) | None => output = file,
                    }
                }
                To::Duplicate(word) => match (fd, self.text(word).as_str()) {
                    (Some(2), "1") => errors = output.clone(),
                    (Some(1) | None, "2") => output = errors.clone(),
                    (None, file) if file.parse::<u32>().is_err() => {
                        (output, errors) = (Some(file.to_owned()), Some(file.to_owned()));
                    }
                    _ => {}
                },
                To::Read(_) | To::HereString(_) | To::Heredoc(_) => {}
            }
        }
        if errors.is_some() && errors != output {
            self.line.errors = Errors::Dropped;
        }
        self.logs.extend(output);
    }

    /// What a command reads from the line itself may be a program.
    pub(super) fn check_redirects(&mut self, redirects: &[Redirect], word: &str) {
        for redirect in redirects {
            match &redirect.to {
                To::HereString(_) | To::Heredoc(_) => self.doubt(&format!("{word} <<")),
                To::Read(word) | To::Write(word) | To::Append(word) | To::Duplicate(word) => {
                    self.check_substitutions(word);
                }
            }
        }
    }

    /// What a line runs within a word prints to its second stream.
    pub(super) fn check_substitutions(&mut self, word: &Word) {
        for part in &word.parts {
            let list = match part {
                Part::Command(list, _) | Part::Process(list) => list,
                Part::Parameter(parameter, _) => {
                    parameter
                        .operands
                        .iter()
                        .for_each(|word| self.check_substitutions(word));
                    continue;
                }
                Part::Arithmetic(word) => {
                    self.check_substitutions(word);
                    continue;
                }
                Part::Bare(_) | Part::Quoted(_) => continue,
            };
            if matches!(part, Part::Process(_)) || !is_harmless(list) {
                self.doubt("$(…)");
            }
        }
    }

    pub(super) fn note_paths(&mut self, words: &[&str]) {
        for word in words {
            let value = word.split_once('=').map_or(*word, |(_, value)| value);
            if value.contains(['/', '\\']) || value.starts_with("..") {
                self.line.paths.push(value.to_owned());
            }
        }
    }

    /// The text of a word; what is not known is `…`.
    pub(super) fn text(&self, word: &Word) -> String {
        if let Some(mut texts) = self.values(word) {
            return texts.pop().unwrap_or_default();
        }
        let part = |part: &Part| match part {
            Part::Bare(text) | Part::Quoted(text) => text.clone(),
            _ => "…".to_owned(),
        };
        word.parts.iter().map(part).collect()
    }

    /// What a word may be.
    pub(super) fn values(&self, word: &Word) -> Option<Vec<String>> {
        let mut texts = vec![String::new()];
        for part in &word.parts {
            let more = match part {
                Part::Bare(text) | Part::Quoted(text) => vec![text.clone()],
                Part::Parameter(parameter, _) if parameter.operator.is_empty() => {
                    match self.variables.get(&parameter.name) {
                        Some(Value::Texts(texts)) => texts.clone(),
                        _ => return None,
                    }
                }
                _ => return None,
            };
            texts = texts
                .iter()
                .flat_map(|text| more.iter().map(move |more| format!("{text}{more}")))
                .take(64)
                .collect();
        }
        Some(texts)
    }
}

/// Whether all a substitution runs is known to print nothing but what it is for.
fn is_harmless(list: &List) -> bool {
    const NAMES: &str = "pwd nproc date mktemp dirname basename whoami uname";
    let [statement] = list.as_slice() else {
        return false;
    };
    let [command] = statement.first.commands.as_slice() else {
        return false;
    };
    let Kind::Simple(simple) = &command.kind else {
        return false;
    };
    let literals = simple.words.iter().map(Word::literal);
    let literals: Vec<String> = literals.collect::<Option<_>>().unwrap_or_default();
    let words: Vec<&str> = literals.iter().map(String::as_str).collect();
    statement.rest.is_empty()
        && match words.as_slice() {
            ["git", "rev-parse", ..] => true,
            [name, ..] => is_in(NAMES, name),
            [] => false,
        }
}
