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
