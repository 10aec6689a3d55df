//! The versions of a contract, and which of them holds.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use crate::base::string_enum::string_enum;

string_enum! {
    /// An edition of the devt contract.
    #[derive(Default)]
    pub enum Edition {
        #[default]
        V083 = "0.83",
        V0244 = "0.244",
    }
}

impl Edition {
    /// Whether it has what only one edition has; `None` is in all.
    pub fn holds(self, only: Option<Self>) -> bool {
        only.is_none_or(|only| only == self)
    }

    /// The edition of a version of devt; `None` for a text that is no version.
    pub fn from_version(version: &str) -> Option<Self> {
        let mut numbers = version
            .split(['.', '-', '+'])
            .map(|number| number.parse::<u32>().ok());
        let is_later = (numbers.next()??, numbers.next()??) >= (0, 84);
        Some(if is_later { Self::V0244 } else { Self::V083 })
    }
}

/// The devt plugin that the client has enabled, as the program keeps it in its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnabledDevt {
    pub plugin: String,
    pub version: String,
}

/// An edition that holds, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce<'a> {
    pub edition: Edition,
    pub why: Why<'a>,
}

/// Why an edition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why<'a> {
    Settings,
    Plugin(&'a EnabledDevt),
    Default,
}

impl<'a> InForce<'a> {
    /// The edition that the settings name, else that of the enabled plugin.
    pub fn of(named: Option<Edition>, devt: Option<&'a EnabledDevt>) -> Self {
        if let Some(edition) = named {
            let why = Why::Settings;
            return Self { edition, why };
        }
        if let Some(devt) = devt
            && let Some(edition) = Edition::from_version(&devt.version)
        {
            let why = Why::Plugin(devt);
            return Self { edition, why };
        }
        Self {
            edition: Edition::default(),
            why: Why::Default,
        }
    }
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings => f.write_str("the settings name it"),
            Self::Plugin(devt) => write!(f, "plugin `{}` is {}", devt.plugin, devt.version),
            Self::Default => f.write_str("no enabled devt plugin found"),
        }
    }
}

/// What a settings file says of the edition: one by name, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice(pub Option<Edition>);

impl<'de> Deserialize<'de> for Choice {
    /// People write the edition with and without quotes, so YAML brings a
    /// string or a number.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfChoice;
        impl Visitor<'_> for OfChoice {
            type Value = Choice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "auto or an edition: {}", Edition::WORDS.join(" or "))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Choice, E> {
                match text {
                    "auto" => Ok(Choice(None)),
                    text => match Edition::parse(text) {
                        None => Err(E::unknown_variant(text, &["auto", "0.83", "0.244"])),
                        edition => Ok(Choice(edition)),
                    },
                }
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Choice, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(OfChoice)
    }
}
