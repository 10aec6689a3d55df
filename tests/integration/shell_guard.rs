//! What a command leads to that depends on the disk around it. Whatever else commands may say
//! stands in `tests/commands`.

use crate::support::{Sandbox, assert_has};

#[test]
fn an_empty_command_is_none() {
    let sandbox = Sandbox::new();
    for command in ["", "   "] {
        sandbox.hook(&sandbox.bash_event(command)).is_silent();
    }
}

#[cfg(unix)]
#[test]
fn a_shell_takes_dots_after_a_link_and_the_client_before_it() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/.archive/cleanup-1/a.md", "x");
    std::os::unix::fs::symlink(".devt/state/.archive", sandbox.project().join("attic")).unwrap();
    for (event, expected) in [
        (sandbox.bash_event("touch attic/../notes.md"), "ad-hoc-name"),
        (sandbox.write_event("attic/../notes.md", "x"), "allow"),
        (sandbox.bash_event("touch attic/x"), "program-owned"),
        (sandbox.bash_event("cp a.txt attic"), "program-owned"),
    ] {
        sandbox.expect(&event, expected);
    }
}

#[test]
fn a_directory_above_the_project_takes_the_sites_along() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/plan.md", "plan\n");
    sandbox.write("openspec/changes/add/tasks.md", "## 1. A\n\n- [ ] 1.1 a\n");
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
        sandbox.expect(&sandbox.bash_event(&command), expected);
    }
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
        ("rm -rf .claude/.docs", "allow"),
    ] {
        sandbox.expect(&sandbox.bash_event(command), expected);
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
    assert_has(&reason, "more than 50000 directories");
    assert_has(&reason, "one at a time");
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

#[test]
fn a_change_that_is_archived_with_open_boxes_is_told_of() {
    let sandbox = Sandbox::new();
    let open = "- [ ] z\n## 1. A\n- [x] a\n- [~] b\n";
    for (change, tasks) in [("open", open), ("done", "## 1. A\n- [x] a\n")] {
        sandbox.write(&format!("openspec/changes/{change}/tasks.md"), tasks);
    }
    let archived = |change: &str| {
        let change = format!("openspec/changes/{change}");
        sandbox.hook(&sandbox.bash_event(&format!("mv {change} openspec/changes/archive/")))
    };
    let told = archived("open").context();
    assert_has(&told, "open boxes in `openspec/changes/open/tasks.md`: 2");
    archived("done").is_silent();
}

/// Each is judged by itself up to a bound; behind it nobody looks at names.
#[test]
fn more_paths_than_are_judged_are_denied_as_one() {
    let sandbox = Sandbox::new();
    let touch = |n: usize, last: &str| {
        let names = (0..n).map(|n| format!(" .devt/state/review-a{n}.md"));
        let names: String = names.collect();
        sandbox.bash_event(&format!("touch{names} {last}"))
    };
    sandbox.hook(&touch(1_000, "src/a.rs")).is_silent();
    let reason = sandbox.denied(&touch(1_001, ""), "malformed-content");
    assert_has(&reason, "more than 1000 paths");
    // What is denied among the first ones leads to the right name.
    let first = format!(
        "touch .devt/state/notes.md{}",
        " .devt/state/plan.md".repeat(1_500)
    );
    sandbox.denied(&sandbox.bash_event(&first), "ad-hoc-name");
}
