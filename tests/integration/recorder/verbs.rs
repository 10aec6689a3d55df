//! `log`, and `restore PATH --at ID`.

use crate::recorder::call;
use crate::support::{Sandbox, assert_has};

#[test]
fn every_change_is_shown_and_can_be_taken_back() {
    let sandbox = Sandbox::new();
    let plan = ".devt/state/plan.md";
    sandbox.run("log").ends(0);
    sandbox.write(plan, "one\nsame\n");
    call(&sandbox, "main", "make", || ());
    call(&sandbox, "tester", "make", || {
        sandbox.write(plan, "two\nsame\n")
    });
    call(&sandbox, "main", "make", || {
        std::fs::remove_file(sandbox.path(plan)).unwrap()
    });
    call(&sandbox, "main", "make", || {
        sandbox.write(".devt/state/todo.txt", "x")
    });

    let all = sandbox.run("log --json").json();
    let all = all["changes"].as_array().unwrap();
    let acts: Vec<&str> = all.iter().map(|one| one["act"].as_str().unwrap()).collect();
    assert_eq!(acts, ["create", "remove", "change"], "newest first");
    assert_eq!(all[0]["decision"], "undone");
    let text = sandbox.run(&["log", plan, "--diff"]).stdout();
    assert_has(&text, "main by Bash  removed .devt/state/plan.md");
    assert_has(&text, "tester by Bash  changed .devt/state/plan.md  9 B");
    assert_has(&text, "- one\n+ two\n  same\n");
    assert!(!text.contains("todo.txt"), "{text}");
    let count = |line: &[&str]| {
        sandbox.run(line).json()["changes"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count(&["log", ".devt", "--json"]), 3);
    assert_eq!(count(&["log", "src", "--json"]), 0);
    assert_eq!(count(&["log", "--limit", "1", "--json"]), 1);
    assert_eq!(count(&["log", "--since", "2001-01-01", "--json"]), 3);

    let id = |at: usize| all[at]["id"].as_str().unwrap();
    for (change, side, expected) in [
        (1, "", "two\nsame\n"),
        (2, "", "one\nsame\n"),
        (2, "--after", "two\nsame\n"),
    ] {
        let line = ["restore", plan, "--at", id(change), side];
        let line: Vec<&str> = line.into_iter().filter(|word| !word.is_empty()).collect();
        sandbox.run(&line).ends(0);
        assert_eq!(sandbox.read(plan), expected);
    }
    let last = sandbox.run("log --limit 1 --json").json();
    assert_eq!(
        (&last["changes"][0]["actor"], &last["changes"][0]["tool"]),
        (&"statewarden".into(), &"restore".into())
    );
    for (line, why) in [
        (["restore", plan, "--at", "nothing"], "no change nothing"),
        (["restore", plan, "--at", id(0)], "is of"),
        (
            ["restore", ".devt/state/todo.txt", "--at", id(0)],
            "held nothing that is kept before",
        ),
    ] {
        let ran = sandbox.run(&line);
        assert_eq!(ran.code(), 2, "{line:?}");
        assert_has(&ran.stderr(), why);
    }
}

/// What a person brings back stays, until it is written again.
#[test]
fn what_was_moved_away_can_be_brought_back() {
    let sandbox = Sandbox::new();
    let stray = ".devt/state/todo.txt";
    call(&sandbox, "main", "make", || sandbox.write(stray, "kept"));
    let history = sandbox.run("history --json").json();
    let run = &history["archives"][0];
    assert_eq!(
        (&run["kind"], &run["by"]),
        (&"undo".into(), &"statewarden hook".into())
    );
    let path = run["path"].as_str().unwrap();
    sandbox.run(&["restore", path]).ends(0);
    call(&sandbox, "main", "make", || ());
    assert_eq!(sandbox.read(stray), "kept");
    // These archives are none of the ring's.
    sandbox.write(".claude/statewarden.yaml", "archive: {runs: 1}\n");
    sandbox.write(".devt/state/more.txt", "x");
    std::fs::remove_file(sandbox.path(stray)).unwrap();
    call(&sandbox, "main", "make", || sandbox.write(stray, "again"));
    sandbox.run("cleanup --apply").ends(0);
    sandbox.write(".devt/state/more.txt", "x");
    sandbox.run("cleanup --apply").ends(0);
    let names = sandbox.names(".devt/state/.archive");
    let count = |kind: &str| names.iter().filter(|name| name.starts_with(kind)).count();
    assert_eq!((count("undo-"), count("cleanup-")), (1, 1), "{names:?}");
}
