//! Interpreters given their program on the command line, on their input, or in
//! a file this command wrote.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::code::Language;
use super::eval::Shell;
use super::field::{Field, Output};
use super::table::{Key, Table};
use super::{calls, edit, filter};
use crate::base::target::Act;

/// How a program takes the code of its language.
struct Dialect {
    language: Language,
    /// Options with a value, and those among them whose value is code.
    syntax: Syntax,
    codes: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Interpreter {
    Plain(&'static Dialect),
    Deno,
    /// Perl and Ruby.
    OneLiner(Language),
    Awk,
    Emacs,
    Tcl,
}

use Interpreter::{OneLiner, Plain};

const PYTHON: Interpreter = Plain(&Dialect {
    language: Language::Python,
    syntax: Syntax::of("cmWX", &[]),
    codes: &["c"],
});

const NODE: Interpreter = Plain(&Dialect {
    language: Language::Script,
    syntax: Syntax::of("epr", &["eval", "print", "require", "import"]),
    codes: &["e", "p", "eval", "print"],
});

const PHP: Interpreter = Plain(&Dialect {
    language: Language::Php,
    syntax: Syntax::of("rdc", &["run"]),
    codes: &["r", "run"],
});

const LUA: Interpreter = Plain(&Dialect {
    language: Language::Lua,
    syntax: Syntax::of("el", &[]),
    codes: &["e"],
});

const R: Interpreter = Plain(&Dialect {
    language: Language::R,
    syntax: Syntax::of("ef", &["args"]),
    codes: &["e"],
});

const JULIA: Interpreter = Plain(&Dialect {
    language: Language::Julia,
    syntax: Syntax::of("eEpLtC", &["eval", "print", "project", "threads"]),
    codes: &["e", "E", "eval", "print"],
});

const APPLE_SCRIPT: Interpreter = Plain(&Dialect {
    language: Language::AppleScript,
    syntax: Syntax::of("els", &[]),
    codes: &["e"],
});

const JAVA: Interpreter = Plain(&Dialect {
    language: Language::Java,
    syntax: Syntax::of("es", &[]),
    codes: &["e"],
});

/// Sorted by name, without versions.
const INTERPRETERS: &[(&str, Interpreter)] = &[
    ("R", R),
    ("Rscript", R),
    ("awk", Interpreter::Awk),
    ("bun", NODE),
    ("deno", Interpreter::Deno),
    ("emacs", Interpreter::Emacs),
    ("expect", Interpreter::Tcl),
    ("groovy", JAVA),
    ("ipython", PYTHON),
    ("jshell", JAVA),
    ("julia", JULIA),
    ("lua", LUA),
    ("luajit", LUA),
    ("mawk", Interpreter::Awk),
    ("nawk", Interpreter::Awk),
    ("node", NODE),
    ("nodejs", NODE),
    ("osascript", APPLE_SCRIPT),
    ("perl", OneLiner(Language::Perl)),
    ("php", PHP),
    ("pypy", PYTHON),
    ("python", PYTHON),
    ("ruby", OneLiner(Language::Ruby)),
    ("tclsh", Interpreter::Tcl),
    ("ts-node", NODE),
    ("tsx", NODE),
    ("wish", Interpreter::Tcl),
];

pub(super) const NAMES: [&str; INTERPRETERS.len()] = names!(INTERPRETERS, 0);

/// A name without its version: `python3.12`, `ruby3.1`, `perl5.36`.
pub(super) fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

static BY_NAME: Table<(&str, Interpreter)> = Table::new(INTERPRETERS, &NAMES);

fn interpreter(name: Key<'_>) -> Option<Interpreter> {
    let versioned = matches!(name.name.as_bytes(), [.., b'0'..=b'9' | b'.']);
    let name = if versioned {
        Key::of(stem(name.name))
    } else {
        name
    };
    BY_NAME.get(name).map(|row| row.1)
}

pub(super) fn is_interpreter(name: Key<'_>) -> bool {
    interpreter(name).is_some()
}

/// Runs an interpreter's program; `None` for any other name.
pub(super) fn run(shell: &mut Shell<'_>, name: Key<'_>, args: &[Field]) -> Option<Option<Output>> {
    let interpreter = interpreter(name)?;
    if only_checks(name.name, args) {
        return Some(None);
    }
    match interpreter {
        Plain(dialect) => program(shell, dialect, args),
        Interpreter::Deno => deno(shell, args),
        OneLiner(language) => one_liner(shell, language, args),
        Interpreter::Awk => {
            awk(shell, args);
            return Some(filter::awk(shell, args));
        }
        Interpreter::Emacs => emacs(shell, args),
        Interpreter::Tcl => tcl(shell, args),
    }
    Some(None)
}

/// Whether the program's syntax is checked, and nothing run.
fn only_checks(name: &str, args: &[Field]) -> bool {
    let flags: &[&str] = match stem(name) {
        "node" | "nodejs" => &["-c", "--check"],
        "perl" | "ruby" => &["-c", "-cw", "-wc"],
        "php" => &["-l", "--syntax-check"],
        _ => return false,
    };
    let mut options = args.iter().take_while(|arg| arg.is_option());
    options.any(|arg| arg.known().is_some_and(|flag| flags.contains(&flag)))
}

/// Reads the code of `-c CODE`, of a file, or of the input.
fn program(shell: &mut Shell<'_>, dialect: &Dialect, args: &[Field]) {
    let mut language = dialect.language;
    if language == Language::Script && args.first().and_then(Field::known) == Some("run") {
        // `bun run FILE`.
        return deno(shell, args);
    }
    let is_script = |arg: &Field| arg.known() == Some("JavaScript");
    if language == Language::AppleScript && args.iter().any(is_script) {
        language = Language::Script;
    }
    let codes = dialect.codes;
    let own = own_options(args, dialect.syntax, codes);
    let parsed = Args::parse(args.get(..own).unwrap_or(args), dialect.syntax);
    let given = joined(&parsed, codes);
    let rest = args.get(own..).unwrap_or(&[]);
    if let Some(code) = given {
        calls::analyse(shell, language, &code, rest);
    } else if let Some(module) = parsed.value(&["m"]).and_then(Field::known) {
        module_run(shell, module, rest);
    } else {
        // Node counts the file among the arguments.
        let skipped = usize::from(language != Language::Script);
        let arguments = rest.get(skipped..).unwrap_or(&[]);
        analyse_file(shell, language, rest.first(), arguments);
    }
}

/// The lines of code that options give.
fn joined(parsed: &Args<'_>, codes: &[&str]) -> Option<String> {
    let mut whole = None;
    for code in parsed.values(codes) {
        let lines: &mut String = whole.get_or_insert_default();
        lines.push_str(&code.text);
        lines.push('\n');
    }
    whole
}

/// Reads the code of a file, or of the input.
fn analyse_file(
    shell: &mut Shell<'_>,
    language: Language,
    file: Option<&Field>,
    arguments: &[Field],
) {
    let text = source(shell, file).unwrap_or_default();
    let path = file.and_then(|file| shell.absolute(file.known()?));
    let outer = std::mem::replace(&mut shell.script_file, path.map(Field::literal));
    calls::analyse(shell, language, &text, arguments);
    shell.script_file = outer;
}

/// The text of a script, or of the input, which nothing else reads then.
pub(super) fn source(shell: &mut Shell<'_>, file: Option<&Field>) -> Option<EcoString> {
    match file.filter(|file| file.known() != Some("-")) {
        Some(file) => shell.script_text(file),
        None => shell.stdin.take().map(|stdin| stdin.text),
    }
}

/// `python -m MODULE …`, for modules that write what they are told.
fn module_run(shell: &mut Shell<'_>, module: &str, args: &[Field]) {
    let syntax = Syntax::of("celt", &["create", "extract", "list", "test"]);
    let parsed = Args::parse(args, syntax);
    match module {
        // IN OUT
        "json.tool" => shell.report_all(parsed.operands.get(1), Act::Write),
        "zipfile" | "tarfile" => {
            shell.report_all(parsed.value(&["c", "create"]), Act::Write);
        }
        "venv" => shell.report_all(parsed.operands.first(), Act::MakeDir),
        _ => {}
    }
}

/// `emacs --batch --eval CODE`.
fn emacs(shell: &mut Shell<'_>, args: &[Field]) {
    let mut before = None;
    for arg in args {
        let text = match before {
            Some("--eval" | "-eval" | "--execute") => arg.text.clone(),
            Some("-l" | "--load" | "-load" | "--script") => {
                source(shell, Some(arg)).unwrap_or_default()
            }
            _ => arg.text.strip_prefix("--eval=").unwrap_or("").into(),
        };
        calls::analyse(shell, Language::Lisp, &text, &[]);
        before = arg.known();
    }
}

fn tcl(shell: &mut Shell<'_>, args: &[Field]) {
    let at = args.iter().position(|arg| arg.known() == Some("-c"));
    let file = args.first().filter(|file| !file.is_option());
    let text = match at.and_then(|at| args.get(at + 1)) {
        Some(code) => code.text.clone(),
        None => source(shell, file).unwrap_or_default(),
    };
    super::tcl::analyse(shell, &text);
}

/// How many arguments are the interpreter's: what follows the program is the program's.
fn own_options(args: &[Field], syntax: Syntax, codes: &[&str]) -> usize {
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.is_option()) {
        let (letters, long) = match arg.text.strip_prefix("--") {
            Some("") => return at + 1,
            Some(long) => ("", long),
            None => (&arg.text[1..], ""),
        };
        let last = letters.chars().last();
        let takes_next =
            last.is_some_and(|c| syntax.short.contains(c)) || syntax.long.contains(&long);
        at += if takes_next { 2 } else { 1 };
        // Python's program ends its options.
        if codes == ["c"] && matches!(last, Some('m' | 'c')) {
            break;
        }
    }
    at.min(args.len())
}

fn deno(shell: &mut Shell<'_>, args: &[Field]) {
    let Some((verb, rest)) = args.split_first() else {
        return;
    };
    let at = rest.iter().position(|arg| !arg.is_option());
    let (operand, arguments) = match at.and_then(|at| rest.get(at..)?.split_first()) {
        Some((operand, arguments)) => (Some(operand), arguments),
        None => (None, &[][..]),
    };
    match (verb.known(), operand) {
        (Some("eval"), Some(code)) => {
            calls::analyse(shell, Language::Script, &code.text, arguments);
        }
        (Some("run"), Some(_)) => analyse_file(shell, Language::Script, operand, arguments),
        _ => {}
    }
}

/// Perl and Ruby: clusters such as `-pi.bak -e CODE`, files edited in place.
fn one_liner(shell: &mut Shell<'_>, language: Language, args: &[Field]) {
    let syntax = Syntax {
        short: "eEIrCF",
        attached: "i0lMmxKW",
        long: &[],
    };
    let parsed = Args::parse(args, syntax);
    if let Some(code) = joined(&parsed, &["e", "E"]) {
        calls::analyse(shell, language, &code, &parsed.operands);
        if parsed.has(&["i"]) {
            edit::in_place_edit(shell, &parsed.operands, parsed.value(&["i"]));
        }
        return;
    }
    let arguments = parsed.operands.get(1..).unwrap_or(&[]);
    analyse_file(shell, language, parsed.operands.first(), arguments);
}

fn awk(shell: &mut Shell<'_>, args: &[Field]) {
    let syntax = Syntax::of("vFfi", &["assign", "field-separator", "file", "include"]);
    let parsed = Args::parse(args, syntax);
    let mut operands = parsed.operands.as_slice();
    let text = match parsed.value(&["f", "file"]) {
        Some(file) => shell.script_text(file),
        None => operands.split_first().map(|(code, rest)| {
            operands = rest;
            code.text.clone()
        }),
    };
    let mut given: Vec<Field> = parsed.values(&["v", "assign"]).cloned().collect();
    given.extend_from_slice(operands);
    calls::analyse(shell, Language::Awk, &text.unwrap_or_default(), &given);
    if parsed.value(&["i", "include"]).and_then(Field::known) == Some("inplace") {
        edit::in_place_edit(shell, operands, None);
    }
}
