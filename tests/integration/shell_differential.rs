//! The analyser against Bash itself: commands of a small grammar are run in an
//! empty directory, and every file Bash makes must be among the targets, and
//! every file among the targets must have been made.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use statewarden::shell::{Disk, Scene, analyze};
use statewarden::target::Act;

/// The directory of a run before it: empty.
struct Empty;

impl Disk for Empty {
    fn entries(&self, _dir: &str) -> Vec<String> {
        Vec::new()
    }

    fn is_dir(&self, _path: &str) -> bool {
        false
    }

    fn text(&self, _path: &str) -> Option<String> {
        None
    }
}

/// A small generator of reproducible numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap_or(0)
    }

    fn pick<'t>(&mut self, items: &[&'t str]) -> &'t str {
        items[self.below(items.len())]
    }
}

/// Writes commands whose every write happens: no branch is left out.
struct Grammar {
    random: Random,
    n_names: usize,
}

impl Grammar {
    fn name(&mut self) -> String {
        self.n_names += 1;
        format!("f{}", self.n_names)
    }

    /// One file name in one of the ways to write it.
    fn word(&mut self) -> String {
        let name = self.name();
        let (head, tail) = name.split_at(1);
        match self.random.below(10) {
            0 => format!("'{name}'"),
            1 => format!("\"{name}\""),
            2 => format!("{head}\"{tail}\""),
            3 => format!("\\{name}"),
            4 => format!("$'\\x66{tail}'"),
            5 => format!("$(echo {name})"),
            6 => format!("`echo {name}`"),
            7 => format!("${{UNSET_NAME:-{name}}}"),
            8 => format!("{head}\\\n{tail}"),
            _ => name,
        }
    }

    fn noise(&mut self) -> &'static str {
        self.random.pick(&[
            "echo 'a > quoted1'",
            "echo \"b > quoted2; touch quoted3\"",
            "echo c \\> quoted4",
            ": # > comment1",
            "[[ a < b ]]",
            "(( 2 > 1 ))",
            "echo $(( 3 > 2 ))",
            "echo x 2>&1",
            "echo x >/dev/null 2>&1",
            "cat <<'END'\n> heredoc1\ntouch heredoc2\nEND",
            "cat <<END\n> heredoc3 \\$(touch heredoc4)\nEND",
            "unused() { touch never1; }",
            "VAR='touch never2'",
            "case x in y) touch never3 ;; esac",
        ])
    }

    fn simple(&mut self) -> String {
        let word = self.word();
        match self.random.below(16) {
            0 => format!("echo hi > {word}"),
            1 => format!("echo hi >>{word}"),
            2 => format!("> {word} echo hi"),
            3 => format!("echo hi &> {word}"),
            4 => format!("echo hi >& {word}"),
            5 => format!("echo hi 3<> {word}"),
            6 => format!("touch {word}"),
            7 => format!("echo hi | tee {word} >/dev/null"),
            8 => format!("cat > {word} <<'END'\n$(touch never4)\nEND"),
            9 => format!("cat <<END > {word}\n$(echo text)\nEND"),
            10 => format!("cat > {word} <<< text"),
            11 => format!("cp /dev/null {word}"),
            12 => format!("dd of={word} if=/dev/null 2>/dev/null"),
            13 => {
                let (a, b) = (self.name(), self.name());
                format!("touch {{{a},{b}}} {word}")
            }
            14 => format!("X={word}; touch \"$X\""),
            _ => format!("echo hi 2> {word} >/dev/null"),
        }
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple();
        }
        let inner = self.command(depth - 1);
        match self.random.below(20) {
            0 => format!("{{ {inner}\n}}"),
            1 => format!("( {inner}\n)"),
            2 => format!("if true; then {inner}\nfi"),
            3 => format!("for i in 1; do {inner}\ndone"),
            4 => format!("while true; do {inner}\nbreak; done"),
            5 => format!("case a in a) {inner}\n;; esac"),
            6 => format!("fn{depth}() {{ {inner}\n}}; fn{depth}"),
            7 => format!("echo $( {inner}\n)"),
            8 => format!("{inner}\n{}", self.noise()),
            9 => format!("{}\n{inner}", self.noise()),
            10 => {
                let other = self.command(depth - 1);
                format!("{inner}\n{other}")
            }
            11 => format!("true && {{ {inner}\n}}"),
            12 => format!("eval \"$(cat <<'EVAL{depth}'\n{inner}\nEVAL{depth}\n)\""),
            13 => format!("bash <<'NEST{depth}'\n{inner}\nNEST{depth}"),
            14 => format!("! {{ {inner}\n}}"),
            15 => {
                let dir = self.name();
                format!("mkdir {dir} && cd {dir}\n{inner}\ncd ..")
            }
            16 => {
                let dir = self.name();
                format!("mkdir {dir}; ( cd {dir}; {inner}\n)")
            }
            17 => {
                let (a, b) = (self.name(), self.name());
                format!("for n in {a} {b}; do touch \"$n\"; done\n{inner}")
            }
            18 => {
                let (a, b) = (self.name(), self.name());
                format!("echo {a} {b} | xargs touch\n{inner}")
            }
            _ => inner,
        }
    }
}

fn files(dir: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        found.insert(name.clone());
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), &format!("{name}/"), found);
        }
    }
}

fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

#[test]
fn bash_makes_exactly_the_predicted_files() {
    let base = std::env::temp_dir().join(format!("shell-differential-{}", std::process::id()));
    let mut grammar = Grammar {
        random: Random(2026),
        n_names: 0,
    };
    for round in 0..300 {
        let depth = round % 5;
        let command = grammar.command(depth);
        let dir = base.join(round.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        let cwd = dir.to_str().unwrap();
        let ran = Command::new("bash")
            .args(["-c", &command])
            .current_dir(&dir)
            .output();
        let errors = String::from_utf8_lossy(&ran.unwrap().stderr).into_owned();
        assert!(
            errors.is_empty(),
            "bash refused the command: {errors}\n{command}"
        );

        let mut made = BTreeSet::new();
        files(&dir, "", &mut made);
        let scene = Scene {
            cwd,
            home: None,
            project_dir: None,
            disk: &Empty,
        };
        let makes = |act| matches!(act, Act::Write | Act::Edit | Act::MakeDir);
        let found = analyze(&command, &scene).targets.into_iter();
        let predicted: BTreeSet<String> = found
            .filter(|target| makes(target.act))
            .filter_map(|target| {
                Some(
                    clean(&target.path)
                        .strip_prefix(&format!("{}/", clean(cwd)))?
                        .to_owned(),
                )
            })
            .collect();
        assert_eq!(predicted, made, "{command}");
    }
    std::fs::remove_dir_all(&base).unwrap();
}
