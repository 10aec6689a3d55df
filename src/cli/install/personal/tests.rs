#![allow(clippy::disallowed_methods)]

use std::fs;

use crate::cli::install::tests::{Temp, in_scope, project, run, unwire, wire};
use crate::cli::install::{Addition, Scope, Trial, install};

#[test]
fn personal_files_stay_out_of_commits() {
    const HEADER: &str = "# written by `statewarden install`\n";
    const CLIENT: &str = "/.claude/settings.local.json\n";
    const OURS: &str = "/.claude/statewarden.local.yaml\n";
    for (exclude, ignore, expected) in [
        (Some("# mine\n"), "", &[CLIENT, OURS][..]),
        (None, "target/\n# .claude/\n!.claude/\n", &[CLIENT, OURS]),
        (Some("x\n"), "/.claude/\n", &[]),
        (Some("x\n"), "**/.claude/*\n", &[]),
        (Some("x\n"), "*.local.*\n", &[]),
        (Some("x\n"), "*.local.json\n", &[OURS]),
        (Some("x\n"), "docs/*.local.json\n", &[CLIENT, OURS]),
        (Some(".claude/settings.local.json\n"), "", &[OURS]),
    ] {
        let temp = Temp::new();
        temp.write("project/.git/HEAD", "");
        temp.write("project/.gitignore", ignore);
        if let Some(text) = exclude {
            temp.write("project/.git/info/exclude", text);
        }
        let before = temp.tree();
        run(wire, Scope::Local, &temp);
        run(wire, Scope::Local, &temp);
        let file = temp.place().project.join(".git/info/exclude");
        let mut wanted = exclude.unwrap_or_default().to_owned();
        if !expected.is_empty() {
            wanted += HEADER;
            wanted += &expected.concat();
        }
        assert_eq!(fs::read_to_string(file).unwrap(), wanted, "{ignore}");
        run(unwire, Scope::Local, &temp);
        assert_eq!(temp.tree(), before);
    }
}

/// A work tree beside a bare repository has a folder of its own in it, and no exclude file.
#[test]
fn all_work_trees_share_one_exclude_file() {
    let temp = Temp::new();
    temp.write("bare/HEAD", "");
    temp.write("bare/worktrees/main/HEAD", "");
    temp.write("bare/worktrees/main/commondir", "../..\n");
    temp.write("project/.git", "gitdir: ../bare/worktrees/main\n");
    let before = temp.tree();
    run(wire, Scope::Local, &temp);
    let exclude = fs::read_to_string(temp.0.join("bare/info/exclude")).unwrap();
    assert!(
        exclude.contains("/.claude/settings.local.json\n"),
        "{exclude}"
    );
    assert!(!temp.0.join("bare/worktrees/main/info").exists());
    run(unwire, Scope::Local, &temp);
    assert_eq!(temp.tree(), before);
}

#[test]
fn a_trial_begins_and_ends() {
    let temp = Temp::new();
    fs::create_dir(temp.0.join("project")).unwrap();
    let before = temp.tree();
    let file = temp.place().project.join(".claude/statewarden.local.yaml");
    let in_mode = |mode| {
        let args = Addition {
            common: in_scope(Scope::Local),
            mode: Some(mode),
        };
        install(
            &args,
            &temp.place(),
            &project(&temp.place()),
            &mut Vec::new(),
        )
    };
    in_mode(Trial::Warn).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "mode: warn\n");
    in_mode(Trial::Enforce).unwrap();
    assert!(!file.exists());
    in_mode(Trial::Warn).unwrap();
    run(unwire, Scope::Local, &temp);
    assert_eq!(temp.tree(), before);
    temp.write("project/.claude/statewarden.local.yaml", "undo: off\n");
    for mode in [Trial::Warn, Trial::Enforce] {
        let told = in_mode(mode).unwrap_err().to_string();
        assert!(told.contains("has settings of yours"), "{told}");
    }
}
