#[cfg(unix)]
mod unix;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use chrono::{DateTime, TimeDelta, Utc};
use statewarden::store::archive::{
    Archive, Item, Newer, Return, Run, SnapshotKind, Status, Taken, WhenChanged,
};
use statewarden::store::lock::{IN_COMMAND, with_lock};

use crate::support::{Ran, Sandbox};

const STATE: &str = ".devt/state";
const RING: &str = ".devt/state/.archive";

/// Every place below the state directory where an entry of this name is.
fn places(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let mut dirs = vec![STATE.to_owned()];
    dirs.extend(
        sandbox
            .names(RING)
            .iter()
            .map(|snapshot| format!("{RING}/{snapshot}")),
    );
    dirs.retain(|dir| sandbox.exists(&format!("{dir}/{name}")));
    dirs
}

fn status_of(document: &serde_json::Value, name: &str) -> String {
    let items = document["archived"].as_array().unwrap();
    let item = items.iter().find(|item| item["name"] == name).unwrap();
    item["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_writer_at_work_never_fails() {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(STATE);
    // A leftover goes, what the writer makes stays.
    sandbox.write_aged(".devt/state/status.json.tmp", "{", 3600);
    let stop = AtomicBool::new(false);
    let (n_writes, n_failed) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut n_writes, mut n_failed) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                let temp = state.join("plan.md.tmp");
                let written = fs::write(&temp, "a plan")
                    .and_then(|()| fs::rename(&temp, state.join("plan.md")));
                n_writes += 1;
                n_failed += usize::from(written.is_err());
            }
            (n_writes, n_failed)
        });
        for n in 0..40 {
            sandbox.write(".devt/state/notes.md", "ad hoc");
            let verbs = ["cleanup --apply", "sweep --apply"];
            sandbox.run(verbs[n % 2]).ends(0);
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    assert!(n_writes > 100, "{n_writes}");
    assert_eq!(n_failed, 0, "of {n_writes} writes");
    assert!(!sandbox.exists(".devt/state/status.json.tmp"));
}

#[test]
fn entries_that_vanish_are_reported_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..400).map(|n| format!("notes-{n:03}.txt")).collect();
    for name in &names {
        sandbox.write(&format!("{STATE}/{name}"), name);
    }
    let state = sandbox.project().join(STATE);
    let ran = thread::scope(|scope| {
        let remover = scope.spawn(|| {
            // Against the order in which most directories are listed.
            names
                .iter()
                .rev()
                .filter(|name| fs::remove_file(state.join(name)).is_ok())
                .count()
        });
        let ran = sandbox.run("cleanup --apply --json");
        remover.join().unwrap();
        ran
    });
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    for item in ran.json()["archived"].as_array().unwrap() {
        let name = item["name"].as_str().unwrap();
        match item["status"].as_str().unwrap() {
            "archived" => assert_eq!(places(&sandbox, name).len(), 1, "{name}"),
            "vanished" => assert_eq!(places(&sandbox, name), [""; 0], "{name}"),
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn resets_at_the_same_time_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "archive:\n  runs: 50\n");
    let reset = |worker: usize| {
        for n in 0..4 {
            sandbox.write(&format!("{STATE}/notes-{worker}-{n}.txt"), "x");
            let ran = sandbox.run("reset --json");
            assert_eq!(
                (ran.code(), &ran.json()["ok"]),
                (0, &true.into()),
                "{}",
                ran.stderr()
            );
        }
    };
    thread::scope(|scope| {
        for worker in 0..5 {
            scope.spawn(move || reset(worker));
        }
    });
    for (worker, n) in (0..5).flat_map(|worker| (0..4).map(move |n| (worker, n))) {
        let name = format!("notes-{worker}-{n}.txt");
        assert_eq!(places(&sandbox, &name).len(), 1, "{name}");
    }
    assert_eq!(sandbox.names(STATE), [".archive"]);
}

fn ring(sandbox: &Sandbox, runs: usize) -> Archive {
    Archive {
        dir: sandbox.project().join(RING),
        system: "devt".to_owned(),
        site: STATE.to_owned(),
        own_folder: None,
        runs,
    }
}

fn item(path: &Path, modified: DateTime<Utc>, when_changed: WhenChanged) -> Item<'_> {
    Item {
        name: path.file_name().unwrap().to_str().unwrap(),
        path,
        size: 1,
        modified,
        is_dir: false,
        reason: "test",
        when_changed,
    }
}

fn take(sandbox: &Sandbox, ring: &Archive, items: &[Item<'_>], now: DateTime<Utc>) -> Taken {
    let run = Run {
        kind: SnapshotKind::Sweep,
        now,
    };
    let site = sandbox.project().join(STATE);
    with_lock(&site, IN_COMMAND, |locked| ring.take(locked, run, items)).unwrap()
}

#[test]
fn a_snapshot_of_the_same_millisecond_is_another_one() {
    let sandbox = Sandbox::new();
    let path = sandbox.project().join(STATE).join("notes.md");
    let (ring, now) = (ring(&sandbox, 2), Utc::now());
    let take = |text: &str, at| {
        fs::write(&path, text).unwrap();
        let item = item(&path, now, WhenChanged::Move);
        let taken = take(&sandbox, &ring, &[item, item], at);
        assert_eq!(taken.statuses, [Status::Moved, Status::Vanished]);
        let path = taken.path.unwrap();
        assert_eq!(fs::read_to_string(path.join("notes.md")).unwrap(), text);
        path
    };
    let paths: Vec<PathBuf> = ["a", "b", "c"].map(|text| take(text, now)).into();
    assert!(paths[1].to_str().unwrap().ends_with("Z-1"), "{paths:?}");
    assert!(paths[2].to_str().unwrap().ends_with("Z-2"), "{paths:?}");
    assert!(!paths[0].exists() && paths[1].exists(), "two are kept");
    // The clock is set back by an hour.
    let back = take("d", now - TimeDelta::hours(1));
    let further = take("e", now - TimeDelta::minutes(59));
    assert!(
        back.exists() && further.exists(),
        "what was made last is kept"
    );
}

#[test]
fn the_new_snapshot_stays_even_when_it_is_the_oldest() {
    let sandbox = Sandbox::new();
    let path = sandbox.project().join(STATE).join("notes.md");
    let (ring, now) = (ring(&sandbox, 1), Utc::now());
    for at in [now, now - TimeDelta::seconds(30)] {
        fs::write(&path, "x").unwrap();
        let taken = take(&sandbox, &ring, &[item(&path, now, WhenChanged::Move)], at);
        let new = taken.path.unwrap();
        assert!(new.exists());
        assert_eq!(sandbox.names(RING).len(), 1);
    }
}

#[test]
fn a_snapshot_of_this_minute_outlives_one_of_last_year() {
    let sandbox = Sandbox::new();
    let path = sandbox.project().join(STATE).join("notes.md");
    sandbox.write(&format!("{RING}/2025-01-01T00-00-00-000Z/plan.md"), "old");
    let (ring, now) = (ring(&sandbox, 2), Utc::now());
    let ages = [20, 0].map(TimeDelta::seconds);
    let made = ages.map(|age| {
        fs::write(&path, "x").unwrap();
        let item = item(&path, now, WhenChanged::Move);
        take(&sandbox, &ring, &[item], now - age).path.unwrap()
    });
    assert!(made.iter().all(|path| path.exists()));
    assert_eq!(sandbox.names(RING).len(), 2);
}

/// devt takes no lock for its own.
#[test]
fn a_new_snapshot_of_another_program_waits_for_its_entries() {
    let sandbox = Sandbox::new();
    let now = Utc::now();
    let name = |seconds| {
        let at = now - TimeDelta::seconds(seconds);
        at.format("%Y-%m-%dT%H-%M-%S-%3fZ").to_string()
    };
    for name in [name(30), name(90)] {
        fs::create_dir_all(sandbox.project().join(RING).join(name)).unwrap();
    }
    let path = sandbox.project().join(STATE).join("notes.md");
    fs::write(&path, "x").unwrap();
    let item = item(&path, now, WhenChanged::Move);
    take(&sandbox, &ring(&sandbox, 5), &[item], now);
    let left = sandbox.names(RING);
    assert_eq!((left.len(), &left[0]), (2, &name(30)), "{left:?}");
}

#[test]
fn names_that_differ_in_case_get_different_places() {
    let sandbox = Sandbox::new();
    let names = ["Notes.txt", "notes.txt"];
    for name in names {
        sandbox.write(&format!("{STATE}/{name}"), name);
    }
    let n_written = sandbox.names(STATE).len();
    let done = sandbox.run("cleanup --apply --json").json();
    let held = fs::read_dir(done["archive_path"].as_str().unwrap()).unwrap();
    let name = |entry: io::Result<DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let folded: BTreeSet<String> = held.map(|entry| name(entry).to_lowercase()).collect();
    assert_eq!(folded.len(), n_written + 1, "{folded:?}");
}

/// A site whose one entry, `notes.md`, was reset, and its ring.
fn archived() -> (Sandbox, Archive, DateTime<Utc>) {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/notes.md", "x");
    sandbox.run("reset").ends(0);
    let ring = ring(&sandbox, 5);
    (sandbox, ring, Utc::now())
}

#[test]
fn an_entry_that_has_left_the_archive_is_said_to_have_vanished() {
    let (sandbox, ring, now) = archived();
    let snapshot = ring.snapshots(now).unwrap().remove(0);
    let held = snapshot.holds().unwrap();
    fs::remove_file(snapshot.path.join("notes.md")).unwrap();
    let run = Run {
        kind: SnapshotKind::Restore,
        now,
    };
    let site = sandbox.project().join(STATE);
    let (returns, replaced) = with_lock(&site, IN_COMMAND, |locked| {
        ring.bring_back(locked, run, &snapshot, &held, Newer::Stays)
    })
    .unwrap();
    assert_eq!((returns, replaced), (vec![Return::Vanished], None));
}

#[test]
fn a_snapshot_that_has_gone_is_not_an_empty_one() {
    let (_sandbox, ring, now) = archived();
    let found = ring.snapshots(now).unwrap();
    assert_eq!(found[0].holds().unwrap().len(), 1);
    fs::remove_dir_all(&found[0].path).unwrap();
    let gone = found[0].holds().map(|held| held.len());
    assert_eq!(gone.map_err(|error| error.kind()), Err(ErrorKind::NotFound));
}

#[test]
fn a_temporary_file_that_is_written_again_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/a.tmp", "in use since it was listed");
    let path = sandbox.project().join(STATE).join("a.tmp");
    let listed = item(&path, Utc::now() - TimeDelta::hours(1), WhenChanged::Leave);
    let taken = take(&sandbox, &ring(&sandbox, 5), &[listed], Utc::now());
    assert_eq!((taken.statuses, taken.path), (vec![Status::InUse], None));
    assert_eq!(sandbox.names(RING), [""; 0], "an empty snapshot goes");
    assert!(path.exists());
}

#[test]
fn nothing_is_moved_when_there_is_no_place_for_it() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/notes.md", "x");
    sandbox.write(RING, "a file in the place of the directory");
    for args in ["cleanup --apply", "reset"] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code(), 2, "{args:?}");
        let told = format!("could not make `{}`: ", sandbox.path(RING));
        let told = told + "it is there and no directory; move it away\n";
        assert!(ran.stderr().ends_with(&told), "{}", ran.stderr());
    }
    assert_eq!(sandbox.names(STATE), [".archive", "notes.md"]);
}

#[test]
fn directories_and_files_in_each_others_place() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".devt/state/plan.md/inside.txt",
        "a directory with a file's name",
    );
    sandbox.write(".devt/state/x.tmp/inside.txt", "an ephemeral directory");
    sandbox.set_age(".devt/state/x.tmp", 60);
    let done = sandbox.run("cleanup --apply --json").json();
    assert_eq!(done["archived"][0]["reason"], "ad_hoc");
    assert_eq!(sandbox.names(STATE), [".archive"]);
    let archive = done["archive_path"].as_str().unwrap();
    assert!(Path::new(archive).join("plan.md/inside.txt").is_file());
    assert!(Path::new(archive).join("x.tmp/inside.txt").is_file());
}

#[test]
fn a_directory_with_very_many_entries() {
    const MANY: usize = 20_000;
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(STATE);
    (0..MANY).for_each(|n| fs::write(state.join(format!("n{n}.log")), "").unwrap());
    let ran = sandbox.run("cleanup --apply --json");
    assert_eq!(
        (ran.code(), ran.stderr()),
        (0, String::new()),
        "no progress in a pipe"
    );
    assert_eq!(ran.json()["archived"].as_array().unwrap().len(), MANY);
    assert_eq!(sandbox.names(STATE), [".archive"]);
    let archive = ran.json()["archive_path"].as_str().unwrap().to_owned();
    sandbox.run(&["restore", &archive]).ends(0);
    assert_eq!(sandbox.names(STATE).len(), MANY + 1);
}
