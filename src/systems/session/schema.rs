//! The schema of `state.json`, and what it cannot say of the dispatcher's decisions.

use std::sync::LazyLock;

use serde_json::Value;

use super::state::Phase;
use crate::formats::json::Document;
use crate::formats::schema::Schema;

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("state.schema.json")));

/// Where decisions are: the schema of the original says the first, its phase
/// documents write the second.
pub(super) const BLOCKS: [&str; 2] = ["dispatcher_decisions", "delegating_decisions"];

/// What a specification is when a session starts from it; the first is the usual one.
pub(super) const SPEC_STATUSES: [&str; 2] = ["approved", "done"];

/// Checks a document and says what is merely odd.
///
/// # Errors
/// Names the place that breaks the schema and what may be there.
pub(super) fn check(document: &Document) -> Result<Vec<String>, String> {
    let checked = SCHEMA.check("", document.root()).into_result();
    let missing = checked.map_err(|fault| fault.to_string())?;
    let mut notes: Vec<String> = missing.iter().map(ToString::to_string).collect();
    if BLOCKS.iter().all(|block| document.get(&[block]).is_none()) {
        notes.push("`dispatcher_decisions` is missing".to_owned());
    }
    for phase in [Phase::Research, Phase::Review] {
        for block in BLOCKS {
            if let Some(decision) = document.get(&[block, phase.as_str()]) {
                check_counts(&format!("{block}.{}", phase.as_str()), decision)?;
            }
        }
    }
    Ok(notes)
}

/// What is asked of a text that is to be written: names and agents that readers can do without,
/// and that a file of an earlier time may lack.
///
/// # Errors
/// Names the place and what may be there.
pub(super) fn check_written(document: &Document) -> Result<(), String> {
    let checked = SCHEMA.check("written", document.root()).into_result();
    checked.map(|_| ()).map_err(|fault| fault.to_string())
}

/// One input for each instance, and several of them only side by side.
fn check_counts(path: &str, decision: &Value) -> Result<(), String> {
    let (Some(mode), Some(count)) = (decision["mode"].as_str(), decision["instances"].as_u64())
    else {
        return Ok(());
    };
    if (mode == "single") != (count == 1) {
        return Err(format!(
            "`{path}` has mode {mode} with {count} instances; single goes with 1, parallel with 2 to 5"
        ));
    }
    let n_inputs = decision["inputs"].as_array().map_or(0, Vec::len);
    if n_inputs as u64 != count {
        return Err(format!(
            "`{path}.inputs` has length {n_inputs}; write one input for each of the {count} instances"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::state::{State, Status};
    use super::*;

    const COMPLETE: &str = include_str!("../../../tests/fixtures/session/complete.json");

    #[track_caller]
    fn check_malformed(path: &[&str], value: Value, part: &str) {
        let mut document = Document::parse(COMPLETE).unwrap();
        document.set(path, value).unwrap();
        let why = State::parse(&document.render()).unwrap_err();
        assert!(why.contains(part), "{why}");
    }

    #[test]
    fn the_schema_is_kept() {
        for status in Status::WORDS {
            let phase = json!({ "status": status });
            assert!(SCHEMA.check("phase", &phase).faults.is_empty(), "{status}");
        }
        check_malformed(&["id"], json!(7), "`id` is a number");
        check_malformed(&["workflow"], json!("slow"), "not one of code, code:fast");
        check_malformed(
            &["auto_mode"],
            json!("true"),
            "`auto_mode` is \"true\", not true or false",
        );
        check_malformed(&["updated_at"], json!("yesterday"), "not a time");
        check_malformed(
            &["dispatcher_decisions", "research", "inputs"],
            json!(["a"]),
            "has length 1; write one input for each of the 2 instances",
        );
        check_malformed(&["spec"], json!("x.md"), "`spec` is \"x.md\"");
        check_malformed(&["spec", "status"], json!("draft"), "approved, done");
        check_malformed(&["phases", "plan"], json!(null), "`phases.plan` is null");
        check_malformed(
            &["phases", "plan", "status"],
            json!("failed"),
            "in_progress",
        );
        check_malformed(
            &["phases", "plan", "report"],
            json!(1),
            "a file name or null",
        );
        check_malformed(
            &["phases", "plan", "started_at"],
            json!("soon"),
            "not a time",
        );
        let research = ["dispatcher_decisions", "research"];
        let with = |key| [research[0], research[1], key];
        check_malformed(
            &with("agent"),
            json!("coder"),
            "scouter, researcher, reviewer",
        );
        check_malformed(&with("instances"), json!(6), "not 1 to 5");
        check_malformed(
            &with("instances"),
            json!(1),
            "mode parallel with 1 instances",
        );
        check_malformed(
            &with("mode"),
            json!("single"),
            "mode single with 2 instances",
        );
        check_malformed(
            &with("inputs"),
            json!([1]),
            "inputs[0]` is a number, not a string",
        );
        check_malformed(
            &["delegating_decisions"],
            json!([]),
            "`delegating_decisions` is an array",
        );
    }
}
