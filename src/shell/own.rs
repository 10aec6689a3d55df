//! This program's own commands, and those that take it or its hooks out.

use super::args::{Args, Options};
use super::eval::Shell;
use super::field::{Field, base_name};
use super::glob::{Glob, is_open};
use super::targets::Entry;
use crate::base::target::Act;
use crate::base::text::is_in;
use crate::base::{env, path};

/// The program's name, and that of its package.
pub(super) const NAME: &str = "statewarden";

/// Those with a value, of all verbs.
pub(super) const OPTIONS: &str = "agent agent-notes antipatterns architecture at by conventions decision entry-points env-file event \
    expect focus-path format from gate-result html input instances iteration key-patterns limit max-iterations \
    message mode overview parallel-group phase prefix project quick-reference report root rule scope session sha256 \
    since site spec stale-days system teammate tech-stack texts tool until";

/// A command of this program's own, as a call runs it. What is not known of a word holds
/// U+10FFFF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    /// The verb, and the operands behind it.
    pub words: Vec<String>,
    /// By their names without dashes, each with its value.
    pub options: Vec<(String, Option<String>)>,
    /// The project that is named, else the directory in which it runs; `None` where that is
    /// not known.
    pub dir: Option<String>,
    pub stdin: Stdin,
}

/// Where the input of a command comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// From whoever runs the whole line.
    Inherited,
    /// From a pipe, a file or a text in the line.
    Given,
}

impl OwnCommand {
    pub fn verb(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The operand behind the verb.
    pub fn operand(&self, n: usize) -> Option<&str> {
        self.words.get(n).map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| option == name)
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        let mut given = self.options.iter().rev();
        given.find(|(option, _)| option == name)?.1.as_deref()
    }
}

/// Whether a word is the program, or its package on npm: `statewarden@latest`.
pub(super) fn is_package(name: &str) -> bool {
    name.split('@').next() == Some(NAME)
}

/// Whether a path or a word names the program.
pub(super) fn is_named_by(text: &str) -> bool {
    if !text.contains(NAME) {
        return false;
    }
    let name = base_name(text);
    name.strip_suffix(".exe").unwrap_or(name) == NAME
}

/// The same of a word that may be a pattern.
pub(super) fn names_program(shell: &mut Shell<'_>, word: &Field) -> bool {
    let may_match = is_open(word) && Glob::new(base_name(&word.text)).matches(NAME);
    if !may_match {
        return is_named_by(&word.text);
    }
    let found = shell.found(word);
    found.iter().any(|name| is_named_by(&name.text))
}

/// Whether what runs is a file or a link that the command itself made, out of something that is
/// not known, while it named this program.
pub(super) fn may_be_copy(shell: &Shell<'_>, program: &Field) -> bool {
    if !shell.names_own_program {
        return false;
    }
    let path = shell.absolute(&program.text);
    let made = path.and_then(|path| shell.made.get(&*path::collapse(&path)));
    matches!(made, Some(Entry::File(None) | Entry::Link(_)))
}

pub(super) fn run(shell: &mut Shell<'_>, args: &Args<'_>) {
    // It runs what is behind it.
    if let [verb, behind @ ..] = args.operands.as_slice()
        && verb.is("fence")
    {
        let command: Vec<Field> = behind.iter().copied().cloned().collect();
        shell.deeper(|shell| shell.run_program(&command));
        return;
    }
    shell.unknown_write();
    if args.has("help h version V") {
        return;
    }
    note(shell, args);
    match args.operands.first().map_or("", |verb| &verb.text) {
        _ if args.has("dry-run") => {}
        "install" if args.value("mode").is_some() => set_mode(shell, args),
        "denies" => shell.report_all(args.value("html"), Act::Write),
        _ => {}
    }
}

/// Keeps the command for the rules, which know what its verb does.
fn note(shell: &mut Shell<'_>, args: &Args<'_>) {
    /// Nobody runs more of them in a line.
    const MAX: usize = 64;
    let dir = match args.value("project") {
        Some(named) => shell.absolute(&named.text),
        None => shell.place.cwd.as_deref().map(str::to_owned),
    };
    let text = |field: &Field| field.text.clone();
    let options = args
        .options()
        .map(|(name, value)| (name.to_owned(), value.map(text)));
    let command = OwnCommand {
        words: args.operands.iter().copied().map(text).collect(),
        options: options.collect(),
        dir,
        stdin: shell.stdin_from,
    };
    if shell.own_commands.len() < MAX {
        shell.own_commands.push(command);
    }
}

/// `chmod`, `chown` and their like, of the program or of a directory that holds it: what
/// cannot be started guards nothing.
pub(super) fn change_access(shell: &mut Shell<'_>, args: &Args<'_>) {
    let mode = args.operands.first().map_or("", |mode| &mode.text);
    let granted = mode
        .trim_start_matches(['u', 'g', 'o', 'a'])
        .strip_prefix('+');
    if granted.is_some_and(|rights| rights.trim_start_matches(['r', 'w', 'x', 'X']).is_empty()) {
        return;
    }
    let digits = mode.trim_start_matches('0');
    let owner = u32::from_str_radix(digits, 8).map(|mode| mode >> 6);
    let is_octal = !mode.is_empty() && mode.bytes().all(|byte| byte.is_ascii_digit());
    let is_closing = is_octal && owner.map_or(true, closes);
    let goes_below = args.has("R recursive x r") || mode.contains('-') || is_closing;
    let depth = if goes_below {
        Depth::Below
    } else {
        Depth::Here
    };
    let operands: Vec<Field> = args.operands.iter().copied().cloned().collect();
    report_program(shell, &operands, depth);
}

/// How far a change of rights reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What is named.
    Here,
    /// All below it too: what is in a directory that cannot be entered cannot be started.
    Below,
}

/// Whether an owner with these rights cannot run a file, or enter a directory.
pub(super) fn closes(owner: u32) -> bool {
    owner & 1 == 0
}

/// Reports the program where it, or a directory that holds it, is among these.
pub(super) fn report_program(shell: &mut Shell<'_>, paths: &[Field], depth: Depth) {
    for field in shell.all_found(paths) {
        let Some(there) = shell.absolute(&field.text) else {
            continue;
        };
        let there = path::collapse(&there).into_owned();
        let reached = env::own_program().find(|program| {
            let below = path::relative(program, &there);
            below.is_some_and(|below| below.is_empty() || depth == Depth::Below)
        });
        if let Some(program) = reached {
            shell.report(&Field::literal(program), Act::Edit);
        }
    }
}

/// Where `which` finds this program: the file that runs.
pub(super) fn place(asked: &[Field]) -> Option<Field> {
    if asked.iter().any(|name| name.is(NAME)) {
        env::own_program().next().map(Field::literal)
    } else {
        None
    }
}

/// Programs that take out a package, or a plugin of Claude Code.
const MANAGERS: &str = "brew bun cargo claude npm pip pip3 pipx pnpm uv yarn";

/// Their verbs for it, and those that switch a plugin off.
const REMOVES: &str = "disable remove rm un uninstall unlink";

/// `npm uninstall -g statewarden`, `claude plugin disable statewarden@MARKETPLACE`.
pub(super) fn removal_of_package(shell: &mut Shell<'_>, name: &str, args: &[Field]) {
    if !is_in(MANAGERS, name) {
        return;
    }
    // `claude plugin marketplace remove`
    let mut verbs = args.iter().filter(|arg| !arg.is_option()).take(3);
    let removes = verbs.any(|verb| is_in(REMOVES, &verb.text));
    let mut packages = args.iter().map(|arg| arg.text.split('@').next());
    if !removes || !packages.any(|package| package == Some("statewarden")) {
        return;
    }
    note_removal(shell);
}

/// What takes the program out is its `uninstall` to the rules.
fn note_removal(shell: &mut Shell<'_>) {
    note(
        shell,
        &Args::parse(&[Field::literal("uninstall")], Options::default()),
    );
}

/// `statewarden install --mode MODE`: whether anything is denied is for people to say.
fn set_mode(shell: &mut Shell<'_>, args: &Args<'_>) {
    let file = Field::literal(".claude/statewarden.local.yaml");
    for project in projects(shell, args) {
        shell.report(&project.join(&file), Act::Write);
    }
}

/// The project that is named, else the directories in which the program looks for one.
fn projects(shell: &Shell<'_>, args: &Args<'_>) -> Vec<Field> {
    let of_session = shell.variable("CLAUDE_PROJECT_DIR");
    if let Some(named) = args.value("project").or(of_session) {
        return vec![named.clone()];
    }
    let mut dirs = vec![Field::of(shell.place.cwd.as_deref())];
    while let Some((above, _)) = dirs.last().and_then(|dir| dir.text.rsplit_once('/')) {
        dirs.push(Field::literal(above));
    }
    dirs
}

/// `install.sh --uninstall [--prefix DIR]`, as this program comes with it.
pub(super) fn install_script(shell: &mut Shell<'_>, args: &Args<'_>) {
    if !args.has("uninstall") || args.has("dry-run help h") {
        return;
    }
    let local = shell.home().join(&Field::literal(".local"));
    let prefix = args.value("prefix").cloned().unwrap_or_else(|| {
        note_removal(shell);
        local
    });
    let program = prefix.join(&Field::literal("bin/statewarden"));
    shell.report(&program, Act::Remove);
}
