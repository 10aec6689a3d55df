//! Shells within shells: `sh -c`, `bash <<EOF`, `source`, and scripts that the command itself
//! wrote.

use std::rc::Rc;

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::{Field, base_name};
use super::inline::{self, Language};
use super::{Limit, powershell, print, writers};
use crate::base::text::is_in;

/// `sh [options] [-c TEXT [NAME]] [arguments]`, with a script or its input to read else.
pub(super) fn shell(shell: &mut Shell<'_>, name: &str, args: &[Field]) -> Ran {
    let (own, operands) = Args::before_command(args, Options::of("oO", "rcfile init-file"));
    let behind_dash = operands.strip_prefix(&[Field::literal("-")]);
    let rest = behind_dash.unwrap_or(operands);
    shell.is_obscure |= own.has("i l login rcfile init-file");
    let whole = shell.limit;
    let ran = match rest {
        _ if own.has("n") => Ran::silent(),
        [text, args @ ..] if own.has("c") => {
            process(shell, &text.text, args.get(1..).unwrap_or(&[]))
        }
        [file, args @ ..] if !own.has("s") => script(shell, None, file, args),
        _ => match shell.stdin.clone() {
            Some(text) => process(shell, &text.text, rest),
            None => shell.unknown_program(),
        },
    };
    // Other shells have forms that Bash does not read.
    if matches!(name, "fish" | "zsh") && whole.is_none() && shell.limit == Some(Limit::Syntax) {
        shell.limit = None;
        shell.unknown_write();
    }
    ran
}

/// Runs a text as a shell of its own, with parameters.
fn process(shell: &mut Shell<'_>, text: &str, args: &[Field]) -> Ran {
    shell.subshell(|shell| {
        shell.place.positional = Rc::from(args);
        shell.forget_own_variables();
        shell.deeper(|shell| shell.run_text(text))
    })
}

/// Words that a shell reads once more, as one line.
pub(super) fn line(shell: &mut Shell<'_>, words: &[Field]) -> Ran {
    process(shell, &print::joined(words, ' ').text, &[])
}

/// `pwsh -c LINE`. Redirections of `cmd /c LINE` are written the same way.
pub(super) fn powershell(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let mut words = args.iter();
    let mark = words.position(|arg| is_in("-c -command /c //c", &arg.text.to_lowercase()));
    let after = args.get(mark.unwrap_or(args.len()) + 1..);
    let line = print::joined(after.unwrap_or(&[]), ' ').text;
    shell.subshell(|shell| {
        shell.deeper(|shell| {
            powershell::run(shell, &line);
            shell.unknown_program()
        })
    })
}

/// Runs a file as a script of a language, or of the one that the file says: one that the
/// command wrote is known.
pub(super) fn script(
    shell: &mut Shell<'_>,
    language: Option<Language>,
    file: &Field,
    args: &[Field],
) -> Ran {
    let name = base_name(&file.text);
    let Some(text) = shell.content(file).map(|file| file.text) else {
        shell.program = name.to_owned();
        if name == "install.sh" {
            writers::run(shell, name, args);
        }
        return shell.unknown_program();
    };
    let first = text.lines().next().filter(|line| line.starts_with("#!"));
    let mut words = first.unwrap_or("").split(['/', ' ']);
    let said = words.find_map(Language::of);
    shell.deeper(|shell| match language.or(said) {
        Some(language) => inline::run_text(shell, language, &text),
        None => process(shell, &text, args),
    })
}

pub(super) fn source(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let Some((file, args)) = args.split_first() else {
        return Ran::silent();
    };
    let Some(text) = shell.content(file) else {
        return shell.unknown_program();
    };
    let positional = shell.place.positional.clone();
    if !args.is_empty() {
        shell.place.positional = Rc::from(args);
    }
    let ran = shell.deeper(|shell| shell.run_text(&text.text));
    shell.place.positional = positional;
    ran
}
