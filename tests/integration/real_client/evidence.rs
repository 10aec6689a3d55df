//! Tests that the real client runs: what it hands over of their output proves them or not.

use serde_json::{Value, json};

use super::api::{Block, Script};
use super::bash;
use super::client::Mode;
use super::namespace::isolated;
use super::project::Project;

/// What passes, by the output of a real runner.
const HONEST: [&str; 11] = [
    "prove pass.t",
    "prove pass.t || exit 1",
    "prove pass.t > log 2>&1 || { tail -50 log; exit 1; }; tail -5 log",
    "set -e; prove pass.t; echo done",
    "bash -ec 'prove pass.t'",
    "if ! prove pass.t; then exit 1; fi",
    "prove pass.t 2>&1 | tee out.log",
    "(cd sub && timeout 60 prove ../pass.t)",
    "prove pass.t 2>&1 | tail -5",
    "make test",
    // Longer than what the client hands over.
    "make long",
];

/// What fails or tests nothing, and ends with status 0.
const MASKED: [&str; 10] = [
    "prove fail.t || true",
    "prove fail.t; echo ok",
    "set -n; prove pass.t",
    "builtin exit 0; prove pass.t",
    "hash -p /bin/true make; make test",
    "make -sn test",
    "alias make=true\nmake test",
    "prove none.t; true",
    "prove -D pass.t",
    "printf 'Files=1, Tests=2\\nResult: PASS\\n'; prove none.t; true",
];

fn project() -> Project {
    let project = Project::new("evidence");
    project.install();
    for (file, points) in [
        ("pass.t", "1..2\\nok 1\\nok 2\\n"),
        ("fail.t", "1..2\\nok 1\\nnot ok 2\\n"),
        ("none.t", "1..0 # SKIP nothing\\n"),
    ] {
        project.put(file, &format!("print \"{points}\";\n"));
    }
    project.put("sub/x", "");
    project.put(
        "Makefile",
        "test:\n\t@prove pass.t\nlong:\n\t@seq 1 9000\n\t@prove pass.t\n",
    );
    project.put(".claude/statewarden.yaml", "evidence: {mode: require}\n");
    project.statewarden(&["flow", "init", "Test it"]);
    project
}

/// The results of the commands on record.
fn results(project: &Project) -> Vec<(String, String)> {
    let log = project.read(".claude/statewarden/gates.jsonl");
    let records = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let commands = records.filter(|record| record["kind"] == "command");
    let text = |record: &Value, key: &str| record[key].as_str().unwrap_or_default().to_owned();
    commands
        .map(|record| (text(&record, "line"), text(&record, "result")))
        .collect()
}

#[test]
fn tests_are_proved_by_what_the_client_shows() {
    isolated(
        "real_client::evidence::tests_are_proved_by_what_the_client_shows",
        |client| {
            let project = project();
            let lines = HONEST.iter().chain(&MASKED);
            let mut main: Vec<Vec<Block>> = lines.map(|line| vec![bash(line)]).collect();
            main.push(vec![Block::Text("done")]);
            let run = client.run(&project, Mode::SkipPermissions, Script::of_main(main));
            run.assert_sound();
            let found = results(&project);
            let passed = found
                .iter()
                .filter(|(_, result)| result == "passed")
                .count();
            assert_eq!(passed, HONEST.len(), "{found:#?}");
            let first: Vec<&str> = found[..HONEST.len()]
                .iter()
                .map(|(_, result)| result.as_str())
                .collect();
            assert_eq!(first, ["passed"; HONEST.len()], "{found:#?}");
        },
    );
}

#[test]
fn a_test_in_the_background_is_proved_at_its_end() {
    isolated(
        "real_client::evidence::a_test_in_the_background_is_proved_at_its_end",
        |client| {
            let project = project();
            let background = Block::Call {
                tool: "Bash",
                input: json!({"command": "prove pass.t", "run_in_background": true}),
            };
            let main = vec![
                vec![background],
                vec![bash("sleep 2")],
                vec![Block::Text("done")],
            ];
            let run = client.run(&project, Mode::SkipPermissions, Script::of_main(main));
            run.assert_sound();
            let found = results(&project);
            assert_eq!(found.len(), 1, "{found:#?}");
            assert_eq!(found[0].1, "passed", "{found:#?}");
        },
    );
}
