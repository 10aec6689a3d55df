//! What fuzzing found interesting, and what it broke, through the properties
//! that the fuzz targets check.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::support::stride;

#[path = "../../fuzz/src/lib.rs"]
mod properties;

/// Runs every file of `fuzz/corpus/TARGET` and `fuzz/regressions/TARGET`.
#[track_caller]
fn check(target: &str, property: fn(&[u8])) {
    for kind in ["corpus", "regressions"] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fuzz")
            .join(kind)
            .join(target);
        let entries = fs::read_dir(&dir).unwrap();
        let stride = if kind == "corpus" { stride() } else { 1 };
        let entries = entries.step_by(stride);
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        assert!(!paths.is_empty(), "`{}` is empty", dir.display());
        let holds = |path: &PathBuf| {
            let data = fs::read(path).unwrap();
            catch_unwind(|| property(&data)).is_ok()
        };
        paths.retain(|path| !holds(path));
        assert!(paths.is_empty(), "a property does not hold for {paths:#?}");
    }
}

#[test]
fn events() {
    check("event", properties::event);
}

#[test]
fn shell_commands() {
    check("shell", properties::shell);
}

#[test]
fn front_matter_and_other_formats() {
    check("front_matter", properties::front_matter);
}

#[test]
fn logs_and_redaction() {
    check("log", properties::log);
}
