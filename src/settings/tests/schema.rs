//! The JSON Schema of the settings says what the types say.

use super::*;

/// The keys a struct of the file takes, as its parser lists them.
fn keys_of(place: &str) -> BTreeSet<String> {
    let problem = File::parse(&place.replace('@', "zzz: 1")).unwrap_err();
    let words = problem.split('`').skip(1).step_by(2).map(str::to_owned);
    words.filter(|word| word != "zzz").collect()
}

pub(super) fn schema_of_settings() -> serde_json::Value {
    serde_json::from_str(include_str!("../../../settings.schema.json")).unwrap()
}

/// Whether a text fits a part of the schema.
fn fits(part: &serde_json::Value, text: &str) -> bool {
    let matches = |pattern: &str| regex::Regex::new(pattern).unwrap().is_match(text);
    let mut rules = part.as_object().unwrap().iter();
    rules.all(|(key, rule)| match key.as_str() {
        "type" | "description" => true,
        "pattern" => matches(rule.as_str().unwrap()),
        "maxLength" => text.len() as u64 <= rule.as_u64().unwrap(),
        "not" => !fits(rule, text),
        "allOf" => rule.as_array().unwrap().iter().all(|rule| fits(rule, text)),
        "$ref" => {
            let pointer = rule.as_str().unwrap().trim_start_matches('#');
            fits(schema_of_settings().pointer(pointer).unwrap(), text)
        }
        key => panic!("{key}"),
    })
}

#[test]
fn the_schema_is_as_strict_as_the_parser() {
    let schema = schema_of_settings();
    let long = "a".repeat(Pattern::MAX_BYTES + 1);
    let texts = "a|a.md|a/b|./a|a/|a//|.a|..a|...|.a./b|a/.b|a b|é|-|#|a/~|*.md|?|*|**|docs/**|\
                 |.|./|.//|..|../a|a/..|a/../b|a/./b|a/.|././a|./.|./..|/|/a|//|a//b|.//a|~|~/a|./~|\
                 a\nb|a\rb|a\0b| | a|a |a\\b";
    for text in texts.split('|').chain([long.as_str()]) {
        for (place, settings) in [
            ("/definitions/names/items", "devt: {subdirectories: [@]}"),
            ("/definitions/extraGlobs/items", "devt: {extra_globs: [@]}"),
            ("/definitions/globs/items", "x: {site: z, canonical: [@]}"),
            ("/definitions/site", "x: {site: @}"),
            (
                "/properties/systems/properties/groups/properties/roots/items",
                "groups: {roots: [@]}",
            ),
        ] {
            let quoted = serde_json::to_string(text).unwrap();
            let settings = format!("systems: {{{}}}\n", settings.replace('@', &quoted));
            let problems = project(&settings).problems;
            let part = schema.pointer(place).unwrap();
            assert_eq!(
                fits(part, text),
                problems.is_empty(),
                "{settings}{problems:?}"
            );
        }
    }
    for (key, place) in [("archive", "runs"), ("log", "max_bytes")] {
        let part = &schema["properties"][key]["properties"][place];
        let bound = |name: &str| part[name].as_number().unwrap().to_string();
        let number = |bound: &str| bound.parse::<i128>().unwrap();
        let (least, most) = (number(&bound("minimum")), number(&bound("maximum")));
        for (value, is_fine) in [
            (least - 1, false),
            (least, true),
            (most, true),
            (most + 1, false),
        ] {
            let problems = project(&format!("{key}: {{{place}: {value}}}\n")).problems;
            assert_eq!(problems.is_empty(), is_fine, "{key} {value} {problems:?}");
        }
    }
}

#[test]
fn the_schema_has_exactly_the_keys_of_the_file() {
    let schema = schema_of_settings();
    let keys = |pointer: &str| -> BTreeSet<String> {
        schema
            .pointer(pointer)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(keys("/properties"), keys_of("@"));
    assert_eq!(
        keys("/properties/archive/properties"),
        keys_of("archive: {@}")
    );
    assert_eq!(keys("/properties/log/properties"), keys_of("log: {@}"));
    let systems = keys("/properties/systems/properties");
    assert_eq!(
        systems,
        system::ids().into_iter().map(str::to_owned).collect()
    );
    let of_systems: BTreeSet<_> = [
        "/definitions/declared/properties",
        "/definitions/builtIn/properties",
        "/properties/systems/properties/devt/properties",
        "/properties/systems/properties/groups/properties",
    ]
    .into_iter()
    .flat_map(keys)
    .collect();
    assert_eq!(of_systems, keys_of("systems: {devt: {@}}"));
    for (definition, place) in [
        ("gate", "{@}"),
        ("need", "{name: a, agent: a, needs: [{@}]}"),
    ] {
        let place = format!("systems: {{x: {{site: x, gates: [{place}]}}}}");
        let keys = keys(&format!("/definitions/{definition}/properties"));
        assert_eq!(keys, keys_of(&place), "{definition}");
    }
}

#[test]
fn the_schema_has_exactly_the_values_of_the_enums() {
    let schema = schema_of_settings();
    let mut checked = 0;
    for (key, place) in [
        ("/definitions/mode", "mode: zzz"),
        ("/properties/completion", "completion: zzz"),
        ("/properties/dispatch", "dispatch: zzz"),
        ("/properties/on_error", "on_error: zzz"),
    ] {
        let values = schema.pointer(key).unwrap()["enum"].as_array().unwrap();
        let values: BTreeSet<_> = values
            .iter()
            .map(|v| v.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(values, keys_of(place), "{key}");
        checked += values.len();
    }
    assert_eq!(checked, 11);
    let rules = &schema["definitions"]["content"]["oneOf"];
    let words = rules[0]["enum"].as_array().unwrap().iter();
    let keys = rules[1]["properties"].as_object().unwrap().keys();
    let rules = words
        .map(|word| word.as_str().unwrap())
        .chain(keys.map(String::as_str));
    assert_eq!(
        rules.map(str::to_owned).collect::<BTreeSet<_>>(),
        keys_of("systems: {x: {site: x, content: {a: zzz}}}")
    );
    let roles = "/properties/systems/properties/groups/properties/roles/properties";
    let roles = schema.pointer(roles).unwrap().as_object().unwrap();
    assert!(roles.keys().eq(ROLES));
    assert_eq!(
        schema["definitions"]["role"]["enum"],
        serde_json::json!(ROLES)
    );
}
