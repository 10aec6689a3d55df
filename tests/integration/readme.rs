//! The shell blocks of README, pasted one after another by somebody with a fresh home.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Ran, Sandbox, assert_has};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PROGRAM: &str = env!("CARGO_BIN_EXE_statewarden");

/// The blocks of commands, without their comments.
fn blocks() -> Vec<String> {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let inside = readme.split("```").skip(1).step_by(2);
    let shell = inside.filter_map(|block| block.strip_prefix("sh\n"));
    shell.map(|block| block.trim().to_owned()).collect()
}

/// Compilers that have compiled already: what is built is the program under test.
fn tools(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let cargo = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --target-dir ]; do shift; done\n\
         mkdir -p \"$2/release\" && cp '{PROGRAM}' \"$2/release/statewarden\"\n"
    );
    let rustc = "#!/bin/sh\n[ \"$1\" = -vV ] && echo 'host: a-b-c'\n";
    for (name, text) in [("cargo", &*cargo), ("rustc", rustc)] {
        let file = dir.join(name);
        fs::write(&file, text).unwrap();
        Command::new("chmod").arg("+x").arg(file).status().unwrap();
    }
}

/// One block, as `sh` runs it in the checkout or in the project.
fn paste(sandbox: &Sandbox, block: &str) -> Ran {
    let (home, tools) = (sandbox.home(), sandbox.base().join("tools"));
    let path = format!(
        "{}:{}/.local/bin:/usr/bin:/bin",
        tools.display(),
        home.display()
    );
    let is_of_checkout = block.starts_with("./") || block.starts_with(".ci/");
    let dir = if is_of_checkout {
        PathBuf::from(ROOT)
    } else {
        home.join("app")
    };
    let mut shell = Command::new("sh");
    shell.args(["-ec", block]).current_dir(dir).env_clear();
    shell.envs(sandbox.surroundings()).env("PATH", path);
    shell.env("CARGO_TARGET_DIR", sandbox.base().join("target"));
    Ran::from(shell.stdin(Stdio::null()).output().unwrap())
}

#[cfg(unix)]
#[test]
fn every_block_of_the_readme_can_be_pasted() {
    let sandbox = Sandbox::new();
    tools(&sandbox.base().join("tools"));
    for dir in ["app/.git", ".claude/projects/-home-ann-app"] {
        fs::create_dir_all(sandbox.home().join(dir)).unwrap();
    }
    let past = sandbox
        .home()
        .join(".claude/projects/-home-ann-app/s-1.jsonl");
    let said = r#"{"type":"assistant","message":{"content":[]}}"#;
    fs::write(past, said).unwrap();
    let (tests, commands): (Vec<_>, Vec<_>) =
        blocks().into_iter().partition(|block| block == ".ci/test");
    assert_eq!(tests.len(), 1);
    let is_there = |file: &str| Path::new(ROOT).join(file).is_file();
    assert!(is_there(".ci/test") && is_there("install.sh"));

    let (install, others) = commands.split_first().unwrap();
    assert_eq!(install, "./install.sh --project ~/app");
    let said = paste(&sandbox, install).ends(0).stdout();
    assert_has(
        &said,
        "guarded here: nothing yet: no state directory of devt, ",
    );
    assert_has(&said, "\nhealthy\n");
    assert!(!said.contains("PATH="), "{said}");
    assert_has(&said, "denied:  a write of");
    let lines = others.iter().flat_map(|block| block.lines());
    for line in lines {
        paste(&sandbox, line).ends(0);
    }
    assert!(!sandbox.home().join(".local").exists());
    assert!(!sandbox.home().join("app/.claude").exists());
}

/// Nothing is published: no word that is to be replaced looks like a place.
#[test]
fn no_document_names_a_place_that_is_not_there() {
    for document in ["README.md", "docs/install.md"] {
        let text = fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
        for word in ["OWNER", "REPOSITORY", "example.com"] {
            assert!(!text.contains(word), "{document} has `{word}`");
        }
    }
}
