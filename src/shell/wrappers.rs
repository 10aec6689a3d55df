//! Programs that run the command in their arguments, one row each.

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::Field;
use super::lex::is_name;
use super::{nested, own, writers};
use crate::base::text::is_in;

/// The options and operands between a program's name and the command that it runs.
#[derive(Clone, Copy)]
pub(super) struct Wrapper {
    options: Options,
    /// How many operands are the program's own.
    n_operands: usize,
    form: Form,
}

/// How the command is given.
#[derive(Clone, Copy)]
enum Form {
    Words,
    /// As words, past functions and aliases.
    Builtin,
    /// Behind a verb: `uv run`, `npm exec`.
    Verb(&'static str),
    Special(fn(&mut Shell<'_>, &Args<'_>, &[Field]) -> Ran),
}

const fn words(short: &'static str, long: &'static str) -> Wrapper {
    form(short, long, Form::Words)
}

const fn form(short: &'static str, long: &'static str, form: Form) -> Wrapper {
    Wrapper {
        options: Options::of(short, long),
        n_operands: 0,
        form,
    }
}

const fn behind(wrapper: Wrapper, n_operands: usize) -> Wrapper {
    Wrapper {
        n_operands,
        ..wrapper
    }
}

/// Options of tools that run commands in an environment of their own.
const TOOL: &str = "directory env-file extra group index name package prefix project python with";

const XARGS: &str = "arg-file delimiter replace max-args max-procs max-lines";

pub(super) fn named(name: &str) -> Option<Wrapper> {
    Some(match name {
        "command" | "builtin" => form("", "", Form::Builtin),
        "exec" => words("a", ""),
        "nohup" | "setsid" | "chronic" | "caffeinate" | "unbuffer" | "coproc" | "busybox"
        | "rtk" | "cross-env" => words("", ""),
        "time" => words("fo", "format output"),
        "nice" => words("n", "adjustment"),
        "ionice" => words("cnp", "class classdata"),
        "stdbuf" => words("ioe", "input output error"),
        "sudo" => words("CDghpRrTtUu", "user group host prompt chdir"),
        "doas" => words("uC", ""),
        "env" => form("uSC", "unset chdir split-string", Form::Special(env)),
        "timeout" => behind(words("ks", "kill-after signal"), 1),
        "flock" => behind(words("wE", "timeout wait"), 1),
        "strace" => words("abeEIoOpPsSuUX", ""),
        "xvfb-run" => words("nsefpw", "server-num server-args"),
        "wsl" => words("du", "distribution user cd"),
        "xargs" => form("adEIiLlnPs", XARGS, Form::Special(xargs)),
        "npx" | "bunx" => form("cp", "call package", Form::Special(called)),
        "uvx" => words("p", "from with python"),
        "npm" => form("cp", "call package prefix", Form::Special(npm)),
        "pnpm" | "yarn" => form("cp", "call package", Form::Verb("exec x dlx")),
        "uv" | "poetry" | "pipenv" | "hatch" | "pdm" | "rye" | "conda" => {
            form("pn", TOOL, Form::Verb("run"))
        }
        "pipx" => form("", "spec python", Form::Verb("run")),
        "bundle" | "mise" | "direnv" => form("", "", Form::Verb("exec x")),
        _ => return None,
    })
}

impl Wrapper {
    /// The program's own options, and the command behind them and its operands.
    fn split(self, args: &[Field]) -> Option<(Args<'_>, &[Field])> {
        let args = match (self.form, args) {
            (Form::Verb(verbs), [verb, rest @ ..]) if is_in(verbs, &verb.text) => rest,
            // `yarn statewarden`
            (Form::Verb(_), [name, ..]) if own::is_package(&name.text) => args,
            (Form::Verb(_), _) => return None,
            _ => args,
        };
        let (own, operands) = Args::before_command(args, self.options);
        let command = operands.get(self.n_operands..).unwrap_or(&[]);
        let behind_mark = command.strip_prefix(&[Field::literal("--")]);
        Some((own, behind_mark.unwrap_or(command)))
    }

    /// Runs what follows the program's options and its own operands.
    pub(super) fn run(self, shell: &mut Shell<'_>, args: &[Field]) -> Ran {
        let Some((options, command)) = self.split(args) else {
            writers::outputs(shell, "", args);
            return shell.unknown_program();
        };
        writers::outputs(shell, "", &args[..args.len() - command.len()]);
        match self.form {
            Form::Special(run) => run(shell, &options, command),
            Form::Builtin if options.has("v V") => Ran {
                output: own::place(args).map(Field::line),
                ..Ran::unknown()
            },
            Form::Builtin => shell.run_program(command),
            Form::Words => assigned(shell, command),
            // A script of the project may have the name of a program that is known.
            Form::Verb(_) => {
                shell.unknown_write();
                assigned(shell, command)
            }
        }
    }
}

/// `NAME=value … command`.
fn assigned(shell: &mut Shell<'_>, words: &[Field]) -> Ran {
    shell.subshell(|shell| {
        let mut rest = words;
        while let [word, behind @ ..] = rest
            && let Some((name, value)) = assignment(word)
        {
            shell.set(name, word.with_text(value));
            rest = behind;
        }
        shell.run_program(rest)
    })
}

fn assignment(word: &Field) -> Option<(&str, &str)> {
    let assignment = word.text.split_once('=');
    assignment.filter(|(name, _)| is_name(name))
}

/// `env -C DIR`, `env -S LINE`.
fn env(shell: &mut Shell<'_>, own: &Args<'_>, command: &[Field]) -> Ran {
    shell.subshell(|shell| {
        if let Some(dir) = own.value("C chdir") {
            shell.enter(&dir.text);
        }
        let line = own.value("S split-string").map_or("", |line| &line.text);
        let words: Vec<Field> = line.split_whitespace().map(Field::literal).collect();
        assigned(shell, &[&words, command].concat())
    })
}

/// `npx -c LINE`, `npx COMMAND…`.
fn called(shell: &mut Shell<'_>, own: &Args<'_>, command: &[Field]) -> Ran {
    match own.value("c call") {
        Some(line) => nested::line(shell, std::slice::from_ref(line)),
        None => assigned(shell, command),
    }
}

/// `npm exec`, which takes the first `--` for its own, wherever it is.
fn npm(shell: &mut Shell<'_>, _: &Args<'_>, words: &[Field]) -> Ran {
    let [verb, rest @ ..] = words else {
        return shell.unknown_program();
    };
    if !is_in("exec x", &verb.text) {
        writers::outputs(shell, "", words);
        return shell.unknown_program();
    }
    // A script of the project may have the name of a program that is known.
    shell.unknown_write();
    let (own, command) = Args::before_command(rest, Options::of("cp", "call package"));
    let mark = command.iter().position(|word| word.is("--"));
    let (before, behind) = command.split_at(mark.unwrap_or(command.len()));
    called(
        shell,
        &own,
        &[before, behind.get(1..).unwrap_or(&[])].concat(),
    )
}

/// `xargs COMMAND…`, over the input where that is known.
fn xargs(shell: &mut Shell<'_>, own: &Args<'_>, command: &[Field]) -> Ran {
    let input = match own.value("a arg-file") {
        Some(file) => shell.content(file),
        None => shell.stdin.clone(),
    };
    if command.is_empty() {
        let output = input;
        return Ran {
            output,
            ..Ran::silent()
        };
    }
    let items = match &input {
        Some(input) => items(input, own),
        None => vec![Field::unknown()],
    };
    // The command does not read what xargs has read.
    let stdin = shell.stdin.take();
    let mark = own.value("I i replace").map_or("", |mark| &mark.text);
    let mut ran = Ran::unknown();
    match mark {
        "" => ran = shell.run_program(&[command, &items].concat()),
        mark => {
            for item in &items {
                shell.spend(command.len());
                let words = command.iter().map(|word| word.with_each(mark, item));
                ran = shell.run_program(&words.collect::<Vec<_>>());
            }
        }
    }
    shell.stdin = stdin;
    ran
}

fn items(input: &Field, own: &Args<'_>) -> Vec<Field> {
    let text = input.text.as_str();
    let delimiter = own
        .value("d delimiter")
        .map(|delimiter| delimiter.text.replace("\\n", "\n"));
    let items: Vec<&str> = match delimiter {
        Some(delimiter) => text.trim_end().split(delimiter.as_str()).collect(),
        None if own.has("I i replace 0 null") => text.split(['\0', '\n']).collect(),
        None => text.split_whitespace().collect(),
    };
    let given = items.into_iter().filter(|item| !item.is_empty());
    given.map(|item| input.with_text(item)).collect()
}
