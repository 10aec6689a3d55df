//! Targets as they are found: resolved, followed through links, each once.

use std::borrow::Cow;
use std::collections::HashMap;

use super::eval::Shell;
use super::field::{Field, Output, UNKNOWN};
use super::syntax::{Fd, Redirect, To};
use crate::target::{Act, Spelling, Target};

#[derive(Default)]
pub(super) struct Found {
    targets: Vec<Target>,
    by_path: HashMap<String, Vec<usize>>,
    /// Links this command made: where they stand, and where they point.
    links: Vec<(String, String)>,
}

const MAX_LINKS: usize = 64;

/// A place in `Found`.
pub(super) type Place = usize;

impl Found {
    fn add(&mut self, target: Target) -> Place {
        let places = self
            .by_path
            .entry(clean(&target.path).into_owned())
            .or_default();
        for place in places.iter() {
            let Some(known) = self.targets.get_mut(*place) else {
                continue;
            };
            // What the file held before is no longer what it will hold.
            known.text = None;
            if known.act == target.act {
                known.link_to = target.link_to;
                return *place;
            }
        }
        let place = self.targets.len();
        places.push(place);
        self.targets.push(target);
        place
    }

    /// Every later path is compared with every link, so their number is bounded.
    fn link(&mut self, link: &str, to: &str) {
        if self.links.len() < MAX_LINKS {
            self.links
                .push((clean(link).into_owned(), clean(to).into_owned()));
        }
    }

    /// Whether this command makes a directory at the path.
    pub(super) fn makes_dir(&self, path: &str) -> bool {
        let places = self.by_path.get(clean(path).as_ref()).into_iter().flatten();
        let mut acts = places.filter_map(|at| Some(self.targets.get(*at)?.act));
        acts.any(|act| act == Act::MakeDir)
    }

    fn text_of(&self, path: &str) -> Option<&str> {
        let places = self.by_path.get(clean(path).as_ref())?;
        let mut texts = places
            .iter()
            .filter_map(|at| self.targets.get(*at)?.text.as_deref());
        texts.next_back()
    }

    /// `path` as the links made so far lead it; a link that is itself the
    /// path counts only when its file is written through it.
    fn follow(&self, path: &str, act: Act) -> Option<String> {
        if self.links.is_empty() {
            return None;
        }
        let through = matches!(act, Act::Write | Act::Edit | Act::Clear | Act::MakeDir);
        let mut current = clean(path).into_owned();
        let mut moved = false;
        for _ in 0..8 {
            let hop = self.links.iter().rev().find_map(|(link, to)| {
                let rest = current.strip_prefix(link.as_str())?;
                let inside = rest.starts_with('/') || (rest.is_empty() && through);
                inside.then(|| format!("{to}{rest}"))
            });
            match hop {
                Some(next) => current = clean(&next).into_owned(),
                None => break,
            }
            moved = true;
        }
        moved.then_some(current)
    }
}

/// `.`, `..` and doubled slashes taken out, by the text alone.
pub(super) fn clean(path: &str) -> Cow<'_, str> {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let mut tail = path.split('/');
    if tail.next() == Some("") && tail.all(is_plain) {
        return Cow::Borrowed(path);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    Cow::Owned(format!("/{}", parts.join("/")))
}

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

/// The number Bash gives the first process substitution.
const FIRST_PIPE: usize = 63;

/// Streams rather than files; `-` is how commands name their own.
fn is_device(path: &str) -> bool {
    matches!(
        path,
        "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/stdin"
    ) || path.starts_with("/dev/fd/")
        || path.starts_with("/dev/tcp/")
        || path.starts_with("/dev/udp/")
}

impl Shell<'_> {
    pub(super) fn into_targets(self) -> Vec<Target> {
        self.found.targets
    }

    /// Notes that the command changes the path a field names.
    pub(super) fn report(&mut self, field: &Field, act: Act) -> Option<Place> {
        self.report_with(field, act, None, None)
    }

    pub(super) fn report_all<'f>(&mut self, fields: impl IntoIterator<Item = &'f Field>, act: Act) {
        for field in fields {
            self.report(field, act);
        }
    }

    pub(super) fn report_text(&mut self, field: &Field, act: Act, text: Option<String>) {
        self.report_with(field, act, text, None);
    }

    /// A link at `field`; later paths of this command are followed through it.
    pub(super) fn report_link(&mut self, field: &Field, to: &Field) {
        let link_to = to.known().map(str::to_owned);
        self.report_with(field, Act::Link, None, link_to);
        let link = field.known().and_then(|link| self.absolute(link));
        if let (Some(link), Some(to)) = (link, to.known()) {
            let dir = link.rsplit_once('/').map_or("/", |(dir, _)| dir);
            let to = super::field::join(dir, to);
            self.found.link(&link, &to);
        }
    }

    /// A second name for a file: writing through it changes the first one.
    pub(super) fn report_hard_link(&mut self, field: &Field, to: &Field) {
        self.report(field, Act::Link);
        let link = field.known().and_then(|link| self.absolute(link));
        let to = to.known().and_then(|to| self.absolute(to));
        if let (Some(link), Some(to)) = (link, to) {
            self.found.link(&link, &to);
        }
    }

    fn report_with(
        &mut self,
        field: &Field,
        act: Act,
        text: Option<String>,
        link_to: Option<String>,
    ) -> Option<Place> {
        let known = self.nameable(field, act)?;
        if known.is_empty() || is_device(known) || known.contains('\0') {
            return None;
        }
        let path = self.absolute(known)?;
        if !self.spend(path.len()) {
            return None;
        }
        let path = self.found.follow(&path, act).unwrap_or(path);
        let place = self.found.add(Target {
            path,
            act,
            spelling: field.spelling,
            text: None,
            link_to,
        });
        self.describe(place, text);
        Some(place)
    }

    fn describe(&mut self, place: Place, text: Option<String>) {
        if let Some(target) = self.found.targets.get_mut(place) {
            target.text = text.filter(|text| !text.contains(UNKNOWN));
        }
    }

    /// The path a field names; for a removal of what cannot be expanded, the
    /// directory it reaches into.
    fn nameable<'f>(&self, field: &'f Field, act: Act) -> Option<&'f str> {
        let Some(gap) = field.gap() else {
            return Some(&field.text);
        };
        let removes = matches!(act, Act::Remove | Act::RemoveTree | Act::MoveAway);
        if !removes || field.spelling == Spelling::Literal {
            return None;
        }
        let (dir, _) = field.text.get(..gap)?.rsplit_once('/')?;
        Some(dir)
    }

    /// A name under which what a process substitution prints can be read.
    pub(super) fn pipe(&mut self, output: Option<Output>) -> Field {
        let n = FIRST_PIPE + self.pipes.len();
        self.pipes.push(output.map(|output| output.text));
        Field::literal(format!("/dev/fd/{n}"))
    }

    /// What this command itself wrote to a path, or to a stream, where that is known.
    pub(super) fn written(&self, field: &Field) -> Option<String> {
        let path = self.absolute(field.known()?)?;
        if let Some(stream) = path
            .strip_prefix("/dev/")
            .or_else(|| path.strip_prefix("/proc/self/"))
        {
            return match stream {
                "stdin" | "fd/0" => self.stdin.as_ref().map(|stdin| stdin.text.to_string()),
                _ => {
                    let n: usize = stream.strip_prefix("fd/")?.parse().ok()?;
                    let pipe = self.pipes.get(n.checked_sub(FIRST_PIPE)?)?;
                    pipe.as_ref().map(|text| text.to_string())
                }
            };
        }
        self.found.text_of(&path).map(str::to_owned)
    }

    /// Opens redirections in order; the files they name are targets.
    pub(super) fn open(&mut self, redirects: &[Redirect<'_>]) -> Streams {
        let mut streams = Streams::default();
        for redirect in redirects {
            let (word, act) = match &redirect.to {
                To::Write(word) | To::Both(word) => (word, Act::Write),
                To::Append(word) | To::BothAppend(word) | To::ReadWrite(word) => (word, Act::Edit),
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
            let fields = self.all_fields(std::slice::from_ref(word));
            let [field] = fields.as_slice() else { continue };
            let place = self.report(field, act);
            let takes_stdout = match (&redirect.to, redirect.fd) {
                (To::ReadWrite(_), _) => false,
                (_, Fd::Usual | Fd::Number(1)) => true,
                _ => false,
            };
            if takes_stdout {
                streams.stdout = Some(place.map_or(Sink::Elsewhere, Sink::File));
            }
        }
        streams
    }

    /// `>&2` moves a stream; `>&file` writes both into the file.
    fn duplicate(&mut self, fd: Fd, field: &Field, streams: &mut Streams) {
        let Some(text) = field.known() else { return };
        let digits = text.strip_suffix('-').unwrap_or(text);
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            if matches!(fd, Fd::Usual | Fd::Number(1)) && digits != "1" {
                streams.stdout = Some(Sink::Elsewhere);
            }
        } else if fd == Fd::Usual {
            let place = self.report(field, Act::Write);
            streams.stdout = Some(place.map_or(Sink::Elsewhere, Sink::File));
        }
    }

    fn open_input(&mut self, redirect: &Redirect<'_>, streams: &mut Streams) {
        let input = match &redirect.to {
            To::Heredoc(id) => self.document(*id),
            To::HereString(word) => {
                let field = self.single(word);
                let line = field.known().map(|text| format!("{text}\n"));
                line.map(Output::literal)
            }
            To::Read(word) => self.file_input(word),
            _ => return,
        };
        if matches!(redirect.fd, Fd::Usual | Fd::Number(0)) {
            streams.stdin = Some(input);
        }
    }

    fn file_input(&mut self, word: &super::lex::Word<'_>) -> Option<Output> {
        if let [super::lex::Part::Process(list)] = word.parts.as_slice() {
            return self.subshell(|shell| shell.walk(list));
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
        let output = run(self);
        if let Some(outer) = outer {
            self.stdin = outer;
        }
        match streams.stdout {
            None => output,
            Some(Sink::Elsewhere) => Output::nothing(),
            Some(Sink::File(place)) => {
                let writes = self.found.targets.get(place).map(|target| target.act);
                if writes == Some(Act::Write) {
                    let text = output.filter(|output| output.spelling == Spelling::Literal);
                    self.describe(place, text.map(|output| output.text.to_string()));
                }
                Output::nothing()
            }
        }
    }
}
