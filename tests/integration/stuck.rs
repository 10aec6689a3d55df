//! `stuck`: three unresolved denials of this workflow.

use serde_json::{Value, json};

use crate::records::{denial, lines, with};
use crate::support::{DEVT, EVENTS, Sandbox, assert_has};

const BEGUN: &str = "2026-03-01T09:00:00.000Z";

fn workflow(sandbox: &Sandbox) {
    let text = format!("workflow_id: w-1\nworkflow_type: dev\nactive: true\ncreated_at: {BEGUN}\n");
    sandbox.write(".devt/state/workflow.yaml", &text);
}

fn three(sandbox: &Sandbox) -> [Value; 3] {
    let at = |id: &str, ts: &str| denial(sandbox, id, ts, "notes.md");
    [
        at("a1", BEGUN),
        at("a2", "2026-03-01T10:00:00.000Z"),
        at("a3", "2026-03-01T11:00:00.000Z"),
    ]
}

#[track_caller]
fn check(sandbox: &Sandbox, count: usize, what: &str) {
    let ran = sandbox.run("stuck --json");
    let answer = ran.json();
    let stuck = count >= 3;
    assert_eq!(
        (ran.code(), &answer["stuck"], &answer["deny_count"]),
        (i32::from(stuck), &json!(stuck), &json!(count)),
        "{what}: {answer}"
    );
    assert_eq!(answer["denies"].as_array().unwrap().len(), count, "{what}");
}

#[test]
fn three_denials_are_stuck() {
    let sandbox = Sandbox::new();
    workflow(&sandbox);
    check(&sandbox, 0, "no log");
    let three = three(&sandbox);
    sandbox.write(DEVT, &lines(&three[..2]));
    check(&sandbox, 2, "two");
    sandbox.write(DEVT, &lines(&three));
    check(&sandbox, 3, "three, one of them at the very start");
    let answer = sandbox.run("stuck --json").json();
    assert_eq!(answer["session_started_at"], BEGUN);
    assert_eq!(answer["denies"][0]["id"], "a1");
    assert_eq!(answer["denies"][0]["source"], "statewarden");
    let text = sandbox.run("stuck");
    assert!(
        text.stdout().starts_with("stuck: 3 unresolved denials"),
        "{}",
        text.stdout()
    );
}

/// A removal of the whole state directory has a path, and no name in it.
#[test]
fn a_denial_without_a_name_is_told_by_its_path() {
    let sandbox = Sandbox::new();
    workflow(&sandbox);
    let dir = sandbox.path(".devt/state");
    let keys = json!({"rule": "bulk-removal", "file_path": dir, "name": ""});
    let [first, ..] = three(&sandbox);
    sandbox.write(DEVT, &lines(&[with(first, keys)]));
    let text = sandbox.run("stuck").stdout();
    assert_has(&text, "main  bulk-removal  .devt/state");
    sandbox.run("denies report --html r.html");
    let page = sandbox.read("r.html");
    assert_has(&page, r#""name":".devt/state""#);
}

/// One record in the place of the third does not make the workflow stuck.
#[test]
fn what_does_not_count() {
    for (what, keys) in [
        (
            "before the workflow",
            json!({"ts": "2026-03-01T08:59:59.999Z"}),
        ),
        ("another workflow", json!({"workflow_id": "w-0"})),
        ("a foreign record", json!({"source": "preflight"})),
        ("a warning", json!({"decision": "warn"})),
        ("a detection", json!({"decision": "detected"})),
        ("a heartbeat", json!({"decision": "heartbeat"})),
        (
            "a recovery",
            json!({"decision": "recovered", "resolves": "a1"}),
        ),
        ("no time", json!({"ts": "then"})),
    ] {
        let sandbox = Sandbox::new();
        workflow(&sandbox);
        let [first, second, third] = three(&sandbox);
        sandbox.write(DEVT, &lines(&[first, second, with(third, keys)]));
        check(&sandbox, 2, what);
    }
}

#[test]
fn a_recovery_takes_a_denial_away() {
    let sandbox = Sandbox::new();
    workflow(&sandbox);
    sandbox.write(DEVT, &lines(&three(&sandbox)));
    let recovery = |resolves: &str| json!({"v": 1, "id": "e", "ts": BEGUN, "source": "statewarden", "decision": "recovered", "resolves": resolves});
    sandbox.write(EVENTS, &lines(&[recovery("other")]));
    check(&sandbox, 3, "another denial's recovery");
    sandbox.write(EVENTS, &lines(&[recovery("a2"), recovery("a2")]));
    check(&sandbox, 2, "one recovered");
    // One that names no denial closes none, not even one without an id.
    let [first, second, mut third] = three(&sandbox);
    third.as_object_mut().unwrap().remove("id");
    sandbox.write(DEVT, &lines(&[first, second, third]));
    sandbox.write(EVENTS, &lines(&[recovery("")]));
    check(&sandbox, 3, "a recovery of nothing");
}

#[test]
fn rotated_logs_and_records_without_a_workflow_count() {
    let sandbox = Sandbox::new();
    workflow(&sandbox);
    let [first, second, mut third] = three(&sandbox);
    third.as_object_mut().unwrap().remove("workflow_id");
    sandbox.write(
        ".devt/state/.archive/preflight-denies-2026-03-01T10-30-00-000Z.jsonl",
        &lines(&[first]),
    );
    sandbox.write(DEVT, &lines(&[second, third]));
    check(&sandbox, 3, "over two files");
}

#[test]
fn without_a_workflow_nothing_is_stuck() {
    let sandbox = Sandbox::new();
    sandbox.write(DEVT, &lines(&three(&sandbox)));
    check(&sandbox, 0, "no workflow.yaml");
    assert_eq!(
        sandbox.run("stuck --json").json()["session_started_at"],
        Value::Null
    );
}

#[test]
fn every_workflow_is_asked() {
    let sandbox = Sandbox::new();
    workflow(&sandbox);
    let text = format!("workflow_id: w-2\ncreated_at: {BEGUN}\n");
    sandbox.write("apps/web/.devt/state/workflow.yaml", &text);
    let other = three(&sandbox).map(|record| with(record, json!({"workflow_id": "w-2"})));
    sandbox.write(
        "apps/web/.devt/state/preflight-denies.jsonl",
        &lines(&other),
    );
    check(&sandbox, 3, "the other one");
    let workflows = &sandbox.run("stuck --json").json()["workflows"];
    let stuck: Vec<bool> = workflows
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["stuck"] == true)
        .collect();
    assert_eq!(stuck, [false, true]);
}

/// The hook's own records, end to end.
#[test]
fn three_refusals_by_the_hook_are_stuck_until_one_recovers() {
    let sandbox = Sandbox::new();
    let text = "workflow_id: w-1\ncreated_at: 2020-01-01T00:00:00.000Z\n";
    sandbox.write(".devt/state/workflow.yaml", text);
    for name in ["a.md", "b.md", "c.md"] {
        sandbox.denied(
            &sandbox.write_event(&format!(".devt/state/{name}"), "x"),
            "ad-hoc-name",
        );
    }
    check(&sandbox, 3, "refused");
    let mut event = sandbox.write_event(".devt/state/scratchpad.md", "x");
    sandbox.write(".devt/state/scratchpad.md", "x");
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = json!({"type": "create"});
    sandbox.hook(&event);
    check(
        &sandbox,
        0,
        "an allowed name in the same directory closes them",
    );
}

#[test]
fn a_byte_order_mark_hides_no_denial_and_a_torn_line_is_told_once() {
    let sandbox = Sandbox::new();
    workflow(&sandbox);
    let records = lines(&three(&sandbox));
    sandbox.write(DEVT, &format!("\u{feff}{records}{{\"torn\n"));
    check(&sandbox, 3, "with a mark");
    let told = sandbox.run("stuck").stderr();
    assert_eq!(told.matches("1 unreadable line").count(), 1, "{told}");
    let listed = sandbox.run("denies --json").json();
    assert_eq!(listed["denies"].as_array().unwrap().len(), 3);
}

/// Beside devt no workflow says when it began.
#[test]
fn of_other_systems_the_session_that_was_denied_last_counts_while_it_works() {
    let sandbox = Sandbox::new();
    let at = |session: &str, hour: u32, system: &str| {
        let id = format!("{session}-{hour}-{system}");
        let ts = format!("2026-03-01T{hour:02}:00:00.000Z");
        let record = denial(&sandbox, &id, &ts, "review-1.md");
        with(record, json!({ "system": system, "session_id": session }))
    };
    let mut records: Vec<Value> = (1..=3).map(|hour| at("old", hour, "groups")).collect();
    let log = ".claude/statewarden/denies.jsonl";
    sandbox.write(log, &lines(&records));
    check(&sandbox, 3, "one session");
    records.push(at("new", 4, "session"));
    sandbox.write(log, &lines(&records));
    check(&sandbox, 1, "a later one began, and the old one is over");
    records.push(at("old", 5, "agent-flow"));
    sandbox.write(log, &lines(&records));
    check(&sandbox, 3, "they work side by side");
}

/// A file system such as tmpfs keeps any time that it is given.
#[cfg(target_os = "linux")]
#[test]
fn a_file_time_beyond_every_calendar_is_the_latest_one() {
    let sandbox = Sandbox::new();
    let far = std::path::Path::new("/dev/shm").join(sandbox.base().file_name().unwrap());
    if std::fs::write(&far, "active: true\n").is_err() {
        return;
    }
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 << 44);
    std::fs::File::open(&far)
        .unwrap()
        .set_modified(time)
        .unwrap();
    sandbox.write(DEVT, &lines(&three(&sandbox)));
    for name in ["workflow.yaml", "scratchpad.md", ".x.4711.tmp"] {
        let link = sandbox.path(&format!(".devt/state/{name}"));
        std::os::unix::fs::symlink(&far, link).unwrap();
    }
    let page = sandbox.path("page.html");
    let ran = ["stuck", "denies report --html", "doctor"].map(|verb| {
        let page = verb.ends_with("--html").then_some(page.as_str());
        let args: Vec<&str> = verb.split(' ').chain(page).collect();
        (verb, sandbox.run(&args))
    });
    std::fs::remove_file(&far).unwrap();
    for (verb, ran) in &ran {
        let said = ran.stdout() + &ran.stderr();
        assert!(!said.contains("panicked"), "{verb}: {said}");
    }
    let [(_, stuck), (_, report), _] = ran;
    assert!(
        stuck.stdout().starts_with("not stuck: 0"),
        "{}",
        stuck.stdout()
    );
    assert_eq!((stuck.code(), report.code()), (0, 0));
}
