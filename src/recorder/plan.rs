//! Decides about changes, and carries out what is decided.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::actor::Actor;
use crate::base::disk::bounded_read;
use crate::base::git_index::Index as GitIndex;
use crate::base::path;
use crate::contract::denial::Mode;
use crate::contract::denial::{Denial, DenyCode};
use crate::project::sites::Site;
use crate::recorder::attribution::{
    Attribution, Because, Candidate, Case, Tie, Tracked, Verdict, decide,
};
use crate::recorder::contents::Contents;
use crate::recorder::entry::{BlobId, Change, ChangeKind, State};
use crate::recorder::index::Index;
use crate::recorder::judge::Judged;
use crate::recorder::look::is_gone;
use crate::recorder::mediate::Recorder;
use crate::recorder::telling::{Done, Finding, Hearer, MadeBy};
use crate::recorder::undo::{Refused, Undo};
use crate::recorder::windows::{Doing, Running, Window};
use crate::settings::model;
use crate::store::lock::IN_HOOK;

/// What a decision is made from.
pub(super) struct Planner<'s, 'w> {
    pub(super) recorder: &'s Recorder<'w>,
    pub(super) contents: &'s Contents,
    /// The calls that the changes' candidates are among.
    pub(super) windows: &'s [Window],
    /// Those to decide about.
    pub(super) changes: &'s [Change],
    git: RefCell<Option<(PathBuf, GitIndex)>>,
    /// How long a site's lock is waited for; not again once it was busy.
    wait: Cell<Duration>,
}

/// What one call removed in a site.
#[derive(Default)]
struct Removed {
    /// State files, by their place among the changes.
    state: Vec<usize>,
    /// How many entries of all kinds.
    entries: usize,
}

/// So many removals at once are worth a question.
const BULK: usize = 3;

/// One change with what is decided about it.
pub(super) struct Plan<'s, 'w> {
    pub(super) change: &'s Change,
    judged: Judged<'s, 'w>,
    pub(super) candidates: Vec<&'s Window>,
    pub(super) decision: Attribution,
    /// What is said against it.
    pub(super) denial: Option<Denial>,
    /// The change by which the entry lost its former name.
    former: Option<&'s Change>,
    pub(super) is_permitted: bool,
}

impl Plan<'_, '_> {
    /// The call that made the change, where one can be named.
    pub(super) fn by(&self) -> Option<&Window> {
        self.decision.by.map(|at| self.candidates[at])
    }

    /// The path that a rename back gives to the entry.
    pub(super) fn former_path(&self) -> Option<OsString> {
        self.former.map(|former| former.path.clone())
    }

    /// Whether the disk is to be changed.
    pub(super) fn acts(&self) -> bool {
        let keeps = matches!(self.decision.verdict, Verdict::Accept | Verdict::Tell(..));
        self.is_permitted && !keeps
    }
}

impl<'s, 'w> Planner<'s, 'w> {
    pub(super) fn new(
        recorder: &'s Recorder<'w>,
        contents: &'s Contents,
        windows: &'s [Window],
        changes: &'s [Change],
    ) -> Self {
        Self {
            recorder,
            contents,
            windows,
            changes,
            git: RefCell::default(),
            wait: Cell::new(IN_HOOK),
        }
    }

    /// Decides about every change that falls to a system, renames first.
    pub(super) fn plan(&self, index: &Index) -> Vec<Plan<'s, 'w>> {
        let Recorder {
            project,
            registry,
            around,
            ..
        } = self.recorder;
        let judged = |change| Judged::of(change, self.contents, project, registry, around.cwd);
        let judged: Vec<_> = self.changes.iter().map(judged).collect();
        let bulk = self.bulk(&judged, index);
        let plans = judged.into_iter().enumerate();
        let plans = plans.filter_map(|(at, judged)| Some(self.plan_one(judged?, bulk.get(&at))));
        let renames_back = |plan: &Plan<'s, 'w>| plan.decision.verdict == Verdict::RenameBack;
        let (mut first, others): (Vec<_>, Vec<_>) = plans.partition(renames_back);
        first.extend(others);
        first
    }

    fn plan_one(&self, judged: Judged<'s, 'w>, bulk: Option<&String>) -> Plan<'s, 'w> {
        let change = judged.change;
        let is_candidate = |window: &&Window| window.is_candidate(change);
        let windows: Vec<&Window> = self.windows.iter().filter(is_candidate).collect();
        let objections = windows.iter().map(|window| match bulk {
            Some(why) => Some(judged.denial(DenyCode::BulkRemoval, why.clone())),
            None => judged.objection(&window.caller.actor()),
        });
        let objections: Vec<Option<Denial>> = objections.collect();
        let candidates = windows.iter().zip(&objections);
        let candidates = candidates.map(|(window, objection)| {
            let code = objection.as_ref().map(|denial| denial.code);
            self.candidate(window, &judged, code)
        });
        let candidates: Vec<Candidate> = candidates.collect();
        let of_nobody = match windows.is_empty() {
            true => judged.objection(&Actor::Main),
            false => None,
        };
        let former = self.former_name(change);
        let decision = decide(&Case {
            act: change.act(),
            candidates: &candidates,
            name: of_nobody.as_ref().map(|denial| denial.code),
            has_grown: &|| self.has_grown(change),
            tracked: &|| self.tracked(change),
            was_renamed: &|| former.is_some(),
        });
        let mut objections = objections;
        let denial = match (decision.verdict, decision.by) {
            (Verdict::Accept, _) => None,
            (_, Some(by)) => objections.swap_remove(by),
            (_, None) => objections.into_iter().flatten().next().or(of_nobody),
        };
        Plan {
            is_permitted: self.is_permitted(decision.verdict, judged.claim.governed.mode),
            change,
            judged,
            candidates: windows,
            decision,
            denial,
            former,
        }
    }

    fn is_permitted(&self, verdict: Verdict, mode: Mode) -> bool {
        let needed = match verdict {
            Verdict::PutBack => model::Undo::Exclusive,
            _ => model::Undo::Names,
        };
        mode == Mode::Enforce && self.recorder.settings.undo >= needed
    }

    fn candidate(
        &self,
        window: &Window,
        judged: &Judged<'_, '_>,
        code: Option<DenyCode>,
    ) -> Candidate {
        let change = judged.change;
        let mut candidate = Candidate {
            code,
            ..Candidate::default()
        };
        match &window.doing {
            Doing::Writes { path, content } => {
                let after = change.after.filter(|_| *path == judged.path);
                let is_it = |after: State| content.is_none() || after.blob == *content;
                if after.is_some_and(is_it) {
                    candidate.tie = Tie::Wrote;
                }
            }
            Doing::Wrote { .. } => candidate.may_be_alone = true,
            Doing::RunsCode(call) => {
                let governed = judged.claim.governed;
                let added = &self.recorder.settings.system(governed.id()).programs;
                let is_owning = |program: &String| {
                    governed.system.info().programs.contains(&program.as_str())
                        || added.contains(program)
                };
                if call.names(&judged.path) {
                    candidate.tie = Tie::Names;
                }
                candidate.may_be_alone = call.is_opaque() && window.ran_at(change.lo, change.hi);
                candidate.version_control = call.version_control;
                candidate.owning_program = call.is_opaque() && call.programs.iter().all(is_owning);
            }
        }
        candidate
    }

    /// The removals that together take too much: of one call, at least three and half of a
    /// site's files, or a site as a whole. With what is said against each.
    fn bulk(&self, judged: &[Option<Judged<'_, '_>>], index: &Index) -> BTreeMap<usize, String> {
        let mut groups: BTreeMap<(String, &str), Removed> = BTreeMap::new();
        for (at, judged) in judged.iter().enumerate() {
            let Some(judged) = judged else {
                continue;
            };
            let [only] = judged.change.candidates.as_slice() else {
                continue;
            };
            let was_read = self.windows.iter().any(|window| {
                window.id() == *only
                    && matches!(&window.doing, Doing::RunsCode(call) if call.targets.contains(&judged.path))
            });
            if judged.change.act() == ChangeKind::Remove && !was_read {
                let removed = groups.entry((judged.claim.site_dir(), only)).or_default();
                removed.entries += 1;
                if judged.is_state() {
                    removed.state.push(at);
                }
            }
        }
        let mut bulk = BTreeMap::new();
        for ((dir, _), removed) in groups {
            let taken = removed.state;
            let below = Path::new(&dir);
            let left = index.entries().keys();
            let left = left
                .filter(|path| Path::new(path).starts_with(below))
                .count();
            // A site that was made anew at once is there again.
            let is_gone = is_gone(below) || left == 0 && removed.entries >= BULK;
            let mut removed = taken.iter().filter_map(|at| judged[*at].as_ref());
            let is_too_much = match is_gone {
                true => !removed.any(was_archived),
                false => taken.len() >= BULK && taken.len() >= left,
            };
            if is_too_much {
                let what = if is_gone { "all of it" } else { "most of it" };
                let why = format!("{} files of `{dir}` went at once, {what}", taken.len());
                bulk.extend(taken.into_iter().map(|at| (at, why.clone())));
            }
        }
        bulk
    }

    /// The change by which an entry with the same identity and content lost its name.
    fn former_name(&self, change: &Change) -> Option<&'s Change> {
        let after = change
            .after
            .filter(|after| after.ino != 0 && change.before.is_none())?;
        self.changes.iter().find(|other| {
            let same = |before: State| {
                (before.ino, before.dev) == (after.ino, after.dev) && before.holds_same(&after)
            };
            other.after.is_none() && other.before.is_some_and(same) && is_gone(other.path())
        })
    }

    fn has_grown(&self, change: &Change) -> bool {
        let (Some(before), Some(after)) = (change.before, change.after) else {
            return false;
        };
        let Some(blob) = before.blob else {
            return before.ino == after.ino && before.size <= after.size;
        };
        let bytes = after.blob.and_then(|blob| self.contents.get(blob));
        let head =
            |bytes: Vec<u8>| Some(BlobId::of(bytes.get(..usize::try_from(before.size).ok()?)?));
        bytes.and_then(head) == Some(blob)
    }

    /// How the nearest repository around an entry knows it.
    fn tracked(&self, change: &Change) -> Tracked {
        let Some((index, below)) = git_index_of(change.path()) else {
            return Tracked::No;
        };
        let mut known = self.git.borrow_mut();
        if known.as_ref().is_none_or(|(of, _)| *of != index) {
            let bytes = bounded_read::read(&index, 256 << 20).unwrap_or_default();
            *known = Some((index, GitIndex::parse(&bytes)));
        }
        let blob = known.as_ref().and_then(|(_, git)| git.blob(&below));
        let now = change.after.and_then(|after| after.blob);
        match blob.map(BlobId) {
            None => Tracked::No,
            blob if blob == now => Tracked::AsItIs,
            Some(_) => Tracked::Yes,
        }
    }

    /// Takes a change back, and brings the index up to date.
    pub(super) fn take_back(
        &self,
        plan: &Plan<'_, '_>,
        index: &mut Index,
        session: &str,
    ) -> Result<Done, Refused> {
        let (change, claim) = (plan.change, &plan.judged.claim);
        let site = Site {
            governed: claim.governed,
            root: claim.root.clone(),
            site: claim.site.clone(),
        };
        let reason = plan
            .denial
            .as_ref()
            .map_or("", |denial| denial.code.as_str());
        let undo = Undo {
            archive: site.ring(self.recorder.project, self.recorder.settings.archive_runs),
            site: &site,
            name: &claim.entry,
            path: change.path(),
            session,
            reason,
            now: self.recorder.now,
            wait: self.wait.get(),
        };
        let done = self.apply(plan, &undo, index);
        if matches!(&done, Err(Refused::Failed(error)) if error.kind() == io::ErrorKind::WouldBlock)
        {
            self.wait.set(Duration::ZERO);
        }
        done
    }

    fn apply(
        &self,
        plan: &Plan<'_, '_>,
        undo: &Undo<'_>,
        index: &mut Index,
    ) -> Result<Done, Refused> {
        let change = plan.change;
        let known = index.get(&change.path).copied().ok_or(Refused::Touched);
        match (plan.decision.verdict, change.before, plan.former) {
            (Verdict::RenameBack, _, Some(former)) => {
                undo.rename_to(former.path(), &known?)?;
                index.set(&change.path, None);
                note(index, &former.path, former.before);
                Ok(Done::RenamedTo(self.display_path(former.path())))
            }
            (Verdict::PutBack, Some(before), _) => {
                if index.get(&change.path) != change.after.as_ref() {
                    return Err(Refused::Superseded);
                }
                let newer = undo.put_back(&before, change.after.as_ref(), self.contents)?;
                note(index, &change.path, Some(before));
                Ok(Done::PutBack(newer.map(|newer| self.display_path(&newer))))
            }
            _ => {
                let to = undo.move_away(&known?)?;
                index.set(&change.path, None);
                Ok(Done::MovedTo(self.display_path(&to)))
            }
        }
    }

    fn display_path(&self, path: &Path) -> String {
        let path = path::from_os(path);
        let main = &self.recorder.project.main;
        match main.is_at(self.recorder.around.cwd) {
            true => main.relative(&path).map_or(path.clone(), str::to_owned),
            false => path,
        }
    }
}

/// What is told of a change, and why what is against the rules was left.
pub(super) fn finding(plan: &Plan<'_, '_>, done: Result<Done, Refused>) -> Option<Finding> {
    let denial = plan.denial.as_ref()?;
    let left = |why: &str| Done::Left(Some(why.to_owned()));
    let done = match (done, plan.decision.verdict) {
        (Ok(Done::Left(_)), Verdict::Tell(because)) => match because {
            Because::NoCallRan | Because::NothingLost => Done::Left(None),
            Because::VersionControl => left("it came from version control"),
            Because::OwningProgram => Done::Left(Some(format!(
                "a program of {} ran, and the contract may be behind it",
                denial.system
            ))),
            Because::NotCertain => left("it is not certain who made it"),
        },
        (Ok(done), _) => done,
        (Err(Refused::NotKept), _) => left("what it was is not kept"),
        (Err(Refused::Touched | Refused::Superseded), _) => left("it was changed again"),
        (Err(Refused::Failed(error)), _) => Done::Left(Some(format!("it stays: {error}"))),
    };
    let is_background = |window: &&Window| {
        matches!(
            window.state,
            Running::Background { .. } | Running::Over { .. }
        )
    };
    let made_by = match plan.candidates.as_slice() {
        [] => MadeBy::NoCall,
        [one] if is_background(one) => MadeBy::Background,
        [_] => MadeBy::ThisCall,
        _ => MadeBy::OneOfSeveral,
    };
    Some(Finding {
        path: denial.display_path.clone(),
        code: denial.code.as_str().to_owned(),
        why: denial.why.clone(),
        instead: denial.instead.as_ref().map(|instead| instead.path.clone()),
        done,
        restorable_at: None,
        made_by,
        is_enforced: denial.mode == Mode::Enforce,
    })
}

/// Who hears of a finding: every candidate of what was undone, else those that end now.
pub(super) fn hearers(plan: &Plan<'_, '_>, finding: &Finding, caller: &Hearer) -> Vec<Hearer> {
    let candidates = plan.candidates.iter();
    let all = finding.was_undone() || !candidates.clone().any(|window| window.ends_now);
    let heard = candidates.filter(|window| all || window.ends_now);
    let mut hearers: Vec<Hearer> = heard.map(|window| Hearer::from_window(window)).collect();
    if plan.candidates.is_empty() {
        hearers.push(caller.clone());
    }
    hearers.dedup();
    hearers
}

/// Notes an entry as it is now; its content is the former one's.
fn note(index: &mut Index, path: &OsStr, former: Option<State>) {
    let meta = fs::symlink_metadata(path);
    let state = meta.ok().map(|meta| State {
        blob: former.and_then(|former| former.blob),
        ..State::of(&meta)
    });
    index.set(path, state);
}

/// Whether the site of a removed entry was moved to where its system archives it: the
/// entry lies there.
fn was_archived(judged: &Judged<'_, '_>) -> bool {
    let claim = &judged.claim;
    let Some(((changes, change), before)) = path::split_last(&claim.site).zip(judged.change.before)
    else {
        return false;
    };
    let archive = path::below(changes, "archive");
    let whole = claim.root.path(&archive);
    let dirs = crate::base::disk::list::readable(whole.as_ref());
    let dirs = dirs.map(|dir| path::below(&archive, &dir.into_name()));
    // In place of the change, or in a directory there.
    let mut places = dirs.flat_map(|dir| [path::below(&dir, change), dir]);
    places.any(|to| {
        let entry = path::below(&claim.root.path(&to), &claim.entry);
        claim.governed.system.archives(&claim.site, &to)
            && fs::symlink_metadata(entry).is_ok_and(|meta| State::of(&meta).ino == before.ino)
    })
}

/// The index of the repository around a path, and the path below its root.
fn git_index_of(path: &Path) -> Option<(PathBuf, String)> {
    let mut dirs = path.ancestors().skip(1);
    let root = dirs.find(|dir| fs::symlink_metadata(dir.join(".git")).is_ok())?;
    let git = root.join(".git");
    let below = path::from_os(path.strip_prefix(root).ok()?);
    if git.is_dir() {
        return Some((git.join("index"), below));
    }
    let text = String::from_utf8(bounded_read::read(&git, 4_096).ok()?).ok()?;
    let dir = text.strip_prefix("gitdir:")?.trim();
    Some((root.join(dir).join("index"), below))
}
