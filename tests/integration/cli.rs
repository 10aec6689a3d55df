//! What the verbs print: the cases of `tests/cli`, run by trycmd. `TRYCMD=overwrite` writes what
//! they print now. A backslash is shown as a slash, on every system.

#![cfg(unix)]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::support::{Sandbox, in_parallel};

fn files(cases: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cases).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|ending| ending == "trycmd"))
        .collect()
}

/// The lines of one file, in a project of its own.
fn passes(file: &Path, cases: &Path) -> bool {
    let sandbox = Sandbox::new();
    let tests = trycmd::TestCases::new();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_statewarden"));
    for (name, path) in [
        ("HOME", &sandbox.home()),
        ("PROJECT", &sandbox.project()),
        ("PROGRAM", &program),
        ("CASES", &cases.to_owned()),
    ] {
        tests.env(name, path.to_str().unwrap());
    }
    for command in ["statewarden", "sh"] {
        tests.register_bin(command, cases.join("bin").join(command));
    }
    tests.case(file);
    catch_unwind(|| tests.run()).is_ok()
}

#[test]
fn the_verbs_print_what_the_cases_show() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let files = files(&cases);
    let passed = in_parallel(&files, |file| passes(file, &cases));
    let failed = files.iter().zip(passed).filter(|(_, passed)| !passed);
    let failed: Vec<&PathBuf> = failed.map(|(file, _)| file).collect();
    assert!(failed.is_empty(), "see above: {failed:?}");
}
