//! Programs that run the command in their arguments, one row each.

use super::args::{Args, Syntax};
use super::byte::is_name;
use super::eval::Shell;
use super::field::{Field, Output};
use super::table::{Key, Table};
use super::variable::Value;
use super::{inline, nested};
use crate::base::target::Act;

/// What stands between a program's name and the command.
pub(super) struct Wrapper {
    name: &'static str,
    /// The options that take a value.
    syntax: Syntax,
    /// How many operands are the program's own.
    n_operands: usize,
    form: Form,
}

/// How the command is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Words,
    /// All words together, for a shell.
    Line,
    /// Each word, for a shell.
    Lines,
}

const fn words(name: &'static str, short: &'static str, n_operands: usize) -> Wrapper {
    valued(name, short, &[], n_operands)
}

const fn valued(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    n_operands: usize,
) -> Wrapper {
    Wrapper {
        name,
        syntax: Syntax::of(short, long),
        n_operands,
        form: Form::Words,
    }
}

const SUDO: &[&str] = &["user", "group", "host", "prompt", "chdir", "close-from"];

/// Sorted by name.
const WRAPPERS: &[Wrapper] = &[
    words("aws-vault", "", 2),
    words("bunx", "", 0),
    words("busybox", "", 0),
    words("caffeinate", "tw", 0),
    words("catchsegv", "", 0),
    words("chronic", "", 0),
    words("chrt", "TPD", 1),
    words("corepack", "", 0),
    words("cpulimit", "lpe", 0),
    words("dbus-run-session", "", 0),
    words("direnv", "", 2),
    words("doas", "Cu", 0),
    words("dotenv", "f", 1),
    words("dotenvx", "f", 1),
    words("fakeroot", "lsib", 0),
    words("faketime", "f", 1),
    words("firejail", "", 0),
    Wrapper {
        form: Form::Lines,
        ..valued(
            "hyperfine",
            "wmMrpcPDLSnuN",
            &[
                "warmup",
                "min-runs",
                "runs",
                "prepare",
                "cleanup",
                "export-json",
                "export-markdown",
                "export-csv",
                "command-name",
                "shell",
                "parameter-list",
            ],
            0,
        )
    },
    valued("ionice", "cnp", &["class", "classdata"], 0),
    words("linux32", "", 0),
    words("linux64", "", 0),
    words("ltrace", "aeFlnopsuwx", 0),
    valued("nice", "n", &["adjustment"], 0),
    words("nocorrect", "", 0),
    words("noglob", "", 0),
    words("nohup", "", 0),
    words("nsenter", "tSG", 0),
    words("numactl", "", 0),
    words("op", "", 1),
    words("pipx", "", 1),
    words("pkexec", "", 0),
    words("prlimit", "", 0),
    words("rlwrap", "", 0),
    words("rtk", "", 0),
    valued("setpriv", "", &["reuid", "regid", "inh-caps"], 0),
    words("setsid", "", 0),
    valued("stdbuf", "ioe", &["input", "output", "error"], 0),
    words("strace", "abeEIoOpPsSuUX", 0),
    valued("sudo", "CDghpRrTtUu", SUDO, 0),
    words("systemd-inhibit", "", 0),
    words("systemd-run", "pu", 0),
    words("taskset", "", 1),
    valued("time", "fo", &["format", "output"], 0),
    valued("timeout", "ks", &["signal", "kill-after"], 1),
    words("toybox", "", 0),
    words("unbuffer", "", 0),
    words("unshare", "RSG", 0),
    words("valgrind", "", 0),
    Wrapper {
        form: Form::Line,
        ..valued("watch", "nq", &["interval"], 0)
    },
    valued("xvfb-run", "nsefpw", &["server-num", "server-args"], 0),
];

/// The files wrappers write themselves: `strace -o`, `time -o`, `valgrind --log-file=`.
const OUTPUTS: &[(&str, &[&str])] = &[
    (
        "hyperfine",
        &["export-json", "export-markdown", "export-csv"],
    ),
    ("ltrace", &["o", "output"]),
    ("strace", &["o", "output"]),
    ("time", &["o", "output"]),
    ("valgrind", &["log-file", "xml-file"]),
];

pub(super) const NAMES: [&str; WRAPPERS.len()] = names!(WRAPPERS, name);

static BY_NAME: Table<Wrapper> = Table::new(WRAPPERS, &NAMES);

pub(super) fn named(name: Key<'_>) -> Option<&'static Wrapper> {
    BY_NAME.get(name)
}

/// How many arguments are options, their values among them.
pub(super) fn n_options(args: &[Field], syntax: Syntax) -> usize {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        if arg.known() == Some("--") {
            return at + 1;
        }
        if !arg.is_option() {
            break;
        }
        let takes_next = match arg.text.strip_prefix("--") {
            Some(long) => syntax.long.contains(&long),
            None => {
                let letters = arg.text.get(1..).unwrap_or("");
                let valued = letters.find(|c| syntax.short.contains(c));
                valued.is_some_and(|at| at + 1 == letters.len())
            }
        };
        at += if takes_next { 2 } else { 1 };
    }
    at.min(args.len())
}

/// The arguments from the first operand on.
pub(super) fn from_operand(args: &[Field], syntax: Syntax) -> &[Field] {
    args.get(n_options(args, syntax)..).unwrap_or(&[])
}

impl Wrapper {
    /// Runs what follows the program's options and its own operands.
    pub(super) fn run(&self, shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
        let (own, command) = args.split_at(n_options(args, self.syntax));
        if let Some((_, names)) = OUTPUTS.iter().find(|(name, _)| *name == self.name) {
            let own = Args::parse(own, self.syntax);
            let act = match own.has(&["a", "append"]) && self.name == "time" {
                true => Act::Edit,
                false => Act::Write,
            };
            shell.report_all(own.values(names), act);
        }
        let mut words = command.get(self.n_operands..).unwrap_or(&[]);
        if words.first().and_then(Field::known) == Some("--") {
            words = words.get(1..).unwrap_or(&[]);
        }
        match self.form {
            Form::Words => run_assigned(shell, words),
            Form::Line => line(shell, words),
            Form::Lines => {
                for word in words {
                    line(shell, std::slice::from_ref(word));
                }
                None
            }
        }
    }
}

/// Words that a shell reads once more.
pub(super) fn line(shell: &mut Shell<'_>, words: &[Field]) -> Option<Output> {
    shell.process(|shell| nested::eval(shell, words))
}

/// `NAME=value … command`, as `env` and `sudo` take it.
pub(super) fn run_assigned(shell: &mut Shell<'_>, words: &[Field]) -> Option<Output> {
    let assigns = |word: &Field| {
        let name = word.text.split_once('=').map(|(name, _)| name);
        name.is_some_and(is_name)
    };
    let n = words.iter().take_while(|word| assigns(word)).count();
    let (assigned, words) = words.split_at(n);
    shell.subshell(|shell| {
        for word in assigned {
            if let Some((name, _)) = word.text.split_once('=') {
                shell.export(name);
                shell.set(name, Value::One(word.behind(name.len() + 1)));
            }
        }
        shell.again(words)
    })
}

/// Behind another root every path is another one.
pub(super) fn chroot(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let (root, words) = from_operand(args, Syntax::default()).split_first()?;
    match root.known() {
        Some("/") => shell.again(words),
        _ => None,
    }
}

/// `entr COMMAND…` and `entr -s LINE`.
pub(super) fn entr(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let (own, words) = args.split_at(n_options(args, Syntax::default()));
    match own.iter().any(|arg| arg.text.contains('s')) {
        true => line(shell, words),
        false => shell.again(words),
    }
}

/// What `at` reads runs later, but in this directory.
pub(super) fn at(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let parsed = Args::parse(args, Syntax::of("qft", &[]));
    let text = inline::source(shell, parsed.value(&["f"]))?;
    shell.subshell(|shell| shell.run_again(&text))
}

/// `nix shell X -c COMMAND…`, `nix-shell --run LINE`.
pub(super) fn nix(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let is = |names: &[&str]| {
        args.iter()
            .position(|arg| names.contains(&arg.text.as_str()))
    };
    if let Some(at) = is(&["--run"]) {
        return line(shell, args.get(at + 1..at + 2)?);
    }
    let at = is(&["-c", "--command"])?;
    shell.again(args.get(at + 1..)?)
}

/// `npm exec [-c LINE] COMMAND…`.
pub(super) fn tool_exec(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let (verb, rest) = args.split_first()?;
    if verb.known() == Some("init") {
        shell.report(&Field::literal("package.json"), Act::Write);
    }
    if !matches!(verb.known(), Some("exec" | "x" | "dlx")) {
        super::writers::outputs(shell, rest);
        return None;
    }
    package_run(shell, rest)
}

/// `npx [-c LINE] COMMAND…`.
pub(super) fn package_run(shell: &mut Shell<'_>, rest: &[Field]) -> Option<Output> {
    // What stands behind a program is its own.
    let (own, words) = rest.split_at(n_options(rest, Syntax::of("p", &["package"])));
    match own.last().and_then(Field::known) {
        Some("-c" | "--call") => line(shell, words.get(..1)?),
        _ => shell.again(words),
    }
}

/// `su -c LINE`, `sg GROUP LINE`, `runuser -u USER COMMAND…`.
pub(super) fn su(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let is_line = |arg: &Field| matches!(arg.known(), Some("-c" | "--command"));
    if let Some(at) = args.iter().position(is_line) {
        return line(shell, args.get(at + 1..at + 2)?);
    }
    match args {
        [user, ..] if matches!(user.known(), Some("-u" | "--user")) => {
            shell.again(from_operand(args, Syntax::of("u", &["user"])))
        }
        [group, words @ ..] if !group.is_option() => line(shell, words),
        _ => None,
    }
}

/// Options of `uv run`, `conda run` and their like.
const TOOL: Syntax = Syntax::of(
    "pn",
    &[
        "directory",
        "env-file",
        "extra",
        "group",
        "index",
        "name",
        "package",
        "prefix",
        "project",
        "python",
        "with",
    ],
);

/// `uv run [--with X] command…`; a script, or `-` for the input, is Python's.
pub(super) fn tool_run(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let at = args
        .iter()
        .position(|arg| matches!(arg.known(), Some("run" | "exec" | "x")))?;
    let words = from_operand(args.get(at + 1..)?, TOOL);
    let first = words.first()?;
    if first.text.ends_with(".py") || first.known() == Some("-") {
        let python = [&[Field::literal("python3")], words].concat();
        return shell.again(&python);
    }
    shell.again(words)
}
