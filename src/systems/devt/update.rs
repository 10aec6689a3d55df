//! `update KEY=VALUE…` on `workflow.yaml`, with the ids and anchors that devt
//! keeps in step.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::workflow_yaml::{DEFAULT, Fields, SCHEMA, from_argument, read, set};
use crate::base::clock;

/// A changed file, and what looked odd in the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    pub text: String,
    /// What devt would not understand.
    pub faults: Vec<String>,
    pub warnings: Vec<String>,
}

/// What an update needs to know beside the file.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub now: DateTime<Utc>,
    /// A fresh UUID for the case that the workflow needs one.
    pub new_id: &'a str,
    /// The end of devt's trace of memory queries, which names the ids in use.
    pub trace: &'a str,
    /// How many ids of the history stay beside the original one.
    pub archive_runs: usize,
}

/// Applies the pairs in their order. `text` is none without a file.
///
/// # Errors
/// The text is no `workflow.yaml`, or a key is none or holds a list.
pub fn update(
    text: Option<&str>,
    pairs: &[(&str, &str)],
    around: Surroundings<'_>,
) -> Result<Updated, String> {
    let Surroundings { now, new_id, .. } = around;
    let before = text.unwrap_or(DEFAULT);
    let changes: Vec<_> = pairs
        .iter()
        .map(|(key, value)| (*key, Some(from_argument(key, value))))
        .collect();
    let mut text = set(before, &changes)?;
    if let Some(why) = moved_anchor(before, &text) {
        return Err(why);
    }
    let anchors = anchors(&read(before), &read(&text), now, new_id);
    text = set(&text, &anchors)?;
    let history = history(&read(&text), around);
    text = set(&text, history.as_slice())?;
    let fields = read(before);
    let mut faults = Vec::new();
    for (key, value) in &changes {
        if fields.get(key).is_none() {
            faults.extend(unknown(key));
        }
        faults.extend(value.as_ref().and_then(|value| fault(key, value)));
    }
    let n_old = pairs.iter().filter(|(key, _)| *key == "complexity").count();
    Ok(Updated {
        text,
        faults,
        warnings: vec!["`complexity` is deprecated; use `tier`".to_owned(); n_old],
    })
}

type FieldChange = (&'static str, Option<Value>);

/// A first activation dates and names the workflow; a change of its type dates
/// and names it again and leaves the first date and id alone.
fn anchors(before: &Fields, after: &Fields, now: DateTime<Utc>, new_id: &str) -> Vec<FieldChange> {
    let set = |key, value: &str| (key, Some(Value::from(value)));
    let absent = |key| matches!(after.get(key), None | Some(Value::Null));
    // devt's readers take JavaScript's form, which has milliseconds.
    let now = clock::millis(now);
    let type_of = |fields: &Fields| fields.text("workflow_type").map(str::to_owned);
    if !after.is_true("active") {
        return Vec::new();
    }
    if absent("created_at") {
        let id = after.text("workflow_id").unwrap_or(new_id);
        let first = [
            ("first_created_at", now.as_str()),
            ("original_workflow_id", id),
        ];
        let mut changes = vec![set("created_at", &now), set("workflow_id", id)];
        for (key, value) in first {
            if absent(key) {
                changes.push(set(key, value));
            }
        }
        return changes;
    }
    match (type_of(before), type_of(after)) {
        (Some(old), Some(new)) if old != new => {
            vec![set("created_at", &now), set("workflow_id", new_id)]
        }
        _ => Vec::new(),
    }
}

/// While a workflow is active its history holds the original id first, ids that
/// only the trace remembers, and the present one. It is kept as JSON in a
/// string, which devt reads as a list.
fn history(fields: &Fields, around: Surroundings<'_>) -> Option<FieldChange> {
    const KEY: &str = "workflow_id_history";
    if !fields.is_true("active") {
        return None;
    }
    let stored = fields.text(KEY).unwrap_or_default();
    let mut ids: Vec<String> = serde_json::from_str(stored).unwrap_or_default();
    let current = fields.text("workflow_id");
    if let Some(original) = fields.text("original_workflow_id") {
        ids.retain(|id| id != original);
        ids.insert(0, original.to_owned());
    }
    for orphan in orphans(around.trace, fields.text("first_created_at")) {
        if !ids.contains(&orphan) && current != Some(&orphan) {
            let before_current = ids.iter().position(|id| current == Some(id));
            ids.insert(before_current.unwrap_or(ids.len()), orphan);
        }
    }
    if let Some(current) = current
        && !ids.iter().any(|id| id == current)
    {
        ids.push(current.to_owned());
    }
    if ids.len() > around.archive_runs + 1 {
        ids.drain(1..ids.len() - around.archive_runs);
    }
    let healed = serde_json::json!(ids).to_string();
    (!ids.is_empty() && healed != stored).then_some((KEY, Some(healed.into())))
}

/// The ids of the trace's last lines that are of this workflow, in order.
fn orphans(trace: &str, first_created_at: Option<&str>) -> Vec<String> {
    const LAST_LINES: usize = 5_000;
    let time = |text: &str| DateTime::parse_from_rfc3339(text).ok();
    let Some(since) = first_created_at.and_then(time) else {
        return Vec::new();
    };
    let lines: Vec<&str> = trace.lines().rev().take(LAST_LINES).collect();
    let id = |line: &&str| {
        let record: Value = serde_json::from_str(line).ok()?;
        let is_recent = time(record.get("ts")?.as_str()?)? >= since;
        let id = record.get("workflow_id")?.as_str()?;
        (is_recent && !id.is_empty()).then(|| id.to_owned())
    };
    lines.iter().rev().filter_map(id).collect()
}

/// Why devt would not find a key.
pub(super) fn unknown(key: &str) -> Option<String> {
    if SCHEMA.property(key).is_some() {
        return None;
    }
    let keys: Vec<String> = SCHEMA.keys().map(str::to_owned).collect();
    let meant = match near(key, &keys) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", keys.join(", ")),
    };
    Some(format!("devt has no key `{key}`; {meant}"))
}

/// Why devt would not understand the value of a known key. Without the keys that cannot be
/// null it is not known which files are the workflow's; devt clears others itself.
pub(super) fn fault(key: &str, value: &Value) -> Option<String> {
    let pair = serde_json::Map::from_iter([(key.to_owned(), value.clone())]);
    let fault = SCHEMA.check("", &pair).faults.pop()?;
    let word = value.as_str().unwrap_or_default();
    Some(match near(word, &fault.schema.words()) {
        Some(near) => format!("`{key}` is \"{word}\"; did you mean `{near}`?"),
        None => fault.to_string(),
    })
}

/// Which date or id of an active workflow a new text would change: the sweeps and the age of
/// artifacts go by them. `update` has rules of its own.
pub(super) fn moved_anchor(before: &str, after: &str) -> Option<String> {
    const FIXED: [&str; 3] = ["created_at", "first_created_at", "original_workflow_id"];
    let (before, after) = (read(before), read(after));
    if !before.is_true("active") {
        return None;
    }
    let said =
        |fields: &Fields, key: &str| fields.get(key).filter(|value| !value.is_null()).cloned();
    let moved = FIXED.iter().find(|key| {
        let old = said(&before, key);
        old.is_some() && old != said(&after, key)
    });
    if let Some(key) = moved {
        let old = before.text(key).unwrap_or_default();
        return Some(format!(
            "`{key}` stays \"{old}\" while the workflow is active; end that first: `statewarden update active=false`"
        ));
    }
    let ids = |fields: &Fields| -> Vec<String> {
        let stored = fields.text("workflow_id_history").unwrap_or_default();
        serde_json::from_str(stored).unwrap_or_default()
    };
    let (old, new) = (ids(&before), ids(&after));
    let lost = old.into_iter().find(|id| !new.contains(id))?;
    Some(format!(
        "`workflow_id_history` only grows while the workflow is active, and `{lost}` is gone from it"
    ))
}

/// The word that a slip of the keyboard leads to.
fn near<'w>(word: &str, words: &'w [String]) -> Option<&'w String> {
    let edits = words
        .iter()
        .map(|other| (strsim::damerau_levenshtein(word, other), other));
    let (edits, nearest) = edits.min()?;
    (edits <= nearest.len() / 3).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: Option<&str>, pairs: &[(&str, &str)]) -> Updated {
        run_traced(text, pairs, "")
    }

    fn run_traced(text: Option<&str>, pairs: &[(&str, &str)], trace: &str) -> Updated {
        let around = Surroundings {
            now: DateTime::from_timestamp(1_768_055_422, 7_000_000).unwrap(),
            new_id: "new-id",
            trace,
            archive_runs: 3,
        };
        update(text, pairs, around).unwrap()
    }

    const NOW: &str = "\"2026-01-10T14:30:22.007Z\"";

    #[track_caller]
    fn check(text: Option<&str>, pairs: &[(&str, &str)], after: &str) {
        assert_eq!(run(text, pairs).text, after);
    }

    #[test]
    fn the_first_activation_names_the_workflow() {
        let started = format!(
            "active: true\nphase: plan\ntier: null\niteration: 0\ncreated_at: {NOW}\n\
             workflow_id: new-id\nfirst_created_at: {NOW}\noriginal_workflow_id: new-id\n\
             workflow_id_history: \"[\\\"new-id\\\"]\"\n"
        );
        check(None, &[("active", "true"), ("phase", "plan")], &started);
        check(
            Some(&started),
            &[("phase", "test")],
            &started.replace("phase: plan", "phase: test"),
        );
        check(None, &[("task", "x")], &format!("{DEFAULT}task: x\n"));
        let named = format!(
            "active: true\nworkflow_id: w\ncreated_at: {NOW}\nfirst_created_at: {NOW}\n\
                 original_workflow_id: w\nworkflow_id_history: \"[\\\"w\\\"]\"\n"
        );
        check(Some("active: true\nworkflow_id: w\n"), &[], &named);
    }

    #[test]
    fn a_new_type_rotates_the_id_and_keeps_the_first() {
        let text = "active: true\nworkflow_type: dev\ncreated_at: then\nworkflow_id: b\n\
                    first_created_at: first\noriginal_workflow_id: a\n";
        let rotated = text
            .replace(": then", &format!(": {NOW}"))
            .replace(": b", ": new-id")
            .replace(": dev", ": debug");
        let history = "workflow_id_history: \"[\\\"a\\\",\\\"new-id\\\"]\"\n";
        check(
            Some(text),
            &[("workflow_type", "debug")],
            &format!("{rotated}{history}"),
        );
        let inactive = text.replace("true", "false");
        let changed = inactive.replace(": dev", ": debug");
        check(Some(&inactive), &[("workflow_type", "debug")], &changed);
    }

    #[test]
    fn what_devt_would_not_understand_is_a_fault() {
        for (key, value, fault) in [
            (
                "active",
                "maybe",
                "`active` is \"maybe\", not true or false",
            ),
            ("active", "null", "`active` is null, not true or false"),
            (
                "phase",
                "implemnt",
                "`phase` is \"implemnt\"; did you mean `implement`?",
            ),
            ("phase", "bogus", "one of context_init,"),
            ("iteration", "x", "a whole number"),
            ("tier", "STANDRAD", "did you mean `STANDARD`?"),
            ("workflow_type", "bogus", "one of dev,"),
            (
                "first_created_at",
                "null",
                "`first_created_at` is null, not a time such as",
            ),
            ("created_at", "yesterday", "a time such as"),
            ("phse", "x", "devt has no key `phse`; did you mean `phase`?"),
            ("bogus", "1", "devt has no key `bogus`; it has phase, tier,"),
        ] {
            let faults = run(None, &[(key, value)]).faults;
            assert_eq!(faults.len(), 1, "{key}={value}: {faults:?}");
            assert!(faults[0].contains(fault), "{faults:?}");
        }
        let fine = [
            ("active", "false"),
            ("phase", "null"),
            ("tier", "SIMPLE"),
            ("iteration", "2"),
            ("workflow_id", "null"),
            ("stopped_at", "null"),
            ("stopped_phase", "bogus"),
            ("created_at", "2026-01-10T14:30:22.007Z"),
            ("mine", "2"),
        ];
        let fine = run(Some("mine: 1\n"), &fine);
        assert_eq!((fine.faults, fine.warnings), (Vec::new(), Vec::new()));
        let old = run(None, &[("complexity", "SIMPLE")]);
        assert_eq!((old.faults.len(), old.warnings.len()), (0, 1));
        let around = Surroundings {
            now: DateTime::UNIX_EPOCH,
            new_id: "id",
            trace: "",
            archive_runs: 5,
        };
        assert!(update(None, &[("a b", "x")], around).is_err());
    }

    /// The history before, the trace's ids with their time of day, and the history after.
    #[track_caller]
    fn check_history(before: &[&str], trace: &[(&str, &str)], after: &[&str]) {
        let stored = serde_json::json!(before).to_string().replace('"', "\\\"");
        let text = format!(
            "active: true\ncreated_at: x\nworkflow_id: now\noriginal_workflow_id: first\n\
             first_created_at: \"2026-01-10T12:00:00Z\"\nworkflow_id_history: \"{stored}\"\n"
        );
        let line = |(time, id): &(&str, &str)| {
            format!("{{\"ts\":\"2026-01-10T{time}Z\",\"workflow_id\":\"{id}\"}}\n")
        };
        let trace: String = trace.iter().map(line).collect();
        let updated = run_traced(Some(&text), &[("phase", "plan")], &(trace + "torn {"));
        let fields = read(&updated.text);
        let ids: Vec<String> =
            serde_json::from_str(fields.text("workflow_id_history").unwrap()).unwrap();
        assert_eq!(ids, after);
    }

    #[test]
    fn the_history_heals_itself() {
        check_history(&[], &[], &["first", "now"]);
        check_history(&["a", "now"], &[], &["first", "a", "now"]);
        check_history(&["a", "first", "now"], &[], &["first", "a", "now"]);
        let trace = [
            ("11:59:59", "before"),
            ("12:00:00", "b"),
            ("13:00:00", "now"),
            ("13:00:01", "b"),
        ];
        check_history(&["first", "now"], &trace, &["first", "b", "now"]);
        check_history(&["first"], &trace, &["first", "b", "now"]);
        // The original one and the last three.
        check_history(
            &["first", "a", "b", "c", "now"],
            &[],
            &["first", "b", "c", "now"],
        );
        check_history(
            &["first", "a", "c", "d", "now"],
            &trace,
            &["first", "d", "b", "now"],
        );
    }
}
