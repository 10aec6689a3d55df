//! Deny records as the hook writes them, in any number.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{DEVT, EVENTS, Sandbox};

/// A denial of a Write to the project's devt directory.
pub fn denial(sandbox: &Sandbox, id: &str, ts: &str, name: &str) -> Value {
    let reason = format!(
        "`.devt/state/{name}` is denied (ad-hoc-name): the contract of devt knows no name `{name}`. \
         Use `.devt/state/scratchpad.md` instead. Scratch files belong in the OS temp directory."
    );
    json!({
        "v": 1, "id": id, "ts": ts, "source": "statewarden", "decision": "deny",
        "rule": "ad-hoc-name", "system": "devt", "tool": "Write", "action": "write",
        "file_path": sandbox.path(&format!(".devt/state/{name}")), "name": name,
        "reason": reason, "suggestion": "scratchpad.md",
        "session_id": "s-1", "workflow_id": "w-1", "cwd": sandbox.project(),
    })
}

/// The same with other values under some keys.
pub fn with(mut record: Value, keys: Value) -> Value {
    for (key, value) in keys.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

/// Lines of a log.
pub fn lines(records: &[Value]) -> String {
    records.iter().fold(String::new(), |mut text, record| {
        writeln!(text, "{record}").unwrap();
        text
    })
}

/// `n` denials over 100 days, 10 names, 5 agents, 3 rules and 20 sessions, in
/// the order of time; the same every time.
pub fn many(sandbox: &Sandbox, n: u64) -> Vec<Value> {
    const NAMES: [&str; 10] = [
        "notes.md",
        "todo.txt",
        "plan-x.md",
        "debug.md",
        "tmp.json",
        "a b.md",
        "out.log",
        "x.yaml",
        "review_auth.md",
        "impl-summry.json",
    ];
    const AGENTS: [Option<&str>; 5] = [
        None,
        Some("programmer"),
        Some("tester"),
        Some("devt:code_reviewer"),
        Some("agent-flow:Lawliet"),
    ];
    const RULES: [&str; 3] = ["ad-hoc-name", "wrong-writer", "bulk-removal"];
    // A multiplicative generator: spread enough, and no dependency.
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let begin = chrono::DateTime::from_timestamp_millis(1_767_225_600_000).unwrap();
    let record = |at| {
        let step = 100 * 86_400_000 / n.max(1);
        let ts = begin + chrono::TimeDelta::milliseconds(i64::try_from(at * step).unwrap());
        let ts = ts.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let id = format!("{at:014x}-00000001-00");
        let keys = json!({
            "agent_type": AGENTS[draw(5)], "rule": RULES[draw(3)], "session_id": format!("s-{}", draw(20)),
        });
        let mut record = with(denial(sandbox, &id, &ts, NAMES[draw(10)]), keys);
        if record["agent_type"].is_null() {
            record.as_object_mut().unwrap().remove("agent_type");
        }
        record
    };
    (0..n).map(record).collect()
}

/// How an actor reaches a project does not matter for what is known about it.
#[cfg(unix)]
#[test]
fn denials_behind_a_link_recover() {
    let sandbox = Sandbox::new();
    let link = sandbox.base().join("link");
    std::os::unix::fs::symlink(sandbox.project(), &link).unwrap();
    let call = |kind: &str, name: &str| {
        let mut event = sandbox.write_event(&format!(".devt/state/{name}"), "x\n");
        event["hook_event_name"] = kind.into();
        event["cwd"] = link.to_str().unwrap().into();
        sandbox.hook_of_project(&link, &event)
    };
    call("PreToolUse", "notes.md").is_denied("ad-hoc-name");
    call("PostToolUse", "scratchpad.md");
    let events = sandbox.records(EVENTS);
    let recovered = |record: &&Value| record["decision"] == "recovered";
    assert_eq!(events.iter().filter(recovered).count(), 1, "{events:?}");
}

/// The same name may be written in two roots at once.
#[test]
fn a_denial_is_recorded_in_the_site_that_it_is_about() {
    let sandbox = Sandbox::new();
    let sites = [".devt/state", ".claude/worktrees/w/.devt/state"];
    for site in sites {
        sandbox.write(
            &format!("{site}/workflow.yaml"),
            "workflow_id: 'wf-1' # imported\n",
        );
    }
    let [good, bad] = ["DONE", "WRONG"].map(|status| {
        format!(r#"{{"status":"{status}","verdict":"APPROVED","agent":"code-reviewer"}}"#)
    });
    let command = format!(
        "cat > {}/review.json <<'E'\n{good}\nE\ncat > {}/review.json <<'E'\n{bad}\nE\n",
        sites[0], sites[1]
    );
    sandbox.denied(&sandbox.bash_event(&command), "malformed-content");
    assert!(!sandbox.exists(DEVT));
    let records = sandbox.records(".claude/worktrees/w/.devt/state/preflight-denies.jsonl");
    assert_eq!(records[0]["workflow_id"], "wf-1", "{records:?}");
}
