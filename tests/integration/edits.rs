//! What an Edit would leave is judged as Claude Code would make it.

use std::time::Instant;

use serde_json::json;

use crate::support::Sandbox;

const SIDECAR: &str = ".devt/state/impl-summary.json";

#[test]
fn an_old_string_is_found_behind_other_line_ends_and_quotes() {
    let sandbox = Sandbox::new();
    let text = "{\n  \"status\": \"DONE\",\n  \"verdict\": \"PASS\",\n  \"agent\": \"programmer\",\n  \"notes\": \"it’s “done”\",\n  \"x\": 1\n}\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        sandbox.write(SIDECAR, &text);
        for (old, new, expected) in [
            ("\"DONE\",\n", "\"FINE\",\n", "malformed-content"),
            (
                "{\n  \"status\": \"DONE\"",
                "{\n  \"status\": \"PARTIAL\"",
                "allow",
            ),
            (
                "it's \"done\"\",\n  \"x\": 1",
                "x\",\n  \"status\": \"FINE\"",
                "malformed-content",
            ),
            ("not there\n", "}", "allow"),
        ] {
            let ran = sandbox.hook(&sandbox.edit_event(SIDECAR, old, new));
            assert_eq!(ran.decision(), expected, "{old} in {text:?}");
        }
    }
}

#[test]
fn workflow_yaml_stays_readable_and_steers_devt() {
    const WORKFLOW: &str = ".devt/state/workflow.yaml";
    let sandbox = Sandbox::new();
    sandbox.write(
        WORKFLOW,
        "active: true\nphase: plan\nstatus: DONE\ntask: x\n",
    );
    for (old, new, expected) in [
        ("phase: plan", "phase: review", "allow"),
        ("phase: plan", "phase: null", "allow"),
        ("phase: plan", "phase: report", "allow"),
        ("phase: plan", "phase: bogus", "malformed-content"),
        ("phase: plan", "phase: [plan", "malformed-content"),
        ("phase: plan", "phase plan", "malformed-content"),
        ("status: DONE", "status: {DONE", "malformed-content"),
        ("status: DONE", "status: @DONE", "malformed-content"),
        (
            "status: DONE\n",
            "status: DONE\n  - x\n",
            "malformed-content",
        ),
        ("active: true", "active: maybe", "malformed-content"),
        ("active: true", "active: \"true\"", "malformed-content"),
        ("active: true", "active: false", "allow"),
        // So devt writes it, and reads it again.
        ("task: x", "task: [wip] it's @x", "allow"),
    ] {
        let ran = sandbox.hook(&sandbox.edit_event(WORKFLOW, old, new));
        assert_eq!(ran.decision(), expected, "{new}");
    }
}

#[test]
fn edits_without_end_are_refused_soon() {
    let sandbox = Sandbox::new();
    sandbox.write(SIDECAR, &"a".repeat(1 << 18));
    let path = sandbox.path(SIDECAR);
    let doubled = json!({ "old_string": "a", "new_string": "aa", "replace_all": true });
    let inputs = [
        json!({ "file_path": path, "edits": vec![doubled; 30] }),
        json!({
            "file_path": path, "old_string": "a", "new_string": "b".repeat(40_000), "replace_all": true,
        }),
    ];
    for (tool, input) in ["MultiEdit", "Edit"].into_iter().zip(inputs) {
        let begun = Instant::now();
        let answer = sandbox.hook(&sandbox.event(tool, input)).json();
        let reason = &answer["hookSpecificOutput"]["permissionDecisionReason"];
        assert!(reason.to_string().contains("more than 256 MiB"), "{answer}");
        assert!(begun.elapsed().as_secs() < 60, "{tool}");
    }
}

/// What a shell puts behind a text is judged with it; where it may not come to that, the
/// look after the call is left to find it.
#[test]
fn a_text_that_is_appended_is_judged_with_the_one_before_it() {
    const REPORT: &str = "openspec/changes/a/review/1.md";
    for (present, command, expected) in [
        (
            Some("**Status:** APPROVED\n"),
            "echo '**Status:** REJECTED' >> REPORT",
            "malformed-content",
        ),
        (
            Some("**Status:** APPROVED\n"),
            "cat >> REPORT <<'EOF'\nNits.\nEOF",
            "allow",
        ),
        (
            Some("# Review\n"),
            "cat >> REPORT <<'EOF'\n**Status:** REJECTED\nEOF",
            "allow",
        ),
        (
            Some("**Status:** APPROVED\n"),
            "tee -a REPORT <<< '**Status:** REJECTED'",
            "malformed-content",
        ),
        (
            Some("**Status:** APPROVED\n"),
            ": >> REPORT; make >> REPORT",
            "allow",
        ),
        (Some("# Review\n"), ": >> REPORT", "allow"),
        (Some("# Review\n"), "make && echo bad >> REPORT", "allow"),
        (None, "echo bad >> REPORT", "malformed-content"),
        (
            None,
            "echo '# Review' >> REPORT; echo '**Status:** APPROVED' >> REPORT",
            "allow",
        ),
        (
            None,
            "echo '**Status:** APPROVED' > REPORT; echo '**Status:** REJECTED' >> REPORT",
            "malformed-content",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("openspec/changes/a/tasks.md", "## 1. First\n- [x] a\n");
        if let Some(present) = present {
            sandbox.write(REPORT, present);
        }
        let event = sandbox.bash_event(&command.replace("REPORT", REPORT));
        let ran = sandbox.hook(&sandbox.by("reviewer", event));
        assert_eq!(ran.decision(), expected, "{command} behind {present:?}");
    }
}
