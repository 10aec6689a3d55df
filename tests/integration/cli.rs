//! What the verbs print: the cases of `tests/cli`, run by trycmd. `TRYCMD=overwrite` writes what
//! they print now; the pages of the manual are edited by hand. A backslash is shown as a slash, on every system.

#![cfg(unix)]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::support::{Sandbox, in_parallel};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn ends_with(file: &Path, ending: &str) -> bool {
    file.extension().is_some_and(|found| found == ending)
}

fn files(dir: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(dir)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|file| ends_with(file, ending)).collect()
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
fn passes(file: &Path) -> bool {
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
    if ends_with(file, "md") {
        let copy = sandbox.base().join(file.file_name().unwrap());
        fs::write(&copy, page(&fs::read_to_string(file).unwrap())).unwrap();
        tests.env("STATUS", "0").case(copy);
    } else {
        tests.case(file);
    }
    catch_unwind(|| tests.run()).is_ok()
}

#[track_caller]
fn check(files: &[PathBuf]) {
    let passed = in_parallel(files, |file| passes(file));
    let failed = files.iter().zip(passed).filter(|(_, passed)| !passed);
    let failed: Vec<&PathBuf> = failed.map(|(file, _)| file).collect();
    assert!(failed.is_empty(), "see above: {failed:?}");
}

#[test]
fn the_verbs_print_what_the_cases_show() {
    check(&files("tests/cli", "trycmd"));
}

#[test]
fn the_verbs_print_what_the_manual_shows() {
    let mut pages = files("docs", "md");
    pages.push(root().join("README.md"));
    check(&pages);
}
