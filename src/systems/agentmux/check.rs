//! What is wrong with the files of a session that AgentMux reads again: `state.json`,
//! `runtime_state.json` and `tool_event_state.json`. Nothing is, for all that it writes itself;
//! where its documents and its code differ, both forms are taken.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::state;
use crate::formats::brief;
use crate::formats::schema::{Fault, Schema};

static STATE: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("state.schema.json")));

static RUNTIME: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("runtime-state.schema.json")));

static APPLIED: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("tool-event-state.schema.json")));

/// The problems of a session whose files are given by their names. Those of `state.json` come
/// first and have no name of a file.
pub(super) fn problems(files: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = match files("state.json") {
        None => vec!["there is no `state.json`".to_owned()],
        Some(text) => of_state(&text),
    };
    let runtime = object(files, "runtime_state.json", &mut problems);
    if let Some(runtime) = runtime {
        problems.extend(faults(&RUNTIME, &runtime, "runtime_state.json"));
    }
    let applied = object(files, CURSOR, &mut problems);
    if let Some(applied) = applied {
        problems.extend(faults(&APPLIED, &applied, CURSOR));
        let log = files("tool_events.jsonl").unwrap_or_default();
        problems.extend(of_cursor(&applied, log.as_bytes()));
    }
    problems
}

const CURSOR: &str = "tool_event_state.json";

/// A file that need not be there, as JSON.
fn object(
    files: &dyn Fn(&str) -> Option<String>,
    name: &str,
    problems: &mut Vec<String>,
) -> Option<Map<String, Value>> {
    let parsed = state::parse(&files(name)?);
    parsed
        .inspect_err(|why| problems.push(format!("`{name}`: {why}")))
        .ok()
}

fn faults<'s>(
    schema: &'s Schema,
    object: &Map<String, Value>,
    name: &'s str,
) -> impl Iterator<Item = String> + 's {
    let faults = schema.check("", object).faults.into_iter();
    faults.map(move |fault: Fault<'_>| fault.in_file(name))
}

pub(super) fn of_state(text: &str) -> Vec<String> {
    let state = match state::parse(text) {
        Ok(state) => state,
        Err(why) => return vec![why],
    };
    let faults = STATE.check("", &state).faults;
    let mut problems: Vec<String> = faults.iter().map(ToString::to_string).collect();
    problems.extend(of_groups(&state));
    problems.extend(of_sub_plans(&state));
    let text = |key| state.get(key).and_then(Value::as_str);
    if let Some(dir) = text("feature_dir").filter(|dir| !dir.starts_with('/')) {
        let dir = brief(dir);
        problems.push(format!("`feature_dir` is \"{dir}\", not an absolute path"));
    }
    if let Some(issue) = text("issue_number").filter(|issue| issue.parse::<u64>().is_err()) {
        let issue = brief(issue);
        problems.push(format!(
            "`issue_number` is \"{issue}\", not the number of an issue"
        ));
    }
    problems
}

fn number(state: &Map<String, Value>, key: &str) -> Option<u64> {
    state.get(key)?.as_u64()
}

fn list<'s>(state: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    let list = state.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn of_groups(state: &Map<String, Value>) -> Option<String> {
    let index = number(state, "implementation_group_index")?;
    let total = number(state, "implementation_group_total")?;
    let mode = state.get("implementation_group_mode");
    let is_active = mode.is_some_and(Value::is_string)
        || !list(state, "implementation_active_plan_ids").is_empty();
    if index > total {
        Some(format!("group {index} of {total} is active"))
    } else if index == 0 && is_active {
        Some(
            "a group is active, and `implementation_group_index` is 0; groups are numbered from 1"
                .to_owned(),
        )
    } else {
        None
    }
}

/// Sub-plans are numbered from 1.
fn of_sub_plans(state: &Map<String, Value>) -> Option<String> {
    let count = number(state, "subplan_count")?;
    let completed = list(state, "completed_subplans");
    if completed.len() as u64 > count {
        let n_completed = completed.len();
        return Some(format!("{n_completed} sub-plans of {count} are completed"));
    }
    let mut ids = completed.iter();
    let unknown = ids.find(|id| match id {
        Value::Number(number) => number.as_u64().is_none_or(|n| !(1..=count).contains(&n)),
        Value::String(text) => text.parse().is_ok_and(|n: u64| !(1..=count).contains(&n)),
        // What is no id has been named.
        _ => false,
    })?;
    Some(format!(
        "sub-plan {unknown} is completed, and there are {count}, numbered from 1"
    ))
}

/// Whether the offset is behind a line of the log. What is not, makes AgentMux apply events
/// again, or lose one.
fn of_cursor(applied: &Map<String, Value>, log: &[u8]) -> Option<String> {
    let keys = ["applied_cursor", "applied_offset"];
    let Some(key) = keys.into_iter().find(|key| applied.contains_key(*key)) else {
        return Some(format!("`applied_offset` in `{CURSOR}` is missing"));
    };
    let offset = applied[key].as_u64()?;
    let at = usize::try_from(offset).ok();
    match at.and_then(|at| log.get(..at)) {
        None => Some(format!(
            "`{key}` in `{CURSOR}` is {offset}, and `tool_events.jsonl` has {} bytes",
            log.len()
        )),
        Some(before) if before.last().is_some_and(|byte| *byte != b'\n') => Some(format!(
            "`{key}` in `{CURSOR}` is {offset}, in the middle of a line of `tool_events.jsonl`"
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const REVIEWING: &str =
        include_str!("../../../tests/fixtures/agentmux/ok-06-done-3-reviewing.state.json");

    /// `expected` is a part of the only problem; empty for none.
    #[track_caller]
    fn check(name: &str, text: &str, expected: &str) {
        let files = |wanted: &str| match wanted {
            _ if wanted == name => Some(text.to_owned()),
            "state.json" => Some(REVIEWING.to_owned()),
            "tool_events.jsonl" => Some("{\"tool\":\"a\"}\n{\"tool\":\"b\"}\n".to_owned()),
            _ => None,
        };
        let found = problems(&files);
        match found.as_slice() {
            [] => assert_eq!(expected, "", "{text} passed"),
            [problem] => assert!(
                !expected.is_empty() && problem.contains(expected),
                "{problem}"
            ),
            several => panic!("{text}: {several:?}"),
        }
    }

    #[test]
    fn the_runtime_state_has_panes() {
        let check = |text: &str, expected: &str| check("runtime_state.json", text, expected);
        check(r#"{"tm"#, "`runtime_state.json`: not valid JSON");
        check("[]", "an array");
        check(
            r#"{"tmux_session": 7}"#,
            "`tmux_session` in `runtime_state.json` is a number",
        );
        check(
            r#"{"panes": ["%1"]}"#,
            "`panes` in `runtime_state.json` is an array",
        );
        check(
            r#"{"panes": {"coder": 1}}"#,
            "`panes.coder` in `runtime_state.json`",
        );
        check(r#"{"process_pids": {"%1": "12"}}"#, "`process_pids.%1`");
        check(r#"{"tmux_session": "a", "panes": {"architect": "%1"}}"#, "");
        check(
            r#"{"version": 2, "primary": {"coder": null, "_control": "%0"}, "visible": ["%0"],
                "parallel": {"coder": {"1": "%2"}}, "process_pids": {"%0": 12}}"#,
            "",
        );
    }

    #[test]
    fn the_cursor_is_behind_a_line() {
        let check = |text: &str, expected: &str| check(CURSOR, text, expected);
        for key in ["applied_offset", "applied_cursor"] {
            let with = |value: &str| format!("{{\"{key}\": {value}}}");
            for fine in ["0", "13", "26"] {
                check(&with(fine), "");
            }
            check(&with("-5"), "is -5, not a whole number from 0");
            check(&with("\"1024\""), "is \"1024\", not a whole number from 0");
            check(&with("null"), "is null");
            check(&with("27"), "is 27, and `tool_events.jsonl` has 26 bytes");
            check(&with("5"), "is 5, in the middle of a line");
        }
        check(
            "{}",
            "`applied_offset` in `tool_event_state.json` is missing",
        );
        check("{\"applied", "not valid JSON");
    }

    #[test]
    fn the_state_agrees_with_itself() {
        let state: Value = serde_json::from_str(REVIEWING).unwrap();
        let with = |changes: Value| {
            let mut state = state.clone();
            let changes = changes.as_object().unwrap().clone();
            state.as_object_mut().unwrap().extend(changes);
            state.to_string()
        };
        let check = |changes: Value, expected: &str| check("state.json", &with(changes), expected);
        check(
            json!({"implementation_group_index": 0, "implementation_group_mode": "serial"}),
            "numbered from 1",
        );
        check(json!({"implementation_group_index": 0}), "");
        check(
            json!({"completed_subplans": [4]}),
            "sub-plan 4 is completed",
        );
        check(
            json!({"completed_subplans": ["0"]}),
            "sub-plan \"0\" is completed",
        );
        check(json!({"completed_subplans": ["1", 3]}), "");
        check(
            json!({"completed_subplans": [true]}),
            "an id: a number or a string",
        );
        check(
            json!({"implementation_active_plan_ids": [1]}),
            "implementation_active_plan_ids[0]",
        );
        check(json!({"feature_dir": "sessions/x"}), "not an absolute path");
        check(
            json!({"session_name": ""}),
            "`session_name` is \"\", not a name",
        );
        check(
            json!({"issue_number": "seven"}),
            "not the number of an issue",
        );
        check(json!({"issue_number": true}), "`issue_number` is a boolean");
    }
}
