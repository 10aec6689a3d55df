//! Strict mode in sessions of the real client: what its shells cannot write, and what goes on.

use std::fs;

use serde_json::json;

use super::api::{Block, Script};
use super::client::{Client, Mode, Run, Version};
use super::namespace::{isolated, isolated_on};
use super::project::Project;
use super::{bash, dispatch};

const STATE: &str = ".devt/state/workflow.yaml";

/// Appends to the run's state, by a program that the guard does not read.
const FORGE: &str = "open('.devt/state/workflow.yaml', 'a').write('forged: true\\n')\n";

fn strict_project(name: &str) -> Project {
    let project = Project::new(name);
    project.put("../home/.config/statewarden/config.yaml", "strict: true\n");
    project.put("forge.py", FORGE);
    project.put(
        "forge.js",
        "require('fs').appendFileSync('.devt/state/workflow.yaml', 'forged: true\\n')\n",
    );
    project.install();
    project
}

fn session(
    client: &Client,
    project: &Project,
    main: Vec<Vec<Block>>,
    agent: Vec<Vec<Block>>,
) -> Run {
    let script = Script {
        main,
        subagents: vec![("MARMOT", agent)],
    };
    let run = client.run(project, Mode::SkipPermissions, script);
    run.assert_sound();
    run
}

fn done() -> Vec<Block> {
    vec![Block::Text("done")]
}

fn call(tool: &'static str, input: serde_json::Value) -> Vec<Block> {
    vec![Block::Call { tool, input }]
}

/// Every way in which the client starts a shell, and what a shell starts.
fn check_ways(client: &Client, version: Version) {
    let project = strict_project(&format!("strict-{version:?}"));
    project.put("package.json", r#"{"scripts": {"test": "node forge.js"}}"#);
    project.put(
        ".claude/skills/prep/SKILL.md",
        "---\nname: prep\ndescription: Prepares a step.\n---\nHello !`python3 forge.py; touch skill-ran`\n",
    );
    let daemon = "setsid sh -c 'sleep 0.3; python3 forge.py; touch daemon-ran' < /dev/null > /dev/null 2>&1 &";
    let mut main = vec![
        vec![bash("python3 forge.py")],
        vec![bash(
            "node forge.js; echo forged >> $(ls -d .devt/st*)/workflow.yaml",
        )],
        vec![bash(
            "unset STATEWARDEN_FENCED; env -i /bin/bash -c \"$(command -v python3) forge.py\"",
        )],
        vec![bash(
            "unshare -Urm sh -c 'umount -l .devt/state; python3 forge.py'; nsenter -t 1 -m python3 $PWD/forge.py",
        )],
        vec![bash("npm test")],
        vec![bash(daemon)],
        call(
            "Bash",
            json!({ "command": "python3 forge.py; touch unsandboxed-ran", "dangerouslyDisableSandbox": true }),
        ),
        call(
            "Bash",
            json!({ "command": "python3 forge.py; touch background-ran", "run_in_background": true }),
        ),
        call("Skill", json!({ "skill": "prep" })),
        vec![dispatch("programmer", "Implement step MARMOT.")],
    ];
    let mut ran = vec![
        "skill-ran",
        "daemon-ran",
        "unsandboxed-ran",
        "background-ran",
        "agent-ran",
    ];
    if version == Version::Pinned {
        let monitor = json!({ "command": "python3 forge.py; touch monitor-ran; echo seen", "description": "d" });
        main.push(call("Monitor", monitor));
        ran.push("monitor-ran");
    }
    // Read-only is what the next shell runs as well.
    main.push(vec![bash("python3 -c 'import glob,os; [open(f, \"a\").write(\"x\") for f in glob.glob(os.environ[\"HOME\"] + \"/.claude/s*/*/*.sh\") + glob.glob(os.environ[\"HOME\"] + \"/.claude/s*/*.sh\")]'")]);
    main.push(vec![bash("for i in $(seq 100); do [ -e daemon-ran ] && [ -e background-ran ] && break; sleep 0.1; done; python3 forge.py")]);
    main.push(done());
    let agent = vec![vec![bash("python3 forge.py; touch agent-ran")], done()];
    let before = project.read(STATE);
    let run = session(client, &project, main, agent);
    for file in ran {
        assert!(project.dir().join(file).exists(), "{file}: {run:#?}");
    }
    assert_eq!(project.read(STATE), before, "{run:#?}");
    let told = format!("{run:?}");
    assert!(told.contains("Read-only file system"), "{told}");
    assert!(told.contains("`systems.<id>.programs`"), "{told}");
}

#[test]
fn no_shell_of_a_session_forges_state() {
    let name = "real_client::strict::no_shell_of_a_session_forges_state";
    isolated(name, |client| check_ways(client, Version::Pinned));
}

#[test]
fn no_shell_of_a_session_forges_state_with_an_older_client() {
    let name = "real_client::strict::no_shell_of_a_session_forges_state_with_an_older_client";
    isolated_on(Version::Older, name, |client| {
        check_ways(client, Version::Older)
    });
}

/// What a session does all day.
fn check_work(client: &Client, version: Version) {
    let project = strict_project(&format!("strict-work-{version:?}"));
    project.put(
        "package.json",
        r#"{"scripts": {"test": "node -e \"console.log('1 passing')\""}}"#,
    );
    project.put(
        "../home/tools/devt-tools.cjs",
        "require('fs').appendFileSync('.devt/state/workflow.yaml', 'iteration: 2\\n')\n",
    );
    let git = "git init -q; git config user.name Ann; git config user.email ann@example.org; git add -A; \
               git commit -qm one; git branch old; echo 'status: later' >> .devt/state/workflow.yaml; git commit -qam two";
    project.sh(&project.dir(), git, &[]);
    let main = vec![
        vec![bash(
            "npm test && mkdir -p out && cd out && echo x > made.txt",
        )],
        vec![bash(
            "python3 -c 'print(\"in\", open(\"made.txt\").read())'; pwd; cd ..",
        )],
        vec![bash("git checkout -q old && git status --short | head -3")],
        vec![bash("node ../home/tools/devt-tools.cjs state update")],
        vec![bash(
            "cat > .devt/state/scratchpad.md <<'E'\nplain words\nE",
        )],
        vec![project.write("research.md", "# Research\n")],
        vec![bash(
            "python3 -c 'import sys; sys.stderr.write(\"to stderr\"); sys.exit(3)'",
        )],
        vec![bash(
            "f=$(mktemp) && python3 -c pass && echo temp > $f && cat $f",
        )],
        done(),
    ];
    let run = session(client, &project, main, Vec::new());
    let said: Vec<String> = run
        .tool_results()
        .into_iter()
        .map(|told| told.text)
        .collect();
    assert!(said[0].contains("1 passing"), "{run:#?}");
    let out = project.dir().join("out");
    assert!(
        said[1].contains("in x") && said[1].contains(out.to_str().unwrap()),
        "{said:?}"
    );
    let state = project.read(STATE);
    assert!(
        !state.contains("later") && state.contains("iteration: 2"),
        "{state}"
    );
    assert_eq!(project.read(".devt/state/scratchpad.md"), "plain words\n");
    assert!(project.state("research.md").exists());
    assert!(
        said[6].contains("Exit code 3") && said[6].contains("to stderr"),
        "{said:?}"
    );
    assert!(said[7].contains("temp"), "{said:?}");
    assert!(
        !format!("{run:?}").contains("Read-only file system"),
        "{run:#?}"
    );
    assert!(
        fs::read_dir(project.home().join(".claude/session-env"))
            .unwrap()
            .count()
            > 0
    );
}

#[test]
fn a_session_works_on_behind_the_fence() {
    let name = "real_client::strict::a_session_works_on_behind_the_fence";
    isolated(name, |client| check_work(client, Version::Pinned));
}

#[test]
fn a_session_works_on_behind_the_fence_with_an_older_client() {
    let name = "real_client::strict::a_session_works_on_behind_the_fence_with_an_older_client";
    isolated_on(Version::Older, name, |client| {
        check_work(client, Version::Older)
    });
}
