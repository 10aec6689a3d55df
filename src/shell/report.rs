//! Targets as they are found: resolved, followed through links, each once.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::ops::Range;

use ecow::EcoString;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Limit;
use super::byte::{NO_PATH, is_free_of};
use super::eval::Shell;
use super::field::{ANY_ONE, Field, Output, UNKNOWN, gap};
use super::glob::all_active;
use crate::base::path::{collapse, relative};
use crate::base::target::{Act, Spelling, Target, Text};

#[derive(Default)]
pub(super) struct Found {
    entries: Vec<Entry>,
    /// The first entry of each path.
    by_path: HashTable<Place>,
    hasher: RandomState,
    /// The same of paths with `.` and `..` in them, which are not collapsed again.
    spelled: HashMap<String, Place, RandomState>,
    /// Entries that the command takes and brings back.
    withdrawn: Vec<Place>,
    /// Links this command made: where they stand, and where they point.
    links: Vec<(String, String)>,
    n_made_dirs: usize,
    /// How many targets room is made for at once.
    room: usize,
}

struct Entry {
    target: Target,
    /// The same path, changed in another way.
    next: Option<Place>,
    /// Most have nothing of this, and memory that is touched costs more than what is done with it.
    rest: Option<Box<Rest>>,
}

#[derive(Default)]
struct Rest {
    /// The path without `.` and `..`, where it has any.
    collapsed: Option<String>,
    /// The text that was told before the last act; `None` where that is the first one.
    before: Option<Option<Text>>,
}

pub(super) const MAX_LINKS: usize = 64;

/// Every listed directory is compared with what the command made, so that is bounded.
const MAX_MADE: usize = 128;

/// A place in `Found`.
pub(super) type Place = usize;

impl Entry {
    fn path(&self) -> &str {
        let rest = self.rest.as_ref();
        rest.and_then(|rest| rest.collapsed.as_deref())
            .unwrap_or(&self.target.path)
    }

    fn remember(&mut self, before: Option<Option<Text>>) {
        if before.is_some() {
            self.rest.get_or_insert_default().before = before;
        } else if let Some(rest) = &mut self.rest {
            rest.before = None;
        }
    }
}

/// A command that has come to so many targets gets room for as many as it may have by its
/// length: what is not used of it costs nothing, and to grow step by step means to copy.
const MANY: usize = 512;
const BYTES_PER_TARGET: usize = 16;
const MAX_ROOM: usize = 1 << 13;

impl Found {
    pub(super) fn of(command_len: usize) -> Self {
        Self {
            room: (command_len / BYTES_PER_TARGET).min(MAX_ROOM),
            ..Self::default()
        }
    }

    fn add(
        &mut self,
        path: &str,
        act: Act,
        spelling: Spelling,
        link_to: Option<EcoString>,
    ) -> Place {
        let place = self.entries.len();
        let mut at = None;
        if !self.spelled.is_empty() {
            at = self.spelled.get(path).copied();
        }
        at = at.or_else(|| self.enter(path, place));
        let (mut same, mut before) = (None, None);
        while let Some(here) = at {
            let known = &mut self.entries[here];
            // What the file held before is no longer what it will hold.
            before = Some(known.target.text.take());
            if known.target.act == act {
                same = Some(here);
            }
            at = match (known.next, same) {
                (None, None) => {
                    known.next = Some(place);
                    None
                }
                (next, _) => next,
            };
        }
        if let Some(same) = same {
            self.entries[same].target.link_to = link_to;
            let place = self.moved_last(same);
            self.entries[place].remember(before);
            return place;
        }
        self.n_made_dirs += usize::from(act == Act::MakeDir);
        if place == MANY {
            self.entries.reserve(self.room);
        }
        let mut target = Target::literal(path.to_owned(), act);
        (target.spelling, target.link_to) = (spelling, link_to);
        let collapsed = match collapse(path) {
            Cow::Borrowed(_) => None,
            Cow::Owned(collapsed) => Some(collapsed),
        };
        let is_usual = collapsed.is_none() && before.is_none();
        let rest = (!is_usual).then(|| Box::new(Rest { collapsed, before }));
        self.entries.push(Entry {
            target,
            next: None,
            rest,
        });
        place
    }

    /// The first entry of a path; a new path is entered with its place.
    fn enter(&mut self, path: &str, place: Place) -> Option<Place> {
        let collapsed = collapse(path);
        let hash = self.hasher.hash_one(&*collapsed);
        let at = self.first(&collapsed, hash);
        if at.is_none() {
            let hash_of = |at: &Place| self.hasher.hash_one(self.entries[*at].path());
            self.by_path.insert_unique(hash, place, hash_of);
        }
        if let Cow::Owned(_) = collapsed {
            self.spelled.insert(path.to_owned(), at.unwrap_or(place));
        }
        at
    }

    fn first(&self, collapsed: &str, hash: u64) -> Option<Place> {
        let is_it = |at: &Place| self.entries[*at].path() == collapsed;
        self.by_path.find(hash, is_it).copied()
    }

    /// Makes an act that comes again the last one of its path.
    fn moved_last(&mut self, mut place: Place) -> Place {
        while let Some(next) = self.entries[place].next {
            if let Ok([here, behind]) = self.entries.get_disjoint_mut([place, next]) {
                std::mem::swap(&mut here.target, &mut behind.target);
                std::mem::swap(&mut here.rest, &mut behind.rest);
            }
            place = next;
        }
        place
    }

    /// Every later path is compared with every link, so their number is bounded.
    fn link(&mut self, link: &str, to: &str) -> Result<(), Limit> {
        if self.links.len() == MAX_LINKS {
            return Err(Limit::Links);
        }
        let link = collapse(link).into_owned();
        self.links.push((link, collapse(to).into_owned()));
        Ok(())
    }

    pub(super) fn into_targets(self) -> Vec<Target> {
        let targets = self.entries.into_iter().map(|entry| entry.target);
        if self.withdrawn.is_empty() {
            return targets.collect();
        }
        let kept = targets
            .enumerate()
            .filter(|(place, _)| !self.withdrawn.contains(place));
        kept.map(|(_, target)| target).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Leaves the entries out of the targets.
    pub(super) fn withdraw(&mut self, places: Range<Place>) {
        self.withdrawn.extend(places);
    }

    pub(super) fn act(&self, place: Place) -> Option<Act> {
        Some(self.entries.get(place)?.target.act)
    }

    /// What the command does with a path.
    fn at(&self, path: &str) -> impl Iterator<Item = &Entry> {
        let path = collapse(path);
        let first = self.first(&path, self.hasher.hash_one(&*path));
        let entry = |at: Option<Place>| at.and_then(|at| self.entries.get(at));
        std::iter::successors(entry(first), move |known| entry(known.next))
    }

    /// What the command does with an entry's path at the end.
    fn last_act<'f>(&'f self, mut entry: &'f Entry) -> Act {
        while let Some(next) = entry.next.and_then(|next| self.entries.get(next)) {
            entry = next;
        }
        entry.target.act
    }

    /// Whether this command makes a directory at the path, or below it.
    pub(super) fn makes_dir(&self, path: &str) -> bool {
        if self.n_made_dirs == 0 {
            return false;
        }
        let dir = collapse(path);
        let makes = |known: &Entry| known.target.act == Act::MakeDir;
        let mut first = self.entries.iter().take(MAX_MADE);
        self.at(path).any(makes)
            || first.any(|known| makes(known) && relative(known.path(), &dir).is_some())
    }

    /// Whether this command makes at the path what may lead to a directory.
    pub(super) fn makes_entry(&self, path: &str) -> bool {
        let last = self.at(path).last();
        last.is_some_and(|last| matches!(last.target.act, Act::Write | Act::Edit | Act::Link))
    }

    /// The names in a directory of what this command makes there, or below, and does
    /// not take away again; those of directories end with `/`.
    pub(super) fn made_in(&self, dir: &str) -> BTreeSet<String> {
        let dir = collapse(dir);
        let dir = dir.trim_end_matches('/');
        let entries = self.entries.iter().take(MAX_MADE);
        let name = |entry: &Entry| {
            let act = self.last_act(entry);
            if !matches!(act, Act::Write | Act::Edit | Act::MakeDir | Act::Link) {
                return None;
            }
            let rest = entry.path().strip_prefix(dir)?.strip_prefix('/')?;
            let name = match rest.split_once('/') {
                Some((name, _)) => format!("{name}/"),
                None if act == Act::MakeDir => format!("{rest}/"),
                None => rest.to_owned(),
            };
            (!rest.is_empty()).then_some(name)
        };
        entries.filter_map(name).collect()
    }

    fn text_of(&self, path: &str) -> Option<EcoString> {
        match &self.at(path).last()?.target.text {
            Some(Text::Whole(text)) => Some(text.clone()),
            None | Some(Text::Added(_)) => None,
        }
    }

    /// `path` as the links made so far lead it; a link that is itself the
    /// path counts only when its file is written through it, or a `/` stands behind it.
    pub(super) fn follow(&self, path: &str, act: Act) -> Option<String> {
        if self.links.is_empty() {
            return None;
        }
        let through = path.ends_with('/')
            || matches!(act, Act::Write | Act::Edit | Act::Clear | Act::MakeDir);
        let mut current = collapse(path).into_owned();
        let mut moved = false;
        for _ in 0..8 {
            let hop = self.links.iter().rev().find_map(|(link, to)| {
                let rest = current.strip_prefix(link.as_str())?;
                let inside = rest.starts_with('/') || (rest.is_empty() && through);
                inside.then(|| format!("{to}{rest}"))
            });
            match hop {
                Some(next) => current = collapse(&next).into_owned(),
                None => break,
            }
            moved = true;
        }
        moved.then_some(current)
    }
}

/// The number Bash gives the first process substitution.
const FIRST_PIPE: usize = 63;

/// Streams rather than files; `-` is how commands name their own.
fn is_device(path: &str) -> bool {
    if !matches!(path.as_bytes(), [b'-' | b'/', ..]) {
        return false;
    }
    matches!(
        path,
        "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/stdin"
    ) || path.starts_with("/dev/fd/")
        || path.starts_with("/dev/tcp/")
        || path.starts_with("/dev/udp/")
}

impl Shell<'_> {
    /// Notes that the command changes the path a field names.
    pub(super) fn report(&mut self, field: &Field, act: Act) -> Option<Place> {
        self.report_with(field, act, None, None)
    }

    pub(super) fn report_all<'f>(&mut self, fields: impl IntoIterator<Item = &'f Field>, act: Act) {
        for field in fields {
            self.report(field, act);
        }
    }

    pub(super) fn report_text(&mut self, field: &Field, act: Act, text: Option<EcoString>) {
        self.report_with(field, act, text, None);
    }

    /// A link at `field`; later paths of this command are followed through it.
    pub(super) fn report_link(&mut self, field: &Field, to: &Field) {
        let link_to = to.known().map(EcoString::from);
        self.report_with(field, Act::Link, None, link_to);
        let link = field.known().and_then(|link| self.absolute(link));
        if let (Some(link), Some(to)) = (link, to.known()) {
            let dir = link.rsplit_once('/').map_or("/", |(dir, _)| dir);
            let to = super::field::join(dir, to);
            self.link(&link, &to);
        }
    }

    fn link(&mut self, link: &str, to: &str) {
        if let Err(limit) = self.found.link(link, to) {
            self.give_up(limit);
        }
    }

    /// A second name for a file: writing through it changes the first one.
    pub(super) fn report_hard_link(&mut self, field: &Field, to: &Field) {
        self.report(field, Act::Link);
        let link = field.known().and_then(|link| self.absolute(link));
        let to = to.known().and_then(|to| self.absolute(to));
        if let (Some(link), Some(to)) = (link, to) {
            self.link(&link, &to);
        }
    }

    fn report_with(
        &mut self,
        field: &Field,
        act: Act,
        text: Option<EcoString>,
        link_to: Option<EcoString>,
    ) -> Option<Place> {
        let known = field.text.as_str();
        if !is_free_of(known, NO_PATH) {
            if let Some(gap) = field.gap() {
                return self.report_reach(field, gap, act);
            }
            if known.contains('\0') {
                return None;
            }
        }
        if known.is_empty() || is_device(known) {
            return None;
        }
        // Most targets are named more than once, so that their paths need no room of their own.
        let mut path = std::mem::take(&mut self.path);
        let is_path = self.join_to(known, &mut path);
        let place = (is_path && self.spend(path.len())).then(|| {
            let followed = self.found.follow(&path, act);
            let path = followed.as_deref().unwrap_or(&path);
            let spelling = match self.is_own(path, act) {
                true => Spelling::Literal,
                false => field.spelling,
            };
            self.found.add(path, act, spelling, link_to)
        });
        self.path = path;
        self.describe(place?, text);
        place
    }

    /// Whether only what this command itself wrote is taken away.
    fn is_own(&self, path: &str, act: Act) -> bool {
        matches!(act, Act::Remove | Act::MoveAway)
            && self
                .found
                .at(path)
                .any(|known| known.target.act == Act::Write)
            && !self.scene.disk.exists(path)
    }

    pub(super) fn describe(&mut self, place: Place, text: Option<EcoString>) {
        if let Some(entry) = self.found.entries.get_mut(place) {
            let text = text.filter(|text| gap(text).is_none());
            entry.target.text = text.map(Text::Whole);
        }
    }

    /// Notes what a file gets at its end. Where that may not happen, or happen again, nothing
    /// is known of the file's text.
    pub(super) fn describe_end(&mut self, place: Place, text: Option<EcoString>) {
        let is_certain = self.marks == 0 && self.worlds.is_empty();
        let text = text.filter(|text| is_certain && gap(text).is_none());
        let Some(entry) = self.found.entries.get_mut(place) else {
            return;
        };
        let before = entry.rest.as_mut().and_then(|rest| rest.before.take());
        entry.target.text = text.and_then(|text| match before {
            None => Some(Text::Added(text)),
            Some(Some(Text::Whole(before))) => Some(Text::Whole(before + text)),
            Some(Some(Text::Added(before))) => Some(Text::Added(before + text)),
            Some(None) => None,
        });
    }

    /// Notes what a glob may take away that cannot be expanded: it reaches into the directory
    /// that is named, and may take along whatever tree it fits there.
    fn report_reach(&mut self, field: &Field, gap: usize, act: Act) -> Option<Place> {
        let takes_trees = match act {
            Act::Remove => false,
            Act::RemoveTree | Act::MoveAway => true,
            Act::Write | Act::Edit | Act::MakeDir | Act::Link | Act::Clear => return None,
        };
        // One name that is not known is no glob.
        if matches!(field.spelling, Spelling::Literal | ANY_ONE) {
            return None;
        }
        let (dir, _) = field.text.get(..gap)?.rsplit_once('/')?;
        let place = self.report(&field.with_text(dir), Act::Remove)?;
        if takes_trees && let Some(cwd) = self.cwd.clone() {
            let pattern = field.text.as_str().replace(UNKNOWN, "*");
            for tree in self.search(&cwd, &pattern, &all_active(&pattern)) {
                self.report(&field.with_text(tree), act);
            }
        }
        Some(place)
    }

    /// A name under which what a process substitution prints can be read.
    pub(super) fn pipe(&mut self, output: Option<Output>) -> Field {
        let n = FIRST_PIPE + self.pipes.len();
        self.pipes.push(output.map(|output| output.text));
        Field::literal(format!("/dev/fd/{n}"))
    }

    /// What this command itself wrote to a path, or to a stream, where that is known.
    pub(super) fn written(&self, field: &Field) -> Option<EcoString> {
        let path = self.absolute(field.known()?)?;
        if let Some(stream) = path
            .strip_prefix("/dev/")
            .or_else(|| path.strip_prefix("/proc/self/"))
        {
            return match stream {
                "stdin" | "fd/0" => self.stdin.as_ref().map(|stdin| stdin.text.clone()),
                _ => {
                    let n: usize = stream.strip_prefix("fd/")?.parse().ok()?;
                    self.pipes.get(n.checked_sub(FIRST_PIPE)?)?.clone()
                }
            };
        }
        self.found.text_of(&path)
    }
}
