//! Changes that belong together: what one call took away of a site at once, and a directory
//! that got another name.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::recorder::archives::Archives;
use crate::recorder::calls::Work;
use crate::recorder::entry::{Change, ChangeKind};
use crate::recorder::facts::Facts;
use crate::recorder::index::Index;
use crate::recorder::judge::Judged;
use crate::recorder::look::is_no_dir;

/// So many removals at once are worth a question.
const BULK: usize = 3;

/// What a change is a part of.
pub(super) enum Bulk {
    /// Too much was taken away at once; why that is too much.
    Taken(String),
    /// A directory was renamed as a whole, which is one change: this is its first.
    Renamed(Renamed),
    /// Another part of such a change.
    Along,
}

/// A directory that got another name with all in it.
#[derive(Clone, Debug)]
pub(super) struct Renamed {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
}

impl Renamed {
    /// Whether a change is a part of it.
    pub(super) fn holds(&self, change: &Change) -> bool {
        match change.act() {
            ChangeKind::Remove => change.path().starts_with(&self.from),
            ChangeKind::Create => change.path().starts_with(&self.to),
            ChangeKind::Change => false,
        }
    }
}

impl fmt::Display for Renamed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from.display(), self.to.display());
        write!(out, "`{from}` was renamed to `{to}`")
    }
}

/// What one call removed in a site.
#[derive(Default)]
struct Removed {
    /// By their place among the changes.
    entries: Vec<usize>,
    /// Those that are state files.
    state: Vec<usize>,
}

/// The removals that together take too much, of one call each: at least three and half of a
/// site's files, or a site as a whole; by their place among the changes.
pub(super) fn find(
    facts: &Facts<'_, '_>,
    index: &Index,
    judged: &[Option<Judged<'_, '_>>],
) -> BTreeMap<usize, Bulk> {
    let mut bulk = BTreeMap::new();
    let groups = by_site_and_call(facts, judged);
    let left = count_left(index, groups.keys().map(|(dir, _)| Path::new(dir)));
    let archives = Archives::default();
    for ((dir, _), removed) in &groups {
        let dir = Path::new(dir);
        let n_left = left.get(dir).copied().unwrap_or(0);
        // A site that was made anew at once is there again; a file in its place is none.
        let is_whole = is_no_dir(dir) || n_left == 0 && removed.entries.len() >= BULK;
        let is_archived = |at: &&usize| judged[**at].as_ref().is_some_and(|it| archives.hold(it));
        if is_whole && removed.state.iter().any(|at| is_archived(&at)) {
            // What is not there was taken on the way.
            let along = removed.entries.iter().filter(is_archived);
            bulk.extend(along.map(|at| (*at, Bulk::Along)));
            continue;
        }
        let n_taken = removed.state.len();
        let what = if is_whole {
            "all of it"
        } else if n_taken >= BULK && n_taken >= n_left {
            "most of it"
        } else {
            continue;
        };
        let taken = &removed.state;
        match (renamed_to(facts, dir, taken), taken.first()) {
            (Some(to), Some(first)) => {
                let from = dir.to_owned();
                let renamed = Renamed { from, to };
                let parts =
                    (0..facts.changes.len()).filter(|at| renamed.holds(&facts.changes[*at]));
                bulk.extend(parts.map(|at| (at, Bulk::Along)));
                bulk.insert(*first, Bulk::Renamed(renamed));
            }
            _ => {
                let files = if taken.len() == 1 { "file" } else { "files" };
                let why = format!(
                    "{} {files} of `{}` went at once, {what}",
                    taken.len(),
                    dir.display()
                );
                bulk.extend(taken.iter().map(|at| (*at, Bulk::Taken(why.clone()))));
            }
        }
    }
    bulk
}

/// What was removed, by the site and by the one call that can have done it, and was not read
/// from its command.
fn by_site_and_call(
    facts: &Facts<'_, '_>,
    judged: &[Option<Judged<'_, '_>>],
) -> BTreeMap<(String, String), Removed> {
    let mut groups: BTreeMap<(String, String), Removed> = BTreeMap::new();
    for (at, judged) in judged.iter().enumerate() {
        let Some(judged) = judged else {
            continue;
        };
        let candidates = facts.candidates(judged.change);
        let [only] = candidates.as_slice() else {
            continue;
        };
        let was_read =
            matches!(&only.work, Work::RunsCode(text) if text.targets.contains(&judged.path));
        if judged.change.act() == ChangeKind::Remove && !was_read {
            let key = (judged.claim.site_dir(), only.id());
            let removed = groups.entry(key).or_default();
            removed.entries.push(at);
            if judged.is_state() {
                removed.state.push(at);
            }
        }
    }
    groups
}

/// How many entries each of some directories still has.
fn count_left<'d>(index: &Index, dirs: impl Iterator<Item = &'d Path>) -> HashMap<&'d Path, usize> {
    let mut left: HashMap<_, _> = dirs.map(|dir| (dir, 0)).collect();
    if left.is_empty() {
        return left;
    }
    for (path, _) in index.entries() {
        for dir in Path::new(path).ancestors() {
            if let Some(n_left) = left.get_mut(dir) {
                *n_left += 1;
            }
        }
    }
    left
}

/// The directory in which all the removed entries of another one are now, under the names
/// that they had.
fn renamed_to(facts: &Facts<'_, '_>, dir: &Path, taken: &[usize]) -> Option<PathBuf> {
    let mut to: Option<PathBuf> = None;
    for at in taken {
        let change = &facts.changes[*at];
        let name = change.path().strip_prefix(dir).ok()?;
        let before = change.before?;
        let mut arrived = facts.moved().arrived.get(&before.ino)?.iter();
        let moved = arrived.find(|other| {
            let after = other.after;
            after.is_some_and(|after| after.is_same_entry(&before))
        })?;
        let above = moved.path().ancestors().nth(name.iter().count())?;
        if above.join(name) != moved.path() || to.as_deref().is_some_and(|to| to != above) {
            return None;
        }
        to = Some(above.to_owned());
    }
    to
}
