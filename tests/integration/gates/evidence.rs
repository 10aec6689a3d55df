//! What a long command printed is read where the client keeps it.

use super::*;

const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";

/// The end of a command that succeeded, with what it printed, after its start.
fn ran(stage: &Stage, tool: &str, line: &str, printed: &str) -> Value {
    let mut event = stage.by("Alphonse", stage.event(tool, json!({ "command": line })));
    stage.hook(&event).is_silent();
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = json!({"stdout": printed, "stderr": "", "interrupted": false});
    event
}

/// The results of the commands on record, and why they prove nothing.
fn results(stage: &Stage) -> Vec<String> {
    let records = stage.gates();
    let commands = records.iter().filter(|record| record["kind"] == "command");
    let text = |record: &Value| {
        let doubt = record["doubt"].as_str().map(|doubt| format!(": {doubt}"));
        record["result"].as_str().unwrap().to_owned() + &doubt.unwrap_or_default()
    };
    commands.map(text).collect()
}

#[test]
fn long_and_background_outputs_are_read_from_their_files() {
    let stage = Stage::with_run(&[]);
    let session = stage.path("client/s-1");
    let long = "running\n".repeat(9_000) + PASSED;
    stage.write("client/s-1/tool-results/b1.txt", &long);
    let file = format!("{session}/tool-results/b1.txt");
    let cut = |path: &str, size: usize| {
        let mut event = ran(&stage, "Bash", "cargo test", &long[..30_000]);
        event["transcript_path"] = format!("{session}.jsonl").into();
        event["tool_response"]["persistedOutputPath"] = path.into();
        event["tool_response"]["persistedOutputSize"] = size.into();
        event
    };
    stage.hook(&ran(&stage, "Bash", "cargo test", &"x".repeat(30_000)));
    stage.hook(&cut(&file, long.len() - 1));
    stage.hook(&cut(&stage.path("elsewhere.txt"), long.len()));
    stage.hook(&cut(&file, long.len()));
    let lost = "unproved: its output was cut, and the rest is not there";
    assert_eq!(results(&stage), [lost, lost, lost, "passed"]);

    // Nothing is proved at the launch.
    let mut launch = ran(&stage, "Bash", "cargo test --all", "");
    launch["tool_response"]["backgroundTaskId"] = "t1".into();
    launch["tool_input"]["run_in_background"] = true.into();
    stage.hook(&launch);
    let mut monitor = ran(&stage, "Monitor", "cargo test", PASSED);
    monitor["tool_response"] = json!({"taskId": "t2", "timeoutMs": 1, "persistent": false});
    stage.hook(&monitor);
    assert_eq!(results(&stage).len(), 4);
    let output = format!("{session}/tasks/t1.output");
    stage.write("client/s-1/tasks/t1.output", &long);
    let mut news = stage.event_of("UserPromptSubmit");
    news["prompt"] = format!(
        "<task-notification>\n<task-id>t1</task-id>\n<output-file>{output}</output-file>\n\
        <status>completed</status>\n<summary>Background command \"x\" completed (exit code 0)</summary>\n\
        </task-notification>"
    )
    .into();
    stage.hook(&news);
    stage.hook(&news);
    assert_eq!(results(&stage)[4..], ["passed"]);
}
