//! What cmdlets and .NET calls do with their arguments.

use super::eval::Shell;
use super::field::{Field, HERE, base_name};
use super::made::one;
use super::powershell::{self, Arg, Values};
use super::powershell_value::slashed;
use super::transfer::inside;
use super::value::product;
use crate::base::target::Act;

/// A command's arguments by name and by place.
struct Bound {
    named: Vec<(String, Values)>,
    positional: Vec<Values>,
}

/// Parameters without a value.
const SWITCHES: [&str; 19] = [
    "recurse",
    "force",
    "append",
    "whatif",
    "confirm",
    "nonewline",
    "passthru",
    "verbose",
    "raw",
    "noclobber",
    "directory",
    "file",
    "name",
    "usebasicparsing",
    "r",
    "fo",
    "notypeinformation",
    "hidden",
    "asarray",
];

impl Bound {
    fn new(command: &str, arguments: &[Arg]) -> Self {
        let mut bound = Self {
            named: Vec::new(),
            positional: Vec::new(),
        };
        let mut arguments = arguments.iter().peekable();
        while let Some(argument) = arguments.next() {
            let name = match argument {
                Arg::Values(values) => {
                    bound.positional.push(values.clone());
                    continue;
                }
                Arg::Name(name) => name.to_ascii_lowercase(),
            };
            let switch =
                SWITCHES.contains(&name.as_str()) && !(name == "name" && command == "new-item");
            let value = match arguments.peek() {
                Some(Arg::Values(values)) if !switch => {
                    arguments.next();
                    values.clone()
                }
                _ => Values::new(),
            };
            bound.named.push((name, value));
        }
        bound
    }

    fn has(&self, name: &str) -> bool {
        self.named.iter().any(|(given, _)| given == name)
    }

    /// The value of one of the parameters, which may be cut short.
    fn get(&self, names: &[&str]) -> Option<&Values> {
        let fits = |given: &str| {
            names
                .iter()
                .any(|name| given.len() > 1 && name.starts_with(given))
        };
        let mut named = self.named.iter();
        named
            .find(|(given, _)| fits(given))
            .map(|(_, values)| values)
    }

    /// The parameter by name, else by its place among the rest.
    fn path(&self, names: &[&str], place: usize) -> Values {
        let given = self.get(names).or_else(|| self.positional.get(place));
        given.map(|values| slashed(values)).unwrap_or_default()
    }
}

const PATH: [&str; 3] = ["path", "literalpath", "lp"];
const FILE: [&str; 3] = ["filepath", "literalpath", "path"];

/// The cmdlet an alias stands for.
fn cmdlet(name: &str) -> &str {
    match name {
        "sc" => "set-content",
        "ac" => "add-content",
        "clc" => "clear-content",
        "ni" => "new-item",
        "md" => "mkdir",
        "cp" | "copy" | "cpi" => "copy-item",
        "mv" | "move" | "mi" => "move-item",
        "ren" | "rni" => "rename-item",
        "rm" | "del" | "ri" | "rd" | "erase" | "rmdir" => "remove-item",
        "tee" => "tee-object",
        "epcsv" => "export-csv",
        "iwr" | "wget" | "curl" | "irm" => "invoke-webrequest",
        "cd" | "sl" | "chdir" => "set-location",
        "pushd" => "push-location",
        "popd" => "pop-location",
        "gci" | "ls" | "dir" => "get-childitem",
        "gi" => "get-item",
        "echo" | "write" => "write-output",
        "iex" => "invoke-expression",
        "cat" | "gc" | "type" => "get-content",
        other => other,
    }
}

/// Runs one command; gives what it puts into the pipeline.
pub(super) fn run(
    shell: &mut Shell<'_>,
    name: &str,
    head: &[Field],
    arguments: &[Arg],
    piped: &[Field],
) -> Values {
    let name = cmdlet(name);
    let bound = Bound::new(name, arguments);
    if bound.has("whatif") {
        return Values::new();
    }
    if let Some(values) = asked(shell, name, &bound) {
        return values;
    }
    match name {
        "set-content" => write(shell, &bound, &PATH, Act::Write, piped),
        "clear-content" => shell.report_all(&bound.path(&PATH, 0), Act::Write),
        "add-content" => write(shell, &bound, &PATH, Act::Edit, piped),
        "out-file" | "tee-object" => {
            let act = if bound.has("append") {
                Act::Edit
            } else {
                Act::Write
            };
            write(shell, &bound, &FILE, act, piped);
        }
        "export-csv" | "export-clixml" | "start-transcript" => {
            shell.report_all(&bound.path(&PATH, 0), Act::Write);
        }
        "invoke-webrequest" | "invoke-restmethod" => {
            let out = bound.get(&["outfile"]).map(|values| slashed(values));
            shell.report_all(&out.unwrap_or_default(), Act::Write);
        }
        "compress-archive" => shell.report_all(&bound.path(&["destinationpath"], 1), Act::Write),
        "expand-archive" => shell.report_all(&bound.path(&["destinationpath"], 1), Act::MakeDir),
        "new-item" => new_item(shell, &bound),
        "mkdir" => shell.report_all(&bound.path(&PATH, 0), Act::MakeDir),
        "copy-item" | "move-item" => transfer(shell, name, &bound, piped),
        "rename-item" => rename(shell, &bound, piped),
        "remove-item" => remove(shell, &bound, piped),
        "set-location" | "push-location" | "pop-location" => {
            let verb = match name {
                "set-location" => "cd",
                "push-location" => "pushd",
                _ => "popd",
            };
            let words = [vec![Field::literal(verb)], bound.path(&PATH, 0)].concat();
            shell.run(&words);
        }
        "invoke-expression" => {
            for code in bound.path(&["command"], 0) {
                powershell::run(shell, &code.text);
            }
        }
        _ => native(shell, head, arguments),
    }
    Values::new()
}

/// What a cmdlet that only answers gives.
fn asked(shell: &mut Shell<'_>, name: &str, bound: &Bound) -> Option<Values> {
    Some(match name {
        "get-childitem" | "get-item" => listed(shell, bound),
        "join-path" => {
            let parent = bound.path(&PATH, 0);
            let child = bound.path(&["childpath"], 1);
            product(&parent, &child, "/")
        }
        "resolve-path" | "convert-path" | "write-output" => bound.path(&PATH, 0),
        "split-path" => bound.path(&PATH, 0).iter().map(directory).collect(),
        "get-location" => one(shell.cwd.as_deref().map(Field::literal)),
        _ => return None,
    })
}

/// A program: its arguments as they were written.
fn native(shell: &mut Shell<'_>, head: &[Field], arguments: &[Arg]) {
    let words = arguments.iter().flat_map(|argument| match argument {
        Arg::Name(name) => vec![Field::literal(format!("-{name}"))],
        Arg::Values(values) => values.clone(),
    });
    let words: Vec<Field> = head.iter().cloned().chain(words).collect();
    shell.again(&words);
}

fn write(shell: &mut Shell<'_>, bound: &Bound, names: &[&str], act: Act, piped: &[Field]) {
    let value = bound.get(&["value"]).or_else(|| bound.positional.get(1));
    let value = value.map_or(piped, Vec::as_slice);
    put(shell, &bound.path(names, 0), act, value);
}

/// Reports files that get values, with the text where they hold one value alone.
pub(super) fn put(shell: &mut Shell<'_>, files: &[Field], act: Act, values: &[Field]) {
    let text = match (act, values) {
        (Act::Write, [only]) => Some(ecow::eco_format!("{}\n", only.text)),
        _ => None,
    };
    for file in files {
        shell.report_text(file, act, text.clone());
    }
}

fn new_item(shell: &mut Shell<'_>, bound: &Bound) {
    let mut paths = bound.path(&PATH, 0);
    if let Some(names) = bound.get(&["name"]) {
        let here = std::slice::from_ref(&HERE);
        let dirs = if paths.is_empty() { here } else { &paths };
        paths = product(dirs, &slashed(names), "/");
    }
    let kind = bound.get(&["itemtype", "type"]);
    let kind = kind.and_then(|kind| kind.first()?.known());
    let to = bound
        .get(&["target", "value"])
        .map(|to| slashed(to))
        .unwrap_or_default();
    let to = to.first().cloned().unwrap_or_else(Field::unknown);
    for path in paths {
        match kind.map(str::to_ascii_lowercase).as_deref() {
            Some("directory" | "d") => drop(shell.report(&path, Act::MakeDir)),
            Some("symboliclink" | "junction") => shell.report_link(&path, &to),
            Some("hardlink") => shell.report_hard_link(&path, &to),
            _ => drop(shell.report(&path, Act::Write)),
        }
    }
}

/// Wildcards in paths are the cmdlet's own to expand.
fn sources(shell: &mut Shell<'_>, bound: &Bound, piped: &[Field]) -> Values {
    let given = bound.path(&PATH, 0);
    if given.is_empty() {
        return slashed(piped);
    }
    if bound.has("literalpath") {
        return given;
    }
    shell.wildcards(&given)
}

fn transfer(shell: &mut Shell<'_>, name: &str, bound: &Bound, piped: &[Field]) {
    let by_pipe = bound.get(&PATH).is_none() && bound.positional.len() < 2 && !piped.is_empty();
    let from = if by_pipe {
        slashed(piped)
    } else {
        sources(shell, bound, piped)
    };
    let place = usize::from(bound.get(&PATH).is_none() && !by_pipe);
    let to = bound.path(&["destination"], place);
    for from in from {
        if name == "move-item" {
            shell.report(&from, Act::MoveAway);
        }
        for to in &to {
            let place = shell.destination(&from, to);
            shell.carry(&from, &place);
        }
    }
}

fn rename(shell: &mut Shell<'_>, bound: &Bound, piped: &[Field]) {
    let given = bound.path(&PATH, 0);
    let from = if given.is_empty() {
        slashed(piped)
    } else {
        given
    };
    let new = bound.path(&["newname"], 1);
    for from in from {
        shell.report(&from, Act::MoveAway);
        for new in &new {
            shell.carry(&from, &inside(&directory(&from), new));
        }
    }
}

fn remove(shell: &mut Shell<'_>, bound: &Bound, piped: &[Field]) {
    let recurses = bound.has("r") || bound.get(&["recurse"]).is_some();
    let act = if recurses {
        Act::RemoveTree
    } else {
        Act::Remove
    };
    let paths = sources(shell, bound, piped);
    shell.report_all(&paths, act);
}

fn listed(shell: &mut Shell<'_>, bound: &Bound) -> Values {
    let mut paths = bound.path(&PATH, 0);
    if paths.is_empty() {
        paths.push(HERE.clone());
    }
    let pattern = bound
        .get(&["filter", "include"])
        .and_then(|filter| filter.first());
    let mut below = Values::new();
    for path in paths {
        let all = match (pattern, path.known()) {
            (Some(pattern), _) => pattern.clone(),
            (None, Some(text)) if shell.holds_dir(text) => Field::literal("*"),
            (None, _) => {
                below.push(path);
                continue;
            }
        };
        below.extend(product(&[path], &[all], "/"));
    }
    let mut found = shell.wildcards(&below);
    if bound.has("file") {
        found.retain(|entry| !shell.holds_dir(&entry.text));
    }
    found
}

fn directory(path: &Field) -> Field {
    let name = base_name(&path.text);
    let dir = path
        .text
        .trim_end_matches('/')
        .strip_suffix(name)
        .unwrap_or("");
    match dir.trim_end_matches('/') {
        "" if path.gap().is_some() => Field::unknown(),
        "" => path.with_text("."),
        dir => path.with_text(dir),
    }
}

/// `[IO.File]::Method(arguments)`.
pub(super) fn static_call(
    shell: &mut Shell<'_>,
    class: &str,
    method: &str,
    arguments: &[Values],
) -> Values {
    let class = class.strip_prefix("system.").unwrap_or(class);
    let none = Values::new();
    let argument = |n: usize| arguments.get(n).unwrap_or(&none);
    match (class, method) {
        (
            "io.file",
            "writealltext" | "writealllines" | "writeallbytes" | "create" | "createtext"
            | "openwrite",
        ) => shell.report_all(argument(0), Act::Write),
        ("io.file", "appendalltext" | "appendalllines" | "appendtext") => {
            shell.report_all(argument(0), Act::Edit);
        }
        ("io.file", "delete") => shell.report_all(argument(0), Act::Remove),
        ("io.file" | "io.directory", "copy" | "move" | "replace") => {
            if method != "copy" {
                shell.report_all(argument(0), Act::MoveAway);
            }
            let unknown = Field::unknown();
            let from = argument(0).first().unwrap_or(&unknown);
            for to in argument(1) {
                shell.carry(from, to);
            }
        }
        ("io.directory", "createdirectory") => shell.report_all(argument(0), Act::MakeDir),
        ("io.directory", "delete") => shell.report_all(argument(0), Act::RemoveTree),
        ("io.path", "combine" | "join") => {
            let start = vec![Field::literal("")];
            return arguments
                .iter()
                .fold(start, |all, next| product(&all, next, "/"));
        }
        _ => {}
    }
    none
}
