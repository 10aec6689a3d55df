//! `agentmux`: real sessions shown, checked, and their events read.

use serde_json::json;

use crate::support::Sandbox;

const STATE: &str = include_str!("../fixtures/agentmux/ok-06-done-3-reviewing.state.json");
const EVENTS: &str = include_str!("../fixtures/agentmux/happy-tool_events.jsonl");
const CURSOR: &str = include_str!("../fixtures/agentmux/happy-tool_event_state.json");

fn two_sessions() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".agentmux/.sessions/one/state.json", STATE);
    let broken = STATE.replace("\"reviewing\"", "\"dreaming\"");
    sandbox.write(".agentmux/.sessions/two/state.json", &broken);
    sandbox
}

#[test]
fn sessions_are_shown() {
    let sandbox = two_sessions();
    for args in ["agentmux --json", "agentmux show --json"] {
        let ran = sandbox.run(args).ends(0);
        let sessions = ran.json()["sessions"].clone();
        let one = json!({
            "name": "one", "phase": "reviewing", "last_event": "implementation_completed",
            "resume_phase": "reviewing", "review_iteration": 0, "valid": true, "problems": [],
        });
        assert_eq!(sessions[0], one);
        assert_eq!(
            (&sessions[1]["name"], &sessions[1]["valid"]),
            (&json!("two"), &json!(false))
        );
    }
    let none = Sandbox::new().run("agentmux --json");
    assert_eq!((none.code(), none.json()), (0, json!({ "sessions": [] })));
}

#[test]
fn problems_are_an_answer_of_no() {
    let sandbox = two_sessions();
    let ran = sandbox.run("agentmux validate --json");
    assert_eq!(ran.code(), 1);
    let problems = ran.json()["problems"].clone();
    assert_eq!(problems.as_array().unwrap().len(), 1, "{problems}");
    assert_eq!(problems[0]["session"], "two");
    assert!(
        problems[0]["problem"]
            .as_str()
            .unwrap()
            .contains("dreaming"),
        "{problems}"
    );
    let one = sandbox.run("agentmux validate --session one --json");
    assert_eq!((one.code(), one.json()), (0, json!({ "problems": [] })));
    assert_eq!(sandbox.run("agentmux validate --session three").code(), 2);
}

#[test]
fn unapplied_events_are_whole_lines_behind_the_cursor() {
    let mut sandbox = two_sessions();
    let log = ".agentmux/.sessions/one/tool_events.jsonl";
    sandbox.write(log, EVENTS);
    sandbox.write(".agentmux/.sessions/one/tool_event_state.json", CURSOR);
    // Two sessions, and nothing says which: an error rather than a guess.
    sandbox.run("agentmux events").ends(2);
    let note = json!({ "feature_dir": sandbox.path(".agentmux/.sessions/one") }).to_string();
    sandbox.write(".agentmux/.active_session", &note);
    let applied = sandbox.run("agentmux events --json").json();
    assert_eq!(
        applied,
        json!({ "cursor": EVENTS.len(), "unapplied": [], "torn": false })
    );

    let other = sandbox.path(".agentmux/.sessions/two");
    sandbox.env.push(("FEATURE_DIR", other));
    let of_env = sandbox.run("agentmux events --json").json();
    assert_eq!(of_env["cursor"], 0);
    sandbox.env.clear();

    let more = "{\"tool\":\"submit_done\",\"timestamp\":\"t\",\"payload\":{\"subplan_index\":1}}\n{\"tool\":\"subm";
    sandbox.write(log, &format!("{EVENTS}{more}"));
    let answer = sandbox.run("agentmux events --session one --json").json();
    let event = json!({
        "offset": EVENTS.len(), "tool": "submit_done", "timestamp": "t", "payload": { "subplan_index": 1 },
    });
    assert_eq!(
        answer,
        json!({ "cursor": EVENTS.len(), "unapplied": [event], "torn": true })
    );
    assert_eq!(
        sandbox.read(log),
        format!("{EVENTS}{more}"),
        "the log stays as it is"
    );
}

#[cfg(unix)]
#[test]
fn a_session_that_is_named_by_a_link_is_one_session() {
    let mut sandbox = two_sessions();
    let link = sandbox.base().join("now");
    std::os::unix::fs::symlink(sandbox.path(".agentmux/.sessions/two"), &link).unwrap();
    let link = link.to_str().unwrap().to_owned();
    sandbox.env.push(("FEATURE_DIR", link));
    let sessions = sandbox.run("agentmux --json").json();
    assert_eq!(
        sessions["sessions"].as_array().unwrap().len(),
        2,
        "{sessions}"
    );
    sandbox.run("agentmux events").ends(0);
}
