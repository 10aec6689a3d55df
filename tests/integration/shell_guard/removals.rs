//! What a command may remove.

use super::*;

#[test]
fn removing_by_name_is_everyday_work() {
    check(&[
        ("rm -f .devt/state/handoff.json", "allow"),
        ("rm .devt/state/plan.md .devt/state/spec.md", "allow"),
        ("rm .devt/state/junk-1.md", "allow"),
        ("rm -f .devt/state/old.tmp", "allow"),
        ("rm -f .devt/state/gone.md", "allow"),
        ("unlink .devt/state/junk-1.md", "allow"),
        ("mv .devt/state/junk-1.md /tmp/", "allow"),
        ("rm -f .devt/state/old.*", "allow"),
        ("rm .claude/orchestration.local.md", "allow"),
        ("rm -f .claude/*.local.md", "allow"),
        ("rm -rf build", "allow"),
        ("rm -rf build/*", "allow"),
        (
            "mv openspec/changes/add openspec/changes/archive/2026-01-01-add",
            "allow",
        ),
    ]);
}

#[test]
fn what_nobody_could_bring_back_is_not_removed() {
    check(&[
        ("rm -rf .devt/state", "bulk-removal"),
        ("rm -rf .devt", "bulk-removal"),
        ("rm -rf ./.devt/state/", "bulk-removal"),
        ("cd .devt && rm -rf state", "bulk-removal"),
        ("mv .devt/state /tmp/", "bulk-removal"),
        ("rm -f .devt/state/*", "bulk-removal"),
        ("rm -f .devt/state/junk-*.md", "bulk-removal"),
        ("rm -f .devt/state/*.md", "bulk-removal"),
        ("find .devt/state -delete", "bulk-removal"),
        (
            "find .devt/state -name '*.md' -exec rm {} +",
            "bulk-removal",
        ),
        ("git clean -fd", "bulk-removal"),
        ("git clean -fdx .devt", "bulk-removal"),
        ("rsync -a --delete src/ .devt/state/", "bulk-removal"),
        ("rm -rf .claude/.docs", "allow"),
        ("rm -rf .agentmux/.sessions/s", "bulk-removal"),
        ("rm -rf openspec/changes/add", "bulk-removal"),
        (
            "touch openspec/changes/archive/add; rm -rf openspec/changes/add",
            "bulk-removal",
        ),
        ("rm .devt/state/.lock", "program-owned"),
        ("rm -f .devt/state/deferred.md", "bulk-removal"),
        ("rm -rf .devt/state/.archive", "bulk-removal"),
        ("rm -rf .devt/state/.archive/cleanup-1", "program-owned"),
        ("mv .devt/state/.lock /tmp/", "program-owned"),
        ("rm .agentmux/.sessions/s/state.json", "program-owned"),
        ("rm -rf .claude/statewarden.yaml", "protected-file"),
        ("git clean -n", "allow"),
    ]);
}

#[test]
fn a_directory_above_the_project_takes_the_sites_along() {
    let sandbox = project();
    let base = sandbox.base().to_str().unwrap().to_owned();
    for (command, expected) in [
        (format!("rm -rf {base}"), "bulk-removal"),
        (format!("cd / && rm -rf {base}"), "bulk-removal"),
        (format!("rm -rf {base}/project"), "bulk-removal"),
        (format!("rm -rf {base}/*"), "bulk-removal"),
        ("cd .. && rm -rf project".to_owned(), "bulk-removal"),
        ("rm -rf ..".to_owned(), "bulk-removal"),
        ("rm -rf .".to_owned(), "bulk-removal"),
        ("rm -rf *".to_owned(), "bulk-removal"),
        (
            "sudo rm -rf --no-preserve-root /".to_owned(),
            "bulk-removal",
        ),
        (format!("mv {base} /somewhere"), "bulk-removal"),
        (format!("rm -rf {base}/home {base}/other"), "allow"),
    ] {
        assert_eq!(
            sandbox.hook(&sandbox.bash_event(&command)).decision(),
            expected,
            "{command}"
        );
    }
}

#[test]
fn an_agent_removes_its_own_and_nobody_elses() {
    check_by(
        "tester",
        &[
            ("rm -f .devt/state/test-summary.md", "allow"),
            ("rm -f .devt/state/junk-1.md", "allow"),
            ("rm -f .devt/state/plan.md", "wrong-writer"),
            ("mv .devt/state/plan.md /tmp/", "wrong-writer"),
            ("rm -f .devt/state/workflow.yaml", "wrong-writer"),
            ("rm -f .claude/orchestration.local.md", "wrong-writer"),
        ],
    );
    check_by("general-purpose", &[("rm -f .devt/state/plan.md", "allow")]);
}

#[test]
fn removing_a_directory_takes_the_sites_below_it_along() {
    let sandbox = Sandbox::new();
    sandbox.write("packages/web/.devt/state/plan.md", "x");
    sandbox.write("packages/api/src/a.rs", "x");
    sandbox.write("node_modules/x/a.js", "x");
    for (command, expected) in [
        ("rm -rf packages", "bulk-removal"),
        ("rm -rf packages/web", "bulk-removal"),
        ("mv packages elsewhere", "bulk-removal"),
        ("rm -rf packages/api", "allow"),
        ("rm -rf node_modules", "allow"),
    ] {
        assert_eq!(
            sandbox.hook(&sandbox.bash_event(command)).decision(),
            expected,
            "{command}"
        );
    }
}

#[test]
fn trees_that_are_too_large_to_be_searched_for_sites_are_not_removed() {
    let sandbox = Sandbox::new();
    // Each directory lies in the one before and holds the 900 of the last: 57,600 to be looked at.
    let dirs: Vec<String> = (1..=64).map(|depth| vec!["d"; depth].join("/")).collect();
    for n in 0..900 {
        std::fs::create_dir_all(sandbox.path(&format!("{}/{n}", dirs[63]))).unwrap();
    }
    let event = sandbox.bash_event(&format!("rm -rf {}", dirs.join(" ")));
    let reason = sandbox.hook(&event).reason();
    assert!(
        reason.contains("more than 50000 directories") && reason.contains("one by one"),
        "{reason}"
    );
    for tool in ["rm -rf d", "mv d /tmp/gone"] {
        sandbox.hook(&sandbox.bash_event(tool)).is_silent();
    }
    // With every system switched off there is nothing to be searched for.
    let off = "mode: \"off\"\nsystems: {self: {mode: \"off\"}}\n";
    sandbox.write(".claude/statewarden.yaml", off);
    sandbox.hook(&event).is_silent();
}

#[cfg(unix)]
#[test]
fn a_tree_is_searched_where_a_link_leads_to() {
    let sandbox = Sandbox::new();
    let link = sandbox.base().join("link");
    std::os::unix::fs::symlink(sandbox.project(), &link).unwrap();
    let link = link.to_str().unwrap();
    for command in [
        format!("rm -rf {link}/.devt"),
        format!("mv {link}/.devt /tmp/gone"),
        format!("rsync -a --delete src/ {link}/"),
    ] {
        let ran = sandbox.hook(&sandbox.bash_event(&command));
        ran.is_denied("bulk-removal");
    }
    // The link itself holds nothing.
    let ran = sandbox.hook(&sandbox.bash_event(&format!("rm -f {link}")));
    ran.is_silent();
}
