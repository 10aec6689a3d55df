//! Texts made by a format: `"{}/x".format(d)`, `"%s/x" % d`, `sprintf("%s/x", d)`.

use super::bind::{Bound, Shape};
use super::code::Language;
use super::field::{Field, UNKNOWN};
use super::value::{Given, Reader, append};

/// A part of a template.
enum Part<'t> {
    Text(&'t str),
    /// The next argument, the one at a place, or the one with a name.
    Next,
    At(usize),
    Named(&'t str),
    /// An argument put into another form.
    Other,
}

impl<'a> Reader<'_, '_, 'a, '_, '_> {
    /// `template.format(…)`, Python's.
    pub(super) fn formatted(&mut self, templates: &[Field], given: &[Given<'a>]) -> Vec<Field> {
        self.fill(templates, braced, given)
    }

    /// `format(template, …)`, `sprintf(template, …)`.
    pub(super) fn printed(&mut self, mut given: Vec<Given<'a>>) -> Vec<Field> {
        if given.is_empty() {
            return Vec::new();
        }
        let templates = given.remove(0).bound.values;
        self.fill(&templates, percent, &given)
    }

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
            Language::Python | Language::Ruby => self.fill(templates, percent, &given),
            _ => Vec::new(),
        }
    }

    fn fill(
        &mut self,
        templates: &[Field],
        cut: fn(&str) -> Option<(Part<'_>, usize)>,
        given: &[Given<'a>],
    ) -> Vec<Field> {
        self.shape = Shape::One;
        let unknown = [Field::literal(UNKNOWN)];
        let mut all = Vec::new();
        for template in templates {
            let mut texts = vec![template.with_text("")];
            let mut rest = template.text.as_str();
            let mut unnamed = given.iter().filter(|given| given.name.is_none());
            while let Some((part, len)) = cut(rest) {
                rest = rest.get(len..).unwrap_or("");
                let argument = match part {
                    Part::Text(text) => {
                        texts.iter_mut().for_each(|field| field.text.push_str(text));
                        continue;
                    }
                    Part::Next => unnamed.next(),
                    Part::At(at) => given.get(at),
                    Part::Named(name) => given.iter().find(|given| given.name == Some(name)),
                    Part::Other => None,
                };
                let values = argument.map(|given| given.bound.values.as_slice());
                let values = values.filter(|values| !values.is_empty());
                let len: usize = values.unwrap_or(&[]).iter().map(|v| v.text.len()).sum();
                let values = values.filter(|_| self.script.shell.spend(texts.len() * len));
                append(&mut texts, values.unwrap_or(&unknown));
            }
            all.append(&mut texts);
        }
        all
    }
}

/// Text up to the next mark.
fn plain<'t>(rest: &'t str, marks: &[char]) -> Option<(Part<'t>, usize)> {
    let len = rest.find(marks).unwrap_or(rest.len());
    (len > 0).then(|| (Part::Text(&rest[..len]), len))
}

fn percent(rest: &str) -> Option<(Part<'_>, usize)> {
    let Some(tail) = rest.strip_prefix('%') else {
        return plain(rest, &['%']);
    };
    Some(match tail.bytes().next() {
        Some(b'%') => (Part::Text("%"), 2),
        Some(b's' | b'd' | b'i' | b'v') => (Part::Next, 2),
        _ => {
            let len = tail.find(|c: char| c.is_ascii_alphabetic());
            (Part::Other, 2 + len.unwrap_or(tail.len()))
        }
    })
}

fn braced(rest: &str) -> Option<(Part<'_>, usize)> {
    if let Some(part) = plain(rest, &['{', '}']) {
        return Some(part);
    }
    let tail = rest.get(1..)?;
    if rest.starts_with('}') || tail.starts_with('{') {
        return Some((Part::Text(&rest[..1]), 2));
    }
    let len = tail.find('}').unwrap_or(tail.len());
    let name = &tail[..len];
    let part = match name.parse() {
        Ok(at) => Part::At(at),
        Err(_) if name.is_empty() => Part::Next,
        Err(_) if name.contains([':', '!', '.', '[']) => Part::Other,
        Err(_) => Part::Named(name),
    };
    Some((part, len + 2))
}
