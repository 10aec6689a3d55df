//! What hooks add to a whole session: the real client makes the same tool
//! calls under each set of hooks in turn, and the time from a call to its result is
//! taken from the client's own stream of messages.
//!
//! `benches/session` runs it where nothing but loopback can be reached.

#[path = "../tests/integration/real_client/api.rs"]
mod api;
#[path = "../tests/integration/real_client/environment.rs"]
mod environment;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use api::{Block, Script};

/// Which hooks the session has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hooks {
    None,
    /// A process that reads its stdin.
    Floor,
    Statewarden,
    /// The same with `strict: true`.
    Strict,
    /// A script for Node that knows one system's names.
    Node,
}

const ALL: [(Hooks, &str); 5] = [
    (Hooks::None, "no hooks"),
    (Hooks::Floor, "a process that does nothing"),
    (Hooks::Statewarden, "statewarden"),
    (Hooks::Strict, "statewarden, strict"),
    (Hooks::Node, "a Node script"),
];

/// Which calls a session makes.
#[derive(Clone, Copy)]
enum Workload {
    /// Thirty of a workflow: mostly code, now and then a state file.
    Mixed,
    /// Sixty commands: a third reads, a third runs a program, a third writes code.
    Bash,
}

impl Workload {
    fn named(name: &str) -> Result<Self> {
        match name {
            "mixed" => Ok(Self::Mixed),
            "bash" => Ok(Self::Bash),
            _ => bail!("`{name}` is no workload: `mixed` or `bash`"),
        }
    }

    fn calls(self) -> usize {
        match self {
            Self::Mixed => 30,
            Self::Bash => 60,
        }
    }
}

struct Setup {
    workload: Workload,
    client: PathBuf,
    programs: PathBuf,
    node: String,
    base: PathBuf,
}

impl Drop for Setup {
    fn drop(&mut self) {
        // What cannot be removed lies in the temporary directory.
        let _ = fs::remove_dir_all(&self.base);
    }
}

impl Setup {
    fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    /// Our own wiring, with another program in it.
    fn settings(&self, hooks: Hooks) -> Result<Value> {
        let program = |name: &str| self.programs.join(name).to_string_lossy().into_owned();
        let peer = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/devt.js");
        let (command, args) = match hooks {
            Hooks::None => return Ok(json!({})),
            Hooks::Floor => (program("floor"), vec![]),
            Hooks::Statewarden | Hooks::Strict => (program("statewarden"), vec!["hook"]),
            Hooks::Node => (self.node.clone(), vec![peer]),
        };
        let mut wiring: Value = serde_json::from_str(include_str!("../hooks/hooks.json"))?;
        let events = wiring["hooks"].as_object_mut().context("no events")?;
        for entry in events
            .values_mut()
            .filter_map(Value::as_array_mut)
            .flatten()
        {
            entry["hooks"][0]["command"] = json!(command);
            entry["hooks"][0]["args"] = json!(args);
        }
        Ok(wiring)
    }

    fn script(&self) -> Script {
        let rounds = 0..self.workload.calls() / 6;
        let mut main: Vec<Vec<Block>> = rounds
            .flat_map(|round| match self.workload {
                Workload::Mixed => self.mixed(round),
                Workload::Bash => bash(round),
            })
            .map(|(tool, input)| vec![Block::Call { tool, input }])
            .collect();
        main.push(vec![Block::Text("done")]);
        Script::of_main(main)
    }

    /// Six calls of an agent in a workflow.
    fn mixed(&self, round: usize) -> Vec<(&'static str, Value)> {
        let path = |below: &str| self.project().join(below);
        let source = path(&format!("src/part_{round}.rs"));
        let [runs, writes] = [
            format!("make --version | head -n {round}"),
            "for f in src/*.rs; do wc -l \"$f\"; done > lines.txt".to_owned(),
        ];
        vec![
            ("Bash", json!({ "command": runs })),
            (
                "Write",
                json!({ "file_path": source, "content": "fn main() {}\n".repeat(60) }),
            ),
            ("Read", json!({ "file_path": source })),
            (
                "Edit",
                json!({ "file_path": source, "old_string": "fn main() {}", "new_string": "fn run() {}", "replace_all": true }),
            ),
            ("Bash", json!({ "command": writes })),
            (
                "Write",
                json!({ "file_path": path(".devt/state/scratchpad.md"), "content": format!("thought {round}\n") }),
            ),
        ]
    }

    fn prepare(&self, hooks: Hooks) -> Result<()> {
        // The first session has nothing to clear.
        let _ = fs::remove_dir_all(&self.base);
        for dir in [
            "home",
            "project/.devt/state",
            "project/.claude",
            "project/src",
            "project/.git",
        ] {
            fs::create_dir_all(self.base.join(dir))?;
        }
        fs::write(self.project().join(".git/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(
            self.project().join(".devt/state/workflow.yaml"),
            "workflow_id: w-1\nactive: true\n",
        )?;
        if hooks == Hooks::Strict {
            let config = self.base.join("home/.config/statewarden");
            fs::create_dir_all(&config)?;
            fs::write(config.join("config.yaml"), "strict: true\n")?;
        }
        let settings = self.project().join(".claude/settings.json");
        Ok(fs::write(settings, self.settings(hooks)?.to_string())?)
    }

    /// How long each call of one session took.
    fn session(&self, hooks: Hooks) -> Result<Vec<Duration>> {
        self.prepare(hooks)?;
        let address = api::serve(self.script())?;
        let mut child = Command::new(&self.client)
            .args(["-p", "go", "--output-format", "stream-json", "--verbose"])
            .arg("--dangerously-skip-permissions")
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.base.join("home"))
            .env("TMPDIR", self.base.join("home"))
            .env("ANTHROPIC_BASE_URL", format!("http://{address}"))
            .envs(environment::ENVIRONMENT)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = child.stdout.take().context("no stdout")?;
        let mut begun = HashMap::new();
        let mut took = Vec::new();
        for line in BufReader::new(stdout).lines() {
            let now = Instant::now();
            let message: Value = serde_json::from_str(&line?)?;
            for block in message["message"]["content"]
                .as_array()
                .into_iter()
                .flatten()
            {
                match block["type"].as_str() {
                    Some("tool_use") => drop(begun.insert(block["id"].clone(), now)),
                    Some("tool_result") => {
                        let at = begun
                            .get(&block["tool_use_id"])
                            .context("a result of no call")?;
                        ensure!(block["is_error"] != true, "a call failed: {block}");
                        took.push(now - *at);
                    }
                    _ => {}
                }
            }
        }
        child.wait()?;
        ensure!(
            took.len() == self.workload.calls(),
            "{} of {} calls were made",
            took.len(),
            self.workload.calls()
        );
        Ok(took)
    }
}

/// Six commands of an agent.
fn bash(round: usize) -> Vec<(&'static str, Value)> {
    [
        "ls -la src | head -n 20".to_owned(),
        format!("make --version | head -n {round}"),
        format!("mkdir -p src && echo 'fn main() {{}}' > src/part_{round}.rs"),
        format!("grep -n main src/part_{round}.rs"),
        "make --version 2>&1 | tail -n 3".to_owned(),
        format!("sed -i 's/main/run/' src/part_{round}.rs"),
    ]
    .map(|command| ("Bash", json!({ "command": command })))
    .into()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut next = |what: &'static str| args.next().context(what);
    let setup = Setup {
        programs: Path::new(&next("name the directory of the programs")?).canonicalize()?,
        client: next("name the client")?.into(),
        node: next("name the interpreter of the Node script")?,
        workload: Workload::named(&next("name the workload")?)?,
        base: std::env::temp_dir().join(format!("statewarden-session-{}", std::process::id())),
    };
    let rounds: usize = next("give the number of rounds")?.parse()?;
    // Of each session the mean of its calls, in ms.
    let mut means: HashMap<&str, Vec<f64>> = HashMap::new();
    for _ in 0..rounds {
        for (hooks, name) in ALL {
            let took = setup.session(hooks)?;
            let total: Duration = took.iter().sum();
            let mean = total.as_secs_f64() * 1e3 / setup.workload.calls() as f64;
            means.entry(name).or_default().push(mean);
        }
    }
    println!("| hooks | added ms per call | ms per call |\n|---|--:|--:|");
    let mut bare = 0.0;
    for (hooks, name) in ALL {
        let each = median(means.get_mut(name).context("no session")?);
        if hooks == Hooks::None {
            bare = each;
        }
        println!("| {name} | {:.1} | {each:.1} |", each - bare);
    }
    Ok(())
}
