//! One simple command: functions, builtins, commands that run commands.

use std::rc::Rc;

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output, base_name, join};
use super::status::Status;
use super::table::{Key, Table};
use super::variable::Value;
use super::world::{Halt, Scope};
use super::{
    arith, assign, condition, decode, filter, inline, nested, print, search, utility, writers,
};
use crate::base::path::collapse;
use crate::base::target::Spelling;

/// How many calls of one function are followed into one another.
const MAX_RECURSION: usize = 8;

impl Shell<'_> {
    /// Runs a command as the shell finds it, functions first; gives what it prints, where
    /// that is known.
    pub(super) fn invoke(&mut self, words: &[Field]) -> Option<Output> {
        let (first, args) = words.split_first()?;
        if !self.functions.is_empty()
            && let Some(name) = first.known()
            && let Some(body) = self.functions.get(name).cloned()
        {
            return self.call(body, args);
        }
        self.run(words)
    }

    /// Runs a builtin or a program; gives what it prints, where that is known.
    pub(super) fn run(&mut self, words: &[Field]) -> Option<Output> {
        let (first, args) = words.split_first()?;
        let Some(mut name) = first.known() else {
            self.status = Status::Open;
            return None;
        };
        if name.as_bytes().contains(&b'/') {
            if let Some(text) = self.written(first) {
                return nested::script(self, &text, words);
            }
            name = base_name(name);
        }
        let name = Key::of(table_name(name));
        self.status = Status::usual(name);
        if let Some((_, builtin)) = BY_NAME.get(name) {
            return builtin(self, args);
        }
        nested::run(self, name, args)
            .or_else(|| inline::run(self, name, args))
            .unwrap_or_else(|| writers::run(self, name, args))
    }

    /// A function that calls itself goes on as a loop does, which is not followed to its end.
    fn call(&mut self, body: Rc<str>, args: &[Field]) -> Option<Output> {
        let calls = self.calls.iter();
        if calls.filter(|call| Rc::ptr_eq(call, &body)).count() == MAX_RECURSION {
            return None;
        }
        let outer = std::mem::replace(&mut self.positional, args.into());
        self.locals.push(Vec::new());
        self.calls.push(Rc::clone(&body));
        let output = self.framed(Scope::Function, |shell| shell.run_again(&body));
        self.calls.pop();
        for (var, held) in self.locals.pop().unwrap_or_default().into_iter().rev() {
            for world in &mut self.worlds {
                world.learn(var, held.clone());
            }
            self.put(var, held);
        }
        for world in &mut self.worlds {
            world.set_positional(&outer);
        }
        self.positional = outer;
        output
    }

    /// What a name holds from here on ends with the running function; says whether that is new.
    pub(super) fn localize(&mut self, name: &str) -> bool {
        let Some(frame) = self.locals.last_mut() else {
            return false;
        };
        let var = self.variables.enter(name);
        let is_new = !frame.iter().any(|(known, _)| *known == var);
        if is_new {
            frame.push((var, self.variables.at(var).clone()));
        }
        is_new
    }

    /// `cd TARGET`.
    pub(super) fn change_dir(&mut self, target: Option<&Field>) {
        let path = match target {
            None => self.variable("HOME").map(Value::into_field),
            Some(field) if field.known() == Some("-") => {
                self.variable("OLDPWD").map(Value::into_field)
            }
            Some(field) => Some(field.clone()),
        };
        let mut whole = std::mem::take(&mut self.path);
        let known = path.as_ref().and_then(Field::known);
        let known = known.is_some_and(|path| self.in_search_path(path, &mut whole));
        // Bash takes `..` out of the text of a directory, whatever links are there.
        let dir = known.then(|| collapse(&whole).as_ref().into());
        self.path = whole;
        self.previous_dir = std::mem::replace(&mut self.cwd, dir);
        self.forget_dirs();
    }

    /// Puts into `whole` where `cd` leads: `$CDPATH` counts for names without a dot in front.
    fn in_search_path(&self, path: &str, whole: &mut String) -> bool {
        if !path.starts_with(['/', '.'])
            && let Some(Value::One(search)) = self.variable("CDPATH")
        {
            let dirs = search.known().unwrap_or("").split(':');
            for dir in dirs.filter(|dir| !dir.is_empty()) {
                if self.join_to(&join(dir, path), whole) && self.scene.disk.is_dir(whole) {
                    return true;
                }
            }
        }
        self.join_to(path, whole)
    }

    /// Variables the command set itself no longer hold for `PWD`.
    fn forget_dirs(&mut self) {
        for name in ["PWD", "OLDPWD"] {
            self.unset(name);
        }
    }
}

/// A program's name as the tables have it: without `.exe`, and without the `g` under which
/// systems with `cp` and `sed` of their own install GNU's.
pub(super) fn table_name(name: &str) -> &str {
    let name = match name.as_bytes() {
        [.., b'e'] => name.strip_suffix(".exe").unwrap_or(name),
        _ => name,
    };
    match name.as_bytes() {
        [b'g', ..] if GNU.get(Key::of(&name[1..])).is_some() => &name[1..],
        _ => name,
    }
}

static GNU: Table<&str> = Table::new(GNU_NAMES, GNU_NAMES);

const GNU_NAMES: &[&str] = &[
    "awk", "base64", "basename", "cat", "cp", "csplit", "cut", "date", "dd", "dirname", "echo",
    "env", "find", "grep", "head", "install", "link", "ln", "ls", "make", "mkdir", "mkfifo",
    "mknod", "mktemp", "mv", "nice", "nohup", "patch", "printf", "pwd", "readlink", "realpath",
    "rm", "rmdir", "sed", "seq", "shred", "shuf", "sort", "split", "stdbuf", "tail", "tar", "tee",
    "time", "timeout", "touch", "tr", "truncate", "uniq", "unlink", "xargs",
];

/// What a program does with its arguments; gives what it prints, where that is known.
pub(super) type Program = fn(&mut Shell<'_>, &[Field]) -> Option<Output>;

/// Sorted by name.
const BUILTINS: &[(&str, Program)] = &[
    (":", silent),
    ("[", condition::test),
    ("ack", search::ripgrep),
    ("ag", search::ripgrep),
    ("alias", utility::alias),
    ("base64", decode::base64_command),
    ("basename", basename),
    ("break", leave_loop),
    ("cat", cat),
    ("cd", cd),
    ("chdir", cd),
    ("chgrp", silent),
    ("chmod", silent),
    ("chown", silent),
    ("continue", leave_turn),
    ("cut", filter::cut),
    ("date", utility::date),
    ("declare", assign::local),
    ("dirname", dirname),
    ("echo", print::echo),
    ("egrep", search::grep),
    ("exit", exit),
    ("export", assign::export),
    ("false", silent),
    ("fd", search::fd),
    ("fdfind", search::fd),
    ("fgrep", search::grep),
    ("grep", search::grep),
    ("head", filter::head),
    ("let", arithmetic),
    ("local", assign::local),
    ("ls", ls),
    ("mapfile", assign::mapfile),
    ("popd", popd),
    ("printf", print::printf),
    ("pushd", pushd),
    ("pwd", pwd),
    ("read", assign::read),
    ("readarray", assign::mapfile),
    ("readlink", realpath),
    ("readonly", assign::declare),
    ("realpath", realpath),
    ("return", leave_function),
    ("rg", search::ripgrep),
    ("seq", utility::seq),
    ("set", assign::set),
    ("shift", assign::shift),
    ("shopt", shopt),
    ("sleep", silent),
    ("tac", filter::tac),
    ("tail", filter::tail),
    ("test", condition::test),
    ("tr", filter::tr),
    ("true", silent),
    ("typeset", assign::local),
    ("ulimit", silent),
    ("umask", silent),
    ("unalias", assign::unset),
    ("unset", assign::unset),
    ("wait", silent),
    ("which", which),
    ("xxd", decode::xxd),
];

const NAMES: [&str; BUILTINS.len()] = names!(BUILTINS, 0);

static BY_NAME: Table<(&str, Program)> = Table::new(BUILTINS, &NAMES);

/// The builtins of the table that can have a target of their own.
pub(super) const WRITERS: [&str; 4] = ["base64", "fd", "fdfind", "xxd"];

/// `let a=1 b=a+1`.
fn arithmetic(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    for arg in args {
        arith::evaluate(shell, &arg.text);
    }
    Output::nothing()
}

/// Programs lie where they usually do.
pub(super) fn which(_: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    match args {
        [name] if !name.is_option() => Some(Output::literal(format!("/usr/bin/{}", name.known()?))),
        _ => None,
    }
}

fn shopt(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    if args.iter().any(|arg| arg.known() == Some("nocasematch")) {
        shell.ignores_case = args.iter().any(|arg| arg.known() == Some("-s"));
    }
    Output::nothing()
}

fn silent(_: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    Output::nothing()
}

pub(super) fn operands(args: &[Field]) -> impl Iterator<Item = &Field> {
    let mut plain = false;
    args.iter().filter(move |arg| {
        let option = !plain && arg.is_option();
        plain |= arg.known() == Some("--");
        !option
    })
}

fn cd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let from = shell.cwd.clone();
    shell.change_dir(operands(args).next());
    shell.left_dir = shell.left_dir.take().or(from);
    Output::nothing()
}

fn pushd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let from = shell.cwd.clone();
    match operands(args).next() {
        Some(target) => {
            shell.dir_stack.push(from.clone());
            shell.change_dir(Some(target));
            shell.left_dir = shell.left_dir.take().or(from);
        }
        None => {
            if let Some(top) = shell.dir_stack.pop() {
                shell.dir_stack.push(from);
                shell.cwd = top;
            }
        }
    }
    None
}

fn popd(shell: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    if let Some(dir) = shell.dir_stack.pop() {
        shell.cwd = dir;
        shell.forget_dirs();
    }
    None
}

fn pwd(shell: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    let cwd = shell.cwd.as_deref()?;
    Some(Output::literal(format!("{cwd}\n")))
}

/// What this command wrote, or its input, passed on.
fn cat(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let files: Vec<Field> = operands(args).cloned().collect();
    if files.len() != args.len() {
        return None;
    }
    match files.as_slice() {
        [] => shell.stdin.clone(),
        [only] if only.known() == Some("-") => shell.stdin.clone(),
        [only] => shell.written(only).map(Output::literal),
        _ => None,
    }
}

fn basename(_: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("s", &[]));
    let path = parsed.operands.first()?;
    let name = base_name(path.known()?);
    let suffix = parsed.value(&["s"]).or(parsed.operands.get(1));
    let suffix = suffix.and_then(Field::known).unwrap_or("");
    let name = name
        .strip_suffix(suffix)
        .filter(|n| !n.is_empty())
        .unwrap_or(name);
    Some(Output {
        text: format!("{name}\n").into(),
        spelling: path.spelling,
    })
}

fn dirname(_: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let path = operands(args).next()?.known()?.trim_end_matches('/');
    let dir = match path.rsplit_once('/') {
        Some((dir, _)) => dir.trim_end_matches('/'),
        None => ".",
    };
    let dir = if dir.is_empty() { "/" } else { dir };
    Some(Output::literal(format!("{dir}\n")))
}

/// The path itself: links are the judge's business.
fn realpath(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let path = operands(args).next()?.known()?;
    let path = shell.absolute(path)?;
    Some(Output::literal(format!("{path}\n")))
}

/// What `ls DIR` and `ls FILE…` list. In a long listing the names are the ninth words.
fn ls(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let is_known = |flag: &str| flag.bytes().all(|c| b"-1AacdhlrStUu".contains(&c));
    let mut flags = args.iter().filter(|arg| arg.is_option());
    if !flags.all(|flag| flag.known().is_some_and(is_known)) {
        return None;
    }
    let parsed = Args::parse(args, Syntax::default());
    let paths = parsed.operands.as_slice();
    let dir = match paths {
        _ if parsed.has(&["d"]) => None,
        [] => Some(shell.cwd.as_deref()?.to_owned()),
        [only] => {
            let path = shell.absolute(only.known()?)?;
            shell.scene.disk.is_dir(&path).then_some(path)
        }
        _ => None,
    };
    let hides = !parsed.has(&["A", "a"]);
    let (total, before) = match parsed.has(&["l"]) {
        true => (Some("total 0\n".to_owned()), "- 1 u g 0 Jan 1 00:00 "),
        false => (None, ""),
    };
    let line = |name: &str| [before, name, "\n"].concat();
    let (lines, spelling): (Vec<String>, _) = match dir {
        Some(dir) => {
            let mut names = shell.list(&dir);
            names.retain(|name| !(hides && name.starts_with('.')));
            let names = names.iter().map(|name| line(name));
            let lines: Vec<String> = total.into_iter().chain(names).collect();
            let spelling = Spelling::of_matches(lines.len());
            (lines, spelling)
        }
        None => {
            let names = paths.iter().map(|path| path.known().map(line));
            (names.collect::<Option<_>>()?, paths.first()?.spelling)
        }
    };
    let n_lines = lines.len();
    let text = lines.concat().into();
    let listed = Output { text, spelling };
    // Names are in order where nothing else is asked for.
    match n_lines > 1 && parsed.has(&["c", "r", "S", "t", "U", "u"]) {
        true => filter::some_of(listed),
        false => Some(listed),
    }
}

fn exit(shell: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    shell.halted = Some(Halt::Shell);
    Output::nothing()
}

fn leave_turn(shell: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    shell.leave(Scope::Turn);
    Output::nothing()
}

fn leave_loop(shell: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    shell.leave(Scope::Loop);
    Output::nothing()
}

fn leave_function(shell: &mut Shell<'_>, _: &[Field]) -> Option<Output> {
    shell.leave(Scope::Function);
    Output::nothing()
}
