//! Which paths are governed: roots, sites, and what links make of them.

mod roots;

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Ran, Sandbox};

/// A Write of the main thread; absolute paths stand as they are.
fn write(sandbox: &Sandbox, path: &str) -> String {
    sandbox.hook(&event(sandbox, path)).decision()
}

pub(crate) fn event(sandbox: &Sandbox, path: &str) -> serde_json::Value {
    sandbox.event("Write", json!({ "file_path": path, "content": "x\n" }))
}

#[track_caller]
pub(crate) fn check(sandbox: &Sandbox, cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        assert_eq!(write(sandbox, path), *expected, "{path}");
    }
}

#[track_caller]
pub(crate) fn check_by(sandbox: &Sandbox, agent: &str, cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        let found = sandbox.hook(&sandbox.by(agent, event(sandbox, path)));
        assert_eq!(found.decision(), *expected, "{path} by {agent}");
    }
}

pub(crate) fn make(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

pub(crate) const NUMBERED: &str = "# Tasks\n\n## 1. Login\n\n- [ ] 1.1 Form\n";
