//! How a command ends the shell.

use crate::base::text::is_in;
use crate::shell::syntax::{Kind, Part, Pipeline};

/// How a command ends the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// With that of the command before.
    Same,
    /// With one that a variable holds.
    Variable(String),
    /// With that of a command in the pipeline before, or of any.
    OfPipe,
    Error,
    Success,
}

/// How a pipeline ends the shell, where that is all it does in the end.
pub(super) fn exit_of(pipeline: &Pipeline) -> Option<Exit> {
    let [command] = pipeline.commands.as_slice() else {
        return None;
    };
    let simple = match &command.kind {
        Kind::Simple(simple) => simple,
        Kind::Group(list) => {
            let last = list.last()?;
            return exit_of(last.rest.last().map_or(&last.first, |(_, last)| last));
        }
        _ => return None,
    };
    let (name, rest) = simple.words.split_first()?;
    let program = name.literal()?;
    if !is_in("exit return", &program) {
        return (program == "false").then_some(Exit::Error);
    }
    let Some(status) = rest.first() else {
        return Some(Exit::Same);
    };
    if let Some(number) = status.literal() {
        // Above 255 a status begins at 0 again.
        return Some(match number.parse() {
            Ok(0u8) | Err(_) => Exit::Success,
            Ok(_) => Exit::Error,
        });
    }
    let [Part::Parameter(parameter, _)] = status.parts.as_slice() else {
        return Some(Exit::Success);
    };
    Some(match parameter.name.as_str() {
        "?" => Exit::Same,
        "PIPESTATUS" | "pipestatus" => Exit::OfPipe,
        name => Exit::Variable(name.to_owned()),
    })
}
