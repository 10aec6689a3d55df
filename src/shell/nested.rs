//! Commands that run other commands: shells, wrappers, `xargs`.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output, base_name};
use super::variable::Value;
use crate::target::{Act, Spelling};

type Runner = fn(&mut Shell<'_>, &[Field]) -> Option<Output>;

pub(super) fn runner(name: &str) -> Option<Runner> {
    Some(match name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" => sh,
        "eval" => eval,
        "source" | "." => source,
        "trap" => trap,
        "xargs" | "gxargs" => xargs,
        "env" => env,
        "flock" => flock,
        "su" => su,
        "pwsh" | "powershell" => pwsh,
        "cmd" => cmd,
        "sudo" | "doas" => |shell, args| wrapped(shell, args, "CDghpRrTtUu", 0),
        "time" => |shell, args| wrapped(shell, args, "fo", 0),
        "nice" | "ionice" => |shell, args| wrapped(shell, args, "ncp", 0),
        "timeout" | "gtimeout" => |shell, args| wrapped(shell, args, "ks", 1),
        "stdbuf" => |shell, args| wrapped(shell, args, "ioe", 0),
        "exec" => exec,
        "script" => script_command,
        "parallel" => parallel,
        "command" => command,
        "watch" => |shell, args| wrapped(shell, args, "n", 0),
        "chroot" | "taskset" => |shell, args| wrapped(shell, args, "", 1),
        "nohup" | "builtin" | "setsid" | "chronic" | "unbuffer" | "caffeinate" | "busybox"
        | "toybox" | "noglob" | "nocorrect" | "npx" | "bunx" | "pipx" => {
            |shell, args| wrapped(shell, args, "", 0)
        }
        "uv" | "poetry" | "pdm" | "rye" | "hatch" | "pipenv" | "conda" | "mise" => tool_run,
        _ => return None,
    })
}

/// The arguments from the first operand on.
fn from_operand<'f>(args: &'f [Field], valued: &str) -> &'f [Field] {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        if arg.known() == Some("--") {
            at += 1;
            break;
        }
        if !arg.is_option() {
            break;
        }
        let takes_next = !arg.text.starts_with("--") && arg.text.ends_with(|c| valued.contains(c));
        at += if takes_next { 2 } else { 1 };
    }
    args.get(at..).unwrap_or(&[])
}

/// Runs what follows the wrapper's options and its own `n_operands`.
fn wrapped(
    shell: &mut Shell<'_>,
    args: &[Field],
    valued: &str,
    n_operands: usize,
) -> Option<Output> {
    let words = from_operand(args, valued);
    let words = words.get(n_operands..).unwrap_or(&[]);
    run_assigned(shell, words)
}

/// Without a command its redirections are the shell's own from here on: what
/// they will hold is not known.
fn exec(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    if args.is_empty() {
        return None;
    }
    wrapped(shell, args, "a", 0)
}

/// `script [-c COMMAND] FILE`.
fn script_command(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "cEIOBT",
        long: &["command"],
        ..Syntax::default()
    };
    let parsed = Args::parse(args, syntax);
    shell.report_all(parsed.operands.first(), Act::Write);
    let command = parsed.value(&["c", "command"])?;
    shell.subshell(|shell| shell.run_again(&command.text))
}

/// `parallel COMMAND ::: ITEM…`.
fn parallel(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let at = args.iter().position(|arg| arg.known() == Some(":::"))?;
    let words = from_operand(args.get(..at)?, "jNn");
    let marked = words.iter().any(|word| word.text.contains("{}"));
    for item in args.get(at + 1..)? {
        if !shell.spend(128 + 16 * words.len()) {
            break;
        }
        let mut filled: Vec<Field> = words.iter().map(|word| fill(word, "{}", item)).collect();
        if !marked {
            filled.push(item.clone());
        }
        shell.again(&filled);
    }
    None
}

/// `NAME=value … command`, as `env` and `sudo` take it.
fn run_assigned(shell: &mut Shell<'_>, words: &[Field]) -> Option<Output> {
    let assigns = |word: &Field| {
        let name = word.text.split_once('=').map(|(name, _)| name);
        name.is_some_and(super::lex::is_name)
    };
    let n = words.iter().take_while(|word| assigns(word)).count();
    let words = words.get(n..).unwrap_or(&[]);
    shell.again(words)
}

fn command(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    match args.first().and_then(Field::known) {
        Some("-v" | "-V") => None,
        _ => wrapped(shell, args, "", 0),
    }
}

fn env(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "uCS",
        long: &["unset", "chdir", "split-string"],
        ..Syntax::default()
    };
    let rest = from_operand(args, syntax.short);
    let own = args.len() - rest.len();
    let options = Args::parse(args.get(..own)?, syntax);
    let split = options.value(&["S", "split-string"]);
    let line = split.map(|field| field.text.clone());
    let dir = options.value(&["C", "chdir"]).cloned();
    shell.subshell(|shell| {
        if let Some(dir) = dir {
            shell.run(&[Field::literal("cd"), dir]);
        }
        match line {
            Some(line) => shell.run_again(&line),
            None => run_assigned(shell, rest),
        }
    })
}

/// `flock FILE command…` and `flock FILE -c 'command'` create the file.
fn flock(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let words = from_operand(args, "wE");
    let (file, words) = words.split_first()?;
    if file
        .known()
        .is_some_and(|name| name.parse::<u32>().is_err())
    {
        shell.report(file, Act::Edit);
    }
    match words.first().and_then(Field::known) {
        Some("-c" | "--command") => eval(shell, words.get(1..)?),
        _ => shell.again(words),
    }
}

fn su(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let at = args
        .iter()
        .position(|arg| matches!(arg.known(), Some("-c" | "--command")))?;
    eval(shell, args.get(at + 1..at + 2)?)
}

fn pwsh(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let is_code = |arg: &Field| {
        let name = arg.text.to_ascii_lowercase();
        matches!(name.as_str(), "-c" | "-command")
    };
    let at = args.iter().position(is_code)?;
    let code: Vec<&str> = args
        .iter()
        .skip(at + 1)
        .map(|arg| arg.text.as_str())
        .collect();
    shell.subshell(|shell| {
        super::powershell::run(shell, &code.join(" "));
        None
    })
}

/// `cmd /c LINE`: its builtins bear the names of PowerShell's aliases.
fn cmd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let words = args.iter().flat_map(|arg| arg.text.split(' '));
    let is_switch = |word: &&str| word.len() == 2 && word.starts_with('/');
    let line: Vec<&str> = words.filter(|word| !is_switch(word)).collect();
    shell.subshell(|shell| {
        super::powershell::run(shell, &line.join(" "));
        None
    })
}

/// `uv run [--with X] command…`.
fn tool_run(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let at = args
        .iter()
        .position(|arg| matches!(arg.known(), Some("run" | "exec" | "x")))?;
    let mut words = args.get(at + 1..)?;
    while let Some((first, rest)) = words.split_first() {
        let skip = match first.known()? {
            "--with" | "--python" | "-p" | "--project" | "--directory" | "--extra" | "--group"
            | "-n" | "--env-file" | "--index" => 1,
            "--" => {
                words = rest;
                break;
            }
            option if option.starts_with('-') => 0,
            _ => break,
        };
        words = rest.get(skip..)?;
    }
    let is_script = words.first()?.text.ends_with(".py");
    if is_script {
        let python = [&[Field::literal("python3")], words].concat();
        return shell.again(&python);
    }
    shell.again(words)
}

fn eval(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let words: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    shell.run_again(&words.join(" "))
}

fn trap(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let action = from_operand(args, "").first()?.text.clone();
    shell.subshell(|shell| shell.run_again(&action))
}

fn source(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let text = shell.script_text(args.first()?)?;
    shell.run_again(&text)
}

fn sh(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let mut at = 0;
    let mut inline = false;
    while let Some(option) = args
        .get(at)
        .filter(|arg| arg.is_option() || arg.text == "+x")
    {
        let text = option.known()?;
        let short = !text.starts_with("--");
        inline |= short && text.contains('c');
        let valued = (short && text.ends_with(['o', 'O'])) || text == "--rcfile";
        at += if valued { 2 } else { 1 };
    }
    let words = args.get(at..)?;
    let (text, positional) = match (inline, words.split_first()) {
        (true, Some((code, rest))) => (code.text.clone(), rest.get(1..).unwrap_or(&[])),
        (true, None) => return None,
        (false, Some((file, rest))) if file.known() != Some("-") => {
            (shell.script_text(file)?, rest)
        }
        (false, _) => (shell.stdin.as_ref()?.text.clone(), &[][..]),
    };
    let zero = words.get(1).filter(|_| inline).cloned();
    shell.subshell(|shell| {
        if let Some(zero) = zero {
            shell.set("0", Value::One(zero));
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
    let words = from_operand(args, "IJnLPdaEsR");
    let own = args.len() - words.len();
    let syntax = Syntax {
        short: "IJnLPdaEsR",
        attached: "i",
        long: &["delimiter", "arg-file", "max-args", "max-procs"],
    };
    let options = Args::parse(args.get(..own)?, syntax);
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
    let items = match shell.stdin.take() {
        Some(stdin) => feed.items(&stdin),
        None => vec![Field {
            spelling: Spelling::Glob { matches: None },
            ..Field::unknown()
        }],
    };
    match feed.placeholder {
        None => shell.again(&[words, &items].concat()),
        Some(mark) => {
            for item in items {
                if !shell.spend(128 + 16 * words.len()) {
                    break;
                }
                let filled: Vec<Field> = words.iter().map(|word| fill(word, mark, &item)).collect();
                shell.again(&filled);
            }
            None
        }
    }
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
        let temporary = ["/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/"];
        let own = temporary.iter().any(|dir| path.starts_with(dir));
        let text = own.then(|| self.scene.disk.text(&path))??;
        (text.len() <= MAX_SCRIPT).then(|| text.into())
    }
}

const MAX_SCRIPT: usize = 64 << 10;
