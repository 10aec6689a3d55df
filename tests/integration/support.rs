//! A project of its own for every test, and the program run in it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

/// The denials in the project's devt site.
pub const DEVT: &str = ".devt/state/preflight-denies.jsonl";
pub const DENIES: &str = ".claude/statewarden/denies.jsonl";
pub const EVENTS: &str = ".claude/statewarden/events.jsonl";
pub const GATES: &str = ".claude/statewarden/gates.jsonl";

/// A temporary directory with a home and a project; gone with the value.
pub struct Sandbox {
    base: PathBuf,
    /// Further environment of every run.
    pub env: Vec<(&'static str, String)>,
}

impl Sandbox {
    /// A project with an empty devt state directory.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "warden-test-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        // Links on the way to the temporary directory would show in paths.
        let base = fs::canonicalize(std::env::temp_dir()).unwrap().join(name);
        fs::create_dir_all(base.join("home")).unwrap();
        fs::create_dir_all(base.join("tmp")).unwrap();
        fs::create_dir_all(base.join("project/.devt/state")).unwrap();
        Self {
            base,
            env: Vec::new(),
        }
    }

    /// The environment of every process in the sandbox: it sees no project, settings or git
    /// configuration of this machine.
    pub fn surroundings(&self) -> [(&'static str, PathBuf); 10] {
        let base = || self.base.clone();
        [
            ("HOME", self.home()),
            ("USERPROFILE", self.home()),
            ("TMPDIR", self.base.join("tmp")),
            ("PATH", PathBuf::from("/usr/bin:/bin")),
            ("STATEWARDEN_CEILING", base()),
            ("STATEWARDEN_ETC", self.base.join("etc")),
            ("GIT_CEILING_DIRECTORIES", base()),
            ("GIT_CONFIG_NOSYSTEM", PathBuf::from("1")),
            ("GIT_CONFIG_GLOBAL", self.base.join("etc/gitconfig")),
            ("GIT_TERMINAL_PROMPT", PathBuf::from("0")),
        ]
    }

    pub fn home(&self) -> PathBuf {
        self.base.join("home")
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    /// A path in the project, as text.
    pub fn path(&self, below: &str) -> String {
        self.project().join(below).to_str().unwrap().to_owned()
    }

    /// Writes a file of the project, with the directories above it.
    pub fn write(&self, below: &str, text: &str) {
        let path = self.project().join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes an entry this many seconds old; a negative age lies in the future.
    pub fn set_age(&self, below: &str, seconds: i64) {
        let span = Duration::from_secs(seconds.unsigned_abs());
        let now = SystemTime::now();
        let time = if seconds < 0 { now + span } else { now - span };
        let path = self.project().join(below);
        let file = fs::File::open(path).unwrap();
        file.set_modified(time).unwrap();
    }

    /// Writes a file of the project that is this many seconds old.
    pub fn write_aged(&self, below: &str, text: &str, seconds: i64) {
        self.write(below, text);
        self.set_age(below, seconds);
    }

    /// The names in a directory of the project, in order; none without one.
    pub fn names(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.project().join(below))
            .into_iter()
            .flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub fn read(&self, below: &str) -> String {
        fs::read_to_string(self.project().join(below)).unwrap()
    }

    pub fn exists(&self, below: &str) -> bool {
        fs::symlink_metadata(self.project().join(below)).is_ok()
    }

    /// The folder of the recorder's memory: in git's directory, else the user's.
    pub fn memory(&self) -> PathBuf {
        let in_git = self.project().join(".git/statewarden");
        if in_git.exists() {
            return in_git;
        }
        let of_user = self.home().join(".local/state/statewarden");
        let roots = fs::read_dir(&of_user).into_iter().flatten().flatten();
        let mut roots = roots.map(|root| root.path());
        let ours = roots.find(|root| {
            let name = root.file_name().unwrap().to_string_lossy();
            name.starts_with("project-")
        });
        ours.unwrap_or(of_user.join("none"))
    }

    /// The names in the memory's folder, or one in it, in order.
    pub fn memory_names(&self, below: &str) -> Vec<String> {
        self.names(self.memory().join(below).to_str().unwrap())
    }

    /// The records of the log of changes.
    pub fn changes(&self) -> Vec<Value> {
        self.records(self.memory().join("changes.jsonl").to_str().unwrap())
    }

    /// The program with nothing of this machine's environment.
    pub fn command(&self, line: &(impl Line + ?Sized)) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_statewarden"));
        command.args(line.words()).current_dir(self.project());
        command.env_clear().envs(self.surroundings());
        command.envs(self.env.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// What a Bash script prints in the project, with git set up as on no machine.
    #[track_caller]
    pub fn script(&self, script: &str) -> Vec<u8> {
        let mut bash = Command::new("bash");
        bash.args(["-ec", script]).current_dir(self.project());
        bash.env_clear().envs(self.surroundings());
        for role in ["AUTHOR", "COMMITTER"] {
            bash.env(format!("GIT_{role}_NAME"), "Ann");
            bash.env(format!("GIT_{role}_EMAIL"), "ann@example.org");
        }
        let ran = bash.output().unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{script}: {errors}");
        ran.stdout
    }

    pub fn run(&self, line: &(impl Line + ?Sized)) -> Ran {
        Ran(self.command(line).stdin(Stdio::null()).output().unwrap())
    }

    /// `statewarden hook` as Claude Code runs it in the project.
    pub fn hook_command(&self) -> Command {
        let mut command = self.command("hook");
        command.env("CLAUDE_PROJECT_DIR", self.project());
        command
    }

    pub fn hook_bytes(&self, bytes: &[u8]) -> Ran {
        serve(self.hook_command(), bytes)
    }

    pub fn hook(&self, event: &Value) -> Ran {
        self.hook_bytes(event.to_string().as_bytes())
    }

    /// Serves an event in a session that names another project.
    pub fn hook_of_project(&self, project: impl AsRef<Path>, event: &Value) -> Ran {
        let mut command = self.hook_command();
        command.env("CLAUDE_PROJECT_DIR", project.as_ref());
        serve(command, event.to_string().as_bytes())
    }

    /// A Bash call of the main thread in the project.
    pub fn bash_event(&self, command: &str) -> Value {
        self.event("Bash", json!({ "command": command }))
    }

    /// An event of the main thread, without what is special to its kind.
    pub fn event_of(&self, kind: &str) -> Value {
        json!({
            "session_id": "s-1",
            "transcript_path": self.home().join(".claude/projects/x/s-1.jsonl"),
            "cwd": self.project(),
            "permission_mode": "default",
            "hook_event_name": kind,
        })
    }

    /// A `PreToolUse` event of the main thread.
    pub fn event(&self, tool: &str, input: Value) -> Value {
        let mut event = self.event_of("PreToolUse");
        event["tool_name"] = tool.into();
        event["tool_input"] = input;
        event["tool_use_id"] = "toolu_1".into();
        event
    }

    /// A Write of the main thread to a path of the project.
    pub fn write_event(&self, below: &str, content: &str) -> Value {
        self.event(
            "Write",
            json!({ "file_path": self.path(below), "content": content }),
        )
    }

    /// The same event by an agent.
    pub fn by(&self, agent: &str, mut event: Value) -> Value {
        event["agent_type"] = agent.into();
        event["agent_id"] = "a-1".into();
        event
    }

    /// The same event by an actor of a table: `main` is the main thread.
    pub fn by_actor(&self, actor: &str, event: Value) -> Value {
        match actor {
            "main" => event,
            agent => self.by(agent, event),
        }
    }

    /// Serves an event; the answer is a deny code, or `allow` for silence.
    #[track_caller]
    pub fn expect(&self, event: &Value, answer: &str) {
        assert_eq!(self.hook(event).decision(), answer, "{event}");
    }

    /// Serves an event that is denied with a deny code; the reason comes back.
    #[track_caller]
    pub fn denied(&self, event: &Value, code: &str) -> String {
        self.hook(event).is_denied(code)
    }

    /// The records of a log of the project.
    pub fn records(&self, below: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.project().join(below)).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// The arguments of a command: a text that is split at its blanks, or words.
pub trait Line {
    fn words(&self) -> Vec<&str>;
}

impl Line for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Line for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl Line for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Line for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl<const N: usize> Line for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

/// Does something with every item on all cores; the results keep the order.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let shares = items.chunks(items.len().div_ceil(n_threads).max(1));
    let act_on = |share: &[T]| share.iter().map(&act).collect::<Vec<R>>();
    std::thread::scope(|scope| {
        let workers: Vec<_> = shares.map(|share| scope.spawn(|| act_on(share))).collect();
        let results = workers.into_iter().map(|worker| worker.join().unwrap());
        results.flatten().collect()
    })
}

/// Starts a command and feeds it bytes; one that is gone already reads nothing.
pub fn feed(command: &mut Command, bytes: &[u8]) -> Child {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child
}

/// Says that a test does not run here, straight to the stream: the harness hides what a
/// passing test prints.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    writeln!(io::stderr(), "skipped: {why} ({test})").expect("stderr is open");
}

/// Whether everything that `.ci/setup` installs must be here: on CI's Linux.
pub fn must_have_all() -> bool {
    cfg!(target_os = "linux") && std::env::var_os("CI").is_some()
}

/// Of the many steps of a test that goes through all there are, a developer's run takes every
/// fifth, and CI each. Five has no divisor in common with the choices of such tests.
pub fn stride() -> usize {
    if must_have_all() { 1 } else { 5 }
}

/// The same for want of what `.ci/setup` installs.
#[track_caller]
pub fn lacks(what: &str) {
    assert!(!must_have_all(), "not here, although CI is set: {what}");
    skip(what);
}

/// Makes a named pipe, which keeps whoever opens it without a thought.
#[cfg(unix)]
pub fn make_pipe(path: impl AsRef<Path>) {
    let made = Command::new("mkfifo").arg(path.as_ref()).status();
    assert!(made.unwrap().success());
}

/// Feeds bytes to a command and waits for its end.
pub fn serve(mut command: Command, bytes: &[u8]) -> Ran {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Ran(feed(&mut command, bytes).wait_with_output().unwrap())
}

/// A text holds a part.
#[track_caller]
pub fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in: {text}");
}

/// The keys of an object, in their order.
pub fn keys(object: &Value) -> Vec<&str> {
    let members = object.as_object().unwrap();
    members.keys().map(String::as_str).collect()
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A directory that a test locked away is its own to reopen; what is
        // left lies in the temporary directory.
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// What a run printed and how it ended.
pub struct Ran(Output);

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self(output)
    }
}

impl Ran {
    pub fn code(&self) -> i32 {
        self.0.status.code().expect("no signal")
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout()).unwrap_or_else(|error| panic!("{error}: {:?}", self.0))
    }

    /// The same, which ended with this code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{}", self.said());
        self
    }

    /// What it said on both streams.
    pub fn said(&self) -> String {
        format!("{}{}", self.stdout(), self.stderr())
    }

    /// No objection: nothing on either stream, exit 0.
    #[track_caller]
    pub fn is_silent(&self) {
        assert_eq!(
            (self.code(), self.stdout(), self.stderr()),
            (0, String::new(), String::new())
        );
    }

    /// Refused by JSON, whatever stands on stderr; the reason comes back.
    #[track_caller]
    pub fn reason(&self) -> String {
        let answer = self.json();
        let output = &answer["hookSpecificOutput"];
        assert_eq!(self.code(), 0, "{answer}");
        assert_eq!(output["hookEventName"], "PreToolUse", "{answer}");
        assert_eq!(output["permissionDecision"], "deny", "{answer}");
        assert!(answer.get("decision").is_none(), "{answer}");
        let reason = output["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.chars().count() < 1_200, "{reason}");
        reason.to_owned()
    }

    /// What the model is told beside its call.
    #[track_caller]
    pub fn context(&self) -> String {
        let answer = self.json();
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
        context.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Refused by JSON with this code in the reason, which comes back.
    #[track_caller]
    pub fn is_denied(&self, code: &str) -> String {
        assert_eq!(self.stderr(), "", "{}", self.stdout());
        let reason = self.reason();
        assert!(
            reason.contains(&format!("({code})")),
            "`{code}` is not in: {reason}"
        );
        reason
    }

    /// The deny code of the answer, or `allow` for silence; anything else is a defect.
    #[track_caller]
    pub fn decision(&self) -> String {
        if self.stdout().is_empty() {
            self.is_silent();
            return "allow".to_owned();
        }
        let reason = self.reason();
        let code = reason
            .split_once("is denied (")
            .and_then(|(_, rest)| rest.split_once(')'))
            .unwrap_or_else(|| panic!("no code in: {reason}"))
            .0;
        self.is_denied(code);
        code.to_owned()
    }

    /// Refused before it could be understood: exit 2, the reason on stderr.
    #[track_caller]
    pub fn is_refused_unread(&self) {
        assert_eq!(
            (self.code(), self.stdout()),
            (2, String::new()),
            "{}",
            self.stderr()
        );
        assert_eq!(self.stderr().lines().count(), 1, "{}", self.stderr());
    }

    /// Let through with one line on stderr.
    #[track_caller]
    pub fn is_complaint(&self) {
        assert_eq!(
            (self.code(), self.stdout()),
            (0, String::new()),
            "{}",
            self.stderr()
        );
        assert_eq!(self.stderr().lines().count(), 1, "{}", self.stderr());
    }
}
