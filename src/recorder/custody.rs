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
        if change.act() != ChangeKind::Remove || !tree.as_ref().is_some_and(|it| has(it, change)) {
            return Custody::Untracked;
        }
    }
    let opened = candidates.iter().map(|call| call.opened).min();
    let since = opened.unwrap_or(change.lo);
    match tree {
        Some(tree) if revisions_moved(&tree.git_dir, since) => Custody::CheckedOut,
        _ if is_tracked => Custody::Tracked,
        _ => Custody::Untracked,
    }
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
    let _ = bounded_read::tail(&git_dir.join("logs/HEAD"), 16 << 10, &mut |line| {
        let Some((who, what)) = line.split_once('\t') else {
            return;
        };
        let mut words = who.rsplit(' ').skip(1);
        let at = words.next().and_then(|at| at.parse::<Nanos>().ok());
        let is_commit = what.starts_with("commit");
        moved |= !is_commit && at.is_some_and(|at| at >= since / 1_000_000_000);
    });
    moved
}
