//! What the verbs of the morning after make of a real client's sessions.

use serde_json::Value;

use super::api::{Block, Script};
use super::client::{Client, Mode};
use super::namespace::isolated;
use super::project::Project;
use super::{STEPS, SUMMARY, bash, dispatch};

/// A trial, then the real thing: a wrong name in both, one that no analysis can know, a wrong
/// writer, and an agent of Agent Flow whose gate passes.
fn sessions(client: &Client, project: &Project) {
    project.statewarden(&["install", "--scope", "project", "--mode", "warn"]);
    let trial = Script::of_main(vec![
        vec![project.write("todo.md", "one\n")],
        vec![Block::Text("done")],
    ]);
    client
        .run(project, Mode::SkipPermissions, trial)
        .assert_sound();
    project.statewarden(&["install", "--scope", "project", "--mode", "enforce"]);
    project.statewarden(&["flow", "init", "Add a parser"]);
    let (riko, marker, _, _, reply) = STEPS[0];
    project.add_agent(riko);
    let guarded = Script {
        main: vec![
            vec![project.write("notes.md", "a thought\n")],
            vec![project.write("scratchpad.md", "a thought\n")],
            vec![bash(
                "for i in 1; do echo x > .devt/state/$(id -u).txt; done",
            )],
            vec![dispatch("programmer", "Implement step MARMOT.")],
            vec![dispatch(riko, marker)],
            vec![Block::Text("all done")],
        ],
        subagents: vec![
            (
                "MARMOT",
                vec![
                    vec![project.write("review.json", "{}\n")],
                    vec![project.write("impl-summary.md", SUMMARY)],
                    vec![Block::Text("implemented")],
                ],
            ),
            (marker, vec![vec![Block::Text(reply)]]),
        ],
    };
    client
        .run(project, Mode::SkipPermissions, guarded)
        .assert_sound();
}

#[test]
fn sessions_of_the_client_are_told_the_morning_after() {
    isolated(
        "real_client::morning_after::sessions_of_the_client_are_told_the_morning_after",
        |client| {
            let project = Project::new("morning-after");
            sessions(client, &project);

            let json = |args: &[&str]| -> Value {
                serde_json::from_str(&project.statewarden(args)).expect("JSON")
            };
            let listed = json(&["denies", "list", "--decision", "all", "--json"]);
            let records = listed["denies"].as_array().expect("a list");
            let mut told: Vec<String> = records
                .iter()
                .map(|record| {
                    let [decision, name] = ["decision", "name"].map(|key| record[key].as_str());
                    format!("{} {}", decision.unwrap_or("?"), name.unwrap_or("?"))
                })
                .collect();
            told.sort_unstable();
            let uid = project.uid();
            assert_eq!(
                told,
                [
                    "deny notes.md",
                    "deny review.json",
                    &format!("undone {uid}.txt"),
                    "warn impl-summary.md",
                    "warn todo.md"
                ],
                "{records:#?}"
            );

            project.statewarden(&["denies", "report", "--html", "page.html"]);
            let page = project.read("page.html");
            for part in [
                "\"denied\":2",
                "\"warn\"",
                "\"undone\"",
                "\"gate\":\"exploration\"",
                "scratchpad.md",
            ] {
                assert!(page.contains(part), "`{part}` on the page");
            }
            let last = project.statewarden(&["denies"]);
            assert!(last.contains("2 warnings, 1 undone"), "{last}");
            let by_name = json(&["denies", "stats", "--by", "name", "--json"]);
            assert_eq!(
                by_name.to_string().matches("\"count\":1").count(),
                2,
                "{by_name}"
            );
            let changes = project.statewarden(&["log", ".devt/state/scratchpad.md"]);
            assert!(changes.contains("Write"), "{changes}");
            let verified = project.statewarden(&["verify"]);
            assert!(verified.contains("exploration: proved"), "{verified}");
        },
    );
}
