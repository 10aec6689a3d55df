//! Texts made by a format: `"{}/x".format(d)`, `"%s/x" % d`, `sprintf("%s/x", d)`.

use super::bind::Bound;
use super::code::Language;
use super::field::Field;
use super::value::{Given, Reader};

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
            Language::Python | Language::Ruby => self.formatted(templates, b'%', &given),
            _ => Vec::new(),
        }
    }

    /// Fills `%s` and `%d`, or `{}`, `{0}` and `{name}`. A template with any other
    /// place is not known.
    pub(super) fn formatted(
        &mut self,
        templates: &[Field],
        mark: u8,
        given: &[Given<'a>],
    ) -> Vec<Field> {
        let [template] = templates else {
            return Vec::new();
        };
        let mut texts = Bound::from(vec![Field::literal("")]);
        let mut n_plain = 0;
        let mut rest = template.text.as_str();
        loop {
            let len = rest.bytes().position(|byte| byte == mark);
            let (text, place) = rest.split_at(len.unwrap_or(rest.len()));
            for field in &mut texts.values {
                field.text.push_str(text);
            }
            if place.is_empty() {
                return self.give(texts);
            }
            let end = match mark {
                b'{' => place.bytes().position(|byte| byte == b'}'),
                _ => Some(2),
            };
            let start = if mark == b'{' { 1 } else { 0 };
            let Some((name, behind)) = end.and_then(|end| {
                let name = place.get(start..end)?;
                Some((name, place.get(end + start..)?))
            }) else {
                return Vec::new();
            };
            rest = behind;
            let is_plain = matches!(name, "" | "%s" | "%d");
            let at = match is_plain {
                true => n_plain,
                false => name.parse().unwrap_or(usize::MAX),
            };
            n_plain += usize::from(is_plain);
            let named = given.iter().find(|given| given.name == Some(name));
            let Some(argument) = named.or(given.get(at)) else {
                return Vec::new();
            };
            let values = &argument.bound.values;
            let unknown = Bound::from(vec![Field::unknown()]);
            let len: usize = values.iter().map(|value| value.text.len()).sum();
            let is_known = !values.is_empty() && self.script.shell.spend(texts.values.len() * len);
            texts = texts.with(if is_known { &argument.bound } else { &unknown }, "");
        }
    }
}
