//! The decision about a call. Whoever may not write a file may still take back what it wrote
//! there: `restore FILE --at ID` of the actor's own newest change is left to it.

use crate::base::path;
use crate::guard::claims::{Claim, JudgeError};
use crate::guard::decision::Decision;
use crate::guard::judge;
use crate::host::event::Event;
use crate::project::context::Context;
use crate::recorder::changes;
use crate::shell::{Analysis, OwnCommand};

/// Decides about what a call would change.
///
/// # Errors
/// A target belongs to a system and could not be judged.
pub fn judge_call<'w>(
    context: &Context<'w>,
    event: &Event<'_>,
    mut changes: Analysis,
) -> Result<(Decision, Vec<Claim<'w>>), JudgeError> {
    changes
        .own_commands
        .retain(|command| !takes_back(context, event, command));
    judge::judge_changes(context, event, changes)
}

/// Decides about a call, for the hook and for commands: reads the disk and writes nothing.
///
/// # Errors
/// It cannot be read, or a target belongs to a system and could not be judged.
pub fn judge<'w>(
    context: &Context<'w>,
    event: &Event<'_>,
) -> Result<(Decision, Vec<Claim<'w>>), JudgeError> {
    let changes = judge::changes(context, event)?;
    judge_call(context, event, changes)
}

fn takes_back(context: &Context<'_>, event: &Event<'_>, command: &OwnCommand) -> bool {
    let (Some(file), Some(id)) = (command.operand(1), command.value("at")) else {
        return false;
    };
    if command.verb() != "restore" || command.has("after") || command.words.len() > 2 {
        return false;
    }
    let dir = command.dir.as_deref().unwrap_or(&context.cwd);
    let file = path::absolute(dir, file, None);
    let newest = changes::last_of(context.project.memory(), &file);
    newest.is_some_and(|change| {
        change.id.starts_with(id)
            && change.certain
            && change.session_id.as_deref() == Some(event.session())
            && change.agent_id.as_deref().unwrap_or_default() == event.agent_id()
    })
}
