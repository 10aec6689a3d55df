//! `log`, and `restore PATH --at ID`.

use regex::Regex;

use crate::recorder::{after, begin, call, told};
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
    let columns = Regex::new(" +").unwrap().replace_all(&text, " ");
    assert_has(&columns, "main Bash removed .devt/state/plan.md\n");
    assert_has(&columns, "tester Bash changed .devt/state/plan.md 9 B\n");
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
    let (time, _) = id(2).split_once('-').unwrap();
    sandbox.run(&["restore", plan, "--at", time]).ends(0);
    assert_eq!(
        sandbox.read(plan),
        "one\nsame\n",
        "by the beginning of an id"
    );
    let ambiguous = sandbox.run(&["restore", plan, "--at", "0"]);
    assert_eq!(ambiguous.code(), 2);
    assert_has(&ambiguous.stderr(), "several changes of");
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

/// Every line fits, whatever is in it, and what an id begins with is enough to restore.
#[test]
fn the_log_fits_eighty_columns() {
    let sandbox = Sandbox::new();
    let agent = "a-plugin:an-agent-with-a-rather-long-name";
    call(&sandbox, agent, "make", || {
        sandbox.write(".devt/state/plan.md", "x");
        sandbox.write(
            ".devt/state/a-name-that-nobody-knows-and-nobody-may-use.md",
            "x",
        );
    });
    let ran = sandbox
        .command("log")
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for part in ["…", "may-use.md", "undone: ad-hoc-name"] {
        assert_has(&text, part);
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

/// A verb that an agent runs is the agent's write, in the log as well.
#[test]
fn what_a_verb_writes_in_an_agents_call_is_that_agents() {
    let mut sandbox = Sandbox::new();
    let plan = ".devt/state/plan.md";
    call(&sandbox, "architect", "./a", || sandbox.write(plan, "one"));
    call(&sandbox, "architect", "./a", || sandbox.write(plan, "two"));
    let changes = sandbox.run(&["log", plan, "--json"]).json();
    let id = changes["changes"][0]["id"].as_str().unwrap();
    let command = format!("statewarden restore {plan} --at {id}");
    let event = begin(&sandbox, "architect", &command);
    let words = ["restore", plan, "--at", id];
    sandbox
        .env
        .push(("AI_AGENT", "claude-code_2-1-331_harness".into()));
    sandbox.run(&words).ends(0);
    sandbox.env.clear();
    assert_eq!(sandbox.read(plan), "one");
    sandbox.hook(&after(&event)).is_silent();
    let last = &sandbox.run(&["log", plan, "--json", "--limit", "1"]).json()["changes"][0];
    assert_eq!(
        (&last["actor"], &last["tool"], &last["tool_use_id"]),
        (
            &"architect".into(),
            &"restore".into(),
            &event["tool_use_id"]
        ),
        "{last}"
    );
}

/// Who changed what is not theirs may take that back, and nothing else.
#[test]
fn an_agent_may_take_back_its_own_newest_change() {
    let sandbox = Sandbox::new();
    let state = ".devt/state/workflow.yaml";
    sandbox.write(state, "active: true\nphase: plan\n");
    call(&sandbox, "main", "make", || ());
    let write = |phase: &str| sandbox.write(state, &format!("active: true\nphase: {phase}\n"));
    call(&sandbox, "main", "./a", || write("review"));
    call(&sandbox, "tester", "./a", || write("verify"));
    let newest = |at: usize| {
        let changes = sandbox.run(&["log", state, "--json"]).json();
        changes["changes"][at]["id"].as_str().unwrap().to_owned()
    };
    let ask = |agent: &str, id: &str| {
        let command = sandbox.bash_event(&format!("statewarden restore {state} --at {id}"));
        let mut event = sandbox.by(agent, command);
        event["agent_id"] = format!("id-{agent}").into();
        sandbox.hook(&event)
    };
    let (own, mains) = (newest(0), newest(1));
    for (agent, id) in [("programmer", &own), ("tester", &mains)] {
        assert_has(&ask(agent, id).stdout(), "wrong-writer");
    }
    call(&sandbox, "main", "./a", || write("done"));
    assert_has(&ask("tester", &own).stdout(), "wrong-writer");
    call(&sandbox, "tester", "./a", || write("docs"));
    ask("tester", &newest(0)).is_silent();
}

/// What a person has this program write into its settings is not reported to anybody.
#[test]
fn what_install_writes_is_its_own() {
    let sandbox = Sandbox::new();
    sandbox.run("install --scope local --mode warn").ends(0);
    sandbox.hook(&sandbox.event_of("SessionStart"));
    call(&sandbox, "main", "make", || ());
    sandbox.run("install --scope local --mode enforce").ends(0);
    assert_eq!(told(&call(&sandbox, "main", "make", || ())), "");
    let last = sandbox.run("log --limit 1 --json").json();
    assert_eq!(last["changes"][0]["tool"], "install", "{last}");
}

/// A call that cannot be read may run it: the running session keeps its hooks, and is told.
#[test]
fn an_uninstall_in_a_call_is_the_calls() {
    let mut sandbox = Sandbox::new();
    sandbox.run("install --scope local").ends(0);
    sandbox.hook(&sandbox.event_of("SessionStart"));
    call(&sandbox, "main", "make", || ());
    let running = begin(&sandbox, "main", "./a");
    sandbox
        .env
        .push(("AI_AGENT", "claude-code_2-1-331_harness".into()));
    sandbox.run("uninstall --scope local").ends(0);
    sandbox.env.clear();
    assert_has(
        &sandbox.hook(&after(&running)).stdout(),
        ".claude/settings.local.json` (protected-file",
    );
}

#[test]
#[cfg(unix)]
fn a_link_is_restored_as_a_link() {
    use std::fs;
    use std::os::unix::fs::symlink;

    let sandbox = Sandbox::new();
    let plan = sandbox.path(".devt/state/plan.md");
    sandbox.write(".devt/state/spec.md", "a spec\n");
    symlink("spec.md", &plan).unwrap();
    call(&sandbox, "main", "make", || ());
    call(&sandbox, "main", "make plan", || {
        fs::remove_file(&plan).unwrap();
        sandbox.write(".devt/state/plan.md", "a plan\n");
    });
    let log = sandbox.run("log .devt/state/plan.md --json").json();
    let id = log["changes"][0]["id"].as_str().unwrap();
    let restore = ["restore", ".devt/state/plan.md", "--at", id];
    sandbox.run(&restore).ends(0);
    assert_eq!(fs::read_link(&plan).unwrap().to_str(), Some("spec.md"));
    sandbox.run(&[&restore[..], &["--after"]].concat()).ends(0);
    assert!(fs::symlink_metadata(&plan).unwrap().is_file());
    assert_eq!(sandbox.read(".devt/state/plan.md"), "a plan\n");
}
