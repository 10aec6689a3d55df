//! Commands that only read, in patterns that Bash reads with `extglob` only, or zsh alone.

use crate::support::Sandbox;

const PATTERNS: [&str; 15] = [
    "*(N)",
    "*.md(N)",
    "*(om[1,3]N)",
    "*(.om)",
    "*(/)",
    "*(-.)",
    "*(Lk+1)",
    "*~*b(/N)",
    "**/*.md(.N)",
    "*.md(#qN)",
    "!(plan).md",
    "+(plan|spec)*",
    "@(plan|spec).md",
    "?(x)*.md",
    "[a-z]*(N^/)",
];

const READERS: [&str; 7] = [
    "cat",
    "wc -l",
    "head -n 3",
    "tail -n 1",
    "grep -c x",
    "stat",
    "ls -la",
];

fn forms(reader: &str, pattern: &str) -> [String; 3] {
    let files = format!(".devt/state/{pattern}");
    [
        format!("{reader} {files} 2>/dev/null | sort | uniq -c"),
        format!("for f in {files}; do {reader} $f; done"),
        format!("for f ({files}) {reader} $f"),
    ]
}

#[test]
fn patterns_of_other_shells_are_no_reason_to_deny_what_only_reads() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/plan.md", "x\n");
    let pairs = READERS
        .into_iter()
        .flat_map(|reader| PATTERNS.map(|pattern| (reader, pattern)));
    let commands: Vec<String> = pairs
        .flat_map(|(reader, pattern)| forms(reader, pattern))
        .collect();
    assert_eq!(commands.len(), 315);
    for command in commands {
        let ran = sandbox.hook(&sandbox.bash_event(&command));
        assert_eq!(ran.said(), "", "{command}");
    }
}
