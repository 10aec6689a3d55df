//! The logs: what stands in them, where they lie, and that nothing is lost.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

const DEVT: &str = ".devt/state/preflight-denies.jsonl";
const DENIES: &str = ".claude/statewarden/denies.jsonl";
const EVENTS: &str = ".claude/statewarden/events.jsonl";

fn keys(record: &Value) -> Vec<&str> {
    record
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// Has an event refused and gives back the newest record of a log.
#[track_caller]
fn record(sandbox: &Sandbox, log: &str, event: &Value) -> Value {
    let before = sandbox.records(log).len();
    assert_ne!(sandbox.hook(event).verdict(), "allow");
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
    let main = [
        "v",
        "id",
        "ts",
        "source",
        "decision",
        "rule",
        "system",
        "tool",
        "action",
        "file_path",
        "name",
        "reason",
        "suggestion",
        "session_id",
        "tool_use_id",
        "cwd",
    ];
    assert_eq!(keys(&found), main);
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
    let all = [
        "v",
        "id",
        "ts",
        "source",
        "decision",
        "rule",
        "system",
        "tool",
        "action",
        "file_path",
        "name",
        "reason",
        "suggestion",
        "session_id",
        "workflow_id",
        "agent_id",
        "agent_type",
        "tool_use_id",
        "cwd",
        "command_excerpt",
        "also",
    ];
    assert_eq!(keys(&found), all);
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
        let mut command = sandbox.command(&["hook"]);
        command.env("CLAUDE_PROJECT_DIR", &bare);
        crate::support::serve(command, event.to_string().as_bytes()).is_silent();
    }
    assert_eq!(fs::read_dir(&bare).unwrap().count(), 0);
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
    assert_eq!(
        ran.json()["hookSpecificOutput"]["permissionDecision"],
        "deny"
    );
    assert!(
        ran.stderr().contains("preflight-denies.jsonl"),
        "{}",
        ran.stderr()
    );
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n");
}

#[test]
fn a_line_is_never_longer_than_its_bound() {
    let sandbox = Sandbox::new();
    for filler in ["x", "é", "\u{1f980}", "\"", "\\", "\n", "\u{1}", "a b"] {
        let long = filler.repeat(20_000);
        let mut event = sandbox.bash_event(&format!(
            "echo '{}' > .devt/state/notes.md",
            long.replace('\'', "")
        ));
        for key in ["session_id", "tool_use_id", "agent_type", "agent_id"] {
            event[key] = long.clone().into();
        }
        assert_eq!(sandbox.hook(&event).verdict(), "ad-hoc-name");
        let mut event = sandbox.write_event(&format!(".devt/state/n{long}n"), "x");
        event["agent_type"] = long.clone().into();
        event["session_id"] = long.into();
        assert_ne!(sandbox.hook(&event).verdict(), "allow");
    }
    let names = format!("touch .devt/state/{}{{1..50}}.md", "n".repeat(150));
    sandbox
        .hook(&sandbox.bash_event(&names))
        .is_denied("ad-hoc-name");
    let log = sandbox.read(DEVT);
    assert_eq!(log.lines().count(), 17);
    for line in log.lines() {
        assert!(line.len() < 4_032, "{} bytes", line.len());
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["decision"], "deny");
        assert_eq!(record["system"], "devt");
        assert!(
            ["ad-hoc-name", "path-escape", "undeclared-directory"]
                .iter()
                .any(|rule| record["rule"] == *rule)
        );
        assert_eq!(record["ts"].as_str().unwrap().len(), 24);
        assert!(record["id"].as_str().unwrap().len() > 20);
    }
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
fn a_torn_last_line_is_mended_by_the_next_record_and_left_out_by_readers() {
    let sandbox = Sandbox::new();
    sandbox.hook(&sandbox.write_event(".devt/state/a.md", "x"));
    for (n, torn) in ["{\"v\":1,\"id\":\"0006", "x", "\u{e9}\u{e9}", "{}"]
        .iter()
        .enumerate()
    {
        let text = format!("{}{torn}", sandbox.read(DEVT));
        sandbox.write(DEVT, &text);
        sandbox.hook(&sandbox.write_event(&format!(".devt/state/b{n}.md"), "x"));
        let after = sandbox.read(DEVT);
        assert!(after.starts_with(&format!("{text}\n{{\"v\":1")), "{after}");
        assert!(after.ends_with("}\n"));
        let listed = sandbox.run(&["denies", "list", "--json"]);
        assert_eq!(listed.code(), 0);
        assert_eq!(
            listed.json()["denies"].as_array().unwrap().len(),
            n + 2,
            "{torn}"
        );
    }
    // Torn in the middle of a character.
    let mut bytes = fs::read(sandbox.project().join(DEVT)).unwrap();
    bytes.extend_from_slice(b"{\"reason\":\"\xc3");
    fs::write(sandbox.project().join(DEVT), bytes).unwrap();
    sandbox.hook(&sandbox.write_event(".devt/state/c.md", "x"));
    let listed = sandbox.run(&["denies", "--json"]).json();
    assert_eq!(listed["denies"].as_array().unwrap().len(), 6);
}

/// Lines of `bytes` bytes in all, each a record of its own.
fn filler(bytes: usize, tag: &str) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        let n = text.len();
        text += &format!(
            "{{\"v\":1,\"id\":\"{tag}-{n:08}\",\"ts\":\"2026-01-01T00:00:00.000Z\",\"source\":\"statewarden\",\"decision\":\"deny\",\"rule\":\"ad-hoc-name\",\"system\":\"devt\",\"reason\":\"r\"}}\n"
        );
    }
    text
}

/// The rotated files of a log, oldest first.
fn generations(sandbox: &Sandbox, dir: &str, stem: &str) -> Vec<String> {
    let entries = fs::read_dir(sandbox.project().join(dir))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name.starts_with(&format!("{stem}-2")));
    names.sort();
    names
}

#[test]
fn a_full_log_moves_to_the_archive_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    for (log, path, dir, stem) in [
        (
            DEVT,
            ".devt/state/notes.md",
            ".devt/state/.archive",
            "preflight-denies",
        ),
        (
            DENIES,
            ".claude/statewarden.yaml",
            ".claude/statewarden",
            "denies",
        ),
    ] {
        let old = filler(65_400, "old");
        sandbox.write(log, &old);
        sandbox.hook(&sandbox.write_event(path, "x"));
        assert_eq!(sandbox.records(log).len(), 1, "{log} begins anew");
        let archived = generations(&sandbox, dir, stem);
        assert_eq!(archived.len(), 1, "{archived:?}");
        assert_eq!(sandbox.read(&format!("{dir}/{}", archived[0])), old);
        let now = fs::metadata(sandbox.project().join(log)).unwrap().len();
        assert!(now < 65_536);
        let all = sandbox.run(&["denies", "--all", "--json"]).json();
        let newest = sandbox.run(&["denies", "--json"]).json();
        let len = |document: &Value| document["denies"].as_array().unwrap().len();
        assert!(
            len(&all) > 300 && len(&newest) <= 2,
            "{} {}",
            len(&all),
            len(&newest)
        );
    }
}

#[test]
fn a_log_below_its_bound_does_not_move() {
    let sandbox = Sandbox::new();
    let old = filler(60_000, "old");
    sandbox.write(DEVT, &old);
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    assert!(sandbox.read(DEVT).starts_with(&old));
    assert!(!sandbox.exists(".devt/state/.archive"));
}

#[test]
fn every_full_generation_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "log: {max_bytes: 65536}\narchive: {runs: 1}\n",
    );
    let dir = ".devt/state/.archive";
    for n in 0..4 {
        sandbox.write(DEVT, &filler(65_500, &format!("g{n}")));
        sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    }
    let kept = generations(&sandbox, dir, "preflight-denies");
    assert_eq!(kept.len(), 4, "{kept:?}");
    for (n, name) in kept.iter().enumerate() {
        assert!(
            sandbox
                .read(&format!("{dir}/{name}"))
                .contains(&format!("\"g{n}-"))
        );
    }
}

/// Starts the hook with its event written, but does not wait for it.
fn start(sandbox: &Sandbox, event: &Value) -> Child {
    use std::io::Write;
    let mut command = sandbox.command(&["hook"]);
    command.env("CLAUDE_PROJECT_DIR", sandbox.project());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event.to_string().as_bytes())
        .unwrap();
    child
}

/// Has 64 processes refuse at once; the names in the log and its archive.
fn crowd(sandbox: &Sandbox, log: &str, events: impl Fn(usize) -> Value) -> Vec<Value> {
    let children: Vec<Child> = (0..64).map(|n| start(sandbox, &events(n))).collect();
    for child in children {
        assert_ne!(
            Ran::from(child.wait_with_output().unwrap()).verdict(),
            "allow"
        );
    }
    sandbox.records(log)
}

fn distinct(records: &[Value], key: &str) -> usize {
    records
        .iter()
        .map(|record| record[key].as_str().unwrap())
        .collect::<BTreeSet<_>>()
        .len()
}

#[test]
fn sixty_four_processes_at_once_lose_nothing_and_tear_nothing() {
    let sandbox = Sandbox::new();
    let records = crowd(&sandbox, DEVT, |n| {
        sandbox.write_event(&format!(".devt/state/n{n}.md"), "x")
    });
    assert_eq!(
        (
            records.len(),
            distinct(&records, "id"),
            distinct(&records, "name")
        ),
        (64, 64, 64)
    );
    // Here they also make the folder at once.
    let records = crowd(&sandbox, DENIES, |n| {
        sandbox.write_event(&format!(".agentmux/.sessions/s{n}/state.json"), "x")
    });
    assert_eq!(
        (
            records.len(),
            distinct(&records, "id"),
            distinct(&records, "file_path")
        ),
        (64, 64, 64)
    );
    let entries: BTreeSet<String> = fs::read_dir(sandbox.project().join(".claude/statewarden"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        entries,
        [".gitignore", "denies.jsonl"].map(str::to_owned).into()
    );
}

#[test]
fn rotation_in_a_crowd_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    // Some 3 KB a record: several rotations.
    let long = "long/".repeat(120);
    crowd(&sandbox, DEVT, |n| {
        let mut event = sandbox.write_event(&format!(".devt/state/n{n}/{long}x.md"), "x");
        for key in ["session_id", "agent_type"] {
            event[key] = "s".repeat(700).into();
        }
        event
    });
    let mut records = sandbox.records(DEVT);
    let archived = generations(&sandbox, ".devt/state/.archive", "preflight-denies");
    assert!(
        archived.len() > 1,
        "{archived:?} {} {}",
        sandbox.records(DEVT).len(),
        sandbox.read(DEVT).len()
    );
    for name in archived {
        records.extend(sandbox.records(&format!(".devt/state/.archive/{name}")));
    }
    assert_eq!(
        (
            records.len(),
            distinct(&records, "id"),
            distinct(&records, "name")
        ),
        (64, 64, 64)
    );
}

/// The record stands without the lock; the answer does not wait for it.
#[cfg(unix)]
#[test]
fn a_busy_lock_costs_neither_the_record_nor_the_answer() {
    let sandbox = Sandbox::new();
    let mut lock =
        fd_lock::RwLock::new(fs::File::open(sandbox.project().join(".devt/state")).unwrap());
    let guard = lock.write().unwrap();
    let begun = std::time::Instant::now();
    sandbox
        .hook(&sandbox.write_event(".devt/state/notes.md", "x"))
        .is_denied("ad-hoc-name");
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    assert_eq!(sandbox.records(DEVT).len(), 1);
    drop(guard);
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
        sandbox.event(
            "Edit",
            json!({ "file_path": sandbox.path(".devt/state/notes.md"), "old_string": content, "new_string": content }),
        ),
        sandbox.event("mcp__fs__write_file", json!({ "path": sandbox.path(".devt/state/notes.md"), "content": content })),
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
        let length = excerpt.chars().count();
        assert!((150..=200).contains(&length), "{length}: {excerpt}");
    }
    let plain =
        "sort -u a.txt | tee .devt/state/notes.md && git push -u origin main # token bucket";
    let found = record(&sandbox, DEVT, &sandbox.bash_event(plain));
    assert_eq!(
        found["command_excerpt"], plain,
        "nothing secret, nothing hidden"
    );
}
