//! Agent Flow: which ends change what, and which change nothing.

use super::*;
use crate::support::assert_has;

#[test]
fn a_run_ends_with_every_gate_right() {
    let stage = Stage::with_run(&[]);
    for (agent, text, expected) in [
        (
            "riko",
            "## Exploration Results\nfound it",
            "exploration/1: pa pe pe pe pe",
        ),
        ("Senku", "a plan", "planning/1: pa pa pe pe pe"),
        (
            "agent-flow:Loid",
            "✅ Verification Complete",
            "implementation/1: pa pa pa pe pe",
        ),
        ("lawliet", NEEDS_CHANGES, "review/1: pa pa pa fa pe"),
        ("loid", "better now", "implementation/2: pa pa pa pe pe"),
        ("lawliet", APPROVED, "review/2: pa pa pa pa pe"),
        ("alphonse", VERIFIED, "verification/2: pa pa pa pa pa"),
    ] {
        stage.play(agent, text);
        assert_eq!(stage.standing(SINGLE), expected, "after {agent}");
    }
    let text = stage.read(SINGLE);
    assert_has(&text, "message: \"Exploration Results\"\n");
    assert_has(
        &text,
        "### Phase: Review\n- Agent: Lawliet\n- Result: Verdict\n- Gate: failed\n",
    );
    stage.hook(&stage.event_of("Stop")).is_silent();
    assert_eq!(stage.standing(SINGLE), "complete/2: pa pa pa pa pa closed");
    let records = stage.gates();
    let ends = records
        .iter()
        .filter(|record| record["to"] == "passed" || record["to"] == "failed");
    let ends: Vec<_> = ends
        .map(|record| json!([record["gate"], record["to"], record["agent_type"]]))
        .collect();
    assert_eq!(ends.len(), 7, "{ends:?}");
    assert_eq!(
        ends[2],
        json!(["implementation", "passed", "agent-flow:Loid"])
    );
    assert!(records.iter().all(|record| record["session_id"] == "s-1"));
}

#[test]
fn a_stop_with_an_open_gate_closes_nothing() {
    let stage = Stage::with_run(&[]);
    let before = stage.read(SINGLE);
    stage.hook(&stage.event_of("Stop")).is_silent();
    assert_eq!(stage.read(SINGLE), before);
    assert_eq!(stage.gates(), [json!(null); 0]);
}

/// Each of these leaves the file as it is and one record that says why.
/// A second verdict that is still out may send the work back.
#[test]
fn a_run_is_not_closed_while_an_agent_of_a_gate_goes_on() {
    let stage = Stage::with_run(&[]);
    let passed = stage.read(SINGLE).replace("\"pending\"", "\"passed\"");
    let passed = passed.replace("\"in_progress\"", "\"passed\"");
    stage.write(SINGLE, &passed);
    let stop = |agents: &[&str]| {
        let task = |agent: &&str| json!({"id": "a-1", "type": "subagent", "status": "running", "description": "x", "agent_type": agent});
        let mut event = stage.event_of("Stop");
        event["background_tasks"] = agents.iter().map(task).collect();
        stage.hook(&event).is_silent();
    };
    stop(&["Explore", "agent-flow:Alphonse"]);
    stop(&["lawliet"]);
    assert_eq!(stage.read(SINGLE), passed);
    stop(&["Explore"]);
    assert_has(&stage.standing(SINGLE), " closed");
}

#[test]
fn what_decides_nothing_is_recorded() {
    let escalated = "<escalation type=\"assumption-contradicted\">no</escalation>";
    for (agent, text, word) in [
        ("riko", "", "empty"),
        ("riko", " \n", "empty"),
        ("", "a report", "no gate"),
        ("Explore", "a report", "no gate"),
        ("lawliet", APPROVED, "phase"),
        ("senku", "a plan", "phase"),
    ] {
        let stage = Stage::with_run(&[]);
        let before = stage.read(SINGLE);
        stage.stop(agent, "a-1", text);
        assert_eq!(stage.read(SINGLE), before, "{agent}: {text}");
        let skipped = stage.skipped();
        assert!(
            stage.gates().len() == 1 && skipped.contains(word),
            "{agent}: {skipped}"
        );
    }
    let stage = Stage::with_run(&[]);
    stage.play("riko", "found");
    for (agent, text, word) in [
        ("senku", escalated, "escalated"),
        ("senku", "a plan", ""),
        ("loid", escalated, "escalated"),
        ("loid", "VERIFICATION NOT RUN", ""),
        ("loid", "done", ""),
        ("lawliet", "it looks APPROVED to me", ""),
        ("lawliet", "### Verdict: [APPROVED | NEEDS_CHANGES]", ""),
    ] {
        let is_plan = text == "a plan" || text == "done";
        stage.play(agent, text);
        let last = stage.gates().pop().unwrap();
        assert_eq!(
            last["skipped"].is_null(),
            is_plan,
            "{agent}: {text}: {last}"
        );
        assert!(last.to_string().contains(word), "{last}");
    }
    assert_eq!(stage.standing(SINGLE), "review/1: pa pa pa i pe");
}

#[test]
fn a_record_says_what_moved_and_why() {
    let stage = Stage::with_run(&[]);
    stage.stop("agent-flow:Riko", "r-1", "# Found\n\n5 files.");
    let mut record = stage.gates().pop().unwrap();
    for key in ["id", "ts"] {
        assert!(record[key].take().is_string(), "{key}");
    }
    let expected = json!({
        "id": null, "ts": null, "system": "agent-flow", "file": SINGLE, "gate": "exploration",
        "from": "in_progress", "to": "passed", "phase": "exploration", "iteration": 1,
        "agent_type": "agent-flow:Riko", "agent_id": "r-1", "session_id": "s-1", "evidence": "# Found",
    });
    assert_eq!(record, expected);
    let text = stage.read(SINGLE).replace("\"pending\"", "\"passed\"");
    stage.write(SINGLE, &text);
    stage.hook(&stage.event_of("Stop")).is_silent();
    let mut closed = stage.gates().pop().unwrap();
    for key in ["id", "ts"] {
        assert!(closed[key].take().is_string(), "{key}");
    }
    let expected = json!({
        "id": null, "ts": null, "system": "agent-flow", "file": SINGLE, "phase": "complete",
        "iteration": 1, "session_id": "s-1", "evidence": "All phases completed successfully",
    });
    assert_eq!(closed, expected);
}

/// Of a command's change, what it is: the verb.
#[test]
fn a_change_without_a_gate_says_where_the_run_stands() {
    let stage = Stage::with_run(&[]);
    for (args, phase) in [
        ("flow update --message m", "exploration"),
        ("flow update --phase planning", "planning"),
        ("flow update --complete", "complete"),
    ] {
        stage.run(args).ends(0);
        let record = stage.gates().pop().unwrap();
        let found = [&record["gate"], &record["phase"], &record["iteration"]];
        assert_eq!(found, [&json!(null), &json!(phase), &json!(1)], "{record}");
        assert_eq!(record["evidence"], "flow update");
    }
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

#[test]
fn without_an_active_run_only_agents_with_a_gate_are_worth_a_record() {
    let stage = Stage::with_run(&[]);
    stage.run("flow update --complete").ends(0);
    let count = stage.gates().len();
    stage.stop("Explore", "a-1", "a report");
    stage.stop("", "a-2", "a report");
    assert_eq!(stage.gates().len(), count);
    stage.stop("riko", "a-3", "a report");
    assert!(stage.skipped().contains("not active"));
    let none = Stage::new();
    none.play("riko", "a report");
    assert!(
        !none.exists(".claude"),
        "a project without a run stays as it is"
    );
}

#[test]
fn one_run_of_an_agent_counts_once_until_it_is_continued() {
    let stage = Stage::with_run(&[]);
    let message = || {
        let text = stage.read(SINGLE);
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("    message: "));
        line.unwrap().to_owned()
    };
    stage.play("riko", "first");
    stage.stop("riko", "riko", "second");
    stage
        .hook(&stage.launched("riko", "riko", "third"))
        .is_silent();
    assert_eq!(
        (message(), stage.gates().len()),
        ("\"first\"".to_owned(), 1)
    );
    // Another hook blocked the end that was counted: the one after it is the run's.
    let mut again = stage.stop_event("riko", "riko", "blocked once");
    again["stop_hook_active"] = true.into();
    stage.hook(&again).is_silent();
    assert_eq!(message(), "\"blocked once\"");
    stage
        .hook(&stage.launched("riko", "riko", "third"))
        .is_silent();
    assert_eq!(
        (message(), stage.gates().len()),
        ("\"blocked once\"".to_owned(), 2)
    );
    stage.play("riko", "fourth");
    assert_eq!(message(), "\"fourth\"");
    // The same id in another session is another agent.
    let mut other = stage.stop_event("riko", "riko", "fifth");
    other["session_id"] = "s-2".into();
    stage.hook(&other).is_silent();
    assert_eq!(message(), "\"fifth\"");
}

#[test]
fn a_count_that_cannot_be_kept_is_told_with_its_place() {
    let stage = Stage::with_run(&[]);
    stage.start("riko", "riko");
    stage.write(".claude/statewarden/runs.json/x", "");
    let ran = stage.hook(&stage.stop_event("riko", "riko", "done"));
    let file = stage.path(".claude/statewarden/runs.json");
    let expected = format!("could not write `{file}`: ");
    assert_has(&ran.stderr(), &expected);
}

#[test]
fn where_no_record_can_be_written_the_gate_change_stands() {
    let stage = Stage::with_run(&[]);
    std::fs::remove_dir_all(stage.path(".claude/statewarden")).unwrap();
    stage.write(".claude/statewarden", "no directory");
    let ran = stage.hook(&stage.stop_event("riko", "riko", "done"));
    assert_eq!(stage.standing(SINGLE), "exploration/1: pa pe pe pe pe");
    let stderr = ran.stderr();
    for file in ["runs.json", "gates.jsonl"] {
        let told = format!("statewarden/{file}`: ");
        assert_has(&stderr, &told);
    }
    assert_eq!((ran.code(), ran.stdout()), (0, String::new()));
}

/// The result of a call that an agent made carries that agent's type.
#[test]
fn a_nested_agent_ends_for_itself() {
    let stage = Stage::with_run(&[]);
    stage.play("riko", "found");
    stage.play("senku", "a plan");
    stage.start("loid", "l-1");
    let mut nested = stage.launched("general-purpose", "n-1", "❌ Verification Failed");
    nested["agent_type"] = "loid".into();
    nested["agent_id"] = "l-1".into();
    stage.hook(&nested).is_silent();
    assert_eq!(stage.standing(SINGLE), "implementation/1: pa pa i pe pe");
    assert!(stage.skipped().contains("no gate"));
    stage.stop("loid", "l-1", "done");
    assert_eq!(stage.standing(SINGLE), "implementation/1: pa pa pa pe pe");
}

#[test]
fn the_last_iteration_ends_the_run() {
    let stage = Stage::with_run(&["--max-iterations", "1"]);
    for (agent, text) in [
        ("riko", "x"),
        ("senku", "x"),
        ("loid", "x"),
        ("lawliet", NEEDS_CHANGES),
    ] {
        stage.play(agent, text);
    }
    assert_eq!(stage.standing(SINGLE), "complete/1: pa pa pa fa pe closed");
    let text = stage.read(SINGLE);
    assert_has(&text, "- Result: Aborted: max iterations reached\n");
    let before = text;
    stage.play("loid", "once more");
    assert_eq!(stage.read(SINGLE), before);
}

#[test]
fn of_two_active_runs_the_one_in_the_agents_phase_moves() {
    let stage = Stage::with_run(&[]);
    stage.run("flow init t --team").ends(0);
    let before = (stage.read(SINGLE), stage.read(TEAM));
    stage.play("riko", "found");
    assert_eq!((stage.read(SINGLE), stage.read(TEAM)), before);
    let why = "two runs are active and each of them is in the phase of `riko`";
    assert_eq!(stage.skipped(), why);
    assert_eq!(stage.gates().pop().unwrap()["file"], ".claude");
    stage.stop("senku", "s-1", "a plan");
    assert_eq!(
        stage.skipped(),
        why.replace("each", "neither").replace("riko", "senku")
    );
    let update = [
        "flow",
        "update",
        "--team",
        "--gate-result",
        "passed",
        "--phase",
        "planning",
    ];
    stage.run(&update).ends(0);
    stage.play("riko", "found");
    assert_eq!(stage.standing(SINGLE), "exploration/1: pa pe pe pe pe");
    assert_eq!(stage.standing(TEAM), "planning/1: pa pe pe pe pe pe");
}

#[test]
fn a_sequential_team_run_leaves_the_group_alone() {
    let stage = Stage::with_run(&["--force-sequential"]);
    for (agent, text) in [
        ("riko", "x"),
        ("senku", "x"),
        ("loid", "x"),
        ("lawliet", APPROVED),
        ("alphonse", VERIFIED),
    ] {
        stage.play(agent, text);
    }
    stage.hook(&stage.event_of("Stop")).is_silent();
    assert_eq!(stage.standing(TEAM), "complete/1: pa pa pa pa pa closed");
    let text = stage.read(TEAM);
    assert_has(
        &text,
        "parallel_groups:\n  review_verification:\n    status: \"pending\"\n    started_at: \"\"\n",
    );
}

#[test]
fn a_file_that_the_scripts_cannot_read_is_left_untouched_and_recorded() {
    let good = Stage::with_run(&[]).read(SINGLE);
    let unclosed = good.replacen("\n---\n", "\n", 1);
    for (bytes, word) in [
        (good.replace('\n', "\r\n").into_bytes(), "CRLF"),
        (format!("\u{feff}{good}").into_bytes(), "byte order mark"),
        (unclosed.into_bytes(), ""),
        (good.replace("gates:\n", "gates: [\n").into_bytes(), "YAML"),
        (Vec::new(), ""),
    ] {
        let stage = Stage::with_run(&[]);
        std::fs::write(stage.path(SINGLE), &bytes).unwrap();
        stage.play("riko", "found");
        stage.hook(&stage.event_of("Stop")).is_silent();
        assert_eq!(std::fs::read(stage.path(SINGLE)).unwrap(), bytes);
        let skipped = stage.skipped();
        assert_has(&skipped, word);
    }
}

/// Bytes that are no text stand for what the user may not read.
#[test]
fn a_file_that_cannot_be_read_costs_no_gate_change() {
    let stage = Stage::with_run(&[]);
    let sound = stage.read(SINGLE);
    std::fs::write(stage.path(SINGLE), [0xff]).unwrap();
    let ran = stage.hook(&stage.stop_event("riko", "r-1", "found"));
    for told in [ran.stderr(), stage.skipped()] {
        let expected = "`orchestration.local.md` cannot be read: it is not UTF-8";
        assert_has(&told, expected);
    }
    stage.write(SINGLE, &sound);
    // The run's second event is another chance.
    let event = stage.launched("riko", "r-1", "found");
    stage.hook(&event).is_silent();
    assert_eq!(stage.standing(SINGLE), "exploration/1: pa pe pe pe pe");
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through() {
    let stage = Stage::with_run(&[]);
    let real = stage.base().join("elsewhere.md");
    std::fs::rename(stage.path(SINGLE), &real).unwrap();
    std::os::unix::fs::symlink(&real, stage.path(SINGLE)).unwrap();
    stage.play("riko", "found");
    assert!(
        std::fs::read_to_string(&real)
            .unwrap()
            .contains("message: \"found\"\n")
    );
    assert_eq!(std::fs::read_link(stage.path(SINGLE)).unwrap(), real);
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
