use serde_json::{Value, json};

use crate::support::{Sandbox, assert_has, keys};

const STATE: &str = ".devt/state";
const DAY: i64 = 24 * 60 * 60;

/// The entries a run lists, as `name reason`, in order.
pub fn listed(document: &Value) -> Vec<String> {
    let items = document["archived"].as_array().unwrap();
    let line = |item: &Value| {
        format!(
            "{} {}",
            item["name"].as_str().unwrap(),
            item["reason"].as_str().unwrap()
        )
    };
    items.iter().map(line).collect()
}

fn populated() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, age) in [
        ("plan.md", 100 * DAY),
        ("workflow.yaml", 0),
        ("preflight-denies.jsonl", 100 * DAY),
        ("review-old.md", 21 * DAY + 60),
        ("review-new.md", 21 * DAY - 60),
        ("notes.md", 0),
        ("junk/deep/a.txt", 0),
        ("left.tmp", 60),
        ("a.md~", 60),
        ("live.tmp", 1),
        ("future.tmp", -3600),
    ] {
        sandbox.write_aged(&format!("{STATE}/{name}"), name, age);
    }
    sandbox
}

/// What goes of the populated site, and why.
const GOES: [&str; 6] = [
    "a.md~ ephemeral",
    "future.tmp ephemeral",
    "junk ad_hoc",
    "left.tmp ephemeral",
    "notes.md ad_hoc",
    "review-old.md stale_pattern_allowed (>21d)",
];

#[test]
fn a_plan_changes_nothing() {
    let sandbox = populated();
    let before = sandbox.names(STATE);
    let plan = sandbox.run("cleanup --json").ends(0);
    let plan = plan.json();
    assert_eq!(listed(&plan), GOES);
    assert_eq!(plan["dry_run"], true);
    assert_eq!(plan["archive_path"], Value::Null);
    assert_eq!(plan["total_bytes_archived"], 5 + 10 + 8 + 8 + 13);
    assert_eq!(
        plan["archived"][0],
        json!({"name": "a.md~", "size": 5, "reason": "ephemeral", "status": "would_archive"})
    );
    assert_eq!(sandbox.names(STATE), before, "a dry run changes nothing");
}

#[test]
fn what_goes_is_what_the_contract_does_not_keep() {
    let sandbox = populated();
    let done = sandbox.run("cleanup --apply --json").json();
    assert_eq!(listed(&done), GOES);
    assert_eq!(
        keys(&done),
        [
            "ok",
            "dry_run",
            "archived",
            "total_bytes_archived",
            "archive_path"
        ]
    );
    assert_eq!(
        (&done["ok"], &done["dry_run"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(done["archived"][0]["status"], "archived");
    assert_eq!(
        sandbox.names(STATE),
        [
            ".archive",
            "live.tmp",
            "plan.md",
            "preflight-denies.jsonl",
            "review-new.md",
            "workflow.yaml"
        ]
    );
    let archive = done["archive_path"].as_str().unwrap();
    let name = archive
        .strip_prefix(&sandbox.path(".devt/state/.archive/cleanup-"))
        .unwrap();
    assert!(
        name.len() == 24 && name.ends_with('Z') && !name.contains([':', '.']),
        "{name}"
    );
    assert_eq!(
        std::fs::read_to_string(format!("{archive}/junk/deep/a.txt")).unwrap(),
        "junk/deep/a.txt"
    );
    assert_eq!(
        sandbox.run("cleanup --apply --json").json(),
        json!({"ok": true, "dry_run": false, "archived": [], "total_bytes_archived": 0, "archive_path": null})
    );
    assert_eq!(
        sandbox.names(".devt/state/.archive").len(),
        1,
        "nothing to do, no snapshot"
    );
}

#[test]
fn a_person_sees_sizes_and_ages_and_what_to_do() {
    let sandbox = populated();
    let text = sandbox.run("cleanup").stdout();
    assert_has(
        &text,
        "review-old.md  13 B, 21 d, stale_pattern_allowed (>21d)",
    );
    assert_has(&text, "junk/  0 B");
    assert_has(&text, "would archive 6 entries, 44 B\nnothing was changed");
    let text = sandbox.run("cleanup --apply").stdout();
    assert_has(&text, "archived 6 entries, 44 B, into `");
}

#[test]
fn b18_contradictory_and_odd_flags_are_errors() {
    let sandbox = populated();
    let before = sandbox.names(STATE);
    for args in [
        "cleanup --apply --dry-run",
        "cleanup --apply --stale-days -1",
        "cleanup --apply --stale-days=abc",
        "cleanup --apply --stale-days=1.9",
        "cleanup --apply --stale-days",
        "cleanup --apply --stale-days=99999999999",
        "cleanup --apply --system nope",
        "cleanup --apply --system agentmux",
        "sweep --apply --dry-run",
        "sweep --apply --system session",
        "reset --system groups",
        "reset --hard",
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{args:?}");
        assert!(!ran.stderr().is_empty(), "{args:?}");
    }
    assert_eq!(sandbox.names(STATE), before);
    let of = |days: &str| {
        listed(
            &sandbox
                .run(&["cleanup", "--json", "--stale-days", days])
                .json(),
        )
    };
    assert!(of("0").contains(&"review-new.md stale_pattern_allowed (>0d)".to_owned()));
    assert!(!of("22").iter().any(|line| line.starts_with("review")));
}

#[test]
fn b16_a_live_parallel_workflow_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/wf-2/workflow.yaml", "active: true\n");
    sandbox.write(".devt/state/wf-1/workflow.yaml", "active: false\n");
    sandbox.write(".devt/state/.instances/wf-2.json", "{}");
    for args in ["cleanup --apply", "reset", "sweep --apply"] {
        let ran = sandbox.run(args).ends(0);
        assert!(ran.stdout().contains("wf-2/  left: its workflow is active"));
    }
    assert_eq!(sandbox.names(STATE), [".archive", ".instances", "wf-2"]);
    sandbox.write(".devt/state/wf-2/workflow.yaml", "active: false\n");
    sandbox.run("cleanup --apply");
    assert_eq!(sandbox.names(STATE), [".archive"]);
}

#[test]
fn other_systems_keep_their_archive_in_our_own_folder() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    let files = [
        (".claude/orchestration.local.md", 90 * DAY),
        (".claude/my-orchestration.local.md", 0),
        (".claude/orchestration.local.md.tmp.77", 60),
        (".claude/.orchestration.local.md.77.tmp", 60),
        (".claude/deep-dive.local.md.bak.20260101120000", 30 * DAY),
        (".claude/skip-test-verification", 90 * DAY),
        (".claude/other-plugin.local.md", 90 * DAY),
        (".claude/.docs/260110-add-login/state.json", 90 * DAY),
        (".claude/.docs/260110-add-login/notes.md", 0),
        (".claude/.docs/260110-add-login/.state.json.77.tmp", 60),
        // Another process is about to rename it.
        (".claude/.docs/260110-add-login/.state.json.78.tmp", 0),
        ("openspec/changes/add-login/tasks.md", 90 * DAY),
        ("openspec/changes/add-login/proposal.md", 90 * DAY),
        ("openspec/changes/add-login/review/1.md", 90 * DAY),
        ("openspec/changes/add-login/review/01.md", 0),
        (".agentmux/.sessions/s/state.json", 90 * DAY),
        (".agentmux/.sessions/s/state.json.tmp", 90 * DAY),
    ];
    for (name, age) in files {
        sandbox.write_aged(name, name, age);
    }
    sees_archives_of_several(
        &sandbox,
        &sandbox.run("cleanup --apply --json").ends(0).json(),
    );
    let gone: Vec<&str> = files
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !sandbox.exists(name))
        .collect();
    assert_eq!(
        gone,
        [
            ".claude/my-orchestration.local.md",
            ".claude/orchestration.local.md.tmp.77",
            ".claude/.orchestration.local.md.77.tmp",
            ".claude/deep-dive.local.md.bak.20260101120000",
            ".claude/.docs/260110-add-login/notes.md",
            ".claude/.docs/260110-add-login/.state.json.77.tmp",
            "openspec/changes/add-login/review/01.md",
        ]
    );
    assert_eq!(sandbox.read(".claude/statewarden/.gitignore"), "*\n");
    assert_eq!(sandbox.run("audit").code(), 0, "the archive is no site");
}

/// Each site has an archive of its own; the document reads as that of one site does.
fn sees_archives_of_several(sandbox: &Sandbox, document: &Value) {
    let sites = document["sites"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let systems: Vec<_> = sites.iter().map(|site| text(&site["system"])).collect();
    assert_eq!(systems, ["agent-flow", "session", "groups"]);
    let sums = [
        "ok",
        "dry_run",
        "archived",
        "total_bytes_archived",
        "archive_path",
    ];
    assert_eq!(keys(document)[..5], sums);
    let n_archived = |of: &Value| of["archived"].as_array().unwrap().len();
    assert_eq!(
        n_archived(document),
        sites.iter().map(n_archived).sum::<usize>()
    );
    assert_eq!(document["archive_path"], sites[0]["archive_path"]);
    for site in sites {
        let below = match site["system"].as_str().unwrap() {
            "session" => "session/260110-add-login",
            "groups" => "groups/add-login",
            system => system,
        };
        let ring = sandbox.path(&format!(".claude/statewarden/archive/{below}/cleanup-"));
        let archive = text(&site["archive_path"]);
        assert!(archive.starts_with(&ring), "{archive}");
    }
}

#[test]
fn without_a_state_directory_there_is_nothing_to_do() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    for (verb, what) in [
        ("cleanup", "state directory"),
        ("reset", "state directory of devt"),
        ("sweep", "state directory of devt"),
    ] {
        let ran = sandbox.run(&[verb, "--json"]);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
        let document = ran.json();
        assert_eq!(document["ok"], true);
        assert_eq!(document["reason"], "state_dir_missing");
        let text = sandbox.run(&[verb]).stdout();
        assert!(text.starts_with(&format!("no {what} below `")), "{text}");
    }
    assert_eq!(
        sandbox.names(""),
        [""; 0],
        "a project without a site stays untouched"
    );
}

#[test]
fn the_manifest_says_what_from_where_and_why() {
    let sandbox = populated();
    // The manifest's own name is free for a file like any other.
    sandbox.write(".devt/state/manifest.json", "mine");
    let done = sandbox.run("cleanup --apply --json").json();
    let archive = done["archive_path"].as_str().unwrap();
    let read = |name: &str| std::fs::read_to_string(format!("{archive}/{name}")).unwrap();
    assert_eq!(read("manifest.json-1"), "mine");
    let manifest: Value = serde_json::from_str(&read("manifest.json")).unwrap();
    for (key, value) in [
        ("v", json!(1)),
        ("kind", json!("cleanup")),
        ("system", json!("devt")),
        ("site", json!(STATE)),
        ("by", json!("statewarden cleanup")),
    ] {
        assert_eq!(manifest[key], value, "{key}");
    }
    let entries = manifest["entries"].as_array().unwrap();
    let named = |name: &str| entries.iter().find(|entry| entry["name"] == name).unwrap();
    assert_eq!(named("manifest.json")["stored"], "manifest.json-1");
    assert_eq!(named("junk")["is_dir"], true);
    let old = named("review-old.md");
    assert_eq!(old["reason"], "stale_pattern_allowed (>21d)");
    assert_eq!(old["size"], 13);
    assert!(old["mtime"].as_str().unwrap().ends_with('Z'));
}

/// The guard gives a path to the first system that claims it, the built-in ones before
/// those of the settings; what is another's is not moved away.
#[test]
fn where_declared_sites_overlap_others_each_entry_has_one_system() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {all: {site: .claude, canonical: [z]}, few: {site: 'docs/*', canonical: [a.md]}, \
         one: {site: docs/notes, canonical: [b.md]}, state: {site: .devt/state, canonical: [z]}}\n",
    );
    for path in [
        ".claude/settings.json",
        ".claude/orchestration.local.md",
        ".claude/other.md",
        ".devt/state/plan.md",
        "docs/notes/a.md",
        "docs/notes/b.md",
    ] {
        sandbox.write(path, "{}\n");
    }
    let moved = |args: &str| {
        let report = sandbox.run(&format!("cleanup --json {args}")).json();
        let sites = report["sites"].as_array().cloned();
        let sites = sites.unwrap_or_else(|| vec![report]);
        sites.iter().flat_map(listed).collect::<Vec<_>>()
    };
    assert_eq!(moved(""), ["other.md ad_hoc", "b.md ad_hoc"]);
    assert_eq!(moved("--system all"), ["other.md ad_hoc"]);
    assert!(moved("--system one").is_empty());
    assert!(moved("--system state").is_empty());
    sandbox.expect(&sandbox.write_event("docs/notes/b.md", "x"), "ad-hoc-name");
}
