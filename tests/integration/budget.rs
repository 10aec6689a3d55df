//! What the hook costs, counted: system calls over a process that only reads its stdin,
//! user instructions in proportion to a command's length, and memory. Counts are much the
//! same on every machine, so a ceiling can be tight where a time could not.
//!
//! The release build is measured: `STATEWARDEN_BUDGET_BIN` names it, with the
//! program `floor` of `benches/` beside it. Without it the test says so.

mod acts;
mod contracts;
mod entries;
mod logs;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::recorder::{after, begin, call, told};
use crate::support::{Sandbox, skip};

/// Settings of the usual kind.
const SETTINGS: &str = "# Names of this project\nsystems:\n  devt:\n    extra_names: [retro.md, \"api notes.md\"]\n    \
                        extra_globs:\n      - \"adr-[0-9]*.md\"\nlog: { max_bytes: 1048576 }\n";

/// The release build to measure; a test has nothing to do without one.
fn program() -> Option<PathBuf> {
    let program = std::env::var_os("STATEWARDEN_BUDGET_BIN").map(PathBuf::from);
    if program.is_none() {
        skip("STATEWARDEN_BUDGET_BIN names no release build; `.ci/run` makes one");
    }
    program
}

/// Events in a project with a devt directory, each with the most system calls it may take
/// over the floor; a deeper temporary directory costs some.
type Event = fn(&Sandbox) -> Value;
const CALLS: &[(&str, i64, Event)] = &[
    ("Read", -2, |sandbox| {
        sandbox.event("Read", json!({ "file_path": sandbox.path("src/a.rs") }))
    }),
    ("Bash that is understood", -2, |sandbox| {
        sandbox.bash_event("git status --short 2>&1 | tail -n 40")
    }),
    ("Bash that writes elsewhere", 30, |sandbox| {
        sandbox.bash_event("mkdir -p out && touch out/log.txt")
    }),
    ("Bash that runs programs", 78, |sandbox| {
        known(sandbox);
        sandbox.bash_event("cargo test --workspace 2>&1 | tail -n 40")
    }),
    ("1000 renames", 3_062, |sandbox| {
        let rename = |n| format!("mv docs/page-{n}.md src/module/page-{n}.md\n");
        sandbox.bash_event(&(0..1000).map(rename).collect::<String>())
    }),
    ("find to read", -2, |sandbox| {
        in_directories(sandbox, "find . -name '*.rs' | sort | head -30")
    }),
    ("find to edit 200 directories", 83, |sandbox| {
        known(sandbox);
        in_directories(sandbox, "find . -name '*.rs' | xargs sed -i 's/a/b/'")
    }),
    ("removal of 200 directories", 1_440, |sandbox| {
        known(sandbox);
        in_directories(sandbox, "rm -rf part-*/")
    }),
    ("Write elsewhere", 17, |sandbox| {
        sandbox.write_event("src/b.rs", "x\n")
    }),
    ("Write elsewhere, own settings", 21, |sandbox| {
        sandbox.write(".claude/statewarden.yaml", SETTINGS);
        sandbox.write_event("src/b.rs", "x\n")
    }),
    ("Write elsewhere, beside a call", 20, |sandbox| {
        known(sandbox);
        begin(sandbox, "main", "make");
        sandbox.write_event("src/b.rs", "x\n")
    }),
    ("allowed Write", 53, |sandbox| {
        known(sandbox);
        sandbox.write_event(".devt/state/scratchpad.md", "x\n")
    }),
    ("denied Write", 39, |sandbox| {
        sandbox.write_event(".devt/state/notes.md", "x\n")
    }),
    ("denied Write, own settings", 44, |sandbox| {
        sandbox.write(".claude/statewarden.yaml", SETTINGS);
        sandbox.write_event(".devt/state/notes.md", "x\n")
    }),
    ("after Bash", 95, after_bash),
    ("after Bash, 100 entries", 197, |sandbox| {
        for at in 0..100 {
            let entry = format!(".devt/state/review-part-{at}.md");
            sandbox.write(&entry, "# Review\n");
        }
        after_bash(sandbox)
    }),
    ("end of an agent without a gate", 26, |sandbox| {
        end_of(sandbox, "Explore", "Done.")
    }),
    ("start of a session", 197, |sandbox| {
        known(sandbox);
        sandbox.event_of("SessionStart")
    }),
    ("gate change", 250, |sandbox| {
        sandbox.write(".claude/orchestration.local.md", RUN);
        known(sandbox);
        reviewed(sandbox)
    }),
];

fn in_directories(sandbox: &Sandbox, command: &str) -> Value {
    for at in 0..200 {
        sandbox.write(&format!("part-{at}/a.rs"), "");
    }
    sandbox.bash_event(command)
}

/// The recorder has looked, and so long after the last change that nothing is in doubt.
fn known(sandbox: &Sandbox) {
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(told(&call(sandbox, "main", "make", || ())), "");
}

fn after_bash(sandbox: &Sandbox) -> Value {
    known(sandbox);
    after(&begin(sandbox, "main", "cargo test"))
}

fn end_of(sandbox: &Sandbox, agent: &str, reply: &str) -> Value {
    let mut event = sandbox.by(agent, sandbox.event("", json!({})));
    event["hook_event_name"] = "SubagentStop".into();
    event["last_assistant_message"] = reply.into();
    event
}

/// A run of which the implementation has passed.
const RUN: &str =
    include_str!("../fixtures/agent-flow/04-orchestration-after-implementation-passed.md");

/// The end of a review whose start was seen.
fn reviewed(sandbox: &Sandbox) -> Value {
    let end = end_of(sandbox, "agent-flow:Lawliet", "### Verdict: APPROVED");
    let mut start = end.clone();
    start["hook_event_name"] = "SubagentStart".into();
    sandbox.hook(&start);
    end
}

#[test]
fn an_event_takes_few_system_calls() {
    let Some(program) = program() else { return };
    let floor = program.with_file_name("floor");
    let mut over = Vec::new();
    for (name, most, event) in CALLS {
        let sandbox = Sandbox::new();
        sandbox.write("src/a.rs", "fn main() {}\n");
        let run = Run {
            event: event(&sandbox).to_string(),
            sandbox: &sandbox,
        };
        let calls = run.calls(&program, &["hook"]) - run.calls(&floor, &[]);
        eprintln!("{name}: {calls} of {most}");
        if calls > *most {
            over.push(format!("{name}: {calls}, not {most}"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

/// What a line of the file may cost: it is parsed once, and once more to prove the edit.
#[test]
fn a_gate_change_parses_its_file_once() {
    let Some(program) = program() else { return };
    const MOST: u64 = 31_000;
    let [short, long] = [0, 100].map(|n| {
        let lines: String = (0..n).map(|n| format!("note_{n}: \"text\"\n")).collect();
        let sandbox = Sandbox::new();
        let text = RUN.replacen("task: ", &format!("{lines}task: "), 1);
        sandbox.write(".claude/orchestration.local.md", &text);
        known(&sandbox);
        let run = Run {
            event: reviewed(&sandbox).to_string(),
            sandbox: &sandbox,
        };
        run.instructions(&program)
    });
    let each = (long - short) / 100;
    eprintln!("a line of a state file: {each} of {MOST} instructions");
    assert!(each <= MOST, "{each} instructions a line, not {MOST}");
}

/// So many bytes of lines of one kind.
fn numbered(len: usize, line: impl Fn(usize) -> String) -> String {
    let mut lines = String::new();
    for n in 0.. {
        lines += &line(n);
        if lines.len() >= len {
            break;
        }
    }
    lines
}

/// A command of about `len` bytes, of the lines that agents' commands are made of.
fn script(len: usize) -> String {
    const LINES: &str = "(cd src && for f in a b c; do sed -i 's/x/y/' \"$f.rs\" | tee ../log-$f.txt; done)\n\
        mkdir -p out/a && touch out/a/b out/a/c\n\
        name=value; echo \"$name\" >> out/list.txt\n\
        cd src; cd ..\n\
        grep -rn 'pattern' src | sort -u | head -n 20\n\
        cat > out/c.txt <<'EOF'\nsome text\nEOF\n";
    LINES.repeat(len / LINES.len())
}

/// A line of a script, by its number.
type Line = fn(usize) -> String;

/// Kinds of lines that a script may be full of: each has something that is kept, or searched
/// for, in the others.
const KINDS: &[(&str, Line)] = &[
    ("globs", |n| format!("rm -f out/*.tmp{n}\n")),
    ("directories", |n| {
        format!("pushd part-{n}; touch x; popd\n")
    }),
    ("searches", |n| {
        format!("grep -l v{n} src/*.rs | xargs sed -i 's/v{n}/w/'\n")
    }),
    ("trees", |n| {
        format!("find src -name '*.r{n}' -exec sed -i 's/a/b/' {{}} +\n")
    }),
    ("functions", |n| {
        format!("f{n}() {{ touch out/{n}; }}; f{n}\n")
    }),
    ("branches", |n| {
        format!("if [ \"$v\" = {n} ]; then w{n}=1; else w{n}=2; fi\n")
    }),
    ("values", |n| {
        format!("v{n}=\"$v{}/x\"; mkdir -p out/$n\n", n / 2)
    }),
    ("links", |n| format!("ln -s ../a{n} links/b{n}\n")),
    ("here-documents", |n| {
        format!("cat > out/{n} <<EOF\n$v and {n}\nEOF\n")
    }),
    ("moves", |n| {
        format!("mv docs/page-{n}.md src/page-{n}.md\n")
    }),
];

/// The same of scripts in Python.
const PYTHON: &[(&str, Line)] = &[
    ("functions", |n| {
        format!("def f{n}(a, b=1):\n    return g(a + b)\n")
    }),
    ("names", |n| {
        format!("v{n} = Path('out') / f'{{name}}-{n}.txt'\nv{n}.write_text('x')\n")
    }),
    ("entries", |n| {
        format!("table['key-{n}'] = [1, 2, {{'a': {n}}}]\n")
    }),
    ("imports", |n| {
        format!("from module{n} import name{n} as other{n}\n")
    }),
];

/// The instructions that a command's event takes.
fn cost(program: &Path, command: &str) -> u64 {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "fn main() {}\n");
    let run = Run {
        sandbox: &sandbox,
        event: sandbox.bash_event(command).to_string(),
    };
    run.instructions(program)
}

/// Commands of 20,000 bytes, each with the most instructions that it may take: of steps, and of
/// one text that is a program's argument, as the longest that agents write are.
type OfLength = fn(usize) -> String;
const LONG: &[(&str, OfLength, u64)] = &[
    ("steps", script, 29_000_000),
    (
        "a text",
        |len| {
            format!(
                "gh pr edit 1 --body '{}'",
                numbered(len, |n| format!("- step {n} of it (see `a.rs`)\n"))
            )
        },
        3_500_000,
    ),
];

#[test]
fn a_long_command_takes_few_instructions() {
    let Some(program) = program() else { return };
    let mut over = Vec::new();
    for (kind, command, most) in LONG {
        let found = cost(&program, &command(20_000));
        eprintln!("{kind}: {found} of {most}");
        if found > *most {
            over.push(format!("{kind}: {found} instructions, not {most}"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

/// Twice the command costs about twice as much: nothing in the analysis goes over what was
/// read before, which would cost four times as much.
#[test]
fn a_command_costs_in_proportion_to_its_length() {
    let Some(program) = program() else { return };
    let python = |len, line: Line| format!("python3 <<'EOF'\n{}EOF\n", numbered(len, line));
    let bash = KINDS.iter().map(|(kind, line)| {
        let [once, twice] = [14_000, 28_000].map(|len| numbered(len, line));
        (*kind, once, twice)
    });
    let python = PYTHON.iter().map(|(kind, line)| {
        let [once, twice] = [14_000, 28_000].map(|len| python(len, *line));
        (*kind, once, twice)
    });
    let mix = ("mix", script(28_000), script(56_000));
    let mut over = Vec::new();
    for (kind, once, twice) in bash.chain(python).chain([mix]) {
        let [once, twice] = [once, twice].map(|command| cost(&program, &command));
        if twice >= once * 5 / 2 {
            over.push(format!("{kind}: {once} and {twice} instructions"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

/// A large event takes up to twice its size. The room for addresses is bounded from
/// outside; a buffer that grows has half as much again that is never touched, and the C
/// library has an allocator of its own.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_by_the_event() {
    let Some(program) = program() else { return };
    const MIB: u64 = 1 << 20;
    let sandbox = Sandbox::new();
    let text = "let value = parse(\"x\", input)?;\n".repeat(5 * MIB as usize / 34);
    let own_size = fs::metadata(&program).unwrap().len();
    for (path, answer) in [
        ("src/module/b.rs", ""),
        (".devt/state/scratchpad.md", ""),
        (".devt/state/notes.md", "ad-hoc-name"),
    ] {
        sandbox.write(".devt/state/plan.md", "# Plan\n");
        let event = sandbox.base().join("event.json");
        fs::write(&event, sandbox.write_event(path, &text).to_string()).unwrap();
        let room = 3 * fs::metadata(&event).unwrap().len() + MIB;
        let limits = format!("ulimit -v {}", (own_size + room) >> 10);
        let output = limited(&sandbox, &limits, &program, &event);
        assert!(output.status.success(), "{path}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(answer), "{path}: {said}");
        assert_eq!(said.is_empty(), answer.is_empty(), "{path}: {said}");
    }
}

/// What the hook answers to the event in a file, within limits of the shell.
fn limited(sandbox: &Sandbox, limits: &str, program: &Path, event: &Path) -> Output {
    Command::new("sh")
        .args(["-c", &format!("{limits}; exec \"$0\" hook")])
        .arg(program)
        .env_clear()
        .envs(sandbox.surroundings())
        .env("CLAUDE_PROJECT_DIR", sandbox.project())
        .stdin(fs::File::open(event).unwrap())
        .output()
        .unwrap()
}

/// Values of which each is twice the one before it: the program that reads the code, its first
/// line, the one that makes value N of value M, and the last.
#[rustfmt::skip]
const GROWING: &[(&str, &str, &str, &str)] = &[
    ("python3 -", "p0='aaaaaaaa'", "pN=pM+pM", "open(p40, 'w')"),
    ("python3 -", "p0='aaaaaaaa'", "pN=f'{pM}{pM}'", "open(p40, 'w')"),
    ("python3 -", "p0=['a']", "pN=[pM, pM]", "print(p40)"),
    ("python3 -", "p0='aaaaaaaa'", "pN=os.path.join(pM, pM)", "open(p40, 'w')"),
    ("node -", "const p0='aaaaaaaa';", "const pN=pM+pM;", "fs.writeFileSync(p40, 'x');"),
    ("node -", "const p0='aaaaaaaa';", "const pN=`${pM}${pM}`;", "fs.writeFileSync(p40, 'x');"),
    ("perl -", "my $p0='aaaaaaaa';", "my $pN=$pM.$pM;", "open(F, '>', $p40);"),
    ("ruby -", "p0='aaaaaaaa'", "pN=pM+pM", "File.write(p40, 'x')"),
    ("PowerShell", "$p0 = 'aaaaaaaa'", "$pN = \"$pM$pM\"", "Set-Content $p40 x"),
    ("Bash", "p0=aaaaaaaa", "pN=$pM$pM", "touch $p40"),
];

fn growing(sandbox: &Sandbox, program: &str, [first, line, last]: [&str; 3]) -> Value {
    let lines = (1..=40).map(|n: usize| {
        let of_its_half = line.replace('M', &(n - 1).to_string());
        of_its_half.replace('N', &n.to_string()) + "\n"
    });
    let code = format!("{first}\n{}{last}\n", lines.collect::<String>());
    match program {
        "PowerShell" | "Bash" => sandbox.event(program, json!({ "command": code })),
        _ => sandbox.bash_event(&format!("{program} <<'EOF'\n{code}EOF\n")),
    }
}

/// Inputs that would take all memory, or minutes, if nothing bounded what is made of them.
const HOSTILE: &[(&str, Event)] = &[
    ("one list of a value in Python", |sandbox| {
        let (text, list) = ("a".repeat(4_000), "p, ".repeat(100_000));
        sandbox.bash_event(&format!("python3 - <<'EOF'\np='{text}'\nq=[{list}]\nEOF\n"))
    }),
    ("a sidecar of 20 MB", |sandbox| {
        let list = "1,".repeat(10_000_000);
        let text = format!("{{\"status\":\"DONE\",\"x\":[{list}1]}}");
        sandbox.write_event(".devt/state/review.json", &text)
    }),
    ("10,000 targets", |sandbox| {
        let names = (0..10_000).map(|n| format!(" .devt/state/f{n}"));
        sandbox.bash_event(&format!("touch{}", names.collect::<String>()))
    }),
    ("10,000 here-documents", |sandbox| {
        let line = |n| format!("cat > .devt/state/review-{n}.md <<EOF\na {n}\nEOF\n");
        sandbox.bash_event(&(0..10_000).map(line).collect::<String>())
    }),
    ("2,000 contract files", |sandbox| {
        for n in 0..2_000 {
            let file = format!(".claude/statewarden.d/c{n}.yaml");
            let text = format!("systems:\n  s{n}:\n    site: s{n}\n    canonical: [a.md]\n");
            sandbox.write(&file, &text);
        }
        sandbox.write_event("src/a.rs", "x\n")
    }),
    ("5,000 strays of one call", |sandbox| {
        let running = begin(sandbox, "main", "./gen");
        for n in 0..5_000 {
            sandbox.write(&format!(".devt/state/stray-number-{n}.txt"), "x");
        }
        after(&running)
    }),
    ("braces in 5,000 braces", |sandbox| {
        let (open, close) = ("{a,".repeat(5_000), "}".repeat(5_000));
        sandbox.bash_event(&format!("touch {open}b{close}"))
    }),
    ("2,000,000 braces", |sandbox| {
        sandbox.bash_event(&format!("touch {}", "{a,b}".repeat(2_000_000)))
    }),
    ("a command of 60 MB", |sandbox| {
        sandbox.bash_event(&format!("echo {}", "x".repeat(60 << 20)))
    }),
    ("a path of 500,000 directories", |sandbox| {
        sandbox.write_event(&format!(".devt/state/{}x", "a/".repeat(500_000)), "x")
    }),
    ("300 paths of 1,900 directories", |sandbox| {
        let path = "a/".repeat(1_900);
        let lines = (0..300).map(|n| format!("echo x > {path}{n}/x\n"));
        sandbox.bash_event(&lines.collect::<String>())
    }),
    ("a working directory of 200,000 directories", |sandbox| {
        let mut event = sandbox.bash_event("echo x > y; cargo test");
        event["cwd"] = sandbox.path(&"a/".repeat(200_000)).into();
        event
    }),
    ("YAML of 500,000 keys in keys", |sandbox| {
        sandbox.write_event(".devt/state/lessons.yaml", &"? ".repeat(500_000))
    }),
    ("a workflow file of 1,500,000 keys", |sandbox| {
        let keys = (0..1_500_000).map(|n| format!("k{n}: {n}\n"));
        sandbox.write_event(".devt/state/workflow.yaml", &keys.collect::<String>())
    }),
    ("YAML of 90,000 keys", |sandbox| {
        let keys = (0..90_000).map(|n| format!("key{n}: 1\n"));
        let text = format!("active: true\n{}", keys.collect::<String>());
        sandbox.write_event(".devt/state/workflow.yaml", &text)
    }),
];

/// In any build as far as memory goes; the release build has a limit of its time too, which
/// is the processor's alone. The system counts whole seconds.
#[cfg(target_os = "linux")]
#[test]
fn no_input_takes_a_second_or_256_mib() {
    let release = std::env::var_os("STATEWARDEN_BUDGET_BIN").map(PathBuf::from);
    let seconds = if release.is_some() { "2" } else { "unlimited" };
    let program = release.unwrap_or(env!("CARGO_BIN_EXE_statewarden").into());
    let own_size = fs::metadata(&program).unwrap().len();
    let room = (own_size + (256 << 20)) >> 10;
    let mut over = Vec::new();
    let mut give = |input: &str, sandbox: &Sandbox, event: &Value| {
        let file = sandbox.base().join("event.json");
        fs::write(&file, event.to_string()).unwrap();
        let limits = format!("ulimit -v {room}; ulimit -t {seconds}");
        let output = limited(sandbox, &limits, &program, &file);
        if !output.status.success() {
            over.push(format!("{input}: {output:?}"));
        }
    };
    for (input, event) in HOSTILE {
        let sandbox = Sandbox::new();
        give(input, &sandbox, &event(&sandbox));
    }
    for (program, first, line, last) in GROWING {
        let sandbox = Sandbox::new();
        give(
            line,
            &sandbox,
            &growing(&sandbox, program, [first, line, last]),
        );
    }
    assert!(over.is_empty(), "{over:#?}");
}

struct Run<'s> {
    sandbox: &'s Sandbox,
    event: String,
}

impl Run<'_> {
    /// Runs a program under another one. All of the event is in the pipe, and
    /// its writer gone, before the program starts: it fits in there.
    fn under(&self, tool: &[&str], program: &Path, args: &[&str]) -> String {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(self.event.as_bytes()).unwrap();
        drop(writer);
        let mut command = Command::new(tool[0]);
        command.args(&tool[1..]).arg(program).args(args).env_clear();
        command
            .envs(self.sandbox.surroundings())
            .env("AI_AGENT", "claude-code_2-1-331_harness");
        command
            .env("CLAUDE_PROJECT_DIR", self.sandbox.project())
            .stdin(reader);
        let output = command.stdout(Stdio::piped()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{program:?}: {errors}");
        errors
    }

    fn calls(&self, program: &Path, args: &[&str]) -> i64 {
        let log = self.sandbox.base().join("calls");
        let tool = ["strace", "-f", "-qq", "-o", log.to_str().unwrap()];
        self.under(&tool, program, args);
        fs::read_to_string(log)
            .unwrap()
            .lines()
            .count()
            .try_into()
            .unwrap()
    }

    fn instructions(&self, program: &Path) -> u64 {
        let tool = [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
        ];
        let errors = self.under(&tool, program, &["hook"]);
        let count = errors
            .lines()
            .find_map(|line| line.split_once("Collected : "));
        count
            .unwrap_or_else(|| panic!("{errors}"))
            .1
            .trim()
            .parse()
            .unwrap()
    }
}
