//! Who may write what, system by system.

mod group_roles;

use serde_json::{Value, json};

use crate::support::{DEVT, Sandbox};

/// A text that every reader of the entry takes.
fn text(entry: &str) -> &'static str {
    let name = entry.rsplit('/').next().unwrap();
    match name {
        "state.json" => include_str!("../fixtures/session/complete.json"),
        "orchestration.local.md" => {
            include_str!("../fixtures/agent-flow/01-orchestration-init-default.md")
        }
        "team-orchestration.local.md" => {
            include_str!("../fixtures/agent-flow/30-team-init-team-mode.md")
        }
        "deep-dive.local.md" => include_str!("../fixtures/agent-flow/23-deep-dive-complete.md"),
        "workflow.yaml" => "active: false\n",
        _ if entry.contains("test-reports/") => "**Status:** PASS\n",
        _ if entry.contains("review/") => "**Status:** APPROVED\n",
        _ if name.starts_with("impl-summary") && name.ends_with(".json") => {
            r#"{"status":"DONE","verdict":"PASS","agent":"programmer"}"#
        }
        _ if name.starts_with("test-summary") && name.ends_with(".json") => {
            r#"{"status":"DONE","verdict":"PASS","agent":"tester"}"#
        }
        _ if name.starts_with("verification") && name.ends_with(".json") => {
            r#"{"status":"VERIFIED","verdict":"satisfied","agent":"verifier","criteria_total":1}"#
        }
        "review.json" => r#"{"status":"DONE","verdict":"APPROVED","agent":"code-reviewer"}"#,
        _ => "a: 1\n",
    }
}

/// The event of an actor; `main` is the main thread.
fn event(sandbox: &Sandbox, actor: &str, path: &str) -> Value {
    sandbox.by_actor(actor, sandbox.write_event(path, text(path)))
}

/// A site in a project of its own.
struct Site {
    sandbox: Sandbox,
    dir: &'static str,
}

impl Site {
    fn new(dir: &'static str) -> Self {
        let sandbox = Sandbox::new();
        Self { sandbox, dir }
    }

    /// What every one of the actors gets for a write of every one of the entries.
    #[track_caller]
    fn check(&self, actors: &str, expected: &str, entries: &str) {
        for actor in actors.split(' ') {
            for entry in entries.split_whitespace() {
                let path = format!("{}/{entry}", self.dir);
                let found = self.sandbox.hook(&event(&self.sandbox, actor, &path));
                assert_eq!(found.decision(), expected, "{path} by {actor}");
            }
        }
    }
}

/// The agents of the devt contract and what is theirs.
const OWNED: [(&str, &[&str]); 10] = [
    (
        "programmer",
        &[
            "impl-summary.md",
            "impl-summary.json",
            "impl-summary-a.md",
            "impl-summary-a.json",
        ],
    ),
    (
        "tester",
        &[
            "test-summary.md",
            "test-summary.json",
            "test-summary-a.md",
            "test-summary-a.json",
        ],
    ),
    (
        "verifier",
        &[
            "verification.md",
            "verification.json",
            "verification-a.md",
            "verification-a.json",
        ],
    ),
    (
        "code-reviewer",
        &[
            "review.md",
            "review.json",
            "review-a.md",
            "review-lane-api.md",
        ],
    ),
    (
        "architect",
        &[
            "plan.md",
            "scan-results.md",
            "scan-delta.md",
            "arch-review.md",
        ],
    ),
    ("researcher", &["research.md"]),
    ("debugger", &["debug-investigation.md", "debug-summary.md"]),
    ("docs-writer", &["docs-summary.md"]),
    ("curator", &["curation-summary.md"]),
    ("retro", &["lessons.yaml"]),
];

#[test]
fn a_devt_artifact_is_its_agents_and_no_other_agents_of_the_contract() {
    let site = Site::new(".devt/state");
    for (owner, names) in OWNED {
        for (agent, _) in OWNED {
            let expected = if agent == owner {
                "allow"
            } else {
                "wrong-writer"
            };
            // The first and the last name stand for the rest of a row.
            let some = [names[0], names[names.len() - 1]].join(" ");
            site.check(agent, expected, &some);
        }
        let all = names.join(" ");
        site.check(owner, "allow", &all);
    }
}

#[test]
fn the_main_thread_and_agents_outside_the_contract_may_write_every_devt_artifact() {
    let site = Site::new(".devt/state");
    for (_, names) in OWNED {
        let all = names.join(" ");
        site.check("main general-purpose planner", "allow", &all);
    }
}

#[test]
fn devt_files_without_an_owner_are_everybodys() {
    let site = Site::new(".devt/state");
    let everybodys = "scratchpad.md scope.md decisions.md spec.md handoff.json deferred.md \
                      arch-baseline.json consolidator-ran.txt last-curator-run.txt slice-a.md \
                      module-update-summary.md";
    site.check(
        "main programmer devt:tester general-purpose",
        "allow",
        everybodys,
    );
}

#[test]
fn workflow_yaml_is_the_main_threads_whatever_the_agent() {
    let site = Site::new(".devt/state");
    site.check("main", "allow", "workflow.yaml");
    site.check(
        "programmer architect general-purpose main-2 x",
        "wrong-writer",
        "workflow.yaml",
    );
    // An agent that is called `main` is an agent.
    let event = site.sandbox.by(
        "main",
        event(&site.sandbox, "main", ".devt/state/workflow.yaml"),
    );
    site.sandbox.denied(&event, "wrong-writer");
}

#[test]
fn what_devts_programs_own_is_for_no_tool_call() {
    let site = Site::new(".devt/state");
    let owned = ".lock .archive/plan.md .archive/2026-01-01/plan.md .graphify-rebuild.lock \
                 preflight-denies.jsonl dispatch-warnings.jsonl probe-failures.jsonl \
                 static-compress.jsonl";
    site.check(
        "main programmer curator general-purpose",
        "program-owned",
        owned,
    );
}

#[test]
fn an_agent_is_known_by_the_last_part_of_its_type_in_any_case_and_with_underscores() {
    let site = Site::new(".devt/state");
    let known = [
        "tester",
        "devt:tester",
        "Tester",
        "TESTER",
        "devt:Tester",
        "plugins:devt:tester",
        "programmer",
        "Programmer",
        "x:PROGRAMMER",
        "docs_writer",
        "DOCS_Writer",
        "devt:docs_writer",
    ];
    let strangers = [
        "testers",
        "my-tester",
        "tester-2",
        "test",
        "tester:",
        "review",
        "devt",
        ":",
    ];
    for (agents, expected) in [(&known[..], "wrong-writer"), (&strangers[..], "allow")] {
        for agent in agents {
            site.check(agent, expected, "review.md");
        }
    }
    for agent in [
        "code-reviewer",
        "code_reviewer",
        "Code_Reviewer",
        "devt:CODE-reviewer",
    ] {
        site.check(agent, "allow", "review.md review.json");
    }
}

#[test]
fn the_main_thread_is_an_event_without_an_agent_id() {
    let sandbox = Sandbox::new();
    for (agent_id, agent_type, expected) in [
        (json!(null), json!(null), "allow"),
        (json!(""), json!(""), "allow"),
        (json!(null), json!("boss"), "allow"),
        (json!(null), json!("programmer"), "allow"),
        (json!("a-1"), json!(null), "wrong-writer"),
        (json!("a-1"), json!("plugin: "), "wrong-writer"),
        (json!("a-1"), json!("boss"), "wrong-writer"),
    ] {
        let mut event = event(&sandbox, "main", ".devt/state/workflow.yaml");
        event["agent_id"] = agent_id;
        event["agent_type"] = agent_type;
        sandbox.expect(&event, expected);
    }
    let types = sandbox
        .records(DEVT)
        .into_iter()
        .map(|record| record["agent_type"].clone());
    assert_eq!(types.collect::<Vec<_>>(), ["unknown", "unknown", "boss"]);
    // An agent that nobody knows is no stranger to files that every agent may write.
    let mut event = event(&sandbox, "main", ".devt/state/review.md");
    event["agent_id"] = "a-1".into();
    sandbox.hook(&event).is_silent();
}

#[test]
fn edits_and_notebook_edits_obey_the_rules_of_writes() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/review.md", "old\n");
    for (tool, key) in [
        ("Write", "file_path"),
        ("Edit", "file_path"),
        ("MultiEdit", "file_path"),
        ("NotebookEdit", "notebook_path"),
    ] {
        for (actor, path, expected) in [
            ("main", ".devt/state/review.md", "allow"),
            ("code-reviewer", ".devt/state/review.md", "allow"),
            ("programmer", ".devt/state/review.md", "wrong-writer"),
            ("programmer", ".devt/state/workflow.yaml", "wrong-writer"),
            ("main", ".devt/state/.lock", "program-owned"),
            ("main", ".devt/state/notes.ipynb", "ad-hoc-name"),
            ("main", "notes.ipynb", "allow"),
        ] {
            let event = sandbox.event(tool, json!({ key: sandbox.path(path) }));
            sandbox.expect(&sandbox.by_actor(actor, event), expected);
        }
    }
}

#[test]
fn agent_flows_state_files_are_the_main_threads() {
    let site = Site::new(".claude");
    let files = "orchestration.local.md team-orchestration.local.md deep-dive.local.md";
    site.check("main", "allow", files);
    let agents = "agent-flow:Riko agent-flow:Senku agent-flow:Loid Lawliet alphonse Orchestrator \
                  general-purpose";
    site.check(agents, "wrong-writer", files);
    site.check(
        "agent-flow:Senku",
        "allow",
        "research-auth-20260101T120000Z.local.md notes.local.md",
    );
}

#[test]
fn the_switches_of_agent_flows_stop_gate_are_for_the_user() {
    let site = Site::new(".claude");
    let files = "skip-test-verification known-test-failures test-command";
    site.check(
        "main agent-flow:Loid general-purpose",
        "protected-file",
        files,
    );
}

#[test]
fn a_sessions_files_are_the_main_threads() {
    let site = Site::new(".claude/.docs/260110-token-refresh");
    let files = "state.json research-report.md plan-report.md review-report.md";
    site.check("main", "allow", files);
    site.check(
        "scouter researcher reviewer debugger general-purpose",
        "wrong-writer",
        files,
    );
}

#[test]
fn agentmuxs_orchestrator_is_no_tool_call() {
    let site = Site::new(".agentmux/.sessions/20260101-120000-x");
    let owned = "state.json runtime_state.json tool_event_state.json tool_events.jsonl \
                 orchestrator.log created_files.log status_log.txt context.md \
                 01_product_management/product_manager_prompt.md 02_architecting/architect_prompt.md \
                 06_implementation/coder_prompt_1.md 03_research/code-api/request.md \
                 03_research/web-api/prompt.md 04_planning/plan.md 04_planning/plan_1.md \
                 04_planning/execution_plan.yaml 06_implementation/done_1 07_review/review.md \
                 07_review/review_1_logic.md 07_review/fix_request.md 08_completion/approval.json \
                 08_completion/changes.md";
    site.check("main coder architect reviewer", "program-owned", owned);
}

#[test]
fn agentmuxs_artifacts_are_their_roles_and_unknown_names_are_free() {
    let site = Site::new(".agentmux/.sessions/x");
    let artifacts = [
        ("product-manager", "requirements.md"),
        ("architect", "02_architecting/architecture.md"),
        ("code-researcher", "03_research/code-api/summary.md"),
        ("web-researcher", "03_research/web-api/detail.md"),
        ("planner", "04_planning/plan.yaml"),
        ("coder", "04_planning/tasks_1.md"),
        ("designer", "05_design/design.md"),
        ("reviewer", "07_review/review_reviewer_logic.yaml"),
        ("reviewer_logic", "07_review/review_reviewer_logic.yaml"),
        ("reviewer", "07_review/review.yaml"),
        ("reviewer", "08_completion/summary.md"),
    ];
    for (owner, entry) in artifacts {
        site.check(owner, "allow", entry);
        site.check("main general-purpose", "allow", entry);
        for other in ["planner", "coder", "designer"]
            .into_iter()
            .filter(|other| *other != owner)
        {
            site.check(other, "wrong-writer", entry);
        }
    }
    site.check(
        "main reviewer researcher general-purpose",
        "ad-hoc-name",
        "07_review/review_reviewer_speed.yaml 03_research/code-Api/summary.md \
         03_research/web-token_refresh/detail.md 03_research/code-/summary.md",
    );
    let free = "notes.md 02_architecting/sketch.md 04_planning/tasks.md new/dir/a.txt done_1";
    site.check("main coder general-purpose", "allow", free);
}

#[test]
fn the_guards_own_files_are_for_the_user() {
    let site = Site::new(".claude");
    let own = "statewarden.yaml statewarden.local.yaml statewarden/denies.jsonl \
               statewarden/events.jsonl statewarden/.gitignore statewarden/deep/x \
               statewarden-notes.md statewarden.yaml.bak statewarden";
    site.check("main programmer general-purpose", "protected-file", own);
    let others = "my-statewarden.yaml skills/statewarden/SKILL.md docs/statewarden.yaml";
    site.check("main general-purpose", "allow", others);
}

#[test]
fn owners_of_a_declared_system_come_from_the_settings() {
    let site = Site::new("notes");
    site.sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  notes:\n    site: notes\n    canonical: ['*.md']\n    owners:\n      \
         index.md: [Scribe, main]\n      log.md: main\n      'x-*.md': editor\n",
    );
    site.check("main scribe x:SCRIBE", "allow", "index.md");
    site.check("editor general-purpose", "wrong-writer", "index.md");
    site.check("main", "allow", "log.md");
    site.check("scribe general-purpose", "wrong-writer", "log.md");
    site.check("editor", "allow", "x-1.md");
    site.check("scribe", "wrong-writer", "x-1.md");
    site.check("main scribe general-purpose", "allow", "free.md");
}

/// The plain name goes before globs, of which the last one counts, and in open directories too.
#[test]
fn owners_go_by_their_order_and_hold_in_subdirectories() {
    let site = Site::new("notes");
    site.sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  notes:\n    site: notes\n    canonical: ['*.md']\n    \
         subdirectories: [drafts]\n    owners:\n      index.md: lead\n      'z*.md': zoe\n      \
         '*.md': scribe\n      'a*.md': ann\n      'drafts/**': ann\n      drafts/log.md: zoe\n",
    );
    for (owner, entries) in [
        ("lead", "index.md"),
        ("scribe", "b.md z.md"),
        ("ann", "a.md drafts/a.md drafts/deep/x.txt"),
        ("zoe", "drafts/log.md"),
    ] {
        site.check(owner, "allow", entries);
        site.check("main", "allow", entries);
        let others = ["lead", "scribe", "ann", "zoe", "somebody"].into_iter();
        for other in others.filter(|other| *other != owner) {
            site.check(other, "wrong-writer", entries);
        }
    }
    site.sandbox.write("notes/drafts/a.md", "x");
    let removal = |agent: &str| {
        let event = site.sandbox.bash_event("rm notes/drafts/a.md");
        site.sandbox
            .hook(&site.sandbox.by_actor(agent, event))
            .decision()
    };
    let found = ["main", "ann", "zoe"].map(removal);
    assert_eq!(found, ["allow", "allow", "wrong-writer"]);
}
