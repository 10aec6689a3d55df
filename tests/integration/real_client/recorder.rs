//! Calls that overlap, end late or send no end, and what the recorder makes of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::api::{Block, Script, TASK, Turns};
use super::client::{Mode, Run};
use super::namespace::isolated;
use super::project::Project;
use super::{Ground, bash, dispatch_to, mcp_server};

/// Makes a stray after some seconds; the guard cannot know it from the call.
const LEAVE: &str = "#!/bin/sh\nsleep ${2:-0}\necho \"$1\" > .devt/state/\"$1\"\n";

struct Case {
    name: &'static str,
    args: &'static [&'static str],
    main: Turns,
    subagents: Vec<(&'static str, Turns)>,
    /// Moved into the archive, and recorded as undone.
    undone: &'static [&'static str],
    /// Still there, and told once.
    told: &'static [&'static str],
}

impl Case {
    fn new(name: &'static str, main: Turns, undone: &'static [&'static str]) -> Self {
        Self {
            name,
            args: &[],
            main,
            subagents: Vec::new(),
            undone,
            told: &[],
        }
    }

    fn run(&self, client: &super::client::Client) {
        let project = Project::new(self.name);
        project.install();
        project.add_agent("tester");
        let server = mcp_server("leave", "echo x > .devt/state/mcp.txt");
        for (file, text) in [("leave", LEAVE), ("server", &server)] {
            project.put(file, text);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(project.dir().join(file), mode).unwrap();
        }
        let script = Script {
            main: self.main.clone(),
            subagents: self.subagents.clone(),
        };
        let run = match self.name {
            "escaped" => {
                client.run_interrupted(&project, script, || project.state("j.txt").exists())
            }
            _ => client.run_with(self.args, &project, Mode::SkipPermissions, script),
        };
        if self.name == "killed" {
            let script = Script::of_main(vec![text("here again")]);
            let again = ["--continue"];
            client.run_with(&again, &project, Mode::SkipPermissions, script);
        }
        self.check(&project, &run);
    }

    fn check(&self, project: &Project, run: &Run) {
        let changes = project.read(".git/statewarden/changes.jsonl");
        let changes: Vec<Value> = changes
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let decisions = |name: &str| {
            let path = project.state(name);
            let of_file = changes
                .iter()
                .filter(|change| change["path"] == path.to_str().unwrap());
            let decisions = of_file.filter_map(|change| change["decision"].as_str());
            decisions.collect::<Vec<_>>()
        };
        let name = self.name;
        for stray in self.undone {
            assert_eq!(decisions(stray), ["undone"], "{name}: {stray}: {run:#?}");
            assert!(!project.state(stray).exists(), "{name}: {stray}");
            let runs = fs::read_dir(project.state(".archive")).unwrap();
            let mut runs = runs.map(|run| run.unwrap().path());
            assert!(runs.any(|run| run.join(stray).exists()), "{name}: {stray}");
        }
        for stray in self.told {
            assert_eq!(decisions(stray), ["detected"], "{name}: {stray}: {run:#?}");
            assert!(project.state(stray).exists(), "{name}: {stray}");
        }
    }
}

fn text(text: &'static str) -> Vec<Block> {
    vec![Block::Text(text)]
}

fn cases() -> Vec<Case> {
    let agents = ["programmer", "tester"]
        .map(|agent| dispatch_to(Ground::Back, agent, &format!("Do what {agent} does.")));
    let leave = |command| vec![vec![bash(command)], text("done")];
    let slow = |command: &str| Block::Call {
        tool: "Bash",
        input: json!({ "command": command, "timeout": 1000 }),
    };
    let mcp = Block::Call {
        tool: "mcp__s__leave",
        input: json!({}),
    };
    vec![
        Case {
            subagents: vec![
                ("programmer does", leave("./leave a.txt 1; ./leave b.txt 0")),
                ("tester does", leave("./leave c.txt 1; ./leave d.txt 0")),
            ],
            ..Case::new(
                "agents",
                vec![agents.to_vec(), text("waiting"), text("done")],
                &["a.txt", "b.txt", "c.txt", "d.txt"],
            )
        },
        Case::new("failed", leave("./leave e.txt; false"), &["e.txt"]),
        Case::new(
            "timeout",
            vec![
                vec![slow("./leave slow.txt 3")],
                text("waiting"),
                text("done"),
            ],
            &["slow.txt"],
        ),
        Case {
            args: &[
                "--settings",
                r#"{"env":{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS":"1"}}"#,
            ],
            ..Case::new(
                "ended",
                vec![vec![slow("./leave f.txt; sleep 5")], text("done")],
                &["f.txt"],
            )
        },
        Case::new(
            "stopped",
            vec![
                vec![Block::Call {
                    tool: "Bash",
                    input: json!({ "command": "./leave k.txt 1; sleep 60", "run_in_background": true }),
                }],
                vec![bash("sleep 2")],
                vec![Block::Call {
                    tool: "TaskStop",
                    input: json!({ "task_id": TASK }),
                }],
                text("done"),
            ],
            &["k.txt"],
        ),
        // Nobody says when these ended: what may be theirs is not moved.
        Case {
            told: &["j.txt"],
            ..Case::new("escaped", leave("./leave j.txt; sleep 60"), &[])
        },
        Case {
            told: &["g.txt"],
            ..Case::new(
                "interrupted",
                leave("./leave g.txt; kill -INT $PPID; sleep 5"),
                &[],
            )
        },
        Case {
            told: &["h.txt"],
            ..Case::new(
                "killed",
                leave("./leave h.txt; kill -KILL $PPID; sleep 5"),
                &[],
            )
        },
        Case {
            told: &["late.txt"],
            ..Case::new(
                "daemon",
                vec![
                    vec![bash("setsid ./leave late.txt 1 > /dev/null 2>&1 &")],
                    vec![bash("sleep 2")],
                    vec![bash("./leave i.txt")],
                    text("done"),
                ],
                &["i.txt"],
            )
        },
        Case {
            args: &[
                "--mcp-config",
                r#"{"mcpServers":{"s":{"command":"./server"}}}"#,
            ],
            ..Case::new("mcp", vec![vec![mcp], text("done")], &["mcp.txt"])
        },
    ]
}

#[test]
fn calls_that_overlap_or_send_no_end_are_looked_after() {
    isolated(
        "real_client::recorder::calls_that_overlap_or_send_no_end_are_looked_after",
        |client| cases().iter().for_each(|case| case.run(client)),
    );
}

/// A target that runs `git clean -fdx` takes all that git ignores: state, hook entries and this
/// program's own folder.
#[test]
fn what_a_clean_target_takes_is_told_and_comes_back() {
    isolated(
        "real_client::recorder::what_a_clean_target_takes_is_told_and_comes_back",
        |client| {
            let project = Project::new("cleaned");
            project.put(".gitignore", ".devt/\n.claude/\n");
            project.put("Makefile", "clean:\n\t@git clean -fdxq\n");
            project.put(".devt/state/plan.md", "two hours of work");
            project.statewarden(&["install", "--scope", "local"]);
            let entries = project.read(".claude/settings.local.json");
            let dir = project.dir();
            project.sh(&dir, "git add .gitignore Makefile", &[]);
            let script = Script::of_main(vec![
                vec![bash("./nothing || true")],
                vec![bash("make clean")],
                text("done"),
            ]);
            let run = client.run(&project, Mode::SkipPermissions, script);
            assert!(!dir.join(".devt/state/plan.md").exists(), "{run:#?}");
            assert!(run.holds("`.claude/settings.local.json` ("), "{run:#?}");
            for (file, text) in [
                (".devt/state/plan.md", "two hours of work"),
                (".claude/settings.local.json", &entries),
            ] {
                let said = project.statewarden(&["log", file, "--limit", "1", "--json"]);
                let changes: Value = serde_json::from_str(&said).unwrap();
                let change = &changes["changes"][0];
                assert_eq!(change["act"], "remove", "{file}: {said}");
                let id = change["id"].as_str().unwrap();
                project.statewarden(&["restore", file, "--at", id]);
                assert_eq!(project.read(file), text, "{file}");
            }
        },
    );
}
