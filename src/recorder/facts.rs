//! The facts of each change: who can have made it and what the rules say to it. `verdict` decides by
//! them.

use std::cell::{LazyCell, OnceCell, RefCell};
use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use crate::base::actor::Actor;
use crate::base::disk::bounded_read;
use crate::base::git::TrackedFiles;
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::contract::table::Classification;
use crate::guard::claims::Resolution;
use crate::recorder::bulk::{self, Bulk, Renamed};
use crate::recorder::calls::{Call, Progress, Work};
use crate::recorder::contents::Contents;
use crate::recorder::custody::custody;
use crate::recorder::entry::{BlobId, Change, ChangeKind, State};
use crate::recorder::index::Index;
use crate::recorder::judge::Judged;
use crate::recorder::look::is_gone;
use crate::recorder::mediate::Recorder;
use crate::recorder::verdict::{
    self, Attribution, Candidate, Case, Concern, End, EntryKind, Growth, Tie, Verdict,
};
use crate::settings::model;
use crate::systems::{agentmux, own};

/// What decisions are made from.
pub(super) struct Facts<'s, 'w> {
    pub(super) recorder: &'s Recorder<'w>,
    pub(super) contents: &'s Contents,
    pub(super) calls: &'s [Call],
    /// Those to decide about.
    pub(super) changes: &'s [Change],
    /// A call without a note: only names are judged of what it can have made.
    pub(super) unnoted: Option<&'s Call>,
    pub(super) git: RefCell<TrackedFiles>,
    pub(super) moved: OnceCell<Moved<'s>>,
}

/// The changes by the inodes of what left its path, and of what is new at its own.
pub(super) struct Moved<'s> {
    pub(super) left: HashMap<u64, Vec<&'s Change>>,
    pub(super) arrived: HashMap<u64, Vec<&'s Change>>,
}

impl<'s> Moved<'s> {
    fn of(changes: &'s [Change]) -> Self {
        let (mut left, mut arrived) = (HashMap::new(), HashMap::new());
        for change in changes {
            let (there, ino): (&mut HashMap<_, Vec<_>>, _) = match (change.before, change.after) {
                (Some(before), None) => (&mut left, before.ino),
                (None, Some(after)) => (&mut arrived, after.ino),
                _ => continue,
            };
            there.entry(ino).or_default().push(change);
        }
        Self { left, arrived }
    }
}

/// One change with what is decided about it.
pub(super) struct Decision<'s, 'w> {
    pub(super) change: &'s Change,
    pub(super) judged: Judged<'s, 'w>,
    pub(super) candidates: Vec<&'s Call>,
    pub(super) attribution: Attribution,
    /// What is said against it.
    pub(super) denial: Option<Denial>,
    /// The change by which the entry lost its former name.
    pub(super) former: Option<&'s Change>,
    /// The directory that got another name, of which this change is the first.
    pub(super) renamed: Option<Renamed>,
    /// Whether the disk is to be changed.
    pub(super) acts: bool,
}

impl Decision<'_, '_> {
    /// The call that made the change, where one can be named.
    pub(super) fn by(&self) -> Option<&Call> {
        self.attribution.by.map(|at| self.candidates[at])
    }

    /// Whether the entry has a name that no actor may use.
    pub(super) fn is_bad_name(&self) -> bool {
        let denial = self.denial.as_ref();
        denial.is_some_and(|denial| denial.code.subject().holds_for_everyone())
    }
}

/// Decides about every change that falls to a system, renames first.
pub(super) fn decide_all<'s, 'w>(facts: &Facts<'s, 'w>, index: &Index) -> Vec<Decision<'s, 'w>> {
    let Recorder {
        project,
        registry,
        around,
        ..
    } = facts.recorder;
    let judged: Vec<_> = facts
        .changes
        .iter()
        .map(|change| Judged::of(change, facts.contents, project, registry, around.cwd))
        .collect();
    let mut bulk = bulk::find(facts, index, &judged);
    let mut decisions: Vec<_> = judged
        .into_iter()
        .enumerate()
        .filter_map(|(at, judged)| Some(one(facts, index, judged?, bulk.remove(&at))))
        .collect();
    decisions.sort_by_key(|decision| decision.attribution.verdict != Verdict::RenameBack);
    decisions
}

fn one<'s, 'w>(
    facts: &Facts<'s, 'w>,
    index: &Index,
    judged: Judged<'s, 'w>,
    bulk: Option<Bulk>,
) -> Decision<'s, 'w> {
    let change = judged.change;
    let candidates = facts.candidates(change);
    let objections = objections(facts, &judged, &candidates, bulk.as_ref());
    let main = LazyCell::new(|| judged.objection(&Actor::Main));
    let former = former_name(facts, change);
    let concern = if candidates.is_empty() {
        concern(&judged, main.as_ref())
    } else {
        None
    };
    let attribution = verdict::of(&Case {
        act: change.act(),
        candidates: &candidates
            .iter()
            .zip(&objections)
            .map(|(call, objection)| candidate(facts, call, &judged, objection.as_ref()))
            .collect::<Vec<_>>(),
        entry: entry_kind(index, &judged),
        concern,
        growth: &|| growth(facts, &judged),
        custody: &|| custody(facts, change, &candidates),
        was_renamed: &|| former.is_some(),
    });
    let denial = denial(&judged, attribution, objections, &|| main.clone());
    Decision {
        acts: acts(facts, &judged, attribution.verdict),
        denial,
        change,
        judged,
        candidates,
        attribution,
        former,
        renamed: match bulk {
            Some(Bulk::Renamed(renamed)) => Some(renamed),
            _ => None,
        },
    }
}

/// What a file tool of each candidate would have been denied for.
fn objections(
    facts: &Facts<'_, '_>,
    judged: &Judged<'_, '_>,
    candidates: &[&Call],
    bulk: Option<&Bulk>,
) -> Vec<Option<Denial>> {
    let objection = |call: &&Call| match bulk {
        Some(Bulk::Taken(why)) => Some(judged.denial(DenyCode::BulkRemoval, why.clone())),
        Some(Bulk::Renamed(renamed)) => {
            Some(judged.denial(DenyCode::BulkRemoval, renamed.to_string()))
        }
        Some(Bulk::Along) => None,
        None => judged.objection(&call.caller.actor()?).filter(|denial| {
            // Of a call without a note only names are judged.
            denial.code.subject().holds_for_everyone() || !facts.is_without_note(call)
        }),
    };
    candidates.iter().map(objection).collect()
}

/// What is said against a change: of the candidate that made it, else of any.
fn denial(
    judged: &Judged<'_, '_>,
    attribution: Attribution,
    objections: Vec<Option<Denial>>,
    main: &dyn Fn() -> Option<Denial>,
) -> Option<Denial> {
    let mut all = objections.into_iter();
    match (attribution.verdict, attribution.by) {
        (Verdict::Accept, _) => None,
        (_, Some(by)) => all.nth(by).flatten(),
        (_, None) => all
            .flatten()
            .next()
            .or_else(main)
            .or_else(|| Some(judged.denial(DenyCode::WrongWriter, "a gate moved".to_owned()))),
    }
}

impl<'s> Facts<'s, '_> {
    fn is_without_note(&self, call: &Call) -> bool {
        matches!(call.work, Work::RunsCode(_))
            && self.unnoted.is_some_and(|other| other.id() == call.id())
    }

    pub(super) fn moved(&self) -> &Moved<'s> {
        self.moved.get_or_init(|| Moved::of(self.changes))
    }

    /// The calls that can have made a change.
    pub(super) fn candidates(&self, change: &Change) -> Vec<&'s Call> {
        let calls = self.calls.iter();
        calls.filter(|call| call.can_have_made(change)).collect()
    }
}

/// Whether the settings let a verdict change the disk.
fn acts(facts: &Facts<'_, '_>, judged: &Judged<'_, '_>, verdict: Verdict) -> bool {
    let claim = &judged.claim;
    let governed = claim.governed;
    // No person edits our logs and gate states; the client's settings are the user's.
    let is_own_state = governed.id() == own::ID && own::is_state(&claim.entry);
    let needed = match verdict {
        Verdict::Accept | Verdict::Report(_) => return false,
        Verdict::PutBack if !is_own_state => model::Undo::Exclusive,
        Verdict::PutBack | Verdict::RenameBack | Verdict::MoveAway => model::Undo::Names,
    };
    governed.mode == Mode::Enforce && facts.recorder.settings.undo >= needed
}

fn candidate(
    facts: &Facts<'_, '_>,
    call: &Call,
    judged: &Judged<'_, '_>,
    objection: Option<&Denial>,
) -> Candidate {
    let mut candidate = Candidate {
        code: objection.map(|denial| denial.code),
        end: match call.progress {
            Progress::Running => End::Awaited,
            Progress::Background { .. } | Progress::Interrupted => End::Unknown,
            Progress::BackgroundEnded { .. } | Progress::Ended { .. } => End::Known,
        },
        ..Candidate::default()
    };
    match &call.work {
        Work::Writes { path, content } => {
            // What was not in the call is judged: another hook may have changed its input.
            if let Some(after) = judged.change.after
                && *path == judged.path
                && content.is_some()
                && after.blob == *content
            {
                candidate.tie = Tie::Wrote;
            }
        }
        Work::RunsCode(text) => {
            let governed = judged.claim.governed;
            let added = facts.recorder.settings.system(governed.id());
            if text.names(&judged.path) {
                candidate.tie = Tie::Names;
            }
            candidate.version_control = text.version_control;
            candidate.owning_program = text.is_opaque()
                && text.programs.iter().all(|program| {
                    governed.system.info().programs.contains(&program.as_str())
                        || added.is_own_program(program)
                });
        }
    }
    candidate
}

fn entry_kind(index: &Index, judged: &Judged<'_, '_>) -> EntryKind {
    let claim = &judged.claim;
    if claim.governed.id() == own::ID {
        return match () {
            () if claim.resolution == Resolution::WholeSite => EntryKind::OwnFolder,
            () if own::is_state(&claim.entry) => EntryKind::OwnState,
            // The client's settings are the user's, who may edit them.
            () if claim.governed.system.judges(&claim.entry) => EntryKind::Usual,
            () => EntryKind::Settings,
        };
    }
    let (contract, edition) = (&claim.governed.contract, claim.governed.edition);
    let is_unknown_name = matches!(
        contract.classify(&claim.entry, edition),
        Classification::AdHoc | Classification::UndeclaredDirectory
    );
    let change = judged.change;
    let was_there = change.before.is_some_and(|before| {
        is_unknown_name || Some(before.kind) == change.after.map(|it| it.kind)
    });
    let is_removal = change.act() == ChangeKind::Remove;
    match was_there && !is_removal && judged.has_bad_name()
        || is_unknown_name && index.is_tolerated(&change.path)
    {
        true => EntryKind::Tolerated,
        false => EntryKind::Usual,
    }
}

/// What is reported to the main thread of a change that no call can have made.
fn concern(judged: &Judged<'_, '_>, main: Option<&Denial>) -> Option<Concern> {
    let change = judged.change;
    match main.map(|denial| denial.code) {
        // A person edits these, and what they say is in force at once.
        Some(DenyCode::ProtectedFile) if judged.is_of_own_settings() => None,
        Some(DenyCode::ProtectedFile) => Some(Concern::Protected),
        Some(code) if change.act() == ChangeKind::Create && code.subject().holds_for_everyone() => {
            Some(Concern::Stray)
        }
        _ => judged.moves_a_gate().then_some(Concern::Gate),
    }
}

/// The change by which an entry with the same identity and content lost its name.
fn former_name<'s>(facts: &Facts<'s, '_>, change: &Change) -> Option<&'s Change> {
    let after = change.after?;
    if change.before.is_some() {
        return None;
    }
    let left = facts.moved().left.get(&after.ino);
    left.into_iter().flatten().copied().find(|other| {
        let before = other.before;
        before.is_some_and(|before| after.is_same_entry(&before)) && is_gone(other.path())
    })
}

/// Whether a file only grew, and is a log.
fn growth(facts: &Facts<'_, '_>, judged: &Judged<'_, '_>) -> Growth {
    let change = judged.change;
    let (Some(before), Some(after)) = (change.before, change.after) else {
        return Growth::None;
    };
    let entry = judged.claim.entry.as_str();
    let is_log = Path::new(entry)
        .extension()
        .is_some_and(|ending| ending == "jsonl" || ending == "log");
    // Of our own logs, what is not ours is known.
    let is_own = judged.claim.governed.id() == own::ID;
    if is_own
        || !is_log
        || !judged.keeps_content_rule()
        || !has_grown(facts, change.path(), before, after)
    {
        return Growth::None;
    }
    if judged.claim.governed.id() == agentmux::ID && entry.ends_with("tool_events.jsonl") {
        Growth::ActedUpon
    } else {
        Growth::Log
    }
}

fn has_grown(facts: &Facts<'_, '_>, path: &Path, before: State, after: State) -> bool {
    let Some(blob) = before.blob else {
        return before.ino == after.ino && before.size <= after.size;
    };
    let Ok(len) = usize::try_from(before.size) else {
        return false;
    };
    let head = match after.blob.and_then(|blob| facts.contents.get(blob)) {
        Some(mut bytes) => {
            bytes.truncate(len);
            Some(bytes)
        }
        // Too large to be kept: as much as it was before is read from the file.
        None => read_head(path, before.size),
    };
    head.is_some_and(|head| head.len() == len && BlobId::of(&head) == blob)
}

fn read_head(path: &Path, len: u64) -> Option<Vec<u8>> {
    let (file, _) = bounded_read::open(path).ok()?;
    let mut head = Vec::new();
    file.take(len).read_to_end(&mut head).ok()?;
    Some(head)
}
