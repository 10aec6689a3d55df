//! Keys with values in the order of the file, which a message or a rule may go by.

use std::marker::PhantomData;
use std::{fmt, iter};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<V, K = String>(pub Vec<(K, V)>);

impl<V, K> Default for Ordered<V, K> {
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

impl<'de, V: Deserialize<'de>, K: Deserialize<'de>> Deserialize<'de> for Ordered<V, K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder<V, K>(PhantomData<(V, K)>);
        impl<'de, V: Deserialize<'de>, K: Deserialize<'de>> Visitor<'de> for InOrder<V, K> {
            type Value = Ordered<V, K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys with values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let entries = iter::from_fn(|| map.next_entry().transpose());
                entries.collect::<Result<_, _>>().map(Ordered)
            }
        }
        from.deserialize_map(InOrder(PhantomData))
    }
}
