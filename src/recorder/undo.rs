//! Taking changes back. Nothing is deleted and nothing is copied over: what gives way goes
//! into the archive of its site by a rename, and what comes back takes a name that is free.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};

use crate::base::disk::resolve::is_missing;
use crate::base::disk::stat::Stat;
use crate::base::path;
use crate::project::sites::Site;
use crate::recorder::bulk::Renamed;
use crate::recorder::entry::{Kind, Nanos, State};
use crate::recorder::facts::{Decision, Facts};
use crate::recorder::findings::Done;
use crate::recorder::index::Index;
use crate::recorder::verdict::Verdict;
use crate::store::archive::{Archive, Item, Undone, WhenChanged, stays_inside};
use crate::store::lock::{IN_HOOK, Locked, with_lock, with_state_lock};
use crate::store::{make_own_folder, modified, rename, replace};

/// No event works longer on undoing; the rest follows at the next.
const BUDGET: Duration = Duration::from_secs(1);

/// Why a change was not taken back.
#[derive(Debug)]
pub enum Refused {
    /// It is left for a later event: the time is up, or the entry was just touched.
    Later,
    /// What it held before is not kept.
    NotKept,
    /// It was changed again after this change.
    Superseded,
    Failed(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Where and when something is taken back.
pub struct Place<'a> {
    pub site: &'a Site<'a>,
    pub archive: Archive,
    pub session: &'a str,
    pub now: DateTime<Utc>,
    pub wait: Duration,
}

/// Decisions, and what was done about each.
pub(super) type Outcomes<'s, 'w> = Vec<(Decision<'s, 'w>, Result<Done, Refused>)>;

/// Carries decisions out, a site at a time under its locks, and brings the index up to date.
pub(super) fn carry_out<'s, 'w>(
    facts: &Facts<'s, 'w>,
    mut decisions: Vec<Decision<'s, 'w>>,
    index: &mut Index,
    session: &str,
) -> Outcomes<'s, 'w> {
    let begun = Instant::now();
    let mut outcomes = Vec::new();
    while let Some(first) = decisions.first() {
        let claim = &first.judged.claim;
        let site = Site::new(claim.governed, claim.root.clone(), claim.site.clone());
        let dir = site.dir();
        let (here, elsewhere): (Vec<_>, Vec<_>) = decisions
            .into_iter()
            .partition(|decision| decision.judged.claim.site_dir() == dir);
        decisions = elsewhere;
        let place = Place {
            archive: site.archive(facts.recorder.project, facts.recorder.settings.archive_runs),
            site: &site,
            session,
            now: facts.recorder.now,
            wait: IN_HOOK.saturating_sub(begun.elapsed()),
        };
        let mut here = Some(here);
        let mut done = Vec::new();
        let locked = place.locked(|locked| {
            let here = here.take().unwrap_or_default();
            done = in_site(facts, &place, locked, here, index, begun);
            Ok(())
        });
        // The lock is busy: the next event tries again.
        let left = here.into_iter().flatten();
        outcomes.extend(left.map(|decision| match &locked {
            Err(Refused::Failed(error)) if error.kind() != io::ErrorKind::WouldBlock => (
                decision,
                Err(Refused::Failed(io::Error::new(
                    error.kind(),
                    error.to_string(),
                ))),
            ),
            _ => (decision, Err(Refused::Later)),
        }));
        outcomes.append(&mut done);
    }
    outcomes
}

/// The same in one site: all that goes into the archive is one batch.
fn in_site<'s, 'w>(
    facts: &Facts<'s, 'w>,
    place: &Place<'_>,
    locked: &Locked<'_>,
    decisions: Vec<Decision<'s, 'w>>,
    index: &mut Index,
    begun: Instant,
) -> Outcomes<'s, 'w> {
    let (mut outcomes, mut aside) = (Vec::new(), Vec::new());
    for decision in decisions {
        let done = if begun.elapsed() >= BUDGET {
            Some(Err(Refused::Later))
        } else {
            take_back(facts, (place, locked), &decision, index)
        };
        match done {
            Some(done) => outcomes.push((decision, done)),
            None => aside.push(decision),
        }
    }
    outcomes.extend(move_away(facts, place, locked, aside, index, begun));
    outcomes
}

/// Makes an entry what it was before a change. One of our logs becomes what was written into
/// it, also since.
fn write_back(
    facts: &Facts<'_, '_>,
    (place, locked): (&Place<'_>, &Locked<'_>),
    decision: &Decision<'_, '_>,
    before: &State,
) -> Result<Option<PathBuf>, Refused> {
    let change = decision.change;
    let entry = (decision.judged.claim.entry.as_str(), change.path());
    let after = change.after.as_ref();
    let former = Former::from(before);
    let logs = facts.recorder.project.logs().all();
    let log = logs.iter().find(|log| log.path() == change.path());
    let Some((log, true)) = log.map(|log| (log, log.written().is_some())) else {
        let bytes = before.blob.and_then(|blob| facts.contents.get(blob));
        return place.put_back(locked, entry, &former, after, bytes);
    };
    let mut done = Err(Refused::Later);
    make_own_folder(&log.dir)?;
    with_lock(&log.dir, place.wait, |_| {
        done = place.put_back(locked, entry, &former, after, log.written());
        Ok(())
    })?;
    done
}

/// Gives an entry its name or its content back; `None` for what goes away instead.
fn take_back(
    facts: &Facts<'_, '_>,
    at: (&Place<'_>, &Locked<'_>),
    decision: &Decision<'_, '_>,
    index: &mut Index,
) -> Option<Result<Done, Refused>> {
    match decision.attribution.verdict {
        Verdict::RenameBack => {
            let former = decision.former?;
            rename_back(decision.change.path(), former.path(), index).ok()?;
            set_as_found(index, former.path(), former.before);
            Some(Ok(Done::RenamedTo(display(facts, former.path()))))
        }
        Verdict::PutBack => Some(match &decision.renamed {
            Some(renamed) => rename_dir_back(facts, renamed, index),
            None => put_back(facts, at, decision, index),
        }),
        Verdict::MoveAway | Verdict::Accept | Verdict::Report(_) => None,
    }
}

fn put_back(
    facts: &Facts<'_, '_>,
    at: (&Place<'_>, &Locked<'_>),
    decision: &Decision<'_, '_>,
    index: &mut Index,
) -> Result<Done, Refused> {
    let change = decision.change;
    if index.get(&change.path) != change.after {
        return Err(Refused::Superseded);
    }
    let former = change.before.ok_or(Refused::NotKept)?;
    let newer = write_back(facts, at, decision, &former)?;
    set_as_found(index, change.path(), change.before);
    Ok(Done::PutBack(newer.map(|newer| display(facts, &newer))))
}

/// Moves entries into the archive, a directory once and its entries with it.
fn move_away<'s, 'w>(
    facts: &Facts<'s, 'w>,
    place: &Place<'_>,
    locked: &Locked<'_>,
    mut decisions: Vec<Decision<'s, 'w>>,
    index: &mut Index,
    begun: Instant,
) -> Outcomes<'s, 'w> {
    decisions.sort_by(|one, other| one.change.path.cmp(&other.change.path));
    let (mut outcomes, mut moved): (Outcomes<'s, 'w>, BTreeSet<OsString>) = Default::default();
    let (mut batch, mut metas) = (Vec::new(), Vec::new());
    for decision in decisions {
        let path = decision.change.path();
        let mut above = path.ancestors();
        if above.any(|above| moved.contains(above.as_os_str())) {
            outcomes.push((decision, Ok(Done::Along)));
            continue;
        }
        let meta = fs::symlink_metadata(path);
        let is_as_found = meta.as_ref().is_ok_and(|meta| {
            let known = index.get(path.as_os_str());
            known.is_some_and(|known| State::of(&meta.into()).has_stat_of(&known))
        });
        match meta {
            Err(error) if is_missing(&error) => outcomes.push((decision, Ok(Done::Gone))),
            Err(error) => outcomes.push((decision, Err(error.into()))),
            Ok(_) if !is_as_found || begun.elapsed() >= BUDGET => {
                outcomes.push((decision, Err(Refused::Later)));
            }
            Ok(meta) => {
                moved.insert(decision.change.path.clone());
                metas.push(meta);
                batch.push(decision);
            }
        }
    }
    let results = set_aside(facts, place, locked, &batch, &metas);
    let moved = batch
        .iter()
        .zip(&results)
        .filter(|(_, result)| result.is_ok());
    let tops = moved.map(|(decision, _)| decision.change.path.as_os_str());
    index.forget_below(&tops.collect());
    outcomes.extend(batch.into_iter().zip(results));
    outcomes
}

/// One batch of the archive.
fn set_aside(
    facts: &Facts<'_, '_>,
    place: &Place<'_>,
    locked: &Locked<'_>,
    batch: &[Decision<'_, '_>],
    metas: &[Metadata],
) -> Vec<Result<Done, Refused>> {
    let items: Vec<Item<'_>> = batch
        .iter()
        .zip(metas)
        .map(|(decision, meta)| Item {
            name: &decision.judged.claim.entry,
            path: decision.change.path(),
            size: meta.len(),
            modified: modified(meta),
            is_dir: meta.is_dir(),
            reason: match &decision.denial {
                Some(denial) => denial.code.as_str(),
                None => "",
            },
            when_changed: WhenChanged::Move,
        })
        .collect();
    let archive = &place.archive;
    match archive.set_aside(locked, place.now, place.session, &items) {
        Ok(taken) => taken
            .into_iter()
            .map(|one| match one {
                Undone::Moved(to) => Ok(Done::MovedTo(display(facts, &to))),
                Undone::Failed(error) => Err(Refused::Failed(error)),
            })
            .collect(),
        Err(error) => batch
            .iter()
            .map(|_| io::Error::new(error.kind(), error.to_string()))
            .map(|error| Err(Refused::Failed(error)))
            .collect(),
    }
}

/// Gives an entry its former name, which must be free.
fn rename_back(path: &Path, former: &Path, index: &mut Index) -> io::Result<()> {
    if let Some(above) = former.parent() {
        replace::make_dir(above)?;
    }
    rename::move_to_free(path, former)?;
    index.set(path.as_os_str(), None);
    Ok(())
}

/// Gives a directory its former name. What locks its site has made it anew, and empty.
fn rename_dir_back(
    facts: &Facts<'_, '_>,
    Renamed { from, to }: &Renamed,
    index: &mut Index,
) -> Result<Done, Refused> {
    replace::remove_if_empty(from);
    rename::move_to_free(to, from)?;
    let known = index.entries();
    let moved: Vec<(PathBuf, State)> = known
        .filter_map(|(path, state)| Some((Path::new(path).strip_prefix(to).ok()?, state)))
        .map(|(below, state)| (from.join(below), *state))
        .collect();
    index.forget_below(&HashSet::from([to.as_os_str()]));
    for (path, state) in moved {
        index.set(path.as_os_str(), Some(state));
    }
    Ok(Done::RenamedTo(display(facts, from)))
}

/// Notes an entry as it is now; its content is the former one's.
fn set_as_found(index: &mut Index, path: &Path, former: Option<State>) {
    let stat = Stat::of(path);
    let state = stat.ok().map(|stat| State {
        blob: former.and_then(|former| former.blob),
        ..State::of(&stat)
    });
    index.set(path.as_os_str(), state);
}

fn display(facts: &Facts<'_, '_>, path: &Path) -> String {
    let whole = path::from_os(path);
    let main = &facts.recorder.project.main;
    let below = main
        .is_at(facts.recorder.around.cwd)
        .then(|| main.relative(&whole))
        .flatten();
    below.map_or(whole.clone(), str::to_owned)
}

/// What an entry is made as again, beside its content.
pub struct Former {
    pub kind: Kind,
    pub mode: u32,
    pub mtime: Nanos,
}

impl From<&State> for Former {
    fn from(state: &State) -> Self {
        Self {
            kind: state.kind,
            mode: state.mode,
            mtime: state.mtime,
        }
    }
}

impl Place<'_> {
    /// Runs under the site's locks, and under those of all of it where it is gone.
    ///
    /// # Errors
    /// The locks are busy, or the site cannot be made.
    pub fn locked<T>(
        &self,
        act: impl FnOnce(&Locked<'_>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let dir = self.site.dir();
        replace::make_dir(dir.as_ref())?;
        let pid_lock = self.site.governed.system.info().pid_lock;
        let mut outcome = Err(Refused::Later);
        with_state_lock(dir.as_ref(), pid_lock, self.wait, |locked| {
            outcome = act(locked);
            Ok(())
        })?;
        outcome
    }

    /// Makes an entry, by its name in the site and its path, what it was, with its former mode
    /// and modification time, which readers tell what is stale by. Gives where the newer
    /// content is, if there was one.
    ///
    /// Both exchange their names: a kill leaves either in its place, whole, and a program that
    /// holds the file open goes on writing into the archived one.
    ///
    /// # Errors
    /// As [`Refused`] says; the entry is as it was found.
    pub fn put_back(
        &self,
        locked: &Locked<'_>,
        (name, path): (&str, &Path),
        former: &Former,
        found: Option<&State>,
        bytes: Option<Vec<u8>>,
    ) -> Result<Option<PathBuf>, Refused> {
        let bytes = bytes.ok_or(Refused::NotKept)?;
        stays_inside(path, self.site.dir().as_ref())?;
        if !is_as_found(path, found) {
            return Err(Refused::Later);
        }
        let Some(found) = found else {
            return match write_former(path, former, &bytes) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(Refused::Superseded)
                }
                written => Ok(written.map(|()| None)?),
            };
        };
        let item = Item {
            name,
            path,
            size: found.size,
            modified: modified(&fs::symlink_metadata(path)?),
            is_dir: found.kind == Kind::Dir,
            reason: "changed",
            when_changed: WhenChanged::Move,
        };
        let newer = self
            .archive
            .exchange(locked, self.now, self.session, &item, &|place| {
                write_former(place, former, &bytes)
            })?;
        Ok(Some(newer))
    }
}

/// Writes what an entry held, under a name that is free; `restore` takes the same way.
fn write_former(path: &Path, former: &Former, bytes: &[u8]) -> io::Result<()> {
    if let Some(above) = path.parent() {
        replace::make_dir(above)?;
    }
    if former.kind == Kind::Link {
        return replace::make_link(path, bytes);
    }
    let mtime = Duration::from_nanos(u64::try_from(former.mtime).unwrap_or_default());
    replace::make_as_it_was(path, bytes, former.mode, SystemTime::UNIX_EPOCH + mtime)
}

fn is_as_found(path: &Path, found: Option<&State>) -> bool {
    match (Stat::of(path), found) {
        (Ok(stat), Some(found)) => State::of(&stat).has_stat_of(found),
        (Err(error), None) => is_missing(&error),
        _ => false,
    }
}
