//! AgentMux's `state.json`, which only its orchestrator writes: read, checked,
//! never changed.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{check, event};
use crate::formats::json::Document;
use crate::formats::yaml;
use crate::systems::workflow::{Gate, GateStatus, NextStep, UnreadableState, Workflow};

/// The phases in the order of a run, with the virtual end `failed`.
pub const PHASES: [&str; 9] = [
    "product_management",
    "architecting",
    "planning",
    "designing",
    "implementing",
    "reviewing",
    "fixing",
    "completing",
    "failed",
];

/// One session as `agentmux show` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    pub name: String,
    pub phase: Option<String>,
    pub last_event: Option<String>,
    /// Where the orchestrator would go on.
    pub resume_phase: Option<String>,
    pub review_iteration: Option<u64>,
    pub valid: bool,
    pub problems: Vec<String>,
}

/// Reads one session. `files` gives the text of a file by its path below the
/// feature directory; a file that is there but cannot be read as text counts as
/// an empty one.
pub fn session(name: &str, files: &dyn Fn(&str) -> Option<String>) -> Session {
    let state = files("state.json").and_then(|text| parse(&text).ok());
    let problems = check::problems(files);
    let text = |key| Some(state.as_ref()?.get(key)?.as_str()?.to_owned());
    Session {
        name: name.to_owned(),
        phase: text("phase"),
        last_event: text("last_event"),
        resume_phase: state.as_ref().map(|state| infer_resume_phase(state, files)),
        review_iteration: state
            .as_ref()
            .and_then(|state| state.get("review_iteration")?.as_u64()),
        valid: problems.is_empty(),
        problems,
    }
}

/// Python's reader takes no byte-order mark.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    if text.starts_with('\u{feff}') {
        return Err("starts with a byte-order mark, which AgentMux cannot parse".to_owned());
    }
    Document::parse(text).map(|document| document.root().clone())
}

/// Where AgentMux would go on: in the present phase, after a failure in the
/// first phase whose result is not there.
pub fn infer_resume_phase(
    state: &Map<String, Value>,
    files: &dyn Fn(&str) -> Option<String>,
) -> String {
    let phase = state
        .get("phase")
        .and_then(Value::as_str)
        .unwrap_or("planning");
    if phase != "failed" {
        return phase.to_owned();
    }
    let exists = |path: &str| files(path).is_some();
    let number = |key| state.get(key).and_then(Value::as_u64).unwrap_or(0);
    let first_done = exists("06_implementation/done_1");
    let fixing = number("review_iteration") > 0 && exists("07_review/fix_request.md");
    let implemented = match number("subplan_count") {
        // The original takes any `done_*` here; they are numbered from 1.
        0 => first_done,
        count => (1..=count).all(|n| exists(&format!("06_implementation/done_{n}"))),
    };
    let checks: [(&str, &dyn Fn() -> bool); 7] = [
        ("product_management", &|| product_managed(state, files)),
        ("architecting", &|| {
            exists("02_architecting/architecture.md")
        }),
        ("planning", &|| exists("04_planning/execution_plan.yaml")),
        ("designing", &|| {
            !needs_design(files) || exists("05_design/design.md")
        }),
        ("implementing", &|| fixing || implemented),
        // In a fixing round the review has run until its fix is done.
        ("reviewing", &|| reviewed(files) || (fixing && !first_done)),
        ("fixing", &|| !fixing || first_done),
    ];
    let open = checks.iter().find(|(_, is_done)| !is_done());
    open.map_or("completing", |(phase, _)| phase).to_owned()
}

fn product_managed(state: &Map<String, Value>, files: &dyn Fn(&str) -> Option<String>) -> bool {
    let asked_for = state
        .get("product_manager")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    !asked_for || was_submitted(files) || files("02_architecting/architecture.md").is_some()
}

fn was_submitted(files: &dyn Fn(&str) -> Option<String>) -> bool {
    let log = files("tool_events.jsonl").unwrap_or_default();
    let events = event::read(log.as_bytes(), 0).unapplied;
    events.iter().any(|event| event.tool == "submit_pm_done")
}

fn needs_design(files: &dyn Fn(&str) -> Option<String>) -> bool {
    let plan = files("04_planning/execution_plan.yaml").unwrap_or_default();
    yaml_value(&plan, "needs_design")
        .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on"))
}

/// A review in Markdown, or a verdict in one of the reviewers' files.
fn reviewed(files: &dyn Fn(&str) -> Option<String>) -> bool {
    let verdict = |name: &str| {
        files(&format!("07_review/{name}.yaml")).is_some_and(|text| {
            matches!(
                yaml_value(&text, "verdict").as_deref(),
                Some("pass" | "fail")
            )
        })
    };
    let mut names = [
        "review",
        "review_reviewer_logic",
        "review_reviewer_quality",
        "review_reviewer_expert",
    ]
    .into_iter();
    files("07_review/review.md").is_some() || names.any(verdict)
}

fn yaml_value(text: &str, key: &str) -> Option<String> {
    yaml::text(&yaml::parse(text).ok()?, &[key])
}

/// A session as `status` shows it; its phases are shown as gates.
///
/// # Errors
/// `state.json` is missing or no JSON object.
pub fn read_workflow(
    file: &str,
    files: &dyn Fn(&str) -> Option<String>,
) -> Result<Workflow, UnreadableState> {
    let text = files("state.json").unwrap_or_default();
    let state = parse(&text).map_err(|why| UnreadableState::new(file, why))?;
    let string = |key| state.get(key).and_then(Value::as_str).map(str::to_owned);
    let phase = string("phase");
    let at = phase
        .as_deref()
        .and_then(|phase| PHASES.iter().position(|name| *name == phase));
    let failed = phase.as_deref() == Some("failed");
    let gates = PHASES
        .iter()
        .enumerate()
        .filter(|(_, name)| **name != "failed")
        .map(|(idx, name)| {
            let status = match at {
                _ if !is_part_of_run(name, &state, files) => GateStatus::Skipped,
                Some(at) if !failed && idx < at => GateStatus::Passed,
                Some(at) if !failed && idx == at => GateStatus::InProgress,
                _ => GateStatus::Pending,
            };
            Gate::new(name, status)
        });
    let resume = infer_resume_phase(&state, files);
    // After its approval a run stays in `completing` for good.
    let approved = approved(files);
    let next = if failed {
        format!("resume the session; it goes on with phase `{resume}`").into()
    } else if approved {
        NextStep::nothing("the run was approved")
    } else {
        format!("AgentMux is in phase `{resume}`; its orchestrator moves on").into()
    };
    Ok(Workflow {
        active: !failed && !approved,
        iteration: state.get("review_iteration").and_then(Value::as_u64),
        gates: gates.collect(),
        next,
        updated_at: string("updated_at"),
        phase,
        ..Workflow::new(super::ID, file)
    })
}

/// Whether a phase is one of this run: three of them are not of each.
fn is_part_of_run(
    phase: &str,
    state: &Map<String, Value>,
    files: &dyn Fn(&str) -> Option<String>,
) -> bool {
    match phase {
        "product_management" => state.get("product_manager") == Some(&Value::Bool(true)),
        "designing" => needs_design(files),
        "fixing" => state.get("review_iteration").and_then(Value::as_u64) > Some(0),
        _ => true,
    }
}

fn approved(files: &dyn Fn(&str) -> Option<String>) -> bool {
    let approval = files("08_completion/approval.json").unwrap_or_default();
    let approval = Document::parse(&approval).ok();
    approval.is_some_and(|approval| {
        approval
            .get(&["action"])
            .is_some_and(|action| action == "approve")
    })
}

#[cfg(test)]
mod tests;
