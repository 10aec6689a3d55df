//! The commands that a call runs: a shell's, and those among the arguments of an MCP tool.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::base::text::is_in;
use crate::host::event::{Event, Shell, Tool, words};

/// A command, and the directory that the arguments name for it.
#[derive(Debug, PartialEq)]
pub struct Command<'e> {
    pub text: Cow<'e, str>,
    pub cwd: Option<String>,
    pub dialect: Shell,
}

/// The commands that a call runs on this machine.
///
/// # Errors
/// The arguments cannot be read.
pub fn of<'e>(event: &'e Event<'_>) -> Result<Vec<Command<'e>>, serde_json::Error> {
    match event.tool() {
        Tool::Shell(dialect) => Ok(vec![Command {
            text: Cow::Borrowed(event.input.command.as_str()),
            cwd: None,
            dialect,
        }]),
        tool if tool.runs_commands() => from_arguments(event),
        _ => Ok(Vec::new()),
    }
}

fn from_arguments(event: &Event<'_>) -> Result<Vec<Command<'static>>, serde_json::Error> {
    const ELSEWHERE: &str = "\
        container docker e2b kubectl kubernetes pod remote runner sandbox ssh vm workflow";
    let tool = words(event.tool_name.as_str());
    let has = |names: &str| tool.iter().any(|word| is_in(names, word));
    if has(ELSEWHERE) {
        return Ok(Vec::new());
    }
    let dialect = if has("powershell pwsh") {
        Shell::PowerShell
    } else {
        Shell::Bash
    };
    let mut found = Vec::new();
    collect(&event.arguments()?, None, dialect, &mut found);
    Ok(found)
}

fn collect(value: &Value, cwd: Option<&str>, dialect: Shell, found: &mut Vec<Command<'_>>) {
    if let Value::Array(values) = value {
        for value in values {
            collect(value, cwd, dialect, found);
        }
    }
    let Value::Object(object) = value else {
        return;
    };
    const DIRS: &str = "cwd dir directory workdir workingdirectory";
    const MACHINES: &str = "\
        container containerid host hostname pod runner runnerid sandbox sandboxid sandboxname ssh vm vmid";
    if !matches!(
        text(object, MACHINES),
        None | Some("" | "localhost" | "127.0.0.1" | "::1")
    ) {
        return;
    }
    let cwd = text(object, DIRS).or(cwd);
    let dialect = match text(object, "shell") {
        Some(shell) if shell.contains("powershell") || shell.contains("pwsh") => Shell::PowerShell,
        _ => dialect,
    };
    for (key, value) in object {
        let command = match plain(key).as_str() {
            "command" | "cmd" | "script" => argv(value, get(object, "args arguments")),
            "commands" => lines(value),
            _ => None,
        };
        match command {
            Some(text) => found.push(Command {
                text: Cow::Owned(text),
                cwd: cwd.map(str::to_owned),
                dialect,
            }),
            None => collect(value, cwd, dialect, found),
        }
    }
}

/// A command as a text, or as a program with its arguments.
fn argv(command: &Value, args: Option<&Value>) -> Option<String> {
    let mut line = match command {
        Value::String(command) => command.clone(),
        command => quoted(command)?,
    };
    match args {
        Some(Value::String(args)) => line += &format!(" {args}"),
        Some(args) => line += &format!(" {}", quoted(args)?),
        None => {}
    }
    Some(line)
}

/// Words as a shell is given them; `None` where the value is no list of texts.
fn quoted(value: &Value) -> Option<String> {
    let mut words = Vec::new();
    for word in value.as_array()? {
        words.push(format!("'{}'", word.as_str()?.replace('\'', r"'\''")));
    }
    Some(words.join(" "))
}

/// Commands one after another.
fn lines(value: &Value) -> Option<String> {
    match value {
        Value::String(command) => Some(command.clone()),
        list => {
            let lines: Option<Vec<&str>> = list.as_array()?.iter().map(Value::as_str).collect();
            Some(lines?.join("\n"))
        }
    }
}

fn get<'v>(object: &'v Map<String, Value>, keys: &str) -> Option<&'v Value> {
    let mut found = object.iter().filter(|(key, _)| is_in(keys, &plain(key)));
    found.next().map(|(_, value)| value)
}

fn text<'v>(object: &'v Map<String, Value>, keys: &str) -> Option<&'v str> {
    get(object, keys)?.as_str()
}

/// `working_directory` and `workingDirectory` are one key.
fn plain(key: &str) -> String {
    words(key).concat()
}
