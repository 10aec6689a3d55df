//! The versions of a contract.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

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

impl<'de> Deserialize<'de> for Edition {
    /// People write the edition with and without quotes, so YAML brings a
    /// string or a number.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfEdition;
        impl Visitor<'_> for OfEdition {
            type Value = Edition;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an edition: {}", Edition::WORDS.join(" or "))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Edition, E> {
                Edition::parse(text).ok_or_else(|| E::unknown_variant(text, &Edition::WORDS))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Edition, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(OfEdition)
    }
}
