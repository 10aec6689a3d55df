//! The one state that a command is followed in: variables, directory, parameters. Where
//! branches part and meet again, what they made different is not known.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::eval::Shell;
use super::field::{Field, UNKNOWN, join};
use super::obscure;
use crate::base::text::is_in;

/// Variables of the client's environment that lead to state.
const INHERITED: &str = "CLAUDE_CONFIG_DIR CLAUDE_ENV_FILE CLAUDE_PROJECT_DIR FEATURE_DIR HOME";

/// What a subshell cannot change for the commands after it.
#[derive(Clone)]
pub(super) struct Place {
    /// `None` where it is not known.
    pub(super) cwd: Option<Rc<str>>,
    pub(super) left: Option<Rc<str>>,
    pub(super) positional: Rc<[Field]>,
    pub(super) variables: Rc<Variables>,
}

/// Copied where a subshell or a branch changes one.
type Variables = BTreeMap<Rc<str>, Field>;

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

/// Where a branch led to, and why it went no further.
pub(super) struct BranchEnd {
    place: Place,
    halted: Option<Halt>,
}

impl Shell<'_> {
    pub(super) fn variable(&self, name: &str) -> Option<&Field> {
        self.place.variables.get(name)
    }

    pub(super) fn set(&mut self, name: &str, text: Field) {
        self.set_value(name, Some(text));
    }

    /// Sets a variable, or takes it away.
    pub(super) fn set_value(&mut self, name: &str, value: Option<Field>) {
        self.is_obscure |= obscure::loads_code(name);
        let variables = self.own_variables();
        match value {
            Some(value) => variables.insert(name.into(), value),
            None => variables.remove(name),
        };
    }

    fn own_variables(&mut self) -> &mut Variables {
        if Rc::strong_count(&self.place.variables) > 1 {
            self.spend(self.place.variables.len());
        }
        Rc::make_mut(&mut self.place.variables)
    }

    /// Which variables a program that is started sees is not followed, but for the client's own.
    pub(super) fn forget_own_variables(&mut self) {
        for (name, value) in self.own_variables() {
            if !is_in(INHERITED, name) {
                *value = Field::unknown();
            }
        }
    }

    pub(super) fn home(&self) -> Field {
        let home = self.variable("HOME").cloned();
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

    /// Goes to a directory, whether or not it is there.
    pub(super) fn enter(&mut self, dir: &str) {
        self.place.cwd = self.absolute(dir).map(Rc::from);
    }

    /// Runs what leaves nothing behind in the shell's own state.
    pub(super) fn subshell<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let place = self.place.clone();
        let result = run(self);
        self.place = place;
        self.halted = None;
        result
    }

    /// Runs one of several branches and goes back to where they part.
    pub(super) fn branch<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (BranchEnd, T) {
        let place = self.place.clone();
        self.n_branches += 1;
        let result = run(self);
        self.n_branches -= 1;
        let end = BranchEnd {
            place: std::mem::replace(&mut self.place, place),
            halted: self.halted.take(),
        };
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
            halted: None,
        }
    }

    /// Goes on where branches meet; those that left the shell, the function or the loop do not.
    pub(super) fn meet(&mut self, mut ends: Vec<BranchEnd>) {
        let halted = ends.last().and_then(|end| end.halted);
        ends.retain(|end| end.halted.is_none());
        let mut places = ends.into_iter().map(|end| end.place);
        let Some(mut place) = places.next() else {
            self.halted = halted;
            return;
        };
        for other in places {
            if other.cwd != place.cwd {
                place.cwd = None;
            }
            if other.positional != place.positional {
                place.positional = Rc::from([]);
            }
            if !Rc::ptr_eq(&other.variables, &place.variables) {
                self.spend(other.variables.len() + place.variables.len());
                forget_different(&mut place.variables, &other.variables);
            }
        }
        self.place = place;
    }
}

/// Of a variable that two branches left different, the value is not known.
fn forget_different(own: &mut Rc<Variables>, other: &Variables) {
    let names = own.keys().chain(other.keys());
    let different = names.filter(|name| own.get(*name) != other.get(*name));
    let unknown: Vec<_> = different
        .map(|name| (name.clone(), Field::unknown()))
        .collect();
    Rc::make_mut(own).extend(unknown);
}
