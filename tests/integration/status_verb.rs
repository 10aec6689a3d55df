//! `status` over every system at once.

use serde_json::{Value, json};

use crate::support::{Sandbox, assert_has, keys};

const RUN: &str = include_str!("../fixtures/agent-flow/03-orchestration-after-planning-passed.md");
const SESSION: &str = include_str!("../fixtures/session/complete.json");
const MUX: &str = include_str!("../fixtures/agentmux/ok-06-done-3-reviewing.state.json");
const WORKFLOW: &str =
    "workflow_id: w\nworkflow_type: dev\nactive: true\nphase: implement\nstatus: DONE\n";
const TASKS: &str = "## 1. Core\n- [x] 1.1 a\n- [ ] 1.2 b\n";

/// A project with a state of every system, one of them deep in a monorepo.
fn full() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/workflow.yaml", WORKFLOW);
    sandbox.write("packages/api/.claude/orchestration.local.md", RUN);
    sandbox.write(".claude/.docs/260110-x/state.json", SESSION);
    sandbox.write("openspec/changes/auth/tasks.md", TASKS);
    sandbox.write(".agentmux/.sessions/s1/state.json", MUX);
    sandbox
}

#[test]
fn every_system_is_read() {
    let sandbox = full();
    let ran = sandbox.run("status --json").ends(0);
    let answer = ran.json();
    let word = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    let brief = |run: &Value| {
        let gate = &run["gates"][0];
        assert_eq!(keys(gate).join(" "), "name status timestamp agent");
        let run = ["system", "file", "active", "phase"].map(|key| word(&run[key]));
        let gate = ["name", "status", "timestamp", "agent"].map(|key| word(&gate[key]));
        format!("{}: {}", run.join(" "), gate.join(" "))
    };
    let systems = answer["systems"].as_array().unwrap();
    let mut found: Vec<_> = systems.iter().map(brief).collect();
    found.sort();
    let expected = [
        "agent-flow packages/api/.claude/orchestration.local.md true implementation: \
         exploration passed 2026-11-21T08:48:20Z null",
        "agentmux .agentmux/.sessions/s1/state.json true reviewing: \
         product_management skipped null null",
        "devt .devt/state/workflow.yaml true implement: implement passed null null",
        "groups openspec/changes/auth/tasks.md true group 1: group 1 in_progress null null",
        "session .claude/.docs/260110-x/state.json false null: \
         init passed 2026-01-10T14:30:25Z null",
    ];
    assert_eq!(found, expected);
    let named = "system file active phase iteration max_iterations gates next updated_at";
    assert_eq!(keys(&answer["systems"][0]).join(" "), named);
    assert!(
        !sandbox.exists(".claude/statewarden"),
        "a reading verb writes nothing"
    );
}

#[test]
fn one_system_can_be_asked_for() {
    let sandbox = full();
    let answer = sandbox.run("status --json --system groups").json();
    assert_eq!(answer["systems"].as_array().unwrap().len(), 1);
    sandbox.run("status --system nonsense").ends(2);
}

#[test]
fn people_get_gates_and_what_comes_next() {
    let sandbox = full();
    let text = sandbox.run("status").stdout();
    for line in [
        "agent-flow  packages/api/.claude/orchestration.local.md",
        "  phase implementation, iteration 1 of 10",
        "  planning        passed",
        "  implementation  pending",
        "  next: Loid implements (implementation)",
        "session  .claude/.docs/260110-x/state.json  every phase is completed",
    ] {
        assert!(
            text.lines().any(|found| found.starts_with(line)),
            "no `{line}` in:\n{text}"
        );
    }
    assert!(!text.contains('\u{1b}'), "no colors off a terminal");
    let empty = Sandbox::new().run("status");
    assert!(
        (
            empty.code(),
            empty.stdout().starts_with("no workflow state")
        ) == (0, true)
    );
}

#[test]
fn what_cannot_be_read_is_a_problem() {
    let sandbox = full();
    sandbox.write(
        "packages/api/.claude/orchestration.local.md",
        "no front matter\n",
    );
    std::fs::write(
        sandbox.path(".claude/.docs/260110-x/state.json"),
        b"\xff\xfe",
    )
    .unwrap();
    let ran = sandbox.run("status --json");
    let problems = ran.json()["problems"].to_string();
    assert_eq!(ran.code(), 1);
    for file in [
        "packages/api/.claude/orchestration.local.md",
        "260110-x/state.json",
    ] {
        assert_has(&problems, file);
    }
}

/// AgentMux may keep its session outside of the project.
#[test]
fn the_session_that_the_environment_names_is_shown() {
    let mut sandbox = Sandbox::new();
    let dir = sandbox.base().join("feature");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("state.json"), MUX).unwrap();
    sandbox
        .env
        .push(("FEATURE_DIR", dir.to_str().unwrap().to_owned()));
    let answer = sandbox.run("status --json").json();
    assert_eq!(
        answer["systems"][0]["file"],
        dir.join("state.json").to_str().unwrap()
    );
}

/// A state file that cannot be read, or is broken, is a problem and no answer.
#[test]
fn what_cannot_be_read_is_neither_inactive_nor_unstuck() {
    let sandbox = Sandbox::new();
    let workflow = ".devt/state/workflow.yaml";
    let tasks = "openspec/changes/a/tasks.md";
    let broken: [(&str, &[u8], &str); 3] = [
        (workflow, b"a: [1\n", "the value in line 1 is no YAML"),
        (workflow, b"active: \xff\n", "UTF-8"),
        (tasks, b"## 1. A\n- [ ] \xff\n", "UTF-8"),
    ];
    for (file, bytes, why) in broken {
        sandbox.write(file, "");
        std::fs::write(sandbox.project().join(file), bytes).unwrap();
        let ran = sandbox.run("status --json");
        let answer = ran.json();
        assert_eq!(
            (ran.code(), &answer["systems"]),
            (1, &json!([])),
            "{answer}"
        );
        let problem = answer["problems"][0].as_str().unwrap().to_owned();
        assert!(
            problem.starts_with(&format!("could not read `{file}`: ")),
            "{problem}"
        );
        assert_has(&problem, why);
        let text = sandbox.run("status");
        assert_eq!(text.stdout(), format!("{problem}\n"));
        let stuck = sandbox.run("stuck");
        if file == workflow {
            assert_eq!((stuck.code(), stuck.stdout()), (2, String::new()));
            let error = stuck.stderr();
            for part in ["is not known", &sandbox.path(file), why] {
                assert_has(&error, part);
            }
        } else {
            assert_eq!(stuck.code(), 0);
        }
        std::fs::remove_file(sandbox.project().join(file)).unwrap();
    }
}

#[test]
fn devt_reads_past_a_line_that_is_none_and_so_does_status() {
    let sandbox = Sandbox::new();
    let workflow = ".devt/state/workflow.yaml";
    for (line, code) in [("a b: 1", 0), ("<<<<<<< HEAD", 1)] {
        sandbox.write(workflow, &format!("active: true\n{line}\nphase: plan\n"));
        let ran = sandbox.run("status --json");
        let answer = ran.json();
        assert_eq!(ran.code(), code, "{answer}");
        assert_eq!(answer["systems"][0]["phase"], "plan", "{answer}");
        let problems = answer["problems"].to_string();
        let is_told = problems.contains("line 2 is not `key: value`; make it that, or remove it");
        assert_eq!(is_told, code == 1, "{problems}");
    }
}
