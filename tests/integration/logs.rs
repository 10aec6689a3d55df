//! The logs: what stands in them, where they lie, and that nothing is lost.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::support::{DENIES, DEVT, EVENTS, Sandbox, assert_has, keys};

/// Has an event refused and gives back the newest record of a log.
#[track_caller]
fn record(sandbox: &Sandbox, log: &str, event: &Value) -> Value {
    let before = sandbox.records(log).len();
    assert_ne!(sandbox.hook(event).decision(), "allow");
    let records = sandbox.records(log);
    assert_eq!(records.len(), before + 1, "one record a call");
    records.into_iter().next_back().unwrap()
}

#[test]
fn a_record_has_the_documented_keys_and_no_others() {
    let sandbox = Sandbox::new();
    let found = record(
        &sandbox,
        DEVT,
        &sandbox.write_event(".devt/state/notes.md", "x"),
    );
    let main = "v id ts source decision rule system tool action file_path name reason suggestion session_id tool_use_id cwd";
    assert_eq!(keys(&found).join(" "), main);
    for (key, value) in [
        ("v", json!(1)),
        ("source", json!("statewarden")),
        ("decision", json!("deny")),
        ("rule", json!("ad-hoc-name")),
        ("system", json!("devt")),
        ("tool", json!("Write")),
        ("action", json!("write")),
        ("file_path", json!(sandbox.path(".devt/state/notes.md"))),
        ("name", json!("notes.md")),
        ("suggestion", json!("scratchpad.md")),
        ("session_id", json!("s-1")),
        ("tool_use_id", json!("toolu_1")),
        ("cwd", json!(sandbox.project())),
    ] {
        assert_eq!(found[key], value, "{key}");
    }

    sandbox.write(
        ".devt/state/workflow.yaml",
        "active: true\nworkflow_id: \"w-7\"\n",
    );
    let event = sandbox.by(
        "devt:tester",
        sandbox.bash_event("touch .devt/state/a.md .devt/state/.lock"),
    );
    let found = record(&sandbox, DEVT, &event);
    let all = "v id ts source decision rule system tool action file_path name reason suggestion session_id workflow_id agent_id agent_type tool_use_id cwd command_excerpt also";
    assert_eq!(keys(&found).join(" "), all);
    assert_eq!(found["agent_type"], "devt:tester", "as the event has it");
    assert_eq!(found["agent_id"], "a-1");
    assert_eq!(found["workflow_id"], "w-7");
    assert_eq!(
        found["command_excerpt"],
        "touch .devt/state/a.md .devt/state/.lock"
    );
    assert_eq!(found["also"].as_array().unwrap().len(), 1);
    assert_eq!(found["also"][0]["rule"], "program-owned");
    assert_eq!(found["also"][0]["name"], ".lock");
}

#[test]
fn the_action_says_what_the_call_would_have_done() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/old.md", "x");
    sandbox.write(".devt/state/.lock", "1");
    for (event, action) in [
        (sandbox.write_event(".devt/state/a.md", "x"), "write"),
        (
            sandbox.event(
                "Edit",
                json!({ "file_path": sandbox.path(".devt/state/a.md") }),
            ),
            "edit",
        ),
        (sandbox.bash_event("echo >> .devt/state/a.md"), "edit"),
        (sandbox.bash_event("rm .devt/state/.lock"), "delete"),
        (sandbox.bash_event("mv .devt/state/.lock /tmp/x"), "move"),
        (sandbox.bash_event("mkdir .devt/state/a"), "mkdir"),
    ] {
        assert_eq!(record(&sandbox, DEVT, &event)["action"], action, "{event}");
    }
}

#[test]
fn ids_are_unique_and_in_the_order_of_time() {
    let sandbox = Sandbox::new();
    for n in 0..20 {
        sandbox.hook(&sandbox.write_event(&format!(".devt/state/n{n}.md"), "x"));
    }
    let records = sandbox.records(DEVT);
    let names: Vec<String> = (0..20).map(|n| format!("n{n}.md")).collect();
    let mut by_id = records.clone();
    by_id.sort_by_key(|record| record["id"].as_str().unwrap().to_owned());
    let found: Vec<&str> = by_id
        .iter()
        .map(|record| record["name"].as_str().unwrap())
        .collect();
    assert_eq!(found, names);
    let ids: BTreeSet<&str> = records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 20);
    let form = regex::Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$").unwrap();
    for record in &records {
        assert!(form.is_match(record["ts"].as_str().unwrap()), "{record}");
    }
}

#[test]
fn devts_denials_lie_with_devt_and_all_others_in_the_programs_folder() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.project().join("web/.devt/state")).unwrap();
    for (path, log) in [
        (".devt/state/notes.md", DEVT),
        (
            "web/.devt/state/notes.md",
            "web/.devt/state/preflight-denies.jsonl",
        ),
        // There is no such directory yet, and a denial does not make it.
        ("api/.devt/state/notes.md", DENIES),
        (".agentmux/.sessions/a/state.json", DENIES),
        (".claude/.docs/260110-a/notes.md", DENIES),
        (".claude/skip-test-verification", DENIES),
        (".claude/statewarden.yaml", DENIES),
        ("openspec/changes/a/review/x.md", DENIES),
        // A work tree's logs are in the main checkout.
        (
            ".claude/worktrees/w/.agentmux/.sessions/a/state.json",
            DENIES,
        ),
        (".claude/worktrees/w/.devt/state/notes.md", DENIES),
    ] {
        let found = record(&sandbox, log, &sandbox.write_event(path, "x"));
        assert_eq!(found["file_path"], sandbox.path(path));
    }
    assert!(!sandbox.exists("api"), "a denial makes no site");
    assert!(!sandbox.exists(".claude/worktrees"));
    assert_eq!(sandbox.read(".claude/statewarden/.gitignore"), "*\n");
}

#[test]
fn a_project_without_trouble_stays_untouched() {
    let sandbox = Sandbox::new();
    let bare = sandbox.base().join("bare");
    fs::create_dir(&bare).unwrap();
    let file = bare.join("a.rs");
    for mut event in [
        sandbox.event("Write", json!({ "file_path": file, "content": "x" })),
        sandbox.bash_event("echo > a.rs && rm -rf build"),
        json!({ "hook_event_name": "SessionStart", "source": "startup", "session_id": "s" }),
        json!({ "hook_event_name": "Stop", "session_id": "s" }),
        json!({ "hook_event_name": "SubagentStop", "session_id": "s", "agent_type": "x", "agent_id": "a" }),
    ] {
        event["cwd"] = bare.to_str().unwrap().into();
        let mut command = sandbox.command("hook");
        command.env("CLAUDE_PROJECT_DIR", &bare);
        crate::support::serve(command, event.to_string().as_bytes()).is_silent();
    }
    assert_eq!(fs::read_dir(&bare).unwrap().count(), 0);
}

#[test]
fn what_a_person_made_of_the_folders_gitignore_stays() {
    let sandbox = Sandbox::new();
    let ignore = ".claude/statewarden/.gitignore";
    sandbox.write(ignore, "events.jsonl\n");
    let event = sandbox.write_event(".claude/test-command", "x");
    sandbox.denied(&event, "protected-file");
    assert_eq!(sandbox.read(ignore), "events.jsonl\n");
    assert_eq!(sandbox.records(DENIES).len(), 1);
}

#[cfg(unix)]
#[test]
fn logs_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    sandbox.hook(&sandbox.write_event(".claude/statewarden.yaml", "x"));
    sandbox.hook_bytes(b"no json");
    for log in [DEVT, DENIES, EVENTS] {
        let mode = fs::metadata(sandbox.project().join(log))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{log}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_the_logs_place_is_not_followed() {
    let sandbox = Sandbox::new();
    let victim = sandbox.base().join("victim");
    fs::write(&victim, "precious\n").unwrap();
    std::os::unix::fs::symlink(&victim, sandbox.project().join(DEVT)).unwrap();
    let ran = sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    ran.reason();
    assert_has(&ran.stderr(), "preflight-denies.jsonl");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n");
}

#[test]
fn one_call_makes_one_record() {
    let sandbox = Sandbox::new();
    let event = sandbox.bash_event(
        "touch .devt/state/a.md .devt/state/b.md .devt/state/plan.md .claude/statewarden.yaml",
    );
    let found = record(&sandbox, DEVT, &event);
    assert_eq!(found["name"], "a.md");
    let also: Vec<&str> = found["also"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(also, ["b.md", "statewarden.yaml"]);
    assert!(!sandbox.exists(DENIES), "not in two logs");
    for one in found["also"].as_array().unwrap() {
        assert_eq!(keys(one), ["rule", "system", "name", "file_path"]);
    }
}

#[test]
fn a_file_that_a_command_names_twice_is_refused_once() {
    let sandbox = Sandbox::new();
    let event =
        sandbox.bash_event("echo a > .devt/state/a.md; touch x; echo b >> .devt/state/a.md");
    let reason = sandbox.denied(&event, "ad-hoc-name");
    assert_eq!(reason.matches("`.devt/state/a.md` ").count(), 1, "{reason}");
    let found = record(&sandbox, DEVT, &event);
    assert!(found["also"].is_null(), "{found}");
}

#[test]
fn what_a_call_would_write_is_never_logged() {
    let mut sandbox = Sandbox::new();
    sandbox
        .env
        .push(("DEPLOY_NOTE", "environment-text".to_owned()));
    let content = "content-text\n";
    for event in [
        sandbox.write_event(".devt/state/notes.md", content),
        sandbox.write_event(".devt/state/impl-summary.json", "content-text"),
        sandbox.edit_event(".devt/state/notes.md", content, content),
        sandbox.event(
            "mcp__fs__write_file",
            json!({ "path": sandbox.path(".devt/state/notes.md"), "content": content }),
        ),
        sandbox.bash_event("cat > .devt/state/notes.md <<'EOF'\ncontent-text\nEOF"),
        sandbox.bash_event("cat <<EOF > .devt/state/notes.md\nline\ncontent-text\nEOF\n"),
        sandbox.bash_event("true\ntee .devt/state/notes.md <<-X\n\tcontent-text\nX\ntrue"),
        sandbox.bash_event("echo $DEPLOY_NOTE > .devt/state/notes.md"),
    ] {
        sandbox.hook(&event);
    }
    let log = sandbox.read(DEVT);
    assert!(log.lines().count() >= 7, "{log}");
    for text in ["content-text", "environment-text"] {
        assert!(!log.contains(text), "`{text}` is in: {log}");
    }
}

#[test]
fn the_excerpt_of_a_command_is_short() {
    let sandbox = Sandbox::new();
    for command in [
        format!("echo {} > .devt/state/notes.md", "é".repeat(500)),
        format!("{} > .devt/state/notes.md", "echo a; ".repeat(500)),
    ] {
        let found = record(&sandbox, DEVT, &sandbox.bash_event(&command));
        let excerpt = found["command_excerpt"].as_str().unwrap();
        assert!(excerpt.chars().count() <= 200, "{excerpt}");
    }
    let plain = "sort -u a.txt | tee .devt/state/notes.md && git push -u origin main # remark";
    let found = record(&sandbox, DEVT, &sandbox.bash_event(plain));
    let kept = "sort -u … | tee .devt/state/notes.md && git … -u … …";
    assert_eq!(found["command_excerpt"], kept);
}
