//! What variables hold, and how their changes are taken back.

use ecow::EcoString;

use super::changes::Changes;
use super::eval::Shell;
use super::field::{Field, Output};
use super::slots::{Held, Var};

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
        let every = self.variables.find("");
        if every.is_some_and(|every| self.is_exported(every)) {
            return;
        }
        let all = self.variables.all();
        let own = all.filter(|(name, var)| !is_inherited(name) && !self.is_exported(*var));
        let own: Vec<Var> = own.map(|(_, var)| var).collect();
        if self.spend(16 * own.len()) {
            own.into_iter().for_each(|var| self.put(var, None));
        }
    }

    fn is_exported(&self, var: Var) -> bool {
        self.variables.at(var.exported()).is_some()
    }

    /// Processes get the variable from here on; without a name, every variable.
    pub(super) fn export(&mut self, name: &str) {
        let mark = self.variables.enter(name).exported();
        self.put(mark, Some(None));
    }

    pub(super) fn keep_back(&mut self, name: &str) {
        if let Some(var) = self.variables.find(name) {
            self.put(var.exported(), None);
        }
    }

    /// A place to go back to with `take_back`, which must follow.
    pub(super) fn mark(&mut self) -> usize {
        self.marks += 1;
        self.journal.len()
    }

    /// The variables changed since the mark, with what they hold now.
    pub(super) fn changed(&self, mark: usize) -> Changes {
        let since = self.journal.get(mark..).unwrap_or(&[]).iter();
        Changes::of(since.map(|(var, _)| (*var, self.variables.at(*var).clone())))
    }

    /// What the variables changed since the mark held before.
    pub(super) fn before(&self, mark: usize) -> Changes {
        let since = self.journal.get(mark..).unwrap_or(&[]).iter();
        let mut before = Changes::of(since.cloned());
        before.retain(|var, old| self.variables.at(var) != old);
        before
    }

    /// What a variable held before the change is noted, where it may be gone back to.
    pub(super) fn put(&mut self, var: Var, held: Held) {
        let is_nothing = held.is_none();
        let old = self.variables.replace(var, held);
        if self.marks > 0 && !(is_nothing && old.is_none()) {
            self.journal.push((var, old));
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
        for (var, old) in self.journal.drain(mark.min(self.journal.len())..).rev() {
            self.variables.replace(var, old);
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
        if let Some(var) = self.variables.find(name) {
            self.put(var, None);
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
        let name = self.references.get(name).map_or(name, EcoString::as_str);
        let var = self.variables.enter(name);
        self.put(var, Some(value));
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
