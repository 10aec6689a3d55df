//! Names by a documented pattern, matched without a regular expression.

/// A documented pattern: a prefix, a shape and one of several endings.
#[derive(Clone, Copy, Debug)]
pub struct Slug {
    pub prefix: &'static str,
    pub shape: Shape,
    pub endings: &'static [&'static str],
    /// The pattern as its contract prints it; a property test pins `matches` to it.
    pub regex: &'static str,
    pub example: &'static str,
}

/// What is between a pattern's prefix and its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `[A-Za-z0-9_.-]+`
    Word,
    /// `[a-z][a-z0-9_]{0,31}`
    Lane,
    /// `[a-z0-9]+(-[a-z0-9]+)*`
    Kebab,
    /// `[a-z]+(-[a-z]+)*`
    Topic,
    /// `[a-z][a-z0-9]*(-[a-z0-9]+)+`
    TopicOfTwo,
    /// `[a-z_]+`
    Lower,
    /// `[0-9]+`
    Digits,
    /// `[1-9][0-9]*`
    Positive,
    /// `[a-z][a-z0-9-]*\.archive-[0-9A-Za-z:.\-]+`
    RotatedLog,
    /// `[a-z0-9-]{1,40}-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?`
    StampedReport,
}

impl Shape {
    pub(crate) fn matches(self, body: &str) -> bool {
        let lower = |b: u8| b.is_ascii_lowercase();
        let lower_or_digit = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = body.as_bytes();
        let Some(&first) = bytes.first() else {
            return false;
        };
        match self {
            Self::Word => bytes
                .iter()
                .all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')),
            Self::Lane => {
                lower(first)
                    && bytes.len() <= 32
                    && bytes.iter().all(|&b| lower_or_digit(b) || b == b'_')
            }
            Self::Kebab => are_words(body, lower_or_digit),
            Self::Topic => are_words(body, lower),
            Self::TopicOfTwo => {
                lower(first) && body.contains('-') && are_words(body, lower_or_digit)
            }
            Self::Lower => bytes.iter().all(|&b| lower(b) || b == b'_'),
            Self::Digits => bytes.iter().all(u8::is_ascii_digit),
            Self::Positive => first != b'0' && bytes.iter().all(u8::is_ascii_digit),
            Self::RotatedLog => body.split_once(".archive-").is_some_and(|(base, stamp)| {
                base.bytes().next().is_some_and(lower)
                    && base.bytes().all(|b| lower_or_digit(b) || b == b'-')
                    && !stamp.is_empty()
                    && stamp
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b':' | b'.' | b'-'))
            }),
            Self::StampedReport => is_stamped_report(body),
        }
    }
}

/// Words of some letters, each behind a `-` but the first.
fn are_words(body: &str, is_letter: impl Fn(u8) -> bool) -> bool {
    let mut words = body.split('-');
    words.all(|word| !word.is_empty() && word.bytes().all(&is_letter))
}

fn is_stamped_report(body: &str) -> bool {
    let Some((body, ordinal)) = body.rsplit_once('Z') else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let whole_ordinal = ordinal.is_empty() || ordinal.strip_prefix('-').is_some_and(digits);
    let Some((slug, stamp)) = body.rsplit_once('-') else {
        return false;
    };
    let of_len = |text: &str, len| text.len() == len && digits(text);
    whole_ordinal
        && (1..=40).contains(&slug.len())
        && slug
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && stamp
            .split_once('T')
            .is_some_and(|(day, time)| of_len(day, 8) && of_len(time, 6))
}

impl Slug {
    pub fn matches(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix).is_some_and(|rest| {
            self.endings.iter().any(|ending| {
                rest.strip_suffix(ending)
                    .is_some_and(|body| self.shape.matches(body))
            })
        })
    }
}
