//! Work trees of the project, inside and beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::{make, text};
use crate::support::{Ran, Sandbox};

/// Makes a directory look like a linked work tree of the project.
fn work_tree(sandbox: &Sandbox, dir: &Path, gitdir: &str) {
    make(dir);
    let name = text(Path::new(dir.file_name().unwrap()));
    make(&sandbox.project().join(".git/worktrees").join(name));
    fs::write(dir.join(".git"), format!("gitdir: {gitdir}\n")).unwrap();
}

/// All three verbs take this file.
const LEFT: &str = ".devt/state/review-lane-api.json";

#[test]
fn what_changes_state_acts_on_one_root() {
    let sandbox = Sandbox::new();
    let (main, beside) = (sandbox.project(), sandbox.base().join("beside"));
    let (client, inner) = (main.join(".claude/worktrees/ag"), main.join("trees/in"));
    for tree in [&client, &inner, &beside] {
        let name = text(Path::new(tree.file_name().unwrap()));
        work_tree(
            &sandbox,
            tree,
            &sandbox.path(&format!(".git/worktrees/{name}")),
        );
    }
    let dirs = [
        ("main", main.clone()),
        ("package", main.join("packages/web")),
        ("client", client.clone()),
        ("inner", inner.clone()),
        ("beside", beside.clone()),
    ];
    for (from, given, gone) in [
        (&main, None, &["main"][..]),
        (&client, None, &["client"]),
        (&inner, None, &["inner"]),
        (&beside, None, &["beside"]),
        (&main, Some(&client), &["client"]),
        (&sandbox.home(), Some(&beside), &["beside"]),
        (&inner, Some(&main), &["main"]),
    ] {
        for args in ["reset", "cleanup --apply", "sweep --apply"] {
            for (_, dir) in &dirs {
                make(&dir.join(".devt/state"));
                fs::write(dir.join(LEFT), "{}\n").unwrap();
            }
            let mut command = sandbox.command(args);
            if let Some(given) = given {
                command.arg("--project").arg(given);
            } else {
                command.env("CLAUDE_PROJECT_DIR", &main);
            }
            let ran = Ran::from(command.current_dir(from).output().unwrap());
            assert_eq!(ran.code(), 0, "{}", ran.stderr());
            let left =
                |(name, dir): &(&'static str, PathBuf)| (!dir.join(LEFT).exists()).then_some(*name);
            let found: Vec<_> = dirs.iter().filter_map(left).collect();
            assert_eq!(found, gone, "{args:?} from {from:?} with {given:?}");
            let all = format!("{args} --all");
            sandbox.run(&all).ends(0);
            // A work tree beside the project is only seen from there.
            let remaining: Vec<_> = dirs
                .iter()
                .filter(|(_, dir)| dir.join(LEFT).exists())
                .collect();
            assert!(
                remaining.iter().all(|(name, _)| *name == "beside"),
                "{remaining:?}"
            );
        }
    }
}
