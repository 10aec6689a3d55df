//! What agents owe: devt's artifacts and the verdict files of groups.

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::support::{DEVT, assert_has};

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
fn a_missing_artifact_is_warned_of_or_asked_for() {
    let stage = devt("warn");
    end(&stage, false).is_silent();
    let warnings = owed(&stage);
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        (&warnings[0]["system"], &warnings[0]["name"]),
        (&json!("devt"), &json!("impl-summary.md"))
    );
    let path = stage.path(".devt/state/impl-summary.md");
    assert_eq!(warnings[0]["file_path"], path);
    let off = devt("off");
    end(&off, false).is_silent();
    assert_eq!(owed(&off).len(), 0);

    for mode in ["mode: warn", "systems:\n  devt: {mode: warn}"] {
        let warned = devt(&format!("block\n{mode}"));
        end(&warned, false).is_silent();
        assert_eq!(owed(&warned).len(), 1, "{mode}");
    }

    let stage = devt("block");
    let reason = blocked(&end(&stage, false));
    assert_has(&reason, ".devt/state/impl-summary.md");
    assert_has(&reason, "full report again");
    assert_eq!(
        stage.gates().len() + owed(&stage).len(),
        0,
        "a stop that was sent back does not count"
    );
    stage.write(".devt/state/impl-summary.md", SUMMARY);
    stage.write(".devt/state/impl-summary.json", SIDECAR);
    end(&stage, true).is_silent();
    let workflow = stage.read(".devt/state/workflow.yaml");
    assert_has(&workflow, "\nstatus: DONE\n");
    assert_eq!(stage.gates().pop().unwrap()["to"], "passed");
}

#[test]
fn an_agent_is_sent_back_once_only() {
    let stage = devt("block");
    blocked(&end(&stage, false));
    end(&stage, true).is_silent();
    assert_eq!(owed(&stage).len(), 1);
    // The launching call's result of the same run comes last and is no second end.
    stage
        .hook(&stage.launched("devt:programmer", "p-1", "implemented"))
        .is_silent();
    assert_eq!((owed(&stage).len(), stage.gates().len()), (1, 1));
}

/// In auto mode the report goes to the caller by a tool, and the agent's end comes too late.
#[test]
fn a_report_is_handed_back_without_its_artifact_the_second_time_only() {
    let handback = |stage: &Stage, id: &str| {
        let mut event = stage.agent("PreToolUse", "devt:programmer", id);
        event["tool_name"] = "SubagentHandback".into();
        event["tool_input"] = json!({ "message": "implemented" });
        stage.hook(&event)
    };
    for completion in ["warn", "off", "block\nmode: warn"] {
        handback(&devt(completion), "p-1").is_silent();
    }
    let stage = devt("block");
    let reason = handback(&stage, "p-1").reason();
    for part in [
        ".devt/state/impl-summary.md",
        "full report again",
        "SubagentHandback",
    ] {
        assert_has(&reason, part);
    }
    let record = stage.gates().pop().unwrap();
    assert_eq!(record["file"], ".devt/state/impl-summary.md");
    assert_has(record["skipped"].as_str().unwrap(), "sent back");
    handback(&stage, "p-1").is_silent();
    handback(&stage, "p-2").reason();
    // The client does not heed a block at the end of such an agent, so the end counts.
    end(&stage, false).is_silent();
    assert_eq!(owed(&stage).len(), 1);
    stage.hook(&stage.agent("SubagentStart", "devt:programmer", "p-1"));
    handback(&stage, "p-1").reason();
    stage.write(".devt/state/impl-summary.md", SUMMARY);
    stage.write(".devt/state/impl-summary.json", SIDECAR);
    handback(&stage, "p-3").is_silent();
    assert!(stage.records(DEVT).is_empty(), "it is no denial");
    // What cannot be noted must not keep a report.
    let stage = devt("block");
    stage.write(".claude/statewarden", "");
    let ran = handback(&stage, "p-1");
    assert_eq!((ran.code(), ran.stdout()), (0, String::new()));
}

#[test]
fn an_invalid_artifact_leaves_the_old_status() {
    let stage = devt("warn");
    stage.write(
        ".devt/state/workflow.yaml",
        &WORKFLOW.replace("status: null", "status: PARTIAL"),
    );
    stage.write(".devt/state/impl-summary.md", SUMMARY);
    stage.write(".devt/state/impl-summary.json", "{\"status\":\"GREAT\"}");
    end(&stage, false).is_silent();
    let workflow = stage.read(".devt/state/workflow.yaml");
    for line in [
        "status: PARTIAL",
        "validation_status: warned",
        "validation_warnings: 1",
        "workflow_id: w-1",
    ] {
        assert!(
            workflow.lines().any(|found| found == line),
            "no `{line}` in:\n{workflow}"
        );
    }
    assert_eq!(owed(&stage).len(), 1);
}

#[test]
fn a_state_or_an_artifact_that_cannot_be_read_is_not_called_absent() {
    let stage = devt("warn");
    stage.write(".devt/state/impl-summary.md", SUMMARY);
    stage.write(".devt/state/impl-summary.json", SIDECAR);
    for name in ["workflow.yaml", "impl-summary.md", "impl-summary.json"] {
        let file = format!(".devt/state/{name}");
        let sound = stage.read(&file);
        std::fs::write(stage.path(&file), [0xff]).unwrap();
        let told = end(&stage, false).stderr();
        let expected = format!("`{name}` cannot be read: it is not UTF-8");
        assert_has(&told, &expected);
        assert_has(&stage.skipped(), &expected);
        stage.write(&file, &sound);
    }
    assert_eq!(
        owed(&stage)[0]["reason"]
            .as_str()
            .unwrap()
            .matches("cannot be read")
            .count(),
        1
    );
    end(&stage, false).is_silent();
    assert_eq!(stage.gates().pop().unwrap()["to"], "passed");
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

#[test]
fn without_an_active_workflow_nothing_is_owed() {
    let stage = devt("block");
    stage.write(
        ".devt/state/workflow.yaml",
        &WORKFLOW.replace("active: true", "active: false"),
    );
    end(&stage, false).is_silent();
    assert!(stage.skipped().contains("no workflow is active"));
}

#[test]
fn a_broken_workflow_is_not_called_an_inactive_one() {
    let stage = devt("block");
    let text = WORKFLOW.replace("active: true", "active: [");
    stage.write(".devt/state/workflow.yaml", &text);
    end(&stage, false).is_silent();
    let skipped = stage.skipped();
    assert_has(&skipped, "`workflow.yaml`: the value in line");
}

#[test]
fn reviewers_and_testers_owe_their_verdict_files() {
    let stage = devt("block");
    stage.write(".claude/statewarden.yaml", "completion: block\nsystems:\n  groups:\n    roots: [docs/plan]\n    roles: {critic: reviewer}\n");
    let tasks = "## 1. A\n- [x] a\n## 2. B\n- [x] b\n";
    for dir in ["openspec/changes/auth", "docs/plan"] {
        stage.write(&format!("{dir}/tasks.md"), tasks);
        stage.write(&format!("{dir}/test-reports/1.md"), "**Status:** PASS\n");
    }
    let archived = stage.path("openspec/changes/archive/old/tasks.md");
    stage.write("openspec/changes/archive/old/tasks.md", tasks);
    let end = |agent: &str, id: &str| stage.hook(&stage.stop_event(agent, id, "done"));
    for agent in ["code-reviewer", "critic"] {
        // devt knows a code-reviewer too, and no workflow file of its own is owed to groups.
        std::fs::remove_file(stage.path(".devt/state/workflow.yaml")).ok();
        let reason = blocked(&end(agent, agent));
        for file in ["openspec/changes/auth/review/1.md", "docs/plan/review/1.md"] {
            assert!(reason.contains(file), "{agent}: {reason}");
        }
        assert!(!reason.contains("review/2.md"), "{reason}");
    }
    let reason = blocked(&end("tester-fast", "t-1"));
    assert_has(&reason, "auth/test-reports/2.md");
    assert!(!reason.contains("archive"), "{reason}");
    assert!(Path::new(&archived).is_file());
    end("developer", "d-1").is_silent();
    for dir in ["openspec/changes/auth", "docs/plan"] {
        stage.write(&format!("{dir}/review/1.md"), "**Status:** APPROVED\n");
    }
    end("critic", "c-2").is_silent();
}

/// OpenSpec has numbered groups with boxes as well; the roles are this system's alone.
#[test]
fn where_nobody_plays_the_roles_nothing_is_told_or_owed() {
    let agent = |name: &str| format!("---\ndescription: Use it: <example>\n{name}\n---\nDo it.\n");
    for (file, text, plays) in [
        ("openspec/changes/auth/design.md", "", false),
        ("openspec/changes/auth/review/notes.md", "", false),
        ("README.md", "---\nname: tester\n---\n", false),
        (
            ".claude/agents/a.md",
            &*agent("name: release-manager"),
            false,
        ),
        (".claude/agents/a.txt", &agent("name: tester"), false),
        (".claude/agents/a.md", "the\nname: tester\n", false),
        (".claude/agents/a.md", &agent("name: tester"), true),
        (
            ".claude/agents/a.md",
            &agent("name: 'My:Code_Reviewer'\r"),
            true,
        ),
        (
            "../home/.claude/agents/a.md",
            &agent("name: tester-fast"),
            true,
        ),
        ("openspec/changes/auth/STUCK.md", "", true),
        ("openspec/changes/other/test-reports/2.md", "", true),
        (
            "openspec/changes/archive/2026-01-10-old/review/1.md",
            "",
            true,
        ),
        (
            ".claude/statewarden.local.yaml",
            "systems: {groups: {roles: {x: tester}}}\n",
            true,
        ),
    ] {
        let stage = Stage::new();
        stage.write(".claude/statewarden.yaml", "completion: block\n");
        stage.write(
            "openspec/changes/auth/tasks.md",
            "## 1. A\n- [x] a\n## 2. B\n- [ ] b\n",
        );
        stage.write(file, text);
        let told = stage.hook(&stage.event_of("SessionStart"));
        let sent_back = stage.hook(&stage.stop_event("tester", "t-1", "done"));
        if plays {
            assert_has(&told.context(), "Next: dispatch the tester");
            assert_has(&blocked(&sent_back), "auth/test-reports/1.md");
        } else {
            told.is_silent();
            sent_back.is_silent();
            assert_eq!(owed(&stage).len(), 0, "{file}");
        }
    }
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
