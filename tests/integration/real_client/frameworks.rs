//! A stranger's first minutes with contracts of the shelf: added, installed, and one session in
//! which an agent writes a wrong name, a server does its work and a gate passes by its proof.

use serde_json::json;

use super::api::{Block, Script};
use super::namespace::isolated;
use super::project::Project;
use super::{Fate, Mode, bash, check_told, dispatch, mcp_server};

/// The task list of Task Master, as its server and its programs write it.
const TASKS: &str = r#"{"master":{"tasks":[{"id":1,"title":"Login","status":"pending"}]}}"#;

/// Writes the status of the only task into the list.
const SET_STATUS: &str = r#"status=$(echo "$line" | sed -n 's/.*"status": *"\([a-z-]*\)".*/\1/p')
        list=.taskmaster/tasks/tasks.json
        sed "s/\"status\":\"[a-z-]*\"/\"status\":\"$status\"/" $list > $list.new
        mv $list.new $list"#;

const SERVERS: &str = r#"{"mcpServers":{"task-master-ai":{"command":"sh","args":["./server"]},
    "notes":{"command":"sh","args":["./server"]}}}"#;

fn write(project: &Project, name: &str, content: &str) -> Block {
    Block::Call {
        tool: "Write",
        input: json!({ "file_path": project.dir().join(name), "content": content }),
    }
}

fn set_status(tool: &'static str, status: &str) -> Block {
    Block::Call {
        tool,
        input: json!({ "id": "1", "status": status }),
    }
}

#[test]
fn task_master_is_guarded_and_its_server_is_its_own() {
    isolated(
        "real_client::frameworks::task_master_is_guarded_and_its_server_is_its_own",
        |client| {
            let project = Project::new("task-master");
            project.put(".taskmaster/tasks/tasks.json", TASKS);
            project.put("server", &mcp_server("set_task_status", SET_STATUS));
            project.add_agent("task-executor");
            project.add_agent("task-checker");
            project.statewarden(&["contract", "add", "task-master"]);
            project.install();
            let script = Script {
                main: vec![
                    vec![dispatch("task-executor", "EXECUTE")],
                    vec![set_status("mcp__task-master-ai__set_task_status", "review")],
                    vec![dispatch("task-checker", "CHECK")],
                    vec![Block::Text("done")],
                ],
                subagents: vec![
                    (
                        "EXECUTE",
                        vec![
                            vec![write(&project, ".taskmaster/tasks/tasks.json", "{}")],
                            vec![write(&project, ".taskmaster/tasks/task.json", "{}")],
                            vec![write(&project, ".taskmaster/docs/login.md", "Login.\n")],
                            vec![Block::Text("Written.")],
                        ],
                    ),
                    (
                        "CHECK",
                        vec![vec![Block::Text("task_id: 1\nstatus: PASS\n")]],
                    ),
                ],
            };
            let servers = ["--mcp-config", SERVERS];
            let run = client.run_with(&servers, &project, Mode::SkipPermissions, script);
            let executor = Some("task-executor");
            check_told(
                &run,
                &[
                    ("Write", executor, Fate::Refused("program-owned")),
                    ("Write", executor, Fate::Refused("tasks/tasks.json")),
                    ("Write", executor, Fate::Done),
                    ("Agent", None, Fate::Done),
                    ("mcp__task-master-ai__set_task_status", None, Fate::Done),
                    ("Agent", None, Fate::Done),
                ],
            );
            assert!(!run.holds("against the rules"), "{run:#?}");
            assert!(
                project
                    .read(".taskmaster/tasks/tasks.json")
                    .contains("review")
            );
            let proved = project.statewarden(&["verify", "--system", "task-master"]);
            assert!(proved.contains("check: proved"), "{proved}");
            // A server of another name is none of its programs.
            let script = Script::of_main(vec![
                vec![set_status("mcp__notes__set_task_status", "done")],
                vec![Block::Text("done")],
            ]);
            let run = client.run_with(&servers, &project, Mode::SkipPermissions, script);
            run.assert_sound();
            assert!(run.holds("against the rules"), "{run:#?}");
        },
    );
}

#[test]
fn spec_kit_is_guarded_and_its_gates_pass_in_the_main_thread() {
    isolated(
        "real_client::frameworks::spec_kit_is_guarded_and_its_gates_pass_in_the_main_thread",
        |client| {
            let project = Project::new("spec-kit");
            project.statewarden(&["contract", "add", "spec-kit"]);
            project.install();
            let feature = |name: &str, text: &str| {
                vec![write(&project, &format!("specs/001-login/{name}"), text)]
            };
            let script = Script {
                main: vec![
                    vec![bash("mkdir -p specs/001-login/checklists")],
                    feature("sepc.md", "# Login\n"),
                    feature("spec.md", "# Login\n"),
                    feature("plan.md", "# Plan\n"),
                    feature("plan-v2.md", "# Plan\n"),
                    feature("rollout-notes.md", "Mine.\n"),
                    feature("tasks.md", "- [ ] T001 The form\n"),
                    feature("tasks.md", "- [x] T001 The form\n"),
                    vec![Block::Text("done")],
                ],
                subagents: Vec::new(),
            };
            let run = client.run(&project, Mode::SkipPermissions, script);
            let wrote = ("Write", None, Fate::Done);
            check_told(
                &run,
                &[
                    ("Bash", None, Fate::Done),
                    ("Write", None, Fate::Refused("specs/001-login/spec.md")),
                    wrote,
                    wrote,
                    ("Write", None, Fate::Refused("specs/001-login/plan.md")),
                    wrote,
                    wrote,
                    wrote,
                ],
            );
            let proved = project.statewarden(&["verify", "--system", "spec-kit"]);
            for gate in ["specify", "plan", "tasks", "implement"] {
                assert!(proved.contains(&format!("{gate}: proved")), "{proved}");
            }
        },
    );
}
