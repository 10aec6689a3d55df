//! The JSON Schemas of the settings and of contracts are what the types say.
//! `SCHEMA=overwrite cargo test --lib settings::tests::schema` writes them.

#![expect(clippy::disallowed_methods, reason = "a test writes the schemas anew")]

use std::borrow::Cow;
use std::{env, fs};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::*;
use crate::base::text::is_in;
use crate::formats::typed::Mismatch;
use crate::settings::contracts::OF_SETTINGS;
use crate::settings::file::SystemFile;
use crate::settings::typed::check_key;

/// Both schemas, by their files.
fn derived() -> [(&'static str, Value); 2] {
    let generator = SchemaSettings::draft07()
        .with_transform(RecursiveTransform(without_null))
        .with_transform(RecursiveTransform(with_plain_enums))
        .into_generator();
    let root = generator.into_root_schema_for::<File>();
    let mut settings = json!({ "$schema": root.get("$schema"), "title": root.get("title") });
    let parts = root.as_object().cloned().unwrap_or_default();
    settings.as_object_mut().unwrap().extend(parts);
    // Nothing is given where every line of a block is a comment.
    let blocks = [
        "",
        "/properties/systems",
        "/properties/systems/properties/devt",
        "/properties/systems/properties/groups",
        "/definitions/builtIn",
    ];
    for block in blocks {
        settings.pointer_mut(block).unwrap()["type"] = json!(["object", "null"]);
    }
    let keys = settings["definitions"]["declared"]["properties"].as_object();
    let of_contract = keys.unwrap().keys().filter(|key| !is_in(OF_SETTINGS, key));
    let properties = of_contract.map(|key| {
        let place = format!("settings.schema.json#/definitions/declared/properties/{key}");
        (key.clone(), json!({ "$ref": place }))
    });
    let contract = json!({
        "$schema": settings["$schema"],
        "title": "statewarden contract",
        "description": "`.claude/statewarden.d/*.yaml` of a project, or `statewarden.yaml` at the root of a Claude Code plugin",
        "type": "object",
        "required": ["systems"],
        "additionalProperties": false,
        "properties": {
            "systems": {
                "description": "Systems to be guarded, by ids of their own",
                "type": "object",
                "propertyNames": settings["properties"]["systems"]["propertyNames"],
                "additionalProperties": {
                    "type": "object",
                    "required": ["site"],
                    "additionalProperties": false,
                    "properties": Map::from_iter(properties),
                }
            }
        }
    });
    [
        ("settings.schema.json", settings),
        ("contract.schema.json", contract),
    ]
}

#[test]
fn the_schemas_are_what_the_types_say() {
    for (name, schema) in derived() {
        let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = format!("{schema:#}\n");
        if env::var("SCHEMA").is_ok_and(|word| word == "overwrite") {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name}");
    }
}

/// The part about systems: of one type, but with other keys for each built-in system and for
/// those that are declared.
pub(in crate::settings) struct Systems;

impl JsonSchema for Systems {
    fn schema_name() -> Cow<'static, str> {
        "Systems".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let all = SystemFile::json_schema(generator).to_value();
        let known = system::known();
        let with_keys_of = |id: &str| {
            let mut one = all.clone();
            let keys = one["properties"].as_object_mut().unwrap();
            keys.retain(|key, _| check_key(id, key, &known).is_ok());
            one
        };
        let definitions = generator.definitions_mut();
        definitions.insert("builtIn".to_owned(), with_keys_of("session"));
        let mut declared = with_keys_of("new");
        declared["description"] =
            "A system that exists in the settings only; its directories are closed".into();
        definitions.insert("declared".to_owned(), declared);
        let built_in = known.iter().map(|system| {
            let plain = json!({ "$ref": "#/definitions/builtIn" });
            let has_own_keys = !system.keys.is_empty();
            let one = has_own_keys.then(|| with_keys_of(system.id));
            (system.id.to_owned(), one.unwrap_or(plain))
        });
        schemars::json_schema!({
            "type": "object",
            "propertyNames": { "pattern": "^[a-z][a-z0-9-]*$" },
            "properties": Map::from_iter(built_in),
            "additionalProperties": { "$ref": "#/definitions/declared" }
        })
    }
}

/// Leaves out that a key may be given without a value, which no one writes on purpose, and the
/// size of numbers in bits.
fn without_null(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|word| word != "null");
        let [one] = types.as_slice() else { return };
        let one = one.clone();
        schema.insert("type".to_owned(), one);
    }
    let null = json!({ "type": "null" });
    let Some(Value::Array(of)) = schema.get_mut("anyOf") else {
        return;
    };
    let has_null = of.contains(&null);
    of.retain(|part| *part != null);
    let ([Value::Object(one)], true) = (of.as_slice(), has_null) else {
        return;
    };
    let one = one.clone();
    schema.remove("anyOf");
    // Beside a reference nothing counts.
    if one.contains_key("$ref") && schema.get("description").is_some() {
        schema.insert("allOf".to_owned(), json!([one]));
    } else {
        schema.ensure_object().extend(one);
    }
}

/// An enum as the list of its words, and a description in one line.
fn with_plain_enums(schema: &mut Schema) {
    if let Some(Value::Array(of)) = schema.get("oneOf") {
        let words = of.iter().flat_map(|part| match &part["enum"] {
            Value::Array(words) => words.clone(),
            _ => vec![part["const"].clone()],
        });
        let words: Vec<Value> = words.collect();
        if words.iter().all(Value::is_string) {
            schema.remove("oneOf");
            schema.insert("enum".to_owned(), json!(words));
        }
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

/// The words that a place takes, as the parser lists them for one that is none.
fn words_of(text: &str) -> BTreeSet<String> {
    let fault = File::parse(text).unwrap_err();
    let Mismatch::UnknownWord { known, .. } = fault.what else {
        panic!("{fault}");
    };
    known.iter().map(ToString::to_string).collect()
}

pub(super) fn schema_of_settings() -> Value {
    serde_json::from_str(include_str!("../../../settings.schema.json")).unwrap()
}

/// Whether a text fits a part of the schema.
fn fits(part: &Value, text: &str) -> bool {
    let matches = |pattern: &str| regex::Regex::new(pattern).unwrap().is_match(text);
    let mut rules = part.as_object().unwrap().iter();
    rules.all(|(key, rule)| match key.as_str() {
        "type" | "description" => true,
        "pattern" => matches(rule.as_str().unwrap()),
        "maxLength" => text.len() as u64 <= rule.as_u64().unwrap(),
        "not" => !fits(rule, text),
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
            ("/definitions/Name", "devt: {subdirectories: [@]}"),
            ("/definitions/ExtraGlob", "devt: {extra_globs: [@]}"),
            ("/definitions/NameGlob", "x: {site: z, canonical: [@]}"),
            ("/definitions/Site", "x: {site: @}"),
            ("/definitions/Directory", "groups: {roots: [@]}"),
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
fn what_a_file_has_to_hold_is_as_the_parser_has_it() {
    let schema = schema_of_settings();
    let rules = &schema["definitions"]["ContentRule"]["oneOf"];
    let words = rules[0]["enum"].as_array().unwrap().iter();
    let keys = rules[1]["properties"].as_object().unwrap().keys();
    let rules = words
        .map(|word| word.as_str().unwrap())
        .chain(keys.map(String::as_str));
    assert_eq!(
        rules.map(str::to_owned).collect::<BTreeSet<_>>(),
        words_of("systems: {x: {site: x, content: {a: zzz}}}")
    );
}
