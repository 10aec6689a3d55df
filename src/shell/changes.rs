//! What variables hold in one state, seen from another.

use super::slots::{Held, Var};

/// Variables with what they hold, each once, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Vec<(Var, Held)>);

impl Changes {
    /// Of a variable that comes twice, the first counts.
    pub(super) fn of(changes: impl Iterator<Item = (Var, Held)>) -> Self {
        let mut changes: Vec<(Var, Held)> = changes.collect();
        changes.sort_by_key(|(var, _)| *var);
        changes.dedup_by_key(|(var, _)| *var);
        Self(changes)
    }

    fn place(&self, var: Var) -> Result<usize, usize> {
        self.0.binary_search_by_key(&var, |(known, _)| *known)
    }

    pub(super) fn get(&self, var: Var) -> Option<&Held> {
        let (_, held) = self.0.get(self.place(var).ok()?)?;
        Some(held)
    }

    pub(super) fn set(&mut self, var: Var, held: Held) {
        match self.place(var) {
            Ok(at) => self.0[at].1 = held,
            Err(at) => self.0.insert(at, (var, held)),
        }
    }

    pub(super) fn remove(&mut self, var: Var) {
        if let Ok(at) = self.place(var) {
            self.0.remove(at);
        }
    }

    /// Adds of others, which come by their numbers, those that are not there yet.
    pub(super) fn fill<'h>(&mut self, others: impl Iterator<Item = (Var, &'h Held)>) {
        let n_known = self.0.len();
        let mut at = 0;
        for (var, held) in others {
            while at < n_known && self.0[at].0 < var {
                at += 1;
            }
            if at == n_known || self.0[at].0 != var {
                self.0.push((var, held.clone()));
            }
        }
        if self.0.len() > n_known {
            self.0.sort_by_key(|(var, _)| *var);
        }
    }

    pub(super) fn retain(&mut self, keeps: impl Fn(Var, &Held) -> bool) {
        self.0.retain(|(var, held)| keeps(*var, held));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Var, &Held)> {
        self.0.iter().map(|(var, held)| (*var, held))
    }

    pub(super) fn vars(&self) -> impl Iterator<Item = Var> {
        self.0.iter().map(|(var, _)| *var)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Changes {
    type Item = (Var, Held);
    type IntoIter = std::vec::IntoIter<(Var, Held)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// From the end: states that went apart late differ in what came last.
impl PartialEq for Changes {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().rev().eq(other.0.iter().rev())
    }
}

impl Eq for Changes {}

#[cfg(test)]
mod tests {
    use super::super::field::Field;
    use super::super::slots::Variables;
    use super::super::variable::Value;
    use super::*;

    #[test]
    fn what_is_there_stays_and_the_rest_is_added_in_order() {
        let mut variables = Variables::default();
        let vars: Vec<Var> = ["a", "b", "c", "d"]
            .map(|name| variables.enter(name))
            .into();
        let held = |text: &str| Some(Some(Value::One(Field::literal(text))));
        let changes = |texts: &[(usize, &str)]| {
            Changes::of(texts.iter().map(|(at, text)| (vars[*at], held(text))))
        };
        let mut first = changes(&[(3, "d"), (1, "b"), (1, "later")]);
        first.fill(changes(&[(0, "a"), (1, "other"), (2, "c")]).iter());
        assert_eq!(first, changes(&[(0, "a"), (1, "b"), (2, "c"), (3, "d")]));
        first.set(vars[2], held("new"));
        first.remove(vars[0]);
        assert_eq!(first.get(vars[0]), None);
        assert_eq!(first, changes(&[(1, "b"), (2, "new"), (3, "d")]));
    }

    #[test]
    fn a_watch_tells_of_its_own_variables_alone() {
        let mut variables = Variables::default();
        let (a, b) = (variables.enter("a"), variables.enter("b"));
        let outer = variables.watch(vec![a]).expect("room");
        let inner = variables.watch(vec![b]).expect("room");
        variables.replace(a, Some(None));
        assert!(variables.ended(inner));
        assert!(!variables.ended(outer));
        let again = variables.watch(vec![a]).expect("room");
        assert!(variables.get("b").is_none());
        assert!(variables.ended(again));
    }
}
