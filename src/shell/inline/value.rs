//! What an expression comes to, as far as it is a path or a list of paths.

use super::super::field::Field;

/// How many texts a value may be.
const MAX_TEXTS: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    #[default]
    Unknown,
    Number(u32),
    /// The texts that it may be, one for each turn of a loop.
    Texts(Vec<Field>),
    List(Vec<Self>),
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Texts(vec![Field::literal(text)])
    }

    /// A whole number as the languages write it: `0o600`, `0x1f`, and with nothing but a zero in
    /// front in base eight.
    pub(super) fn number(word: &str) -> Option<Self> {
        let (base, digits) = match word.as_bytes() {
            [b'0', b'o' | b'O', ..] => (8, &word[2..]),
            [b'0', b'x' | b'X', ..] => (16, &word[2..]),
            [b'0', _, ..] => (8, &word[1..]),
            _ => (10, word),
        };
        let number = u32::from_str_radix(digits, base).ok()?;
        Some(Self::Number(number))
    }

    pub(super) fn texts(&self) -> &[Field] {
        match self {
            Self::Texts(texts) => texts,
            _ => &[],
        }
    }

    /// About how many bytes a copy takes.
    pub(super) fn weight(&self) -> usize {
        const OF_EACH: usize = 32;
        let inside: usize = match self {
            Self::Unknown | Self::Number(_) => 0,
            Self::Texts(texts) => texts.iter().map(|text| OF_EACH + text.text.len()).sum(),
            Self::List(elements) => elements.iter().map(Self::weight).sum(),
        };
        OF_EACH + inside
    }

    /// The first of its texts, or nothing.
    pub(super) fn first(&self) -> &str {
        self.texts().first().map_or("", |text| &text.text)
    }

    pub(super) fn elements(&self) -> &[Self] {
        match self {
            Self::List(elements) => elements,
            value => std::slice::from_ref(value),
        }
    }

    /// One column of a list of rows; of any other list the elements.
    pub(super) fn column(&self, column: usize) -> Self {
        let Self::List(elements) = self else {
            return Self::Unknown;
        };
        let cells = elements.iter().flat_map(|element| match element {
            Self::List(row) => row.get(column).map_or(&[][..], Self::texts),
            element if column == 0 => element.texts(),
            _ => &[],
        });
        match cells.take(MAX_TEXTS).cloned().collect::<Vec<_>>() {
            texts if texts.is_empty() => Self::Unknown,
            texts => Self::Texts(texts),
        }
    }

    /// Each text of the one with each of the other; what as many turns give belongs together
    /// turn by turn.
    fn with(&self, other: &Self, join: impl Fn(&Field, &Field) -> Field) -> Self {
        let (Self::Texts(left), Self::Texts(right)) = (self, other) else {
            return Self::Unknown;
        };
        let both = |(left, right): (&Field, &Field)| join(left, right);
        let pairs = left
            .iter()
            .flat_map(|left| right.iter().map(move |right| (left, right)));
        Self::Texts(if left.len() == right.len() {
            left.iter().zip(right).map(both).collect()
        } else {
            pairs.map(both).take(MAX_TEXTS).collect()
        })
    }

    /// As a path within another one.
    pub(super) fn below(&self, other: &Self) -> Self {
        self.with(other, |dir, name| {
            if name.text.starts_with('/') {
                return name.clone();
            }
            let mut path = dir.join(&Field::literal(""));
            path.push_to_path(name);
            path
        })
    }

    pub(super) fn followed_by(&self, other: &Self) -> Self {
        self.with(other, |left, right| {
            let mut both = left.clone();
            both.push_to_path(right);
            both
        })
    }

    /// Paths one below the other, or `'/'.join(['a', 'b'])` and `['a', 'b'].join('/')`.
    pub(super) fn joined(values: &[Self]) -> Self {
        let joined = match values {
            [sign @ Self::Texts(_), Self::List(parts)]
            | [Self::List(parts), sign @ Self::Texts(_)] => {
                let values = parts.iter().cloned();
                values.reduce(|text, part| text.followed_by(sign).followed_by(&part))
            }
            values => values
                .iter()
                .cloned()
                .reduce(|path, part| path.below(&part)),
        };
        joined.unwrap_or_default()
    }
}
