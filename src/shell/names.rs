//! What the names of a script hold: those of the present function hide those around it.

use std::collections::HashMap;

use ecow::EcoString;
use foldhash::fast::RandomState;

use super::bind::Bound;

/// How many names are known at once.
const MAX_KNOWN: usize = 1024;

/// The names in the order in which they came, so that those of a function are the last ones.
#[derive(Default)]
pub(super) struct Names {
    rows: Vec<Row>,
    /// The last row of each name.
    by_name: HashMap<EcoString, usize, RandomState>,
}

struct Row {
    name: EcoString,
    bound: Bound,
    /// The row that this one hides.
    hides: Option<usize>,
}

impl Names {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row that counts for a name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Bound> {
        let row = self.rows.get(self.place(name)?)?;
        Some(&row.bound)
    }

    pub(super) fn at(&mut self, place: usize) -> Option<&mut Bound> {
        let row = self.rows.get_mut(place)?;
        Some(&mut row.bound)
    }

    /// Adds a name, as long as there is room.
    pub(super) fn push(&mut self, name: &str, bound: Bound) {
        if self.rows.len() == MAX_KNOWN {
            return;
        }
        let name = EcoString::from(name);
        let hides = self.by_name.insert(name.clone(), self.rows.len());
        self.rows.push(Row { name, bound, hides });
    }

    /// Takes away the names that came behind the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        for Row { name, hides, .. } in self.rows.drain(len.min(self.rows.len())..).rev() {
            match hides {
                Some(place) => drop(self.by_name.insert(name, place)),
                None => drop(self.by_name.remove(&name)),
            }
        }
    }

    /// What each row holds, hidden or not, by its place.
    pub(super) fn all(&mut self) -> impl Iterator<Item = (usize, &mut Bound)> {
        self.rows.iter_mut().map(|row| &mut row.bound).enumerate()
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::Field;
    use super::*;

    #[test]
    fn a_name_is_what_it_was_behind_a_function() {
        let value = |text: &str| Bound::from(vec![Field::literal(text)]);
        let held = |names: &Names, name| {
            let bound = names.get(name)?;
            Some(bound.values.first()?.text.to_string())
        };
        let mut names = Names::default();
        names.push("a", value("outer"));
        let frame = names.len();
        for inner in ["x", "y"] {
            names.push("a", value(inner));
            names.push("b", value(inner));
        }
        assert_eq!(held(&names, "a").as_deref(), Some("y"));
        names.truncate(frame);
        assert_eq!(held(&names, "a").as_deref(), Some("outer"));
        assert_eq!(held(&names, "b"), None);
    }
}
