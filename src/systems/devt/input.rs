//! The files beside the sidecars that devt's programs parse: they have to be JSON or YAML.

use serde_json::Value;

use crate::contract::table::Name;
use crate::formats::{brief, json, yaml};

/// What devt's `next` needs of a pause.
const HANDOFF: [&str; 3] = ["task", "phase", "paused_at"];

/// Whether the contract names an entry as a file that a program parses.
pub(super) fn is_parsed(entry: &str) -> bool {
    let is_data = entry.ends_with(".json") || entry.ends_with(".yaml");
    let mut names = super::ROWS.iter().map(|row| &row.name);
    is_data
        && entry != "workflow.yaml"
        && names.any(|name| matches!(name, Name::Exact(name) if *name == entry))
}

/// Notes on what is missing.
///
/// # Errors
/// The text cannot be parsed.
pub(super) fn check(entry: &str, text: &str) -> Result<Vec<String>, String> {
    if entry.ends_with(".yaml") {
        return match yaml::parse(text) {
            Ok(_) => Ok(Vec::new()),
            Err(why) => Err(format!("`{entry}` has to be YAML: {}", brief(&why))),
        };
    }
    let value = json::parse(text).map_err(|why| format!("`{entry}` has to be JSON: {why}"))?;
    let is_missing =
        |key: &&&str| entry == "handoff.json" && value.get(**key).is_none_or(Value::is_null);
    let missing = HANDOFF.iter().filter(is_missing);
    Ok(missing
        .map(|key| format!("`{entry}` has no `{key}`, without which the work cannot go on"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(entry: &str, text: &str, expected: Result<usize, &str>) {
        assert!(is_parsed(entry), "{entry}");
        match (check(entry, text), expected) {
            (Ok(notes), Ok(n)) => assert_eq!(notes.len(), n, "{notes:?}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, expected) => panic!("{entry}: {found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn what_a_program_parses_has_to_parse() {
        check_text("handoff.json", "{not json", Err("has to be JSON"));
        check_text("handoff.json", "[]", Ok(3));
        check_text("handoff.json", "{\"task\": \"a\"}", Ok(2));
        check_text("arch-baseline.json", "", Err("has to be JSON"));
        check_text("preflight-brief.json", "{}", Ok(0));
        check_text("lessons.yaml", "a: [", Err("has to be YAML"));
        check_text("lessons.yaml", "- a: b\n", Ok(0));
        assert!(!is_parsed("scratchpad.md") && !is_parsed("workflow.yaml"));
    }
}
