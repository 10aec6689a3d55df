//! The events, and what each program should say to them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::probe;
use crate::site::Site;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    Floor,
    Hook,
    /// A script that knows the devt names only.
    Peer(String, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Silence,
    Deny,
    Context,
    Any,
}

pub struct Case {
    pub program: Program,
    pub name: String,
    pub event: Vec<u8>,
    pub answer: Answer,
    /// Files set anew before each run; `None` takes the file away.
    pub files: Vec<(&'static str, Option<String>)>,
}

const KIB: usize = 1024;
const SIZES: [usize; 5] = [300, 10 * KIB, 100 * KIB, KIB * KIB, 5 * KIB * KIB];

const FLOW: &str =
    include_str!("../../tests/fixtures/agent-flow/04-orchestration-after-implementation-passed.md");

impl Case {
    fn hook(name: &str, event: &Value, answer: Answer) -> Self {
        Self {
            program: Program::Hook,
            name: name.to_owned(),
            event: event.to_string().into_bytes(),
            answer,
            files: Vec::new(),
        }
    }

    fn with(mut self, file: &'static str, text: Option<&str>) -> Self {
        self.files.push((file, text.map(str::to_owned)));
        self
    }

    /// Large events and slow programs are sampled less.
    pub fn every(&self) -> usize {
        match (&self.program, self.event.len()) {
            (Program::Peer(..), _) => 20,
            (_, len) if len >= KIB * KIB => 8,
            _ => 1,
        }
    }

    pub fn command(&self, site: &Site) -> Command {
        let mut command = match &self.program {
            Program::Floor => Command::new(site.program("floor")),
            Program::Hook => Command::new(site.program("statewarden")),
            Program::Peer(interpreter, _) => Command::new(interpreter),
        };
        match self.program {
            Program::Floor => &mut command,
            Program::Hook => command.arg("hook"),
            Program::Peer(_, script) => command.arg(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("peers")
                    .join(script),
            ),
        };
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", site.home())
            .env("CLAUDE_PROJECT_DIR", site.project());
        command
    }

    pub fn restore(&self, site: &Site) -> Result<()> {
        self.files
            .iter()
            .try_for_each(|(file, text)| site.write(file, text.as_deref()))
    }

    /// A benchmark of a wrong answer measures nothing.
    pub fn check(&self, site: &Site) -> Result<()> {
        self.restore(site)?;
        let said = probe::output(self, site)?;
        let right = match self.answer {
            Answer::Silence => said.is_empty(),
            Answer::Deny => said.contains("\"deny\""),
            Answer::Context => said.contains("additionalContext"),
            Answer::Any => true,
        };
        ensure!(right, "`{}` was answered with `{said}`", self.name);
        for (file, before) in self
            .files
            .iter()
            .filter(|(file, _)| file.ends_with("orchestration.local.md"))
        {
            let after = std::fs::read_to_string(site.project().join(file)).ok();
            let changes = self.name.contains("gate change");
            ensure!((*before != after) == changes, "`{}`: `{file}`", self.name);
        }
        Ok(())
    }
}

fn event(site: &Site, name: &str, rest: Value) -> Value {
    let mut event = json!({
        "session_id": "5a3f6c1e-7d51-4f0e-9c55-0d5c7f0f6f11",
        "transcript_path": site.home().join(".claude/projects/p/5a3f6c1e.jsonl"),
        "cwd": site.project(),
        "permission_mode": "default",
        "hook_event_name": name,
    });
    if let (Value::Object(event), Value::Object(rest)) = (&mut event, rest) {
        event.extend(rest);
    }
    event
}

fn call(site: &Site, tool: &str, input: Value) -> Value {
    let rest = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_01A" });
    event(site, "PreToolUse", rest)
}

/// Source text of about `len` bytes on the wire, an escape every dozen or so.
fn code(len: usize) -> String {
    let line = "    let value = parse(\"x\", input)?;\n";
    line.repeat(len / (line.escape_default().count()) + 1)
}

/// A Write whose event has about `len` bytes.
fn write(site: &Site, below: &str, len: usize) -> Value {
    let content = code(len.saturating_sub(600));
    call(
        site,
        "Write",
        json!({ "file_path": site.path(below), "content": content }),
    )
}

/// A command of about `len` bytes that has to be parsed to its end.
fn command(len: usize) -> String {
    let step =
        "(cd src && for f in a b c; do sed -i 's/x/y/' \"$f.rs\" | tee ../log-$f.txt; done)\n";
    let mut command = step.repeat(len / step.len());
    command += "echo done > .devt/state/impl-summary.md";
    command
}

/// Commands of 64 KiB, each of one kind of line: what costs is different in each.
const SHAPES: [(&str, &str, &str, &str); 9] = [
    ("touch", "", "touch a b c\n", ""),
    ("append", "", "echo x >> file\n", ""),
    ("pipeline", "cat a", " | sort -u", ""),
    (
        "one quoted argument",
        "echo '",
        "some text ",
        "' > /dev/null",
    ),
    ("assignments", "", "a=b\n", ""),
    ("cd", "", "cd x; cd ..\n", ""),
    ("mkdir", "", "mkdir -p a/b/c\n", ""),
    ("reads", "", "grep -n foo src/lib.rs | head -n 3\n", ""),
    (
        "python here-document",
        "python3 <<'EOF'\n",
        "open('out/a.txt', 'w').write('x')\n",
        "EOF\n",
    ),
];

/// In the unit that a reader would choose.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KiB", (bytes + KIB / 2) / KIB),
        _ => format!("{:.1} MiB", bytes as f64 / (KIB * KIB) as f64),
    }
}

pub fn all(site: &Site) -> Vec<Case> {
    let mut cases = Vec::new();
    for len in SIZES {
        let text = write(site, "src/module/new.rs", len);
        cases.push(Case {
            program: Program::Floor,
            ..Case::hook("floor", &text, Answer::Silence)
        });
        cases.push(Case::hook("unrelated Write", &text, Answer::Silence));
        cases.push(Case::hook(
            "allowed Write",
            &write(site, ".devt/state/scratchpad.md", len),
            Answer::Silence,
        ));
        cases.push(Case::hook(
            "denied Write",
            &write(site, ".devt/state/notes.md", len),
            Answer::Deny,
        ));
    }
    cases.extend(calls(site));
    cases.extend(moments(site));
    for (interpreter, script, itself) in PEERS {
        let Some(path) = path_of(interpreter, itself) else {
            continue;
        };
        for (name, below, answer) in [
            ("unrelated Write", "src/module/new.rs", Answer::Silence),
            ("denied Write", ".devt/state/notes.md", Answer::Deny),
        ] {
            let case = Case::hook(
                &format!("{interpreter}: {name}"),
                &write(site, below, 300),
                answer,
            );
            cases.push(Case {
                program: Program::Peer(path.clone(), script),
                ..case
            });
        }
    }
    cases
}

/// Each with the words that make it print its own path, since the one on `PATH`
/// may be a slow stand-in.
const PEERS: [(&str, &str, &[&str]); 3] = [
    ("bash", "devt.sh", &["-c", "echo $BASH"]),
    (
        "python3",
        "devt.py",
        &["-c", "import sys; print(sys.executable)"],
    ),
    ("node", "devt.js", &["-p", "process.execPath"]),
];

fn path_of(interpreter: &str, itself: &[&str]) -> Option<String> {
    let output = Command::new(interpreter).args(itself).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn calls(site: &Site) -> Vec<Case> {
    let bash = |command: String| {
        call(
            site,
            "Bash",
            json!({ "command": command, "description": "Runs it" }),
        )
    };
    let parsed = |len| {
        Case::hook(
            &format!("Bash parsed, {}", size(len)),
            &bash(command(len)),
            Answer::Silence,
        )
    };
    let shape = |(name, before, line, after): (&str, &str, &str, &str)| {
        let lines = line.repeat(64 * KIB / line.len());
        let command = bash(format!("{before}{lines}{after}"));
        Case::hook(&format!("Bash {name}, 64 KiB"), &command, Answer::Silence)
    };
    let unrelated = "cargo test --workspace 2>&1 | tail -n 40\n";
    let mut cases = vec![
        Case::hook(
            &format!("unrelated Bash, {}", size(20 * KIB)),
            &bash(unrelated.repeat(20 * KIB / unrelated.len())),
            Answer::Silence,
        ),
        parsed(20 * KIB),
    ];
    cases.extend(SHAPES.map(shape));
    let heredoc = format!("cat > /dev/null <<'EOF'\n{}EOF\n", code(64 * KIB));
    cases.extend([
        Case::hook(
            "unrelated Read",
            &call(site, "Read", json!({ "file_path": site.path("src/a.rs") })),
            Answer::Silence,
        ),
        Case::hook(
            "unrelated Bash",
            &bash("cargo test --workspace 2>&1 | tail -n 40".to_owned()),
            Answer::Silence,
        ),
        Case::hook(
            "unrelated Edit",
            &call(
                site,
                "Edit",
                json!({ "file_path": site.path("src/module/parser.rs"), "old_string": "main", "new_string": "run" }),
            ),
            Answer::Silence,
        ),
        Case::hook(
            "git Bash",
            &bash("git status --short && git diff --stat HEAD~1".to_owned()),
            Answer::Silence,
        ),
        parsed(KIB),
        parsed(64 * KIB),
        Case::hook(
            "Bash here-document, 64 KiB",
            &bash(heredoc),
            Answer::Silence,
        ),
    ]);
    cases
}

fn moments(site: &Site) -> Vec<Case> {
    const STATE: &str = ".claude/orchestration.local.md";
    const RUNS: &str = ".claude/statewarden/runs.json";
    let review = FLOW.replacen(
        "current_phase: \"implementation\"",
        "current_phase: \"review\"",
        1,
    );
    let stop = |agent: &str| {
        let rest = json!({
            "agent_id": "a-1", "agent_type": agent, "stop_hook_active": false,
            "last_assistant_message": "## Review\n\nAll is well.\n\n### Verdict: APPROVED\n",
        });
        event(site, "SubagentStop", rest)
    };
    let after = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_01A", "duration_ms": 12,
        "tool_input": { "command": "cargo test" },
        "tool_response": { "stdout": code(400), "stderr": "", "interrupted": false },
    });
    vec![
        Case::hook(
            "after Bash",
            &event(site, "PostToolUse", after),
            Answer::Silence,
        ),
        Case::hook("SubagentStop, no gate", &stop("Explore"), Answer::Silence).with(STATE, None),
        Case::hook(
            "SubagentStop, gate change",
            &stop("agent-flow:Lawliet"),
            Answer::Silence,
        )
        .with(STATE, Some(&review))
        .with(RUNS, None),
        Case::hook(
            "SessionStart, no run",
            &event(site, "SessionStart", json!({ "source": "startup" })),
            Answer::Any,
        )
        .with(STATE, None),
        Case::hook(
            "SessionStart, a run",
            &event(site, "SessionStart", json!({ "source": "resume" })),
            Answer::Context,
        )
        .with(STATE, Some(&review)),
    ]
}
