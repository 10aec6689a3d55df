//! What shows that a gate passed: which lines are tests, what counts as an artifact, and
//! what `verify` says.

use std::process::{Command, Stdio};

use statewarden::lifecycle::test_command::is_test;
use statewarden::shell::decisive;

use super::*;

const MASKED: &str = include_str!("../../fixtures/evidence/masked.txt");
const IDLE: &str = include_str!("../../fixtures/evidence/idle.txt");
const HONEST: &str = include_str!("../../fixtures/evidence/honest.txt");

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with("# "))
}

fn counts(line: &str) -> bool {
    decisive(line).iter().any(|words| is_test(words, &[]))
}

/// Whether Bash takes a line for a success where every test runner fails.
fn succeeds_in_bash(sandbox: &Sandbox, line: &str) -> bool {
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin"));
    let mut bash = Command::new("bash");
    bash.args(["-c", line])
        .current_dir(sandbox.project())
        .env("PATH", path);
    bash.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    bash.status().unwrap().success()
}

#[cfg(unix)]
#[test]
fn a_line_is_a_test_where_its_status_is_the_tests() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    sandbox.write("bin/cargo", "#!/bin/sh\nexit 1\n");
    let stub = sandbox.project().join("bin/cargo");
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o755)).unwrap();
    for runner in ["npm", "pytest", "go", "make"] {
        symlink(&stub, sandbox.project().join("bin").join(runner)).unwrap();
    }
    let masked: Vec<&str> = lines(MASKED).collect();
    assert!(masked.len() > 40);
    for line in masked {
        assert!(succeeds_in_bash(&sandbox, line), "fails in Bash: {line}");
        assert!(!counts(line), "counts: {line}");
    }
    for line in lines(IDLE) {
        assert!(!counts(line), "counts: {line}");
    }
    let is_stub = |line: &&str| {
        let mut words = line.split(' ').filter(|word| !word.contains('='));
        words.any(|word| word == "cargo") || line.starts_with("npm ") || line.starts_with("pytest")
    };
    for line in lines(HONEST) {
        assert!(counts(line), "does not count: {line}");
        assert!(
            !is_stub(&line) || !succeeds_in_bash(&sandbox, line),
            "succeeds in Bash: {line}"
        );
    }
}

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

fn ran(stage: &Stage, kind: &str, line: &str) -> Value {
    let mut event = stage.by("Alphonse", stage.bash_event(line));
    event["hook_event_name"] = kind.into();
    match kind {
        "PostToolUse" => event["tool_response"] = json!({"stdout": "", "stderr": ""}),
        _ => event["error"] = "Exit code 101\ntest failed".into(),
    }
    event
}

#[test]
fn a_verification_needs_a_test_that_passed() {
    let failed = |stage: &Stage| {
        stage.hook(&ran(stage, "PostToolUseFailure", "cargo test"));
        stage.hook(&ran(stage, "PostToolUse", "cargo test || true"));
        let mut background = ran(stage, "PostToolUse", "cargo test");
        background["tool_response"]["backgroundTaskId"] = "b1".into();
        stage.hook(&background);
        let mut unnamed = ran(stage, "PostToolUse", "cargo test");
        unnamed["tool_input"]["run_in_background"] = true.into();
        stage.hook(&unnamed);
        let records = stage.gates();
        let commands = records.iter().filter(|record| record["kind"] == "command");
        assert_eq!(
            commands.map(|record| &record["status"]).collect::<Vec<_>>(),
            [101]
        );
    };
    let stage = verifying("require");
    failed(&stage);
    stage.stop("Alphonse", "v-1", VERIFIED);
    assert!(
        stage.skipped().contains("no test command"),
        "{}",
        stage.skipped()
    );
    assert_eq!(stage.standing(SINGLE), "verification/1: pa pa pa pa i");
    stage.start("Alphonse", "v-1");
    stage
        .hook(&ran(&stage, "PostToolUse", "cargo test --workspace 2>&1"))
        .is_silent();
    stage.stop("Alphonse", "v-1", VERIFIED);
    assert_eq!(stage.standing(SINGLE), "verification/1: pa pa pa pa pa");
    let proof = &stage.gates().pop().unwrap()["proof"];
    assert_eq!(
        (&proof[0]["kind"], &proof[1]["kind"]),
        (&json!("verdict"), &json!("command"))
    );
    assert!(
        stage
            .run("verify")
            .ends(0)
            .stdout()
            .contains("verification: proved")
    );

    let stage = verifying("record");
    failed(&stage);
    stage.stop("Alphonse", "v-1", VERIFIED);
    let record = stage.gates().pop().unwrap();
    assert_eq!(record["to"], "passed");
    assert!(
        record["unsupported"]
            .as_str()
            .unwrap()
            .contains("no test command")
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

    // The user's control files, and a report that names the environment, stand for a test.
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
        assert_eq!(stage.gates().pop().unwrap()["to"], "passed", "{file}");
    }
    // The test of an earlier phase shows nothing.
    let stage = Stage::with_run(&[]);
    stage.write(
        ".claude/statewarden.yaml",
        "evidence: {mode: require, commands: [./check all]}\n",
    );
    stage.play("Riko", "found");
    stage.play("Senku", "planned");
    stage.hook(&ran(&stage, "PostToolUse", "cargo test"));
    stage.play("Loid", "built");
    stage.play("Lawliet", APPROVED);
    stage.hook(&ran(&stage, "PostToolUse", "cargo test"));
    stage.play("Alphonse", VERIFIED);
    assert!(stage.skipped().contains("no test command"));
    stage.start("Alphonse", "v-2");
    stage.hook(&ran(&stage, "PostToolUse", "./check all -v"));
    stage.stop("Alphonse", "v-2", VERIFIED);
    assert_eq!(stage.gates().pop().unwrap()["to"], "passed");
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
    assert_has(&out, "verification: only in the file");
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
