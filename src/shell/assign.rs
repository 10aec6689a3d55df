//! How variables get their values: assignments, and the builtins that set them.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::command::operands;
use super::eval::Shell;
use super::field::{Field, Output};
use super::lex::Word;
use super::slots::{Held, Var};
use super::syntax::{Assigned, Assignment, How};
use super::variable::Value;

/// Builtins that end what they declare with the running function.
fn is_local(name: &str) -> bool {
    matches!(name, "local" | "declare" | "typeset")
}

/// Builtins whose `name=value` arguments stay after they ran.
fn declares(name: &str) -> bool {
    matches!(
        name,
        "export" | "declare" | "local" | "readonly" | "typeset" | "unset"
    )
}

impl Shell<'_> {
    /// Runs with `NAME=value` in front; what the command itself sets stays.
    pub(super) fn with_assignments<T>(
        &mut self,
        assignments: &[Assignment<'_>],
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.assign_for_one(assignments);
        let value = run(self);
        for (var, old) in before.into_iter().rev() {
            self.put(var, old);
        }
        value
    }

    /// Runs behind assignments. They end with the command, unless there is none, or it declares.
    pub(super) fn assigned<T>(
        &mut self,
        assignments: &[Assignment<'_>],
        command: &[Field],
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let name = command.first().and_then(Field::known).unwrap_or("");
        if !command.is_empty() && !declares(name) {
            return self.with_assignments(assignments, run);
        }
        for assignment in assignments {
            if is_local(name) {
                self.localize(assignment.name);
            }
            self.assignment(assignment);
        }
        run(self)
    }

    /// Makes assignments that one command gets, and says what was held before.
    #[inline(never)]
    fn assign_for_one(&mut self, assignments: &[Assignment<'_>]) -> Vec<(Var, Held)> {
        let mut before = Vec::new();
        for assignment in assignments {
            let var = self.variables.enter(assignment.name);
            for var in [var, var.exported()] {
                before.push((var, self.variables.at(var).clone()));
            }
            self.assignment(assignment);
            self.export(assignment.name);
        }
        before
    }

    pub(super) fn assignment(&mut self, assignment: &Assignment<'_>) {
        let Assignment { name, how, value } = assignment;
        let mut value = match value {
            Assigned::Word(word) => Value::One(self.single(word)),
            Assigned::Array(words) => {
                if *how == How::Set {
                    let old: Vec<EcoString> = self.variables.elements_of(name).cloned().collect();
                    old.iter().for_each(|element| self.unset(element));
                }
                Value::Many(self.elements(name, words))
            }
        };
        match how {
            How::Set => {}
            How::Element(index) => return self.set_element(name, index, value),
            How::Append => match self.appended(name, value) {
                Some(whole) => value = whole,
                None => return self.forget(name),
            },
        }
        self.set(name, value);
    }

    /// What `name+=value` comes to.
    fn appended(&mut self, name: &str, value: Value) -> Option<Value> {
        match (self.variable(name), value) {
            (Some(Value::Many(mut fields)), Value::Many(more)) => {
                if !self.spend(fields.len() * 16) {
                    return None;
                }
                fields.extend(more);
                Some(Value::Many(fields))
            }
            (Some(Value::One(mut field)), Value::One(more)) => {
                field.push(&more);
                Some(Value::One(self.afford(field)))
            }
            (None, Value::Many(more)) => Some(Value::Many(more)),
            _ => None,
        }
    }

    /// `name[index]=value`. The array's other elements stay; what an index that
    /// is not plain leads to is not known.
    fn set_element(&mut self, name: &str, index: &str, value: Value) {
        let index = self.key(index);
        let mut fields = match self.variable(name) {
            Some(Value::Many(fields)) => fields,
            Some(Value::One(_)) | None => Vec::new(),
        };
        if index.contains(['$', '`', '\\']) || !self.spend(fields.len() * 16) {
            return self.forget(name);
        }
        let field = value.into_field();
        match index.parse().ok().and_then(|at: usize| fields.get_mut(at)) {
            Some(old) => *old = field.clone(),
            None => fields.push(field.clone()),
        }
        self.set(&format!("{name}[{index}]"), Value::One(field));
        self.set(name, Value::Many(fields));
    }

    /// An array's elements. `[key]=value` is held as a variable of its own, too.
    fn elements(&mut self, name: &str, words: &[Word<'_>]) -> Vec<Field> {
        let mut fields = self.all_fields(words);
        for field in &mut fields {
            let keyed = field
                .text
                .strip_prefix('[')
                .and_then(|text| text.split_once("]="));
            let Some(key) = keyed.map(|(key, _)| key.to_owned()) else {
                continue;
            };
            *field = field.behind("[]=".len() + key.len());
            self.set(&format!("{name}[{key}]"), Value::One(field.clone()));
        }
        fields
    }

    /// Gives a value to one name, or its words to several.
    pub(super) fn deal(&mut self, names: &[&str], value: Field) {
        if let [name] = names {
            self.set(name, Value::One(value));
            return;
        }
        let words = self.words_of(&value);
        let mut words = words.into_iter();
        for (n, name) in names.iter().enumerate() {
            let text = if n + 1 == names.len() {
                let rest: Vec<EcoString> = words.by_ref().map(|word| word.text).collect();
                rest.join(&self.joint()).into()
            } else {
                words.next().map_or(EcoString::new(), |word| word.text)
            };
            self.set(name, Value::One(value.with_text(text)));
        }
    }

    /// `$IFS`, where the command sets it to other marks than the usual ones, or to none.
    pub(super) fn separators(&self) -> Option<EcoString> {
        self.variables.get("IFS")?;
        let set = self.variable("IFS").map(Value::into_field);
        let marks = set.filter(|marks| marks.text.is_ascii() && marks.text != " \t\n");
        marks.map(|marks| marks.text)
    }

    /// What stands between words that are joined: the first of `$IFS`.
    pub(super) fn joint(&self) -> EcoString {
        let marks = self.separators();
        let joint = marks.as_ref().map_or(Some(" "), |marks| marks.get(..1));
        joint.unwrap_or("").into()
    }

    /// The words `read` takes a line apart into.
    pub(super) fn words_of(&self, line: &Field) -> Vec<Field> {
        let marks = self.separators();
        let texts: Vec<&str> = match marks.as_deref() {
            None => line.text.split_ascii_whitespace().collect(),
            Some("") => vec![&line.text],
            Some(marks) => {
                // Only of blanks several count as one.
                let are_blanks = marks.trim().is_empty();
                let words = line.text.split(|c| marks.contains(c));
                words
                    .filter(|word| !are_blanks || !word.is_empty())
                    .collect()
            }
        };
        texts.into_iter().map(|text| line.with_text(text)).collect()
    }
}

pub(super) fn read(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("adinNptu", &[]));
    let names = parsed.operands.iter().filter_map(Field::known);
    let names: Vec<&str> = names.collect();
    let line = shell
        .stdin
        .as_ref()
        .and_then(|stdin| stdin.lines().into_iter().next());
    match line {
        Some(line) => match parsed.value(&["a"]).and_then(Field::known) {
            Some(array) => {
                let words = shell.words_of(&line);
                shell.set(array, Value::Many(words));
            }
            None => shell.deal(&names, line),
        },
        None => names.iter().for_each(|name| shell.forget(name)),
    }
    Output::nothing()
}

/// In a function the names end with it, but for `declare -g`.
pub(super) fn local(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let is_global = |arg: &Field| arg.is_option() && arg.text.contains('g');
    if !shell.locals.is_empty() && !args.iter().any(is_global) {
        for arg in operands(args) {
            match arg.text.split_once('=') {
                // What is appended to is the function's own, and empty.
                Some((name, _)) => {
                    let own = name.trim_end_matches('+');
                    if shell.localize(own) && own != name {
                        shell.set(own, Value::One(Field::literal("")));
                    }
                }
                None => {
                    shell.localize(&arg.text);
                    shell.unset(&arg.text);
                }
            }
        }
    }
    declare(shell, args)
}

pub(super) fn export(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    for arg in operands(args) {
        let name = arg.text.split('=').next().unwrap_or("");
        match args.first().and_then(Field::known) {
            Some("-n") => shell.keep_back(name),
            _ => shell.export(name.trim_end_matches('+')),
        }
    }
    assign_all(shell, args)
}

pub(super) fn declare(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let mut options = args.iter().filter(|arg| arg.is_option());
    match options.any(|option| option.text.contains('x')) {
        true => export(shell, args),
        false => assign_all(shell, args),
    }
}

#[inline(never)]
fn assign_all(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let refers = args
        .iter()
        .any(|arg| arg.is_option() && arg.text.contains('n'));
    for arg in operands(args) {
        let Some((left, _)) = arg.text.split_once('=') else {
            continue;
        };
        let name = left.trim_end_matches('+');
        if !super::byte::is_name(name) {
            continue;
        }
        let value = arg.behind(left.len() + 1);
        if refers {
            shell.refer(name, value.known());
            continue;
        }
        // An array's parenthesis came as an assignment of its own.
        let array = value.known() == Some("") && shell.variable(name).is_some();
        if !array {
            let value = Value::One(value);
            let whole = match name == left {
                true => Some(value),
                false => shell.appended(name, value),
            };
            shell.assign(name, whole);
        }
    }
    Output::nothing()
}

pub(super) fn unset(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    for arg in operands(args) {
        shell.unset(arg.known()?);
        shell.keep_back(arg.known()?);
        shell.functions.remove(arg.known()?);
    }
    Output::nothing()
}

pub(super) fn set(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let marked = args.iter().position(|arg| arg.known() == Some("--"));
    let mut options = args.iter().take(marked.unwrap_or(args.len()));
    let exports = |arg: &Field| match arg.is_option() {
        true => arg.text.contains('a'),
        false => arg.text == "allexport",
    };
    if args.first().is_some_and(Field::is_option) && options.any(exports) {
        shell.export("");
    }
    let values = match marked {
        Some(at) => args.get(at + 1..),
        None if args.first().is_some_and(|arg| !arg.is_option()) => Some(args),
        None => None,
    };
    if let Some(values) = values {
        shell.positional = values.into();
    }
    Output::nothing()
}

pub(super) fn shift(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let by = args.first().and_then(|arg| arg.known()?.parse().ok());
    let rest = shell.positional.get(by.unwrap_or(1)..).unwrap_or(&[]);
    shell.positional = rest.into();
    Output::nothing()
}

/// `mapfile NAME`: the input's lines as an array.
pub(super) fn mapfile(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("dnOsuCc", &[]));
    let name = match parsed.operands.first() {
        Some(name) => name.known()?,
        None => "MAPFILE",
    };
    let stdin = shell.stdin.as_ref();
    let stdin = stdin.filter(|_| !parsed.has(&["d", "n", "s", "O", "u"]));
    let lines = stdin.map(|stdin| Value::Many(stdin.lines()));
    shell.assign(name, lines);
    Output::nothing()
}

/// `getopts LETTERS NAME [ARG…]`: what each turn gives the name and `$OPTARG`, where
/// there are options at all.
pub(super) fn options(shell: &mut Shell<'_>, letters: &str, given: &[Field]) -> Option<Vec<Field>> {
    let positional = shell.positional.clone();
    let args = if given.is_empty() { &positional } else { given };
    let mut turns = Vec::new();
    let mut next = 0;
    while let Some(arg) = args.get(next).filter(|arg| arg.is_option()) {
        next += 1;
        if !shell.spend(arg.text.len()) || arg.text == "--" {
            break;
        }
        for (at, letter) in arg.text.bytes().enumerate().skip(1) {
            let kind = letters.bytes().position(|known| known == letter);
            let takes_value = kind.is_some_and(|at| letters.as_bytes().get(at + 1) == Some(&b':'));
            let mut value = Field::literal("");
            if takes_value {
                value = arg.behind(at + 1);
                if value.text.is_empty() {
                    value = args.get(next).cloned().unwrap_or_else(Field::unknown);
                    next += 1;
                }
            }
            let mut turn = value.with_text(char::from(letter));
            turn.text.push(' ');
            turn.text.push_str(&value.text);
            turns.push(turn);
            if takes_value {
                break;
            }
        }
    }
    let place = Field::literal((next + 1).to_string());
    shell.set("OPTIND", Value::One(place));
    (!turns.is_empty()).then_some(turns)
}
