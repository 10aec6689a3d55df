//! What shows that a gate passed: which lines are tests, what counts as an artifact, and
//! what `verify` says.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// A run that waits for its verification.
fn verifying(mode: &str) -> Stage {
    let stage = Stage::with_run(&[]);
    stage.write(
        ".claude/statewarden.yaml",
        &format!("evidence: {{mode: {mode}}}\n"),
    );
    stage.play("Riko", "found");
    stage.play("Senku", "planned");
    stage.play("Loid", "built");
    stage.play("Lawliet", APPROVED);
    stage.start("Alphonse", "v-1");
    stage
}

const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
const FAILED: &str = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\
    error: test failed, to rerun pass `--lib`\n";
const EMPTY: &str = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out\n";

/// The start of a command, which nobody has seen yet.
fn start(stage: &Stage, tool: &str, line: &str) -> Value {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut event = stage.by("Alphonse", stage.event(tool, json!({ "command": line })));
    event["tool_use_id"] = format!("toolu_{}", COUNT.fetch_add(1, Ordering::Relaxed)).into();
    event
}

/// The same, seen by the hook.
fn announced(stage: &Stage, tool: &str, line: &str) -> Value {
    let event = start(stage, tool, line);
    stage.hook(&event).is_silent();
    event
}

/// The end of a command that succeeded, with what it printed, after its start.
fn ran(stage: &Stage, line: &str, printed: &str) -> Value {
    ended(announced(stage, "Bash", line), printed)
}

fn ended(mut event: Value, printed: &str) -> Value {
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = json!({"stdout": printed, "stderr": "", "interrupted": false});
    event
}

fn failed(stage: &Stage, line: &str, status: i32, printed: &str) -> Value {
    let mut event = announced(stage, "Bash", line);
    event["hook_event_name"] = "PostToolUseFailure".into();
    event["error"] = format!("Exit code {status}\n{printed}").into();
    event
}

fn git(stage: &Stage, args: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.args(args).current_dir(stage.project());
    assert!(git.status().unwrap().success(), "git {args:?}");
}

/// The client's news of a command that ended in the background.
fn ended_in_background(stage: &Stage, task: &str, output: &str) -> Value {
    let mut news = stage.event_of("UserPromptSubmit");
    news["prompt"] = format!(
        "<task-notification>\n<task-id>{task}</task-id>\n<output-file>{output}</output-file>\n\
        <status>completed</status>\n<summary>Background command \"x\" completed (exit code 0)</summary>\n\
        </task-notification>"
    )
    .into();
    news
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

/// What the end of Alphonse leaves of the verification.
fn verified(stage: &Stage) -> Value {
    stage.stop("Alphonse", "v-1", VERIFIED);
    let last = stage.gates().pop().unwrap();
    stage.start("Alphonse", "v-1");
    last
}

#[test]
fn a_verification_needs_a_test_that_printed_that_it_passed() {
    let stage = verifying("require");
    let outside = stage.base().join("other");
    std::fs::create_dir_all(&outside).unwrap();
    let mut interrupted = ran(&stage, "cargo test", PASSED);
    interrupted["tool_response"]["interrupted"] = true.into();
    let elsewhere = format!("cd {} && cargo test", outside.display());
    for event in [
        ran(&stage, "cargo test none", EMPTY),
        ran(&stage, "cargo test none; printf x", PASSED),
        ran(&stage, &elsewhere, PASSED),
        interrupted,
        ran(&stage, "cargo test 2>&1 | grep 'result: ok'", PASSED),
        ran(&stage, "cargo test", &"x".repeat(30_000)),
        ran(&stage, "cargo build", PASSED),
        ran(&stage, "make all", ""),
    ] {
        stage.hook(&event);
    }
    let found = results(&stage);
    let expected = [
        "unproved: it shows no test that passed",
        "unproved: `printf` may have printed its last lines",
        "unproved: it ran outside the project: ",
        "unproved: it was interrupted",
        "unproved: `grep` hides the failures of libtest",
        "unproved: its output was cut, and the rest is not there",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found} {expected}");
    }
    let last = verified(&stage);
    assert_has(last["skipped"].as_str().unwrap(), "its output was cut");
    assert_eq!(stage.standing(SINGLE), "verification/1: pa pa pa pa i");
    stage
        .hook(&ran(&stage, "cargo test --workspace 2>&1", PASSED))
        .is_silent();
    let last = verified(&stage);
    assert_eq!(last["to"], "passed");
    let proof = &last["proof"];
    assert_eq!(proof[0]["kind"], "verdict");
    for (key, value) in [
        ("kind", json!("command")),
        ("cwd", json!(".")),
        ("status", json!(0)),
        ("passed", json!(3)),
        ("failed", json!(0)),
    ] {
        assert_eq!(proof[1][key], value, "{key}");
    }
    assert_has(
        &stage.run("verify").ends(0).stdout(),
        "verification: proved",
    );
}

#[test]
fn without_a_test_a_gate_passes_on_its_word() {
    let stage = verifying("record");
    stage.hook(&ran(&stage, "cargo test none", EMPTY));
    stage.stop("Alphonse", "v-1", VERIFIED);
    let record = stage.gates().pop().unwrap();
    assert_eq!(record["to"], "passed");
    assert_has(
        record["unsupported"].as_str().unwrap(),
        "it shows no test that passed",
    );
    for told in [
        stage.run("status").stdout(),
        stage.hook(&stage.event_of("SessionStart")).stdout(),
    ] {
        assert_has(&told, "passed on its word");
    }
    assert_has(
        &stage.run("verify").ends(0).stdout(),
        "verification: on its word",
    );

    // The user's control files stand for a test; a report that names the environment is a word.
    for (file, reply) in [
        (".claude/skip-test-verification", VERIFIED),
        (".claude/known-test-failures", VERIFIED),
        (
            ".claude/other",
            "### Overall: ENVIRONMENT_BLOCKED (no network)",
        ),
    ] {
        let stage = verifying("require");
        stage.write(file, "");
        stage.stop("Alphonse", "v-1", reply);
        let record = stage.gates().pop().unwrap();
        assert_eq!(record["to"], "passed", "{file}");
        let is_word = record["unsupported"].is_string();
        assert_eq!(is_word, file == ".claude/other", "{record}");
    }
}

#[test]
fn a_failure_stays_until_as_many_tests_pass() {
    let stage = verifying("require");
    let one = PASSED.replace("3 passed", "1 passed");
    stage.hook(&ran(&stage, "cargo test", PASSED));
    stage.hook(&failed(&stage, "cargo test --workspace", 101, FAILED));
    stage.hook(&ran(&stage, "cargo test --lib", &one));
    assert_eq!(results(&stage), ["passed", "failed", "passed"]);
    let last = verified(&stage);
    assert_has(last["skipped"].as_str().unwrap(), "failed last");
    stage.hook(&ran(&stage, "cargo test --workspace", &one));
    assert_eq!(verified(&stage)["to"], "passed");
}

/// The log keeps no value of an assignment: both lines are `DB=… cargo test` there.
#[test]
fn lines_that_look_alike_in_the_log_are_not_the_same() {
    let stage = verifying("require");
    let one = PASSED.replace("3 passed", "1 passed");
    stage.hook(&failed(&stage, "DB=pg cargo test", 101, FAILED));
    stage.hook(&ran(&stage, "DB=lite cargo test", &one));
    let gates = stage.gates();
    let lines = gates.iter().filter_map(|record| record["line"].as_str());
    assert_eq!(lines.collect::<Vec<_>>(), ["DB=… cargo test"; 2]);
    let last = verified(&stage);
    assert_has(last["skipped"].as_str().unwrap(), "failed last");
    stage.hook(&ran(&stage, "DB=pg  cargo test", &one));
    assert_eq!(verified(&stage)["to"], "passed");
}

/// A command that the settings or the user's file name; the rest of its line is its own.
#[test]
fn a_declared_line_is_proved_by_its_status() {
    let stage = verifying("require");
    stage.write(
        ".claude/statewarden.yaml",
        "evidence: {mode: require, commands: [./check all]}\n",
    );
    stage.write(".claude/test-command", "./test.sh\n");
    // What was there at the start was made by no call.
    stage.hook(&stage.event_of("SessionStart"));
    for line in [
        "./check all | cat",
        "./check all; true",
        "./other.sh",
        "./check all -v",
    ] {
        stage.hook(&ran(&stage, line, ""));
    }
    assert_eq!(results(&stage), [""; 0]);
    stage.hook(&failed(&stage, "./check all", 1, ""));
    stage.hook(&ran(&stage, "./check all > log 2>&1 || exit 1", ""));
    stage.hook(&ran(&stage, "./test.sh", ""));
    assert_eq!(results(&stage), ["failed", "passed", "passed"]);
}

/// Changes of code make a test stale, others do not.
#[test]
fn a_test_is_stale_once_its_code_was_changed() {
    let stage = verifying("require");
    stage.write("src/a.rs", "fn a() {}\n");
    stage.write("README.md", "a\n");
    git(&stage, &["init", "-q"]);
    git(&stage, &["add", "src/a.rs", "README.md"]);
    let pause = || std::thread::sleep(std::time::Duration::from_millis(30));
    pause();
    stage.hook(&ran(&stage, "cargo test", PASSED));
    pause();
    stage.write("README.md", "b\n");
    stage.write("notes.txt", "b\n");
    assert_eq!(verified(&stage)["to"], "passed");

    let stage = verifying("require");
    stage.write("src/a.rs", "fn a() {}\n");
    git(&stage, &["init", "-q"]);
    git(&stage, &["add", "src/a.rs"]);
    pause();
    stage.hook(&ran(&stage, "cargo test", PASSED));
    pause();
    stage.write("src/a.rs", "fn b() {}\n");
    assert_has(
        verified(&stage)["skipped"].as_str().unwrap(),
        "stale: src/a.rs",
    );
    stage.hook(&ran(&stage, "cargo test", PASSED));
    // What a file tool wrote counts before git knows it.
    let mut event = stage.write_event("src/new.rs", "fn c() {}\n");
    event["hook_event_name"] = "PostToolUse".into();
    pause();
    stage.hook(&event);
    assert_has(
        verified(&stage)["skipped"].as_str().unwrap(),
        "stale: src/new.rs",
    );
    pause();
    stage.hook(&ran(&stage, "cargo test", PASSED));
    let last = verified(&stage);
    assert_eq!(
        (&last["to"], &last["stale"]),
        (&json!("passed"), &Value::Null)
    );
}

/// With `record` a stale test passes the gate, and every reader says so.
#[test]
fn a_stale_test_is_named() {
    let stage = verifying("record");
    stage.write("src/a.rs", "fn a() {}\n");
    git(&stage, &["init", "-q"]);
    git(&stage, &["add", "src/a.rs"]);
    let pause = || std::thread::sleep(std::time::Duration::from_millis(30));
    pause();
    stage.hook(&ran(&stage, "cargo test", PASSED));
    pause();
    stage.write("src/a.rs", "fn b() {}\n");
    stage.stop("Alphonse", "v-1", VERIFIED);
    let record = stage.gates().pop().unwrap();
    assert_eq!(
        (&record["to"], &record["stale"]),
        (&json!("passed"), &json!("src/a.rs"))
    );
    assert_has(&stage.run("verify").ends(0).stdout(), "verification: stale");
    assert_has(&stage.run("status").stdout(), "passed on a stale test");
}

/// Where git tracks nothing, a test counts from the end of the implementation on.
#[test]
fn where_changes_cannot_be_asked_a_test_has_to_be_later() {
    let stage = Stage::with_run(&[]);
    stage.write(".claude/statewarden.yaml", "evidence: {mode: require}\n");
    stage.play("Riko", "found");
    stage.play("Senku", "planned");
    stage.hook(&ran(&stage, "cargo test", PASSED));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    stage.play("Loid", "built");
    stage.play("Lawliet", APPROVED);
    stage.start("Alphonse", "v-1");
    assert_has(
        verified(&stage)["skipped"].as_str().unwrap(),
        "before the gate began",
    );
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    stage.hook(&ran(&stage, "cargo test", PASSED));
    assert_eq!(verified(&stage)["freshness"], "not asked");
}

#[test]
fn long_and_background_outputs_are_read_from_their_files() {
    let stage = verifying("require");
    let session = stage.path("client/s-1");
    let long = "running\n".repeat(9_000) + PASSED;
    std::fs::create_dir_all(format!("{session}/tool-results")).unwrap();
    std::fs::create_dir_all(format!("{session}/tasks")).unwrap();
    let file = format!("{session}/tool-results/b1.txt");
    std::fs::write(&file, &long).unwrap();
    let cut = |path: &str, size: usize| {
        let mut event = ran(&stage, "cargo test", &long[..30_000]);
        event["transcript_path"] = format!("{session}.jsonl").into();
        event["tool_response"]["persistedOutputPath"] = path.into();
        event["tool_response"]["persistedOutputSize"] = size.into();
        event
    };
    stage.hook(&cut(&file, long.len() - 1));
    stage.hook(&cut(&stage.path("elsewhere.txt"), long.len()));
    stage.hook(&cut(&file, long.len()));
    let lost = "unproved: its output was cut, and the rest is not there";
    assert_eq!(results(&stage), [lost, lost, "passed"]);

    // Nothing is proved at the launch.
    let mut launch = ran(&stage, "cargo test --all", "");
    launch["tool_response"]["backgroundTaskId"] = "t1".into();
    launch["tool_input"]["run_in_background"] = true.into();
    stage.hook(&launch);
    let mut monitor = ran(&stage, "cargo test", PASSED);
    monitor["tool_name"] = "Monitor".into();
    monitor["tool_response"] = json!({"taskId": "t2", "timeoutMs": 1, "persistent": false});
    stage.hook(&monitor);
    assert_eq!(results(&stage).len(), 3);
    let output = format!("{session}/tasks/t1.output");
    std::fs::write(&output, &long).unwrap();
    let news = ended_in_background(&stage, "t1", &output);
    stage.hook(&news);
    stage.hook(&news);
    assert_eq!(results(&stage)[3..], ["passed"]);
}

#[test]
fn an_mcp_tool_proves_by_its_output() {
    let stage = verifying("require");
    let call = |printed: &str| {
        let mut event = ended(announced(&stage, "mcp__box__run_command", "cargo test"), "");
        event["tool_response"] = json!([{"type": "text", "text": printed}]);
        event
    };
    stage.hook(&call("ok"));
    stage.hook(&call(PASSED));
    assert_eq!(
        results(&stage),
        ["unproved: it shows no test that passed", "passed"]
    );
}

/// Of a shell, an MCP tool, a line that the settings declare, and a test in the background.
#[test]
fn what_was_not_announced_proves_nothing() {
    let stage = verifying("require");
    stage.write(
        ".claude/statewarden.yaml",
        "evidence: {mode: require, commands: [./check all, git diff --exit-code]}\n",
    );
    let unseen = "unproved: its start was not seen";
    let test = ended(start(&stage, "Bash", "cargo test"), PASSED);
    let declared = ended(start(&stage, "Bash", "./check all"), "");
    let mut remote = ended(start(&stage, "mcp__box__run_command", "cargo test"), "");
    remote["tool_response"] = json!([{"type": "text", "text": PASSED}]);
    for event in [test, declared, remote] {
        stage.hook(&event).is_silent();
        assert_eq!(results(&stage).pop().unwrap(), unseen, "{event}");
    }
    let mut other_session = ran(&stage, "cargo test", PASSED);
    other_session["session_id"] = "s-2".into();
    let mut other_agent = stage.by("Loid", ran(&stage, "cargo test", PASSED));
    other_agent["agent_id"] = "b-1".into();
    for event in [other_session, other_agent] {
        stage.hook(&event).is_silent();
        assert_eq!(results(&stage).pop().unwrap(), unseen, "{event}");
    }

    let output = stage.path("client/s-1/tasks/t1.output");
    stage.write("client/s-1/tasks/t1.output", PASSED);
    let mut launch = ended(start(&stage, "Bash", "cargo test --all"), "");
    launch["tool_response"]["backgroundTaskId"] = "t1".into();
    stage.hook(&launch).is_silent();
    stage
        .hook(&ended_in_background(&stage, "t1", &output))
        .is_silent();
    assert_eq!(results(&stage).pop().unwrap(), unseen);

    // A call that is understood to the end leaves no note; a person is told what to do.
    stage
        .hook(&ran(&stage, "git diff --exit-code", ""))
        .is_silent();
    assert_has(&results(&stage).pop().unwrap(), "declare a script");
    assert_has(
        verified(&stage)["skipped"].as_str().unwrap(),
        "declare a script",
    );

    // That a test failed is believed; its end counts once.
    let mut failure = failed(&stage, "cargo test", 101, FAILED);
    failure["tool_use_id"] = "toolu_unseen".into();
    stage.hook(&failure).is_silent();
    assert_eq!(results(&stage).pop().unwrap(), "failed");
    let passed = ran(&stage, "cargo test", PASSED);
    let n = results(&stage).len();
    stage.hook(&passed).is_silent();
    stage.hook(&passed).is_silent();
    assert_eq!(results(&stage)[n..], ["passed"]);
}

#[test]
fn a_chain_that_was_touched_is_broken() {
    let stage = verifying("record");
    stage.run("verify").ends(0);
    let whole = stage.read(GATES);
    let lines: Vec<&str> = whole.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    let deleted: Vec<&str> = [&lines[..3], &lines[4..]].concat();
    for (text, place) in [
        (
            whole.replacen("\"iteration\":1", "\"iteration\":7", 1),
            "line 2",
        ),
        (joined(&swapped), "line 3"),
        (joined(&deleted), "line 4"),
        (whole.replacen("{\"prev\"", "(\"prev\"", 3), "line"),
    ] {
        stage.write(GATES, &text);
        let out = stage.run("verify").ends(1).stdout();
        assert_has(&out, "broken");
        assert_has(&out, place);
    }
    // What a crash tore is noted, and the next line closes it.
    stage.write(GATES, &(whole.clone() + "{\"prev\":\"12"));
    stage.stop("Alphonse", "v-1", "Overall: FAILED");
    let out = stage.run("verify").ends(0).stdout();
    assert_has(&out, "torn");
    // The head is that of the last line, over the bounds of a rotated log too.
    stage.write(".claude/statewarden/gates-20260101T000000.jsonl", &whole);
    std::fs::remove_file(stage.path(GATES)).unwrap();
    let head = stage.run("verify --head").ends(0).stdout();
    stage.start("Loid", "l-2");
    let prev = &stage.gates()[0]["prev"];
    assert_eq!(format!("{}\n", prev.as_str().unwrap()), head);
    stage.run("verify").ends(0);
}

#[test]
fn a_file_that_says_more_than_the_log_is_told() {
    let stage = verifying("record");
    stage.stop("Alphonse", "v-1", "Overall: FAILED");
    let text = stage.read(SINGLE);
    stage.write(SINGLE, &text.replace("\"failed\"", "\"passed\""));
    assert_has(&stage.run("verify").ends(1).stdout(), "says failed");
    // What the log knows nothing of is no fault.
    std::fs::remove_file(stage.path(GATES)).unwrap();
    let out = stage.run("verify").ends(0).stdout();
    assert_has(&out, "verification: on its word");
}

const WORKFLOW: &str = "workflow_id: w-1\nactive: true\nphase: review\nstatus: null\n";

/// A review with its verdict.
fn review(stage: &Stage, verdict: &str) {
    let sidecar = json!({"status": "DONE", "verdict": verdict, "agent": "code-reviewer"});
    stage.write(".devt/state/review.json", &sidecar.to_string());
    stage.write(
        ".devt/state/review.md",
        &format!("{verdict} {}", "word ".repeat(60)),
    );
}

fn devt(age: i64) -> Stage {
    let stage = Stage::new();
    let created = chrono::Utc::now() - chrono::TimeDelta::seconds(age);
    let created = created.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    stage.write(
        ".devt/state/workflow.yaml",
        &format!("{WORKFLOW}created_at: \"{created}\"\n"),
    );
    stage
}

fn devt_status(stage: &Stage) -> String {
    let status: Value = serde_json::from_str(&stage.run("status --json").stdout()).unwrap();
    let gate = &status["systems"][0]["gates"][0];
    format!(
        "{} {}",
        gate["name"].as_str().unwrap(),
        gate["status"].as_str().unwrap()
    )
}

/// Only what the reviewer made in this workflow is its verdict.
#[test]
fn an_artifact_counts_for_its_agent_in_its_workflow() {
    // Both sides of devt's 30 s; where the agent's start was seen, its bytes count too.
    for (age, passes) in [(29, true), (32, false)] {
        let stage = devt(0);
        review(&stage, "APPROVED");
        for file in ["review.md", "review.json"] {
            stage.set_age(&format!(".devt/state/{file}"), age);
        }
        stage.stop("code-reviewer", "unseen", "Approved.");
        assert_eq!(stage.gates()[0]["to"] == "passed", passes, "{age}");
    }
    let after = |act: &dyn Fn(&Stage)| {
        let stage = devt(100);
        review(&stage, "APPROVED");
        stage.start("devt:code-reviewer", "r-1");
        act(&stage);
        stage.stop(
            "devt:code-reviewer",
            "r-1",
            "Overall: APPROVED, I ran it all.",
        );
        let record = stage.gates().pop().unwrap();
        let text = record["evidence"].as_str().unwrap_or_default();
        (
            devt_status(&stage),
            record["skipped"].as_str().unwrap_or(text).to_owned(),
        )
    };
    let touched = |stage: &Stage| stage.set_age(".devt/state/review.json", 0);
    let same = |stage: &Stage| review(stage, "APPROVED");
    for act in [&touched as &dyn Fn(&Stage), &same, &|_: &Stage| ()] {
        let (status, why) = after(act);
        assert_eq!(status, "review pending");
        assert_has(&why, "is what it was when the agent began");
    }
    // The same bytes by its own file tool, and other bytes, are its work.
    let rewritten = |stage: &Stage| {
        for file in ["review.md", "review.json"] {
            let file = format!(".devt/state/{file}");
            let mut event = stage.write_event(&file, &stage.read(&file));
            event["hook_event_name"] = "PostToolUse".into();
            event["agent_type"] = "devt:code-reviewer".into();
            event["agent_id"] = "r-1".into();
            stage.hook(&event);
        }
    };
    let worked = |stage: &Stage| review(stage, "APPROVED_WITH_NOTES");
    for act in [&rewritten as &dyn Fn(&Stage), &worked] {
        assert_eq!(after(act).0, "review passed");
    }
    // A stub, and a verdict without its text, change nothing.
    let stub = |stage: &Stage| {
        worked(stage);
        stage.write(".devt/state/review.md", "soon");
    };
    let alone = |stage: &Stage| {
        worked(stage);
        std::fs::remove_file(stage.path(".devt/state/review.md")).unwrap();
    };
    for act in [&stub as &dyn Fn(&Stage), &alone] {
        assert_eq!(after(act).0, "review pending");
    }
}

#[test]
fn a_verdict_is_turned_over_by_its_judge_alone() {
    let stage = devt(100);
    let implement = |stage: &Stage, id: &str| {
        stage.start("programmer", id);
        let sidecar = json!({"status": "DONE", "verdict": "PASS", "agent": "programmer", "n": id});
        stage.write(".devt/state/impl-summary.json", &sidecar.to_string());
        stage.write(
            ".devt/state/impl-summary.md",
            &format!("{id} {}", "word ".repeat(60)),
        );
        stage.stop("programmer", id, "done");
    };
    let judge = |stage: &Stage, id: &str, verdict: &str| {
        stage.start("code-reviewer", id);
        review(stage, verdict);
        stage.stop("code-reviewer", id, "reviewed");
    };
    implement(&stage, "p-0");
    assert_eq!(
        devt_status(&stage),
        "review pending",
        "the reviewer has not spoken"
    );
    judge(&stage, "r-1", "NEEDS_WORK");
    assert_eq!(devt_status(&stage), "review failed");
    implement(&stage, "p-1");
    assert!(stage.skipped().contains("a wrong phase"));
    assert_eq!(devt_status(&stage), "review failed");
    // Rework in a phase of its own goes on, and the next review is pending until it speaks.
    stage.run("update phase=implement").ends(0);
    assert_eq!(devt_status(&stage), "implement pending");
    implement(&stage, "p-2");
    assert_eq!(devt_status(&stage), "implement passed");
    // What the phase before left is not where this one comes from.
    assert_eq!(stage.gates().pop().unwrap()["from"], "pending");
    stage.run("update phase=review").ends(0);
    assert_eq!(devt_status(&stage), "review pending");
    stage.hook(&stage.event_of("SessionStart"));
    judge(&stage, "r-2", "APPROVED");
    assert_eq!(devt_status(&stage), "review passed");
    stage.run("verify").ends(0);
    stage.run("update phase=docs status=DONE").ends(0);
    assert_eq!(devt_status(&stage), "docs passed");
    // A phase that lags behind is nobody's.
    stage.run("update phase=plan").ends(0);
    implement(&stage, "p-3");
    assert_eq!(devt_status(&stage), "plan passed");
    review(&stage, "NEEDS_WORK");
    stage.run("verify").ends(0);
    stage.write(".devt/state/impl-summary.md", "changed afterwards");
    assert_has(
        &stage.run("verify").ends(1).stdout(),
        "`.devt/state/impl-summary.md` was changed",
    );
}

#[test]
fn a_reviewer_that_judged_nothing_is_recorded() {
    let end = |act: &dyn Fn(&Stage)| {
        let stage = Stage::new();
        stage.write(
            "openspec/changes/login/tasks.md",
            "## 1. One\n\n- [x] 1.1 a\n",
        );
        stage.write(
            "openspec/changes/login/test-reports/1.md",
            "**Status:** PASS\n",
        );
        stage.write(
            "openspec/changes/login/review/1.md",
            "**Status:** APPROVED\n",
        );
        stage.start("reviewer", "r-1");
        act(&stage);
        stage.stop("reviewer", "r-1", "All good.");
        stage.gates().len()
    };
    assert_eq!(end(&|_| ()), 1);
    assert_eq!(
        end(&|stage| stage.set_age("openspec/changes/login/review/1.md", 0)),
        1
    );
    let judged = "**Status:** APPROVED\n\nRead again.\n";
    assert_eq!(
        end(&|stage| stage.write("openspec/changes/login/review/1.md", judged)),
        0
    );
}
