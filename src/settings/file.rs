//! One settings file: YAML text to typed keys, every one optional.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::contract::denial::Mode;
use crate::contract::edition::Choice;
use crate::formats::ordered::Ordered;
use crate::formats::typed::{Mismatch, TypeFault};
use crate::formats::yaml;
use crate::settings::content::ContentRule;
use crate::settings::gates::GateFile;
use crate::settings::model::{
    EvidenceMode, OnError, Openness, Recording, Settings, Strictness, Undo,
};
#[cfg(test)]
use crate::settings::tests::{schema, shapes};

/// `.claude/statewarden.yaml`, `.claude/statewarden.local.yaml`, the user's `statewarden/config.yaml`
/// and the managed `/etc/statewarden/config.yaml`
//
// The comments of keys are the descriptions of `settings.schema.json`, and `with` says more of a
// value than its type: `tests/schema.rs`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(title = "statewarden settings")
)]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct File {
    /// What a broken rule leads to: a denial, a note to the model, or nothing. Default: enforce
    pub(crate) mode: Option<Mode>,
    /// Settings of single systems; any other id declares a new system and needs `site`
    #[cfg_attr(test, schemars(with = "Option<schema::Systems>"))]
    pub(crate) systems: Option<BTreeMap<String, Option<SystemFile>>>,
    /// An artifact that an agent owes at its end and that is missing, a stub or invalid: recorded,
    /// asked for, or nothing. Default: warn
    pub(crate) completion: Option<Strictness>,
    /// An agent that is started before the gate of its phase: noted, denied, or nothing. Default: warn
    pub(crate) dispatch: Option<Strictness>,
    /// What is taken back after a call: nothing, names that are not allowed, or also changes that
    /// one call alone can have made. Default: names
    pub(crate) undo: Option<Undo>,
    /// Keep former contents of state files, or listings only. Default: on
    pub(crate) recorder: Option<Recording>,
    /// What shows that a gate passed
    pub(crate) evidence: Option<EvidenceFile>,
    /// The archive of `cleanup`, `reset` and `sweep`
    pub(crate) archive: Option<ArchiveFile>,
    /// The logs
    pub(crate) log: Option<LogFile>,
    /// The answer to an event that cannot be read and names no governed place. Default: open
    pub(crate) on_error: Option<OnError>,
    /// Whether commands that cannot be judged before they run may only read state directories. Has no
    /// effect in a project's files. Default: false
    pub(crate) strict: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct ArchiveFile {
    /// Runs of cleanup, reset and sweep that are kept. Default: 5
    pub(crate) runs: Option<Bounded<1, MAX_COUNT>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: require`"
)]
pub(crate) struct EvidenceFile {
    /// A gate without proof: `record` passes it on its word, `require` keeps it open. Default: record
    pub(crate) mode: Option<EvidenceMode>,
    /// Command lines that are tests, beside the usual runners. A whole line, which counts by its exit
    /// status
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::Filled>>"))]
    pub(crate) commands: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct LogFile {
    /// Size of a log past which its oldest records move to an archive file. Default: 8388608
    pub(crate) max_bytes: Option<Bounded<{ Settings::MIN_LOG_BYTES }, { u64::MAX }>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct SystemFile {
    /// false is the same as `mode: off`
    pub(crate) enabled: Option<bool>,
    /// In place of the general mode
    pub(crate) mode: Option<Mode>,
    /// Edition of the devt contract. Default: 0.83
    pub(crate) contract: Option<Choice>,
    /// More names that are allowed
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::Name>>"))]
    pub(crate) extra_names: Option<Vec<String>>,
    /// More names that are allowed, as globs
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::ExtraGlob>>"))]
    pub(crate) extra_globs: Option<Vec<String>>,
    /// More directories that are allowed
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::Name>>"))]
    pub(crate) subdirectories: Option<Vec<String>>,
    /// More directories that hold group files, relative to the project root
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::Directory>>"))]
    pub(crate) roots: Option<Vec<String>>,
    /// `agent: role`, or `role: [agents]`; an agent's name may hold `*`
    #[cfg_attr(test, schemars(with = "Option<shapes::Roles>"))]
    pub(crate) roles: Option<BTreeMap<String, Words>>,
    /// Programs whose changes are the system's own, and tools of MCP servers: `mcp__SERVER__*`
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::Program>>"))]
    pub(crate) programs: Option<Vec<String>>,
    /// Glob of its directories, relative to the project root, or a list of them
    #[cfg_attr(test, schemars(with = "Option<shapes::Sites>"))]
    pub(crate) site: Option<Words>,
    /// Names that no list holds are free: all (true), none (false), or all but misspelled forms of
    /// listed ones (near). Default: false
    pub(crate) open: Option<Openness>,
    /// No file of `patterns` is ever stale. Default: false
    pub(crate) long_lived: Option<bool>,
    /// Names that belong to the system
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::NameGlob>>"))]
    pub(crate) canonical: Option<Vec<String>>,
    /// Names of which there may be many
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::NameGlob>>"))]
    pub(crate) patterns: Option<Vec<String>>,
    /// Names of files that may go at any time
    #[cfg_attr(test, schemars(with = "Option<Vec<shapes::NameGlob>>"))]
    pub(crate) ephemeral: Option<Vec<String>>,
    /// Glob of a name to those who may write it: agents, `@main`, `@program`, `@user`
    #[cfg_attr(test, schemars(with = "Option<Ordered<Words, shapes::NameGlob>>"))]
    pub(crate) owners: Option<Ordered<Words>>,
    /// Glob of a name to what the file has to hold
    #[cfg_attr(
        test,
        schemars(with = "Option<Ordered<ContentRule, shapes::NameGlob>>")
    )]
    pub(crate) content: Option<Ordered<ContentRule>>,
    /// Checkpoints, each behind those it comes after
    pub(crate) gates: Option<Vec<GateFile>>,
    /// Words that texts use for a directory, each with its glob, for `contract lint`:
    /// `FEATURE_DIR: specs/*`
    #[cfg_attr(test, schemars(with = "Option<shapes::Aliases>"))]
    pub(crate) aliases: Option<Ordered<String>>,
}

/// The names of keys, each with whether a file gives it.
macro_rules! given {
    ($file:expr, $above:literal: $($name:ident)*) => {
        [$((concat!($above, stringify!($name)), $file.$name.is_some())),*]
    };
}

impl SystemFile {
    /// Takes the paths of schemas from the directory of the file that names them.
    pub(crate) fn find_schemas(&mut self, file: &str) -> Result<(), String> {
        let dir = Path::new(file).parent().unwrap_or(Path::new(""));
        let mut rules = self.content.iter_mut().flat_map(|content| &mut content.0);
        rules.try_for_each(|(_, rule)| rule.take_path_from(dir))
    }

    /// The keys that the file gives.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        let all = given!(self, "":
            enabled mode contract extra_names extra_globs subdirectories roots roles programs site
            open long_lived canonical patterns ephemeral owners content gates aliases
        );
        let given = all.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(key, _)| key)
    }

    /// Whether the file itself switches the system on: it says so, or declares it.
    pub(crate) fn is_switched_on(&self) -> bool {
        self.enabled.unwrap_or(self.site.is_some())
    }
}

impl File {
    /// The keys that the file gives, with dots where they nest: `systems.devt.mode`.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut plain =
            Vec::from(given!(self, "": mode completion dispatch undo recorder on_error strict));
        let (evidence, archive, log) = (&self.evidence, &self.archive, &self.log);
        plain.extend(
            evidence
                .iter()
                .flat_map(|it| given!(it, "evidence.": mode commands)),
        );
        plain.extend(archive.iter().flat_map(|it| given!(it, "archive.": runs)));
        plain.extend(log.iter().flat_map(|it| given!(it, "log.": max_bytes)));
        let systems = self.systems.iter().flatten();
        let of_systems = systems.flat_map(|(id, system)| {
            let keys = system.iter().flat_map(SystemFile::keys);
            keys.map(move |key| format!("systems.{id}.{key}"))
        });
        let given = plain.into_iter().filter(|(_, is_given)| *is_given);
        given
            .map(|(key, _)| key.to_owned())
            .chain(of_systems)
            .collect()
    }

    pub(crate) fn parse(text: &str) -> Result<Self, TypeFault> {
        let file: Result<Option<Self>, _> = yaml::parse_as(text);
        file.map(Option::unwrap_or_default).map_err(|mut fault| {
            if let Mismatch::UnknownKey { key, .. } = &fault.what
                && key == "quarantine"
            {
                fault.what = Mismatch::Said(QUARANTINE.to_owned());
            }
            fault
        })
    }
}

const QUARANTINE: &str =
    "the key `quarantine` is gone: write `undo: names` for true, `undo: off` for false";

/// `true`, `false` or `near`.
impl<'de> Deserialize<'de> for Openness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OpennessVisitor;
        impl Visitor<'_> for OpennessVisitor {
            type Value = Openness;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or `near`")
            }

            fn visit_bool<E: de::Error>(self, is_open: bool) -> Result<Openness, E> {
                Ok(if is_open {
                    Openness::Open
                } else {
                    Openness::Closed
                })
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Openness, E> {
                match word {
                    "near" => Ok(Openness::Near),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(OpennessVisitor)
    }
}

impl Serialize for Openness {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Closed => to.serialize_bool(false),
            Self::Near => to.serialize_str("near"),
            Self::Open => to.serialize_bool(true),
        }
    }
}

/// The most that is counted of anything.
pub(crate) const MAX_COUNT: u64 = u32::MAX as u64;

/// A whole number with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Bounded<const MIN: u64, const MAX: u64>(pub(crate) u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Bounded<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BoundedVisitor<const MIN: u64, const MAX: u64>;
        impl<const MIN: u64, const MAX: u64> Visitor<'_> for BoundedVisitor<MIN, MAX> {
            type Value = Bounded<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                if (MIN..=MAX).contains(&number) {
                    Ok(Bounded(number))
                } else {
                    Err(E::invalid_value(de::Unexpected::Unsigned(number), &self))
                }
            }
        }
        deserializer.deserialize_any(BoundedVisitor)
    }
}

/// One word or a list of words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsVisitor;
        impl<'de> Visitor<'de> for WordsVisitor {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a list of names")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Words, E> {
                Ok(Words(vec![word.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Words, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Words)
            }
        }
        deserializer.deserialize_any(WordsVisitor)
    }
}
