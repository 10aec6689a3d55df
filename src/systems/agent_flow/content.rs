//! Whether a text may be written as one of the state files.

use std::sync::LazyLock;

use super::state::{FileKind, GROUP};
use crate::formats::front_matter;
use crate::formats::schema::{Fault, Schema};
use crate::formats::yaml::{self, Value};

/// The documents of Agent Flow name more phases of a deep dive than its scripts
/// write; its readers only look for `complete`.
static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("front-matter.schema.json")));

/// The content rule: the front matter parses, values have their types, closed sets
/// hold known ones, and `iteration` is at most `max_iterations`. Of a run's file the keys
/// without which it is no run are there; what else is absent is fine.
///
/// # Errors
/// What is wrong and what to write instead, as the rest of a sentence about the file.
pub fn check_content(text: &str, file: FileKind) -> Result<(), String> {
    let document = front_matter::split(text)?;
    // The blank line replaces the fence, so that line numbers are the file's.
    let mut value = yaml::parse(&format!("\n{}", document.front)).map_err(|error| {
        format!("its front matter is not YAML ({error}); write one `key: value` a line and put strings in double quotes")
    })?;
    if !value.is_mapping() {
        return Err("its front matter is empty; write one `key: value` a line".to_owned());
    }
    // Its readers take a tier in any case.
    if let Some(Value::String(tier)) = value.get_mut("task_complexity") {
        tier.make_ascii_lowercase();
    }
    // The group makes a run one of a team, whichever of the two files it is kept in.
    let has_group = yaml::get(&value, &["parallel_groups", GROUP]).is_some();
    let defs: &[&str] = match file {
        FileKind::DeepDive => &["deep-dive"],
        FileKind::Single if !has_group => &["single", "run"],
        FileKind::Single | FileKind::Team => &["team", "run"],
    };
    for def in defs {
        SCHEMA
            .check(def, &value)
            .into_result()
            .map_err(|fault| sentence(&fault))?;
    }
    if file == FileKind::DeepDive {
        return agents_completed(&value);
    }
    if value
        .get("gates")
        .and_then(Value::as_mapping)
        .is_some_and(|gates| gates.is_empty())
    {
        return Err("`gates` is empty; a run needs those of its phases".to_owned());
    }
    let number = |key| value.get(key).and_then(Value::as_u64);
    match (number("iteration"), number("max_iterations")) {
        (Some(iteration), Some(max)) if iteration > max => Err(format!(
            "`iteration` is {iteration} and `max_iterations` {max}; write at most {max}, or \
             close the run with `active: false` and `current_phase: \"complete\"`"
        )),
        _ => Ok(()),
    }
}

/// Of the agents that explore side by side no more end than began.
fn agents_completed(value: &Value) -> Result<(), String> {
    let count = |key| yaml::get(value, &["phases", "parallel_exploration", key])?.as_u64();
    match (count("agents_completed"), count("agents_spawned")) {
        (Some(completed), Some(spawned)) if completed > spawned => Err(format!(
            "`agents_completed` is {completed} and `agents_spawned` {spawned}; write at most {spawned}"
        )),
        _ => Ok(()),
    }
}

fn sentence(fault: &Fault<'_>) -> String {
    match &fault.found {
        Some(_) => fault.to_string(),
        None if fault.path.ends_with(".status") => {
            format!("{fault}; write one such as `status: \"pending\"`")
        }
        None => format!("{fault}; a run needs `active`, `current_phase`, `iteration`, `gates`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Phase;
    use super::*;
    use crate::systems::workflow::GateStatus;

    const SINGLE: &str =
        include_str!("../../../tests/fixtures/agent-flow/01-orchestration-init-default.md");
    const TEAM: &str = include_str!("../../../tests/fixtures/agent-flow/30-team-init-team-mode.md");
    const DEEP: &str = include_str!("../../../tests/fixtures/agent-flow/20-deep-dive-init-full.md");

    #[test]
    fn the_schema_has_the_words_of_the_types() {
        assert_eq!(SCHEMA.def("status").unwrap().words(), GateStatus::WORDS);
        for (def, file) in [("single", FileKind::Single), ("team", FileKind::Team)] {
            let is_fine = |phase: &Phase| {
                let value = serde_json::json!({ "current_phase": phase.as_str() });
                SCHEMA.check(def, &value).faults.is_empty()
            };
            let fine: Vec<Phase> = Phase::ALL.into_iter().filter(is_fine).collect();
            let of_group = |phase: &Phase| *phase == Phase::ReviewVerification;
            let known = Phase::ALL.into_iter();
            let known = known.filter(|phase| file == FileKind::Team || !of_group(phase));
            assert!(known.eq(fine), "{def}");
        }
    }

    #[test]
    fn real_files_pass() {
        for (file, text) in [
            (FileKind::Single, SINGLE),
            (
                FileKind::Single,
                include_str!(
                    "../../../tests/fixtures/agent-flow/06-orchestration-review-passed.md"
                ),
            ),
            (
                FileKind::Single,
                include_str!(
                    "../../../tests/fixtures/agent-flow/10-orchestration-init-escaping-max3.md"
                ),
            ),
            (
                FileKind::Single,
                include_str!("../../../tests/fixtures/agent-flow/40-seed-sample-orchestration.md"),
            ),
            (FileKind::Team, TEAM),
            (
                FileKind::Team,
                include_str!("../../../tests/fixtures/agent-flow/41-seed-sample-team.md"),
            ),
            (FileKind::DeepDive, DEEP),
            (
                FileKind::DeepDive,
                include_str!("../../../tests/fixtures/agent-flow/23-deep-dive-complete.md"),
            ),
            (
                FileKind::DeepDive,
                include_str!("../../../tests/fixtures/agent-flow/42-seed-sample-deep-dive.md"),
            ),
        ] {
            assert_eq!(check_content(text, file), Ok(()), "{file:?}: {text}");
        }
    }

    /// One replacement in a real file, and a part of the answer; empty for none.
    #[track_caller]
    fn check(file: FileKind, (from, to): (&str, &str), expected: &str) {
        let text = match file {
            FileKind::Single => SINGLE,
            FileKind::Team => TEAM,
            FileKind::DeepDive => DEEP,
        };
        assert!(text.contains(from), "no {from:?}");
        match check_content(&text.replacen(from, to, 1), file) {
            Ok(()) => assert_eq!(expected, "", "{to:?} passed"),
            Err(why) => assert!(
                !expected.is_empty() && why.contains(expected),
                "{to:?}: {why}"
            ),
        }
    }

    #[test]
    fn a_wrong_phase_or_status_is_named_with_the_right_ones() {
        let single = |from, to, expected| check(FileKind::Single, (from, to), expected);
        single(
            "\"exploration\"",
            "\"zzz\"",
            "`current_phase` is \"zzz\", not one of exploration, planning",
        );
        single(
            "\"exploration\"",
            "\"review_verification\"",
            "`current_phase`",
        );
        single("\"exploration\"", "'review'", "");
        single("\"exploration\"", "", "`current_phase` is null, not one of");
        single("current_phase", "phase", "`current_phase` is missing");
        single(
            "\"pending\"",
            "\"banana\"",
            "`gates.planning.status` is \"banana\", not one of pending",
        );
        single("\"pending\"", "\"skipped\"", "");
        single(
            "    status: \"pending\"",
            "    status: [passed]",
            "`gates.planning.status`",
        );
        single(
            "  planning:\n    status: \"pending\"",
            "  planning: \"passed\"",
            "`gates.planning` is \"passed\", not a block such as",
        );
    }

    #[test]
    fn numbers_switches_and_front_matter_are_read_strictly() {
        let single = |from, to, expected| check(FileKind::Single, (from, to), expected);
        single("iteration: 1\n", "iteration: 11\n", "write at most 10");
        single("iteration: 1\n", "iteration: 10\n", "");
        single(
            "iteration: 1\n",
            "iteration: one\n",
            "`iteration` is \"one\", not a whole number",
        );
        single("iteration: 1\n", "iteration: -1\n", "`iteration`");
        single("iteration: 1\n", "iteration: true\n", "`iteration`");
        single("max_iterations: 10", "max_iterations: 0", "write at most 0");
        single(
            "active: true",
            "active: yes",
            "`active` is \"yes\", not true or false without quotes",
        );
        single("active: true", "active: \"true\"", "without quotes");
        single(
            "active: true",
            "mine: true",
            "`active` is missing; a run needs",
        );
        single("\ngates:", "\nmine:", "`gates` is missing");
        single(
            "\ngates:",
            "\ngates: []\nmine:",
            "`gates` is an array, not a block",
        );
        single("\niteration: 1\n", "\n", "`iteration` is missing");
        single("iteration: 1\n", "iteration: \"1\"\n", "without quotes");
        single("\nmax_iterations: 10\n", "\n", "");
        single(
            "\ntask: ",
            "\ntask: []\nmine: ",
            "`task` is an array, not a text",
        );
        single("active: true", "active: [", "not YAML");
        single("active: true", "active: \"x\": y", "at line 2");
        single("\"unclassified\"", "\"Complex\"", "");
        single("\"unclassified\"", "\"huge\"", "`task_complexity`");
        assert!(check_content("---\n---\n", FileKind::Single).is_err());
        assert!(check_content("", FileKind::Single).is_err());
        single("---\n", "---\r\n", "CRLF");
        single("---\n", "\u{feff}---\n", "byte order mark");
        single("---\n", "# Title\n---\n", "first line");
        single("---\n\n## Orch", "\n## Orch", "not YAML");
        single(
            "  scope: \"\"",
            "  scope: \"half\"",
            "`deep_dive.scope` is \"half\", not one of full, focused, unknown",
        );
        single("active: true", "active: true\nmode: \"mine\"", "");
        single(
            "report_requested: false",
            "report_requested: maybe",
            "`report_requested`",
        );
    }

    #[test]
    fn fields_have_their_types() {
        let single =
            |from: &str, to: &str, expected: &str| check(FileKind::Single, (from, to), expected);
        let (dive, team) = (FileKind::DeepDive, FileKind::Team);
        single(
            "  available: false",
            "  available: maybe",
            "`deep_dive.available` is \"maybe\", not true or false",
        );
        single(
            "  using: false",
            "  using: 1",
            "`deep_dive.using` is a number",
        );
        single(
            "  generated: \"\"",
            "  generated: \"soon\"",
            "`deep_dive.generated` is \"soon\", not a time",
        );
        let gate = "  planning:\n    status: \"pending\"\n";
        for (key, value, expected) in [
            (
                "agent",
                "[Riko]",
                "`gates.planning.agent` is an array, not a text",
            ),
            (
                "message",
                "{a: 1}",
                "`gates.planning.message` is an object, not a text",
            ),
            ("agent", "\"Senku\"", ""),
        ] {
            single(gate, &format!("{gate}    {key}: {value}\n"), expected);
        }
        let result = "      result: \"\"\n";
        check(
            team,
            (result, "      result: [APPROVED]\n"),
            "review.result` is an array",
        );
        check(team, (result, "      result: \"tests fail\"\n"), "");
        let group = "parallel_groups:\n";
        check(
            team,
            (
                group,
                "parallel_groups:\n  mine:\n    status: \"pending\"\n",
            ),
            "`parallel_groups.mine` is an object, not the only group",
        );
        let generated = DEEP
            .lines()
            .find(|line| line.starts_with("generated: "))
            .unwrap();
        check(
            dive,
            (generated, "generated: \"yesterday\""),
            "`generated` is \"yesterday\", not a time",
        );
        check(
            dive,
            ("focus_path: null", "focus_path: [src]"),
            "`focus_path` is an array",
        );
        check(dive, ("focus_path: null", "focus_path: src/auth"), "");
        check(
            dive,
            ("agents_spawned: 0", "agents_spawned: many"),
            "agents_spawned` is \"many\"",
        );
        check(
            dive,
            ("agents_completed: 0", "agents_completed: 6"),
            "`agents_completed` is 6 and `agents_spawned` 0",
        );
    }

    #[test]
    fn times_are_times() {
        let at = |text: &str| {
            let line = text.lines().find(|line| line.starts_with("started_at: "));
            line.unwrap().to_owned()
        };
        let single = |to: &str, expected| check(FileKind::Single, (&at(SINGLE), to), expected);
        let what = "`started_at` is \"yesterday\", not a time such as";
        single("started_at: \"yesterday\"", what);
        single("started_at: 1768055422", "`started_at` is a number");
        for fine in [
            "2026-01-10T14:30:22Z",
            "2026-01-10T14:30:22.5+01:00",
            "2026-01-10T14:30",
            "",
        ] {
            single(&format!("started_at: \"{fine}\""), "");
        }
        single("started_at: 2026-01-10T14:30:22Z", "");
        single("", "");
        let gate = "  planning:\n    status: \"pending\"\n";
        let late = format!("{gate}    timestamp: \"late\"\n");
        check(
            FileKind::Single,
            (gate, &late),
            "`gates.planning.timestamp` is \"late\"",
        );
        for (key, indent) in [("started_at", 4), ("completed_at", 4), ("timestamp", 6)] {
            let empty = format!("\n{:indent$}{key}: \"\"", "");
            let late = empty.replace("\"\"", "\"late\"");
            check(
                FileKind::Team,
                (&empty, &late),
                &format!("{key}` is \"late\""),
            );
        }
    }

    #[test]
    fn a_team_has_modes_and_a_group() {
        let team = |from, to, expected| check(FileKind::Team, (from, to), expected);
        team(
            "team_available: true",
            "team_available: maybe",
            "`team_available`",
        );
        team("\"exploration\"", "\"review_verification\"", "");
        team(
            "mode: \"team\"",
            "mode: \"solo\"",
            "not one of team, sequential",
        );
        team(
            "      status: \"pending\"",
            "      status: \"done\"",
            "parallel_groups.review_verification.review.status",
        );
        team(
            "    status: \"pending\"\n    started",
            "    status: \"x\"\n    started",
            "review_verification.status",
        );
        // A team's run is one in the other file as well.
        assert_eq!(
            check_content(
                &TEAM.replacen("\"exploration\"", "\"review_verification\"", 1),
                FileKind::Single
            ),
            Ok(())
        );
    }

    #[test]
    fn a_deep_dive_has_phases_of_its_own() {
        let deep = |from, to, expected| check(FileKind::DeepDive, (from, to), expected);
        deep("scope: full", "scope: half", "not one of full, focused");
        deep(
            "agent_count: 5",
            "agent_count: few",
            "`agent_count` is \"few\"",
        );
        deep("\"initializing\"", "\"exploring\"", "");
        deep("\"initializing\"", "\"done\"", "`phase` is \"done\"");
        deep(
            "    status: \"pending\"",
            "    status: \"passed\"",
            "phases.parallel_exploration.status",
        );
    }
}
