//! A temporary project with a devt workflow in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process, thread};

use serde_json::{Value, json};

use super::api::Block;

const WORKFLOW: &str = "\
workflow_id: 8f14e45f-ceea-467f-9b3c-2d1e5a6b7c8d
workflow_type: dev
active: true
phase: implement
status: in_progress
created_at: 2026-01-05T09:00:00.000Z
first_created_at: 2026-01-05T09:00:00.000Z
";

const PROGRAMMER: &str = "\
---
name: programmer
description: Implements what the plan says.
---
You implement what the plan says.
";

/// Removed at the end, unless the test fails: then it is there to be looked at.
pub(crate) struct Project {
    scratch: PathBuf,
}

impl Project {
    pub(crate) fn new(name: &str) -> Self {
        let scratch = env::temp_dir().join(format!("statewarden-{name}-{}", process::id()));
        let project = Self { scratch };
        project.put(".devt/state/workflow.yaml", WORKFLOW);
        project.put(".claude/agents/programmer.md", PROGRAMMER);
        fs::create_dir_all(project.home()).expect("the directory for temporary files is writable");
        project
            .command("git")
            .args(["init", "--quiet"])
            .must_succeed();
        project
    }

    /// A custom agent, of which only the name matters.
    pub(crate) fn add_agent(&self, name: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: Does the work of {name}.\n---\nYou do one step.\n"
        );
        self.put(&format!(".claude/agents/{name}.md"), &text);
    }

    /// A second hook, of the user's, that answers each call of some tools.
    pub(crate) fn add_hook(&self, matcher: &str, answer: &Value) {
        let mut answer = answer.clone();
        answer["hookEventName"] = "PreToolUse".into();
        let answer = json!({ "hookSpecificOutput": answer }).to_string();
        let hook = json!({ "type": "command", "command": "echo", "args": [answer] });
        let group = json!({ "matcher": matcher, "hooks": [hook] });
        let settings = json!({ "hooks": { "PreToolUse": [group] } }).to_string();
        self.put("../home/.claude/settings.json", &settings);
    }

    /// Runs the binary under test in the project.
    pub(crate) fn statewarden(&self, args: &[&str]) -> String {
        let mut command = self.command(env!("CARGO_BIN_EXE_statewarden"));
        command.args(args).must_succeed()
    }

    /// Runs a script of the shell in a directory, with arguments.
    pub(crate) fn sh(&self, dir: &Path, script: &str, args: &[&str]) {
        let mut sh = self.command("sh");
        sh.args(["-euc", script, "sh"]).args(args).current_dir(dir);
        sh.must_succeed();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir().join(path)).expect("the file is there")
    }

    /// Wires the binary under test into the project's settings.
    pub(crate) fn install(&self) {
        self.statewarden(&["install", "--scope", "project"]);
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.scratch.join("project")
    }

    /// The directory of all that the test makes.
    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.join("home")
    }

    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.dir().join(".devt/state").join(name)
    }

    /// The user's id, as the shell knows it.
    pub(crate) fn uid(&self) -> String {
        let uid = self.command("id").arg("-u").must_succeed();
        uid.trim().to_owned()
    }

    /// The call that writes a state file.
    pub(crate) fn write(&self, name: &str, content: &str) -> Block {
        Block::Call {
            tool: "Write",
            input: json!({ "file_path": self.state(name), "content": content }),
        }
    }

    /// The records of the site's deny log, oldest first; none without a log.
    pub(crate) fn denies(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.state("preflight-denies.jsonl")).unwrap_or_default();
        log.lines()
            .map(|line| serde_json::from_str(line).expect("each line of the log is JSON"))
            .collect()
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        let parent = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).expect("the directory for temporary files is writable");
        fs::write(path, text).expect("the directory for temporary files is writable");
    }

    /// Nothing of the machine's own settings reaches a test.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir())
            .env_clear()
            .env("HOME", self.home())
            .env("STATEWARDEN_CEILING", &self.scratch)
            .env("STATEWARDEN_ETC", self.scratch.join("etc"));
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if !thread::panicking() {
            // A temporary directory left behind is not worth a failure.
            fs::remove_dir_all(&self.scratch).ok();
        }
    }
}

trait MustSucceed {
    /// What it printed.
    fn must_succeed(&mut self) -> String;
}

impl MustSucceed for Command {
    fn must_succeed(&mut self) -> String {
        let out = self
            .output()
            .unwrap_or_else(|e| panic!("could not start {self:?}: {e}"));
        assert!(
            out.status.success(),
            "{self:?} failed: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).into_owned()
    }
}
