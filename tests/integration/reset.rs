use serde_json::{Value, json};

use crate::support::Sandbox;

const STATE: &str = ".devt/state";
const RING: &str = ".devt/state/.archive";

/// A snapshot of another run, with one file.
fn snapshot(sandbox: &Sandbox, name: &str) {
    sandbox.write(&format!("{RING}/{name}/plan.md"), name);
}

#[test]
fn everything_but_the_exempt_goes() {
    let sandbox = Sandbox::new();
    let goes = "workflow.yaml plan.md review-a.md notes.md old.tmp sub/x";
    let stays = ".graphify-rebuild.lock deferred.md dispatch-warnings.jsonl last-curator-run.txt \
                 preflight-denies.jsonl probe-failures.jsonl static-compress.jsonl";
    for name in goes.split(' ').chain(stays.split(' ')) {
        sandbox.write_aged(&format!("{STATE}/{name}"), name, 60);
    }
    sandbox.write(".devt/state/live.tmp", "a writer is at work");
    let names = "notes.md old.tmp plan.md review-a.md sub workflow.yaml".split(' ');
    let names: Vec<&str> = names.collect();

    let plan = sandbox.run("reset --dry-run --json").json();
    assert_eq!(
        plan,
        json!({"ok": true, "cleaned": names, "archived_to": null})
    );
    assert!(!sandbox.exists(RING));

    let done = sandbox.run("reset --json");
    assert_eq!((done.code(), done.stderr()), (0, String::new()));
    let done = done.json();
    assert_eq!(
        (&done["ok"], &done["cleaned"]),
        (&json!(true), &json!(names))
    );
    let to = done["archived_to"].as_str().unwrap();
    let stamp = to.strip_prefix(&sandbox.path(&format!("{RING}/"))).unwrap();
    assert!(stamp.len() == 24 && stamp.starts_with("20"), "{stamp}");
    assert_eq!(
        std::fs::read_to_string(format!("{to}/sub/x")).unwrap(),
        "sub/x"
    );

    let mut left: Vec<&str> = stays.split(' ').chain([".archive", "live.tmp"]).collect();
    left.sort_unstable();
    assert_eq!(sandbox.names(STATE), left);
    let again = sandbox.run("reset --json").json();
    assert_eq!(
        again,
        json!({"ok": true, "cleaned": [], "archived_to": null})
    );
}

#[test]
fn b21_what_is_promised_to_survive_survives() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  devt:\n    contract: \"0.244\"\n",
    );
    for name in [
        "project/a.md",
        "threads/t.md",
        "lane-files/l.txt",
        "hook-trace/h.jsonl",
    ] {
        sandbox.write(&format!("{STATE}/{name}"), name);
    }
    sandbox.run("reset");
    assert_eq!(sandbox.names(STATE), [".archive", "project", "threads"]);
}

/// What is in the ring, how many runs are kept, and what is there after a reset
/// beside its own snapshot.
#[track_caller]
fn check(before: &[&str], runs: usize, kept: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        &format!("archive:\n  runs: {runs}\n"),
    );
    before.iter().for_each(|name| snapshot(&sandbox, name));
    sandbox.write(".devt/state/plan.md", "the newest");
    let done = sandbox.run("reset --json").json();
    let to = done["archived_to"].as_str().unwrap();
    let new = to.rsplit('/').next().unwrap();
    assert_eq!(sandbox.read(&format!("{RING}/{new}/plan.md")), "the newest");
    let mut names = sandbox.names(RING);
    names.retain(|name| name != new);
    assert_eq!(names, kept, "before: {before:?}");
}

#[test]
fn b1_reset_never_prunes_what_it_just_archived() {
    check(
        &[
            "cleanup-2026-01-01T00-00-00-000Z",
            "cleanup-2026-01-02T00-00-00-000Z",
            "cleanup-2026-01-03T00-00-00-000Z",
            "cleanup-2026-01-04T00-00-00-000Z",
            "cleanup-2026-01-05T00-00-00-000Z",
        ],
        5,
        &[
            "cleanup-2026-01-02T00-00-00-000Z",
            "cleanup-2026-01-03T00-00-00-000Z",
            "cleanup-2026-01-04T00-00-00-000Z",
            "cleanup-2026-01-05T00-00-00-000Z",
        ],
    );
}

#[test]
fn the_ring_is_ordered_by_time() {
    let mixed = [
        "2026-01-04T00-00-00-000Z",
        "cleanup-2026-01-01T00-00-00-000Z",
        "quarantine-2026-01-05T00-00-00-000Z",
        "quarantine-2026-01-05T00-00-00-000Z-1",
        "sweep-2026-01-02T00-00-00-000Z",
    ];
    check(&mixed, 9, &mixed);
    check(
        &mixed,
        4,
        &[
            "2026-01-04T00-00-00-000Z",
            "quarantine-2026-01-05T00-00-00-000Z",
            "quarantine-2026-01-05T00-00-00-000Z-1",
        ],
    );
    check(&mixed, 1, &[]);
    // The clock was set back: the snapshot of this minute outlives those of the future.
    check(
        &["2099-01-01T00-00-00-000Z", "2098-01-01T00-00-00-000Z"],
        2,
        &["2099-01-01T00-00-00-000Z"],
    );
    check(
        &["2099-01-01T00-00-00-000Z", "2026-01-01T00-00-00-000Z"],
        2,
        &["2026-01-01T00-00-00-000Z"],
    );
    // Nobody but a run makes such names, so nobody else's directory is dropped.
    let foreign = [
        "2026-notes",
        "cleanup-mine",
        "keep",
        "sweep-2026-01-02T00-00-00-000Z-",
        "sweep-2026-01-02T00-00-00-000Z-x",
    ];
    check(&foreign, 1, &foreign);
}

#[test]
fn a_drop_that_was_killed_is_finished() {
    let sandbox = Sandbox::new();
    let stay = [
        ".sweep-2026-01-02T00-00-00-000Z.notes",
        ".sweep-2026-01-03T00-00-00-000Z.77.tmp",
        ".theirs.77.tmp",
    ];
    for name in [".sweep-2026-01-02T00-00-00-000Z.77.tmp", stay[0], stay[2]] {
        snapshot(&sandbox, name);
    }
    sandbox.write(&format!("{RING}/{}", stay[1]), "a file");
    sandbox.write(".devt/state/notes.md", "x");
    let done = sandbox.run("reset --json").json();
    let new = done["archived_to"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap();
    assert_eq!(sandbox.names(RING), [stay.as_slice(), &[new]].concat());
}

#[test]
fn a_person_is_told_which_snapshot_goes() {
    let sandbox = Sandbox::new();
    let old = "cleanup-2026-01-01T00-00-00-000Z";
    snapshot(&sandbox, old);
    sandbox.write(".claude/statewarden.yaml", "archive:\n  runs: 1\n");
    sandbox.write(".devt/state/plan.md", "x");
    let told = sandbox.run("reset").stdout();
    let line = format!("  dropped the oldest snapshot, `{old}`\n");
    assert!(told.ends_with(&line), "{told}");
}

#[test]
fn an_archived_site_is_none() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/junk/.devt/state/plan.md", "x");
    sandbox.write(".devt/state/junk/openspec/changes/c/tasks.md", "x");
    sandbox.run("cleanup --apply --system devt");
    let audit = sandbox.run("audit --json").json();
    assert_eq!(audit["sites"].as_array().unwrap().len(), 1, "{audit}");
}

#[test]
fn every_verb_keeps_the_ring_small() {
    let sandbox = Sandbox::new();
    for n in 0..12 {
        sandbox.write_aged(".devt/state/notes.md", "x", 3 * 24 * 60 * 60);
        let verbs = ["cleanup --apply", "sweep --apply", "reset"];
        sandbox.run(verbs[n % 3]).ends(0);
        assert_eq!(sandbox.names(RING).len(), 5.min(n + 1), "after run {n}");
        assert!(!sandbox.exists(".devt/state/notes.md"));
    }
    // The last run's snapshot and the four before.
    let history = sandbox.run("history --json").json();
    let kinds: Vec<&Value> = history["archives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["kind"])
        .collect();
    assert_eq!(kinds, ["reset", "sweep", "cleanup", "reset", "sweep"]);
}

#[test]
fn a_session_and_agent_flow_can_be_reset_by_name() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/orchestration.local.md", "run");
    sandbox.write(".claude/test-command", "the user's");
    sandbox.write(".devt/state/plan.md", "plan");
    let done = sandbox.run("reset --system agent-flow --json").json();
    assert_eq!(done["cleaned"], json!(["orchestration.local.md"]));
    assert!(sandbox.exists(".devt/state/plan.md") && sandbox.exists(".claude/test-command"));
    // Nothing is left that shows the site, yet its archive is found.
    let history = sandbox.run("history --json").json();
    let archive = history["archives"][0]["archive"].as_str().unwrap();
    assert_eq!(history["archives"][0]["system"], "agent-flow");
    sandbox.run(&["restore", archive]).ends(0);
    assert_eq!(sandbox.read(".claude/orchestration.local.md"), "run");
}

#[test]
fn several_sites_come_as_a_list() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/plan.md", "a");
    sandbox.write("packages/b/.devt/state/plan.md", "b");
    let done = sandbox.run("reset --json").json();
    let sites = done["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 2);
    assert_eq!(done["ok"], true);
    assert_eq!(done["cleaned"], json!(["plan.md", "plan.md"]));
    assert_eq!(done["archived_to"], sites[0]["archived_to"]);
    for (site, dir) in sites.iter().zip([".devt/state", "packages/b/.devt/state"]) {
        assert_eq!(site["state_dir"], json!(sandbox.path(dir)));
        assert_eq!(site["cleaned"], json!(["plan.md"]));
    }
}
