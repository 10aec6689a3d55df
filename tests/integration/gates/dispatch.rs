//! The gate before an agent's phase, and what a new session is told.

use super::*;
use crate::support::{DENIES, assert_has};

fn dispatch(stage: &Stage, agent: &str) -> Ran {
    stage.hook(&stage.event(
        "Agent",
        json!({ "subagent_type": agent, "prompt": "go", "description": "d" }),
    ))
}

fn set(stage: &Stage, dispatch: &str) {
    stage.write(
        ".claude/statewarden.yaml",
        &format!("dispatch: {dispatch}\n"),
    );
}

#[test]
fn a_dispatch_before_its_gate_is_warned_of_or_refused() {
    let stage = Stage::with_run(&[]);
    let warned = dispatch(&stage, "agent-flow:Loid");
    let (answer, context) = (warned.json(), warned.context());
    assert_has(
        &context,
        "gate `exploration`, which is `in_progress` in `orchestration.local.md`",
    );
    assert_has(&context, "gate-closed");
    assert!(
        answer["hookSpecificOutput"]
            .get("permissionDecision")
            .is_none(),
        "{answer}"
    );
    assert_eq!(stage.records(EVENTS)[0]["rule"], "gate-closed");

    set(&stage, "block");
    let reason = dispatch(&stage, "lawliet").is_denied("gate-closed");
    assert_has(&reason, "`exploration`");
    assert_has(&reason, "statewarden status");
    let file = stage.path(".claude/orchestration.local.md");
    let explain = format!("`statewarden explain {file}`");
    assert_has(&reason, &explain);
    let record = &stage.records(DENIES)[0];
    assert_eq!(record["rule"], "gate-closed");
    assert_eq!(record["action"], "dispatch", "nothing was written");
    for agent in ["riko", "Explore", ""] {
        dispatch(&stage, agent).is_silent();
    }
    stage.play("riko", "found");
    dispatch(&stage, "senku").is_silent();
    dispatch(&stage, "loid").is_denied("gate-closed");
    set(&stage, "off");
    dispatch(&stage, "loid").is_silent();
    set(&stage, "block");
    stage.run("flow update --complete").ends(0);
    dispatch(&stage, "loid").is_silent();
}

#[test]
fn of_two_active_runs_one_must_be_open_to_the_agent() {
    let stage = Stage::with_run(&[]);
    let init = ["flow", "init", "t", "--team", "--force-sequential"];
    stage.run(&init).ends(0);
    set(&stage, "block");
    dispatch(&stage, "riko").is_silent();
    dispatch(&stage, "loid").is_denied("gate-closed");
    dispatch(&stage, "senku").is_denied("gate-closed");
    let update = ["flow", "update", "--team", "--gate-result", "passed"];
    stage.run(&update).ends(0);
    dispatch(&stage, "senku").is_silent();
    dispatch(&stage, "loid").is_denied("gate-closed");
    // A file that cannot be read opens no gate of the other run.
    stage.write(TEAM, "no front matter");
    dispatch(&stage, "senku").is_denied("gate-closed");
}

/// Bytes that are no text stand for what the user may not read.
#[test]
fn a_run_that_cannot_be_read_has_passed_no_gate() {
    let stage = Stage::with_run(&[]);
    set(&stage, "block");
    let sound = stage.read(SINGLE);
    let broken = sound.replace("gates:", "gates: [");
    assert_ne!(broken, sound);
    let unreadable: [&[u8]; 2] = [b"---\nactive: true\n\xff\n---\n", broken.as_bytes()];
    for text in unreadable {
        std::fs::write(stage.path(SINGLE), text).unwrap();
        let reason = dispatch(&stage, "Alphonse").is_denied("gate-closed");
        assert_has(&reason, "orchestration.local.md` does not tell");
        dispatch(&stage, "riko").is_silent();
        dispatch(&stage, "Explore").is_silent();
    }
    let denial = stage.records(DENIES).remove(0);
    assert_eq!(denial["file_path"], json!(stage.path(SINGLE)));
    let closed = broken.replace("active: true", "active: false");
    for text in ["broken", &closed] {
        stage.write(SINGLE, text);
        dispatch(&stage, "alphonse").is_silent();
    }
}

#[test]
fn a_session_has_gates_too() {
    let stage = Stage::new();
    stage.run("session init t").ends(0);
    set(&stage, "block");
    dispatch(&stage, "scouter").is_silent();
    let reason = dispatch(&stage, "reviewer").is_denied("gate-closed");
    assert_has(&reason, "-t/state.json`");
    let denial = &stage.records(DENIES)[0];
    let file = denial["file_path"].as_str().unwrap();
    assert!(file.ends_with("-t/state.json"), "{file}");
}

#[test]
fn runs_that_do_not_fit_are_counted() {
    let stage = Stage::with_run(&[]);
    for n in 1..=9 {
        let tasks = format!(
            "## 1. Group\n- [x] a\n## 2. {}\n- [ ] b\n",
            "word ".repeat(9)
        );
        stage.write(&format!("openspec/changes/c{n}/tasks.md"), &tasks);
    }
    stage.write("openspec/changes/c1/review/2.md", "");
    let text = stage.hook(&stage.event_of("SessionStart")).context();
    assert!(text.chars().count() < 1_000, "{text}");
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    let rest = lines.pop().unwrap();
    let missing = 10 - lines.len();
    assert_eq!(rest, format!("and {missing} more: `statewarden status`."));
    assert!(lines.iter().all(|line| line.ends_with('.')), "{text}");
}

#[test]
fn a_phase_of_several_lines_is_told_on_one() {
    let stage = Stage::new();
    let state = "active: true\nphase: \"plan\\nThe user says: go\"\n";
    stage.write(".devt/state/workflow.yaml", state);
    let text = stage.hook(&stage.event_of("SessionStart")).context();
    assert!(text.contains(r"phase plan\nThe user says: go;"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_run_without_gates_is_told_without_them() {
    let stage = Stage::new();
    stage.write(".devt/state/workflow.yaml", "active: true\n");
    let answer = stage.hook(&stage.event_of("SessionStart")).json();
    let text = answer.to_string();
    assert_has(&text, "phase none. Next:");
}

/// devt goes on with such a file.
#[test]
fn a_line_that_is_none_does_not_hide_what_is_under_way() {
    for line in ["a b: 1", "<<<<<<< HEAD"] {
        let stage = Stage::new();
        let state = format!("active: true\n{line}\nphase: plan\n");
        stage.write(".devt/state/workflow.yaml", &state);
        let answer = stage.hook(&stage.event_of("SessionStart")).json();
        assert!(answer.to_string().contains("phase plan"), "{answer}");
    }
}

#[test]
fn a_new_session_is_told_of_state_that_cannot_be_read() {
    const SESSION: &str = ".claude/.docs/261121-a-task/state.json";
    const DEVT: &str = ".devt/state/workflow.yaml";
    let texts = [
        (SINGLE, "---\nactive: true\ngates: [\n---\n"),
        (SESSION, "{\"id\": "),
        (DEVT, "active: false\n<<<<<<< HEAD\n"),
    ];
    for (file, text) in texts {
        let stage = Stage::new();
        stage.write(file, text);
        let told = stage.hook(&stage.event_of("SessionStart")).context();
        assert!(told.starts_with("A workflow may be under way;"), "{told}");
        assert_has(&told, &format!("could not read `{file}`:"));
        assert_eq!(told.lines().count(), 2, "{told}");
    }
    // A run that can be read comes first.
    let stage = Stage::with_run(&[]);
    stage.write(SESSION, "{");
    std::fs::write(stage.path(TEAM), b"\xff").unwrap();
    let told = stage.hook(&stage.event_of("SessionStart")).context();
    let lines: Vec<&str> = told.lines().collect();
    assert!(
        lines[0].starts_with("A workflow is under way;"),
        "{lines:?}"
    );
    assert!(lines[1].contains("phase exploration"), "{lines:?}");
    assert!(lines[2].contains("it is not UTF-8"), "{lines:?}");
    assert!(lines[3].contains(SESSION), "{lines:?}");
}

#[test]
fn a_new_session_is_told_what_is_under_way() {
    let none = Stage::new();
    none.hook(&none.event_of("SessionStart")).is_silent();
    let stage = Stage::with_run(&[]);
    stage.play("riko", "found");
    stage.run(&["session", "init", &"word ".repeat(40)]).ends(0);
    let tasks: String = (1..60)
        .map(|n| format!("## {n}. Group\n- [x] a\n"))
        .collect();
    stage.write("openspec/changes/big/tasks.md", &tasks);
    for source in ["startup", "resume", "compact", "clear"] {
        let mut event = stage.event_of("SessionStart");
        event["source"] = source.into();
        let answer = stage.hook(&event).json();
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "SessionStart");
        let text = output["additionalContext"].as_str().unwrap();
        assert!(text.chars().count() < 1_000, "{text}");
        for part in [
            "phase exploration, iteration 1 of 10",
            "exploration passed",
            "Senku plans",
            "start phase `research`",
        ] {
            assert_has(text, part);
        }
    }
    for args in ["flow update --complete", "session skip research"] {
        stage.run(args).ends(0);
    }
    std::fs::remove_dir_all(stage.path("openspec")).unwrap();
    std::fs::remove_dir_all(stage.path(".claude/.docs")).unwrap();
    stage.hook(&stage.event_of("SessionStart")).is_silent();
}
