//! How version control has an entry, and whether it brought files meanwhile.

use std::path::Path;

use crate::base::disk::bounded_read;
use crate::base::disk::stat::Stat;
use crate::base::git::WorkTree;
use crate::base::git_index::Tracked;
use crate::base::path;
use crate::recorder::calls::Call;
use crate::recorder::entry::{Change, ChangeKind, Nanos, State, nanos};
use crate::recorder::facts::Facts;
use crate::recorder::verdict::Custody;

/// How the nearest repository around an entry has it.
pub(super) fn custody(facts: &Facts<'_, '_>, change: &Change, candidates: &[&Call]) -> Custody {
    let tree = WorkTree::around(change.path());
    let is_tracked = facts.git.borrow_mut().find(change.path()) != Tracked::No;
    if !is_tracked {
        let dir = change
            .path()
            .parent()
            .map(path::from_os)
            .unwrap_or_default();
        if facts.recorder.project.other_repository(&dir).is_some() {
            return Custody::OtherRepository;
        }
    }
    let opened = candidates.iter().map(|call| call.opened).min();
    let since = opened.unwrap_or(change.lo);
    match tree {
        Some(tree) if is_tracked && revisions_moved(&tree.git_dir, since) => Custody::CheckedOut,
        Some(tree) if !is_tracked && was_left_behind(&tree, change, since) => Custody::CheckedOut,
        _ if is_tracked => Custody::Tracked,
        _ => Custody::Untracked,
    }
}

/// Whether git took something away with the revision that has it.
fn was_left_behind(tree: &WorkTree, change: &Change, since: Nanos) -> bool {
    change.act() == ChangeKind::Remove
        && has(tree, change)
        && revision_was_left(&tree.git_dir, since)
}

/// Whether a repository has what was removed, as when its branch was left: by the id of the
/// content, which is git's, and as far as that was not packed since.
fn has(tree: &WorkTree, change: &Change) -> bool {
    let blob = change.before.and_then(|before| before.blob);
    blob.is_some_and(|blob| {
        let id = blob.to_string();
        let (dir, file) = id.split_at(2);
        let object = Path::new("objects").join(dir).join(file);
        tree.common_dir().join(object).is_file()
    })
}

/// What git writes when it brings another revision's files, besides HEAD and its log.
const BRINGS_FILES: &[&str] = &[
    "HEAD",
    "MERGE_HEAD",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "logs/refs/stash",
];

/// Whether version control brought files since then. A commit brings none.
fn revisions_moved(git_dir: &Path, since: Nanos) -> bool {
    let is_newer = BRINGS_FILES.iter().any(|name| {
        let stat = Stat::of(&git_dir.join(name));
        stat.is_ok_and(|stat| State::of(&stat).mtime.max(nanos(stat.changed)) >= since)
    });
    if is_newer {
        return true;
    }
    let mut moved = false;
    each_move(git_dir, since, &mut |what, _| moved |= !is_commit(what));
    moved
}

/// Whether another revision was taken since then. A reset takes away what was never committed.
fn revision_was_left(git_dir: &Path, since: Nanos) -> bool {
    let (mut was_left, mut was_reset) = (false, false);
    each_move(git_dir, since, &mut |what, is_other| {
        was_left |= is_other && !is_commit(what);
        was_reset |= what.starts_with("reset: ");
    });
    was_left && !was_reset
}

fn is_commit(what: &str) -> bool {
    what.starts_with("commit")
}

/// What the log of HEAD says of each move since then, and whether it led to another revision.
fn each_move(git_dir: &Path, since: Nanos, take: &mut dyn FnMut(&str, bool)) {
    let _ = bounded_read::tail(&git_dir.join("logs/HEAD"), 16 << 10, &mut |line| {
        let Some((who, what)) = line.split_once('\t') else {
            return;
        };
        let mut revisions = who.split(' ');
        let is_other = revisions.next() != revisions.next();
        let at = who.rsplit(' ').nth(1).and_then(|at| at.parse().ok());
        if at.is_some_and(|at: Nanos| at >= since / 1_000_000_000) {
            take(what, is_other);
        }
    });
}
