//! The real Claude Code client with statewarden installed in a project. Only the model is scripted:
//! what the client sends to hooks and what it makes of their answers is observed, not assumed.

mod api;
mod client;
mod environment;
mod evidence;
mod forgery;
mod frameworks;
mod morning_after;
mod namespace;
mod plugin;
mod project;
mod recorder;
mod skills;
mod strict;

use serde_json::{Value, json};

use api::{Block, Script};
use client::{Client, Mode, Run, Version};
use namespace::{isolated, isolated_on};
use project::Project;

const SUMMARY: &str =
    "# Summary\n\n## Status\n\nDONE\n\n## Changes\n\nThe parser reads both forms now.\n";

/// What became of a call, as the model was told.
#[derive(Clone, Copy)]
enum Fate {
    Done,
    /// Refused, in words that hold this one.
    Refused(&'static str),
}

#[track_caller]
fn check_told(run: &Run, expected: &[(&str, Option<&str>, Fate)]) {
    run.assert_sound();
    let told = run.tool_results();
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, (tool, agent, fate)) in told.iter().zip(expected) {
        assert_eq!(
            (told.tool.as_str(), told.agent.as_deref()),
            (*tool, *agent),
            "{told:#?}"
        );
        match fate {
            Fate::Done => assert!(!told.is_error, "{told:#?}"),
            Fate::Refused(word) => {
                // The first versions gave the bare reason.
                let start = format!("PreToolUse:{tool} hook error: ");
                let is_reason = told.text.starts_with(&start) || told.text.starts_with('`');
                assert!(
                    told.is_error && is_reason && told.text.contains(word),
                    "{told:#?}"
                );
            }
        }
    }
}

fn bash(command: &str) -> Block {
    Block::Call {
        tool: "Bash",
        input: json!({ "command": command }),
    }
}

fn dispatch(agent: &str, prompt: &str) -> Block {
    dispatch_to(Ground::Fore, agent, prompt)
}

/// Whether the call waits for the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    Fore,
    Back,
}

fn dispatch_to(ground: Ground, agent: &str, prompt: &str) -> Block {
    let input = json!({
        "description": "one step", "prompt": prompt, "subagent_type": agent,
        "run_in_background": ground == Ground::Back,
    });
    Block::Call {
        tool: "Agent",
        input,
    }
}

#[test]
fn a_session_is_kept_to_the_contract() {
    isolated("real_client::a_session_is_kept_to_the_contract", |client| {
        let project = Project::new("contract");
        project.install();
        let main = vec![
            vec![project.write("notes.md", "a thought\n")],
            vec![project.write("scratchpad.md", "a thought\n")],
            vec![bash("echo x > .devt/state/todo.txt")],
            vec![dispatch("programmer", "Implement step MARMOT.")],
            vec![Block::Text("all done")],
        ];
        let programmer = vec![
            vec![project.write("review.json", "{}\n")],
            vec![project.write("impl-summary.md", SUMMARY)],
            vec![Block::Text("implemented")],
        ];
        let script = Script {
            main,
            subagents: vec![("MARMOT", programmer)],
        };
        let run = client.run(&project, Mode::SkipPermissions, script);

        check_told(
            &run,
            &[
                ("Write", None, Fate::Refused("scratchpad.md")),
                ("Write", None, Fate::Done),
                ("Bash", None, Fate::Refused("todo.txt")),
                ("Write", Some("programmer"), Fate::Refused("wrong-writer")),
                ("Write", Some("programmer"), Fate::Done),
                ("Agent", None, Fate::Done),
            ],
        );
        for (name, there) in [
            ("notes.md", false),
            ("scratchpad.md", true),
            ("todo.txt", false),
            ("review.json", false),
            ("impl-summary.md", true),
        ] {
            assert_eq!(project.state(name).exists(), there, "`{name}` on disk");
        }
        let refused = |rule, tool, name, agent| {
            json!([
                "deny",
                rule,
                tool,
                project.state(name),
                agent,
                run.session_id()
            ])
        };
        assert_eq!(
            logged(&project),
            [
                refused("ad-hoc-name", "Write", "notes.md", None),
                refused("ad-hoc-name", "Bash", "todo.txt", None),
                refused("wrong-writer", "Write", "review.json", Some("programmer")),
            ]
        );
    });
}

/// The part of each record that does not change from run to run.
fn logged(project: &Project) -> Vec<Value> {
    let keys = [
        "decision",
        "rule",
        "tool",
        "file_path",
        "agent_type",
        "session_id",
    ];
    project
        .denies()
        .iter()
        .map(|record| keys.iter().map(|key| record[key].clone()).collect())
        .collect()
}

/// A server of MCP as a script of the shell, whose one tool does some work.
fn mcp_server(tool: &str, work: &str) -> String {
    const SERVER: &str = r#"#!/bin/sh
answer() {
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'
}
while read -r line; do
    id=$(echo "$line" | sed -n 's/.*"id": *\([0-9]*\).*/\1/p')
    case $line in
    *'"initialize"'*)
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*)
        answer '{"tools":[{"name":"[TOOL]","description":"d","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
        [WORK]
        answer '{"content":[{"type":"text","text":"done"}]}' ;;
    esac
done
"#;
    SERVER.replace("[TOOL]", tool).replace("[WORK]", work)
}

fn hand_back(report: &str) -> Block {
    Block::Call {
        tool: "SubagentHandback",
        input: json!({ "message": report }),
    }
}

/// A script that a command runs takes the hooks out, which the client heeds at once.
#[test]
fn a_script_does_not_switch_the_guard_off() {
    let name = "real_client::a_script_does_not_switch_the_guard_off";
    isolated(name, |client| {
        let project = Project::new("config-change");
        project.install();
        project.put(
            "unwire.sh",
            "echo {} > .claude/$(echo nosj.sgnittes | rev); sleep 2\n",
        );
        let main = vec![
            vec![bash("sh unwire.sh")],
            vec![project.write("notes.md", "x\n")],
            vec![Block::Text("done")],
        ];
        let script = Script::of_main(main);
        let run = client.run(&project, Mode::SkipPermissions, script);
        check_told(
            &run,
            &[
                ("Bash", None, Fate::Done),
                ("Write", None, Fate::Refused("ad-hoc-name")),
            ],
        );
        assert_eq!(project.read(".claude/settings.json"), "{}\n");
        let events = project.read(".claude/statewarden/events.jsonl");
        for word in ["this session keeps", "\"tool\":\"Bash\""] {
            assert_eq!(events.matches(word).count(), 1, "{events}");
        }
    });
}

/// The hooks of an event run at once, so ours sees the path before the other changed it.
#[test]
fn a_path_that_a_second_hook_changes_is_told() {
    let name = "real_client::a_path_that_a_second_hook_changes_is_told";
    isolated(name, |client| {
        let project = Project::new("rewritten");
        project.install();
        let input = json!({ "file_path": project.state("notes.md"), "content": "x\n" });
        project.add_hook("^Write$", &json!({ "updatedInput": input }));
        let main = vec![
            vec![project.write("scratchpad.md", "x\n")],
            vec![Block::Text("done")],
        ];
        let script = Script::of_main(main);
        let run = client.run(&project, Mode::SkipPermissions, script);
        check_told(&run, &[("Write", None, Fate::Done)]);
        assert!(!project.state("notes.md").exists() && !project.state("scratchpad.md").exists());
        let told = "This call changed state files against the rules";
        assert!(format!("{run:?}").contains(told), "{run:#?}");
        let events = project.read(".claude/statewarden/events.jsonl");
        assert_eq!(events.matches("\"undone\"").count(), 1, "{events}");
    });
}

/// In auto mode a report goes to the caller by a tool, and a block at the agent's end has
/// no effect.
#[test]
fn a_report_without_its_artifact_is_sent_back_in_auto_mode() {
    let name = "real_client::a_report_without_its_artifact_is_sent_back_in_auto_mode";
    isolated(name, |client| {
        let project = Project::new("handback");
        project.put(".claude/statewarden.yaml", "completion: block\n");
        // Without it the client asks a classifier about each dispatch.
        let answer = json!({ "permissionDecision": "allow" });
        project.add_hook("^Agent$", &answer);
        project.install();
        let main = vec![
            vec![dispatch("programmer", "Implement step MARMOT.")],
            vec![Block::Text("all done")],
        ];
        let programmer = vec![
            vec![hand_back("FIRST REPORT")],
            vec![project.write("impl-summary.md", SUMMARY)],
            vec![hand_back("SECOND REPORT")],
            vec![Block::Text("ended")],
        ];
        let script = Script {
            main,
            subagents: vec![("MARMOT", programmer)],
        };
        let run = client.run(&project, Mode::Auto, script);
        let agent = Some("programmer");
        check_told(
            &run,
            &[
                ("SubagentHandback", agent, Fate::Refused("impl-summary.md")),
                ("Write", agent, Fate::Done),
                ("SubagentHandback", agent, Fate::Done),
                ("Agent", None, Fate::Done),
            ],
        );
        assert_eq!(run.reports(), ["SECOND REPORT"]);
        let gates = project.read(".claude/statewarden/gates.jsonl");
        assert_eq!(gates.matches("sent back").count(), 1, "{gates}");
    });
}

/// The main thread of a session that runs as an agent has that agent's type, but no id.
#[test]
fn a_session_that_runs_as_an_agent_is_the_main_thread() {
    isolated(
        "real_client::a_session_that_runs_as_an_agent_is_the_main_thread",
        |client| {
            let project = Project::new("as-agent");
            project.add_agent("boss");
            project.install();
            let touch = bash("cp .devt/state/workflow.yaml x; cp x .devt/state/workflow.yaml");
            let main = vec![
                vec![project.write("todo.yaml", "x")],
                vec![touch.clone()],
                vec![dispatch("programmer", "Implement step MARMOT.")],
                vec![Block::Text("all done")],
            ];
            let programmer = vec![vec![touch], vec![Block::Text("implemented")]];
            let script = Script {
                main,
                subagents: vec![("MARMOT", programmer)],
            };
            let mode = Mode::SkipPermissions;
            let run = client.run_with(&["--agent", "boss"], &project, mode, script);
            check_told(
                &run,
                &[
                    ("Write", None, Fate::Refused("ad-hoc-name")),
                    ("Bash", None, Fate::Done),
                    ("Bash", Some("programmer"), Fate::Refused("wrong-writer")),
                    ("Agent", None, Fate::Done),
                ],
            );
            let denies = project.denies();
            let agents = denies.iter().map(|record| &record["agent_type"]);
            assert!(
                agents.eq([&Value::Null, &json!("programmer")]),
                "{denies:?}"
            );
            let home = project.home();
            let replayed = project.statewarden(&["replay", home.to_str().unwrap(), "--json"]);
            let replayed: Value = serde_json::from_str(&replayed).expect("JSON");
            let agents = |row: &Value| json!([row["rule"], row["examples"][0]["agent"]]);
            let refused = replayed["refused"].as_array().unwrap().iter().map(agents);
            let expected = [
                json!(["wrong-writer", "programmer"]),
                json!(["ad-hoc-name", "main"]),
            ];
            assert!(refused.eq(expected), "{replayed:#}");
        },
    );
}

/// It ignores `args`, so the program gets no verb.
#[test]
fn the_oldest_client_is_served_without_a_verb() {
    let name = "real_client::the_oldest_client_is_served_without_a_verb";
    isolated_on(Version::Oldest, name, |client| {
        let project = Project::new("oldest");
        project.install();
        let main = vec![
            vec![project.write("notes.md", "x\n")],
            vec![project.write("scratchpad.md", "x\n")],
            vec![bash(
                "for i in 1; do echo x > .devt/state/$(id -u).txt; done",
            )],
            vec![dispatch("programmer", "Implement step MARMOT.")],
            vec![Block::Text("done")],
        ];
        let programmer = vec![
            vec![project.write("review.json", "{}\n")],
            vec![Block::Text("implemented")],
        ];
        let script = Script {
            main,
            subagents: vec![("MARMOT", programmer)],
        };
        let run = client.run(&project, Mode::SkipPermissions, script);
        check_told(
            &run,
            &[
                ("Write", None, Fate::Refused("scratchpad.md")),
                ("Write", None, Fate::Done),
                ("Bash", None, Fate::Done),
                // Its stream does not say whose call it was.
                ("Write", None, Fate::Refused("wrong-writer")),
                ("Agent", None, Fate::Done),
            ],
        );
        let events = project.read(".claude/statewarden/events.jsonl");
        for word in ["\"client\":\"2.1.138\"", "\"decision\":\"undone\""] {
            assert_eq!(events.matches(word).count(), 1, "{events}");
        }
    });
}

/// The first session shows that the client itself would let the call through.
#[test]
fn every_permission_mode_refuses() {
    isolated("real_client::every_permission_mode_refuses", |client| {
        let project = Project::new("modes");
        let script = Script::of_main(vec![
            vec![project.write("notes.md", "x\n")],
            vec![Block::Text("done")],
        ]);
        check_told(
            &client.run(&project, Mode::SkipPermissions, script.clone()),
            &[("Write", None, Fate::Done)],
        );
        std::fs::remove_file(project.state("notes.md"))
            .expect("nothing kept it from being written");

        project.install();
        for mode in [Mode::AcceptEdits, Mode::Auto, Mode::SkipPermissions] {
            let run = client.run(&project, mode, script.clone());
            check_told(&run, &[("Write", None, Fate::Refused("scratchpad.md"))]);
            assert!(
                !project.state("notes.md").exists(),
                "`notes.md` on disk in {mode:?}"
            );
        }
        assert_eq!(project.denies().len(), 3);
    });
}

const RUN: &str = ".claude/orchestration.local.md";

/// Reads the run until a gate has passed, for ten seconds at most.
fn await_gate(gate: &str) -> Block {
    bash(&format!(
        "for i in $(seq 100); do grep -A1 '^  {gate}:' {RUN} | grep -q passed && exit 0; sleep 0.1; done; exit 1"
    ))
}

/// Each agent with a word of its prompt, where it runs, its gate, and its final reply.
#[rustfmt::skip]
const STEPS: [(&str, &str, Ground, &str, &str); 5] = [
    ("riko", "QUOKKA", Ground::Fore, "exploration", "## Exploration Results"),
    ("senku", "NUMBAT", Ground::Back, "planning", "The plan has two steps."),
    ("loid", "BILBY", Ground::Fore, "implementation", "\u{2705} Verification Complete"),
    ("lawliet", "POTOROO", Ground::Back, "review", "Read it all.\n\n### Verdict: APPROVED"),
    ("alphonse", "WOMBAT", Ground::Fore, "verification", "### Overall: VERIFIED"),
];

/// Nobody calls Agent Flow's update script: the hook alone keeps the run. What stands behind the
/// verification is the test that its agent ran, or its word.
#[test]
fn agent_flow_run_ends_with_every_gate_right() {
    isolated(
        "real_client::agent_flow_run_ends_with_every_gate_right",
        |client| {
            for (command, standing) in [("true", "on its word"), ("make test", "proved")] {
                check_agent_flow_run(client, command, standing);
            }
        },
    );
}

fn check_agent_flow_run(client: &Client, command: &str, standing: &str) {
    let project = Project::new("agent-flow");
    project.put("Makefile", "test:\n\tprove pass.t\n");
    project.put("pass.t", "print \"1..1\\nok 1\\n\";\n");
    let mut script = Script::default();
    for (agent, marker, ground, gate, reply) in STEPS {
        project.add_agent(agent);
        script.main.push(vec![dispatch_to(ground, agent, marker)]);
        if ground == Ground::Back {
            script.main.push(vec![await_gate(gate)]);
        }
        let turns = vec![vec![bash(command)], vec![Block::Text(reply)]];
        script.subagents.push((marker, turns));
    }
    script.main.push(vec![Block::Text("all done")]);
    project.install();
    project.statewarden(&["flow", "init", "Add a parser"]);
    let run = client.run(&project, Mode::SkipPermissions, script);

    run.assert_sound();
    let told = run.tool_results();
    assert!(
        told.len() >= 12 && told.iter().all(|told| !told.is_error),
        "{told:#?}"
    );
    let status = project.statewarden(&["status", "--system", "agent-flow", "--json"]);
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let flow = &status["systems"][0];
    let state = [&flow["active"], &flow["phase"], &flow["iteration"]];
    assert_eq!(
        state,
        [&json!(false), &json!("complete"), &json!(1)],
        "{}",
        project.read(RUN)
    );
    let log = project.read(".claude/statewarden/gates.jsonl");
    let records = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ends: Vec<_> = records
        .filter(|record| record["to"] == "passed")
        .map(|record| json!([record["gate"], record["agent_type"], record["session_id"]]))
        .collect();
    let expected = STEPS.map(|(agent, _, _, gate, _)| json!([gate, agent, run.session_id()]));
    assert_eq!(ends, expected, "{log}");
    let verified = project.statewarden(&["verify"]);
    let line = format!("verification: {standing}");
    assert!(verified.contains(&line), "{verified}");
}

/// The command goes on after its call and after the turn; a notification says that it is
/// over.
#[test]
fn a_command_in_the_background_is_looked_after() {
    isolated(
        "real_client::a_command_in_the_background_is_looked_after",
        |client| {
            let project = Project::new("background");
            project.install();
            let in_background = Block::Call {
                tool: "Bash",
                input: json!({
                    "command": "sleep 0.5; for i in 1; do echo x > .devt/state/$(id -u).txt; done",
                    "run_in_background": true,
                }),
            };
            let main = vec![
                vec![in_background],
                vec![Block::Text("waiting")],
                vec![Block::Text("woken")],
                vec![Block::Text("tidied")],
            ];
            let run = client.run(&project, Mode::SkipPermissions, Script::of_main(main));

            check_told(&run, &[("Bash", None, Fate::Done)]);
            assert!(
                format!("{run:?}").contains("A command in the background changed state files"),
                "the model was told when the client woke it: {run:#?}"
            );
            let log = project.read(".claude/statewarden/events.jsonl");
            assert_eq!(log.matches("\"undone\"").count(), 1, "{log}");
        },
    );
}
