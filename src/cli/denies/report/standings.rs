//! Where the gates are, and why those that have not passed did not.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::cli::output::printable;

/// A gate as its last record left it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct GateState {
    pub(super) system: String,
    pub(super) file: String,
    pub(super) gate: String,
    /// `passed`, `failed` …; empty where no record says.
    pub(super) status: String,
    /// What was missing, or why a record changed nothing.
    pub(super) why: String,
    pub(super) ts: String,
}

impl GateState {
    pub(super) fn has_passed(&self) -> bool {
        self.status == "passed"
    }
}

/// The gates that the records are about. `records` are in the order of the log.
pub(super) fn of_records(records: &[Value]) -> Vec<GateState> {
    let mut gates: BTreeMap<[&str; 3], GateState> = BTreeMap::new();
    for record in records {
        let text = |key: &str| record[key].as_str().unwrap_or_default();
        let (system, file, gate) = (text("system"), text("file"), text("gate"));
        // The end of an agent without a gate says nothing of one.
        if gate.is_empty() {
            continue;
        }
        let state = gates
            .entry([system, file, gate])
            .or_insert_with(|| GateState {
                system: printable(system),
                file: printable(file),
                gate: printable(gate),
                status: String::new(),
                why: String::new(),
                ts: String::new(),
            });
        if !text("to").is_empty() {
            state.status = printable(text("to"));
        }
        let reasons = [text("skipped"), text("unsupported")];
        let reason = reasons.into_iter().find(|reason| !reason.is_empty());
        state.why = printable(reason.unwrap_or_default());
        state.ts = printable(text("ts"));
    }
    gates.into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_record_of_a_gate_says_where_it_is_and_why() {
        let record = |gate: &str, to: Option<&str>, skipped: Option<&str>| json!({"system": "release", "file": "g.json", "gate": gate, "to": to, "skipped": skipped});
        let found = of_records(&[
            record("plan", Some("passed"), None),
            record("checks", Some("in_progress"), None),
            record("checks", None, Some("`make check` was not seen to pass")),
            record("", None, Some("agent `riko` has no gate")),
        ]);
        let found: Vec<_> = found
            .iter()
            .map(|gate| (gate.gate.as_str(), gate.status.as_str(), gate.why.as_str()))
            .collect();
        let why = "`make check` was not seen to pass";
        assert_eq!(
            found,
            [("checks", "in_progress", why), ("plan", "passed", "")]
        );
    }
}
