//! Agent Flow: which ends change what, and which change nothing.

use super::*;

#[test]
fn a_record_says_what_moved_and_why() {
    let stage = Stage::with_run(&[]);
    stage.start("agent-flow:Riko", "r-1");
    stage.stop("agent-flow:Riko", "r-1", "# Found\n\n5 files.");
    let mut record = stage.gates().pop().unwrap();
    for key in ["prev", "id", "ts"] {
        assert!(record[key].take().is_string(), "{key}");
    }
    let expected = json!({
        "prev": null, "id": null, "ts": null, "system": "agent-flow", "file": SINGLE, "gate": "exploration",
        "from": "in_progress", "to": "passed", "phase": "exploration", "iteration": 1,
        "agent_type": "agent-flow:Riko", "agent_id": "r-1", "session_id": "s-1", "evidence": "# Found",
        "proof": [{"kind": "verdict", "line": "# Found", "at": "reply"}],
    });
    assert_eq!(record, expected);
    let text = stage.read(SINGLE).replace("\"pending\"", "\"passed\"");
    stage.write(SINGLE, &text);
    stage.hook(&stage.event_of("Stop")).is_silent();
    let mut closed = stage.gates().pop().unwrap();
    for key in ["prev", "id", "ts"] {
        assert!(closed[key].take().is_string(), "{key}");
    }
    let expected = json!({
        "prev": null, "id": null, "ts": null, "system": "agent-flow", "file": SINGLE, "phase": "complete",
        "iteration": 1, "session_id": "s-1", "evidence": "All phases completed successfully",
    });
    assert_eq!(closed, expected);
}

#[test]
fn a_record_stays_one_line_of_bounded_length() {
    let stage = Stage::with_run(&[]);
    stage.stop(&"\u{1}x\n".repeat(20_000), &"y".repeat(50_000), "a report");
    let log = stage.read(GATES);
    assert!(
        log.len() <= 4_032 && log.lines().count() == 1,
        "{} bytes",
        log.len()
    );
}

/// A package of a monorepo has a `.claude` for its settings; the run is at the root.
#[test]
fn the_nearest_state_is_the_one_that_is_there() {
    let stage = Stage::with_run(&[]);
    stage.write("packages/api/.claude/settings.json", "{}");
    stage.write(
        "packages/web/.claude/orchestration.local.md",
        &stage.read(SINGLE),
    );
    let end = |dir: &str, text: &str| {
        let mut event = stage.stop_event("riko", dir, text);
        event["cwd"] = stage.path(dir).into();
        stage.hook(&event).is_silent();
    };
    stage.write("packages/web/src/a.rs", "");
    end("packages/web/src", "of the web");
    assert!(
        stage
            .read("packages/web/.claude/orchestration.local.md")
            .contains("of the web")
    );
    assert!(!stage.read(SINGLE).contains("of the web"));
    end("packages/api/src", "of the root");
    assert!(stage.read(SINGLE).contains("of the root"));
    // A command finds the same, and a work tree has no run of its own.
    let mut update = stage.command(&["flow", "update", "--message", "of the command"]);
    update.env("CLAUDE_PROJECT_DIR", stage.project());
    update.current_dir(stage.path("packages/web/src"));
    assert!(update.output().unwrap().status.success());
    let web = "packages/web/.claude/orchestration.local.md";
    assert!(stage.read(web).contains("of the command"));
    stage.write("wt/.git", "gitdir: ../.git/worktrees/wt\n");
    stage.write(".git/worktrees/wt/HEAD", "");
    stage.write("wt/src/a.rs", "");
    let fresh = stage.read(web).replacen("\"passed\"", "\"in_progress\"", 1);
    stage.write("wt/.claude/orchestration.local.md", &fresh);
    stage.write(SINGLE, &fresh);
    end("wt/src", "of the tree");
    assert!(stage.read(SINGLE).contains("of the tree"));
    assert_eq!(stage.read("wt/.claude/orchestration.local.md"), fresh);
}

#[test]
fn runs_that_do_not_fit_are_counted() {
    let stage = Stage::with_run(&[]);
    for n in 1..=9 {
        let tasks = format!(
            "## 1. Group\n- [x] a\n## 2. {}\n- [ ] b\n",
            "word ".repeat(9)
        );
        stage.write(&format!("openspec/changes/c{n}/tasks.md"), &tasks);
    }
    stage.write("openspec/changes/c1/review/2.md", "");
    let text = stage.hook(&stage.event_of("SessionStart")).context();
    assert!(text.chars().count() < 1_000, "{text}");
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    let rest = lines.pop().unwrap();
    let missing = 10 - lines.len();
    assert_eq!(rest, format!("and {missing} more: `statewarden status`."));
    assert!(lines.iter().all(|line| line.ends_with('.')), "{text}");
}
