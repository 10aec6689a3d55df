//! What variables hold, and how their changes are taken back.

use std::collections::BTreeMap;

use ecow::EcoString;

use super::eval::Shell;
use super::field::{Field, Output};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    One(Field),
    /// An array, or `$@`.
    Many(Vec<Field>),
}

impl Value {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::One(field) => field.known() == Some(""),
            Self::Many(fields) => fields.is_empty(),
        }
    }

    pub(super) fn into_field(self) -> Field {
        match self {
            Self::One(field) => field,
            Self::Many(fields) => fields.into_iter().next().unwrap_or_else(Field::unknown),
        }
    }
}

/// Under which it is held that a variable is exported, so that a subshell's end takes that
/// back as well. Without a name it is `set -a`.
pub(super) fn export_of(name: &str) -> EcoString {
    EcoString::from(name) + "="
}

/// What stands in the environment of any command, changed or not.
fn is_inherited(name: &str) -> bool {
    matches!(
        name,
        "HOME"
            | "PATH"
            | "PWD"
            | "OLDPWD"
            | "TMPDIR"
            | "CLAUDE_PROJECT_DIR"
            | "CLAUDE_CONFIG_DIR"
            | "FEATURE_DIR"
    )
}

/// What a variable holds: nothing, something not known, or a value.
pub(super) type Held = Option<Option<Value>>;

impl Shell<'_> {
    /// Runs in a process of its own, which gets the variables that are exported.
    pub(super) fn process(
        &mut self,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        self.subshell(|shell| {
            shell.keep_back_own();
            run(shell)
        })
    }

    /// Takes away the variables that are not exported.
    #[inline(never)]
    fn keep_back_own(&mut self) {
        let mut own = Vec::new();
        for name in self.variables.keys() {
            if !name.ends_with('=') && !self.exports(name) {
                own.push(name.clone());
            }
        }
        if self.spend(16 * own.len()) {
            own.iter().for_each(|name| self.unset(name));
        }
    }

    fn exports(&self, name: &str) -> bool {
        let is_held = |name: &str| self.variables.contains_key(&export_of(name));
        is_inherited(name) || is_held(name) || is_held("")
    }

    /// Processes get the variable from here on; without a name, every variable.
    pub(super) fn export(&mut self, name: &str) {
        self.set(&export_of(name), Value::One(Field::literal("")));
    }

    pub(super) fn keep_back(&mut self, name: &str) {
        self.unset(&export_of(name));
    }

    /// A place to go back to with `take_back`, which must follow.
    pub(super) fn mark(&mut self) -> usize {
        self.marks += 1;
        self.journal.len()
    }

    /// The variables changed since the mark, with what they hold now.
    pub(super) fn changed(&self, mark: usize) -> BTreeMap<EcoString, Held> {
        let since = self.journal.get(mark..).unwrap_or(&[]).iter();
        since
            .map(|(name, _)| (name.clone(), self.holds(name)))
            .collect()
    }

    pub(super) fn holds(&self, name: &str) -> Held {
        self.variables.get(name).cloned()
    }

    /// What the variables changed since the mark held before.
    pub(super) fn before(&self, mark: usize) -> BTreeMap<EcoString, Held> {
        let mut before = BTreeMap::new();
        for (name, old) in self.journal.get(mark..).unwrap_or(&[]) {
            before.entry(name.clone()).or_insert_with(|| old.clone());
        }
        before.retain(|name, old| self.variables.get(name) != old.as_ref());
        before
    }

    pub(super) fn put(&mut self, name: &str, held: Held) {
        match held {
            Some(value) => self.assign(name, value),
            None => self.unset(name),
        }
    }

    /// What changed since the mark stays.
    pub(super) fn keep(&mut self, mark: usize) {
        self.marks -= 1;
        if self.marks == 0 {
            self.journal.truncate(mark);
        }
    }

    pub(super) fn take_back(&mut self, mark: usize) {
        self.marks -= 1;
        for (name, old) in self.journal.drain(mark.min(self.journal.len())..).rev() {
            match old {
                Some(value) => self.variables.insert(name, value),
                None => self.variables.remove(&name),
            };
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.assign(name, Some(value));
    }

    /// The variable holds something that is not known.
    pub(super) fn forget(&mut self, name: &str) {
        self.assign(name, None);
    }

    pub(super) fn unset(&mut self, name: &str) {
        if let Some(old) = self.variables.remove(name)
            && self.marks > 0
        {
            self.journal.push((name.into(), Some(old)));
        }
    }

    /// `name` stands for another name from here on.
    pub(super) fn refer(&mut self, name: &str, to: Option<&str>) {
        match to.filter(|to| *to != name) {
            Some(to) => drop(self.references.insert(name.into(), to.into())),
            None => self.forget(name),
        }
    }

    pub(super) fn assign(&mut self, name: &str, value: Option<Value>) {
        let referred = self.references.get(name).cloned();
        let name = referred.as_deref().unwrap_or(name);
        let old = match self.variables.get_mut(name) {
            Some(held) => Some(std::mem::replace(held, value)),
            None => self.variables.insert(name.into(), value),
        };
        if self.marks > 0 {
            self.journal.push((name.into(), old));
        }
    }

    /// The names `name[key]` under which elements are held.
    pub(super) fn elements_of(&self, name: &str) -> impl Iterator<Item = &EcoString> {
        let prefix = EcoString::from(name) + "[";
        let from = self.variables.range(prefix.clone()..);
        from.map(|(held, _)| held)
            .take_while(move |held| held.starts_with(prefix.as_str()))
    }

    pub(super) fn variable(&self, name: &str) -> Option<Value> {
        let name = self.references.get(name).map_or(name, EcoString::as_str);
        if let Some(value) = self.variables.get(name) {
            return value.clone();
        }
        let text = match name {
            "HOME" => self.scene.home?,
            "PWD" => self.cwd.as_deref()?,
            "OLDPWD" => self.previous_dir.as_deref()?,
            "$" | "BASHPID" | "PPID" | "RANDOM" | "SRANDOM" | "SECONDS" | "EPOCHSECONDS" => {
                let text = match name.starts_with('E') {
                    true => "1767323045",
                    false => "321",
                };
                return Some(Value::One(Field {
                    spelling: super::field::ANY_ONE,
                    ..Field::literal(text)
                }));
            }
            "_" => return self.last_word.clone().map(Value::One),
            "CLAUDE_PROJECT_DIR" => self.scene.project_dir?,
            "CLAUDE_CONFIG_DIR" => self.scene.config_dir?,
            "FEATURE_DIR" => self.scene.feature_dir?,
            "#" => {
                return Some(Value::One(Field::literal(
                    self.positional.len().to_string(),
                )));
            }
            "@" | "*" => return Some(Value::Many(self.positional.to_vec())),
            _ => {
                let at: usize = name.parse().ok()?;
                let field = self.positional.get(at.checked_sub(1)?)?;
                return Some(Value::One(field.clone()));
            }
        };
        Some(Value::One(Field::literal(text)))
    }
}
