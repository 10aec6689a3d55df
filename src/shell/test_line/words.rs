//! Simple commands: the test itself, what launches it, and the words beside it.

use super::{Failure, Filter, Intent, LineReading, Value};
use crate::base::text::is_in;
use crate::formats::test_output::{self, Runner};
use crate::shell::field::base_name;
use crate::shell::lex::{MAX_DEPTH, is_name};
use crate::shell::parse;
use crate::shell::syntax::{Assigned, Part, Redirect, Simple, Word};
use crate::shell::test_tools::{self as tools, Inner, Tool};

impl LineReading {
    pub(super) fn simple(&mut self, simple: &Simple, redirects: &[Redirect]) -> Failure {
        for set in &simple.assignments {
            let value = match &set.value {
                Assigned::Word(word) => self.values(word),
                Assigned::Array(_) => None,
            };
            let is_list = value
                .as_ref()
                .is_some_and(|value| value.iter().any(|text| text.contains("-exec")));
            if tools::is_path_like(&set.name) || set.name == "GOFLAGS" && is_list {
                self.doubt(&format!("{}=", set.name));
            }
            if let Assigned::Word(word) = &set.value {
                self.check_substitutions(word);
            }
            if self.saved(&set.name) {
                continue;
            }
            match value {
                Some(texts) => self.variables.insert(set.name.clone(), Value::Texts(texts)),
                None => self.variables.remove(&set.name),
            };
        }
        simple
            .words
            .iter()
            .for_each(|word| self.check_substitutions(word));
        let Some(first) = simple.words.first() else {
            return Failure::None;
        };
        if first.literal().is_none() {
            self.doubt("$");
            return Failure::None;
        }
        let texts: Vec<String> = simple.words.iter().map(|word| self.text(word)).collect();
        let words: Vec<&str> = texts.iter().map(String::as_str).collect();
        let status = self.words(&words, simple, redirects);
        if status != Failure::None {
            self.check_redirects(redirects, words[0]);
            self.redirect(status, redirects);
        }
        status
    }

    pub(super) fn saved(&self, name: &str) -> bool {
        matches!(self.variables.get(name), Some(Value::Number))
    }

    /// A command by its words.
    pub(super) fn words(
        &mut self,
        words: &[&str],
        simple: &Simple,
        redirects: &[Redirect],
    ) -> Failure {
        let (name, args) = (words[0], &words[1..]);
        match name {
            "cd" | "pushd" => self.change_dir(simple.words.get(1)),
            "export" => {
                let names = args.iter().filter_map(|arg| arg.split_once('='));
                let path_like = names
                    .map(|(name, _)| name)
                    .find(|name| tools::is_path_like(name));
                path_like
                    .into_iter()
                    .for_each(|name| self.doubt(&format!("{name}=")));
            }
            "set" => self.set(args),
            "exit" => {}
            "exec" if args.is_empty() => {
                let keeps = redirects.iter().all(|redirect| redirect.fd > Some(2));
                if !keeps {
                    self.doubt("exec");
                }
            }
            "source" | "." => {
                if !args.first().is_some_and(|file| file.ends_with("/activate")) {
                    self.doubt(name);
                }
            }
            "echo" => self.echo(args, simple),
            "tail" | "cat" if self.shows_log(args) => {
                if name == "tail" {
                    self.line.filters.push(Filter::Tail);
                }
            }
            _ if is_in(tools::SILENT, name) => {}
            _ => return self.program(words),
        }
        Failure::None
    }

    pub(super) fn program(&mut self, words: &[&str]) -> Failure {
        if self.depth > MAX_DEPTH || words.is_empty() {
            return Failure::None;
        }
        if let Some(line) = self.nested_line(words) {
            return line;
        }
        match tools::inner(words) {
            Inner::Unknown(word) => {
                self.doubt(word);
                return Failure::None;
            }
            Inner::Words(inner) if !inner.is_empty() => {
                self.note_paths(&words[..words.len() - inner.len()]);
                return self.inner(inner);
            }
            Inner::Words(_) | Inner::None => {}
        }
        let Some(tool) = tools::of(words) else {
            self.doubt(words[0]);
            return Failure::None;
        };
        if tool == Tool::Builder {
            return Failure::None;
        }
        self.note_paths(words);
        self.line.programs.push(base_name(words[0]).to_owned());
        let rows = tool.rows();
        for row in &rows {
            let idle = words[1..].iter().find(|word| is_idle(row, word));
            idle.into_iter().for_each(|word| self.doubt(word));
        }
        let is_test = matches!(tool, Tool::Runner(_))
            || words[1..].iter().any(|word| tools::is_task(&[word]));
        if is_test {
            self.line.intent = Intent::Test;
        }
        let is_new =
            |row: &&&'static Runner| !self.line.runners.iter().any(|known| known.name == row.name);
        let new: Vec<&'static Runner> = rows.iter().filter(is_new).copied().collect();
        self.line.runners.extend(new);
        Failure::Fails
    }

    /// What a wrapper runs, behind its own assignments.
    pub(super) fn inner(&mut self, words: &[&str]) -> Failure {
        let mut command = words;
        while let [word, rest @ ..] = command
            && let Some((name, _)) = word.split_once('=')
            && is_name(name)
        {
            if tools::is_path_like(name) {
                self.doubt(&format!("{name}="));
            }
            command = rest;
        }
        self.depth += 1;
        let status = self.program(command);
        self.depth -= 1;
        status
    }

    /// `bash -ec 'LINE'`
    pub(super) fn nested_line(&mut self, words: &[&str]) -> Option<Failure> {
        let [shell, options, line] = words else {
            return None;
        };
        let letters = options.strip_prefix('-')?;
        let is_line = is_in("bash sh zsh", shell)
            && letters.ends_with('c')
            && letters.chars().all(|c| "celuix".contains(c));
        if !is_line {
            return None;
        }
        let (list, limit) = parse::statements(line, 0);
        if limit.is_some() {
            self.doubt("syntax");
        }
        let (errexit, pipefail) = (self.ends_at_failure, self.has_pipefail);
        (self.ends_at_failure, self.has_pipefail) = (letters.contains('e'), false);
        self.depth += 1;
        let status = if self.depth <= MAX_DEPTH {
            self.list(&list)
        } else {
            Failure::None
        };
        self.depth -= 1;
        (self.ends_at_failure, self.has_pipefail) = (errexit, pipefail);
        Some(status.outside())
    }

    pub(super) fn change_dir(&mut self, dir: Option<&Word>) {
        match dir.and_then(|dir| self.values(dir)) {
            Some(dirs) => self.line.dirs.extend(dirs),
            None => self.doubt("cd"),
        }
    }

    pub(super) fn set(&mut self, args: &[&str]) {
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let is_on = arg.starts_with('-');
            let letters = arg.trim_start_matches(['-', '+']);
            if letters.ends_with('o') {
                match rest.next() {
                    Some(&"pipefail") => self.has_pipefail = is_on,
                    Some(&"errexit") => self.ends_at_failure = is_on,
                    Some(&("nounset" | "xtrace" | "errtrace")) => {}
                    _ => self.doubt("set -o"),
                }
            }
            if letters.contains('e') {
                self.ends_at_failure = is_on;
            }
            if letters.contains('n') {
                self.doubt("set -n");
            }
        }
    }

    /// Whole lines, none of which a runner could have printed.
    pub(super) fn echo(&mut self, args: &[&str], simple: &Simple) {
        let mut is_known = !args.first().is_some_and(|arg| arg.starts_with('-'));
        let mut line = String::new();
        for word in &simple.words[1..] {
            match self.values(word).or_else(|| self.number(word)) {
                Some(texts) => line += &texts.join("\n"),
                None => is_known = false,
            }
            line.push(' ');
        }
        if !is_known || line.contains('\\') || test_output::is_closing(line.trim_end()) {
            self.doubt("echo");
        }
    }

    /// A word with exit statuses in it.
    pub(super) fn number(&self, word: &Word) -> Option<Vec<String>> {
        let mut text = String::new();
        for part in &word.parts {
            match part {
                Part::Bare(part) | Part::Quoted(part) => text += part,
                Part::Parameter(parameter, _)
                    if is_in("? PIPESTATUS pipestatus #", &parameter.name)
                        || self.saved(&parameter.name) =>
                {
                    text.push('1');
                }
                _ => return None,
            }
        }
        Some(vec![text])
    }
}

/// Whether a word is an option by which a runner says that tests passed which it did not run.
fn is_idle(runner: &Runner, word: &str) -> bool {
    let key = word.split('=').next().unwrap_or(word);
    // Go takes two dashes for one.
    let is_doubled = runner.name == "go" && key.starts_with("--");
    is_in(runner.idle, if is_doubled { &key[1..] } else { key })
}
