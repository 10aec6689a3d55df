//! Where a shell's variables are held: a name is searched for once, and is a number from
//! there on.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use ecow::EcoString;
use foldhash::fast::RandomState;

use super::variable::Value;

/// What a variable holds: nothing, something not known, or a value.
pub(super) type Held = Option<Option<Value>>;

/// The name of a variable, or the mark that it is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Var(usize);

impl Var {
    /// Holds something where the variable is exported, so that a subshell's end takes that back
    /// as well. That of the empty name is `set -a`.
    pub(super) fn exported(self) -> Self {
        Self(self.0 | 1)
    }
}

#[derive(Default)]
pub(super) struct Variables {
    by_name: HashMap<EcoString, Var, RandomState>,
    names: Vec<EcoString>,
    /// Two for each name: what it holds, and whether it is exported.
    slots: Vec<Slot>,
    /// The names `name[key]` under which elements are held.
    elements: BTreeSet<EcoString>,
    n_watches: u32,
    /// The watches that saw one of theirs asked for or changed, a bit for each.
    met: Cell<u64>,
}

#[derive(Default)]
struct Slot {
    held: Held,
    /// The watches that are set on it, a bit for each.
    watches: u64,
}

/// Tells whether any of some variables is asked for or changed.
pub(super) struct Watch {
    over: Vec<Var>,
    bit: u64,
}

impl Variables {
    pub(super) fn find(&self, name: &str) -> Option<Var> {
        self.by_name.get(name).copied()
    }

    /// The variable of a name, which need not hold anything.
    pub(super) fn enter(&mut self, name: &str) -> Var {
        if let Some(var) = self.find(name) {
            return var;
        }
        let name = EcoString::from(name);
        let var = Var(self.slots.len());
        self.slots.extend([Slot::default(), Slot::default()]);
        self.by_name.insert(name.clone(), var);
        if name.contains('[') {
            self.elements.insert(name.clone());
        }
        self.names.push(name);
        var
    }

    /// What the name holds; `None` where that is nothing.
    pub(super) fn get(&self, name: &str) -> Option<&Option<Value>> {
        self.at(self.find(name)?).as_ref()
    }

    pub(super) fn at(&self, var: Var) -> &Held {
        let slot = &self.slots[var.0];
        self.met.set(self.met.get() | slot.watches);
        &slot.held
    }

    /// Gives back what it held before.
    pub(super) fn replace(&mut self, var: Var, held: Held) -> Held {
        let slot = &mut self.slots[var.0];
        self.met.set(self.met.get() | slot.watches);
        std::mem::replace(&mut slot.held, held)
    }

    /// The names that hold something, each with its variable.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, Var)> {
        let vars = self.names.iter().zip((0..).step_by(2).map(Var));
        vars.filter(|(_, var)| self.at(*var).is_some())
            .map(|(name, var)| (name.as_str(), var))
    }

    /// The names `name[key]` under which elements are held.
    pub(super) fn elements_of(&self, name: &str) -> impl Iterator<Item = &EcoString> {
        let prefix = EcoString::from(name) + "[";
        self.elements
            .range(prefix.clone()..)
            .take_while(move |element| element.starts_with(prefix.as_str()))
            .filter(|element| self.get(element).is_some())
    }

    /// Watches some variables until `ended`; there is room for so many watches at once.
    pub(super) fn watch(&mut self, over: Vec<Var>) -> Option<Watch> {
        let bit = 1u64.checked_shl(self.n_watches)?;
        self.n_watches += 1;
        self.met.set(self.met.get() & !bit);
        for var in &over {
            self.slots[var.0].watches |= bit;
        }
        Some(Watch { over, bit })
    }

    /// Whether none of the watched variables was met. The newest watch ends first.
    pub(super) fn ended(&mut self, watch: Watch) -> bool {
        self.n_watches -= 1;
        for var in watch.over {
            self.slots[var.0].watches &= !watch.bit;
        }
        self.met.get() & watch.bit == 0
    }
}
