//! Events that are JSON, and odd: keys that stand twice, halves of characters, depth.

use serde_json::json;

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
    judge(
        "Write",
        &format!(r#"{{"file_path":".devt/state/review.json","content":"{good}"}}"#),
    )
    .is_silent();
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
    for depth in [63, 64, 200, 50_000] {
        judge("src/a", depth).is_silent();
        judge(".devt/state/scratchpad.md", depth).is_silent();
        judge(".devt/state/notes.md", depth).is_denied("ad-hoc-name");
    }
}

#[test]
fn of_two_equal_keys_neither_may_be_denied() {
    let sandbox = Sandbox::new();
    let (good, bad) = (
        sandbox.path(".devt/state/plan.md"),
        sandbox.path(".devt/state/notes.md"),
    );
    let cwd = sandbox.path("");
    let event = |input: &str| {
        format!(
            "{{\"cwd\":{cwd:?},\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\",\"tool_input\":{input}}}"
        )
    };
    for input in [
        format!("{{\"file_path\":{good:?},\"file_path\":{bad:?}}}"),
        format!("{{\"file_path\":{bad:?},\"file_path\":{good:?}}}"),
        format!("{{\"file_path\":{bad:?}}},\"tool_input\":{{\"file_path\":{good:?}}}"),
    ] {
        sandbox
            .hook_bytes(event(&input).as_bytes())
            .is_denied("ad-hoc-name");
    }
    for keys in [
        "\"tool_name\":\"Read\"".to_owned(),
        "\"tool_name\":\"Task\"".to_owned(),
        format!("\"tool_name\":\"Read\",\"tool_input\":{{\"file_path\":{good:?}}}"),
        "\"cwd\":\"/\"".to_owned(),
    ] {
        let input = format!("{{\"file_path\":\".devt/state/notes.md\"}},{keys}");
        sandbox
            .hook_bytes(event(&input).as_bytes())
            .is_denied("ad-hoc-name");
    }
    sandbox
        .hook_bytes(
            event(&format!(
                "{{\"file_path\":{good:?},\"file_path\":{good:?}}}"
            ))
            .as_bytes(),
        )
        .is_silent();
}

#[test]
fn of_two_equal_texts_neither_may_be_denied() {
    let sandbox = Sandbox::new();
    let review = |verdict: &str| {
        let text = json!({ "status": "DONE", "verdict": verdict, "agent": "code-reviewer" });
        json!(text.to_string()).to_string()
    };
    let (good, other, bad) = (review("APPROVED"), review("NEEDS_WORK"), review("FINE"));
    sandbox.write(".devt/state/review.json", "APPROVED");
    let judge = |tool: &str, key: &str, texts: [&String; 2], path: &str| {
        let [first, last] = texts.map(|text| format!("{key}:{text}"));
        let event = format!(
            "{{\"cwd\":{:?},\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"{tool}\",\
             \"tool_input\":{{{path},{first},\"old_string\":\"APPROVED\",{last}}}}}",
            sandbox.path("")
        );
        sandbox.hook_bytes(event.as_bytes())
    };
    let file = "\"file_path\":\".devt/state/review.json\"";
    for (tool, key, path) in [
        ("Write", "\"content\"", file),
        ("Edit", "\"new_string\"", file),
        (
            "mcp__fs__write_file",
            "\"content\"",
            "\"path\":\".devt/state/review.json\"",
        ),
    ] {
        judge(tool, key, [&good, &other], path).is_silent();
        for texts in [[&bad, &good], [&good, &bad]] {
            judge(tool, key, texts, path).is_denied("malformed-content");
        }
    }
    let (at_plan, at_notes) = (
        "\"path\":\".devt/state/plan.md\"",
        "\"path\":\".devt/state/n.md\"",
    );
    for paths in [[at_plan, at_notes], [at_notes, at_plan]] {
        judge(
            "mcp__fs__write_file",
            "\"x\"",
            [&good, &good],
            &paths.join(","),
        )
        .is_denied("ad-hoc-name");
    }
}

#[test]
fn keys_that_stand_too_often_are_no_event() {
    let sandbox = Sandbox::new();
    for (n, expected) in [(20, 0), (40, 2)] {
        let (good, bad) = (sandbox.path("src/a"), sandbox.path(".devt/state/notes.md"));
        let keys = format!("\"file_path\":{good:?},").repeat(n);
        let event = format!(
            "{{\"cwd\":{:?},\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\",\
             \"tool_input\":{{{keys}\"file_path\":{bad:?},{}\"content\":\"x\"}}}}",
            sandbox.path(""),
            keys.get(..keys.len() / n).unwrap_or_default(),
        );
        let ran = sandbox.hook_bytes(event.as_bytes());
        assert_eq!(ran.code(), expected, "{}", ran.stderr());
        assert_eq!(ran.stdout().contains("ad-hoc-name"), expected == 0);
    }
}
