//! What an audit says, to programs and to people.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, assert_has, keys, skip};

/// A project with entries of every bucket, and its audit.
fn audited() -> (Sandbox, Value) {
    let sandbox = Sandbox::new();
    for (path, text) in [
        (".devt/state/plan.md", "12345"),
        (".devt/state/decisions.md", "1"),
        (".devt/state/.archive/cleanup-1/notes.md", "xxx"),
        (".devt/state/review-a.md", "12"),
        (".devt/state/review-b.md", "1234"),
        (".devt/state/a.tmp", "1"),
        (".devt/state/small.txt", "1"),
        (".devt/state/large.txt", "123456"),
        (".devt/state/notes/deep/a.md", "x"),
        ("web/.devt/state/plan.md", "x"),
    ] {
        sandbox.write(path, text);
    }
    let ran = sandbox.run("audit --json");
    assert_eq!(
        (ran.code(), ran.stderr()),
        (1, String::new()),
        "something is ad hoc"
    );
    let document = ran.json();
    (sandbox, document)
}

#[test]
fn an_audit_has_the_documented_keys() {
    let (_, document) = audited();
    let sites = document["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 2);
    for site in sites {
        let all = "ok system state_dir counts total_bytes buckets";
        assert_eq!(keys(site).join(" "), all);
        let buckets = "canonical pattern_allowed ephemeral ad_hoc";
        assert_eq!(keys(&site["counts"]).join(" "), format!("{buckets} total"));
        assert_eq!(keys(&site["buckets"]).join(" "), buckets);
        assert_eq!(
            (&site["ok"], &site["system"]),
            (&json!(true), &json!("devt"))
        );
    }
    let stamp = regex::Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$").unwrap();
    for bucket in sites[0]["buckets"].as_object().unwrap().values() {
        for item in bucket.as_array().unwrap() {
            assert_eq!(keys(item), ["name", "size", "mtime", "is_dir"]);
            assert!(stamp.is_match(item["mtime"].as_str().unwrap()), "{item}");
            let is_dir = item["name"] == ".archive" || item["name"] == "notes";
            assert_eq!(item["is_dir"], is_dir, "{item}");
            assert!(!is_dir || item["size"] == 0, "{item}");
        }
    }
}

#[test]
fn audit_lists_every_entry_of_every_site_by_bucket() {
    let (sandbox, document) = audited();
    let site = &document["sites"][0];
    assert_eq!(site["state_dir"], sandbox.path(".devt/state"));
    assert_eq!(
        site["counts"],
        json!({ "canonical": 3, "pattern_allowed": 2, "ephemeral": 1, "ad_hoc": 3, "total": 9 })
    );
    assert_eq!(site["total_bytes"], 5 + 1 + 2 + 4 + 1 + 1 + 6);
    let names = |bucket: &str| -> Vec<&str> {
        site["buckets"][bucket]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect()
    };
    assert_eq!(names("canonical"), [".archive", "decisions.md", "plan.md"]);
    assert_eq!(
        names("pattern_allowed"),
        ["review-b.md", "review-a.md"],
        "the largest first"
    );
    assert_eq!(names("ad_hoc"), ["large.txt", "small.txt", "notes"]);
}

#[test]
fn audit_is_content_without_ad_hoc_names_and_without_a_site() {
    let sandbox = Sandbox::new();
    let empty = sandbox.run("audit --json");
    assert_eq!(empty.code(), 0);
    assert_eq!(empty.json()["sites"][0]["counts"]["total"], 0);
    sandbox.write(".devt/state/plan.md", "x");
    sandbox.write(".devt/state/a.tmp", "x");
    assert_eq!(sandbox.run("audit").code(), 0, "leftovers are not ad hoc");
    fs::remove_dir_all(sandbox.project().join(".devt/state")).unwrap();
    let missing = sandbox.run("audit --json");
    assert_eq!(missing.code(), 0);
    let site = &missing.json()["sites"][0];
    assert_eq!(
        (&site["ok"], &site["reason"]),
        (&json!(true), &json!("state_dir_missing"))
    );
}

#[test]
fn audit_reads_every_system_and_can_be_asked_for_one() {
    let sandbox = Sandbox::new();
    for path in [
        ".devt/state/notes.md",
        ".claude/orchestration-2.local.md",
        ".claude/orchestration.local.md",
        ".claude/settings.json",
        ".claude/notes.local.md",
        ".claude/.docs/260110-a/state.json",
        ".claude/.docs/260110-a/notes.md",
        ".claude/.docs/guide/notes.md",
        "openspec/changes/a/tasks.md",
        "openspec/changes/a/proposal.md",
        "openspec/changes/a/review/1.md",
        "openspec/changes/a/review/x.md",
        "openspec/changes/archive/b/review/x.md",
        ".agentmux/.sessions/s/state.json",
        ".agentmux/.sessions/s/notes.md",
    ] {
        sandbox.write(path, "x");
    }
    for (system, dir, canonical, ad_hoc) in [
        ("devt", ".devt/state", &[][..], &["notes.md"][..]),
        (
            "agent-flow",
            ".claude",
            &["orchestration.local.md"],
            &["orchestration-2.local.md"],
        ),
        (
            "session",
            ".claude/.docs/260110-a",
            &["state.json"],
            &["notes.md"],
        ),
        (
            "groups",
            "openspec/changes/a",
            &["review/1.md", "tasks.md"],
            &["review/x.md"],
        ),
        ("agentmux", ".agentmux/.sessions/s", &["state.json"], &[]),
    ] {
        let ran = sandbox.run(&["audit", "--json", "--system", system]);
        assert_eq!(ran.code(), i32::from(!ad_hoc.is_empty()), "{system}");
        let document = ran.json();
        let sites = document["sites"].as_array().unwrap();
        assert_eq!(sites.len(), 1, "{system}: {document}");
        assert_eq!(sites[0]["state_dir"], sandbox.path(dir));
        for (bucket, expected) in [("canonical", canonical), ("ad_hoc", ad_hoc)] {
            let names: Vec<&str> = sites[0]["buckets"][bucket]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["name"].as_str().unwrap())
                .collect();
            assert_eq!(names, expected, "{bucket} of {system}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_session_that_is_a_link_is_a_site() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/a/state.json", "{}");
    sandbox.write(".claude/.docs/README.md", "x");
    let link = sandbox.path(".claude/.docs/260110-a");
    std::os::unix::fs::symlink("../../docs/a", &link).unwrap();
    let ran = sandbox.run("audit --json --system session");
    let sites = ran.json()["sites"].clone();
    assert_eq!(sites.as_array().map(Vec::len), Some(1), "{sites}");
    assert_eq!(
        (&sites[0]["state_dir"], &sites[0]["counts"]["total"]),
        (&json!(link), &json!(1))
    );
}

#[test]
fn a_declared_glob_names_only_directories_that_are_there() {
    let sandbox = Sandbox::new();
    let settings = "systems: {notes: {site: \"*\", canonical: [\"*.md\"]}}\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    sandbox.write("docs/a.md", "x");
    let document = sandbox.run("audit --json --system notes").json();
    let sites = document["sites"].as_array().unwrap().iter();
    let dirs: Vec<&str> = sites
        .map(|site| site["state_dir"].as_str().unwrap())
        .collect();
    let expected = [".claude", ".devt", "docs"].map(|dir| sandbox.path(dir));
    assert_eq!(dirs, expected);
}

/// A site that several directories lead to, too.
#[test]
fn every_site_is_listed_once_and_in_order() {
    let sandbox = Sandbox::new();
    let settings = "systems: {notes: {site: docs, canonical: [\"*.md\"]}}\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    for file in ["docs/a/b/c.md", "docs/d/e.md"] {
        sandbox.write(file, "x");
    }
    let ids = ["261101-c", "261101-a", "261101-b"];
    for id in ids {
        sandbox.write(&format!(".claude/.docs/{id}/state.json"), "{}");
    }
    let document = sandbox.run("audit --json").json();
    let sites = document["sites"].as_array().unwrap().iter();
    let dirs: Vec<&str> = sites
        .map(|site| site["state_dir"].as_str().unwrap())
        .collect();
    let expected = [
        ".devt/state",
        ".claude/.docs/261101-a",
        ".claude/.docs/261101-b",
        ".claude/.docs/261101-c",
        "docs",
    ];
    assert_eq!(dirs, expected.map(|dir| sandbox.path(dir)));
}

#[test]
fn audit_tells_directories_and_links_from_files() {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(".devt/state");
    fs::create_dir(state.join("plan.md")).unwrap();
    std::os::unix::fs::symlink("gone", state.join("spec.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", state.join("link.md")).unwrap();
    let document = sandbox.run("audit --json").json();
    let counts = &document["sites"][0]["counts"];
    assert_eq!(
        (&counts["total"], &counts["ad_hoc"]),
        (&json!(3), &json!(2)),
        "{document}"
    );
}

#[test]
fn what_agent_flow_left_is_seen_without_a_run() {
    let sandbox = Sandbox::new();
    let audit = || {
        let ran = sandbox.run("audit --system agent-flow --json");
        let sites = ran.json()["sites"].clone();
        (
            ran.code(),
            sites[0]["counts"].clone(),
            sites.as_array().unwrap().len(),
        )
    };
    // Other programs' files make no site.
    sandbox.write(".claude/settings.json", "{}");
    sandbox.write(".claude/notes.local.md", "x");
    assert_eq!(audit(), (0, Value::Null, 0));
    for (below, bucket, code) in [
        ("web/.claude/test-command", "canonical", 0),
        (".claude/orchestration.local.md.tmp.7", "ephemeral", 0),
        (".claude/deep-dive.local.md.bak.1", "pattern_allowed", 0),
        (".claude/my-orchestration.local.md", "ad_hoc", 1),
    ] {
        sandbox.write_aged(below, "x", 60);
        let (exit, counts, sites) = audit();
        assert_eq!(
            (exit, &counts[bucket], &counts["total"], sites),
            (code, &json!(1), &json!(1), 1),
            "{below}"
        );
        fs::remove_file(sandbox.project().join(below)).unwrap();
    }
    let below = ".claude/my-orchestration.local.md";
    sandbox.write(below, "x");
    sandbox.run("cleanup --apply").ends(0);
    assert!(!sandbox.exists(below) && sandbox.exists(".claude/notes.local.md"));
    let history = sandbox.run("history --json").json();
    let archive = history["archives"][0]["archive"].as_str().unwrap();
    sandbox.run(&["restore", archive]).ends(0);
    assert!(sandbox.exists(below));
}

/// Names alone say nothing of what lies there, so nothing is counted as if there were none.
#[cfg(unix)]
#[test]
fn entries_that_nobody_may_look_at_are_no_empty_site() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/notes.md", "x");
    let state = sandbox.project().join(".devt/state");
    let is_root = fs::metadata(&state).unwrap().uid() == 0;
    fs::set_permissions(&state, fs::Permissions::from_mode(0o644)).unwrap();
    for (verb, code) in [("audit", 1), ("cleanup", 2)] {
        let mut command = sandbox.command(&[verb]);
        if is_root {
            // Permissions do not bind root, so it runs the program as nobody.
            command.uid(65_534).gid(65_534);
        }
        let Ok(output) = command.output() else {
            skip("nobody may not run the program");
            break;
        };
        let ran = Ran::from(output);
        let told = ran.stdout() + &ran.stderr();
        assert_eq!(ran.code(), code, "{told}");
        assert_has(&told, "could not look at `");
        assert_has(&told, "notes.md`: Permission denied");
    }
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
}
