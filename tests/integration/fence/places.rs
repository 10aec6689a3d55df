//! What the fence covers.

use std::fs;

use super::{OPAQUE, Strict, User};
use crate::support::assert_has;

/// A line that the guard cannot read does not write a file.
#[track_caller]
fn is_kept(strict: &Strict, dir: &str, file: &str) {
    let line = format!("{OPAQUE}mkdir -p $(dirname {file}); echo forged > {file}");
    let ran = strict.bash_in(&strict.sandbox.project().join(dir), &line);
    let path = strict.sandbox.project().join(dir).join(file);
    let text = fs::read_to_string(path).unwrap_or_default();
    assert!(!text.contains("forged"), "{dir} {file}: {}", ran.said());
}

/// Not there when the session starts, or when the command does.
#[test]
fn a_site_that_comes_later_is_kept() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    fs::remove_dir_all(sandbox.project().join(".devt/state")).unwrap();
    fs::create_dir_all(sandbox.project().join(".claude/.docs")).unwrap();
    fs::create_dir_all(sandbox.project().join(".agentmux")).unwrap();
    is_kept(&strict, ".", ".devt/state/notes.md");
    is_kept(&strict, ".", ".claude/.docs/260110-task/state.json");
    is_kept(&strict, ".", ".agentmux/.sessions/one/state.json");
    sandbox.write("packages/b/.devt/state/plan.md", "x");
    is_kept(&strict, "packages/b", ".devt/state/plan.md");
    // What the recorder has seen it keeps from elsewhere as well.
    let mut event = sandbox.bash_event("make");
    event["cwd"] = sandbox.path("packages/b").into();
    sandbox.hook(&event).is_silent();
    is_kept(&strict, ".", "packages/b/.devt/state/plan.md");
}

/// With two, what is bound for the second must not hide the first.
#[test]
fn several_sites_are_kept_each() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    let files = [
        ".devt/state/plan.md",
        ".claude/.docs/260110-task/state.json",
        ".claude/orchestration.local.md",
        "openspec/changes/add/tasks.md",
        "openspec/changes/add/review/1.md",
        ".agentmux/.sessions/one/state.json",
        // One in another.
        ".devt/state/sub/.devt/state/plan.md",
    ];
    for file in files {
        sandbox.write(file, "x");
    }
    for file in files {
        is_kept(&strict, ".", file);
    }
    // An open system leaves other names alone.
    strict
        .bash(&format!(
            "{OPAQUE}echo x > openspec/changes/add/proposal.md"
        ))
        .ends(0);
}

#[test]
fn work_trees_are_kept() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    strict.outside(
        "git worktree add -q ../beside; \
         git worktree add -q .claude/worktrees/inner",
    );
    is_kept(&strict, "../beside", ".devt/state/plan.md");
    is_kept(&strict, ".claude/worktrees/inner", ".devt/state/plan.md");
    // The main checkout is kept from there as well.
    is_kept(&strict, "../beside", "../project/.devt/state/plan.md");
}

#[test]
fn a_site_that_is_a_link_is_kept() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    strict.outside("mv .devt ../elsewhere; ln -s ../elsewhere .devt");
    is_kept(&strict, ".", ".devt/state/plan.md");
    is_kept(&strict, ".", "../elsewhere/state/plan.md");
}

/// A mode that only warns refuses nothing, and what is off is none of our business.
#[test]
fn only_what_is_enforced_is_kept() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    for mode in ["warn", "off"] {
        strict.sandbox.write(
            ".claude/statewarden.yaml",
            &format!("systems: {{devt: {{mode: {mode}}}}}\n"),
        );
        let line = format!("{OPAQUE}echo x > .devt/state/plan.md");
        strict.bash(&line).ends(0);
    }
}

/// Neither weakened nor switched on by a project.
#[test]
fn a_project_has_no_say() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    for file in [".claude/statewarden.yaml", ".claude/statewarden.local.yaml"] {
        sandbox.write(file, "strict: false\n");
        is_kept(&strict, ".", ".devt/state/plan.md");
        let said = sandbox.run("doctor").said();
        assert_has(
            &said,
            "only your own settings and the managed file can set it",
        );
        fs::write(&strict.env_file, "").unwrap();
        strict.start().ends(0);
        assert!(!fs::read_to_string(&strict.env_file).unwrap().is_empty());
        fs::remove_file(sandbox.project().join(file)).unwrap();
    }
    fs::remove_file(sandbox.home().join(".config/statewarden/config.yaml")).unwrap();
    fs::write(&strict.env_file, "").unwrap();
    sandbox.write(".claude/statewarden.yaml", "strict: true\n");
    strict.start().ends(0);
    assert_eq!(fs::read_to_string(&strict.env_file).unwrap(), "");
}
