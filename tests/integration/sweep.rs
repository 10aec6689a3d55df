use chrono::{SecondsFormat, TimeDelta, Utc};

use crate::cleanup::listed;
use crate::support::{Sandbox, assert_has};

const STATE: &str = ".devt/state";
const HOUR: i64 = 60 * 60;

/// An instant of the past as devt writes it.
fn ago(hours: i64) -> String {
    (Utc::now() - TimeDelta::hours(hours)).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn workflow(active: &str) -> String {
    format!(
        "active: {active}\nfirst_created_at: \"{}\"\ncreated_at: \"{}\"\n",
        ago(10),
        ago(4)
    )
}

/// Files, their age in hours, and which sweep takes each: without a workflow,
/// in an active one that began 10 hours ago and got its present id 4 hours ago,
/// and after it has been closed.
const MATRIX: &str = "\
consolidator-ran.txt           1   1 - 1
consolidator-ran.txt          12   1 1 1
verification.json              1   1 - 1
verification.md               12   1 1 1
graph-impact.md                1   1 - 1
staleness-suppressed.txt      12   1 1 1
review.md                      1   - - 2
review.json                   12   - 2 2
impl-summary.json             12   - 2 2
debug-summary.md              12   - 2 2
review-a.md                    1   3 - 3
review-a.md                    5   3 4 3
review-a.md                   12   3 3 3
review-lane-api.md            12   3 3 3
review-lane-api.json           1   3 - 3
review-lane-api.json          12   3 3 3
slice-a.md                    12   3 3 3
test-summary-x.json            1   3 - 3
foo-summary.md                 1   - - -
foo-summary.md                12   - 4 4
foo-summary.md                30   4 4 4
notes.md                       1   - - -
notes.md                      12   - 4 4
notes.md                      30   4 4 4
left.tmp                       1   4 4 4
review-scope.md               30   - - -
spec.md                       90   - - -
plan.md                       90   - - -
decisions.md                  90   - - -
scratchpad.md                 90   - - -
workflow.yaml                  0   - - -
research.md                   90   - - -
deferred.md                   90   - - -
arch-review.md                90   - - -
";

fn sweep_of(reason: &str) -> &'static str {
    match reason {
        "workflow_marker" | "graph_artifact" => "1",
        "stale_canonical" => "2",
        "stale_variant" => "3",
        _ => "4",
    }
}

#[test]
fn each_sweep_has_its_gate() {
    let workflows = [None, Some(workflow("true")), Some(workflow("false"))];
    for line in MATRIX.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (name, hours) = (columns[0], columns[1].parse::<i64>().unwrap());
        for (workflow, expected) in workflows.iter().zip(&columns[2..]) {
            let sandbox = Sandbox::new();
            let file = format!("{STATE}/{name}");
            sandbox.write_aged(&file, "x", hours * HOUR);
            if let Some(text) = workflow {
                sandbox.write(".devt/state/workflow.yaml", text);
            }
            let done = sandbox.run("sweep --apply --json").json();
            let found: Vec<_> = listed(&done);
            let found = found
                .first()
                .map_or("-", |line| sweep_of(line.split_once(' ').unwrap().1));
            assert_eq!(found, *expected, "{line}: {done}");
            assert_eq!(sandbox.exists(&file), *expected == "-", "{line}");
            if *expected != "-" {
                let archive = done["archive_path"].as_str().unwrap();
                assert_has(archive, "/.archive/sweep-");
                assert!(
                    std::fs::exists(format!("{archive}/{name}")).unwrap(),
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn nothing_of_a_closed_workflow_reaches_the_next_one() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/workflow.yaml", &workflow("false"));
    for name in [
        "review.md",
        "review.json",
        "impl-summary.md",
        "test-summary.json",
        "debug-summary.md",
    ] {
        sandbox.write(
            &format!("{STATE}/{name}"),
            "of the last workflow, a moment ago",
        );
    }
    sandbox.run("sweep --apply");
    assert_eq!(sandbox.names(STATE), [".archive", "workflow.yaml"]);
}

#[test]
fn a_sweep_can_be_undone() {
    let sandbox = Sandbox::new();
    for name in [
        "deferred.md",
        "preflight-denies.jsonl",
        "verification.md",
        "slice-a.md",
    ] {
        sandbox.write(&format!("{STATE}/{name}"), name);
    }
    let plan = sandbox.run("sweep --json").json();
    assert_eq!(plan["dry_run"], true);
    assert_eq!(
        listed(&plan),
        [
            "slice-a.md stale_variant",
            "verification.md workflow_marker"
        ]
    );
    let done = sandbox.run("sweep --apply --json").json();
    assert_eq!(
        sandbox.names(STATE),
        [".archive", "deferred.md", "preflight-denies.jsonl"]
    );
    let archive = done["archive_path"].as_str().unwrap();
    sandbox.run(&["restore", archive]).ends(0);
    assert_eq!(sandbox.read(".devt/state/slice-a.md"), "slice-a.md");
    assert_eq!(
        sandbox.read(".devt/state/verification.md"),
        "verification.md"
    );
}

#[test]
fn the_other_edition_knows_lane_verdicts() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  devt:\n    contract: \"0.244\"\n",
    );
    for name in ["review-lane-api.json", "plan-api.md", "lane-diff-L1.txt"] {
        sandbox.write(&format!("{STATE}/{name}"), name);
    }
    let done = sandbox.run("sweep --apply --json").json();
    assert_eq!(listed(&done), ["review-lane-api.json stale_variant"]);
}

#[test]
fn a_workflow_that_cannot_be_read_stops_the_sweep() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/slice-a.md", "x");
    std::fs::write(
        sandbox.project().join(".devt/state/workflow.yaml"),
        b"active: \xff\n",
    )
    .unwrap();
    let ran = sandbox.run("sweep --apply --json");
    assert_eq!(ran.code(), 2);
    assert_has(&ran.stderr(), "workflow.yaml`");
    let document = ran.json();
    assert_eq!(document["ok"], false);
    assert!(
        document["reason"]
            .as_str()
            .unwrap()
            .contains("workflow.yaml")
    );
    assert_eq!(sandbox.names(STATE), ["slice-a.md", "workflow.yaml"]);
}

/// A workflow of tomorrow would make leftovers of all that was written in it.
#[test]
fn a_workflow_that_begins_in_the_future_stops_the_sweep() {
    for key in ["created_at", "first_created_at"] {
        let sandbox = Sandbox::new();
        sandbox.write(".devt/state/review.md", "x");
        sandbox.write(
            ".devt/state/workflow.yaml",
            &workflow("true").replace(
                &format!("\n{key}: "),
                &format!("\n{key}: \"{}\" # ", ago(-1)),
            ),
        );
        let ran = sandbox.run("sweep --apply");
        assert_eq!(ran.code(), 2);
        assert_has(&ran.stderr(), &format!("`{key}` is in the future"));
        assert_eq!(sandbox.names(STATE), ["review.md", "workflow.yaml"]);
    }
}
