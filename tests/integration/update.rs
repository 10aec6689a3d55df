use std::fs;
use std::process::Stdio;
use std::thread;

use statewarden::store::lock::{IN_COMMAND, with_lock};
use statewarden::systems::devt::workflow_yaml;

use crate::support::{Ran, Sandbox, assert_has};

const FILE: &str = ".devt/state/workflow.yaml";
const LOCK: &str = ".devt/state/.lock";

fn field(sandbox: &Sandbox, key: &str) -> String {
    let fields = workflow_yaml::read(&sandbox.read(FILE));
    let value = fields.get(key).unwrap();
    value.as_str().map_or(value.to_string(), str::to_owned)
}

#[test]
fn any_value_reads_back_as_given() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "mine: x\n");
    for key in ["task", "mine"] {
        for value in [
            "C:\\new",
            "",
            "007",
            "true",
            "null ",
            " x ",
            "~",
            "a: b",
            "#1",
            "\"q\"",
            "'",
            "a\nb",
            "12345678901234567890",
            "-3",
            "1.50",
            "yes",
            "é",
            "[x]",
            "{",
            "a=b",
            "\\",
            "\\n",
            "\r",
            "- x",
            "%",
            "`",
        ] {
            let ran = sandbox.run(&["update", &format!("{key}={value}")]);
            assert_eq!(ran.code(), 0, "{value:?}: {}", ran.stderr());
            assert_eq!(field(&sandbox, key), value, "{key}");
        }
    }
}

#[test]
fn the_first_activation_names_and_dates_the_workflow() {
    let sandbox = Sandbox::new();
    sandbox.run("update active=true workflow_type=dev task=x");
    let id = field(&sandbox, "workflow_id");
    let form: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(form, [8, 4, 4, 4, 12], "{id}");
    assert!(
        id.as_bytes()[14] == b'4' && b"89ab".contains(&id.as_bytes()[19]),
        "{id}"
    );
    assert_eq!(field(&sandbox, "original_workflow_id"), id);
    let created = field(&sandbox, "created_at");
    assert_eq!(field(&sandbox, "first_created_at"), created);

    let orphan = format!("{{\"ts\":\"{created}\",\"workflow_id\":\"orphan\"}}\n");
    sandbox.write(".devt/memory/_mcp-trace.jsonl", &orphan);
    sandbox.run("update workflow_type=debug");
    let second = field(&sandbox, "workflow_id");
    assert_ne!(second, id);
    assert_eq!(field(&sandbox, "original_workflow_id"), id);
    assert_eq!(
        field(&sandbox, "workflow_id_history"),
        format!("[\"{id}\",\"orphan\",\"{second}\"]")
    );
}

/// devt lost most of twenty starts and lane updates at once.
#[test]
fn no_update_of_several_processes_is_lost() {
    let sandbox = Sandbox::new();
    let update = |worker: usize| {
        for n in 0..2 {
            sandbox
                .run(&["update", "--force", &format!("w{worker}_{n}={n}")])
                .ends(0);
        }
    };
    thread::scope(|scope| {
        for worker in 0..20 {
            scope.spawn(move || update(worker));
        }
    });
    let fields = workflow_yaml::read(&sandbox.read(FILE));
    assert_eq!(
        fields
            .iter()
            .filter(|(key, _)| key.starts_with('w'))
            .count(),
        40
    );
    assert_eq!(sandbox.names(".devt/state"), ["workflow.yaml"]);
}

#[test]
fn a_dead_owner_costs_no_time_and_a_living_one_is_respected() {
    let sandbox = Sandbox::new();
    let mut dead = sandbox
        .command("--version")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    dead.wait().unwrap();
    sandbox.write(LOCK, &dead.id().to_string());
    sandbox.run("update phase=plan").ends(0);
    assert!(!sandbox.exists(LOCK));

    // This test is the living owner.
    let own = std::process::id().to_string();
    sandbox.write(LOCK, &own);
    let ran = sandbox.run("update phase=test");
    assert_eq!(ran.code(), 2);
    let owner = format!("is held by process {own}");
    assert_has(&ran.stderr(), &owner);
    assert_eq!(sandbox.read(LOCK), own);
    assert_eq!(field(&sandbox, "phase"), "plan");
}

/// An owner that ends while others wait, and a file that is still empty.
#[test]
fn waiting_ends_with_the_owner() {
    let sandbox = Sandbox::new();
    sandbox.write(LOCK, &std::process::id().to_string());
    let mut command = sandbox.command("update phase=plan");
    let waiting = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    fs::remove_file(sandbox.project().join(LOCK)).unwrap();
    let ran = Ran::from(waiting.wait_with_output().unwrap());
    assert_eq!(ran.code(), 0, "{}", ran.stderr());

    sandbox.write(LOCK, "");
    sandbox.run("update phase=test").ends(0);
    assert_eq!(field(&sandbox, "phase"), "test");
}

#[test]
fn the_directory_lock_is_honored() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/notes.md", "x");
    let dir = sandbox.project().join(".devt/state");
    let verbs = ["update phase=plan", "reset", "cleanup --apply"];
    with_lock(&dir, IN_COMMAND, |_| {
        let waiting = verbs.map(|args| {
            let mut command = sandbox.command(args);
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        });
        for child in waiting {
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!(ran.code(), 2);
            assert_has(&ran.stderr(), "is locked by another process");
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(sandbox.names(".devt/state"), ["notes.md"]);
    sandbox.run("reset").ends(0);
}
