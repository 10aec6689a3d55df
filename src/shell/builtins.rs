//! What the shell does itself.

use std::rc::Rc;

use super::args::{Args, Options};
use super::eval::{Ran, Shell, Status};
use super::field::Field;
use super::lex::is_name;
use super::state::Halt;
use super::{nested, print};
use crate::base::path::collapse;

/// How many commands `trap` keeps.
const MAX_TRAPS: usize = 64;

pub(super) fn run(shell: &mut Shell<'_>, name: &str, args: &[Field]) -> Option<Ran> {
    Some(match name {
        ":" | "true" => Ran::silent(),
        "false" | "[" | "test" | "let" => Ran::ended(Status::Open),
        "cd" | "chdir" | "pushd" => cd(shell, args),
        "popd" => popd(shell),
        "export" | "readonly" => declare(shell, args),
        "declare" | "typeset" | "local" => {
            for arg in args {
                let name = declared_name(arg);
                let before = shell.variable(name).cloned();
                shell.locals.push((name.to_owned(), before));
            }
            declare(shell, args)
        }
        "unset" => {
            args.iter()
                .for_each(|name| shell.set_value(&name.text, None));
            Ran::silent()
        }
        "set" => set(shell, args),
        "shift" => shift(shell, args),
        "read" => read(shell, args),
        "eval" => {
            let text = print::joined(args, ' ').text;
            shell.deeper(|shell| shell.run_text(&text))
        }
        "source" | "." => nested::source(shell, args),
        "trap" => {
            trap(shell, args);
            Ran::silent()
        }
        "exit" => halt(shell, Halt::Shell),
        "return" => halt(shell, Halt::Function),
        "break" | "continue" => halt(shell, Halt::Turn),
        _ => return print::run(shell, name, args),
    })
}

fn halt(shell: &mut Shell<'_>, halt: Halt) -> Ran {
    shell.halted = Some(halt);
    Ran::ended(Status::Open)
}

/// A directory that is not there changes nothing, unless a program may have made it, or nothing
/// of what the command was written for is here.
fn cd(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let path = match args.iter().find(|arg| !arg.is_option()) {
        None => shell.absolute(&shell.home().text),
        Some(dir) if dir.is("-") => shell.place.left.as_deref().map(str::to_owned),
        // It may be below any of those.
        Some(dir) if !dir.text.starts_with(['/', '.']) && shell.variable("CDPATH").is_some() => {
            shell.unknown_write();
            None
        }
        Some(dir) => {
            let found = shell.found(dir);
            found.last().and_then(|dir| shell.absolute(&dir.text))
        }
    };
    shell.spend(path.as_ref().map_or(0, String::len) / 64);
    let is_there = path.as_ref().is_some_and(|path| shell.is_dir(path));
    if !is_there && path.as_ref().is_some_and(|path| !may_appear(shell, path)) {
        return Ran::ended(Status::Failure);
    }
    let cwd = path.map(|path| Rc::from(&*collapse(&path)));
    shell.place.left = std::mem::replace(&mut shell.place.cwd, cwd);
    Ran::ended(if is_there {
        Status::Certain
    } else {
        Status::Success
    })
}

/// Whether a directory that is not there may be there when the command runs.
fn may_appear(shell: &mut Shell<'_>, path: &str) -> bool {
    let is_elsewhere = !shell.is_dir(".");
    is_elsewhere || !shell.programs.is_empty() || shell.home().is(path)
}

/// To where the last change of directory came from.
fn popd(shell: &mut Shell<'_>) -> Ran {
    shell.place.cwd = shell.place.left.take();
    Ran::silent()
}

fn declared_name(arg: &Field) -> &str {
    let name = arg.text.split('=').next().unwrap_or("");
    name.strip_suffix('+').unwrap_or(name)
}

/// `export NAME=VALUE`, `local NAME`: the command's own assignments are set.
fn declare(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    for arg in args {
        let Some((name, value)) = arg.text.split_once('=') else {
            continue;
        };
        let mut text = arg.with_text(value);
        let before = name.strip_suffix('+');
        if let Some(before) = before.and_then(|name| shell.variable(name)) {
            text.text.insert_str(0, &before.text);
        }
        let name = before.unwrap_or(name);
        if is_name(name) {
            shell.set(name, text);
        }
    }
    Ran::silent()
}

/// `set -e`, `set -o pipefail`, `set -- a b`
fn set(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let mut rest = args;
    while let [option, behind @ ..] = rest {
        if option.is("--") || !option.text.starts_with(['-', '+']) {
            break;
        }
        let takes_next = usize::from(option.text.ends_with('o'));
        rest = behind.get(takes_next..).unwrap_or(&[]);
    }
    match rest {
        [mark, values @ ..] if mark.is("--") => shell.place.positional = Rc::from(values),
        [] => {}
        values => shell.place.positional = Rc::from(values),
    }
    Ran::silent()
}

fn shift(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let n = args.first().map_or(Some(1), |n| n.text.parse().ok());
    let rest = shell.place.positional.get(n.unwrap_or(usize::MAX)..);
    shell.place.positional = Rc::from(rest.unwrap_or(&[]));
    shell.spend(shell.place.positional.len() / 8);
    Ran::silent()
}

/// What is read is not followed.
fn read(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let names = Args::parse(args, Options::of("pdnNtuia", "")).operands;
    for name in names {
        shell.set(&name.text, Field::unknown());
    }
    Ran::silent()
}

/// `trap COMMAND SIGNAL`
fn trap(shell: &mut Shell<'_>, args: &[Field]) {
    let operands = args.strip_prefix(&[Field::literal("--")]).unwrap_or(args);
    if let [command, _, ..] = operands
        && !command.text.starts_with('-')
        && shell.traps.len() < MAX_TRAPS
    {
        shell.traps.push(command.text.clone());
    }
}
