//! Events as Claude Code 2.1.329 sent them, moved into the sandbox.

use std::path::Path;

use super::*;

const FOREGROUND: &str = include_str!("../../fixtures/claude-code/foreground.jsonl");
const BACKGROUND: &str = include_str!("../../fixtures/claude-code/background-parallel.jsonl");
const HANDBACK: &str = include_str!("../../fixtures/claude-code/auto-handback.jsonl");
const WORKTREE: &str = include_str!("../../fixtures/claude-code/worktree.jsonl");

/// The events of a recording whose project was `place`, with other words in
/// the place of some.
fn events(stage: &Stage, recording: &str, place: &str, words: &[(&str, &str)]) -> Vec<Value> {
    let project = stage.project();
    let home = stage.home();
    let moved = recording
        .replace(&format!("/home/dev/e2e/{place}"), project.to_str().unwrap())
        .replace("/home/dev/home", home.to_str().unwrap());
    let moved = words.iter().fold(moved, |text, (old, new)| {
        assert!(text.contains(old), "`{old}` is not in the recording");
        text.replace(old, new)
    });
    let lines = moved.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn is(event: &Value, kind: &str, tool: &str) -> bool {
    event["hook_event_name"] == kind && (tool.is_empty() || event["tool_name"] == tool)
}

/// The changes in the gate log, as `gate to agent_id`.
fn changes(stage: &Stage) -> Vec<String> {
    let records = stage.gates();
    let changed = records
        .iter()
        .filter(|record| record["gate"] != Value::Null);
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    changed
        .map(|record| {
            format!(
                "{} {} {}",
                word(&record["gate"]),
                word(&record["to"]),
                word(&record["agent_id"])
            )
        })
        .collect()
}

#[test]
fn a_foreground_run_brings_two_events_and_counts_once() {
    for reversed in [false, true] {
        let stage = Stage::with_run(&[]);
        let mut events = events(&stage, FOREGROUND, "proj", &[("scribe", "riko")]);
        let stop = events
            .iter()
            .position(|event| is(event, "SubagentStop", ""))
            .unwrap();
        let launcher = events
            .iter()
            .position(|event| is(event, "PostToolUse", "Agent"))
            .unwrap();
        assert_eq!(launcher, stop + 1);
        if reversed {
            events.swap(stop, launcher);
        }
        for event in &events {
            let ran = stage.hook(event);
            assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{event}");
        }
        assert_eq!(changes(&stage), ["exploration passed a0af0bb3a7cedbfb4"]);
        assert!(
            stage
                .read(SINGLE)
                .contains("message: \"FINAL REPORT of riko\"\n")
        );
    }
}

#[test]
fn a_background_launch_is_no_completion() {
    let stage = Stage::with_run(&["--team"]);
    for (agent, text) in [("riko", "x"), ("senku", "x"), ("loid", "x")] {
        stage.play(agent, text);
    }
    let words = [
        ("ONE FINAL", "Overall: VERIFIED"),
        ("TWO FINAL", "Verdict: APPROVED"),
    ];
    let mut events = events(&stage, BACKGROUND, "p8", &words);
    for event in &mut events {
        let agent = match event["agent_id"].as_str() {
            Some("ae37593b8a0a13898") => "lawliet",
            Some("aed677920872f5737") => "alphonse",
            _ => continue,
        };
        event["agent_type"] = agent.into();
    }
    let seen = stage.gates().len();
    let mut launched = 0;
    for event in &events {
        if is(event, "SubagentStop", "") && launched == 2 {
            assert_eq!(
                stage.standing(TEAM),
                "review_verification/1: pa pa pa i i i"
            );
            launched += 1;
        }
        let ran = stage.hook(event);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{event}");
        launched += usize::from(event["tool_response"]["status"] == "async_launched");
    }
    assert_eq!(launched, 3);
    // The main thread's last stop closed the run.
    assert_eq!(stage.standing(TEAM), "complete/1: pa pa pa pa pa pa closed");
    let ends: Vec<_> = stage.gates()[seen..]
        .iter()
        .filter(|record| record["to"] == "passed")
        .map(|record| json!([record["gate"], record["agent_type"]]))
        .collect();
    assert_eq!(
        ends,
        [
            json!(["verification", "alphonse"]),
            json!(["review", "lawliet"])
        ]
    );
}

/// A transcript of one agent that handed back twice: the first was denied.
fn transcript(stage: &Stage, events: &[Value], reports: [(&str, bool); 2]) {
    let stop = events
        .iter()
        .find(|event| is(event, "SubagentStop", ""))
        .unwrap();
    let path = Path::new(stop["agent_transcript_path"].as_str().unwrap());
    let mut lines = vec![
        json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "thinking" }] } }),
    ];
    for (n, (report, is_error)) in reports.iter().enumerate() {
        let call = json!({ "type": "tool_use", "id": format!("t{n}"), "name": "SubagentHandback", "input": { "message": report } });
        let result = json!({ "type": "tool_result", "tool_use_id": format!("t{n}"), "is_error": is_error, "content": "x" });
        lines.push(json!({ "type": "assistant", "message": { "content": [call] } }));
        lines.push(json!({ "type": "user", "message": { "content": [result] } }));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    assert!(path.starts_with(stage.base()));
}

#[test]
fn a_report_that_was_handed_back_is_the_text() {
    let accepted = "Verdict: NEEDS_CHANGES";
    for (reports, expected) in [
        (Some([("Verdict: APPROVED", true), (accepted, false)]), "fa"),
        (Some([(accepted, false), ("Verdict: APPROVED", true)]), "fa"),
        (
            Some([(accepted, false), ("Verdict: APPROVED", false)]),
            "pa",
        ),
        // No transcript yet: the launching call's result brings the report.
        (None, "fa"),
    ] {
        let stage = Stage::with_run(&[]);
        for (agent, text) in [("riko", "x"), ("senku", "x"), ("loid", "x")] {
            stage.play(agent, text);
        }
        let words = [("general-purpose", "lawliet"), ("HB REPORT", accepted)];
        let events = events(&stage, HANDBACK, "p12", &words);
        if let Some(reports) = reports {
            transcript(&stage, &events, reports);
        }
        for event in &events {
            let ran = stage.hook(event);
            assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{event}");
        }
        assert_eq!(
            stage.standing(SINGLE),
            format!("review/1: pa pa pa {expected} pe"),
            "{reports:?}"
        );
        let ends = stage
            .gates()
            .iter()
            .filter(|record| record["gate"] == "review" && record["to"].is_string())
            .filter(|record| record["to"] != "in_progress")
            .count();
        assert_eq!(ends, 1, "{reports:?}");
    }
}

#[test]
fn agents_in_work_trees_move_the_main_checkouts_run() {
    let stage = Stage::with_run(&[]);
    let copy = ".claude/worktrees/agent-a3eb1b07740093a3c/.claude/orchestration.local.md";
    stage.write(copy, &stage.read(SINGLE));
    let before = stage.read(copy);
    for event in events(&stage, WORKTREE, "p9", &[("general-purpose", "riko")]) {
        stage.hook(&event);
    }
    assert_eq!(changes(&stage), ["exploration passed a3eb1b07740093a3c"]);
    assert_eq!(stage.standing(SINGLE), "exploration/1: pa pe pe pe pe");
    assert_eq!(stage.read(copy), before);
}
