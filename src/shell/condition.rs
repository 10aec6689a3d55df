//! `test`, `[` and `[[` about an entry of a listing: whether a loop over many entries goes on
//! with this one. Of anything else both ends are followed.

use ecow::EcoString;

use super::eval::Shell;
use super::field::{ANY_ONE, Field, Output, base_name};
use super::glob::{Glob, MAX_LISTINGS};
use super::lex::{Part, Word};
use super::regexp::{self, Span};
use super::status::Status;
use super::syntax::Sense;
use super::transfer::is_place;
use super::world::Scope;
use crate::base::target::Spelling;

/// `test …`, `[ … ]`.
pub(super) fn test(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let args = match args {
        [args @ .., last] if last.known() == Some("]") => args,
        _ => args,
    };
    shell.status = match args {
        [not, rest @ ..] if not.known() == Some("!") => shell.test(rest).seen(Sense::Negated),
        _ => shell.test(args),
    };
    Output::nothing()
}

impl Shell<'_> {
    /// `[[ … ]]`, with `&&` at most between its parts.
    #[inline(never)]
    pub(super) fn condition(&mut self, words: &[Word<'_>]) -> Status {
        // Only a loop has entries of a listing to choose from.
        let branches = |word: &Word<'_>| matches!(bare(word), Some("|" | "("));
        if !self.is_in(Scope::Turn) || words.iter().any(branches) {
            return Status::Open;
        }
        let mut all = Status::Success;
        let parts = words.split(|word| bare(word) == Some("&"));
        for part in parts.filter(|part| !part.is_empty()) {
            let (sense, part) = match part {
                [not, rest @ ..] if bare(not) == Some("!") => (Sense::Negated, rest),
                _ => (Sense::Plain, part),
            };
            match self.compared(part).seen(sense) {
                Status::Success => {}
                Status::Failure => return Status::Failure,
                Status::Likely | Status::Open => all = Status::Open,
            }
        }
        all
    }

    fn compared(&mut self, words: &[Word<'_>]) -> Status {
        let [left, operator, right] = words else {
            let fields: Vec<Field> = words.iter().map(|word| self.single(word)).collect();
            return self.test(&fields);
        };
        let operator = bare(operator).unwrap_or("");
        let left = self.single(left);
        let (Some(right), mut globs) = (self.pattern(right), Vec::new()) else {
            return Status::Open;
        };
        match operator {
            "=" | "==" | "!=" => globs.push(right),
            "=~" if regexp::add_globs(&mut globs, right.text(), Span::Part).is_some() => {}
            _ => return Status::Open,
        }
        let text = self.folded(&left.text);
        compare(&left.with_text(text), operator, &globs)
    }

    /// A pattern of which all is written out.
    pub(super) fn pattern(&self, word: &Word<'_>) -> Option<Glob> {
        let mut glob = Glob::default();
        for part in word.parts.iter() {
            match part {
                Part::Bare(text) => glob.push_active(&self.folded(text)),
                Part::Text(text) => glob.push_text(&self.folded(text)),
                _ => return None,
            }
        }
        Some(glob)
    }

    /// A text as `case` and `[[` compare it.
    pub(super) fn folded(&self, text: &str) -> EcoString {
        match self.ignores_case {
            true => text.to_lowercase().into(),
            false => text.into(),
        }
    }

    fn test(&mut self, args: &[Field]) -> Status {
        match args {
            [left, operator, right] if right.known().is_some() => {
                let mut glob = Glob::default();
                glob.push_text(&right.text);
                match operator.known() {
                    Some(operator @ ("=" | "==" | "!=")) => compare(left, operator, &[glob]),
                    _ => Status::Open,
                }
            }
            [operator, entry] => match operator.known() {
                Some("-z") if is_found(entry) => Status::Failure,
                Some("-n") if is_found(entry) => Status::Success,
                Some(operator) if is_listed(entry) => self.test_entry(operator, &entry.text),
                _ => Status::Open,
            },
            _ => Status::Open,
        }
    }

    /// What is not there, of another kind, or empty. Whether what is there still will be is open.
    fn test_entry(&mut self, operator: &str, path: &str) -> Status {
        let path = self.absolute(path);
        let Some(path) = path.filter(|_| self.globs_left.listings > MAX_LISTINGS / 2) else {
            return Status::Open;
        };
        let is_dir = self.scene.disk.is_dir(&path) || self.found.makes_dir(&path);
        let name = base_name(&path);
        let dir = path.trim_end_matches('/').strip_suffix(name).unwrap_or("");
        let is_there = is_dir || self.list(dir).iter().any(|entry| entry == name);
        match operator {
            "-d" if !is_dir => Status::Failure,
            "-f" if is_dir => Status::Failure,
            "-e" | "-f" | "-s" | "-r" | "-w" | "-x" | "-L" | "-h" if !is_there => Status::Failure,
            "-s" if !is_dir && is_place(&path) => self.test_size(&path),
            _ => Status::Open,
        }
    }

    /// Whether a file of a governed directory is empty. What this command wrote may have any size.
    fn test_size(&mut self, path: &str) -> Status {
        if self.found.makes_entry(path) {
            return Status::Open;
        }
        match self.scene.disk.bytes(path) {
            Some(bytes) if !self.spend(bytes.len() / 16) => Status::Open,
            Some(bytes) if bytes.is_empty() => Status::Failure,
            Some(_) => Status::Success,
            None => Status::Open,
        }
    }
}

fn compare(left: &Field, operator: &str, right: &[Glob]) -> Status {
    if !is_listed(left) {
        return Status::Open;
    }
    let is_equal = right.iter().any(|glob| glob.matches(&left.text));
    match is_equal == (operator != "!=") {
        true => Status::Success,
        false => Status::Failure,
    }
}

/// One of several entries that a pattern or a listing gave, or what is made of it.
pub(super) fn is_listed(field: &Field) -> bool {
    is_found(field) && field.spelling != ANY_ONE
}

fn is_found(field: &Field) -> bool {
    let is_found = matches!(field.spelling, Spelling::Glob { matches: Some(_) });
    is_found && !field.text.is_empty() && field.known().is_some()
}

/// A word that is one unquoted text.
pub(super) fn bare<'a>(word: &Word<'a>) -> Option<&'a str> {
    match &*word.parts {
        [Part::Bare(text)] => Some(text),
        _ => None,
    }
}
