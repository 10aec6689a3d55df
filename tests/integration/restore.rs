use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, assert_has};

/// A site whose `plan.md` and `review.md` a reset has archived; the snapshot's name.
fn archived() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write_aged(".devt/state/plan.md", "archived", 3600);
    sandbox.write_aged(".devt/state/review.md", "archived", 3600);
    let done = sandbox.run("reset --json").json();
    let name = done["archived_to"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    (sandbox, name)
}

fn statuses(ran: &Ran) -> Vec<String> {
    let document = ran.json();
    let rows = document["restored"].as_array().unwrap();
    let line = |row: &Value| {
        format!(
            "{} {}",
            row["name"].as_str().unwrap(),
            row["status"].as_str().unwrap()
        )
    };
    rows.iter().map(line).collect()
}

#[test]
fn all_comes_back_and_the_empty_snapshot_goes() {
    let (sandbox, archive) = archived();
    let ran = sandbox.run(&["restore", &archive, "--json"]);
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    assert_eq!(statuses(&ran), ["plan.md restored", "review.md restored"]);
    assert_eq!(ran.json()["replaced_to"], Value::Null);
    assert_eq!(sandbox.read(".devt/state/plan.md"), "archived");
    assert_eq!(sandbox.names(".devt/state/.archive"), [""; 0]);
    assert_eq!(
        sandbox.names(".devt/state"),
        [".archive", "plan.md", "review.md"]
    );
}

#[test]
fn a_directory_is_named_as_the_history_shows_it() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/odd/a.txt", "archived");
    let done = sandbox.run("cleanup --apply --json").json();
    let archive = done["archive_path"].as_str().unwrap();
    assert!(sandbox.run("history").stdout().contains("  odd/  "));
    let ran = sandbox.run(&["restore", archive, "odd/", "--json"]);
    assert_eq!(statuses(&ran), ["odd restored"]);
    assert_eq!(sandbox.read(".devt/state/odd/a.txt"), "archived");
}

#[test]
fn a_snapshot_that_goes_is_said_to_go() {
    let (sandbox, archive) = archived();
    let text = sandbox.run(&["restore", &archive]).stdout();
    let path = sandbox.path(&format!(".devt/state/.archive/{archive}"));
    let expected = format!("nothing is left in `{path}`; it was removed\n");
    assert!(text.ends_with(&expected), "{text}");
}

#[test]
fn what_came_back_is_noted_for_as_long_as_it_is_there() {
    for is_gone in [true, false] {
        let (sandbox, archive) = archived();
        sandbox.write(".claude/statewarden/.gitignore", "*\n");
        sandbox.run(&["restore", &archive, "plan.md"]);
        match is_gone {
            true => std::fs::remove_file(sandbox.path(".devt/state/plan.md")).unwrap(),
            false => sandbox.write(".devt/state/plan.md", "written again"),
        }
        sandbox.run(&["restore", &archive, "review.md"]);
        let noted: Value =
            serde_json::from_str(&sandbox.read(".claude/statewarden/restored.json")).unwrap();
        let noted = noted["entries"].as_array().unwrap();
        let paths: Vec<&Value> = noted.iter().map(|entry| &entry["path"]).collect();
        assert_eq!(paths, [".devt/state/review.md"]);
    }
}

#[test]
fn a_part_comes_back_by_name() {
    let (sandbox, archive) = archived();
    let path = sandbox.path(&format!(".devt/state/.archive/{archive}"));
    sandbox.run(&["restore", &path, "review.md"]).ends(0);
    assert_eq!(sandbox.names(".devt/state"), [".archive", "review.md"]);
    let history = sandbox.run("history --json").json();
    let entries = history["archives"][0]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["name"], "plan.md");
    for (args, part) in [
        (["restore", &archive, "review.md"], "it holds plan.md"),
        (["restore", &archive, "manifest.json"], "it holds plan.md"),
        (["restore", "2020-01-01T00-00-00-000Z", "plan.md"], &archive),
    ] {
        let ran = sandbox.run(&args);
        assert_eq!(ran.code(), 2);
        assert_has(&ran.stderr(), part);
    }
}

#[test]
fn a_newer_file_stays() {
    let (sandbox, archive) = archived();
    sandbox.write(".devt/state/plan.md", "newer");
    let ran = sandbox.run(&["restore", &archive, "--json"]);
    assert_eq!(ran.code(), 1);
    assert_eq!(statuses(&ran), ["plan.md skipped", "review.md restored"]);
    assert_eq!(sandbox.read(".devt/state/plan.md"), "newer");

    let text = sandbox.run(&["restore", &archive]).stdout();
    assert_has(&text, "plan.md  skipped: a newer one is there; `--force`");

    let ran = sandbox.run(&["restore", &archive, "--force", "--json"]);
    assert_eq!(ran.code(), 0);
    assert_eq!(sandbox.read(".devt/state/plan.md"), "archived");
    let replaced = ran.json()["replaced_to"].as_str().unwrap().to_owned();
    assert_eq!(
        std::fs::read_to_string(format!("{replaced}/plan.md")).unwrap(),
        "newer"
    );
}

#[test]
fn an_older_file_gives_way_and_is_kept() {
    let (sandbox, archive) = archived();
    sandbox.write_aged(".devt/state/plan.md", "older", 7200);
    let ran = sandbox.run(&["restore", &archive, "plan.md", "--json"]);
    assert_eq!(statuses(&ran), ["plan.md restored"]);
    let replaced = ran.json()["replaced_to"].as_str().unwrap().to_owned();
    let name = replaced.rsplit('/').next().unwrap();
    assert!(name.starts_with("restore-"), "{name}");
    sandbox.run(&["restore", name, "--force"]).ends(0);
    assert_eq!(sandbox.read(".devt/state/plan.md"), "older");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let (sandbox, archive) = archived();
    let note = ".claude/statewarden/restored.json";
    std::fs::create_dir_all(sandbox.project().join(note)).unwrap();
    let ran = sandbox.run(&["restore", &archive]);
    assert_eq!(ran.code(), 2);
    let place = sandbox.path(".claude/statewarden");
    assert_has(&ran.stderr(), &place);
    assert!(!sandbox.exists(".devt/state/plan.md"));
}

#[test]
fn a_snapshot_of_devt_itself_comes_back() {
    let sandbox = Sandbox::new();
    let name = "cleanup-2026-01-10T14-30-22-123Z";
    for file in ["notes.md", "MANIFEST.txt", "junk/a.txt", "manifest.json"] {
        sandbox.write(&format!(".devt/state/.archive/{name}/{file}"), "{}");
    }
    let history = sandbox.run("history --json").json();
    let row = &history["archives"][0];
    assert_eq!(row["at"], "2026-01-10T14:30:22.123Z");
    assert_eq!(
        (&row["kind"], &row["by"]),
        (&json!("cleanup"), &Value::Null)
    );
    let ran = sandbox.run(&["restore", name, "--json"]);
    // This `manifest.json` was somebody's file, `MANIFEST.txt` is devt's.
    assert_eq!(
        statuses(&ran),
        [
            "junk restored",
            "manifest.json restored",
            "notes.md restored"
        ]
    );
    assert_eq!(sandbox.read(".devt/state/junk/a.txt"), "{}");
    assert_eq!(sandbox.names(".devt/state/.archive"), [""; 0]);
}

#[test]
fn history_tells_the_workflow() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".devt/state/workflow.yaml",
        "active: false\nworkflow_type: dev\nworkflow_id: w-1\ntask: \"fix: it\"\nphase: review\nstatus: DONE\n",
    );
    sandbox.run("reset");
    let history = sandbox.run("history --json").json();
    let row = &history["archives"][0];
    assert_eq!(row["by"], "statewarden reset");
    assert_eq!(row["entries"][0]["reason"], "reset");
    assert_eq!(
        row["workflow"],
        json!({"workflow_type": "dev", "workflow_id": "w-1", "task": "fix: it", "phase": "review", "status": "DONE"})
    );
    let text = sandbox.run("history").stdout();
    assert_has(
        &text,
        "by statewarden reset\n  task: fix: it\n  workflow.yaml  ",
    );
    assert_eq!(
        Sandbox::new().run("history").stdout(),
        "nothing is archived\n"
    );
}

#[test]
fn nested_entries_come_back_to_their_directory() {
    let sandbox = Sandbox::new();
    let bad = "openspec/changes/c/review/01.md";
    sandbox.write("openspec/changes/c/review/1.md", "stays");
    sandbox.write(bad, "odd");
    let done = sandbox.run("cleanup --apply --system groups --json").json();
    assert!(!sandbox.exists(bad));
    let archive = done["archive_path"].as_str().unwrap();
    let ran = sandbox.run(&["restore", archive, "--json"]);
    assert_eq!(statuses(&ran), ["review/01.md restored"]);
    assert_eq!(sandbox.read(bad), "odd");
    assert_eq!(
        sandbox.names(".claude/statewarden/archive/groups/c"),
        [""; 0]
    );
}

#[test]
fn what_is_left_of_a_directory_stays_in_the_archive() {
    let sandbox = Sandbox::new();
    let names = ["review/sub", "review/x.md", "review/y.md"];
    sandbox.write("openspec/changes/c/tasks.md", "");
    for name in &names[1..] {
        sandbox.write(&format!("openspec/changes/c/{name}"), "text");
    }
    std::fs::create_dir(sandbox.path("openspec/changes/c/review/sub")).unwrap();
    let done = sandbox.run("cleanup --apply --system groups --json").json();
    let archive = done["archive_path"].as_str().unwrap();
    let held = || {
        let history = sandbox.run("history --json").json();
        let rows = history["archives"][0]["entries"].as_array().unwrap().iter();
        let row = |row: &Value| {
            (
                row["name"].as_str().unwrap().to_owned(),
                row["size"].clone(),
            )
        };
        rows.map(row).collect::<Vec<_>>()
    };
    let sizes = [0, 4, 4].map(Value::from);
    let all = names.map(str::to_owned).into_iter().zip(sizes);
    let all: Vec<_> = all.collect();
    assert_eq!(held(), all);
    std::fs::remove_dir(sandbox.path("openspec/changes/c/review")).unwrap();
    for n in [2, 1] {
        sandbox.run(&["restore", archive, names[n]]).ends(0);
        assert_eq!(held(), all[..n]);
    }
    sandbox.run(&["restore", archive]).ends(0);
    assert!(std::path::Path::new(&sandbox.path("openspec/changes/c/review/sub")).is_dir());
    assert!(!std::path::Path::new(archive).exists());
}

/// What a killed copy left goes with the snapshot, what somebody put there does not.
#[cfg(unix)]
#[test]
fn what_is_of_no_run_stays_in_the_archive() {
    let sandbox = Sandbox::new();
    let bad = "openspec/changes/c/review/01.md";
    let outside = sandbox.home().join("outside/empty");
    std::fs::create_dir_all(&outside).unwrap();
    for with_stranger in [false, true] {
        sandbox.write("openspec/changes/c/review/1.md", "stays");
        sandbox.write(bad, "odd");
        let args = ["cleanup", "--apply", "--system", "groups", "--json"];
        let done = sandbox.run(&args).json();
        let archive = std::path::Path::new(done["archive_path"].as_str().unwrap());
        std::fs::create_dir(archive.join(".half.77.tmp")).unwrap();
        std::fs::write(archive.join(".half.77.tmp/a"), "half").unwrap();
        let stranger = archive.join("review/stranger");
        if with_stranger {
            std::os::unix::fs::symlink(sandbox.home().join("outside"), &stranger).unwrap();
        }
        let ran = sandbox.run(&["restore", archive.to_str().unwrap(), "--json"]);
        assert_eq!(statuses(&ran), ["review/01.md restored"]);
        assert_eq!(archive.exists(), with_stranger);
        assert_eq!(archive.join("manifest.json").exists(), with_stranger);
        assert!(outside.exists());
    }
}

/// Without our manifest nothing says that such a name is half a copy.
#[test]
fn a_temporary_name_in_a_snapshot_of_devt_itself_is_an_entry() {
    let sandbox = Sandbox::new();
    let name = "cleanup-2026-01-10T14-30-22-123Z";
    for file in [".plan.md.77.tmp", ".manifest.json.77.tmp"] {
        sandbox.write(&format!(".devt/state/.archive/{name}/{file}"), "x");
    }
    let ran = sandbox.run(&["restore", name, "--json"]);
    assert_eq!(statuses(&ran), [".plan.md.77.tmp restored"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_manifests_place_is_not_waited_for() {
    let (sandbox, archive) = archived();
    let manifest = sandbox.path(&format!(".devt/state/.archive/{archive}/manifest.json"));
    std::fs::remove_file(&manifest).unwrap();
    crate::support::make_pipe(&manifest);
    let history = sandbox.run("history --json").json();
    assert_eq!(history["archives"][0]["by"], Value::Null);
}

#[test]
fn a_manifest_can_take_nothing_from_outside_the_snapshot() {
    for (name, stored) in [
        ("review.md", "../../../../mine.md"),
        ("review.md", ""),
        ("", "review.md"),
        (".", "review.md"),
    ] {
        let (sandbox, archive) = archived();
        sandbox.write("mine.md", "stays");
        let file = format!(".devt/state/.archive/{archive}/manifest.json");
        let old = "\"name\": \"review.md\"";
        let new = format!("\"name\": \"{name}\", \"stored\": \"{stored}\"");
        sandbox.write(&file, &sandbox.read(&file).replace(old, &new));
        let ran = sandbox.run(&["restore", &archive, "--json"]);
        assert_eq!(statuses(&ran), ["plan.md restored", "review.md restored"]);
        assert_eq!(sandbox.names(""), [".devt", "mine.md"]);
    }
}

#[test]
fn a_manifest_cannot_lead_out_of_the_site() {
    let (sandbox, archive) = archived();
    let file = format!(".devt/state/.archive/{archive}/manifest.json");
    let named = |name: &str, home: &str| {
        (
            format!("\"name\": \"{name}\""),
            format!("\"name\": \"{home}\", \"stored\": \"{name}\""),
        )
    };
    let outside = sandbox.path("review.md");
    let mut text = sandbox.read(&file);
    for (old, new) in [
        named("plan.md", "../../new/plan.md"),
        named("review.md", &outside),
    ] {
        assert_has(&text, &old);
        text = text.replace(&old, &new);
    }
    sandbox.write(&file, &text);
    sandbox.run(&["restore", &archive, "--force"]);
    assert_eq!(sandbox.names(""), [".devt"]);
    assert_eq!(
        sandbox.names(".devt/state"),
        [".archive", "plan.md", "review.md"]
    );
}

#[cfg(unix)]
#[test]
fn a_directory_that_became_a_link_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/c/tasks.md", "");
    for bad in ["01.md", "sub/02.md"] {
        sandbox.write(&format!("openspec/changes/c/review/{bad}"), "odd");
    }
    let done = sandbox.run("cleanup --apply --system groups --json").json();
    let review = sandbox.project().join("openspec/changes/c/review");
    std::fs::remove_dir_all(&review).unwrap();
    std::os::unix::fs::symlink(sandbox.home(), &review).unwrap();
    let archive = done["archive_path"].as_str().unwrap();
    let ran = sandbox.run(&["restore", archive, "--json"]);
    assert_eq!(ran.code(), 1);
    assert_eq!(
        statuses(&ran),
        ["review/01.md error", "review/sub error"],
        "nothing is put outside"
    );
    assert_eq!(std::fs::read_dir(sandbox.home()).unwrap().count(), 0);

    // A file outside that seems to be in the way stays where it is.
    let outside = sandbox.home().join("01.md");
    std::fs::write(&outside, "of somebody").unwrap();
    let ran = sandbox.run(&["restore", archive, "--force", "--json"]);
    assert_eq!(
        statuses(&ran),
        ["review/01.md error", "review/sub error"],
        "nothing is taken from outside"
    );
    assert_eq!(ran.json()["replaced_to"], Value::Null);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "of somebody");
}

/// One run archives in every site, under one name.
#[test]
fn of_archives_with_one_name_all_paths_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/todo.md", "x");
    sandbox.write("packages/a/.devt/state/todo.md", "x");
    let done = sandbox.run("cleanup --apply --json").json();
    let paths = [0, 1].map(|site| done["sites"][site]["archive_path"].as_str().unwrap());
    let name = paths[0].rsplit('/').next().unwrap();
    let refused = sandbox.run(&["restore", name]);
    assert_eq!(refused.code(), 2);
    for path in paths {
        assert_has(&refused.stderr(), path);
        assert_eq!(sandbox.run(&["restore", path]).code(), 0, "{path}");
    }
}
