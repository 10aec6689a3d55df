//! `denies list` and `stats`.

use std::collections::BTreeMap;
use std::fs;

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
    assert_has(
        &text,
        "main  ad-hoc-name  .claude/.docs/260110-a/a.md and 2 more",
    );
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
    assert!(text.stdout().contains("lawliet  "));
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
    let mut sandbox = project();
    sandbox.env = vec![("TZ", "UTC".to_owned())];
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
            "no denial matches (since 2030-01-01 00:00)\n",
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
            .envs(sandbox.surroundings())
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
