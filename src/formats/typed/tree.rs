//! A text that was read without a type, so that a type can say in fields what is wrong with it.

use std::{fmt, slice};

use serde::de::value::StrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Given, Mismatch, TypeFault, one_of};

/// A value of a text. Keys that are there twice are there twice.
#[derive(Debug)]
pub(in crate::formats) enum Tree {
    Nothing,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Keys(Vec<(Self, Self)>),
}

/// A text without a value is a block without a key.
impl Default for Tree {
    fn default() -> Self {
        Self::Keys(Vec::new())
    }
}

impl Tree {
    fn given(&self) -> Given {
        match self {
            Self::Nothing => Given::Nothing,
            Self::List(_) => Given::List,
            Self::Keys(_) => Given::Keys,
            Self::Flag(_) | Self::Number(_) | Self::Text(_) => Given::Scalar(self.scalar()),
        }
    }

    /// A scalar as it is written; of what is none, nothing.
    fn scalar(&self) -> String {
        match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Number(text) | Self::Text(text) => text.clone(),
            Self::Nothing | Self::List(_) | Self::Keys(_) => String::new(),
        }
    }

    fn is_no(&self, wanted: impl Into<String>) -> TypeFault {
        Mismatch::Value {
            given: self.given(),
            wanted: wanted.into(),
        }
        .into()
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Planter)
    }
}

/// Takes any value.
struct Planter;

/// The scalars of these kinds are numbers.
macro_rules! visit_numbers {
    ($($visit:ident: $number:ty,)*) => {
        $(fn $visit<E>(self, number: $number) -> Result<Tree, E> {
            Ok(Tree::Number(number.to_string()))
        })*
    };
}

impl<'de> Visitor<'de> for Planter {
    type Value = Tree;

    visit_numbers! {
        visit_i64: i64,
        visit_u64: u64,
        visit_i128: i128,
        visit_u128: u128,
        visit_f64: f64,
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree::Flag(flag))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = map.next_entry()? {
            items.push(item);
        }
        Ok(Tree::Keys(items))
    }

    /// A value behind a tag of YAML.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Tree, A::Error> {
        let (_, value): (String, _) = tagged.variant()?;
        value.newtype_variant()
    }
}

/// A whole number of a type, or what it may be.
macro_rules! deserialize_numbers {
    ($($deserialize:ident $visit:ident: $number:ty,)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
            match self.scalar().parse::<$number>() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(self.is_no(format!(
                    "a whole number from {} to {}", <$number>::MIN, <$number>::MAX
                ))),
            }
        })*
    };
}

/// What a type asks for is what a message says that it expected.
impl<'de> Deserializer<'de> for &'de Tree {
    type Error = TypeFault;

    deserialize_numbers! {
        deserialize_u8 visit_u8: u8,
        deserialize_u16 visit_u16: u16,
        deserialize_u32 visit_u32: u32,
        deserialize_u64 visit_u64: u64,
        deserialize_i8 visit_i8: i8,
        deserialize_i16 visit_i16: i16,
        deserialize_i32 visit_i32: i32,
        deserialize_i64 visit_i64: i64,
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        match self {
            Tree::Nothing => visitor.visit_unit(),
            Tree::Flag(flag) => visitor.visit_bool(*flag),
            Tree::Text(text) => visitor.visit_str(text),
            Tree::List(items) => visitor.visit_seq(Items {
                items: items.iter(),
                n_read: 0,
            }),
            Tree::Keys(items) => visitor.visit_map(Members {
                items: items.iter(),
                value: None,
            }),
            Tree::Number(text) => match (text.parse(), text.parse(), text.parse()) {
                (Ok(number), ..) => visitor.visit_u64(number),
                (_, Ok(number), _) => visitor.visit_i64(number),
                // More digits than these have stay digits.
                (.., Ok(number)) if text.parse::<i128>().is_err() => visitor.visit_f64(number),
                _ => visitor.visit_str(text),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        match self {
            Tree::Flag(flag) => visitor.visit_bool(*flag),
            _ => Err(self.is_no("`true` or `false`")),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        match self.scalar().parse() {
            Ok(number) => visitor.visit_f64(number),
            Err(_) => Err(self.is_no("a number")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        match self {
            Tree::Text(_) | Tree::Number(_) | Tree::Flag(_) => visitor.visit_str(&self.scalar()),
            Tree::Nothing | Tree::List(_) | Tree::Keys(_) => Err(self.is_no("one text")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        match self {
            Tree::Nothing => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeFault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        match self {
            Tree::List(_) => self.deserialize_any(visitor),
            _ => Err(self.is_no("a list, such as `[a, b]`")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeFault> {
        match self {
            Tree::Keys(_) => self.deserialize_any(visitor),
            _ => Err(self.is_no("keys with values")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeFault> {
        match self {
            Tree::Keys(_) => self.deserialize_any(visitor),
            _ => Err(self.is_no((&visitor as &dyn Expected).to_string())),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeFault> {
        match self {
            Tree::Text(_) | Tree::Number(_) | Tree::Flag(_) => {
                visitor.visit_enum(StrDeserializer::new(&self.scalar()))
            }
            Tree::Nothing | Tree::List(_) | Tree::Keys(_) => Err(self.is_no(one_of(words))),
        }
    }

    forward_to_deserialize_any! {
        i128 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
        ignored_any
    }
}

struct Items<'t> {
    items: slice::Iter<'t, Tree>,
    n_read: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = TypeFault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, TypeFault> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let place = format!("[{}]", self.n_read);
        self.n_read += 1;
        let value = seed.deserialize(item);
        value.map(Some).map_err(|fault| fault.below(place))
    }
}

struct Members<'t> {
    items: slice::Iter<'t, (Tree, Tree)>,
    /// The one whose key was read last.
    value: Option<&'t (Tree, Tree)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = TypeFault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TypeFault> {
        self.value = self.items.next();
        let key = self.value.map(|(key, _)| seed.deserialize(key));
        key.transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, TypeFault> {
        let (key, value) = self.value.unwrap_or(&(Tree::Nothing, Tree::Nothing));
        let value = seed.deserialize(value);
        value.map_err(|fault| fault.below(key.scalar()))
    }
}
