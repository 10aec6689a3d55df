//! The cmdlets and methods that write, one row each, and how their arguments are taken.

use super::super::field::Field;
use crate::base::target::Act;
use crate::base::text::is_in;

/// What a cmdlet does with its path, which is its first argument or that of the parameter.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Change(Act, &'static str),
    Item,
    Remove,
    Copy,
    Move,
    Rename,
    /// Writes the file that a parameter names.
    Download,
    ChangeDir,
    JoinPath,
    /// Its value is what it is told.
    Same,
    /// It writes nothing.
    Nothing,
}

pub(super) fn effect(name: &str) -> Option<Effect> {
    use Effect::{
        Change, ChangeDir, Copy, Download, Item, JoinPath, Move, Nothing, Remove, Rename, Same,
    };
    const READING: &str = "get select test measure where sort format convertfrom convertto write";
    Some(match name {
        "set-content" | "sc" | "clear-content" | "clc" => Change(Act::Write, "path"),
        "add-content" | "ac" => Change(Act::Edit, "path"),
        "out-file" | "tee-object" | "tee" => Change(Act::Write, "filepath"),
        "export-csv" | "export-clixml" | "start-transcript" => Change(Act::Write, "path"),
        "invoke-webrequest" | "iwr" | "invoke-restmethod" | "irm" => Download,
        "mkdir" | "md" => Change(Act::MakeDir, "path"),
        "new-item" | "ni" => Item,
        "remove-item" | "ri" | "rm" | "del" | "erase" | "rd" | "rmdir" => Remove,
        "copy-item" | "cpi" | "cp" | "copy" => Copy,
        "move-item" | "mi" | "mv" | "move" => Move,
        "rename-item" | "rni" | "ren" => Rename,
        "set-location" | "sl" | "cd" | "chdir" | "push-location" | "pushd" => ChangeDir,
        // Where it leads back to is not known.
        "pop-location" | "popd" => ChangeDir,
        "join-path" => JoinPath,
        "write-output" | "resolve-path" | "get-item" => Same,
        "if" | "else" | "elseif" | "while" | "try" | "catch" | "finally" | "foreach" => Nothing,
        "echo" | "cat" | "gc" | "type" | "ls" | "dir" | "gci" | "foreach-object" | "%" => Nothing,
        _ if is_in(READING, name.split_once('-')?.0) => Nothing,
        _ => return None,
    })
}

/// The methods of .NET's classes.
pub(super) fn method(class: &str, method: &str) -> Option<Effect> {
    let class = class.strip_prefix("system.").unwrap_or(class);
    Some(match (class, method) {
        ("io.file", "writealltext" | "writealllines" | "writeallbytes" | "create") => {
            Effect::Change(Act::Write, "path")
        }
        ("io.file", "appendalltext" | "appendalllines") => Effect::Change(Act::Edit, "path"),
        ("io.file", "delete") => Effect::Change(Act::Remove, "path"),
        ("io.directory", "delete") => Effect::Change(Act::RemoveTree, "path"),
        ("io.directory", "createdirectory") => Effect::Change(Act::MakeDir, "path"),
        ("io.file", "copy") => Effect::Copy,
        ("io.file" | "io.directory", "move") => Effect::Move,
        ("io.path", "combine") => Effect::JoinPath,
        _ => return None,
    })
}

/// Parameters without a value.
const SWITCHES: &str = "append asbytestream confirm directory file force noclobber nonewline notypeinformation \
    passthru raw recurse whatif";

/// The arguments of a cmdlet: each may be a list.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) named: Vec<(String, Vec<Field>)>,
    pub(super) positional: Vec<Vec<Field>>,
}

impl Arguments {
    pub(super) fn parse(words: &[Vec<Field>]) -> Self {
        let mut arguments = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let name = word.first().and_then(|word| word.text.strip_prefix('-'));
            let Some((name, value)) = name.map(|name| name.split_once(':').unwrap_or((name, "")))
            else {
                arguments.positional.push(word.clone());
                continue;
            };
            let name = name.to_lowercase();
            if !value.is_empty() {
                arguments.named.push((name, vec![word[0].with_text(value)]));
                continue;
            }
            let is_switch = SWITCHES.split(' ').any(|switch| switch.starts_with(&name));
            let value = if is_switch { None } else { rest.next() };
            arguments
                .named
                .push((name, value.cloned().unwrap_or_default()));
        }
        arguments
    }

    /// A parameter by its name or the beginning of it.
    pub(super) fn named(&self, name: &str) -> Option<&Vec<Field>> {
        let mut named = self
            .named
            .iter()
            .filter(|(own, _)| name.starts_with(own.as_str()));
        named.next().map(|(_, value)| value)
    }

    /// The same, or the first argument that has no name.
    pub(super) fn take(&mut self, name: &str) -> Vec<Field> {
        let named = self.named(name).or_else(|| self.named("literalpath"));
        match named.cloned() {
            Some(value) => value,
            None if self.positional.is_empty() => Vec::new(),
            None => self.positional.remove(0),
        }
    }
}
