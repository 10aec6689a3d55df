//! What a command name is: a function, a builtin, a wrapper, a program.

use std::rc::Rc;

use super::eval::{Ran, Shell};
use super::field::{Field, base_name};
use super::glob::is_open;
use super::inline::{self, Language};
use super::state::Halt;
use super::syntax::{Assigned, Assignment, Command, How, Redirect, Simple, To};
use super::{builtins, git, nested, obscure, own, readers, wrappers, writers};

/// Builtins whose assignments hold behind them.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

impl Shell<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, redirects: &[Redirect]) -> Ran {
        let words = self.fields(&simple.words);
        let mut hidden = Vec::new();
        for assignment in &simple.assignments {
            let before = self.variable(&assignment.name).cloned();
            hidden.push((&assignment.name, before));
            self.assign(assignment);
        }
        let ran = self.redirected(redirects, |shell| match (words.as_slice(), redirects) {
            // `$(< FILE)`
            ([], [redirect]) if matches!(redirect.to, To::Read(_)) => Ran {
                output: shell.stdin.clone(),
                ..Ran::silent()
            },
            (words, _) => shell.run(words),
        });
        let program = words.first().map(|name| name.text.as_str());
        if program.is_some_and(|name| !DECLARING.contains(&name)) {
            for (name, before) in hidden.into_iter().rev() {
                self.set_value(name, before);
            }
        }
        ran
    }

    /// What the elements of an array are is not followed.
    fn assign(&mut self, assignment: &Assignment) {
        let name = assignment.name.as_str();
        let value = match (&assignment.value, assignment.how) {
            (Assigned::Array(words), _) => {
                self.fields(words);
                Field::unknown()
            }
            (_, How::Element) => Field::unknown(),
            (Assigned::Word(word), How::Set) => self.text(word),
            (Assigned::Word(word), How::Append) => {
                // What it was outside of the command is not known.
                let mut value = self.variable(name).cloned().unwrap_or_else(Field::unknown);
                value.push(&self.text(word));
                value
            }
        };
        self.spend((8 + value.text.len()) / 64);
        self.set(name, value);
    }

    pub(super) fn run(&mut self, words: &[Field]) -> Ran {
        let function = words
            .first()
            .and_then(|name| self.functions.get(&name.text));
        match function.cloned() {
            Some(body) => self.call(&words[0].text, &body, &words[1..]),
            None => self.run_program(words),
        }
    }

    /// A function that runs already has its body followed once: that is enough.
    fn call(&mut self, name: &str, body: &Command, args: &[Field]) -> Ran {
        if self.running.iter().any(|running| running == name) {
            return Ran::unknown().uncertain();
        }
        self.running.push(name.to_owned());
        let positional = std::mem::replace(&mut self.place.positional, Rc::from(args));
        let locals = std::mem::take(&mut self.locals);
        let ran = self.deeper(|shell| shell.command(body));
        for (name, before) in std::mem::replace(&mut self.locals, locals)
            .into_iter()
            .rev()
        {
            self.set_value(&name, before);
        }
        self.place.positional = positional;
        self.running.pop();
        if self.halted == Some(Halt::Function) {
            self.halted = None;
        }
        ran
    }

    /// Runs what a name is, functions aside.
    pub(super) fn run_program(&mut self, words: &[Field]) -> Ran {
        let Some((path, args)) = words.split_first() else {
            return Ran::silent();
        };
        if is_open(path) {
            let found = [&self.found(path), args].concat();
            return self.run_program(&found);
        }
        self.has_known_words = words.iter().all(Field::is_literal);
        let Some(path) = path.known() else {
            self.program.clear();
            return self.unknown_program();
        };
        let name = if path.contains('/') && own::may_be_copy(self, &words[0]) {
            own::NAME
        } else {
            program_name(path)
        };
        // `bun x` is `bunx`.
        let (name, args) = match args {
            [verb, rest @ ..] if name == "bun" && verb.is("x") => ("bunx", rest),
            args => (name, args),
        };
        name.clone_into(&mut self.program);
        self.names_own_program |= args.iter().any(|arg| own::names_program(self, arg));
        let was_obscure = self.is_obscure;
        let is_own_script = path.contains('/') && self.content(&words[0]).is_some();
        self.is_obscure |=
            obscure::changes_names(name) || (obscure::is_own_path(path) && !is_own_script);
        if let Some(ran) = builtins::run(self, name, args) {
            return ran;
        }
        if is_own_script {
            return nested::script(self, None, &words[0], args);
        }
        own::removal_of_package(self, name, args);
        if let Some(wrapper) = wrappers::named(name) {
            self.is_obscure |= !obscure::is_plain_wrapper(name);
            return self.deeper(|shell| wrapper.run(shell, args));
        }
        let ran = self.tabled(name, args);
        ran.unwrap_or_else(|| {
            writers::outputs(self, name, args);
            // Of what is in no table its name says all that is known.
            self.is_obscure = was_obscure;
            self.unknown_program()
        })
    }

    /// Runs a program that the tables know by its name.
    fn tabled(&mut self, name: &str, args: &[Field]) -> Option<Ran> {
        if let Some(language) = Language::of(name) {
            return Some(inline::run(self, language, args));
        }
        Some(match name {
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish" => nested::shell(self, name, args),
            "pwsh" | "powershell" | "cmd" => nested::powershell(self, args),
            "git" => git::run(self, args),
            "hg" | "jj" => {
                self.checks_out = true;
                self.unknown_program()
            }
            _ => {
                let written = writers::run(self, name, args);
                return written.or_else(|| readers::run(self, name, args));
            }
        })
    }
}

/// The name of a program in the tables: GNU's have a `g` in front where a system has its own.
fn program_name(path: &str) -> &str {
    const GNU: [&str; 10] = [
        "cp", "find", "install", "ln", "mkdir", "mv", "rm", "sed", "tee", "touch",
    ];
    let file = base_name(path);
    let name = file.strip_suffix(".exe").unwrap_or(file);
    // `npx statewarden@latest`
    if own::is_package(name) {
        return own::NAME;
    }
    let plain = name.strip_prefix('g').filter(|plain| GNU.contains(plain));
    plain.unwrap_or(name)
}
