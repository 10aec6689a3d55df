//! `denies` over long logs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::records::{lines, many};
use crate::support::{DEVT, Sandbox};

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
