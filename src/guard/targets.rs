//! What a tool call would change.

pub mod commands;

use std::borrow::Cow;
use std::fmt;

use crate::base::path;
use crate::base::target::{Act, Target};
use crate::base::text::is_in;
use crate::host::event::{self, Event, Shell, Tool, strings, words};
use crate::shell::{self, Analysis, Limit, Scene};
use crate::systems::system;

/// Why the targets of a call are not known.
#[derive(Debug)]
pub enum Unread {
    Arguments(serde_json::Error),
    /// A command that names a governed place, of the system with this id, was not read to its end.
    Command(Limit, &'static str),
}

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(error) => write!(out, "the tool's arguments are not readable: {error}"),
            Self::Command(limit, _) => write!(
                out,
                "the command names a workflow state directory and cannot be read to its end: {limit}"
            ),
        }
    }
}

/// What a tool call would change. Reads, unknown tools and computed names have no target.
///
/// # Errors
/// The arguments cannot be read, or a command's bounds were met where it may
/// still reach a governed place.
pub fn of(event: &Event<'_>, scene: &Scene<'_>) -> Result<Analysis, Unread> {
    let file = |path: &event::Text<'_>, act| {
        // Claude Code takes blanks off both ends before the event is made; what
        // is before an absolute path would hide it here.
        let named = path
            .get()
            .map(str::trim_start)
            .filter(|path| !path.is_empty());
        // Claude Code collapses `..` before it opens the file; the shell does not.
        let target = named.map(|path| {
            Target::literal(
                path::absolute(scene.cwd, path, scene.env.home.as_deref()),
                act,
            )
        });
        Ok(Analysis::of(target.into_iter().collect()))
    };
    match event.tool() {
        Tool::Write => file(&event.input.file_path, Act::Write),
        Tool::Edit | Tool::MultiEdit => file(&event.input.file_path, Act::Edit),
        Tool::NotebookEdit => file(&event.input.notebook_path, Act::Edit),
        Tool::Shell(_) => from_commands(event, scene),
        Tool::Mcp(tool) => {
            let mut analysis = from_commands(event, scene)?;
            if let Some(act) = McpAct::parse(tool.name) {
                let arguments = event.arguments().map_err(Unread::Arguments)?;
                let named = from_arguments(act, &strings(&arguments), scene)?;
                analysis.targets.extend(named);
            }
            Ok(analysis)
        }
        Tool::Skill | Tool::Agent | Tool::Handback | Tool::Other => Ok(Analysis::default()),
    }
}

fn from_commands(event: &Event<'_>, scene: &Scene<'_>) -> Result<Analysis, Unread> {
    let mut all = Analysis::default();
    for command in commands::of(event).map_err(Unread::Arguments)? {
        let given = command
            .cwd
            .map(|cwd| path::absolute(scene.cwd, &cwd, scene.env.home.as_deref()));
        let cwd = given.as_deref().unwrap_or(scene.cwd);
        let scene = Scene { cwd, ..*scene };
        let analysis = match command.dialect {
            Shell::Bash => shell::analyze(&command.text, &scene),
            Shell::PowerShell => shell::analyze_powershell(&command.text, &scene),
        };
        // A server may run another shell than Bash, or none.
        let is_foreign = matches!(event.tool(), Tool::Mcp(_));
        let analysis = match analysis.limit {
            Some(Limit::Syntax) if is_foreign => analysis,
            _ => whole(analysis, [&command.text, cwd])?,
        };
        all.targets.extend(analysis.targets);
        all.programs.extend(analysis.programs);
        all.checks_out |= analysis.checks_out;
        all.own_commands.extend(analysis.own_commands);
    }
    Ok(all)
}

/// An analysis, unless more targets may lie in a governed place that a text names.
fn whole(analysis: Analysis, texts: [&str; 2]) -> Result<Analysis, Unread> {
    if let Some(limit) = analysis.limit
        && let Some(id) = texts.into_iter().find_map(system::named_in)
    {
        return Err(Unread::Command(limit, id));
    }
    Ok(analysis)
}

/// What MCP tools change that is no file, whatever path it is named after.
const ON_SERVERS: &str = "\
    entity entities relation relations observation observations issue issues comment comments pull";

/// Arguments that together say that the paths lie in a repository of a forge.
const IN_A_FORGE: &[[&str; 2]] = &[["owner", "repo"], ["project_id", "branch"]];

/// What an MCP tool does, going by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum McpAct {
    Write,
    Edit,
    MakeDir,
    Copy,
    Move,
    Delete,
}

impl McpAct {
    fn on_destination(self) -> Act {
        match self {
            Self::Copy | Self::Move | Self::Write => Act::Write,
            Self::Edit => Act::Edit,
            Self::MakeDir => Act::MakeDir,
            Self::Delete => Act::RemoveTree,
        }
    }

    /// `None` for a tool whose name has no word for changing something, and for one
    /// that changes something else than files.
    fn parse(name: &str) -> Option<Self> {
        let words = words(name);
        let has = |options: &str| {
            let mut verbs = words
                .iter()
                .map(|word| word.strip_suffix("file").unwrap_or(word));
            verbs.any(|verb| is_in(options, verb))
        };
        // `get_patch` reads one, `get_or_create` does not only read.
        let only_reads = words
            .first()
            .is_some_and(|verb| is_in("get read show view preview describe", verb))
            && !has("and or write");
        if only_reads || has(ON_SERVERS) {
            return None;
        }
        let makes_dir = has("create make") && has("directory dir folder");
        let act = VERBS
            .iter()
            .find(|(_, verbs)| has(verbs))
            .map(|(act, _)| *act);
        match act {
            Some(Self::Edit | Self::Write) | None if makes_dir => Some(Self::MakeDir),
            act => act,
        }
    }
}

/// The words that say what a tool does; the first one counts.
const VERBS: [(McpAct, &str); 6] = [
    (McpAct::Move, "move rename mv"),
    (McpAct::Copy, "copy cp duplicate"),
    (McpAct::Delete, "delete remove rm unlink trash erase"),
    (McpAct::MakeDir, "mkdir"),
    (
        McpAct::Edit,
        "edit patch append replace insert update modify apply rewrite truncate",
    ),
    (
        McpAct::Write,
        "write create save upload put touch overwrite store export download screenshot",
    ),
];

/// What an MCP tool of this name does to the path that it is about, if it changes anything.
pub fn mcp_act(name: &str) -> Option<Act> {
    McpAct::parse(name).map(McpAct::on_destination)
}

/// Any name may be one in any directory, so that their number is bounded.
const MAX_PAIRS: usize = 4096;

fn from_arguments(
    act: McpAct,
    arguments: &[(&str, &str)],
    scene: &Scene<'_>,
) -> Result<Vec<Target>, Unread> {
    if is_in_a_forge(arguments) {
        return Ok(Vec::new());
    }
    let paths: Vec<Argument<'_>> = arguments
        .iter()
        .filter_map(|(key, value)| path_like(words(key), value))
        .collect();
    let whole_path = |path: &str| path::absolute(scene.cwd, path, scene.env.home.as_deref());
    let source = match act {
        McpAct::Copy | McpAct::Move => {
            let mut sources = paths.iter().filter(|(key, _)| says(key, SOURCE));
            sources.next().map(|(_, from)| whole_path(from))
        }
        _ => None,
    };
    check_pairs(&paths)?;
    let mut targets = Vec::new();
    for (key, value) in &paths {
        let act = match (act, says(key, SOURCE)) {
            (McpAct::Copy, true) => continue,
            (McpAct::Move, true) => Act::MoveAway,
            _ => act.on_destination(),
        };
        let path = whole_path(value);
        if says(key, DIR) {
            for (_, name) in paths.iter().filter(is_name) {
                let inside = path::absolute(&path, name, None);
                targets.push(Target::literal(inside, act));
            }
        }
        let act = match act {
            // A directory that is named is there, or made on the way.
            Act::Write | Act::Edit if source.is_none() && says(key, DIR) => Act::MakeDir,
            act => act,
        };
        match &source {
            Some(from) if act == Act::Write => {
                let carried = shell::carried(from, &path, scene);
                targets.extend(whole(carried, [&path, scene.cwd])?.targets);
            }
            _ => targets.push(Target::literal(path, act)),
        }
    }
    Ok(targets)
}

fn is_in_a_forge(arguments: &[(&str, &str)]) -> bool {
    IN_A_FORGE.iter().any(|names| {
        let mut names = names.iter();
        names.all(|name| arguments.iter().any(|(key, _)| key == name))
    })
}

/// An argument of a tool that names a file, with the words of its key.
type Argument<'a> = (Vec<String>, Cow<'a, str>);

const SOURCE: &str = "source src from old";
const DIR: &str = "dir directory folder";
const NAME: &str = "name filename file";

/// Whether an argument is the name of a file in a directory that another one names.
fn is_name((key, value): &&Argument<'_>) -> bool {
    says(key, NAME) && !says(key, DIR) && !value.contains(['/', '\\'])
}

/// Refuses arguments that name too many files in directories.
fn check_pairs(paths: &[Argument<'_>]) -> Result<(), Unread> {
    let n_names = paths.iter().filter(is_name).count();
    let n_dirs = paths.iter().filter(|(key, _)| says(key, DIR)).count();
    if n_names.saturating_mul(n_dirs) > MAX_PAIRS {
        let why = format!("they name more than {MAX_PAIRS} files in directories");
        return Err(Unread::Arguments(serde::de::Error::custom(why)));
    }
    Ok(())
}

fn says(key: &[String], list: &str) -> bool {
    key.iter().any(|word| is_in(list, word))
}

/// An argument that names a file: by its key, or by its look where the key says
/// nothing; never one whose key says that it is text. With the key's words.
fn path_like(key: Vec<String>, value: &str) -> Option<Argument<'_>> {
    const TEXT: &str = "\
        content contents text body branch data message description query title string prompt \
        code comment diff str needle observations pattern regex repl replace replacement search";
    const PATH: &str = "\
        path paths file files filename filepath dest destination target directory dir folder uri \
        source src to from location output name";
    // What is in front would hide an absolute path; what is behind belongs to the name.
    let value = strip_file_scheme(value.trim_start());
    let text = value.trim_end();
    let one_line = !text.is_empty() && text.len() <= 4096 && !text.contains('\n');
    let looks = text.contains(['/', '\\']) && !text.contains(' ');
    let is_path = one_line && !is_address(text) && !says(&key, TEXT) && (says(&key, PATH) || looks);
    is_path.then_some((key, value))
}

/// Whether a text is a URL of another scheme than `file:`. One letter is a drive.
fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte))
    })
}

/// The path in a `file:` URI (RFC 8089); what is none stays as it is. A host
/// other than this one is taken for a part of a path, as lenient servers do.
fn strip_file_scheme(value: &str) -> Cow<'_, str> {
    const SCHEME: &str = "file://";
    let Some((scheme, rest)) = value.split_at_checked(SCHEME.len()) else {
        return Cow::Borrowed(value);
    };
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Cow::Borrowed(value);
    }
    let address = rest.split(['?', '#']).next().unwrap_or(rest);
    let after_host = address
        .strip_prefix("localhost")
        .filter(|path| path.starts_with('/'));
    let path = decoded(after_host.unwrap_or(address));
    // `/C:/x` is `C:/x`.
    let bare = path
        .strip_prefix('/')
        .filter(|bare| path::is_absolute(bare));
    Cow::Owned(bare.unwrap_or(&path).to_owned())
}

/// `%41` is `A`; bytes that come to no UTF-8 are in no contract.
fn decoded(text: &str) -> String {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [byte, after @ ..] = rest {
        let escaped = match after {
            [high, low, ..] if *byte == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        bytes.push(escaped.map_or(*byte, |(high, low)| (high * 16 + low) as u8));
        rest = &after[if escaped.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
