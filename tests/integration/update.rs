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
    fields.get(key).unwrap().to_string()
}

#[test]
fn an_update_changes_its_lines_only() {
    let sandbox = Sandbox::new();
    sandbox.write(
        FILE,
        "# by hand\nactive: true\nphase:  plan   # next: implement\ntask: 'it''s'\ncreated_at: x\nmine: 0\nlanes:\n  - id: \"L1\"\n",
    );
    let ran = sandbox.run("update phase=implement mine=1 --json");
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    let changed = &ran.json()["changed"];
    assert_eq!(
        (&changed["phase"], &changed["mine"]),
        (&"implement".into(), &1.into())
    );
    assert_eq!(
        sandbox.read(FILE),
        "# by hand\nactive: true\nphase: implement\ntask: 'it''s'\ncreated_at: x\n\
         mine: 1\nlanes:\n  - id: \"L1\"\n"
    );
    let again = sandbox.run("update phase=implement --json").json();
    assert_eq!(again["changed"], serde_json::json!({}));
    let again = sandbox.run("update phase=implement");
    assert_eq!(again.stdout(), "nothing changed\n");
    assert_eq!(sandbox.names(".devt/state"), ["workflow.yaml"]);
}

#[test]
fn b17_any_value_reads_back_as_given() {
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

#[test]
fn the_current_edition_logs_each_change_of_the_id() {
    const LOG: &str = ".devt/state/workflow-id-rotations.jsonl";
    let sandbox = Sandbox::new();
    sandbox.run("update active=true workflow_type=dev");
    assert!(!sandbox.exists(LOG), "0.83 has no such log");
    let first = field(&sandbox, "workflow_id");
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  devt:\n    contract: \"0.244\"\n",
    );
    sandbox.run("update phase=plan");
    sandbox.run("update workflow_type=debug task=secret");
    let records = sandbox.records(LOG);
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0]["prev_id"], first);
    assert_eq!(records[0]["new_id"], field(&sandbox, "workflow_id"));
    assert_eq!(
        records[0]["source"],
        "updateState:type_transition(dev->debug)"
    );
    assert!(!sandbox.read(LOG).contains("secret"));
}

#[test]
fn odd_pairs_are_errors_and_odd_values_too_without_force() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "active: false\n");
    for args in [
        &["update"][..],
        &["update", "phase"],
        &["update", "=x"],
        &["update", "a b=x"],
        &["update", "phase=plan", "phase=test"],
        &["update", "phase=plan", "--system", "session"],
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{args:?}");
    }
    for (pair, said) in [
        (
            "phase=bogus",
            "`phase` is \"bogus\", but devt expects one of context_init,",
        ),
        (
            "phase=implemnt",
            "did you mean `implement`? (`--force` writes it anyway)",
        ),
        (
            "active=maybe",
            "`active` is \"maybe\", but devt expects true or false",
        ),
        ("phse=x", "devt has no key `phse`; did you mean `phase`?"),
        ("bogus=1", "devt has no key `bogus`"),
        ("first_created_at=null", "`first_created_at` cannot be null"),
    ] {
        let ran = sandbox.run(&["update", "iteration=7", pair]);
        assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{pair}");
        assert_has(&ran.stderr(), said);
        assert_eq!(sandbox.read(FILE), "active: false\n");
        let forced = sandbox.run(&["update", pair, "--force"]);
        assert_eq!(forced.code(), 0, "{pair}");
        let said = said.split(" (`--force`").next().unwrap();
        assert_has(&forced.stderr(), said);
        let (key, value) = pair.split_once('=').unwrap();
        assert_eq!(field(&sandbox, key), value);
        sandbox.write(FILE, "active: false\n");
    }

    sandbox.write(FILE, "active: \"open\nphase: plan\n");
    let ran = sandbox.run("update phase=test");
    assert_eq!(ran.code(), 2);
    assert!(
        ran.stderr()
            .contains("line 1 is no YAML; close it, or put it in double quotes"),
        "{}",
        ran.stderr()
    );

    // devt writes what it is given, and reads past it.
    sandbox.write(FILE, "active: false\na b: 1\ntask: [wip\n");
    let ran = sandbox.run("update phase=test");
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    assert_eq!(
        sandbox.read(FILE),
        "active: false\na b: 1\ntask: [wip\nphase: test\n"
    );
}

#[test]
fn the_nearest_site_is_meant() {
    let sandbox = Sandbox::new();
    sandbox.write("packages/b/.devt/state/workflow.yaml", "phase: plan\n");
    sandbox.write("packages/b/src/a.rs", "");
    let mut command = sandbox.command("update phase=test");
    command.env("CLAUDE_PROJECT_DIR", sandbox.project());
    command.current_dir(sandbox.project().join("packages/b/src"));
    assert_eq!(Ran::from(command.output().unwrap()).code(), 0);
    assert_eq!(
        sandbox.read("packages/b/.devt/state/workflow.yaml"),
        "phase: test\n"
    );
    assert!(!sandbox.exists(FILE));
    sandbox.run("update phase=test");
    assert!(sandbox.exists(FILE));
    // What is named is meant.
    sandbox.run("--project packages/b update phase=review");
    let of_b = sandbox.read("packages/b/.devt/state/workflow.yaml");
    assert_eq!(of_b, "phase: review\n");

    fs::remove_dir_all(sandbox.project().join("packages")).unwrap();
    fs::remove_dir_all(sandbox.project().join(".devt")).unwrap();
    sandbox.run("update phase=test").ends(2);
    assert_eq!(sandbox.names(""), [""; 0]);
}

#[test]
fn b15_a_subdirectory_gets_no_state_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.write("src/deep/a.rs", "");
    let mut command = sandbox.command("update phase=plan");
    command.current_dir(sandbox.project().join("src/deep"));
    assert_eq!(Ran::from(command.output().unwrap()).code(), 0);
    assert_eq!(sandbox.names("src/deep"), ["a.rs"]);
    assert_eq!(field(&sandbox, "phase"), "plan");
}

#[test]
fn b19_the_settings_of_the_user_make_home_no_project() {
    let sandbox = Sandbox::new();
    let unmarked = sandbox.home().join("work");
    fs::create_dir_all(&unmarked).unwrap();
    fs::create_dir(sandbox.home().join(".devt")).unwrap();
    for dir in [unmarked, sandbox.home()] {
        let mut command = sandbox.command("update phase=plan");
        command.current_dir(&dir);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code(), 2, "in `{}`: {}", dir.display(), ran.stdout());
        assert!(ran.stderr().contains("or make this one with `mkdir .devt`"));
    }
    assert_eq!(
        fs::read_dir(sandbox.home().join(".devt")).unwrap().count(),
        0
    );
}

/// devt lost most of twenty starts and lane updates at once.
#[test]
fn b5_b6_no_update_of_several_processes_is_lost() {
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
fn b7_a_dead_owner_costs_no_time_and_a_living_one_is_respected() {
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
fn b7_waiting_ends_with_the_owner() {
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

#[cfg(unix)]
#[test]
fn a_linked_file_stays_one() {
    let sandbox = Sandbox::new();
    sandbox.write("kept/workflow.yaml", "active: true\nphase: plan\n");
    let link = sandbox.project().join(FILE);
    std::os::unix::fs::symlink("../../kept/workflow.yaml", &link).unwrap();
    sandbox.run("update phase=implement").ends(0);
    assert!(link.is_symlink());
    let text = sandbox.read("kept/workflow.yaml");
    assert_has(&text, "phase: implement\n");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_directory_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(".devt/state");
    fs::remove_dir(&state).unwrap();
    crate::support::make_pipe(&state);
    let ran = sandbox.run("update phase=test");
    assert_eq!(ran.code(), 2);
    let why = "/.devt/state`: Not a directory";
    assert_has(&ran.stderr(), why);
}
