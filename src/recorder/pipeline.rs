//! One look and all that follows from it: look → changes → decide → undo → record.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::path::Path;
use std::time::Instant;

use crate::contract::ignored;
use crate::log::kept::Past;
use crate::project::sites::Site;
use crate::recorder::calls::{self, Call, Caller, Progress, Work};
use crate::recorder::changes::Outcome;
use crate::recorder::contents::Contents;
use crate::recorder::entry::{Change, ChangeKind, Nanos};
use crate::recorder::facts::{self, Decision, Facts};
use crate::recorder::findings::{Done, Finding, Findings, Recipient, finding, recipients};
use crate::recorder::index::Index;
use crate::recorder::last_look::{self, LastLook};
use crate::recorder::look::{Look, Scope, is_gone};
use crate::recorder::mediate::{Recorder, warn_on_error};
use crate::recorder::places;
use crate::recorder::records::{self, Loss};
use crate::recorder::undo::{self, Outcomes, Refused};
use crate::store::lock::Locked;

/// How much of the event log is read for the last session's start, in bytes.
const RECENT: u64 = 1 << 20;

/// What another call may be about to rename or to remove is not judged before.
const SETTLING: Nanos = 2_000_000_000;

/// When an event happens, as calls see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A call waits for the answer: nothing is undone.
    BeforeCall,
    /// The memory may have been exchanged since the last session.
    SessionStart,
    Later,
}

/// How a call went on; `None` where the event says nothing of it.
pub(super) type ProgressOf<'a> = &'a dyn Fn(&Call) -> Option<Progress>;

/// What a look is for.
pub(super) struct Step<'a> {
    pub(super) moment: Moment,
    pub(super) scope: Scope<'a>,
    /// How a call went on, where the event says so of any.
    pub(super) progress: Option<ProgressOf<'a>>,
    /// Since when the call ran that ends: in a site that was not known, what is younger is new.
    pub(super) begun: Option<Nanos>,
    /// A call without a note: it was lost, or the project was not known before.
    pub(super) unnoted: Option<Call>,
    pub(super) session: &'a str,
}

impl<'a> Step<'a> {
    /// A look at an event that says nothing of any call.
    pub(super) fn new(moment: Moment, scope: Scope<'a>, session: &'a str) -> Self {
        Self {
            moment,
            scope,
            progress: None,
            begun: None,
            unnoted: None,
            session,
        }
    }
}

/// What earlier looks found, and what is kept.
pub(super) struct Known<'w> {
    /// Those that this event looked at, once it has.
    pub(super) sites: Vec<Site<'w>>,
    /// How many of them are around the event; the others are known from earlier ones.
    pub(super) n_around: usize,
    pub(super) index: Index,
    pub(super) contents: Contents,
    last: LastLook,
    /// How long the look of this event took, where it has ended and is not known as the last one.
    took: Option<Nanos>,
}

impl Known<'_> {
    /// Takes the look of this event, if it has ended, for the last one.
    fn note_last(&mut self, recorder: &Recorder<'_>, locked: &Locked<'_>) {
        if let Some(took) = self.took.take() {
            self.last = LastLook::ended(locked.dir(), took, Some(recorder.nanos()));
        }
    }
}

/// Reads what is known; an index that cannot be read is made anew. For a look at one path the
/// others are not read.
pub(super) fn known<'w>(
    recorder: &Recorder<'w>,
    locked: &Locked<'_>,
    scope: Scope<'_>,
) -> io::Result<Known<'w>> {
    let main = &recorder.project.main;
    let read = match scope {
        Scope::All => Index::read,
        Scope::Path(_) => Index::open,
    };
    let mut index = match read(locked.dir()) {
        Ok(index) => index.unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let what = format!("{error}; it is made anew, and changes before now are not known");
            records::log_fault(recorder, &what);
            Index::default()
        }
        Err(error) => return Err(error),
    };
    if index.is_of_other_root(&main.dir) {
        // The project was copied, and its calls with it.
        calls::forget_all(locked.dir())?;
        index = Index::default();
    }
    if index.is_new() {
        index.set_root(&main.dir);
    }
    let last = if index.is_new() {
        LastLook::default()
    } else {
        LastLook::read(locked.dir())
    };
    Ok(Known {
        sites: Vec::new(),
        n_around: 0,
        last,
        took: None,
        contents: Contents::of(locked.dir()),
        index,
    })
}

/// Whether a look has ended since then.
pub(super) fn has_looked_since(memory: &Path, then: Nanos) -> bool {
    last_look::ended(memory).is_some_and(|looked| looked >= then)
}

fn note_look(
    recorder: &Recorder<'_>,
    locked: &Locked<'_>,
    known: &mut Known<'_>,
    begun: Instant,
) -> io::Result<()> {
    let took = Nanos::try_from(begun.elapsed().as_nanos()).unwrap_or(0);
    known.took = Some(took);
    last_look::note(locked.dir(), took, recorder.nanos())
}

/// Drops old notes; a call that waits for its answer does not wait for that.
fn forget_stale(step: &Step<'_>, locked: &Locked<'_>, clock: Nanos) -> io::Result<()> {
    if step.moment == Moment::BeforeCall {
        return Ok(());
    }
    calls::forget_stale(locked.dir(), clock)
}

/// Whether the memory is not what our own logs say that it has to be: a session has begun here
/// that it does not know.
fn loss(recorder: &Recorder<'_>, known: &Known<'_>, step: &Step<'_>) -> Option<Loss> {
    if known.index.is_new() {
        return recorder.last_heartbeat(u64::MAX).map(|_| Loss::Gone);
    }
    if step.unnoted.is_none() && step.moment != Moment::SessionStart {
        return None;
    }
    let event = known.last.event?;
    let began = recorder.last_heartbeat(RECENT)?;
    (event < began).then_some(Loss::Older)
}

/// Begins the copies of our logs: whose the lines are is not certain where the memory is gone.
fn begin_copies(recorder: &Recorder<'_>, loss: Option<Loss>) {
    let past = match loss {
        Some(Loss::Gone) => Past::Unknown,
        Some(Loss::Older) | None => Past::Ours,
    };
    let begun = recorder.project.logs().begin(past);
    warn_on_error("could not begin the copies of the logs", &begun);
}

/// Looks, and does what follows. The settings are those that were in force before the call:
/// what a call did to a settings file is held until a person accepts it.
///
/// The contents are written first and the index last: after a kill in between the next look
/// finds the same changes again.
pub(super) fn run<'w>(
    recorder: &Recorder<'w>,
    locked: &Locked<'_>,
    known: &mut Known<'w>,
    step: &Step<'_>,
) -> io::Result<Findings> {
    let begun = Instant::now();
    known.note_last(recorder, locked);
    let (was_new, loss) = (known.index.is_new(), loss(recorder, known, step));
    begin_copies(recorder, loss);
    known.index.forget_gone_tolerated(is_gone);
    // The first look is at all there is: it says what the settings were.
    let scope = if was_new { Scope::All } else { step.scope };
    let found = look(recorder, known, scope, step.begun);
    keep_contents(recorder, known, locked);
    let mut findings = loss.map_or_else(Findings::new, |loss| {
        records::memory_lost(recorder, loss, step)
    });
    if let Some(call) = &step.unnoted
        && let Work::RunsCode(_) = call.work
        && !was_new
    {
        records::note_missing(recorder, call);
    }
    let clock = recorder.nanos();
    if found.is_empty() && known.index.pending().is_empty() && step.progress.is_none() {
        known.index.commit(locked)?;
        note_look(recorder, locked, known, begun)?;
        forget_stale(step, locked, clock)?;
        return Ok(findings);
    }
    let mut calls = calls::all(locked.dir(), clock)?;
    for call in &mut calls {
        if let Some(progress) = step.progress.and_then(|progress| progress(call)) {
            call.note(locked.dir(), progress)?;
        }
    }
    let all: Vec<Call> = calls.iter().chain(&step.unnoted).cloned().collect();
    let open = known.index.pending().to_vec().into_iter().chain(found);
    let (ready, pending): (Vec<Change>, Vec<Change>) =
        open.partition(|change| is_ready(change, &all, clock));
    let changes = (ready.as_slice(), pending);
    findings.extend(settle(recorder, locked, step, known, &all, changes)?);
    note_look(recorder, locked, known, begun)?;
    forget_settled(locked, known, &calls, clock)?;
    Ok(findings)
}

/// Drops the notes of calls that ended some time ago and can have made nothing that is undecided.
fn forget_settled(
    locked: &Locked<'_>,
    known: &Known<'_>,
    calls: &[Call],
    clock: Nanos,
) -> io::Result<()> {
    for call in calls.iter().filter(|call| call.is_stale(clock)) {
        let mut waiting = known.index.pending().iter();
        if !waiting.any(|change| call.can_have_made(change)) {
            call.forget(locked.dir())?;
        }
    }
    Ok(())
}

/// Brings the index up to date, and gives what changed.
pub(super) fn look<'w>(
    recorder: &Recorder<'w>,
    known: &mut Known<'w>,
    scope: Scope<'_>,
    begun: Option<Nanos>,
) -> Vec<Change> {
    let (project, registry) = (recorder.project, recorder.registry);
    let mut files = Vec::new();
    known.sites.clear();
    if scope == Scope::All {
        known.sites = places::around(project, registry, &recorder.around);
        known.n_around = known.sites.len();
        places::add_known(&mut known.sites, &known.index, project, registry);
        files = places::own_files(project, recorder.env);
    }
    let at = Look {
        scope,
        sites: &known.sites,
        files: &files,
        logs: &places::own_logs(project, &known.sites),
        registry,
        now: recorder.nanos(),
        last: known.last.began,
        last_by: known.last.began_by,
        begun,
        contents: recorder.settings.recorder,
    };
    let mut changes = at.take(&mut known.index, &mut known.contents);
    changes.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    changes
}

/// Writes the contents that a look found. What is not kept cannot be brought back, and is
/// reported all the same.
pub(super) fn keep_contents(recorder: &Recorder<'_>, known: &mut Known<'_>, locked: &Locked<'_>) {
    let kept = known.contents.commit(locked, &|| known.index.blobs());
    warn_on_error("could not keep the contents of state files", &kept);
    records::note_unkept(recorder, &mut known.contents);
}

/// Whether a change can be decided: nothing more can be learnt of it by waiting.
fn is_ready(change: &Change, calls: &[Call], clock: Nanos) -> bool {
    let candidates: Vec<&Call> = calls
        .iter()
        .filter(|call| call.can_have_made(change))
        .collect();
    if candidates.iter().any(|call| call.wrote(change)) {
        return true;
    }
    let runs_on = candidates.iter().any(|call| call.is_running());
    let may_vanish = change.act() == ChangeKind::Create && is_like_temporary(change.path());
    let is_settling = (runs_on || may_vanish) && clock - change.hi < SETTLING;
    let is_awaited = !candidates.is_empty() && candidates.iter().all(|call| call.is_awaited());
    !is_settling && !is_awaited
}

fn is_like_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    ignored::is_like_temporary(&name.to_string_lossy())
}

/// Decides about changes, takes back what is to be taken back, and records all of it. What
/// has to wait stays pending.
fn settle(
    recorder: &Recorder<'_>,
    locked: &Locked<'_>,
    step: &Step<'_>,
    Known {
        index, contents, ..
    }: &mut Known<'_>,
    calls: &[Call],
    (ready, mut pending): (&[Change], Vec<Change>),
) -> io::Result<Findings> {
    if ready.is_empty() {
        index.set_pending(pending);
        index.commit(locked)?;
        return Ok(Findings::new());
    }
    let facts = Facts {
        recorder,
        contents,
        calls,
        changes: ready,
        unnoted: step.unnoted.as_ref(),
        git: RefCell::default(),
        moved: OnceCell::new(),
    };
    let (acting, leaving): (Vec<_>, Vec<_>) = facts::decide_all(&facts, index)
        .into_iter()
        .partition(|one| one.acts);
    let mut outcomes = Outcomes::new();
    if step.moment == Moment::BeforeCall {
        pending.extend(acting.iter().map(|decision| decision.change.clone()));
    } else if !acting.is_empty() {
        // What a kill leaves undone is found in the index again.
        index.set_pending([&pending, ready].concat());
        index.commit(locked)?;
        outcomes = undo::carry_out(&facts, acting, index, step.session);
    }
    let left: Vec<_> = leaving
        .into_iter()
        .map(|decision| {
            let done = along_or_left(decision.change, &outcomes);
            (decision, Ok(done))
        })
        .collect();
    outcomes.extend(left);
    let open = outcomes.iter();
    pending.extend(open.filter_map(|(one, done)| still_open(one.change, done)));
    let findings = record_all(&facts, locked, step, &outcomes, index)?;
    index.set_pending(pending);
    index.commit(locked)?;
    Ok(findings)
}

/// Records what is news, and gives what is reported of it to whom.
fn record_all(
    facts: &Facts<'_, '_>,
    locked: &Locked<'_>,
    step: &Step<'_>,
    outcomes: &Outcomes<'_, '_>,
    index: &mut Index,
) -> io::Result<Findings> {
    let mut findings = Findings::new();
    for (decision, done) in outcomes {
        if is_news(decision.change, done) {
            let finding = reported(decision, done);
            note_tolerated(index, decision, (done, finding.as_ref()));
            findings.extend(record(facts, locked, step, decision, (done, finding))?);
        }
    }
    Ok(findings)
}

/// What becomes of a change that nothing was done about: it may have gone back with another.
fn along_or_left(change: &Change, outcomes: &Outcomes<'_, '_>) -> Done {
    let is_along = outcomes
        .iter()
        .any(|(other, done)| matches!(done, Ok(Done::RenamedTo(_))) && is_part_of(change, other));
    if is_along {
        Done::Along
    } else {
        Done::Left(None)
    }
}

/// A change that a further look may still take back: what failed is tried again at each event.
fn still_open(change: &Change, done: &Result<Done, Refused>) -> Option<Change> {
    let was_refused = match done {
        Err(Refused::Later) => change.was_refused,
        Err(Refused::Failed(_)) => true,
        _ => return None,
    };
    Some(Change {
        was_refused,
        ..change.clone()
    })
}

/// Whether there is something to record: what failed is reported once.
fn is_news(change: &Change, done: &Result<Done, Refused>) -> bool {
    match done {
        Err(Refused::Later) => false,
        Err(Refused::Failed(_)) => !change.was_refused,
        _ => true,
    }
}

/// Whether a change went back with the rename of which another one is the first.
fn is_part_of(change: &Change, other: &Decision<'_, '_>) -> bool {
    let is_former = other
        .former
        .is_some_and(|former| former.path == change.path);
    let renamed = other.renamed.as_ref();
    is_former || renamed.is_some_and(|renamed| renamed.holds(change))
}

/// What is reported of a change, unless it is gone by now.
fn reported(decision: &Decision<'_, '_>, done: &Result<Done, Refused>) -> Option<Finding> {
    let change = decision.change;
    let is_there = change.act() == ChangeKind::Remove || !is_gone(change.path());
    finding(decision, done).filter(|finding| finding.was_undone() || is_there)
}

/// Records one change, and gives to whom it is reported.
fn record(
    facts: &Facts<'_, '_>,
    locked: &Locked<'_>,
    step: &Step<'_>,
    decision: &Decision<'_, '_>,
    (done, finding): (&Result<Done, Refused>, Option<Finding>),
) -> io::Result<Findings> {
    let recorder = facts.recorder;
    let outcome = match &finding {
        _ if matches!(done, Ok(Done::Along)) => Outcome::Undone,
        None => Outcome::Allowed,
        Some(finding) if finding.was_undone() => Outcome::Undone,
        Some(_) => Outcome::Detected,
    };
    let id = records::change(recorder, locked, decision, outcome)?;
    let Some(mut finding) = finding else {
        return Ok(Findings::new());
    };
    let before = decision.change.before.and_then(|before| before.blob);
    let is_kept = before.is_some_and(|blob| facts.contents.get(blob).is_some());
    finding.restorable_at = (is_kept && !finding.was_undone()).then(|| id.clone());
    if records::was_warned_of(recorder, decision, &finding) {
        return Ok(Findings::new());
    }
    records::log_finding(recorder, decision, &finding, &id);
    // The agent whose it was may be gone.
    let to = if decision.change.was_refused {
        vec![Recipient::main_of(step.session)]
    } else {
        recipients(decision, &finding, step.session)
    };
    Ok(to.into_iter().map(|to| (to, finding.clone())).collect())
}

/// A bad name that stays is not reported again because it is saved again. What a call removed
/// has to be made anew before it counts; an editor of a person removes and makes anew.
fn note_tolerated(
    index: &mut Index,
    decision: &Decision<'_, '_>,
    (done, finding): (&Result<Done, Refused>, Option<&Finding>),
) {
    let change = decision.change;
    if change.act() == ChangeKind::Remove {
        if !decision.candidates.is_empty() {
            index.set_tolerated(&change.path, false);
        } else if decision.judged.has_bad_name() {
            index.set_tolerated(&change.path, true);
        }
    } else if decision.is_bad_name()
        && !matches!(done, Err(Refused::Failed(_)))
        && finding.is_some_and(|finding| !finding.was_undone())
    {
        index.set_tolerated(&change.path, true);
    }
}

/// What this program has just written there: its own, whatever it is.
pub(super) fn note_own<'w>(
    recorder: &Recorder<'w>,
    locked: &Locked<'_>,
    known: &mut Known<'w>,
    by: &Caller,
    scopes: &[Scope<'_>],
) -> io::Result<()> {
    known.note_last(recorder, locked);
    for scope in scopes {
        // A site that the look before did not know is of its making.
        for change in look(recorder, known, *scope, Some(Nanos::MIN)) {
            records::own_change(recorder, locked, &change, by)?;
        }
    }
    keep_contents(recorder, known, locked);
    known.index.commit(locked)
}
