//! Agent Flow: three front matter files directly in `.claude/`, which is open:
//! other plugins keep files there. The names are those of its state files
//! reference and of its scripts.

pub mod content;
pub mod deep_dive;
mod draft;
pub mod gates;
pub mod log;
pub mod script;
pub mod state;
pub mod verdict;

use chrono::{DateTime, Utc};
use strsim::damerau_levenshtein;

use self::state::{FileKind, FlowState, Phase};
use crate::base::actor::AgentName;
use crate::base::path::split_last;
use crate::base::text::is_in;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Contract, Dir, DirKind, List, Row, Writer};
use crate::settings::model::EvidenceMode;
use crate::systems::system::{
    AgentEvent, ClosedGate, ContentError, Effects, FileOutcome, Files, Info, Judgement, Place,
    System, View, split_site,
};
use crate::systems::workflow::{Outcome, Proof, Workflow};

pub struct AgentFlow;

/// The id of the system.
pub const ID: &str = "agent-flow";

impl System for AgentFlow {
    fn info(&self) -> &Info<'_> {
        &INFO
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    /// Only the names of the table, and look-alikes of them, make a place:
    /// the directory belongs to everybody.
    fn locate<'p>(&self, path: &'p str, _view: &dyn View) -> Option<Place<'p>> {
        let (dir, name) = split_last(path)?;
        let place = split_site(dir, ".claude", 0).filter(|place| place.entry.is_empty())?;
        let ours = ROWS.iter().any(|row| row.matches(name)) || is_look_alike(name);
        ours.then_some(Place {
            site: place.site,
            entry: name,
        })
    }

    fn judges(&self, entry: &str) -> bool {
        FileKind::parse(entry).is_some()
    }

    fn check_content(&self, at: Place<'_>, text: &str, _present: Option<&str>) -> Judgement {
        let file = FileKind::parse(at.entry);
        let checked = file.map_or(Ok(()), |file| content::check_content(text, file));
        checked
            .map_err(ContentError::malformed)
            .map(|()| Vec::new())
    }

    fn at(&self, moment: &AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        let outcomes = match *moment {
            AgentEvent::AgentStart { agent } => {
                let begin = |_: &str, text: &str| gates::on_start(text, agent, now);
                chosen(files, agent, gates::may_start, &begin)
            }
            AgentEvent::AgentEnd { agent, reply } => {
                let end = |name: &str, text: &str| {
                    gates::on_completion(text, agent, reply, &seen(files, name), now)
                };
                chosen(files, agent, gates::standing, &end)
            }
            // The verdict that is still out may send the work back.
            AgentEvent::TurnEnd { running } if running.iter().any(has_gate) => Vec::new(),
            AgentEvent::TurnEnd { .. } => active(present(files, &RUNS))
                .into_iter()
                .map(|(name, text)| FileOutcome::new(name, gates::on_stop(&text, now)))
                .filter(|planned| planned.outcome.is_ok())
                .collect(),
            AgentEvent::Wrote { .. } => Vec::new(),
        };
        Effects::of(outcomes)
    }

    fn closed_gate(&self, agent: &AgentName, files: &dyn Files) -> Option<ClosedGate> {
        let agent = state::Agent::of(agent)?;
        let before = |kind: FileKind| {
            let gate = match active_run(files, kind)? {
                Ok(state) => state.unmet_gate(agent),
                // Before the first phase there is no gate.
                Err(_) if agent.gate() == Phase::Exploration => None,
                Err(why) => return Some(Some(ClosedGate::unknown(kind.as_str(), &why))),
            };
            Some(gate.map(|(gate, status)| ClosedGate::new(kind.as_str(), gate.as_str(), status)))
        };
        // The agent may be meant for any of the runs, so all must be closed to it.
        let closed: Option<Vec<_>> = RUNS.into_iter().filter_map(before).collect();
        closed?.into_iter().next()
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<anyhow::Result<Workflow>> {
        present(files, &FileKind::ALL)
            .iter()
            .map(|(name, text)| state::read_workflow(text, &format!("{site}/{name}")))
            .collect()
    }
}

static INFO: Info<'static> = Info {
    programs: &[
        "compile-deep-dive.sh",
        "init-deep-dive.sh",
        "init-orchestration.sh",
        "init-team-orchestration.sh",
        "merge-parallel-results.sh",
        "update-orchestration-state.sh",
        "update-team-state.sh",
    ],
    goes_by_pattern: true,
    shared_dir: Some(".claude"),
    gate_dir: Some(".claude"),
    landmarks: &[
        ".claude/orchestration.local.md",
        ".claude/team-orchestration.local.md",
        ".claude/deep-dive.local.md",
    ],
    ..Info::new(ID)
};

static CONTRACT: Contract<'static> = Contract {
    source: "Agent Flow docs/reference/state-files.md (1.0) and scripts (1.9)",
    rows: List::Borrowed(ROWS),
    dirs: List::Borrowed(&[Dir::new("", DirKind::Closed)]),
    roles: List::Borrowed(&[]),
    fallback: None,
};

#[rustfmt::skip]
const ROWS: &[Row<'_>] = &[
    Row::file("orchestration.local.md", Writer::Main, "phase and gates of a run").read_by("Agent Flow's scripts and commands"),
    Row::file("team-orchestration.local.md", Writer::Main, "phase, gates and parallel group of a team run").read_by("Agent Flow's scripts and commands"),
    Row::file("deep-dive.local.md", Writer::Main, "context of the code base").read_by("Agent Flow's init scripts"),
    Row::file("skip-test-verification", Writer::User, "switches Agent Flow's Stop gate off").read_by("Agent Flow's Stop hook"),
    Row::file("known-test-failures", Writer::User, "failures that the Stop gate accepts").read_by("Agent Flow's Stop hook"),
    Row::file("test-command", Writer::User, "command that the Stop gate runs").read_by("Agent Flow's Stop hook"),
    Row::slug(&Slug { prefix: "orchestration.local.md.tmp.", shape: Shape::Digits, endings: &[""], regex: r"^orchestration\.local\.md\.tmp\.[0-9]+$", example: "orchestration.local.md.tmp.4711" }, Writer::Main, "update in progress").ephemeral(),
    Row::slug(&Slug { prefix: "team-orchestration.local.md.tmp.", shape: Shape::Digits, endings: &[""], regex: r"^team-orchestration\.local\.md\.tmp\.[0-9]+$", example: "team-orchestration.local.md.tmp.4711" }, Writer::Main, "update in progress").ephemeral(),
    Row::slug(&Slug { prefix: "deep-dive.local.md.tmp.", shape: Shape::Digits, endings: &[""], regex: r"^deep-dive\.local\.md\.tmp\.[0-9]+$", example: "deep-dive.local.md.tmp.4711" }, Writer::Main, "update in progress").ephemeral(),
    Row::slug(&Slug { prefix: ".orchestration.local.md.", shape: Shape::Digits, endings: &[".tmp"], regex: r"^\.orchestration\.local\.md\.[0-9]+\.tmp$", example: ".orchestration.local.md.4711.tmp" }, Writer::Main, "update by statewarden in progress").ephemeral(),
    Row::slug(&Slug { prefix: ".team-orchestration.local.md.", shape: Shape::Digits, endings: &[".tmp"], regex: r"^\.team-orchestration\.local\.md\.[0-9]+\.tmp$", example: ".team-orchestration.local.md.4711.tmp" }, Writer::Main, "update by statewarden in progress").ephemeral(),
    Row::slug(&Slug { prefix: ".deep-dive.local.md.", shape: Shape::Digits, endings: &[".tmp"], regex: r"^\.deep-dive\.local\.md\.[0-9]+\.tmp$", example: ".deep-dive.local.md.4711.tmp" }, Writer::Main, "update by statewarden in progress").ephemeral(),
    Row::slug(&Slug { prefix: "deep-dive.local.md.bak.", shape: Shape::Digits, endings: &[""], regex: r"^deep-dive\.local\.md\.bak\.[0-9]+$", example: "deep-dive.local.md.bak.20260101120000" }, Writer::Main, "context before a refresh"),
    Row::slug(&Slug { prefix: "research-", shape: Shape::StampedReport, endings: &[".local.md"], regex: r"^research-[a-z0-9-]{1,40}-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.local\.md$", example: "research-auth-20260101T120000Z.local.md" }, Writer::Anyone, "research report"),
];

/// A `*.local.md` that a reader could take for one of the three files: it is within two slips
/// of the keyboard, or a version of one.
fn is_look_alike(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let Some(stem) = name.strip_suffix(".local.md") else {
        return false;
    };
    ["orchestration", "team-orchestration", "deep-dive"]
        .iter()
        .any(|own| damerau_levenshtein(stem, own) <= 2 || is_version(stem, own))
}

/// `deep-dive-v2`, `my-deep-dive.old`
fn is_version(stem: &str, own: &str) -> bool {
    const MARKS: &str = "backup copy final my new old state";
    const BETWEEN: [char; 2] = ['-', '.'];
    let Some((before, after)) = stem.split_once(own) else {
        return false;
    };
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_mark = |part: &str| is_in(MARKS, part) || is_number(part.trim_start_matches('v'));
    let is_apart = (before.is_empty() || before.ends_with(BETWEEN))
        && (is_number(after) || after.starts_with(BETWEEN));
    is_apart
        && before
            .split(BETWEEN)
            .chain(after.split(BETWEEN))
            .all(is_mark)
}

fn has_gate(agent: &AgentName) -> bool {
    state::Agent::of(agent).is_some()
}

/// Why a run that is over takes no change.
const INACTIVE: &str = "the run is not active";

/// The files that hold runs.
const RUNS: [FileKind; 2] = [FileKind::Single, FileKind::Team];

/// The files with an active run, and its phase.
pub fn active_runs(files: &dyn Files) -> Vec<(&'static str, Option<Phase>)> {
    let runs = RUNS.into_iter().filter_map(|kind| {
        let state = active_run(files, kind)?.ok()?;
        Some((kind.as_str(), state.phase))
    });
    runs.collect()
}

/// The test that a verification needs. The user's control files of the Stop gate say that
/// none is, or that its failures are known.
fn seen(files: &dyn Files, run: &str) -> gates::Seen {
    let phases = [Phase::Verification, Phase::ReviewVerification].map(Phase::as_str);
    let mut controls = ["skip-test-verification", "known-test-failures"].into_iter();
    let mut control = || controls.find(|name| matches!(files.read(name), Ok(Some(_))));
    let approval = |name: &str| Proof::Approval {
        by: name.to_owned(),
    };
    let test = files.passed_test(run, &phases);
    gates::Seen {
        test: test.or_else(|| control().map(approval)),
        is_required: files.evidence() == EvidenceMode::Require,
    }
}

/// The active run in a file, or why it cannot be read. A text that does not
/// even say that a run is active says nothing of one.
fn active_run(files: &dyn Files, kind: FileKind) -> Option<Result<FlowState, String>> {
    let text = match files.read(kind.as_str()) {
        Ok(text) => text?,
        Err(why) => return Some(Err(why)),
    };
    match FlowState::read(&text) {
        Ok(state) => state.active.then_some(Ok(state)),
        Err(why) => state::says_active(&text).then_some(Err(why)),
    }
}

/// Those of the files that are there, with their texts.
fn present(files: &dyn Files, kinds: &[FileKind]) -> Vec<(&'static str, String)> {
    let names = kinds.iter().map(|kind| kind.as_str());
    names
        .filter_map(|name| Some((name, files.text(name)?)))
        .collect()
}

/// Those that hold an active run, or that cannot tell.
fn active(mut runs: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    runs.retain(|(_, text)| FlowState::read(text).map_or(true, |state| state.active));
    runs
}

/// Applies a moment to the one run that it belongs to, by how it stands to the phases where
/// several are active.
fn chosen<S>(
    files: &dyn Files,
    agent: &AgentName,
    standing: fn(&FlowState, state::Agent) -> Result<S, String>,
    apply: &dyn Fn(&str, &str) -> Outcome,
) -> Vec<FileOutcome> {
    let runs = present(files, &RUNS);
    let owner = state::Agent::of(agent);
    if let ([(name, text)], Some(_)) = (runs.as_slice(), owner) {
        // There is nothing to choose, and a run that is over takes no change.
        return vec![FileOutcome::new(name, apply(name, text))];
    }
    // An agent with a gate that runs beside a finished run.
    let finished = runs.first().filter(|_| owner.is_some());
    let finished = finished.map(|(name, _)| FileOutcome::new(name, Err(INACTIVE.to_owned())));
    let mut runs = active(runs);
    match runs.len() {
        0 => return finished.into_iter().collect(),
        1 => {}
        _ => runs.retain(|(_, text)| {
            let state = FlowState::read(text).ok();
            let fits = |(state, agent)| standing(&state, agent).is_ok();
            state.zip(owner).is_some_and(fits)
        }),
    }
    if let [(name, text)] = runs.as_slice() {
        return vec![FileOutcome::new(name, apply(name, text))];
    }
    let which = match runs.is_empty() {
        true => "neither",
        false => "each",
    };
    let why = format!("two runs are active and {which} of them is in the phase of `{agent}`");
    vec![FileOutcome::new("", Err(why))]
}
