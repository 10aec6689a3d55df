//! Several processes at once, processes that die, and a lock that is held.

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use statewarden::systems::agent_flow::state::FlowState;

use super::*;
use crate::support::{assert_has, feed};

/// Starts the hook with an event, and does not wait for it.
fn start(stage: &Stage, event: &Value) -> Child {
    let mut command = stage.hook_command();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    feed(&mut command, event.to_string().as_bytes())
}

#[test]
fn two_members_at_the_same_moment_lose_nothing() {
    let stage = Stage::with_run(&["--team"]);
    for (agent, text) in [("riko", "x"), ("senku", "x"), ("loid", "x")] {
        stage.play(agent, text);
    }
    stage.start("lawliet", "l");
    stage.start("alphonse", "a");
    let begun = stage.read(TEAM);
    let seen = stage.gates().len();
    for pair in 0..100 {
        stage.write(TEAM, &begun);
        let (verdict, expected) = if pair % 2 == 0 {
            (APPROVED, "pa pa pa")
        } else {
            (NEEDS_CHANGES, "fa fa pa")
        };
        let review = stage.stop_event("lawliet", &format!("l-{pair}"), verdict);
        let verification = stage.stop_event("alphonse", &format!("a-{pair}"), VERIFIED);
        for mut child in [start(&stage, &review), start(&stage, &verification)] {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(
            stage.standing(TEAM),
            format!("review_verification/1: pa pa pa {expected}"),
            "pair {pair}"
        );
        let records = &stage.gates()[seen..];
        assert_eq!(records.len(), 2 * (pair + 1));
        let two = &records[2 * pair..];
        let mut gates: Vec<_> = two
            .iter()
            .map(|record| record["gate"].as_str().unwrap_or("-"))
            .collect();
        gates.sort_unstable();
        assert_eq!(gates, ["review", "verification"], "pair {pair}: {two:?}");
        // Only the second of the two settles the group.
        let settled = two
            .iter()
            .filter(|record| record["also"].to_string().contains("review_verification"))
            .count();
        assert_eq!(settled, 1, "pair {pair}: {two:?}");
    }
}

#[test]
fn the_two_events_of_one_run_at_the_same_moment_count_once() {
    let stage = Stage::with_run(&[]);
    for n in 1..=25 {
        let id = format!("r-{n}");
        let events = [
            stage.stop_event("riko", &id, "found"),
            stage.launched("riko", &id, "found"),
        ];
        for mut child in events.each_ref().map(|event| start(&stage, event)) {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(stage.gates().len(), n, "{id}");
    }
}

#[test]
fn a_hundred_ends_at_once_make_one_chain() {
    let stage = Stage::with_run(&[]);
    let end = |n| {
        start(
            &stage,
            &stage.stop_event("riko", &format!("r-{n}"), "found"),
        )
    };
    let ends: Vec<Child> = (0..100).map(end).collect();
    for mut child in ends {
        assert!(child.wait().unwrap().success());
    }
    let chain = &stage.run("verify --json").ends(0).json()["chain"];
    assert_eq!((&chain["ok"], &chain["lines"]), (&json!(true), &json!(100)));
}

/// Agent Flow's orchestrator calls a script after each agent, which `flow
/// update` stands for.
#[test]
fn a_command_and_the_hook_at_the_same_moment_lose_nothing() {
    let stage = Stage::with_run(&[]);
    for n in 0..25 {
        let mut command = stage.command(&["flow", "update", "--message", &format!("update {n}.")]);
        let mut update = command.stdout(Stdio::null()).spawn().unwrap();
        let mut hook = start(
            &stage,
            &stage.stop_event("riko", &format!("r-{n}"), &format!("report {n}.")),
        );
        assert!(update.wait().unwrap().success() && hook.wait().unwrap().success());
        let text = stage.read(SINGLE);
        for said in ["update", "report"] {
            assert!(
                text.contains(&format!("- Result: {said} {n}.\n")),
                "{said} {n} is lost"
            );
        }
    }
    assert_eq!(stage.gates().len(), 50);
}

/// Whatever the moment, the file is whole, the log has at most one torn line,
/// and the next process goes on.
#[test]
fn a_kill_leaves_whole_files() {
    let stage = Stage::with_run(&[]);
    let event = |n: u32| stage.stop_event("riko", &format!("r-{n}"), &format!("report {n}."));
    let begun = Instant::now();
    assert!(start(&stage, &event(0)).wait().unwrap().success());
    let usual = begun.elapsed();
    let mut old = stage.read(SINGLE);
    let mut n_killed = 0;
    for n in 1..=150 {
        let mut child = start(&stage, &event(n));
        let moment = Instant::now() + usual.mul_f64(f64::from(n * 37 % 150) / 140.0);
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        n_killed += u32::from(child.wait().unwrap().code().is_none());
        let new = stage.read(SINGLE);
        assert!(
            FlowState::read(&new).is_ok_and(|state| state.active),
            "{new}"
        );
        let entry = format!("- Result: report {n}.\n- Gate: passed\n");
        assert!(
            new == old || new.contains(&entry) && new.len() > old.len(),
            "after kill {n}:\n{new}"
        );
        old = new;
    }
    assert!(n_killed > 0);
    assert!(start(&stage, &event(151)).wait().unwrap().success());
    assert!(
        stage.read(SINGLE).contains("message: \"report 151.\"\n"),
        "no lock outlives its process"
    );
    let log = stage.read(GATES);
    let n_torn = log
        .lines()
        .filter(|line| serde_json::from_str::<Value>(line).is_err())
        .count();
    assert!(n_torn <= 1 && log.ends_with('\n'), "{log}");
}

#[test]
fn a_lock_that_stays_held_is_recorded_and_tried_again() {
    let stage = Stage::with_run(&[]);
    let before = stage.read(SINGLE);
    let mut lock = fd_lock::RwLock::new(File::open(stage.path(".claude")).unwrap());
    let guard = lock.write().unwrap();
    let begun = Instant::now();
    stage.stop("riko", "r-1", "found");
    let waited = begun.elapsed();
    assert!(waited < Duration::from_secs(8), "{waited:?}");
    assert_eq!(stage.read(SINGLE), before);
    assert_has(&stage.skipped(), "locked by another process");
    drop(guard);
    // The run's second event is another chance.
    stage
        .hook(&stage.launched("riko", "r-1", "found"))
        .is_silent();
    assert_eq!(stage.standing(SINGLE), "exploration/1: pa pe pe pe pe");
}

#[test]
fn a_lock_that_is_released_in_time_costs_no_gate_change() {
    let stage = Stage::with_run(&[]);
    let mut lock = fd_lock::RwLock::new(File::open(stage.path(".claude")).unwrap());
    let guard = lock.write().unwrap();
    let mut hook = start(&stage, &stage.stop_event("riko", "r-1", "found"));
    // Longer than one wait of the hook, shorter than all of them.
    std::thread::sleep(Duration::from_millis(500));
    drop(guard);
    assert!(hook.wait().unwrap().success());
    assert_eq!(stage.standing(SINGLE), "exploration/1: pa pe pe pe pe");
}

/// A plan is made before the lock; another writer may come in between.
#[test]
fn what_is_written_between_the_plan_and_the_lock_is_kept() {
    const LINE: &str = "A script wrote this.\n";
    let stage = Stage::with_run(&[]);
    stage.write(".claude/statewarden/.gitignore", "*\n");
    let lock_of = |dir: &str| fd_lock::RwLock::new(File::open(stage.path(dir)).unwrap());
    let mut lock = lock_of(".claude");
    let guard = lock.write().unwrap();
    let mut hook = start(&stage, &stage.stop_event("riko", "r-1", "found"));
    // An end is counted when it is planned already.
    let begun = Instant::now();
    while lock_of(".claude/statewarden").try_write().is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(10), "never counted");
    }
    stage.write(SINGLE, &(stage.read(SINGLE) + LINE));
    drop(guard);
    assert!(hook.wait().unwrap().success());
    assert_eq!(stage.standing(SINGLE), "exploration/1: pa pe pe pe pe");
    assert!(stage.read(SINGLE).contains(LINE), "{}", stage.read(SINGLE));
}

/// The program's own folder is locked as well while an end is counted.
#[test]
fn an_end_that_cannot_be_counted_is_recorded() {
    let stage = Stage::with_run(&[]);
    let before = stage.read(SINGLE);
    let mut lock = fd_lock::RwLock::new(File::open(stage.path(".claude/statewarden")).unwrap());
    let guard = lock.write().unwrap();
    stage.stop("riko", "r-1", "found");
    assert_eq!(stage.read(SINGLE), before);
    assert_has(&stage.skipped(), "could not be counted");
    drop(guard);
}
