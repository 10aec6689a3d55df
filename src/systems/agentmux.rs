//! AgentMux: `.agentmux/.sessions/<name>/` and the directory in `FEATURE_DIR`.
//! Its orchestrator is a program that no hook sees, so every tool call that
//! writes one of its files is wrong. Unknown names are free.

mod check;
pub mod event;
pub mod state;

use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Contract, Dir, DirKind, List, Role, Row, Writer};
use crate::systems::system::{Files, Info, Place, Retention, System, View, below, split_site};
use crate::systems::workflow::{UnreadableState, Workflow};

pub struct AgentMux;

/// The id of the system.
pub const ID: &str = "agentmux";

impl System for AgentMux {
    fn info(&self) -> &Info<'_> {
        &INFO
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    fn locate<'p>(&self, path: &'p str, view: &dyn View) -> Option<Place<'p>> {
        let named = view
            .named_sites(self.id())
            .iter()
            .find_map(|site| below(path, site));
        named
            .or_else(|| split_site(path, ".agentmux/.sessions", 1))
            .filter(|place| {
                // `.sessions` itself is no session.
                !place.site.ends_with(".agentmux/.sessions")
            })
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<Result<Workflow, UnreadableState>> {
        let file = format!("{site}/state.json");
        let there = files.text("state.json").is_some();
        there
            .then(|| state::read_workflow(&file, &|name| files.text(name)))
            .into_iter()
            .collect()
    }
}

static INFO: Info<'static> = Info {
    upkeep: Retention::Program,
    programs: &["agentmux"],
    landmarks: &[".agentmux/.sessions/*"],
    ..Info::new(ID)
};

static CONTRACT: Contract<'static> = Contract {
    source: "AgentMux docs/artifacts/session-state.md and its source",
    rows: List::Borrowed(ROWS),
    dirs: List::Borrowed(&[Dir::new("", DirKind::Open)]),
    roles: List::Borrowed(&[
        Role::same("architect"),
        Role::same("coder"),
        Role::same("designer"),
        Role::same("planner"),
        Role::same("product-manager"),
        Role::of("code-researcher", "researcher"),
        Role::of("web-researcher", "researcher"),
        Role::same("researcher"),
        Role::of("reviewer*", "reviewer"),
    ]),
    fallback: None,
};

const fn orchestrator<'a>(name: &'a str, purpose: &'a str) -> Row<'a> {
    Row::file(name, Writer::Program, purpose).read_by("the orchestrator")
}

const fn made_by_orchestrator<'a>(pattern: &'a str, purpose: &'a str) -> Row<'a> {
    Row::wild(pattern, Writer::Program, purpose)
        .canonical()
        .read_by("agents")
}

const fn artifact<'a>(pattern: &'a str, owner: &'a str, purpose: &'a str) -> Row<'a> {
    Row::wild(pattern, Writer::Owner(owner), purpose).read_by("the orchestrator")
}

const fn research(prefix: &'static str, regex: &'static str, example: &'static str) -> Slug {
    Slug {
        prefix,
        shape: Shape::Kebab,
        endings: &["/summary.md", "/detail.md"],
        regex,
        example,
    }
}

/// A name that looks like an artifact's, and that the orchestrator never reads.
const fn unread<'a>(pattern: &'a str, right: &'a str) -> Row<'a> {
    Row::wild(pattern, Writer::Anyone, right).ad_hoc()
}

#[rustfmt::skip]
const ROWS: &[Row<'_>] = &[
    orchestrator("state.json", "state of the pipeline"),
    orchestrator("runtime_state.json", "panes and processes"),
    orchestrator("tool_event_state.json", "cursor of applied events"),
    orchestrator("tool_event_state.json.tmp", "cursor being written"),
    orchestrator("runtime_state.json.tmp", "panes being written"),
    orchestrator("tool_events.jsonl", "events of the agents' tools; a forged line moves the pipeline"),
    orchestrator("orchestrator.log", "log"),
    orchestrator("created_files.log", "log"),
    orchestrator("status_log.txt", "log"),
    orchestrator("context.md", "context for every agent"),
    Row::file("requirements.md", Writer::Owner("product-manager"), "what is to be built").read_by("every agent"),
    made_by_orchestrator("**/*_prompt*.md", "prompt of an agent"),
    Row::file("02_architecting/architecture.md", Writer::Owner("architect"), "architecture").read_by("planner, coder"),
    made_by_orchestrator("03_research/*/request.md", "request for research"),
    made_by_orchestrator("03_research/*/prompt.md", "prompt for research"),
    Row::slug(&research("03_research/code-", r"^03_research/code-[a-z0-9]+(-[a-z0-9]+)*/(summary|detail)\.md$", "03_research/code-token-refresh/summary.md"), Writer::Owner("researcher"), "result of research").read_by("the orchestrator"),
    Row::slug(&research("03_research/web-", r"^03_research/web-[a-z0-9]+(-[a-z0-9]+)*/(summary|detail)\.md$", "03_research/web-token-refresh/detail.md"), Writer::Owner("researcher"), "result of research").read_by("the orchestrator"),
    unread("03_research/code-*/summary.md", "a topic is lower-case words with `-` between them"),
    unread("03_research/code-*/detail.md", "a topic is lower-case words with `-` between them"),
    unread("03_research/web-*/summary.md", "a topic is lower-case words with `-` between them"),
    unread("03_research/web-*/detail.md", "a topic is lower-case words with `-` between them"),
    Row::file("04_planning/plan.yaml", Writer::Owner("planner"), "plan").read_by("the orchestrator"),
    orchestrator("04_planning/plan.md", "plan, made from plan.yaml"),
    orchestrator("04_planning/execution_plan.yaml", "groups, made from plan.yaml"),
    made_by_orchestrator("04_planning/plan_*.md", "one part of the plan, made from plan.yaml"),
    artifact("04_planning/tasks_*.md", "coder", "tasks to tick off"),
    Row::file("05_design/design.md", Writer::Owner("designer"), "design; its creation moves the pipeline").read_by("the orchestrator"),
    made_by_orchestrator("06_implementation/done_*", "mark of a finished part; agents use submit_done"),
    Row::file("07_review/review_reviewer_logic.yaml", Writer::Owner("reviewer"), "verdict on logic").read_by("the orchestrator"),
    Row::file("07_review/review_reviewer_quality.yaml", Writer::Owner("reviewer"), "verdict on quality").read_by("the orchestrator"),
    Row::file("07_review/review_reviewer_expert.yaml", Writer::Owner("reviewer"), "verdict of an expert").read_by("the orchestrator"),
    unread("07_review/review_reviewer_*.yaml", "the reviewers are `logic`, `quality` and `expert`"),
    Row::file("07_review/review.yaml", Writer::Owner("reviewer"), "verdict of the reviewer").read_by("the orchestrator"),
    orchestrator("07_review/review.md", "reviews, put together"),
    orchestrator("07_review/fix_request.md", "what is to be fixed"),
    made_by_orchestrator("07_review/review_*_*.md", "review of an earlier round"),
    Row::file("08_completion/summary.md", Writer::Owner("reviewer"), "summary of the run").read_by("the orchestrator"),
    Row::file("08_completion/approval.json", Writer::Program, "the user's approval").read_by("the orchestrator"),
    Row::file("08_completion/changes.md", Writer::Program, "the user's wishes").read_by("the orchestrator"),
];
