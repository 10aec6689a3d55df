//! What the JSON Schema says of a value whose type alone does not say it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::contract::edition::Choice;
use crate::formats::ordered::Ordered;
use crate::settings::content::ContentRule;
use crate::settings::file::Words;
use crate::settings::model::{Openness, ROLES};

/// A type of its own with a definition in the schema.
macro_rules! shape {
    ($name:ident, $schema:tt) => {
        pub(crate) struct $name;
        schema_of!($name, $schema);
    };
}

macro_rules! schema_of {
    ($name:ident, $schema:tt) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

shape!(Filled, { "type": "string", "minLength": 1 });
shape!(Word, { "type": "string", "pattern": "^\\S+$" });
shape!(Line, { "type": "string", "pattern": "\\S" });
shape!(Trimmed, { "type": "string", "pattern": "^\\S(.*\\S)?$" });
shape!(NameGlob, {
    "description": "Glob of a name, relative to the system's directory",
    "type": "string",
    "pattern": "\\S",
    "maxLength": 1024,
    "not": { "pattern": "^\\s|\\s$|\\\\|^/|//|/$|(^|/)\\.\\.?(/|$)" }
});
shape!(ExtraGlob, {
    "description": "Glob of a name that is not every name, relative to the system's directory",
    "type": "string",
    "pattern": "\\S",
    "maxLength": 1024,
    "not": { "pattern": "^[*]+$|^\\s|\\s$|\\\\|^/|//|/$|(^|/)\\.\\.?(/|$)" }
});
shape!(Name, {
    "description": "A path relative to the system's directory, without `..` and wildcards",
    "type": "string",
    "pattern": "^[^*?\\u0000\\n\\r]+$",
    "not": { "pattern": "^\\./*$|^\\s|\\s$|\\\\|^(\\./)?~|^/|//+[^/]|(^|/)\\.\\.(/|$)|./\\.(/|$)" }
});
shape!(Directory, {
    "description": "A path relative to the project root, without `..` and wildcards",
    "type": "string",
    "pattern": "^[^*?\\u0000\\n\\r]+$",
    "not": { "pattern": "^\\s|\\s$|\\\\|^(\\./)?~|^/|//+[^/]|(^|/)\\.\\.(/|$)|./\\.(/|$)" }
});
shape!(Site, {
    "description": "Glob of a directory, relative to the project root, without `..`",
    "type": "string",
    "pattern": "^[^\\u0000\\n\\r]+$",
    "maxLength": 1024,
    "not": { "pattern": "^\\./*$|^\\s|\\s$|\\\\|^(\\./)?~|^/|//+[^/]|(^|/)\\.\\.(/|$)|./\\.(/|$)" }
});
shape!(SchemaPath, {
    "description": "File with a JSON Schema of `type`, `required`, `properties`, `items`, `enum`; relative to this file",
    "type": "string",
    "pattern": "^[^\\u0000\\n\\r]+$",
    "not": { "pattern": "^\\./*$|^\\s|\\s$|\\\\|^(\\./)?~|^/|//+[^/]|(^|/)\\.\\.(/|$)|./\\.(/|$)" }
});
shape!(Program, { "type": "string", "pattern": "^([^/ *]+|mcp__[^/ *]+__[^/ ]+)$" });
shape!(Role, { "enum": ROLES });

schema_of!(Openness, { "enum": [true, false, "near"] });
schema_of!(Choice, { "enum": ["auto", "0.83", "0.244", 0.83, 0.244] });
schema_of!(Words, {
    "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
});

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
