//! Names in a script's expressions: variables, members, and calls.

use super::bind::Shape;
use super::code::Language;
use super::field::Field;
use super::made::{one, parent};
use super::value::{MAX_VALUES, Reader};

impl<'c, 'a> Reader<'_, 'c, 'a, '_, '_> {
    /// A variable, or a call that makes a path. A dotted name counts as one.
    pub(super) fn name(&mut self, first: &'a str) -> Vec<Field> {
        self.at += 1;
        if matches!(first, "new" | "await" | "my" | "our" | "local") {
            return self.primary();
        }
        if let Some(values) = self.perl_word(first) {
            return values;
        }
        if let Some(values) = self.called(first, self.at - 1) {
            return values;
        }
        // `(name := expression)`
        if self.script.language == Language::Python
            && self.mark() == Some(':')
            && self.script.mark(self.at + 1) == Some('=')
        {
            self.at += 2;
            return self.expression();
        }
        if let Some(values) = self.member(first) {
            return values;
        }
        if self.mark() != Some('(')
            && let Some(values) = self.held(first)
        {
            return values;
        }
        let last = self.dotted(first);
        self.made_by(first, last)
    }

    fn perl_word(&mut self, word: &str) -> Option<Vec<Field>> {
        if self.script.language != Language::Perl {
            return None;
        }
        Some(match word {
            "shift" => self.perl_shift(),
            "keys" | "each" | "sort" | "reverse" => self.primary(),
            "glob" => {
                let patterns = self.primary();
                self.globbed(&patterns)
            }
            "values" => {
                self.primary();
                self.given_values(self.shape)
            }
            _ => return None,
        })
    }

    /// The last part of a dotted name, or what a lone name was imported as.
    fn dotted(&mut self, first: &'a str) -> &'c str {
        let mut last: &str = first;
        let mut n_parts = 1;
        while self.mark() == Some('.')
            && let Some(next) = self.script.word(self.at + 1)
            && n_parts < 4
            && !is_environment(last)
        {
            last = next;
            n_parts += 1;
            self.at += 2;
            if self.mark() == Some('(') || is_cwd(last) {
                break;
            }
        }
        match self.script.imported(last).filter(|_| n_parts == 1) {
            Some([_, own, _]) => own,
            None => last,
        }
    }

    /// What a dotted name, known by its ends, makes at the cursor.
    fn made_by(&mut self, first: &str, last: &str) -> Vec<Field> {
        if is_environment(last) {
            return self.environment();
        }
        let last = match (self.script.language, last) {
            (Language::Ruby, "new") => first,
            _ => last,
        };
        if let Some(path) = self.own_file(last) {
            return vec![path];
        }
        if is_cwd(last) {
            self.call_arguments();
            return one(self.script.shell.cwd.as_deref().map(Field::literal));
        }
        if self.mark() == Some('[') && first == "Dir" {
            let patterns = self.bracket();
            return self.globbed(&patterns);
        }
        if self.mark() != Some('(') {
            return Vec::new();
        }
        if matches!(first, "self" | "this" | "$this" | "cls")
            && let Some(values) = self.called(last, self.at - 1)
        {
            return values;
        }
        if last == "dict" {
            return self.bracket();
        }
        let arguments = self.call_arguments();
        self.made(last, first, arguments)
    }

    /// The script's own file, or its directory.
    fn own_file(&self, name: &str) -> Option<Field> {
        let file = self.script.shell.script_file.as_ref()?;
        match name {
            "__file__" | "__filename" | "__FILE__" => Some(file.clone()),
            "__dirname" | "__dir__" | "__DIR__" => parent(file),
            _ => None,
        }
    }

    /// What a function of the script's own gives back for the call at `at`.
    fn called(&mut self, name: &str, at: usize) -> Option<Vec<Field>> {
        if self.mark() != Some('(') {
            return None;
        }
        let function = self.script.function(name, at)?;
        let given = self.call_arguments();
        if self.script.followed.len() < MAX_VALUES {
            self.script.followed.push(at);
        }
        self.shape = Shape::One;
        let outer = std::mem::replace(&mut self.script.depth, self.depth);
        let values = self.script.invoke(function, given);
        self.script.depth = outer;
        Some(values)
    }
}

/// Names and calls that stand for the working directory.
fn is_cwd(name: &str) -> bool {
    matches!(
        name,
        "cwd" | "getcwd" | "pwd" | "__dirname" | "currentDirectory"
    )
}

/// Names that stand for the variables of the process.
fn is_environment(name: &str) -> bool {
    matches!(
        name,
        "environ" | "env" | "ENV" | "$ENV" | "ENVIRON" | "$_ENV" | "$_SERVER"
    )
}
