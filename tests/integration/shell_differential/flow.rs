//! Branches, loops and functions that are left early, against Bash: whatever the
//! conditions come to in a run, what it writes was a target.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::grammar::Random;
use super::{Predicted, files};
use crate::support::{Sandbox, in_parallel};

const N_SCRIPTS: u64 = 300;

/// How often each script runs, with other conditions each time.
const N_RUNS: usize = 8;

/// How many conditions there are: variables that are set or not.
const N_CONDITIONS: usize = 4;

/// Where in a script a statement stands.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    in_loop: bool,
    in_function: bool,
}

struct Writer {
    random: Random,
    n_names: usize,
}

impl Writer {
    fn condition(&mut self) -> String {
        format!("[ \"$C{}\" ]", self.random.below(N_CONDITIONS))
    }

    fn list(&mut self, place: Place) -> String {
        let n = 1 + self.random.below(3);
        let statements: Vec<String> = (0..n).map(|_| self.statement(place)).collect();
        statements.join("; ")
    }

    fn plain(&mut self, place: Place) -> String {
        self.n_names += 1;
        let n = self.n_names;
        match self.random.below(8) {
            0 => format!("cd $T/d{}", self.random.below(3)),
            1 => format!("A=a{n}"),
            2 if place.in_loop => "break".to_owned(),
            3 if place.in_loop => "continue".to_owned(),
            4 if place.in_function => "return".to_owned(),
            5 if place.depth > 1 => "exit".to_owned(),
            _ => format!("touch $A.{n}"),
        }
    }

    fn statement(&mut self, place: Place) -> String {
        if place.depth == 3 {
            return self.plain(place);
        }
        let inner = Place {
            depth: place.depth + 1,
            ..place
        };
        let condition = self.condition();
        match self.random.below(10) {
            0 => format!(
                "if {condition}; then {}; else {}; fi",
                self.list(inner),
                self.list(inner)
            ),
            1 => format!("if {condition}; then {}; fi", self.list(inner)),
            2 => format!(
                "case \"$C{}\" in x) {};; *) {};; esac",
                self.random.below(N_CONDITIONS),
                self.list(inner),
                self.list(inner)
            ),
            3 => format!("{condition} && {}", self.plain(inner)),
            4 => format!("{condition} || {}", self.plain(inner)),
            5 => {
                let body = self.list(Place {
                    in_loop: true,
                    ..inner
                });
                format!("for i in 1 2; do {body}; done")
            }
            6 => {
                let body = self.list(Place {
                    in_loop: false,
                    in_function: true,
                    ..inner
                });
                self.n_names += 1;
                format!("f{0}() {{ {body}; }}; f{0}", self.n_names)
            }
            _ => self.plain(place),
        }
    }
}

/// A script, and the files that its runs made and that were no targets.
fn misses(seed: &u64) -> (String, BTreeSet<String>) {
    let mut writer = Writer {
        random: Random::new(*seed),
        n_names: 0,
    };
    let sandbox = Sandbox::new();
    let top = sandbox.path("top");
    let mut script = format!("T={top}; A=a\n");
    let place = Place {
        depth: 0,
        in_loop: false,
        in_function: false,
    };
    for _ in 0..2 {
        writeln!(script, "{}", writer.statement(place)).unwrap();
    }
    let predicted = Predicted::of(&script, &top, "/nowhere");
    let mut missed = BTreeSet::new();
    for _ in 0..N_RUNS {
        for dir in ["d0", "d1", "d2"] {
            fs::create_dir_all(format!("{top}/{dir}")).unwrap();
        }
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(&top).env_clear();
        for condition in 0..N_CONDITIONS {
            if writer.random.below(2) == 1 {
                bash.env(format!("C{condition}"), "x");
            }
        }
        let ran = bash
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(ran.stderr.is_empty(), "{ran:?}\n{script}");
        let mut made = BTreeSet::new();
        files(Path::new(&top), "", &mut made);
        missed.extend(
            made.into_iter()
                .filter(|path| path.contains('.') && !predicted.has(path)),
        );
        fs::remove_dir_all(&top).unwrap();
    }
    (script, missed)
}

#[test]
fn what_a_branch_leaves_early_is_not_lost() {
    let seeds: Vec<u64> = (0..N_SCRIPTS).collect();
    let found = in_parallel(&seeds, misses);
    let found: Vec<_> = found
        .iter()
        .filter(|(_, missed)| !missed.is_empty())
        .collect();
    assert!(found.is_empty(), "{} scripts: {found:#?}", found.len());
}
