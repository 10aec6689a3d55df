use proptest::prelude::*;

use super::*;

pub(super) const HERE: &str = "/opt/bin/statewarden";
const OLD: &str = "/home/a/old/statewarden";

pub(super) fn merged(text: &str, command: &str) -> String {
    match merge(text, command).unwrap() {
        Edited::Changed(text) => text,
        Edited::Unchanged => text.to_owned(),
    }
}

fn removed(text: &str) -> String {
    match remove(text, EntryFilter::Anyones).unwrap() {
        Edited::Changed(text) => text,
        Edited::Unchanged => text.to_owned(),
    }
}

pub(super) fn value(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        json!({})
    } else {
        serde_json::from_str(text).unwrap()
    }
}

/// The same change on the parsed document: what the text edit is pinned to.
fn merged_value(mut settings: Value, command: &str) -> Value {
    settings = removed_value(settings);
    if settings.get("hooks").is_none() {
        settings["hooks"] = json!({});
    }
    for entry in &ENTRIES {
        let groups = &mut settings["hooks"][entry.event];
        if groups.is_null() {
            *groups = json!([]);
        }
        groups.as_array_mut().unwrap().push(entry.group(command));
    }
    settings
}

fn removed_value(mut settings: Value) -> Value {
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        return settings;
    };
    let had = hooks.len();
    hooks.retain(|_, groups| {
        let Some(groups) = groups.as_array_mut() else {
            return true;
        };
        let (had, mut touched) = (groups.len(), false);
        groups.retain_mut(|group| {
            let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) else {
                return true;
            };
            let had = hooks.len();
            hooks.retain(|hook| our_command(document::parse(&hook.to_string()).unwrap()).is_none());
            touched |= had != hooks.len();
            had == hooks.len() || !hooks.is_empty()
        });
        !(groups.is_empty() && touched && had > 0)
    });
    if hooks.is_empty() && had > 0 {
        settings.as_object_mut().unwrap().shift_remove("hooks");
    }
    settings
}

/// Whether a file holds every entry of the table, and Claude Code would run them.
pub(super) fn is_live(text: &str) -> bool {
    let wiring = Wiring::read(text).unwrap_or_default();
    wiring.missing().is_empty() && !wiring.hooks_are_disabled && wiring.invalid.is_none()
}

/// Merging changes what it should and nothing else, twice is once, and removing
/// gives the original back.
#[track_caller]
fn round_trip(text: &str) {
    let wired = merged(text, HERE);
    assert_eq!(
        value(&wired),
        merged_value(value(text), HERE),
        "{text:?} became {wired}"
    );
    assert!(is_live(&wired) || Wiring::fault(text).is_some(), "{wired}");
    assert_eq!(merge(&wired, HERE).unwrap(), Edited::Unchanged, "{wired}");
    assert_eq!(removed(&wired), text, "from {wired}");
    let from_old = merged(&merged(text, OLD), HERE);
    assert_eq!(from_old, wired, "an older path in {text:?}");
}

const SAMPLES: &[&str] = &[
    "",
    "\n",
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\r\n}\r\n",
    "\n  {}  \n",
    "\u{feff}{}\n",
    "{\"a\":1}",
    "{ \"a\": [1, 2], \"b\": {\"hooks\": []} }\n",
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n  \"model\": \"opus\"\n}",
    "{\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"b\"\n\t}\n}\n",
    "{\r\n    \"model\": \"a\\\"}{[\",\r\n    \"x\": null\r\n}\r\n",
    "{\"a\": 1,\n \"b\": 2}\n",
    "{\n  \"hooks\": {\n    \"Notification\": [\n      { \"hooks\": [] }\n    ]\n  },\n  \"z\": 1\n}\n",
    concat!(
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n",
        "        \"hooks\": [{ \"type\": \"command\", \"command\": \"x\" }]\n      }\n    ],\n",
        "    \"Stop\": [{ \"hooks\": [] }]\n  },\n  \"permissions\": { \"deny\": [\"Edit(x)\"] }\n}\n"
    ),
    "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
    "{\n  \"hooks\": { \"Stop\": [ { \"hooks\": [] } ], \"PreToolUse\": [ {} ] }\n}\n",
    "{\n  \"é\\u00e9😀\": \"\\ud83d\\ude00\"\n}\n",
];

#[test]
fn samples_come_back_byte_for_byte() {
    for sample in SAMPLES {
        round_trip(sample);
    }
}

#[test]
fn a_new_file_is_laid_out_as_claude_code_does() {
    let text = merged("", HERE);
    assert!(
        text.starts_with("{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n"),
        "{text}"
    );
    assert!(text.ends_with("  }\n}\n"), "{text}");
}

#[test]
fn empty_containers_take_the_entries() {
    for text in [
        "{\"hooks\": {}}",
        "{\n  \"hooks\": {\n  }\n}\n",
        "{\n  \"hooks\": {\"Stop\": []}\n}\n",
    ] {
        let wired = merged(text, HERE);
        assert_eq!(value(&wired), merged_value(value(text), HERE), "{wired}");
        assert_eq!(merge(&wired, HERE).unwrap(), Edited::Unchanged);
        assert!(!Wiring::read(&removed(&wired)).unwrap().is_ours());
    }
}

#[test]
fn entries_of_another_form_are_brought_up_to_date() {
    let mixed = json!({"hooks": {
        "PreToolUse": [
            {"matcher": "Write", "hooks": [
                {"type": "command", "command": "lint"},
                {"type": "command", "command": OLD, "args": ["hook"]},
            ]},
            {"matcher": "SubagentHandback", "hooks": [{"type": "command", "command": OLD, "args": ["hook"]}]},
            {"hooks": [{"type": "command", "command": "\"C:\\w\\statewarden.exe\" hook"}]},
            {"hooks": [{"type": "command", "command": OLD, "args": ["hook"]}]},
        ],
        "PreCompact": [{"hooks": [{"type": "command", "command": OLD, "args": ["hook"]}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "/x/statewarden", "args": ["status"]}]}],
    }});
    let wired = merged(&serde_json::to_string_pretty(&mixed).unwrap(), HERE);
    let hooks = &value(&wired)["hooks"];
    assert_eq!(hooks["PreToolUse"][0]["hooks"].as_array().unwrap().len(), 1);
    assert_eq!(hooks["PreToolUse"][1], ENTRIES[0].group(HERE));
    assert_eq!(hooks["PreToolUse"][2], ENTRIES[1].group(HERE));
    assert_eq!(hooks["PreToolUse"].as_array().unwrap().len(), 3);
    assert!(hooks.get("PreCompact").is_none());
    assert_eq!(
        hooks["Stop"].as_array().unwrap().len(),
        2,
        "`status` is not a hook of ours"
    );
    assert!(is_live(&wired));
}

#[test]
fn each_program_s_entries_can_go_alone() {
    let shell_form = json!({"type": "command", "command": format!("{OLD} hook")});
    let mut settings = merged_value(json!({"model": "opus"}), HERE);
    settings["hooks"]["Stop"]
        .as_array_mut()
        .unwrap()
        .push(json!({"hooks": [shell_form]}));
    settings["hooks"]["PreCompact"] = json!([ENTRIES[3].group(OLD)]);
    let text = serde_json::to_string_pretty(&settings).unwrap();
    let commands = |whose| match remove(&text, whose).unwrap() {
        Edited::Changed(text) => {
            let left = Wiring::read(&text)
                .unwrap()
                .entries
                .into_iter()
                .map(|wired| wired.command);
            left.collect::<std::collections::BTreeSet<_>>()
        }
        Edited::Unchanged => panic!("{text}"),
    };
    assert_eq!(commands(EntryFilter::Of(HERE)), [OLD.to_owned()].into());
    assert_eq!(commands(EntryFilter::Of(OLD)), [HERE.to_owned()].into());
    assert!(commands(EntryFilter::Anyones).is_empty());
    assert_eq!(
        remove(&text, EntryFilter::Of("/x/statewarden")).unwrap(),
        Edited::Unchanged
    );
    assert_eq!(value(&removed(&text)), json!({"model": "opus"}));
}

#[test]
fn a_text_that_cannot_be_edited_says_where() {
    let cases = [
        (
            "{\n  // why\n  \"a\": 1\n}",
            "line 2, column 3: key must be a string (comments are not JSON)",
        ),
        (
            "{\"a\": 1,}",
            "line 1, column 9: key must be a string (a comma too many?)",
        ),
        ("{\"a\"", "line 1, column 4: EOF"),
        ("\u{85}", "line 1, column 1: expected value"),
        ("[]", "line 1, column 1: the settings are not an object"),
        (
            "{\n \"hooks\": []}",
            "line 2, column 11: `hooks` is not an object",
        ),
        (
            "{\"hooks\": {\"Stop\": {}}}",
            "line 1, column 20: `Stop` is not an array",
        ),
        (
            "{\"hooks\": {}, \"hooks\": {}}",
            "`hooks` is here a second time",
        ),
        (
            "{\"hooks\": {\"Stop\": [], \"Stop\": []}}",
            "`Stop` is here a second time",
        ),
    ];
    for (text, expected) in cases {
        let error = merge(text, HERE).unwrap_err().to_string();
        assert!(
            error.starts_with(expected) || error.contains(expected),
            "{text}: {error}"
        );
    }
    let deep = "[".repeat(100_000);
    assert!(merge(&deep, HERE).is_err() && remove(&deep, EntryFilter::Anyones).is_err());
}

/// What Claude Code 2.1.331 does with each, when it was measured: runs our entries, or not.
#[test]
fn a_text_is_read_as_the_client_reads_it() {
    let fresh = merged("", HERE);
    let ours = fresh.trim().trim_matches(['{', '}']);
    let deep = format!("\"x\": {}{},", "[".repeat(100_000), "]".repeat(100_000));
    for (before, behind, runs) in [
        ("{", "}", true),
        ("\u{feff}{", "}", true),
        ("\u{feff}\u{feff}{", "}", false),
        (r#"{"x": "\ud800","#, "}", true),
        (r#"{"\udc00": {"\ud800": 1},"#, "}", true),
        (&format!("{{{deep}"), "}", true),
        (r#"{"x": 1e999, "__proto__": {},"#, "}", true),
        (r#"{"hooks": {},"#, "}", true),
        ("{", r#","hooks": {}}"#, false),
        ("{ // x\n", "}", false),
        ("{", ",}", false),
        ("{", "}\0", false),
        ("{\"x\": \"\t\",", "}", false),
        ("{\u{a0}", "}", false),
        ("[{", "}]", false),
    ] {
        let text = format!("{before}{ours}{behind}");
        let start = text.get(..60).unwrap_or(&text);
        assert_eq!(is_live(&text), runs, "{start}");
        // What names us, and cannot be read, may have held our entries.
        let may_be_ours = Wiring::read(&text).map_or(true, |wiring| wiring.is_ours());
        assert_eq!(keeps_our_entries(&text, "{}"), !may_be_ours, "{start}");
        assert!(keeps_our_entries(&text, &fresh), "{start}");
        if runs && !before.contains("hooks") {
            assert_eq!(merge(&text, HERE), Ok(Edited::Unchanged), "{start}");
            assert!(!Wiring::read(&removed(&text)).unwrap().is_ours(), "{start}");
        }
    }
}

#[test]
fn an_edit_that_disarms_the_guard_is_seen() {
    let before = merged("{\n  \"model\": \"opus\"\n}\n", HERE);
    let keeps = |from: &str, to: &str| {
        assert!(before.contains(from), "{from}");
        keeps_our_entries(&before, &before.replacen(from, to, 1))
    };
    assert!(keeps("opus", "sonnet"));
    assert!(keeps("\"hooks\": {", "\"hooks\": {\"Notification\": [],"));
    assert!(keeps("\"timeout\": 10", "\"timeout\": 60"));
    assert!(!keeps("\"timeout\": 10", "\"timeout\": 0.001"));
    let other = r#""hooks": [{"type": "command", "command": "lint"},"#;
    assert!(keeps("\"hooks\": [", other), "in our group");
    assert!(!keeps(TOOLS, "^Nothing$"));
    assert!(!keeps(HERE, "/tmp/statewarden"));
    assert!(!keeps("\"timeout\": 10", "\"timeout\": \"10\""));
    assert!(!keeps(
        "\"timeout\": 10",
        "\"async\": true, \"timeout\": 10"
    ));
    assert!(!keeps(
        "\"onFailure\": \"block\"",
        "\"onFailure\": \"continue\""
    ));
    assert!(!keeps("\"model\": \"opus\"", "\"disableAllHooks\": true"));
    for other in ["\"true\"", "1", "null"] {
        let key = format!("\"disableAllHooks\": {other}");
        assert!(!keeps("\"model\": \"opus\"", &key), "{other}");
    }
    assert!(!keeps_our_entries(&before, &removed(&before)));
    assert!(!keeps_our_entries(&before, "{"));
    assert!(keeps_our_entries("{}", "{"), "nothing of ours to lose");
    assert!(!is_live("") && !is_live("{") && !is_live("[1]"));
}

#[test]
fn the_plugin_has_the_same_entries() {
    let hooks = edit::fresh(PLUGIN_COMMAND);
    assert_eq!(include_str!("../../../hooks/hooks.json"), hooks);
    assert_eq!(include_str!("../../../plugin/hooks/hooks.json"), hooks);
    assert!(is_live(&hooks));
}

fn arb_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("hooks".to_owned()),
        Just("Stop".to_owned()),
        "[a-z\"{}\\[\\],:\\\\é]{0,6}"
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i64>().prop_map(|n| json!(n)),
        "[ -~é\n]{0,8}".prop_map(|s| json!(s))
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Foreign hooks of some events; groups and arrays are never empty, so that
/// `remove` has a single answer.
fn arb_hooks() -> impl Strategy<Value = Option<Value>> {
    let event = prop_oneof![Just("PreToolUse"), Just("Stop"), Just("Notification")];
    let group = prop::collection::vec(Just(json!({"type": "command", "command": "x"})), 0..3)
        .prop_map(|hooks| json!({"matcher": "Bash", "hooks": hooks}));
    let groups = prop::collection::vec(group, 1..3).prop_map(Value::from);
    let hooks = prop::collection::btree_map(event, groups, 1..3);
    prop::option::of(hooks.prop_map(|map| json!(map)))
}

/// Writes a document in one of the layouts people have.
fn written(document: &Value, layout: u8) -> String {
    let pretty = |unit: &str, end: &str| edit::spread(document, unit, "", end);
    match layout {
        0 => document.to_string(),
        1 => pretty("  ", "\n") + "\n",
        2 => pretty("\t", "\n"),
        _ => pretty("    ", "\r\n") + "\r\n",
    }
}

proptest! {
    #[test]
    fn any_document_comes_back(
        members in prop::collection::vec(("[a-z]{1,5}", arb_json()), 0..4),
        hooks in arb_hooks(),
        layout in 0..4_u8,
    ) {
        let mut document: Map<_, _> =
            members.into_iter().filter(|(key, _)| key != "hooks").collect();
        document.extend(hooks.map(|hooks| ("hooks".to_owned(), hooks)));
        round_trip(&written(&Value::Object(document), layout));
    }

    #[test]
    fn no_text_makes_the_editor_panic(text in "[{}\\[\\],:\"a/ \n\\\\]{0,24}|\\PC{0,24}") {
        let _ = (merge(&text, HERE), remove(&text, EntryFilter::Anyones), Wiring::read(&text));
    }
}
