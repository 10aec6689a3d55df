//! What the JSON Schema says of a value whose type alone does not say it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::contract::edition::Choice;
use crate::contract::glob::Pattern;
use crate::formats::ordered::Ordered;
use crate::settings::content::ContentRule;
use crate::settings::file::{Bounded, Words};
use crate::settings::model::{Openness, ROLES};

macro_rules! schema_of {
    ($name:ident, $schema:expr) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

/// Texts, each a type of its own with a definition in the schema: the pattern of all of it, what is
/// nowhere in it, the most bytes, and what it is.
macro_rules! texts {
    ($($name:ident: $pattern:expr, $never:expr, $most:expr, $what:expr;)*) => {
        $(
            pub(crate) struct $name;
            schema_of!($name, text($pattern, &$never, $most, $what));
        )*
    };
}

texts! {
    Filled: ANY, [], 0, "";
    Word: "^\\S+$", [], 0, "";
    Line: VISIBLE, [], 0, "";
    Trimmed: "^\\S(.*\\S)?$", [], 0, "";
    Program: "^([^/ *]+|mcp__[^/ *]+__[^/ ]+)$", [], 0, "";
    NameGlob: VISIBLE, [EDGES, SLASHES, DOTS], Pattern::MAX_BYTES,
        "Glob of a name, relative to the system's directory";
    ExtraGlob: VISIBLE, ["^[*]+$", EDGES, SLASHES, DOTS], Pattern::MAX_BYTES,
        "Glob of a name that is not every name, relative to the system's directory";
    Name: NO_GLOB, [ROOT, EDGES, HOME, UP], 0,
        "A path relative to the system's directory, without `..` and wildcards";
    Directory: NO_GLOB, [EDGES, HOME, UP], 0,
        "A path relative to the project root, without `..` and wildcards";
    Site: ONE_LINE, [ROOT, EDGES, HOME, UP], Pattern::MAX_BYTES,
        "Glob of a directory, relative to the project root, without `..`";
    SchemaPath: ONE_LINE, [ROOT, EDGES, HOME, UP], 0,
        "File with a JSON Schema of `type`, `required`, `properties`, `items`, `enum`; relative to this file";
}

const ANY: &str = "";
const VISIBLE: &str = "\\S";
const ONE_LINE: &str = "^[^\\u0000\\n\\r]+$";
const NO_GLOB: &str = "^[^*?\\u0000\\n\\r]+$";

/// Blanks at an end, and backslashes.
const EDGES: &str = r"^\s|\s$|\\";
/// Slashes that divide nothing.
const SLASHES: &str = "^/|//|/$";
const DOTS: &str = r"(^|/)\.\.?(/|$)";
/// The directory itself.
const ROOT: &str = r"^\./*$";
/// A home directory, and other absolute paths.
const HOME: &str = r"^(\./)?~|^/|//+[^/]";
const UP: &str = r"(^|/)\.\.(/|$)|./\.(/|$)";

fn text(pattern: &str, never: &[&str], most: usize, what: &str) -> Schema {
    let bound = match pattern {
        ANY => ("minLength", json!(1)),
        pattern => ("pattern", json!(pattern)),
    };
    let all = [
        ("description", json!(what), !what.is_empty()),
        ("type", json!("string"), true),
        (bound.0, bound.1, true),
        ("maxLength", json!(most), most > 0),
        (
            "not",
            json!({ "pattern": never.join("|") }),
            !never.is_empty(),
        ),
    ];
    let given = all.into_iter().filter(|(.., is_given)| *is_given);
    let keys = given.map(|(key, value, _)| (key.to_owned(), value));
    serde_json::Map::from_iter(keys).into()
}

pub(crate) struct Role;

schema_of!(Role, json_schema!({ "enum": ROLES }));
schema_of!(Openness, json_schema!({ "enum": [true, false, "near"] }));
schema_of!(
    Choice,
    json_schema!({ "enum": ["auto", "0.83", "0.244", 0.83, 0.244] })
);
schema_of!(
    Words,
    json_schema!({
        "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
    })
);

impl<const MIN: u64, const MAX: u64> JsonSchema for Bounded<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "maximum": MAX, "minimum": MIN })
    }
}

/// A site, or a list of them.
pub(crate) struct Sites;

impl JsonSchema for Sites {
    fn schema_name() -> Cow<'static, str> {
        "Sites".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let site = generator.subschema_for::<Site>();
        json_schema!({ "anyOf": [site, { "type": "array", "minItems": 1, "items": site }] })
    }
}

/// `agent: role`, or `role: [agents]`.
pub(crate) struct Roles;

impl JsonSchema for Roles {
    fn schema_name() -> Cow<'static, str> {
        "Roles".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (words, role) = (
            generator.subschema_for::<Words>(),
            generator.subschema_for::<Role>(),
        );
        let agents = ROLES.map(|role| (role.to_owned(), words.clone().to_value()));
        json_schema!({
            "type": "object",
            "properties": serde_json::Map::from_iter(agents),
            "additionalProperties": {
                "oneOf": [
                    role,
                    { "type": "array", "items": role, "minItems": 1, "maxItems": 1 }
                ]
            }
        })
    }
}

/// A glob of a name each, with a value.
impl<V: JsonSchema> JsonSchema for Ordered<V, NameGlob> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}ByName", V::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": generator.subschema_for::<NameGlob>(),
            "additionalProperties": generator.subschema_for::<V>()
        })
    }
}

/// Words for a directory, each with its glob.
pub(crate) struct Aliases;

impl JsonSchema for Aliases {
    fn schema_name() -> Cow<'static, str> {
        "Aliases".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": generator.subschema_for::<Site>()
        })
    }
}

impl JsonSchema for ContentRule {
    fn schema_name() -> Cow<'static, str> {
        "ContentRule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "enum": ["json", "yaml", "front-matter"] },
                {
                    "type": "object",
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                    "properties": {
                        "schema": generator.subschema_for::<SchemaPath>(),
                        "status_line": {
                            "description": "Values of the one line `**Status:** VALUE` or `Status: VALUE`",
                            "type": "array",
                            "minItems": 1,
                            "items": generator.subschema_for::<Trimmed>()
                        }
                    }
                }
            ]
        })
    }
}
