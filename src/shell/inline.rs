//! Code in other languages on a command line or in a script: the destinations of the calls that
//! write, as literals, names that were assigned one, joins of these, and loops over literals.

mod calls;
mod reader;
mod token;
mod value;

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::Field;
use super::{edit, nested};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Perl,
    Ruby,
}

impl Language {
    /// The language of an interpreter.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(
            match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
                "python" | "pypy" | "ipython" => Self::Python,
                "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" => Self::JavaScript,
                "perl" => Self::Perl,
                "ruby" => Self::Ruby,
                _ => return None,
            },
        )
    }

    /// Options that take a value, and those whose value is code.
    fn options(self) -> (Options, &'static str) {
        let of_node = "eval print require import input-type";
        match self {
            Self::Python => (Options::of("cmWX", ""), "c"),
            Self::JavaScript => (Options::of("epr", of_node), "e eval p print"),
            Self::Perl | Self::Ruby => (Options::of("eEIMmr", ""), "e E"),
        }
    }
}

pub(super) fn run(shell: &mut Shell<'_>, language: Language, args: &[Field]) -> Ran {
    let (args, suffix) = match language {
        Language::Perl | Language::Ruby => edit::without_in_place(args),
        _ => (args.to_vec(), None),
    };
    // `deno run`, `deno eval`
    let is_verb =
        |verb: &Field| language == Language::JavaScript && (verb.is("run") || verb.is("eval"));
    let n_verbs = usize::from(args.first().is_some_and(is_verb));
    let (options, code) = language.options();
    let (own, rest) = Args::before_command(&args[n_verbs..], options);
    shell.is_obscure |= own.options().next().is_some();
    if own.has("check wc") || (own.has("c") && language != Language::Python) {
        return Ran::silent();
    }
    let code: Vec<&str> = own.values(code).map(|code| code.text.as_str()).collect();
    if let Some(suffix) = suffix {
        edit::in_place(shell, rest, &suffix);
    }
    match rest {
        _ if !code.is_empty() => run_text(shell, language, &code.join("\n")),
        _ if own.has("m") => {
            // Options behind the module's name are the module's.
            let name = own.values("m").next();
            let at = args.iter().position(|arg| Some(arg) == name);
            shell.unknown_write();
            shell.run_program(at.map_or(&[], |at| &args[at..]))
        }
        [text, ..] if n_verbs > 0 && args[0].is("eval") => run_text(shell, language, &text.text),
        [file, rest @ ..] if !file.is("-") => nested::script(shell, Some(language), file, rest),
        _ => match shell.stdin.clone() {
            Some(text) => run_text(shell, language, &text.text),
            None => shell.unknown_program(),
        },
    }
}

pub(super) fn run_text(shell: &mut Shell<'_>, language: Language, text: &str) -> Ran {
    shell.unknown_write();
    shell.spend(text.len() / 8);
    shell.subshell(|shell| reader::run(shell, language, text));
    Ran::unknown()
}
