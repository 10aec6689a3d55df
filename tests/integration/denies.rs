//! `denies list`, `stats` and `follow`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::records::{denial, lines, many, with};
use crate::support::{DENIES, DEVT, EVENTS, Sandbox, assert_has, keys};

/// Denials in two logs, a rotated log, and lines that are none.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let at = |id: &str, ts: &str| denial(&sandbox, id, ts, "notes.md");
    let devt = [
        at("a2", "2026-03-02T10:00:00.000Z"),
        with(
            at("a4", "2026-03-04T10:00:00.000Z"),
            json!({"agent_type": "agent-flow:Lawliet", "session_id": "s-2", "from_the_future": [1]}),
        ),
        json!({"source": "preflight", "ts": "2026-03-05T10:00:00.000Z", "action": "write"}),
        json!({"source": 7}),
        with(
            at("a9", "2026-03-09T10:00:00.000Z"),
            json!({"decision": "warn"}),
        ),
    ];
    let text = format!("{}\n{{\"v\":1,\"torn", lines(&devt));
    sandbox.write(DEVT, &text);
    let own = with(
        at("a3", "2026-03-03T10:00:00.000Z"),
        json!({"system": "session", "rule": "wrong-writer", "name": "state.json"}),
    );
    sandbox.write(DENIES, &lines(&[own]));
    sandbox.write(
        ".devt/state/.archive/preflight-denies-2026-03-01T00-00-00-000Z.jsonl",
        &lines(&[at("a1", "2026-02-28T10:00:00.000Z")]),
    );
    sandbox
}

#[test]
fn what_lies_in_rotated_logs_is_not_left_out_in_silence() {
    let sandbox = project();
    for verb in ["list", "stats", "report --html r.html"] {
        let hint = |more: &str| {
            let ran = sandbox.run(&format!("denies {verb} {more}")).ends(0);
            ran.stderr().contains("`--all`")
        };
        assert!(hint(""), "{verb}");
        assert!(!hint("--all") && !hint("--json"), "{verb}");
    }
    fs::remove_dir_all(sandbox.project().join(".devt/state/.archive")).unwrap();
    let ran = sandbox.run("denies");
    assert!(!ran.stderr().contains("`--all`"), "{}", ran.stderr());
}

#[track_caller]
fn ids(sandbox: &Sandbox, args: &str, expected: &[&str]) {
    let ran = sandbox.run(&format!("denies --json {args}")).ends(0);
    let document = ran.json();
    let found: Vec<&str> = document["denies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(found, expected, "{args}");
}

#[test]
fn filters_combine() {
    let sandbox = project();
    for (args, expected) in [
        ("", &["a2", "a3", "a4"][..]),
        ("list", &["a2", "a3", "a4"]),
        ("--all", &["a1", "a2", "a3", "a4"]),
        ("list --limit 2", &["a3", "a4"]),
        ("list --limit 2 --all --agent main", &["a2", "a3"]),
        ("--since 2026-03-03", &["a3", "a4"]),
        ("--since 2026-03-03 --system devt", &["a4"]),
        ("--since 2026-03-04T11:00:00+01:00", &["a4"]),
        ("--session s-2", &["a4"]),
        ("--agent lawliet", &["a4"]),
        ("--agent agent-flow:Lawliet", &["a4"]),
        ("--agent Agent_Flow:lawliet --session s-2", &["a4"]),
        ("--agent devt:lawliet", &["a4"]),
        ("--agent lawliet --session s-1", &[]),
        ("--rule wrong-writer", &["a3"]),
        ("--rule wrong-writer --system devt", &[]),
        ("--decision warn", &["a9"]),
        ("list --decision all --since 2026-03-04", &["a4", "a9"]),
        ("--decision undone", &[]),
    ] {
        ids(&sandbox, args, expected);
    }
}

/// A call is one record, whatever number of systems refuse it: devt's readers find
/// it in devt's log, and people under each of the systems.
#[test]
fn a_call_refused_by_two_systems_is_found_by_both() {
    let sandbox = Sandbox::new();
    let docs = ".claude/.docs/260110-a";
    let command = format!("touch {docs}/a.md .devt/state/b.md {docs}/c.md");
    let denied = sandbox.hook(&sandbox.bash_event(&command));
    let reason = denied.is_denied("ad-hoc-name");
    let first = format!("`{docs}/a.md`");
    assert!(reason.starts_with(&first), "{reason}");
    let records = sandbox.records(DEVT);
    assert_eq!(records.len(), 1);
    let id = records[0]["id"].as_str().unwrap();
    for system in ["devt", "session"] {
        ids(&sandbox, &format!("--system {system}"), &[id]);
    }
    ids(&sandbox, "--system groups", &[]);
    let text = sandbox.run("denies").stdout();
    assert_has(&text, "a.md and 2 more  Bash by main");
}

#[test]
fn what_others_wrote_is_skipped_and_nothing_is_changed() {
    let sandbox = project();
    let foreign = "{\"ts\":\"2026-01-01T00:00:00Z\",\"source\":\"bash-guard\",\"reason\":\"x\"}\n\n{\"a\":1}\n[1]\n\"x\"\n\
                   {\"v\":2,\"source\":\"statewarden\",\"decision\":\"deny\"}\n\
                   {\"v\":1,\"id\":\"0\",\"ts\":\"2026-01-01T00:00:00.000Z\",\"source\":\"statewarden\",\"decision\":\"heartbeat\",\"reason\":\"\"}\n";
    let log = format!("{foreign}{}", sandbox.read(DEVT));
    sandbox.write(DEVT, &log);
    ids(&sandbox, "--system devt", &["a2", "a4"]);
    assert_eq!(sandbox.read(DEVT), log);
}

#[test]
fn a_record_comes_out_as_it_stands_in_the_log() {
    let sandbox = project();
    let document = sandbox.run("denies --json --session s-2").json();
    assert_eq!(keys(&document), ["denies"]);
    assert_eq!(document["denies"][0]["from_the_future"], json!([1]));
    let text = sandbox.run("denies");
    assert!(
        text.stdout()
            .contains(".devt/state/notes.md  Write by agent-flow:Lawliet")
    );
    assert!(
        text.stdout()
            .ends_with("3 denied; and 1 warning (`--decision all` lists them)\n"),
        "{}",
        text.stdout()
    );
    assert!(!text.stdout().contains('\u{1b}'), "{}", text.stdout());
    assert_has(&text.stderr(), "left out 1 unreadable line of");
}

#[test]
fn statistics_agree_with_a_count_by_hand() {
    let sandbox = Sandbox::new();
    let records = many(&sandbox, 3_000);
    sandbox.write(DEVT, &lines(&records));
    let text = |record: &Value, key: &str| record[key].as_str().unwrap_or("main").to_owned();
    let agent = |record: &Value| {
        let agent = text(record, "agent_type").to_lowercase().replace('_', "-");
        agent.rsplit(':').next().unwrap().to_owned()
    };
    type Key<'k> = &'k dyn Fn(&Value) -> String;
    let keys: [(&str, Key<'_>); 6] = [
        ("rule", &|record| text(record, "rule")),
        ("agent", &agent),
        ("system", &|record| text(record, "system")),
        ("name", &|record| text(record, "name")),
        ("day", &|record| text(record, "ts")[..10].to_owned()),
        ("session", &|record| text(record, "session_id")),
    ];
    for (by, key) in keys {
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for record in &records {
            *expected.entry(key(record)).or_default() += 1;
        }
        let document = sandbox
            .run(&["denies", "stats", "--by", by, "--json"])
            .json();
        let groups = document["groups"].as_array().unwrap();
        let found: BTreeMap<String, u64> = groups
            .iter()
            .map(|group| (text(group, "key"), group["count"].as_u64().unwrap()))
            .collect();
        assert_eq!(found, expected, "{by}");
        assert_eq!(
            (&document["by"], &document["total"]),
            (&json!(by), &json!(3_000))
        );
    }
}

#[test]
fn statistics_are_bars_without_color_in_a_pipe() {
    let sandbox = project();
    let ran = sandbox.run("denies stats --all --system devt");
    assert_eq!(
        ran.stdout(),
        format!(
            "3 denied, by rule (system devt)\n  ad-hoc-name        3 100 %  {}\n",
            "█".repeat(32)
        )
    );
}

#[test]
fn nothing_refused_is_told_from_never_ran_and_from_only_warned() {
    let sandbox = Sandbox::new();
    let check = |said: &str| {
        for args in ["denies", "denies stats"] {
            let expected = format!("no denial is recorded{said}");
            assert_eq!(sandbox.run(args).stdout(), expected);
        }
    };
    check("\nthe hook has never run here; see `statewarden doctor`\n");
    sandbox.write(".devt/state/plan.md", "x\n");
    sandbox.hook(&sandbox.event_of("SessionStart")).is_silent();
    check("\n");
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x\n"));
    let events = sandbox.path(EVENTS);
    check("; and 1 warning (`--decision all` lists them)\n");
    // A log that cannot be read makes the answer no other.
    fs::remove_file(&events).unwrap();
    fs::create_dir(&events).unwrap();
    check("\nthe hook has never run here; see `statewarden doctor`\n");
    let ran = sandbox.run("denies");
    assert_eq!(ran.code(), 0);
    assert_has(&ran.stderr(), &events);
}

#[test]
fn a_part_and_nothing_are_told_from_all() {
    let sandbox = project();
    for (args, expected) in [
        (
            "--limit 2",
            "\nthe newest 2 of 3 denied; and 1 warning (`--decision all` lists them)\n",
        ),
        (
            "--limit 3",
            "\n3 denied; and 1 warning (`--decision all` lists them)\n",
        ),
        ("--agent LAWLIET", "\n1 denied\n"),
        ("--agent nobody", "no denial matches (agent nobody)\n"),
        (
            "stats --agent nobody --rule wrong-writer",
            "no denial matches (agent nobody, rule wrong-writer)\n",
        ),
        (
            "--since 2030-01-01",
            "no denial matches (since 2030-01-01T00:00:00.000Z)\n",
        ),
    ] {
        let text = sandbox.run(&format!("denies {args}")).stdout();
        assert!(text.ends_with(expected), "{args}: {text}");
    }
}

/// The log is larger than the memory that the process may have.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_log() {
    let sandbox = Sandbox::new();
    let mut log = lines(&many(&sandbox, 2_000));
    while log.len() < 40 << 20 {
        log.push_str(&log.clone());
    }
    sandbox.write(DEVT, &log);
    let expected = log.lines().count();
    for (args, key) in [("stats --by name", ".total"), ("list --limit 7", ".denies")] {
        let script = format!(
            "ulimit -v 32768; exec {} denies {args} --json",
            env!("CARGO_BIN_EXE_statewarden")
        );
        let out = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(sandbox.project())
            .env_clear()
            .env("HOME", sandbox.home())
            .output()
            .unwrap();
        assert!(out.status.success(), "{args}: {out:?}");
        let document: Value = serde_json::from_slice(&out.stdout).unwrap();
        match key {
            ".total" => assert_eq!(document["total"], json!(expected)),
            _ => assert_eq!(document["denies"].as_array().unwrap().len(), 7),
        }
    }
}

/// What a child prints, line by line, with a deadline.
fn printed(stdout: ChildStdout) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    receive
}

fn append(sandbox: &Sandbox, log: &str, text: &str) {
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .create(true)
        .append(true)
        .open(sandbox.path(log))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// `denies follow` of all records, and the ids of what it prints as they come.
fn following(sandbox: &Sandbox) -> (Child, impl Fn() -> String) {
    let mut child = sandbox
        .command("denies follow --json --since 2026-01-01")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let printed = printed(child.stdout.take().unwrap());
    let next = move || {
        let line = printed.recv_timeout(Duration::from_secs(30));
        let record: Value = serde_json::from_str(&line.expect("a line in time")).unwrap();
        record["id"].as_str().unwrap().to_owned()
    };
    (child, next)
}

#[test]
fn following_goes_on_through_a_rotation() {
    let sandbox = Sandbox::new();
    let record = |id: &str| denial(&sandbox, id, "2026-03-02T10:00:00.000Z", "notes.md");
    sandbox.write(DEVT, &lines(&[record("a1")]));
    let (mut child, next) = following(&sandbox);
    assert_eq!(next(), "a1", "what `--since` asks for");
    append(&sandbox, DEVT, &lines(&[record("a2")]));
    assert_eq!(next(), "a2");
    let whole = lines(&[record("a3")]);
    append(&sandbox, DEVT, &whole[..40]);
    append(&sandbox, DEVT, &whole[40..]);
    assert_eq!(next(), "a3", "written in two pieces");
    // The last line before a rotation and the first after it.
    let archive = sandbox.path(".devt/state/.archive");
    fs::create_dir_all(&archive).unwrap();
    let rotate = |id: &str, name: &str| {
        append(&sandbox, DEVT, &lines(&[record(id)]));
        let name = format!("preflight-denies-2026-03-02T10-00-{name}-000Z.jsonl");
        fs::rename(sandbox.path(DEVT), format!("{archive}/{name}")).unwrap();
    };
    rotate("a4", "00");
    append(
        &sandbox,
        DEVT,
        &lines(&[
            with(record("a5"), json!({"decision": "warn"})),
            record("a6"),
        ]),
    );
    assert_eq!([next(), next()], ["a4", "a6"]);
    // Rotated twice between two looks, as the hook does it.
    for (id, name) in [("b1", "01"), ("b2", "02"), ("b3", "03")] {
        rotate(id, name);
    }
    append(&sandbox, DEVT, &lines(&[record("b4")]));
    assert_eq!([next(), next(), next(), next()], ["b1", "b2", "b3", "b4"]);
    // A log that was not there at the start.
    fs::create_dir_all(sandbox.path(".claude/statewarden")).unwrap();
    append(&sandbox, DENIES, &lines(&[record("a7")]));
    assert_eq!(next(), "a7");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn following_finds_sites_that_come_later_and_keeps_the_order_of_time() {
    let sandbox = Sandbox::new();
    let record = |id: &str, ts: &str| denial(&sandbox, id, ts, "notes.md");
    sandbox.write(DENIES, &lines(&[record("a2", "2026-03-02T10:00:02.000Z")]));
    let first = record("a1", "2026-03-02T10:00:01.000Z");
    let third = record("a3", "2026-03-02T10:00:03.000Z");
    sandbox.write(DEVT, &lines(&[first, third]));
    let (mut child, next) = following(&sandbox);
    assert_eq!([next(), next(), next()], ["a1", "a2", "a3"]);
    let late = lines(&[record("a4", "2026-03-02T10:00:04.000Z")]);
    sandbox.write(
        ".claude/worktrees/w/.devt/state/preflight-denies.jsonl",
        &late,
    );
    assert_eq!(next(), "a4");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// As where both the project and the user have the hook in their settings.
#[test]
fn an_event_that_two_hooks_recorded_counts_once() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/workflow.yaml", "active: true\n");
    let denied_twice = |name: &str, call: &str| {
        let mut event = sandbox.write_event(&format!(".devt/state/{name}"), "x\n");
        event["tool_use_id"] = call.into();
        for _ in 0..2 {
            sandbox.denied(&event, "ad-hoc-name");
        }
    };
    denied_twice("notes.md", "toolu_1");
    denied_twice("todo.txt", "toolu_1");
    let records = sandbox.records(DEVT);
    let id = |at: usize| records[at]["id"].as_str().unwrap();
    assert_eq!(records.len(), 4);
    ids(&sandbox, "", &[id(0), id(2)]);
    let total = |args: &str| sandbox.run(args).ends(0).json()["total"].clone();
    assert_eq!(total("denies stats --json"), 2);
    let report = sandbox.run("denies report --json --html r.html").ends(0);
    assert_eq!(report.json()["denies"], 2, "{}", report.said());
    assert_eq!(sandbox.run("stuck --json").ends(0).json()["deny_count"], 2);
    let (mut child, next) = following(&sandbox);
    assert_eq!([next(), next()], [id(0), id(2)]);
    denied_twice("notes.md", "toolu_2");
    assert_eq!(next(), sandbox.records(DEVT)[4]["id"]);
    assert_eq!(sandbox.run("stuck --json").ends(1).json()["deny_count"], 3);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Nothing has to be logged for it to notice.
#[cfg(unix)]
#[test]
fn following_ends_when_nobody_reads() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command("denies follow")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let (send, receive) = channel();
    let id = child.id();
    thread::spawn(move || send.send(child.wait().unwrap()));
    let ended = receive.recv_timeout(Duration::from_secs(20));
    assert!(
        ended.is_ok_and(|status| status.success()),
        "process {id} goes on"
    );
}
