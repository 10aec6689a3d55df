//! A command as the logs may hold it, made of what cannot be a secret: the base names of
//! programs, the names of options, governed paths and operators. Every other word is `…`.
//!
//! Nothing is searched for credentials, so none is missed: what is not on this list is not kept.

use super::lex::is_name;
use super::parse;
use super::syntax::{
    self, Command, Job, Kind, Link, List, Part, Pipeline, Redirect, Sense, Simple, Statement, To,
    Word,
};
use crate::base::text::{self, is_in, shell_quote, truncate};

/// The most characters of an excerpt.
const MAX_EXCERPT: usize = 200;

/// Bytes of a command that are looked at: far more than an excerpt shows.
const MAX_READ: usize = 16 << 10;

/// The longest name of a program or an option: tokens of services are longer.
const MAX_NAME: usize = 32;

const HIDDEN: &str = "…";

/// Programs that run the one behind them.
const WRAPPERS: &str = "builtin command env exec nice nohup sudo time timeout xargs";

/// Whether a path is governed: asked of the directory to which `cd` led, empty before the first
/// one, and of a path as it is written there.
type IsGoverned<'f> = &'f dyn Fn(&str, &str) -> bool;

/// What the logs may hold of a command.
pub fn excerpt(command: &str, is_governed: IsGoverned<'_>) -> String {
    print(command, is_governed, &|_| false)
}

/// The same of a test command: the operands of a program that `is_runner` names, by its base
/// name, are whole, but for addresses and the values of assignments.
pub fn proof(line: &str, is_governed: IsGoverned<'_>, is_runner: &dyn Fn(&str) -> bool) -> String {
    print(line, is_governed, is_runner)
}

fn print(command: &str, is_governed: IsGoverned<'_>, is_runner: &dyn Fn(&str) -> bool) -> String {
    let read = text::head(command, MAX_READ);
    let (list, limit) = parse::statements(read, 0);
    let mut printer = Printer {
        text: String::new(),
        dir: String::new(),
        is_governed,
        is_runner,
    };
    printer.list(&list);
    if limit.is_some() || read.len() < command.len() {
        printer.word(HIDDEN);
    }
    truncate(&printer.text, MAX_EXCERPT)
}

/// How the words behind a program are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Only what is no secret.
    Hidden,
    /// Those of a test runner.
    Whole,
}

struct Printer<'f> {
    text: String,
    /// Where `cd` led, as it is written; empty before the first one.
    dir: String,
    is_governed: IsGoverned<'f>,
    is_runner: &'f dyn Fn(&str) -> bool,
}

impl Printer<'_> {
    /// Adds a word, with a blank before it where one is missing.
    fn word(&mut self, word: &str) {
        let is_apart = self.text.is_empty() || self.text.ends_with(' ') || word.is_empty();
        self.text.push_str(if is_apart { "" } else { " " });
        self.text.push_str(word);
    }

    /// Adds a mark that belongs to the word before it.
    fn mark(&mut self, mark: &str) {
        self.text.push_str(mark);
    }

    fn is_full(&self) -> bool {
        self.text.len() > 4 * MAX_EXCERPT
    }

    fn list(&mut self, list: &List) {
        for (at, statement) in list.iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.statement(statement);
            match statement.job {
                Job::Background => self.word("&"),
                Job::Foreground if at + 1 < list.len() => self.mark(";"),
                Job::Foreground => {}
            }
        }
    }

    fn statement(&mut self, statement: &Statement) {
        self.pipeline(&statement.first);
        for (link, pipeline) in &statement.rest {
            self.word(match link {
                Link::And => "&&",
                Link::Or => "||",
            });
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if pipeline.sense == Sense::Negated {
            self.word("!");
        }
        for (at, command) in pipeline.commands.iter().enumerate() {
            if at > 0 {
                self.word("|");
            }
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        self.kind(&command.kind);
        for redirect in &command.redirects {
            self.redirect(redirect);
        }
    }

    /// A compound command is words with the lists behind them.
    fn kind(&mut self, kind: &Kind) {
        match kind {
            Kind::Simple(simple) => return self.simple(simple),
            Kind::Function { body, .. } => {
                self.word("…()");
                return self.command(body);
            }
            Kind::Test(words) => {
                self.word("[[");
                self.operands(words, Operands::Hidden);
            }
            Kind::Case { subject, .. } => {
                self.word("case");
                self.operand(subject);
                self.word("in");
            }
            Kind::For { words, .. } => {
                let is_listed = words.is_some();
                self.word(if is_listed { "for … in" } else { "for …" });
                self.operands(words.as_deref().unwrap_or(&[]), Operands::Hidden);
                self.mark(";");
            }
            _ => {}
        }
        let mark = match kind {
            Kind::Case { .. } => ";;",
            Kind::Subshell(_) | Kind::Arithmetic(..) => "",
            _ => ";",
        };
        let dir = self.dir.clone();
        let (blocks, end) = blocks(kind);
        for (word, list) in blocks {
            self.word(word);
            self.list(list);
            if !self.text.ends_with('&') {
                self.mark(mark);
            }
        }
        self.word(end);
        // What a subshell changes its directory to ends with it.
        if matches!(kind, Kind::Subshell(_)) {
            self.dir = dir;
        }
    }

    fn simple(&mut self, simple: &Simple) {
        for assignment in &simple.assignments {
            match assigned(&assignment.name) {
                Some(shown) => self.word(&shown),
                None => self.word(HIDDEN),
            }
        }
        let mut words = simple.words.iter();
        while let Some(word) = words.next() {
            let name = program_name(word);
            self.word(name.unwrap_or(HIDDEN));
            let shown = match name {
                Some(name) if (self.is_runner)(name) => Operands::Whole,
                _ => Operands::Hidden,
            };
            if let (Some("cd" | "pushd"), [to]) = (name, words.as_slice()) {
                self.operand(to);
                self.dir = join(&self.dir, &to.literal().unwrap_or_default());
                return;
            }
            let is_wrapper = name.is_some_and(|name| is_in(WRAPPERS, name));
            if shown == Operands::Whole || !is_wrapper {
                return self.operands(words.as_slice(), shown);
            }
            // Assignments and numbers may come before the program that it runs.
            while let Some(shown) = words.as_slice().first().and_then(before_program) {
                self.word(&shown);
                words.next();
            }
            if words.as_slice().first().and_then(option).is_some() {
                return self.operands(words.as_slice(), Operands::Hidden);
            }
        }
    }

    fn operands(&mut self, words: &[Word], shown: Operands) {
        for word in words {
            match whole(word) {
                Some(operand) if shown == Operands::Whole => self.word(&operand),
                _ => self.operand(word),
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect) {
        let fd = redirect.fd.map_or(String::new(), |fd| fd.to_string());
        let (mark, to) = match &redirect.to {
            To::Read(word) => ("<", Some(word)),
            To::Write(word) => (">", Some(word)),
            To::Append(word) => (">>", Some(word)),
            To::Duplicate(word) => match descriptor(word) {
                Some(to) => return self.word(&format!("{fd}>&{to}")),
                None => (">&", Some(word)),
            },
            To::HereString(_) => ("<<< …", None),
            To::Heredoc(_) => ("<< …", None),
        };
        self.word(&format!("{fd}{mark}"));
        if let Some(word) = to {
            self.operand(word);
        }
    }

    fn operand(&mut self, word: &Word) {
        let shown = option(word).or_else(|| self.governed(word));
        self.word(shown.as_deref().unwrap_or(HIDDEN));
    }

    /// A governed path, which may begin with a variable or be the value of a `NAME=`.
    fn governed(&self, word: &Word) -> Option<String> {
        let is_empty = |part: &&Part| matches!(part, Part::Quoted(text) if text.is_empty());
        let n_empty = word.parts.iter().take_while(is_empty).count();
        let (start, path) = match word.parts[n_empty..].split_first()? {
            (Part::Parameter(parameter, _), rest) if parameter.operator.is_empty() => {
                let path = syntax::literal(rest)?.strip_prefix('/')?.to_owned();
                (format!("${}/", parameter.name), path)
            }
            _ => {
                let text = word.literal()?;
                match text.split_once('=') {
                    Some((name, path)) if is_name(name) => (format!("{name}="), path.to_owned()),
                    _ => (String::new(), text),
                }
            }
        };
        let is_shown = path.chars().all(is_of_path) && (self.is_governed)(&self.dir, &path);
        is_shown.then(|| start + &path)
    }
}

type Block<'l> = (&'static str, &'l List);

/// The lists of a compound command, each with the word before it, and the word at its end.
fn blocks(kind: &Kind) -> (Vec<Block<'_>>, &'static str) {
    match kind {
        Kind::If { arms, otherwise } => {
            let words = ["if"].into_iter().chain(std::iter::repeat("elif"));
            let blocks = words
                .zip(arms)
                .flat_map(|(word, (condition, body))| [(word, condition), ("then", body)]);
            let last = otherwise.iter().map(|list| ("else", list));
            (blocks.chain(last).collect(), "fi")
        }
        Kind::While {
            sense,
            condition,
            body,
        } => {
            let word = match sense {
                Sense::Plain => "while",
                Sense::Negated => "until",
            };
            (vec![(word, condition), ("do", body)], "done")
        }
        Kind::For { body, .. } => (vec![("do", body)], "done"),
        Kind::Case { arms, .. } => (arms.iter().map(|arm| ("…)", &arm.body)).collect(), "esac"),
        Kind::Group(list) => (vec![("{", list)], "}"),
        Kind::Subshell(list) => (vec![("(", list)], ")"),
        Kind::Arithmetic(_, list) => (vec![("((…))", list)], ""),
        Kind::Test(_) => (Vec::new(), "]]"),
        Kind::Simple(_) | Kind::Function { .. } => (Vec::new(), ""),
    }
}

/// A path as it is seen from where one began.
fn join(dir: &str, path: &str) -> String {
    if dir.is_empty() || path.starts_with(['/', '~']) {
        return path.to_owned();
    }
    format!("{dir}/{path}")
}

/// The characters of a path that is shown: no mark of an address, a pair or a sentence.
fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "._/~*+{},-[]!".contains(c)
}

/// The base name of a program that is written plainly.
fn program_name(word: &Word) -> Option<&str> {
    let [Part::Bare(path)] = word.parts.as_slice() else {
        return None;
    };
    let name = path.rsplit('/').next()?;
    (is_plain_name(name) || name == "[").then_some(name)
}

/// Whether a text has the form of a program's or an option's name.
fn is_plain_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte))
}

/// `NAME=…`
fn assigned(name: &str) -> Option<String> {
    (is_name(name) && name.len() <= MAX_NAME).then(|| format!("{name}=…"))
}

/// An assignment or a number between a wrapper and its program.
fn before_program(word: &Word) -> Option<String> {
    let (Part::Bare(first), rest) = word.parts.split_first()? else {
        return None;
    };
    match first.split_once('=') {
        Some((name, _)) => assigned(name),
        None => (rest.is_empty() && first.starts_with(|c: char| c.is_ascii_digit()))
            .then(|| HIDDEN.to_owned()),
    }
}

/// The name of an option, without its value: `--name=…`, and of short ones the first letter.
fn option(word: &Word) -> Option<String> {
    let (Part::Bare(first) | Part::Quoted(first)) = word.parts.first()? else {
        return None;
    };
    if matches!(first.as_str(), "-" | "--") && word.parts.len() == 1 {
        return Some(first.clone());
    }
    let Some(long) = first.strip_prefix("--") else {
        let letter = first.strip_prefix('-')?.chars().next()?;
        return letter.is_ascii_alphanumeric().then(|| format!("-{letter}"));
    };
    let (name, value) = match long.split_once('=') {
        Some((name, _)) => (name, "=…"),
        None if word.parts.len() == 1 => (long, ""),
        None => return None,
    };
    is_plain_name(name).then(|| format!("--{name}{value}"))
}

/// An operand of a test runner: which test, of which package.
fn whole(word: &Word) -> Option<String> {
    let text = word.literal()?;
    if text.starts_with('-') || text.contains("://") {
        return None;
    }
    Some(match text.split_once('=') {
        Some((name, _)) if is_name(name) => assigned(name)?,
        _ => shell_quote(&text).into_owned(),
    })
}

/// The descriptor that a redirection copies.
fn descriptor(word: &Word) -> Option<String> {
    let text = word.literal()?;
    let is_descriptor = text == "-" || text.bytes().all(|byte| byte.is_ascii_digit());
    is_descriptor.then_some(text)
}

#[cfg(test)]
mod tests;
