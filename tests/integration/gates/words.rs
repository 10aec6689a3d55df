//! An agent's last words where only its transcript has them.

use super::*;
use crate::support::assert_has;

/// Only the end of a long transcript is read, which may begin within a character.
#[test]
fn the_last_words_are_found_in_a_long_transcript() {
    let said = |text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "type": "assistant", "message": { "content": content } }).to_string()
    };
    let long = said(&"é".repeat(5 << 20));
    for shift in ["", " "] {
        let stage = Stage::with_run(&[]);
        let transcript = format!("{long}\n{shift}{}\n", said("Found it all."));
        stage.write("../transcript.jsonl", &transcript);
        let mut event = stage.stop_event("riko", "a-1", "");
        event["agent_transcript_path"] = stage.path("../transcript.jsonl").into();
        stage.hook(&event).is_silent();
        let text = stage.read(SINGLE);
        assert_has(&text, "message: \"Found it all.\"");
    }
}

/// An agent that was stopped at work, or that the service failed, has reported nothing.
#[test]
fn words_before_a_call_are_no_report() {
    let line = |who: &str, block: Value| json!({ "type": who, "message": { "content": [block] } });
    let text = |who: &str, text: &str| line(who, json!({ "type": "text", "text": text }));
    let call = line(
        "assistant",
        json!({ "type": "tool_use", "id": "t", "name": "Read", "input": {} }),
    );
    let result = line(
        "user",
        json!({ "type": "tool_result", "tool_use_id": "t", "content": "x" }),
    );
    let stopped = text("user", "[Request interrupted by user]");
    let plain = json!({ "type": "assistant", "message": { "content": "Found." } });
    let stopped_plain =
        json!({ "type": "user", "message": { "content": "[Request interrupted by user]" } });
    let half = json!({ "type": "assistant", "message": { "content": "Found ?" } });
    let mut failed = text("assistant", "API Error: 529 overloaded");
    failed["isApiErrorMessage"] = true.into();
    let will = || text("assistant", "I will look around.");
    for (lines, expected) in [
        (vec![will(), call.clone()], "exploration/1: i pe pe pe pe"),
        (
            vec![will(), call.clone(), result.clone(), stopped.clone()],
            "exploration/1: i pe pe pe pe",
        ),
        (vec![will(), stopped], "exploration/1: i pe pe pe pe"),
        (vec![will(), stopped_plain], "exploration/1: i pe pe pe pe"),
        (
            vec![will(), call.clone(), result.clone(), failed],
            "exploration/1: i pe pe pe pe",
        ),
        (
            vec![will(), call, result, text("assistant", "Found.")],
            "exploration/1: pa pe pe pe pe",
        ),
        (vec![plain], "exploration/1: pa pe pe pe pe"),
        (vec![half], "exploration/1: pa pe pe pe pe"),
    ] {
        let stage = Stage::with_run(&[]);
        let transcript: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let transcript = transcript.replace("Found ?", r"Found \ud83d");
        stage.write("../transcript.jsonl", &transcript);
        let mut event = stage.stop_event("riko", "a-1", "");
        event["agent_transcript_path"] = stage.path("../transcript.jsonl").into();
        stage.hook(&event).is_silent();
        assert_eq!(stage.standing(SINGLE), expected, "{transcript}");
    }
}
