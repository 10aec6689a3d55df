//! The one state that a command is followed in: variables, directory, parameters. Where
//! branches part and meet again, what they made different is not known.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::eval::Shell;
use super::field::{Field, UNKNOWN, join};

/// What a variable holds: of an array all elements.
pub(super) type Value = Vec<Field>;

/// Changes are written down, so that a branch can be taken back at the cost of what it changed.
#[derive(Default)]
pub(super) struct Variables {
    by_name: HashMap<String, Value>,
    journal: Vec<(String, Option<Value>)>,
}

impl Variables {
    fn put(&mut self, name: &str, value: Option<Value>) {
        let before = match value {
            Some(value) => self.by_name.insert(name.to_owned(), value),
            None => self.by_name.remove(name),
        };
        self.journal.push((name.to_owned(), before));
    }

    fn roll_back(&mut self, mark: usize) {
        for (name, before) in self.journal.drain(mark..).rev() {
            match before {
                Some(value) => self.by_name.insert(name, value),
                None => self.by_name.remove(&name),
            };
        }
    }

    /// What the names changed since the mark hold now.
    fn changed_since(&self, mark: usize) -> HashMap<String, Option<Value>> {
        let changed = self.journal.iter().skip(mark);
        let now = |(name, _): &(String, _)| (name.clone(), self.by_name.get(name).cloned());
        changed.map(now).collect()
    }
}

/// What stands beside the variables.
#[derive(Clone)]
pub(super) struct Place {
    /// `None` where it is not known.
    pub(super) cwd: Option<String>,
    pub(super) left: Option<String>,
    pub(super) pushed: Vec<Option<String>>,
    pub(super) positional: Rc<[Field]>,
}

/// Why nothing behind a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// `exit`
    Shell,
    /// `return`
    Function,
    /// `break` and `continue`
    Turn,
}

/// Where a branch led to.
pub(super) struct BranchEnd {
    place: Place,
    changes: HashMap<String, Option<Value>>,
    halted: Option<Halt>,
}

impl Shell<'_> {
    pub(super) fn variable(&self, name: &str) -> Option<&[Field]> {
        self.variables.by_name.get(name).map(Vec::as_slice)
    }

    /// The value of a variable that is no array.
    pub(super) fn variable_text(&self, name: &str) -> Option<&Field> {
        self.variable(name)?.first()
    }

    pub(super) fn set(&mut self, name: &str, text: Field) {
        self.set_value(name, Some(vec![text]));
    }

    /// Sets a variable, or takes it away.
    pub(super) fn set_value(&mut self, name: &str, value: Option<Value>) {
        self.variables.put(name, value);
    }

    pub(super) fn export(&mut self, name: &str) {
        let exported = self.exported.iter_mut();
        exported.for_each(|names| names.extend([name.to_owned()]));
    }

    /// Takes away what a program that is started does not see.
    pub(super) fn hide_own_variables(&mut self) {
        let Some(exported) = &self.exported else {
            return;
        };
        let names = self.variables.by_name.keys();
        let own = names.filter(|name| !exported.contains(*name));
        let own: Vec<String> = own.cloned().collect();
        self.spend(own.len());
        own.iter().for_each(|name| self.set_value(name, None));
    }

    pub(super) fn home(&self) -> Field {
        let home = self.variable_text("HOME").cloned();
        home.unwrap_or_else(Field::unknown)
    }

    /// A path seen from where the command is.
    pub(super) fn absolute(&self, path: &str) -> Option<String> {
        match &self.place.cwd {
            _ if path.contains(UNKNOWN) => None,
            Some(cwd) => Some(join(cwd, path)),
            None => path.starts_with('/').then(|| path.to_owned()),
        }
    }

    /// Runs what leaves nothing behind in the shell's own state.
    pub(super) fn subshell<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let place = self.place.clone();
        let mark = self.variables.journal.len();
        let result = run(self);
        self.variables.roll_back(mark);
        self.place = place;
        self.halted = None;
        result
    }

    /// Runs one of several branches and goes back to where they part.
    pub(super) fn branch<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (BranchEnd, T) {
        let place = self.place.clone();
        let mark = self.variables.journal.len();
        self.n_branches += 1;
        let result = run(self);
        self.n_branches -= 1;
        let end = BranchEnd {
            place: std::mem::replace(&mut self.place, place),
            changes: self.variables.changed_since(mark),
            halted: self.halted.take(),
        };
        self.variables.roll_back(mark);
        (end, result)
    }

    /// Runs what may be left out.
    pub(super) fn in_branch<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let (end, result) = self.branch(run);
        self.meet(vec![self.here(), end]);
        result
    }

    /// The end of a branch in which nothing happens.
    pub(super) fn here(&self) -> BranchEnd {
        BranchEnd {
            place: self.place.clone(),
            changes: HashMap::new(),
            halted: None,
        }
    }

    /// Goes on where branches meet; those that left the shell, the function or the loop do not.
    pub(super) fn meet(&mut self, mut ends: Vec<BranchEnd>) {
        let halted = ends.last().and_then(|end| end.halted);
        ends.retain(|end| end.halted.is_none());
        let Some(first) = ends.first() else {
            self.halted = halted;
            return;
        };
        let mut place = first.place.clone();
        if ends.iter().any(|end| end.place.cwd != place.cwd) {
            place.cwd = None;
        }
        if ends
            .iter()
            .any(|end| end.place.positional != place.positional)
        {
            place.positional = Rc::from([]);
        }
        let names: BTreeSet<&String> = ends.iter().flat_map(|end| end.changes.keys()).collect();
        for name in names {
            let here = self.variables.by_name.get(name).cloned();
            let mut values = ends
                .iter()
                .map(|end| end.changes.get(name).unwrap_or(&here));
            let first = values.next().cloned().flatten();
            let value = match values.all(|value| *value == first) {
                true => first,
                false => Some(vec![Field::unknown()]),
            };
            self.variables.put(name, value);
        }
        self.place = place;
    }
}
