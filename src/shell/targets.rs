//! Targets as they are found, and what of the disk the command itself has made.

use std::collections::BTreeSet;

use super::eval::{LISTING, Ran, Shell};
use super::field::{Field, dir_name, join};
use crate::base::path::collapse;
use crate::base::target::{Act, Spelling, Target, Text};
use crate::base::text::is_in;

/// What a command made at a path.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Dir,
    /// With what it holds, as far as that is known.
    File(Option<Text>),
    /// With where it leads to.
    Link(String),
}

impl Shell<'_> {
    pub(super) fn report(&mut self, field: &Field, act: Act) {
        for name in self.found(field).iter() {
            self.add_target(name, act, None, None);
        }
    }

    pub(super) fn report_all<'f>(&mut self, fields: impl IntoIterator<Item = &'f Field>, act: Act) {
        fields.into_iter().for_each(|field| self.report(field, act));
    }

    pub(super) fn report_link(&mut self, at: &Field, to: &Field) {
        self.add_target(at, Act::Link, None, to.known());
    }

    /// Reports a file that is written or, with `Act::Edit`, added to, with the text where
    /// that is known.
    pub(super) fn write(&mut self, field: &Field, act: Act, text: Option<&Field>) {
        let known = text.and_then(Field::known);
        let content = known.and_then(|text| match act {
            Act::Edit => self.added(field, text),
            _ => Some(Text::Whole(text.into())),
        });
        self.add_target(field, act, content, None);
    }

    /// What is added to a file, where nothing else may have been before.
    fn added(&self, field: &Field, more: &str) -> Option<Text> {
        let path = self.absolute(&field.text)?;
        let is_first = self.n_branches == 0
            && self.programs.is_empty()
            && !self.made.contains_key(&*collapse(&path));
        is_first.then(|| Text::Added(more.into()))
    }

    fn add_target(&mut self, field: &Field, act: Act, text: Option<Text>, link_to: Option<&str>) {
        self.spend(1 + field.text.len() / 64);
        let is_perhaps_other = field.spelling != Spelling::Literal
            && self.listed_at.is_some_and(|at| self.n_branches > at);
        let removes = matches!(act, Act::Remove | Act::RemoveTree | Act::MoveAway);
        let is_one_of_many = field.spelling == Spelling::Glob { matches: None } && !removes;
        // Of a pattern that is not known the directory may be.
        let named = match (field.spelling, field.known()) {
            _ if is_perhaps_other || is_one_of_many => None,
            (Spelling::Glob { matches: None }, None) => {
                self.absolute(&join(dir_name(&field.text), "*"))
            }
            _ => self.absolute(&field.text),
        };
        let Some(path) = named.map(|path| self.through_links(path)) else {
            self.is_obscure = true;
            self.unknown_write();
            return;
        };
        if field.is("-") || is_device(&path) || path.starts_with("/proc/self/") {
            return;
        }
        // What the command made itself is no find of a listing.
        let is_own = removes && self.made.contains_key(&*collapse(&path));
        self.keep(&path, act, &text, link_to);
        self.push(Target {
            path,
            act,
            spelling: if is_own {
                Spelling::Literal
            } else {
                field.spelling
            },
            text,
            link_to: link_to.map(Into::into),
        });
    }

    /// A target that repeats the last one of its path adds nothing to it.
    fn push(&mut self, target: Target) {
        let last = self.by_path.get(&target.path);
        if let Some(last) = last.and_then(|at| self.targets.get_mut(*at)) {
            let is_certain = self.n_branches == 0;
            let is_same = last.act == target.act
                && last.spelling == target.spelling
                && last.link_to == target.link_to;
            if is_same && (is_certain || last.text == target.text) {
                last.text = target.text;
                return;
            }
            if is_certain {
                last.text = None;
            }
        }
        self.by_path.insert(target.path.clone(), self.targets.len());
        self.targets.push(target);
    }

    /// A path below a link that the command made, as it is on the disk.
    fn through_links(&self, path: String) -> String {
        if !self.makes_links {
            return path;
        }
        let link = path.match_indices('/').skip(1).find_map(|(at, _)| {
            let Some(Entry::Link(to)) = self.made.get(&path[..at]) else {
                return None;
            };
            Some(format!("{to}{}", &path[at..]))
        });
        link.unwrap_or(path)
    }

    /// Keeps in mind what a target makes of the disk.
    fn keep(&mut self, path: &str, act: Act, text: &Option<Text>, link_to: Option<&str>) {
        let path = collapse(path).into_owned();
        match act {
            Act::MakeDir => drop(self.made.insert(path, Entry::Dir)),
            Act::Write | Act::Edit => drop(self.made.insert(path, Entry::File(text.clone()))),
            Act::Link => {
                self.makes_links = true;
                let (dir, _) = path.rsplit_once('/').unwrap_or_default();
                let made = match link_to {
                    Some(to) => Entry::Link(join(dir, to)),
                    None => Entry::File(None),
                };
                self.made.insert(path, made);
            }
            Act::Remove => drop(self.made.remove(&path)),
            Act::RemoveTree | Act::MoveAway => {
                self.made.remove(&path);
                let below: Vec<String> = self.made_below(&path).cloned().collect();
                for path in below {
                    self.made.remove(&path);
                }
            }
            Act::Clear | Act::Clean(_) => {}
        }
    }

    fn made_below(&self, dir: &str) -> impl Iterator<Item = &String> {
        let start = format!("{}/", dir.trim_end_matches('/'));
        let paths = self.made.range(start.clone()..).map(|(path, _)| path);
        paths.take_while(move |path| path.starts_with(&start))
    }

    /// The names in a directory, in order: those that are there, and those that the command
    /// made.
    pub(super) fn entries(&mut self, dir: &str) -> Vec<String> {
        self.spend(LISTING);
        if self.has_given_up() {
            return Vec::new();
        }
        let dir = collapse(dir).into_owned();
        let mut names: BTreeSet<String> = self.scene.disk.entries(&dir).into_iter().collect();
        let start = dir.trim_end_matches('/').len() + 1;
        let made = self
            .made_below(&dir)
            .filter_map(|path| path.get(start..)?.split('/').next());
        names.extend(made.map(str::to_owned));
        self.spend(names.len() / 8);
        names.into_iter().collect()
    }

    pub(super) fn is_dir(&self, path: &str) -> bool {
        let Some(path) = self.absolute(path) else {
            return false;
        };
        let path = collapse(&path);
        matches!(self.made.get(&*path), Some(Entry::Dir))
            || self.made_below(&path).next().is_some()
            || self.scene.disk.is_dir(&path)
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        let Some(path) = self.absolute(path) else {
            return false;
        };
        let path = collapse(&path);
        self.made.contains_key(&*path) || self.is_dir(&path) || self.scene.disk.exists(&path)
    }

    /// What a file or a stream holds that the command itself wrote.
    pub(super) fn content(&self, file: &Field) -> Option<Field> {
        let path = self.absolute(&file.text)?;
        if is_in("/dev/stdin /dev/fd/0 /proc/self/fd/0", &path) {
            return self.stdin.clone();
        }
        match self.made.get(&*collapse(&path)) {
            Some(Entry::File(Some(Text::Whole(text)))) => Some(Field::literal(text.as_str())),
            _ => None,
        }
    }

    /// The program that runs may write what is not among the targets.
    pub(super) fn unknown_write(&mut self) {
        self.is_obscure |= !self.has_known_words;
        self.programs.insert(self.program.clone());
    }

    /// A program whose writes are not known.
    pub(super) fn unknown_program(&mut self) -> Ran {
        self.unknown_write();
        Ran::unknown()
    }

    /// Takes back the targets that came from a place on.
    pub(super) fn take_targets(&mut self, from: usize) -> Vec<Target> {
        let taken = self.targets.split_off(from);
        for target in &taken {
            self.by_path.remove(&target.path);
        }
        taken
    }
}

/// Whether a path is a device and no file; `/dev/shm` holds files.
pub(super) fn is_device(path: &str) -> bool {
    const DEVICES: [&str; 11] = [
        "null", "zero", "full", "random", "urandom", "tty", "std", "fd/", "pts/", "tcp/", "udp/",
    ];
    let device = path.strip_prefix("/dev/");
    device.is_some_and(|name| DEVICES.iter().any(|device| name.starts_with(device)))
}
