//! Redirections as they run: which files they open, and where a command's streams lead.

use ecow::EcoString;

use super::eval::Shell;
use super::field::{Field, Output};
use super::heard::Heard;
use super::lex::{Part, Word};
use super::report::Place;
use super::syntax::{Fd, Redirect, To};
use crate::base::target::{Act, Spelling};

/// Where a command's redirections lead its streams.
#[derive(Default)]
pub(super) struct Streams {
    stdin: Option<Option<Output>>,
    stdout: Option<Sink>,
}

enum Sink {
    File(Place),
    Elsewhere,
}

impl Shell<'_> {
    /// Opens redirections in order; the files they name are targets.
    pub(super) fn open(&mut self, redirects: &[Redirect<'_>]) -> Streams {
        let mut streams = Streams::default();
        for redirect in redirects {
            let (word, act) = match &redirect.to {
                To::Write(word) => (word, Act::Write),
                To::Append(word) | To::ReadWrite(word) => (word, Act::Edit),
                To::Duplicate(word) => {
                    let field = self.single(word);
                    self.duplicate(redirect.fd, &field, &mut streams);
                    continue;
                }
                To::Read(_) | To::Heredoc(_) | To::HereString(_) | To::Nothing => {
                    self.open_input(redirect, &mut streams);
                    continue;
                }
            };
            let Some(field) = self.one_field(word) else {
                continue;
            };
            match redirect.to {
                To::ReadWrite(_) => drop(self.report(&field, act)),
                _ => self.lead(redirect.fd, act, &field, &mut streams),
            }
        }
        streams
    }

    /// `>` and `>>`: a descriptor's stream goes into a file.
    pub(super) fn lead(&mut self, fd: Fd, act: Act, field: &Field, streams: &mut Streams) {
        let place = self.report(field, act);
        if matches!(fd, Fd::Usual | Fd::Number(1)) {
            streams.stdout = Some(place.map_or(Sink::Elsewhere, Sink::File));
        }
    }

    /// `>&2` moves a stream; `>&file` writes both into the file.
    pub(super) fn duplicate(&mut self, fd: Fd, field: &Field, streams: &mut Streams) {
        let Some(text) = field.known() else { return };
        let digits = text.strip_suffix('-').unwrap_or(text);
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            if matches!(fd, Fd::Usual | Fd::Number(1)) && digits != "1" {
                streams.stdout = Some(Sink::Elsewhere);
            }
        } else if fd == Fd::Usual {
            self.lead(fd, Act::Write, field, streams);
        }
    }

    fn open_input(&mut self, redirect: &Redirect<'_>, streams: &mut Streams) {
        let input = match &redirect.to {
            To::Heredoc(id) => self.document(*id),
            To::HereString(word) => {
                let field = self.single(word);
                let line = field.known().map(|text| format!("{text}\n"));
                line.map(|line| field.with_text(line).into())
            }
            To::Read(word) => self.file_input(word),
            _ => return,
        };
        if matches!(redirect.fd, Fd::Usual | Fd::Number(0)) {
            streams.stdin = Some(input);
        }
    }

    /// What a command reads: a file that this command wrote, or its input.
    pub(super) fn input(&self, file: Option<&Field>) -> Option<EcoString> {
        match file.filter(|file| file.known() != Some("-")) {
            Some(file) => self.written(file),
            None => self.stdin.as_ref().map(|stdin| stdin.text.clone()),
        }
    }

    fn file_input(&mut self, word: &Word<'_>) -> Option<Output> {
        if let [Part::Process(list)] = &*word.parts {
            return self.captured(|shell| shell.walk(list));
        }
        let field = self.single(word);
        self.written(&field).map(Output::literal)
    }

    /// Runs with the streams in place; a known output becomes its file's text.
    pub(super) fn streamed(
        &mut self,
        streams: Streams,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        let outer = streams
            .stdin
            .map(|stdin| std::mem::replace(&mut self.stdin, stdin));
        let heard = match streams.stdout {
            Some(Sink::File(_)) => Heard::Somewhere,
            None | Some(Sink::Elsewhere) => self.heard,
        };
        let output = self.heard_as(heard, run);
        if let Some(outer) = outer {
            self.stdin = outer;
        }
        match streams.stdout {
            None => output,
            Some(Sink::Elsewhere) => Output::nothing(),
            Some(Sink::File(place)) => {
                self.fill(place, output);
                Output::nothing()
            }
        }
    }

    /// Notes what goes into a file that is written or appended to.
    pub(super) fn fill(&mut self, place: Place, output: Option<Output>) {
        let text = output.filter(|output| output.spelling == Spelling::Literal);
        let text = text.map(|output| output.text);
        match self.found.act(place) {
            Some(Act::Edit) => self.describe_end(place, text),
            _ => self.describe(place, text),
        }
    }
}
