//! `flow` by several processes.

use crate::support::{GATES, Sandbox};

const SINGLE: &str = ".claude/orchestration.local.md";

/// Twenty updates at the same moment: each is there afterwards, also where the
/// state is a link into another project.
#[test]
fn updates_at_the_same_moment_are_all_kept() {
    let (sandbox, other) = (Sandbox::new(), Sandbox::new());
    sandbox.run("flow init t").ends(0);
    other.write(".claude/settings.json", "{}\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.path(SINGLE), other.path(SINGLE)).unwrap();
    let start = |n: u32| {
        let place = if cfg!(unix) && n < 10 {
            &other
        } else {
            &sandbox
        };
        let mut command = place.command(&["flow", "update", "--message", &format!("update {n}.")]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..20).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = sandbox.read(SINGLE);
    for n in 0..20 {
        assert!(
            text.contains(&format!("- Result: update {n}.\n")),
            "update {n} is lost"
        );
    }
    let records = |place: &Sandbox| place.records(GATES).len();
    assert_eq!(records(&sandbox) + records(&other), 21);
}
