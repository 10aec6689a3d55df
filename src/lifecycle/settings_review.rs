//! Changed settings: what a call may have changed is not in force until a person says so.

use crate::base::env::Env;
use crate::base::text::join_limited;
use crate::base::warn::warn;
use crate::host::reply::Reply;
use crate::project::accepted::{self, Suspects};
use crate::project::context::Context;
use crate::project::roots::Project;
use crate::recorder::calls::Notes;

/// How many characters of paths a notice has room for.
const ROOM: usize = 400;

/// Looks at the settings files before they are read. Gives those that are held from now on, until
/// the user knows of them.
pub fn review(project: &Project, env: &Env, noted: &Notes) -> Vec<String> {
    let held = accepted::review(project, env, &|| suspects(noted));
    held.unwrap_or_else(|error| {
        warn(&format!("could not look after the settings: {error}"));
        Vec::new()
    })
}

fn suspects(noted: &Notes) -> Suspects {
    match noted.running().next() {
        Some(_) => Suspects::Calls,
        None => Suspects::None,
    }
}

/// Remembers what is in force where nothing was remembered yet: from the first call on.
pub(crate) fn begin(context: &Context<'_>) {
    let kept = accepted::begin(&context.project, context.env);
    context.warn_about(accepted::FILE, kept);
}

/// Says to the user, once, what is held; where the reply has no room for it, the next one has.
pub(crate) fn tell(context: &Context<'_>, held: &[String], mut reply: Reply) -> Reply {
    if held.is_empty() {
        return reply;
    }
    let files = held.iter().map(|path| {
        let shown = context.project.main.relative(path).unwrap_or(path);
        format!("`{shown}`")
    });
    let text = format!(
        "statewarden: a call may have changed {}; the former content stays in force. To take the new one, run \
         `statewarden config accept` in a terminal.",
        join_limited(files.collect(), ROOM)
    );
    if reply.add_notice(&text) {
        context.warn_about(accepted::FILE, accepted::note_told(&context.project));
    }
    reply
}
