//! Closed sets of words: enums of which each variant is one text.

/// Declares an enum by the table of its variants and their texts. Files, logs and
/// settings hold the texts, so they are stable. Gives `ALL` and `WORDS`, in the
/// order of the table, `as_str`, `parse`, and the text as the form in other formats.
macro_rules! string_enum {
    (
        $(#[$of_enum:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $text:expr,)+
        }
    ) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$of_variant])* $variant,)+
        }

        impl $name {
            pub const WORDS: [&'static str; [$(stringify!($variant)),+].len()] = [$($text),+];

            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|word| word.as_str() == text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = String::deserialize(from)?;
                Self::parse(&word)
                    .ok_or_else(|| serde::de::Error::unknown_variant(&word, &Self::WORDS))
            }
        }
    };
}

pub(crate) use string_enum;
