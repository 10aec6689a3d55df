//! Events as Claude Code sends them.

use serde_json::{Value, json};

use crate::case::KIB;
use crate::site::Site;

pub fn event(site: &Site, name: &str, rest: Value) -> Value {
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

pub fn call(site: &Site, tool: &str, input: Value) -> Value {
    let rest = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_01A" });
    event(site, "PreToolUse", rest)
}

/// Source text of about `len` bytes on the wire, an escape every dozen or so.
pub fn code(len: usize) -> String {
    let line = "    let value = parse(\"x\", input)?;\n";
    line.repeat(len / (line.escape_default().count()) + 1)
}

/// A Write whose event has about `len` bytes.
pub fn write(site: &Site, below: &str, len: usize) -> Value {
    let content = code(len.saturating_sub(600));
    call(
        site,
        "Write",
        json!({ "file_path": site.path(below), "content": content }),
    )
}

/// A command of about `len` bytes that has to be parsed to its end.
pub fn command(len: usize) -> String {
    let step =
        "(cd src && for f in a b c; do sed -i 's/x/y/' \"$f.rs\" | tee ../log-$f.txt; done)\n";
    let mut command = step.repeat(len / step.len());
    command += "echo done > .devt/state/impl-summary.md";
    command
}

/// A command of 1 KiB as agents write them: few steps, and most of it a text.
pub fn steps() -> String {
    format!(
        "mkdir -p src/module && cat > src/module/new.rs <<'EOF'\n{}EOF\n\
         sed -i 's/mod old;/mod old;\\nmod new;/' src/lib.rs\n\
         cargo test --package app 2>&1 | tail -n 20\n\
         git add -A && git commit -m \"Add the module that parses\"\n",
        code(800)
    )
}

/// Other commands as agents write them: a script that edits files, a commit with a
/// message of lines, loops over files.
pub fn usual() -> [(&'static str, String); 3] {
    let edit = format!(
        "python3 - <<'EOF'\nimport pathlib\np = pathlib.Path('src/parser.rs')\ns = p.read_text()\n\
         old = \"\"\"{0}\"\"\"\nnew = \"\"\"{0}{0}\"\"\"\nassert s.count(old) == 1, s.count(old)\n\
         p.write_text(s.replace(old, new))\nfor name in ['lexer', 'token']:\n    \
         q = pathlib.Path(f'src/{{name}}.rs')\n    q.write_text(q.read_text().replace('a', 'b'))\n\
         EOF\ncargo test -q 2>&1 | tail -5\n",
        code(200)
    );
    let commit = "git add -A && git commit -q -m \"$(cat <<'EOF'\nParse numbers without a copy\n\n\
                  The parser took a copy of each number's text before it was parsed.\nEOF\n)\" \
                  && git log --oneline -3 && git status --short\n";
    let loops = "for f in src/*.rs tests/*.rs; do\n  if grep -q 'old_name' \"$f\"; then\n    \
                 sed -i 's/old_name/new_name/g' \"$f\"\n  fi\ndone\nmkdir -p out && \
                 cargo build --release 2>&1 | tee out/build.log | tail -3\nfor n in 1 2 3; do \
                 ./target/release/app --seed $n > out/run-$n.txt 2>&1 || echo \"$n failed\"; done\n\
                 diff out/run-1.txt out/run-2.txt && rm -f out/run-*.txt\n";
    [
        ("script that edits", edit),
        ("commit", commit.to_owned()),
        ("loop over files", loops.to_owned()),
    ]
}

/// Commands of 64 KiB as they come about: many steps at once, and lines that another
/// program wrote, each with a name of its own.
pub fn long() -> [(&'static str, String); 7] {
    let numbered = |line: &dyn Fn(usize) -> String| {
        let mut lines = String::new();
        for n in 0.. {
            if lines.len() >= 64 * KIB {
                break;
            }
            lines += &line(n);
        }
        lines
    };
    let renames = |n| format!("mv docs/page-{n}.md site/content/page-{n}.md\n");
    let edits = |n| format!("sed -i 's/old_name_{n}/new_name_{n}/g' src/lib.rs\n");
    let lines = |n| format!("echo 'line {n} of the report' >> report.md\n");
    let files = |n| format!("cat > src/gen/{n}.rs <<'EOF'\n{}EOF\n", code(400));
    let globs = |n| format!("rm -f build/*.tmp{n}\n");
    let functions = |n| {
        format!(
            "def step_{n}(path):\n    text = open(path).read()\n    return text.replace('a', 'b{n}')\n\n"
        )
    };
    let python = format!(
        "python3 <<'EOF'\n{}step_1('x')\nEOF\n",
        numbered(&functions)
    );
    [
        ("the steps of an agent", numbered(&|_| steps())),
        ("a Python script of functions", python),
        ("globs", numbered(&globs)),
        ("renames", numbered(&renames)),
        ("edits by sed", numbered(&edits)),
        ("lines for a report", numbered(&lines)),
        ("new files", numbered(&files)),
    ]
}

/// Commands of 64 KiB, each of one kind of line: what costs is different in each.
pub const SHAPES: [(&str, &str, &str, &str); 9] = [
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
