use crate::support::Sandbox;

const RING: &str = ".devt/state/.archive";

/// A snapshot of another run, with one file.
fn snapshot(sandbox: &Sandbox, name: &str) {
    sandbox.write(&format!("{RING}/{name}/plan.md"), name);
}

/// What is in the ring, how many runs are kept, and what is there after a reset
/// beside its own snapshot.
#[track_caller]
fn check(before: &[&str], runs: usize, kept: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        &format!("archive:\n  runs: {runs}\n"),
    );
    before.iter().for_each(|name| snapshot(&sandbox, name));
    sandbox.write(".devt/state/plan.md", "the newest");
    let done = sandbox.run("reset --json").json();
    let to = done["archived_to"].as_str().unwrap();
    let new = to.rsplit('/').next().unwrap();
    assert_eq!(sandbox.read(&format!("{RING}/{new}/plan.md")), "the newest");
    let mut names = sandbox.names(RING);
    names.retain(|name| name != new);
    assert_eq!(names, kept, "before: {before:?}");
}

#[test]
fn reset_never_prunes_what_it_just_archived() {
    check(
        &[
            "cleanup-2026-01-01T00-00-00-000Z",
            "cleanup-2026-01-02T00-00-00-000Z",
            "cleanup-2026-01-03T00-00-00-000Z",
            "cleanup-2026-01-04T00-00-00-000Z",
            "cleanup-2026-01-05T00-00-00-000Z",
        ],
        5,
        &[
            "cleanup-2026-01-02T00-00-00-000Z",
            "cleanup-2026-01-03T00-00-00-000Z",
            "cleanup-2026-01-04T00-00-00-000Z",
            "cleanup-2026-01-05T00-00-00-000Z",
        ],
    );
}

#[test]
fn the_ring_is_ordered_by_time() {
    let mixed = [
        "2026-01-04T00-00-00-000Z",
        "cleanup-2026-01-01T00-00-00-000Z",
        "quarantine-2026-01-05T00-00-00-000Z",
        "quarantine-2026-01-05T00-00-00-000Z-1",
        "sweep-2026-01-02T00-00-00-000Z",
    ];
    check(&mixed, 9, &mixed);
    check(
        &mixed,
        4,
        &[
            "2026-01-04T00-00-00-000Z",
            "quarantine-2026-01-05T00-00-00-000Z",
            "quarantine-2026-01-05T00-00-00-000Z-1",
        ],
    );
    check(&mixed, 1, &[]);
    // The clock was set back: the snapshot of this minute outlives those of the future.
    check(
        &["2099-01-01T00-00-00-000Z", "2098-01-01T00-00-00-000Z"],
        2,
        &["2099-01-01T00-00-00-000Z"],
    );
    check(
        &["2099-01-01T00-00-00-000Z", "2026-01-01T00-00-00-000Z"],
        2,
        &["2026-01-01T00-00-00-000Z"],
    );
    // Nobody but a run makes such names, so nobody else's directory is dropped.
    let foreign = [
        "2026-notes",
        "cleanup-mine",
        "keep",
        "sweep-2026-01-02T00-00-00-000Z-",
        "sweep-2026-01-02T00-00-00-000Z-x",
    ];
    check(&foreign, 1, &foreign);
}
