//! The real Claude Code client, driven through one scripted session.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use serde_json::{Value, json};

use super::api::{self, Script};
use super::environment::ENVIRONMENT;
use super::project::Project;

/// A session takes a few seconds; this is for a client that hangs.
const DEADLINE: Duration = Duration::from_secs(90);

/// The client's executable.
pub(crate) struct Client(PathBuf);

/// Which of the clients that `.ci/fetch-client` has put below `target/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Pinned,
    Older,
    Oldest,
}

/// How far the client trusts the model (its permission mode).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    AcceptEdits,
    Auto,
    SkipPermissions,
}

impl Mode {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::AcceptEdits => &["--permission-mode", "acceptEdits"],
            Self::Auto => &["--permission-mode", "auto"],
            Self::SkipPermissions => &["--dangerously-skip-permissions"],
        }
    }
}

impl Client {
    /// `$STATEWARDEN_TEST_CLAUDE` stands in for the pinned one.
    ///
    /// # Errors
    ///
    /// Says what to do when there is none.
    pub(crate) fn find(version: Version) -> Result<Self, String> {
        let given = env::var_os("STATEWARDEN_TEST_CLAUDE");
        if let Some(path) = given.filter(|_| version == Version::Pinned) {
            return Ok(Self(path.into()));
        }
        let place = match version {
            Version::Pinned => "target/claude-client",
            Version::Older => "target/claude-client/older",
            Version::Oldest => "target/claude-client/oldest",
        };
        // One package per platform, of which npm has installed ours.
        let packages = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(place)
            .join("node_modules/@anthropic-ai");
        fs::read_dir(packages)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .starts_with("claude-code-")
            })
            .map(|entry| entry.path().join("claude"))
            .find(|path| path.is_file())
            .map(Self)
            .ok_or_else(|| "real client not found, run .ci/fetch-client".to_owned())
    }

    /// The client in a project, with nothing of this machine's own settings.
    fn command(&self, project: &Project) -> Command {
        let mut command = Command::new(&self.0);
        command.current_dir(project.dir()).env_clear();
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", project.home())
            .env("TMPDIR", project.home())
            .env("STATEWARDEN_CEILING", project.scratch())
            .env("STATEWARDEN_ETC", project.scratch().join("etc"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", project.scratch());
        command.envs(ENVIRONMENT).stdin(Stdio::null());
        command
    }

    /// Runs `claude plugin`, and gives what it printed.
    #[track_caller]
    pub(crate) fn plugin(&self, project: &Project, args: &[&str]) -> String {
        let mut command = self.command(project);
        // With a key it waits for an answer about it.
        command
            .arg("plugin")
            .args(args)
            .env_remove("ANTHROPIC_API_KEY");
        let out = command.output();
        let out = out.expect("the client starts");
        let said = [out.stdout, out.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(out.status.success(), "plugin {args:?}: {said:?}");
        said.concat()
    }

    /// Runs one session in the project until the script ends.
    pub(crate) fn run(&self, project: &Project, mode: Mode, script: Script) -> Run {
        self.run_with(&[], project, mode, script)
    }

    /// The same with further arguments.
    pub(crate) fn run_with(
        &self,
        args: &[&str],
        project: &Project,
        mode: Mode,
        script: Script,
    ) -> Run {
        let mut command = self.session(project, mode, script);
        Run::of(command.arg("go").args(args))
    }

    /// Runs one session that begins with these words, such as a slash command.
    pub(crate) fn run_prompt(
        &self,
        prompt: &str,
        args: &[&str],
        project: &Project,
        script: Script,
    ) -> Run {
        let mut command = self.session(project, Mode::AcceptEdits, script);
        Run::of(command.arg(prompt).args(args))
    }

    /// Runs one session, interrupts it when that is due, as Esc does, and says something again.
    pub(crate) fn run_interrupted(
        &self,
        project: &Project,
        script: Script,
        is_due: impl Fn() -> bool,
    ) -> Run {
        let mut command = self.session(project, Mode::SkipPermissions, script);
        command.args(["--input-format", "stream-json"]);
        let mut child = command
            .stdin(Stdio::piped())
            .spawn()
            .expect("the client starts");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let mut send = |message: Value| writeln!(stdin, "{message}").expect("the client reads");
        let says = |text| json!({ "type": "user", "message": { "role": "user", "content": text } });
        send(says("go"));
        let start = Instant::now();
        while !is_due() && start.elapsed() < DEADLINE {
            thread::sleep(Duration::from_millis(20));
        }
        let interrupt = json!({ "subtype": "interrupt" });
        send(json!({ "type": "control_request", "request_id": "1", "request": interrupt }));
        send(says("go on"));
        drop(stdin);
        Run::finished(child)
    }

    fn session(&self, project: &Project, mode: Mode, script: Script) -> Command {
        let address = api::serve(script).expect("loopback is up");
        let mut command = self.command(project);
        command
            .args(["-p", "--output-format", "stream-json"])
            .args(["--verbose", "--include-hook-events"])
            .args(mode.flags())
            .env("ANTHROPIC_BASE_URL", format!("http://{address}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// What the child wrote on its two streams; kills it when it outlives the deadline.
fn finish(mut child: Child) -> (String, String) {
    let stdout = drain(child.stdout.take().expect("stdout is piped"));
    let stderr = drain(child.stderr.take().expect("stderr is piped"));
    let read = |stream: mpsc::Receiver<String>, child: &mut Child| {
        stream.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            child.kill().expect("the client is our child");
            panic!("the client was not done after {DEADLINE:?}");
        })
    };
    let out = (read(stdout, &mut child), read(stderr, &mut child));
    child.wait().expect("the client is our child");
    out
}

fn drain(mut stream: impl io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth showing.
        stream.read_to_end(&mut bytes).ok();
        send.send(String::from_utf8_lossy(&bytes).into_owned())
    });
    receive
}

/// What came out of a session.
#[derive(Debug)]
pub(crate) struct Run {
    /// The client's stream of events, as documented for `stream-json`.
    lines: Vec<Value>,
    stderr: String,
}

/// What the model was told about one of its calls.
#[derive(Debug)]
pub(crate) struct ToolResult {
    pub(crate) tool: String,
    /// `None` in the main conversation.
    pub(crate) agent: Option<String>,
    pub(crate) is_error: bool,
    pub(crate) text: String,
}

impl Run {
    fn of(command: &mut Command) -> Self {
        Self::finished(command.spawn().expect("the client starts"))
    }

    fn finished(child: Child) -> Self {
        let (stdout, stderr) = finish(child);
        let lines = stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("the client prints JSON lines"));
        Self {
            lines: lines.collect(),
            stderr,
        }
    }

    /// In the order in which the calls ended, subagents included.
    pub(crate) fn tool_results(&self) -> Vec<ToolResult> {
        let blocks = |kind: &'static str| {
            self.lines.iter().flat_map(move |line| {
                let blocks = line["message"]["content"].as_array().into_iter().flatten();
                blocks
                    .filter(move |block| block["type"] == kind)
                    .map(move |block| (line, block))
            })
        };
        let tools: HashMap<_, _> = blocks("tool_use")
            .map(|(_, call)| (call["id"].as_str(), call["name"].as_str()))
            .collect();
        let told = |(line, result): (&Value, &Value)| ToolResult {
            tool: tools[&result["tool_use_id"].as_str()]
                .unwrap_or_default()
                .to_owned(),
            agent: line["subagent_type"].as_str().map(str::to_owned),
            is_error: result["is_error"] == true,
            text: result["content"]
                .as_str()
                .map_or_else(|| result["content"].to_string(), str::to_owned),
        };
        blocks("tool_result").map(told).collect()
    }

    /// Whether anything that the client printed holds a text, what hooks answered included.
    pub(crate) fn holds(&self, text: &str) -> bool {
        self.lines
            .iter()
            .any(|line| line.to_string().contains(text))
    }

    /// What the main thread was given as its agents' reports.
    pub(crate) fn reports(&self) -> Vec<&str> {
        let results = self.lines.iter().map(|line| &line["tool_use_result"]);
        let reports = results.filter_map(|result| result["handbackReport"]["text"].as_str());
        reports.collect()
    }

    /// Fails unless the script was played to its end and every hook answered as one should.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        let end = self
            .lines
            .last()
            .map(|line| (&line["type"], &line["is_error"]));
        assert_eq!(
            end,
            Some((&json!("result"), &json!(false))),
            "stderr: {}\n{:#?}",
            self.stderr,
            self.lines
        );
        for answer in self
            .lines
            .iter()
            .filter(|line| line["subtype"] == "hook_response")
        {
            let good = answer["outcome"] == "success"
                && answer["exit_code"] == 0
                && answer["stderr"] == "";
            assert!(good, "a hook failed: {answer:#}");
        }
    }

    pub(crate) fn session_id(&self) -> &Value {
        self.lines
            .last()
            .map_or(&Value::Null, |line| &line["session_id"])
    }
}
