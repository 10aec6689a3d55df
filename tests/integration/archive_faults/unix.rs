//! Faults that need the modes, the links and the signals of Unix.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;

use serde_json::json;

use super::*;
use crate::support::{assert_has, make_pipe, skip, stride};

#[test]
fn links_pipes_and_odd_names_move_as_they_are() {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(STATE);
    fs::write(sandbox.home().join("outside.txt"), "stays").unwrap();
    symlink(sandbox.home().join("outside.txt"), state.join("to-file")).unwrap();
    symlink(sandbox.home(), state.join("to-dir")).unwrap();
    symlink("nowhere", state.join("dangling")).unwrap();
    symlink("loop", state.join("loop")).unwrap();
    fs::write(state.join(OsStr::from_bytes(b"b\xff.txt")), "bytes").unwrap();
    fs::write(state.join("a b\n'\".txt"), "odd").unwrap();
    make_pipe(state.join("pipe"));
    let ran = sandbox.run("cleanup --apply --json").ends(0);
    assert_eq!(ran.json()["archived"].as_array().unwrap().len(), 7);
    assert_eq!(sandbox.names(STATE), [".archive"]);
    assert_eq!(
        fs::read_to_string(sandbox.home().join("outside.txt")).unwrap(),
        "stays"
    );

    let archive = ran.json()["archive_path"].as_str().unwrap().to_owned();
    // A link that leads out of the site stays in the archive.
    sandbox.run(&["restore", &archive]).ends(1);
    assert_eq!(
        fs::read_link(state.join("loop")).unwrap(),
        Path::new("loop")
    );
    assert_eq!(
        fs::read_link(state.join("dangling")).unwrap(),
        Path::new("nowhere")
    );
    assert_eq!(
        fs::read(state.join(OsStr::from_bytes(b"b\xff.txt"))).unwrap(),
        b"bytes"
    );
    assert!(Path::new(&archive).join("to-file").is_symlink());
}

#[test]
fn a_name_that_is_no_text_comes_back_from_below_a_directory() {
    let sandbox = Sandbox::new();
    let change = "openspec/changes/c";
    sandbox.write(&format!("{change}/tasks.md"), "");
    sandbox.write(&format!("{change}/review/1.md"), "");
    let odd = sandbox.project().join(change).join("review");
    let odd = odd.join(OsStr::from_bytes(b"b\xff.md"));
    fs::write(&odd, "bytes").unwrap();
    let ran = sandbox.run("cleanup --apply --system groups --json");
    assert!(!odd.exists(), "{}", ran.stdout());
    let history = sandbox.run("history --json").json();
    let entry = &history["archives"][0]["entries"][0];
    assert_eq!(
        (&entry["name"], &entry["reason"]),
        (&json!("review/b\u{fffd}.md"), &json!("ad_hoc"))
    );
    let archive = ran.json()["archive_path"].as_str().unwrap().to_owned();
    sandbox.run(&["restore", &archive]).ends(0);
    assert_eq!(fs::read(&odd).unwrap(), b"bytes");
    assert!(!Path::new(&archive).exists());
}

#[test]
fn a_directory_whose_name_is_no_text_hides_nothing_beside_it() {
    let sandbox = Sandbox::new();
    let session = ".agentmux/.sessions/a";
    sandbox.write(&format!("{session}/notes.md"), "");
    for (above, file) in [(session, "x"), ("openspec/changes", "tasks.md")] {
        let odd = sandbox
            .project()
            .join(above)
            .join(OsStr::from_bytes(b"\xff"));
        fs::create_dir_all(&odd).unwrap();
        fs::write(odd.join(file), "## 1. A\n- [ ] x\n").unwrap();
    }
    let ran = sandbox.run("audit --json");
    let document = ran.json();
    assert_eq!((ran.code(), &document["ok"]), (0, &json!(true)));
    let sites = document["sites"].as_array().unwrap();
    let systems: Vec<_> = sites.iter().map(|site| &site["system"]).collect();
    assert_eq!(systems, ["devt", "agentmux"]);
}

#[test]
fn a_backslash_in_a_name_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/c/tasks.md", "");
    let names = ["review/a", r"review/a\b"];
    let path = |name: &str| format!("openspec/changes/c/{name}");
    names
        .iter()
        .for_each(|name| sandbox.write(&path(name), name));
    let args = ["cleanup", "--apply", "--system", "groups", "--json"];
    let done = sandbox.run(&args).json();
    let archive = done["archive_path"].as_str().unwrap();
    let held = sandbox.run("history --json").json();
    for (n, name) in names.iter().enumerate() {
        assert_eq!(held["archives"][0]["entries"][n]["name"], *name);
        assert_eq!(sandbox.run(&["restore", archive, name]).code(), 0, "{name}");
        assert_eq!(sandbox.read(&path(name)), *name);
        assert_eq!(sandbox.exists(&path(names[1])), n == 1);
    }
}

/// Permissions do not bind root, so root runs the program as nobody.
#[test]
fn an_entry_that_cannot_be_moved_is_reported_and_the_run_goes_on() {
    const NOBODY: u32 = 65_534;
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/locked/a.txt", "x");
    sandbox.write(".devt/state/notes.md", "x");
    let is_root = fs::metadata(sandbox.project()).unwrap().uid() == 0;
    let mut command = sandbox.command("cleanup --apply --json");
    if is_root {
        for path in [
            "",
            ".devt",
            STATE,
            ".devt/state/locked",
            ".devt/state/notes.md",
        ] {
            chown(sandbox.project().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    // A directory that changes its parent is itself written to.
    let locked = sandbox.project().join(".devt/state/locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skip(&format!("nobody may not run the program: {error}"));
            return;
        }
    };
    let ran = Ran::from(output);
    assert_eq!(ran.code(), 1, "{}", ran.stderr());
    let document = ran.json();
    assert_eq!(document["ok"], false);
    assert_eq!(status_of(&document, "locked"), "error");
    assert_eq!(status_of(&document, "notes.md"), "archived");
    assert_eq!(document["total_bytes_archived"], 1);
    assert_eq!(sandbox.names(STATE), [".archive", "locked"]);
    let mut command = sandbox.command("reset --json");
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code(), 1);
    assert_eq!(ran.json()["failed"][0]["name"], "locked");
}

/// A shell that lets the program write nothing, as on a full disk.
const FULL: &str = "trap '' XFSZ; ulimit -f 0; exec \"$0\" cleanup --apply";

#[test]
fn runs_that_fail_push_no_snapshot_out() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "archive:\n  runs: 2\n");
    for name in ["precious.md", "notes.md"] {
        sandbox.write(&format!("{STATE}/{name}"), name);
        sandbox.run("cleanup --apply").ends(0);
    }
    let kept = sandbox.names(RING);
    sandbox.write(".devt/state/more.md", "x");
    for _ in 0..3 {
        let program = sandbox.command(&[]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", FULL]).arg(program.get_program());
        shell.current_dir(sandbox.project()).env_clear();
        shell.envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let ran = Ran::from(shell.output().unwrap());
        assert_eq!(ran.code(), 2, "{}", ran.stderr());
        assert_eq!(sandbox.names(RING), kept);
    }
    // Runs that were killed before they had moved anything.
    let killed = |n: u8, file: &str, text: &str| {
        let dir = format!("{RING}/cleanup-2026-01-0{n}T00-00-00-000Z");
        sandbox.write(&format!("{dir}/{file}"), text);
    };
    let manifest = sandbox.read(&format!("{RING}/{}/manifest.json", kept[0]));
    killed(1, "manifest.json", &manifest);
    killed(2, ".manifest.json.4711.tmp", "{");
    killed(
        3,
        "manifest.json",
        &manifest.replace("precious", "a/b/precious"),
    );
    for dir in ["3T00-00-00-000Z/a/b", "4T00-00-00-000Z"] {
        let dir = format!("{RING}/cleanup-2026-01-0{dir}");
        fs::create_dir_all(sandbox.project().join(dir)).unwrap();
    }
    sandbox.run("cleanup --apply").ends(0);
    let left = sandbox.names(RING);
    assert_eq!((left.len(), &left[0]), (2, &kept[1]), "{left:?}");
}

/// What a link leads to may be anyone's.
#[test]
fn an_archive_that_is_a_link_takes_nothing() {
    let sandbox = Sandbox::new();
    let dir = sandbox.base().join("elsewhere");
    fs::create_dir(&dir).unwrap();
    symlink(&dir, sandbox.project().join(RING)).unwrap();
    sandbox.write_aged(".devt/state/notes.md", "text", 3600);
    for verb in ["cleanup --apply", "reset"] {
        let ran = sandbox.run(verb);
        assert!(ran.code() != 0, "{}", ran.stdout());
        let said = ran.stdout() + &ran.stderr();
        assert!(said.contains("put a directory in its place"), "{said}");
        assert_eq!(sandbox.read(".devt/state/notes.md"), "text");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }
}

/// Kills the program after `after` entries have left `from`, or lets it end.
fn kill_midway(sandbox: &Sandbox, args: &[&str], from: &Path, after: usize) {
    let count = || fs::read_dir(from).map_or(0, Iterator::count);
    let before = count();
    let mut child = sandbox.command(args).stdout(Stdio::null()).spawn().unwrap();
    while count() + after > before && child.try_wait().unwrap().is_none() {
        thread::yield_now();
    }
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_kill_leaves_every_entry_whole_on_one_side() {
    const FILES: usize = 400;
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "archive:\n  runs: 1000\n");
    let state = sandbox.project().join(STATE);
    let texts: BTreeMap<String, String> = (0..FILES)
        .map(|n| (format!("n{n}.txt"), format!("text {n}")))
        .collect();
    texts
        .iter()
        .for_each(|(name, text)| fs::write(state.join(name), text).unwrap());
    let mut n_midway = 0;
    let mut seed = u64::from(std::process::id());
    for round in (0..50).step_by(stride()) {
        // Any generator does; the seed is in the message.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let after = (seed >> 33) as usize % (FILES + 2);
        kill_midway(&sandbox, &["reset"], &state, after);
        check_whole(&sandbox, &texts, &format!("reset {round}, {after}"));
        let n_left = sandbox.names(STATE).len() - 1;
        n_midway += usize::from(n_left > 0 && n_left < FILES);
        sandbox.run("reset");
        for snapshot in sandbox.names(RING) {
            let held = sandbox.project().join(RING).join(&snapshot);
            kill_midway(&sandbox, &["restore", &snapshot], &held, after / 2);
            check_whole(&sandbox, &texts, &format!("restore {round}, {after}"));
        }
        for snapshot in sandbox.names(RING) {
            let ran = sandbox.run(&["restore", &snapshot]);
            assert_eq!(ran.code(), 0, "{}{}", ran.stdout(), ran.stderr());
        }
        assert_eq!(sandbox.names(RING), [""; 0], "round {round}");
    }
    assert!(n_midway > 0, "every kill came too late or too early");
}

#[track_caller]
fn check_whole(sandbox: &Sandbox, texts: &BTreeMap<String, String>, when: &str) {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let snapshots = sandbox.names(RING);
    let rings = snapshots.iter().map(|name| format!("{RING}/{name}"));
    for dir in rings.chain([STATE.to_owned()]) {
        for name in sandbox.names(&dir) {
            let path = format!("{dir}/{name}");
            found.entry(name).or_default().push(path);
        }
    }
    for (name, text) in texts {
        match found.get(name).map(Vec::as_slice) {
            Some([path]) => assert_eq!(&sandbox.read(path), text, "{path} after {when}"),
            paths => panic!("{name} is in {paths:?} after {when}"),
        }
    }
}

/// Names alone say nothing of what lies there, so nothing is counted as if there were none.
#[test]
fn entries_that_nobody_may_look_at_are_no_empty_site() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/notes.md", "x");
    let state = sandbox.project().join(".devt/state");
    let is_root = fs::metadata(&state).unwrap().uid() == 0;
    fs::set_permissions(&state, fs::Permissions::from_mode(0o644)).unwrap();
    for (verb, code) in [("audit", 1), ("cleanup", 2)] {
        let mut command = sandbox.command(&[verb]);
        if is_root {
            // Permissions do not bind root, so it runs the program as nobody.
            command.uid(65_534).gid(65_534);
        }
        let Ok(output) = command.output() else {
            skip("nobody may not run the program");
            break;
        };
        let ran = Ran::from(output);
        let told = ran.stdout() + &ran.stderr();
        assert_eq!(ran.code(), code, "{told}");
        assert_has(&told, "could not look at `");
        assert_has(&told, "notes.md`: Permission denied");
    }
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
}
