//! devt: `.devt/state/`, closed. The table is devt's `docs/STATE-RULES.md` at
//! 0.83 and its `state-contract.cjs` at 0.244; where the document contradicts
//! itself, `docs/systems.md` says how contradictions are resolved.

pub mod artifact;
pub mod gate;
pub mod sidecar;
pub mod sweep;
pub mod update;
pub mod workflow_yaml;

use chrono::{DateTime, Utc};

use self::artifact::{Artifact, Fault};
use crate::base::actor::AgentName;
use crate::contract::edition::Edition;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{AtReset, Contract, Dir, DirKind, List, Role, Row, Sweep, Writer};
use crate::systems::system::{
    AgentEvent, ContentError, Effects, FileOutcome, Files, Info, Judgement, MissingArtifact, Note,
    Place, System, View, split_site,
};
use crate::systems::workflow::Workflow;

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
    }

    fn check_content(&self, at: Place<'_>, text: &str, _present: Option<&str>) -> Judgement {
        let missing = match at.entry {
            "workflow.yaml" => check_workflow(text).map(|()| Vec::new()),
            entry if sidecar::is_sidecar(entry) => sidecar::check_sidecar(entry, text),
            entry => sidecar::check_status_header(entry, text).map(|()| Vec::new()),
        };
        let missing = missing.map_err(ContentError::malformed)?.into_iter();
        Ok(missing.map(Note::Remark).collect())
    }

    fn workflow_id(&self, files: &dyn Files) -> Option<String> {
        let fields = workflow_yaml::read(&files.text("workflow.yaml")?);
        let id = fields.text("workflow_id").filter(|id| !id.is_empty());
        id.map(str::to_owned)
    }

    fn is_artifact(&self, name: &str) -> bool {
        name != "workflow.yaml"
    }

    fn at(&self, moment: &AgentEvent<'_>, files: &dyn Files, _now: DateTime<Utc>) -> Effects {
        let AgentEvent::AgentEnd { agent, .. } = *moment else {
            return Effects::default();
        };
        let Some(workflow) = files.text("workflow.yaml") else {
            return Effects::default();
        };
        let artifact = match (Artifact::for_agent(agent), gate::inactive(&workflow)) {
            (Some(artifact), None) => artifact,
            (Some(_), Some(why)) => {
                return Effects::of([FileOutcome::new("workflow.yaml", Err(why))]);
            }
            (None, inactive) => {
                let no_gate = || FileOutcome::of_no_gate("workflow.yaml", agent);
                return Effects::of(inactive.is_none().then(no_gate));
            }
        };
        let fields = workflow_yaml::read(&workflow);
        let begun = fields.text("created_at");
        let stale = artifact
            .files()
            .find_map(|name| files.left_over(name, begun));
        let judged = match stale {
            Some(why) => Err(Fault::Stale(why)),
            None => {
                let sidecar = artifact.sidecar.and_then(|name| files.text(name));
                artifact::judge(
                    &artifact,
                    files.text(artifact.file).as_deref(),
                    sidecar.as_deref(),
                )
            }
        };
        let why = judged.as_ref().err().map(Fault::why);
        let unread = artifact.files().find(|name| files.read(name).is_err());
        let outcome = match (unread, why.clone()) {
            (Some(name), Some(why)) => FileOutcome::new(name, Err(why)),
            _ => {
                let mut outcome = gate::on_agent_end(&workflow, &artifact, &judged);
                let run = gate::read_workflow(&workflow, "workflow.yaml");
                if let Ok(change) = &mut outcome
                    && !files.speaks_of_phase(&run)
                {
                    gate::comes_from_pending(change);
                }
                FileOutcome::new("workflow.yaml", outcome)
            }
        };
        let owed = why.map(|why| MissingArtifact {
            file: artifact.file.to_owned(),
            why,
        });
        Effects {
            outcomes: vec![outcome],
            owed: owed.into_iter().collect(),
        }
    }

    fn artifacts_of(&self, agent: &AgentName, _files: &dyn Files) -> Vec<String> {
        let artifact = Artifact::for_agent(agent);
        let names = artifact.iter().flat_map(Artifact::files);
        names.map(str::to_owned).collect()
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<anyhow::Result<Workflow>> {
        let file = format!("{site}/workflow.yaml");
        let Some(text) = files.text("workflow.yaml") else {
            return Vec::new();
        };
        let run = gate::read_workflow(&text, &file);
        match workflow_yaml::check(&text) {
            Ok(()) => vec![Ok(run)],
            Err(why) => {
                // devt reads past the fault, and goes on.
                let run = run.active.then_some(Ok(run));
                let fault = anyhow::anyhow!("could not read `{file}`: {why}");
                run.into_iter().chain([Err(fault)]).collect()
            }
        }
    }
}

/// Whether a text may be written as `workflow.yaml`: what steers devt must be a value it knows.
fn check_workflow(text: &str) -> Result<(), String> {
    workflow_yaml::check(text)?;
    let fields = workflow_yaml::read(text);
    let mut steering = ["active", "phase"].iter();
    match steering.find_map(|key| update::fault(key, fields.get(key)?)) {
        Some(odd) => Err(odd),
        None => Ok(()),
    }
}

static INFO: Info<'static> = Info {
    own_keys: &["contract"],
    programs: &["devt-tools", "devt-tools.cjs"],
    gate_dir: Some(".devt/state"),
    pid_lock: Some(".lock"),
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
