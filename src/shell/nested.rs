//! Commands that run other commands: shells, wrappers, `xargs`.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::command::{self, Program};
use super::eval::{REPEAT_COST, Shell};
use super::field::{ANY_ONE, Field, Output, base_name};
use super::table::{Key, Table};
use super::variable::Value;
use super::world::Scope;
use super::wrapper::{self, from_operand, line, run_assigned};
use super::{decode, makefile, powershell, readable};
use crate::base::target::{Act, Spelling};

/// Sorted by name.
const RUNNERS: &[(&str, Program)] = &[
    (".", source),
    ("asdf", wrapper::tool_exec),
    ("ash", sh),
    ("at", wrapper::at),
    ("bash", sh),
    ("batch", wrapper::at),
    ("builtin", command),
    ("bundle", wrapper::tool_exec),
    ("chroot", wrapper::chroot),
    ("cmd", cmd),
    ("command", command),
    ("conda", wrapper::tool_run),
    ("csh", sh),
    ("dash", sh),
    ("entr", wrapper::entr),
    ("env", env),
    ("eval", eval),
    ("exec", exec),
    ("fish", sh),
    ("flock", flock),
    ("hatch", wrapper::tool_run),
    ("ksh", sh),
    ("make", makefile::make),
    ("mise", wrapper::tool_run),
    ("mksh", sh),
    ("nix", wrapper::nix),
    ("nix-shell", wrapper::nix),
    ("npm", wrapper::tool_exec),
    ("npx", wrapper::package_run),
    ("parallel", parallel),
    ("pdm", wrapper::tool_run),
    ("pipenv", wrapper::tool_run),
    ("pnpm", wrapper::tool_exec),
    ("poetry", wrapper::tool_run),
    ("powershell", pwsh),
    ("pwsh", pwsh),
    ("runuser", wrapper::su),
    ("rye", wrapper::tool_run),
    ("script", script_command),
    ("sg", wrapper::su),
    ("sh", sh),
    ("source", source),
    ("su", wrapper::su),
    ("tcsh", sh),
    ("trap", trap),
    ("uv", wrapper::tool_run),
    ("xargs", xargs),
    ("yarn", wrapper::tool_exec),
    ("zsh", sh),
];

pub(super) const NAMES: [&str; RUNNERS.len()] = names!(RUNNERS, 0);

static BY_NAME: Table<(&str, Program)> = Table::new(RUNNERS, &NAMES);

fn runner(name: Key<'_>) -> Option<Program> {
    BY_NAME.get(name).map(|row| row.1)
}

pub(super) fn is_runner(name: Key<'_>) -> bool {
    runner(name).is_some() || wrapper::named(name).is_some()
}

/// Runs a command whose arguments are another one; `None` for any other name.
pub(super) fn run(shell: &mut Shell<'_>, name: Key<'_>, args: &[Field]) -> Option<Option<Output>> {
    match runner(name) {
        Some(runner) => Some(runner(shell, args)),
        None => wrapper::named(name).map(|wrapper| wrapper.run(shell, args)),
    }
}

/// Without a command its redirections are the shell's own from here on: what
/// they will hold is not known.
fn exec(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    if args.is_empty() {
        return None;
    }
    shell.again(from_operand(args, Syntax::of("a", &[])))
}

/// `script [-c COMMAND] FILE`, and `script FILE COMMAND…` on macOS.
fn script_command(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax::of(
        "cEIOBTmot",
        &["command", "log-out", "log-in", "log-io", "log-timing"],
    );
    let parsed = Args::parse(args, syntax);
    let act = match parsed.has(&["a", "append"]) {
        true => Act::Edit,
        false => Act::Write,
    };
    let logs = [
        "O",
        "log-out",
        "I",
        "log-in",
        "B",
        "log-io",
        "T",
        "log-timing",
    ];
    shell.report_all(parsed.values(&logs), act);
    let usual = Field::literal("typescript");
    let file = match parsed.has(&logs) {
        true => parsed.operands.first(),
        false => parsed.operands.first().or(Some(&usual)),
    };
    shell.report_all(file, act);
    if let Some(command) = parsed.value(&["c", "command"]) {
        return line(shell, std::slice::from_ref(command));
    }
    shell.again(parsed.operands.get(1..).unwrap_or(&[]))
}

const PARALLEL: Syntax = Syntax::of(
    "jNnIaS",
    &[
        "jobs",
        "max-args",
        "max-procs",
        "delay",
        "joblog",
        "timeout",
    ],
);

/// `parallel COMMAND ::: ITEM…`, or with the input's lines as items.
fn parallel(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let separator = args.iter().position(|arg| arg.text.starts_with(":::"));
    let words = from_operand(args.get(..separator.unwrap_or(args.len()))?, PARALLEL);
    let items = match separator {
        Some(at) if args.get(at)?.known() == Some(":::") => args.get(at + 1..)?.to_vec(),
        None => shell.stdin.take().map(|stdin| stdin.lines())?,
        Some(_) => vec![Field::unknown()],
    };
    // More than one list of items is combined in a way of its own.
    if items.iter().any(|item| item.text.starts_with(":::")) {
        return None;
    }
    let marked = words.iter().any(|word| word.text.contains('{'));
    // A shell reads the command once more.
    let is_line = words
        .iter()
        .any(|word| word.text.contains(['>', '<', ';', '|', '&', ' ']));
    for item in items {
        if !shell.spend(REPEAT_COST + 16 * words.len()) {
            break;
        }
        let mut filled: Vec<Field> = words
            .iter()
            .map(|word| fill_parallel(word, &item))
            .collect();
        if !marked {
            filled.push(item);
        }
        if is_line {
            line(shell, &filled);
        } else {
            shell.subshell(|shell| shell.invoke(&filled));
        }
    }
    None
}

/// `{}`, `{.}`, `{/}`, `{//}` and `{/.}`.
fn fill_parallel(word: &Field, item: &Field) -> Field {
    let cut = |path: &str| match path.rsplit_once('.') {
        Some((stem, suffix)) if !suffix.contains('/') => EcoString::from(stem),
        _ => path.into(),
    };
    let name = base_name(&item.text);
    let dir = item.text.strip_suffix(name).unwrap_or("");
    let forms = [
        ("{}", item.text.clone()),
        ("{1}", item.text.clone()),
        ("{.}", cut(&item.text)),
        ("{/}", name.into()),
        ("{//}", dir.trim_end_matches('/').into()),
        ("{/.}", cut(name)),
    ];
    let mut filled = word.clone();
    for (mark, text) in forms {
        if filled.text.contains(mark) {
            filled = fill(&filled, mark, &item.with_text(text));
        }
    }
    filled
}

/// `command` and `builtin` run it in the present shell: a `cd` stays.
fn command(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    match args.first().and_then(Field::known) {
        Some("-v") => command::which(shell, args.get(1..)?).map(|path| Output {
            spelling: ANY_ONE,
            ..path
        }),
        Some("-V") => None,
        _ => shell.deeper(|shell| shell.run(from_operand(args, Syntax::default()))),
    }
}

fn env(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax::of("uCSP", &["unset", "chdir", "split-string"]);
    let (own, rest) = args.split_at(wrapper::n_options(args, syntax));
    let options = Args::parse(own, syntax);
    let split = options.value(&["S", "split-string"]);
    let dir = options.value(&["C", "chdir"]);
    shell.subshell(|shell| {
        if dir.is_some() {
            shell.change_dir(dir);
        }
        match split {
            Some(text) => line(shell, &[std::slice::from_ref(text), rest].concat()),
            None => run_assigned(shell, rest),
        }
    })
}

/// `flock FILE command…` and `flock FILE -c 'command'` create the file; one that is there
/// stays as it is.
fn flock(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax::of("wE", &["wait", "timeout", "conflict-exit-code"]);
    let words = from_operand(args, syntax);
    let (file, words) = words.split_first()?;
    let name = file.known().filter(|name| name.parse::<u32>().is_err());
    let path = name.and_then(|name| shell.absolute(name));
    if path.is_some_and(|path| !shell.scene.disk.exists(&path)) {
        shell.report(file, Act::Write);
    }
    match words.first().and_then(Field::known) {
        Some("-c" | "--command") => eval(shell, words.get(1..)?),
        _ => shell.again(words),
    }
}

/// PowerShell takes any beginning of an option's name.
fn pwsh(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let names = |arg: &Field, option: &str| {
        let text = arg.text.to_ascii_lowercase();
        let name = text
            .strip_prefix(['-', '/'])
            .filter(|name| !name.is_empty());
        name.is_some_and(|name| option.starts_with(name))
    };
    let is_encoded =
        |arg: &Field| names(arg, "encodedcommand") || arg.text.eq_ignore_ascii_case("-ec");
    let code = if let Some(at) = args.iter().position(is_encoded) {
        decode::utf16_base64(args.get(at + 1)?.known()?)?
    } else if let Some(at) = args.iter().position(|arg| names(arg, "command")) {
        let words = args.iter().skip(at + 1).map(|arg| arg.text.as_str());
        words.collect::<Vec<&str>>().join(" ")
    } else if let Some(at) = args.iter().position(|arg| names(arg, "file")) {
        shell.script_text(args.get(at + 1)?)?.to_string()
    } else {
        return None;
    };
    shell.subshell(|shell| {
        powershell::run(shell, &readable(&code));
        None
    })
}

/// `cmd /c LINE`: its builtins bear the names of PowerShell's aliases.
fn cmd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let words = args.iter().flat_map(|arg| arg.text.split(' '));
    let is_switch = |word: &&str| word.len() == 2 && word.starts_with('/');
    let line: Vec<&str> = words.filter(|word| !is_switch(word)).collect();
    shell.subshell(|shell| {
        powershell::run(shell, &line.join(" "));
        None
    })
}

pub(super) fn eval(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let words: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    shell.run_again(&words.join(" "))
}

fn trap(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let action = from_operand(args, Syntax::default()).first()?;
    shell.subshell(|shell| shell.run_again(&action.text))
}

fn source(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let file = args.first()?;
    let text = shell.script_text(file)?;
    let name = shell.variables.enter("BASH_SOURCE");
    let outer = shell.variables.at(name).clone();
    shell.put(name, Some(Some(Value::One(file.clone()))));
    // `return` leaves the script alone.
    let output = shell.framed(Scope::Function, |shell| shell.run_again(&text));
    shell.put(name, outer);
    output
}

fn sh(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let mut at = 0;
    let mut inline = false;
    let mut reads_input = false;
    let is_option = |arg: &&Field| arg.is_option() || matches!(arg.known(), Some("+x" | "-"));
    while let Some(option) = args.get(at).filter(is_option) {
        let text = option.known()?;
        if matches!(text, "-" | "--") {
            at += 1;
            break;
        }
        let short = !text.starts_with("--");
        // It only checks the syntax.
        if short && text.starts_with('-') && text.contains('n') {
            return None;
        }
        inline |= short && text.contains('c');
        reads_input |= short && text.contains('s');
        let valued = (short && text.ends_with(['o', 'O'])) || text == "--rcfile";
        at += if valued { 2 } else { 1 };
    }
    let words = args.get(at..)?;
    let (text, positional) = match (inline, words.split_first()) {
        (true, Some((code, rest))) => (code.text.clone(), rest.get(1..).unwrap_or(&[])),
        (true, None) => return None,
        (false, _) if reads_input => (shell.stdin.take()?.text, words),
        (false, Some((file, rest))) => match shell.script_text(file) {
            Some(text) => (text, rest),
            None if base_name(file.known()?) == "install.sh" => return shell.again(words),
            None => return None,
        },
        (false, None) => (shell.stdin.take()?.text, words),
    };
    let zero = words.get(usize::from(inline)).filter(|_| !reads_input);
    shell.process(|shell| {
        if let Some(zero) = zero {
            if !inline {
                shell.set("BASH_SOURCE", Value::One(zero.clone()));
            }
            shell.set("0", Value::One(zero.clone()));
        }
        shell.positional = positional.into();
        shell.run_again(&text)
    })
}

/// Runs a script by its first line, as the kernel would.
pub(super) fn script(shell: &mut Shell<'_>, text: &str, words: &[Field]) -> Option<Output> {
    let line = text.strip_prefix("#!").and_then(|rest| rest.lines().next());
    let mut program = line.unwrap_or("sh").split_whitespace();
    let first = program.next().map_or("sh", base_name);
    let name = if first == "env" {
        program.next()?
    } else {
        first
    };
    shell.again(&[&[Field::literal(name)], words].concat())
}

/// What marks the place of an item, and how the input is cut into items.
struct Feed<'f> {
    placeholder: Option<&'f str>,
    delimiter: Option<char>,
}

fn xargs(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "IJnLPdaEsR",
        attached: "i",
        long: &["delimiter", "arg-file", "max-args", "max-procs"],
    };
    let (own, words) = args.split_at(wrapper::n_options(args, syntax));
    let options = Args::parse(own, syntax);
    let placeholder = options
        .value(&["I", "J", "i", "replace"])
        .and_then(Field::known);
    let bare = options.has(&["i", "replace"]).then_some("{}");
    let delimiter = options.value(&["d", "delimiter"]).and_then(Field::known);
    let feed = Feed {
        placeholder: placeholder.or(bare),
        delimiter: match delimiter {
            Some("\\n" | "\n") => Some('\n'),
            Some(text) => text.chars().next(),
            None => options.has(&["0", "null"]).then_some('\0'),
        },
    };
    let stdin = shell.stdin.take();
    let input = match options.value(&["a", "arg-file"]) {
        Some(file) => shell.written(file).map(Output::literal),
        None => stdin,
    };
    let items = match input {
        Some(input) => feed.items(&input),
        None => vec![Field {
            spelling: Spelling::Glob { matches: None },
            ..Field::unknown()
        }],
    };
    if words.is_empty() {
        let is_each = options.value(&["n", "max-args"]).and_then(Field::known) == Some("1");
        return Some(echoed(&items, if is_each { "\n" } else { " " }));
    }
    match feed.placeholder {
        None => shell.again(&[words, &items].concat()),
        Some(mark) => {
            for item in items {
                shell.run_on(words, mark, &item);
            }
            None
        }
    }
}

/// `xargs` without a command is `xargs echo`.
fn echoed(items: &[Field], between: &str) -> Output {
    let mut line = Field::literal("");
    for item in items {
        line.push(item);
        line.text.push_str(between);
    }
    let text = line.text.trim_end().to_owned() + "\n";
    line.with_text(text).into()
}

impl Feed<'_> {
    fn items(&self, stdin: &Output) -> Vec<Field> {
        let text = stdin.text.as_ref();
        let items: Vec<&str> = match (self.delimiter, self.placeholder) {
            (Some(delimiter), _) => text.split(delimiter).collect(),
            (None, Some(_)) => text.lines().map(str::trim_start).collect(),
            (None, None) => text.split_ascii_whitespace().collect(),
        };
        let unquoted = |item: &str| match self.delimiter {
            None => item.replace(['"', '\''], ""),
            Some(_) => item.to_owned(),
        };
        let items = items.into_iter().filter(|item| !item.trim().is_empty());
        items.map(|item| stdin.field(&unquoted(item))).collect()
    }
}

/// Puts an item in each place of its mark.
pub(super) fn fill(word: &Field, mark: &str, item: &Field) -> Field {
    let mut pieces = word.text.split(mark);
    let mut filled = word.with_text(pieces.next().unwrap_or(""));
    for piece in pieces {
        filled.push(item);
        filled.text.push_str(piece);
    }
    filled
}

impl Shell<'_> {
    /// Runs words that were a part of another command.
    pub(super) fn again(&mut self, words: &[Field]) -> Option<Output> {
        if words.is_empty() {
            return Output::nothing();
        }
        self.subshell(|shell| shell.run(words))
    }

    /// The text of a script that is the caller's own: written by this command,
    /// or lying in a directory for temporary files. Other scripts are programs,
    /// whose writes are not the caller's.
    pub(super) fn script_text(&self, field: &Field) -> Option<EcoString> {
        if let Some(text) = self.written(field) {
            return Some(text);
        }
        let path = self.absolute(field.known()?)?;
        let temporary = [
            "/tmp/",
            "/var/tmp/",
            "/private/tmp/",
            "/var/folders/",
            "/private/var/folders/",
        ];
        let own = temporary.iter().any(|dir| path.starts_with(dir));
        let text = own.then(|| self.scene.disk.text(&path))??;
        (text.len() <= MAX_SCRIPT).then(|| text.into())
    }
}

const MAX_SCRIPT: usize = 64 << 10;
