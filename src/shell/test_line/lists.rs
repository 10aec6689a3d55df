//! Lists, pipelines and compound commands around a test.

use super::exit::{Exit, exit_of};
use super::{Failure, Filter, LineReading, Value};
use crate::base::text::is_in;
use crate::shell::syntax::{
    Assigned, Command, Job, Kind, Link, List, Part, Pipeline, Sense, Simple, Statement, Word,
};

impl LineReading {
    pub(super) fn doubt(&mut self, word: &str) {
        self.line.doubt.get_or_insert_with(|| word.to_owned());
    }

    pub(super) fn list(&mut self, list: &List) -> Failure {
        let mut all = Failure::None;
        let mut saved: Option<String> = None;
        for statement in list {
            // What the statement before left behind, this one may pass on.
            if matches!(all, Failure::Fails | Failure::Lost) {
                match exit_of(&statement.first) {
                    Some(Exit::Same) if all == Failure::Fails => all = Failure::Ends,
                    Some(Exit::OfPipe) => all = Failure::Ends,
                    Some(Exit::Variable(name)) if saved.as_ref() == Some(&name) => {
                        all = Failure::Ends
                    }
                    _ => {}
                }
            }
            if let Some(name) = self.saves_status(statement) {
                saved = (all == Failure::Fails).then_some(name);
            }
            let status = self.statement(statement);
            if all == Failure::Fails {
                all = Failure::Lost;
            }
            all = all.max(status);
        }
        all
    }

    /// `rc=$?`
    pub(super) fn saves_status(&mut self, statement: &Statement) -> Option<String> {
        let [command] = statement.first.commands.as_slice() else {
            return None;
        };
        let Kind::Simple(Simple { assignments, words }) = &command.kind else {
            return None;
        };
        let [set] = assignments.as_slice() else {
            return None;
        };
        let Assigned::Word(value) = &set.value else {
            return None;
        };
        let is_status = matches!(value.parts.as_slice(), [Part::Parameter(parameter, _)]
            if is_in("? PIPESTATUS pipestatus", &parameter.name));
        if !is_status || !words.is_empty() {
            return None;
        }
        self.variables.insert(set.name.clone(), Value::Number);
        Some(set.name.clone())
    }

    pub(super) fn statement(&mut self, statement: &Statement) -> Failure {
        if statement.job == Job::Background {
            self.doubt("&");
        }
        let mut status = self.pipeline(&statement.first);
        for (link, pipeline) in &statement.rest {
            let before = status;
            let behind = self.pipeline(pipeline);
            status = before.max(behind);
            if *link == Link::Or && before == Failure::Fails {
                status = match exit_of(pipeline) {
                    Some(Exit::Same | Exit::Error) if behind == Failure::None => Failure::Ends,
                    _ => Failure::Lost,
                };
            }
        }
        let is_last = statement.rest.is_empty();
        if status == Failure::Fails && self.ends_at_failure && is_last {
            return Failure::Ends;
        }
        status
    }

    pub(super) fn pipeline(&mut self, pipeline: &Pipeline) -> Failure {
        let n_commands = pipeline.commands.len();
        let mut all = Failure::None;
        for (at, command) in pipeline.commands.iter().enumerate() {
            let is_last = at + 1 == n_commands;
            if all != Failure::None {
                self.filter(command);
                continue;
            }
            let status = self.command(command);
            let passes = status != Failure::Lost && (is_last || self.has_pipefail);
            all = match status {
                Failure::None => Failure::None,
                // A member of a pipeline is a shell of its own.
                Failure::Ends if n_commands == 1 => Failure::Ends,
                _ if passes => Failure::Fails,
                _ => Failure::Lost,
            };
        }
        if pipeline.sense == Sense::Negated && all != Failure::None {
            return Failure::Lost;
        }
        all
    }

    /// A command that reads what tests print.
    pub(super) fn filter(&mut self, command: &Command) {
        let Kind::Simple(simple) = &command.kind else {
            return self.doubt("|");
        };
        let words: Vec<String> = simple.words.iter().map(|word| self.text(word)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["tee", args @ ..] => {
                let files = args.iter().filter(|arg| !arg.starts_with('-'));
                self.logs.extend(files.map(|file| (*file).to_owned()));
            }
            ["cat"] => {}
            ["tail", ..] => self.line.filters.push(Filter::Tail),
            ["grep" | "egrep" | "rg", args @ ..] => {
                let filter =
                    patterns(args).map_or_else(|| Filter::Other("grep".to_owned()), Filter::Lines);
                self.line.filters.push(filter);
            }
            [name, ..]
                if is_in(
                    "head sed awk cut less more sort tr uniq wc fgrep perl",
                    name,
                ) =>
            {
                self.line.filters.push(Filter::Other((*name).to_owned()));
            }
            [name, ..] => self.doubt(name),
            [] => self.doubt("|"),
        }
        self.check_redirects(&command.redirects, "|");
    }

    pub(super) fn command(&mut self, command: &Command) -> Failure {
        match &command.kind {
            Kind::Simple(simple) => self.simple(simple, &command.redirects),
            Kind::Group(list) => {
                self.check_redirects(&command.redirects, "{");
                let status = self.list(list);
                self.redirect(status, &command.redirects);
                status
            }
            Kind::Subshell(list) => {
                self.check_redirects(&command.redirects, "(");
                let (errexit, pipefail) = (self.ends_at_failure, self.has_pipefail);
                let status = self.list(list);
                (self.ends_at_failure, self.has_pipefail) = (errexit, pipefail);
                self.redirect(status, &command.redirects);
                status.outside()
            }
            Kind::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref()),
            Kind::For {
                name,
                words: Some(words),
                body,
            } => self.for_each(name, words, body),
            Kind::Test(_) => Failure::None,
            Kind::Arithmetic(_, body) if body.is_empty() => Failure::None,
            Kind::Function { name, .. } => {
                self.doubt(&format!("{name}()"));
                Failure::None
            }
            Kind::While {
                condition, body, ..
            } => {
                self.doubt("while");
                self.list(condition).max(self.list(body))
            }
            Kind::Case { arms, .. } => {
                self.doubt("case");
                let statuses: Vec<Failure> = arms.iter().map(|arm| self.list(&arm.body)).collect();
                statuses.into_iter().max().unwrap_or(Failure::None)
            }
            Kind::For { body, .. } | Kind::Arithmetic(_, body) => {
                self.doubt("for");
                self.list(body)
            }
        }
    }

    /// `for i in 1 2; do …; done`
    fn for_each(&mut self, name: &str, words: &[Word], body: &List) -> Failure {
        let values: Option<Vec<String>> = words.iter().map(Word::literal).collect();
        match values {
            Some(values) => self.variables.insert(name.to_owned(), Value::Texts(values)),
            None => self.variables.remove(name),
        };
        match self.list(body) {
            Failure::Fails => Failure::Lost,
            status => status,
        }
    }

    /// `if ! cargo test; then exit 1; fi`, `if cargo test; then …; else exit 1; fi`
    pub(super) fn conditional(
        &mut self,
        arms: &[(List, List)],
        otherwise: Option<&List>,
    ) -> Failure {
        let mut all = Failure::None;
        for (condition, body) in arms {
            let is_negated = matches!(condition.as_slice(), [only] if only.first.sense == Sense::Negated && only.rest.is_empty());
            let tested = self.list(condition);
            let inside = self.list(body);
            let branch = if is_negated { Some(body) } else { otherwise };
            let ends = branch
                .and_then(|list| list.last())
                .and_then(|last| exit_of(&last.first));
            all = all.max(inside).max(match (tested, ends) {
                (Failure::None, _) => Failure::None,
                (_, Some(Exit::Error)) => Failure::Ends,
                _ => Failure::Lost,
            });
        }
        otherwise.map_or(all, |list| all.max(self.list(list)))
    }
}

/// The literal patterns of a `grep`; `None` where lines are left out, or it is no literal.
fn patterns(args: &[&str]) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for arg in args {
        match arg.strip_prefix('-') {
            Some(letters) if letters.chars().all(|c| "EFiwanHhe".contains(c)) => {}
            Some(letters) if letters.starts_with(['A', 'B', 'C']) => {}
            Some(_) => return None,
            None if arg.chars().all(|c| c.is_ascii_digit()) => {}
            None => found.push(*arg),
        }
    }
    let [pattern] = found.as_slice() else {
        return None;
    };
    let patterns = pattern.replace("\\|", "|");
    let is_literal = !patterns.contains(['*', '[', '(', '+', '?', '{', '\\', '^', '$', '…']);
    is_literal.then(|| patterns.split('|').map(str::to_owned).collect())
}
