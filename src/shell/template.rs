//! Texts made by a format: `"{}/x".format(d)`, `"%s/x" % d`, `sprintf("%s/x", d)`.

use super::bind::{Bound, Shape};
use super::code::Language;
use super::field::{Field, UNKNOWN};
use super::value::{Given, Reader, append};

impl<'a> Reader<'_, '_, 'a, '_, '_> {
    /// `template % value`, `template % (a, b)`; the cursor is at the operator.
    pub(super) fn filled(&mut self, templates: &[Field]) -> Vec<Field> {
        self.at += 1;
        let given = match self.mark() {
            Some('(' | '[') => {
                let spans = self.script.items_in(self.at);
                self.at = self.script.after(self.at);
                self.given(&spans)
            }
            _ => {
                let bound = Bound::from(self.term());
                vec![Given { name: None, bound }]
            }
        };
        match self.script.language {
            Language::Python | Language::Ruby => self.formatted(templates, '%', &given),
            _ => Vec::new(),
        }
    }

    /// Fills `%s` and `%d`, or `{}`, `{0}` and `{name}`. A template with any other
    /// place is not known.
    pub(super) fn formatted(
        &mut self,
        templates: &[Field],
        mark: char,
        given: &[Given<'a>],
    ) -> Vec<Field> {
        self.shape = Shape::One;
        let [template] = templates else {
            return Vec::new();
        };
        let mut texts = vec![Field::literal("")];
        let mut n_plain = 0;
        for (n, piece) in template.text.split(mark).enumerate() {
            let cut = match mark {
                _ if n == 0 => Some(("", piece)),
                '{' => piece.split_once('}'),
                _ => piece.split_at_checked(1),
            };
            let Some((place, text)) = cut else {
                return Vec::new();
            };
            if n > 0 {
                let is_plain = matches!((mark, place), ('{', "") | ('%', "s" | "d"));
                let at = match is_plain {
                    true => n_plain,
                    false if mark == '{' => place.parse().unwrap_or(usize::MAX),
                    false => usize::MAX,
                };
                n_plain += usize::from(is_plain);
                let named = given.iter().find(|given| given.name == Some(place));
                let Some(argument) = named.or(given.get(at)) else {
                    return Vec::new();
                };
                let mut values = argument.bound.values.as_slice();
                let unknown = [Field::literal(UNKNOWN)];
                let len: usize = values.iter().map(|value| value.text.len()).sum();
                if values.is_empty() || !self.script.shell.spend(texts.len() * len) {
                    values = &unknown;
                }
                append(&mut texts, values);
            }
            texts.iter_mut().for_each(|field| field.text.push_str(text));
        }
        texts
    }
}
