//! The schema of `state.json`, checked value by value.

use serde_json::Value;

use super::state::{Phase, PhaseState, Status, Timestamp};
use crate::formats::brief;
use crate::formats::json::{Document, kind};

/// Where decisions are: the schema of the original says the first, its phase
/// documents write the second.
pub(super) const BLOCKS: [&str; 2] = ["dispatcher_decisions", "delegating_decisions"];

/// What a specification is when a session starts from it; the first is the usual one.
pub(super) const SPEC_STATUSES: [&str; 2] = ["approved", "done"];

#[derive(Default)]
pub(super) struct Decisions {
    pub(super) research: Option<String>,
    pub(super) review: Option<String>,
}

/// Reads the document and collects what is merely odd.
pub(super) struct View<'a> {
    document: &'a Document,
    pub(super) notes: Vec<String>,
}

impl<'a> View<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self {
            document,
            notes: Vec::new(),
        }
    }

    fn required(&self, path: &[&str]) -> Result<&'a Value, String> {
        self.document
            .get(path)
            .ok_or_else(|| format!("`{}` is missing", path.join(".")))
    }

    /// The value of a key that may be left out, which is noted.
    fn optional(&mut self, path: &[&str]) -> Option<&'a Value> {
        let value = self.document.get(path);
        if value.is_none() {
            self.notes.push(format!("`{}` is missing", path.join(".")));
        }
        value
    }

    pub(super) fn text(&self, path: &[&str]) -> Result<&'a str, String> {
        let value = self.required(path)?;
        value.as_str().ok_or_else(|| wrong(path, value, "a string"))
    }

    pub(super) fn boolean(&self, path: &[&str]) -> Result<bool, String> {
        let value = self.required(path)?;
        value
            .as_bool()
            .ok_or_else(|| wrong(path, value, "true or false"))
    }

    pub(super) fn one_of(&self, path: &[&str], allowed: &[&str]) -> Result<&'a str, String> {
        let text = self.text(path)?;
        if allowed.contains(&text) {
            return Ok(text);
        }
        Err(format!(
            "`{}` is \"{}\", not one of {}",
            path.join("."),
            brief(text),
            allowed.join(", ")
        ))
    }

    pub(super) fn moment(&self, path: &[&str]) -> Result<Timestamp, String> {
        let text = self.text(path)?;
        Timestamp::parse(text).ok_or_else(|| {
            format!(
                "`{}` is \"{}\", not a time like 2026-01-10T14:30:22Z",
                path.join("."),
                brief(text)
            )
        })
    }

    fn moment_or_null(&mut self, path: &[&str]) -> Result<Option<Timestamp>, String> {
        match self.optional(path) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.moment(path).map(Some),
        }
    }

    pub(super) fn phase(&mut self, phase: Phase) -> Result<PhaseState, String> {
        let path = |key| ["phases", phase.as_str(), key];
        let state = self.required(&["phases", phase.as_str()])?;
        if !state.is_object() {
            return Err(wrong(&["phases", phase.as_str()], state, "an object"));
        }
        let status = self.one_of(&path("status"), &Status::WORDS)?;
        let status = Status::parse(status).unwrap_or(Status::Pending);
        match self.optional(&path("report")) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => return Err(wrong(&path("report"), other, "a file name or null")),
        }
        let skipped = match self.optional(&path("skipped")) {
            None => false,
            Some(_) => self.boolean(&path("skipped"))?,
        };
        Ok(PhaseState {
            phase,
            status,
            skipped,
            started_at: self.moment_or_null(&path("started_at"))?,
            completed_at: self.moment_or_null(&path("completed_at"))?,
        })
    }

    pub(super) fn spec(&mut self) -> Result<(), String> {
        match self.optional(&["spec"]) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Object(_)) => {
                self.text(&["spec", "id"])?;
                self.text(&["spec", "path"])?;
                self.one_of(&["spec", "status"], &SPEC_STATUSES).map(|_| ())
            }
            Some(other) => Err(wrong(&["spec"], other, "an object or null")),
        }
    }

    /// Both blocks are read, the schema's wins.
    pub(super) fn decisions(&mut self) -> Result<Decisions, String> {
        let mut decisions = Decisions::default();
        let mut present = false;
        for block in BLOCKS {
            match self.document.get(&[block]) {
                None => continue,
                Some(Value::Null | Value::Object(_)) => present = true,
                Some(other) => return Err(wrong(&[block], other, "an object")),
            }
            let research = self.decision(&[block, "research"])?;
            let review = self.decision(&[block, "review"])?;
            decisions.research = decisions.research.or(research);
            decisions.review = decisions.review.or(review);
        }
        if !present {
            self.notes
                .push("`dispatcher_decisions` is missing".to_owned());
        }
        Ok(decisions)
    }

    /// Checks one decision and gives its agent.
    fn decision(&self, path: &[&str; 2]) -> Result<Option<String>, String> {
        let [block, phase] = *path;
        match self.document.get(path) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(_)) => {}
            Some(other) => return Err(wrong(path, other, "an object or null")),
        }
        let agent = self.one_of(&[block, phase, "agent"], &AGENTS)?;
        let mode = self.one_of(&[block, phase, "mode"], &["single", "parallel"])?;
        let instances = self.required(&[block, phase, "instances"])?;
        let count = instances
            .as_u64()
            .filter(|count| (1..=INSTANCES_MAX).contains(count));
        let Some(count) = count else {
            return Err(format!(
                "`{block}.{phase}.instances` is {}, not 1 to 5",
                brief(&instances.to_string())
            ));
        };
        if (mode == "single") != (count == 1) {
            return Err(format!(
                "`{block}.{phase}` has mode {mode} with {count} instances; single goes with 1, parallel with 2 to 5"
            ));
        }
        let inputs = self.required(&[block, phase, "inputs"])?;
        let texts = inputs.as_array();
        let Some(texts) = texts.filter(|texts| texts.iter().all(Value::is_string)) else {
            let path = [block, phase, "inputs"];
            return Err(wrong(&path, inputs, "an array of strings"));
        };
        if texts.len() as u64 != count {
            let n_inputs = texts.len();
            return Err(format!(
                "`{block}.{phase}.inputs` has length {n_inputs}; write one input for each of the {count} instances"
            ));
        }
        Ok(Some(agent.to_owned()))
    }
}

/// The agents a dispatcher may choose.
const AGENTS: [&str; 3] = ["scouter", "researcher", "reviewer"];
/// The most instances of one agent at a time.
const INSTANCES_MAX: u64 = 5;

fn wrong(path: &[&str], found: &Value, expected: &str) -> String {
    format!("`{}` is {}, not {expected}", path.join("."), kind(found))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::state::State;
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
        check_malformed(&["id"], json!(7), "`id` is a number");
        check_malformed(&["workflow"], json!("slow"), "not one of code, code:fast");
        check_malformed(&["auto_mode"], json!("true"), "`auto_mode` is a string");
        check_malformed(&["updated_at"], json!("yesterday"), "not a time");
        check_malformed(
            &["dispatcher_decisions", "research", "inputs"],
            json!(["a"]),
            "has length 1; write one input for each of the 2 instances",
        );
        check_malformed(&["spec"], json!("x.md"), "`spec` is a string");
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
        check_malformed(&with("inputs"), json!([1]), "an array of strings");
        check_malformed(
            &["delegating_decisions"],
            json!([]),
            "`delegating_decisions` is an array",
        );
    }
}
