//! `replay`: the guard over past sessions.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{DEVT, Ran, Sandbox, assert_has};

/// A transcript as the client writes it: one line for each call, and its result.
struct Transcript<'s> {
    sandbox: &'s Sandbox,
    lines: Vec<Value>,
}

impl<'s> Transcript<'s> {
    fn new(sandbox: &'s Sandbox) -> Self {
        Self {
            sandbox,
            lines: Vec::new(),
        }
    }

    fn line(&self, kind: &str, content: Value) -> Value {
        json!({
            "parentUuid": null, "isSidechain": false, "type": kind,
            "message": {"role": kind, "content": content},
            "timestamp": format!("2026-03-01T10:00:{:02}.000Z", self.lines.len()),
            "cwd": self.sandbox.project(), "sessionId": "s-1", "version": "2.1.329",
        })
    }

    fn call(mut self, tool: &str, input: Value) -> Self {
        let id = format!("toolu_{}", self.lines.len());
        let block = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.lines.push(self.line("assistant", json!([block])));
        self
    }

    fn write(self, below: &str) -> Self {
        let path = self.sandbox.path(below);
        self.call("Write", json!({"file_path": path, "content": "x\n"}))
    }

    fn bash(self, command: &str) -> Self {
        self.call("Bash", json!({"command": command}))
    }

    /// The result of the call before.
    fn refused(mut self) -> Self {
        let id = format!("toolu_{}", self.lines.len() - 1);
        let text = "PreToolUse:Write hook error: `x` is denied";
        let block =
            json!({"type": "tool_result", "tool_use_id": id, "is_error": true, "content": text});
        self.lines.push(self.line("user", json!([block])));
        self
    }

    /// Every line by a subagent.
    fn by(mut self, agent: &str) -> Self {
        for line in &mut self.lines {
            line["isSidechain"] = true.into();
            line["attributionAgent"] = agent.into();
        }
        self
    }

    fn save(self, name: &str) -> Self {
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        let path = self.sandbox.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }
}

fn replay(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let home = sandbox.home();
    let ran = sandbox.run(&[&["replay", home.to_str().unwrap()], args].concat());
    assert_ne!(ran.code(), 2, "{}", ran.stderr());
    ran
}

/// `rule name count`, most frequent first, then by name.
fn refused(document: &Value) -> Vec<String> {
    let rows = document["refused"].as_array().unwrap().iter();
    let mut rows: Vec<String> = rows
        .map(|row| format!("{} {} {}", row["rule"], row["name"], row["count"]).replace('"', ""))
        .collect();
    rows.sort();
    rows
}

fn copy_with(from: &Path, to: &Path, project: &str) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_with(&entry.path(), &to, project);
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            fs::write(to, text.replace("/PROJECT", project)).unwrap();
        }
    }
}

/// A session of the real client, with the guard installed, and its two subagents.
fn real_session(sandbox: &Sandbox) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/transcripts");
    let project = sandbox.path("").trim_end_matches('/').to_owned();
    copy_with(&fixtures, &sandbox.home().join("projects/p"), &project);
    // A command of the session changes into it.
    sandbox.write("sub/a", "");
}

const REAL: [&str; 4] = [
    "ad-hoc-name foo.md 2",
    "ad-hoc-name notes.md 1",
    "ad-hoc-name todo.txt 1",
    "wrong-writer review.json 2",
];

#[test]
fn a_session_of_the_real_client_is_refused_the_same_again() {
    let sandbox = Sandbox::new();
    real_session(&sandbox);
    let ran = replay(&sandbox, &["--json"]);
    let document = ran.json();
    assert_eq!(ran.code(), 0);
    assert_eq!(refused(&document), REAL);
    let numbers = [
        "files",
        "calls",
        "refused_calls",
        "already_refused",
        "unreadable_lines",
    ];
    assert_eq!(
        numbers.map(|key| document[key].as_u64().unwrap()),
        [3, 10, 6, 6, 0]
    );
    assert_eq!(document["false_alarm_candidates"], json!([]));
    assert!(!sandbox.exists(DEVT), "nothing is written");
    assert!(!sandbox.exists(".claude/statewarden"), "nothing is written");
    assert_eq!(replay(&sandbox, &["--fail-on-deny"]).code(), 1);
}

/// Lines of older clients do not name the agent; the file beside them does.
#[test]
fn an_agent_is_known_by_the_file_beside_its_transcript() {
    let sandbox = Sandbox::new();
    real_session(&sandbox);
    let agents = sandbox.home().join("projects/p/session/subagents");
    for entry in fs::read_dir(&agents).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        fs::write(entry.path(), text.replace("attributionAgent", "x")).unwrap();
    }
    assert_eq!(refused(&replay(&sandbox, &["--json"]).json()), REAL);
    for entry in fs::read_dir(&agents).unwrap().flatten() {
        if entry.path().extension().is_some_and(|ext| ext == "json") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    // An agent nobody names is no other agent of the contract, and not the main thread.
    assert_eq!(refused(&replay(&sandbox, &["--json"]).json()), REAL[..3]);
}

#[test]
fn every_kind_of_call_is_judged() {
    let sandbox = Sandbox::new();
    let cells = sandbox.path(".devt/state/a.ipynb");
    Transcript::new(&sandbox)
        .write(".devt/state/scratchpad.md")
        .write(".devt/state/one.md")
        .write("src/one.md")
        .bash("cd .devt && echo x > state/two.md")
        .bash("git commit -m 'see .devt/state/three.md'")
        .call(
            "NotebookEdit",
            json!({"notebook_path": cells, "new_source": "x"}),
        )
        .call(
            "mcp__fs__write_file",
            json!({"path": ".devt/state/four.md", "content": "x"}),
        )
        .call(
            "Write",
            json!({"file_path": ".devt/state/review.json", "content": "[]"}),
        )
        .call("Write", json!({"file_path": [1], "content": 2.5}))
        .save("p/s-1.jsonl");
    Transcript::new(&sandbox)
        .write(".devt/state/review.json")
        .by("devt:tester")
        .save("p/s-1/subagents/agent-a1.jsonl");
    let document = replay(&sandbox, &["--json"]).json();
    assert_eq!(
        refused(&document),
        [
            "ad-hoc-name a.ipynb 1",
            "ad-hoc-name four.md 1",
            "ad-hoc-name one.md 1",
            "ad-hoc-name two.md 1",
            "malformed-content review.json 1",
            "wrong-writer review.json 1",
        ]
    );
    assert_eq!(
        (&document["calls"], &document["already_refused"]),
        (&json!(10), &json!(0))
    );
    let rows = document["refused"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["rule"] == "wrong-writer")
        .unwrap();
    let example = &row["examples"][0];
    assert_eq!(
        (&example["agent"], &example["line"]),
        (&json!("tester"), &json!(1))
    );
    assert!(
        example["file"]
            .as_str()
            .unwrap()
            .ends_with("agent-a1.jsonl")
    );
}

/// The file beside a transcript says whose it is, also where its lines do not.
#[test]
fn an_agent_with_a_file_beside_its_transcript_is_not_the_main_thread() {
    let sandbox = Sandbox::new();
    Transcript::new(&sandbox)
        .write(".devt/state/review.md")
        .save("p/s-1/subagents/agent-a1.jsonl");
    assert!(refused(&replay(&sandbox, &["--json"]).json()).is_empty());
    let beside = sandbox.home().join("p/s-1/subagents/agent-a1.meta.json");
    fs::write(beside, r#"{"agentType":"devt:tester"}"#).unwrap();
    let document = replay(&sandbox, &["--json"]).json();
    assert_eq!(refused(&document), ["wrong-writer review.md 1"]);
    // A session that runs as an agent has its type and is the main thread; an id is an agent's.
    let mut session = Transcript::new(&sandbox)
        .write(".devt/state/review.md")
        .write(".devt/state/workflow.yaml");
    session.lines[0]["attributionAgent"] = "tester".into();
    session.lines[1]["agentId"] = "a-2".into();
    session.save("p/s-2.jsonl");
    let document = replay(&sandbox, &["--json"]).json();
    let expected = ["wrong-writer review.md 1", "wrong-writer workflow.yaml 1"];
    assert_eq!(refused(&document), expected);
}

/// What is in the file now says nothing about what was in it then.
#[test]
fn the_present_content_of_a_file_is_not_held_against_an_old_write() {
    let sandbox = Sandbox::new();
    let state: Value =
        serde_json::from_str(include_str!("../fixtures/session/complete.json")).unwrap();
    let dir = format!(".claude/.docs/{}", state["id"].as_str().unwrap());
    sandbox.write(&format!("{dir}/state.json"), &state.to_string());
    let mut early = state.clone();
    early["phases"]["review"] = json!({"status": "pending"});
    let path = sandbox.path(&format!("{dir}/state.json"));
    let input = json!({"file_path": path, "content": early.to_string()});
    sandbox.denied(&sandbox.event("Write", input.clone()), "illegal-transition");
    Transcript::new(&sandbox)
        .call("Write", input)
        .save("s.jsonl");
    assert_eq!(refused(&replay(&sandbox, &["--json"]).json()), [""; 0]);
}

#[test]
fn a_name_that_was_of_use_may_be_a_false_alarm() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.path(&format!(".devt/state/{name}"));
    Transcript::new(&sandbox)
        .write(".devt/state/read.md")
        .write(".devt/state/edited.md")
        .write(".devt/state/shown.md")
        .write(".devt/state/removed.md")
        .write(".devt/state/unused.md")
        .write(".devt/state/refused.md")
        .refused()
        .write(".devt/state/again.md")
        .call(
            "Edit",
            json!({"file_path": path("edited.md"), "old_string": "a", "new_string": "b"}),
        )
        .bash("cat '.devt/state/shown.md' | head")
        .bash("rm -f .devt/state/removed.md")
        .call("Read", json!({"file_path": path("refused.md")}))
        .call(
            "Edit",
            json!({"file_path": path("again.md"), "old_string": "a", "new_string": "b"}),
        )
        .refused()
        .save("p/s-1.jsonl");
    // Another transcript of the same session; it is read later.
    let mut reader = Transcript::new(&sandbox);
    reader.lines = vec![Value::Null; 30];
    let mut reader = reader.call("Read", json!({"file_path": path("read.md")}));
    reader.lines.drain(..30);
    reader.by("tester").save("p/s-1/subagents/agent-a1.jsonl");

    let document = replay(&sandbox, &["--json"]).json();
    let candidates = document["false_alarm_candidates"].as_array().unwrap();
    let mut found: Vec<(&str, &str)> = candidates
        .iter()
        .map(|c| {
            (
                c["name"].as_str().unwrap(),
                c["used"]["tool"].as_str().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("edited.md", "Edit"),
            ("read.md", "Read"),
            ("shown.md", "Bash")
        ]
    );
}

#[test]
fn the_advice_about_false_alarms_helps() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.path(&format!(".devt/state/{name}"));
    Transcript::new(&sandbox)
        .write(".devt/state/b.md")
        .write(".devt/state/a.md")
        .call("Read", json!({"file_path": path("a.md")}))
        .call("Read", json!({"file_path": path("b.md")}))
        .save("s.jsonl");
    let text = replay(&sandbox, &[]).stdout();
    assert!(
        text.ends_with("systems:\n  devt:\n    extra_names: [\"a.md\", \"b.md\"]\n"),
        "{text}"
    );
    let settings = &text[text.find("systems:").unwrap()..];
    sandbox.write(".claude/statewarden.yaml", settings);
    let document = replay(&sandbox, &["--json"]).json();
    assert_eq!(document["false_alarm_candidates"], json!([]));
    assert_eq!(refused(&document), [""; 0]);
}

#[test]
fn a_copy_of_a_session_counts_once() {
    let sandbox = Sandbox::new();
    let once = Transcript::new(&sandbox)
        .write(".devt/state/one.md")
        .save("a.jsonl");
    once.write(".devt/state/one.md").save("b.jsonl");
    let document = replay(&sandbox, &["--json"]).json();
    assert_eq!(refused(&document), ["ad-hoc-name one.md 2"]);
}

#[test]
fn broken_lines_and_other_files_are_no_obstacle() {
    let sandbox = Sandbox::new();
    let good = Transcript::new(&sandbox).write(".devt/state/one.md");
    let line = good.lines[0].to_string();
    let text = format!(
        "\n\u{feff}\n{{\"type\":\"tool_use\"\n[\"tool_use\"]\n{{\"message\":{{\"content\":\"x\"}},\"tool_use\":1}}\n{line}\n{}",
        &line[..line.len() / 2]
    );
    fs::write(
        sandbox.home().join("s.jsonl"),
        [text.as_bytes(), b"\xff\xfe"].concat(),
    )
    .unwrap();
    fs::write(sandbox.home().join("notes.txt"), &line).unwrap();
    let ran = replay(&sandbox, &["--json"]);
    let document = ran.json();
    assert_eq!(refused(&document), ["ad-hoc-name one.md 1"]);
    assert_eq!(
        (&document["files"], &document["unreadable_lines"]),
        (&json!(1), &json!(1))
    );
    assert!(
        ran.stderr()
            .contains("left out 1 unreadable line with a tool call"),
        "{}",
        ran.stderr()
    );
}

#[test]
fn a_byte_order_mark_hides_no_call() {
    let sandbox = Sandbox::new();
    let good = Transcript::new(&sandbox).write(".devt/state/one.md");
    let text = format!("\u{feff}{}\r\n", good.lines[0]);
    fs::write(sandbox.home().join("s.jsonl"), text).unwrap();
    let document = replay(&sandbox, &["--json"]).json();
    assert_eq!(refused(&document), ["ad-hoc-name one.md 1"]);
}

/// A wrong file or folder must not look like a session without a denial.
#[test]
fn what_is_no_transcript_is_said_to_be_none() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home();
    sandbox.write("settings.yaml", "mode: warn\n");
    fs::write(folder.join("a.jsonl"), "garbage\n{\"ts\":\"x\"}\n[1]\n").unwrap();
    fs::write(folder.join("b.jsonl"), "{}\n").unwrap();
    let in_folder = folder.to_str().unwrap();
    for (path, expected) in [
        (
            "settings.yaml",
            "no transcript of Claude Code in `settings.yaml`",
        ),
        (in_folder, "a.jsonl` and 1 other file"),
    ] {
        let ran = sandbox.run(&["replay", path]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (2, ""), "{path}");
        assert_has(&ran.stderr(), expected);
    }
    Transcript::new(&sandbox)
        .write(".devt/state/one.md")
        .save("s.jsonl");
    let ran = replay(&sandbox, &["--json"]);
    let document = ran.json();
    assert_eq!(refused(&document), ["ad-hoc-name one.md 1"]);
    assert_eq!(document["files"], 1, "those left out are none of them");
    assert!(
        ran.stderr()
            .contains("a.jsonl` and 1 other file: no transcript")
    );
    sandbox.write("begun.jsonl", "");
    let ran = sandbox.run("replay begun.jsonl --json");
    assert_eq!((ran.code(), &ran.json()["calls"]), (0, &json!(0)));
}

/// `--system` and the modes of the settings hold here too.
#[test]
fn settings_and_filters_hold() {
    let sandbox = Sandbox::new();
    Transcript::new(&sandbox)
        .write(".devt/state/one.md")
        .save("s.jsonl");
    let refused_with = |args: &[&str]| refused(&replay(&sandbox, args).json());
    assert_eq!(
        refused_with(&["--json", "--system", "devt"]),
        ["ad-hoc-name one.md 1"]
    );
    assert_eq!(refused_with(&["--json", "--system", "session"]), [""; 0]);
    // A relative `--project` is the caller's, not the transcript's.
    assert_eq!(
        refused_with(&["--json", "--project", "."]),
        ["ad-hoc-name one.md 1"]
    );
    assert_eq!(
        refused_with(&["--json", "--project", ".devt"]),
        [""; 0],
        "another project"
    );
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    let ran = replay(&sandbox, &["--json", "--fail-on-deny"]);
    assert_eq!((ran.code(), &ran.json()["warned"]), (0, &json!(1)));
}
