//! What the verbs print, run by trycmd. `TRYCMD=overwrite` writes what they print now; the pages
//! of the manual are edited by hand. A backslash is shown as a slash, on every system.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use regex::Regex;

use crate::support::Sandbox;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(dir: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(dir)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|found| found == ending))
        .collect()
}

/// A page of the manual as trycmd wants it: `…` stands for what is left out, and a blank line ends
/// an output. Commands that only prepare stand in comments of the page.
fn page(text: &str) -> String {
    let text = text.replace("\n$ ", "\n\n$ ").replace("\n```", "\n\n```");
    let text = text.replace("console\n\n$ ", "console\n$ ");
    let lines = Regex::new("(?m)^ *…$").unwrap();
    lines.replace_all(&text, "...").replace('…', "[..]")
}

/// The commands of one file, in a project of its own; on pages their status does not count.
fn run(file: &Path) -> Result<(), Failed> {
    let sandbox = Sandbox::new();
    let tests = trycmd::TestCases::new();
    let cases = root().join("tests/cli");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_statewarden"));
    for (name, path) in [
        ("HOME", &sandbox.home()),
        ("PROJECT", &sandbox.project()),
        ("PROGRAM", &program),
        ("CASES", &cases),
    ] {
        tests.env(name, path.to_str().unwrap());
    }
    for command in ["statewarden", "sh"] {
        tests.register_bin(command, cases.join("bin").join(command));
    }
    if file.extension().is_some_and(|ending| ending == "md") {
        let copy = sandbox.base().join(file.file_name().unwrap());
        fs::write(&copy, page(&fs::read_to_string(file).unwrap())).unwrap();
        tests.env("STATUS", "0").case(copy);
    } else {
        tests.case(file);
    }
    catch_unwind(|| tests.run()).map_err(|_| "the difference is shown above".into())
}

pub fn trials() -> Vec<Trial> {
    let mut all = files("tests/cli", "trycmd");
    all.extend(files("docs", "md"));
    all.push(root().join("README.md"));
    all.sort();
    let trial = |file: PathBuf| {
        let name = file.file_name().unwrap().to_str().unwrap();
        let name = name.trim_end_matches(".trycmd");
        Trial::test(format!("cli::{name}"), move || run(&file))
    };
    all.into_iter().map(trial).collect()
}
