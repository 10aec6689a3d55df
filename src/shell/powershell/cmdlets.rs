//! The cmdlets and methods that write, one row each, and how their arguments are taken.

use super::super::field::Field;
use crate::base::target::Act;
use crate::base::text::is_in;

/// What a cmdlet does with its path, which is its first argument or that of a parameter.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Change(Act),
    Item,
    Remove,
    Copy,
    Move,
    Rename,
    /// Writes the file that a parameter names.
    Download,
    ChangeDir,
    /// It writes nothing.
    Nothing,
}

pub(super) fn effect(name: &str) -> Option<Effect> {
    use Effect::{Change, ChangeDir, Copy, Download, Item, Move, Nothing, Remove, Rename};
    const READING: &str =
        "get join resolve split select test measure where sort format convertfrom convertto write";
    Some(match name {
        "set-content" | "sc" | "clear-content" | "clc" => Change(Act::Write),
        "add-content" | "ac" => Change(Act::Edit),
        "out-file" | "tee-object" | "tee" => Change(Act::Write),
        "export-csv" | "export-clixml" | "start-transcript" => Change(Act::Write),
        "invoke-webrequest" | "iwr" | "invoke-restmethod" | "irm" => Download,
        "mkdir" | "md" => Change(Act::MakeDir),
        "new-item" | "ni" => Item,
        "remove-item" | "ri" | "rm" | "del" | "erase" | "rd" | "rmdir" => Remove,
        "copy-item" | "cpi" | "cp" | "copy" => Copy,
        "move-item" | "mi" | "mv" | "move" => Move,
        "rename-item" | "rni" | "ren" => Rename,
        "set-location" | "sl" | "cd" | "chdir" | "push-location" | "pushd" => ChangeDir,
        // Where it leads back to is not known.
        "pop-location" | "popd" => ChangeDir,
        "if" | "else" | "elseif" | "while" | "try" | "catch" | "finally" | "foreach" => Nothing,
        "echo" | "cat" | "gc" | "type" | "ls" | "dir" | "gci" | "foreach-object" | "%" => Nothing,
        _ if is_in(READING, name.split_once('-')?.0) => Nothing,
        _ => return None,
    })
}

/// The methods of .NET's classes.
pub(super) fn method(class: &str, method: &str) -> Option<Effect> {
    let short = class.strip_prefix("system.").unwrap_or(class);
    Some(match (short, method) {
        ("io.file", "writealltext" | "writealllines" | "writeallbytes" | "create") => {
            Effect::Change(Act::Write)
        }
        ("io.file", "appendalltext" | "appendalllines") => Effect::Change(Act::Edit),
        ("io.file", "delete") => Effect::Change(Act::Remove),
        ("io.directory", "delete") => Effect::Change(Act::RemoveTree),
        ("io.directory", "createdirectory") => Effect::Change(Act::MakeDir),
        ("io.file", "copy") => Effect::Copy,
        ("io.file" | "io.directory", "move") => Effect::Move,
        _ => return None,
    })
}

/// Parameters without a value.
const SWITCHES: &str = "append asbytestream confirm directory file force noclobber nonewline notypeinformation \
    passthru raw recurse whatif";

/// The arguments of a cmdlet.
#[derive(Default)]
pub(super) struct Arguments {
    /// A switch has no text.
    named: Vec<(String, Field)>,
    pub(super) positional: Vec<Field>,
}

impl Arguments {
    /// Those of a method, which have no names.
    pub(super) fn of(words: &[Field]) -> Self {
        Self {
            positional: words.to_vec(),
            ..Self::default()
        }
    }

    pub(super) fn parse(words: &[Field]) -> Self {
        let mut arguments = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(name) = word.text.strip_prefix('-') else {
                arguments.positional.push(word.clone());
                continue;
            };
            let (written, value) = name.split_once(':').unwrap_or((name, ""));
            let name = written.to_lowercase();
            let is_switch = SWITCHES.split(' ').any(|switch| switch.starts_with(&name));
            let next = if is_switch || !value.is_empty() {
                None
            } else {
                rest.next()
            };
            let value = next.cloned().unwrap_or_else(|| word.with_text(value));
            arguments.named.push((name, value));
        }
        arguments
    }

    /// Parameters may be named by their beginning.
    pub(super) fn named(&self, name: &str) -> Option<&Field> {
        let mut named = self.named.iter();
        let given = named.find(|(own, _)| name.starts_with(own.as_str()));
        given.map(|(_, value)| value)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// The value of a parameter, or else the first argument that has no name.
    pub(super) fn take(&mut self, name: &str) -> Option<Field> {
        match self.named(name).cloned() {
            None if self.positional.is_empty() => None,
            None => Some(self.positional.remove(0)),
            value => value,
        }
    }

    pub(super) fn path(&mut self) -> Option<Field> {
        let mut names = ["path", "literalpath", "filepath"].into_iter();
        let name = names.find(|name| self.has(name));
        self.take(name.unwrap_or("path"))
    }

    /// The path, and all arguments that have no name.
    pub(super) fn paths(&mut self) -> Vec<Field> {
        let first = self.path();
        first.into_iter().chain(self.positional.drain(..)).collect()
    }
}
