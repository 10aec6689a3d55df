//! What the recorder remembers is out of the reach of what cleans a project.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::recorder::{after, before, begin, call, told};
use crate::support::{Sandbox, assert_has};

fn git(sandbox: &Sandbox, line: &str) {
    let mut git = Command::new("git");
    git.args(line.split(' ')).current_dir(sandbox.project());
    let ran = git.env("HOME", sandbox.home()).output().unwrap();
    assert!(ran.status.success(), "{line}: {ran:?}");
}

/// `make clean` that runs `git clean -fdx`: all that git ignores is gone, the hook entries
/// and our own folder as well.
#[test]
fn what_a_clean_target_takes_is_told_and_comes_back() {
    let sandbox = Sandbox::new();
    git(&sandbox, "init -q");
    sandbox.write(".gitignore", ".devt/\n.claude/\n");
    sandbox.run("install --scope local").ends(0);
    sandbox.hook(&sandbox.event_of("SessionStart"));
    sandbox.write(".devt/state/plan.md", "two hours of work");
    sandbox.write(".devt/state/workflow.yaml", "active: true\n");
    call(&sandbox, "main", "make", || ());
    let entries = sandbox.read(".claude/settings.local.json");
    let ran = call(&sandbox, "tester", "make clean", || {
        git(&sandbox, "clean -fdxq");
    });
    let said = told(&ran);
    assert_has(&said, "settings.local.json");
    assert!(!sandbox.exists(".devt"));
    for (file, text) in [
        (".devt/state/plan.md", "two hours of work"),
        (".claude/settings.local.json", &entries),
    ] {
        let changes = sandbox.run(&["log", file, "--limit", "1", "--json"]).json();
        let change = &changes["changes"][0];
        assert_eq!(change["act"], "remove", "{file}: {changes}");
        let id = change["id"].as_str().unwrap();
        sandbox.run(&["restore", file, "--at", id]).ends(0);
        assert_eq!(sandbox.read(file), text);
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// A script that brings an earlier memory back would hide what it did.
#[test]
fn a_memory_that_is_older_than_our_own_log_is_told() {
    let sandbox = Sandbox::new();
    git(&sandbox, "init -q");
    sandbox.hook(&sandbox.event_of("SessionStart"));
    call(&sandbox, "main", "make", || ());
    let (memory, earlier) = (sandbox.memory(), sandbox.base().join("earlier"));
    copy(&memory, &earlier);
    sandbox.hook(&sandbox.event_of("SessionStart"));
    let ran = call(&sandbox, "main", "./bring-back", || {
        fs::remove_dir_all(&memory).unwrap();
        copy(&earlier, &memory);
    });
    assert_has(&told(&ran), "older than its own log");
    // Once, and not at an honest start.
    assert_eq!(told(&call(&sandbox, "main", "make", || ())), "");
    sandbox.hook(&sandbox.event_of("SessionStart"));
    assert_eq!(told(&call(&sandbox, "main", "make", || ())), "");
    let records = sandbox.read(".claude/statewarden/events.jsonl");
    assert_eq!(records.matches("older than its own log").count(), 1);
}

/// Our own folder would be somewhere else, and come and go with the link.
#[test]
#[cfg(unix)]
fn a_client_folder_that_is_renamed_and_linked_back_is_told() {
    let sandbox = Sandbox::new();
    git(&sandbox, "init -q");
    sandbox.hook(&sandbox.event_of("SessionStart"));
    call(&sandbox, "main", "make", || ());
    let ran = call(&sandbox, "tester", "./swap", || {
        let claude = sandbox.project().join(".claude");
        let aside = sandbox.project().join("aside");
        fs::rename(&claude, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &claude).unwrap();
    });
    assert_has(
        &told(&ran),
        "`.claude/statewarden` (protected-file: the directory was renamed",
    );
    assert_eq!(told(&call(&sandbox, "tester", "make", || ())), "");
}

/// What the recorder cannot do is said where people look for it.
#[test]
fn doctor_names_what_is_not_looked_at_and_what_is_not_kept() {
    let sandbox = Sandbox::new();
    let findings = || {
        let findings = sandbox.run("doctor --json").json();
        let all = findings["findings"].as_array().unwrap().clone();
        let of_recorder = all.iter().filter(|one| one["id"] == "recorder");
        let texts = of_recorder.map(|one| one["what"].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    call(&sandbox, "main", "make", || {
        sandbox.write(".devt/state/plan.md", "x");
    });
    assert_eq!(findings(), [""; 0]);
    let pack = sandbox.memory().join("pack-0");
    fs::write(&pack, "").unwrap();
    assert_has(&findings()[0], "is not kept");
    fs::remove_file(&pack).unwrap();
    for at in 0..20_001 {
        sandbox.write(&format!(".devt/state/.x{at}.tmp"), "");
    }
    let event = before(&sandbox, "main", "Bash", json!({ "command": "make" }));
    let said = sandbox.hook(&event);
    assert_has(&said.stderr(), "has more than 20000 entries");
    let said = findings();
    assert_has(said.last().unwrap(), "has more than 20,000 entries");
    let index = sandbox.memory().join("index");
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_has(&findings()[0], "cannot be read");
}

/// The listings and the running calls of a project are none of its copy's.
#[test]
fn a_copied_project_has_no_running_calls() {
    let sandbox = Sandbox::new();
    git(&sandbox, "init -q");
    begin(&sandbox, "tester", "python3 x.py");
    assert_eq!(sandbox.memory_names("open").len(), 1);
    let to = sandbox.base().join("copy");
    copy(&sandbox.project(), &to);
    let stray = to.join(".devt/state/todo.txt");
    fs::write(&stray, "a person's").unwrap();
    let mut event = sandbox.bash_event("make");
    event["cwd"] = json!(to);
    sandbox.hook_of_project(&to, &event).is_silent();
    fs::write(to.join(".devt/state/plan.md"), "x").unwrap();
    sandbox.hook_of_project(&to, &after(&event)).is_silent();
    assert!(stray.exists());
    let text = fs::read_to_string(to.join(".git/statewarden/changes.jsonl")).unwrap();
    assert!(
        text.contains("/copy/.devt/state/plan.md") && !text.contains("/project/"),
        "{text}"
    );
}

#[test]
fn uninstall_names_the_memory() {
    let sandbox = Sandbox::new();
    sandbox.run("install").ends(0);
    call(&sandbox, "main", "make", || ());
    let said = sandbox.run("uninstall").stdout();
    assert_has(&said, sandbox.memory().to_str().unwrap());
}

/// An agent that could empty the memory could act unseen.
#[test]
fn the_memory_is_the_programs_own() {
    let sandbox = Sandbox::new();
    git(&sandbox, "init -q");
    call(&sandbox, "main", "make", || ());
    for command in [
        "rm -rf .git/statewarden",
        "echo x > .git/statewarden/index",
        "mv .git/statewarden /tmp/x",
    ] {
        sandbox.denied(&sandbox.bash_event(command), "protected-file");
    }
    sandbox.hook(&sandbox.bash_event("rm -rf .git")).decision();
    let sandbox = Sandbox::new();
    call(&sandbox, "main", "make", || ());
    let memory = sandbox.memory();
    let file = memory.join("index");
    let event = sandbox.event("Write", json!({ "file_path": file, "content": "" }));
    sandbox.denied(&event, "protected-file");
    let removes = format!("rm -rf {}", memory.display());
    sandbox.denied(&sandbox.bash_event(&removes), "protected-file");
    assert_ne!(
        sandbox
            .hook(&sandbox.bash_event("rm -rf ~/.local/state"))
            .decision(),
        "allow"
    );
}
