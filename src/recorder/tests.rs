//! Calls around a project on the disk, as the hook sees them.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use std::fs;

use chrono::TimeDelta;

use super::test_scene::{Call, Scene, WORKFLOW, runs};
use crate::recorder::calls::Caller;
use crate::recorder::changes::Outcome;
use crate::recorder::entry::ChangeKind::{self, Create};
use crate::recorder::findings::{Done, Finding, MadeBy};

#[test]
fn a_stray_is_moved_away_and_told() {
    let scene = Scene::new("stray", "");
    let told = scene.run("main", "python3 x.py", |scene| {
        scene.write("notes.md", "mine")
    });
    let [finding] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(
        (finding.path.as_str(), finding.code.as_str()),
        (".devt/state/notes.md", "ad-hoc-name")
    );
    assert_eq!(finding.made_by, MadeBy::ThisCall);
    assert!(
        finding
            .instead
            .as_deref()
            .is_some_and(|name| name.ends_with("scratchpad.md"))
    );
    assert_eq!(scene.read("notes.md"), None);
    assert_eq!(
        scene.archived(),
        [("notes.md".to_owned(), "mine".to_owned())]
    );
    scene.is_recorded("notes.md", Create, Some("main"), Outcome::Undone);
    scene.is_quiet();
    // The next one of the session lies beside it.
    scene.run("main", "python3 x.py", |scene| {
        scene.write("notes.md", "again")
    });
    assert_eq!(scene.archived().len(), 2);
    assert_eq!(fs::read_dir(scene.path(".archive")).unwrap().count(), 1);
    scene.is_quiet();
}

#[test]
fn legal_changes_are_recorded_and_stay() {
    let scene = Scene::new("legal", "undo: exclusive\n");
    let told = scene.run("main", "make", |scene| {
        scene.write("plan.md", "# Another\n");
        scene.remove("spec.md");
        scene.write("scratchpad.md", "x");
        fs::write(scene.path("probe-failures.jsonl"), "{}\n{}\n").unwrap();
    });
    assert_eq!(told, []);
    for (name, act) in [
        ("plan.md", ChangeKind::Change),
        ("spec.md", ChangeKind::Remove),
        ("scratchpad.md", Create),
        ("probe-failures.jsonl", ChangeKind::Change),
    ] {
        scene.is_recorded(name, act, Some("main"), Outcome::Allowed);
    }
    let plan = scene
        .changes()
        .into_iter()
        .find(|one| one.path.ends_with("plan.md"))
        .unwrap();
    assert!(plan.before.is_some() && plan.before != plan.after);
    scene.is_quiet();
}

#[test]
fn what_leaves_the_bytes_alone_is_no_change() {
    let scene = Scene::new("bytes", "");
    let told = scene.run("main", "make", |scene| {
        scene.write("plan.md", "# Plan\n");
        fs::rename(scene.path("spec.md"), scene.path("x")).unwrap();
        fs::rename(scene.path("x"), scene.path("spec.md")).unwrap();
    });
    assert_eq!((told, scene.changes()), (vec![], vec![]));
}

#[test]
fn one_call_alone_is_taken_back_under_exclusive() {
    for (settings, is_undone) in [
        ("undo: exclusive\n", true),
        ("", false),
        ("undo: exclusive\nmode: warn\n", false),
    ] {
        let scene = Scene::new(&format!("alone-{}", settings.len()), settings);
        let plan = scene.path("workflow.yaml");
        let old = fs::metadata(&plan).unwrap();
        let told = scene.run("programmer", "python3 x.py", |scene| {
            scene.write("workflow.yaml", "active: false\nphase: plan\n");
        });
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].code, "wrong-writer");
        assert_eq!(told[0].is_enforced, !settings.contains("warn"));
        let text = scene.read("workflow.yaml").unwrap();
        if is_undone {
            assert!(matches!(&told[0].done, Done::PutBack(Some(_))), "{told:?}");
            let new = fs::metadata(&plan).unwrap();
            assert_eq!(new.modified().unwrap(), old.modified().unwrap());
            assert_eq!(new.permissions(), old.permissions());
            assert_eq!(text, WORKFLOW);
            let archived = (
                "workflow.yaml".to_owned(),
                "active: false\nphase: plan\n".to_owned(),
            );
            assert_eq!(scene.archived(), [archived]);
        } else {
            assert!(matches!(told[0].done, Done::Left(_)), "{told:?}");
            assert_eq!(text, "active: false\nphase: plan\n");
        }
        scene.is_quiet();
    }
}

#[test]
fn a_truncated_log_and_removals_come_back() {
    let scene = Scene::new("removed", "undo: exclusive\n");
    let told = scene.run("main", "python3 x.py", |scene| {
        scene.write("probe-failures.jsonl", "");
        for name in ["plan.md", "spec.md", "decisions.md"] {
            scene.remove(name);
        }
    });
    let mut codes: Vec<&str> = told.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            "bulk-removal",
            "bulk-removal",
            "bulk-removal",
            "program-owned"
        ]
    );
    assert!(told.iter().all(Finding::was_undone), "{told:?}");
    assert_eq!(scene.read("probe-failures.jsonl").as_deref(), Some("{}\n"));
    assert_eq!(scene.read("plan.md").as_deref(), Some("# Plan\n"));
    scene.is_quiet();
    // A whole site as well.
    let told = scene.run("main", "python3 x.py", |scene| {
        fs::remove_dir_all(scene.path("")).unwrap();
    });
    assert!(
        told.iter().filter(|one| one.was_undone()).count() >= 4,
        "{told:?}"
    );
    assert_eq!(scene.read("workflow.yaml").as_deref(), Some(WORKFLOW));
    scene.is_quiet();
}

#[test]
fn a_legal_file_under_a_bad_name_is_renamed_back() {
    let scene = Scene::new("renamed", "");
    let told = scene.run("main", "python3 x.py", |scene| {
        fs::rename(scene.path("plan.md"), scene.path("old-plan.txt")).unwrap();
    });
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        told[0].done,
        Done::RenamedTo(".devt/state/plan.md".to_owned())
    );
    assert_eq!(scene.read("plan.md").as_deref(), Some("# Plan\n"));
    assert_eq!(scene.read("old-plan.txt"), None);
    scene.is_recorded("plan.md", ChangeKind::Remove, Some("main"), Outcome::Undone);
    scene.is_quiet();
}

#[test]
fn directories_and_links_out_are_moved_away() {
    let scene = Scene::new("dirs", "");
    let told = scene.run("main", "python3 x.py", |scene| {
        fs::create_dir(scene.path("mine")).unwrap();
        scene.write("mine/a", "a");
        std::os::unix::fs::symlink("/etc/hostname", scene.path("research.md")).unwrap();
        fs::set_permissions(
            scene.path("plan.md"),
            fs::metadata(scene.path("spec.md")).unwrap().permissions(),
        )
        .unwrap();
    });
    let codes: Vec<&str> = told.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["undeclared-directory", "path-escape"]);
    assert!(told.iter().all(Finding::was_undone), "{told:?}");
    assert!(
        !scene.path("mine").exists() && fs::symlink_metadata(scene.path("research.md")).is_err()
    );
    scene.is_quiet();
}

#[test]
fn a_change_waits_for_the_end_of_its_call() {
    let scene = Scene::new("waits", "undo: exclusive\n");
    let one = scene.begin("programmer", "python3 a.py");
    scene.write("workflow.yaml", "active: false\nphase: plan\n");
    let other = scene.begin("tester", "python3 b.py");
    assert_eq!(scene.end(&other), []);
    assert_eq!(scene.changes(), []);
    let told = scene.end(&one);
    assert!(told.len() == 1 && told[0].was_undone(), "{told:?}");
    assert_eq!(scene.read("workflow.yaml").as_deref(), Some(WORKFLOW));
    scene.is_recorded(
        "workflow.yaml",
        ChangeKind::Change,
        Some("programmer"),
        Outcome::Undone,
    );
    scene.is_quiet();
}

/// A session that was killed tells no end of its calls, and goes on under another id.
#[test]
fn a_change_waits_ten_minutes_at_most() {
    let scene = Scene::new("killed", "");
    scene.begin("main", "python3 a.py");
    scene.write("stray.md", "x");
    for (minutes, is_decided) in [(0, false), (10, false), (11, true)] {
        scene.ahead.set(TimeDelta::minutes(minutes));
        scene.run("tester", "make", |_| {});
        assert!(scene.read("stray.md").is_some(), "{minutes}");
        assert_eq!(!scene.changes().is_empty(), is_decided, "{minutes}");
    }
    scene.is_recorded("stray.md", Create, None, Outcome::Detected);
}

#[test]
fn a_clock_that_is_put_back_hides_no_change() {
    let scene = Scene::new("clock", "undo: exclusive\n");
    scene.ahead.set(TimeDelta::hours(1));
    let call = scene.begin("programmer", "python3 a.py");
    scene.ahead.set(TimeDelta::zero());
    std::thread::sleep(std::time::Duration::from_millis(20));
    scene.write("workflow.yaml", "active: false\nphase: plan\n");
    scene.write("stray.md", "x");
    scene.remove("plan.md");
    assert!(scene.end(&call).iter().all(Finding::was_undone));
    assert_eq!(scene.read("workflow.yaml").as_deref(), Some(WORKFLOW));
    assert_eq!(scene.read("plan.md").as_deref(), Some("# Plan\n"));
}

#[test]
fn the_first_look_accuses_nobody_and_a_call_without_a_note_is_judged_by_names() {
    let scene = Scene::new("first", "");
    scene.write("stray.md", "x");
    assert_eq!(scene.run("main", "make", |_| {}), []);
    assert!(scene.read("stray.md").is_some());
    // Nobody announced this call.
    std::thread::sleep(std::time::Duration::from_millis(20));
    scene.write("other.md", "x");
    let call = Call {
        caller: Caller {
            session: "s".to_owned(),
            agent_id: String::new(),
            actor: "main".to_owned(),
            tool: "Bash".to_owned(),
            tool_use_id: "unknown".to_owned(),
        },
        work: runs("make"),
    };
    scene.write("workflow.yaml", "active: false\nphase: plan\n");
    let told = scene.end(&call);
    assert!(told.len() == 1 && told[0].was_undone(), "{told:?}");
    assert_eq!(scene.read("other.md"), None);
    scene.is_recorded("other.md", Create, Some("main"), Outcome::Undone);
    // A second end of one call finds the work done.
    let call = scene.begin("main", "make");
    scene.write("third.md", "x");
    assert_eq!(scene.end(&call).len(), 1);
    assert_eq!(scene.end(&call), []);
}

#[test]
fn what_the_program_writes_itself_is_its_own() {
    let scene = Scene::new("own", "undo: exclusive\n");
    let call = scene.begin("programmer", "python3 a.py");
    scene.with(|recorder| {
        let wait = std::time::Duration::from_secs(1);
        recorder.own_writes(&Caller::ourselves("update"), wait, &mut || {
            scene.write("workflow.yaml", "active: false\nphase: plan\n")
        });
    });
    assert_eq!(scene.end(&call), []);
    scene.is_recorded(
        "workflow.yaml",
        ChangeKind::Change,
        Some("statewarden"),
        Outcome::Allowed,
    );
}
