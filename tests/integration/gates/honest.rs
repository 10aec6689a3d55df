//! Runs of agents that do what they say, under `evidence.mode: require`: nothing is
//! refused, every gate passes, and `verify` finds each proved.

use super::*;
use crate::recorder::{after, before};
use crate::support::stride;

const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
const LINES: &str = include_str!("../../fixtures/evidence/honest.txt");

/// How many runs of each system.
const RUNS: [usize; 5] = [72, 40, 36, 36, 16];

/// The n-th run: each choice takes its own way through the numbers.
struct Run {
    stage: Stage,
    left: usize,
    n: usize,
}

impl Run {
    fn new(n: usize, stage: Stage) -> Self {
        stage.write(
            ".claude/statewarden.yaml",
            "evidence: {mode: require}\ncompletion: block\ndispatch: block\n",
        );
        Self { stage, left: n, n }
    }

    /// One of several ways to go on.
    fn one_of<T: Copy>(&mut self, ways: &[T]) -> T {
        let way = ways[self.left % ways.len()];
        self.left /= ways.len();
        way
    }

    /// A call of an actor with what it does, and nothing said before or after it.
    #[track_caller]
    fn call(&self, actor: &str, tool: &str, input: Value, act: impl FnOnce(&Stage)) {
        let event = before(&self.stage, actor, tool, input);
        let n = self.n;
        let said = self.stage.hook(&event).stdout();
        assert_eq!(said, "", "run {n}: {event}");
        act(&self.stage);
        let mut ended = after(&event);
        if tool == "Bash" {
            ended["tool_response"] = json!({"stdout": PASSED, "stderr": ""});
        }
        let said = self.stage.hook(&ended).stdout();
        assert_eq!(said, "", "run {n}, after: {event}");
    }

    #[track_caller]
    fn bash(&self, actor: &str, command: &str, act: impl FnOnce(&Stage)) {
        self.call(actor, "Bash", json!({ "command": command }), act);
    }

    /// Writes a file by a file tool, by a command that says so, or by one that does not.
    #[track_caller]
    fn write(&self, way: Way, actor: &str, file: &str, text: &str) {
        let write = |stage: &Stage| stage.write(file, text);
        match way {
            Way::Tool => {
                let input = json!({ "file_path": self.stage.path(file), "content": text });
                self.call(actor, "Write", input, write);
            }
            Way::Heredoc => {
                let command = format!("cat > {file} <<'EOF'\n{text}EOF");
                self.bash(actor, &command, write);
            }
            Way::Program => self.bash(actor, "python3 report.py", write),
        }
    }

    /// The agent's start, its work and its end; some sessions crash in between.
    #[track_caller]
    fn agent(&self, agent: &str, said: &str, work: impl FnOnce(&Self)) {
        let id = format!("id-{agent}");
        let dispatch = json!({ "subagent_type": agent, "prompt": "go" });
        let dispatch = before(&self.stage, "main", "Agent", dispatch);
        self.stage.hook(&dispatch).is_silent();
        self.stage.start(agent, &id);
        work(self);
        if self.n % 5 == 4 {
            self.stage.hook(&self.stage.event_of("SessionStart"));
        }
        let said = self
            .stage
            .hook(&self.stage.stop_event(agent, &id, said))
            .stdout();
        assert_eq!(said, "", "run {}: the end of {agent}", self.n);
    }

    /// Every gate that a run of this system has passed is proved.
    #[track_caller]
    fn is_proved(&self, system: &str) {
        let verified = self.stage.run("verify --json").ends(0).json();
        let gates = verified["gates"].as_array().unwrap();
        let passed: Vec<&Value> = gates
            .iter()
            .filter(|gate| gate["system"] == system)
            .collect();
        assert!(!passed.is_empty(), "run {}: {verified:#}", self.n);
        for gate in passed {
            assert_eq!(gate["standing"], "proved", "run {}: {gate:#}", self.n);
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Tool,
    Heredoc,
    Program,
}

const WAYS: [Way; 3] = [Way::Tool, Way::Heredoc, Way::Program];

#[test]
fn agent_flow() {
    // What is behind a second bar says why a line does not count.
    let lines: Vec<String> = LINES
        .lines()
        .filter_map(|line| line.strip_prefix("libtest | "))
        .filter(|line| !line.contains(" | "))
        .map(|line| line.replace('⏎', "\n"))
        .collect();
    for n in (0..RUNS[0]).step_by(stride()) {
        let flags: &[&[&str]] = &[&[], &["--team"], &["--force-sequential"]];
        let stage = Stage::with_run(flags[n % 3]);
        // Where some of the lines go: a command behind a `cd` that fails does not run.
        for dir in ["a", "b"] {
            stage.write(&format!("{dir}/Cargo.toml"), "");
        }
        let file = [SINGLE, TEAM, TEAM][n % 3];
        let mut run = Run::new(n, stage);
        run.left /= 3;
        let rework = run.one_of(&["", "review", "verification"]);
        let tester = run.one_of(&["Alphonse", "main", "nobody"]);
        let line = lines[n % lines.len()].as_str();
        let verify = |run: &Run, said: &str| {
            run.agent("agent-flow:Alphonse", said, |run| match tester {
                "nobody" => run.stage.write(".claude/skip-test-verification", ""),
                tester => run.bash(tester, line, |_| ()),
            });
        };
        run.agent("riko", "## Exploration\nfound", |_| ());
        run.agent("agent-flow:Senku", "a plan", |_| ());
        run.agent("Loid", "built", |run| {
            run.bash("Loid", "cargo build", |stage| stage.write("src/a.rs", "x"));
        });
        if !rework.is_empty() {
            let words = [NEEDS_CHANGES, APPROVED][usize::from(rework == "verification")];
            run.agent("lawliet", words, |_| ());
            let is_team = n % 3 == 1;
            if rework == "verification" || is_team {
                verify(
                    &run,
                    ["Overall: FAILED", VERIFIED][usize::from(rework == "review")],
                );
            }
            run.agent("Loid", "mended", |_| ());
        }
        run.agent("Lawliet", APPROVED, |_| ());
        verify(&run, VERIFIED);
        run.stage.hook(&run.stage.event_of("Stop")).is_silent();
        let standing = run.stage.standing(file);
        let log = run.stage.read(".claude/statewarden/gates.jsonl");
        let last = log.lines().last().unwrap_or_default();
        assert!(
            standing.ends_with(" closed"),
            "run {n}, `{line}`: {standing}\n{last}"
        );
        run.is_proved("agent-flow");
    }
}

/// A phase of devt: its agent, what the agent writes, and the words that pass.
const PHASES: [(&str, &str, &str, &[&str], &str); 6] = [
    (
        "implement",
        "programmer",
        "impl-summary",
        &["DONE", "DONE_WITH_CONCERNS"],
        "PASS",
    ),
    ("test", "tester", "test-summary", &["DONE"], "PASS"),
    ("review", "code-reviewer", "review", &["DONE"], "APPROVED"),
    (
        "verify",
        "verifier",
        "verification",
        &["VERIFIED"],
        "satisfied",
    ),
    ("docs", "docs-writer", "docs-summary", &["DONE"], ""),
    (
        "plan",
        "architect",
        "arch-review",
        &["DONE", "DONE_WITH_CONCERNS"],
        "",
    ),
];

#[test]
fn devt() {
    for n in (0..RUNS[1]).step_by(stride()) {
        let mut run = Run::new(n, Stage::new());
        run.stage
            .run("update active=true workflow_type=dev phase=scan")
            .ends(0);
        let way = run.one_of(&WAYS);
        let agent_of = run.one_of(&["", "devt:"]);
        let is_sent_back = run.one_of(&[false, true]);
        let phase = |run: &Run, at: usize, status: &str, verdict: &str| {
            let (phase, agent, file, ..) = PHASES[at];
            run.stage
                .run(&["update", &format!("phase={phase}")])
                .ends(0);
            let agent = format!("{agent_of}{agent}");
            run.agent(&agent, "It is done.", |run| {
                let words = "each of the files says what it does. ".repeat(40);
                let text = format!("# Report {phase}\n\n## Status\n\n{status}\n\n{words}\n");
                run.write(way, &agent, &format!(".devt/state/{file}.md"), &text);
                if !verdict.is_empty() {
                    let agent = PHASES[at].1;
                    let json = json!({"status": status, "verdict": verdict, "agent": agent});
                    let file = format!(".devt/state/{file}.json");
                    run.write(
                        way,
                        &format!("{agent_of}{agent}"),
                        &file,
                        &format!("{json}\n"),
                    );
                }
            });
            let status: Value = run.stage.run("status --json").json();
            let gate = &status["systems"][0]["gates"][0];
            (gate["name"].to_string(), gate["status"].clone())
        };
        for (at, (name, _, _, statuses, verdict)) in PHASES.iter().enumerate() {
            if *name == "review" && is_sent_back {
                assert_eq!(phase(&run, at, "DONE", "NEEDS_WORK").1, "failed", "run {n}");
                assert_eq!(phase(&run, 0, "DONE", "PASS").1, "passed", "run {n}");
            }
            let status = statuses[n % statuses.len()];
            let found = phase(&run, at, status, verdict);
            assert_eq!(found, (format!("{name:?}"), json!("passed")), "run {n}");
            run.is_proved("devt");
        }
    }
}

#[test]
fn session() {
    for n in (0..RUNS[2]).step_by(stride()) {
        let mut run = Run::new(n, Stage::new());
        let way = run.one_of(&WAYS);
        let flags = run.one_of(&["", "--fast", "--auto"]);
        let researcher = run.one_of(&["scouter", "researcher"]);
        let by_command = run.one_of(&[false, true]);
        let init = run
            .stage
            .run(&format!("session init task {flags} --json"))
            .json();
        let dir = init["file"]
            .as_str()
            .unwrap()
            .trim_end_matches("state.json")
            .to_owned();
        let report = |run: &Run, phase: &str| {
            let file = format!("{dir}{phase}-report.md");
            let way = if by_command { Way::Program } else { way };
            run.write(way, "main", &file, "# Report\n\nIt is here.\n");
            if by_command || matches!(way, Way::Program) {
                let complete = ["session", "complete", phase];
                run.stage.run(&complete).ends(0);
            }
        };
        run.agent(researcher, "found", |_| ());
        report(&run, "research");
        run.stage.run("session start plan").ends(0);
        report(&run, "plan");
        for phase in ["implement", "quality"] {
            run.stage.run(&format!("session start {phase}")).ends(0);
            run.bash("coder", "make", |stage| stage.write("src/a.rs", phase));
            run.stage.run(&format!("session complete {phase}")).ends(0);
        }
        run.agent("reviewer", "read", |_| ());
        report(&run, "review");
        let state = run.stage.read(&format!("{dir}state.json"));
        assert!(
            !state.contains("pending") && !state.contains("in_progress"),
            "run {n}: {state}"
        );
        run.stage.run("verify").ends(0);
    }
}

#[test]
fn groups() {
    for n in (0..RUNS[3]).step_by(stride()) {
        let mut run = Run::new(n, Stage::new());
        let way = run.one_of(&WAYS);
        let n_groups = run.one_of(&[1, 2, 3]);
        let is_rejected = run.one_of(&[false, true]);
        let tail = run.one_of(&["", " all of it"]);
        let change = "openspec/changes/login";
        let tasks = |n_done: usize| {
            let mark = |group| if group <= n_done { "x" } else { " " };
            let group = |group| format!("## {group}. Part\n\n- [{}] {group}.1 a\n\n", mark(group));
            (1..=n_groups).map(group).collect::<String>()
        };
        run.write(way, "architect", &format!("{change}/tasks.md"), &tasks(0));
        for group in 1..=n_groups {
            let verdict = |run: &Run, agent: &str, dir: &str, word: &str| {
                run.agent(agent, "Done.", |run| {
                    let file = format!("{change}/{dir}/{group}.md");
                    let text = format!("# Group {group}\n\n**Status:** {word}{tail}\n\n{word}.\n");
                    run.write(way, agent, &file, &text);
                });
            };
            run.agent("developer", "built", |run| {
                run.write(
                    way,
                    "developer",
                    &format!("{change}/tasks.md"),
                    &tasks(group),
                );
            });
            verdict(&run, "tester", "test-reports", "PASS");
            if is_rejected {
                verdict(&run, "reviewer", "review", "REJECTED");
                run.agent("developer", "mended", |_| ());
                verdict(&run, "tester", "test-reports", "PASS");
            }
            verdict(&run, "reviewer", "review", "APPROVED");
        }
        let groups = run.stage.run("groups --json").json();
        for group in groups["groups"].as_array().unwrap() {
            assert_eq!(group["state"], "GROUP_DONE", "run {n}: {group:#}");
        }
        run.is_proved("groups");
    }
}

/// What AgentMux's orchestrator, a program that no hook sees, writes between its agents.
#[test]
fn agentmux() {
    let state = |at: &str| {
        let file = format!("tests/fixtures/agentmux/ok-{at}.state.json");
        std::fs::read_to_string(file).unwrap()
    };
    for n in (0..RUNS[4]).step_by(stride()) {
        let mut run = Run::new(n, Stage::new());
        let dir = ".agentmux/.sessions/s";
        let way = run.one_of(&WAYS);
        let topic = run.one_of(&["code-tokens", "web-token-refresh"]);
        let steps = [
            (
                "00-created",
                "architect",
                "02_architecting/architecture.md".to_owned(),
            ),
            (
                "01c-research-dispatched",
                "researcher",
                format!("03_research/{topic}/summary.md"),
            ),
            (
                "02-architecture-written",
                "planner",
                "04_planning/plan.yaml".to_owned(),
            ),
            (
                "03-plan-written-implementing",
                "coder",
                "04_planning/tasks_1.md".to_owned(),
            ),
            (
                "06-done-3-reviewing",
                "reviewer",
                "07_review/review.yaml".to_owned(),
            ),
            (
                "09-completing",
                "reviewer",
                "08_completion/summary.md".to_owned(),
            ),
        ];
        for (at, agent, file) in steps {
            run.stage.write(&format!("{dir}/state.json"), &state(at));
            run.agent(agent, "done", |run| {
                run.write(way, agent, &format!("{dir}/{file}"), "a: b\n");
            });
        }
        run.stage.run("audit --system agentmux").ends(0);
    }
}
