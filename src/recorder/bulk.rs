//! Changes that belong together: what one call took away of a site at once, and a directory
//! that got another name.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::base::disk::stat::Stat;
use crate::base::path;
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
    /// State files, by their place among the changes.
    state: Vec<usize>,
    /// How many entries of all kinds.
    n_entries: usize,
}

/// The removals that together take too much, of one call each: at least three and half of a
/// site's files, or a site as a whole; by their place among the changes.
pub(super) fn find(
    facts: &Facts<'_, '_>,
    index: &Index,
    judged: &[Option<Judged<'_, '_>>],
) -> BTreeMap<usize, Bulk> {
    let mut bulk = BTreeMap::new();
    for ((dir, _), removed) in by_site_and_call(facts, judged) {
        let dir = Path::new(&dir);
        let Some(what) = excess(index, judged, dir, &removed) else {
            continue;
        };
        let taken = removed.state;
        match (renamed_to(facts, dir, &taken), taken.first()) {
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
                bulk.extend(taken.into_iter().map(|at| (at, Bulk::Taken(why.clone()))));
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
            removed.n_entries += 1;
            if judged.is_state() {
                removed.state.push(at);
            }
        }
    }
    groups
}

/// How much of a site was taken away, where that is too much.
fn excess(
    index: &Index,
    judged: &[Option<Judged<'_, '_>>],
    dir: &Path,
    removed: &Removed,
) -> Option<&'static str> {
    let n_left = index
        .entries()
        .filter(|(path, _)| Path::new(path).starts_with(dir))
        .count();
    let n_taken = removed.state.len();
    // A site that was made anew at once is there again; a file in its place is none.
    if is_no_dir(dir) || n_left == 0 && removed.n_entries >= BULK {
        let mut taken = removed.state.iter().filter_map(|at| judged[*at].as_ref());
        (!taken.any(was_archived)).then_some("all of it")
    } else {
        (n_taken >= BULK && n_taken >= n_left).then_some("most of it")
    }
}

/// The directory in which all the removed entries of another one are now, under the names
/// that they had.
fn renamed_to(facts: &Facts<'_, '_>, dir: &Path, taken: &[usize]) -> Option<PathBuf> {
    let mut to: Option<PathBuf> = None;
    for at in taken {
        let change = &facts.changes[*at];
        let name = change.path().strip_prefix(dir).ok()?;
        let moved = facts.changes.iter().find(|other| {
            let pair = other.after.zip(change.before);
            other.before.is_none()
                && pair.is_some_and(|(after, before)| after.is_same_entry(&before))
        })?;
        let above = moved.path().ancestors().nth(name.iter().count())?;
        if above.join(name) != moved.path() || to.as_deref().is_some_and(|to| to != above) {
            return None;
        }
        to = Some(above.to_owned());
    }
    to
}

/// Whether the site of a removed entry was moved to where its system archives it: the
/// entry is there.
fn was_archived(judged: &Judged<'_, '_>) -> bool {
    let claim = &judged.claim;
    let Some(((changes, change), before)) = path::split_last(&claim.site).zip(judged.change.before)
    else {
        return false;
    };
    let archive = path::below(changes, "archive");
    let whole = claim.root.path(&archive);
    // In place of the change, or in a directory there.
    let mut places = crate::base::disk::list::readable(whole.as_ref())
        .map(|dir| path::below(&archive, &dir.into_name()))
        .flat_map(|dir| [path::below(&dir, change), dir]);
    places.any(|to| {
        let entry = path::below(&claim.root.path(&to), &claim.entry);
        claim.governed.system.archives(&claim.site, &to)
            && Stat::of(entry.as_ref()).is_ok_and(|stat| stat.ino == before.ino)
    })
}
