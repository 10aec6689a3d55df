//! One settings file: YAML text to typed keys, every one optional.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use crate::contract::denial::Mode;
use crate::contract::edition::Choice;
use crate::formats::ordered::Ordered;
use crate::formats::yaml;
use crate::settings::content::ContentRule;
use crate::settings::gates::GateFile;
use crate::settings::model::{EvidenceMode, OnError, Recording, Strictness, Undo};

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct File {
    pub(crate) mode: Option<Mode>,
    pub(crate) systems: Option<BTreeMap<String, Option<SystemFile>>>,
    pub(crate) completion: Option<Strictness>,
    pub(crate) dispatch: Option<Strictness>,
    pub(crate) undo: Option<Undo>,
    /// The old key for `undo`, which wins.
    pub(crate) quarantine: Option<bool>,
    pub(crate) recorder: Option<Recording>,
    pub(crate) evidence: Option<EvidenceFile>,
    pub(crate) archive: Option<ArchiveFile>,
    pub(crate) log: Option<LogFile>,
    pub(crate) on_error: Option<OnError>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct ArchiveFile {
    pub(crate) runs: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: require`"
)]
pub(crate) struct EvidenceFile {
    pub(crate) mode: Option<EvidenceMode>,
    pub(crate) commands: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct LogFile {
    pub(crate) max_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "keys with values, such as `mode: warn`"
)]
pub(crate) struct SystemFile {
    pub(crate) enabled: Option<bool>,
    pub(crate) mode: Option<Mode>,
    pub(crate) contract: Option<Choice>,
    pub(crate) extra_names: Option<Vec<String>>,
    pub(crate) extra_globs: Option<Vec<String>>,
    pub(crate) subdirectories: Option<Vec<String>>,
    pub(crate) roots: Option<Vec<String>>,
    pub(crate) roles: Option<BTreeMap<String, Words>>,
    pub(crate) programs: Option<Vec<String>>,
    pub(crate) site: Option<Words>,
    pub(crate) open: Option<bool>,
    pub(crate) long_lived: Option<bool>,
    pub(crate) canonical: Option<Vec<String>>,
    pub(crate) patterns: Option<Vec<String>>,
    pub(crate) ephemeral: Option<Vec<String>>,
    pub(crate) owners: Option<Ordered<Words>>,
    pub(crate) content: Option<Ordered<ContentRule>>,
    pub(crate) gates: Option<Vec<GateFile>>,
}

impl SystemFile {
    /// Takes the paths of schemas from the directory of the file that names them.
    pub(crate) fn find_schemas(&mut self, file: &str) -> Result<(), String> {
        let dir = Path::new(file).parent().unwrap_or(Path::new(""));
        let mut rules = self.content.iter_mut().flat_map(|content| &mut content.0);
        rules.try_for_each(|(_, rule)| rule.stand_in(dir))
    }

    /// The keys that the file gives.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        macro_rules! given {
            ($($name:ident)*) => { [$((stringify!($name), self.$name.is_some())),*] };
        }
        let all = given!(
            enabled mode contract extra_names extra_globs subdirectories roots roles programs site
            open long_lived canonical patterns ephemeral owners content gates
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
    /// The error is a sentence fragment with line and nearest key, without the path.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: Result<Option<Self>, _> = yaml::parse_as(text);
        file.map(Option::unwrap_or_default).map_err(|e| explain(&e))
    }
}

/// Adds the nearest key to a message about a word that is none of the expected
/// ones. Serde prints the word first and the expected ones after it, all in
/// back-ticks; the path of the key and the line are in the message already.
pub(super) fn explain(message: &str) -> String {
    let is_unknown = message.contains("unknown field") || message.contains("unknown variant");
    let plain = PLAIN.iter();
    let message = plain.fold(message.to_owned(), |message, (word, plain)| {
        message.replace(word, plain)
    });
    let mut words = message.split('`').skip(1).step_by(2);
    match words.next() {
        Some(word) if is_unknown => {
            // Before the expected words: a denial cuts the end of a long message off.
            match (nearest(word, words), message.split_once(", expected")) {
                (Some(near), Some((what, expected))) => {
                    format!("{what}; did you mean `{near}`? Expected{expected}")
                }
                _ => message,
            }
        }
        _ => message,
    }
}

/// What the parser says in words of its own kind, and the same in plain ones. The
/// numbers are those of the two keys that have one.
const PLAIN: &[(&str, &str)] = &[
    ("unknown field", "unknown key"),
    ("unknown variant", "unknown value"),
    ("duplicate field", "duplicate key"),
    ("invalid type: unit value", "nothing is given"),
    ("invalid type: sequence", "a list is given"),
    ("invalid type: map", "keys with values are given"),
    ("invalid type", "invalid value"),
    ("floating point `", "number `"),
    ("integer `", "number `"),
    ("` as u128", "`"),
    (
        "expected u32",
        "expected a whole number from 1 to 4294967295",
    ),
    (
        "expected u64",
        "expected a whole number from 65536 to 18446744073709551615",
    ),
    ("expected a sequence", "expected a list, such as `[a, b]`"),
    ("expected a map", "expected keys with values"),
    ("expected a boolean", "expected `true` or `false`"),
    ("expected field identifier", "expected a key"),
    ("expected a YAML tag starting with '!'", "expected one word"),
];

/// The candidate that a word was most likely meant to be, if any is near enough.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let scored = candidates
        .into_iter()
        .map(|c| (strsim::jaro_winkler(&word, c), c));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.6).then_some(best.1)
}

/// One word or a list of words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfWords;
        impl<'de> Visitor<'de> for OfWords {
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
        deserializer.deserialize_any(OfWords)
    }
}
