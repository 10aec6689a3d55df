//! `session`: the update operations, one after the other and out of order.

use serde_json::{Value, json};

use crate::support::{GATES, Sandbox, assert_has};

fn state(sandbox: &Sandbox, id: &str) -> Value {
    serde_json::from_str(&sandbox.read(&format!(".claude/.docs/{id}/state.json"))).unwrap()
}

/// Starts a session and gives its id.
fn init(sandbox: &Sandbox, args: &[&str]) -> String {
    let args = [&["session", "init", "--json"], args].concat();
    let begun = sandbox.run(&args).json();
    let file = begun["file"].as_str().unwrap();
    file.split('/').nth(2).unwrap().to_owned()
}

#[test]
fn a_session_goes_from_phase_to_phase() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/.specs/jwt.md",
        "---\nfeature_id: jwt-auth\nstatus: done\n---\n",
    );
    let spec = ".claude/.specs/jwt.md";
    let id = init(
        &sandbox,
        &["Add JWT auth", "--fast", "--auto", "--spec", spec],
    );
    assert_eq!(id.split_once('-').unwrap().1, "add-jwt-auth");
    check_new(&state(&sandbox, &id), spec);

    sandbox.run("session start research").ends(0);
    sandbox
        .run("session decide research --agent scouter --mode parallel --input a --input b")
        .ends(0);
    let complete = "session complete research --report research-report.md";
    let report = format!(".claude/.docs/{id}/research-report.md");
    let said = sandbox.run(complete).ends(2).said();
    assert_has(&said, &report);
    sandbox.write(&report, " \n");
    let said = sandbox.run(complete).ends(2).said();
    assert_has(&said, &format!("empty report `{report}`; write it first"));
    sandbox.run("session complete research").ends(0);
    assert_eq!(
        state(&sandbox, &id)["phases"]["research"]["report"],
        json!(null)
    );
    sandbox.write(&report, "# Research\n");
    sandbox.run(complete).ends(0);
    sandbox.run("session skip plan").ends(0);
    sandbox
        .run(&format!("session complete implement --session {id}"))
        .ends(0);
    let now = state(&sandbox, &id);
    let phases = &now["phases"];
    assert_eq!(phases["research"]["report"], "research-report.md");
    assert_eq!(
        (&phases["plan"]["skipped"], &phases["plan"]["started_at"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(phases["implement"]["status"], "completed");
    let decision =
        json!({ "agent": "scouter", "mode": "parallel", "instances": 2, "inputs": ["a", "b"] });
    assert_eq!(now["dispatcher_decisions"]["research"], decision);

    let shown = sandbox.run("session show --json").json()["sessions"][0].clone();
    assert_eq!(
        (&shown["id"], &shown["phase"], &shown["task"]),
        (&json!(id), &json!("quality"), &json!("Add JWT auth"))
    );
    assert_eq!(sandbox.records(GATES)[2]["phase"], "research");
    assert_eq!(
        moves(&sandbox),
        [
            json!(["init", "passed", "session init", null]),
            json!(["research", "in_progress", "session start", null]),
            json!([null, null, "session decide", null]),
            json!(["research", "passed", "session complete", null]),
            json!([null, null, "session complete", null]),
            json!(["plan", "skipped", "session skip", null]),
            json!(["implement", "passed", "session complete", null]),
        ]
    );
}

/// A session that was begun with `--fast --auto` and a spec.
#[track_caller]
fn check_new(new: &Value, spec: &str) {
    assert_eq!(
        (&new["workflow"], &new["auto_mode"]),
        (&json!("code:fast"), &json!(true))
    );
    assert_eq!(
        new["spec"],
        json!({ "id": "jwt-auth", "path": spec, "status": "done" })
    );
}

/// What the gate records say of each move, and who made it.
fn moves(sandbox: &Sandbox) -> Vec<Value> {
    let told = |record: &Value| {
        let keys = ["gate", "to", "evidence", "agent_type"];
        json!(keys.map(|key| &record[key]))
    };
    sandbox.records(GATES).iter().map(told).collect()
}

/// The hook may have been first.
#[test]
fn a_step_that_was_taken_already_is_no_error() {
    let sandbox = Sandbox::new();
    let id = init(&sandbox, &["t"]);
    for verb in ["start", "complete", "skip"] {
        let phase = if verb == "skip" { "plan" } else { "research" };
        sandbox.run(&format!("session {verb} {phase}")).ends(0);
        let before = state(&sandbox, &id);
        let said = sandbox
            .run(&format!("session {verb} {phase}"))
            .ends(0)
            .said();
        assert_has(&said, "already");
        assert_eq!(state(&sandbox, &id), before);
    }
    sandbox.run("session start research").ends(2);
    sandbox.run("session complete plan").ends(2);
    // What the step would not take is an error all the same.
    for report in ["../x", "plan-report.md"] {
        let said = sandbox
            .run(&format!("session complete research --report {report}"))
            .ends(2)
            .said();
        assert_has(&said, "`research-report.md`");
    }
}

/// A flag is one behind texts, too.
#[test]
fn a_text_may_begin_with_a_dash() {
    let sandbox = Sandbox::new();
    let id = init(&sandbox, &["t"]);
    let decide = ["session", "decide", "research", "--agent", "scouter"];
    for (mode, flags, inputs) in [
        ("single", &["--input", "- Search"][..], &["- Search"][..]),
        ("single", &["--input=--all of it"], &["--all of it"]),
        (
            "parallel",
            &[
                "--input",
                "a",
                "-b",
                "--instances",
                "3",
                "--input",
                "- [ ] c",
            ],
            &["a", "-b", "- [ ] c"],
        ),
        (
            "parallel",
            &["--input", "", "--two words"],
            &["", "--two words"],
        ),
    ] {
        sandbox
            .run(&[&decide[..], &["--mode", mode], flags].concat())
            .ends(0);
        let decided = &state(&sandbox, &id)["dispatcher_decisions"]["research"];
        assert_eq!(decided["inputs"], json!(inputs), "{flags:?}");
    }
    for (flags, word) in [
        (&["--input"][..], "a value is required"),
        (&["--input", "--mode", "single"], "a value is required"),
        (&["--input", "a", "--instnaces", "1"], "'--instances'"),
        (&["--input", "a", "--", "b"], "'b'"),
    ] {
        let said = sandbox.run(&[&decide[..], flags].concat()).ends(2).said();
        assert!(said.contains(word), "{flags:?} says: {said}");
    }
}

#[test]
fn what_the_schema_forbids_is_an_error_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.run("session start research").ends(2);
    let id = init(&sandbox, &["t"]);
    let file = format!(".claude/.docs/{id}/state.json");
    let before = sandbox.read(&file);
    for (args, word) in [
        ("init t --spec nowhere.md", "nowhere.md"),
        ("start plan", "research"),
        ("start dreaming", "[possible values: research, plan,"),
        ("start init", "[possible values: research, plan,"),
        (
            "complete research --report plan-report.md",
            "research-report.md",
        ),
        ("skip research --session x", "no session `x`"),
        (
            "decide plan --agent scouter --mode single --input a",
            "research and review",
        ),
        (
            "decide review --agent nobody --mode single --input a",
            "nobody",
        ),
        (
            "decide review --agent reviewer --mode single --input a b",
            "single",
        ),
        (
            "decide review --agent reviewer --mode parallel --instances 3 --input a b",
            "one input",
        ),
        ("decide review --agent reviewer --mode single", "--input"),
    ] {
        let said = sandbox.run(&format!("session {args}")).ends(2).said();
        assert!(said.contains(word), "{args} says: {said}");
    }
    let said = sandbox.run(&["session", "init", "  "]).ends(2).said();
    assert_has(&said, "empty");
    assert_eq!(sandbox.read(&file), before);
}

#[test]
fn the_newest_unfinished_session_is_meant() {
    let sandbox = Sandbox::new();
    let (first, second) = (
        init(&sandbox, &["same task"]),
        init(&sandbox, &["same task"]),
    );
    assert_eq!(second, format!("{first}-2"));
    let touch = |id: &str, at: &str| {
        let mut document = state(&sandbox, id);
        document["updated_at"] = at.into();
        sandbox.write(
            &format!(".claude/.docs/{id}/state.json"),
            &document.to_string(),
        );
    };
    touch(&first, "2030-01-01T00:00:00Z");
    touch(&second, "2030-01-01T00:00:00Z");
    let said = sandbox.run("session start research").ends(2).said();
    assert_has(&said, "same time");
    assert_has(&said, "--session");
    touch(&first, "2030-01-01T00:00:01Z");
    sandbox.run("session start research").ends(0);
    assert_eq!(
        state(&sandbox, &first)["phases"]["research"]["status"],
        "in_progress"
    );
    assert_eq!(
        state(&sandbox, &second)["phases"]["research"]["status"],
        "pending"
    );
}

#[test]
fn a_session_that_is_over_is_still_shown() {
    let sandbox = Sandbox::new();
    let none = sandbox.run("session show").ends(2).said();
    assert_has(&none, "statewarden session init");
    let id = init(&sandbox, &["one"]);
    for phase in ["research", "plan", "implement", "quality", "review"] {
        sandbox.run(&format!("session skip {phase}")).ends(0);
    }
    let shown = sandbox.run("session show").ends(0).said();
    assert_has(&shown, &id);
    sandbox.run("session start review").ends(2);
}

#[test]
fn a_session_that_cannot_be_read_is_named() {
    let sandbox = Sandbox::new();
    let id = init(&sandbox, &["one"]);
    sandbox.write(&format!(".claude/.docs/{id}/state.json"), "{");
    for args in ["session show", "session start research"] {
        let error = sandbox.run(args).ends(2).said();
        let named = format!("and `{id}` cannot be read: not valid JSON");
        assert_has(&error, &named);
    }
}

#[test]
fn of_two_sessions_equally_new_one_must_be_named() {
    let sandbox = Sandbox::new();
    let ids = [init(&sandbox, &["one"]), init(&sandbox, &["two"])];
    for id in &ids {
        let file = format!(".claude/.docs/{id}/state.json");
        let mut state = state(&sandbox, id);
        state["updated_at"] = "2026-01-10T10:00:00Z".into();
        sandbox.write(&file, &state.to_string());
    }
    let error = sandbox.run("session show").ends(2).said();
    for id in &ids {
        assert_has(&error, &format!("`{id}`"));
    }
    assert!(
        error.ends_with("; name one with `--session ID`\n"),
        "{error}"
    );
    for named in [ids[0].clone(), format!("{}/state.json", ids[0])] {
        sandbox
            .run(&format!("session show --session {named}"))
            .ends(0);
    }
}
