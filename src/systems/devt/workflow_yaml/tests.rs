use proptest::prelude::*;

use super::*;

const SAMPLE: &str = "\
# kept
active: true
phase: implement
task: \"fix: the \\\"thing\\\"\"
created_at: \"2026-01-10T14:30:22.123Z\"

unknown-key: x # kept too
phase: test
workflow_id_history: \"[\\\"a\\\",\\\"b\\\"]\"
lanes:
  - id: \"L1\"
    status: \"in_flight\"
";

/// devt's reader, written down as its behavior is described.
fn by_devt(text: &str, key: &str) -> Option<String> {
    let mut found = None;
    for line in text
        .split('\n')
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
    {
        let Some(value) = line
            .strip_prefix(key)
            .and_then(|rest| rest.strip_prefix(':'))
        else {
            continue;
        };
        let value = value.trim_start();
        let quoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        found = match quoted {
            Some(inside) => Some(inside.replace("\\n", "\n").replace("\\\"", "\"")),
            None => Some(value.to_owned()).filter(|value| !value.is_empty()),
        };
    }
    found
}

fn by_yaml_parser(text: &str) -> serde_yaml::Mapping {
    serde_yaml::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

#[test]
fn scalars_are_typed_as_devt_types_them() {
    let fields = read(SAMPLE);
    let keys: Vec<&str> = fields.iter().map(|(key, _)| key).collect();
    let expected = "active phase task created_at unknown-key phase workflow_id_history".split(' ');
    assert!(keys.into_iter().eq(expected));
    assert!(fields.is_true("active"));
    assert_eq!(fields.text("phase"), Some("test"));
    assert_eq!(fields.text("task"), Some("fix: the \"thing\""));
    assert_eq!(fields.text("unknown-key"), Some("x"));
    assert_eq!(fields.text("workflow_id_history"), Some("[\"a\",\"b\"]"));
    for (value, expected) in [
        ("7", Value::from(7)),
        ("007", Value::from("007")),
        ("99999999999999999999", Value::from("99999999999999999999")),
        ("null", Value::Null),
        ("", Value::Null),
        ("'it''s'", Value::from("it's")),
        ("\"true\"", Value::from("true")),
        ("\"C:\\dir\"", Value::from("C:\\dir")),
        ("\"a\\\\nb\"", Value::from("a\\nb")),
        ("\"\\x41\\u00e9\" # c", Value::from("Aé")),
        ("yes", Value::from("yes")),
        ("a#b", Value::from("a#b")),
    ] {
        assert_eq!(
            read(&format!("k: {value}\r\n")).get("k"),
            Some(&expected),
            "{value}"
        );
    }
}

#[track_caller]
fn check_set(before: &str, key: &str, value: Option<Value>, after: Result<&str, &str>) {
    match (set(before, &[(key, value)]), after) {
        (Ok(found), Ok(after)) => assert_eq!(found, after),
        (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

fn text(text: &str) -> Option<Value> {
    Some(Value::from(text))
}

#[test]
fn only_the_named_line_changes() {
    let one_phase = SAMPLE
        .replacen("phase: implement\n", "", 1)
        .replace("phase: test", "phase: docs");
    check_set(SAMPLE, "phase", text("docs"), Ok(&one_phase));
    let new = SAMPLE.replace("lanes:", "status: DONE\nlanes:");
    check_set(SAMPLE, "status", text("DONE"), Ok(&new));
    check_set(
        SAMPLE,
        "active",
        Some(Value::Bool(false)),
        Ok(&SAMPLE.replace("true", "false")),
    );
    check_set(
        SAMPLE,
        "unknown-key",
        None,
        Ok(&SAMPLE.replace("unknown-key: x # kept too\n", "")),
    );
    check_set(SAMPLE, "absent", None, Ok(SAMPLE));
    check_set("", "a", Some(Value::from(2)), Ok("a: 2\n"));
}

#[test]
fn line_ends_and_a_byte_order_mark_stay() {
    check_set(
        "a: 1\r\nb: 2",
        "a",
        Some(Value::Null),
        Ok("a: null\r\nb: 2"),
    );
    check_set(
        "a: 1\nb: 2",
        "c",
        Some(Value::from(3)),
        Ok("a: 1\nb: 2\nc: 3\n"),
    );
    check_set(
        "a: 1\r\nb: 2",
        "c",
        Some(Value::from(3)),
        Ok("a: 1\r\nb: 2\r\nc: 3\r\n"),
    );
    let moved = SAMPLE.replace("unknown-key: x #", "unknown-key: z\n#");
    check_set(SAMPLE, "unknown-key", text("z"), Ok(&moved));
    check_set("a:1\nb:2", "a", text("x"), Ok("a: x\nb:2"));
    check_set(
        "x: |\n  a\n  # b\n",
        "y",
        text("z"),
        Ok("x: |\n  a\n  # b\ny: z\n"),
    );
    check_set(
        "\u{feff}a: 1\n",
        "a",
        Some(Value::from(2)),
        Ok("\u{feff}a: 2\n"),
    );
    check_set(
        "\u{feff}lanes:\n- x\n",
        "a",
        Some(Value::from(2)),
        Ok("\u{feff}a: 2\nlanes:\n- x\n"),
    );
}

#[test]
fn what_is_no_value_in_a_line_is_not_set() {
    check_set(SAMPLE, "lanes", text("x"), Err("holds a list"));
    check_set(
        "x: |\n  a: 1\n\n  b\ny: 1\n",
        "x",
        text("a"),
        Err("holds a list"),
    );
    check_set("a: 1\n", "a b", text("x"), Err("is no key"));
    check_set(
        "{a: 1}\n",
        "a",
        text("x"),
        Err("line 1 is not `key: value`"),
    );
}

#[test]
fn what_devt_cannot_read_is_refused() {
    for (text, expected) in [
        (SAMPLE, Ok(())),
        (DEFAULT, Ok(())),
        ("", Ok(())),
        ("---\na: b: c\n", Ok(())),
        ("lanes:\n- id: x\n  status: y\n", Ok(())),
        ("task: \"C:\\dir\"\n", Ok(())),
        ("task: [wip] it's\n", Ok(())),
        ("task: [wip\nactive: true\n", Ok(())),
        ("a b: 1\na.b: x\né: 2\na c:\n  - x\n", Ok(())),
        ("a: [1, 2\n", Err("the value in line 1 is no YAML")),
        ("a: {\n", Err("the value in line 1 is no YAML")),
        ("status: '@x'\nlanes: [a, {b: c}] # d\n", Ok(())),
        ("phase: [plan\n", Err("the value in line 1 is no YAML")),
        (
            "status: DONE\nverdict: *a\n",
            Err("the value in line 2 is no YAML"),
        ),
        ("tier: @x\n", Err("the value in line 1 is no YAML")),
        ("tier: 'x\n", Err("the value in line 1 is no YAML")),
        ("a b: [1, 2\n", Err("the value in line 1 is no YAML")),
        (
            "a: 1\n  b: 2\n",
            Err("line 1 holds a value, yet indented lines follow it"),
        ),
        ("a: 1\ntext\n", Err("line 2 is not `key: value`")),
        ("see http://x\n", Err("line 1 is not `key: value`")),
        ("  a: 1\n", Err("line 1 is not `key: value`")),
        ("a: \"b\n", Err("the value in line 1 is no YAML")),
    ] {
        let checked = check(text);
        let fault = checked.as_ref().map_err(|why| why.split("; ").next());
        assert_eq!(fault.copied(), expected.map_err(Some), "{text}");
    }
}

/// devt drops such a line when it writes; until then it is not ours to touch.
#[test]
fn a_key_that_devt_does_not_read_stays_and_says_nothing() {
    let text = "active: true\na b: 1\na.b:\n  - x\nphase: plan\n";
    let keys: Vec<String> = read(text).iter().map(|(key, _)| key.to_owned()).collect();
    assert_eq!(keys, ["active", "phase"]);
    let docs = Some(Value::from("docs"));
    check_set(text, "phase", docs, Ok(&text.replace("plan", "docs")));
    let off = Some(Value::Bool(false));
    check_set(text, "active", off, Ok(&text.replace("true", "false")));
}

#[test]
fn awkward_values_read_back_as_given_to_both_readers() {
    for value in [
        "C:\\new",
        "D:\\a\\nb c",
        "",
        "007",
        "true",
        "null",
        "~",
        "a: b",
        "a #b",
        "#a",
        "\"",
        "it's",
        "say \"x\"",
        " a ",
        "a:",
        "-",
        "- a",
        "{a}",
        "[1]",
        "2026-01-10T14:30:22Z",
        "1.5",
        "0x1f",
        "é",
        "yes",
        "a\nb",
        "!x",
        "&x",
        "*x",
        "%x",
        "@x",
        "|",
        ">",
        "?",
        "=",
        "<<",
        ".inf",
    ] {
        let text = set(SAMPLE, &[("task", Some(from_argument("task", value)))]).unwrap();
        assert_eq!(read(&text).text("task"), Some(value));
        assert_eq!(by_devt(&text, "task").as_deref(), Some(value), "{text}");
        let one_phase = text.replacen("phase: implement\n", "", 1);
        assert_eq!(
            by_yaml_parser(&one_phase)["task"].as_str(),
            Some(value),
            "{text}"
        );
    }
}

#[test]
fn arguments_have_the_type_of_their_key() {
    let text = |text: &str| Value::from(text);
    for (key, value, expected) in [
        ("active", "true", Value::Bool(true)),
        ("active", "yes", text("yes")),
        ("iteration", "3", Value::from(3)),
        ("iteration", "03", text("03")),
        ("phase", "null", Value::Null),
        ("phase", "3", text("3")),
        ("task", "null", text("null")),
        ("task", "true", text("true")),
        ("mine", "true", Value::Bool(true)),
    ] {
        assert_eq!(from_argument(key, value), expected, "{key}={value}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~]{0,12}", "[a\\\\n\":# \n\t'-]{0,8}"]
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..=EXACT_IN_DOUBLE).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ]
}

fn as_yaml(value: &Value) -> serde_yaml::Value {
    serde_yaml::from_str(&value.to_string()).unwrap()
}

proptest! {
    #[test]
    fn an_edit_equals_parse_change_compare(
        before in prop::collection::btree_map("k[a-z]{0,2}", any_scalar(), 0..5),
        (list, is_twice, has_mark, has_crlf) in any::<(bool, bool, bool, bool)>(),
        key in "k[a-z]{0,2}",
        value in prop::option::of(any_scalar()),
    ) {
        let mut text = String::from("# comment\n");
        for (key, value) in &before {
            text = set(&text, &[(key, Some(value.clone()))]).unwrap();
        }
        if list {
            text.push_str("lanes:\n  - id: \"L1\"\n    status: \"x: y\"\n");
        }
        if has_crlf {
            text = text.replace('\n', "\r\n");
        }
        let mut expected: serde_yaml::Mapping = if before.is_empty() && !list {
            serde_yaml::Mapping::new()
        } else {
            by_yaml_parser(&text)
        };
        if is_twice {
            let line = if has_crlf { "\r\n" } else { "\n" };
            text = format!("{key}: first{line}{text}");
        }
        if has_mark {
            text.insert(0, '\u{feff}');
        }
        if is_twice && !before.contains_key(&key) {
            expected.insert(key.as_str().into(), "first".into());
        }
        match &value {
            Some(value) => { expected.insert(key.as_str().into(), as_yaml(value)); }
            None => { expected.remove(key.as_str()); }
        }
        let after = set(&text, &[(&key, value.clone())]).unwrap();
        if !expected.is_empty() {
            prop_assert_eq!(by_yaml_parser(&after), expected);
        }
        prop_assert_eq!(read(&after).get(&key).cloned(), value);
        prop_assert!(check(&after).is_ok());
        let kept = |text: &str| {
            let own = format!("{key}:");
            let bare = text.trim_start_matches('\u{feff}');
            let lines = bare.split_inclusive('\n').filter(|line| !line.starts_with(&own));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        prop_assert_eq!(kept(&after), kept(&text));
        prop_assert_eq!(after.starts_with('\u{feff}'), has_mark);
    }

    /// The readers can agree on all but a backslash that must be quoted and
    /// characters that devt has no escape for.
    #[test]
    fn devt_reads_back_what_it_can(text in any_text()) {
        let file = set("", &[("task", Some(Value::from(text.clone())))]).unwrap();
        let escaped = text.chars().any(|c| c != '\n' && !yaml::is_printable(c));
        if !escaped && (is_plain(&text) || !text.contains('\\')) {
            prop_assert_eq!(by_devt(&file, "task"), Some(text));
        }
    }
}
