use serde_json::Value;

use crate::support::Sandbox;

const STATE: &str = ".devt/state";
const DAY: i64 = 24 * 60 * 60;

/// The entries a run lists, as `name reason`, in order.
pub fn listed(document: &Value) -> Vec<String> {
    let items = document["archived"].as_array().unwrap();
    let line = |item: &Value| {
        format!(
            "{} {}",
            item["name"].as_str().unwrap(),
            item["reason"].as_str().unwrap()
        )
    };
    items.iter().map(line).collect()
}

#[test]
fn what_goes_is_what_the_contract_does_not_keep() {
    let sandbox = Sandbox::new();
    for (name, age) in [
        ("plan.md", 100 * DAY),
        ("workflow.yaml", 0),
        ("preflight-denies.jsonl", 100 * DAY),
        ("review-old.md", 21 * DAY + 60),
        ("review-new.md", 21 * DAY - 60),
        ("notes.md", 0),
        ("junk/deep/a.txt", 0),
        ("left.tmp", 60),
        ("a.md~", 60),
        ("live.tmp", 1),
        ("future.tmp", -3600),
    ] {
        sandbox.write_aged(&format!("{STATE}/{name}"), name, age);
    }
    let goes = [
        "a.md~ ephemeral",
        "future.tmp ephemeral",
        "junk ad_hoc",
        "left.tmp ephemeral",
        "notes.md ad_hoc",
        "review-old.md stale_pattern_allowed (>21d)",
    ];
    let done = sandbox.run("cleanup --apply --json").json();
    assert_eq!(listed(&done), goes);
    assert_eq!(
        sandbox.names(STATE),
        [
            ".archive",
            "live.tmp",
            "plan.md",
            "preflight-denies.jsonl",
            "review-new.md",
            "workflow.yaml"
        ]
    );
}
