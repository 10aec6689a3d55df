//! Events that are JSON, and odd: keys that stand twice, halves of characters, depth.

use crate::support::Sandbox;

/// JavaScript cuts texts between the halves of a surrogate pair.
#[test]
fn half_a_character_changes_nothing() {
    let sandbox = Sandbox::new();
    let judge = |tool: &str, input: &str| {
        let cwd = sandbox.path("");
        let event = format!(
            r#"{{"cwd":{cwd:?},"hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{input}}}"#
        );
        sandbox.hook_bytes(event.as_bytes())
    };
    let good = r#"{\"status\":\"DONE\",\"verdict\":\"APPROVED\",\"agent\":\"code-reviewer\",\"x\":\"\ud83d\"}"#;
    for content in [good, &good.replace(r"\ud83d", r"\\ud83d")] {
        judge(
            "Write",
            &format!(r#"{{"file_path":".devt/state/review.json","content":"{content}"}}"#),
        )
        .is_silent();
    }
    for (path, expected) in [("src/a", None), (".devt/state/n.md", Some("ad-hoc-name"))] {
        for (tool, input) in [
            ("Bash", format!(r#"{{"command":"echo '\ude00' > {path}"}}"#)),
            (
                "mcp__fs__write_file",
                format!(r#"{{"path":"{path}","content":"\ud83d"}}"#),
            ),
            (
                "mcp__fs__write_file",
                format!(
                    r#"{{"path":"{path}","content":"{}\ud83d"}}"#,
                    "x".repeat(9000)
                ),
            ),
        ] {
            let ran = judge(tool, &input);
            match expected {
                None => ran.is_silent(),
                Some(code) => drop(ran.is_denied(code)),
            }
        }
    }
}

#[test]
fn arguments_are_read_however_deep_they_are() {
    let sandbox = Sandbox::new();
    let judge = |path: &str, depth: usize| {
        let (open, close) = (r#"{"x":["#.repeat(depth), "]}".repeat(depth));
        let cwd = sandbox.path("");
        let event = format!(
            r#"{{"cwd":{cwd:?},"hook_event_name":"PreToolUse","tool_name":"mcp__x__create_page","tool_input":{{"blocks":{open}{{"path":"{path}"}}{close}}}}}"#
        );
        sandbox.hook_bytes(event.as_bytes())
    };
    judge(".devt/state/scratchpad.md", 60).is_silent();
    judge(".devt/state/notes.md", 60).is_denied("ad-hoc-name");
    // Too deep to be read, so that the place alone counts.
    for depth in [64, 50_000] {
        judge("src/a", depth).is_silent();
        judge(".devt/state/scratchpad.md", depth).reason();
        judge(".devt/state/notes.md", depth).reason();
    }
}

/// The client cannot write them.
#[test]
fn an_event_with_two_equal_keys_is_malformed() {
    let sandbox = Sandbox::new();
    let judge = |below: &str, keys: &str| {
        let (cwd, path) = (sandbox.path(""), sandbox.path(below));
        let event = format!(
            r#"{{"cwd":{cwd:?},"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{{"file_path":{path:?},"content":"x"{keys}}}"#
        );
        sandbox.hook_bytes(event.as_bytes())
    };
    for keys in [
        r#","file_path":"/a"}"#,
        r#","content":"y"}"#,
        r#","new_string":"a","new_string":"b"}"#,
        r#"},"tool_name":"Read""#,
        r#"},"tool_input":{}"#,
    ] {
        judge("src/a", keys).is_complaint();
        judge(".devt/state/plan.md", keys).is_refused_unread();
    }
    // Keys that nobody reads are another matter.
    judge("src/a", r#","x":1,"x":2},"y":1,"y":2"#).is_silent();
    judge(".devt/state/notes.md", r#","x":1,"x":2}"#).is_denied("ad-hoc-name");
}
