//! Transcripts in the client's format, of sessions of the usual kind: reading and
//! changing code, running it, now and then a state file.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

/// What agents run, most of it again and again.
const COMMANDS: &[&str] = &[
    "cargo test --workspace 2>&1 | tail -n 30",
    "git status --short && git diff --stat",
    "grep -rn 'fn parse' src --include='*.rs' | head -20",
    "sed -n '120,180p' src/module/parser.rs",
    "ls -la src tests; wc -l src/*.rs",
    "cd web && npm run build 2>&1 | grep -E 'error|warning' || true",
    "for f in src/*.rs; do head -n 3 \"$f\"; done",
    "git add -A && git commit -qm \"parser: keep comments\" && git log --oneline | head -3",
    "cat > /tmp/try.py <<'EOF'\nimport json, sys\nprint(json.load(sys.stdin)['a'])\nEOF\necho '{\"a\": 1}' | python3 /tmp/try.py",
    "cat .devt/state/workflow.yaml",
];

struct Session<'p> {
    project: &'p Path,
    lines: BufWriter<File>,
    written: usize,
    calls: usize,
}

/// Writes a transcript of about so many bytes below the project's `transcripts`.
pub(crate) fn write(project: &Path, name: &str, bytes: usize) -> Result<()> {
    let folder = project.join("transcripts");
    fs::create_dir_all(&folder)?;
    let mut session = Session {
        project,
        lines: BufWriter::new(File::create(folder.join(name))?),
        written: 0,
        calls: 0,
    };
    while session.written < bytes {
        session.step()?;
    }
    Ok(session.lines.flush()?)
}

fn code(lines: usize) -> String {
    "    let found = table.get(\"key\").ok_or(Error::Missing)?; // as it was\n".repeat(lines)
}

impl Session<'_> {
    /// A call and its result.
    fn step(&mut self) -> Result<()> {
        let at = self.calls;
        self.calls += 1;
        let path = |below: String| self.project.join(below).to_string_lossy().into_owned();
        let source = path(format!("src/module_{}/part_{}.rs", at % 7, at % 31));
        let (tool, input, said) = match at % 20 {
            0 | 3 | 6 | 9 | 12 | 14 | 16 | 18 => {
                let command = COMMANDS[at / 2 % COMMANDS.len()];
                let input = json!({ "command": command, "description": "Looks at what is there" });
                ("Bash", input, code(at % 40))
            }
            1 | 4 | 7 | 10 | 13 => ("Read", json!({ "file_path": source }), code(at % 200)),
            2 | 8 | 15 => {
                let input =
                    json!({ "file_path": source, "old_string": code(3), "new_string": code(5) });
                ("Edit", input, code(at % 100))
            }
            5 => (
                "Write",
                json!({ "file_path": source, "content": code(60) }),
                String::new(),
            ),
            11 => (
                "Grep",
                json!({ "pattern": "parse", "path": path("src".into()) }),
                code(20),
            ),
            17 => (
                "TodoWrite",
                json!({ "todos": [{ "content": "Parse", "status": "pending" }] }),
                String::new(),
            ),
            _ => {
                let name = ["scratchpad.md", "impl-summary.md", "notes.md"][at / 20 % 3];
                let file = path(format!(".devt/state/{name}"));
                (
                    "Write",
                    json!({ "file_path": file, "content": code(10) }),
                    String::new(),
                )
            }
        };
        let id = format!("toolu_{at:020}");
        self.line(
            "assistant",
            json!([{ "type": "text", "text": "Now the next part of it." }]),
            Value::Null,
        )?;
        let call = json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]);
        self.line("assistant", call, Value::Null)?;
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": said }]);
        // The client keeps what a tool gave back beside what the model was told.
        self.line(
            "user",
            result,
            json!({ "stdout": said, "stderr": "", "interrupted": false }),
        )
    }

    fn line(&mut self, role: &str, content: Value, result: Value) -> Result<()> {
        let minutes = self.calls / 4;
        let line = json!({
            "parentUuid": "a7656f9d-8206-4d96-b2c6-2fe8c3b30c4c",
            "isSidechain": false,
            "userType": "external",
            "cwd": self.project,
            "sessionId": "bc83e348-1bc3-4b96-b8d7-cfd64ae7889d",
            "version": "2.1.329",
            "gitBranch": "main",
            "type": role,
            "message": {
                "role": role,
                "model": "m",
                "content": content,
                "usage": { "input_tokens": 12, "cache_read_input_tokens": 40960, "output_tokens": 210 },
            },
            "toolUseResult": result,
            "uuid": "6f0b4f4c-35ac-4a6e-9e57-7a4b3a8d9f10",
            "timestamp": format!("2026-02-{:02}T{:02}:{:02}:00.000Z", minutes / 1440 % 28 + 1, minutes / 60 % 24, minutes % 60),
        });
        let line = line.to_string();
        self.written += line.len() + 1;
        Ok(writeln!(self.lines, "{line}")?)
    }
}
