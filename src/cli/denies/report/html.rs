//! HTML that is safe by its type: text gets in escaped or not at all.

use std::fmt::{self, Write as _};

use crate::cli::output::printable;

/// A piece of HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// Text from a log or an agent. Control characters show as escapes.
    pub(super) fn text(text: &str) -> Self {
        let mut html = String::with_capacity(text.len() + 16);
        for c in printable(text).chars() {
            match c {
                '&' => html.push_str("&amp;"),
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '"' => html.push_str("&quot;"),
                '\'' => html.push_str("&#39;"),
                c => html.push(c),
            }
        }
        Self(html)
    }

    /// Markup of this program.
    pub(super) fn markup(markup: &'static str) -> Self {
        Self(markup.to_owned())
    }

    pub(super) fn number(number: impl Into<u128>) -> Self {
        Self(number.into().to_string())
    }

    /// `{}` in the markup stands for the pieces, in their order.
    pub(super) fn fill<const N: usize>(markup: &'static str, pieces: [Self; N]) -> Self {
        let mut html = String::new();
        let mut pieces = pieces.into_iter();
        for (at, part) in markup.split("{}").enumerate() {
            if at > 0 {
                html.push_str(&pieces.next().unwrap_or_default().0);
            }
            html.push_str(part);
        }
        Self(html)
    }

    pub(super) fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }
}

impl FromIterator<Self> for Html {
    fn from_iter<I: IntoIterator<Item = Self>>(pieces: I) -> Self {
        let mut html = Self::default();
        for piece in pieces {
            html.push(&piece);
        }
        html
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Puts the pieces in the place of `{{key}}`. What a piece holds is not looked at again.
pub(super) fn template(template: &'static str, pieces: &[(&str, Html)]) -> String {
    let mut page = String::with_capacity(template.len());
    let mut parts = template.split("{{");
    page.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (key, rest) = part.split_once("}}").unwrap_or((part, ""));
        if let Some((_, piece)) = pieces.iter().find(|(name, _)| *name == key) {
            // Writing to a string does not fail.
            let _ = write!(page, "{piece}");
        }
        page.push_str(rest);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        for (text, expected) in [
            ("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"),
            ("</script><script>", "&lt;/script&gt;&lt;script&gt;"),
            ("a\u{1b}[31m\n", "a\\u{1b}[31m\\n"),
            ("{{total}}", "{{total}}"),
        ] {
            assert_eq!(Html::text(text).to_string(), expected);
        }
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let pieces = [("a", Html::text("{{b}} {}")), ("b", Html::text("no"))];
        assert_eq!(template("<{{a}}|{{b}}|{{c}}>", &pieces), "<{{b}} {}|no|>");
        let filled = Html::fill("<i>{}</i>{}", [Html::text("{}"), Html::number(3_u8)]);
        assert_eq!(filled.to_string(), "<i>{}</i>3");
    }
}
