//! What agents owe: devt's artifacts and the verdict files of groups.

use std::time::{Duration, Instant};

use super::*;
use crate::support::assert_has;

const WORKFLOW: &str =
    "workflow_id: w-1\nworkflow_type: dev\nactive: true\nphase: implement\nstatus: null\n";
const SUMMARY: &str = include_str!("../../fixtures/devt/impl-summary.md");
const SIDECAR: &str =
    r#"{"status":"DONE","agent":"programmer","verdict":"PASS","files_changed":["src/a.rs"]}"#;

fn devt(completion: &str) -> Stage {
    let stage = Stage::new();
    stage.write(".devt/state/workflow.yaml", WORKFLOW);
    stage.write(
        ".claude/statewarden.yaml",
        &format!("completion: {completion}\n"),
    );
    stage
}

fn owed(stage: &Stage) -> Vec<Value> {
    let mut records = stage.records(EVENTS);
    records.retain(|record| record["decision"] == "warn");
    records
}

/// Ends the programmer; the second time with `stop_hook_active`, as after a block.
fn end(stage: &Stage, second: bool) -> Ran {
    let mut event = stage.stop_event("devt:programmer", "p-1", "implemented");
    event["stop_hook_active"] = second.into();
    stage.hook(&event)
}

#[test]
fn a_directory_of_very_many_groups_is_judged_at_once() {
    let stage = devt("warn");
    let tasks: String = (1..=60_000)
        .map(|n| format!("## {n}. Group\n- [x] a\n"))
        .collect();
    stage.write("openspec/changes/big/tasks.md", &tasks);
    stage.write("openspec/changes/big/review/1.md", "");
    let begun = Instant::now();
    stage
        .hook(&stage.stop_event("reviewer", "r-1", "done"))
        .is_silent();
    // A few seconds where each report is looked up, minutes where all are gone through.
    assert!(
        begun.elapsed() < Duration::from_secs(40),
        "{:?}",
        begun.elapsed()
    );
}

/// An agent with a work tree of its own leaves its files there; the run is the session's.
#[test]
fn what_an_agent_in_its_own_work_tree_owes_is_looked_for_in_there() {
    for tree in [".claude/worktrees/agent-7", "trees/t", "../t"] {
        let stage = devt("block");
        stage.write(
            &format!("{tree}/.git"),
            &format!("gitdir: {}\n", stage.path(".git/worktrees/t")),
        );
        stage.write(".git/worktrees/t/HEAD", "");
        let own = std::fs::canonicalize(stage.path(tree)).unwrap();
        let own = own.to_str().unwrap();
        let in_tree = |mut event: Value| {
            event["cwd"] = own.into();
            stage.hook(&event)
        };
        let ends = |agent: &str, id: &str| in_tree(stage.stop_event(agent, id, "done"));
        let reason = blocked(&ends("programmer", "p-1"));
        assert_has(&reason, &format!("`{own}/.devt/state/impl-summary.md`"));
        // A copy of the run is not the run.
        stage.write(
            &format!("{tree}/.devt/state/workflow.yaml"),
            "active: false\n",
        );
        stage.write(&format!("{tree}/.devt/state/impl-summary.md"), SUMMARY);
        stage.write(&format!("{tree}/.devt/state/impl-summary.json"), SIDECAR);
        ends("programmer", "p-1").is_silent();
        assert_has(&stage.read(".devt/state/workflow.yaml"), "\nstatus: DONE\n");
        let mut launched = stage.launched("programmer", "p-2", "done");
        launched["tool_response"]["worktreePath"] = own.into();
        // Beside the project a work tree is known by an event in it alone.
        if tree != "../t" {
            stage.hook(&launched).is_silent();
        }
        assert_eq!(owed(&stage).len(), 0, "{tree}");

        let tasks = "## 1. A\n- [x] a\n";
        stage.write("openspec/changes/auth/tasks.md", tasks);
        stage.write(
            "openspec/changes/auth/test-reports/1.md",
            "**Status:** PASS\n",
        );
        let review = "openspec/changes/auth/review/1.md";
        let reason = blocked(&ends("reviewer", "r-1"));
        assert_has(&reason, &format!("`{own}/{review}`"));
        stage.write(&format!("{tree}/openspec/changes/auth/tasks.md"), tasks);
        blocked(&ends("reviewer", "r-1"));
        stage.write(&format!("{tree}/{review}"), "**Status:** APPROVED\n");
        ends("reviewer", "r-1").is_silent();
        // What it wrote into the main checkout is no less written.
        std::fs::rename(stage.path(&format!("{tree}/{review}")), stage.path("moved")).unwrap();
        stage.write(review, "**Status:** APPROVED\n");
        ends("reviewer", "r-2").is_silent();
    }
}

#[test]
fn what_there_is_no_room_to_ask_for_is_counted() {
    let stage = devt("block");
    let groups = (1..=40).map(|n| format!("## {n}. A\n- [x] a\n"));
    let tasks: String = groups.collect();
    stage.write("openspec/changes/auth/tasks.md", &tasks);
    stage.write("openspec/changes/auth/STUCK.md", "");
    let reason = blocked(&stage.hook(&stage.stop_event("tester", "t-1", "done")));
    let rest = 40 - reason.matches("test-reports/").count();
    assert_has(&reason, &format!(", and {rest} more. Write"));
    assert!(reason.contains("full report again") && reason.len() < 1_200);
}

#[test]
fn a_long_phase_does_not_make_a_long_record() {
    let stage = devt("off");
    let long = WORKFLOW.replace("implement", &"pé".repeat(3_000));
    stage.write(".devt/state/workflow.yaml", &long);
    stage.write(".devt/state/impl-summary.md", SUMMARY);
    stage.write(".devt/state/impl-summary.json", SIDECAR);
    end(&stage, false).is_silent();
    let log = stage.read(GATES);
    assert!(
        log.contains("\"phase\":\"p") && log.len() <= 4_032,
        "{} bytes",
        log.len()
    );
}
