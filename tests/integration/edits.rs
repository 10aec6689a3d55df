//! What an Edit would leave is judged as Claude Code would make it.

use std::time::Instant;

use serde_json::json;

use crate::support::Sandbox;

const SIDECAR: &str = ".devt/state/impl-summary.json";

#[test]
fn edits_without_end_are_refused_soon() {
    let sandbox = Sandbox::new();
    sandbox.write(SIDECAR, &"a".repeat(1 << 18));
    let path = sandbox.path(SIDECAR);
    let (old, new) = ("a".repeat(1 << 10), "a".repeat(1 << 11));
    let doubled = json!({ "old_string": old, "new_string": new, "replace_all": true });
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
        assert!(reason.to_string().contains("more than 128 MiB"), "{answer}");
        assert!(begun.elapsed().as_secs() < 60, "{tool}");
    }
}
