use proptest::prelude::*;

use super::*;

const GATES: &str = "# top\nphase: planning # why\ngates:\n  review:\n    # note\n    timestamp: 'x'\n    status: pending\n  test:\n\n# end\nnames:\n- a\n";

fn changed(text: &str, changes: &[KeyChange]) -> Result<String, String> {
    edit(text, parse(text).unwrap(), changes)
}

#[track_caller]
fn check(text: &str, change: &KeyChange, expected: &str) {
    assert_eq!(
        changed(text, std::slice::from_ref(change)).as_deref(),
        Ok(expected)
    );
}

#[test]
fn single_lines_change() {
    let status = |text| KeyChange::new(["gates", "review", "status"], text);
    check(
        GATES,
        &status("passed"),
        &GATES.replace("    status: pending", "    status: \"passed\""),
    );
    check(
        GATES,
        &status("a\"b\\c\nd").first(),
        &GATES.replace("    status: pending\n", "").replace(
            "  review:\n",
            "  review:\n    status: \"a\\\"b\\\\c\\nd\"\n",
        ),
    );
    check(
        GATES,
        &KeyChange::new(["phase"], "done"),
        &GATES.replace("phase: planning # why", "phase: \"done\"\n# why"),
    );
    check(
        GATES,
        &KeyChange::new(["gates", "test", "status"], "passed").first(),
        &GATES.replace("  test:\n", "  test:\n    status: \"passed\"\n"),
    );
    check(
        GATES,
        &KeyChange::new(["gates", "lint", "status"], "x"),
        &GATES.replace("  test:\n", "  test:\n  lint:\n    status: \"x\"\n"),
    );
    let marked = "\u{feff}a: 1\nb: 2\n";
    check(marked, &KeyChange::new(["a"], 3), &marked.replace('1', "3"));
    check("", &KeyChange::new(["n"], 3), "n: 3\n");
    check("a: 1", &KeyChange::new(["b"], true), "a: 1\nb: true\n");
    check(
        "a: 1\r\nb: 2\r\n",
        &KeyChange::new(["a"], 3),
        "a: 3\r\nb: 2\r\n",
    );
    check(
        "a: |\n  x\n  y\nb: 2\n",
        &KeyChange::new(["a"], "z"),
        "a: \"z\"\nb: 2\n",
    );
    check(
        "'a' : \"x # y\" # z\n",
        &KeyChange::new(["a"], "q"),
        "'a' : \"q\"\n# z\n",
    );
}

#[test]
fn comments_move_below_their_value() {
    check("a: 1 # c", &KeyChange::new(["a"], "x"), "a: \"x\"\n# c");
    check(
        "a: 1 # c\r\n",
        &KeyChange::new(["a"], "x"),
        "a: \"x\"\r\n# c\r\n",
    );
    check(
        "a: 'it''s' # it's\n",
        &KeyChange::new(["a"], "x"),
        "a: \"x\"\n# it's\n",
    );
    check(
        "a: \"\\\" #\" # c\n",
        &KeyChange::new(["a"], "x"),
        "a: \"x\"\n# c\n",
    );
    check("a: x#y\n", &KeyChange::new(["a"], "x"), "a: \"x\"\n");
    check(
        "a:\n  b: # c\n",
        &KeyChange::new(["a", "b"], "x"),
        "a:\n  b: \"x\"\n  # c\n",
    );
    check(
        "\"a:b\": 1\n",
        &KeyChange::new(["a:b"], "x"),
        "\"a:b\": \"x\"\n",
    );
    check(
        "\"a\\\"b\": 1\n",
        &KeyChange::new(["a\"b"], "x"),
        "\"a\\\"b\": \"x\"\n",
    );
    check(
        "-a: 1\n",
        &KeyChange::new(["b"], "x").first(),
        "b: \"x\"\n-a: 1\n",
    );
    check(
        "b: 1\n-a: 1\n",
        &KeyChange::new(["b"], "x"),
        "b: \"x\"\n-a: 1\n",
    );
    check(
        "# c\r\n",
        &KeyChange::new(["a"], "x"),
        "a: \"x\"\r\n# c\r\n",
    );
}

#[test]
fn a_key_can_go() {
    let without = |path: &[&str]| KeyChange {
        path: path.iter().map(ToString::to_string).collect(),
        value: None,
        place: Place::Any,
    };
    let status = without(&["gates", "review", "status"]);
    check(GATES, &status, &GATES.replace("    status: pending\n", ""));
    check(GATES, &without(&["gates", "lint", "status"]), GATES);
    check(GATES, &without(&["none"]), GATES);
    check("a:\n  b: 1 # c\n", &without(&["a", "b"]), "a:\n");
    check("a: 1\n", &without(&["a"]), "");
    assert!(changed(GATES, &[without(&["gates"])]).is_err());
    assert!(changed(GATES, &[without(&["phase", "a"])]).is_err());
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let change = [KeyChange::new(["gates", "review", "status"], "passed")];
    // What the text was taken for counts, not only what it becomes.
    let other = parse("gates: 1\nphase: done\n").unwrap();
    let style = |edited: Result<String, String>| {
        let why = edited.unwrap_err();
        assert!(why.contains("cannot be changed in this style"), "{why}");
    };
    let block = |edited: Result<String, String>| {
        let why = edited.unwrap_err();
        assert!(why.contains("cannot hold a plain value here"), "{why}");
    };
    let to_text = [KeyChange::new(["gates"], "x")];
    style(edit("gates: 1\nphase: x\n", other, &to_text));
    block(changed("gates: x\n", &change));
    style(changed("gates: {review: {status: pending}}\n", &change));
    block(changed("gates:\n  a: 1\n", &to_text));
    style(changed("a: &x 1\nb: *x\n", &[KeyChange::new(["a"], "x")]));
}

fn scalar_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        Just("\"quoted # text\"".to_owned()),
        Just("'it''s'".to_owned()),
        Just("plain # comment".to_owned()),
        Just("|\n          block\n          text".to_owned()),
        Just("007".to_owned()),
        Just(String::new()),
    ]
}

/// A document of blocks with comments, blanks and odd keys, as people leave them.
fn document() -> impl Strategy<Value = String> {
    let field = ("(status|agent|note)", scalar_text(), any::<bool>());
    let gate = (0..5_usize, prop::collection::vec(field, 0..3));
    prop::collection::vec(gate, 0..4).prop_map(|gates| {
        let mut text = String::from("phase: x\ngates:\n");
        for (index, (name, fields)) in gates.into_iter().enumerate() {
            text += &format!("  g{name}{index}:\n");
            for (at, (key, value, comment)) in fields.into_iter().enumerate() {
                text += if comment { "    # status: no\n\n" } else { "" };
                text += &format!("    {key}{}: {value}\n", if at == 0 { "" } else { "_b" });
            }
        }
        text + "tail: [1, 2]\n# end\n"
    })
}

/// The lines of a document, each with whether it is one of a key of a gate.
fn lines_of<'t>(text: &'t str, gate: &str, key: &str) -> Vec<(&'t str, bool)> {
    let mut is_in_gate = false;
    let mut is_of_key = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if indent <= 2 && !line.trim().is_empty() {
            is_in_gate = line.trim_start().starts_with(&format!("{gate}:"));
        }
        if indent < 10 {
            is_of_key = is_in_gate && line.trim_start().starts_with(&format!("{key}:"));
        }
        (line, is_of_key)
    });
    lines.collect()
}

proptest! {
    #[test]
    fn an_edit_is_parse_change_compare(
        plain in document(),
        name in "g[0-4][0-3]",
        key in "(status|agent|new)",
        value in prop::option::of("\\PC{0,8}|[\\x00-\\x20\"\\\\#:']{0,6}|[\u{2028}\u{feff}\u{85}a]{0,4}"),
        (is_first, has_mark, has_crlf, is_open) in any::<(bool, bool, bool, bool)>(),
    ) {
        let newline = if has_crlf { "\r\n" } else { "\n" };
        let end = if is_open { plain.len() - 1 } else { plain.len() };
        let mark = if has_mark { "\u{feff}" } else { "" };
        let text = format!("{mark}{}", plain[..end].replace('\n', newline));
        let Ok(mut expected) = parse(&text) else { return Ok(()) };
        let change = KeyChange {
            path: ["gates", &name, &key].map(String::from).to_vec(),
            value: value.map(Value::from),
            place: if is_first { Place::First } else { Place::Any },
        };
        if change.apply(&mut expected).is_none() {
            return Ok(());
        }
        let edited = changed(&text, std::slice::from_ref(&change)).unwrap();
        prop_assert_eq!(parse(&edited).unwrap(), expected);
        // All lines but those of the entry are kept, byte for byte and in order.
        let after = lines_of(&edited, &name, &key);
        let mut rest = after.iter().filter(|(_, is_of_key)| !is_of_key);
        let mut n_kept = 0;
        for (line, _) in lines_of(&text, &name, &key).iter().filter(|(_, is_of_key)| !is_of_key) {
            let is_kept = |kept: &str| kept == *line || kept.strip_suffix(newline) == Some(line);
            prop_assert!(rest.any(|(kept, _)| is_kept(kept)), "lost {line:?} in {edited:?}");
            n_kept += 1;
        }
        // New ones are the line of the entry, its block's own and a comment.
        prop_assert!(after.len() <= n_kept + 2, "{edited:?}");
    }

    #[test]
    fn quoting_is_read_back(text in any::<String>()) {
        let value = parse(&format!("a: {}\n", quote(&text))).unwrap();
        prop_assert_eq!(get(&value, &["a"]), Some(&Value::String(text)));
    }

    #[test]
    fn no_text_is_broken(text in "[ab:#'\"|\\-\\[{ \\n&*]{0,60}", value in "[a-z\"\\\\]{0,5}") {
        if let Ok(read) = parse(&text) {
            let changes = [KeyChange::new(["a", "b"], value.as_str()), KeyChange::new(["b"], value.as_str())];
            let _ = edit(&text, read, &changes);
        }
    }
}
