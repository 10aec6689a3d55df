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

use self::state::{FileKind, FlowFile, FlowState, Phase};
use crate::base::actor::AgentName;
use crate::base::path::split_last;
use crate::contract::near_miss::is_version;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Contract, Dir, DirKind, List, Row, Writer};
use crate::settings::model::EvidenceMode;
use crate::systems::gate_record::{GateRecord, Outcome};
use crate::systems::system::{
    AgentEvent, ClosedGate, ContentError, Effects, Files, Info, Judgement, Place, System, View,
    split_site,
};
use crate::systems::tested::TestNeed;
use crate::systems::workflow::{Gate, Proof, UnreadableState, Workflow};

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

    fn at(&self, event: AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        match event {
            AgentEvent::Start { agent } => {
                Effects::of(chosen(files, agent, gates::may_start, &|file| {
                    gates::on_start(file, agent, now)
                }))
            }
            AgentEvent::End { agent, reply, .. } => {
                let records = chosen(files, agent, gates::phase_fit, &|file| {
                    gates::on_completion(file, agent, reply, &|| seen(files, file), now)
                });
                let gate = state::Agent::of(agent).map(state::Agent::gate);
                Effects::of(records.into_iter().map(|record| match gate {
                    Some(gate) => record.about(gate.as_str()),
                    None => record,
                }))
            }
            // The verdict that is still out may send the work back.
            AgentEvent::TurnEnd { running, .. } if running.iter().any(has_gate) => {
                Effects::default()
            }
            AgentEvent::TurnEnd { .. } => {
                let active = present(files).into_iter().filter(FlowFile::may_be_active);
                Effects::of(active.filter_map(|file| closed(&file, files, now)))
            }
            AgentEvent::Wrote { .. } => Effects::default(),
        }
    }

    fn closed_gate(&self, agent: &AgentName, _task: &str, files: &dyn Files) -> Option<ClosedGate> {
        let agent = state::Agent::of(agent)?;
        // The agent may belong to any of the runs, so all must be closed to it.
        let active = RUNS.into_iter().filter_map(|kind| {
            let run = active_run(files, kind)?;
            Some(closed_before(kind.as_str(), run, agent, files))
        });
        active.collect::<Option<Vec<_>>>()?.into_iter().next()
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<Result<Workflow, UnreadableState>> {
        let texts = FileKind::ALL.into_iter().filter_map(|kind| {
            let name = kind.as_str();
            Some((name, files.text(name)?))
        });
        texts
            .map(|(name, text)| state::read_workflow(&text, &format!("{site}/{name}")))
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

/// What says that a file is a version of a state file.
const MARKS: &str = "backup copy final my new old state";

/// A `*.local.md` that a reader could take for one of the three files: it is within two slips
/// of the keyboard, or a version of one.
fn is_look_alike(name: &str) -> bool {
    let plain = name.to_ascii_lowercase().replace('_', "-");
    let Some(stem) = plain.strip_suffix(".local.md") else {
        return false;
    };
    ["orchestration", "team-orchestration", "deep-dive"]
        .iter()
        .any(|own| damerau_levenshtein(stem, own) <= 2 || is_version(stem, own, MARKS))
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
        let state = active_run(files, kind)?.ok()?.state.ok()?;
        Some((kind.as_str(), state.phase))
    });
    runs.collect()
}

/// The test that a verification needs. The user's control files of the Stop gate say that
/// none is, or that its failures are known.
fn seen(files: &dyn Files, file: &FlowFile) -> gates::Seen {
    let state = file.state.as_ref().ok();
    let implemented = state.and_then(|state| {
        let mut gates = state.gates.iter();
        gates.find(|gate| gate.name == Phase::Implementation.as_str())
    });
    let tested = files.tested(
        file.name,
        &TestNeed {
            gate: None,
            run_began: state.and_then(|state| state.started_at.as_deref()),
            gate_began: implemented.and_then(|gate| gate.timestamp.as_deref()),
        },
    );
    let controls = ["skip-test-verification", "known-test-failures"];
    gates::Seen {
        tested,
        control: controls
            .into_iter()
            .find(|name| matches!(files.read(name), Ok(Some(_))) && !files.is_made_by_call(name))
            .map(|name| Proof::Approval {
                by: name.to_owned(),
            }),
        is_required: files.evidence() == EvidenceMode::Require,
    }
}

/// The end of a run whose gates have all passed, and were seen to.
fn closed(file: &FlowFile, files: &dyn Files, now: DateTime<Utc>) -> Option<GateRecord> {
    let closed = gates::on_stop(file, now).ok()?;
    let uncounted = uncounted(files, file);
    let outcome = match uncounted.first() {
        None => Ok(closed),
        Some(gate) => Err(format!(
            "the run stays open: its gate `{}` is {}; {}",
            gate.name,
            gate.label(),
            cure(gate)
        )),
    };
    Some(GateRecord::of(file.name, outcome))
}

/// What of an active run closes it to an agent.
fn closed_before(
    name: &str,
    run: Result<FlowFile, String>,
    agent: state::Agent,
    files: &dyn Files,
) -> Option<ClosedGate> {
    let found = run.and_then(|file| Ok((uncounted(files, &file), file.state?)));
    match found {
        Ok((uncounted, mut state)) => {
            let is_uncounted = |name: &str| uncounted.iter().find(|gate| gate.name == name);
            state
                .gates
                .retain(|gate| is_uncounted(&gate.name).is_none());
            let (gate, status) = state.unmet_gate(agent)?;
            Some(match is_uncounted(gate.as_str()) {
                Some(gate) => ClosedGate::new(name, name, &gate.name, gate.label(), &cure(gate)),
                None => ClosedGate::unmet(name, name, gate.as_str(), status),
            })
        }
        // Before the first phase there is no gate.
        Err(_) if agent.gate() == Phase::Exploration => None,
        Err(why) => Some(ClosedGate::unknown(name, &why)),
    }
}

/// How a gate that does not count comes to count.
fn cure(gate: &Gate) -> String {
    format!(
        "`statewarden flow update --phase {}` goes back to it, and then its agent ends again, or the user passes it \
         with `statewarden flow update --gate-result passed --force` in a terminal",
        gate.name
    )
}

/// The gates of a run that are passed in its file and do not count.
fn uncounted(files: &dyn Files, file: &FlowFile) -> Vec<Gate> {
    let run = file
        .state
        .as_ref()
        .ok()
        .map(|state| state.workflow(file.name));
    run.map_or_else(Vec::new, |run| files.uncounted(&run))
}

/// The active run in a file, or why it cannot be read. A text that does not
/// even say that a run is active says nothing of one.
fn active_run(files: &dyn Files, kind: FileKind) -> Option<Result<FlowFile, String>> {
    let text = match files.read(kind.as_str()) {
        Ok(text) => text?,
        Err(why) => return Some(Err(why)),
    };
    let file = FlowFile::read(kind.as_str(), text);
    match &file.state {
        Ok(state) => state.active.then_some(Ok(file)),
        Err(why) => state::says_active(&file.text).then(|| Err(why.clone())),
    }
}

/// The files of runs that are there.
fn present(files: &dyn Files) -> Vec<FlowFile> {
    let names = RUNS.into_iter().map(FileKind::as_str);
    names
        .filter_map(|name| Some(FlowFile::read(name, files.text(name)?)))
        .collect()
}

/// Applies an event to the one run that it belongs to, by the phases that they are in where
/// several are active.
fn chosen<S>(
    files: &dyn Files,
    agent: &AgentName,
    fits: fn(&FlowState, state::Agent) -> Result<S, String>,
    apply: &dyn Fn(&FlowFile) -> Outcome,
) -> Vec<GateRecord> {
    let mut runs = present(files);
    let owner = state::Agent::of(agent);
    if let ([file], Some(_)) = (runs.as_slice(), owner) {
        // There is nothing to choose, and a run that is over takes no change.
        return vec![GateRecord::of(file.name, apply(file))];
    }
    let first = runs.first().map(|file| file.name);
    runs.retain(FlowFile::may_be_active);
    match runs.len() {
        0 => {
            // An agent with a gate that runs beside a finished run.
            return owner
                .and(first)
                .map(|name| GateRecord::of(name, Err(INACTIVE.to_owned())))
                .into_iter()
                .collect();
        }
        1 => {}
        _ => runs.retain(|file| match (&file.state, owner) {
            (Ok(state), Some(agent)) => fits(state, agent).is_ok(),
            _ => false,
        }),
    }
    if let [file] = runs.as_slice() {
        return vec![GateRecord::of(file.name, apply(file))];
    }
    let which = if runs.is_empty() { "neither" } else { "each" };
    let why = format!("two runs are active and {which} of them is in the phase of `{agent}`");
    vec![GateRecord::of("", Err(why))]
}
