//! devt: `.devt/state/`, closed. The table is devt's `docs/STATE-RULES.md` at
//! 0.83 and its `state-contract.cjs` at 0.244; where the document contradicts
//! itself, `docs/systems.md` says how contradictions are resolved.

pub mod artifact;
pub mod gate;
mod input;
pub mod sidecar;
pub mod sweep;
pub mod update;
pub mod workflow_yaml;

use chrono::{DateTime, Utc};

use self::artifact::{Artifact, Fault, Judged};
use crate::base::actor::AgentName;
use crate::contract::edition::Edition;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{AtReset, Contract, Dir, DirKind, List, Role, Row, Sweep, Writer};
use crate::systems::gate_record::{GateRecord, Outcome};
use crate::systems::system::{
    AgentEvent, ContentError, Effects, Files, Info, Judgement, Missing, Note, Place, PriorText,
    System, View, of_no_gate, split_site,
};
use crate::systems::workflow::{UnreadableState, Workflow};

pub struct Devt;

/// The id of the system.
pub const ID: &str = "devt";

impl System for Devt {
    fn info(&self) -> &Info<'_> {
        &INFO
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    fn locate<'p>(&self, path: &'p str, _view: &dyn View) -> Option<Place<'p>> {
        split_site(path, ".devt/state", 0)
    }

    fn judges(&self, entry: &str) -> bool {
        entry == "workflow.yaml"
            || sidecar::is_sidecar(entry)
            || sidecar::status_enum(entry).is_some()
            || input::is_parsed(entry)
    }

    fn check_content(&self, at: Place<'_>, text: &str, present: Option<&str>) -> Judgement {
        if at.entry == "workflow.yaml"
            && let Some(why) = present.and_then(|present| update::moved_anchor(present, text))
        {
            return Err(ContentError::illegal(why));
        }
        let missing = match at.entry {
            "workflow.yaml" => check_workflow(text),
            entry if input::is_parsed(entry) && !sidecar::is_sidecar(entry) => {
                input::check(entry, text)
            }
            entry if sidecar::is_sidecar(entry) => sidecar::check_sidecar(entry, text),
            entry => sidecar::check_status_header(entry, text).map(|()| Vec::new()),
        };
        let remarks = missing.map_err(ContentError::malformed)?.into_iter();
        Ok(remarks.map(Note::Remark).collect())
    }

    fn workflow_id(&self, files: &dyn Files) -> Option<String> {
        let fields = workflow_yaml::read(&files.text("workflow.yaml")?);
        let id = fields.text("workflow_id").filter(|id| !id.is_empty());
        id.map(str::to_owned)
    }

    fn is_artifact(&self, name: &str) -> bool {
        name != "workflow.yaml"
    }

    fn at(&self, event: AgentEvent<'_>, files: &dyn Files, _now: DateTime<Utc>) -> Effects {
        let AgentEvent::End { agent, .. } = event else {
            return Effects::default();
        };
        let Some(workflow) = files.text(WORKFLOW) else {
            return Effects::default();
        };
        match (Artifact::for_agent(agent), gate::inactive(&workflow)) {
            (Some(artifact), None) => on_agent_end(&workflow, &artifact, files),
            (Some(_), Some(why)) => Effects::of([GateRecord::of(WORKFLOW, Err(why))]),
            (None, None) => Effects::of([of_no_gate(WORKFLOW, agent)]),
            (None, Some(_)) => Effects::default(),
        }
    }

    fn artifacts_of(&self, agent: &AgentName, _files: &dyn Files) -> Vec<String> {
        let artifact = Artifact::for_agent(agent);
        let names = artifact.iter().flat_map(Artifact::files);
        names.map(str::to_owned).collect()
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<Result<Workflow, UnreadableState>> {
        let file = format!("{site}/workflow.yaml");
        let Some(text) = files.text("workflow.yaml") else {
            return Vec::new();
        };
        let run = gate::read_workflow(&text, &file);
        match workflow_yaml::check(&text) {
            Ok(()) => vec![Ok(run)],
            Err(why) => {
                // devt reads past the fault, and goes on.
                let fault = UnreadableState::new(&file, why);
                if run.active {
                    vec![Ok(run), Err(fault)]
                } else {
                    vec![Err(fault)]
                }
            }
        }
    }
}

/// The file that holds the workflow.
const WORKFLOW: &str = "workflow.yaml";

/// What the end of an agent leads to whose artifact the active workflow waits for.
fn on_agent_end(workflow: &str, artifact: &Artifact, files: &dyn Files) -> Effects {
    let fields = workflow_yaml::read(workflow);
    let judged = judge(artifact, fields.text("created_at"), files);
    let why = judged.as_ref().err().map(Fault::why);
    let variant = match judged {
        Ok(_) => None,
        Err(_) => written_variant(artifact, files),
    };
    let unread = artifact.files().find(|name| files.read(name).is_err());
    let record = match (&why, &variant, unread) {
        // The phase waits for the base.
        (Some(_), Some(name), _) => {
            let why = format!(
                "`{name}` is written; the phase waits for `{}`",
                artifact.file
            );
            GateRecord::of(WORKFLOW, Err(why))
        }
        (Some(why), None, Some(name)) => GateRecord::of(name, Err(why.clone())),
        _ => GateRecord::of(WORKFLOW, moved(workflow, artifact, &judged, files)),
    };
    let missing = match (why, variant) {
        (Some(why), None) => Some(Missing {
            file: artifact.file.to_owned(),
            why,
        }),
        _ => None,
    };
    Effects {
        records: vec![match fields.text("phase") {
            Some(phase) => record.about(phase),
            None => record,
        }],
        missing: missing.into_iter().collect(),
        ..Effects::default()
    }
}

fn judge(artifact: &Artifact, begun: Option<&str>, files: &dyn Files) -> Judged {
    let mut names = artifact.files();
    if let Some(why) = names.find_map(|name| files.left_over(name, begun)) {
        return Err(Fault::Stale(why));
    }
    let text = files.text(artifact.file);
    let sidecar = artifact.sidecar.and_then(|name| files.text(name));
    artifact::judge(artifact, text.as_deref(), sidecar.as_deref())
}

/// A lane or a pass of its own that this agent has written instead of the base.
fn written_variant(artifact: &Artifact, files: &dyn Files) -> Option<String> {
    files.agent_wrote().into_iter().find(|name| {
        artifact.has_variant(name)
            && files
                .text(name)
                .is_some_and(|text| artifact::fault_of_variant(&text).is_none())
    })
}

fn moved(workflow: &str, artifact: &Artifact, judged: &Judged, files: &dyn Files) -> Outcome {
    let mut change = gate::on_agent_end(workflow, artifact, judged)?;
    if !files.speaks_of_phase(&gate::read_workflow(workflow, WORKFLOW)) {
        gate::comes_from_pending(&mut change);
    }
    Ok(change)
}

/// Whether a text may be written as `workflow.yaml`: what steers devt must be a value it knows.
/// What `update` refuses is refused here; a key that devt does not know is worth a note.
fn check_workflow(text: &str) -> Result<Vec<String>, String> {
    workflow_yaml::check(text)?;
    let fields = workflow_yaml::read(text);
    if let Some(odd) = fields
        .iter()
        .find_map(|(key, value)| update::fault(key, value))
    {
        return Err(odd);
    }
    // A note on each of very many keys would take seconds, and be read by no model.
    const MOST: usize = 5;
    let notes = fields.iter().filter_map(|(key, _)| update::unknown(key));
    Ok(notes.take(MOST).collect())
}

static INFO: Info<'static> = Info {
    own_keys: &["contract"],
    programs: &["devt-tools", "devt-tools.cjs"],
    gate_dir: Some(".devt/state"),
    pid_lock: Some(".lock"),
    prior: PriorText::Repairable,
    landmarks: &[".devt/state"],
    ..Info::new(ID)
};

static CONTRACT: Contract<'static> = Contract {
    source: "devt docs/STATE-RULES.md (0.83) and state-contract.cjs (0.244)",
    rows: List::Borrowed(ROWS),
    dirs: List::Borrowed(DIRS),
    roles: List::Borrowed(ROLES),
    fallback: Some("scratchpad.md"),
};

const PROGRAMMER: Writer<'_> = Writer::Owner("programmer");
const TESTER: Writer<'_> = Writer::Owner("tester");
const VERIFIER: Writer<'_> = Writer::Owner("verifier");
const REVIEWER: Writer<'_> = Writer::Owner("code-reviewer");
const ARCHITECT: Writer<'_> = Writer::Owner("architect");
const RESEARCHER: Writer<'_> = Writer::Owner("researcher");
const DEBUGGER: Writer<'_> = Writer::Owner("debugger");
const DOCS_WRITER: Writer<'_> = Writer::Owner("docs-writer");
const CURATOR: Writer<'_> = Writer::Owner("curator");
const RETRO: Writer<'_> = Writer::Owner("retro");

const ROLES: &[Role<'_>] = &[
    Role::same("programmer"),
    Role::same("tester"),
    Role::same("verifier"),
    Role::same("code-reviewer"),
    Role::same("architect"),
    Role::same("researcher"),
    Role::same("debugger"),
    Role::same("docs-writer"),
    Role::same("curator"),
    Role::same("retro"),
];

const DIRS: &[Dir<'_>] = &[
    Dir::new("", DirKind::Closed),
    Dir {
        at_reset: AtReset::Exempt,
        ..Dir::new(".archive", DirKind::Program)
    },
    Dir {
        at_reset: AtReset::Exempt,
        ..in_0244("threads")
    },
    in_0244("lane-files"),
    // devt promises that a project's own files in here survive a run, and then
    // archives them; this program keeps the promise.
    Dir {
        at_reset: AtReset::Exempt,
        ..in_0244("project")
    },
    in_0244("hook-trace"),
    // What devt writes beside its own contract: notes, dispatches, parallel instances.
    in_0244("notes"),
    in_0244("dispatch"),
    in_0244("lane-redispatch"),
    Dir {
        kind: DirKind::Program,
        at_reset: AtReset::Exempt,
        ..in_0244(".instances")
    },
];

const fn in_0244(path: &str) -> Dir<'_> {
    Dir {
        path,
        kind: DirKind::Open,
        edition: Some(Edition::V0244),
        at_reset: AtReset::Archived,
    }
}

const fn any<'a>(name: &'a str, purpose: &'a str) -> Row<'a> {
    Row::file(name, Writer::Anyone, purpose)
}

/// An append-only log of devt's programs.
const fn log<'a>(name: &'a str, purpose: &'a str) -> Row<'a> {
    Row::file(name, Writer::Program, purpose)
}

/// A marker that a gate of devt looks for; the 0.83 document leaves it out of
/// its tables although its sweeps or its code use it.
const fn marker<'a>(name: &'a str, purpose: &'a str) -> Row<'a> {
    any(name, purpose).read_by("devt's phase gates")
}

const fn word(
    prefix: &'static str,
    endings: &'static [&'static str],
    regex: &'static str,
    example: &'static str,
) -> Slug {
    Slug {
        prefix,
        shape: Shape::Word,
        endings,
        regex,
        example,
    }
}

const MD: &[&str] = &[".md"];
const MD_JSON: &[&str] = &[".md", ".json"];

#[rustfmt::skip]
const ROWS: &[Row<'_>] = &[
    // Workflow and notes.
    Row::file("workflow.yaml", Writer::Main, "state of the active workflow").read_by("every devt command and gate"),
    any("scratchpad.md", "notes shared between agents").read_by("every agent"),
    any("scope.md", "scope of the workflow"),
    any("decisions.md", "decisions taken with the user"),
    any("spec.md", "requirements of the phase"),
    Row::file("plan.md", ARCHITECT, "implementation plan").read_by("programmer, tester, code-reviewer"),
    Row::file("research.md", RESEARCHER, "patterns and pitfalls found").read_by("architect, programmer"),
    any("review-scope.md", "files under review").only(Edition::V083).read_by("code-reviewer"),
    any("graph-impact.md", "what the code graph says is affected").swept(Sweep::Graph),
    any("baseline-gates.md", "state of the gates before the change"),
    any("session-report.md", "summary of the session"),
    any("autoskill-proposals.md", "proposals for skills and agents"),
    any("claude-mem-harvest.md", "what was harvested from memory").swept(Sweep::Marker),
    any("claude-mem-skipped.txt", "why no memory was harvested").swept(Sweep::Marker),
    any("topic-symbols-dropped.json", "symbols left out of an impact map").swept(Sweep::Marker),
    any("continue-here.md", "where a paused workflow goes on").read_by("/devt:next"),
    any("handoff.json", "machine form of a pause").read_by("/devt:next"),
    any("preflight-brief.json", "scope hints for every dispatch").read_by("every dispatch"),
    any("preflight-brief.md", "the brief for people"),
    any("deferred.md", "deferred items").exempt().read_by("/devt:defer"),
    // Artifacts of agents.
    Row::file("impl-summary.md", PROGRAMMER, "what was implemented").swept(Sweep::Outcome).read_by("tester, code-reviewer"),
    Row::file("impl-summary.json", PROGRAMMER, "status of the implementation").swept(Sweep::Outcome).read_by("devt's phase gates"),
    Row::file("test-summary.md", TESTER, "what was tested").swept(Sweep::Outcome).read_by("code-reviewer, verifier"),
    Row::file("test-summary.json", TESTER, "status of the tests").swept(Sweep::Outcome).read_by("devt's phase gates"),
    Row::file("verification.md", VERIFIER, "what was verified").swept(Sweep::MarkerAndOutcome).read_by("the orchestrator"),
    Row::file("verification.json", VERIFIER, "verdict of the verification").swept(Sweep::MarkerAndOutcome).read_by("devt's phase gates"),
    Row::file("review.md", REVIEWER, "code review").swept(Sweep::Outcome).read_by("programmer, verifier"),
    Row::file("review.json", REVIEWER, "verdict of the review").swept(Sweep::Outcome).read_by("devt's phase gates"),
    Row::file("scan-results.md", ARCHITECT, "architecture scan"),
    Row::file("scan-delta.md", ARCHITECT, "difference to the last scan"),
    Row::file("arch-review.md", ARCHITECT, "architectural review").read_by("devt's phase gates"),
    any("arch-health-scan.md", "health scan"),
    any("arch-baseline.json", "baseline of the scan"),
    any("arch-triage.json", "triage of the scan"),
    any("arch-scan-report.md", "report of the project's scanner"),
    any("scanner-output.txt", "raw output of the scanner"),
    any("debug-context.md", "symptoms"),
    Row::file("debug-investigation.md", DEBUGGER, "hypotheses tried"),
    Row::file("debug-summary.md", DEBUGGER, "findings").swept(Sweep::Outcome).read_by("devt's phase gates"),
    Row::file("docs-summary.md", DOCS_WRITER, "documentation updates").read_by("devt's phase gates"),
    Row::file("curation-summary.md", CURATOR, "what was promoted").read_by("devt's phase gates"),
    Row::file("lessons.yaml", RETRO, "draft lessons").read_by("curator"),
    // Programs' files.
    log(".lock", "mutex of devt's state writer").exempt(),
    log(".graphify-rebuild.lock", "mutex of the graph rebuild").exempt(),
    log("preflight-denies.jsonl", "denials").exempt().read_by("devt's stuck check, `statewarden denies`"),
    log("dispatch-warnings.jsonl", "warnings about dispatches").exempt(),
    log("probe-failures.jsonl", "failed probes of tools").exempt(),
    log("static-compress.jsonl", "runs of the static compressor").exempt(),
    // Markers.
    marker("auto-curator-considered.txt", "the curator was considered").swept(Sweep::Marker),
    marker("consolidator-ran.txt", "the consolidator ran").swept(Sweep::Marker),
    marker("knowledge-candidates-none.txt", "there was nothing to learn").swept(Sweep::Marker),
    marker("reuse-analysis.md", "what can be reused").swept(Sweep::Marker),
    marker("reuse-candidates.md", "candidates for reuse").swept(Sweep::Marker),
    marker("reuse-search-attempted.txt", "reuse was searched for").swept(Sweep::Marker),
    marker("scope-check-answer.txt", "the answer about scope").swept(Sweep::Marker),
    marker("scope-check-required.txt", "scope must be confirmed").swept(Sweep::Marker),
    marker("graphify-skip-reason.txt", "why the graph was skipped").swept(Sweep::Graph),
    marker("staleness-suppressed.txt", "staleness was accepted").swept(Sweep::Graph),
    marker("graphify-impact-plan.json", "plan of the impact map").only(Edition::V083),
    marker("graphify-impact-plan.json", "plan of the impact map").only(Edition::V0244).exempt(),
    marker("code-review-input.md", "files under review").read_by("code-reviewer"),
    marker("last-curator-run.txt", "when the curator last ran").exempt(),
    marker("weekly-report.md", "report of the week"),
    // Since 0.244.
    any("acceptance-criteria.json", "acceptance criteria").only(Edition::V0244).read_by("verifier"),
    any("evolution-report.json", "report on the project's evolution").only(Edition::V0244),
    any("evolution-report.md", "report on the project's evolution").only(Edition::V0244),
    any("lane-snapshot.json", "lanes at dispatch").only(Edition::V0244),
    any("lane-unassigned.txt", "files no lane took").only(Edition::V0244),
    any("partition-degraded.txt", "lanes could not be partitioned").only(Edition::V0244),
    any("review-depth.txt", "depth of the review").only(Edition::V0244),
    any("status.json", "agents that run").only(Edition::V0244),
    log("claim-checks.jsonl", "checks of agents' claims").only(Edition::V0244),
    log("dispatch-stamps.jsonl", "dispatches").only(Edition::V0244),
    log("gate-trace.jsonl", "runs of gates").only(Edition::V0244).exempt(),
    log("lane-status-overrides.jsonl", "overridden lanes").only(Edition::V0244).exempt(),
    log("subagent-events.jsonl", "starts and stops of agents").only(Edition::V0244),
    log("workflow-id-rotations.jsonl", "changes of the workflow's id").only(Edition::V0244).exempt(),
    // Leftovers of atomic writes and editors.
    Row::wild("*.tmp", Writer::Anyone, "leftover of an atomic write").ephemeral(),
    Row::wild("*~", Writer::Anyone, "backup of an editor").ephemeral(),
    // Variants of one artifact within one workflow. The lane pattern comes before the review pattern that contains it.
    Row::slug(&Slug { prefix: "review-lane-", shape: Shape::Lane, endings: MD, regex: r"^review-lane-[a-z][a-z0-9_]{0,31}\.md$", example: "review-lane-api.md" }, REVIEWER, "review of one lane").swept(Sweep::Variant),
    Row::slug(&word("review-", MD, r"^review-[A-Za-z0-9_.-]+\.md$", "review-architecture.md"), REVIEWER, "review of one slice or theme").swept(Sweep::Variant),
    Row::slug(&word("impl-summary-", MD_JSON, r"^impl-summary-[A-Za-z0-9_.-]+\.(md|json)$", "impl-summary-cr3.json"), PROGRAMMER, "another pass of the implementation").swept(Sweep::Variant),
    Row::slug(&word("test-summary-", MD_JSON, r"^test-summary-[A-Za-z0-9_.-]+\.(md|json)$", "test-summary-integration.json"), TESTER, "another run of the tests").swept(Sweep::Variant),
    Row::slug(&word("verification-", MD_JSON, r"^verification-[A-Za-z0-9_.-]+\.(md|json)$", "verification-rerun.json"), VERIFIER, "another pass of the verifier").swept(Sweep::Variant),
    Row::slug(&word("slice-", MD, r"^slice-[A-Za-z0-9_.-]+\.md$", "slice-frontend.md"), Writer::Anyone, "one slice of other work").swept(Sweep::Variant),
    Row::slug(&word("plan-", MD, r"^plan-[A-Za-z0-9_.-]+\.md$", "plan-api.md"), ARCHITECT, "plan of one part").only(Edition::V0244),
    Row::slug(&word("research-", MD, r"^research-[A-Za-z0-9_.-]+\.md$", "research-auth.md"), RESEARCHER, "research of one topic").only(Edition::V0244),
    Row::slug(&word("spec-", MD, r"^spec-[A-Za-z0-9_.-]+\.md$", "spec-api.md"), Writer::Anyone, "specification of one part").only(Edition::V0244),
    Row::slug(&word("council-", MD, r"^council-[A-Za-z0-9_.-]+\.md$", "council-api-20260101-120000.md"), Writer::Anyone, "transcript of a council").only(Edition::V0244),
    Row::slug(&word("debug-context-", MD, r"^debug-context-[A-Za-z0-9_.-]+\.md$", "debug-context-login.md"), Writer::Anyone, "symptoms of one defect").only(Edition::V0244),
    Row::slug(&word("debug-investigation-", MD, r"^debug-investigation-[A-Za-z0-9_.-]+\.md$", "debug-investigation-login.md"), DEBUGGER, "hypotheses about one defect").only(Edition::V0244),
    Row::slug(&word("debug-summary-", MD, r"^debug-summary-[A-Za-z0-9_.-]+\.md$", "debug-summary-login.md"), DEBUGGER, "findings about one defect").only(Edition::V0244),
    Row::slug(&word("review-lane-", &[".json"], r"^review-lane-[A-Za-z0-9_.-]+\.json$", "review-lane-api.json"), REVIEWER, "verdict on one lane").swept(Sweep::Variant).only(Edition::V0244),
    Row::slug(&Slug { prefix: "lane-diff-L", shape: Shape::Digits, endings: &[".txt"], regex: r"^lane-diff-L[0-9]+\.txt$", example: "lane-diff-L1.txt" }, Writer::Anyone, "diff of one lane").only(Edition::V0244),
    Row::slug(&Slug { prefix: "rubric-", shape: Shape::Lower, endings: MD, regex: r"^rubric-[a-z_]+\.md$", example: "rubric-api.md" }, Writer::Anyone, "rubric of a review").only(Edition::V0244),
    Row::slug(&Slug { prefix: "", shape: Shape::RotatedLog, endings: &[".jsonl"], regex: r"^[a-z][a-z0-9-]*\.archive-[0-9A-Za-z:.\-]+\.jsonl$", example: "claim-checks.archive-2026-01-01.jsonl" }, Writer::Program, "rotated log").only(Edition::V0244),
    Row::slug(&Slug { prefix: "", shape: Shape::Topic, endings: &["-summary.md"], regex: r"^[a-z]+(-[a-z]+)*-summary\.md$", example: "module-md-update-summary.md" }, Writer::Anyone, "summary of a topic").only(Edition::V083),
    Row::slug(&Slug { prefix: "", shape: Shape::TopicOfTwo, endings: &["-summary.md"], regex: r"^[a-z][a-z0-9]*(-[a-z0-9]+)+-summary\.md$", example: "module-md-update-summary.md" }, Writer::Anyone, "summary of a topic").only(Edition::V0244),
];
