//! Keys with values in the order of the file, which a message or a rule may go by.

use std::{fmt, iter};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<V>(pub Vec<(String, V)>);

impl<V> Default for Ordered<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Ordered<V> {
    pub fn get(&self, key: &str) -> Option<&V> {
        let (_, value) = self.0.iter().find(|(known, _)| known == key)?;
        Some(value)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Ordered<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for InOrder<V> {
            type Value = Ordered<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys with values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<V>, A::Error> {
                let entries = iter::from_fn(|| map.next_entry().transpose());
                entries.collect::<Result<_, _>>().map(Ordered)
            }
        }
        from.deserialize_map(InOrder(std::marker::PhantomData))
    }
}
