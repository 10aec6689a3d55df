//! Whether a text may be written as one of the state files.

use super::state::{FileKind, GROUP, Phase};
use crate::base::clock;
use crate::formats::yaml::{self, Value};
use crate::formats::{brief, front_matter};
use crate::systems::workflow::GateStatus;

const TIERS: &[&str] = &[
    "unclassified",
    "trivial",
    "exploratory",
    "implementation",
    "complex",
    "research",
];
/// Without these a file is no run to its readers.
const NEEDED: [&str; 4] = ["active", "current_phase", "iteration", "gates"];
// The documents of Agent Flow name more phases of a deep dive than its scripts
// write; its readers only look for `complete`.
const DEEP_DIVE_PHASES: &[&str] = &[
    "initializing",
    "exploring",
    "synthesizing",
    "synthesis",
    "compiling",
    "compilation",
    "complete",
];

/// The content rule: the front matter parses, values have their types, closed sets
/// hold known ones, and `iteration` is at most `max_iterations`. Of a run's file the keys
/// without which it is no run are there; what else is absent is fine.
///
/// # Errors
/// What is wrong and what to write instead, as the rest of a sentence about the file.
pub fn check_content(text: &str, file: FileKind) -> Result<(), String> {
    let document = front_matter::split(text).map_err(|fault| fault.to_string())?;
    // The blank line stands for the fence, so that line numbers are the file's.
    let value = yaml::parse(&format!("\n{}", document.front)).map_err(|error| {
        format!("its front matter is not YAML ({error}); write one `key: value` a line and put strings in double quotes")
    })?;
    if !value.is_mapping() {
        return Err("its front matter is empty; write one `key: value` a line".to_owned());
    }
    match file {
        FileKind::Single | FileKind::Team => check_run(&value, file),
        FileKind::DeepDive => check_deep_dive(&value),
    }
}

fn check_run(value: &Value, file: FileKind) -> Result<(), String> {
    // The group makes a run one of a team, whichever of the two files it is kept in.
    let file = match yaml::get(value, &["parallel_groups", GROUP]) {
        Some(_) => FileKind::Team,
        None => file,
    };
    let phases: Vec<_> = Phase::allowed(file).map(Phase::as_str).collect();
    if let Some(active) = value.get("active").filter(|active| !active.is_bool()) {
        let active = yaml::text(active, &[]).unwrap_or_default();
        let active = brief(&yaml::one_line(&active));
        return Err(format!(
            "`active` is `{active}`; write true or false, without quotes"
        ));
    }
    if matches!(
        value.get("task"),
        Some(Value::Mapping(_) | Value::Sequence(_))
    ) {
        return Err("`task` is no text; write it on one line, in double quotes".to_owned());
    }
    timestamp(value, &["started_at"])?;
    one_of(value, &["current_phase"], &phases)?;
    one_of(value, &["report_requested"], &["true", "false"])?;
    one_of(
        value,
        &["deep_dive", "scope"],
        &["full", "focused", "unknown", ""],
    )?;
    if let Some(tier) = yaml::text(value, &["task_complexity"])
        && !TIERS.contains(&tier.to_ascii_lowercase().as_str())
    {
        return Err(unexpected("task_complexity", &tier, TIERS));
    }
    check_iterations(value)?;
    check_statuses(value, "gates", &GateStatus::WORDS)?;
    if file == FileKind::Team {
        one_of(value, &["mode"], &["team", "sequential"])?;
        one_of(value, &["team_available"], &["true", "false"])?;
        check_statuses(value, "parallel_groups", &GateStatus::WORDS)?;
        for member in ["review", "verification"] {
            one_of(
                value,
                &["parallel_groups", GROUP, member, "status"],
                &GateStatus::WORDS,
            )?;
            timestamp(value, &["parallel_groups", GROUP, member, "timestamp"])?;
        }
    }
    let missing = NEEDED.iter().find(|key| match value.get(**key) {
        None | Some(Value::Null) => true,
        Some(_) => false,
    });
    missing.map_or(Ok(()), |key| {
        let needed = NEEDED.join("`, `");
        Err(format!("`{key}` is missing; a run needs `{needed}`"))
    })
}

fn check_deep_dive(value: &Value) -> Result<(), String> {
    one_of(value, &["scope"], &["full", "focused"])?;
    one_of(value, &["phase"], DEEP_DIVE_PHASES)?;
    number(value, "agent_count")?;
    check_statuses(value, "phases", &["pending", "in_progress", "complete"])
}

fn check_iterations(value: &Value) -> Result<(), String> {
    let (iteration, max) = (
        number(value, "iteration")?,
        number(value, "max_iterations")?,
    );
    match (iteration, max) {
        (Some(iteration), Some(max)) if iteration > max => Err(format!(
            "`iteration` is {iteration} and `max_iterations` {max}; write at most {max}, or close the run with \
             `active: false` and `current_phase: \"complete\"`"
        )),
        _ => Ok(()),
    }
}

/// Every entry of the block at `key` is itself a block with a known `status`.
fn check_statuses(value: &Value, key: &str, allowed: &[&str]) -> Result<(), String> {
    let entries = match value.get(key) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Mapping(entries)) => entries,
        Some(_) => {
            return Err(format!(
                "`{key}` is not a block; write each entry on a line of its own below it"
            ));
        }
    };
    for name in entries.keys().filter_map(Value::as_str) {
        if !matches!(entries.get(name), Some(Value::Mapping(_) | Value::Null)) {
            return Err(format!(
                "`{key}.{name}` is not a block; write `status: \"{}\"` below it",
                allowed[0]
            ));
        }
        one_of(value, &[key, name, "status"], allowed)?;
        for time in ["timestamp", "started_at", "completed_at"] {
            timestamp(value, &[key, name, time])?;
        }
    }
    Ok(())
}

fn one_of(value: &Value, path: &[&str], allowed: &[&str]) -> Result<(), String> {
    let Some(found) = yaml::get(value, path) else {
        return Ok(());
    };
    let is_plain = !matches!(
        found,
        Value::Null | Value::Mapping(_) | Value::Sequence(_) | Value::Tagged(_)
    );
    let text = yaml::text(value, path).unwrap_or_default();
    if is_plain && allowed.contains(&text.as_str()) {
        return Ok(());
    }
    Err(unexpected(&path.join("."), &text, allowed))
}

fn number(value: &Value, key: &str) -> Result<Option<u64>, String> {
    let Some(found) = value.get(key) else {
        return Ok(None);
    };
    found.as_u64().map(Some).ok_or_else(|| {
        let text = yaml::text(value, &[key]).unwrap_or_default();
        let text = brief(&yaml::one_line(&text));
        format!("`{key}` is `{text}`; write a whole number, without quotes")
    })
}

/// A time that is still to come is an empty text, or absent.
fn timestamp(value: &Value, path: &[&str]) -> Result<(), String> {
    let text = yaml::text(value, path).unwrap_or_default();
    match yaml::get(value, path) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(text)) if text.is_empty() || clock::parse(text).is_some() => Ok(()),
        Some(_) => Err(format!(
            "`{}` is `{}`; write a time such as \"2026-01-10T14:30:22Z\"",
            path.join("."),
            brief(&yaml::one_line(&text))
        )),
    }
}

fn unexpected(path: &str, found: &str, allowed: &[&str]) -> String {
    let allowed: Vec<_> = allowed
        .iter()
        .filter(|word| !word.is_empty())
        .copied()
        .collect();
    format!(
        "`{path}` is `{}`; write one of `{}`",
        brief(&yaml::one_line(found)),
        allowed.join("`, `")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINGLE: &str =
        include_str!("../../../tests/fixtures/agent-flow/01-orchestration-init-default.md");
    const TEAM: &str = include_str!("../../../tests/fixtures/agent-flow/30-team-init-team-mode.md");
    const DEEP: &str = include_str!("../../../tests/fixtures/agent-flow/20-deep-dive-init-full.md");

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
            "`current_phase` is `zzz`; write one of `exploration`, `planning`",
        );
        single(
            "\"exploration\"",
            "\"review_verification\"",
            "`current_phase`",
        );
        single("\"exploration\"", "'review'", "");
        single("\"exploration\"", "", "`current_phase` is ``");
        single("current_phase", "phase", "`current_phase` is missing");
        single(
            "\"pending\"",
            "\"banana\"",
            "`gates.planning.status` is `banana`; write one of `pending`",
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
            "`gates.planning` is not a block",
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
            "`iteration` is `one`; write a whole number",
        );
        single("iteration: 1\n", "iteration: -1\n", "`iteration`");
        single("iteration: 1\n", "iteration: true\n", "`iteration`");
        single("max_iterations: 10", "max_iterations: 0", "write at most 0");
        single(
            "active: true",
            "active: yes",
            "`active` is `yes`; write true or false, without quotes",
        );
        single("active: true", "active: \"true\"", "without quotes");
        single(
            "active: true",
            "mine: true",
            "`active` is missing; a run needs",
        );
        single("\ngates:", "\nmine:", "`gates` is missing");
        single("\ngates:", "\ngates: []\nmine:", "`gates` is not a block");
        single("\niteration: 1\n", "\n", "`iteration` is missing");
        single("iteration: 1\n", "iteration: \"1\"\n", "without quotes");
        single("\nmax_iterations: 10\n", "\n", "");
        single("\ntask: ", "\ntask: []\nmine: ", "`task` is no text");
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
            "`deep_dive.scope` is `half`; write one of `full`, `focused`, `unknown`",
        );
        single("active: true", "active: true\nmode: \"mine\"", "");
        single(
            "report_requested: false",
            "report_requested: maybe",
            "`report_requested`",
        );
    }

    #[test]
    fn times_are_times() {
        let at = |text: &str| {
            let line = text.lines().find(|line| line.starts_with("started_at: "));
            line.unwrap().to_owned()
        };
        let single = |to: &str, expected| check(FileKind::Single, (&at(SINGLE), to), expected);
        let what = "`started_at` is `yesterday`; write a time such as";
        single("started_at: \"yesterday\"", what);
        single("started_at: 1768055422", "`started_at` is `1768055422`");
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
            "`gates.planning.timestamp` is `late`",
        );
        for (key, indent) in [("started_at", 4), ("completed_at", 4), ("timestamp", 6)] {
            let empty = format!("\n{:indent$}{key}: \"\"", "");
            let late = empty.replace("\"\"", "\"late\"");
            check(
                FileKind::Team,
                (&empty, &late),
                &format!("{key}` is `late`"),
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
            "write one of `team`, `sequential`",
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
        deep(
            "scope: full",
            "scope: half",
            "write one of `full`, `focused`",
        );
        deep(
            "agent_count: 5",
            "agent_count: few",
            "`agent_count` is `few`",
        );
        deep("\"initializing\"", "\"exploring\"", "");
        deep("\"initializing\"", "\"done\"", "`phase` is `done`");
        deep(
            "    status: \"pending\"",
            "    status: \"passed\"",
            "phases.parallel_exploration.status",
        );
    }
}
